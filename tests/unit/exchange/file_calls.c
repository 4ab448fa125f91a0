/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which call of a connection moved a byte, or was under way when a packet was captured. The capture's clock is not the
 * trace's: what the relation of the two leaves open must not choose the neighbour. And sequence numbers wrap: which of
 * the bytes 4 GiB apart a position means, and which it cannot mean.
 */
#include "analyze/exchange/file_calls.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define US 1000

struct made {
	struct story story;
	const DtcHistory *history;
	DtcFileCalls *calls;
};

static void tell_call(struct story *s, int64_t begin_us, int64_t end_us, const char *name, int64_t result)
{
	story_enter(s, begin_us * US, 0, name, 4);
	story_leave(s, end_us * US, 0, name, result);
}

/* Two questions and answers: reads of 50 and 60 bytes, writes of 70 and 30 and 80. */
static void made_begin(struct made *made)
{
	struct story *s = &made->story;
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "server");
	tell_call(s, 1000, 1100, "read", 50);
	tell_call(s, 2000, 2010, "write", 70);
	tell_call(s, 2500, 2510, "write", 30);
	tell_call(s, 4000, 4005, "read", -11);
	tell_call(s, 5000, 5100, "read", 60);
	tell_call(s, 6000, 6010, "write", 80);
	tell_call(s, 7000, 7010, "close", 0);
	story_switch(s, 9000 * US, 0, 10, "server", SLEEP, 0, "swapper/0");
	made->history = story_end(s);
	made->calls = dtc_file_calls_new(made->history, dtc_history_copy_call(made->history, 0).file);
}

static void made_clear(struct made *made)
{
	dtc_file_calls_free(made->calls);
	story_clear(&made->story);
}

/* When the call began, in us; -1: none. */
static int64_t begin_of(const struct made *made, uint32_t call)
{
	return call == DTC_NONE ? -1 : dtc_history_get_call_begin_ns(made->history, call) / US;
}

static void test_at(void)
{
	static const struct {
		bool written;
		int64_t packet_us;
		int64_t begin_us; /* of the call, or -1 */
	} cases[] = {
		/* a write is the last that began before its packet; the capture may be up to 100 us early */
		{ true, 2005, 2000 },
		{ true, 1901, 2000 },
		{ true, 1899, -1 },
		{ true, 2401, 2500 },
		{ true, 2399, 2000 },
		{ true, 8999, 6000 },
		/* a read is the one that was under way when its packet came, or the next; it may be up to 100 us late
		 */
		{ false, 500, 1000 },
		{ false, 1050, 1000 },
		{ false, 1199, 1000 },
		{ false, 1201, 5000 },
		{ false, 4950, 5000 },
		{ false, 5199, 5000 },
		{ false, 5201, -1 },
	};
	struct made made;
	made_begin(&made);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t call = dtc_file_calls_find_at(made.calls, cases[i].written, cases[i].packet_us * US);
		g_assert_cmpint(begin_of(&made, call), ==, cases[i].begin_us);
	}
	g_assert_cmpuint(dtc_file_calls_find_at(made.calls, true, DTC_TIME_NONE), ==, DTC_NONE);
	made_clear(&made);
}

static void test_trace(void)
{
	struct made made;
	made_begin(&made);
	g_assert_cmpint(dtc_file_calls_compare_to_trace(made.history, -100 * US), ==, 0);
	g_assert_cmpint(dtc_file_calls_compare_to_trace(made.history, -101 * US), ==, -1);
	g_assert_cmpint(dtc_file_calls_compare_to_trace(made.history, 9100 * US), ==, 0);
	g_assert_cmpint(dtc_file_calls_compare_to_trace(made.history, 9101 * US), ==, 1);
	g_assert_cmpint(dtc_file_calls_compare_to_trace(made.history, DTC_TIME_NONE), ==, 0);
	made_clear(&made);
}

static void test_byte(void)
{
	static const struct {
		bool written;
		uint32_t position;
		int64_t begin_us;
	} cases[] = {
		{ false, 0, 1000 }, { false, 49, 1000 }, { false, 50, 5000 }, { false, 109, 5000 }, { false, 110, -1 },
		{ true, 0, 2000 },  { true, 69, 2000 },	 { true, 70, 2500 },  { true, 100, 6000 },  { true, 180, -1 },
	};
	struct made made;
	made_begin(&made);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t call =
			dtc_file_calls_find_byte(made.calls, cases[i].written, cases[i].position, DTC_TIME_NONE);
		g_assert_cmpint(begin_of(&made, call), ==, cases[i].begin_us);
	}
	made_clear(&made);
}

