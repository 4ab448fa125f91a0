/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/life.h"

/* A time of one node on another one, moved by as much as the clocks leave open times sign; unknown if they tell
 * nothing. */
static int64_t convert_ns(const DtcClocks *clocks, guint from, int64_t time_ns, guint to, int sign, int64_t unknown_ns)
{
	if (from == to || time_ns == unknown_ns)
		return time_ns;
	DtcClusterTime time = dtc_clocks_to_cluster(clocks, from, (DtcNodeTime){ time_ns });
	int64_t doubt_ns = dtc_clocks_get_uncertainty_ns(clocks, from, to, time);
	if (doubt_ns == INT64_MAX)
		return unknown_ns;
	return dtc_clocks_to_node(clocks, to, time).ns + sign * doubt_ns;
}

void dtc_life_get(const DtcClocks *clocks, const struct dtc_life *life, guint node, uint32_t thread,
		  int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
	*ret_begin_ns = INT64_MIN;
	*ret_end_ns = INT64_MAX;
	if (!life)
		return;
	if (life->node != node || life->client != thread)
		*ret_begin_ns = convert_ns(clocks, life->node, life->begin_ns, node, -1, INT64_MIN);
	*ret_end_ns = convert_ns(clocks, life->node, life->end_ns, node, 1, INT64_MAX);
}
