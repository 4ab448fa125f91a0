/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: print_events [--reader fast|reference] FOLDER */
#include "tests/reader/printers.h"

#include <stdio.h>
#include <string.h>

void print_text(GString *to, const char *text, gsize bytes)
{
	g_string_append_c(to, '"');
	for (gsize i = 0; i < bytes; i++) {
		if (text[i] == '"' || text[i] == '\\')
			g_string_append_printf(to, "\\%c", text[i]);
		else if (g_ascii_isprint(text[i]))
			g_string_append_c(to, text[i]);
		else
			g_string_append_printf(to, "\\x%02x", (guint8)text[i]);
	}
	g_string_append_c(to, '"');
}

void print_number(GString *to, uint64_t value, bool is_signed)
{
	if (is_signed)
		g_string_append_printf(to, "%" G_GINT64_FORMAT, (int64_t)value);
	else
		g_string_append_printf(to, "%" G_GUINT64_FORMAT, value);
}

void print_line(GString *line)
{
	g_string_append_c(line, '\n');
	fwrite(line->str, 1, line->len, stdout);
	g_string_truncate(line, 0);
}

int main(int argc, char **argv)
{
	bool is_reference = argc == 4 && strcmp(argv[1], "--reader") == 0 && strcmp(argv[2], "reference") == 0;
	bool is_fast = argc == 2 || (argc == 4 && strcmp(argv[1], "--reader") == 0 && strcmp(argv[2], "fast") == 0);
	if (!is_reference && !is_fast) {
		fprintf(stderr, "usage: print_events [--reader fast|reference] FOLDER\n");
		return 2;
	}
	return is_fast ? print_fast(argv[argc - 1]) : print_reference(argv[argc - 1]);
}
