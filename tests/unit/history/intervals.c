/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals come out of their records of 8 bytes as they went in, also those that do not fit. */
#include "analyze/history/records.h"
#include "tests/support/story.h"

#define DAY_NS (INT64_C(24) * 3600 * 1000000000)
#define THREADS 5

static DtcHistory *begin_history(int64_t begin_ns, int64_t end_ns)
{
	DtcHistory *h = dtc_history_new();
	h->begin_ns = begin_ns;
	h->end_ns = end_ns;
	for (int i = 0; i < THREADS; i++) {
		const struct dtc_thread thread = { .begin_ns = begin_ns,
						   .end_ns = end_ns,
						   .tid = i + 1,
						   .pid = -1,
						   .parent = DTC_NONE,
						   .leader = DTC_NONE,
						   .idle_cpu = -1 };
		g_array_append_val(h->threads, thread);
	}
	return h;
}

static struct dtc_interval make(uint32_t thread, int64_t begin_ns, int64_t end_ns, enum dtc_state state, uint32_t ref)
{
	return (struct dtc_interval){ .begin_ns = begin_ns,
				      .end_ns = end_ns,
				      .thread = thread,
				      .call = DTC_NONE,
				      .ref = ref,
				      .cpu = 3,
				      .state = (uint8_t)state };
}

static void assert_equal(const struct dtc_interval *is, const struct dtc_interval *expected)
{
	g_assert_nonnull(is);
	g_assert_cmpint(is->begin_ns, ==, expected->begin_ns);
	g_assert_cmpint(is->end_ns, ==, expected->end_ns);
	g_assert_cmpuint(is->thread, ==, expected->thread);
	g_assert_cmpuint(is->state, ==, expected->state);
	g_assert_cmpuint(is->cpu, ==, expected->cpu);
	g_assert_cmpuint(is->call, ==, expected->call);
	g_assert_cmpuint(is->ref, ==, expected->ref);
}

/* Intervals without what they refer to, which some are asked for. */
static void assert_plain(const DtcHistory *h, const GArray *expected, uint32_t thread, uint32_t first, uint32_t step)
{
	struct dtc_interval place;
	const struct dtc_interval *v = NULL;
	uint32_t count = 0;
	for (guint i = 0; i < expected->len; i++) {
		struct dtc_interval e = g_array_index(expected, struct dtc_interval, i), bare = e;
		if (e.thread != thread || count++ < first)
			continue;
		v = v ? dtc_history_get_next_plain(h, &place)
		      : dtc_history_get_plain_after(h, thread, e.begin_ns, &place);
		bare.call = bare.ref = DTC_NONE;
		assert_equal(v, &bare);
		g_assert_cmpuint(v->index, ==, dtc_history_get_thread(h, thread)->interval_first + count - 1);
		if (count % step == 0) {
			dtc_history_fill_interval(h, &place);
			assert_equal(&place, &e);
		}
	}
	g_assert_true(!v || !dtc_history_get_next_plain(h, &place));
	g_assert_null(dtc_history_get_plain_after(h, thread, dtc_history_get_thread(h, thread)->end_ns, &place));
}

/* It is found from any other of the thread, and from another thread's or none. */
static void assert_near(const DtcHistory *h, uint32_t thread, const struct dtc_interval *expected)
{
	const struct dtc_thread *t = dtc_history_get_thread(h, thread);
	struct dtc_interval place = { .thread = DTC_NONE };
	assert_equal(dtc_history_find_interval_near(h, thread, expected->end_ns, &place), expected);
	g_assert_null(dtc_history_find_interval_near(h, thread, t->begin_ns, &place));
	g_assert_null(dtc_history_find_interval_near(h, thread, t->end_ns + 1, &place));
	for (uint32_t i = 0; i < t->interval_count; i++) {
		(void)dtc_history_get_interval(h, thread, t->interval_first + i, &place);
		const struct dtc_interval *found =
			dtc_history_find_interval_near(h, thread, expected->begin_ns + 1, &place);
		assert_equal(found, expected);
		struct dtc_interval asked;
		(void)dtc_history_find_interval_before(h, thread, expected->end_ns, &asked);
		g_assert_cmpuint(found->index, ==, asked.index);
		g_assert_cmpuint(found->last_call, ==, asked.last_call);
	}
}

