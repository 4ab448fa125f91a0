/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/process.h"
#include "collect/console/terminal.h"
#include "collect/record/collect.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "record", dtc_collect_record },   { "seal", dtc_collect_seal },   { "check", dtc_collect_check },
	{ "cluster", dtc_collect_cluster }, { "agent", dtc_collect_agent },
};

static int run_command(int argc, char **argv)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(commands[i].name, argv[0]) == 0)
			return commands[i].run(argc, argv);
	return dtc_program_report_unknown(&dtc_collect_program, argv[0], "not a command");
}

static int run_help(int argc, char **argv)
{
	char help[] = "--help";
	char *arguments[] = { argc > 2 ? argv[2] : NULL, help, NULL };

	if (arguments[0])
		return run_command(2, arguments);
	dtc_program_print_commands(&dtc_collect_program);
	return 0;
}

static int run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		return run_help(argc, argv);
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("dtrace-collect " DTC_VERSION);
		return 0;
	}
	if (strcmp(word, "--help-table") == 0) {
		dtc_program_print_table(&dtc_collect_program);
		return 0;
	}
	return run_command(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	dtc_process_prepare();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");    /* figures are read by scripts too */
	dtc_terminal_handle_signals(); /* until a recording begins, which blocks them */
	g_set_prgname(dtc_collect_program.name);
	return dtc_process_finish(dtc_collect_program.name, run(argc, argv));
}
