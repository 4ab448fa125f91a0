/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/checks.h"

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

GArray *dtc_checks_run(const DtcEngine *engine, guint path_count)
{
	g_autoptr(GArray) exceptions = list_exceptions(dtc_engine_get_sync(engine));
	const struct dtc_check_input input = {
		.links = dtc_engine_get_links(engine),
		.matches = dtc_engine_get_matches(engine),
		.exceptions = exceptions,
		.path_count = path_count,
	};
	return dtc_check_run(&input);
}
