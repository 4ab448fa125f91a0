/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop (tid 20) works on one question by way of its pool: worker 21 does the first piece, 22 the second, 21 the
 * third, each gives it back through an eventfd. The loop's timer wakes it while 22 is at work, so that it is awake when
 * 22 writes; and it finds what 21 gave back last without having slept.
 *
 *   loop  30 question   34 reads   37 wakes 21   67 takes, 71 wakes 22   195 timer   205 takes, 211 wakes 21   220
 * takes 225 answers 21    39 works   60 gives back          213 works   215 gives back 22    73 works   200 gives back
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define LOOP 20
#define CONNECTION 4
#define EVENT 9
#define ANSWERED 225

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void wait_for_work(struct story *s, int64_t t, int worker, uint32_t cpu)
{
	story_enter(s, t, cpu, "futex", -1);
	story_switch(s, t + 1, cpu, worker, "worker", SLEEP, 0, "swapper");
}

static void hand_over(struct story *s, int64_t t, int worker, uint32_t cpu)
{
	story_enter(s, t, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, worker, "worker", (int)cpu);
	story_leave(s, t + 1, 0, "futex", 1);
	story_switch(s, t + 2, cpu, 0, "swapper", RUN, worker, "worker");
	story_leave(s, t + 2, cpu, "futex", 0);
}

static void go_to_sleep(struct story *s, int64_t t)
{
	story_poll(s, t, 0, "epoll_wait", 6, 120);
	story_switch(s, t + 1, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void wake_up(struct story *s, int64_t t)
{
	story_switch(s, t, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_leave(s, t + 1, 0, "epoll_wait", 1);
}

static void tell_begin(struct story *s)
{
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	for (int worker = 21; worker <= 22; worker++)
		story_fork(s, 1, 0, LOOP, LOOP, worker, LOOP, "worker");
	tell_call(s, 2, 0, "eventfd2", -1, EVENT);
	for (uint32_t cpu = 1; cpu <= 2; cpu++) {
		story_switch(s, 4, cpu, 0, "swapper", RUN, 20 + (int)cpu, "worker");
		wait_for_work(s, 5, 20 + (int)cpu, cpu);
	}
	tell_call(s, 9, 0, "accept4", 3, CONNECTION);
}

static void tell_question(struct story *s, const struct dtc_headers *question)
{
	go_to_sleep(s, 20);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 29, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30, 0, question);
	story_task(s, DTC_EVENT_SCHED_WAKING, 31, 0, LOOP, "loop", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 31, 0, 3, NULL);
	wake_up(s, 32);
	tell_call(s, 34, 0, "read", CONNECTION, 50);
	hand_over(s, 36, 21, 1);
	go_to_sleep(s, 41);
}

/* other: another client's question, which the loop reads before it takes what 21 gave back; NULL: there is none. */
static void tell_pieces(struct story *s, const struct dtc_headers *other)
{
	if (other) {
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 55, 0, 3, NULL);
		story_packet(s, DTC_EVENT_NET_RECEIVE, 56, 0, other);
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 57, 0, 3, NULL);
	}
	story_enter(s, 60, 1, "write", EVENT);
	story_task(s, DTC_EVENT_SCHED_WAKING, 61, 1, LOOP, "loop", 0);
	story_leave(s, 62, 1, "write", 8);
	wait_for_work(s, 63, 21, 1);
	wake_up(s, 64);
	if (other)
		tell_call(s, 65, 0, "read", CONNECTION + 1, 50);
	tell_call(s, 67, 0, "read", EVENT, 8);
	hand_over(s, 70, 22, 2);
	go_to_sleep(s, 75);
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, 195, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, 195, 0, LOOP, "loop", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, 196, 0, 1, NULL);
	tell_call(s, 200, 2, "write", EVENT, 8);
	wait_for_work(s, 202, 22, 2);
	wake_up(s, 203);
	tell_call(s, 205, 0, "read", EVENT, 8);
	hand_over(s, 210, 21, 1);
	tell_call(s, 215, 1, "write", EVENT, 8);
	wait_for_work(s, 217, 21, 1);
	story_poll(s, 218, 0, "epoll_wait", 6, 0);
	story_leave(s, 219, 0, "epoll_wait", 1);
	tell_call(s, 220, 0, "read", EVENT, 8);
}

