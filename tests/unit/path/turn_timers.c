/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop with two requests in its hands, of which one waits for a timer, whatever wakes the loop. */
#include "tests/support/two_clients.h"

/* X sleeps, and the loop serves Y meanwhile: it was a timer that X waited for, all the time. */
static void test_timer(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 1);
	hears(&l, Y, 40);
	answers(&l, 55, Y);
	sleeps(&l, 60, 1);
	expires(&l, 80);
	wakes(&l, 81, 0);
	answers(&l, 90, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 90 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	walk(&l, 21, 90);
	assert_at(&l, 85, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 70, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 50, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 35, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 26, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/* Y's question wakes the loop, and by the time that it has served Y the timer is due that X waited for. */
static void test_due(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 1);
	hears(&l, Y, 900);
	answers(&l, 1100, Y);
	answers(&l, 1110, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 1110 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 902, 1100 }, NULL);
	walk(&l, 21, 1110);
	assert_at(&l, 1000, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 500, LOOP, DTC_CAUSE_TIMER);
	clear(&l);
}

/* The loop looks for more at once, while Y's questions keep it busy. looks: when it does so. */
static void look_twice(struct loop *l, int64_t looks_us)
{
	begin(l);
	sleeps(l, 12, -1);
	hears(l, X, 20);
	sleeps(l, 30, 1);
	hears(l, Y, 900);
	answers(l, 920, Y);
	ask(l, Y, 930);
	story_poll(&l->story, looks_us * US, 0, "epoll_wait", 3, 0);
	story_leave(&l->story, looks_us * US + 500, 0, "epoll_wait", 1);
	reads(l, looks_us + 1, 6, 50);
	answers(l, 1100, Y);
	answers(l, 1110, X);
	tell(l);
	add_request(l, X, (const int64_t[]){ 22, 1110 }, NULL);
	add_request(l, Y, (const int64_t[]){ 902, 920 }, NULL);
	walk(l, 21, 1110);
}

/* The poll that began the turn could not wait; the one before it tells when the timer was due, and that was after it.
 */
static void test_due_behind(void)
{
	struct loop l;
	look_twice(&l, 950);
	assert_at(&l, 1000, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 500, LOOP, DTC_CAUSE_TIMER);
	clear(&l);
}

/* It was due before that: the loop had served it then, and X waits for something else. */
static void test_due_before(void)
{
	struct loop l;
	look_twice(&l, 1050);
	for (guint i = 0; i < dtc_path_get_segment_count(l.path); i++)
		g_assert_cmpint(dtc_path_get_segment(l.path, i)->cause, !=, DTC_CAUSE_TIMER);
	clear(&l);
}

/* A loop counts in ms: what wakes it shortly before its poll would expire finds the timer due that X set. */
static void test_early(gconstpointer is_older)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, is_older ? 30 : -1); /* the next timer is not X's */
	hears(&l, X, 20);
	sleeps(&l, 30, 30);
	hears(&l, Y, 29000);
	answers(&l, 29020, X);
	answers(&l, 29030, Y);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 29020 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 29002, 29030 }, NULL);
	walk(&l, 21, 29020);
	assert_at(&l, 15000, LOOP, is_older ? DTC_CAUSE_UNKNOWN : DTC_CAUSE_TIMER);
	clear(&l);
}

/* What a worker gives the loop is for Y; and in that turn X's timer is due. */
static void test_others_worker(void)
{
	struct loop l;
	begin(&l);
	add_worker(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 30);
	hears(&l, Y, 40);
	hands_over(&l, 44);
	sleeps(&l, 50, 30);
	gives_back(&l, 29000, true);
	wakes(&l, 29001, 1);
	reads(&l, 29003, 9, 8);
	answers(&l, 29010, Y);
	answers(&l, 29020, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 29020 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 29010 }, NULL);
	walk(&l, 21, 29020);
	assert_at(&l, 15000, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 35, LOOP, DTC_CAUSE_TIMER);
	clear(&l);
}

/*
 * The worker that X's turn had called ends the poll before the timer is due, which it is by the time of X's answer; by
 * what it calls the loop is not known (a socket pair from before the trace). is_late: the timer was due by then.
 */
