/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/cause_page.h"

#include "analyze/report/layout.h"

#include <string.h>

extern const char dtc_causes_md[]; /* docs/causes.md */

#define NAME_COLUMNS 16

guint dtc_cause_page_get_count(void)
{
	return DTC_CAUSES;
}

const char *dtc_cause_page_get_name(guint index)
{
	return dtc_cause_to_string((enum dtc_cause)index);
}

/* The lines of a section behind its heading; empty if there is none. Caller owns. */
static char **split_section(guint index)
{
	g_autofree char *heading = g_strdup_printf("\n## %s\n", dtc_cause_page_get_name(index));
	const char *begin = strstr(dtc_causes_md, heading);
	if (!begin)
		return g_new0(char *, 1);
	begin += strlen(heading);
	const char *end = strstr(begin, "\n## ");
	g_autofree char *section = end ? g_strndup(begin, (gsize)(end - begin)) : g_strdup(begin);
	return g_strsplit(section, "\n", -1);
}

/* Ends a paragraph or item, without the marks of code. */
static void flush(GString *out, GString *text)
{
	if (!text->len)
		return;
	g_string_replace(text, "`", "", 0);
	g_string_append_printf(out, "%s%s", out->len ? "\n" : "", text->str);
	g_string_truncate(text, 0);
}

char *dtc_cause_page_to_lines(guint index)
{
	g_autoptr(GString) text = g_string_new(NULL);
	GString *out = g_string_new(NULL);
	g_auto(GStrv) lines = split_section(index);

	for (char **line = lines; *line; line++) {
		const char *part = *line;
		if (!*part || g_str_has_prefix(part, "- "))
			flush(out, text);
		while (*part == ' ')
			part++;
		if (*part)
			g_string_append_printf(text, "%s%s", text->len ? " " : "", part);
	}
	flush(out, text);
	return g_string_free(out, FALSE);
}

char *dtc_cause_page_to_text(guint index, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	g_autofree char *section = dtc_cause_page_to_lines(index);
	g_auto(GStrv) lines = g_strsplit(section, "\n", -1);

	dtc_layout_add(layout, DTC_STYLE_BOLD, "%s", dtc_cause_page_get_name(index));
	dtc_layout_end_line(layout);
	for (char **line = lines; *line; line++)
		dtc_layout_add_paragraph(layout, *line, g_str_has_prefix(*line, "- ") ? 2 : 0);
	return dtc_layout_steal(layout);
}

char *dtc_cause_page_list(guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);

	for (guint i = 0; i < dtc_cause_page_get_count(); i++) {
		g_auto(GStrv) lines = split_section(i);
		g_autoptr(GString) text = g_string_new(NULL);
		for (char **line = lines; *line && (!text->len || **line); line++)
			if (**line)
				g_string_append_printf(text, "%s%s", text->len ? " " : "", *line);
		char *end = strstr(text->str, ". ");
		if (end)
			g_string_truncate(text, (gsize)(end - text->str) + 1);
		g_string_replace(text, "`", "", 0);
		dtc_layout_add_left(layout, dtc_cause_page_get_name(i), NAME_COLUMNS, DTC_STYLE_BOLD);
		dtc_layout_add_paragraph(layout, text->str, NAME_COLUMNS);
	}
	return dtc_layout_steal(layout);
}
