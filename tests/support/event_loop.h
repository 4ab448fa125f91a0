/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that serves two requests in one loop, X on fd 5 and Y on fd 6, while a database on the same node answers
 * what it asks for X over loopback. Times in microseconds; packets of the clients are not told, the database's are.
 *
 *   loop    0 poll 10 accept 5, accept 6   20 read X 21   24 ask db 26   30 poll 40   41 read Y 42   60 write Y 61
 *           65 poll 70   72 read db 73   80 write X 81   85 poll
 *   db      (waits in read)   28 read 29   50 write 51   54 read
 */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/request/locate.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define US ((int64_t)1000)
#define LOOP_TID 20
#define DB_TID 40
#define DB_PORT 6379
#define LOOP_PORT 40000

enum { X, Y };

struct event_loop {
	struct story story;
	const DtcHistory *histories[1];
	DtcClocks *clocks;
	DtcLinks *links;
	uint32_t loop, db; /* threads */
	struct dtc_hop hops[2];
};

static inline void event_loop_packet(struct story *s, int64_t t, uint32_t cpu, bool to_db, uint8_t flags, uint32_t seq,
				     uint32_t ack, uint32_t bytes)
{
	const uint32_t localhost = 0x7f000001;
	uint16_t from = to_db ? LOOP_PORT : DB_PORT, to = to_db ? DB_PORT : LOOP_PORT;
	struct dtc_headers h = story_headers(localhost, from, localhost, to, seq, ack, flags, bytes, 0);
	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, &h);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t + 10, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t + 20, cpu, &h);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 30, cpu, 3, NULL);
}

static inline void event_loop_call(struct story *s, uint32_t cpu, const char *name, int64_t fd, int64_t from_us,
				   int64_t to_us, int64_t result)
{
	story_enter(s, from_us * US, cpu, name, fd);
	story_leave(s, to_us * US, cpu, name, result);
}

static inline uint32_t event_loop_find(const struct event_loop *e, uint32_t thread, int64_t us)
{
	return dtc_history_find_call(e->histories[0], thread, us * US);
}

/* The story is over: X and Y were read with calls that begin then (in us), and answered with such calls. */
static inline void event_loop_finish(struct event_loop *e, const int64_t reads[2], const int64_t writes[2])
{
	e->histories[0] = story_end(&e->story);
	static const char *const names[] = { "node" };
	e->clocks = dtc_clocks_new_identity(1);
	e->links = dtc_links_new(1, names, e->histories, e->clocks);
	e->loop = dtc_history_find_thread(e->histories[0], LOOP_TID, 50 * US);
	e->db = dtc_history_find_thread(e->histories[0], DB_TID, 50 * US);
	for (guint i = 0; i < 2; i++) {
		static const struct dtc_exchange exchange;
		struct dtc_hop_side none = { .node = G_MAXUINT, .thread = DTC_NONE, .file = DTC_NONE };
		uint32_t read = event_loop_find(e, e->loop, reads[i]), write = event_loop_find(e, e->loop, writes[i]);
		e->hops[i] = (struct dtc_hop){
			.exchange = &exchange,
			.client = none,
			.server = { .node = 0,
				    .thread = e->loop,
				    .file = dtc_history_copy_call(e->histories[0], read).file,
				    .connect_call = DTC_NONE,
				    .request_first_call = read,
				    .request_last_call = read,
				    .response_first_call = write,
				    .response_last_call = write },
			.parent = G_MAXUINT,
			.attempt = 1,
		};
	}
}

/* Until 18 us: X and Y are accepted as 5 and 6, the database is connected as 7 here and as 8 there. */
static inline void event_loop_connect(struct event_loop *e)
{
	struct story *s = &e->story;
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", 0, DB_TID, "db");
	event_loop_call(s, 0, "epoll_wait", 3, 1, 10, 2);
	event_loop_call(s, 0, "accept", 4, 11, 12, 5);
	event_loop_call(s, 0, "accept", 4, 13, 14, 6);
	story_enter(s, 15 * US, 0, "connect", 7);
	event_loop_packet(s, 15 * US + 100, 0, true, DTC_TCP_SYN, 99, 0, 0);
	event_loop_packet(s, 15 * US + 200, 0, false, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0);
	event_loop_packet(s, 15 * US + 300, 0, true, DTC_TCP_ACK, 100, 500, 0);
	story_leave(s, 16 * US, 0, "connect", 0);
	event_loop_call(s, 1, "accept", 4, 17, 18, 8);
}

/* The database greets with so many bytes before it is asked. */
static inline void event_loop_begin_greeted(struct event_loop *e, uint32_t greeting)
{
	event_loop_connect(e);
	struct story *s = &e->story;
	if (greeting) {
		story_enter(s, 18 * US + 100, 1, "write", 8);
		event_loop_packet(s, 18 * US + 200, 1, false, DTC_TCP_ACK, 500, 100, greeting);
		story_leave(s, 18 * US + 300, 1, "write", greeting);
		event_loop_call(s, 0, "read", 7, 19, 20, greeting);
	}
	event_loop_call(s, 0, "read", 5, 20, 21, 50); /* X */
	story_enter(s, 24 * US, 0, "write", 7);
	event_loop_packet(s, 24 * US + 100, 0, true, DTC_TCP_ACK, 100, 500, 30);
	story_leave(s, 26 * US, 0, "write", 30);
	event_loop_call(s, 1, "read", 8, 28, 29, 30);
	story_enter(s, 30 * US, 0, "epoll_wait", 3);
	story_leave(s, 40 * US, 0, "epoll_wait", 1);
	event_loop_call(s, 0, "read", 6, 41, 42, 50); /* Y */
	story_enter(s, 50 * US, 1, "write", 8);
	event_loop_packet(s, 50 * US + 100, 1, false, DTC_TCP_ACK, 500 + greeting, 130, 40);
	story_leave(s, 51 * US, 1, "write", 40);
	story_enter(s, 54 * US, 1, "read", 8);
	event_loop_call(s, 0, "write", 6, 60, 61, 20); /* Y is answered */
	event_loop_call(s, 0, "epoll_wait", 3, 65, 70, 1);
	event_loop_call(s, 0, "read", 7, 72, 73, 40);
	event_loop_call(s, 0, "write", 5, 80, 81, 20); /* X is answered */
	story_enter(s, 85 * US, 0, "epoll_wait", 3);
	static const int64_t reads[] = { 20, 41 }, writes[] = { 80, 60 };
	event_loop_finish(e, reads, writes);
}

static inline void event_loop_begin(struct event_loop *e)
{
	event_loop_begin_greeted(e, 0);
}

/* The place of request X or Y; to be freed with dtc_place_free. */
static inline struct dtc_place *event_loop_place(const struct event_loop *e, guint request)
{
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	place->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	g_array_append_val(place->hops, e->hops[request]);
	return place;
}

static inline void event_loop_clear(struct event_loop *e)
{
	dtc_links_free(e->links);
	dtc_clocks_free(e->clocks);
	story_clear(&e->story);
}
