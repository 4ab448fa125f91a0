/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-collect check */
#include "collect/console/terminal.h"
#include "collect/record/collect.h"
#include "collect/record/record_options.h"
#include "dtrace-chain/error.h"

#include <stdio.h>

#define COLUMN 21

static void print_check(const struct dtc_preflight_check *check, guint width)
{
	static const char *const verdicts[] = { "good", "lacking", "bad" };
	g_autoptr(GString) out = g_string_new(NULL);

	g_string_append_printf(out, "%-8s %-11s ", verdicts[check->verdict], check->subject);
	dtc_terminal_wrap(out, check->text, COLUMN, COLUMN, width);
	if (check->hint) {
		g_string_append_printf(out, "%*s", COLUMN, "");
		dtc_terminal_wrap(out, check->hint, COLUMN, COLUMN, width);
	}
	fputs(out->str, stdout);
}

static int print_checks(const struct dtc_recorder_request *request)
{
	const struct dtc_preflight_request question = dtc_record_options_to_preflight(request);
	g_autoptr(GPtrArray) checks = dtc_preflight(&question);
	guint width = MAX(dtc_terminal_get(DTC_COLOR_NEVER, 0).width, 2 * COLUMN);
	bool can_record = !dtc_preflight_find_bad(checks);

	for (guint i = 0; i < checks->len; i++)
		print_check(g_ptr_array_index(checks, i), width);
	printf("%s\n", can_record ? "this machine can be recorded" : "this machine cannot be recorded like this");
	return can_record ? 0 : 1;
}

int dtc_collect_check(int argc, char **argv)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_collect_program, "check");
	struct dtc_record_options options = { 0 };
	struct dtc_recorder_request request;
	g_autoptr(GError) error = NULL;
	int code = 1;

	dtc_record_options_add(&options, line);
	if (dtc_command_line_parse(line, &argc, &argv, &error) &&
	    dtc_record_options_to_request(&options, &request, &error)) {
		if (argc > 1)
			g_set_error(&error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
				    "'%s' is no option\ncheck takes the options of record", argv[1]);
		else
			code = print_checks(&request);
	}
	if (error)
		code = dtc_program_report_error(&dtc_collect_program, error);
	dtc_command_line_clear_texts(line);
	return code;
}
