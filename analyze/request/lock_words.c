/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/lock_words.h"

#include <dtrace-chain/bisect.h>

/* Where all but one of so many wakes, or more, go with a lock that is handed on, it is of the lock. */
#define TAKES_OF 4
/* So long a thread may run from what it does at the lock on, and make so many calls. */
#define TAKES_NS 50000
#define TAKE_CALLS 16

/* Somebody, or a process, at a futex. */
struct at {
	uint64_t word;
	uint32_t who;
};

/* A wake that ended a futex wait. */
struct ended {
	uint32_t wake;
	uint32_t wait;
};

struct DtcLockWords {
	const DtcHistory *history;
	GArray *ended;	    /* struct ended, by wake: it is asked for again and again */
	GHashTable *waited; /* struct at: threads that others woke there */
	GHashTable *locks;  /* struct at: processes */
	GHashTable *takes;  /* struct at: processes; where who hands on a lock sleeps until it was taken */
};

static guint at_hash(gconstpointer data)
{
	const struct at *at = data;
	return (guint)(at->word ^ at->word >> 32) * 31 + at->who;
}

static gboolean at_equal(gconstpointer a, gconstpointer b)
{
	const struct at *x = a, *y = b;
	return x->word == y->word && x->who == y->who;
}

/* The two words of a condition's two groups of waiters are one (sysdeps/nptl/bits/thread-shared-types.h of glibc). */
static struct at make_at(const struct dtc_call *call, uint32_t who)
{
	return (struct at){ .word = call->argument & ~G_GUINT64_CONSTANT(7), .who = who };
}

static void add(GHashTable *set, struct at at)
{
	if (!g_hash_table_contains(set, &at))
		g_hash_table_add(set, g_memdup2(&at, sizeof(at)));
}

bool dtc_lock_words_is_same(const struct dtc_call *a, const struct dtc_call *b)
{
	const struct at x = make_at(a, 0), y = make_at(b, 0);
	return at_equal(&x, &y);
}

static uint32_t find_wait(const DtcHistory *h, const struct dtc_wake *wake)
{
	struct dtc_interval place;
	struct dtc_call call_place;
	if (wake->waker != DTC_WAKER_THREAD || wake->thread == wake->target ||
	    dtc_history_get_thread(h, wake->thread)->pid != dtc_history_get_thread(h, wake->target)->pid)
		return DTC_NONE;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
	if (!v || v->end_ns != wake->waking_ns || !dtc_state_is_wait(v->state) || v->call == DTC_NONE)
		return DTC_NONE;
	return dtc_call_is_futex_wait(dtc_history_get_call(h, v->call, &call_place)) ? v->call : DTC_NONE;
}

uint32_t dtc_lock_words_get_wait(const DtcLockWords *words, uint32_t wake)
{
	const GArray *ended = words->ended;
	guint i = DTC_BISECT(k, 0, ended->len, g_array_index(ended, struct ended, k).wake < wake);
	bool is_found = i < ended->len && g_array_index(ended, struct ended, i).wake == wake;
	return is_found ? g_array_index(ended, struct ended, i).wait : DTC_NONE;
}

/* Wakes at a futex. */
struct wakes {
	guint count;
	guint takes; /* of one that had woken another at a lock, by one that had waited there */
};

static void count_wake(GHashTable *counts, struct at at, bool takes)
{
	struct wakes *wakes = g_hash_table_lookup(counts, &at);
	if (!wakes) {
		wakes = g_new0(struct wakes, 1);
		g_hash_table_insert(counts, g_memdup2(&at, sizeof(at)), wakes);
	}
	wakes->count++;
	wakes->takes += takes;
}

/* How long a thread ran in user mode in a span. */
static int64_t sum_user_ns(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval place;
	int64_t sum_ns = 0;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
	for (; v && v->end_ns > begin_ns && sum_ns < TAKES_NS;
	     v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place))
		if (v->state == DTC_STATE_USER)
			sum_ns += MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
	return sum_ns;
}

/* Whether the last thing that a thread did before a call of its own, but for other futexes, was to wait for a lock, or
 * to wake somebody there. */
static bool was_at_lock(const DtcLockWords *words, uint32_t thread, uint32_t call, int64_t time_ns, bool waited)
{
	const DtcHistory *h = words->history;
	uint32_t first = dtc_history_get_thread(h, thread)->call_first;
	for (uint32_t i = call; i-- > first && call - i < TAKE_CALLS;) {
		struct dtc_call place;
		const struct dtc_call *at = dtc_history_get_call(h, i, &place);
		if (at->kind != DTC_CALL_FUTEX || at->end_ns == DTC_TIME_NONE)
			break;
		const struct at word = make_at(at, (uint32_t)dtc_history_get_thread(h, thread)->pid);
		if (!g_hash_table_contains(words->locks, &word))
			continue;
		if (waited ? dtc_call_is_futex_wait(at) : dtc_call_get_futex_operation(at) == DTC_FUTEX_WAKE)
			return sum_user_ns(h, thread, at->end_ns, time_ns) < TAKES_NS;
	}
	return false;
}

