/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel passes a datagram on under another address (NAT): who sent it is whoever sent what it had received. It never
 * answers one by itself.
 *
 *   cpu 0   10 the client writes, 11 to the host                                 50 the translated answer comes
 *   cpu 1            20 the host receives it, 21 passes it on     40 the answer, 41 passed on
 *   cpu 2                            22 the server's          30 writes, 31
 */
#include "analyze/edge/arrival.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define CLIENT 0x0a000001u
#define SERVICE 0x0a600001u /* under which the client knows the server */
#define SERVER 0x0a000002u
#define CLIENT_TID 20
#define SERVER_TID 30
#define BYTES 44

/* What is passed on, beside the answer itself. */
enum passed { SAME, OF_ANOTHER_LENGTH, OF_ANOTHER_ID };

static void see(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, uint32_t from, uint32_t to,
		uint16_t id)
{
	bool is_question = from == CLIENT;
	struct dtc_headers h =
		story_headers(from, is_question ? 5000 : 53, to, is_question ? 53 : 5000, 0, 0, 0, BYTES, id);
	h.protocol = DTC_PROTOCOL_UDP;
	story_packet(s, kind, t, cpu, &h);
}

static void forward(struct story *s, int64_t t, uint32_t from, uint32_t to, uint32_t seen_from, uint32_t seen_to,
		    uint16_t id, enum passed passed)
{
	bool is_question = from == CLIENT;
	struct dtc_headers h = story_headers(from, is_question ? 5000 : 53, to, is_question ? 53 : 5000, 0, 0, 0,
					     BYTES - (passed == OF_ANOTHER_LENGTH), passed == OF_ANOTHER_ID ? 99 : id);
	h.protocol = DTC_PROTOCOL_UDP;
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, 1, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 1, &h);
	see(s, DTC_EVENT_NET_SEND, t + 1, 1, seen_from, seen_to, id);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, 1, 3, NULL);
}

static void test(gconstpointer data)
{
	enum passed passed = GPOINTER_TO_UINT(data);
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, CLIENT_TID, "client");
	story_switch(&s, 1, 2, 0, "swapper/2", 0, SERVER_TID, "server");
	story_enter(&s, 10, 0, "sendto", 4);
	see(&s, DTC_EVENT_NET_SEND, 11, 0, CLIENT, SERVICE, 7);
	story_leave(&s, 12, 0, "sendto", BYTES);
	forward(&s, 20, CLIENT, SERVICE, CLIENT, SERVER, 7, SAME);
	see(&s, DTC_EVENT_NET_RECEIVE, 22, 2, CLIENT, SERVER, 7);
	story_enter(&s, 30, 2, "sendto", 5);
	see(&s, DTC_EVENT_NET_SEND, 31, 2, SERVER, CLIENT, 8);
	story_leave(&s, 32, 2, "sendto", BYTES);
	forward(&s, 40, SERVER, CLIENT, SERVICE, CLIENT, 8, passed);
	see(&s, DTC_EVENT_NET_RECEIVE, 50, 0, SERVICE, CLIENT, 8);
	const DtcHistory *h = story_end(&s);
	const char *name = "host";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &h, clocks);
	const DtcPackets *packets = dtc_history_get_packets(h);
	uint32_t last = dtc_packets_get_count(packets) - 1;
	const struct dtc_arrival arrival = { .time_ns = 50,
					     .packet = last,
					     .flow = dtc_packets_get_flow_of(packets, last),
					     .file = DTC_NONE,
					     .exact = true };
	struct dtc_sender sender;
	bool is_known = dtc_arrival_find_sender(links, &arrival, &sender);
	g_assert_cmpint(is_known, ==, passed == SAME);
	if (is_known) {
		g_assert_false(sender.relayed);
		g_assert_false(sender.exact);
		g_assert_cmpint(sender.written_ns, ==, 31);
		g_assert_cmpuint(sender.thread, ==, dtc_history_find_thread(h, SERVER_TID, 31));
	}
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/forwarded/same", GUINT_TO_POINTER(SAME), test);
	g_test_add_data_func("/forwarded/length", GUINT_TO_POINTER(OF_ANOTHER_LENGTH), test);
	g_test_add_data_func("/forwarded/id", GUINT_TO_POINTER(OF_ANOTHER_ID), test);
	return g_test_run();
}
