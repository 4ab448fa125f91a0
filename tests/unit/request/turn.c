/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exchange on a connection at a time: two turns of 30 us each, between threads of one node. */
#include "analyze/request/turn.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define US ((int64_t)1000)

static void packet(struct story *s, int64_t t, bool to_server, uint8_t flags, uint32_t seq, uint32_t ack,
		   uint32_t bytes, bool is_sent)
{
	uint16_t from = to_server ? 4000 : 80, to = to_server ? 80 : 4000;
	uint32_t a = to_server ? 0x0a000001 : 0x0a000002, b = to_server ? 0x0a000002 : 0x0a000001;
	struct dtc_headers h = story_headers(a, from, b, to, seq, ack, flags, bytes, 0);
	if (!is_sent)
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, 0, 3, NULL);
	story_packet(s, is_sent ? DTC_EVENT_NET_SEND : DTC_EVENT_NET_RECEIVE, t + 10, 0, &h);
	if (!is_sent)
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 20, 0, 3, NULL);
}

static void call(struct story *s, const char *name, int64_t from_us, int64_t to_us, int64_t result)
{
	story_enter(s, from_us * US, 0, name, 5);
	story_leave(s, to_us * US, 0, name, result);
}

/* Turns [10, 50] (with the connect), [60, 90], and a question without an answer at 100. */
static DtcHistory *tell(struct story *s)
{
	story_begin(s, "client");
	story_switch(s, 1 * US, 0, 0, "swapper/0", 0, 20, "asker");
	story_enter(s, 10 * US, 0, "connect", 5);
	packet(s, 11 * US, true, DTC_TCP_SYN, 99, 0, 0, true);
	packet(s, 12 * US, false, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0, false);
	packet(s, 13 * US, true, DTC_TCP_ACK, 100, 500, 0, true);
	story_leave(s, 14 * US, 0, "connect", 0);
	for (int64_t i = 0; i < 2; i++) {
		int64_t at = i ? 60 : 20;
		story_enter(s, at * US, 0, "write", 5);
		packet(s, at * US + 100, true, DTC_TCP_ACK, 100 + (uint32_t)i * 30, 500, 30, true);
		story_leave(s, (at + 1) * US, 0, "write", 30);
		call(s, "read", at + 5, at + 10, 7);
		call(s, "read", at + 20, at + 30, 8);
	}
	story_enter(s, 100 * US, 0, "write", 5);
	packet(s, 100 * US + 100, true, DTC_TCP_ACK, 160, 530, 30, true);
	story_leave(s, 101 * US, 0, "write", 30);
	return story_end(s);
}

static const struct dtc_turn_ends there = {
	.source = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
	.destination = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2 },
	.source_port = 4000,
	.destination_port = 80,
};

static void test_turns(void)
{
	struct story s;
	const DtcHistory *histories[2] = { NULL, tell(&s) };
	DtcClocks *clocks = dtc_clocks_new_identity(2);
	struct dtc_turn_ends back = { .source_port = 80, .destination_port = 4000 };
	memcpy(back.source, there.destination, 16);
	memcpy(back.destination, there.source, 16);
	static const struct {
		int64_t at_us, begin_us, end_us;
		bool has_end;
	} cases[] = {
		{ 0, 10, 50, true },  { 10, 10, 50, true }, { 35, 10, 50, true }, { 55, 10, 50, true },
		{ 60, 60, 90, true }, { 89, 60, 90, true }, { 99, 60, 90, true }, { 500, 100, 101, false },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		for (guint k = 0; k < 2; k++) {
			struct dtc_turn turn;
			GError *error = NULL;
			g_assert_true(dtc_turn_find(2, histories, clocks, k ? &back : &there,
						    (DtcClusterTime){ cases[i].at_us * US }, &turn, &error));
			g_assert_no_error(error);
			g_assert_cmpuint(turn.node, ==, 1);
			g_assert_cmpint(turn.begin.ns, ==, cases[i].begin_us * US);
			g_assert_cmpint(turn.end.ns, ==, cases[i].end_us * US);
			g_assert_cmpint(turn.has_end, ==, cases[i].has_end);
			g_assert_true(turn.is_client);
			g_assert_cmpint(dtc_history_get_thread(histories[1], turn.thread)->tid, ==, 20);
			g_assert_cmpint(dtc_history_copy_call(histories[1], turn.call).end_ns, ==, turn.end.ns);
		}
	}
	struct dtc_turn_ends other = there;
	struct dtc_turn turn;
	g_autoptr(GError) error = NULL;
	other.source_port++;
	g_assert_false(dtc_turn_find(2, histories, clocks, &other, (DtcClusterTime){ 0 }, &turn, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND);
	dtc_clocks_free(clocks);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/turn/turns", test_turns);
	return g_test_run();
}
