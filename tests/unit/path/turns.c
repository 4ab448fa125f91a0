/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One event loop with the requests of two clients in its hands, X on fd 5 and Y on fd 6, and a connection to a database
 * on fd 7. Whose each call is is known; the path of one request is not led astray by what came last. Times are in
 * microseconds. The clients are not traced.
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define US ((int64_t)1000)
#define LOOP 20
#define WORKER 30
#define DB 40
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define LOCALHOST 0x7f000001u

enum { X, Y, Z };

struct loop {
	struct story story;
	uint32_t out[3], in[3]; /* bytes that went by so far, per connection: X, Y, the database's */
	const DtcHistory *histories[1];
	DtcClocks *clocks;
	DtcLinks *links;
	DtcServing *serving;
	DtcPath *path;
};

/* A packet of a connection: 0 and 1 the clients', 2 to the database and 3 the same from there. */
static struct dtc_headers get_headers(int which, uint32_t seq, uint8_t flags, uint32_t bytes, bool is_back)
{
	uint32_t a = which < 2 ? CLIENT : LOCALHOST, b = which < 2 ? SERVER : LOCALHOST;
	uint16_t port = (uint16_t)(1000 + which), to = which < 2 ? 80 : 5432;
	return is_back ? story_headers(b, to, a, port, seq, 0, flags, bytes, 0)
		       : story_headers(a, port, b, to, seq, 0, flags, bytes, 0);
}

static void receive(struct loop *l, int64_t us, uint32_t cpu, const struct dtc_headers *h, int wakes, const char *name)
{
	struct story *s = &l->story;
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, us * US, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, us * US + 100, cpu, h);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 200, cpu, wakes, name, wakes == LOOP ? 0 : 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, us * US + 300, cpu, 3, NULL);
}

/* A client's question comes while the loop sleeps. */
static void ask(struct loop *l, int who, int64_t us)
{
	struct dtc_headers h = get_headers(who, 101 + l->in[who], DTC_TCP_ACK, 50, false);
	l->in[who] += 50;
	receive(l, us, 0, &h, LOOP, "loop");
}

