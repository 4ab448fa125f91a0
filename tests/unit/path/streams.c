/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server of gRPC: a thread that polls (20) reads a question and wakes a worker (21), which sleeps until a timer and
 * then writes the answer itself. While it sleeps, the first one reads a ping, or another stream's question.
 *
 *   30 question   34 reads 36 wakes 21, which sleeps from 40 to 140   100 ping or question   104 reads   145 answers
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define POLLER 20
#define WORKER 21
#define CONNECTION 4
#define ANSWERED 145

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void poll_and_read(struct story *s, int64_t t, const struct dtc_headers *packet)
{
	story_poll(s, t - 8, 0, "epoll_wait", 6, -1);
	story_switch(s, t - 7, 0, POLLER, "poller", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 0, packet);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, POLLER, "poller", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, 0, 3, NULL);
	story_switch(s, t + 2, 0, 0, "swapper/0", RUN, POLLER, "poller");
	story_leave(s, t + 3, 0, "epoll_wait", 1);
	tell_call(s, t + 4, 0, "read", CONNECTION, packet->payload_bytes);
}

static void tell(struct story *s)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 50051, 1000, 500, 0x18, 50, 1);
	struct dtc_headers ping = story_headers(CLIENT, 60000, SERVER, 50051, 1050, 500, 0x18, 17, 2);
	struct dtc_headers answer = story_headers(SERVER, 50051, CLIENT, 60000, 500, 1067, 0x18, 60, 3);
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, POLLER, "poller");
	story_fork(s, 1, 0, POLLER, POLLER, WORKER, POLLER, "worker");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_enter(s, 5, 1, "futex", -1);
	story_switch(s, 6, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	tell_call(s, 9, 0, "accept4", 3, CONNECTION);
	poll_and_read(s, 30, &question);
	story_enter(s, 36, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 37, 0, WORKER, "worker", 1);
	story_leave(s, 37, 0, "futex", 1);
	story_switch(s, 38, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 38, 1, "futex", 0);
	story_enter(s, 39, 1, "nanosleep", -1);
	story_switch(s, 40, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	poll_and_read(s, 100, &ping);
	story_poll(s, 110, 0, "epoll_wait", 6, -1);
	story_switch(s, 111, 0, POLLER, "poller", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, 139, 1, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, 140, 1, WORKER, "worker", 1);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, 140, 1, 1, NULL);
	story_switch(s, 141, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 142, 1, "nanosleep", 0);
	story_enter(s, ANSWERED, 1, "write", CONNECTION);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 1, &answer);
	story_leave(s, ANSWERED + 2, 1, "write", 60);
	story_switch(s, 160, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	story_end(s);
}

static void add_frame(DtcFrames *frames, uint32_t flow, uint8_t type, uint32_t seq, uint32_t bytes, uint32_t stream)
{
	struct dtc_http2_frame frame = { .seq = seq, .bytes = bytes, .stream = stream, .type = type };
	dtc_frames_add(frames, flow, &frame);
}

/* second: what the poller reads in mid-sleep. */
static DtcFrames *make_frames(const DtcHistory *h, enum dtc_http2_frame_type second, uint32_t stream)
{
	DtcFrames *frames = dtc_frames_new(0);
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_headers to = story_headers(CLIENT, 60000, SERVER, 50051, 0, 0, 0, 0, 0);
	uint32_t in = dtc_packets_find_flow(packets, to.source, 60000, to.destination, 50051, DTC_PROTOCOL_TCP, 0);
	uint32_t out = dtc_packets_get_flow(packets, in)->reverse;
	add_frame(frames, in, DTC_FRAME_HEADERS, 1000, 30, 1);
	add_frame(frames, in, DTC_FRAME_DATA, 1030, 20, 1);
	add_frame(frames, in, second, 1050, 17, stream);
	add_frame(frames, out, DTC_FRAME_HEADERS, 500, 60, 1);
	return frames;
}

/* True if the worker's sleep is on the path. */
static bool has_sleep(const struct story *s, const DtcFrames *frames)
{
	static const char *const names[] = { "server" };
	const DtcHistory *histories[] = { s->history };
	const DtcPackets *captures[] = { dtc_history_get_packets(s->history) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, histories, clocks);
	if (frames)
		dtc_links_set_frames(links, captures, &frames);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	uint32_t thread = dtc_history_find_thread(s->history, WORKER, ANSWERED);
	struct dtc_path_target target = { .node = 0,
					  .thread = thread,
					  .begin = { 32 },
					  .end = { ANSWERED },
					  .call = dtc_history_find_call(s->history, thread, ANSWERED) };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *at = dtc_path_get_segment(path, i);
		if (at->begin.ns <= 60 && at->end.ns >= 80)
			return at->tid == WORKER && at->cause == DTC_CAUSE_TIMER;
	}
	return false;
}

static void test_control(void)
{
	struct story s;
	tell(&s);
	g_autoptr(DtcFrames) frames = make_frames(s.history, DTC_FRAME_PING, 0);
	g_assert_true(has_sleep(&s, frames));
	g_assert_false(has_sleep(&s, NULL)); /* without frames it is taken for the question */
	story_clear(&s);
}

static void test_other_stream(void)
{
	struct story s;
	tell(&s);
	g_autoptr(DtcFrames) frames = make_frames(s.history, DTC_FRAME_HEADERS, 3);
	g_assert_true(has_sleep(&s, frames));
	g_autoptr(DtcFrames) same = make_frames(s.history, DTC_FRAME_DATA, 1); /* the question's own last bytes */
	g_assert_false(has_sleep(&s, same));
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/streams/control", test_control);
	g_test_add_func("/streams/other-stream", test_other_stream);
	return g_test_run();
}