/* Sums from the middle of an interval to the middle of another are those of one interval after the other. */
static void assert_times(const DtcHistory *h, const GArray *expected, uint32_t thread, uint32_t states, uint32_t cpu)
{
	const struct dtc_thread *t = dtc_history_get_thread(h, thread);
	int64_t begin_ns = t->begin_ns + (t->end_ns - t->begin_ns) / 3, end_ns = t->end_ns - 2;
	struct dtc_state_times times = { .states = states, .cpu = cpu }, by_one = times;
	struct dtc_interval place;
	guint left_out = 0, stops = 0;
	if (begin_ns >= end_ns)
		return;
	for (guint i = 0; i < expected->len; i++) {
		const struct dtc_interval *e = &g_array_index(expected, struct dtc_interval, i);
		if (e->thread != thread || e->end_ns <= begin_ns || e->begin_ns >= end_ns)
			continue;
		if (states >> e->state & 1 && (cpu == DTC_NONE || cpu == e->cpu))
			by_one.ns[e->state] += MIN(e->end_ns, end_ns) - MAX(e->begin_ns, begin_ns);
		else
			left_out++;
	}
	const struct dtc_interval *v = dtc_history_get_plain_after(h, thread, begin_ns, &place);
	while (v && v->begin_ns < end_ns) {
		v = dtc_history_add_times(h, &place, MAX(v->begin_ns, begin_ns), end_ns, &times);
		if (!v)
			break;
		g_assert_false(states >> v->state & 1 && (cpu == DTC_NONE || cpu == v->cpu));
		stops++;
		v = dtc_history_get_next_plain(h, &place);
	}
	g_assert_cmpmem(&times, sizeof(times), &by_one, sizeof(by_one));
	g_assert_cmpuint(stops, ==, left_out);
}

/* All ways to come by an interval give the same. */
static void assert_thread(const DtcHistory *h, const GArray *expected, uint32_t thread)
{
	const struct dtc_thread *t = dtc_history_get_thread(h, thread);
	struct dtc_interval walked, place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, thread, INT64_MIN, &walked);
	uint32_t count = 0;
	for (guint i = 0; i < expected->len; i++) {
		const struct dtc_interval *e = &g_array_index(expected, struct dtc_interval, i);
		if (e->thread != thread)
			continue;
		uint32_t index = t->interval_first + count++;
		assert_equal(v, e);
		g_assert_cmpuint(v->index, ==, index);
		assert_equal(dtc_history_get_interval(h, thread, index, &place), e);
		assert_equal(dtc_history_find_interval_before(h, thread, e->end_ns, &place), e);
		assert_equal(dtc_history_find_interval_before(h, thread, e->begin_ns + 1, &place), e);
		assert_near(h, thread, e);
		assert_equal(dtc_history_get_interval_after(h, thread, e->begin_ns, &place), e);
		assert_equal(dtc_history_get_interval_after(h, thread, e->end_ns - 1, &place), e);
		v = dtc_history_get_next_interval(h, &walked);
	}
	g_assert_null(v);
	g_assert_cmpuint(t->interval_count, ==, count);
	g_assert_null(dtc_history_get_interval_after(h, thread, t->end_ns, &place));
	g_assert_null(dtc_history_find_interval_before(h, thread, t->begin_ns, &place));
	g_assert_null(dtc_history_find_interval_before(h, thread, t->end_ns + 1, &place));
	for (uint32_t first = 0; first < 4; first++)
		for (uint32_t step = 1; step < 4; step++)
			assert_plain(h, expected, thread, first, step);
	assert_times(h, expected, thread, (1u << DTC_STATES) - 1, DTC_NONE);
	assert_times(h, expected, thread, (1u << DTC_STATES) - 1, 3);
	assert_times(h, expected, thread, (1u << DTC_STATES) - 1, 4);
	assert_times(h, expected, thread, 1u << DTC_STATE_USER | 1u << DTC_STATE_IRQ, DTC_NONE);
}

static void add(DtcHistory *h, GArray *expected, struct dtc_interval interval)
{
	dtc_history_add_interval(h, &interval);
	g_array_append_val(expected, interval);
}

/* Months, which take several eras; some threads have intervals in few of them, one has none. */
static void test_long(void)
{
	g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	g_autoptr(DtcHistory) h = begin_history(-DAY_NS, 99 * DAY_NS);
	const int64_t steps_ns[THREADS] = { 1000000007, DAY_NS, 60000000011, 0, 100 * DAY_NS };
	int64_t at_ns[THREADS];
	for (int i = 0; i < THREADS; i++)
		at_ns[i] = -DAY_NS;
	for (int k = 0; k < 100; k++)
		for (uint32_t i = 0; i < THREADS; i++) {
			int64_t end_ns = k == 99 ? 99 * DAY_NS : MIN(at_ns[i] + steps_ns[i], 99 * DAY_NS);
			if (steps_ns[i] && at_ns[i] < end_ns)
				add(h, expected, make(i, at_ns[i], end_ns, DTC_STATE_USER + (uint32_t)k % 3, DTC_NONE));
			at_ns[i] = end_ns;
		}
	dtc_history_seal(h);
	for (uint32_t i = 0; i < THREADS; i++)
		if (steps_ns[i])
			assert_thread(h, expected, i);
	g_assert_cmpuint(h->eras->len, >, 100);
}

