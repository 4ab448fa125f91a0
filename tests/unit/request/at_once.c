/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A proxy reads two questions of HTTP/2 with one call, in streams 1 (X) and 3 (Y), and asks one server of its own for
 * each: for Y first, as nghttpx does, which nothing tells but whose answer each of theirs becomes.
 *
 *   34 reads X, Y   36 asks 8   38 asks 7   52 reads 7   56 asks for room   58 answers X   72 reads 8   74 answers Y
 */
#include "sync/fit/clocks.h"
#include "tests/support/served_request.h"
#include "tests/support/story.h"

#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define LOOP 20
#define FRONT 4

enum { X, Y };

static void tell_call(struct story *s, int64_t t, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, 0, name, fd);
	story_leave(s, t + 1, 0, name, result);
}

static void answer(struct story *s, int64_t t, uint32_t seq, uint32_t bytes)
{
	struct dtc_headers h = story_headers(SERVER, 80, CLIENT, 60000, seq, 1060, DTC_TCP_ACK, bytes, 3);
	story_enter(s, t, 0, "write", FRONT);
	story_packet(s, DTC_EVENT_NET_SEND, t, 0, &h);
	story_leave(s, t + 1, 0, "write", bytes);
}

static void wait_until(struct story *s, int64_t t, int64_t end)
{
	story_poll(s, t, 0, "epoll_wait", 6, -1);
	story_switch(s, t + 1, 0, LOOP, "loop", 1, 0, "swapper/0");
	story_switch(s, end - 1, 0, 0, "swapper/0", 0, LOOP, "loop");
	story_leave(s, end, 0, "epoll_wait", 1);
}

/* It writes when a poll, which returns at once, has told it that it can. */
static void ask_for_room(struct story *s, int64_t t)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "epoll_ctl");
	e.v[DTC_CALL_FD] = 6;
	e.v[DTC_CALL_OP] = 3; /* EPOLL_CTL_MOD */
	dtc_machine_apply(s->machine, &e);
	story_leave(s, t, 0, "epoll_ctl", 0);
	story_poll(s, t + 1, 0, "epoll_wait", 6, 60000);
	story_leave(s, t + 1, 0, "epoll_wait", 1);
}

static const DtcHistory *tell(struct story *s, bool is_together)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, DTC_TCP_ACK, 60, 1);
	story_begin(s, "proxy");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP, "loop");
	tell_call(s, 9, "accept4", 3, FRONT);
	tell_call(s, 11, "connect", 7, 0);
	tell_call(s, 13, "connect", 8, 0);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30, 0, &question);
	tell_call(s, 34, "read", FRONT, 60);
	tell_call(s, 36, "write", 8, 25);
	tell_call(s, 38, "write", 7, 25);
	wait_until(s, 40, 50);
	tell_call(s, 52, "read", 7, 30);
	if (is_together) {
		tell_call(s, 54, "read", 8, 30);
		ask_for_room(s, 56);
		answer(s, 58, 500, 110);
	} else {
		ask_for_room(s, 56);
		answer(s, 58, 500, 60);
		wait_until(s, 62, 70);
		tell_call(s, 72, "read", 8, 30);
		answer(s, 74, 560, 50);
	}
	wait_until(s, 80, 90);
	return story_end(s);
}

static DtcFrames *make_frames(const DtcHistory *h)
{
	static const struct dtc_http2_frame frames_in[] = { { 1000, 30, 1, DTC_FRAME_HEADERS, { 0 } },
							    { 1030, 30, 3, DTC_FRAME_HEADERS, { 0 } } };
	static const struct dtc_http2_frame frames_out[] = { { 500, 60, 1, DTC_FRAME_HEADERS, { 0 } },
							     { 560, 50, 3, DTC_FRAME_HEADERS, { 0 } } };
	DtcFrames *frames = dtc_frames_new(0);
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_headers to = story_headers(CLIENT, 60000, SERVER, 80, 0, 0, 0, 0, 0);
	uint32_t in = dtc_packets_find_flow(packets, to.source, 60000, to.destination, 80, DTC_PROTOCOL_TCP, 0);
	for (guint i = 0; i < 2; i++) {
		dtc_frames_add(frames, in, &frames_in[i]);
		dtc_frames_add(frames, dtc_packets_get_flow(packets, in)->reverse, &frames_out[i]);
	}
	return frames;
}

