/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop with two requests in its hands: the path of one is not led astray by what came last. */
#include "tests/support/two_clients.h"

/*
 * Y waits for the only connection to the database, that X has. What X's query does is followed while Y lay still; then
 * the path comes back to what the loop did for Y, and not to X's own way.
 */
static void test_pool(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	queries(&l, 30);
	sleeps(&l, 34, -1);
	hears(&l, Y, 40);
	sleeps(&l, 60, -1);
	replies(&l, 80);
	wakes(&l, 81, 1);
	reads(&l, 82, 7, 40);
	answers(&l, 84, X);
	queries(&l, 86);
	sleeps(&l, 90, -1);
	replies(&l, 110);
	wakes(&l, 111, 1);
	reads(&l, 112, 7, 40);
	answers(&l, 120, Y);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 84 }, (const int64_t[]){ 30, 82 });
	add_request(&l, Y, (const int64_t[]){ 42, 120 }, (const int64_t[]){ 86, 112 });
	walk(&l, 41, 120);
	assert_at(&l, 118, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 100, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 85, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 70, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 50, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_link(&l, 100, DTC_LINK_EXACT);
	assert_link(&l, 70, DTC_LINK_INFERRED); /* X's answer began the turn: by order alone */
	assert_link(&l, 50, DTC_LINK_EXACT);
	clear(&l);
}

/*
 * X's question lies there while the loop waits in a blocking read for what Y asked of the database. That wait is
 * followed, and no further: what led Y there is not why X waited.
 */
static void test_blocking(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, Y, 20);
	queries(&l, 30);
	struct dtc_headers h = get_headers(X, 101, DTC_TCP_ACK, 50, false);
	receive(&l, 34, 0, &h, 0, NULL);
	story_enter(&l.story, 50 * US, 0, "read", 7);
	story_switch(&l.story, 50 * US + 500, 0, LOOP, "loop", 1, 0, "swapper/0");
	replies(&l, 80);
	story_switch(&l.story, 81 * US, 0, 0, "swapper/0", 0, LOOP, "loop");
	story_leave(&l.story, 81 * US + 500, 0, "read", 40);
	answers(&l, 84, Y);
	story_poll(&l.story, 90 * US, 0, "epoll_wait", 3, -1);
	story_leave(&l.story, 90 * US + 500, 0, "epoll_wait", 1);
	reads(&l, 92, 5, 50);
	answers(&l, 100, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 92, 100 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 22, 84 }, (const int64_t[]){ 30, 50 });
	walk(&l, 21, 100);
	assert_at(&l, 95, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 70, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 45, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 25, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/* A poll returns for a descriptor; that is known or not. */
static void returns(struct loop *l, int64_t us, int64_t fd, bool is_told)
{
	if (is_told)
		story_ready(&l->story, us * US + 500, 0, "poll", 1, false, 1, &fd);
	else
		story_leave(&l->story, us * US + 500, 0, "poll", 1);
}

/*
 * A driver that blocks polls for the database's answer to Y, and X's question comes meanwhile. The loop did not wait
 * for that: X waits for Y's query. data: whether it is known for what a poll returned.
 */
static void test_driver(gconstpointer data)
{
	bool is_told = GPOINTER_TO_INT(data);
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, Y, 20);
	queries(&l, 30);
	story_poll(&l.story, 35 * US, 0, "poll", -1, -1);
	story_switch(&l.story, 35 * US + 500, 0, LOOP, "loop", 1, 0, "swapper/0");
	story_context(&l.story, DTC_EVENT_SOFTIRQ_RAISE, 50 * US - 100, 0, 3, NULL);
	struct dtc_headers h = get_headers(X, 101, DTC_TCP_ACK, 50, false);
	receive(&l, 50, 0, &h, 0, NULL);
	replies(&l, 80);
	story_switch(&l.story, 81 * US, 0, 0, "swapper/0", 0, LOOP, "loop");
	returns(&l, 81, 7, is_told);
	reads(&l, 82, 7, 40);
	answers(&l, 84, Y);
	story_poll(&l.story, 90 * US, 0, "poll", -1, -1);
	returns(&l, 90, 5, is_told);
	reads(&l, 92, 5, 50);
	answers(&l, 100, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 92, 100 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 22, 84 }, (const int64_t[]){ 30, 82 });
	walk(&l, 40, 100);
	assert_at(&l, 95, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 70, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 52, DB, DTC_CAUSE_TIMER);
	clear(&l);
}