/* More interrupts than there are small numbers, unknown ones, and vectors that no kernel has. */
static void test_many_refs(void)
{
	g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	g_autoptr(DtcHistory) h = begin_history(0, 3000);
	for (int64_t at_ns = 0; at_ns < 3000; at_ns += 10) {
		uint32_t ref = at_ns % 50 == 0 ? DTC_NONE : UINT32_MAX - 100 + (uint32_t)(at_ns / 10) % 90;
		add(h, expected,
		    make((uint32_t)(at_ns / 1000), at_ns, at_ns + 10, at_ns % 20 ? DTC_STATE_IRQ : DTC_STATE_SOFTIRQ,
			 ref));
	}
	for (uint32_t i = 0; i < 3; i++) {
		g_array_index(h->threads, struct dtc_thread, i).begin_ns = (int64_t)i * 1000;
		g_array_index(h->threads, struct dtc_thread, i).end_ns = (int64_t)(i + 1) * 1000;
	}
	dtc_history_seal(h);
	for (uint32_t i = 0; i < 3; i++)
		assert_thread(h, expected, i);
	g_assert_cmpuint(h->odd_refs->len, >, 0);
}

static uint32_t add_wake(DtcHistory *h, uint32_t target, int64_t waking_ns)
{
	const struct dtc_wake wake = {
		waking_ns, DTC_TIME_NONE, target, DTC_NONE, DTC_NONE, .waker = DTC_WAKER_UNKNOWN
	};
	return dtc_history_add_wake(h, &wake);
}

/* Several wakes at one time; a wait keeps the one that it was given, whichever that is, and one may have none. */
static void test_wakes(void)
{
	g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	g_autoptr(DtcHistory) h = begin_history(0, 400);
	add_wake(h, 1, 50);
	uint32_t early = add_wake(h, 0, 100), other = add_wake(h, 1, 100), late = add_wake(h, 0, 100);
	uint32_t last = add_wake(h, 0, 300);
	add(h, expected, make(0, 0, 100, DTC_STATE_WAIT, early));
	add(h, expected, make(1, 0, 100, DTC_STATE_WAIT_DISK, other));
	add(h, expected, make(2, 0, 100, DTC_STATE_WAIT, DTC_NONE));
	add(h, expected, make(0, 100, 200, DTC_STATE_RUNQUEUE, DTC_NONE));
	add(h, expected, make(0, 200, 300, DTC_STATE_STOPPED, late)); /* of another time */
	add(h, expected, make(1, 100, 300, DTC_STATE_WAIT, last));    /* another's */
	add(h, expected, make(0, 300, 400, DTC_STATE_WAIT, DTC_NONE));
	add(h, expected, make(1, 300, 400, DTC_STATE_PREEMPTED, DTC_NONE));
	add(h, expected, make(2, 100, 400, DTC_STATE_USER, DTC_NONE));
	dtc_history_seal(h);
	for (uint32_t i = 0; i < 3; i++)
		assert_thread(h, expected, i);
	g_assert_cmpuint(h->odd_refs->len, ==, 2);
}

/* Where a CPU is not known, and calls, some of which take no time. */
static void test_calls(void)
{
	g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	g_autoptr(DtcHistory) h = begin_history(0, 1000);
	struct dtc_interval v;
	for (uint32_t i = 0; i < 10; i++) {
		int64_t at_ns = (int64_t)i * 100;
		for (uint32_t k = 0; k < 2; k++) { /* the first returns at once */
			const struct dtc_call call = {
				.begin_ns = at_ns, .end_ns = k ? at_ns + 50 : at_ns, .thread = 1, .file = DTC_NONE
			};
			dtc_table_append(h->filling->calls, &call);
		}
		v = make(1, at_ns, at_ns + 20, DTC_STATE_SYSCALL, DTC_NONE);
		v.call = h->filling->calls->len - 1;
		add(h, expected, v);
		v = make(1, at_ns + 20, at_ns + 50, DTC_STATE_PREEMPTED, DTC_NONE);
		v.call = h->filling->calls->len - 1;
		v.cpu = 0xffff;
		add(h, expected, v);
		v = make(1, at_ns + 50, at_ns + 100, DTC_STATE_USER, DTC_NONE);
		v.cpu = 8191;
		add(h, expected, v);
	}
	dtc_history_seal(h);
	assert_thread(h, expected, 1);
}

