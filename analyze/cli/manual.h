/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the commands are for, in words: the one source of --help, the man pages and the completions. The options are
 * told by the commands themselves (command_line.h).
 */
#pragma once

#include <glib.h>

struct dtc_manual_example {
	const char *command; /* as typed in a clone of the repository; a test runs it */
	const char *what;
};

struct dtc_manual {
	const char *name;
	const char *synopsis; /* after "dtrace-chain NAME" */
	const char *summary;  /* one line, lower case, no full stop */
	const char *description;
	struct dtc_manual_example examples[4]; /* until one without a command */
};

guint dtc_manual_get_count(void);
/* In the order in which --help lists them. */
const struct dtc_manual *dtc_manual_get(guint index);
/* NULL: there is no such command. */
const struct dtc_manual *dtc_manual_find(const char *name);
