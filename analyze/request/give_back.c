/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/give_back.h"

#include "analyze/request/inherit.h"

struct search {
	const DtcServing *serving;
	guint node;
	const DtcHistory *history;
	GArray *found; /* struct dtc_given_back */
};

/* The request that a thread is at, by its own calls, while it waits in a call; and goes on with. NULL: none. */
static const struct dtc_served *find_waiting(const struct search *search, uint32_t thread, int64_t slept_ns,
					     int64_t woken_ns)
{
	const struct dtc_served *span = dtc_serving_find_span(search->serving, search->node, thread, woken_ns);
	if (!span || span->leads || span->begin_ns > slept_ns ||
	    dtc_serving_only_inherits(search->serving, search->node, thread) ||
	    !dtc_serving_goes_on(search->serving, search->node, thread, span->request, woken_ns))
		return NULL;
	return span;
}

static void look_at_wake(struct search *search, const DtcLockWords *locks, const struct dtc_wake *wake)
{
	uint32_t sleep = wake->is_inferred ? DTC_NONE : dtc_lock_words_find_wait(search->history, wake);
	if (sleep == DTC_NONE)
		return;
	const struct dtc_call call = dtc_history_copy_call(search->history, sleep);
	const struct dtc_served *span = find_waiting(search, wake->target, call.begin_ns, wake->waking_ns);
	if (!span || dtc_lock_words_is_lock(locks, &call))
		return;
	const struct dtc_given_back back = { wake->thread, wake->target, span->request, span->begin_ns,
					     wake->waking_ns };
	g_array_append_val(search->found, back);
}

GArray *dtc_give_back_list(const DtcServing *serving, guint node, const DtcHistory *h, const DtcLockWords *locks)
{
	struct search search = { serving, node, h, g_array_new(FALSE, FALSE, sizeof(struct dtc_given_back)) };

	for (uint32_t i = 0; i < dtc_history_get_wake_count(h); i++) {
		struct dtc_wake place;
		look_at_wake(&search, locks, dtc_history_get_wake(h, i, &place));
	}
	return search.found;
}
