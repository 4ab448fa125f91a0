/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of whom a report is asked: --thread, --process, --from and --to, the same for every command that takes them. */
#pragma once

#include "analyze/engine/selection.h"
#include "collect/console/command_line.h"

struct dtc_subject_options {
	char *thread; /* as given, NULL if not; of the command line, as all strings */
	char *process;
	char *from;
	char *to;
	struct dtc_thread_spec spec; /* of thread, after dtc_subject_options_locate */
};

void dtc_subject_options_add(struct dtc_subject_options *options, DtcCommandLine *line);
/* Frees what dtc_subject_options_locate found. */
void dtc_subject_options_clear(struct dtc_subject_options *options);
/* False with a usage error if two subjects were given, or a thread that is no thread's name. */
bool dtc_subject_options_locate(struct dtc_subject_options *options, const DtcBundle *bundle, GError **error);
/* After that; borrows from the options. */
struct dtc_subject dtc_subject_options_get(const struct dtc_subject_options *options);
