/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/printable.h"

#include <string.h>

#define ELLIPSIS "…"

static bool is_shown(gunichar c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return false;
	switch (g_unichar_type(c)) {
	case G_UNICODE_CONTROL:
	case G_UNICODE_FORMAT: /* bidirectional overrides turn a report around */
	case G_UNICODE_LINE_SEPARATOR:
	case G_UNICODE_PARAGRAPH_SEPARATOR:
	case G_UNICODE_SURROGATE:
	case G_UNICODE_UNASSIGNED:
	case G_UNICODE_PRIVATE_USE:
		return false;
	default:
		return true;
	}
}

bool dtc_printable_is_plain(const char *text, guint max)
{
	guint length = 0;

	for (; text[length]; length++)
		if (length == max || text[length] < 0x20 || text[length] > 0x7e)
			return false;
	return true;
}

char *dtc_printable(const char *text, guint max)
{
	if (!text)
		return NULL;
	if (dtc_printable_is_plain(text, max))
		return g_strdup(text);
	g_autoptr(GString) out = g_string_new(NULL);
	guint used = 0;
	gsize last = 0; /* where the last piece that leaves room for the ellipsis ends */

	for (const char *p = text; *p;) {
		/* Length is bounded by the next NUL: g_utf8_get_char_validated stops there by itself. */
		gunichar c = g_utf8_get_char_validated(p, -1);
		bool valid = c != (gunichar)-1 && c != (gunichar)-2;
		bool shown = valid && is_shown(c);
		gsize length = valid ? (gsize)(g_utf8_next_char(p) - p) : 1;
		guint width = shown ? 1 : 4 * (guint)length;

		if (used + width > max) {
			g_string_truncate(out, last);
			if (max > 0)
				g_string_append(out, ELLIPSIS);
			break;
		}
		if (shown)
			g_string_append_len(out, p, (gssize)length);
		else
			for (gsize i = 0; i < length; i++)
				g_string_append_printf(out, "\\x%02x", (guchar)p[i]);
		used += width;
		if (used < max)
			last = out->len;
		p += length;
	}
	return g_string_free(g_steal_pointer(&out), FALSE);
}

static guint get_width(gunichar c)
{
	if (g_unichar_iszerowidth(c))
		return 0;
	return g_unichar_iswide(c) ? 2 : 1;
}

guint dtc_printable_get_columns(const char *text)
{
	guint columns = 0;

	for (const char *p = text; *p; p = g_utf8_next_char(p))
		columns += get_width(g_utf8_get_char(p));
	return columns;
}

char *dtc_printable_fit(const char *text, guint columns)
{
	guint used = 0;
	const char *cut = text; /* up to here there is room for the ellipsis too */

	for (const char *p = text; *p; p = g_utf8_next_char(p)) {
		used += get_width(g_utf8_get_char(p));
		if (used > columns) {
			if (columns == 0)
				return g_strdup("");
			return g_strdup_printf("%.*s" ELLIPSIS, (int)(cut - text), text);
		}
		if (used < columns)
			cut = g_utf8_next_char(p);
	}
	return g_strdup(text);
}

char *dtc_printable_to_ascii(const char *text)
{
	static const struct {
		const char *glyph;
		char ascii;
	} likenesses[] = {
		{ "…", '~' }, { "█", '#' }, { "▉", '#' }, { "▊", '#' }, { "▋", '=' }, { "▌", '=' }, { "▍", '-' },
		{ "▎", '-' }, { "▏", '.' }, { "→", '>' }, { "←", '<' }, { "±", '~' }, { "µ", 'u' }, { "└", '`' },
		{ "├", '|' }, { "│", '|' }, { "─", '-' }, { "·", '-' }, { "–", '-' }, { "≈", '~' },
	};
	GString *out = g_string_sized_new(strlen(text));

	for (const char *p = text; *p; p = g_utf8_next_char(p)) {
		if ((guchar)*p < 0x80) {
			g_string_append_c(out, *p);
			continue;
		}
		gunichar c = g_utf8_get_char(p);
		char ascii = '?';
		for (gsize i = 0; i < G_N_ELEMENTS(likenesses); i++)
			if (c == g_utf8_get_char(likenesses[i].glyph))
				ascii = likenesses[i].ascii;
		g_string_append_c(out, ascii);
	}
	return g_string_free(out, FALSE);
}

char *dtc_printable_lines(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		char *printable = dtc_printable(*line, G_MAXINT);
		g_free(*line);
		*line = printable;
	}
	return g_strjoinv("\n", lines);
}
