/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One connection to a server of gRPC for two requests (the ends are those of tests/support/event_loop.h): streams 1 for
 * X and 3 for Y. The server reads both questions in one call and answers Y first.
 *
 *   loop   20 read X 21  24 ask in stream 1   30 read Y  34 ask in stream 3   50 poll 64   65 read 3   67 write Y 68
 *          70 poll 84   85 read 1   87 write X 88
 *   db     40 read 1 and 3, 41   60 answer in stream 3   80 answer in stream 1
 */
#include "analyze/request/serving.h"
#include "tests/support/event_loop.h"

static void ask(struct story *s, int64_t us, uint32_t seq, uint32_t bytes)
{
	story_enter(s, us * US, 0, "write", 7);
	event_loop_packet(s, us * US + 100, 0, true, DTC_TCP_ACK, seq, 500, bytes);
	story_leave(s, (us + 1) * US, 0, "write", bytes);
}

static void answer(struct story *s, int64_t us, uint32_t seq, uint32_t bytes)
{
	story_enter(s, us * US, 1, "write", 8);
	event_loop_packet(s, us * US + 100, 1, false, DTC_TCP_ACK, seq, 160, bytes);
	story_leave(s, (us + 1) * US, 1, "write", bytes);
}

static void tell(struct event_loop *e)
{
	event_loop_connect(e);
	struct story *s = &e->story;
	event_loop_call(s, 0, "read", 5, 20, 21, 50); /* X */
	ask(s, 24, 100, 30);
	event_loop_call(s, 0, "read", 6, 30, 31, 50); /* Y */
	ask(s, 34, 130, 30);
	event_loop_call(s, 1, "read", 8, 40, 41, 60);
	story_poll(s, 50 * US, 0, "epoll_wait", 3, -1);
	answer(s, 60, 500, 40);
	story_leave(s, 64 * US, 0, "epoll_wait", 1);
	event_loop_call(s, 0, "read", 7, 65, 66, 40);
	event_loop_call(s, 0, "write", 6, 67, 68, 20); /* Y is answered */
	story_poll(s, 70 * US, 0, "epoll_wait", 3, -1);
	answer(s, 80, 540, 45);
	story_leave(s, 84 * US, 0, "epoll_wait", 1);
	event_loop_call(s, 0, "read", 7, 85, 86, 45);
	event_loop_call(s, 0, "write", 5, 87, 88, 20); /* X is answered */
	static const int64_t reads[] = { 20, 30 }, writes[] = { 87, 67 };
	event_loop_finish(e, reads, writes);
}

static DtcFrames *make_frames(const DtcHistory *h)
{
	static const struct dtc_http2_frame to[] = { { 100, 30, 1, DTC_FRAME_HEADERS, { 0 } },
						     { 130, 30, 3, DTC_FRAME_HEADERS, { 0 } } };
	static const struct dtc_http2_frame from[] = { { 500, 40, 3, DTC_FRAME_HEADERS, { 0 } },
						       { 540, 5, 0, DTC_FRAME_SETTINGS, { 0 } },
						       { 545, 40, 1, DTC_FRAME_HEADERS, { 0 } } };
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_headers ends = story_headers(0x7f000001, LOOP_PORT, 0x7f000001, DB_PORT, 0, 0, 0, 0, 0);
	uint32_t flow =
		dtc_packets_find_flow(packets, ends.source, LOOP_PORT, ends.destination, DB_PORT, DTC_PROTOCOL_TCP, 0);
	DtcFrames *frames = dtc_frames_new(0);
	for (guint i = 0; i < G_N_ELEMENTS(to); i++)
		dtc_frames_add(frames, flow, &to[i]);
	for (guint i = 0; i < G_N_ELEMENTS(from); i++)
		dtc_frames_add(frames, dtc_packets_get_flow(packets, flow)->reverse, &from[i]);
	return frames;
}

static DtcServing *serve(struct event_loop *e, const DtcFrames *const *frames)
{
	const DtcPackets *captures[] = { dtc_history_get_packets(e->histories[0]) };
	if (frames)
		dtc_links_set_frames(e->links, captures, frames);
	DtcServing *serving = dtc_serving_new(e->links);
	for (guint i = 0; i < 2; i++) {
		struct dtc_place *place = event_loop_place(e, i);
		dtc_serving_add(serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	return serving;
}

/* Whose the write at a time is, or G_MAXUINT. */
static guint get_owner(const struct event_loop *e, const DtcServing *serving, uint32_t thread, int64_t us)
{
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, event_loop_find(e, thread, us), 0);
	return owned ? owned->request : G_MAXUINT;
}

static void test_two_streams(void)
{
	struct event_loop e;
	tell(&e);
	g_autoptr(DtcFrames) frames = make_frames(e.histories[0]);
	const DtcFrames *const all[] = { frames };
	g_autoptr(DtcServing) serving = serve(&e, all);
	g_assert_cmpuint(get_owner(&e, serving, e.db, 60), ==, Y);
	g_assert_cmpuint(get_owner(&e, serving, e.db, 80), ==, X);
	for (guint request = X; request <= Y; request++) {
		guint count;
		const struct dtc_followed_hop *hop = dtc_serving_get_hops(serving, request, &count);
		g_assert_cmpuint(count, ==, 1);
		g_assert_cmpuint(hop->server_thread, ==, e.db);
		g_assert_cmpint(hop->server_begin_ns, ==, 41 * US);
		g_assert_cmpint(hop->server_end_ns, ==, (request == X ? 81 : 61) * US);
		g_assert_cmpint(hop->client_end_ns, ==, (request == X ? 86 : 66) * US);
	}
	/* what the loop read for Y's answer is Y's */
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, event_loop_find(&e, e.loop, 67), 0);
	g_assert_cmpuint(owned->read, ==, event_loop_find(&e, e.loop, 65));
	event_loop_clear(&e);
}

/* Without streams the server's answers are for who waits longest, as nothing shows that the loop's are answers. */
static void test_no_streams(void)
{
	struct event_loop e;
	tell(&e);
	g_autoptr(DtcServing) serving = serve(&e, NULL);
	g_assert_cmpuint(get_owner(&e, serving, e.db, 60), ==, X);
	g_assert_cmpuint(get_owner(&e, serving, e.db, 80), ==, Y);
	event_loop_clear(&e);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/streams/two", test_two_streams);
	g_test_add_func("/streams/none", test_no_streams);
	return g_test_run();
}
