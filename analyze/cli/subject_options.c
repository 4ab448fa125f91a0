/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/subject_options.h"

#include "dtrace-chain/error.h"

void dtc_subject_options_clear(struct dtc_subject_options *options)
{
	dtc_thread_spec_clear(&options->spec);
}

void dtc_subject_options_add(struct dtc_subject_options *options, DtcCommandLine *line)
{
	const GOptionEntry entries[] = {
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread,
		  "Only this thread; a name must be one thread's", "NODE:TID|NODE:NAME" },
		{ "process", 'p', 0, G_OPTION_ARG_STRING, &options->process,
		  "Only this process, or all processes of this name", "NAME|NODE:NAME|NODE:PID" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the traces' begin, or the thread's node's), 12:00:03.5, a "
		  "date and time, or the clock of the reference (or of the thread's node)",
		  "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

bool dtc_subject_options_locate(struct dtc_subject_options *options, const DtcBundle *bundle, GError **error)
{
	if (options->thread && options->process) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--thread and --process are two questions\ngive one of them");
		return false;
	}
	return !options->thread || dtc_thread_spec_parse(options->thread, bundle, &options->spec, error);
}

struct dtc_subject dtc_subject_options_get(const struct dtc_subject_options *options)
{
	return (struct dtc_subject){
		.thread = options->thread ? &options->spec : NULL,
		.process = options->process,
		.from = options->from,
		.to = options->to,
	};
}