/* Whose a question to others is, NULL: nobody's that is known. */
static void assert_owner(const DtcServing *serving, const DtcHistory *h, int64_t t, int request)
{
	uint32_t loop = dtc_history_find_thread(h, LOOP, 50);
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, loop, t), 0);
	g_assert_cmpint(owned ? (int)owned->request : -1, ==, request);
	if (owned)
		g_assert_true(owned->is_inferred);
}

static void test(gconstpointer is_together)
{
	struct story s;
	static const char *const names[] = { "proxy" };
	const DtcHistory *h = tell(&s, is_together);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &h, clocks);
	g_autoptr(DtcFrames) frames = make_frames(h);
	const DtcFrames *const all[] = { frames };
	const DtcPackets *captures[] = { dtc_history_get_packets(h) };
	dtc_links_set_frames(links, captures, all);
	g_autoptr(DtcServing) serving = dtc_serving_new(links);
	served_request_add(serving, h, X, LOOP, 34, 58, 1);
	served_request_add(serving, h, Y, LOOP, 34, is_together ? 58 : 74, 3);
	dtc_serving_seal(serving, true);
	assert_owner(serving, h, 36, is_together ? -1 : Y);
	assert_owner(serving, h, 38, is_together ? -1 : X);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, dtc_history_find_thread(h, LOOP, 50), &count);
	g_assert_cmpuint(count, >=, 2);
	for (guint i = 1; i < count; i++)
		g_assert_cmpint(spans[i - 1].end_ns, <=, spans[i].begin_ns);
	uint32_t write = dtc_history_find_call(h, dtc_history_find_thread(h, LOOP, 50), is_together ? 58 : 74);
	g_assert_cmpuint(dtc_serving_find_owned(serving, 0, write, 3)->request, ==, Y);
	if (is_together)
		g_assert_cmpuint(dtc_serving_find_owned(serving, 0, write, 1)->request, ==, X);
	story_clear(&s);
}

/* A load generator has more than one question open at a time: none is asked for another one's sake. */
static void test_load(void)
{
	struct story s;
	static const char *const names[] = { "client" };
	story_begin(&s, "client");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, LOOP, "loop");
	tell_call(&s, 11, "connect", 7, 0);
	tell_call(&s, 13, "connect", 8, 0);
	tell_call(&s, 20, "write", 7, 25);
	tell_call(&s, 22, "write", 8, 25);
	tell_call(&s, 24, "write", 7, 25); /* the rest of the first one */
	wait_until(&s, 40, 50);
	tell_call(&s, 52, "read", 7, 30);
	const DtcHistory *h = story_end(&s);
	uint32_t loop = dtc_history_find_thread(h, LOOP, 50), write = dtc_history_find_call(h, loop, 20);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &h, clocks);
	g_autoptr(DtcServing) serving = dtc_serving_new(links);
	const struct dtc_exchange exchange = { 0 };
	struct dtc_hop hop = { .exchange = &exchange,
			       .client = { .thread = loop,
					   .file = dtc_history_copy_call(h, write).file,
					   .connect_call = DTC_NONE,
					   .request_first_call = write,
					   .request_last_call = write,
					   .response_first_call = dtc_history_find_call(h, loop, 52),
					   .response_last_call = dtc_history_find_call(h, loop, 52) },
			       .server = { .node = G_MAXUINT, .thread = DTC_NONE, .file = DTC_NONE },
			       .parent = G_MAXUINT,
			       .attempt = 1 };
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	*place = (struct dtc_place){ .hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop)),
				     .thread = loop,
				     .is_client = true,
				     .has_end = true,
				     .begin = { 20 },
				     .end = { 53 } };
	g_array_append_val(place->hops, hop);
	dtc_serving_add(serving, X, place);
	dtc_place_free(place);
	dtc_serving_seal(serving, true);
	g_assert_null(dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, loop, 22), 0));
	g_assert_cmpuint(dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, loop, 24), 0)->request, ==, X);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/at-once/one-by-one", NULL, test);
	g_test_add_data_func("/at-once/together", GINT_TO_POINTER(1), test);
	g_test_add_func("/at-once/load", test_load);
	return g_test_run();
}
