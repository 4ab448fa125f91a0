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

/* ---- images ---- */

struct saved_flow {
	uint32_t flow;
	uint32_t count;
};

static gint compare_flows(gconstpointer a, gconstpointer b)
{
	guint x = GPOINTER_TO_UINT(a), y = GPOINTER_TO_UINT(b);

	return (x > y) - (x < y);
}

void dtc_frames_save(const DtcFrames *frames, DtcImageWriter *writer)
{
	g_autoptr(GList) flows = g_list_sort(g_hash_table_get_keys(frames->flows), compare_flows);
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct dtc_http2_frame));
	g_autoptr(GArray) saved = g_array_new(FALSE, FALSE, sizeof(struct saved_flow));

	for (GList *flow = flows; flow; flow = flow->next) {
		const GArray *own = g_hash_table_lookup(frames->flows, flow->data);
		const struct saved_flow saved_flow = { GPOINTER_TO_UINT(flow->data), own->len };
		g_array_append_val(saved, saved_flow);
		g_array_append_vals(list, own->data, own->len);
	}
	dtc_image_add_copy(writer, "frames.flows", sizeof(struct saved_flow), saved->data, saved->len);
	dtc_image_add_copy(writer, "frames.records", sizeof(struct dtc_http2_frame), list->data, list->len);
}

DtcFrames *dtc_frames_load(const DtcImage *image, const DtcPackets *packets, GError **error)
{
	gsize flow_count, count;
	const struct saved_flow *flows =
		dtc_image_get(image, "frames.flows", sizeof(struct saved_flow), &flow_count, error);
	const struct dtc_http2_frame *records =
		flows ? dtc_image_get(image, "frames.records", sizeof(struct dtc_http2_frame), &count, error) : NULL;

	if (!records)
		return NULL;
	g_autoptr(DtcFrames) frames = dtc_frames_new(G_MAXSIZE); /* what was too much is not in it */
	for (gsize i = 0; i < flow_count; i++) {
		guint before = (guint)(frames->used_bytes / sizeof(*records));
		bool is_good = flows[i].flow < dtc_packets_get_flow_count(packets) && flows[i].count <= count;
		for (uint32_t k = 0; is_good && k < flows[i].count; k++)
			dtc_frames_add(frames, flows[i].flow, records++);
		if (!is_good || frames->used_bytes / sizeof(*records) - before != flows[i].count) {
			dtc_image_refuse(image, error, "frames in it are not in order");
			return NULL;
		}
		count -= flows[i].count;
	}
	return g_steal_pointer(&frames);
}
