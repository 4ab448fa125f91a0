/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/json_object.h"

#include "analyze/report/printable.h"

void dtc_json_append_text(GString *out, const char *text, guint max)
{
	if (!text) {
		g_string_append(out, "null");
		return;
	}
	g_autofree char *printable = dtc_printable(text, max);

	g_string_append_c(out, '"');
	/* printable text has neither control characters nor bytes that are not UTF-8: these two are left */
	for (const char *p = printable; *p; p++) {
		if (*p == '"' || *p == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *p);
	}
	g_string_append_c(out, '"');
}

void dtc_json_append_separator(GString *out)
{
	gsize end = out->len;

	while (end > 0 && g_ascii_isspace(out->str[end - 1]))
		end--;
	if (end > 0 && out->str[end - 1] != '{' && out->str[end - 1] != '[')
		g_string_append(out, ", ");
}

void dtc_json_append_key(GString *out, const char *key)
{
	dtc_json_append_separator(out);
	g_string_append_printf(out, "\"%s\": ", key);
}

void dtc_json_add_text(GString *out, const char *key, const char *text)
{
	dtc_json_append_key(out, key);
	dtc_json_append_text(out, text, DTC_PRINTABLE_MAX);
}

void dtc_json_add_name(GString *out, const char *key, const char *name)
{
	dtc_json_append_key(out, key);
	dtc_json_append_text(out, name, DTC_JSON_NAME_MAX);
}

void dtc_json_add_integer(GString *out, const char *key, int64_t value)
{
	dtc_json_append_key(out, key);
	g_string_append_printf(out, "%" G_GINT64_FORMAT, (gint64)value);
}

void dtc_json_add_bool(GString *out, const char *key, bool value)
{
	dtc_json_append_key(out, key);
	g_string_append(out, value ? "true" : "false");
}

void dtc_json_add_null(GString *out, const char *key)
{
	dtc_json_append_key(out, key);
	g_string_append(out, "null");
}

void dtc_json_add_id(GString *out, const char *key, int32_t id)
{
	if (id >= 0)
		dtc_json_add_integer(out, key, id);
	else
		dtc_json_add_null(out, key);
}
