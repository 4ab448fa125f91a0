/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/layout.h"

#include "analyze/engine/wall_clock.h"
#include "collect/console/printable.h"

#include <string.h>

struct DtcLayout {
	GString *out;
	GString *line;
	guint used;	      /* columns of line */
	gsize trimmed_length; /* of line, without spaces at its end */
	guint width;
	bool has_color;
	bool has_utf8;
};

DtcLayout *dtc_layout_new(guint width, bool has_color, bool has_utf8)
{
	DtcLayout *layout = g_new0(DtcLayout, 1);
	layout->out = g_string_new(NULL);
	layout->line = g_string_new(NULL);
	layout->width = width;
	layout->has_color = has_color;
	layout->has_utf8 = has_utf8;
	return layout;
}

void dtc_layout_free(DtcLayout *layout)
{
	if (!layout)
		return;
	g_string_free(layout->out, TRUE);
	g_string_free(layout->line, TRUE);
	g_free(layout);
}

guint dtc_layout_get_rest(const DtcLayout *layout)
{
	return layout->used < layout->width ? layout->width - layout->used : 0;
}

static void append_styled(DtcLayout *layout, const char *text, enum dtc_style style)
{
	static const char *const codes[DTC_STYLES] = {
		[DTC_STYLE_BOLD] = "1",	    [DTC_STYLE_DIM] = "2",     [DTC_STYLE_RED] = "31",
		[DTC_STYLE_GREEN] = "32",   [DTC_STYLE_YELLOW] = "33", [DTC_STYLE_BLUE] = "34",
		[DTC_STYLE_MAGENTA] = "35", [DTC_STYLE_CYAN] = "36",
	};
	if (!*text)
		return;
	if (layout->has_color && codes[style])
		g_string_append_printf(layout->line, "\033[%sm%s\033[0m", codes[style], text);
	else
		g_string_append(layout->line, text);
	layout->used += dtc_printable_get_columns(text);
	if (text[strspn(text, " ")])
		layout->trimmed_length = layout->line->len;
}

void dtc_layout_add_space(DtcLayout *layout, guint columns)
{
	columns = MIN(columns, dtc_layout_get_rest(layout));
	for (guint i = 0; i < columns; i++)
		g_string_append_c(layout->line, ' ');
	layout->used += columns;
}

/* What does not fit goes on here, so that a narrow line is longer and not cut. */
#define CONTINUED_COLUMNS 4
/* Of a text's first columns so many say something. */
#define READABLE_COLUMNS 16
/* Of a paragraph. */
#define PARAGRAPH_COLUMNS 24
/* A terminal on which there is no room for what is nice to have: nothing is cut there. */
#define NARROW_COLUMNS 60

static void continue_line(DtcLayout *layout, guint indent)
{
	dtc_layout_end_line(layout);
	dtc_layout_add_space(layout, indent);
}

static bool is_begun(const DtcLayout *layout)
{
	return layout->trimmed_length > 0;
}

void dtc_layout_add_left(DtcLayout *layout, const char *text, guint columns, enum dtc_style style)
{
	guint rest = dtc_layout_get_rest(layout);
	bool is_cut = dtc_printable_get_columns(text) > MIN(columns, rest);

	if (is_cut && is_begun(layout) && rest < READABLE_COLUMNS && columns >= rest) {
		continue_line(layout, CONTINUED_COLUMNS);
		columns = MIN(MAX(columns, dtc_printable_get_columns(text)), dtc_layout_get_rest(layout));
	}
	columns = MIN(columns, dtc_layout_get_rest(layout));
	g_autofree char *fit = dtc_printable_fit(text, columns);
	append_styled(layout, fit, style);
	dtc_layout_add_space(layout, columns - dtc_printable_get_columns(fit));
}

/* A figure that is cut is a wrong one, and one that touches its neighbour, too. */
void dtc_layout_add_right(DtcLayout *layout, const char *text, guint columns, enum dtc_style style)
{
	if (*text && columns > dtc_layout_get_rest(layout) && is_begun(layout))
		continue_line(layout, CONTINUED_COLUMNS);
	columns = MIN(columns, dtc_layout_get_rest(layout));
	g_autofree char *fit = dtc_printable_fit(text, columns);
	dtc_layout_add_space(layout, columns - dtc_printable_get_columns(fit));
	append_styled(layout, fit, style);
}

