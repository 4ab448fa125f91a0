/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A question about a span of which only that span and a lead are read: on clusters/demo, whose nodes' clocks are 35 and
 * 120 s apart, so that only the packets of a sample tell what to read.
 */
#include "analyze/engine/question.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"
#include "tests/support/demo.h"
#include "tests/support/story.h"

#include <string.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

static DtcEngine *read_window(const DtcBundle *bundle, const struct dtc_window *window, DtcFindings *findings)
{
	const struct dtc_engine_options options = { .reference = "client", .window = window };
	g_autoptr(GError) error = NULL;
	DtcEngine *engine = dtc_engine_new(bundle, &options, NULL, findings, &error);

	g_assert_no_error(error);
	return engine;
}

static bool was_told(const DtcFindings *findings, const char *what)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		if (strstr(dtc_findings_get(findings, i)->text, what))
			return true;
	return false;
}

/* Of a thread's path: how long each cause ruled. */
static void sum_causes(const DtcEngine *engine, const DtcBundle *bundle, const struct dtc_window *window,
		       const char *thread, int64_t *sums_ns)
{
	struct dtc_thread_spec spec = { 0 };
	struct dtc_question question = { 0 };
	const struct dtc_path_options path_options = { 0 };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;

	(void)dtc_thread_spec_parse(thread, bundle, &spec, &error);
	g_assert_no_error(error);
	(void)dtc_question_set_thread(&question, engine, &spec, window->from, window->to, findings, &error);
	g_assert_no_error(error);
	g_autoptr(DtcPath) path = dtc_question_answer(&question, engine, &path_options, findings, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		sums_ns[segment->cause] += segment->end.ns - segment->begin.ns;
	}
	dtc_question_clear(&question);
	dtc_thread_spec_clear(&spec);
}

/* The same causes for as long, but for what clocks with other bounds move between two nodes. */
static void test_same_causes(void)
{
	static const char *const threads[] = { "client:206", "web:134", "backend:138" };
	const struct dtc_window window = { .from = "+6s", .to = "+6.4s", .of = "client", .lead_ns = NS_PER_S };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcFindings) none = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) part = read_window(bundle, &window, findings), whole = read_window(bundle, NULL, none);

	g_assert_true(was_told(findings, "only the span and its --lead were read"));
	g_assert_false(was_told(none, "--lead"));
	for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) {
		int64_t found_ns[DTC_CAUSES] = { 0 }, expected_ns[DTC_CAUSES] = { 0 };
		struct dtc_window of = window;
		of.of = NULL;
		sum_causes(part, bundle, &of, threads[i], found_ns);
		sum_causes(whole, bundle, &of, threads[i], expected_ns);
		for (guint k = 0; k < DTC_CAUSES; k++)
			g_assert_cmpint(ABS(found_ns[k] - expected_ns[k]), <=, NS_PER_S / 2000);
	}
}

/* Fewer calls than of the whole, the same state at the begin of the span, and nothing of what comes behind it. */
static void test_less_is_kept(void)
{
	const struct dtc_window window = { .from = "+6s", .to = "+6.4s", .of = "client", .lead_ns = NS_PER_S };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) part = read_window(bundle, &window, findings);
	g_autoptr(DtcEngine) whole = read_window(bundle, NULL, findings);

	for (guint i = 0; i < dtc_engine_get_node_count(part); i++) {
		const DtcHistory *h = dtc_engine_get_history(part, i), *all = dtc_engine_get_history(whole, i);
		g_assert_cmpint(dtc_history_get_begin_ns(h), ==, dtc_history_get_begin_ns(all));
		g_assert_cmpint(dtc_history_get_end_ns(h), <, dtc_history_get_end_ns(all) - 5 * NS_PER_S);
		g_assert_cmpuint(dtc_history_get_call_count(h) * 2, <, dtc_history_get_call_count(all));
		g_assert_cmpuint(dtc_packets_get_count(dtc_engine_get_capture(part, i)) * 2, <,
				 dtc_packets_get_count(dtc_engine_get_capture(whole, i)));
	}
}

/* Where few packets went: what clocks the span has is not known, and everything is read. */
static void test_too_little(void)
{
	const struct dtc_window window = { .from = "+0.01s", .to = "+0.02s", .of = "client" };
	const struct dtc_window nonsense = { .from = "yesterday" };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcFindings) others = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) part = read_window(bundle, &nonsense, others);
	g_autoptr(DtcEngine) whole = read_window(bundle, NULL, findings);

	g_assert_true(was_told(others, "all of the recording was read in spite of --lead"));
	for (guint i = 0; i < dtc_engine_get_node_count(part); i++)
		g_assert_cmpint(dtc_history_get_end_ns(dtc_engine_get_history(part, i)), ==,
				dtc_history_get_end_ns(dtc_engine_get_history(whole, i)));
	g_clear_pointer(&part, dtc_engine_free);
	part = read_window(bundle, &window, others);
	g_assert_nonnull(part);
}

/* No clock shows times of day: captures show others than traces, and what to read of them cannot be told. */
static void test_unknown_clock(void)
{
	const struct dtc_window_begin begins[] = { { 5 * NS_PER_S, true },
						   { 6 * NS_PER_S, true },
						   { 7 * NS_PER_S, true } };
	const struct dtc_window window = { .from = "+1s" };
	g_autoptr(DtcBundle) bundle = demo_open();

	g_assert_null(dtc_window_find(bundle, &window, begins, NULL));
}

