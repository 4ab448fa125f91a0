/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which datagram a read took, of those that lay in a socket for several peers, and what a write sent. */
#include "analyze/edge/datagrams.h"
#include "analyze/edge/links.h"
#include "sync/fit/clocks.h"
#include "tests/support/datagrams.h"

#include <errno.h>

#define RUN 0
#define SLEEP 1
#define SERVER 20
#define WORKER 21
#define THIRD 22
#define CLIENT 30
#define PORT 53
#define A 4001
#define B 4002
#define FD 4

struct told {
	struct story story;
	const DtcHistory *history;
	DtcDatagrams *datagrams;
};

static void begin(struct told *told)
{
	story_begin(&told->story, "n");
	story_switch(&told->story, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(&told->story, 1, 1, 0, "swapper/1", RUN, CLIENT, "client");
}

static void end(struct told *told)
{
	told->history = story_end(&told->story);
	told->datagrams = dtc_datagrams_new(told->history);
}

static void clear(struct told *told)
{
	dtc_datagrams_free(told->datagrams);
	story_clear(&told->story);
}

static uint32_t call_at(const struct told *told, int tid, int64_t us)
{
	return dtc_history_find_call(told->history, dtc_history_find_thread(told->history, tid, us * US), us * US);
}

static struct dtc_datagram number_at(const struct told *told, int tid, int64_t us, uint32_t number)
{
	return (struct dtc_datagram){ call_at(told, tid, us), number };
}

static struct dtc_datagram one_at(const struct told *told, int tid, int64_t us)
{
	return number_at(told, tid, us, 0);
}

/* The time of what a read took, of several with that number, in us; -1: it is not told. */
static int64_t taken_of_us(const struct told *told, int tid, int64_t us, uint32_t number)
{
	const struct dtc_datagram wanted = number_at(told, tid, us, number);
	uint32_t packet = dtc_datagrams_find_taken(told->datagrams, wanted);
	if (packet == DTC_NONE)
		return -1;
	uint32_t file = dtc_history_copy_call(told->history, wanted.call).file;
	const struct dtc_datagram read = dtc_datagrams_find_read(told->datagrams, file, packet);
	g_assert_cmpuint(read.call, ==, wanted.call);
	g_assert_cmpuint(read.number, ==, number);
	return dtc_packets_get_time_ns(dtc_history_get_packets(told->history), packet) / US;
}

static int64_t taken_us(const struct told *told, int tid, int64_t us)
{
	return taken_of_us(told, tid, us, 0);
}

/* Two clients' questions lie in one socket: the first one came first, whoever wrote last before the read. */
static void test_queued(void)
{
	struct told t;
	begin(&t);
	story_sends(&t.story, 10, 1, 5, A, PORT, 40, NULL);
	story_sends(&t.story, 12, 1, 6, B, PORT, 40, NULL);
	story_takes(&t.story, 30, 0, FD, 40);
	story_takes(&t.story, 40, 0, FD, 40);
	story_sends(&t.story, 50, 0, FD, PORT, A, 60, NULL);
	story_sends(&t.story, 60, 0, FD, PORT, B, 60, NULL);
	story_takes(&t.story, 70, 1, 5, 60);
	story_takes(&t.story, 80, 1, 6, 60);
	end(&t);
	g_assert_cmpint(taken_us(&t, SERVER, 30), ==, 10);
	g_assert_cmpint(taken_us(&t, SERVER, 40), ==, 12);
	g_assert_cmpint(taken_us(&t, CLIENT, 70), ==, 50);
	g_assert_cmpint(taken_us(&t, CLIENT, 80), ==, 60);

	uint32_t read = call_at(&t, SERVER, 40), write = call_at(&t, SERVER, 60);
	uint32_t file = dtc_history_copy_call(t.history, read).file;
	uint32_t peer = dtc_datagrams_find_peer(t.datagrams, one_at(&t, SERVER, 40));
	g_assert_true(dtc_datagrams_has_peers(t.datagrams, file));
	g_assert_cmpuint(peer, ==, dtc_datagrams_find_peer(t.datagrams, one_at(&t, SERVER, 60)));
	g_assert_cmpuint(peer, !=, dtc_datagrams_find_peer(t.datagrams, one_at(&t, SERVER, 30)));
	g_assert_cmpuint(dtc_datagrams_find_next(t.datagrams, file, peer, true, 40 * US), ==, write);
	g_assert_cmpuint(dtc_datagrams_find_next(t.datagrams, file, peer, false, 15 * US), ==, read);
	g_assert_cmpuint(dtc_datagrams_find_next(t.datagrams, file, peer, false, 41 * US), ==, DTC_NONE);
	g_assert_cmpuint(dtc_datagrams_find_file(t.datagrams, peer, 20 * US), ==, file);

	uint32_t ask = call_at(&t, CLIENT, 12), own = dtc_history_copy_call(t.history, ask).file;
	peer = dtc_datagrams_find_peer(t.datagrams, one_at(&t, CLIENT, 12));
	g_assert_false(dtc_datagrams_has_peers(t.datagrams, own));
	g_assert_cmpuint(dtc_datagrams_find_asking(t.datagrams, own, peer, 60 * US), ==, ask);
	clear(&t);
}

/* The same by way of the links: who read what a write sent, and the other way round. */
static void test_ways(void)
{
	struct told t;
	begin(&t);
	story_sends(&t.story, 10, 1, 5, A, PORT, 40, NULL);
	story_sends(&t.story, 12, 1, 6, B, PORT, 40, NULL);
	story_takes(&t.story, 30, 0, FD, 40);
	story_sends(&t.story, 35, 0, FD, PORT, A, 60, NULL);
	story_takes(&t.story, 40, 0, FD, 40);
	story_sends(&t.story, 50, 0, FD, PORT, B, 60, NULL);
	story_takes(&t.story, 70, 1, 6, 60);
	end(&t);
	static const char *const names[] = { "n" };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &t.history, clocks);
	struct dtc_datagram read, write;
	uint32_t file;
	guint node = 77;
	g_assert_true(dtc_links_find_datagram_read(links, 0, one_at(&t, CLIENT, 12), &node, &file, &read));
	g_assert_cmpuint(node, ==, 0);
	g_assert_cmpuint(read.call, ==, call_at(&t, SERVER, 40));
	g_assert_cmpuint(file, ==, dtc_history_copy_call(t.history, read.call).file);
	g_assert_true(dtc_links_find_datagram_write(links, 0, read, &node, &write));
	g_assert_cmpuint(write.call, ==, call_at(&t, CLIENT, 12));
	/* nobody is seen to read the answer to the first one; the server has one question at a time */
	g_assert_true(dtc_links_find_datagram_read(links, 0, one_at(&t, SERVER, 35), &node, &file, &read));
	g_assert_cmpuint(read.call, ==, DTC_NONE);
	g_assert_cmpuint(dtc_links_find_datagram_answer(links, 0, write.call), ==, call_at(&t, CLIENT, 70));
	clear(&t);
}

