/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of its own over analyze/engine, without a command line or a report: it opens the demo, asks for a request
 * and finds what was done to it; and it stops the engine wherever it can be stopped.
 */
#include "analyze/engine/all_requests.h"
#include "dtrace-chain/error.h"
#include "tests/support/demo.h"
#include "tests/support/leavings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static DtcEngine *read_demo(const DtcBundle *bundle, DtcFindings *findings)
{
	const struct dtc_engine_options options = { .needs_exchanges = true };
	g_autoptr(GError) error = NULL;
	DtcEngine *engine = dtc_engine_new(bundle, &options, NULL, findings, &error);

	g_assert_no_error(error);
	return engine;
}

/* Of the path: the cause with the largest sum on one node, and whose it was. */
struct dominant {
	guint node;
	const char *process;
	enum dtc_cause cause;
	int64_t ns;
};

static struct dominant find_dominant(const DtcPath *path)
{
	struct dominant dominant = { 0 };

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *of = dtc_path_get_segment(path, i);
		struct dominant sum = { of->node, of->process, of->cause, 0 };
		for (guint k = 0; k < dtc_path_get_segment_count(path); k++) {
			const struct dtc_segment *s = dtc_path_get_segment(path, k);
			if (s->node == of->node && s->cause == of->cause && strcmp(s->process, of->process) == 0)
				sum.ns += s->end.ns - s->begin.ns;
		}
		if (sum.ns > dominant.ns)
			dominant = sum;
	}
	return dominant;
}

/*
 * req-0069 of clusters/demo/ground-truth.json: its worker on the backend slept 50 ms (49.998 ms blocked, by the lab's
 * own clock), and the client measured 92.865 ms around its calls.
 */
static void test_request(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) engine = read_demo(bundle, findings);
	g_autoptr(GError) error = NULL;
	const struct dtc_path_options options = { 0 };
	struct dtc_question question = { 0 };

	g_assert_true(dtc_findings_get_complete(findings));
	g_assert_true(dtc_question_set_id(&question, engine, "req-0069", findings, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(question.request->id, ==, "req-0069");
	g_assert_cmpint(question.exchange->status, ==, 200);
	g_assert_cmpstr(dtc_engine_get_node_names(engine)[question.target.node], ==, "client");

	g_autoptr(DtcPath) path = dtc_question_answer(&question, engine, &options, findings, &error);
	g_assert_no_error(error);
	int64_t duration_ns = dtc_path_get_end(path).ns - dtc_path_get_begin(path).ns;
	g_assert_cmpint(duration_ns, <, 92865000);
	g_assert_cmpint(duration_ns, >, 92865000 - 2000000); /* what the client does around its system calls */
	struct dominant dominant = find_dominant(path);
	g_assert_cmpint(dominant.cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpstr(dominant.process, ==, "labsrv");
	g_assert_cmpstr(dtc_engine_get_node_names(engine)[dominant.node], ==, "backend");
	g_assert_cmpint(llabs(dominant.ns - 49998000), <, 100000);
	g_assert_cmpuint(dtc_path_get_blocking_count(path), >, 0);
	dtc_question_clear(&question);

	/* by packets it is the slowest, too; the median of /disk by calls: the client reads up to 4 ms later */
	g_assert_true(dtc_question_set_id(&question, engine, "req-0111", findings, &error));
	g_assert_cmpuint(question.usual.rank, ==, 1);
	g_assert_cmpuint(question.usual.count, ==, 206 + 3);
	g_assert_cmpstr(question.usual.pattern, ==, "/disk");
	g_assert_cmpuint(question.usual.like_count, ==, 11);
	g_assert_cmpint(llabs(question.usual.like_p50_ns - 147649000), <, 5000000);
	dtc_question_clear(&question);

	g_assert_false(dtc_question_set_id(&question, engine, "req-9999", findings, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	dtc_question_clear(&question);
}

static void test_all_requests(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) engine = read_demo(bundle, findings);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcAllRequests) all = dtc_all_requests_new(engine, NULL, NULL, &error);
	const struct dtc_answer *answer;
	struct dtc_skipped skipped;
	guint count = 0;

	g_assert_no_error(error);
	while ((answer = dtc_all_requests_next(all))) {
		g_assert_cmpint(dtc_path_get_begin(answer->path).ns, ==, answer->question->target.begin.ns);
		g_assert_cmpint(dtc_path_get_end(answer->path).ns, ==, answer->question->target.end.ns);
		g_assert_cmpuint(dtc_path_get_blocking_count(answer->path), ==, 0);
		count++;
	}
	g_assert_true(dtc_all_requests_finish(all, &skipped, &error));
	g_assert_cmpuint(count + skipped.began_before + skipped.ended_after + skipped.not_traced + skipped.parts, ==,
			 dtc_requests_get_count(dtc_engine_get_requests(engine)));
	g_assert_cmpuint(count, >, 100);
}

/* Goes on until it was asked so often in a phase. */
struct patience {
	enum dtc_phase phase;
	guint count;
	guint look_count; /* of all phases, the last of which said stop */
};

static bool look(const struct dtc_progress *progress, void *data)
{
	struct patience *patience = data;

	patience->look_count++;
	return progress->phase != patience->phase || patience->count-- > 0;
}

static void stop_engine(const DtcBundle *bundle, enum dtc_phase phase, guint count)
{
	const struct dtc_engine_options options = { .needs_exchanges = true };
	struct patience patience = { phase, count, 0 };
	const struct dtc_watch watch = { look, &patience };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	guint threads = dtc_leavings_count("task"), files = dtc_leavings_count("fd");

	g_assert_null(dtc_engine_new(bundle, &options, &watch, findings, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED);
	dtc_leavings_assert("task", threads);
	dtc_leavings_assert("fd", files);
}

/* Memory is the sanitizer's to look after. */
static void test_stopped(void)
{
	g_autoptr(DtcBundle) bundle = demo_open();
	clock_t begin = clock();

	stop_engine(bundle, DTC_PHASE_READ, 0);
	g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC / 2); /* nothing was read */
	stop_engine(bundle, DTC_PHASE_READ, 1);
	stop_engine(bundle, DTC_PHASE_READ, 2);
	stop_engine(bundle, DTC_PHASE_ALIGN, 0);
	stop_engine(bundle, DTC_PHASE_LINK, 0);
}

static void test_stopped_between_requests(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcEngine) engine = read_demo(bundle, findings);
	g_autoptr(GError) error = NULL;
	struct patience patience = { DTC_PHASE_PLACE, 0, 0 };
	const struct dtc_watch watch = { look, &patience };
	struct dtc_skipped skipped;
	guint count = 0;

	g_assert_null(dtc_all_requests_new(engine, NULL, &watch, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED);
	g_clear_error(&error);
	/* the demo begins with six exchanges without an id that are not wholly inside */
	patience = (struct patience){ DTC_PHASE_EXPLAIN, 6 + 3, 0 };
	g_autoptr(DtcAllRequests) all = dtc_all_requests_new(engine, NULL, &watch, &error);
	while (dtc_all_requests_next(all))
		count++;
	g_assert_cmpuint(count, ==, 3);
	g_assert_cmpuint(patience.look_count, ==, 6 + 5); /* and nobody is asked again */
	g_assert_false(dtc_all_requests_finish(all, &skipped, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/ask/request", test_request);
	g_test_add_func("/engine/ask/all-requests", test_all_requests);
	g_test_add_func("/engine/ask/stopped", test_stopped);
	g_test_add_func("/engine/ask/stopped-between-requests", test_stopped_between_requests);
	return g_test_run();
}
