/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/frames.h"

#include <dtrace-chain/bisect.h>

#include "collect/packets/packets.h"

#define DEFAULT_MAX_BYTES ((gsize)64 << 20)

struct DtcFrames {
	GHashTable *flows; /* flow -> GArray of struct dtc_http2_frame */
	gsize used_bytes, max_bytes;
};

bool dtc_http2_frame_is_message(const struct dtc_http2_frame *frame)
{
	return frame->stream && (frame->type == DTC_FRAME_DATA || frame->type == DTC_FRAME_HEADERS ||
				 frame->type == DTC_FRAME_PUSH_PROMISE || frame->type == DTC_FRAME_CONTINUATION);
}

DtcFrames *dtc_frames_new(gsize max_bytes)
{
	DtcFrames *frames = g_new0(DtcFrames, 1);

	frames->flows = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
					      (GDestroyNotify)(void (*)(void))g_array_unref);
	frames->max_bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
	return frames;
}

void dtc_frames_free(DtcFrames *frames)
{
	if (!frames)
		return;
	g_hash_table_unref(frames->flows);
	g_free(frames);
}

static const struct dtc_http2_frame *get(const GArray *list, guint index)
{
	return &g_array_index(list, struct dtc_http2_frame, index);
}

/* How far behind the flow's first frame a byte is; negative: before it. */
static int32_t get_distance(const GArray *list, uint32_t seq)
{
	return dtc_seq_distance(get(list, 0)->seq, seq);
}

static int64_t get_end(const GArray *list, guint index)
{
	return (int64_t)get_distance(list, get(list, index)->seq) + get(list, index)->bytes;
}

void dtc_frames_add(DtcFrames *frames, uint32_t flow, const struct dtc_http2_frame *frame)
{
	GArray *list = g_hash_table_lookup(frames->flows, GUINT_TO_POINTER(flow));

	if (frames->used_bytes >= frames->max_bytes)
		return;
	if (!list) {
		list = g_array_new(FALSE, FALSE, sizeof(struct dtc_http2_frame));
		g_hash_table_insert(frames->flows, GUINT_TO_POINTER(flow), list);
	} else if (get_distance(list, frame->seq) < get_end(list, list->len - 1)) {
		return; /* 2 GiB on, or before what is there already */
	}
	g_array_append_val(list, *frame);
	frames->used_bytes += sizeof(*frame);
}

bool dtc_frames_are_none(const DtcFrames *frames)
{
	return g_hash_table_size(frames->flows) == 0;
}

bool dtc_frames_has_flow(const DtcFrames *frames, uint32_t flow)
{
	return g_hash_table_contains(frames->flows, GUINT_TO_POINTER(flow));
}

const struct dtc_http2_frame *dtc_frames_find(const DtcFrames *frames, uint32_t flow, uint32_t seq, uint32_t bytes,
					      guint *ret_count)
{
	const GArray *list = g_hash_table_lookup(frames->flows, GUINT_TO_POINTER(flow));

	if (!list || !bytes)
		return NULL;
	int64_t begin = get_distance(list, seq), end = begin + bytes;
	guint first = DTC_BISECT(i, 0, list->len, get_end(list, i) <= begin), last = first;
	for (int64_t known = begin; known < end; last++) {
		if (last == list->len || get_distance(list, get(list, last)->seq) > known)
			return NULL;
		known = get_end(list, last);
	}
	*ret_count = last - first;
	return get(list, first);
}