/* The database's answer for Y began the turn, but X's came from the worker, which the loop took after it. */
static void test_worker_beside_database(void)
{
	struct loop l;
	begin(&l);
	add_worker(&l);
	sleeps(&l, 12, -1);
	hears(&l, Y, 20);
	queries(&l, 24);
	sleeps(&l, 30, -1);
	hears(&l, X, 40);
	hands_over(&l, 44);
	sleeps(&l, 50, -1);
	replies(&l, 100);
	gives_back(&l, 102, false);
	wakes(&l, 104, 1);
	reads(&l, 105, 7, 40);
	answers(&l, 107, Y);
	reads(&l, 109, 9, 8);
	answers(&l, 112, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 42, 112 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 22, 107 }, (const int64_t[]){ 24, 105 });
	walk(&l, 41, 112);
	assert_at(&l, 80, WORKER, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 43, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/* X's answer waited for what the database said to Y; it is written a poll later, and that is no turn of its own. */
static void test_room(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, Y, 20);
	queries(&l, 24);
	sleeps(&l, 30, -1);
	hears(&l, X, 40);
	sleeps(&l, 50, -1);
	ask(&l, Y, 60); /* once more, which says nothing to X */
	wakes(&l, 61, 1);
	reads(&l, 62, 6, 50);
	sleeps(&l, 66, -1);
	replies(&l, 100);
	wakes(&l, 101, 1);
	reads(&l, 102, 7, 40);
	asks_for_room(&l, 104);
	answers(&l, 108, X);
	answers(&l, 112, Y);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 42, 108 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 22, 112 }, (const int64_t[]){ 24, 102 });
	walk(&l, 41, 108);
	assert_at(&l, 105, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 80, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 58, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 45, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/*
 * The loop asks another process of its node for X, over a connection whose other end is not known, and serves Y before
 * that answers, having slept. again: it asked once more in between, so that it did not only lie still for the first.
 */
static void test_unknown_end(gconstpointer again)
{
	struct loop l;
	begin(&l);
	struct story *s = &l.story;
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	story_enter(s, 25 * US, 0, "write", 11);
	story_leave(s, 25 * US + 500, 0, "write", 10);
	sleeps(&l, 30, again ? 1 : -1);
	if (again) {
		expires(&l, 40);
		wakes(&l, 41, 0);
		queries(&l, 50);
	} else {
		hears(&l, Y, 40);
		answers(&l, 55, Y);
	}
	sleeps(&l, 60, -1);
	story_timer_wakes(s, 96 * US, 97 * US, 1, DB, "db");
	story_switch(s, 98 * US, 1, 0, "swapper/1", 0, DB, "db");
	story_leave(s, 98 * US + 100, 1, again ? "nanosleep" : "read", 0);
	story_enter(s, 99 * US, 1, "write", 12);
	story_task(s, DTC_EVENT_SCHED_WAKING, 99 * US + 500, 1, LOOP, "loop", 0);
	story_leave(s, 99 * US + 600, 1, "write", 10);
	wakes(&l, 100, 1);
	reads(&l, 102, 11, 10);
	answers(&l, 110, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 110 }, NULL);
	if (!again)
		add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	walk(&l, 21, 110);
	assert_at(&l, 105, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 80, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 35, again ? LOOP : DB, DTC_CAUSE_TIMER);
	assert_at(&l, 26, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/*
 * The same, and the other process is a loop, whose timer had been set when X's question was there. X's loop looks for
 * more when it has been woken, so that it is the poll before that it slept in; what woke it for Y is not why X waited.
 */
static void test_unknown_end_timer(void)
{
	struct loop l;
	begin(&l);
	struct story *s = &l.story;
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	story_enter(s, 25 * US, 0, "write", 11);
	story_task(s, DTC_EVENT_SCHED_WAKING, 25 * US + 200, 0, DB, "db", 1);
	story_leave(s, 25 * US + 500, 0, "write", 10);
	story_switch(s, 26 * US, 1, 0, "swapper/1", 0, DB, "db");
	story_leave(s, 26 * US + 100, 1, "read", 10);
	story_poll(s, 27 * US, 1, "epoll_wait", 13, 1);
	story_switch(s, 27 * US + 500, 1, DB, "db", 1, 0, "swapper/1");
	sleeps(&l, 30, -1);
	hears(&l, Y, 40);
	answers(&l, 55, Y);
	sleeps(&l, 60, -1);
	story_timer_wakes(s, 1026 * US, 1027 * US, 1, DB, "db");
	story_switch(s, 1028 * US, 1, 0, "swapper/1", 0, DB, "db");
	story_leave(s, 1028 * US + 100, 1, "epoll_wait", 0);
	story_enter(s, 1029 * US, 1, "write", 12);
	story_task(s, DTC_EVENT_SCHED_WAKING, 1029 * US + 500, 1, LOOP, "loop", 0);
	story_leave(s, 1029 * US + 600, 1, "write", 10);
	wakes(&l, 1030, 1);
	story_poll(s, 1035 * US, 0, "epoll_wait", 3, -1);
	story_leave(s, 1035 * US + 500, 0, "epoll_wait", 1);
	reads(&l, 1037, 11, 10);
	answers(&l, 1050, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 1050 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	walk(&l, 21, 1050);
	assert_at(&l, 1033, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 500, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 50, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 35, DB, DTC_CAUSE_TIMER);
	assert_at(&l, 24, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/turns/pool", test_pool);
	g_test_add_func("/turns/blocking", test_blocking);
	g_test_add_data_func("/turns/driver", GINT_TO_POINTER(true), test_driver);
	g_test_add_data_func("/turns/driver/descriptors-not-told", GINT_TO_POINTER(false), test_driver);
	g_test_add_func("/turns/worker-beside-database", test_worker_beside_database);
	g_test_add_func("/turns/room", test_room);
	g_test_add_data_func("/turns/unknown-end", NULL, test_unknown_end);
	g_test_add_data_func("/turns/unknown-end/asked-again", GINT_TO_POINTER(1), test_unknown_end);
	g_test_add_func("/turns/unknown-end/timer", test_unknown_end_timer);
	return g_test_run();
}
