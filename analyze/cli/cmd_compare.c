/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain compare: which part of the time makes slow requests slow. */
#include "analyze/cli/all_requests.h"
#include "analyze/cli/command.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/summary_view.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct compare_options {
	struct dtc_common_options common;
	char *slow; /* all strings owned */
	char *fast;
	char *with;
	char **id_headers;
	gboolean is_exact;
	bool is_json;
};

/* Requests of one bundle, and which of them are in a group. */
struct group {
	DtcSummary *summary; /* borrowed */
	bool *member;	     /* owned */
	char *name;	     /* owned */
};

static void options_clear(struct compare_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->slow);
	g_free(options->fast);
	g_free(options->with);
	g_strfreev(options->id_headers);
}

static bool parse_options(struct compare_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "slow", 0, 0, G_OPTION_ARG_STRING, &options->slow,
		  "The slow ones: an id, or a pattern of ids or URLs like '/cart*' (default: the slowest tenth)",
		  "WHICH" },
		{ "fast", 0, 0, G_OPTION_ARG_STRING, &options->fast,
		  "What to compare them with (default: the faster half)", "WHICH" },
		{ "with", 0, 0, G_OPTION_ARG_FILENAME, &options->with,
		  "Compare with the requests of this bundle, as the fast ones", "BUNDLE" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "Another HTTP header that carries an id; repeatable", "NAME" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("compare");

	dtc_common_options_add(&options->common, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error) &&
	       dtc_common_options_get_json(&options->common, &options->is_json, error);
}

static DtcSummary *summarize(const struct compare_options *options, DtcBundle *bundle, DtcFindings *findings,
			     GError **error)
{
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		.needs_exchanges = true,
		.id_headers = (const char *const *)options->id_headers,
	};
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return NULL;
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	guint skipped;
	if (!dtc_all_requests_add(summary, load, progress, &skipped, findings, error))
		return NULL;
	dtc_summary_sort(summary, DTC_SUMMARY_BY_START);
	return g_steal_pointer(&summary);
}

/* The requests whose id is which, else whose id or URL fits the pattern. False with an error if there are none. */
static bool select_pattern(struct group *group, const char *option, const char *which, GError **error)
{
	const GArray *rows = group->summary->rows;
	g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(which);
	guint found = 0;

	group->member = g_new0(bool, rows->len + 1);
	group->name = g_strdup(which);
	for (guint i = 0; i < rows->len; i++) {
		group->member[i] = strcmp(g_array_index(rows, struct dtc_summary_row, i).id, which) == 0;
		found += group->member[i];
	}
	if (found)
		return true;
	for (guint i = 0; i < rows->len; i++) { /* no such id: a pattern, then */
		const struct dtc_summary_row *row = &g_array_index(rows, struct dtc_summary_row, i);
		group->member[i] = g_pattern_spec_match_string(pattern, row->id) ||
				   (row->url && g_pattern_spec_match_string(pattern, row->url));
		found += group->member[i];
	}
	if (found)
		return true;
	g_autofree char *shown = g_strescape(which, NULL);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "%s '%s' fits none of %u requests\n"
		    "give an id or a pattern with * and ?; `dtrace-chain requests` lists ids, JSON also URLs",
		    option, shown, rows->len);
	return false;
}

/* Requests above or up to a percentile. */
static void select_percentile(struct group *group, guint percent, bool is_above, const char *name)
{
	const GArray *rows = group->summary->rows;
	int64_t limit_ns = dtc_summary_get_percentile(group->summary, percent);

	group->member = g_new0(bool, rows->len + 1);
	group->name = g_strdup(name);
	for (guint i = 0; i < rows->len; i++) {
		int64_t ns = g_array_index(rows, struct dtc_summary_row, i).duration_ns;
		group->member[i] = is_above ? ns > limit_ns : ns <= limit_ns;
	}
}

static void select_all(struct group *group, const char *bundle)
{
	group->member = g_new(bool, group->summary->rows->len + 1);
	for (guint i = 0; i < group->summary->rows->len; i++)
		group->member[i] = true;
	group->name = g_path_get_basename(bundle);
}

static bool select_groups(struct group *slow, struct group *fast, const struct compare_options *options,
			  const char *slow_bundle, GError **error)
{
	if (options->slow) {
		if (!select_pattern(slow, "--slow", options->slow, error))
			return false;
	} else if (options->with) {
		select_all(slow, slow_bundle);
	} else {
		select_percentile(slow, 90, true, "the slowest tenth");
	}
	if (options->fast)
		return select_pattern(fast, "--fast", options->fast, error);
	if (options->with)
		select_all(fast, options->with);
	else
		select_percentile(fast, 50, false, "the faster half");
	return true;
}

static bool print(const struct dtc_comparison *comparison, const DtcFindings *findings,
		  const struct compare_options *options, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_summary_text_options text_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_exact = options->is_exact,
	};
	g_autofree char *text = options->is_json ? dtc_comparison_to_json(comparison, findings)
						 : dtc_comparison_to_text(comparison, findings, &text_options);

	return dtc_terminal_write(text, error);
}

static bool answer(struct compare_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSummary) other = NULL;

	if (argc == 3 && !options->with && !options->common.bundle)
		options->with = g_strdup(argv[--argc]);
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcBundle) fast_bundle =
		options->with ? dtc_common_options_open_other(&options->common, options->with, error) : NULL;
	if (options->with && !fast_bundle)
		return false;
	g_autoptr(DtcSummary) summary = summarize(options, bundle, findings, error);
	if (!summary)
		return false;
	if (fast_bundle && !(other = summarize(options, fast_bundle, findings, error)))
		return false;
	struct group slow = { .summary = summary }, fast = { .summary = other ? other : summary };
	const char *slow_bundle = argc > 1 ? argv[1] : options->common.bundle ? options->common.bundle : ".";
	bool selected = select_groups(&slow, &fast, options, slow_bundle, error);
	struct dtc_comparison *comparison = NULL;
	if (selected) {
		comparison = dtc_summary_compare(slow.summary, slow.member, fast.summary, fast.member);
		comparison->slow_name = g_steal_pointer(&slow.name);
		comparison->fast_name = g_steal_pointer(&fast.name);
		*ret_complete = dtc_findings_get_complete(findings);
		selected = print(comparison, findings, options, error);
	}
	dtc_comparison_free(comparison);
	g_free(slow.member);
	g_free(slow.name);
	g_free(fast.member);
	g_free(fast.name);
	return selected;
}

int dtc_command_compare(int argc, char **argv)
{
	struct compare_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && answer(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