/* What came before the socket was seen to be empty was dropped on the way. So are other lengths. */
static void test_dropped(void)
{
	struct told t;
	begin(&t);
	story_sends(&t.story, 10, 1, 5, A, PORT, 40, NULL);
	story_takes(&t.story, 3000, 0, FD, -EAGAIN);
	story_sends(&t.story, 3010, 1, 5, A, PORT, 40, NULL);
	story_takes(&t.story, 3020, 0, FD, 40);
	story_sends(&t.story, 3030, 1, 5, A, PORT, 41, NULL);
	story_sends(&t.story, 3040, 1, 5, A, PORT, 42, NULL);
	story_takes(&t.story, 3050, 0, FD, 42);
	story_takes(&t.story, 3060, 0, FD, 43);
	story_sends(&t.story, 3070, 0, FD, PORT, A, 60, NULL);
	end(&t);
	g_assert_cmpint(taken_us(&t, SERVER, 3020), ==, 3010);
	g_assert_cmpint(taken_us(&t, SERVER, 3050), ==, 3040);
	g_assert_cmpint(taken_us(&t, SERVER, 3060), ==, -1);
	clear(&t);
}

static void waits(struct story *s, int64_t us, uint32_t cpu, int tid, const char *comm)
{
	story_enter(s, us * US, cpu, "recvfrom", FD);
	story_switch(s, us * US + 500, cpu, tid, comm, SLEEP, 0, "swapper");
}

