/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lanes and clock quality of the demo: what the headers promise, with and without limits. */
#include "analyze/report/lanes.h"
#include "analyze/report/report_of.h"
#include "tests/support/demo.h"

#include <string.h>

struct answer {
	DtcBundle *bundle;
	DtcFindings *findings;
	DtcEngine *engine;
	DtcPath *path;
	DtcReport *report;
};

/* The thread with the most intervals on the first node that has a history, over its whole life. */
static void answer_init(struct answer *answer)
{
	g_autoptr(GError) error = NULL;
	const struct dtc_engine_options engine_options = { 0 };
	const struct dtc_path_options path_options = { 0 };
	struct dtc_question question = { .target = { .thread = DTC_NONE } };
	uint32_t most = 0;

	answer->findings = dtc_findings_new();
	answer->bundle = demo_open();
	answer->engine = dtc_engine_new(answer->bundle, &engine_options, NULL, answer->findings, &error);
	g_assert_no_error(error);
	for (guint node = 0; node < dtc_engine_get_node_count(answer->engine); node++) {
		const DtcHistory *history = dtc_engine_get_history(answer->engine, node);
		for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
			const struct dtc_thread *thread = dtc_history_get_thread(history, i);
			if (thread->is_kernel || thread->idle_cpu >= 0 || thread->interval_count <= most)
				continue;
			const DtcClocks *clocks = dtc_engine_get_clocks(answer->engine);
			most = thread->interval_count;
			question.target.node = node;
			question.target.thread = i;
			question.target.begin = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ thread->begin_ns });
			question.target.end = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ thread->end_ns });
		}
	}
	g_assert_cmpuint(question.target.thread, !=, DTC_NONE);
	question.target.call = DTC_NONE;
	answer->path = dtc_question_answer(&question, answer->engine, &path_options, answer->findings, &error);
	g_assert_no_error(error);
	answer->report = dtc_report_of(answer->engine, &question, answer->path, answer->findings, &error);
	g_assert_no_error(error);
}

static void answer_clear(struct answer *answer)
{
	dtc_report_free(answer->report);
	dtc_path_free(answer->path);
	dtc_engine_free(answer->engine);
	dtc_findings_free(answer->findings);
	dtc_bundle_free(answer->bundle);
}

static const struct dtc_lane *get_lane(const DtcLanes *lanes, guint index)
{
	return &g_array_index(lanes->lanes, struct dtc_lane, index);
}

static void check_lanes(const struct answer *answer, const DtcLanes *lanes, const struct dtc_lanes_options *options)
{
	const DtcReport *report = answer->report;
	g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal);
	guint bar_count = 0;

	g_assert_cmpint(lanes->begin_ns, <=, report->begin_ns);
	g_assert_cmpint(lanes->end_ns, >=, report->end_ns);
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const struct dtc_lane *lane = get_lane(lanes, i);
		int64_t at_ns = lanes->begin_ns - 1000000; /* a clock's map may cut the window's edge by a little */
		/* lanes of one node stand together */
		if (!i || strcmp(get_lane(lanes, i - 1)->node, lane->node) != 0)
			g_assert_true(g_hash_table_add(nodes, (char *)lane->node));
		g_assert_nonnull(lane->process);
		g_assert_cmpuint(lane->bar_first, ==, bar_count);
		for (guint j = lane->bar_first; j < lane->bar_first + lane->bar_count; j++) {
			const struct dtc_lane_bar *bar = &g_array_index(lanes->bars, struct dtc_lane_bar, j);
			g_assert_cmpint(bar->begin_ns, >=, at_ns);
			g_assert_cmpint(bar->end_ns, >, bar->begin_ns);
			g_assert_cmpuint(bar->interval_count, >, 0);
			g_assert_cmpuint(bar->cause, <, DTC_CAUSES);
			if (bar->interval_count > 1)
				g_assert_cmpint(lanes->merged_ns, >, 0);
			at_ns = bar->end_ns;
		}
		bar_count += lane->bar_count;
	}
	g_assert_cmpuint(bar_count, ==, lanes->bars->len);
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		const struct dtc_lane *lane = get_lane(lanes, lanes->step_lanes[i]);
		g_assert_cmpuint(lanes->step_lanes[i], <, lanes->lanes->len);
		g_assert_cmpstr(lane->node, ==, step->who.node);
		g_assert_true(lane->on_path);
		if (lane->comm)
			g_assert_cmpint(lane->tid, ==, step->who.tid);
	}
	for (guint i = 0; i < report->blockings->len; i++) {
		const struct dtc_report_blocking *b = DTC_AT(report->blockings, struct dtc_report_blocking, i);
		const struct dtc_lane *lane = get_lane(lanes, lanes->blocking_lanes[i]);
		g_assert_cmpstr(lane->node, ==, b->who.node);
		if (lane->comm)
			g_assert_cmpint(lane->tid, ==, b->who.tid);
	}
	guint others = 0;
	for (guint i = 0; i < lanes->messages->len; i++) {
		const struct dtc_lane_message *m = &g_array_index(lanes->messages, struct dtc_lane_message, i);
		g_assert_cmpuint(m->from_lane, <, lanes->lanes->len);
		g_assert_cmpuint(m->to_lane, <, lanes->lanes->len);
		g_assert_cmpint(m->received_ns, >=, m->sent_ns);
		others += m->step == G_MAXUINT;
	}
	g_assert_cmpuint(others, <=, options->max_messages);
}

