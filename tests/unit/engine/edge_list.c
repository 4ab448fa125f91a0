/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every wake once, whether it ended a wait or not, in the order of time; and what of all that a part holds. */
#include "analyze/engine/edge_list.h"
#include "sync/fit/clocks.h"
#include "tests/support/event_loop.h"
#include "tests/support/made_guest.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define END 1000

struct made {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcEdges *edges;
	struct dtc_edge_part part;
};

/*
 * 10 is forked by 11, sleeps until 100 (a timer), until 200 (11) and from 400 on; at 300 11 wakes it before it is off
 * its CPU, so that there is no wait. A kernel worker (12) executes at 120 what 11 queued at 110.
 */
static void make(struct made *made)
{
	static const char *const names[] = { "n" };
	struct story *s = &made->story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 11, "waker");
	story_fork(s, 5, 0, 11, 11, 10, 11, "sleeper");
	story_task(s, DTC_EVENT_SCHED_WAKEUP_NEW, 6, 0, 10, "sleeper", 1);
	story_switch(s, 10, 1, 0, "swapper/1", RUN, 10, "sleeper");
	story_switch(s, 20, 1, 10, "sleeper", SLEEP, 0, "swapper/1");
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, 100, 1, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, 100, 1, 10, "sleeper", 1);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, 101, 1, 1, NULL);
	story_switch(s, 102, 1, 0, "swapper/1", RUN, 10, "sleeper");
	story_work(s, DTC_EVENT_WORK_QUEUE, 110, 0, 0x77);
	story_switch(s, 115, 2, 0, "swapper/2", RUN, 12, "kworker/2:1");
	story_work(s, DTC_EVENT_WORK_START, 120, 2, 0x77);
	story_work(s, DTC_EVENT_WORK_END, 125, 2, 0x77);
	story_switch(s, 150, 1, 10, "sleeper", SLEEP, 0, "swapper/1");
	story_task(s, DTC_EVENT_SCHED_WAKING, 200, 0, 10, "sleeper", 1);
	story_switch(s, 201, 1, 0, "swapper/1", RUN, 10, "sleeper");
	story_task(s, DTC_EVENT_SCHED_WAKING, 300, 0, 10, "sleeper", 1);
	story_switch(s, 310, 1, 10, "sleeper", SLEEP, 0, "swapper/1");
	story_switch(s, 320, 1, 0, "swapper/1", RUN, 10, "sleeper");
	story_switch(s, 400, 1, 10, "sleeper", SLEEP, 0, "swapper/1");
	story_switch(s, END, 0, 11, "waker", RUN, 0, "swapper/0");
	made->history = story_end(s);
	made->clocks = dtc_clocks_new_identity(1);
	made->links = dtc_links_new(1, names, &made->history, made->clocks);
	made->edges = dtc_edges_new(made->links);
	made->part = (struct dtc_edge_part){ .end = { END } };
}

static void made_clear(struct made *made)
{
	g_free(made->part.threads);
	dtc_edges_free(made->edges);
	dtc_links_free(made->links);
	dtc_clocks_free(made->clocks);
	story_clear(&made->story);
}

struct expected {
	enum dtc_edge_item_kind kind;
	enum dtc_edge_kind by;
	int tid;
	int64_t begin_ns;
	int64_t end_ns;
	int from_tid; /* -1: none */
};

static const struct expected all[] = {
	{ DTC_ITEM_WAKE, DTC_EDGE_FORK, 10, DTC_TIME_NONE, 5, 11 },
	{ DTC_ITEM_WAKE, DTC_EDGE_TIMER, 10, 20, 100, -1 },
	{ DTC_ITEM_WORK, DTC_EDGE_WORK, 12, 110, 120, 11 },
	{ DTC_ITEM_WAKE, DTC_EDGE_THREAD, 10, 150, 200, 11 },
	{ DTC_ITEM_WAKE, DTC_EDGE_THREAD, 10, DTC_TIME_NONE, 300, 11 },
	{ DTC_ITEM_OPEN, DTC_EDGE_UNKNOWN, 10, 400, END, -1 },
};

static int get_tid(const struct made *made, uint32_t thread)
{
	return thread == DTC_NONE ? -1 : dtc_history_get_thread(made->history, thread)->tid;
}