static void sleeps(struct loop *l, int64_t us, int64_t timeout_ms)
{
	story_poll(&l->story, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_switch(&l->story, us * US + 500, 0, LOOP, "loop", 1, 0, "swapper/0");
}

static void wakes(struct loop *l, int64_t us, int64_t result)
{
	story_switch(&l->story, us * US, 0, 0, "swapper/0", 0, LOOP, "loop");
	story_leave(&l->story, us * US + 500, 0, "epoll_wait", result);
}

static void expires(struct loop *l, int64_t us)
{
	story_context(&l->story, DTC_EVENT_HRTIMER_ENTRY, us * US, 0, 1, NULL);
	story_task(&l->story, DTC_EVENT_SCHED_WAKING, us * US + 100, 0, LOOP, "loop", 0);
	story_context(&l->story, DTC_EVENT_HRTIMER_EXIT, us * US + 200, 0, 1, NULL);
}

static void reads(struct loop *l, int64_t us, int fd, int64_t bytes)
{
	story_enter(&l->story, us * US, 0, "read", fd);
	story_leave(&l->story, us * US + 500, 0, "read", bytes);
}

/* A client's question wakes the loop, which reads it. */
static void hears(struct loop *l, int who, int64_t us)
{
	ask(l, who, us);
	wakes(l, us + 1, 1);
	reads(l, us + 2, 5 + who, 50);
}

static void answers(struct loop *l, int64_t us, int who)
{
	struct dtc_headers h = get_headers(who, 501 + l->out[who], DTC_TCP_ACK, 20, true);
	l->out[who] += 20;
	story_enter(&l->story, us * US, 0, "write", 5 + who);
	story_packet(&l->story, DTC_EVENT_NET_SEND, us * US + 100, 0, &h);
	story_leave(&l->story, us * US + 500, 0, "write", 20);
}

/* The loop asks the database, which gets that at once, and sleeps until it is done. */
static void queries(struct loop *l, int64_t us)
{
	struct dtc_headers h = get_headers(2, 101 + l->out[2], DTC_TCP_ACK, 30, false);
	l->out[2] += 30;
	story_enter(&l->story, us * US, 0, "write", 7);
	story_packet(&l->story, DTC_EVENT_NET_SEND, us * US + 100, 0, &h);
	story_leave(&l->story, us * US + 500, 0, "write", 30);
	receive(l, us + 1, 1, &h, DB, "db");
	story_switch(&l->story, (us + 2) * US, 1, 0, "swapper/1", 0, DB, "db");
	story_leave(&l->story, (us + 2) * US + 100, 1, "read", 30);
	story_enter(&l->story, (us + 2) * US + 200, 1, "nanosleep", -1);
	story_switch(&l->story, (us + 2) * US + 300, 1, DB, "db", 1, 0, "swapper/1");
}

static void replies(struct loop *l, int64_t us)
{
	struct story *s = &l->story;
	struct dtc_headers h = get_headers(2, 501 + l->in[2], DTC_TCP_ACK, 40, true);
	l->in[2] += 40;
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, (us - 2) * US, 1, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, (us - 2) * US + 100, 1, DB, "db", 1);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, (us - 2) * US + 200, 1, 1, NULL);
	story_switch(s, (us - 1) * US, 1, 0, "swapper/1", 0, DB, "db");
	story_leave(s, (us - 1) * US + 100, 1, "nanosleep", 0);
	story_enter(s, (us - 1) * US + 200, 1, "write", 8);
	story_packet(s, DTC_EVENT_NET_SEND, (us - 1) * US + 300, 1, &h);
	story_leave(s, (us - 1) * US + 400, 1, "write", 40);
	story_enter(s, (us - 1) * US + 500, 1, "read", 8);
	story_switch(s, (us - 1) * US + 600, 1, DB, "db", 1, 0, "swapper/1");
	story_context(s, DTC_EVENT_SOFTIRQ_RAISE, us * US - 100, 0, 3, NULL);
	receive(l, us, 0, &h, LOOP, "loop");
}

/* Both clients and the database are connected, and the loop is on its CPU. */
static void begin(struct loop *l)
{
	struct story *s = &l->story;
	*l = (struct loop){ 0 };
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", 0, DB, "db");
	for (int which = 0; which < 3; which++) {
		uint32_t cpu = which < 2 ? 0 : 1;
		struct dtc_headers syn = get_headers(which, 100, DTC_TCP_SYN, 0, false);
		struct dtc_headers syn_ack = get_headers(which, 500, DTC_TCP_SYN | DTC_TCP_ACK, 0, true);
		struct dtc_headers ack = get_headers(which, 101, DTC_TCP_ACK, 0, false);
		syn_ack.ack = 101;
		int64_t us = 1 + 3 * which;
		if (which == 2) {
			story_enter(s, us * US - 100, 0, "connect", 7);
			story_packet(s, DTC_EVENT_NET_SEND, us * US, 0, &syn);
		}
		receive(l, us, cpu, &syn, 0, NULL);
		story_packet(s, DTC_EVENT_NET_SEND, us * US + 400, cpu, &syn_ack);
		if (which == 2) {
			receive(l, us + 1, 0, &syn_ack, 0, NULL);
			story_leave(s, (us + 1) * US + 500, 0, "connect", 0);
		}
		receive(l, us + 2, cpu, &ack, 0, NULL);
		story_enter(s, (us + 2) * US + 400, cpu, "accept", 4);
		story_leave(s, (us + 2) * US + 500, cpu, "accept", which < 2 ? 5 + which : 8);
	}
	story_enter(s, 10 * US, 1, "read", 8);
	story_switch(s, 10 * US + 100, 1, DB, "db", 1, 0, "swapper/1");
}

