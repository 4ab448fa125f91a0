/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/subject_options.h"

#include "analyze/cli/command.h"
#include "analyze/engine/moment.h"
#include "dtrace-chain/error.h"

bool dtc_lead_option_check(struct dtc_lead_option *option, const char *from, const char *to, GError **error)
{
	if (!option->text)
		return true;
	if (!from && !to)
		return dtc_cli_refuse(error, "--lead is for a part of the recording",
				      "give its begin with --from, its end with --to, or both");
	return dtc_span_parse("--lead", option->text, &option->window.lead_ns, error);
}

const struct dtc_window *dtc_lead_option_get(struct dtc_lead_option *option, const char *from, const char *to,
					     const char *of)
{
	if (!option->text)
		return NULL;
	option->window.from = from;
	option->window.to = to;
	option->window.of = of;
	return &option->window;
}

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
		DTC_LEAD_OPTION(&options->lead),
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
	return dtc_lead_option_check(&options->lead, options->from, options->to, error) &&
	       (!options->thread || dtc_thread_spec_parse(options->thread, bundle, &options->spec, error));
}

const struct dtc_window *dtc_subject_options_get_window(struct dtc_subject_options *options)
{
	return dtc_lead_option_get(&options->lead, options->from, options->to, options->spec.node);
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
