/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The options of a command: parsed by GOption, and remembered, so that --help, the man pages and the completions are
 * made from the very table that is parsed. Two hidden words end the program instead of the command: --help prints its
 * help, --help-table the same as JSON, for programs (docs/man/manual.py).
 */
#pragma once

#include "collect/console/program.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcCommandLine DtcCommandLine;

/* command is in the program's manual. Caller owns. */
DtcCommandLine *dtc_command_line_new(const struct dtc_program *program, const char *command);
void dtc_command_line_free(DtcCommandLine *line);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcCommandLine, dtc_command_line_free)

/*
 * Adds the entries (ended by one without a name) under the heading; what their texts and targets point to must live
 * until the parse. data goes to callbacks. An argument called "a|b|c" is one of these words.
 */
void dtc_command_line_add(DtcCommandLine *line, const char *heading, const GOptionEntry *entries, void *data);

/* Entries of these names are not taken from now on, whoever adds them. NULL-terminated, and borrowed. */
void dtc_command_line_leave_out(DtcCommandLine *line, const char *const *names);

/*
 * After the parse: words that would give the same to another program with these options, "--NAME=VALUE" and "--NAME",
 * of all that were given but those of these names. Free with g_strfreev.
 */
char **dtc_command_line_get_given(const DtcCommandLine *line, const char *const *except);

#define DTC_HEADING_OPTIONS "Options"
#define DTC_HEADING_FILES "Files to write, besides the answer on stdout"
#define DTC_HEADING_COMMON "Options of every command"

/* Takes the options out of the arguments. An unknown one is a usage error that names the nearest there is. */
bool dtc_command_line_parse(DtcCommandLine *line, int *argc, char ***argv, GError **error);

/* Frees the texts and lists of texts that the parse gave to the targets of entries, which are NULL then. */
void dtc_command_line_clear_texts(DtcCommandLine *line);

/* As --help prints it; for tests. Caller owns. */
char *dtc_command_line_get_help(const DtcCommandLine *line, guint width);
