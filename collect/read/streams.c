/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/streams.h"

void dtc_stream_clear(struct dtc_stream *stream)
{
	g_clear_pointer(&stream->name, g_free);
	g_clear_pointer(&stream->error, g_free);
}

void dtc_stream_take_event(struct dtc_stream *stream, int64_t time_ns)
{
	stream->is_gap = false;
	if (time_ns < stream->last_ns && stream->event_count > 0) {
		int64_t back_ns;
		if (__builtin_sub_overflow(stream->last_ns, time_ns, &back_ns))
			back_ns = INT64_MAX;
		stream->reversal_count++;
		stream->reversal_max_ns = MAX(stream->reversal_max_ns, back_ns);
	} else {
		stream->last_ns = MAX(stream->last_ns, time_ns);
	}
	stream->event_count++;
}

void dtc_stream_take_gap(struct dtc_stream *stream, struct dtc_gap gap)
{
	stream->gap = gap;
	stream->is_gap = true;
	stream->last_ns = MAX(stream->last_ns, gap.end_ns);
}

bool dtc_stream_flush_gap(struct dtc_stream *stream)
{
	if (!stream->has_pending_gap)
		return false;
	stream->has_pending_gap = false;
	dtc_stream_take_gap(stream, stream->pending_gap);
	return true;
}

bool dtc_stream_end(struct dtc_stream *stream)
{
	if (dtc_stream_flush_gap(stream))
		return true;
	if (!stream->error || stream->is_cut || stream->event_count == 0)
		return false;
	stream->is_cut = true;
	dtc_stream_take_gap(stream, (struct dtc_gap){ stream->last_ns, stream->last_ns, DTC_ABSENT });
	return true;
}

void dtc_stream_take_error(struct dtc_stream *stream, char *error)
{
	if (stream->error)
		g_free(error);
	else
		stream->error = error;
}