static void goes_on(struct story *s, int64_t us, uint32_t cpu, int tid, const char *comm, int64_t result)
{
	story_switch(s, us * US, cpu, 0, "swapper", RUN, tid, comm);
	story_leave(s, (us + 1) * US, cpu, "recvfrom", result);
}

/*
 * A pool on one socket, whose first worker slept in a read when the trace began: it took the first question with that,
 * and no later read did. The one that was woken first gets a CPU last, and has what the last one had been woken for.
 */
static void test_pool(void)
{
	static const struct story_woken server = { SERVER, "server", 0 }, worker = { WORKER, "server", 2 },
					third = { THIRD, "server", 3 };
	struct told t;
	struct story *s = &t.story;
	story_begin(s, "n");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, CLIENT, "client");
	story_fork(s, 2, 3, 1, 1, WORKER, SERVER, "server");
	story_fork(s, 2, 3, 1, SERVER, THIRD, SERVER, "server");
	story_switch(s, 3, 2, 0, "swapper/2", RUN, WORKER, "server");
	story_switch(s, 4, 2, WORKER, "server", SLEEP, 0, "swapper/2");
	story_switch(s, 5, 0, 0, "swapper/0", RUN, SERVER, "server");
	waits(s, 5, 0, SERVER, "server");
	story_switch(s, 5 * US + 600, 3, 0, "swapper/3", RUN, THIRD, "server");
	waits(s, 6, 3, THIRD, "server");
	story_sends(s, 10, 1, 5, A, PORT, 40, &worker);
	story_switch(s, 12 * US, 2, 0, "swapper/2", RUN, WORKER, "server");
	story_leave(s, 13 * US, 2, "recvfrom", 40);
	story_sends(s, 14, 2, FD, PORT, A, 40, NULL);
	waits(s, 16, 2, WORKER, "server");
	story_sends(s, 20, 1, 5, A, PORT, 40, &server);
	story_sends(s, 30, 1, 6, B, PORT, 40, &worker);
	goes_on(s, 32, 2, WORKER, "server", 40);
	story_sends(s, 34, 1, 6, B, PORT, 40, &third);
	goes_on(s, 36, 3, THIRD, "server", 40);
	goes_on(s, 40, 0, SERVER, "server", 40);
	waits(s, 50, 0, SERVER, "server");
	story_sends(s, 60, 1, 6, B, PORT, 40, &server);
	goes_on(s, 62, 0, SERVER, "server", 40);
	end(&t);
	g_assert_cmpint(taken_us(&t, WORKER, 16), ==, 20);
	g_assert_cmpint(taken_us(&t, THIRD, 6), ==, 30);
	g_assert_cmpint(taken_us(&t, SERVER, 5), ==, 34);
	g_assert_cmpint(taken_us(&t, SERVER, 50), ==, 60);
	clear(&t);
}

/* Two sockets on one port (SO_REUSEPORT): each has the flows by which it answers; and what is nobody's is not told. */
static void test_shared_port(void)
{
	struct told t;
	begin(&t);
	story_switch(&t.story, 2, 2, 0, "swapper/2", RUN, WORKER, "other");
	story_sends(&t.story, 10, 1, 5, A, PORT, 40, NULL);
	story_takes(&t.story, 12, 0, FD, 40);
	story_sends(&t.story, 14, 0, FD, PORT, A, 40, NULL);
	story_sends(&t.story, 20, 1, 6, B, PORT, 40, NULL);
	story_takes(&t.story, 22, 2, FD, 40);
	story_sends(&t.story, 24, 2, FD, PORT, B, 40, NULL);
	story_sends(&t.story, 30, 1, 7, 4003, PORT, 40, NULL); /* to the second one */
	story_sends(&t.story, 31, 1, 8, 4004, PORT, 40, NULL); /* to either */
	story_takes(&t.story, 40, 2, FD, 40);
	story_sends(&t.story, 42, 2, FD, PORT, 4003, 40, NULL);
	story_takes(&t.story, 44, 0, FD, 40);
	story_takes(&t.story, 46, 2, FD, -EAGAIN);
	end(&t);
	g_assert_cmpint(taken_us(&t, SERVER, 12), ==, 10);
	g_assert_cmpint(taken_us(&t, WORKER, 22), ==, 20);
	g_assert_cmpint(taken_us(&t, WORKER, 40), ==, 30);
	g_assert_cmpint(taken_us(&t, SERVER, 44), ==, -1);
	clear(&t);
}

