/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the report of every request of a bundle, as JSON and as text of 200 columns, each ended by the character RS: a
 * bundle is read once for all of them. usage: dump_reports BUNDLE
 */
#include "analyze/engine/all_requests.h"
#include "analyze/report/json.h"
#include "analyze/report/report_of.h"
#include "analyze/report/text.h"

#include <stdio.h>

static int fail(const GError *error)
{
	fprintf(stderr, "dump_reports: %s\n", error->message);
	return 1;
}

int main(int argc, char **argv)
{
	const struct dtc_engine_options options = { .needs_exchanges = true };
	const struct dtc_text_options plain = { .width = 200, .has_utf8 = true, .min_ns = -1 };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;

	g_autoptr(DtcBundle) bundle = argc == 2 ? dtc_bundle_open(argv[1], &error) : NULL;
	if (!bundle)
		return error ? fail(error) : 2;
	g_autoptr(DtcEngine) engine = dtc_engine_new(bundle, &options, NULL, findings, &error);
	if (!engine)
		return fail(error);
	g_autoptr(DtcAllRequests) all = dtc_all_requests_new(engine, NULL, NULL, &error);
	if (!all)
		return fail(error);
	const struct dtc_answer *answer;
	while ((answer = dtc_all_requests_next(all))) {
		g_autoptr(DtcReport) report =
			dtc_report_of(engine, answer->question, answer->path, answer->findings, &error);
		if (!report)
			return fail(error);
		g_autofree char *json = dtc_report_to_json(report);
		g_autofree char *text = dtc_report_to_text(report, &plain);
		printf("%s\x1e%s\x1e", json, text);
	}
	return 0;
}
