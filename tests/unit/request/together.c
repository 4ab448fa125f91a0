/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A front asks for X and Y on one connection, a broker reads both with one call and pushes both to a worker, who reads
 * both with one call, too, and does one after the other. Whose each answer is the job's words tell, which the worker's
 * answers have as well; and which of the two the broker answers on the one connection, what it has just read.
 *
 *   front    20 reads X 24 job 30 reads Y 34 job                        70 reads, 72 answers X  90, 92 Y
 *   broker                                    40 reads both 42 X's 44 Y's 64 reads, 66 answers X  84, 86 Y
 *   worker                                                48 reads both 60 answers X              80 Y
 */
#include "analyze/edge/arrival.h"
#include "sync/fit/clocks.h"
#include "tests/support/broker.h"

#define JOB_BYTES 60
#define GIVEN_BYTES 70
#define DONE_BYTES 50

enum { X, Y };

static const DtcHistory *tell(struct story *s)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "broker");
	story_fork(s, 2, 0, FRONT, FRONT, WORKER, WORKER, "worker");
	story_switch(s, 3, 1, 0, "swapper/1", 0, BROKER, "broker");
	story_switch(s, 4, 2, 0, "swapper/2", 0, WORKER, "worker");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	connect_to_broker(s, 2, 10, WORKERS_PORT, 9, 10);
	tell_call(s, 0, 15, "accept", 4, 5);
	tell_call(s, 0, 17, "accept", 4, 6);
	tell_call(s, 0, 20, "read", 5, 60);
	tell_write(s, 0, 24, 7, FRONTS_PORT, PORT, 100, 500, JOB_BYTES);
	tell_call(s, 0, 30, "read", 6, 60);
	tell_write(s, 0, 34, 7, FRONTS_PORT, PORT, 160, 500, JOB_BYTES);
	story_poll(s, 36 * US, 0, "epoll_wait", 3, -1);
	tell_call(s, 1, 40, "read", 8, 2 * JOB_BYTES);
	tell_write(s, 1, 42, 10, PORT, WORKERS_PORT, 500, 100, GIVEN_BYTES);
	tell_write(s, 1, 44, 10, PORT, WORKERS_PORT, 570, 100, GIVEN_BYTES);
	story_poll(s, 46 * US, 1, "epoll_wait", 3, -1);
	tell_call(s, 2, 48, "read", 9, 2 * GIVEN_BYTES);
	tell_write(s, 2, 60, 9, WORKERS_PORT, PORT, 100, 640, DONE_BYTES);
	story_leave(s, 63 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 64, "read", 10, DONE_BYTES);
	tell_write(s, 1, 66, 8, PORT, FRONTS_PORT, 500, 220, DONE_BYTES);
	story_poll(s, 68 * US, 1, "epoll_wait", 3, -1);
	story_leave(s, 69 * US, 0, "epoll_wait", 1);
	tell_call(s, 0, 70, "read", 7, DONE_BYTES);
	tell_call(s, 0, 72, "write", 5, 20);
	story_poll(s, 74 * US, 0, "epoll_wait", 3, -1);
	tell_write(s, 2, 80, 9, WORKERS_PORT, PORT, 150, 640, DONE_BYTES);
	story_leave(s, 83 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 84, "read", 10, DONE_BYTES);
	tell_write(s, 1, 86, 8, PORT, FRONTS_PORT, 550, 220, DONE_BYTES);
	story_leave(s, 89 * US, 0, "epoll_wait", 1);
	tell_call(s, 0, 90, "read", 7, DONE_BYTES);
	tell_call(s, 0, 92, "write", 6, 20);
	return story_end(s);
}

static void add(DtcShingles *shingles, uint32_t flow, uint32_t seq, const char *text)
{
	dtc_shingles_add(shingles, flow, seq, (const uint8_t *)text, (uint32_t)strlen(text));
}

