/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/cluster_span.h"

#include "analyze/engine/moment.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

static bool parse(const char *option, const char *text, struct dtc_moment *ret_moment, bool *ret_given, GError **error)
{
	*ret_given = text != NULL;
	return !text || dtc_moment_parse(option, text, ret_moment, error);
}

/* On cluster time; saturates, since whatever lies beyond the trace is cut to it. */
static DtcClusterTime resolve(const struct dtc_moment *moment, DtcClusterTime origin)
{
	DtcClusterTime time = { moment->ns };

	if (moment->is_relative && __builtin_add_overflow(origin.ns, moment->ns, &time.ns))
		time.ns = INT64_MAX;
	return time;
}

/* The spans of whole traces, and where relative times begin. */
static void set_whole(struct dtc_cluster_span *spans, const DtcClocks *clocks, const DtcHistory *const *histories,
		      guint of)
{
	guint count = dtc_clocks_get_node_count(clocks);

	for (guint i = 0; i < count; i++) {
		if (!histories[i] || dtc_history_get_begin_ns(histories[i]) == DTC_TIME_NONE)
			continue;
		spans[i].begin.ns = dtc_history_get_begin_ns(histories[i]);
		spans[i].end.ns = dtc_history_get_end_ns(histories[i]);
		spans[i].cluster_begin = dtc_clocks_to_cluster(clocks, i, spans[i].begin);
		spans[i].cluster_end = dtc_clocks_to_cluster(clocks, i, spans[i].end);
	}
	for (guint i = 0; i < count; i++) {
		bool has_origin =
			of != G_MAXUINT && dtc_clocks_get_group(clocks, of) == dtc_clocks_get_group(clocks, i);
		if (has_origin) {
			spans[i].origin = spans[of].cluster_begin;
			continue;
		}
		for (guint k = 0; k < count; k++) {
			if (!histories[k] || dtc_clocks_get_group(clocks, k) != dtc_clocks_get_group(clocks, i) ||
			    (has_origin && spans[k].cluster_begin.ns >= spans[i].origin.ns))
				continue;
			spans[i].origin = spans[k].cluster_begin;
			has_origin = true;
		}
	}
}

static void cut_begin(struct dtc_cluster_span *span, const DtcClocks *clocks, guint node, DtcClusterTime from)
{
	if (from.ns <= span->cluster_begin.ns)
		return;
	span->cluster_begin.ns = MIN(from.ns, span->cluster_end.ns);
	span->begin.ns = MIN(dtc_clocks_to_node(clocks, node, span->cluster_begin).ns, span->end.ns);
}

static void cut_end(struct dtc_cluster_span *span, const DtcClocks *clocks, guint node, DtcClusterTime to)
{
	if (to.ns >= span->cluster_end.ns)
		return;
	span->cluster_end.ns = MAX(to.ns, span->cluster_begin.ns);
	span->end.ns = MAX(dtc_clocks_to_node(clocks, node, span->cluster_end).ns, span->begin.ns);
}

static void set_outside(GError **error, const struct dtc_cluster_span *spans, const DtcClocks *clocks)
{
	guint reference = dtc_clocks_get_reference(clocks), count = dtc_clocks_get_node_count(clocks);
	int64_t end_ns = spans[reference].cluster_end.ns, origin_ns = spans[reference].origin.ns;

	for (guint i = 0; i < count; i++)
		if (dtc_clocks_get_group(clocks, i) == dtc_clocks_get_group(clocks, reference))
			end_ns = MAX(end_ns, spans[i].cluster_end.ns);
	int64_t length_ns = end_ns - origin_ns;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "nothing was traced in that span\n"
		    "the traces go from +0s to +%" PRId64 ".%09" PRId64 "s; the reference's clock shows %" PRId64
		    ".%09" PRId64 " at their begin",
		    length_ns / NS_PER_S, length_ns % NS_PER_S, origin_ns / NS_PER_S, ABS(origin_ns % NS_PER_S));
}

struct dtc_cluster_span *dtc_cluster_span_find(const DtcClocks *clocks, const DtcHistory *const *histories, guint of,
					       const char *from, const char *to, GError **error)
{
	guint count = dtc_clocks_get_node_count(clocks);
	g_autofree struct dtc_cluster_span *spans = g_new0(struct dtc_cluster_span, count + 1);
	g_autofree struct dtc_cluster_span *whole = NULL;
	struct dtc_moment from_moment, to_moment;
	bool has_from, has_to, has_any = !from && !to;

	if (!parse("--from", from, &from_moment, &has_from, error) || !parse("--to", to, &to_moment, &has_to, error))
		return NULL;
	set_whole(spans, clocks, histories, of);
	whole = g_memdup2(spans, sizeof(*spans) * (count + 1));
	for (guint i = 0; i < count; i++) {
		struct dtc_cluster_span *span = &spans[i];
		if (!histories[i])
			continue;
		DtcClusterTime begin = { INT64_MIN }, end = { INT64_MAX };
		if (has_from)
			begin = resolve(&from_moment, span->origin);
		if (has_to)
			end = resolve(&to_moment, span->origin);
		if (begin.ns >= end.ns) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "--from '%s' is not before --to '%s'\nthe span would be empty; for example --from "
				    "+1s --to +2s",
				    from ? from : "the begin", to ? to : "the end");
			return NULL;
		}
		cut_begin(span, clocks, i, begin);
		cut_end(span, clocks, i, end);
		has_any |= span->begin.ns < span->end.ns;
	}
	if (has_any)
		return g_steal_pointer(&spans);
	set_outside(error, whole, clocks);
	return NULL;
}
