/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/model.h"

#include "dtrace-chain/error.h"
#include "tests/support/made_path.h"

#define BEGIN_NS G_GINT64_CONSTANT(1795168587000000000)

static const struct made_segment shop[] = {
	{ 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	{ 30, 1, -1, NULL, DTC_CAUSE_NETWORK_WIRE, "alpha to beta", 5 },
	{ 40, 1, 21, "db", DTC_CAUSE_DISK, "vda read", 0 },
	{ 25, 1, 21, "db", DTC_CAUSE_DISK, "vdb read", 0 },
	{ 30, 1, 22, "db", DTC_CAUSE_DISK, "vdb read", 0 },
	{ 20, 1, 21, "db", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	{ 10, 0, -1, NULL, DTC_CAUSE_NETWORK_WIRE, "beta to alpha", 5 },
	{ 5, 0, -1, NULL, DTC_CAUSE_UNKNOWN, NULL, 0 },
};

static const struct dtc_report_row *get_row(const DtcReport *report, guint index)
{
	return &g_array_index(report->rows, struct dtc_report_row, index);
}

static const struct dtc_report_tier *get_tier(const DtcReport *report, guint index)
{
	return &g_array_index(report->tiers, struct dtc_report_tier, index);
}

static void test_rows(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(BEGIN_NS, shop, G_N_ELEMENTS(shop));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);

	g_assert_no_error(error);
	g_assert_cmpint(report->begin_ns, ==, BEGIN_NS);
	g_assert_cmpint(report->duration_ns, ==, 260);
	g_assert_cmpstr(report->reference, ==, "alpha");
	g_assert_true(report->complete);
	g_assert_cmpuint(report->sources->len, ==, 2);

	/* tiers by size; what has no process is told apart by what kind of time it is */
	static const struct {
		const char *tier;
		int64_t ns;
	} tiers[] = { { "db@beta", 115 },
		      { "shop@alpha", 100 },
		      { "network@beta", 30 },
		      { "network@alpha", 10 },
		      { "unknown@alpha", 5 } };
	g_assert_cmpuint(report->tiers->len, ==, G_N_ELEMENTS(tiers));
	for (guint i = 0; i < G_N_ELEMENTS(tiers); i++) {
		g_assert_cmpstr(get_tier(report, i)->tier, ==, tiers[i].tier);
		g_assert_cmpint(get_tier(report, i)->ns, ==, tiers[i].ns);
	}

	/* two threads of one process are one tier; the largest sum of a detail names the row, not the longest step */
	const struct dtc_report_row *disk = get_row(report, get_tier(report, 0)->row_first);
	g_assert_cmpint(disk->cause, ==, DTC_CAUSE_DISK);
	g_assert_cmpint(disk->ns, ==, 95);
	g_assert_cmpuint(disk->step_count, ==, 3);
	g_assert_cmpstr(disk->detail, ==, "vdb read");
	g_assert_cmpint(disk->detail_ns, ==, 55);
	g_assert_cmpstr(disk->process, ==, "db");

	/* the largest row is not in the largest tier here */
	const struct dtc_report_row *dominant = get_row(report, report->dominant);
	g_assert_cmpstr(dominant->tier, ==, "shop@alpha");
	g_assert_cmpint(dominant->ns, ==, 100);

	const struct dtc_report_step *wire = DTC_AT(report->steps, struct dtc_report_step, 1);
	g_assert_true(wire->is_hop);
	g_assert_null(wire->who.comm);
	g_assert_cmpint(wire->who.tid, ==, -1);
	g_assert_cmpint(wire->uncertainty_ns, ==, 5);
}

static void test_ties_by_name(void)
{
	static const struct made_segment segments[] = {
		{ 10, 1, 1, "b", DTC_CAUSE_TIMER, NULL, 0 }, { 10, 0, 2, "a", DTC_CAUSE_TIMER, NULL, 0 },
		{ 10, 0, 2, "a", DTC_CAUSE_LOCK, "z", 0 },   { 10, 1, 1, "b", DTC_CAUSE_LOCK, "y", 0 },
		{ 10, 1, 1, "b", DTC_CAUSE_DISK, "y", 0 },   { 10, 0, 2, "a", DTC_CAUSE_DISK, "x", 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(get_tier(report, 0)->tier, ==, "a@alpha");
	g_assert_cmpint(get_row(report, 0)->cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpint(get_row(report, 1)->cause, ==, DTC_CAUSE_DISK);
	g_assert_cmpint(get_row(report, 2)->cause, ==, DTC_CAUSE_LOCK);
	g_assert_cmpuint(report->dominant, ==, 0);
	g_assert_null(report->request);
}

static void test_gap_is_an_error(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 0 }, (DtcClusterTime){ 100 });
	struct dtc_segment late = { .begin = { 60 }, .end = { 100 }, .process = "p" };
	struct dtc_segment early = { .begin = { 0 }, .end = { 50 }, .process = "p" };

	dtc_path_add_segment(path, &late);
	dtc_path_add_segment(path, &early);
	g_assert_null(made_path_report(path, NULL, NULL, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED);
	g_assert_nonnull(strstr(error->message, "60"));
}

static void test_backward_blocking_is_an_error(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, shop, G_N_ELEMENTS(shop));

	made_path_add_blocking(path, G_MAXUINT, 0, 50, 40, "db", NULL);
	g_assert_null(made_path_report(path, NULL, NULL, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED);
}

static void test_empty_path(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 7 }, (DtcClusterTime){ 7 });
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(report->rows->len, ==, 0);
	g_assert_cmpuint(report->dominant, ==, G_MAXUINT);
}

static void test_deep_causality_is_cut(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, shop, G_N_ELEMENTS(shop));
	guint parent = G_MAXUINT;

	for (guint depth = 0; depth < 5000; depth++)
		parent = made_path_add_blocking(path, parent, depth, 0, 100, "db", "db");
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(report->blockings->len, ==, DTC_REPORT_MAX_DEPTH);
	const struct dtc_report_finding *finding = &g_array_index(report->findings, struct dtc_report_finding, 0);
	g_assert_nonnull(strstr(finding->text, "4900"));
	g_assert_true(report->complete);
}