/*
 * Who hands a lock on may sleep until the other one has it, at another futex (Python's, whose holder gives it up as
 * others want it, and would else be the first to have it again): a sleeper that has just woken somebody at the lock is
 * woken by one that has just waited there.
 */
static void find_takes(DtcLockWords *words)
{
	const DtcHistory *h = words->history;
	g_autoptr(GHashTable) counts = g_hash_table_new_full(at_hash, at_equal, g_free, g_free);
	for (guint i = 0; i < words->ended->len; i++) {
		const struct dtc_wake wake =
			dtc_history_copy_wake(h, g_array_index(words->ended, struct ended, i).wake);
		uint32_t wait = g_array_index(words->ended, struct ended, i).wait;
		uint32_t waking = dtc_history_find_call(h, wake.thread, wake.waking_ns);
		if (waking == DTC_NONE)
			continue;
		const struct dtc_call call = dtc_history_copy_call(h, wait);
		const struct at at = make_at(&call, (uint32_t)dtc_history_get_thread(h, wake.target)->pid);
		if (!g_hash_table_contains(words->locks, &at))
			count_wake(counts, at,
				   was_at_lock(words, wake.target, wait, call.begin_ns, false) &&
					   was_at_lock(words, wake.thread, waking, wake.waking_ns, true));
	}
	GHashTableIter iter;
	gpointer key, value;
	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct wakes *wakes = value;
		if (wakes->takes * TAKES_OF >= wakes->count * (TAKES_OF - 1) && wakes->takes)
			add(words->takes, *(const struct at *)key);
	}
}

DtcLockWords *dtc_lock_words_new(const DtcHistory *h)
{
	DtcLockWords *words = g_new0(DtcLockWords, 1);
	g_autoptr(GHashTable) woke = g_hash_table_new_full(at_hash, at_equal, g_free, NULL);
	words->history = h;
	words->ended = g_array_new(FALSE, FALSE, sizeof(struct ended));
	words->waited = g_hash_table_new_full(at_hash, at_equal, g_free, NULL);
	words->locks = g_hash_table_new_full(at_hash, at_equal, g_free, NULL);
	words->takes = g_hash_table_new_full(at_hash, at_equal, g_free, NULL);
	for (uint32_t i = 0; i < dtc_history_get_wake_count(h); i++) {
		struct dtc_wake wake_place;
		struct dtc_call call_place;
		const struct dtc_wake *wake = dtc_history_get_wake(h, i, &wake_place);
		const struct ended ended = { i, find_wait(h, wake) };
		if (ended.wait == DTC_NONE)
			continue;
		g_array_append_val(words->ended, ended);
		const struct dtc_call *call = dtc_history_get_call(h, ended.wait, &call_place);
		add(words->waited, make_at(call, wake->target));
		add(woke, make_at(call, wake->thread));
	}
	GHashTableIter iter;
	gpointer key;
	g_hash_table_iter_init(&iter, woke);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		struct at at = *(const struct at *)key;
		if (!g_hash_table_contains(words->waited, &at))
			continue;
		at.who = (uint32_t)dtc_history_get_thread(h, at.who)->pid;
		add(words->locks, at);
	}
	find_takes(words);
	return words;
}

void dtc_lock_words_free(DtcLockWords *words)
{
	if (!words)
		return;
	g_array_unref(words->ended);
	g_hash_table_unref(words->waited);
	g_hash_table_unref(words->locks);
	g_hash_table_unref(words->takes);
	g_free(words);
}

bool dtc_lock_words_is_handed(const DtcLockWords *words, uint32_t waker, const struct dtc_call *call)
{
	const struct at at = make_at(call, waker);
	const struct at of = make_at(call, (uint32_t)dtc_history_get_thread(words->history, call->thread)->pid);
	return g_hash_table_contains(words->waited, &at) || g_hash_table_contains(words->takes, &of);
}

bool dtc_lock_words_is_lock(const DtcLockWords *words, const struct dtc_call *call)
{
	const struct at at = make_at(call, (uint32_t)dtc_history_get_thread(words->history, call->thread)->pid);
	return g_hash_table_contains(words->locks, &at) || g_hash_table_contains(words->takes, &at);
}