static void tell_answer(struct story *s, const struct dtc_headers *answer)
{
	story_enter(s, ANSWERED, 0, "write", CONNECTION);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 0, answer);
	story_leave(s, ANSWERED + 2, 0, "write", 60);
	story_switch(s, 240, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void assert_segment(const DtcPath *path, int64_t t, int tid, enum dtc_cause cause)
{
	const struct dtc_segment *s = path_at(path, t);
	g_assert_cmpint(s->tid, ==, tid);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
}

/* What a thread did for the answer whose write begins then. */
static DtcPath *walk_of(const DtcHistory *h, int tid, int64_t write_ns)
{
	uint32_t thread = dtc_history_find_thread(h, tid, DTC_TIME_NONE);

	return path_of(h, tid, 24, write_ns + 1, dtc_history_find_call(h, thread, write_ns));
}

static DtcPath *walk(const DtcHistory *h, int64_t write_ns)
{
	return walk_of(h, LOOP, write_ns);
}

static void check_pieces(const struct dtc_headers *other)
{
	struct story s;
	const struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 501, DTC_TCP_ACK, 50, 1);
	const struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 501, 151, DTC_TCP_ACK, 60, 2);
	tell_begin(&s);
	if (other)
		tell_call(&s, 11, 0, "accept4", 3, CONNECTION + 1);
	tell_question(&s, &question);
	tell_pieces(&s, other);
	tell_answer(&s, &answer);
	if (other) {
		const struct dtc_headers late = story_headers(SERVER, 80, CLIENT, 1001, 501, 151, DTC_TCP_ACK, 60, 4);
		story_switch(&s, 250, 0, 0, "swapper/0", RUN, LOOP, "loop");
		story_enter(&s, 251, 0, "write", CONNECTION + 1);
		story_packet(&s, DTC_EVENT_NET_SEND, 252, 0, &late);
		story_leave(&s, 253, 0, "write", 60);
	}
	const DtcHistory *h = story_end(&s);
	g_autoptr(DtcPath) path = walk(h, ANSWERED);
	assert_segment(path, 36, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 50, 21, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 69, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 80, 22, DTC_CAUSE_RUNNING_USER); /* not the loop's timer, and not what 21 did before */
	assert_segment(path, 199, 22, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 208, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 214, 21, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 223, LOOP, DTC_CAUSE_RUNNING_USER);
	story_clear(&s);
}

static void test_pieces(void)
{
	check_pieces(NULL);
}

/* What the loop wakes 22 for is the next piece, although another question is the last that it has read. */
static void test_piece_after_another(void)
{
	const struct dtc_headers other = story_headers(CLIENT, 1001, SERVER, 80, 101, 501, DTC_TCP_ACK, 50, 3);
	check_pieces(&other);
}

/*
 * Two questions read in one turn, one worker for each. 21 calls the loop, which is on its way when 22 is done: 22 need
 * not call it again, and goes back to sleep. Both are answered in the turn that takes 21's call.
 */