static uint32_t find_call(const struct loop *l, int64_t us)
{
	uint32_t loop = dtc_history_find_thread(l->histories[0], LOOP, 10 * US);
	return dtc_history_find_call(l->histories[0], loop, us * US);
}

/* One end of a hop of the loop: calls that begin at these times, to [0] and back [1]. */
static void add_hop(const struct loop *l, struct dtc_place *place, const int64_t us[2], bool is_server)
{
	static const struct dtc_exchange exchange;
	struct dtc_hop_side none = { .node = G_MAXUINT, .thread = DTC_NONE, .file = DTC_NONE };
	uint32_t first = find_call(l, us[0]), last = find_call(l, us[1]);
	struct dtc_hop_side side = { .thread = dtc_history_find_thread(l->histories[0], LOOP, 10 * US),
				     .file = dtc_history_copy_call(l->histories[0], first).file,
				     .connect_call = DTC_NONE,
				     .request_first_call = first,
				     .request_last_call = first,
				     .response_first_call = last,
				     .response_last_call = last };
	struct dtc_hop hop = { .exchange = &exchange,
			       .client = is_server ? none : side,
			       .server = is_server ? side : none,
			       .parent = is_server ? G_MAXUINT : 0,
			       .attempt = 1 };
	g_array_append_val(place->hops, hop);
}

/* A request that was read and answered then; db: when it asked the database and read what that said, or NULL. */
static void add_request(struct loop *l, guint request, const int64_t us[2], const int64_t db[2])
{
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	place->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	place->thread = DTC_NONE;
	add_hop(l, place, us, true);
	if (db)
		add_hop(l, place, db, false);
	dtc_serving_add(l->serving, request, place);
	dtc_place_free(place);
}

static void tell(struct loop *l)
{
	static const char *const names[] = { "node" };
	l->histories[0] = story_end(&l->story);
	l->clocks = dtc_clocks_new_identity(1);
	l->links = dtc_links_new(1, names, l->histories, l->clocks);
	l->serving = dtc_serving_new(l->links);
}

/* The path of what the loop did from begin on until it wrote at a time. */
static void walk(struct loop *l, int64_t begin_us, int64_t write_us)
{
	dtc_serving_seal(l->serving, true);
	uint32_t call = find_call(l, write_us);
	struct dtc_call write_place;
	const struct dtc_call *write = dtc_history_get_call(l->histories[0], call, &write_place);
	const struct dtc_path_target target = { .thread = write->thread,
						.begin = { begin_us * US },
						.end = { write->end_ns },
						.call = call,
						.serving = l->serving };
	g_autoptr(DtcEdges) edges = dtc_edges_new(l->links);
	GError *error = NULL;
	l->path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_path_check(l->path, &error));
}

