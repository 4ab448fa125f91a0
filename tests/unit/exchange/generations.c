/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which connection is this over there: ports are used again, and a trace may lack what tells one from the next. */
#include "analyze/exchange/endpoint.h"

#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define SECOND ((int64_t)1000000000)

static uint32_t add(DtcPackets *packets, int64_t time_ns, bool out, uint32_t seq, uint32_t ack, uint8_t flags)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .source_port = out ? 1000 : 80,
				       .destination_port = out ? 80 : 1000,
				       .seq = seq,
				       .ack = ack,
				       .tcp_flags = flags,
				       .payload_bytes = flags & DTC_TCP_SYN ? 0 : 10 };
	const uint32_t ends[] = { out ? CLIENT : SERVER, out ? SERVER : CLIENT };
	uint8_t *const addresses[] = { headers.source, headers.destination };
	for (guint i = 0; i < 2; i++) {
		addresses[i][10] = addresses[i][11] = 0xff;
		for (guint k = 0; k < 4; k++)
			addresses[i][12 + k] = (uint8_t)(ends[i] >> (24 - 8 * k));
	}
	return dtc_packets_get_flow_of(packets, dtc_packets_add(packets, time_ns, DTC_SENT, 0, 0, &headers));
}

/* Two connections with the same ends; ret_flows: client to server. */
static DtcPackets *make_two(uint32_t ret_flows[2])
{
	DtcPackets *packets = dtc_packets_new();
	for (guint i = 0; i < 2; i++) {
		ret_flows[i] = add(packets, (i + 1) * 10 * SECOND, true, 100 + 1000 * i, 0, DTC_TCP_SYN);
		add(packets, (i + 1) * 10 * SECOND + 1, false, 500 + 1000 * i, 101 + 1000 * i,
		    DTC_TCP_SYN | DTC_TCP_ACK);
		add(packets, (i + 1) * 10 * SECOND + 2, true, 101 + 1000 * i, 501 + 1000 * i, DTC_TCP_ACK);
	}
	dtc_packets_seal(packets);
	return packets;
}

static void test_number(void)
{
	uint32_t there[2];
	g_autoptr(DtcPackets) packets = make_two(there);
	for (guint i = 0; i < 2; i++)
		for (guint answer = 0; answer < 2; answer++) {
			/* the SYN or the SYN-ACK tells, whatever the time */
			g_autoptr(DtcPackets) here = dtc_packets_new();
			uint32_t flow;
			if (answer) {
				add(here, 1, false, 500 + 1000 * i, 101 + 1000 * i, DTC_TCP_SYN | DTC_TCP_ACK);
				flow = add(here, 2, true, 101 + 1000 * i, 501 + 1000 * i, DTC_TCP_ACK);
			} else {
				flow = add(here, 1, true, 100 + 1000 * i, 0, DTC_TCP_SYN);
			}
			dtc_packets_seal(here);
			g_assert_cmpuint(dtc_endpoint_find_flow(here, flow, packets, false, 0), ==, there[i]);
			g_assert_cmpuint(dtc_endpoint_find_flow(here, flow, packets, false, DTC_TIME_NONE), ==,
					 there[i]);
		}
	/* a number that none of them has: another connection */
	g_autoptr(DtcPackets) other = dtc_packets_new();
	uint32_t flow = add(other, 10 * SECOND, true, 4711, 0, DTC_TCP_SYN);
	dtc_packets_seal(other);
	g_assert_cmpuint(dtc_endpoint_find_flow(other, flow, packets, false, 10 * SECOND), ==, DTC_NONE);
}

/* Open before the trace here: the time tells, at most a minute off. */
static void test_time(void)
{
	static const struct {
		int64_t at_ns;
		guint index; /* 2: none */
	} cases[] = {
		{ 10 * SECOND, 0 }, { 11 * SECOND, 0 }, { 19 * SECOND, 1 },   { 20 * SECOND, 1 },
		{ 79 * SECOND, 1 }, { 81 * SECOND, 2 }, { DTC_TIME_NONE, 1 },
	};
	uint32_t there[2];
	g_autoptr(DtcPackets) packets = make_two(there);
	g_autoptr(DtcPackets) here = dtc_packets_new();
	uint32_t flow = add(here, 1, true, 7, 8, DTC_TCP_ACK);
	dtc_packets_seal(here);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpuint(dtc_endpoint_find_flow(here, flow, packets, false, cases[i].at_ns), ==,
				 cases[i].index < 2 ? there[cases[i].index] : DTC_NONE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/generations/number", test_number);
	g_test_add_func("/generations/time", test_time);
	return g_test_run();
}
