/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program in words: what it and its commands are for. The one source of --help, the man pages and the completions;
 * the options are told by the commands themselves (command_line.h).
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_manual_example {
	const char *command; /* as typed in a clone of the repository */
	const char *what;
};

struct dtc_manual {
	const char *name;
	const char *synopsis; /* after "PROGRAM NAME" */
	const char *summary;  /* one line, lower case, no full stop */
	const char *description;
	struct dtc_manual_example examples[6]; /* until one without a command */
};

struct dtc_program {
	const char *name;
	const char *purpose;  /* a sentence: what --help begins with */
	const char *commands; /* a sentence below the list of commands */
	const char *others;   /* what else the first word can be, after the list of commands; or "" */
	const char *exit_status;
	const struct dtc_manual *manuals; /* in the order in which --help lists them */
	guint manual_count;
};

/* NULL: there is no such command. */
const struct dtc_manual *dtc_program_find_manual(const struct dtc_program *program, const char *command);
/* On stdout: what it is for, and its commands. */
void dtc_program_print_commands(const struct dtc_program *program);
/* The same for programs: the names of the commands, each of which has a table of its own. */
void dtc_program_print_table(const struct dtc_program *program);

/* "'WORD' is WHAT", then "did you mean", then all there are. Gives the exit code. */
int dtc_program_report_unknown(const struct dtc_program *program, const char *word, const char *what);
/*
 * Prints "PROGRAM: MESSAGE" and "hint: ..." on stderr and gives the exit code of the error (1, or 2 for USAGE). What
 * names from a trace bring along is made harmless.
 */
int dtc_program_report_error(const struct dtc_program *program, const GError *error);
