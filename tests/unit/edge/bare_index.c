/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of packets without addresses, which holds all nodes' packets, is made once, whoever asks at the same time.
 * This program brings its own in place of bare.c: one that counts, and takes its time.
 */
#include "analyze/edge/bare.h"
#include "analyze/edge/links.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define ASKERS 4
#define MAKING_US 20000

struct DtcBareSends {
	gint made_count; /* atomic */
};

static DtcBareSends counter;

DtcBareSends *dtc_bare_sends_new(guint node_count, const DtcHistory *const *histories)
{
	(void)node_count;
	(void)histories;
	g_atomic_int_inc(&counter.made_count);
	g_usleep(MAKING_US);
	return &counter;
}

void dtc_bare_sends_free(DtcBareSends *sends)
{
	(void)sends;
}

const struct dtc_bare_send *dtc_bare_sends_find(const DtcBareSends *sends, const struct dtc_packet *received,
						guint *ret_count)
{
	(void)received;
	g_assert_true(sends == &counter);
	*ret_count = 0;
	return NULL;
}

uint32_t dtc_bare_find_answered(const DtcHistory *history, uint32_t sent)
{
	(void)history;
	(void)sent;
	return DTC_NONE;
}

static gpointer ask(gpointer links)
{
	struct dtc_send send;
	g_assert_false(dtc_links_find_send(links, 0, 0, &send));
	return NULL;
}

static void test_made_once(void)
{
	const struct dtc_headers headers = { .protocol = DTC_PROTOCOL_TCP, .tcp_flags = 0x18, .seq = 10, .ack = 50 };
	const char *name = "server";
	struct story s;
	story_begin(&s, name);
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 20, "answers");
	story_packet(&s, DTC_EVENT_INET_IN, 10, 0, &headers);
	const DtcHistory *history = story_end(&s);
	DtcClocks *clocks = dtc_clocks_new_identity(1);
	DtcLinks *links = dtc_links_new(1, &name, &history, clocks);
	GThread *askers[ASKERS];
	for (guint i = 0; i < ASKERS; i++)
		askers[i] = g_thread_new("asker", ask, links);
	for (guint i = 0; i < ASKERS; i++)
		g_thread_join(askers[i]);
	g_assert_cmpint(g_atomic_int_get(&counter.made_count), ==, 1);
	dtc_links_free(links);
	dtc_clocks_free(clocks);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bare-index/made-once", test_made_once);
	return g_test_run();
}
