/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row of the table of all requests says what the report of its path says. */
#include "analyze/report/tally.h"

#include "tests/support/made_path.h"
#include "tests/support/report_row.h"

#define SEGMENTS_MAX 40

static void compare_verdicts(const struct dtc_report_verdict *a, const struct dtc_report_verdict *b)
{
	g_assert_cmpint(a->is_single, ==, b->is_single);
	g_assert_cmpstr(a->machine, ==, b->machine);
	g_assert_cmpint(a->family, ==, b->family);
	g_assert_cmpstr(a->waited_for, ==, b->waited_for);
	g_assert_cmpstr(a->waited_tier, ==, b->waited_tier);
	g_assert_cmpstr(a->waited_candidate, ==, b->waited_candidate);
	g_assert_cmpint(a->waited_ns, ==, b->waited_ns);
	g_assert_cmpint(a->waited_tier_ns, ==, b->waited_tier_ns);
	g_assert_cmpint(a->waited_candidate_ns, ==, b->waited_candidate_ns);
}

/* Two summaries of one row each. */
static void compare_rows(const DtcSummary *a, const DtcSummary *b)
{
	const struct dtc_summary_row *x = &g_array_index(a->rows, struct dtc_summary_row, 0);
	const struct dtc_summary_row *y = &g_array_index(b->rows, struct dtc_summary_row, 0);

	g_assert_cmpstr(x->id, ==, y->id);
	g_assert_cmpstr(x->url, ==, y->url);
	g_assert_cmpstr(x->tier, ==, y->tier);
	g_assert_cmpstr(x->comm, ==, y->comm);
	g_assert_cmpint(x->begin_ns, ==, y->begin_ns);
	g_assert_cmpint(x->duration_ns, ==, y->duration_ns);
	g_assert_cmpint(x->complete, ==, y->complete);
	g_assert_cmpint(x->is_anonymous, ==, y->is_anonymous);
	compare_verdicts(&x->verdict, &y->verdict);
	g_assert_cmpuint(x->share_count, ==, y->share_count);
	for (guint i = 0; i < x->share_count; i++) {
		const struct dtc_share *p = dtc_summary_get_share(a, x, i), *q = dtc_summary_get_share(b, y, i);
		g_assert_cmpstr(p->tier, ==, q->tier);
		g_assert_cmpstr(p->node, ==, q->node);
		g_assert_cmpstr(p->process, ==, q->process);
		g_assert_cmpstr(p->detail, ==, q->detail);
		g_assert_cmpint(p->cause, ==, q->cause);
		g_assert_cmpint(p->ns, ==, q->ns);
	}
	g_assert_cmpuint(x->tier_count, ==, y->tier_count);
	for (guint i = 0; i < x->tier_count; i++) {
		const struct dtc_tier_share *p = dtc_summary_get_tier(a, x, i), *q = dtc_summary_get_tier(b, y, i);
		g_assert_cmpstr(p->tier, ==, q->tier);
		g_assert_cmpstr(p->node, ==, q->node);
		g_assert_cmpstr(p->process, ==, q->process);
		g_assert_cmpint(p->ns, ==, q->ns);
	}
}

static void check_same(DtcTallier *tallier, DtcPath *path)
{
	g_autoptr(DtcSummary) summed = dtc_summary_new();
	g_autoptr(DtcSummary) reported = dtc_summary_new();
	g_autoptr(GError) error = NULL;
	struct made_input made;

	made_input_init(&made, path, NULL, "req-1");
	g_autoptr(DtcReport) report = dtc_report_new(&made.input, &error);
	g_assert_no_error(error);
	report_row_add(reported, report);
	const struct dtc_names names = { made.histories, made.input.node_names, 3 };
	made.input.name_book = dtc_name_book_new(&names, NULL);
	struct dtc_tally *tally = dtc_tallier_add_up(tallier, &made.input);
	dtc_summary_add(summed, &tally->row, tally->shares, tally->tiers);
	compare_rows(summed, reported);
	dtc_tally_free(tally);
	dtc_name_book_unref(made.input.name_book);
	made_input_clear(&made);
}

static struct dtc_segment make_segment(int64_t begin_ns, int64_t ns)
{
	static const char *const processes[] = { "shop", "db", "cache", NULL };
	static const char *const details[] = { "vda", "eth0", "timer", NULL };
	static const char *const others[] = { "req-2", "req-3", "req-4", NULL, NULL, NULL };
	static const enum dtc_cause causes[] = { DTC_CAUSE_DISK, DTC_CAUSE_RUNNING_USER, DTC_CAUSE_NETWORK_WIRE,
						 DTC_CAUSE_RUNQUEUE };
	const char *process = processes[g_test_rand_int_range(0, G_N_ELEMENTS(processes))];

	return (struct dtc_segment){
		.begin = { begin_ns },
		.end = { begin_ns + ns },
		.node = (guint)g_test_rand_int_range(0, 3),
		.thread = DTC_NONE,
		.cause = causes[g_test_rand_int_range(0, G_N_ELEMENTS(causes))],
		.evidence = made_path_evidence(details[g_test_rand_int_range(0, G_N_ELEMENTS(details))]),
		.link = DTC_LINK_EXACT,
		.tid = -1,
		.pid = -1,
		.comm = process,
		.process = process,
		.is_kernel = g_test_rand_int_range(0, 4) == 0,
		.busy_with = others[g_test_rand_int_range(0, G_N_ELEMENTS(others))],
		.candidate = others[g_test_rand_int_range(0, G_N_ELEMENTS(others))],
	};
}

/* Some steps are as long as others, and some are all there is. */
static void test_any(void)
{
	DtcTallier *tallier = dtc_tallier_new(3);

	for (guint round = 0; round < 3000; round++) {
		gint count = g_test_rand_int_range(0, SEGMENTS_MAX), longest = g_test_rand_int_range(2, 12);
		struct dtc_segment segments[SEGMENTS_MAX];
		int64_t at_ns = 1000;
		for (gint i = 0; i < count; i++) {
			segments[i] = make_segment(at_ns, g_test_rand_int_range(1, longest));
			at_ns = segments[i].end.ns;
		}
		g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 1000 }, (DtcClusterTime){ at_ns });
		for (gint i = count; i-- > 0;)
			dtc_path_add_segment(path, &segments[i]);
		check_same(tallier, path);
	}
	dtc_tallier_free(tallier);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tally/any", test_any);
	return g_test_run();
}