static void add_messages(DtcShingles *shingles, const DtcPackets *packets)
{
	uint32_t in = find_flow(packets, FRONTS_PORT, PORT), out = find_flow(packets, PORT, WORKERS_PORT);
	uint32_t done = find_flow(packets, WORKERS_PORT, PORT);
	add(shingles, in, 100, "PUB jobs {resize-upload-0042}");
	add(shingles, in, 160, "PUB jobs {yesterday's-report-of-7711}");
	add(shingles, out, 500, "MSG jobs 7 {resize-upload-0042}");
	add(shingles, out, 570, "MSG jobs 7 {yesterday's-report-of-7711}");
	add(shingles, done, 100, "PUB inbox {upload-0042}: done");
	add(shingles, done, 150, "PUB inbox {report-of-7711}: done");
	dtc_shingles_finish(shingles);
}

static const struct dtc_owned *find_owned(const DtcServing *serving, const DtcHistory *h, int tid, int64_t us)
{
	uint32_t thread = dtc_history_find_thread(h, tid, 50 * US);
	const struct dtc_owned *owned =
		dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, thread, us * US), 0);
	g_assert_nonnull(owned);
	return owned;
}

static void assert_works(const DtcServing *serving, const DtcHistory *h, int64_t us, guint request)
{
	uint32_t worker = dtc_history_find_thread(h, WORKER, 50 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, worker, us * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, request);
	g_assert_false(span->leads);
}

static void test(void)
{
	static const char *const names[] = { "node" };
	struct story s;
	const DtcHistory *h = tell(&s);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &h, clocks);
	g_autoptr(DtcFrames) frames = dtc_frames_new(0);
	g_autoptr(DtcShingles) shingles = dtc_shingles_new(0);
	const DtcFrames *const all_frames[] = { frames };
	const DtcShingles *const all_shingles[] = { shingles };
	const DtcPackets *const captures[] = { dtc_history_get_packets(h) };
	add_messages(shingles, captures[0]);
	dtc_links_set_frames(links, captures, all_frames);
	dtc_links_set_shingles(links, all_shingles);
	g_autoptr(DtcServing) serving = dtc_serving_new(links);
	served_request_add(serving, h, X, FRONT, 20 * US, 72 * US, 0);
	served_request_add(serving, h, Y, FRONT, 30 * US, 92 * US, 0);
	dtc_serving_seal(serving, true);

	g_assert_cmpuint(find_owned(serving, h, BROKER, 42)->request, ==, X);
	g_assert_cmpuint(find_owned(serving, h, BROKER, 44)->request, ==, Y);
	assert_works(serving, h, 55, X);
	assert_works(serving, h, 70, Y);
	/* each has its own bytes of the one read, and when these came */
	uint32_t worker = dtc_history_find_thread(h, WORKER, 50 * US);
	for (guint i = X; i <= Y; i++) {
		const struct dtc_owned *answer = find_owned(serving, h, WORKER, i == X ? 60 : 80);
		struct dtc_arrival arrival;
		g_assert_cmpuint(answer->request, ==, i);
		g_assert_cmpuint(answer->read, ==, dtc_history_find_call(h, worker, 48 * US));
		g_assert_cmpuint(answer->taken, ==, i == X ? GIVEN_BYTES : 0);
		g_assert_true(dtc_arrival_find_for_taken(links, 0, answer->read, answer->taken, &arrival));
		g_assert_cmpint(arrival.time_ns / US, ==, i == X ? 42 : 44);
	}
	/* both are answers to the broker, and none asks it */
	struct dtc_taken taken;
	g_assert_true(dtc_serving_find_taken(serving, X, 0, BROKER, 63 * US, 65 * US, &taken));
	g_assert_true(dtc_serving_find_taken(serving, Y, 0, BROKER, 83 * US, 85 * US, &taken));
	g_assert_cmpuint(find_owned(serving, h, BROKER, 66)->request, ==, X);
	g_assert_cmpuint(find_owned(serving, h, BROKER, 86)->request, ==, Y);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/together/told", test);
	return g_test_run();
}
