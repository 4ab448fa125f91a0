/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/json_object.h"

#include "collect/console/printable.h"

#include <string.h>

static bool is_plain(char c)
{
	return ((guchar)c >= 0x20 && c != '"' && c != '\\' && c != 0x7f);
}

static void append_escape(GString *out, char c)
{
	static const char letters[] = "\b\f\n\r\t", escapes[] = "bfnrt";
	const char *letter = strchr(letters, c);

	if (c == '"' || c == '\\')
		g_string_append_printf(out, "\\%c", c);
	else if (letter)
		g_string_append_printf(out, "\\%c", escapes[letter - letters]);
	else
		g_string_append_printf(out, "\\u%04x", (guint)c);
}

/* text is UTF-8. */
static void append_quoted(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	while (*text) {
		gsize plain = 0;
		while (is_plain(text[plain]))
			plain++;
		g_string_append_len(out, text, (gssize)plain);
		text += plain;
		if (*text)
			append_escape(out, *text++);
	}
	g_string_append_c(out, '"');
}

void dtc_json_append_string(GString *out, const char *text)
{
	if (!text) {
		g_string_append(out, "null");
		return;
	}
	g_autofree char *made_valid = g_utf8_validate(text, -1, NULL) ? NULL : g_utf8_make_valid(text, -1);

	append_quoted(out, made_valid ? made_valid : text);
}

void dtc_json_append_text(GString *out, const char *text, guint max)
{
	g_autofree char *printable = dtc_printable(text, max);

	dtc_json_append_string(out, printable);
}

static void append_separator(GString *out, const char *separator)
{
	gsize end = out->len;

	while (end > 0 && g_ascii_isspace(out->str[end - 1]))
		end--;
	if (end > 0 && !strchr("{[,:", out->str[end - 1]))
		g_string_append(out, separator);
}

static void append_integer(GString *out, int64_t value)
{
	g_string_append_printf(out, "%" G_GINT64_FORMAT, (gint64)value);
}

/* ---- with spaces ---- */

void dtc_json_append_separator(GString *out)
{
	append_separator(out, ", ");
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
	dtc_json_append_text(out, name, DTC_PRINTABLE_NAME_MAX);
}

void dtc_json_add_integer(GString *out, const char *key, int64_t value)
{
	dtc_json_append_key(out, key);
	append_integer(out, value);
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

/* ---- packed ---- */

void dtc_json_pack_separator(GString *out)
{
	append_separator(out, ",");
}

void dtc_json_pack_key(GString *out, const char *key)
{
	dtc_json_pack_separator(out);
	g_string_append_printf(out, "\"%s\":", key);
}

void dtc_json_pack_string(GString *out, const char *key, const char *text)
{
	dtc_json_pack_key(out, key);
	dtc_json_append_string(out, text);
}

void dtc_json_pack_integer(GString *out, const char *key, int64_t value)
{
	dtc_json_pack_key(out, key);
	append_integer(out, value);
}

void dtc_json_pack_null(GString *out, const char *key)
{
	dtc_json_pack_key(out, key);
	g_string_append(out, "null");
}

void dtc_json_pack_id(GString *out, const char *key, int32_t id)
{
	if (id >= 0)
		dtc_json_pack_integer(out, key, id);
	else
		dtc_json_pack_null(out, key);
}

void dtc_json_pack_open(GString *out, const char *key, char bracket)
{
	if (key)
		dtc_json_pack_key(out, key);
	else
		dtc_json_pack_separator(out);
	g_string_append_c(out, bracket);
}

void dtc_json_pack_value(GString *out, int64_t value)
{
	dtc_json_pack_separator(out);
	append_integer(out, value);
}

char *dtc_json_escape_markup(const char *json)
{
	GString *out = g_string_sized_new(strlen(json) + 1024);

	while (*json) {
		gsize plain = strcspn(json, "<>&\xe2");
		g_string_append_len(out, json, (gssize)plain);
		json += plain;
		gunichar c = *json ? g_utf8_get_char(json) : 0;
		if (c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029)
			g_string_append_printf(out, "\\u%04x", c);
		else if (c)
			g_string_append_unichar(out, c);
		json += c ? g_utf8_next_char(json) - json : 0;
	}
	return g_string_free(out, FALSE);
}
