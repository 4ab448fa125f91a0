/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/command.h"
#include "analyze/cli/manual.h"
#include "analyze/cli/process.h"
#include "analyze/cli/terminal.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#define SUMMARY_COLUMN 13

static const struct dtc_command *const commands[] = {
	&dtc_command_analyze,	&dtc_command_requests, &dtc_command_compare, &dtc_command_stats,  &dtc_command_sync,
	&dtc_command_blockings, &dtc_command_usage,    &dtc_command_top,     &dtc_command_states, &dtc_command_events,
	&dtc_command_edges,	&dtc_command_check,    &dtc_command_explain, &dtc_command_bundle,
};

static const struct dtc_command *find_command(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Borrowed; NULL if no command is alike. */
static const char *suggest_command(const char *word)
{
	const char *names[G_N_ELEMENTS(commands) + 1] = { NULL };

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		names[i] = commands[i]->name;
	return dtc_suggest(word, names);
}

static void print_commands(void)
{
	guint width = dtc_terminal_get_help_width();
	g_autoptr(GString) out = g_string_new(NULL);

	dtc_terminal_wrap(out, "dtrace-chain explains where the time of a request went, across threads and machines.",
			  0, 0, width);
	g_string_append(out, "\nCommands:\n");
	for (guint i = 0; i < dtc_manual_get_count(); i++) {
		g_string_append_printf(out, "  %-10s ", dtc_manual_get(i)->name);
		dtc_terminal_wrap(out, dtc_manual_get(i)->summary, SUMMARY_COLUMN, SUMMARY_COLUMN, width);
	}
	g_string_append_c(out, '\n');
	dtc_terminal_wrap(out,
			  "`dtrace-chain COMMAND --help` tells the options of a command. Without a command word it "
			  "analyses:",
			  0, 0, width);
	puts(out->str);
}

/* "did you mean" first, then all there are. */
static int report_unknown(const char *word, const char *what)
{
	g_autoptr(GString) names = g_string_new(NULL);
	const char *nearest = suggest_command(word);

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", commands[i]->name);
	g_autoptr(GError) error = g_error_new(DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
					      "'%s' is %s\n%s%s%sthe commands are %s; a bundle is a directory of "
					      "recordings or a .dtcb file",
					      word, what, nearest ? "did you mean '" : "", nearest ? nearest : "",
					      nearest ? "'? " : "", names->str);
	return dtc_cli_report_error(error);
}

static int run_help(int argc, char **argv)
{
	char analyze[] = "analyze", help[] = "--help";
	char *arguments[] = { analyze, help, NULL };

	if (argc > 2) {
		const struct dtc_command *command = find_command(argv[2]);
		if (!command)
			return report_unknown(argv[2], "not a command");
		arguments[0] = argv[2];
		return dtc_command_run(command, 2, arguments);
	}
	print_commands();
	return dtc_command_run(&dtc_command_analyze, 2, arguments);
}

/* For programs: the names of the commands, each of which has a table of its own. */
static int print_table(void)
{
	for (guint i = 0; i < dtc_manual_get_count(); i++)
		puts(dtc_manual_get(i)->name);
	return 0;
}

static int run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word) {
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
			return run_help(argc, argv);
		if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
			puts("dtrace-chain " DTC_VERSION);
			return 0;
		}
		if (strcmp(word, "--help-table") == 0)
			return print_table();
		const struct dtc_command *command = find_command(word);
		if (command)
			return dtc_command_run(command, argc - 1, argv + 1);
		if (word[0] != '-' && !strchr(word, '/') && !g_file_test(word, G_FILE_TEST_EXISTS))
			return report_unknown(word, "neither a command nor a bundle");
	}
	return dtc_command_run(&dtc_command_analyze, argc, argv);
}

int main(int argc, char **argv)
{
	dtc_process_prepare();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* figures are read by scripts too */
	dtc_terminal_handle_signals();
	g_set_prgname("dtrace-chain");
	return dtc_process_finish(run(argc, argv));
}