static void test_margins(void)
{
	const int64_t origin_ns = G_GINT64_CONSTANT(1795168587592869804);
	const struct dtc_window_begin begins[] = { { origin_ns + NS_PER_S, true },
						   { origin_ns, true },
						   { origin_ns - NS_PER_S, false } };
	const struct dtc_window window = { .from = "+100s", .to = "+101s", .lead_ns = 2 * NS_PER_S };
	const struct dtc_window open = { .from = "+100s", .of = "backend" };
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autofree struct dtc_window_span *spans = dtc_window_find(bundle, &window, begins, NULL);
	g_autofree struct dtc_window_span *half = dtc_window_find(bundle, &open, begins, NULL);

	for (guint i = 0; i < G_N_ELEMENTS(begins); i++) { /* a second, and a thousandth of what lies between */
		g_assert_cmpint(spans[i].begin_ns, ==, origin_ns + 97 * NS_PER_S - NS_PER_S / 10);
		g_assert_cmpint(spans[i].end_ns, ==, origin_ns + 104 * NS_PER_S + NS_PER_S / 10 + NS_PER_S / 1000);
		g_assert_cmpint(half[i].begin_ns, ==, origin_ns + 100 * NS_PER_S - NS_PER_S / 10 - 1);
		g_assert_cmpint(half[i].end_ns, ==, INT64_MAX);
	}
}

/* The client's clock, of which there is nothing but a capture, is aligned as that of any other. */
static void test_capture_alone(void)
{
	const char *const nodes[] = { "backend", "web", NULL };
	const struct dtc_window window = { .from = "+6s", .to = "+6.4s", .of = "web", .lead_ns = NS_PER_S };
	const struct dtc_engine_options options = { .reference = "web", .window = &window };
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters", "demo", "client.pcap", NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBundle) bundle = demo_open();

	g_assert_true(dtc_bundle_select(bundle, nodes, &error));
	g_assert_true(dtc_bundle_add_node(bundle, "watched", path, &error));
	g_autoptr(DtcEngine) part = dtc_engine_new(bundle, &options, NULL, findings, &error);
	g_assert_no_error(error);
	g_assert_true(was_told(findings, "only the span and its --lead were read"));
	g_assert_true(dtc_findings_get_complete(findings));
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpuint(dtc_clocks_get_group(dtc_engine_get_clocks(part), i), ==, 0);
		g_assert_cmpuint(dtc_packets_get_count(dtc_engine_get_capture(part, i)), >, 0);
	}
}

/* A trace with a few events, from one to another. */
static DtcHistory *make_history(const char *node, int64_t begin_ns, int64_t end_ns)
{
	struct story story;

	story_begin(&story, node);
	story_switch(&story, begin_ns, 0, 0, "swapper/0", 0, 10, "a");
	story_switch(&story, end_ns, 0, 10, "a", 1, 0, "swapper/0");
	DtcHistory *history = story_end(&story);
	story.history = NULL;
	story_clear(&story);
	return history;
}

/*
 * A clock that nobody aligned before turns out to be 3 s ahead, or behind: part of what was asked for was not read,
 * wherever the last event lies that was; or, of a node that said nothing for long, all of it.
 */
static void test_wrong_clock(void)
{
	static const char *const names[] = { "a", "b", NULL };
	const int64_t origin_ns = G_GINT64_CONSTANT(1795168587592869804);
	const struct dtc_window_span span = { origin_ns + 9 * NS_PER_S, origin_ns + 12 * NS_PER_S };
	const struct dtc_window_span spans[] = { span, span };
	const bool are_foreign[] = { false, false };
	const struct dtc_window window = { .from = "+10s", .to = "+11s" };

	for (int ahead_s = -3; ahead_s <= 3; ahead_s++) {
		for (int end_s = 8; end_s <= 12; end_s++) {
			g_autoptr(DtcHistory) a = make_history("a", origin_ns, origin_ns + 12 * NS_PER_S);
			g_autoptr(DtcHistory) b =
				make_history("b", origin_ns + 5 * NS_PER_S, origin_ns + end_s * NS_PER_S);
			const DtcHistory *const histories[] = { a, b };
			g_autoptr(DtcClocks) clocks = dtc_clocks_new(2, 0);
			const struct dtc_window_begin begins[] = { { origin_ns, true },
								   { origin_ns + 5 * NS_PER_S, true } };
			const struct dtc_window_reading reading = { begins, names, histories, are_foreign, clocks };
			const struct dtc_clock_knot own = { origin_ns, origin_ns, origin_ns, origin_ns };
			struct dtc_clock_knot other = own;
			other.node_ns += ahead_s * NS_PER_S;
			dtc_clocks_set_node(clocks, 0, 0, &own, 1, 0);
			dtc_clocks_set_node(clocks, 1, 0, &other, 1, 0);
			g_assert_cmpint(dtc_window_is_enough(&window, spans, &reading), ==, ABS(ahead_s) <= 1);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/window/same-causes", test_same_causes);
	g_test_add_func("/window/less-is-kept", test_less_is_kept);
	g_test_add_func("/window/too-little", test_too_little);
	g_test_add_func("/window/unknown-clock", test_unknown_clock);
	g_test_add_func("/window/margins", test_margins);
	g_test_add_func("/window/capture-alone", test_capture_alone);
	g_test_add_func("/window/wrong-clock", test_wrong_clock);
	return g_test_run();
}
