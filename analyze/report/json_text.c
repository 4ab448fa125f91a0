/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/json_text.h"

void dtc_json_text_append_string(GString *out, const char *text)
{
	if (!text) {
		g_string_append(out, "null");
		return;
	}
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_string_append_c(out, '"');
	for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);
		if (c == '"' || c == '\\')
			g_string_append_printf(out, "\\%c", (char)c);
		else if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029)
			g_string_append_printf(out, "\\u%04x", c);
		else
			g_string_append_unichar(out, c);
	}
	g_string_append_c(out, '"');
}

void dtc_json_text_append_comma(GString *out)
{
	char last = out->len ? out->str[out->len - 1] : '[';

	if (last != '[' && last != '{')
		g_string_append_c(out, ',');
}

void dtc_json_text_append_key(GString *out, const char *key)
{
	dtc_json_text_append_comma(out);
	dtc_json_text_append_string(out, key);
	g_string_append_c(out, ':');
}
