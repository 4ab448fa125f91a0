/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stories for the join: net events and captured packets of a node with two namespaces. */
#pragma once

#include "collect/packets/join.h"
#include "tests/support/made_tunnel.h"

#include <unistd.h>

#define OUT 4 /* packet types of the cooked link layer */
#define IN 0
#define REAL INT64_C(1700000000000000000) /* the wall clock where the monotonic one is 0 */
#define HERE 4026531840u
#define POD 4026532100u
#define BYTES 52 /* of a packet without payload, from the network header on */

struct made {
	DtcJoin *join;
	DtcFindings *findings;
	GByteArray *here; /* captures of the two namespaces */
	GByteArray *pod;
	uint32_t event_count;
};

static inline struct made begin(void)
{
	struct made made = { dtc_join_new(), dtc_findings_new(), made_capture_new(MADE_COOKED2),
			     made_capture_new(MADE_COOKED2), 0 };

	dtc_join_add_clock(made.join, 0, REAL, 100);
	dtc_join_add_clock(made.join, 1000000000, REAL + 1000000100, 200);
	for (uint32_t i = 0; i < 2; i++) {
		dtc_join_add_interface(made.join, i ? POD : HERE, 1, "lo");
		dtc_join_add_interface(made.join, i ? POD : HERE, 2, "eth0");
	}
	dtc_join_add_interface(made.join, HERE, 3, "veth7");
	return made;
}

static inline void end(struct made *made)
{
	dtc_join_free(made->join);
	dtc_findings_free(made->findings);
}

/* What stands before a packet of IPv4. */
static inline GByteArray *begin_frame(guint interface, guint type)
{
	GByteArray *frame = g_byte_array_new();

	made_net(frame, 0x0800, 2);
	made_net(frame, 0, 2);
	made_net(frame, interface, 4);
	made_net(frame, 1, 2);
	made_net(frame, type, 1);
	made_net(frame, 6, 1);
	made_net(frame, 0x0200000000010000, 8);
	return frame;
}

/* A packet between two hosts, captured at a monotonic time. */
static inline void capture_ends(GByteArray *file, gint64 time_ns, guint interface, guint type, const guint8 hosts[2],
				const guint ports[2], guint payload_bytes, guint seq, guint ack, guint flags)
{
	GByteArray *frame = begin_frame(interface, type);

	made_ipv4(frame, hosts[0], hosts[1], 6, BYTES + payload_bytes, 0, 0, 64);
	made_tcp(frame, ports[0], ports[1], seq, ack, flags, 1);
	made_zero(frame, payload_bytes);
	made_capture_add(file, REAL + time_ns, frame, 0, 0);
}

/* A datagram from that port, received on lo; its length is that of a packet of TCP with that payload. */
static inline void capture_datagram(GByteArray *file, gint64 time_ns, guint port, guint payload_bytes)
{
	GByteArray *frame = begin_frame(1, IN);

	made_ipv4(frame, 1, 1, 17, BYTES + payload_bytes, 0, 0, 64);
	made_udp(frame, port, 53, BYTES + payload_bytes - 20);
	made_zero(frame, BYTES + payload_bytes - 28);
	made_capture_add(file, REAL + time_ns, frame, 0, 0);
}

/* A packet from that port, which is all that tells it from others. */
static inline void capture_tcp(GByteArray *file, gint64 time_ns, guint interface, guint type, guint port,
			       guint payload_bytes, guint seq, guint flags)
{
	const guint8 hosts[2] = { 1, 2 };
	const guint ports[2] = { port, 80 };

	capture_ends(file, time_ns, interface, type, hosts, ports, payload_bytes, seq, 1, flags);
}

/* Received: what acknowledges packets from a port. */
static inline void capture_answer(GByteArray *file, gint64 time_ns, guint interface, guint port, guint ack)
{
	const guint8 hosts[2] = { 2, 1 };
	const guint ports[2] = { 80, port };

	capture_ends(file, time_ns, interface, IN, hosts, ports, 0, 1, ack, 0x10);
}

