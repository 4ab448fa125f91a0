/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/quality.h"

#include "collect/console/printable.h"

#include <string.h>

#define CELLS 120 /* stretches of time for which a plot has room */
#define WIDTHS 48

struct build {
	DtcQuality *quality;
	DtcClusterTime at;
	const DtcClocks *clocks;
};

static const char *keep_name(struct build *b, const char *name)
{
	g_autofree char *printable = dtc_printable(name, DTC_PRINTABLE_NAME_MAX);
	return g_string_chunk_insert_const(b->quality->strings, printable);
}

/* Cluster times of the first and last arrival; false without messages. */
static bool find_span(const struct build *b, const struct dtc_match_pair *pair, int64_t *ret_begin, int64_t *ret_end)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (guint i = 0; i < pair->ab_count; i++) {
		begin_ns = MIN(begin_ns, dtc_clocks_to_cluster_ns(b->clocks, pair->b, pair->ab[i].received_ns));
		end_ns = MAX(end_ns, dtc_clocks_to_cluster_ns(b->clocks, pair->b, pair->ab[i].received_ns));
	}
	for (guint i = 0; i < pair->ba_count; i++) {
		begin_ns = MIN(begin_ns, dtc_clocks_to_cluster_ns(b->clocks, pair->a, pair->ba[i].received_ns));
		end_ns = MAX(end_ns, dtc_clocks_to_cluster_ns(b->clocks, pair->a, pair->ba[i].received_ns));
	}
	if (begin_ns > end_ns)
		return false;
	*ret_begin = begin_ns;
	*ret_end = end_ns;
	return true;
}

/* The fastest message of each cell, from one node to the other. */
static void add_points(struct build *b, const struct dtc_message *messages, guint count, guint from, guint to,
		       bool is_back, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_quality_point cells[CELLS];
	bool is_used[CELLS] = { false };
	__int128 span_ns = (__int128)end_ns - begin_ns + 1;

	for (guint i = 0; i < count; i++) {
		int64_t at_ns = dtc_clocks_to_cluster_ns(b->clocks, to, messages[i].received_ns);
		int64_t sent_ns = dtc_clocks_to_cluster_ns(b->clocks, from, messages[i].sent_ns);
		struct dtc_quality_point point = { .at_ns = at_ns, .is_back = is_back };
		if (__builtin_sub_overflow(at_ns, sent_ns, &point.delay_ns))
			continue;
		guint cell = (guint)(((__int128)at_ns - begin_ns) * CELLS / span_ns);
		if (!is_used[cell] || point.delay_ns < cells[cell].delay_ns)
			cells[cell] = point;
		is_used[cell] = true;
	}
	for (guint i = 0; i < CELLS; i++)
		if (is_used[i])
			g_array_append_val(b->quality->points, cells[i]);
}

static void add_widths(struct build *b, guint node_a, guint node_b, int64_t begin_ns, int64_t end_ns)
{
	__int128 span_ns = (__int128)end_ns - begin_ns;

	for (guint i = 0; i <= WIDTHS; i++) {
		struct dtc_quality_width width = { .at_ns = begin_ns + (int64_t)(span_ns * i / WIDTHS) };
		width.uncertainty_ns =
			dtc_clocks_get_uncertainty_ns(b->clocks, node_a, node_b, (DtcClusterTime){ width.at_ns });
		g_array_append_val(b->quality->widths, width);
	}
}

static void add_pair(struct build *b, const struct dtc_sync_pair *from, const DtcMatches *matches,
		     const char *const *names)
{
	DtcQuality *quality = b->quality;
	struct dtc_quality_pair pair = {
		.a = keep_name(b, names[from->a]),
		.b = keep_name(b, names[from->b]),
		.status = from->status,
		.messages_ab = from->messages_ab,
		.messages_ba = from->messages_ba,
		.ambiguous = from->ambiguous,
		.trimmed_count = from->trimmed_count,
		.step_count = from->step_count,
		.offset_ns = from->offset_ns,
		.drift_ppm = from->drift_ppm,
		.width_ns = { from->width_ns[0], from->width_ns[1], from->width_ns[2] },
		.uncertainty_ns = dtc_clocks_get_uncertainty_ns(b->clocks, from->a, from->b, b->at),
		.point_first = quality->points->len,
		.width_first = quality->widths->len,
	};
	bool is_comparable = dtc_clocks_get_group(b->clocks, from->a) == dtc_clocks_get_group(b->clocks, from->b);

	for (guint i = 0; matches && is_comparable && i < dtc_matches_get_pair_count(matches); i++) {
		struct dtc_match_pair messages;
		int64_t begin_ns, end_ns;
		dtc_matches_get_pair(matches, i, &messages);
		if (messages.a != from->a || messages.b != from->b || !find_span(b, &messages, &begin_ns, &end_ns))
			continue;
		add_points(b, messages.ab, messages.ab_count, messages.a, messages.b, false, begin_ns, end_ns);
		add_points(b, messages.ba, messages.ba_count, messages.b, messages.a, true, begin_ns, end_ns);
		add_widths(b, from->a, from->b, begin_ns, end_ns);
	}
	pair.point_count = quality->points->len - pair.point_first;
	pair.width_count = quality->widths->len - pair.width_first;
	g_array_append_val(quality->pairs, pair);
}

DtcQuality *dtc_quality_new(DtcClusterTime at, const char *const *names, const DtcClocks *clocks, const DtcSync *sync,
			    const DtcMatches *matches)
{
	DtcQuality *quality = g_new0(DtcQuality, 1);
	struct build b = { .quality = quality, .at = at, .clocks = clocks };
	guint reference = dtc_clocks_get_reference(clocks);

	quality->strings = g_string_chunk_new(1024);
	quality->nodes = g_array_new(FALSE, FALSE, sizeof(struct dtc_quality_node));
	quality->pairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_quality_pair));
	quality->points = g_array_new(FALSE, FALSE, sizeof(struct dtc_quality_point));
	quality->widths = g_array_new(FALSE, FALSE, sizeof(struct dtc_quality_width));
	for (guint i = 0; i < dtc_clocks_get_node_count(clocks); i++) {
		struct dtc_quality_node node = {
			.node = keep_name(&b, names[i]),
			.group = dtc_clocks_get_group(clocks, i),
			.uncertainty_ns = dtc_clocks_get_uncertainty_ns(clocks, reference, i, at),
		};
		g_array_append_val(quality->nodes, node);
	}
	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		if (pair->status != DTC_PAIR_NONE)
			add_pair(&b, pair, matches, names);
	}
	return quality;
}

void dtc_quality_free(DtcQuality *quality)
{
	if (!quality)
		return;
	g_array_unref(quality->nodes);
	g_array_unref(quality->pairs);
	g_array_unref(quality->points);
	g_array_unref(quality->widths);
	g_string_chunk_free(quality->strings);
	g_free(quality);
}
