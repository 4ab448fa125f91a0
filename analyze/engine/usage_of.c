/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/usage_of.h"

/*
 * The span that is asked for, on every node: unlike the selection's it is not cut to a thread's life, nor empty where a
 * process did not run, since what the node did meanwhile is part of the answer. NULL without an error: all.
 */
static bool find_spans(const struct dtc_subject *subject, const DtcEngine *engine,
		       const struct dtc_selection *selection, struct dtc_usage_span **ret_spans, GError **error)
{
	guint of = selection->thread == DTC_NONE ? G_MAXUINT : selection->node;

	*ret_spans = NULL;
	if (!subject->from && !subject->to)
		return true;
	g_autofree struct dtc_cluster_span *found = dtc_cluster_span_find(
		dtc_engine_get_clocks(engine), dtc_engine_get_histories(engine), of, subject->from, subject->to, error);
	if (!found)
		return false;
	*ret_spans = g_new0(struct dtc_usage_span, selection->node_count + 1);
	for (guint i = 0; i < selection->node_count; i++)
		(*ret_spans)[i] = (struct dtc_usage_span){ found[i].begin, found[i].end };
	return true;
}

DtcUsage *dtc_usage_of(const DtcEngine *engine, const struct dtc_subject *subject, int64_t interval_ns,
		       DtcFindings *findings, GError **error)
{
	bool has_subject = subject->thread || subject->process;
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return NULL;
	g_autofree struct dtc_usage_span *spans = NULL;
	g_autoptr(DtcUsage) usage = NULL;
	if (find_spans(subject, engine, &selection, &spans, error)) {
		const struct dtc_usage_options options = {
			.interval_ns = interval_ns,
			.asked = has_subject ? (const uint8_t *const *)selection.wanted : NULL,
			.spans = spans,
		};
		usage = dtc_usage_new(dtc_engine_get_links(engine), &options, error);
	}
	dtc_selection_clear(&selection);
	return usage && dtc_usage_check(usage, error) ? g_steal_pointer(&usage) : NULL;
}
