/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which write gave what a read took: eventfds, pipes, by position and by order. */
#include "analyze/edge/local_bytes.h"
#include "tests/support/story.h"

#define RUN 0
#define COUNTER 5
#define OUT_END 6
#define IN_END 7

struct pair {
	int64_t write_end_ns;
	int64_t read_end_ns;
	enum dtc_link_quality link;
};

static void tell(struct story *s, int64_t begin, int64_t end, uint32_t cpu, const char *name, int64_t fd,
		 int64_t result)
{
	story_enter(s, begin, cpu, name, fd);
	story_leave(s, end, cpu, name, result);
}

/* Three threads of one process run on CPUs of their own; 10 opens an eventfd, and a pipe. */
static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "reader");
	story_fork(s, 1, 0, 10, 10, 11, 10, "writer");
	story_fork(s, 2, 0, 10, 10, 12, 10, "other");
	tell(s, 3, 4, 0, "eventfd2", -1, COUNTER);
	story_enter(s, 5, 0, "pipe2", -1);
	struct dtc_event pipe = story_event(DTC_EVENT_SYSCALL_EXIT, 6, 0);
	pipe.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "pipe2");
	pipe.v[DTC_CALL_RET] = 0;
	pipe.v[DTC_CALL_FD] = OUT_END;
	pipe.v[DTC_CALL_FD2] = IN_END;
	dtc_machine_apply(s->machine, &pipe);
	story_switch(s, 7, 1, 0, "swapper/1", RUN, 11, "writer");
	story_switch(s, 8, 2, 0, "swapper/2", RUN, 12, "other");
}

static void end(struct story *s, const struct pair *expected, guint count)
{
	const DtcHistory *h = story_end(s);
	guint found = 0;
	for (uint32_t file = 0; file < dtc_history_get_file_count(h); file++) {
		struct dtc_local_bytes_walk walk;
		struct dtc_local_bytes bytes;
		if (!dtc_local_bytes_begin(&walk, h, file))
			continue;
		for (; dtc_local_bytes_next(&walk, &bytes); found++) {
			g_assert_cmpuint(found, <, count);
			g_assert_cmpint(dtc_history_copy_call(h, bytes.write).end_ns, ==, expected[found].write_end_ns);
			g_assert_cmpint(dtc_history_copy_call(h, bytes.read).end_ns, ==, expected[found].read_end_ns);
			g_assert_cmpint(bytes.link, ==, expected[found].link);
		}
	}
	g_assert_cmpuint(found, ==, count);
	story_clear(s);
}

