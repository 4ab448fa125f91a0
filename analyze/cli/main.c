/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/command.h"
#include "analyze/cli/terminal.h"
#include "dtrace-chain/error.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct dtc_command commands[] = {
	{ "analyze", "where the time of one request or thread went (the default)", dtc_command_analyze },
	{ "requests", "all requests of a bundle: who is slow, and why", dtc_command_requests },
	{ "compare", "which part of the time makes slow requests slow", dtc_command_compare },
	{ "stats", "what each node's recording holds: events, losses, spans, packets", dtc_command_stats },
	{ "sync", "how the clocks of the nodes relate, and how sure that is", dtc_command_sync },
	{ "blockings", "what threads were blocked on, and what their wakers were blocked on", dtc_command_blockings },
	{ "usage", "CPU, disk and network of every process, and who talks to whom", dtc_command_usage },
	{ "top", "what every process or thread did with its time", dtc_command_top },
	{ "states", "what a thread, process or node did, by state, call and file", dtc_command_states },
	{ "events", "the events of all nodes, merged on one clock", dtc_command_events },
	{ "check", "verifies what all the others promise about their figures", dtc_command_check },
};

static const struct dtc_command *find_command(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void print_commands(void)
{
	puts("dtrace-chain explains where the time of a request went, across threads and machines.\n\nCommands:");
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	puts("\n`dtrace-chain COMMAND --help` tells the options of a command. Without a command word it analyses:\n");
}

static int run_help(int argc, char **argv)
{
	char analyze[] = "analyze", help[] = "--help";
	char *arguments[] = { analyze, help, NULL };

	if (argc > 2) {
		const struct dtc_command *command = find_command(argv[2]);
		if (!command) {
			g_autoptr(GError) error = g_error_new(DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
							      "there is no command '%s'\n"
							      "`dtrace-chain --help` lists the commands", argv[2]);
			return dtc_cli_report_error(error);
		}
		arguments[0] = argv[2];
		return command->run(2, arguments);
	}
	print_commands();
	return dtc_command_analyze(2, arguments);
}

/* A first word that is neither a command nor a place is most likely a mistyped command. */
static int report_unknown_word(const char *word)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", commands[i].name);
	g_autoptr(GError) error = g_error_new(DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
					      "'%s' is neither a command nor a bundle\n"
					      "the commands are %s; a bundle is a directory of recordings",
					      word, names->str);
	return dtc_cli_report_error(error);
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* figures are read by scripts too */
	dtc_terminal_handle_signals();
	g_set_prgname("dtrace-chain");

	const char *word = argc > 1 ? argv[1] : NULL;
	if (word) {
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
			return run_help(argc, argv);
		if (strcmp(word, "--version") == 0) {
			puts("dtrace-chain " DTC_VERSION);
			return 0;
		}
		const struct dtc_command *command = find_command(word);
		if (command)
			return command->run(argc - 1, argv + 1);
		if (word[0] != '-' && !strchr(word, '/') && !g_file_test(word, G_FILE_TEST_EXISTS))
			return report_unknown_word(word);
	}
	return dtc_command_analyze(argc, argv);
}
