/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said at the end of a recording. */
#include "collect/record/summary.h"

#include "collect/record/collect.h"

#include <string.h>

static struct dtc_recorder_totals make_totals(void)
{
	return (struct dtc_recorder_totals){
		.begin_ns = 5000000000,
		.end_ns = 15000000000,
		.events = { .events = 2000000, .bytes = 80000000, .cpu_ns = 80000000 },
		.packets = { .packets = 1234, .bytes = 1000000, .cpu_ns = 20000000, .namespaces = 3, .files = 2 },
		.walk = { .processes = 10, .threads = 20, .files = 30 },
		.cpu_ns = 200000000,
		.end = DTC_END_SIGNAL,
	};
}

static char *describe(const struct dtc_recorder_totals *totals, const char *lack)
{
	g_autoptr(GPtrArray) lacks = g_ptr_array_new();

	if (lack)
		g_ptr_array_add(lacks, (char *)lack);
	return dtc_summary_get_end("web1", totals, lacks);
}

static void test_good(void)
{
	const struct dtc_recorder_totals totals = make_totals();
	g_autofree char *text = describe(&totals, NULL);
	g_autofree char *line = dtc_summary_get_line(&totals);

	g_assert_cmpstr(text, ==,
			"recorded 'web1': 10.0 s, 2.0 M events (200 k/s), 81 MB\n"
			"packets:  1234, in 2 of 3 network namespaces\n"
			"seen:     10 processes, 20 threads, 30 open files\n"
			"lost:     nothing\n"
			"cost:     0.20 s of CPU, 2.0 % of one; of it 40 ns an event, 0.02 s for packets\n");
	g_assert_cmpstr(line, ==, "10 s: 2.0 M events (0 lost), 1234 packets (0 dropped), 81 MB written");
	g_assert_false(dtc_summary_is_incomplete(&totals));
}

static void test_bad(void)
{
	struct dtc_recorder_totals totals = make_totals();

	totals.events.lost = 1000000;
	totals.cleaned = 2;
	totals.end = DTC_END_DISK;
	g_autofree char *text = describe(&totals, "events-block=there are none");
	g_assert_nonnull(strstr(text, "stopped early: the disk"));
	g_assert_nonnull(strstr(text, "what 2 crashed recorders had left"));
	g_assert_nonnull(strstr(text, "lost:     1000000 events (50.00 %), 0 packets; larger buffers"));
	g_assert_nonnull(strstr(text, "of it 80 ns an event")); /* of those that were written */
	g_assert_nonnull(strstr(text, "lacking:  events-block: there are none\n"));
	g_assert_true(dtc_summary_is_incomplete(&totals));
}

/* Each alone is enough for exit code 3. */
static void test_incomplete(void)
{
	struct dtc_recorder_totals totals = make_totals();

	totals.packets.dropped = 1;
	g_assert_true(dtc_summary_is_incomplete(&totals));
	totals.packets.dropped = 0;
	totals.events.lost = 1;
	g_assert_true(dtc_summary_is_incomplete(&totals));
	totals.events.lost = 0;
	totals.end = DTC_END_DISK;
	g_assert_true(dtc_summary_is_incomplete(&totals));
	totals.end = DTC_END_TRIGGER;
	totals.packets.is_failed = true;
	g_assert_true(dtc_summary_is_incomplete(&totals));
}

/* One recording of several was not sealed, the last one ended by a full disk: 1, and not the larger 3. */
static void test_worse(void)
{
	static const int codes[] = { 0, DTC_COLLECT_INCOMPLETE, 1 };

	for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
		for (gsize k = 0; k < G_N_ELEMENTS(codes); k++)
			g_assert_cmpint(dtc_collect_get_worse(codes[i], codes[k]), ==, codes[MAX(i, k)]);
}

/* A recording of nothing divides by nothing. */
static void test_empty(void)
{
	const struct dtc_recorder_totals totals = { 0 };
	g_autofree char *text = describe(&totals, NULL);

	g_assert_nonnull(strstr(text, "0.0 s, 0 events (0 k/s), 0.0 MB"));
	g_assert_nonnull(strstr(text, "cost:     0.00 s of CPU, 0.0 % of one\n"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/summary/good", test_good);
	g_test_add_func("/record/summary/bad", test_bad);
	g_test_add_func("/record/summary/incomplete", test_incomplete);
	g_test_add_func("/record/summary/worse", test_worse);
	g_test_add_func("/record/summary/empty", test_empty);
	return g_test_run();
}
