/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/quality.h"
#include "collect/console/json_object.h"

static int64_t get_uncertainty(int64_t uncertainty_ns)
{
	return uncertainty_ns == INT64_MAX ? -1 : uncertainty_ns;
}

static void append_drift(GString *out, double drift_ppm)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	dtc_json_pack_key(out, "drift");
	g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.4f", drift_ppm));
}

static void append_pair(GString *out, const DtcQuality *quality, const struct dtc_quality_pair *pair, int64_t origin_ns)
{
	dtc_json_pack_open(out, NULL, '{');
	dtc_json_pack_string(out, "a", pair->a);
	dtc_json_pack_string(out, "b", pair->b);
	dtc_json_pack_string(out, "status", dtc_pair_status_to_string(pair->status));
	dtc_json_pack_integer(out, "ab", (int64_t)pair->messages_ab);
	dtc_json_pack_integer(out, "ba", (int64_t)pair->messages_ba);
	dtc_json_pack_integer(out, "ambiguous", (int64_t)pair->ambiguous);
	dtc_json_pack_integer(out, "trimmed", pair->trimmed_count);
	dtc_json_pack_integer(out, "steps", pair->step_count);
	dtc_json_pack_integer(out, "offset", pair->offset_ns);
	append_drift(out, pair->drift_ppm);
	dtc_json_pack_integer(out, "uncertainty", get_uncertainty(pair->uncertainty_ns));
	dtc_json_pack_open(out, "width", '[');
	for (guint i = 0; i < 3; i++)
		dtc_json_pack_value(out, pair->width_ns[i]);
	g_string_append_c(out, ']');
	dtc_json_pack_open(out, "points", '['); /* arrival, delay, from b to a */
	for (guint i = pair->point_first; i < pair->point_first + pair->point_count; i++) {
		const struct dtc_quality_point *point = &g_array_index(quality->points, struct dtc_quality_point, i);
		dtc_json_pack_value(out, point->at_ns - origin_ns);
		dtc_json_pack_value(out, point->delay_ns);
		dtc_json_pack_value(out, point->is_back);
	}
	g_string_append_c(out, ']');
	dtc_json_pack_open(out, "widths", '['); /* time, half-width */
	for (guint i = pair->width_first; i < pair->width_first + pair->width_count; i++) {
		const struct dtc_quality_width *width = &g_array_index(quality->widths, struct dtc_quality_width, i);
		dtc_json_pack_value(out, width->at_ns - origin_ns);
		dtc_json_pack_value(out, get_uncertainty(width->uncertainty_ns));
	}
	g_string_append(out, "]}");
}

void dtc_quality_append_json(GString *out, const DtcQuality *quality, int64_t origin_ns)
{
	dtc_json_pack_open(out, "nodes", '[');
	for (guint i = 0; i < quality->nodes->len; i++) {
		const struct dtc_quality_node *node = &g_array_index(quality->nodes, struct dtc_quality_node, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "node", node->node);
		dtc_json_pack_integer(out, "group", node->group);
		dtc_json_pack_integer(out, "uncertainty", get_uncertainty(node->uncertainty_ns));
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
	dtc_json_pack_open(out, "pairs", '[');
	for (guint i = 0; i < quality->pairs->len; i++)
		append_pair(out, quality, &g_array_index(quality->pairs, struct dtc_quality_pair, i), origin_ns);
	g_string_append_c(out, ']');
}
