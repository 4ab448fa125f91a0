/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop that has a child do what X asks for, and serves Y meanwhile. The child's end comes by a signal, in the middle
 * of Y's turn; its handler calls the loop by a pipe of its own, so that the next poll returns at once. Or a thread of
 * the loop's pool has done something for Y, which the turn takes first. Or there are two loops: one reads X's question
 * and makes the child, the other takes leave of it and answers.
 *
 *   20  30 X's question 34 reads 36 makes 21  40 polls  160 Y's question 164 reads  192 polls 195 takes leave 205
 * answers 21  37 runs  180 exits
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define DEAD 0x10
#define US G_GINT64_CONSTANT(1000) /* a poll returns at once within some of them */
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define LOOP 20
#define CHILD 21
#define WORKER 22
#define EVENT 9
#define OURS 4
#define OTHERS 7
#define ANSWERED 205
#define X 0
#define Y 1

/*
 * OLDER: the child was there before X's question; HIDDEN: the call tells another number, as in a container; POOLED: a
 * thread of the pool ends the loop's wait; BESIDE: of two loops, the other answers; NEXT: likewise, and the child was
 * made for Y, whose question was read after X's
 */
enum variant { MADE, OLDER, HIDDEN, POOLED, BESIDE, NEXT };

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t * US, cpu, name, fd);
	story_leave(s, (t + 1) * US, cpu, name, result);
}

static void receive(struct story *s, int64_t t, const struct dtc_headers *packet)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, (t - 1) * US, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t * US, 0, packet);
	story_task(s, DTC_EVENT_SCHED_WAKING, t * US + 1, 0, LOOP, "node", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t * US + 2, 0, 3, NULL);
	story_switch(s, (t + 1) * US, 0, 0, "swapper/0", RUN, LOOP, "node");
	story_leave(s, (t + 2) * US, 0, "epoll_wait", 1);
}

static void go_to_poll(struct story *s, int64_t t)
{
	story_poll(s, t * US, 0, "epoll_wait", 6, -1);
	story_switch(s, t * US + 500, 0, LOOP, "node", SLEEP, 0, "swapper/0");
}

static void make_child(struct story *s, int64_t t)
{
	story_enter(s, t * US, 0, "clone", -1);
	story_fork(s, t * US + 300, 0, LOOP, LOOP, CHILD, CHILD, "node");
	story_leave(s, (t + 1) * US, 0, "clone", CHILD);
	story_switch(s, (t + 1) * US + 200, 1, 0, "swapper/1", RUN, CHILD, "node");
}

/* What is given is taken only after the next poll, as the child is. */
static void give_back(struct story *s, int64_t t)
{
	story_switch(s, 20 * US, 2, 0, "swapper/2", RUN, WORKER, "worker");
	story_enter(s, t * US, 2, "write", EVENT);
	story_task(s, DTC_EVENT_SCHED_WAKING, t * US + 1, 2, LOOP, "node", 0);
	story_leave(s, t * US + 2, 2, "write", 8);
	story_switch(s, (t + 1) * US, 0, 0, "swapper/0", RUN, LOOP, "node");
	story_leave(s, (t + 2) * US, 0, "epoll_wait", 1);
}

static void answer(struct story *s, uint32_t cpu)
{
	struct dtc_headers packet = story_headers(SERVER, 80, CLIENT, 60000, 500, 1050, 0x18, 60, 2);
	story_enter(s, ANSWERED * US, cpu, "write", OURS);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED * US + 1, cpu, &packet);
	story_leave(s, ANSWERED * US + 2, cpu, "write", 60);
	story_switch(s, 210 * US, cpu, cpu ? WORKER : LOOP, "node", SLEEP, 0, "swapper");
}

/* The other loop is called by the first one, which has read Y's question. */
static void tell_other_loop(struct story *s)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, 190 * US, 0, WORKER, "worker", 2);
	story_switch(s, 191 * US, 2, 0, "swapper/2", RUN, WORKER, "worker");
	story_leave(s, 192 * US, 2, "epoll_wait", 1);
	go_to_poll(s, 194);
	tell_call(s, 195, 2, "wait4", -1, CHILD);
	answer(s, 2);
}

