/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hulls that pictures show: exact where they are known, and never beyond a message of their own cloud. */
#include "sync/fit/fit.h"
#include "tests/support/cluster.h"

#include <string.h>

static DtcSync *fit(const DtcMatches *matches)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	DtcSync *sync = dtc_fit_clocks(matches, NULL, findings, &error);
	g_assert_no_error(error);
	return sync;
}

static guint count_hulls(const struct dtc_sync_pair *pair, bool is_ab)
{
	guint count = 0;
	for (guint i = 0; i < pair->corner_count; i++)
		count += pair->corners[i].is_ab == is_ab && pair->corners[i].is_first;
	return count;
}

/* Clocks a thousand seconds apart; the delays of messages each way make hulls with known corners. */
static void test_known(void)
{
	static const char *const names[] = { "a", "b" };
	static const int64_t delays_us[] = { 90, 50, 80, 40, 70, 60, 45, 99, 95 }; /* corners: 0, 1, 3, 6, 8 */
	static const guint corners[] = { 0, 1, 3, 6, 8 };
	const int64_t ahead = G_GINT64_CONSTANT(1000000000000), second = 1000000000;
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	for (guint i = 0; i < G_N_ELEMENTS(delays_us); i++) {
		int64_t at = (i + 1) * second, delay = delays_us[i] * 1000;
		g_assert_true(dtc_matches_add(matches, 0, 1, at, at + delay + ahead));
		g_assert_true(dtc_matches_add(matches, 1, 0, at + ahead, at + delay));
	}
	g_autoptr(DtcSync) sync = fit(matches);
	const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, 0);
	g_assert_cmpint(pair->status, ==, DTC_PAIR_ALIGNED);
	g_assert_cmpuint(count_hulls(pair, true), ==, 1);
	g_assert_cmpuint(count_hulls(pair, false), ==, 1);
	g_assert_cmpuint(pair->corner_count, ==, 2 * G_N_ELEMENTS(corners));
	for (guint i = 0; i < pair->corner_count; i++) {
		const struct dtc_sync_corner *corner = &pair->corners[i];
		guint k = corners[i % G_N_ELEMENTS(corners)];
		int64_t at = (k + 1) * second, delay = delays_us[k] * 1000;
		g_assert_true(corner->is_ab == (i < G_N_ELEMENTS(corners)));
		/* what is kept allows for rounding to whole nanoseconds */
		g_assert_cmpint(ABS(corner->a_ns - (corner->is_ab ? at : at + delay)), <=, 8);
		g_assert_cmpint(ABS(corner->b_ns - ahead - (corner->is_ab ? at + delay : at)), <=, 8);
	}
}

/* Every message that was kept lies on its side of the hull of its own direction. */
static void check_sides(const struct dtc_sync_pair *pair, const struct dtc_message *messages, guint count, bool is_ab)
{
	for (guint i = 0; i < count; i++) {
		int64_t a_ns = is_ab ? messages[i].sent_ns : messages[i].received_ns;
		int64_t b_ns = is_ab ? messages[i].received_ns : messages[i].sent_ns;
		for (guint k = 1; k < pair->corner_count; k++) {
			const struct dtc_sync_corner *left = &pair->corners[k - 1], *right = left + 1;
			if (right->is_first || left->is_ab != is_ab || a_ns < left->a_ns || a_ns > right->a_ns)
				continue;
			double part = (double)(a_ns - left->a_ns) / (double)MAX(right->a_ns - left->a_ns, 1);
			double edge = (double)(left->b_ns - left->a_ns) +
				      part * (double)((right->b_ns - right->a_ns) - (left->b_ns - left->a_ns));
			double beyond = (double)(b_ns - a_ns) - edge;
			g_assert_cmpfloat(is_ab ? beyond : -beyond, >=, -20);
		}
	}
}

static void test_sides(void)
{
	for (guint seed = 0; seed < 4; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 600;
		cluster.clocks[1].sine_rate = seed % 2 ? 1e-6 : 0;
		cluster.clocks[1].sine_period_s = 300;
		if (seed / 2) {
			cluster.clocks[1].step_at_s = 200;
			cluster.clocks[1].step_ns = 5000000;
		}
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		cluster_talk(&cluster, matches, 0, 1, 3000);
		g_autoptr(DtcSync) sync = fit(matches);
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, 0);
		struct dtc_match_pair match;
		dtc_matches_get_pair(matches, 0, &match);
		/* a line fits a steady clock, one before and one after a step; not one that swings by 95 us */
		guint least = 1 + seed / 2 + seed % 2, most = seed % 2 ? 40 : least;
		g_assert_cmpuint(count_hulls(pair, true), >=, least);
		g_assert_cmpuint(count_hulls(pair, true), <=, most);
		if (!pair->trimmed_count) {
			check_sides(pair, match.ab, match.ab_count, true);
			check_sides(pair, match.ba, match.ba_count, false);
		}
		g_assert_cmpuint(pair->trimmed_count, <, 30);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/outline/known", test_known);
	g_test_add_func("/fit/outline/sides", test_sides);
	return g_test_run();
}