static void test_findings_decide_completeness(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, shop, G_N_ELEMENTS(shop));
	g_autoptr(DtcFindings) findings = dtc_findings_new();

	dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, "beta", "12 events were lost");
	g_autoptr(DtcReport) report = made_path_report(path, findings, NULL, &error);
	g_assert_no_error(error);
	g_assert_false(report->complete);
	g_assert_cmpuint(report->findings->len, ==, 1);
}

/* Clocks of nodes that nothing joins: the pair is listed once, as unrelated. */
static void test_clock_pairs(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, shop, G_N_ELEMENTS(shop));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(report->clocks->len, ==, 1);
	const struct dtc_report_clock *clock = &g_array_index(report->clocks, struct dtc_report_clock, 0);
	g_assert_cmpstr(clock->a, ==, "alpha");
	g_assert_cmpstr(clock->b, ==, "beta");
}

static void add_kernel_segment(DtcPath *path, int64_t begin_ns, const char *process, bool is_kernel, guint waiter)
{
	const struct dtc_segment segment = {
		.begin = { begin_ns },
		.end = { begin_ns + 50 },
		.thread = made_path_name(process),
		.cause = DTC_CAUSE_RUNNING_KERNEL,
		.evidence = made_path_evidence(NULL),
		.tid = 7,
		.pid = 7,
		.comm = g_intern_string(process),
		.process = g_intern_string(process),
		.is_kernel = is_kernel,
		.waiter = waiter,
	};
	dtc_path_add_segment(path, &segment);
}

/* Whoever goes on after it: the journal worked for who waited for it. Without a waiter, for who goes on. */
static void test_services(void)
{
	g_autoptr(GError) error = NULL;
	DtcPath *path = dtc_path_new((DtcClusterTime){ BEGIN_NS }, (DtcClusterTime){ BEGIN_NS + 150 });
	const struct dtc_waiter syncs = { 0, made_path_name("syncs"), 0 };
	guint waiter = dtc_path_add_waiter(path, &syncs);
	add_kernel_segment(path, BEGIN_NS + 100, "goes on", false, 0);
	add_kernel_segment(path, BEGIN_NS + 50, "flusher", true, 0);
	add_kernel_segment(path, BEGIN_NS, "jbd2", true, waiter);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);

	static const struct {
		const char *tier, *service;
	} steps[] = { { "jbd2@alpha", "syncs@alpha" },
		      { "flusher@alpha", "goes on@alpha" },
		      { "goes on@alpha", "goes on@alpha" } };
	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		g_assert_cmpstr(step->who.tier, ==, steps[i].tier);
		g_assert_cmpstr(step->service.tier, ==, steps[i].service);
	}
	g_assert_cmpuint(report->services->len, ==, 2);
	const struct dtc_report_service *largest = &g_array_index(report->services, struct dtc_report_service, 0);
	g_assert_cmpstr(largest->tier, ==, "goes on@alpha");
	g_assert_cmpint(largest->ns, ==, 100);
	for (guint i = 0; i < report->tiers->len; i++)
		g_assert_cmpstr(get_tier(report, i)->service, ==,
				strcmp(get_tier(report, i)->tier, "jbd2@alpha") == 0 ? "syncs@alpha" : "goes on@alpha");
	dtc_path_free(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/model/rows", test_rows);
	g_test_add_func("/report/model/ties-by-name", test_ties_by_name);
	g_test_add_func("/report/model/gap-is-an-error", test_gap_is_an_error);
	g_test_add_func("/report/model/backward-blocking-is-an-error", test_backward_blocking_is_an_error);
	g_test_add_func("/report/model/empty-path", test_empty_path);
	g_test_add_func("/report/model/deep-causality-is-cut", test_deep_causality_is_cut);
	g_test_add_func("/report/model/findings-decide-completeness", test_findings_decide_completeness);
	g_test_add_func("/report/model/clock-pairs", test_clock_pairs);
	g_test_add_func("/report/model/services", test_services);
	return g_test_run();
}
