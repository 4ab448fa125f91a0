/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/streams.h"

#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/frames.h"

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

/* The flow by which a peer's datagrams come, and 1. */
static void look_at_datagram(const DtcLinks *links, guint node, uint32_t file, uint32_t call,
			     struct dtc_streams *streams)
{
	DtcDatagrams *datagrams = dtc_links_get_datagrams(links, node);
	uint32_t peer = dtc_datagrams_has_peers(datagrams, file) ? dtc_datagrams_find_peer(datagrams, call) : DTC_NONE;
	streams->is_known = peer != DTC_NONE;
	if (streams->is_known)
		add_stream(streams, peer + 1, 0);
}

uint32_t dtc_streams_find_datagram(const DtcLinks *links, guint node, uint32_t file, uint32_t stream, bool written,
				   int64_t time_ns)
{
	return dtc_datagrams_find_next(dtc_links_get_datagrams(links, node), file, stream - 1, written, time_ns);
}

bool dtc_streams_is_asked(const DtcHistory *history, uint32_t file, uint32_t stream)
{
	uint32_t flow_in = stream ? stream - 1 : dtc_history_get_file(history, file)->flow_in;
	return dtc_endpoint_is_asked(history, flow_in);
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
		look_at_datagram(links, node, call->file, id, ret_streams);
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