/* The list is just these. */
static void assert_list(const struct made *made, const struct expected *expected, guint count)
{
	g_autoptr(DtcEdgeList) list = dtc_edge_list_new(made->edges, &made->part, NULL);

	for (guint i = 0; i < count; i++) {
		const struct dtc_edge_item *item = dtc_edge_list_next(list);
		g_assert_nonnull(item);
		g_assert_cmpint(item->edge.end_ns, ==, expected[i].end_ns);
		g_assert_cmpint(item->kind, ==, expected[i].kind);
		g_assert_cmpint(item->edge.kind, ==, expected[i].by);
		g_assert_cmpint(item->edge.begin_ns, ==, expected[i].begin_ns);
		g_assert_cmpint(get_tid(made, item->edge.thread), ==, expected[i].tid);
		g_assert_cmpint(get_tid(made, item->edge.from_thread), ==, expected[i].from_tid);
		g_assert_true(item->has_wait ? item->wait.begin_ns == item->edge.begin_ns
					     : item->kind == DTC_ITEM_WORK || item->edge.begin_ns == DTC_TIME_NONE);
	}
	g_assert_null(dtc_edge_list_next(list));
}

static void test_all(void)
{
	struct made made = { 0 };
	guint wakes = 0;

	make(&made);
	assert_list(&made, all, G_N_ELEMENTS(all));
	g_autoptr(DtcEdgeList) list = dtc_edge_list_new(made.edges, &made.part, NULL);
	for (const struct dtc_edge_item *item; (item = dtc_edge_list_next(list));)
		wakes += item->kind == DTC_ITEM_WAKE;
	g_assert_cmpuint(wakes, ==, dtc_history_get_wake_count(made.history));
	made_clear(&made);
}

/* Both ends belong to the span; a wait that its end cuts is told whole, with what ended it. */
static void test_span(void)
{
	struct made made = { 0 };

	make(&made);
	made.part = (struct dtc_edge_part){ .begin = { 100 }, .end = { 160 } };
	assert_list(&made, all + 1, 3);
	made.part = (struct dtc_edge_part){ .begin = { 120 }, .end = { 120 } };
	assert_list(&made, all + 2, 1);
	made.part = (struct dtc_edge_part){ .begin = { 500 }, .end = { 600 } };
	assert_list(&made, all + 5, 1);
	made.part = (struct dtc_edge_part){ .begin = { 0 }, .end = { -1 } };
	assert_list(&made, NULL, 0);
	made_clear(&made);
}

static void test_thread(void)
{
	struct made made = { 0 };

	make(&made);
	made.part.threads = g_new0(uint8_t, dtc_history_get_thread_count(made.history) + 1);
	made.part.threads[dtc_history_find_thread(made.history, 12, DTC_TIME_NONE)] = true;
	assert_list(&made, all + 2, 1);
	made_clear(&made);
}

/* What is put in by hand is listed, too. */
static void test_put(void)
{
	struct made made = { 0 };

	make(&made);
	struct dtc_edge edge = { .kind = DTC_EDGE_THREAD,
				 .link = DTC_LINK_INFERRED,
				 .thread = dtc_history_find_thread(made.history, 10, DTC_TIME_NONE),
				 .begin_ns = 20,
				 .end_ns = 100,
				 .from_thread = dtc_history_find_thread(made.history, 12, DTC_TIME_NONE),
				 .from_ns = 100,
				 .wake = DTC_NONE,
				 .block_request = DTC_NONE };
	dtc_edges_put(made.edges, &edge);
	const struct expected expected = { DTC_ITEM_WAKE, DTC_EDGE_THREAD, 10, 20, 100, 12 };
	made.part = (struct dtc_edge_part){ .begin = { 90 }, .end = { 110 } };
	assert_list(&made, &expected, 1);
	made_clear(&made);
}

