/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/json_text.h"
#include "analyze/report/quality.h"

#include <inttypes.h>

static void append_text(GString *out, const char *key, const char *text)
{
	dtc_json_text_append_key(out, key);
	dtc_json_text_append_string(out, text);
}

static void append_number(GString *out, const char *key, int64_t number)
{
	dtc_json_text_append_key(out, key);
	g_string_append_printf(out, "%" PRId64, number);
}

static void append_value(GString *out, int64_t value)
{
	dtc_json_text_append_comma(out);
	g_string_append_printf(out, "%" PRId64, value);
}

static void begin(GString *out, const char *key, char bracket)
{
	if (key)
		dtc_json_text_append_key(out, key);
	else
		dtc_json_text_append_comma(out);
	g_string_append_c(out, bracket);
}

static int64_t get_uncertainty(int64_t uncertainty_ns)
{
	return uncertainty_ns == INT64_MAX ? -1 : uncertainty_ns;
}

static void append_drift(GString *out, double drift_ppm)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	dtc_json_text_append_key(out, "drift");
	g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.4f", drift_ppm));
}

static void append_pair(GString *out, const DtcQuality *quality, const struct dtc_quality_pair *pair, int64_t origin_ns)
{
	begin(out, NULL, '{');
	append_text(out, "a", pair->a);
	append_text(out, "b", pair->b);
	append_text(out, "status", dtc_pair_status_to_string(pair->status));
	append_number(out, "ab", (int64_t)pair->messages_ab);
	append_number(out, "ba", (int64_t)pair->messages_ba);
	append_number(out, "ambiguous", (int64_t)pair->ambiguous);
	append_number(out, "trimmed", pair->trimmed_count);
	append_number(out, "steps", pair->step_count);
	append_number(out, "offset", pair->offset_ns);
	append_drift(out, pair->drift_ppm);
	append_number(out, "uncertainty", get_uncertainty(pair->uncertainty_ns));
	begin(out, "width", '[');
	for (guint i = 0; i < 3; i++)
		append_value(out, pair->width_ns[i]);
	g_string_append_c(out, ']');
	begin(out, "points", '['); /* arrival, delay, from b to a */
	for (guint i = pair->point_first; i < pair->point_first + pair->point_count; i++) {
		const struct dtc_quality_point *point = &g_array_index(quality->points, struct dtc_quality_point, i);
		append_value(out, point->at_ns - origin_ns);
		append_value(out, point->delay_ns);
		append_value(out, point->is_back);
	}
	g_string_append_c(out, ']');
	begin(out, "widths", '['); /* time, half-width */
	for (guint i = pair->width_first; i < pair->width_first + pair->width_count; i++) {
		const struct dtc_quality_width *width = &g_array_index(quality->widths, struct dtc_quality_width, i);
		append_value(out, width->at_ns - origin_ns);
		append_value(out, get_uncertainty(width->uncertainty_ns));
	}
	g_string_append(out, "]}");
}

void dtc_quality_append_json(GString *out, const DtcQuality *quality, int64_t origin_ns)
{
	begin(out, "nodes", '[');
	for (guint i = 0; i < quality->nodes->len; i++) {
		const struct dtc_quality_node *node = &g_array_index(quality->nodes, struct dtc_quality_node, i);
		begin(out, NULL, '{');
		append_text(out, "node", node->node);
		append_number(out, "group", node->group);
		append_number(out, "uncertainty", get_uncertainty(node->uncertainty_ns));
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
	begin(out, "pairs", '[');
	for (guint i = 0; i < quality->pairs->len; i++)
		append_pair(out, quality, &g_array_index(quality->pairs, struct dtc_quality_pair, i), origin_ns);
	g_string_append_c(out, ']');
}
