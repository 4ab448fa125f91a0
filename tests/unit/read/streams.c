/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events out of their packet's time: they are held in order, and the times after them are told by their low bits. */
#include "collect/read/streams.h"

#define WRAP (INT64_C(1) << 32)
#define MS INT64_C(1000000)
#define BEGIN (1000 * WRAP)

/* A stream in its second packet, of 100 ms, with events up to BEGIN. */
static void init(struct dtc_stream *stream, int64_t wrap_ns)
{
	*stream = (struct dtc_stream){ .wrap_ns = wrap_ns };
	dtc_stream_init(stream);
	dtc_stream_begin_packet(stream, &(struct dtc_packet_claim){ 1, BEGIN - MS, BEGIN, 0 });
	dtc_stream_take_event(stream, BEGIN - MS, DTC_ABSENT);
	dtc_stream_begin_packet(stream, &(struct dtc_packet_claim){ 1, BEGIN, BEGIN + 100 * MS, 4096 });
	dtc_stream_take_event(stream, BEGIN, DTC_ABSENT);
}

static void assert_times(int64_t wrap_ns, const int64_t *given, const int64_t *expected, guint count, guint64 faults)
{
	struct dtc_stream stream;
	init(&stream, wrap_ns);
	for (guint i = 0; i < count; i++) {
		bool wants = dtc_stream_wants_next(&stream, BEGIN + given[i]);
		int64_t next_ns = wants && i + 1 < count ? BEGIN + given[i + 1] : DTC_ABSENT;
		dtc_stream_take_event(&stream, BEGIN + given[i], next_ns);
		g_assert_cmpint(stream.last_ns - BEGIN, ==, expected[i]);
	}
	g_assert_cmpuint(stream.faults[DTC_STREAM_FAULT_TIME].count, ==, faults);
	if (faults > 0)
		g_assert_cmpint(stream.faults[DTC_STREAM_FAULT_TIME].first_at, ==, 4096);
	dtc_stream_clear(&stream);
}

/* An event 1 s late in LTTng's low bits: the next ones seem to be one turn later. */
static void test_late_in_low_bits(void)
{
	const int64_t given[] = { MS, 1000 * MS, 3 * MS + WRAP, 4 * MS + WRAP },
		      expected[] = { MS, MS, 3 * MS, 4 * MS };
	assert_times(WRAP, given, expected, 4, 3);
}

/* A whole time that is wrong by 1,000 s takes the low bits after it along. */
static void test_late_by_much(void)
{
	const int64_t off = 1000 * 1000 * MS / WRAP * WRAP + 77 * MS;
	const int64_t next = 3 * MS + (off / WRAP + 1) * WRAP;
	const int64_t given[] = { MS, off, next, next + MS }, expected[] = { MS, MS, 3 * MS, 4 * MS };
	assert_times(WRAP, given, expected, 4, 3);
}

/* With whole times the others are right, and nothing else is. */
static void test_late_in_whole_times(void)
{
	const int64_t given[] = { MS, 1000 * MS, 3 * MS, 4 * MS }, expected[] = { MS, MS, 3 * MS, 4 * MS };
	assert_times(0, given, expected, 4, 1);
	/* inside of its packet's time it is told by the event after it */
	const int64_t inside[] = { MS, 90 * MS, 3 * MS, 4 * MS };
	assert_times(0, inside, expected, 4, 1);
}

static void test_early(void)
{
	const int64_t given[] = { MS, -1000 * MS, 3 * MS }, expected[] = { MS, MS, 3 * MS };
	assert_times(0, given, expected, 3, 1);
	/* by little: the habit of some tracers */
	const int64_t little[] = { MS, MS - 900, 3 * MS };
	assert_times(0, little, expected, 3, 0);
}

/*
 * A packet of many turns, in which a wrong time and what follows on it lie inside: the back end looks at its end, and
 * the rest is turned back, up to an event with its whole time.
 */
static void test_turn(void)
{
	const int64_t given[] = { MS, 1000 * MS, 3 * MS + WRAP, 4 * MS + WRAP, 50 * MS, 60 * MS };
	const int64_t expected[] = { MS, MS, 3 * MS, 4 * MS, 50 * MS, 60 * MS };
	struct dtc_stream stream;
	init(&stream, WRAP);
	stream.limit_ns = BEGIN + 4 * WRAP;
	for (guint i = 0; i < G_N_ELEMENTS(given); i++) {
		bool wants = dtc_stream_wants_next(&stream, BEGIN + given[i]);
		int64_t next_ns = wants && i + 1 < G_N_ELEMENTS(given) ? BEGIN + given[i + 1] : DTC_ABSENT;
		bool doubts = dtc_stream_doubts(&stream, BEGIN + given[i], next_ns);
		g_assert_true(doubts == (i == 1));
		if (doubts)
			dtc_stream_turn_back(&stream);
		dtc_stream_take_event(&stream, BEGIN + given[i], next_ns);
		g_assert_cmpint(stream.last_ns - BEGIN, ==, expected[i]);
	}
	g_assert_cmpuint(stream.faults[DTC_STREAM_FAULT_TIME].count, ==, 1);
	dtc_stream_clear(&stream);

	/* a CPU that slept through most of a turn, twice: it does not come right after the last event */
	init(&stream, WRAP);
	stream.limit_ns = BEGIN + 4 * WRAP;
	g_assert_false(dtc_stream_doubts(&stream, BEGIN + WRAP * 3 / 4, BEGIN + WRAP * 3 / 2));
	dtc_stream_clear(&stream);
}

/* A CPU that slept for long is no fault. */
static void test_pause(void)
{
	const int64_t given[] = { MS, 60 * MS, 99 * MS, 100 * MS };
	assert_times(WRAP, given, given, 4, 0);
	assert_times(0, given, given, 4, 0);
}

static void test_cpu(void)
{
	struct dtc_stream stream;
	init(&stream, 0);
	dtc_stream_begin_packet(&stream, &(struct dtc_packet_claim){ 5, DTC_ABSENT, INT64_MAX, -1 });
	g_assert_cmpuint(stream.cpu, ==, 1);
	g_assert_cmpuint(stream.faults[DTC_STREAM_FAULT_CPU].count, ==, 1);
	g_assert_cmpint(stream.faults[DTC_STREAM_FAULT_CPU].amount, ==, 5);
	dtc_stream_clear(&stream);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/streams/late-in-low-bits", test_late_in_low_bits);
	g_test_add_func("/streams/late-by-much", test_late_by_much);
	g_test_add_func("/streams/late-in-whole-times", test_late_in_whole_times);
	g_test_add_func("/streams/early", test_early);
	g_test_add_func("/streams/pause", test_pause);
	g_test_add_func("/streams/cpu", test_cpu);
	g_test_add_func("/streams/turn", test_turn);
	return g_test_run();
}
