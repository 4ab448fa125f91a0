/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/streams.h"

#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/frames.h"

/* Calls that are looked at for the next one of a stream. */
#define STREAM_CALLS 64

static void add_stream(struct dtc_streams *streams, uint32_t stream, uint32_t skip)
{
	for (guint i = 0; i < streams->count; i++)
		if (streams->streams[i] == stream)
			return;
	if (streams->count == DTC_STREAMS_MAX)
		return;
	streams->streams[streams->count] = stream;
	streams->skips[streams->count++] = skip;
}

uint32_t dtc_streams_get_of_datagram(const DtcLinks *links, guint node, struct dtc_datagram datagram)
{
	DtcDatagrams *datagrams = dtc_links_get_datagrams(links, node);
	uint32_t file = dtc_history_copy_call(dtc_links_get_history(links, node), datagram.call).file;
	uint32_t peer =
		dtc_datagrams_has_peers(datagrams, file) ? dtc_datagrams_find_peer(datagrams, datagram) : DTC_NONE;
	return peer == DTC_NONE ? 0 : peer + 1;
}

static void look_at_datagrams(const DtcLinks *links, guint node, uint32_t id, const struct dtc_call *call,
			      struct dtc_streams *streams)
{
	uint32_t count = dtc_datagrams_count(call);
	for (uint32_t number = 1; number <= count && streams->count < DTC_STREAMS_MAX; number++) {
		uint32_t stream =
			dtc_streams_get_of_datagram(links, node, (struct dtc_datagram){ id, number * (count > 1) });
		if (stream)
			add_stream(streams, stream, 0);
	}
	streams->is_known = streams->count > 0;
}

bool dtc_streams_is_server(const DtcHistory *history, uint32_t file, uint32_t stream, bool has_read)
{
	const struct dtc_file *of = dtc_history_get_file(history, file);

	if (dtc_datagrams_is_socket(history, file))
		return dtc_endpoint_is_asked(history, stream ? stream - 1 : of->flow_in);
	if (of->flow_out != DTC_NONE || dtc_endpoint_has_local_peer(history, file))
		return dtc_endpoint_is_server(history, file);
	return has_read && !dtc_endpoint_has_connected(history, file);
}

void dtc_streams_look(const DtcLinks *links, guint node, uint32_t id, struct dtc_streams *ret_streams)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(dtc_links_get_history(links, node), id, &call_place);
	uint32_t seq;
	guint count;

	ret_streams->is_known = false;
	ret_streams->count = 0;
	if (dtc_datagrams_is_socket(dtc_links_get_history(links, node), call->file)) {
		look_at_datagrams(links, node, id, call, ret_streams);
		return;
	}
	const struct dtc_http2_frame *frames = dtc_links_find_frames(links, node, id, &seq, &count);
	if (!frames)
		return;
	ret_streams->is_known = true;
	for (guint i = 0; i < count; i++) {
		int32_t skip = dtc_seq_distance(seq, frames[i].seq);
		if (dtc_http2_frame_is_message(&frames[i]))
			add_stream(ret_streams, frames[i].stream, (uint32_t)CLAMP(skip, 0, call->result - 1));
	}
}

bool dtc_streams_is_control(const DtcLinks *links, guint node, uint32_t call)
{
	struct dtc_streams streams;

	dtc_streams_look(links, node, call, &streams);
	return streams.is_known && !streams.count;
}

bool dtc_streams_may_answer(const DtcLinks *links, guint node, uint32_t call, uint32_t other)
{
	struct dtc_streams a, b;

	dtc_streams_look(links, node, call, &a);
	if (!a.is_known || !a.count)
		return true;
	dtc_streams_look(links, node, other, &b);
	for (guint i = 0; i < a.count; i++)
		for (guint k = 0; k < b.count; k++)
			if (a.streams[i] == b.streams[k])
				return true;
	return !b.is_known;
}

bool dtc_streams_has(const DtcLinks *links, guint node, uint32_t call, uint32_t stream)
{
	struct dtc_streams streams;
	dtc_streams_look(links, node, call, &streams);
	for (guint i = 0; i < streams.count; i++)
		if (streams.streams[i] == stream)
			return true;
	return false;
}

uint32_t dtc_streams_find_next(const DtcLinks *links, guint node, uint32_t file, uint32_t stream, bool written,
			       int64_t time_ns)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const DtcFileCalls *calls = dtc_links_get_file_calls(links, node, file);

	if (stream && dtc_datagrams_is_socket(h, file))
		return dtc_datagrams_find_next(dtc_links_get_datagrams(links, node), file, stream - 1, written,
					       time_ns);
	uint32_t next = dtc_file_calls_find_moved(calls, written, time_ns);
	for (guint seen = 0; stream && next != DTC_NONE && !dtc_streams_has(links, node, next, stream); seen++) {
		if (seen == STREAM_CALLS) {
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
			return DTC_NONE;
		}
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, next, &place);
		next = dtc_file_calls_find_moved(calls, written, written ? call->begin_ns : call->end_ns);
	}
	return next;
}
