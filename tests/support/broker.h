/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A broker on one node: threads of processes that connect to it over loopback, and whose each message is. */
#pragma once

#include "sync/fit/clocks.h"
#include "tests/support/served_request.h"
#include "tests/support/story.h"

#include <string.h>

#define US ((int64_t)1000)
#define LOCAL 0x7f000001u
#define FRONT 20
#define BROKER 40
#define WORKER 60
#define PORT 6379
#define FRONTS_PORT 40000
#define WORKERS_PORT 41000

static inline void tell_call(struct story *s, uint32_t cpu, int64_t us, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, us * US, cpu, name, fd);
	story_leave(s, (us + 1) * US, cpu, name, result);
}

static inline void pass(struct story *s, int64_t ns, uint32_t cpu, uint16_t from, uint16_t to, uint8_t flags,
			uint32_t seq, uint32_t ack, uint32_t bytes)
{
	struct dtc_headers h = story_headers(LOCAL, from, LOCAL, to, seq, ack, flags, bytes, 0);
	story_packet(s, DTC_EVENT_NET_SEND, ns, cpu, &h);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, ns + 10, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, ns + 20, cpu, &h);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, ns + 30, cpu, 3, NULL);
}

static inline void tell_write(struct story *s, uint32_t cpu, int64_t us, int64_t fd, uint16_t from, uint16_t to,
			      uint32_t seq, uint32_t ack, uint32_t bytes)
{
	story_enter(s, us * US, cpu, "write", fd);
	pass(s, us * US + 100, cpu, from, to, DTC_TCP_ACK, seq, ack, bytes);
	story_leave(s, (us + 1) * US, cpu, "write", bytes);
}

static inline void connect_to_broker(struct story *s, uint32_t cpu, int64_t us, uint16_t port, int64_t fd,
				     int64_t accepted)
{
	story_enter(s, us * US, cpu, "connect", fd);
	pass(s, us * US + 100, cpu, port, PORT, DTC_TCP_SYN, 99, 0, 0);
	pass(s, us * US + 200, cpu, PORT, port, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0);
	pass(s, us * US + 300, cpu, port, PORT, DTC_TCP_ACK, 100, 500, 0);
	story_leave(s, (us + 1) * US, cpu, "connect", 0);
	tell_call(s, 1, us + 2, "accept", 4, accepted);
}

static inline uint32_t find_flow(const DtcPackets *packets, uint16_t from, uint16_t to)
{
	const struct dtc_headers h = story_headers(LOCAL, from, LOCAL, to, 0, 0, 0, 0, 0);
	return dtc_packets_find_flow(packets, h.source, from, h.destination, to, DTC_PROTOCOL_TCP, 0);
}

/* A story that was told, with what its node's capture has of the messages. */
struct broker_story {
	struct story story;
	const DtcHistory *h;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcShingles *shingles;
	DtcFrames *frames;
	const DtcPackets *captures[1];
	const DtcShingles *all_shingles[1];
	const DtcFrames *all_frames[1];
	DtcServing *serving;
};

/* The story is told. */
static inline void broker_begin(struct broker_story *t)
{
	static const char *const names[] = { "node" };
	t->h = story_end(&t->story);
	t->clocks = dtc_clocks_new_identity(1);
	t->links = dtc_links_new(1, names, &t->h, t->clocks);
	t->all_frames[0] = t->frames = dtc_frames_new(0);
	t->all_shingles[0] = t->shingles = dtc_shingles_new(0);
	t->captures[0] = dtc_history_get_packets(t->h);
}

static inline void broker_add_message(const struct broker_story *t, uint16_t from, uint16_t to, uint32_t seq,
				      const char *text)
{
	dtc_shingles_add(t->shingles, find_flow(t->captures[0], from, to), seq, (const uint8_t *)text,
			 (uint32_t)strlen(text));
}

/* All messages are there; requests may be added to its table of work. */
static inline void broker_link(struct broker_story *t)
{
	dtc_shingles_finish(t->shingles);
	dtc_links_set_frames(t->links, t->captures, t->all_frames);
	dtc_links_set_shingles(t->links, t->all_shingles);
	t->serving = dtc_serving_new(t->links);
}

static inline void broker_clear(struct broker_story *t)
{
	dtc_serving_free(t->serving);
	dtc_frames_free(t->frames);
	dtc_shingles_free(t->shingles);
	dtc_links_free(t->links);
	dtc_clocks_free(t->clocks);
	story_clear(&t->story);
}

static inline uint32_t broker_find_call(const struct broker_story *t, int tid, int64_t us)
{
	return dtc_history_find_call(t->h, dtc_history_find_thread(t->h, tid, 50 * US), us * US);
}

/* For whom a call of a thread, in the story for 50 us, is; it is for somebody. */
static inline const struct dtc_owned *broker_find_owned(const struct broker_story *t, int tid, int64_t us)
{
	const struct dtc_owned *owned = dtc_serving_find_owned(t->serving, 0, broker_find_call(t, tid, us), 0);
	g_assert_nonnull(owned);
	return owned;
}
