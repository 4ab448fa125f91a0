/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bounds of two clocks from where a guest's events can lie among the stays of its vCPU. One event excludes little; but
 * the clocks run alike, so that events near each other lie in stays all at once, or not: what they leave together is
 * far less than what each of them leaves.
 */
#include "analyze/guest/stays.h"
#include "sync/fit/clocks.h"

#include <math.h>

/* Events so near each other are placed together, from every half of it on: within it clocks wander less than 1 us. */
#define TOGETHER_NS 100000000
/* Enough to tell; the more, the more work. */
#define TOGETHER_EVENTS 2000

static void add_bound(GArray *bounds, guint from, guint to, int64_t sent_ns, int64_t received_ns)
{
	const struct dtc_guest_bound bound = { from, to, sent_ns, received_ns };
	g_array_append_val(bounds, bound);
}

/*
 * An event lies in one of the spans first to last, so after the entry of first and before the end of last. Of the
 * events with the same first the earliest says most, of those with the same last the latest.
 */
static void add_single_bounds(const struct dtc_stays *s, const GArray *events, GArray *bounds)
{
	uint32_t seen_first = DTC_NONE, open_last = DTC_NONE;
	int64_t open_ns = 0;
	for (guint i = 0; i < events->len; i++) {
		int64_t lo_ns, hi_ns, at_ns = g_array_index(events, int64_t, i);
		uint32_t first, last;
		dtc_stays_get_window(s, at_ns, &lo_ns, &hi_ns);
		if (dtc_stays_locate(s, lo_ns, hi_ns, &first, &last) != DTC_PLACE_INSIDE)
			continue;
		if (dtc_stays_get_span(s, first)->entry_ns > lo_ns && first != seen_first) {
			add_bound(bounds, s->host, s->guest, dtc_stays_get_span(s, first)->entry_ns, at_ns);
			seen_first = first;
		}
		if (open_last != DTC_NONE && open_last != last) {
			add_bound(bounds, s->guest, s->host, open_ns, dtc_stays_get_span(s, open_last)->left_ns);
			open_last = DTC_NONE;
		}
		if (dtc_stays_get_span(s, last)->left_ns < hi_ns) {
			open_last = last;
			open_ns = at_ns;
		}
	}
	if (open_last != DTC_NONE)
		add_bound(bounds, s->guest, s->host, open_ns, dtc_stays_get_span(s, open_last)->left_ns);
}

/* ---- together ---- */

/* From begin to end, both possible. */
struct range {
	int64_t begin, end;
};

/*
 * Events near one instant, at which the guest's clock shows at_ns and the host's about host_ns: how much later than
 * that (earlier: negative) it may show, as sorted ranges.
 */
struct together {
	const struct dtc_stays *stays;
	double rate;   /* of the host's clock per guest's */
	double spread; /* how wrong that may be */
	int64_t at_ns;
	int64_t host_ns;
	GArray *possible; /* struct range */
	GArray *next;
};

/* By how much clocks gain from their first known point to the last; 1 if there is one point only. */
static double get_rate(const DtcClocks *clocks, guint node)
{
	guint count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
	int64_t ns = knots[count - 1].node_ns - knots[0].node_ns;
	return ns > 0 ? (double)(knots[count - 1].cluster_ns - knots[0].cluster_ns) / (double)ns : 1;
}

static bool find_rate(struct together *t)
{
	const struct dtc_stays *s = t->stays;
	guint guest_count, host_count;
	dtc_clocks_get_knots(s->clocks, s->guest, &guest_count);
	dtc_clocks_get_knots(s->clocks, s->host, &host_count);
	/* a clock without a span of its own is the reference, or nothing is known of its rate */
	bool is_known = (guest_count > 1 || s->guest == dtc_clocks_get_reference(s->clocks)) &&
			(host_count > 1 || s->host == dtc_clocks_get_reference(s->clocks));
	t->rate = get_rate(s->clocks, s->guest) / get_rate(s->clocks, s->host);
	t->spread = 1.01 * (dtc_clocks_get_spread(s->clocks, s->guest) + dtc_clocks_get_spread(s->clocks, s->host));
	return is_known && t->rate > 0.5 && t->rate < 2 && t->spread < 1e-4;
}

