/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/life.h"

/* The same time on another node, without what the clocks leave open. */
static int64_t convert_ns(const DtcClocks *clocks, guint from, int64_t time_ns, guint to, DtcClusterTime *ret_time)
{
	*ret_time = dtc_clocks_to_cluster(clocks, from, (DtcNodeTime){ time_ns });
	return dtc_clocks_to_node(clocks, to, *ret_time).ns;
}

static int64_t cut_begin_ns(const DtcClocks *clocks, const struct dtc_life *life, guint node, int64_t begin_ns)
{
	DtcClusterTime time;

	if (life->node == node || life->begin_ns == INT64_MIN)
		return MAX(begin_ns, life->begin_ns);
	int64_t limit_ns = convert_ns(clocks, life->node, life->begin_ns, node, &time);
	if (begin_ns >= limit_ns) /* nearly always: what the clocks leave open takes far longer to tell */
		return begin_ns;
	int64_t doubt_ns = dtc_clocks_get_uncertainty_ns(clocks, life->node, node, time);
	return doubt_ns == INT64_MAX ? begin_ns : MAX(begin_ns, limit_ns - doubt_ns);
}

static int64_t cut_end_ns(const DtcClocks *clocks, const struct dtc_life *life, guint node, int64_t end_ns)
{
	DtcClusterTime time;

	if (life->node == node || life->end_ns == INT64_MAX)
		return MIN(end_ns, life->end_ns);
	int64_t limit_ns = convert_ns(clocks, life->node, life->end_ns, node, &time);
	if (end_ns <= limit_ns)
		return end_ns;
	int64_t doubt_ns = dtc_clocks_get_uncertainty_ns(clocks, life->node, node, time);
	return doubt_ns == INT64_MAX ? end_ns : MIN(end_ns, limit_ns + doubt_ns);
}

void dtc_life_cut(const DtcClocks *clocks, const struct dtc_life *life, guint node, uint32_t thread, int64_t *begin_ns,
		  int64_t *end_ns)
{
	if (!life)
		return;
	if (life->node != node || life->client != thread)
		*begin_ns = cut_begin_ns(clocks, life, node, *begin_ns);
	*end_ns = cut_end_ns(clocks, life, node, *end_ns);
}
