/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection that one process accepts and another one goes on with, whose descriptor came in a message: it is one
 * file, and its bytes go on where the first process had left them.
 */
#include "tests/support/story.h"

#define LOGIN 10
#define SERVER 20
#define LISTENER 3
#define LOGIN_FD 5
#define SERVER_FD 7
#define CLIENT 1000
#define SEQ 101u
#define ANSWER_SEQ 501u

static void arrive(struct story *s, int64_t t, uint32_t seq, uint8_t flags, uint32_t bytes)
{
	struct dtc_headers headers = story_headers(1, CLIENT, 2, 110, seq, ANSWER_SEQ, flags, bytes, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 0, &headers);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, 0, 3, NULL);
}

static void moves(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t bytes)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, bytes);
}

static void answers(struct story *s, int64_t t, uint32_t cpu, int64_t fd, uint32_t seq, uint32_t bytes)
{
	struct dtc_headers headers = story_headers(2, 110, 1, CLIENT, seq, SEQ, DTC_TCP_ACK | DTC_TCP_PSH, bytes, 0);
	story_enter(s, t, cpu, "write", fd);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, cpu, &headers);
	story_leave(s, t + 2, cpu, "write", bytes);
}

/* What the call that begins at a time moved, and where in the stream. */
static const struct dtc_call *find_call(const DtcHistory *h, int64_t begin_ns)
{
	static struct dtc_call place;
	for (uint32_t i = 0; i < dtc_history_get_call_count(h); i++) {
		place = dtc_history_copy_call(h, i);
		if (place.begin_ns == begin_ns)
			return &place;
	}
	g_assert_not_reached();
}

static void test_login(void)
{
	struct story s;
	const struct dtc_headers reply =
		story_headers(2, 110, 1, CLIENT, ANSWER_SEQ - 1, SEQ, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, LOGIN, "login");
	story_switch(&s, 0, 1, 0, "swapper/1", 0, SERVER, "server");
	arrive(&s, 10, SEQ - 1, DTC_TCP_SYN, 0);
	story_packet(&s, DTC_EVENT_NET_SEND, 12, 0, &reply);
	arrive(&s, 13, SEQ, DTC_TCP_ACK, 0);
	moves(&s, 20, 0, "accept4", LISTENER, LOGIN_FD);
	answers(&s, 22, 0, LOGIN_FD, ANSWER_SEQ, 29);
	arrive(&s, 30, SEQ, DTC_TCP_ACK, 8);
	moves(&s, 32, 0, "read", LOGIN_FD, 8);
	arrive(&s, 40, SEQ + 8, DTC_TCP_ACK, 17);
	moves(&s, 42, 0, "read", LOGIN_FD, 17);
	/* the descriptor is sent over a socket; its new owner reads before it writes, and a read in vain is open
	 * meanwhile */
	arrive(&s, 50, SEQ + 25, DTC_TCP_ACK, 6);
	moves(&s, 52, 1, "read", SERVER_FD, 6);
	answers(&s, 60, 1, SERVER_FD, ANSWER_SEQ + 29, 16);
	arrive(&s, 70, SEQ + 31, DTC_TCP_ACK, 4);
	moves(&s, 72, 1, "read", SERVER_FD, 4);
	moves(&s, 80, 1, "read", SERVER_FD, -11);
	const DtcHistory *h = story_end(&s);
	uint32_t first = find_call(h, 32)->file;
	const struct dtc_file *file = dtc_history_get_file(h, first);
	g_assert_cmpuint(file->base_in, ==, SEQ);
	g_assert_cmpuint(file->base_out, ==, ANSWER_SEQ);
	g_assert_cmpuint(file->read_bytes, ==, 35);
	g_assert_cmpuint(file->written_bytes, ==, 45);
	static const struct {
		int64_t begin_ns;
		uint64_t offset;
	} calls[] = { { 22, 0 }, { 32, 0 }, { 42, 8 }, { 52, 25 }, { 60, 29 }, { 72, 31 }, { 80, 35 } };
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		const struct dtc_call *call = find_call(h, calls[i].begin_ns);
		g_assert_cmpuint(call->file, ==, first);
		g_assert_cmpuint(call->offset, ==, calls[i].offset);
	}
	story_clear(&s);
}

/*
 * The number that the new owner's descriptor got was that of a socket from before the trace, with which it reports to
 * its master, and which exec had closed: what leaves on it tells that it is another one now.
 */
static void test_stale(void)
{
	struct story s;
	const struct dtc_headers reply =
		story_headers(2, 110, 1, CLIENT, ANSWER_SEQ - 1, SEQ, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, LOGIN, "login");
	story_switch(&s, 0, 1, 0, "swapper/1", 0, SERVER, "server");
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, 1, 1);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "socket");
	e.v[DTC_CALL_FAMILY] = 1;
	dtc_machine_apply(s.machine, &e);
	story_leave(&s, 2, 1, "socket", SERVER_FD);
	moves(&s, 3, 1, "write", SERVER_FD, 12);
	arrive(&s, 10, SEQ - 1, DTC_TCP_SYN, 0);
	story_packet(&s, DTC_EVENT_NET_SEND, 12, 0, &reply);
	arrive(&s, 13, SEQ, DTC_TCP_ACK, 0);
	moves(&s, 20, 0, "accept4", LISTENER, LOGIN_FD);
	answers(&s, 22, 0, LOGIN_FD, ANSWER_SEQ, 29);
	answers(&s, 60, 1, SERVER_FD, ANSWER_SEQ + 29, 16);
	arrive(&s, 70, SEQ, DTC_TCP_ACK, 4);
	moves(&s, 72, 1, "read", SERVER_FD, 4);
	const DtcHistory *h = story_end(&s);
	uint32_t stale = find_call(h, 3)->file, first = find_call(h, 22)->file;
	g_assert_true(dtc_history_get_file(h, stale)->flow_out == DTC_NONE);
	g_assert_cmpuint(dtc_history_get_file(h, stale)->written_bytes, ==, 12);
	g_assert_cmpuint(find_call(h, 60)->file, ==, first);
	g_assert_cmpuint(find_call(h, 60)->offset, ==, 29);
	g_assert_cmpuint(find_call(h, 72)->file, ==, first);
	story_clear(&s);
}

/* A descriptor of which nothing is known, on a connection of nobody else, stays one of its own. */
static void test_alone(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, LOGIN, "login");
	arrive(&s, 10, SEQ, DTC_TCP_ACK, 8);
	moves(&s, 12, 0, "read", LOGIN_FD, 8);
	answers(&s, 20, 0, LOGIN_FD, ANSWER_SEQ, 29);
	const DtcHistory *h = story_end(&s);
	const struct dtc_file *file = dtc_history_get_file(h, find_call(h, 12)->file);
	g_assert_cmpuint(file->read_bytes, ==, 8);
	g_assert_true(file->flow_out != DTC_NONE);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/passed/login", test_login);
	g_test_add_func("/passed/stale", test_stale);
	g_test_add_func("/passed/alone", test_alone);
	return g_test_run();
}