/* A call that moves several, in which these leave and come; what it returns is how many. */
static void sends_to(struct story *s, int64_t us, uint32_t cpu, const uint16_t *ports, guint count)
{
	story_enter(s, us * US, cpu, "sendmmsg", FD);
	for (guint i = 0; i < count; i++) {
		struct dtc_headers h = story_datagram_headers(PORT, ports[i], 60);
		story_packet(s, DTC_EVENT_NET_SEND, us * US + 100 + 50 * i, cpu, &h);
		story_datagram_comes(s, us * US + 110 + 50 * i, cpu, PORT, ports[i], 60, NULL);
	}
	story_leave(s, (us + 1) * US, cpu, "sendmmsg", count);
}

static void takes_several(struct story *s, int64_t us, uint32_t cpu, int64_t result)
{
	story_enter(s, us * US, cpu, "recvmmsg", FD);
	story_leave(s, (us + 1) * US, cpu, "recvmmsg", result);
}

/* One call takes what lies in the socket, whatever its length; the next one finds nothing. One call answers both. */
static void test_several(void)
{
	static const uint16_t ports[] = { B, A };
	struct told t;
	begin(&t);
	story_sends(&t.story, 10, 1, 5, A, PORT, 40, NULL);
	story_sends(&t.story, 12, 1, 6, B, PORT, 44, NULL);
	takes_several(&t.story, 30, 0, 2);
	takes_several(&t.story, 32, 0, -EAGAIN);
	sends_to(&t.story, 40, 0, ports, 2);
	story_takes(&t.story, 50, 1, 5, 60);
	story_takes(&t.story, 52, 1, 6, 60);
	story_sends(&t.story, 60, 1, 5, A, PORT, 40, NULL);
	takes_several(&t.story, 70, 0, 1);
	end(&t);
	g_assert_cmpint(taken_of_us(&t, SERVER, 30, 1), ==, 10);
	g_assert_cmpint(taken_of_us(&t, SERVER, 30, 2), ==, 12);
	g_assert_cmpint(taken_us(&t, SERVER, 32), ==, -1);
	g_assert_cmpint(taken_us(&t, SERVER, 70), ==, 60);

	static const char *const names[] = { "n" };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &t.history, clocks);
	struct dtc_datagram read, write;
	uint32_t file;
	guint node;
	g_assert_true(dtc_links_find_datagram_read(links, 0, one_at(&t, CLIENT, 12), &node, &file, &read));
	g_assert_cmpuint(read.call, ==, call_at(&t, SERVER, 30));
	g_assert_cmpuint(read.number, ==, 2);
	g_assert_true(dtc_links_find_datagram_read(links, 0, number_at(&t, SERVER, 40, 2), &node, &file, &read));
	g_assert_cmpuint(read.call, ==, call_at(&t, CLIENT, 50));
	g_assert_true(dtc_links_find_datagram_write(links, 0, one_at(&t, CLIENT, 52), &node, &write));
	g_assert_cmpuint(write.call, ==, call_at(&t, SERVER, 40));
	g_assert_cmpuint(write.number, ==, 1);
	/* for which of the two it answers nothing but the peer tells */
	g_assert_cmpuint(dtc_links_find_datagram_answer(links, 0, call_at(&t, CLIENT, 12)), ==, DTC_NONE);
	clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/edge/datagrams/queued", test_queued);
	g_test_add_func("/edge/datagrams/ways", test_ways);
	g_test_add_func("/edge/datagrams/dropped", test_dropped);
	g_test_add_func("/edge/datagrams/pool", test_pool);
	g_test_add_func("/edge/datagrams/shared-port", test_shared_port);
	g_test_add_func("/edge/datagrams/several", test_several);
	return g_test_run();
}
