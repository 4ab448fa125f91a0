/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A broker on one node: threads of processes that connect to it over loopback, and whose each message is. */
#pragma once

#include "tests/support/served_request.h"
#include "tests/support/story.h"

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