/* The read that took the answer to what was written is the last before the next write. */
static void test_answer(void)
{
	struct made made;
	made_begin(&made);
	uint32_t first = dtc_file_calls_find_byte(made.calls, true, 0, DTC_TIME_NONE);
	uint32_t second = dtc_file_calls_find_byte(made.calls, true, 70, DTC_TIME_NONE);
	uint32_t last = dtc_file_calls_find_byte(made.calls, true, 100, DTC_TIME_NONE);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_answer(made.calls, first)), ==, -1);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_answer(made.calls, second)), ==, 5000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_answer(made.calls, last)), ==, -1);
	made_clear(&made);
}

static void test_kind(void)
{
	struct made made;
	made_begin(&made);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_kind(made.calls, DTC_CALL_READ, 1000 * US)), ==, 1000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_kind(made.calls, DTC_CALL_READ, 1001 * US)), ==, 4000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_kind(made.calls, DTC_CALL_CLOSE, 0)), ==, 7000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_kind(made.calls, DTC_CALL_ACCEPT, 0)), ==, -1);
	made_clear(&made);
}

/* What came was asked for by the last write or connect before it, strictly. */
static void test_asking(void)
{
	struct made made;
	made_begin(&made);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_asking(made.calls, 2000 * US)), ==, -1);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_asking(made.calls, 2001 * US)), ==, 2000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_asking(made.calls, 5999 * US)), ==, 2500);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_asking(made.calls, INT64_MAX)), ==, 6000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_next(made.calls, 2501 * US)), ==, 4000);
	g_assert_cmpint(begin_of(&made, dtc_file_calls_find_next(made.calls, 7001 * US)), ==, -1);
	made_clear(&made);
}

#define GIB ((int64_t)1 << 30)

/* Writes of 1 GiB each, one every 10 ns, all by one thread to one file. */
static uint32_t tell_writes(struct story *s, guint count)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, "a");
	for (guint i = 0; i < count; i++) {
		story_enter(s, 100 + 10 * i, 0, "write", 5);
		story_leave(s, 105 + 10 * i, 0, "write", GIB);
	}
	story_end(s);
	uint32_t thread = dtc_history_find_thread(s->history, 10, 50);
	return dtc_history_copy_call(s->history, dtc_history_find_call(s->history, thread, 102)).file;
}

static void check(const struct story *s, const DtcFileCalls *calls, uint32_t position, int64_t near_ns,
		  int64_t begin_ns)
{
	uint32_t call = dtc_file_calls_find_byte(calls, true, position, near_ns);
	g_assert_cmpuint(call, !=, DTC_NONE);
	g_assert_cmpint(dtc_history_get_call_begin_ns(s->history, call), ==, begin_ns);
}

static void test_wrap(void)
{
	for (guint count = 3; count <= 6; count++) {
		struct story s;
		uint32_t file = tell_writes(&s, count);
		g_autoptr(DtcFileCalls) calls = dtc_file_calls_new(s.history, file);
		check(&s, calls, 5, 101, 100);
		check(&s, calls, (uint32_t)GIB + 5, 111, 110);
		check(&s, calls, (uint32_t)(2 * GIB + 5), 121, 120);
		if (count > 4)
			check(&s, calls, 5, 141, 140);
		/* from before the first call: 1.5 GiB back is 2.5 GiB ahead, modulo 4 GiB */
		uint32_t before = (uint32_t) - (GIB + GIB / 2);
		g_assert_cmpuint(dtc_file_calls_find_byte(calls, true, before, 99), ==, DTC_NONE);
		story_clear(&s);
	}
}

/* What was written behind all that returned is the write's that never did; and nothing from before the trace is. */
static void test_open_write(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "server");
	tell_call(&s, 1, 2, "write", 70);
	story_enter(&s, 5 * US, 0, "write", 4);
	const DtcHistory *history = story_end(&s);
	g_autoptr(DtcFileCalls) calls = dtc_file_calls_new(history, dtc_history_copy_call(history, 0).file);
	g_assert_cmpuint(dtc_file_calls_find_byte(calls, true, 69, DTC_TIME_NONE), ==, 0);
	g_assert_cmpuint(dtc_file_calls_find_byte(calls, true, 70, DTC_TIME_NONE), ==, 1);
	g_assert_cmpuint(dtc_file_calls_find_byte(calls, true, 5000, DTC_TIME_NONE), ==, 1);
	g_assert_cmpuint(dtc_file_calls_find_byte(calls, true, (uint32_t)-1, DTC_TIME_NONE), ==, DTC_NONE);
	g_assert_cmpuint(dtc_file_calls_find_byte(calls, false, 70, DTC_TIME_NONE), ==, DTC_NONE);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/file-calls/at", test_at);
	g_test_add_func("/file-calls/trace", test_trace);
	g_test_add_func("/file-calls/byte", test_byte);
	g_test_add_func("/file-calls/answer", test_answer);
	g_test_add_func("/file-calls/kind", test_kind);
	g_test_add_func("/exchange/file-calls/asking", test_asking);
	g_test_add_func("/file-calls/wrap", test_wrap);
	g_test_add_func("/file-calls/open-write", test_open_write);
	return g_test_run();
}