static void test_called_back(gconstpointer is_late)
{
	struct loop l;
	begin(&l);
	add_worker(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	hands_over(&l, 24);
	sleeps(&l, 30, 1);
	gives_back(&l, is_late ? 1040 : 1000, true);
	wakes(&l, is_late ? 1041 : 1001, 1);
	answers(&l, 1100, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 1100 }, NULL);
	walk(&l, 21, 1100);
	if (is_late)
		assert_at(&l, 500, LOOP, DTC_CAUSE_TIMER);
	else
		assert_at(&l, 500, WORKER, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 23, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/*
 * The worker is a loop as well, and sets a timer for X, whose answer it gives the first loop when that is due. Y's
 * wakes it meanwhile, and it polls again for the rest of the time: that was not what X waited for.
 */
static void test_giver_timer(void)
{
	struct loop l;
	begin(&l);
	add_worker(&l);
	struct story *s = &l.story;
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	hands_over(&l, 24);
	story_poll(s, 26 * US, 2, "epoll_wait", 13, 30);
	story_switch(s, 26 * US + 500, 2, WORKER, "worker", 1, 0, "swapper/2");
	sleeps(&l, 30, -1);
	hears(&l, Y, 40);
	story_enter(s, 44 * US, 0, "write", 14);
	story_task(s, DTC_EVENT_SCHED_WAKING, 44 * US + 100, 0, WORKER, "worker", 2);
	story_leave(s, 44 * US + 200, 0, "write", 8);
	story_switch(s, 45 * US, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_leave(s, 45 * US + 100, 2, "epoll_wait", 1);
	story_poll(s, 46 * US, 2, "epoll_wait", 13, 30);
	story_switch(s, 46 * US + 500, 2, WORKER, "worker", 1, 0, "swapper/2");
	answers(&l, 55, Y);
	sleeps(&l, 60, -1);
	story_timer_wakes(s, 30046 * US, 30047 * US, 2, WORKER, "worker");
	story_switch(s, 30048 * US, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_leave(s, 30048 * US + 100, 2, "epoll_wait", 0);
	gives_back(&l, 30050, true);
	wakes(&l, 30051, 1);
	reads(&l, 30053, 9, 8);
	answers(&l, 30060, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 30060 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	walk(&l, 21, 30060);
	assert_at(&l, 30049, WORKER, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 20000, WORKER, DTC_CAUSE_TIMER);
	assert_at(&l, 43, WORKER, DTC_CAUSE_TIMER);
	assert_at(&l, 30, WORKER, DTC_CAUSE_TIMER);
	assert_link(&l, 43, DTC_LINK_INFERRED);
	assert_at(&l, 23, LOOP, DTC_CAUSE_RUNNING_USER);
	clear(&l);
}

/* The same where a timer took X up: nothing was read in that turn. */
static void test_room_timer(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 1);
	hears(&l, Y, 40);
	answers(&l, 55, Y);
	sleeps(&l, 60, 1);
	expires(&l, 80);
	wakes(&l, 81, 0);
	asks_for_room(&l, 84);
	answers(&l, 90, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 90 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	walk(&l, 21, 90);
	assert_at(&l, 88, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 70, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 50, LOOP, DTC_CAUSE_TIMER);
	assert_at(&l, 35, LOOP, DTC_CAUSE_TIMER);
	clear(&l);
}

/* Polls, and there is something already. */
static void looks(struct loop *l, int64_t us, int64_t timeout_ms)
{
	story_poll(&l->story, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_leave(&l->story, us * US + 500, 0, "epoll_wait", 1);
}

/*
 * Y's question comes, and keeps the loop busy beyond X's timer. Then it polls with the timeout of before, as it has not
 * looked at its clock: only then it sees that the timer is due. again: it had looked, and the timer was served before.
 */
static void test_stale(gconstpointer again)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 2);
	ask(&l, Y, 898);
	wakes(&l, 899, 1);
	looks(&l, 905, 1);
	reads(&l, 907, 6, 50);
	looks(&l, 2500, again ? 5 : 1);
	reads(&l, 2502, 6, 0);
	answers(&l, 2510, X);
	answers(&l, 2520, Y);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 2510 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 907, 2520 }, NULL);
	walk(&l, 21, 2510);
	assert_at(&l, 2000, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 500, LOOP, again ? DTC_CAUSE_UNKNOWN : DTC_CAUSE_TIMER);
	clear(&l);
}

/* A third client connects, which wakes the loop; it takes that connection. */
static void connects(struct loop *l, int64_t us)
{
	struct story *s = &l->story;
	struct dtc_headers syn = story_headers(CLIENT, 1009, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 0);
	struct dtc_headers syn_ack = story_headers(SERVER, 80, CLIENT, 1009, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers ack = story_headers(CLIENT, 1009, SERVER, 80, 101, 501, DTC_TCP_ACK, 0, 0);
	receive(l, us - 2, 0, &syn, 0, NULL);
	story_packet(s, DTC_EVENT_NET_SEND, (us - 2) * US + 400, 0, &syn_ack);
	receive(l, us, 0, &ack, LOOP, "loop");
	wakes(l, us + 1, 1);
	story_enter(s, (us + 2) * US, 0, "accept", 4);
	story_leave(s, (us + 2) * US + 500, 0, "accept", 10);
}

enum beside { NOTHING, A_QUESTION, PUT_OFF, NOBODYS, THE_REST };

/*
 * X is answered in a turn that only took a new connection, and its polls tell of no timer: that brought nothing, so
 * that it was one all the same. Not if the turn read something, or the answer had begun before.
 */
static void test_accepted(gconstpointer data)
{
	enum beside beside = (enum beside)GPOINTER_TO_INT(data);
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	if (beside == THE_REST)
		answers(&l, 26, X);
	sleeps(&l, 30, 100);
	hears(&l, Y, 40);
	answers(&l, 55, Y);
	sleeps(&l, 60, 100);
	bool has_question = beside == A_QUESTION || beside == PUT_OFF || beside == NOBODYS;
	if (has_question)
		ask(&l, Y, 75);
	connects(&l, 80);
	if (has_question)
		reads(&l, 85, 6, 50);
	if (beside == A_QUESTION)
		answers(&l, 87, Y);
	answers(&l, 90, X);
	sleeps(&l, 95, 100);
	if (beside == PUT_OFF || beside == NOBODYS) {
		hears(&l, X, 120);
		answers(&l, 130, Y);
	}
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 90 }, NULL);
	add_request(&l, Y, (const int64_t[]){ 42, 55 }, NULL);
	if (beside == PUT_OFF)
		add_request(&l, Z, (const int64_t[]){ 85, 130 }, NULL);
	walk(&l, 21, 90);
	bool is_timer = beside == NOTHING || beside == PUT_OFF;
	guint timers = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(l.path); i++)
		timers += dtc_path_get_segment(l.path, i)->cause == DTC_CAUSE_TIMER;
	g_assert_cmpuint(timers > 0, ==, is_timer);
	if (is_timer) {
		assert_at(&l, 85, LOOP, DTC_CAUSE_RUNNING_USER);
		assert_at(&l, 70, LOOP, DTC_CAUSE_TIMER);
		assert_at(&l, 50, LOOP, DTC_CAUSE_TIMER);
		assert_link(&l, 50, DTC_LINK_INFERRED);
		assert_at(&l, 26, LOOP, DTC_CAUSE_RUNNING_USER);
	}
	clear(&l);
}

