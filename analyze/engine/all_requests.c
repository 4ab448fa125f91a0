/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/all_requests.h"

#include "dtrace-chain/error.h"

struct DtcAllRequests {
	const DtcEngine *engine;
	const struct dtc_watch *watch;
	const struct dtc_path_options *options;
	bool is_rows;
	DtcLocator *locator;
	DtcServing *serving;
	gint64 begin_us;
	guint next;
	struct dtc_skipped skipped;
	GError *error; /* of the watcher */
	/* what was given last */
	struct dtc_question question;
	DtcPath *path;
	DtcFindings *findings;
	struct dtc_answer answer;
};

DtcAllRequests *dtc_all_requests_new(const DtcEngine *engine, const struct dtc_path_options *options,
				     const struct dtc_watch *watch, GError **error)
{
	static const struct dtc_path_options path_only = { .path_only = true };

	if (dtc_engine_get_capture_count(engine) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the bundle has no packet capture, and only captures tell its requests\n"
			    "record NODE.pcap beside the traces");
		return NULL;
	}
	const DtcRequests *requests = dtc_engine_get_requests(engine);
	guint count = dtc_requests_get_count(requests);
	if (dtc_exchanges_get_count(dtc_engine_get_exchanges(engine)) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "no readable HTTP in the captures (TLS and HTTP/2 are not readable)\n"
			    "single requests are found by `dtrace-chain --request-id ID` with --mark-regex or --spans, "
			    "or by --connection");
		return NULL;
	}
	const struct dtc_progress progress = { .phase = DTC_PHASE_PLACE, .all = count };
	if (!dtc_watch_tell(watch, &progress, error))
		return NULL;
	DtcAllRequests *all = g_new0(DtcAllRequests, 1);
	all->engine = engine;
	all->watch = watch;
	all->options = options ? options : &path_only;
	all->locator = dtc_engine_new_locator(engine, requests);
	all->serving = dtc_question_new_serving(engine, all->locator, G_MAXUINT);
	all->begin_us = g_get_monotonic_time();
	return all;
}

static void clear_answer(DtcAllRequests *all)
{
	dtc_question_clear(&all->question);
	g_clear_pointer(&all->path, dtc_path_free);
	g_clear_pointer(&all->findings, dtc_findings_free);
}

void dtc_all_requests_set_rows(DtcAllRequests *all)
{
	all->is_rows = true;
}

void dtc_all_requests_free(DtcAllRequests *all)
{
	if (!all)
		return;
	clear_answer(all);
	dtc_serving_free(all->serving);
	dtc_locator_free(all->locator);
	g_clear_error(&all->error);
	g_free(all);
}

/* False if the request has no answer; then it is counted. */
static bool answer(DtcAllRequests *all, guint index)
{
	clear_answer(all);
	all->findings = dtc_findings_new();
	bool is_placed = dtc_question_set_request(&all->question, all->engine, all->locator, all->serving, index,
						  all->findings, NULL);
	guint outside = all->question.place->outside;
	/* what lies outside cannot be followed: by its packets it is a part */
	if (outside ? all->question.request->is_inner : is_placed && dtc_question_is_part(&all->question)) {
		all->skipped.parts++;
		return false;
	}
	if (is_placed && !outside)
		all->path = all->is_rows ? dtc_question_answer_row(&all->question, all->engine, all->findings, NULL)
					 : dtc_question_answer(&all->question, all->engine, all->options, all->findings,
							       NULL);
	if (all->path)
		return true;
	if (outside & DTC_OUTSIDE_BEGIN)
		all->skipped.began_before++;
	else if (outside)
		all->skipped.ended_after++;
	else
		all->skipped.not_traced++;
	return false;
}

const struct dtc_answer *dtc_all_requests_next(DtcAllRequests *all)
{
	guint count = dtc_requests_get_count(dtc_engine_get_requests(all->engine));

	while (!all->error && all->next < count) {
		const struct dtc_progress progress = {
			.phase = DTC_PHASE_EXPLAIN,
			.done = all->next,
			.all = count,
			.seconds = (double)(g_get_monotonic_time() - all->begin_us) / 1e6,
		};
		if (!dtc_watch_tell(all->watch, &progress, &all->error) || !answer(all, all->next++))
			continue;
		all->answer = (struct dtc_answer){ &all->question, all->path, all->findings };
		return &all->answer;
	}
	return NULL;
}

bool dtc_all_requests_finish(const DtcAllRequests *all, struct dtc_skipped *ret_skipped, GError **error)
{
	if (all->error) {
		g_propagate_error(error, g_error_copy(all->error));
		return false;
	}
	*ret_skipped = all->skipped;
	return true;
}
