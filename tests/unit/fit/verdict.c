/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Awkward input gets a verdict in words, never a silent wrong line. */
#include "dtrace-chain/error.h"
#include "sync/fit/fit.h"
#include "tests/support/cluster.h"

#include <string.h>

static DtcSync *fit(const DtcMatches *matches, DtcFindings *findings)
{
	g_autoptr(GError) error = NULL;
	DtcSync *sync = dtc_fit_clocks(matches, NULL, findings, &error);
	g_assert_no_error(error);
	return sync;
}

static bool has_finding(const DtcFindings *findings, const char *part)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		if (strstr(dtc_findings_get(findings, i)->text, part))
			return true;
	return false;
}

static void test_nothing(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) none = dtc_matches_new(NULL, 0);
	g_autoptr(DtcSync) empty = fit(none, findings);
	g_assert_true(dtc_sync_is_complete(empty));
	const char *const names[] = { "a", "b" };
	g_autoptr(DtcMatches) strangers = dtc_matches_new(names, 2);
	dtc_matches_add_unmatched(strangers, 0, 1, 5);
	g_autoptr(DtcSync) sync = fit(strangers, findings);
	g_assert_false(dtc_sync_is_complete(sync));
	g_assert_cmpint(dtc_sync_get_pair(sync, 0)->status, ==, DTC_PAIR_NONE);
	g_assert_cmpuint(dtc_sync_get_pair(sync, 0)->unmatched_a, ==, 5);
	g_assert_false(dtc_findings_get_complete(findings));
}

static void test_one_way(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 1, 2);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	for (guint i = 0; i < 50; i++)
		cluster_send(&cluster, matches, 0, 1, 0);
	g_autoptr(DtcSync) sync = fit(matches, findings);
	g_assert_cmpint(dtc_sync_get_pair(sync, 0)->status, ==, DTC_PAIR_ONE_WAY);
	g_assert_false(dtc_sync_is_complete(sync));
	g_assert_true(has_finding(findings, "50 messages, all from 'a' to 'b'"));
}

static void test_identical_times(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const char *const names[] = { "a", "b" };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	for (guint i = 0; i < 10; i++) {
		dtc_matches_add(matches, 0, 1, 1000, 5000);
		dtc_matches_add(matches, 1, 0, 4000, 2000);
	}
	g_autoptr(DtcSync) sync = fit(matches, findings);
	g_assert_true(dtc_sync_is_complete(sync));
	/* b - a lies between 2,000 and 4,000 */
	DtcClusterTime lo, hi, at = dtc_clocks_to_cluster(dtc_sync_get_clocks(sync), 1, (DtcNodeTime){ 5000 });
	dtc_clocks_get_bounds(dtc_sync_get_clocks(sync), 1, (DtcNodeTime){ 5000 }, &lo, &hi);
	g_assert_cmpint(at.ns, >=, 1000);
	g_assert_cmpint(at.ns, <=, 3000);
	g_assert_cmpint(lo.ns, <=, 1000);
	g_assert_cmpint(hi.ns, >=, 3000);
}

/* Every receive lies a second before its send whatever the clocks: nothing can satisfy half of them. */
static void test_contradictory(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 3, 3);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	cluster_talk(&cluster, matches, 0, 1, 100);
	for (guint i = 0; i < 100; i++) {
		int64_t at = (int64_t)i * 100000000;
		dtc_matches_add(matches, 0, 2, at, at - 1000000000);
		dtc_matches_add(matches, 2, 0, at, at - 1000000000);
	}
	g_autoptr(DtcSync) sync = fit(matches, findings);
	g_assert_cmpint(dtc_sync_get_pair(sync, 0)->status, ==, DTC_PAIR_ALIGNED);
	g_assert_cmpint(dtc_sync_get_pair(sync, 1)->status, ==, DTC_PAIR_CONTRADICTORY);
	g_assert_false(dtc_sync_is_complete(sync));
	g_assert_true(has_finding(findings, "messages between 'a' and 'c'"));
	g_assert_cmpuint(dtc_clocks_get_group(dtc_sync_get_clocks(sync), 2), !=, 0);
}

/* a-b-c agree, a-c is off by a second though both its directions are: the misfit goes, the rest stays aligned. */
static void test_misfit(void)
{
	struct cluster cluster, wrong;
	cluster_init(&cluster, 4, 4);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	for (guint a = 0; a < 4; a++)
		for (guint b = a + 1; b < 4; b++)
			if (a != 0 || b != 2)
				cluster_talk(&cluster, matches, a, b, 100);
	wrong = cluster;
	wrong.clocks[2].offset_ns += 1000000000;
	cluster_talk(&wrong, matches, 0, 2, 100);
	g_autoptr(DtcSync) sync = fit(matches, findings);
	g_assert_true(dtc_sync_is_complete(sync));
	for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		g_assert_cmpint(pair->status, ==,
				pair->a == 0 && pair->b == 2 ? DTC_PAIR_CONTRADICTORY : DTC_PAIR_ALIGNED);
	}
}