static void tell(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	struct dtc_headers other = story_headers(CLIENT, 60001, SERVER, 80, 2000, 900, 0x18, 50, 3);
	bool has_two = variant == BESIDE || variant == NEXT;
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "node");
	story_fork(s, 1 * US, 0, LOOP, LOOP, WORKER, LOOP, "worker");
	tell_call(s, 2, 0, "eventfd2", -1, EVENT);
	tell_call(s, 5, 0, "accept4", 3, OURS);
	tell_call(s, 9, 0, "accept4", 3, OTHERS);
	if (variant == OLDER)
		make_child(s, 12);
	go_to_poll(s, 20);
	if (has_two) {
		story_switch(s, 22 * US, 2, 0, "swapper/2", RUN, WORKER, "worker");
		story_poll(s, 24 * US, 2, "epoll_wait", 6, -1);
		story_switch(s, 24 * US + 500, 2, WORKER, "worker", SLEEP, 0, "swapper/2");
	}
	receive(s, 30, &question);
	tell_call(s, 34, 0, "read", OURS, 50);
	if (variant == NEXT)
		tell_call(s, 35, 0, "read", OTHERS, 50);
	if (variant != OLDER)
		make_child(s, 36);
	go_to_poll(s, 40);
	if (variant == POOLED) {
		give_back(s, 160);
	} else {
		receive(s, 160, &other);
		tell_call(s, 164, 0, "read", OTHERS, 50);
	}
	story_task(s, DTC_EVENT_SCHED_EXIT, 180 * US, 1, CHILD, "node", 1);
	story_switch(s, 181 * US, 1, CHILD, "node", DEAD, 0, "swapper/1");
	if (has_two) {
		tell_other_loop(s);
	} else {
		story_poll(s, 192 * US, 0, "epoll_wait", 6, -1);
		story_leave(s, 193 * US, 0, "epoll_wait", 1);
		if (variant == POOLED)
			tell_call(s, 194, 0, "read", EVENT, 8);
		tell_call(s, 195, 0, "wait4", -1, variant == HIDDEN ? 3 : CHILD);
		answer(s, 0);
	}
	story_end(s);
}

/* Whose time the path of X has at a time. */
static int32_t walk(enum variant variant, int64_t t)
{
	struct story s;
	tell(&s, variant);
	int writer = variant == BESIDE || variant == NEXT ? WORKER : LOOP;
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, LOOP, 34 * US, X, false);
	if (variant != POOLED)
		served_path_add(&w, LOOP, 164 * US, Y, false);
	served_path_add(&w, writer, ANSWERED * US, X, true);
	return served_path_at(&w, writer, 34 * US, ANSWERED * US, t * US).tid;
}

/* The child from its birth to its end, and who made it before, whatever came for Y meanwhile. */
static void test_child(void)
{
	static const enum variant variants[] = { MADE, HIDDEN, POOLED, BESIDE };
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
		for (int64_t t = 45; t <= 175; t += 10)
			g_assert_cmpint(walk(variants[i], t), ==, CHILD);
		g_assert_cmpint(walk(variants[i], 36), ==, LOOP);
		g_assert_cmpint(walk(variants[i], 185), ==, LOOP);
		g_assert_cmpint(walk(variants[i], 200), ==, variants[i] == BESIDE ? WORKER : LOOP);
	}
}

/* One that was there before X's question was asked is not X's, nor is one that was made after Y's was read. */
static void test_others(void)
{
	static const enum variant variants[] = { OLDER, NEXT };
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++)
		for (int64_t t = 45; t <= 175; t += 10)
			g_assert_cmpint(walk(variants[i], t), !=, CHILD);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/reaped/child", test_child);
	g_test_add_func("/reaped/others", test_others);
	return g_test_run();
}
