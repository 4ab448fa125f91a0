/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A command of dtrace-chain: main.c is a table of them, and manual.c says what they are for. A command parses its own
 * options (command_line.h, with the groups of options.h), prints its result on stdout, and returns the exit code: 0
 * done, 1 failed, 2 wrong usage, 3 done but incomplete. argv[0] is the command's name. Errors go to stderr through
 * dtc_cli_report_error.
 */
#pragma once

#include <glib.h>

struct dtc_command {
	const char *name;
	int (*run)(int argc, char **argv);
};

int dtc_command_analyze(int argc, char **argv); /* also without a command word */
int dtc_command_requests(int argc, char **argv);
int dtc_command_compare(int argc, char **argv);
int dtc_command_stats(int argc, char **argv);
int dtc_command_sync(int argc, char **argv);
int dtc_command_top(int argc, char **argv);
int dtc_command_states(int argc, char **argv);
int dtc_command_events(int argc, char **argv);
int dtc_command_check(int argc, char **argv);
int dtc_command_blockings(int argc, char **argv);
int dtc_command_usage(int argc, char **argv);
int dtc_command_bundle(int argc, char **argv);

/* Prints "dtrace-chain: MESSAGE" and "hint: ..." on stderr and gives the exit code of the error (1, or 2 for USAGE). */
int dtc_cli_report_error(const GError *error);
