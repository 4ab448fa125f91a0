/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/program.h"

#include "collect/bundle/suggest.h"
#include "collect/console/printable.h"
#include "collect/console/terminal.h"
#include "dtrace-chain/error.h"

#include <stdio.h>
#include <string.h>

#define SUMMARY_COLUMN 13
#define ERROR_CHARACTERS 2000

const struct dtc_manual *dtc_program_find_manual(const struct dtc_program *program, const char *command)
{
	for (guint i = 0; i < program->manual_count; i++)
		if (strcmp(program->manuals[i].name, command) == 0)
			return &program->manuals[i];
	return NULL;
}

void dtc_program_print_commands(const struct dtc_program *program)
{
	guint width = dtc_terminal_get_help_width();
	g_autoptr(GString) out = g_string_new(NULL);

	dtc_terminal_wrap(out, program->purpose, 0, 0, width);
	g_string_append(out, "\nCommands:\n");
	for (guint i = 0; i < program->manual_count; i++) {
		g_string_append_printf(out, "  %-10s ", program->manuals[i].name);
		dtc_terminal_wrap(out, program->manuals[i].summary, SUMMARY_COLUMN, SUMMARY_COLUMN, width);
	}
	g_string_append_c(out, '\n');
	dtc_terminal_wrap(out, program->commands, 0, 0, width);
	puts(out->str);
}

void dtc_program_print_table(const struct dtc_program *program)
{
	for (guint i = 0; i < program->manual_count; i++)
		puts(program->manuals[i].name);
}

int dtc_program_report_unknown(const struct dtc_program *program, const char *word, const char *what)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	for (guint i = 0; i < program->manual_count; i++)
		g_ptr_array_add(names, (char *)program->manuals[i].name);
	g_ptr_array_add(names, NULL);
	const char *nearest = dtc_suggest(word, (const char *const *)names->pdata);
	g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
	g_autoptr(GError) error = g_error_new(
		DTC_COLLECT_ERROR, DTC_ERROR_USAGE, "'%s' is %s\n%s%s%sthe commands are %s%s", word, what,
		nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", list, program->others);
	return dtc_program_report_error(program, error);
}

static char *make_printable(const char *text)
{
	g_autofree char *printable = dtc_printable(text, ERROR_CHARACTERS);

	return dtc_terminal_is_ascii() ? dtc_printable_to_ascii(printable) : g_steal_pointer(&printable);
}

static void print_hint(const char *hint)
{
	g_auto(GStrv) lines = g_strsplit(hint, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		bool has_prefix = g_str_has_prefix(lines[i], "hint: ");
		g_autofree char *line = make_printable(lines[i] + (has_prefix ? strlen("hint: ") : 0));
		fprintf(stderr, "%s%s\n", i == 0 ? "hint: " : "      ", line);
	}
}

/* The first line is the message, the rest the hint. */
int dtc_program_report_error(const struct dtc_program *program, const GError *error)
{
	g_auto(GStrv) parts = g_strsplit(error->message, "\n", 2);
	g_autofree char *message = make_printable(parts[0]);
	bool is_usage = error->domain == G_OPTION_ERROR;

	if (is_usage && g_ascii_isupper(message[0]) && !g_ascii_isupper(message[1]))
		message[0] = g_ascii_tolower(message[0]); /* GLib writes sentences */
	fprintf(stderr, "%s: %s\n", program->name, message);
	if (parts[0] && parts[1])
		print_hint(parts[1]);
	else if (is_usage)
		fprintf(stderr, "hint: `%s --help` lists the commands and options\n", program->name);
	if (error->code == DTC_ERROR_USAGE && (error->domain == DTC_COLLECT_ERROR || error->domain == DTC_SYNC_ERROR ||
					       error->domain == DTC_ANALYZE_ERROR))
		is_usage = true;
	return is_usage ? 2 : 1;
}
