/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/all_requests.h"
#include "analyze/cli/question.h"
#include "dtrace-chain/error.h"

static bool add_request(DtcSummary *summary, const DtcLoad *load, const DtcRequests *requests, DtcLocator *locator,
			const DtcServing *serving, guint index)
{
	static const struct dtc_path_options path_options = { .path_only = true };
	struct dtc_question question = { .serving = serving };
	g_autoptr(DtcFindings) findings = dtc_findings_new(); /* of this request; its own report shows them */

	g_autoptr(DtcReport) report = NULL;
	if (dtc_question_set_request(&question, load, requests, locator, index, findings, NULL))
		report = dtc_question_answer(&question, load, &path_options, findings, NULL, NULL);
	dtc_question_clear(&question);
	if (!report)
		return false;
	dtc_summary_add(summary, report);
	return true;
}

bool dtc_all_requests_add(DtcSummary *summary, const DtcLoad *load, DtcProgress *progress, guint *ret_skipped,
			  DtcFindings *findings, GError **error)
{
	if (dtc_load_get_capture_count(load) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the bundle has no packet capture, and only captures tell its requests\n"
			    "record NODE.pcap beside the traces");
		return false;
	}
	g_autoptr(DtcRequests) requests = dtc_requests_new(dtc_load_get_exchanges(load));
	guint count = dtc_requests_get_count(requests), skipped = 0;
	if (dtc_exchanges_get_count(dtc_load_get_exchanges(load)) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "no readable HTTP in the captures (TLS and HTTP/2 are not readable)\n"
			    "single requests are found by `dtrace-chain --request-id ID` with --mark-regex or --spans, "
			    "or by --connection");
		return false;
	}
	if (!count) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "no request with an id in the captures\n"
			    "ids are in HTTP/1.x headers (X-Request-Id, traceparent, ...); name others with "
			    "--id-header");
		return false;
	}
	g_autoptr(DtcLocator) locator = dtc_load_new_locator(load, requests);
	dtc_progress_show(progress, "placing %u requests", count);
	g_autoptr(DtcServing) serving = dtc_question_new_serving(load, requests, locator, G_MAXUINT);
	double begin_seconds = dtc_progress_get_seconds(progress);
	for (guint i = 0; i < count; i++) {
		if (dtc_progress_is_due(progress)) {
			g_autofree char *remaining = dtc_progress_get_remaining(
				i, count, dtc_progress_get_seconds(progress) - begin_seconds);
			dtc_progress_show(progress, "explaining requests: %u of %u%s", i, count, remaining);
		}
		skipped += !add_request(summary, load, requests, locator, serving, i);
	}
	dtc_progress_clear(progress);
	if (skipped)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "%u of %u requests are in the captures, but no kernel trace shows their threads",
				 skipped, count);
	*ret_skipped = skipped;
	return true;
}
