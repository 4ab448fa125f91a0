/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The demo's events as one list: in order, filtered, stopped early; and which events name a thread. */
#include "analyze/engine/event_list.h"

#include "analyze/engine/event_fields.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"
#include "tests/support/demo.h"

#include <string.h>

struct fixture {
	DtcBundle *bundle;
	DtcClocks *clocks;
	DtcFindings *findings;
};

/* Some nodes of the demo, on clocks that say nothing (each node's own time is cluster time). */
static void fixture_open(struct fixture *f, const char *const *nodes)
{
	g_autoptr(GError) error = NULL;

	f->bundle = demo_open();
	g_assert_true(dtc_bundle_select(f->bundle, nodes, &error));
	f->clocks = dtc_clocks_new_identity(dtc_bundle_get_count(f->bundle));
	f->findings = dtc_findings_new();
}

static void fixture_close(struct fixture *f)
{
	dtc_findings_free(f->findings);
	dtc_clocks_free(f->clocks);
	dtc_bundle_free(f->bundle);
}

static guint list_all(struct fixture *f, const struct dtc_event_filter *filter)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcEventList) list = dtc_event_list_new(f->bundle, f->clocks, filter, f->findings, &error);
	const struct dtc_event_line *line;
	int64_t last_ns = INT64_MIN;
	guint count = 0;

	g_assert_no_error(error);
	while ((line = dtc_event_list_next(list))) {
		g_assert_cmpint(line->time.ns, >=, last_ns);
		last_ns = line->time.ns;
		count++;
	}
	g_assert_null(dtc_event_list_next(list));
	g_assert_true(dtc_event_list_finish(list, &error));
	g_assert_no_error(error);
	return count;
}

static guint count_events(const DtcBundle *bundle)
{
	guint count = 0;

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcReader) reader = dtc_reader_open(node->name, node->kernel_path, &error);
		g_assert_no_error(error);
		while (dtc_reader_next(reader))
			count++;
	}
	return count;
}

static void test_all(void)
{
	static const char *const nodes[] = { "backend", "web", NULL };
	const struct dtc_event_filter all = { .tid = -1 }, some = { .tid = -1, .kinds = "sched_switch, irq_*" };
	const struct dtc_event_filter second = { .tid = -1, .from = "+1s", .to = "+2s" };
	struct fixture f;

	fixture_open(&f, nodes);
	guint count = count_events(f.bundle);
	g_assert_cmpuint(list_all(&f, &all), ==, count);
	guint some_count = list_all(&f, &some), second_count = list_all(&f, &second);
	g_assert_cmpuint(some_count, >, 1000);
	g_assert_cmpuint(some_count, <, count);
	g_assert_cmpuint(second_count, >, 0);
	g_assert_cmpuint(second_count, <, count);
	fixture_close(&f);
}

/* Every event of a thread is one that it ran at or that names it, and it is known to run where it was switched in. */
static void test_thread(void)
{
	static const char *const nodes[] = { "backend", NULL };
	const struct dtc_event_filter filter = { .tid = 275 }; /* of req-0069, clusters/demo/ground-truth.json */
	g_autoptr(GError) error = NULL;
	const struct dtc_event_line *line;
	guint running_count = 0, named_count = 0;
	struct fixture f;

	fixture_open(&f, nodes);
	g_autoptr(DtcEventList) list = dtc_event_list_new(f.bundle, f.clocks, &filter, f.findings, &error);
	g_assert_no_error(error);
	while ((line = dtc_event_list_next(list))) {
		bool is_named = dtc_event_names_thread(line->event, 275);
		g_assert_true(is_named || line->tid == 275);
		if (line->tid == 275) /* it names itself soon after it was born */
			g_assert_true(strcmp(line->comm, "labsrv") == 0 || strcmp(line->comm, "lab-worker") == 0);
		running_count += line->tid == 275;
		named_count += is_named;
	}
	g_assert_true(dtc_event_list_finish(list, &error));
	g_assert_cmpuint(running_count, >, 10);
	g_assert_cmpuint(named_count, >, 2);
	g_clear_pointer(&list, dtc_event_list_free);
	fixture_close(&f);
}

static void test_early_end(void)
{
	static const char *const nodes[] = { "web", NULL };
	const struct dtc_event_filter all = { .tid = -1 }, none = { .tid = -1, .kinds = "sched_swich" };
	const struct dtc_event_filter reversed = { .tid = -1, .from = "+2s", .to = "+1s" };
	g_autoptr(GError) error = NULL;
	struct fixture f;

	fixture_open(&f, nodes);
	g_autoptr(DtcEventList) list = dtc_event_list_new(f.bundle, f.clocks, &all, f.findings, &error);
	g_assert_nonnull(dtc_event_list_next(list));
	g_assert_true(dtc_event_list_finish(list, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_findings_get_count(f.findings), ==, 0);

	g_autoptr(DtcEventList) misspelt = dtc_event_list_new(f.bundle, f.clocks, &none, f.findings, &error);
	g_assert_null(dtc_event_list_next(misspelt));
	g_assert_false(dtc_event_list_finish(misspelt, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, "did you mean 'sched_switch'"));
	g_clear_error(&error);

	g_assert_null(dtc_event_list_new(f.bundle, f.clocks, &reversed, f.findings, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_clear_pointer(&list, dtc_event_list_free);
	g_clear_pointer(&misspelt, dtc_event_list_free);
	fixture_close(&f);
}

static void test_names(void)
{
	struct dtc_event event = { .kind = DTC_EVENT_SCHED_SWITCH, .name = UINT16_MAX };

	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		event.v[i] = DTC_ABSENT;
	event.v[DTC_SWITCH_PREV_TID] = 10;
	event.v[DTC_SWITCH_NEXT_TID] = 11;
	event.v[DTC_SWITCH_PREV_PRIO] = 20;

	g_assert_true(dtc_event_names_thread(&event, 10));
	g_assert_true(dtc_event_names_thread(&event, 11));
	g_assert_false(dtc_event_names_thread(&event, 20)); /* a priority */
	event.kind = DTC_EVENT_OTHER;
	g_assert_false(dtc_event_names_thread(&event, 10));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/event-list/all", test_all);
	g_test_add_func("/engine/event-list/thread", test_thread);
	g_test_add_func("/engine/event-list/early-end", test_early_end);
	g_test_add_func("/engine/event-list/names", test_names);
	return g_test_run();
}