/*
 * The loop is a broker, whose one front asks for X, and for Z, on one connection; Y's is a worker's, that is given Z's
 * job in a later turn. What it answers is no question that was put off, although the loop writes the next job there in
 * a later turn: it may be why X is answered, and no timer needs to be.
 */
static void test_broker(void)
{
	struct loop l;
	begin(&l);
	sleeps(&l, 12, -1);
	hears(&l, X, 20);
	sleeps(&l, 30, 100);
	hears(&l, Y, 40); /* it wants work */
	sleeps(&l, 50, 100);
	hears(&l, X, 60);
	answers(&l, 66, Y);
	sleeps(&l, 70, 100);
	ask(&l, Y, 75);
	connects(&l, 80);
	reads(&l, 85, 6, 50);
	answers(&l, 90, X);
	sleeps(&l, 95, 100);
	hears(&l, X, 120);
	answers(&l, 130, Y);
	answers(&l, 135, X);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 90 }, NULL);
	add_request(&l, Z, (const int64_t[]){ 62, 135 }, NULL);
	walk(&l, 21, 90);
	for (guint i = 0; i < dtc_path_get_segment_count(l.path); i++)
		g_assert_cmpint(dtc_path_get_segment(l.path, i)->cause, !=, DTC_CAUSE_TIMER);
	clear(&l);
}

