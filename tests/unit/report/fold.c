/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/fold.h"

#include "tests/support/made_path.h"

/* The lines of a path, one letter each (Step, Thread, Node, sHort) with the number of segments: "S1 T3 H2". */
static char *fold(const struct made_segment *segments, guint count, int64_t min_ns)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, count);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autoptr(GArray) folds = dtc_fold_steps(report->steps, min_ns);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < folds->len; i++) {
		const struct dtc_fold *line = &g_array_index(folds, struct dtc_fold, i);
		g_string_append_printf(text, "%s%c%u", i ? " " : "", "STNH"[line->kind], line -> count);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

#define assert_fold(segments, min_ns, expected)                                                                        \
	do {                                                                                                           \
		g_autofree char *got_ = fold(segments, G_N_ELEMENTS(segments), min_ns);                                \
		g_assert_cmpstr(got_, ==, expected);                                                                   \
	} while (0)

static void test_ticks_do_not_cut(void)
{
	static const struct made_segment segments[] = {
		{ 400, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 }, { 3, 0, 1, "a", DTC_CAUSE_IRQ, "timer", 0 },
		{ 400, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 }, { 3, 0, 1, "a", DTC_CAUSE_IRQ, "timer", 0 },
		{ 400, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	assert_fold(segments, 100, "S5");
	assert_fold(segments, 0, "S1 S1 S1 S1 S1");
	assert_fold(segments, 401, "T5"); /* all short, but one thread's and long together */
}

/* What differs in thread, cause or detail stays apart, however long the neighbours are. */
static void test_long_steps_stay_apart(void)
{
	static const struct made_segment segments[] = {
		{ 200, 0, 1, "a", DTC_CAUSE_RUNNING_KERNEL, "fsync(x)", 0 },
		{ 200, 0, 1, "a", DTC_CAUSE_RUNNING_KERNEL, "write(x)", 0 },
		{ 200, 0, 1, "a", DTC_CAUSE_DISK, "write(x)", 0 },
		{ 200, 0, 2, "a", DTC_CAUSE_DISK, "write(x)", 0 },
		{ 200, 1, 2, "a", DTC_CAUSE_DISK, "write(x)", 0 },
	};
	assert_fold(segments, 100, "S1 S1 S1 S1 S1");
}

static void test_short_runs(void)
{
	static const struct made_segment segments[] = {
		/* one thread, long together */
		{ 40, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 40, 0, 1, "a", DTC_CAUSE_SOFTIRQ, NULL, 0 },
		{ 40, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		/* one node, long together */
		{ 60, 1, 2, "b", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 60, 1, 3, "c", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		/* neither */
		{ 10, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 10, 1, 2, "b", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 500, 2, 4, "d", DTC_CAUSE_TIMER, NULL, 0 },
		/* alone */
		{ 5, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	assert_fold(segments, 100, "T3 N2 H2 S1 S1");
}

/* Cut for different reasons (a long one, then short ones), but the same thread at the same: one line. */
static void test_neighbours_join(void)
{
	static const struct made_segment segments[] = {
		{ 300, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 }, { 10, 0, 1, "a", DTC_CAUSE_IRQ, NULL, 0 },
		{ 60, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },  { 10, 0, 1, "a", DTC_CAUSE_IRQ, NULL, 0 },
		{ 60, 0, 1, "a", DTC_CAUSE_RUNNING_USER, NULL, 0 },  { 200, 0, 1, "a", DTC_CAUSE_LOCK, NULL, 0 },
	};
	assert_fold(segments, 100, "T5 S1");
}

static void test_nothing(void)
{
	g_autoptr(DtcTable) steps = dtc_table_new(sizeof(struct dtc_report_step));
	g_autoptr(GArray) folds = dtc_fold_steps(steps, 10);
	g_assert_cmpuint(folds->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/fold/ticks-do-not-cut", test_ticks_do_not_cut);
	g_test_add_func("/report/fold/long-steps-stay-apart", test_long_steps_stay_apart);
	g_test_add_func("/report/fold/short-runs", test_short_runs);
	g_test_add_func("/report/fold/neighbours-join", test_neighbours_join);
	g_test_add_func("/report/fold/nothing", test_nothing);
	return g_test_run();
}