static void tell_two(struct story *s, const struct dtc_headers answers[2])
{
	go_to_sleep(s, 41);
	story_enter(s, 60, 1, "write", EVENT);
	story_task(s, DTC_EVENT_SCHED_WAKING, 61, 1, LOOP, "loop", 0);
	story_leave(s, 62, 1, "write", 8);
	wait_for_work(s, 63, 21, 1);
	wait_for_work(s, 70, 22, 2);
	wake_up(s, 80);
	tell_call(s, 82, 0, "read", EVENT, 8);
	for (int i = 0; i < 2; i++) {
		story_enter(s, ANSWERED + 10 * i, 0, "write", CONNECTION + i);
		story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 10 * i + 1, 0, &answers[i]);
		story_leave(s, ANSWERED + 10 * i + 2, 0, "write", 60);
	}
	story_switch(s, 240, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void test_silent(void)
{
	struct story s;
	struct dtc_headers questions[2], answers[2];
	for (int i = 0; i < 2; i++) {
		uint16_t port = (uint16_t)(1000 + i);
		questions[i] = story_headers(CLIENT, port, SERVER, 80, 101, 501, DTC_TCP_ACK, 50, 1);
		answers[i] = story_headers(SERVER, 80, CLIENT, port, 501, 151, DTC_TCP_ACK, 60, 2);
	}
	tell_begin(&s);
	tell_call(&s, 11, 0, "accept4", 3, CONNECTION + 1);
	go_to_sleep(&s, 20);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 25, 0, 3, NULL);
	for (int i = 0; i < 2; i++)
		story_packet(&s, DTC_EVENT_NET_RECEIVE, 26 + i, 0, &questions[i]);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 28, 0, LOOP, "loop", 0);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 28, 0, 3, NULL);
	wake_up(&s, 29);
	for (int i = 0; i < 2; i++) {
		tell_call(&s, 31 + 5 * i, 0, "read", CONNECTION + i, 50);
		hand_over(&s, 33 + 5 * i, 21 + i, 1 + (uint32_t)i);
	}
	tell_two(&s, answers);
	const DtcHistory *h = story_end(&s);
	for (int i = 0; i < 2; i++) {
		g_autoptr(DtcPath) path = walk(h, ANSWERED + 10 * i);
		assert_segment(path, 55, 21 + i, DTC_CAUSE_RUNNING_USER);
		assert_segment(path, 33 + 5 * i, LOOP, DTC_CAUSE_RUNNING_USER);
	}
	story_clear(&s);
}

/*
 * 22 polls while the question comes, is read by the loop, and worked on by 21, which wakes 22 to answer it: that poll
 * was not for the question, which it did not get.
 */
static void test_other_answers(void)
{
	struct story s;
	const struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 501, DTC_TCP_ACK, 50, 1);
	const struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 501, 151, DTC_TCP_ACK, 60, 2);
	tell_begin(&s);
	story_switch(&s, 10, 2, 0, "swapper", RUN, 22, "worker");
	story_leave(&s, 11, 2, "futex", 0);
	story_poll(&s, 12, 2, "epoll_wait", 6, -1);
	story_switch(&s, 13, 2, 22, "worker", SLEEP, 0, "swapper");
	tell_question(&s, &question);
	story_enter(&s, 60, 1, "write", 12);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 61, 1, 22, "worker", 2);
	story_leave(&s, 62, 1, "write", 1);
	wait_for_work(&s, 63, 21, 1);
	story_switch(&s, 65, 2, 0, "swapper", RUN, 22, "worker");
	story_leave(&s, 66, 2, "epoll_wait", 1);
	story_enter(&s, 70, 2, "write", CONNECTION);
	story_packet(&s, DTC_EVENT_NET_SEND, 71, 2, &answer);
	story_leave(&s, 72, 2, "write", 60);
	story_switch(&s, 80, 2, 22, "worker", SLEEP, 0, "swapper");
	const DtcHistory *h = story_end(&s);
	g_autoptr(DtcPath) path = walk_of(h, 22, 70);
	assert_segment(path, 36, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 50, 21, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 68, 22, DTC_CAUSE_RUNNING_USER);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/handover/pieces", test_pieces);
	g_test_add_func("/handover/piece-after-another", test_piece_after_another);
	g_test_add_func("/handover/silent", test_silent);
	g_test_add_func("/handover/other-answers", test_other_answers);
	return g_test_run();
}
