/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Datagrams over loopback, for stories. Times in microseconds. */
#pragma once

#include "tests/support/story.h"

#define US ((int64_t)1000)
#define LOCALHOST 0x7f000001u

/* The thread that a datagram wakes, and on which CPU; tid 0: it wakes nobody. */
struct story_woken {
	int tid;
	const char *comm;
	uint32_t cpu;
};

static inline struct dtc_headers story_datagram_headers(uint16_t from, uint16_t to, uint32_t bytes)
{
	struct dtc_headers h = story_headers(LOCALHOST, from, LOCALHOST, to, 0, 0, 0, bytes, 0);
	h.protocol = DTC_PROTOCOL_UDP;
	return h;
}

/* It comes in a softirq of a CPU, right after it was sent. */
static inline void story_datagram_comes(struct story *s, int64_t ns, uint32_t cpu, uint16_t from, uint16_t to,
					uint32_t bytes, const struct story_woken *woken)
{
	struct dtc_headers h = story_datagram_headers(from, to, bytes);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, ns, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, ns + 10, cpu, &h);
	if (woken)
		story_task(s, DTC_EVENT_SCHED_WAKING, ns + 20, cpu, woken->tid, woken->comm, (int)woken->cpu);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, ns + 30, cpu, 3, NULL);
}

/* A call of a microsecond, in which it leaves and comes. */
static inline void story_sends(struct story *s, int64_t us, uint32_t cpu, int64_t fd, uint16_t from, uint16_t to,
			       uint32_t bytes, const struct story_woken *woken)
{
	struct dtc_headers h = story_datagram_headers(from, to, bytes);
	story_enter(s, us * US, cpu, "sendto", fd);
	story_packet(s, DTC_EVENT_NET_SEND, us * US + 100, cpu, &h);
	story_datagram_comes(s, us * US + 110, cpu, from, to, bytes, woken);
	story_leave(s, (us + 1) * US, cpu, "sendto", bytes);
}

/* A call of a microsecond that does not wait. */
static inline void story_takes(struct story *s, int64_t us, uint32_t cpu, int64_t fd, int64_t result)
{
	story_enter(s, us * US, cpu, "recvfrom", fd);
	story_leave(s, (us + 1) * US, cpu, "recvfrom", result);
}
