/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/occupants.h"

#include <dtrace-chain/bisect.h>

static gint compare_occupants(gconstpointer a, gconstpointer b)
{
	const struct dtc_occupant *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

GArray *dtc_occupants_find(const DtcHistory *h, const struct dtc_interval *interval)
{
	uint32_t count;
	const struct dtc_run *runs = dtc_history_get_runs(h, interval->cpu, &count);
	uint32_t after = DTC_BISECT(i, 0, count, runs[i].begin_ns <= interval->begin_ns);
	GArray *occupants = g_array_new(FALSE, FALSE, sizeof(struct dtc_occupant));
	g_autoptr(GHashTable) places = g_hash_table_new(g_direct_hash, g_direct_equal);
	for (uint32_t i = after ? after - 1 : 0; i < count && runs[i].begin_ns < interval->end_ns; i++) {
		int64_t end = i + 1 < count ? runs[i + 1].begin_ns : dtc_history_get_end_ns(h);
		struct dtc_occupant occupant = { runs[i].thread, MIN(end, interval->end_ns) -
									 MAX(runs[i].begin_ns, interval->begin_ns) };
		if (occupant.ns <= 0 || occupant.thread == DTC_NONE || occupant.thread == interval->thread ||
		    dtc_history_get_thread(h, occupant.thread)->idle_cpu >= 0)
			continue;
		gpointer key = GUINT_TO_POINTER(occupant.thread + 1);
		guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, key));
		if (place) {
			g_array_index(occupants, struct dtc_occupant, place - 1).ns += occupant.ns;
			continue;
		}
		g_array_append_val(occupants, occupant);
		g_hash_table_insert(places, key, GUINT_TO_POINTER(occupants->len));
	}
	g_array_sort(occupants, compare_occupants);
	return occupants;
}
