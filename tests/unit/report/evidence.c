/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program is told of a wait, a preemption and a disk request: ids and names, each in a field of its own. */
#include "analyze/report/evidence.h"
#include "analyze/path/path_build.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define LOCK 0x4d7348

static const char *keep(gpointer data, const char *text)
{
	return g_string_chunk_insert_const(data, text);
}

/* The evidence of the interval of a thread that leads up to a time. */
static bool make(const struct story *s, GStringChunk *strings, int tid, int64_t time,
		 struct dtc_report_evidence *ret_evidence)
{
	const DtcHistory *histories[] = { s->history };
	const char *names[] = { "n" };
	const struct dtc_names input = { histories, names, 1 };
	const struct dtc_evidence evidence = dtc_evidence_of_interval(0, story_interval(s, tid, time));
	return dtc_report_evidence_make(&input, &evidence, keep, strings, ret_evidence);
}

static void test_fields(void)
{
	struct story s;
	GStringChunk *strings = g_string_chunk_new(64);
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waiter");
	story_futex(&s, 10, 0, 0, LOCK);
	story_switch(&s, 20, 0, 10, "waiter", SLEEP, 11, "holder");
	story_enter(&s, 35, 0, "write", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 40, 0, 10, "waiter", 0);
	story_leave(&s, 45, 0, "write", 1);
	story_switch(&s, 60, 0, 11, "holder", RUN, 10, "waiter");
	story_leave(&s, 65, 0, "futex", 0);
	story_switch(&s, 90, 0, 10, "waiter", SLEEP, 11, "holder");
	story_switch(&s, 95, 0, 11, "holder", SLEEP, 0, "swapper/0");
	story_end(&s);

	struct dtc_report_evidence lock, runqueue, preempted, own;
	g_assert_true(make(&s, strings, 10, 30, &lock));
	g_assert_cmpstr(lock.edge, ==, "thread");
	g_assert_cmpstr(lock.call, ==, "futex");
	g_assert_cmphex(lock.lock, ==, LOCK);
	g_assert_cmpint(lock.by.tid, ==, 11);
	g_assert_cmpstr(lock.by.node, ==, "n");
	g_assert_cmpstr(lock.by_call, ==, "write"); /* as it woke */
	g_assert_false(lock.has_disk);
	g_assert_cmpint(lock.packet, ==, -1);

	/* woken, and the one that woke it had the CPU; preempted by it */
	g_assert_true(make(&s, strings, 10, 50, &runqueue));
	g_assert_true(make(&s, strings, 11, 80, &preempted));
	g_assert_cmpint(runqueue.by.tid, ==, 11);
	g_assert_null(runqueue.edge);
	g_assert_cmpint(preempted.by.tid, ==, 10);
	/* user code, by itself */
	g_assert_false(make(&s, strings, 10, 5, &own));

	GString *out = g_string_new("{");
	dtc_report_evidence_add(out, &lock);
	g_assert_cmpstr(out->str, ==,
			"{\"evidence\":{\"edge\":\"thread\",\"call\":\"futex\",\"lock\":\"0x4d7348\","
			"\"by\":{\"node\":\"n\",\"pid\":null,\"tid\":11,\"comm\":\"holder\",\"call\":\"write\"},"
			"\"wake\":{\"mode\":\"syscall\",\"cpu\":0,\"tid\":11,\"comm\":\"holder\","
			"\"call\":\"write\"}}");
	g_string_free(out, TRUE);
	g_string_chunk_free(strings);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/evidence/fields", test_fields);
	return g_test_run();
}
