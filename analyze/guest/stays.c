/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/guest/stays.h"

#include <dtrace-chain/bisect.h>

static int compare_time(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

/*
 * Times at which a guest certainly ran on each of its CPUs, sorted: whatever runs there begins with an event. Array of
 * GArray of int64_t by CPU; caller owns.
 */
GPtrArray *dtc_stays_list_events(const DtcHistory *h)
{
	guint cpu_count = dtc_history_get_cpu_count(h);
	GPtrArray *events = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		g_ptr_array_add(events, g_array_new(FALSE, FALSE, sizeof(int64_t)));
	for (uint32_t t = 0; t < dtc_history_get_thread_count(h); t++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_get_interval_after(h, t, INT64_MIN, &place);
		for (; v; v = dtc_history_get_next_interval(h, &place)) {
			if ((dtc_state_is_running(v->state) || v->state == DTC_STATE_IDLE) && v->cpu < cpu_count)
				g_array_append_val((GArray *)g_ptr_array_index(events, v->cpu), v->begin_ns);
		}
	}
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		g_array_sort(g_ptr_array_index(events, cpu), compare_time);
	return events;
}

/* Where on the host's clock an event of the guest lies for certain. */
void dtc_stays_get_window(const struct dtc_stays *s, int64_t guest_ns, int64_t *ret_lo_ns, int64_t *ret_hi_ns)
{
	DtcClusterTime lo, hi, host_lo, host_hi;
	dtc_clocks_get_bounds(s->clocks, s->guest, (DtcNodeTime){ guest_ns }, &lo, &hi);
	DtcNodeTime from = dtc_clocks_to_node(s->clocks, s->host, lo);
	dtc_clocks_get_bounds(s->clocks, s->host, from, &host_lo, &host_hi);
	*ret_lo_ns = from.ns - (host_hi.ns - host_lo.ns) - 1; /* 1 ns for the rounding of the inverse */
	DtcNodeTime to = dtc_clocks_to_node(s->clocks, s->host, hi);
	dtc_clocks_get_bounds(s->clocks, s->host, to, &host_lo, &host_hi);
	*ret_hi_ns = to.ns + (host_hi.ns - host_lo.ns) + 1;
}

const struct dtc_guest_span *dtc_stays_get_span(const struct dtc_stays *s, uint32_t index)
{
	return dtc_history_get_guest_span(s->h, s->vcpu->span_first + index);
}

/* The first span that ends at or after time. */
uint32_t dtc_stays_find_first(const struct dtc_stays *s, int64_t time_ns)
{
	return DTC_BISECT(i, 0, s->vcpu->span_count, dtc_stays_get_span(s, i)->left_ns < time_ns);
}

/* The first span that begins after time. */
uint32_t dtc_stays_find_after(const struct dtc_stays *s, int64_t time_ns)
{
	return DTC_BISECT(i, 0, s->vcpu->span_count, dtc_stays_get_span(s, i)->entry_ns <= time_ns);
}

/* Lost events, or a thread not seen yet: it may have been in the guest without our knowing. */
bool dtc_stays_is_known(const struct dtc_stays *s, int64_t lo_ns, int64_t hi_ns)
{
	if (s->vcpu->span_count == 0 || lo_ns < dtc_stays_get_span(s, 0)->entry_ns ||
	    hi_ns > dtc_stays_get_span(s, s->vcpu->span_count - 1)->left_ns)
		return false;
	for (int64_t at_ns = hi_ns; at_ns > lo_ns;) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(s->h, s->vcpu->thread, at_ns, &place);
		if (!v || v->state == DTC_STATE_UNKNOWN)
			return false;
		at_ns = v->begin_ns;
	}
	return true;
}

enum dtc_stays_place dtc_stays_locate(const struct dtc_stays *s, int64_t lo_ns, int64_t hi_ns, uint32_t *ret_first,
				      uint32_t *ret_last)
{
	uint32_t first = dtc_stays_find_first(s, lo_ns), after = dtc_stays_find_after(s, hi_ns);
	if (!dtc_stays_is_known(s, lo_ns, hi_ns))
		return DTC_PLACE_NOT_KNOWN;
	if (first >= after)
		return DTC_PLACE_OUTSIDE;
	*ret_first = first;
	*ret_last = after - 1;
	return DTC_PLACE_INSIDE;
}
