/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/occupants.h"

static gint compare_occupants(gconstpointer a, gconstpointer b)
{
	const struct dtc_occupant *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

struct search {
	const DtcHistory *history;
	const struct dtc_interval *interval;
	GArray *occupants;
	GHashTable *places; /* thread + 1 -> place + 1 */
	struct dtc_idle idle;
};

static void add_thread(struct search *search, uint32_t thread, int64_t ns)
{
	gpointer key = GUINT_TO_POINTER(thread + 1);
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(search->places, key));
	const struct dtc_occupant occupant = { .thread = thread, .ref = DTC_NONE, .ns = ns };
	if (place) {
		g_array_index(search->occupants, struct dtc_occupant, place - 1).ns += ns;
		return;
	}
	g_array_append_val(search->occupants, occupant);
	g_hash_table_insert(search->places, key, GUINT_TO_POINTER(search->occupants->len));
}

/* There are a handful of interrupts and softirqs. */
static void add_kernel(struct search *search, uint8_t state, uint32_t ref, int64_t ns)
{
	for (guint i = 0; i < search->occupants->len; i++) {
		struct dtc_occupant *known = &g_array_index(search->occupants, struct dtc_occupant, i);
		if (known->thread == DTC_NONE && known->state == state && known->ref == ref) {
			known->ns += ns;
			return;
		}
	}
	const struct dtc_occupant occupant = { .thread = DTC_NONE, .state = state, .ref = ref, .ns = ns };
	g_array_append_val(search->occupants, occupant);
}

static void add_spell(struct dtc_idle *idle, int64_t begin_ns, int64_t end_ns)
{
	if (!idle->ns)
		idle->begin_ns = begin_ns;
	idle->end_ns = end_ns;
	idle->ns += end_ns - begin_ns;
}

/* What an idle CPU did in [begin, end]. */
static void add_idle(struct search *search, uint32_t idle, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(search->history, idle, begin_ns, &place);
	for (; v && v->begin_ns < end_ns; v = dtc_history_get_next_interval(search->history, &place)) {
		int64_t ns = MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
		bool is_kernel = v->state == DTC_STATE_IRQ || v->state == DTC_STATE_SOFTIRQ;
		if (ns <= 0 || (!is_kernel && v->state != DTC_STATE_IDLE))
			continue;
		add_kernel(search, v->state, is_kernel ? v->ref : DTC_NONE, ns);
		if (!is_kernel)
			add_spell(&search->idle, MAX(v->begin_ns, begin_ns), MIN(v->end_ns, end_ns));
	}
}

/* A new thread waits on no CPU that is known: where it ran first, then. */
static uint32_t find_cpu(const DtcHistory *h, const struct dtc_interval *interval)
{
	if (interval->cpu != 0xffff || interval->thread == DTC_NONE)
		return interval->cpu;
	struct dtc_interval place;
	const struct dtc_interval *next = dtc_history_get_interval_after(h, interval->thread, interval->end_ns, &place);
	return next ? next->cpu : 0xffff;
}

static GArray *find(const DtcHistory *h, const struct dtc_interval *interval, struct dtc_idle *ret_idle)
{
	uint32_t cpu = find_cpu(h, interval), count = dtc_history_get_run_count(h, cpu);
	uint32_t after = dtc_history_find_run_after(h, cpu, interval->begin_ns);
	g_autoptr(GHashTable) places = g_hash_table_new(g_direct_hash, g_direct_equal);
	struct search search = { h, interval, g_array_new(FALSE, FALSE, sizeof(struct dtc_occupant)), places, { 0 } };
	for (uint32_t i = after ? after - 1 : 0; i < count; i++) {
		const struct dtc_run run = dtc_history_get_run(h, cpu, i);
		if (run.begin_ns >= interval->end_ns)
			break;
		int64_t run_end_ns =
			i + 1 < count ? dtc_history_get_run(h, cpu, i + 1).begin_ns : dtc_history_get_end_ns(h);
		int64_t begin_ns = MAX(run.begin_ns, interval->begin_ns), end_ns = MIN(run_end_ns, interval->end_ns);
		uint32_t thread = run.thread;
		if (end_ns <= begin_ns || thread == DTC_NONE || thread == interval->thread)
			continue;
		if (dtc_history_get_thread(h, thread)->idle_cpu >= 0)
			add_idle(&search, thread, begin_ns, end_ns);
		else
			add_thread(&search, thread, end_ns - begin_ns);
	}
	g_array_sort(search.occupants, compare_occupants);
	*ret_idle = search.idle;
	return search.occupants;
}

GArray *dtc_occupants_find(const DtcHistory *h, const struct dtc_interval *interval)
{
	struct dtc_idle idle;

	return find(h, interval, &idle);
}

bool dtc_occupants_find_idle(const DtcHistory *h, const struct dtc_interval *interval, struct dtc_idle *ret_idle)
{
	g_array_unref(find(h, interval, ret_idle));
	return ret_idle->ns > 0;
}
