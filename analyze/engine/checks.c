/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/checks.h"

#include "analyze/profile/request_check.h"

/* Messages that the alignment names as contradictory and leaves out. */
static GArray *list_exceptions(const DtcSync *sync)
{
	GArray *exceptions = g_array_new(FALSE, FALSE, sizeof(struct dtc_check_exception));

	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		for (guint k = 0; k < pair->trimmed_count; k++) {
			const struct dtc_sync_trimmed *trimmed = &pair->trimmed[k];
			const struct dtc_check_exception exception = {
				.from = trimmed->from,
				.to = trimmed->from == pair->a ? pair->b : pair->a,
				.sent_ns = trimmed->sent_ns,
				.received_ns = trimmed->received_ns,
			};
			g_array_append_val(exceptions, exception);
		}
	}
	return exceptions;
}

static void free_place(gpointer place)
{
	dtc_place_free(place);
}

/* Nothing where the captures show no requests. */
static void check_requests(const DtcEngine *engine, GArray *checks)
{
	const DtcRequests *requests = dtc_engine_get_requests(engine);
	guint count = requests ? dtc_requests_get_count(requests) : 0;
	if (!count)
		return;
	g_autoptr(DtcLocator) locator = dtc_engine_new_locator(engine, requests);
	g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(free_place);
	g_autoptr(GPtrArray) ids = g_ptr_array_new();
	g_autoptr(DtcServing) serving = dtc_serving_new(dtc_engine_get_links(engine));

	for (guint i = 0; i < count; i++) {
		struct dtc_place *place = dtc_locator_find(locator, i);
		if (!dtc_requests_get(requests, i)->is_inner)
			dtc_serving_add(serving, i, place);
		g_ptr_array_add(places, place);
		g_ptr_array_add(ids, (gpointer)dtc_requests_get(requests, i)->id);
	}
	dtc_serving_seal(serving, true);
	const struct dtc_request_check_input input = { dtc_engine_get_links(engine), places, ids, serving };
	dtc_request_check_run(&input, checks);
}

GArray *dtc_checks_run(const DtcEngine *engine, guint path_count)
{
	g_autoptr(GArray) exceptions = list_exceptions(dtc_engine_get_sync(engine));
	const struct dtc_check_input input = {
		.links = dtc_engine_get_links(engine),
		.matches = dtc_engine_get_matches(engine),
		.exceptions = exceptions,
		.path_count = path_count,
	};
	GArray *checks = dtc_check_run(&input);
	check_requests(engine, checks);
	return checks;
}