static void assert_at(const struct loop *l, int64_t us, int tid, enum dtc_cause cause)
{
	for (guint i = 0; i < dtc_path_get_segment_count(l->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(l->path, i);
		if (s->begin.ns < us * US && us * US <= s->end.ns) {
			g_assert_cmpint(s->tid, ==, tid);
			g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
			return;
		}
	}
	g_assert_not_reached();
}

static void assert_link(const struct loop *l, int64_t us, enum dtc_link_quality link)
{
	for (guint i = 0; i < dtc_path_get_segment_count(l->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(l->path, i);
		if (s->begin.ns < us * US && us * US <= s->end.ns)
			g_assert_cmpint(s->link, ==, link);
	}
}

static void clear(struct loop *l)
{
	dtc_path_free(l->path);
	dtc_serving_free(l->serving);
	dtc_links_free(l->links);
	dtc_clocks_free(l->clocks);
	story_clear(&l->story);
}

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

/* A pool of one thread, which sleeps until the loop wakes it, and calls the loop by fd 9. */
static void add_worker(struct loop *l)
{
	struct story *s = &l->story;
	story_fork(s, 10 * US + 200, 0, LOOP, LOOP, WORKER, LOOP, "worker");
	story_enter(s, 10 * US + 300, 0, "eventfd2", -1);
	story_leave(s, 10 * US + 400, 0, "eventfd2", 9);
	story_switch(s, 10 * US + 500, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_enter(s, 11 * US, 2, "futex", -1);
	story_switch(s, 11 * US + 100, 2, WORKER, "worker", 1, 0, "swapper/2");
}

static void hands_over(struct loop *l, int64_t us)
{
	struct story *s = &l->story;
	story_enter(s, us * US, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 100, 0, WORKER, "worker", 2);
	story_leave(s, us * US + 200, 0, "futex", 1);
	story_switch(s, us * US + 300, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_leave(s, us * US + 400, 2, "futex", 0);
}

static void gives_back(struct loop *l, int64_t us, bool wakes_loop)
{
	struct story *s = &l->story;
	story_enter(s, us * US, 2, "write", 9);
	if (wakes_loop)
		story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 100, 2, LOOP, "loop", 0);
	story_leave(s, us * US + 200, 2, "write", 8);
	story_enter(s, us * US + 300, 2, "futex", -1);
	story_switch(s, us * US + 400, 2, WORKER, "worker", 1, 0, "swapper/2");
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

/* The loop asks to be told when a client's socket has room, which it has: the poll returns at once. */
static void asks_for_room(struct loop *l, int64_t us)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, us * US, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(l->story.machine, "epoll_ctl");
	e.v[DTC_CALL_FD] = 3;
	e.v[DTC_CALL_OP] = 3; /* EPOLL_CTL_MOD */
	dtc_machine_apply(l->story.machine, &e);
	story_leave(&l->story, us * US + 200, 0, "epoll_ctl", 0);
	story_poll(&l->story, us * US + 400, 0, "epoll_wait", 3, 60000);
	story_leave(&l->story, us * US + 800, 0, "epoll_wait", 1);
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
	g_test_add_func("/turns/timer", test_timer);
	g_test_add_func("/turns/due", test_due);
	g_test_add_func("/turns/due-behind", test_due_behind);
	g_test_add_func("/turns/due-before", test_due_before);
	g_test_add_func("/turns/blocking", test_blocking);
	g_test_add_data_func("/turns/driver", GINT_TO_POINTER(true), test_driver);
	g_test_add_data_func("/turns/driver/descriptors-not-told", GINT_TO_POINTER(false), test_driver);
	g_test_add_data_func("/turns/early", NULL, test_early);
	g_test_add_data_func("/turns/early-but-older", GINT_TO_POINTER(1), test_early);
	g_test_add_func("/turns/others-worker", test_others_worker);
	g_test_add_func("/turns/worker-beside-database", test_worker_beside_database);
	g_test_add_func("/turns/room", test_room);
	g_test_add_func("/turns/room/timer", test_room_timer);
	g_test_add_data_func("/turns/stale", NULL, test_stale);
	g_test_add_data_func("/turns/stale/not", GINT_TO_POINTER(1), test_stale);
	g_test_add_data_func("/turns/accepted", GINT_TO_POINTER(NOTHING), test_accepted);
	g_test_add_data_func("/turns/accepted/and-read", GINT_TO_POINTER(A_QUESTION), test_accepted);
	g_test_add_data_func("/turns/accepted/put-off", GINT_TO_POINTER(PUT_OFF), test_accepted);
	g_test_add_data_func("/turns/accepted/nobodys", GINT_TO_POINTER(NOBODYS), test_accepted);
	g_test_add_data_func("/turns/accepted/the-rest", GINT_TO_POINTER(THE_REST), test_accepted);
	g_test_add_data_func("/turns/unknown-end", NULL, test_unknown_end);
	g_test_add_data_func("/turns/unknown-end/asked-again", GINT_TO_POINTER(1), test_unknown_end);
	g_test_add_func("/turns/unknown-end/timer", test_unknown_end_timer);
	return g_test_run();
}