/* Two pairs of nodes that never talk to each other: two groups, neither placed by guess. */
static void test_groups(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 5, 5);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	cluster_talk(&cluster, matches, 0, 3, 50);
	cluster_talk(&cluster, matches, 1, 2, 50);
	cluster_talk(&cluster, matches, 2, 4, 50);
	g_autoptr(DtcSync) sync = fit(matches, findings);
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	g_assert_false(dtc_sync_is_complete(sync));
	g_assert_cmpuint(dtc_clocks_get_group(clocks, 1), ==, 0); /* the larger one */
	g_assert_cmpuint(dtc_clocks_get_group(clocks, 4), ==, 0);
	g_assert_cmpuint(dtc_clocks_get_group(clocks, 0), ==, dtc_clocks_get_group(clocks, 3));
	g_assert_cmpuint(dtc_clocks_get_group(clocks, 0), !=, 0);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 0, 1, (DtcClusterTime){ 0 }), ==, INT64_MAX);
}

/* A pair that overlaps for two seconds only does not spoil the way through the third node. */
static void test_short_overlap(void)
{
	struct cluster cluster, brief;
	cluster_init(&cluster, 6, 3);
	cluster.duration_s = 300;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	cluster_talk(&cluster, matches, 0, 1, 3000);
	cluster_talk(&cluster, matches, 1, 2, 3000);
	brief = cluster;
	brief.duration_s = 2;
	brief.min_ns = 400000;
	cluster_talk(&brief, matches, 0, 2, 20);
	g_autoptr(DtcSync) sync = fit(matches, findings);
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint reference = dtc_clocks_get_reference(clocks);
	for (guint i = 0; i <= 100; i++) {
		double at = cluster.duration_s * 1e9 * i / 100;
		int64_t truth = cluster_read(&cluster, reference, at);
		for (guint node = 0; node < 3; node++) {
			DtcNodeTime shown = { cluster_read(&cluster, node, at) };
			g_assert_cmpint(ABS(dtc_clocks_to_cluster(clocks, node, shown).ns - truth), <, 5000);
		}
	}
}

static void test_options(void)
{
	const char *const names[] = { "a", "b" };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	for (guint i = 0; i < 6; i++) {
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(GError) error = NULL;
		struct dtc_fit_options options = dtc_fit_options_default();
		if (i == 0)
			options.reference = 2;
		else if (i == 1)
			options.min_delay_ns = -1;
		else if (i == 2)
			options.max_drift_ppm = 0;
		else if (i == 3)
			options.max_wander_ppm = NAN;
		else if (i == 4)
			options.max_drift_ppm = 1e9;
		else
			options.max_wander_ppm = options.max_drift_ppm + 1;
		g_assert_null(dtc_fit_clocks(matches, &options, findings, &error));
		g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_USAGE);
	}
}

/* Times at the limit of what is taken, random ones, and a clock that runs backward: no crash, no overflow. */
static void test_hostile(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 7, 3);
	for (guint round = 0; round < 40; round++) {
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		for (guint i = 0; i < 200; i++) {
			double size = pow(2, cluster_random(&cluster) * (round % 2 ? 62 : 20));
			int64_t sent = (int64_t)((cluster_random(&cluster) - 0.5) * size);
			int64_t received = (int64_t)((cluster_random(&cluster) - 0.5) * size);
			guint from = (guint)(cluster_random(&cluster) * 3), to = (guint)(cluster_random(&cluster) * 3);
			if (round % 5 == 4)
				received = -sent;
			dtc_matches_add(matches, from, to, sent, received);
		}
		g_autoptr(DtcSync) sync = fit(matches, findings);
		g_assert_nonnull(dtc_sync_get_clocks(sync));
	}
	const char *const names[] = { "a", "b" };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	g_assert_false(dtc_matches_add(matches, 0, 1, INT64_MIN, 0));
	g_assert_false(dtc_matches_add(matches, 0, 1, 0, INT64_MAX));
	g_assert_false(dtc_matches_add(matches, 1, 1, 0, 0));
	g_assert_true(dtc_matches_add(matches, 0, 1, -DTC_MATCH_TIME_LIMIT, DTC_MATCH_TIME_LIMIT));
	g_assert_true(dtc_matches_add(matches, 1, 0, DTC_MATCH_TIME_LIMIT, -DTC_MATCH_TIME_LIMIT));
	g_assert_true(dtc_matches_add(matches, 1, 0, -DTC_MATCH_TIME_LIMIT, DTC_MATCH_TIME_LIMIT));
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSync) sync = fit(matches, findings);
	g_assert_nonnull(sync);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/verdict/nothing", test_nothing);
	g_test_add_func("/fit/verdict/one-way", test_one_way);
	g_test_add_func("/fit/verdict/identical-times", test_identical_times);
	g_test_add_func("/fit/verdict/contradictory", test_contradictory);
	g_test_add_func("/fit/verdict/misfit", test_misfit);
	g_test_add_func("/fit/verdict/groups", test_groups);
	g_test_add_func("/fit/verdict/short-overlap", test_short_overlap);
	g_test_add_func("/fit/verdict/options", test_options);
	g_test_add_func("/fit/verdict/hostile", test_hostile);
	return g_test_run();
}
