/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/check_view.h"

#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

static guint count_wrong(const GArray *checks)
{
	guint wrong = 0;

	for (guint i = 0; i < checks->len; i++)
		wrong += g_array_index(checks, struct dtc_check, i).wrong_count > 0;
	return wrong;
}

static const char *get_node(const struct dtc_check *check, const char *const *node_names)
{
	return check->node == G_MAXUINT ? NULL : node_names[check->node];
}

char *dtc_checks_to_json(const GArray *checks, const char *const *node_names, const DtcFindings *findings)
{
	GString *out = g_string_new("{\n  ");

	dtc_json_add_text(out, "schema", DTC_CHECK_SCHEMA);
	dtc_json_add_bool(out, "ok", count_wrong(checks) == 0);
	dtc_json_append_key(out, "checks");
	g_string_append_c(out, '[');
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_check *check = &g_array_index(checks, struct dtc_check, i);
		g_string_append(out, i ? ",\n    {" : "\n    {");
		dtc_json_add_text(out, "check", check->name);
		dtc_json_add_text(out, "text", check->text);
		dtc_json_add_name(out, "node", get_node(check, node_names));
		dtc_json_add_integer(out, "count", (int64_t)check->count);
		dtc_json_add_integer(out, "wrong", (int64_t)check->wrong_count);
		dtc_json_add_bool(out, "ok", check->wrong_count == 0);
		dtc_json_add_text(out, "detail", check->detail);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "\n  ]");
	dtc_finding_list_add_json(out, findings);
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}

static void add_check(DtcLayout *layout, const struct dtc_check *check, const char *node)
{
	g_autofree char *printable = dtc_printable(node ? node : "all", DTC_PRINTABLE_NAME_MAX);
	g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, check->count);
	g_autofree char *wrong = g_strdup_printf("%" G_GUINT64_FORMAT, check->wrong_count);
	g_autofree char *detail = dtc_printable(check->detail, DTC_PRINTABLE_MAX);
	bool is_ok = check->wrong_count == 0;

	dtc_layout_add_left(layout, check->name, 10, DTC_STYLE_PLAIN);
	dtc_layout_add_left(layout, printable, 12, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, count, 9, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, wrong, 8, is_ok ? DTC_STYLE_DIM : DTC_STYLE_RED);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add_left(layout, is_ok ? "OK" : "FAILED", 8, is_ok ? DTC_STYLE_GREEN : DTC_STYLE_RED);
	if (detail)
		dtc_layout_add_paragraph(layout, detail, 49);
	else
		dtc_layout_end_line(layout);
}

/* What each check means, once. */
static void add_legend(DtcLayout *layout, const GArray *checks)
{
	dtc_layout_add_heading(layout, "Meaning", NULL);
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_check *check = &g_array_index(checks, struct dtc_check, i);
		bool is_told = false;
		for (guint k = 0; k < i; k++)
			is_told |= g_array_index(checks, struct dtc_check, k).name == check->name;
		if (is_told)
			continue;
		dtc_layout_add_left(layout, check->name, 10, DTC_STYLE_DIM);
		dtc_layout_add_paragraph(layout, check->text, 10);
	}
}

char *dtc_checks_to_text(const GArray *checks, const char *const *node_names, const DtcFindings *findings, guint width,
			 bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	guint wrong = count_wrong(checks);

	dtc_layout_add_left(layout, "check", 10, DTC_STYLE_DIM);
	dtc_layout_add_left(layout, "node", 12, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "looked at", 9, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "wrong", 8, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_check *check = &g_array_index(checks, struct dtc_check, i);
		add_check(layout, check, get_node(check, node_names));
	}
	if (wrong)
		dtc_layout_add(layout, DTC_STYLE_RED, "%u of %u checks FAILED", wrong, checks->len);
	else
		dtc_layout_add(layout, DTC_STYLE_GREEN, "all %u checks OK", checks->len);
	dtc_layout_end_line(layout);
	add_legend(layout, checks);
	dtc_finding_list_add_text(layout, findings);
	return dtc_layout_steal(layout);
}
