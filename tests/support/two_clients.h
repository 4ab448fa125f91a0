/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One event loop with the requests of two clients in its hands, X on fd 5 and Y on fd 6, and a connection to a database
 * on fd 7; in some stories a worker that sleeps until the loop wakes it, and calls the loop by fd 9. Whose each call is
 * is known. Times are in microseconds. The clients are not traced.
 */
#pragma once

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
static inline struct dtc_headers get_headers(int which, uint32_t seq, uint8_t flags, uint32_t bytes, bool is_back)
{
	uint32_t a = which < 2 ? CLIENT : LOCALHOST, b = which < 2 ? SERVER : LOCALHOST;
	uint16_t port = (uint16_t)(1000 + which), to = which < 2 ? 80 : 5432;
	return is_back ? story_headers(b, to, a, port, seq, 0, flags, bytes, 0)
		       : story_headers(a, port, b, to, seq, 0, flags, bytes, 0);
}

static inline void receive(struct loop *l, int64_t us, uint32_t cpu, const struct dtc_headers *h, int wakes,
			   const char *name)
{
	struct story *s = &l->story;
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, us * US, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, us * US + 100, cpu, h);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 200, cpu, wakes, name, wakes == LOOP ? 0 : 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, us * US + 300, cpu, 3, NULL);
}

/* A client's question comes while the loop sleeps. */
static inline void ask(struct loop *l, int who, int64_t us)
{
	struct dtc_headers h = get_headers(who, 101 + l->in[who], DTC_TCP_ACK, 50, false);
	l->in[who] += 50;
	receive(l, us, 0, &h, LOOP, "loop");
}

static inline void sleeps(struct loop *l, int64_t us, int64_t timeout_ms)
{
	story_poll(&l->story, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_switch(&l->story, us * US + 500, 0, LOOP, "loop", 1, 0, "swapper/0");
}

static inline void wakes(struct loop *l, int64_t us, int64_t result)
{
	story_switch(&l->story, us * US, 0, 0, "swapper/0", 0, LOOP, "loop");
	story_leave(&l->story, us * US + 500, 0, "epoll_wait", result);
}

static inline void expires(struct loop *l, int64_t us)
{
	story_context(&l->story, DTC_EVENT_HRTIMER_ENTRY, us * US, 0, 1, NULL);
	story_task(&l->story, DTC_EVENT_SCHED_WAKING, us * US + 100, 0, LOOP, "loop", 0);
	story_context(&l->story, DTC_EVENT_HRTIMER_EXIT, us * US + 200, 0, 1, NULL);
}

static inline void reads(struct loop *l, int64_t us, int fd, int64_t bytes)
{
	story_enter(&l->story, us * US, 0, "read", fd);
	story_leave(&l->story, us * US + 500, 0, "read", bytes);
}

/* A client's question wakes the loop, which reads it. */
static inline void hears(struct loop *l, int who, int64_t us)
{
	ask(l, who, us);
	wakes(l, us + 1, 1);
	reads(l, us + 2, 5 + who, 50);
}

static inline void answers(struct loop *l, int64_t us, int who)
{
	struct dtc_headers h = get_headers(who, 501 + l->out[who], DTC_TCP_ACK, 20, true);
	l->out[who] += 20;
	story_enter(&l->story, us * US, 0, "write", 5 + who);
	story_packet(&l->story, DTC_EVENT_NET_SEND, us * US + 100, 0, &h);
	story_leave(&l->story, us * US + 500, 0, "write", 20);
}

/* The loop asks the database, which gets that at once, and sleeps until it is done. */
static inline void queries(struct loop *l, int64_t us)
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

static inline void replies(struct loop *l, int64_t us)
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
static inline void begin(struct loop *l)
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

static inline uint32_t find_call(const struct loop *l, int64_t us)
{
	uint32_t loop = dtc_history_find_thread(l->histories[0], LOOP, 10 * US);
	return dtc_history_find_call(l->histories[0], loop, us * US);
}

/* One end of a hop of the loop: calls that begin at these times, to [0] and back [1]. */
static inline void add_hop(const struct loop *l, struct dtc_place *place, const int64_t us[2], bool is_server)
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
static inline void add_request(struct loop *l, guint request, const int64_t us[2], const int64_t db[2])
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

static inline void tell(struct loop *l)
{
	static const char *const names[] = { "node" };
	l->histories[0] = story_end(&l->story);
	l->clocks = dtc_clocks_new_identity(1);
	l->links = dtc_links_new(1, names, l->histories, l->clocks);
	l->serving = dtc_serving_new(l->links);
}

/* The path of what the loop did from begin on until it wrote at a time. */
static inline void walk(struct loop *l, int64_t begin_us, int64_t write_us)
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

static inline void assert_at(const struct loop *l, int64_t us, int tid, enum dtc_cause cause)
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

static inline void assert_link(const struct loop *l, int64_t us, enum dtc_link_quality link)
{
	for (guint i = 0; i < dtc_path_get_segment_count(l->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(l->path, i);
		if (s->begin.ns < us * US && us * US <= s->end.ns)
			g_assert_cmpint(s->link, ==, link);
	}
}

static inline void clear(struct loop *l)
{
	dtc_path_free(l->path);
	dtc_serving_free(l->serving);
	dtc_links_free(l->links);
	dtc_clocks_free(l->clocks);
	story_clear(&l->story);
}

/* A pool of one thread, which sleeps until the loop wakes it, and calls the loop by fd 9. */
static inline void add_worker(struct loop *l)
{
	struct story *s = &l->story;
	story_fork(s, 10 * US + 200, 0, LOOP, LOOP, WORKER, LOOP, "worker");
	story_enter(s, 10 * US + 300, 0, "eventfd2", -1);
	story_leave(s, 10 * US + 400, 0, "eventfd2", 9);
	story_switch(s, 10 * US + 500, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_enter(s, 11 * US, 2, "futex", -1);
	story_switch(s, 11 * US + 100, 2, WORKER, "worker", 1, 0, "swapper/2");
}

static inline void hands_over(struct loop *l, int64_t us)
{
	struct story *s = &l->story;
	story_enter(s, us * US, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 100, 0, WORKER, "worker", 2);
	story_leave(s, us * US + 200, 0, "futex", 1);
	story_switch(s, us * US + 300, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_leave(s, us * US + 400, 2, "futex", 0);
}

static inline void gives_back(struct loop *l, int64_t us, bool wakes_loop)
{
	struct story *s = &l->story;
	story_enter(s, us * US, 2, "write", 9);
	if (wakes_loop)
		story_task(s, DTC_EVENT_SCHED_WAKING, us * US + 100, 2, LOOP, "loop", 0);
	story_leave(s, us * US + 200, 2, "write", 8);
	story_enter(s, us * US + 300, 2, "futex", -1);
	story_switch(s, us * US + 400, 2, WORKER, "worker", 1, 0, "swapper/2");
}

/* The loop asks to be told when a client's socket has room, which it has: the poll returns at once. */
static inline void asks_for_room(struct loop *l, int64_t us)
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