static guint count_own_lanes(const DtcLanes *lanes)
{
	guint count = 0;

	for (guint i = 0; i < lanes->lanes->len; i++)
		count += strcmp(get_lane(lanes, i)->process, "other threads") != 0;
	return count;
}

/* Every interval of the target within its own span has a bar of the same length, and the bars of a wait say why. */
static void check_whole(const struct answer *answer, const DtcLanes *lanes)
{
	const DtcReport *report = answer->report;

	for (guint i = 0; i < lanes->lanes->len; i++) {
		const struct dtc_lane *lane = get_lane(lanes, i);
		if (lane->tid != report->target.tid || strcmp(lane->node, report->target.node) != 0)
			continue;
		int64_t sum_ns = 0;
		for (guint j = lane->bar_first; j < lane->bar_first + lane->bar_count; j++) {
			const struct dtc_lane_bar *bar = &g_array_index(lanes->bars, struct dtc_lane_bar, j);
			sum_ns += MIN(bar->end_ns, report->end_ns) - MAX(bar->begin_ns, report->begin_ns);
		}
		/* bars have no gaps while the thread lives; it may be dead at the end */
		g_assert_cmpint(sum_ns, <=, report->duration_ns);
		g_assert_cmpint(sum_ns, >, report->duration_ns / 2);
		return;
	}
	g_error("the target has no lane");
}

static void test_lanes(void)
{
	static const struct dtc_lanes_options limits[] = {
		{ .max_lanes = 1000, .max_bars = 10000000, .max_messages = 100000 },
		{ .max_lanes = 3, .max_bars = 200, .max_messages = 5 },
		{ .max_lanes = 0, .max_bars = 0, .max_messages = 0 },
	};
	struct answer answer;

	answer_init(&answer);
	for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autoptr(DtcLanes) lanes =
			dtc_lanes_new(answer.report, answer.path, dtc_engine_get_links(answer.engine), &limits[i]);
		check_lanes(&answer, lanes, &limits[i]);
		g_assert_cmpuint(count_own_lanes(lanes), <=, limits[i].max_lanes);
		if (i == 0) {
			g_assert_cmpint(lanes->merged_ns, ==, 0);
			g_assert_cmpuint(lanes->messages_left_out, ==, 0);
			g_assert_cmpuint(lanes->lanes->len, >, 3);
			g_assert_cmpuint(lanes->bars->len, >, 200);
			g_assert_cmpuint(lanes->messages->len, >, 5);
			check_whole(&answer, lanes);
		} else if (i == 1) {
			g_assert_cmpuint(lanes->bars->len, <=, limits[i].max_bars);
			g_assert_cmpint(lanes->merged_ns, >, 0);
			g_assert_cmpuint(lanes->messages_left_out, >, 0);
		}
	}
	answer_clear(&answer);
}

/* No message is faster than light: none of the fastest contradicts the clocks by more than they are certified to. */
static void test_quality(void)
{
	struct answer answer;

	answer_init(&answer);
	g_autoptr(DtcQuality) quality = dtc_quality_of(answer.engine, (DtcClusterTime){ answer.report->begin_ns });
	g_assert_cmpuint(quality->nodes->len, ==, dtc_engine_get_node_count(answer.engine));
	g_assert_cmpuint(quality->pairs->len, >, 0);
	for (guint i = 0; i < quality->pairs->len; i++) {
		const struct dtc_quality_pair *pair = &g_array_index(quality->pairs, struct dtc_quality_pair, i);
		guint back = 0;
		g_assert_cmpint(pair->status, ==, DTC_PAIR_ALIGNED);
		g_assert_cmpuint(pair->point_count, >, 10);
		g_assert_cmpuint(pair->width_count, >, 10);
		for (guint j = pair->point_first; j < pair->point_first + pair->point_count; j++) {
			const struct dtc_quality_point *point =
				&g_array_index(quality->points, struct dtc_quality_point, j);
			back += point->is_back;
			if (!pair->trimmed_count)
				g_assert_cmpint(point->delay_ns, >=, 0);
		}
		g_assert_cmpuint(back, >, 0);
		g_assert_cmpuint(back, <, pair->point_count);
		g_assert_cmpint(pair->uncertainty_ns, >, 0);
		g_assert_cmpint(pair->uncertainty_ns, <, 10000000);
	}
	answer_clear(&answer);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lanes/demo", test_lanes);
	g_test_add_func("/quality/demo", test_quality);
	return g_test_run();
}
