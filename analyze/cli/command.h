/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A command of dtrace-chain is its options, its question and its view: program.c is a table of them, manual.c says what
 * they are for. What all of them do alike is done once, by dtc_command_run: the options are parsed (command_line.h) and
 * checked, the command answers, errors go to stderr, and the exit code is 0 done, 1 failed, 2 wrong usage, 3 done but
 * incomplete.
 */
#pragma once

#include "analyze/cli/options.h"
#include "analyze/cli/progress_line.h"
#include "analyze/engine/engine.h"
#include "collect/console/terminal.h"

#include <glib.h>
#include <stdbool.h>

/* One run of a command. Everything is owned by dtc_command_run. */
struct dtc_session {
	void *options; /* of the command */
	int argc;      /* what is no option; argv[0] is the command's name */
	char **argv;
	bool is_json;
	struct dtc_terminal terminal; /* of the answer */
	DtcFindings *findings;
	DtcBundle *bundle; /* the next four: after dtc_session_open */
	DtcStore *store;   /* where what is read is kept; NULL: nowhere */
	DtcProgressLine *progress;
	struct dtc_watch watch; /* draws the progress */
	DtcEngine *engine;	/* after dtc_session_read */
	int exit_code;		/* of an answer that is wrong or incomplete for more than its findings */
};

struct dtc_command {
	const char *name;
	/*
	 * Options begin with a struct dtc_common_options and are all zeros at first. Texts that the parse gives belong
	 * to the runner.
	 */
	gsize options_bytes;
	/* Adds its own options, and sets what is not 0 by default; or NULL. */
	void (*add_options)(void *options, DtcCommandLine *line);
	/* Derives and refuses, before anything is opened; or NULL. The format is known only after it. */
	bool (*check)(struct dtc_session *session, GError **error);
	/* Prints the answer. */
	bool (*answer)(struct dtc_session *session, GError **error);
	/* Frees what check and answer have left in the options; or NULL. */
	void (*clear)(void *options);
};

extern const struct dtc_command dtc_command_analyze; /* also without a command word */
extern const struct dtc_command dtc_command_requests;
extern const struct dtc_command dtc_command_compare;
extern const struct dtc_command dtc_command_stats;
extern const struct dtc_command dtc_command_sync;
extern const struct dtc_command dtc_command_top;
extern const struct dtc_command dtc_command_states;
extern const struct dtc_command dtc_command_vms;
extern const struct dtc_command dtc_command_events;
extern const struct dtc_command dtc_command_edges;
extern const struct dtc_command dtc_command_check;
extern const struct dtc_command dtc_command_blockings;
extern const struct dtc_command dtc_command_usage;
extern const struct dtc_command dtc_command_explain;
extern const struct dtc_command dtc_command_bundle;
extern const struct dtc_command dtc_command_index;
extern const struct dtc_command dtc_command_cache;

/* Gives the exit code. owners: who reads the recordings (analyze/engine/owners.h), or NULL: this process. */
int dtc_command_run(const struct dtc_command *command, int argc, char **argv, const struct dtc_owners *owners);

/* For answers: the bundle that the arguments name is opened; then there is progress. */
bool dtc_session_open(struct dtc_session *session, GError **error);
/* It is read and aligned; --sync is taken from the common options. */
bool dtc_session_read(struct dtc_session *session, const struct dtc_engine_options *options, GError **error);
/* The progress line goes, and the text, which is freed, comes. */
bool dtc_session_print(struct dtc_session *session, char *text, GError **error);

/* False with a usage error. */
bool dtc_cli_refuse(GError **error, const char *message, const char *hint);
/*
 * The same for a word that is none of those that can be given: MESSAGE, "did you mean" the nearest, and all of them
 * after "WHAT are". words ends with NULL.
 */
bool dtc_cli_refuse_word(GError **error, const char *message, const char *word, const char *what,
			 const char *const *words);
/* Prints "dtrace-chain: MESSAGE" and "hint: ..." on stderr and gives the exit code of the error (1, or 2 for USAGE). */
int dtc_cli_report_error(const GError *error);
