/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/cluster_span.h"

#include "analyze/engine/moment.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

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

/* The last event of the nodes that are aligned with that one. */
static int64_t find_end_ns(const struct dtc_cluster_span *spans, const DtcClocks *clocks, guint node)
{
	guint group = dtc_clocks_get_group(clocks, node);
	int64_t end_ns = spans[node].cluster_end.ns;

	for (guint i = 0; i < dtc_clocks_get_node_count(clocks); i++)
		if (dtc_clocks_get_group(clocks, i) == group)
			end_ns = MAX(end_ns, spans[i].cluster_end.ns);
	return end_ns;
}

static void set_outside(GError **error, const struct dtc_cluster_span *spans, const DtcClocks *clocks)
{
	guint reference = dtc_clocks_get_reference(clocks);
	int64_t end_ns = find_end_ns(spans, clocks, reference), origin_ns = spans[reference].origin.ns;
	int64_t length_ns = end_ns - origin_ns;
	g_autofree char *wall = dtc_wall_clock_format_span(origin_ns, end_ns);

	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "nothing was traced in that span\n"
		    "the traces go from +0s to +%" PRId64 ".%09" PRId64 "s%s%s; the reference's clock shows %" PRId64
		    ".%09" PRId64 " at their begin",
		    length_ns / NS_PER_S, length_ns % NS_PER_S, wall ? ", from " : "", wall ? wall : "",
		    origin_ns / NS_PER_S, ABS(origin_ns % NS_PER_S));
}

/* What was asked for: two moments that may be missing. */
struct asked {
	const char *from;
	const char *to;
	struct dtc_moment from_moment;
	struct dtc_moment to_moment;
};

static bool resolve(const struct asked *asked, int64_t begin_ns, int64_t end_ns, DtcClusterTime *ret_begin,
		    DtcClusterTime *ret_end, GError **error)
{
	ret_begin->ns = INT64_MIN;
	ret_end->ns = INT64_MAX;
	return (!asked->from || dtc_moment_resolve("--from", asked->from, &asked->from_moment, begin_ns, end_ns,
						   &ret_begin->ns, error)) &&
	       (!asked->to ||
		dtc_moment_resolve("--to", asked->to, &asked->to_moment, begin_ns, end_ns, &ret_end->ns, error));
}

struct dtc_cluster_span *dtc_cluster_span_find(const DtcClocks *clocks, const DtcHistory *const *histories, guint of,
					       const char *from, const char *to, GError **error)
{
	guint count = dtc_clocks_get_node_count(clocks);
	g_autofree struct dtc_cluster_span *spans = g_new0(struct dtc_cluster_span, count + 1);
	g_autofree struct dtc_cluster_span *whole = NULL;
	struct asked asked = { .from = from, .to = to };
	bool has_any = !from && !to;

	if ((from && !dtc_moment_parse("--from", from, &asked.from_moment, error)) ||
	    (to && !dtc_moment_parse("--to", to, &asked.to_moment, error)))
		return NULL;
	set_whole(spans, clocks, histories, of);
	whole = g_memdup2(spans, sizeof(*spans) * (count + 1));
	for (guint i = 0; i < count; i++) {
		struct dtc_cluster_span *span = &spans[i];
		if (!histories[i])
			continue;
		DtcClusterTime begin, end;
		g_autoptr(GError) wrong = NULL;
		if (!resolve(&asked, span->origin.ns, find_end_ns(whole, clocks, i), &begin, &end, &wrong)) {
			/* a clock that is not aligned may show other hours: nothing of that node is meant then */
			if (dtc_clocks_get_group(clocks, i) ==
			    dtc_clocks_get_group(clocks, dtc_clocks_get_reference(clocks))) {
				g_propagate_error(error, g_steal_pointer(&wrong));
				return NULL;
			}
			begin.ns = end.ns = INT64_MAX;
			cut_begin(span, clocks, i, begin);
			continue;
		}
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