/*
 * The loop's own timer ticks, which is not X's. Later a third client connects, whose question comes while the loop
 * takes that connection, and the next poll returns at once: that is what X waited for, and not the tick. Where it is
 * Y's question that comes then, it may have been anything.
 */
static void test_pushed(gconstpointer is_other)
{
	struct loop l;
	struct dtc_headers question = story_headers(CLIENT, 1009, SERVER, 80, 101, 501, DTC_TCP_ACK, 50, 0);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1009, 501, 151, DTC_TCP_ACK, 20, 0);
	begin(&l);
	sleeps(&l, 12, 30);
	hears(&l, X, 20);
	sleeps(&l, 30, 1);
	expires(&l, 1030);
	wakes(&l, 1031, 0);
	sleeps(&l, 1040, 100);
	connects(&l, 1500);
	if (is_other)
		ask(&l, Y, 1503);
	else
		receive(&l, 1503, 0, &question, 0, NULL);
	looks(&l, 1505, 65);
	reads(&l, 1507, is_other ? 6 : 10, 50);
	answers(&l, 1510, X);
	story_enter(&l.story, 1515 * US, 0, "write", 10);
	story_packet(&l.story, DTC_EVENT_NET_SEND, 1515 * US + 100, 0, &answer);
	story_leave(&l.story, 1515 * US + 500, 0, "write", 20);
	tell(&l);
	add_request(&l, X, (const int64_t[]){ 22, 1510 }, NULL);
	walk(&l, 21, 1510);
	assert_at(&l, 1508, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_at(&l, 500, LOOP, is_other ? DTC_CAUSE_TIMER : DTC_CAUSE_UNKNOWN);
	clear(&l);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/turn-timers/timer", test_timer);
	g_test_add_func("/turn-timers/due", test_due);
	g_test_add_func("/turn-timers/due-behind", test_due_behind);
	g_test_add_func("/turn-timers/due-before", test_due_before);
	g_test_add_data_func("/turn-timers/early", NULL, test_early);
	g_test_add_data_func("/turn-timers/early-but-older", GINT_TO_POINTER(1), test_early);
	g_test_add_func("/turn-timers/others-worker", test_others_worker);
	g_test_add_data_func("/turn-timers/called-back", NULL, test_called_back);
	g_test_add_data_func("/turn-timers/called-back/late", GINT_TO_POINTER(1), test_called_back);
	g_test_add_func("/turn-timers/giver-timer", test_giver_timer);
	g_test_add_func("/turn-timers/room/timer", test_room_timer);
	g_test_add_data_func("/turn-timers/stale", NULL, test_stale);
	g_test_add_data_func("/turn-timers/stale/not", GINT_TO_POINTER(1), test_stale);
	g_test_add_data_func("/turn-timers/accepted", GINT_TO_POINTER(NOTHING), test_accepted);
	g_test_add_data_func("/turn-timers/accepted/and-read", GINT_TO_POINTER(A_QUESTION), test_accepted);
	g_test_add_data_func("/turn-timers/accepted/put-off", GINT_TO_POINTER(PUT_OFF), test_accepted);
	g_test_add_data_func("/turn-timers/accepted/nobodys", GINT_TO_POINTER(NOBODYS), test_accepted);
	g_test_add_data_func("/turn-timers/accepted/the-rest", GINT_TO_POINTER(THE_REST), test_accepted);
	g_test_add_func("/turn-timers/broker", test_broker);
	g_test_add_data_func("/turn-timers/pushed", NULL, test_pushed);
	g_test_add_data_func("/turn-timers/pushed/not", GINT_TO_POINTER(1), test_pushed);
	return g_test_run();
}
