/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/program.h"

#include "analyze/cli/command.h"
#include "analyze/cli/last_words.h"
#include "analyze/cli/manual.h"
#include "collect/console/process.h"
#include "collect/console/terminal.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct dtc_command *const commands[] = {
	&dtc_command_analyze,	&dtc_command_requests, &dtc_command_compare, &dtc_command_stats,   &dtc_command_sync,
	&dtc_command_blockings, &dtc_command_usage,    &dtc_command_top,     &dtc_command_states,  &dtc_command_vms,
	&dtc_command_events,	&dtc_command_edges,    &dtc_command_check,   &dtc_command_explain, &dtc_command_bundle,
	&dtc_command_index,	&dtc_command_cache,
};

static const struct dtc_command *find_command(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int run_help(int argc, char **argv, const struct dtc_owners *owners)
{
	char analyze[] = "analyze", help[] = "--help";
	char *arguments[] = { analyze, help, NULL };

	if (argc > 2) {
		const struct dtc_command *command = find_command(argv[2]);
		if (!command)
			return dtc_program_report_unknown(&dtc_chain_program, argv[2], "not a command");
		arguments[0] = argv[2];
		return dtc_command_run(command, 2, arguments, owners);
	}
	dtc_program_print_commands(&dtc_chain_program);
	return dtc_command_run(&dtc_command_analyze, 2, arguments, owners);
}

static int run(int argc, char **argv, const struct dtc_owners *owners)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word) {
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
			return run_help(argc, argv, owners);
		if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
			puts("dtrace-chain " DTC_VERSION);
			return 0;
		}
		if (strcmp(word, "--help-table") == 0) {
			dtc_program_print_table(&dtc_chain_program);
			return 0;
		}
		const struct dtc_command *command = find_command(word);
		if (command)
			return dtc_command_run(command, argc - 1, argv + 1, owners);
		if (word[0] != '-' && !strchr(word, '/') && !g_file_test(word, G_FILE_TEST_EXISTS))
			return dtc_program_report_unknown(&dtc_chain_program, word, "neither a command nor a bundle");
	}
	return dtc_command_run(&dtc_command_analyze, argc, argv, owners);
}

int dtc_cli_run(int argc, char **argv, const struct dtc_owners *owners)
{
	dtc_process_prepare();
	dtc_last_words_prepare();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* figures are read by scripts too */
	dtc_terminal_handle_signals();
	g_set_prgname("dtrace-chain");
	return dtc_process_finish(dtc_chain_program.name, run(argc, argv, owners));
}