/* What is given out is what was put in, be it packed or kept whole. */
#define FIRST_ODD 9
static void test_whole_calls(void)
{
	const int64_t long_ns = INT64_C(1) << 34, late_ns = INT64_C(1) << 46;
	const struct dtc_call calls[] = {
		{ 0, 5, -11, 0, 0, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ 5, 9, 7, 0x7fffffffffff, 0, 1, 0xffff, 0xfffffe, DTC_NONE, 0xfffe, .kind = DTC_CALL_PEEK },
		{ 9, DTC_TIME_NONE, DTC_ABSENT, 0, 0xfffffffff, 1, 1, 3, DTC_NONE, 4, .kind = DTC_CALL_FUTEX, 129,
		  true },
		{ 10, 8 + long_ns, 3, 0, 0, 1, 2, DTC_NONE, 9, -1, .kind = DTC_CALL_OPEN },
		{ 11, 12, INT64_C(0x7f0000001000), 0, 0, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_OTHER },
		{ 12, 13, 2, DTC_READY_AT(9, 2), 60000, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		{ 13, 14, 2, DTC_READY_AT(9, 3), (uint64_t)-1, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		{ 14, 15, 2, DTC_READY_AT(9, 3), DTC_TIMEOUT_UNKNOWN, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		{ 15, 16, 2, 0, DTC_TIMEOUT_UNKNOWN, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		/* and these do not fit */
		{ 16, 17, 2, DTC_READY_AT(9, 64), 1, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		{ 17, 18, 2, DTC_READY_AT(9, 1), 1 << 19, 1, 2, 4, DTC_NONE, 4, .kind = DTC_CALL_POLL },
		{ 18, 17 + long_ns, 1, 0, 0, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ 18, 18 + long_ns, 0, 0, 0, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ 19, 20, INT32_MIN, 0, 0, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ 20, 21, 0, 0, 0, 1, 0x10000, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ 21, 22, 0, 0, 0, 1, 0, 0xffffff, DTC_NONE, 0xffff, .kind = DTC_CALL_OTHER },
		{ 22, 23, 0, 1, 1, 1, 0, 3, DTC_NONE, 3, .kind = DTC_CALL_READ },
		{ 23, 24, 0, 0, 1, 1, 0, DTC_NONE, 3, -1, .kind = DTC_CALL_OTHER },
		{ 24, 25, 0, 0, UINT64_C(1) << 48, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
		{ late_ns, late_ns + 1, 0, 0, 0, 1, 0, DTC_NONE, DTC_NONE, -1, .kind = DTC_CALL_OTHER },
	};
	g_autoptr(DtcHistory) h = begin_history(0, late_ns + 1);
	for (gsize i = 0; i < G_N_ELEMENTS(calls); i++)
		dtc_table_append(h->filling->calls, &calls[i]);
	dtc_history_seal_calls(h, (uint32_t[G_N_ELEMENTS(calls)]){ 0 });
	for (uint32_t i = 0; i < h->odd_calls->len; i++)
		g_assert_cmpuint(DTC_AT(h->odd_calls, struct dtc_odd_call, i)->index, ==, FIRST_ODD + i);
	g_assert_cmpuint(h->odd_calls->len, ==, 11);
	for (uint32_t i = 0; i < G_N_ELEMENTS(calls); i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_read_call(h, i, &place);
		g_assert_cmpmem(call, sizeof(*call), &calls[i], sizeof(calls[i]));
		g_assert_cmpint(dtc_history_read_call_begin(h, i), ==, calls[i].begin_ns);
	}
}

/* Runs of CPUs of which some are silent for eras, or have none in the first, and faults. */
static void test_moments(void)
{
	static const uint32_t threads[] = { 0, DTC_THREAD_LIMIT - 1, DTC_NONE };
	g_autoptr(DtcHistory) h = begin_history(-DAY_NS, 99 * DAY_NS);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		dtc_history_add_cpu(h);
	for (int k = 0; k < 100; k++) {
		int64_t at_ns = (k - 1) * DAY_NS + k;
		const struct dtc_fault fault = { at_ns, threads[k % 3], k & 1 };
		dtc_history_add_fault(h, &fault);
		dtc_history_add_run(h, 0, at_ns, threads[k % 3]);
		if (threads[k % 3] == DTC_NONE)
			dtc_history_mark_missing(h, 0);
		if (k > 50)
			dtc_history_add_run(h, 2, at_ns, 1);
	}
	dtc_history_add_run(h, 3, -DAY_NS - 1, 2); /* before the trace: with its begin */
	dtc_history_seal(h);
	g_assert_cmpuint(dtc_history_get_run_count(h, 0), ==, 100);
	g_assert_cmpuint(dtc_history_get_run_count(h, 1), ==, 0);
	g_assert_cmpuint(dtc_history_get_run_count(h, 2), ==, 49);
	for (uint32_t k = 0; k < 100; k++) {
		const struct dtc_run run = dtc_history_get_run(h, 0, k);
		const struct dtc_fault fault = dtc_history_get_fault(h, k);
		int64_t at_ns = ((int)k - 1) * DAY_NS + k;
		g_assert_cmpint(run.begin_ns, ==, at_ns);
		g_assert_cmpint(fault.time_ns, ==, at_ns);
		g_assert_cmpuint(run.thread, ==, threads[k % 3]);
		g_assert_cmpuint(fault.thread, ==, threads[k % 3]);
		g_assert_cmpuint(run.is_missing, ==, threads[k % 3] == DTC_NONE);
		g_assert_cmpuint(fault.in_kernel, ==, k & 1);
		g_assert_cmpuint(dtc_history_find_run_after(h, 0, at_ns), ==, k + 1);
		g_assert_cmpuint(dtc_history_find_run_after(h, 0, at_ns - 1), ==, k);
		if (k > 50)
			g_assert_cmpint(dtc_history_get_run(h, 2, k - 51).begin_ns, ==, at_ns);
	}
	g_assert_cmpint(dtc_history_get_run(h, 3, 0).begin_ns, ==, -DAY_NS);
}

/* Months of wakes; each field keeps the most that it may be, and a wakeup after many hours is not known. */
static void test_wakes_whole(void)
{
	static const int64_t latencies_ns[] = { 0, 1, (INT64_C(1) << 45) - 2, -1, (INT64_C(1) << 45) - 1 };
	g_autoptr(DtcHistory) h = begin_history(-DAY_NS, 99 * DAY_NS);
	for (uint32_t k = 0; k < 90; k++) {
		const struct dtc_wake wake = { (k - INT64_C(1)) * DAY_NS,
					       DTC_TIME_NONE,
					       k % 2 ? DTC_THREAD_LIMIT - 1 : 3,
					       k % 3 ? DTC_NONE : DTC_THREAD_LIMIT - 1,
					       k % 5 ? DTC_NONE : k,
					       UINT16_MAX,
					       DTC_WAKER_NEW,
					       0,
					       k & 1 };
		g_assert_cmpuint(dtc_history_add_wake(h, &wake), ==, k);
		if (latencies_ns[k % 5] >= 0)
			dtc_history_set_wakeup(h, k, wake.waking_ns + latencies_ns[k % 5]);
		if (k % 7 == 0)
			dtc_history_set_signal(h, k, 64);
	}
	dtc_history_seal(h);
	for (uint32_t k = 0; k < 90; k++) {
		const struct dtc_wake wake = dtc_history_copy_wake(h, k);
		g_assert_cmpint(wake.waking_ns, ==, (k - INT64_C(1)) * DAY_NS);
		g_assert_cmpint(dtc_history_get_waking_ns(h, k), ==, wake.waking_ns);
		g_assert_cmpint(wake.wakeup_ns, ==, k % 5 < 3 ? wake.waking_ns + latencies_ns[k % 5] : DTC_TIME_NONE);
		g_assert_cmpuint(wake.target, ==, k % 2 ? DTC_THREAD_LIMIT - 1 : 3);
		g_assert_cmpuint(wake.thread, ==, k % 3 ? DTC_NONE : DTC_THREAD_LIMIT - 1);
		g_assert_cmpuint(wake.ref, ==, k % 5 ? DTC_NONE : k);
		g_assert_cmpuint(wake.cpu, ==, UINT16_MAX);
		g_assert_cmpuint(wake.waker, ==, DTC_WAKER_NEW);
		g_assert_cmpuint(wake.signal, ==, k % 7 ? 0 : 64);
		g_assert_cmpuint(wake.is_inferred, ==, k & 1);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/history/intervals/long", test_long);
	g_test_add_func("/history/intervals/many-refs", test_many_refs);
	g_test_add_func("/history/intervals/wakes", test_wakes);
	g_test_add_func("/history/intervals/calls", test_calls);
	g_test_add_func("/history/calls/whole", test_whole_calls);
	g_test_add_func("/history/moments", test_moments);
	g_test_add_func("/history/wakes/whole", test_wakes_whole);
	return g_test_run();
}