/* As many characters as fit, at least one. Caller owns. */
static char *take_columns(const char **text, guint columns)
{
	const char *begin = *text, *end = g_utf8_next_char(begin);

	while (*end) {
		g_autofree char *longer = g_strndup(begin, (gsize)(g_utf8_next_char(end) - begin));
		if (dtc_printable_get_columns(longer) > columns)
			break;
		end = g_utf8_next_char(end);
	}
	*text = end;
	return g_strndup(begin, (gsize)(end - begin));
}

/* Words over as many lines as they need; the last one stays open. A word longer than a line is broken. */
static void add_words(DtcLayout *layout, const char *text, guint indent, enum dtc_style style)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	bool is_first = true;

	for (char **word = words; *word; word++) {
		const char *left = *word;
		if (!is_first && dtc_printable_get_columns(left) + 1 > dtc_layout_get_rest(layout)) {
			continue_line(layout, indent);
			is_first = true;
		}
		if (!is_first)
			append_styled(layout, " ", style);
		while (dtc_printable_get_columns(left) > dtc_layout_get_rest(layout)) {
			if (dtc_layout_get_rest(layout) > 0) {
				g_autofree char *part = take_columns(&left, dtc_layout_get_rest(layout));
				append_styled(layout, part, style);
			}
			continue_line(layout, indent);
		}
		append_styled(layout, left, style);
		is_first = false;
	}
}

void dtc_layout_add(DtcLayout *layout, enum dtc_style style, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	guint rest = dtc_layout_get_rest(layout);

	if (dtc_printable_get_columns(text) > rest &&
	    (!is_begun(layout) || rest < READABLE_COLUMNS || layout->width < NARROW_COLUMNS)) {
		if (is_begun(layout)) {
			continue_line(layout, CONTINUED_COLUMNS);
			g_strchug(text);
		}
		if (layout->used <= CONTINUED_COLUMNS) { /* else it is deep in a tree */
			add_words(layout, text, CONTINUED_COLUMNS, style);
			return;
		}
	}
	g_autofree char *fit = dtc_printable_fit(text, dtc_layout_get_rest(layout));
	append_styled(layout, fit, style);
}

void dtc_layout_add_when(DtcLayout *layout, int64_t ns)
{
	g_autofree char *wall = dtc_wall_clock_format(ns);

	if (wall && dtc_layout_get_rest(layout) >= dtc_printable_get_columns(wall) + 2)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, ", %s", wall);
}

void dtc_layout_add_bar(DtcLayout *layout, double share, guint columns, enum dtc_style style)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	guint units = (guint)(CLAMP(share, 0.0, 1.0) * columns * 8 + 0.5);
	g_autoptr(GString) bar = g_string_new(NULL);

	if (units == 0 && share > 0)
		units = 1;
	for (guint i = 0; i < units / 8; i++)
		g_string_append(bar, "█");
	g_string_append(bar, eighths[units % 8]);
	dtc_layout_add_left(layout, bar->str, columns, style);
}

void dtc_layout_end_line(DtcLayout *layout)
{
	g_string_truncate(layout->line, layout->trimmed_length);
	while (layout->line->len && layout->line->str[layout->line->len - 1] == ' ')
		g_string_truncate(layout->line, layout->line->len - 1);
	if (layout->has_utf8) {
		g_string_append_len(layout->out, layout->line->str, (gssize)layout->line->len);
	} else {
		g_autofree char *ascii = dtc_printable_to_ascii(layout->line->str);
		g_string_append(layout->out, ascii);
	}
	g_string_append_c(layout->out, '\n');
	g_string_truncate(layout->line, 0);
	layout->used = 0;
	layout->trimmed_length = 0;
}

void dtc_layout_add_paragraph(DtcLayout *layout, const char *text, guint indent)
{
	if (indent + PARAGRAPH_COLUMNS > layout->width) {
		indent = CONTINUED_COLUMNS;
		if (is_begun(layout) && dtc_layout_get_rest(layout) < PARAGRAPH_COLUMNS && *text)
			continue_line(layout, indent);
	}
	add_words(layout, text, indent, DTC_STYLE_PLAIN);
	dtc_layout_end_line(layout);
}

void dtc_layout_add_heading(DtcLayout *layout, const char *text, const char *note)
{
	dtc_layout_end_line(layout);
	dtc_layout_add(layout, DTC_STYLE_BOLD, "%s", text);
	if (note) {
		append_styled(layout, "  ", DTC_STYLE_DIM);
		add_words(layout, note, CONTINUED_COLUMNS, DTC_STYLE_DIM);
	}
	dtc_layout_end_line(layout);
}

char *dtc_layout_steal(DtcLayout *layout)
{
	char *text = g_string_free(layout->out, FALSE);
	layout->out = g_string_new(NULL);
	return text;
}