/* What is possible and in [begin, end] stays so; begins do not decrease from one call to the next. */
static void keep(const struct together *t, int64_t begin, int64_t end)
{
	for (guint i = 0; i < t->possible->len; i++) {
		const struct range *range = &g_array_index(t->possible, struct range, i);
		struct range both = { MAX(range->begin, begin), MIN(range->end, end) };
		struct range *last = t->next->len ? &g_array_index(t->next, struct range, t->next->len - 1) : NULL;
		if (both.begin > both.end)
			continue;
		if (last && both.begin <= last->end) {
			last->begin = MIN(last->begin, both.begin); /* what the doubt adds makes stays meet */
			last->end = MAX(last->end, both.end);
		} else {
			g_array_append_val(t->next, both);
		}
	}
}

/* Leaves of what is possible that with which an event lies in a stay. */
static void place(struct together *t, int64_t event_ns)
{
	if (t->possible->len == 0)
		return;
	int64_t since_ns = event_ns - t->at_ns;
	int64_t about_ns = t->host_ns + llrint((double)since_ns * t->rate);
	int64_t error_ns = (int64_t)ceil(t->spread * fabs((double)since_ns)) + 2;
	int64_t lo_ns = about_ns + g_array_index(t->possible, struct range, 0).begin - error_ns;
	int64_t hi_ns = about_ns + g_array_index(t->possible, struct range, t->possible->len - 1).end + error_ns;
	uint32_t first, last;
	if (dtc_stays_locate(t->stays, lo_ns, hi_ns, &first, &last) == DTC_PLACE_NOT_KNOWN)
		return;
	g_array_set_size(t->next, 0);
	first = dtc_stays_find_first(t->stays, lo_ns);
	for (uint32_t i = first; i < dtc_stays_find_after(t->stays, hi_ns); i++) {
		const struct dtc_guest_span *span = dtc_stays_get_span(t->stays, i);
		keep(t, span->entry_ns - about_ns - error_ns, span->left_ns - about_ns + error_ns);
	}
	GArray *swap = t->possible;
	t->possible = t->next;
	t->next = swap;
}

/* The events from first on that are near each other; gives the index behind the last. */
static guint place_together(struct together *t, const GArray *events, guint first, GArray *bounds)
{
	const struct dtc_stays *s = t->stays;
	int64_t begin_ns = g_array_index(events, int64_t, first), lo_ns, hi_ns;
	guint end = first;
	while (end < events->len && end - first < TOGETHER_EVENTS &&
	       g_array_index(events, int64_t, end) - begin_ns < TOGETHER_NS)
		end++;
	t->at_ns = g_array_index(events, int64_t, first + (end - first) / 2);
	t->host_ns = dtc_clocks_to_node_ns(s->clocks, s->host, dtc_clocks_to_cluster_ns(s->clocks, s->guest, t->at_ns));
	dtc_stays_get_window(s, t->at_ns, &lo_ns, &hi_ns);
	const struct range before = { lo_ns - t->host_ns, hi_ns - t->host_ns };
	g_array_set_size(t->possible, 0);
	g_array_append_val(t->possible, before);
	for (guint i = first; i < end; i++)
		place(t, g_array_index(events, int64_t, i));
	if (t->possible->len == 0) /* clocks that do not keep to what is assumed: no news */
		return end;
	const struct range after = { g_array_index(t->possible, struct range, 0).begin,
				     g_array_index(t->possible, struct range, t->possible->len - 1).end };
	if (after.begin > before.begin)
		add_bound(bounds, s->host, s->guest, t->host_ns + after.begin - 1, t->at_ns);
	if (after.end < before.end)
		add_bound(bounds, s->guest, s->host, t->at_ns, t->host_ns + after.end + 1);
	return end;
}

static void add_common_bounds(const struct dtc_stays *s, const GArray *events, GArray *bounds)
{
	struct together t = { .stays = s };
	if (!find_rate(&t))
		return;
	t.possible = g_array_new(FALSE, FALSE, sizeof(struct range));
	t.next = g_array_new(FALSE, FALSE, sizeof(struct range));
	for (guint first = 0; first < events->len;) {
		guint end = place_together(&t, events, first, bounds);
		first = MAX(first + 1, first + (end - first) / 2);
	}
	g_array_unref(t.possible);
	g_array_unref(t.next);
}

void dtc_stays_add_bounds(const struct dtc_stays *s, const GArray *events, bool is_steady, GArray *bounds)
{
	add_single_bounds(s, events, bounds);
	if (is_steady)
		add_common_bounds(s, events, bounds);
}