static inline void capture_at(GByteArray *file, gint64 time_ns, guint interface, guint type, guint port,
			      guint payload_bytes, guint seq)
{
	capture_tcp(file, time_ns, interface, type, port, payload_bytes, seq, 0x10);
}

static inline void capture(GByteArray *file, gint64 time_ns, guint interface, guint type, guint port,
			   guint payload_bytes)
{
	capture_at(file, time_ns, interface, type, port, payload_bytes, 1000);
}

static inline uint32_t see_by(struct made *made, enum dtc_join_context context, gint tid, enum dtc_join_kind kind,
			      gint64 time_ns, guint cpu, guint64 skb, const char *device, guint length)
{
	struct dtc_join_event event = { .time_ns = time_ns,
					.skb = skb,
					.length = length,
					.tid = tid,
					.cpu = (guint16)cpu,
					.device = dtc_join_add_device(made->join, device),
					.kind = (guint8)kind,
					.context = (guint8)context };

	g_assert_cmpuint(dtc_join_add_event(made->join, &event), ==, made->event_count);
	return made->event_count++;
}

static inline uint32_t see_in(struct made *made, gint tid, enum dtc_join_kind kind, gint64 time_ns, guint cpu,
			      guint64 skb, const char *device, guint length)
{
	return see_by(made, DTC_JOIN_CONTEXT_UNKNOWN, tid, kind, time_ns, cpu, skb, device, length);
}

static inline uint32_t see(struct made *made, enum dtc_join_kind kind, gint64 time_ns, guint cpu, guint64 skb,
			   const char *device, guint length)
{
	return see_in(made, 100 + (gint)cpu, kind, time_ns, cpu, skb, device, length);
}

static inline void read_capture(struct made *made, GByteArray *file, uint32_t netns)
{
	g_autofree char *path = made_capture_write(file, file->len);
	g_autoptr(GError) error = NULL;

	g_assert_true(dtc_join_add_capture(made->join, "made", path, netns, made->findings, &error));
	g_assert_no_error(error);
	unlink(path);
	g_byte_array_unref(file);
}

static inline void run(struct made *made)
{
	read_capture(made, made->here, HERE);
	read_capture(made, made->pod, POD);
	dtc_join_run(made->join);
}

static inline void expect_of(const struct made *made, uint32_t event, enum dtc_header_source source, guint port,
			     guint transport_bytes)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), ==, source);
	if (source == DTC_HEADER_NONE)
		return;
	g_assert_cmpuint(headers.network_bytes, ==, 20);
	g_assert_cmpuint(headers.transport_bytes, ==, transport_bytes);
	g_assert_cmpuint(headers.bytes[20] << 8 | headers.bytes[21], ==, port);
}

static inline void expect(const struct made *made, uint32_t event, enum dtc_header_source source, guint port)
{
	expect_of(made, event, source, port, 20);
}

static inline void expect_datagram(const struct made *made, uint32_t event, enum dtc_header_source source, guint port)
{
	expect_of(made, event, source, port, 8);
}

static inline guint get_total_bytes(const struct made *made, uint32_t event)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), !=, DTC_HEADER_NONE);
	return (guint)headers.bytes[2] << 8 | headers.bytes[3];
}

static inline guint get_seq(const struct made *made, uint32_t event)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), !=, DTC_HEADER_NONE);
	return (guint)headers.bytes[24] << 24 | (guint)headers.bytes[25] << 16 | (guint)headers.bytes[26] << 8 |
	       headers.bytes[27];
}

static inline guint get_destination(const struct made *made, uint32_t event)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), !=, DTC_HEADER_NONE);
	return (guint)headers.bytes[22] << 8 | headers.bytes[23];
}

static inline guint get_flags(const struct made *made, uint32_t event)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), !=, DTC_HEADER_NONE);
	return headers.bytes[33];
}

static inline uint32_t get_netns(const struct made *made, uint32_t event)
{
	struct dtc_wire_headers headers = { 0 };

	g_assert_cmpint(dtc_join_get(made->join, event, &headers), !=, DTC_HEADER_NONE);
	return headers.netns;
}
