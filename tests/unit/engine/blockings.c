/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the waits of the demo are weighed by its requests. */
#include "analyze/engine/blockings.h"
#include "tests/support/demo.h"

#include <string.h>

static DtcEngine *read_demo(DtcBundle **ret_bundle, DtcFindings *findings, bool needs_exchanges)
{
	const struct dtc_engine_options options = { .needs_exchanges = needs_exchanges };
	g_autoptr(GError) error = NULL;
	*ret_bundle = demo_open();
	DtcEngine *engine = dtc_engine_new(*ret_bundle, &options, NULL, findings, &error);
	g_assert_no_error(error);
	return engine;
}

static DtcBlockings *ask(const DtcEngine *engine, DtcFindings *findings)
{
	const struct dtc_subject subject = { 0 };
	const struct dtc_blockings_options options = { 0 };
	g_autoptr(GError) error = NULL;
	DtcBlockings *blockings = dtc_blockings_new(engine, &subject, &options, NULL, findings, &error);
	g_assert_no_error(error);
	return blockings;
}

static const char *get_comm(const DtcEngine *engine, const struct dtc_blocked_row *row)
{
	return dtc_history_get_comm(dtc_engine_get_history(engine, row->node), row->thread, INT64_MAX);
}

/* What the requests waited for comes first: the client's reads; idle loops have no weight, and the longest totals. */
static void test_weighed(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = NULL;
	g_autoptr(DtcEngine) engine = read_demo(&bundle, findings, true);
	g_autoptr(DtcBlockings) blockings = ask(engine, findings);
	int64_t redis_timer_ns = 0, idle_ns = 0;
	g_assert_cmpuint(blockings->request_count, ==, 206);
	guint count = dtc_blocked_get_count(blockings->blocked);
	g_assert_cmpstr(get_comm(engine, dtc_blocked_get_row(blockings->blocked, 0)), ==, "lab-client");
	for (guint i = 0; i < count; i++) {
		const struct dtc_blocked_row *row = dtc_blocked_get_row(blockings->blocked, i);
		const struct dtc_blocked_row *before = i ? dtc_blocked_get_row(blockings->blocked, i - 1) : row;
		g_assert_cmpint(before->request_ns, >=, row->request_ns);
		if (row->cause == DTC_CAUSE_TIMER && strcmp(get_comm(engine, row), "redis-server") == 0)
			redis_timer_ns = MAX(redis_timer_ns, row->request_ns);
		if (strcmp(get_comm(engine, row), "kcompactd0") == 0)
			idle_ns += row->request_ns;
	}
	/* ten requests of /dbslow, whose redis sleeps 40 ms each and more under load */
	g_assert_cmpint(redis_timer_ns, >, INT64_C(400) * 1000 * 1000);
	g_assert_cmpint(idle_ns, ==, 0);
}

/* Without requests the longest total comes first. */
static void test_unweighed(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = NULL;
	g_autoptr(DtcEngine) engine = read_demo(&bundle, findings, false);
	g_autoptr(DtcBlockings) blockings = ask(engine, findings);
	g_assert_cmpuint(blockings->request_count, ==, 0);
	for (guint i = 1; i < dtc_blocked_get_count(blockings->blocked); i++)
		g_assert_cmpint(dtc_blocked_get_row(blockings->blocked, i - 1)->total_ns, >=,
				dtc_blocked_get_row(blockings->blocked, i)->total_ns);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/blockings/weighed", test_weighed);
	g_test_add_func("/engine/blockings/unweighed", test_unweighed);
	return g_test_run();
}
