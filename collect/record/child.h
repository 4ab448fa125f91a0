/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `-- COMMAND`: a process that waits until the recording runs, and then becomes the command. It is made before this
 * program has threads or gives up rights, so that it has those of whoever started this; after sudo it becomes that
 * user.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct dtc_child {
	pid_t pid; /* 0: there is none */
	int gate;  /* closed: it goes; -1 */
	bool has_ended;
	int status; /* as waitpid gives it */
};

/* What stands after "--" is not ours to parse. NULL if there is none; the vector then ends before it. */
char **dtc_child_split_command(int *argc, char **argv);
/* argv ends with NULL. Signals that are blocked here are not in the command. */
bool dtc_child_prepare(struct dtc_child *child, char *const *argv, GError **error);
void dtc_child_go(struct dtc_child *child);
/* Whether it has ended; does not wait. */
bool dtc_child_is_ended(struct dtc_child *child);
/* "ended with 0", "was killed by signal 9". Caller owns. */
char *dtc_child_describe(const struct dtc_child *child);
/* If it still waits for its gate, it never goes. */
void dtc_child_abandon(struct dtc_child *child);
