/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/polling.h"
#include "analyze/finding/findings.h"
#include "analyze/path/path_build.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define PAUSE_NS 1000

static void call(struct story *s, int64_t *t, const char *name, int64_t result)
{
	story_enter(s, *t, 0, name, -1);
	story_leave(s, *t + 100, 0, name, result);
	*t += PAUSE_NS;
}

static bool find(const struct story *s, int64_t begin_ns, int64_t end_ns, struct dtc_polling *ret_polling)
{
	return dtc_polling_find(s->history, dtc_history_find_thread(s->history, 10, 5), (DtcNodeTime){ begin_ns },
				(DtcNodeTime){ end_ns }, ret_polling);
}

/* Each loop of 20 calls, broken in the middle by one that succeeds, is too short; unbroken it is found. */
static void test_loops(void)
{
	static const struct {
		const char *name;
		int64_t result;
		const char *breaker;
		int64_t breaker_result;
		bool is_loop;
	} cases[] = {
		{ "sched_yield", 0, NULL, 0, true },	 { "sched_yield", 0, "clock_gettime", 0, true },
		{ "sched_yield", 0, "write", 1, false }, { "poll", 0, NULL, 0, true },
		{ "poll", 0, "poll", 1, false },	 { "read", -11, NULL, 0, true },
		{ "read", -11, "read", 5, false },	 { "read", 5, NULL, 0, false },
		{ "nanosleep", 0, NULL, 0, true },	 { "futex", -11, NULL, 0, true },
		{ "futex", 0, NULL, 0, false },		 { "getpid", 0, NULL, 0, false },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct story s;
		int64_t t = 10;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
		for (int k = 0; k < 20; k++) {
			if (k == 10 && cases[i].breaker)
				call(&s, &t, cases[i].breaker, cases[i].breaker_result);
			call(&s, &t, cases[i].name, cases[i].result);
		}
		story_switch(&s, t, 0, 10, "a", SLEEP, 0, "swapper/0");
		story_end(&s);
		struct dtc_polling polling;
		bool is_found = find(&s, 0, t, &polling);
		if (is_found != cases[i].is_loop)
			g_error("%s = %d, %s", cases[i].name, (int)cases[i].result, is_found ? "found" : "not found");
		if (is_found) {
			g_assert_cmpuint(polling.count, ==, 20);
			g_assert_cmpint(polling.begin_ns, ==, 10);
			g_assert_cmpint(polling.end_ns, ==, t - PAUSE_NS + 100);
		}
		g_assert_false(find(&s, 0, 10 * PAUSE_NS, &polling)); /* only ten in that span */
		story_clear(&s);
	}
}

/* Sleeps that last are waits; polls that wait are, too. */
static void test_long_ones(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	for (int k = 0; k < 40; k++) {
		const char *name = k % 2 ? "nanosleep" : "poll";
		story_enter(&s, t, 0, name, -1);
		story_leave(&s, t + 5000000, 0, name, 0);
		t += 5001000;
	}
	story_switch(&s, t, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	struct dtc_polling polling;
	g_assert_false(find(&s, 0, t, &polling));
	story_clear(&s);
}

/* What is said of a path on which that thread is from its first call on, so long, and another thread for the rest. */
static guint count_findings(const struct story *s, int64_t own_ns, int64_t rest_ns, char **ret_text)
{
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	const DtcHistory *h = s->history;
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &h, clocks);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	int64_t end_ns = own_ns + rest_ns;
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 0 }, (DtcClusterTime){ end_ns });
	for (guint i = 0; i < 2; i++) {
		const struct dtc_segment segment = { .begin = { i ? 0 : own_ns },
						     .end = { i ? own_ns : end_ns },
						     .thread = i ? dtc_history_find_thread(h, 10, 5) : DTC_NONE,
						     .cause = i ? DTC_CAUSE_RUNNING_KERNEL : DTC_CAUSE_UNKNOWN,
						     .tid = 10,
						     .comm = "a",
						     .process = "a" };
		dtc_path_add_segment(path, &segment);
	}
	dtc_path_finish(path);
	const struct dtc_finding_input input = { .path = path, .links = links };
	dtc_finding_add_all(&input, findings);
	guint count = dtc_findings_get_count(findings);
	if (count) {
		const struct dtc_finding *f = dtc_findings_get(findings, 0);
		g_assert_cmpstr(f->code, ==, DTC_FINDING_POLLING);
		g_assert_cmpstr(f->node, ==, "n");
		*ret_text = g_strdup(f->text);
	}
	return count;
}

/* 11 ms of calls in vain: ten of them are needed, and a tenth of the whole. */
static void test_finding(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	while (t < 11000000)
		call(&s, &t, "sched_yield", 0);
	story_switch(&s, t, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_autofree char *text = NULL;
	g_assert_cmpuint(count_findings(&s, t, 80000000, &text), ==, 1);
	g_assert_cmpstr(text, ==,
			"a (tid 10) is not blocked but polls: 11000 calls in vain (sched_yield and the like) in 10.999 "
			"ms; what it waits for is not in a kernel trace");
	g_assert_cmpuint(count_findings(&s, t, 100000000, &text), ==, 0);
	g_assert_cmpuint(count_findings(&s, 9900000, 1, &text), ==, 0);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/polling/loops", test_loops);
	g_test_add_func("/polling/long-ones", test_long_ones);
	g_test_add_func("/polling/finding", test_finding);
	return g_test_run();
}
