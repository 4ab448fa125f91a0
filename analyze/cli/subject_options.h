/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of whom a report is asked: --thread, --process, --from and --to, the same for every command that takes them. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/engine/window.h"
#include "collect/console/command_line.h"

/* --lead: how much of a recording is read for --from and --to. */
struct dtc_lead_option {
	char *text; /* as given, NULL if not */
	struct dtc_window window;
};

/* The last line of a list of options is for it. */
#define DTC_LEAD_OPTION(option)                                                                                        \
	{                                                                                                              \
		"lead", 0, 0, G_OPTION_ARG_STRING, &(option)->text,                                                    \
			"With --from or --to: of long recordings keep only that span and so much before and after "    \
			"it, "                                                                                         \
			"e.g. 2s, as if no more had been recorded",                                                    \
			"SPAN"                                                                                         \
	}
/* False with a usage error if it is no span of time, or there is none to read for. */
bool dtc_lead_option_check(struct dtc_lead_option *option, const char *from, const char *to, GError **error);
/* For the engine; NULL: everything. of: the node from whose begin relative times count; or NULL. Borrows all. */
const struct dtc_window *dtc_lead_option_get(struct dtc_lead_option *option, const char *from, const char *to,
					     const char *of);

struct dtc_subject_options {
	char *thread; /* as given, NULL if not; of the command line, as all strings */
	char *process;
	char *from;
	char *to;
	struct dtc_lead_option lead;
	struct dtc_thread_spec spec; /* of thread, after dtc_subject_options_locate */
};

void dtc_subject_options_add(struct dtc_subject_options *options, DtcCommandLine *line);
/* Frees what dtc_subject_options_locate found. */
void dtc_subject_options_clear(struct dtc_subject_options *options);
/* False with a usage error if two subjects were given, or a thread that is no thread's name. */
bool dtc_subject_options_locate(struct dtc_subject_options *options, const DtcBundle *bundle, GError **error);
/* After that; what of the recording is to be read, NULL: everything. Borrows from the options. */
const struct dtc_window *dtc_subject_options_get_window(struct dtc_subject_options *options);
/* After that; borrows from the options. */
struct dtc_subject dtc_subject_options_get(const struct dtc_subject_options *options);