/* The entries of a vCPU lead to who has the guest's CPU then, and their times are the guest's. */
static void test_guest(void)
{
	static const char *const names[] = { "host", "guest" };
	static const int64_t shifts[] = { 0, 5000000 };
	static const struct made_vcpu vcpu = { 32, 30, "qemu", 0 };
	struct made_guest guest = { .state = 1, .shift = shifts[1], .cpu_count = 1 };
	struct story host;
	g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(struct made_event));

	made_stays(&guest, 0, 0, 1000, events);
	const DtcHistory *histories[] = { made_tell_host(&host, &vcpu, 1, events), made_tell_guest(&guest, "guest") };
	g_autoptr(DtcClocks) clocks = made_guest_clocks(shifts, 2, 10);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_guests_input input = { 2, names, histories, clocks, NULL };
	g_autoptr(DtcGuests) guests = dtc_guests_find(&input, findings);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	dtc_links_set_guests(links, guests);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	struct dtc_edge_part parts[] = {
		{ .end = { -1 } },
		{ { dtc_history_get_begin_ns(histories[1]) }, { dtc_history_get_end_ns(histories[1]) }, NULL }
	};
	g_autoptr(DtcEdgeList) list = dtc_edge_list_new(edges, parts, NULL);
	guint count = 0;
	int64_t last_left_ns = DTC_TIME_NONE;
	for (const struct dtc_edge_item *item; (item = dtc_edge_list_next(list));) {
		if (item->kind != DTC_ITEM_VCPU)
			continue;
		const struct dtc_edge *edge = &item->edge;
		g_assert_cmpuint(edge->from_node, ==, 0);
		g_assert_cmpint(dtc_history_get_thread(histories[0], edge->from_thread)->tid, ==, 32);
		g_assert_cmpint(edge->from_ns, ==, item->entry.span->entry_ns);
		g_assert_cmpuint(edge->node, ==, 1);
		g_assert_cmpint(edge->end_ns, ==, edge->from_ns + shifts[1]);
		g_assert_cmpint(edge->uncertainty_ns, >, 0);
		if (count)
			g_assert_cmpint(edge->begin_ns, ==, last_left_ns + shifts[1]);
		last_left_ns = item->entry.span->left_ns;
		count++;
	}
	g_assert_cmpuint(count, >=, MADE_TURNS - 1); /* the first one comes before the guest's first event */
	g_assert_cmpuint(count, <=, MADE_TURNS);
	story_clear(&host);
	made_guest_clear(&guest);
}

/* The spans of work of all threads that served, each once; and those that overlap a span. */
static void test_served(void)
{
	static const char *const names[] = { "node" };
	struct event_loop e;
	event_loop_begin(&e);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, e.histories, e.clocks);
	g_autoptr(DtcServing) serving = dtc_serving_new(links);
	for (guint request = X; request <= Y; request++) {
		struct dtc_place *place = event_loop_place(&e, request);
		dtc_serving_add(serving, request, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	struct dtc_edge_part part = { .end = { dtc_history_get_end_ns(e.histories[0]) } };

	guint expected = 0, found = 0, count;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(e.histories[0]); i++) {
		dtc_serving_get(serving, 0, i, &count);
		expected += count;
	}
	g_autoptr(DtcEdgeList) list = dtc_edge_list_new(edges, &part, serving);
	for (const struct dtc_edge_item *item; (item = dtc_edge_list_next(list));) {
		if (item->kind != DTC_ITEM_SERVED)
			continue;
		found++;
		g_assert_cmpint(item->edge.begin_ns, ==, item->served->begin_ns);
		g_assert_cmpint(item->edge.end_ns, ==, item->served->end_ns);
		/* the database is known by the bytes that went to it, and by no capture */
		bool is_sure = item->edge.thread == e.loop && !item->served->leads;
		g_assert_cmpint(item->edge.link, ==, is_sure ? DTC_LINK_EXACT : DTC_LINK_INFERRED);
	}
	g_assert_cmpuint(found, ==, expected);
	g_assert_cmpuint(found, >, 2);

	const struct dtc_served *first = dtc_serving_get(serving, 0, e.loop, &count);
	part.begin.ns = part.end.ns = first->begin_ns + 1;
	g_autoptr(DtcEdgeList) instant = dtc_edge_list_new(edges, &part, serving);
	guint at_once = 0;
	for (const struct dtc_edge_item *item; (item = dtc_edge_list_next(instant));)
		if (item->kind == DTC_ITEM_SERVED && item->edge.thread == e.loop) {
			g_assert_true(item->served == first);
			at_once++;
		}
	g_assert_cmpuint(at_once, ==, 1);
	event_loop_clear(&e);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/edge_list/all", test_all);
	g_test_add_func("/edge_list/span", test_span);
	g_test_add_func("/edge_list/thread", test_thread);
	g_test_add_func("/edge_list/put", test_put);
	g_test_add_func("/edge_list/guest", test_guest);
	g_test_add_func("/edge_list/served", test_served);
	return g_test_run();
}