/* A read takes all that was written since the one before, by whomever but its own thread. */
static void test_counter(void)
{
	static const struct pair expected[] = {
		{ 21, 41, DTC_LINK_EXACT }, { 31, 41, DTC_LINK_EXACT },
		{ 62, 63, DTC_LINK_EXACT },				   /* which ended the read's wait */
		{ 82, 83, DTC_LINK_EXACT }, { 84, 83, DTC_LINK_INFERRED }, /* it had begun: perhaps the next one's */
	};
	struct story s;
	begin(&s);
	tell(&s, 20, 21, 1, "write", COUNTER, 8);
	tell(&s, 30, 31, 2, "write", COUNTER, 8);
	tell(&s, 40, 41, 0, "read", COUNTER, 8);
	tell(&s, 45, 46, 0, "read", COUNTER, -11); /* EAGAIN: nothing there */
	tell(&s, 50, 51, 0, "write", COUNTER, 8);  /* to itself */
	tell(&s, 52, 53, 0, "read", COUNTER, 8);
	story_enter(&s, 60, 0, "read", COUNTER);
	tell(&s, 61, 62, 1, "write", COUNTER, 8);
	story_leave(&s, 63, 0, "read", 8);
	story_enter(&s, 80, 0, "read", COUNTER);
	story_enter(&s, 81, 1, "write", COUNTER);
	story_enter(&s, 81, 2, "write", COUNTER);
	story_leave(&s, 82, 1, "write", 8);
	story_leave(&s, 83, 0, "read", 8);
	story_leave(&s, 84, 2, "write", 8);
	tell(&s, 90, 91, 1, "write", COUNTER, 8); /* nobody reads it */
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* By position: a read may take several writes, and several reads one. */
static void test_pipe(void)
{
	static const struct pair expected[] = {
		{ 21, 41, DTC_LINK_EXACT }, { 31, 41, DTC_LINK_EXACT }, /* one read, two writes and a part of a third */
		{ 33, 41, DTC_LINK_EXACT }, { 33, 51, DTC_LINK_EXACT }, /* one write, two reads */
		{ 61, 71, DTC_LINK_EXACT },
	};
	struct story s;
	begin(&s);
	tell(&s, 20, 21, 1, "write", IN_END, 10);
	tell(&s, 30, 31, 2, "write", IN_END, 10);
	tell(&s, 32, 33, 2, "write", IN_END, 10);
	tell(&s, 40, 41, 0, "read", OUT_END, 25);
	tell(&s, 50, 51, 0, "read", OUT_END, 5);
	tell(&s, 55, 56, 0, "read", OUT_END, -11);
	tell(&s, 60, 61, 1, "write", IN_END, 3);
	tell(&s, 70, 71, 0, "read", OUT_END, 3);
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* A read that nobody saw: the next one that sleeps shows that what was written before was taken. */
static void test_sleeps(void)
{
	static const struct pair expected[] = {
		{ 21, 26, DTC_LINK_EXACT },
		{ 51, 54, DTC_LINK_INFERRED },
		{ 61, 64, DTC_LINK_INFERRED },
	};
	struct story s;
	begin(&s);
	tell(&s, 20, 21, 1, "write", IN_END, 10);
	tell(&s, 25, 26, 0, "read", OUT_END, 10);
	tell(&s, 30, 31, 1, "write", IN_END, 10);
	story_enter(&s, 40, 0, "read", OUT_END);
	story_switch(&s, 41, 0, 10, "reader", 1, 0, "swapper/0");
	story_enter(&s, 50, 1, "write", IN_END);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 1, 10, "reader", 0);
	story_leave(&s, 51, 1, "write", 10);
	story_switch(&s, 53, 0, 0, "swapper/0", RUN, 10, "reader");
	story_leave(&s, 54, 0, "read", 10);
	tell(&s, 60, 61, 1, "write", IN_END, 10);
	tell(&s, 63, 64, 0, "read", OUT_END, 10);
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* Bytes that nobody was seen to write: what is written after a read gave it nothing, and the count goes on behind it.
 */
static void test_unseen_writes(void)
{
	static const struct pair expected[] = {
		{ 51, 61, DTC_LINK_INFERRED },
		{ 71, 81, DTC_LINK_INFERRED },
	};
	struct story s;
	begin(&s);
	tell(&s, 40, 41, 0, "read", OUT_END, 100);
	tell(&s, 50, 51, 1, "write", IN_END, 10);
	tell(&s, 60, 61, 0, "read", OUT_END, 10);
	tell(&s, 70, 71, 1, "write", IN_END, 10);
	tell(&s, 80, 81, 0, "read", OUT_END, 10);
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* A read that the trace lacks: one that finds nothing tells that all was taken. */
static void test_unseen_reads(void)
{
	static const struct pair expected[] = {
		{ 21, 31, DTC_LINK_EXACT },
		{ 71, 81, DTC_LINK_INFERRED },
	};
	struct story s;
	begin(&s);
	tell(&s, 20, 21, 1, "write", IN_END, 10);
	tell(&s, 30, 31, 0, "read", OUT_END, 10);
	tell(&s, 40, 41, 1, "write", IN_END, 10);
	tell(&s, 60, 61, 0, "read", OUT_END, -11);
	tell(&s, 70, 71, 1, "write", IN_END, 10);
	tell(&s, 80, 81, 0, "read", OUT_END, 10);
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* Two writes at once: the order in which they came to the pipe is not that of their begins. */
static void test_overlap(void)
{
	static const struct pair expected[] = {
		{ 33, 41, DTC_LINK_INFERRED },
		{ 32, 51, DTC_LINK_INFERRED },
	};
	struct story s;
	begin(&s);
	story_enter(&s, 30, 1, "write", IN_END);
	story_enter(&s, 31, 2, "write", IN_END);
	story_leave(&s, 32, 2, "write", 10);
	story_leave(&s, 33, 1, "write", 10);
	tell(&s, 40, 41, 0, "read", OUT_END, 10);
	tell(&s, 50, 51, 0, "read", OUT_END, 10);
	end(&s, expected, G_N_ELEMENTS(expected));
}

/* Sums of sizes that no pipe has end all the same. */
static void test_hostile_sizes(void)
{
	static const struct pair expected[] = { { 21, 41, DTC_LINK_EXACT } };
	struct story s;
	begin(&s);
	tell(&s, 20, 21, 1, "write", IN_END, INT64_MAX);
	tell(&s, 30, 31, 1, "write", IN_END, INT64_MAX);
	tell(&s, 32, 33, 1, "write", IN_END, INT64_MAX);
	tell(&s, 40, 41, 0, "read", OUT_END, 1);
	end(&s, expected, G_N_ELEMENTS(expected));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/local_bytes/counter", test_counter);
	g_test_add_func("/local_bytes/pipe", test_pipe);
	g_test_add_func("/local_bytes/unseen_writes", test_unseen_writes);
	g_test_add_func("/local_bytes/unseen_reads", test_unseen_reads);
	g_test_add_func("/local_bytes/sleeps", test_sleeps);
	g_test_add_func("/local_bytes/overlap", test_overlap);
	g_test_add_func("/local_bytes/hostile_sizes", test_hostile_sizes);
	return g_test_run();
}
