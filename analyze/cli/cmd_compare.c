/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain compare: which part of the time makes slow requests slow. */
#include "analyze/cli/command.h"
#include "analyze/report/compare_view.h"
#include "analyze/report/report_of.h"
#include "analyze/report/summary_rows.h"
#include "dtrace-chain/error.h"

#define EXIT_OVER 4 /* than --fail-over allows */

struct compare_options {
	struct dtc_common_options common;
	char *slow;
	char *fast;
	char *with;
	char *url;
	char *fail_over;
	char **id_headers;
	gboolean is_exact;
	double fail_percent; /* derived; negative: not given */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct compare_options *options = data;
	const GOptionEntry entries[] = {
		{ "slow", 0, 0, G_OPTION_ARG_STRING, &options->slow,
		  "The slow ones: an id, or a pattern of ids or URLs like '/cart*' (default: the slowest tenth)",
		  "WHICH" },
		{ "fast", 0, 0, G_OPTION_ARG_STRING, &options->fast,
		  "What to compare them with (default: the faster half)", "WHICH" },
		{ "with", 0, 0, G_OPTION_ARG_FILENAME, &options->with,
		  "Compare with the requests of this bundle, as the fast ones", "BUNDLE" },
		{ "url", 0, 0, G_OPTION_ARG_STRING, &options->url,
		  "Only requests whose URL fits this pattern, with or without its query: '/cart*'", "PATTERN" },
		{ "fail-over", 0, 0, G_OPTION_ARG_STRING, &options->fail_over,
		  "Exit with 4 if the slow ones take longer than the fast ones by more than this, on average: 10%",
		  "PERCENT" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "Another HTTP header that carries an id; repeatable", "NAME" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct compare_options *options = session->options;
	char *end = NULL;

	options->fail_percent = -1;
	if (!options->fail_over)
		return true;
	options->fail_percent = g_ascii_strtod(options->fail_over, &end);
	bool is_number = end != options->fail_over && g_ascii_isdigit(*options->fail_over);
	if (is_number && (!*end || g_str_equal(end, "%")) && options->fail_percent <= 1e6)
		return true;
	g_autofree char *shown = g_strescape(options->fail_over, NULL);
	g_autofree char *message = g_strdup_printf("--fail-over '%s' is not a percentage", shown);
	return dtc_cli_refuse(error, message, "for example 10% or 2.5%");
}

/* The requests of the bundle that is read; it is not needed any more then. */
static DtcSummary *summarize(struct dtc_session *session, GError **error)
{
	const struct compare_options *options = session->options;
	const struct dtc_engine_options engine_options = {
		.needs_exchanges = true,
		.lists_requests = !options->with, /* those of two bundles come one after the other */
		.id_headers = (const char *const *)options->id_headers,
	};
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	struct dtc_skipped skipped; /* a finding says so */

	if (!dtc_session_read(session, &engine_options, error) ||
	    !dtc_summary_add_all(summary, session->engine, &session->watch, &skipped, session->findings, error))
		return NULL;
	const struct dtc_row_filter filter = { .url = options->url };
	if (!dtc_summary_keep(summary, &filter, error))
		return NULL;
	g_clear_pointer(&session->engine, dtc_engine_free);
	dtc_summary_sort(summary, DTC_SUMMARY_BY_START);
	return g_steal_pointer(&summary);
}

/* "the slowest tenth", of a URL if there is one. Caller frees. */
static char *name_part(const char *part, const struct compare_options *options)
{
	return options->url ? g_strdup_printf("%s of %s", part, options->url) : g_strdup(part);
}

static bool select_groups(struct dtc_group *slow, struct dtc_group *fast, const struct compare_options *options,
			  const char *slow_bundle, GError **error)
{
	g_autofree char *slow_part = name_part("the slowest tenth", options);
	g_autofree char *fast_part = name_part("the faster half", options);

	if (options->slow) {
		if (!dtc_group_select_pattern(slow, "--slow", options->slow, error))
			return false;
	} else if (options->with) {
		dtc_group_select_all(slow, slow_bundle);
	} else {
		dtc_group_select_percentile(slow, 90, true, slow_part);
	}
	if (options->fast)
		return dtc_group_select_pattern(fast, "--fast", options->fast, error);
	if (options->with)
		dtc_group_select_all(fast, options->with);
	else
		dtc_group_select_percentile(fast, 50, false, fast_part);
	return true;
}

/* For scripts: whether the slow ones are as slow as they may be. A comparison with nothing is no pass. */
static bool judge(struct dtc_session *session, const struct dtc_comparison *comparison, GError **error)
{
	const struct compare_options *options = session->options;

	if (options->fail_percent < 0)
		return true;
	if (!comparison->slow_count || !comparison->fast_count) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "one of the groups is empty: there is nothing that --fail-over could judge\n"
			    "`dtrace-chain requests` lists what there is");
		return false;
	}
	if ((double)comparison->slow_ns > (double)comparison->fast_ns * (1 + options->fail_percent / 100))
		session->exit_code = EXIT_OVER;
	return true;
}

static bool print(struct dtc_session *session, const struct dtc_comparison *comparison, GError **error)
{
	const struct compare_options *options = session->options;
	const struct dtc_summary_text_options text_options = {
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_exact = options->is_exact,
	};
	return dtc_session_print(session,
				 session->is_json
					 ? dtc_comparison_to_json(comparison, session->findings)
					 : dtc_comparison_to_text(comparison, session->findings, &text_options),
				 error);
}

static bool compare(struct dtc_session *session, struct dtc_group *slow, struct dtc_group *fast, GError **error)
{
	const struct compare_options *options = session->options;
	const char *bundle = session->argc > 1 ? session->argv[1] : options->common.bundle;

	if (!select_groups(slow, fast, options, bundle ? bundle : ".", error))
		return false;
	struct dtc_comparison *comparison =
		dtc_summary_compare(slow->summary, slow->member, fast->summary, fast->member);
	comparison->slow_name = g_steal_pointer(&slow->name);
	comparison->fast_name = g_steal_pointer(&fast->name);
	bool is_printed = print(session, comparison, error) && judge(session, comparison, error);
	dtc_comparison_free(comparison);
	return is_printed;
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct compare_options *options = session->options;
	g_autoptr(DtcSummary) other = NULL;

	if (session->argc == 3 && !options->with && !options->common.bundle)
		options->with = g_strdup(session->argv[--session->argc]);
	if (!dtc_session_open(session, error))
		return false;
	g_autoptr(DtcBundle) fast_bundle =
		options->with ? dtc_common_options_open_other(&options->common, options->with, error) : NULL;
	if (options->with && !fast_bundle)
		return false;
	if (fast_bundle)
		dtc_bundle_report(fast_bundle, session->findings);
	g_autoptr(DtcSummary) summary = summarize(session, error);
	if (!summary)
		return false;
	if (fast_bundle) {
		dtc_bundle_free(session->bundle);
		session->bundle = g_steal_pointer(&fast_bundle);
		other = summarize(session, error);
		if (!other)
			return false;
	}
	struct dtc_group slow = { .summary = summary }, fast = { .summary = other ? other : summary };
	bool is_answered = compare(session, &slow, &fast, error);
	dtc_group_clear(&slow);
	dtc_group_clear(&fast);
	return is_answered;
}

const struct dtc_command dtc_command_compare = {
	.name = "compare",
	.options_bytes = sizeof(struct compare_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
