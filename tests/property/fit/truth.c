/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an alignment promises, on made-up clusters whose clocks are known: the truth lies inside the certified interval
 * at every instant, no message that was kept arrives before it was sent, and the answer depends neither on the order of
 * the nodes nor on where a clock's zero is.
 */
#include "sync/fit/fit.h"
#include "tests/support/cluster.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 6
#define INSTANTS 500

enum shape { PAIR, LINE, RING, MESH };

static void talk(struct cluster *cluster, DtcMatches *matches, enum shape shape, guint count)
{
	guint n = cluster->node_count;
	for (guint a = 0; a < n; a++) {
		for (guint b = a + 1; b < n; b++) {
			bool neighbours = b == a + 1 || (shape == RING && a == 0 && b == n - 1);
			if (shape == MESH || neighbours)
				cluster_talk(cluster, matches, a, b, count);
		}
	}
}

/* Every two nodes at one instant: how far the maps put them apart is an error within the bounds of the two. */
static void check_differences(const struct cluster *cluster, const DtcClocks *clocks)
{
	for (guint i = 0; i <= INSTANTS; i += 10) {
		double at = cluster->duration_s * 1e9 * i / INSTANTS;
		for (guint a = 0; a < cluster->node_count; a++) {
			DtcNodeTime shown_a = { cluster_read(cluster, a, at) };
			DtcClusterTime time = dtc_clocks_to_cluster(clocks, a, shown_a);
			for (guint b = 0; b < cluster->node_count; b++) {
				DtcNodeTime shown_b = { cluster_read(cluster, b, at) };
				int64_t error = time.ns - dtc_clocks_to_cluster(clocks, b, shown_b).ns, lo, hi;
				g_assert_true(dtc_clocks_get_difference(clocks, a, b, time, &lo, &hi));
				g_assert_cmpint(lo, <=, error + 2); /* stamps are floors */
				g_assert_cmpint(error - 2, <=, hi);
			}
		}
	}
}

/* Largest error of the map; asserts that the truth is inside. */
static double check_maps(const struct cluster *cluster, const DtcSync *sync)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint reference = dtc_clocks_get_reference(clocks);
	double worst = 0;
	for (guint node = 0; node < cluster->node_count; node++) {
		g_assert_cmpuint(dtc_clocks_get_group(clocks, node), ==, 0);
		for (guint i = 0; i <= INSTANTS; i++) {
			double at = cluster->duration_s * 1e9 * i / INSTANTS;
			DtcNodeTime shown = { cluster_read(cluster, node, at) };
			int64_t truth = cluster_read(cluster, reference, at);
			DtcClusterTime lo, hi, cluster_time = dtc_clocks_to_cluster(clocks, node, shown);
			dtc_clocks_get_bounds(clocks, node, shown, &lo, &hi);
			g_assert_cmpint(lo.ns, <=, cluster_time.ns);
			g_assert_cmpint(cluster_time.ns, <=, hi.ns);
			g_assert_cmpint(lo.ns, <=, truth + 1); /* stamps are floors */
			g_assert_cmpint(truth - 1, <=, hi.ns);
			worst = MAX(worst, fabs((double)(cluster_time.ns - truth)));
		}
	}
	return worst;
}

static double check_truth(const struct cluster *cluster, const DtcSync *sync)
{
	double worst = check_maps(cluster, sync);
	check_differences(cluster, dtc_sync_get_clocks(sync));
	return worst;
}

static bool is_trimmed(const struct dtc_sync_pair *pair, guint from, const struct dtc_message *message)
{
	for (guint i = 0; i < pair->trimmed_count; i++)
		if (pair->trimmed[i].from == from && pair->trimmed[i].sent_ns == message->sent_ns &&
		    pair->trimmed[i].received_ns == message->received_ns)
			return true;
	return false;
}

/* The result must name the pair if a message does not hold. */
static bool is_named(const DtcFindings *findings, guint a, guint b)
{
	g_autofree char *names = g_strdup_printf("messages between '%c' and '%c' arrive before", 'a' + a, 'a' + b);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		if (strstr(dtc_findings_get(findings, i)->text, names))
			return true;
	return false;
}

static void check_direction(const DtcClocks *clocks, const DtcFindings *findings, const struct dtc_sync_pair *pair,
			    const struct dtc_message *messages, guint count, guint from, guint to)
{
	for (guint i = 0; i < count; i++) {
		int64_t sent = dtc_clocks_to_cluster(clocks, from, (DtcNodeTime){ messages[i].sent_ns }).ns;
		int64_t received = dtc_clocks_to_cluster(clocks, to, (DtcNodeTime){ messages[i].received_ns }).ns;
		if (received < sent && !is_trimmed(pair, from, &messages[i]) && !is_named(findings, pair->a, pair->b))
			g_error("%s: message %u of %u arrives %" G_GINT64_FORMAT " ns before it was sent",
				from == pair->a ? "there" : "back", i, count, (gint64)(sent - received));
	}
}

static void check_messages(const DtcMatches *matches, const DtcSync *sync, const DtcFindings *findings)
{
	for (guint i = 0; i < dtc_matches_get_pair_count(matches); i++) {
		struct dtc_match_pair match;
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		dtc_matches_get_pair(matches, i, &match);
		g_assert_cmpuint(match.a, ==, pair->a);
		check_direction(dtc_sync_get_clocks(sync), findings, pair, match.ab, match.ab_count, match.a, match.b);
		check_direction(dtc_sync_get_clocks(sync), findings, pair, match.ba, match.ba_count, match.b, match.a);
	}
}

static DtcSync *fit(const DtcMatches *matches, DtcFindings *findings)
{
	g_autoptr(GError) error = NULL;
	DtcSync *sync = dtc_fit_clocks(matches, NULL, findings, &error);
	g_assert_no_error(error);
	return sync;
}

static double run(struct cluster *cluster, enum shape shape, guint count)
{
	g_autoptr(DtcMatches) matches = cluster_new_matches(cluster);
	talk(cluster, matches, shape, count);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSync) sync = fit(matches, findings);
	double worst = check_truth(cluster, sync);
	check_messages(matches, sync, findings);
	return worst;
}

static void test_steady(void)
{
	static const guint counts[] = { 3, 10, 100, 2000 };
	for (guint seed = 0; seed < SEEDS; seed++) {
		for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
			struct cluster cluster;
			cluster_init(&cluster, seed, 2);
			double worst = run(&cluster, PAIR, counts[i]);
			g_assert_cmpfloat(worst, <, counts[i] >= 2000 ? 2e3 : counts[i] >= 100 ? 2e4 : 1e9);
			cluster_init(&cluster, seed, 6);
			cluster.asymmetry_ns = 20000;
			run(&cluster, seed % 3 == 0 ? LINE : seed % 3 == 1 ? RING : MESH, counts[i]);
		}
	}
}

static void test_wandering(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2 + seed % 3);
		cluster.duration_s = 600;
		for (guint i = 0; i < cluster.node_count; i++) {
			cluster.clocks[i].sine_rate = 0.9e-6;
			cluster.clocks[i].sine_period_s = 300 + 200 * cluster_random(&cluster);
		}
		g_assert_cmpfloat(run(&cluster, MESH, 3000), <, 8e3);
	}
}

/* Rates that change fast, but within the wander. */
static void test_restless(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 600;
		cluster.min_ns = 2000;
		cluster.jitter_ns = 5000;
		cluster.clocks[1].sine_rate = 1.9e-6;
		cluster.clocks[1].sine_period_s = 40 + 20 * seed;
		run(&cluster, PAIR, 10000);
	}
}

/*
 * One way much slower than the other: a swing of the clock fits between the clouds, and only the fast direction's own
 * messages tell that it is there. A bound that believes in a steadier clock would be off on that side.
 */
static void test_hidden(void)
{
	static const double periods_s[] = { 20, 40, 60, 180, 600 }, rates[] = { 1e-7, 3e-7, 1e-6, 1.9e-6 };
	static const guint counts[] = { 100, 500, 10000 };
	for (guint seed = 0; seed < 3; seed++) {
		for (guint i = 0; i < G_N_ELEMENTS(periods_s) * G_N_ELEMENTS(rates); i++) {
			struct cluster cluster;
			cluster_init(&cluster, seed * 100 + i, 2);
			cluster.duration_s = 600;
			cluster.min_ns = 0;
			cluster.asymmetry_ns = seed * 50000;
			cluster.clocks[1].sine_rate = rates[i % G_N_ELEMENTS(rates)];
			cluster.clocks[1].sine_period_s = periods_s[i / G_N_ELEMENTS(rates)];
			run(&cluster, PAIR, counts[(seed + i) % G_N_ELEMENTS(counts)]);
		}
	}
}

/* Largest certified half-width from the first to the last message, over the smallest that is possible. */
static double get_width(const struct cluster *cluster, const DtcSync *sync)
{
	const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, 0);
	guint node = dtc_clocks_get_reference(dtc_sync_get_clocks(sync)) == pair->a ? pair->b : pair->a;
	int64_t shift = node == pair->b ? pair->offset_ns : 0, most = 0;
	for (guint i = 0; i <= INSTANTS; i++) {
		DtcNodeTime at = { pair->begin_ns + shift + (pair->end_ns - pair->begin_ns) / INSTANTS * i };
		DtcClusterTime lo, hi;
		dtc_clocks_get_bounds(dtc_sync_get_clocks(sync), node, at, &lo, &hi);
		most = MAX(most, hi.ns - lo.ns);
	}
	return (double)most / 2 / cluster->min_ns;
}

/* Steady clocks and many messages: bounds near the physical limit, at the ends too; and a limit that is asked for. */
static void test_width(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 600;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		talk(&cluster, matches, PAIR, 10000);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcSync) sync = fit(matches, findings);
		g_assert_cmpfloat(dtc_sync_get_pair(sync, 0)->wander_ppm, <, 0.5);
		g_assert_cmpfloat(get_width(&cluster, sync), <, 1.15);
		struct dtc_fit_options options = dtc_fit_options_default();
		options.max_wander_ppm = 0.1;
		g_autoptr(DtcSync) steadier = dtc_fit_clocks(matches, &options, findings, NULL);
		g_assert_cmpfloat(dtc_sync_get_pair(steadier, 0)->wander_ppm, <=, 0.1);
		g_assert_cmpfloat(get_width(&cluster, steadier), <, get_width(&cluster, sync));
		check_truth(&cluster, steadier);
	}
}

/* Where messages are silent for a minute, the clock may have done anything that is assumed at all. */
static void test_pause(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 600;
		cluster.min_ns = 1000;
		cluster.jitter_ns = 1000;
		cluster.clocks[1].knot_s = 60; /* the rate changes in the pause, and back */
		cluster.clocks[1].knot_count = 10;
		cluster.clocks[1].knot_rate[5] = seed % 2 ? 1.9e-6 : -1.9e-6;
		for (guint k = 6; k < 10; k++)
			cluster.clocks[1].knot_gained[k] = cluster.clocks[1].knot_rate[5] * 60e9;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		for (guint i = 0; i < 10000; i++) {
			guint64 before = cluster.state;
			double at = cluster_random(&cluster) * 600;
			if (at >= 300 && at < 360)
				continue;
			cluster.state = before; /* it is the same time that is sent at */
			cluster_send(&cluster, matches, i % 2, 1 - i % 2, 0);
		}
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcSync) sync = fit(matches, findings);
		g_assert_cmpfloat(dtc_sync_get_pair(sync, 0)->wander_ppm, ==, 2);
		check_truth(&cluster, sync);
	}
}

static int compare_doubles(const void *left, const void *right)
{
	double p = *(const double *)left, q = *(const double *)right;
	return (p > q) - (p < q);
}

/*
 * A few bursts of messages that are slow or fast together: the line with the largest room rests on three of them and
 * was off by 51 us in the median.
 */
static void test_bursts(void)
{
	double errors[60];
	for (guint seed = 0; seed < G_N_ELEMENTS(errors); seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 7;
		cluster.min_ns = 100000;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		for (guint burst = 0; burst < 16; burst++) {
			double at = cluster_random(&cluster) * cluster.duration_s * 1e9;
			double load[2] = { -600000 * log(cluster_random(&cluster)),
					   -600000 * log(cluster_random(&cluster)) };
			for (guint i = 0; i < 10; i++, at += 200000) {
				double delay = cluster.min_ns + load[i % 2] - 20000 * log(cluster_random(&cluster));
				dtc_matches_add(matches, i % 2, 1 - i % 2, cluster_read(&cluster, i % 2, at),
						cluster_read(&cluster, 1 - i % 2, at + delay));
			}
		}
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcSync) sync = fit(matches, findings);
		errors[seed] = check_truth(&cluster, sync);
	}
	qsort(errors, G_N_ELEMENTS(errors), sizeof(double), compare_doubles);
	g_test_message("median of the largest error: %.0f ns", errors[G_N_ELEMENTS(errors) / 2]);
	g_assert_cmpfloat(errors[G_N_ELEMENTS(errors) / 2], <, 47000);
}

/* What a pair's messages show holds while there are any: afterwards a clock may go as fast as is assumed. */
static void test_afterwards(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 3);
		cluster.duration_s = 200;
		cluster.min_ns = 1000;
		cluster.jitter_ns = 1000;
		cluster.clocks[1].knot_s = 200;
		cluster.clocks[1].knot_count = 3;
		cluster.clocks[1].knot_rate[1] = cluster.clocks[1].knot_rate[2] = seed % 2 ? 1.9e-6 : -1.9e-6;
		cluster.clocks[1].knot_gained[2] = cluster.clocks[1].knot_rate[1] * 200e9;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		cluster_talk(&cluster, matches, 0, 1, 5000);
		cluster.duration_s = 600;
		cluster_talk(&cluster, matches, 0, 2, 5000);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcSync) sync = fit(matches, findings);
		g_assert_cmpfloat(dtc_sync_get_pair(sync, 0)->wander_ppm, <, 0.5);
		check_truth(&cluster, sync);
	}
}

static void test_wrong_stamps(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 3);
		cluster.wrong_part = 0.001;
		cluster.wrong_ns = seed % 2 ? 3e9 : 2e5;
		g_assert_cmpfloat(run(&cluster, MESH, 4000), <, 5e3);
	}
}

static void test_steps(void)
{
	static const int64_t steps[] = { 1000000, -1000000, 500000000, -200000 };
	for (guint seed = 0; seed < SEEDS; seed++) {
		for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
			struct cluster cluster;
			cluster_init(&cluster, seed, 2);
			cluster.duration_s = 120;
			cluster.clocks[1].step_at_s = 30 + 10 * seed;
			cluster.clocks[1].step_ns = steps[i];
			g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
			talk(&cluster, matches, PAIR, 3000);
			g_autoptr(DtcFindings) findings = dtc_findings_new();
			g_autoptr(DtcSync) sync = fit(matches, findings);
			check_truth(&cluster, sync);
			check_messages(matches, sync, findings);
			const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, 0);
			g_assert_cmpuint(pair->step_count, ==, 1);
			g_assert_cmpfloat(fabs((double)(pair->steps[0].change_ns - steps[i])), <, 5e3);
		}
	}
}

/* One clock of several steps: what two other nodes know of each other must not be taken for what they know of it. */
static void test_steps_among_many(void)
{
	static const int64_t steps[] = { 1000000, -1000000, -20000000 };
	for (guint seed = 0; seed < SEEDS; seed++) {
		for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
			struct cluster cluster;
			cluster_init(&cluster, seed, 4);
			cluster.duration_s = 60;
			cluster.clocks[seed % 4].step_at_s = 20 + 3 * seed;
			cluster.clocks[seed % 4].step_ns = steps[i];
			run(&cluster, seed % 2 ? MESH : LINE, 1000);
		}
	}
}

/*
 * The reference steps back by a second, so that from then on the others' readings are a second from its own. What the
 * two others know of each other stands at their readings, not at its; messages of 50 to some hundred ns make the bounds
 * so tight, and the second's clock wanders so much, that it shows. (Of differences nothing is said here: for a second
 * the reference shows readings that stand for two instants.)
 */
static void test_far_step(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		struct dtc_fit_options options = dtc_fit_options_default();
		cluster_init(&cluster, seed, 3);
		cluster.min_ns = 50;
		cluster.jitter_ns = 100;
		cluster.clocks[0].step_at_s = 25;
		cluster.clocks[0].step_ns = -1000000000;
		cluster.clocks[2].sine_rate = 5e-6;
		cluster.clocks[2].sine_period_s = 600;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		talk(&cluster, matches, LINE, 2000);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(GError) error = NULL;
		options.reference = 0;
		g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options, findings, &error);
		g_assert_no_error(error);
		check_maps(&cluster, sync);
	}
}

/* Neighbours on a line know each other as well as if one of them were the reference, wherever the reference is. */
static void test_neighbours(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 7, 6);
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	talk(&cluster, matches, LINE, 500);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	for (int reference = 0; reference < 6; reference++) {
		struct dtc_fit_options options = dtc_fit_options_default();
		g_autoptr(GError) error = NULL;
		options.reference = reference;
		g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options, findings, &error);
		g_assert_no_error(error);
		check_truth(&cluster, sync);
		const DtcClocks *clocks = dtc_sync_get_clocks(sync);
		for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++) {
			const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
			int64_t lo, hi, middle = pair->begin_ns + (pair->end_ns - pair->begin_ns) / 2;
			DtcClusterTime at = dtc_clocks_to_cluster(clocks, pair->a, (DtcNodeTime){ middle });
			g_assert_cmpuint(pair->b - pair->a, ==, 1);
			g_assert_true(dtc_clocks_get_difference(clocks, pair->a, pair->b, at, &lo, &hi));
			/* knots are apart, and instants are those of the reference */
			g_assert_cmpint(hi - lo, <, pair->width_ns[1] * 5 / 4 + 1000);
		}
	}
}

/* A step too near an end to be found is not passed over: its messages are named as what they may be. */
static void test_step_at_end(void)
{
	for (guint seed = 0; seed < SEEDS; seed++) {
		struct cluster cluster;
		cluster_init(&cluster, seed, 2);
		cluster.duration_s = 600;
		cluster.clocks[1].step_at_s = seed % 2 ? 5 : 595;
		cluster.clocks[1].step_ns = seed % 3 ? 1000000 : -1000000;
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		talk(&cluster, matches, PAIR, 3000);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcSync) sync = fit(matches, findings);
		if (dtc_sync_get_pair(sync, 0)->step_count)
			check_truth(&cluster, sync);
		else
			g_assert_false(dtc_findings_get_complete(findings));
	}
}

/* Messages that were long on their way at either end: the knots reach from each node's first stamp to its last. */
static void test_span(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 4, 2);
	const char *const names[] = { "a", "b" };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	cluster_talk(&cluster, matches, 0, 1, 2000);
	const double end = cluster.duration_s * 1e9, late = 20e6;
	int64_t first_ns = cluster_read(&cluster, 1, -late), last_ns = cluster_read(&cluster, 1, end + late);
	dtc_matches_add(matches, 1, 0, first_ns, cluster_read(&cluster, 0, 1000));
	dtc_matches_add(matches, 0, 1, cluster_read(&cluster, 0, end), last_ns);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSync) sync = fit(matches, findings);
	guint count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(dtc_sync_get_clocks(sync), 1, &count);
	g_assert_cmpint(knots[0].node_ns, <=, first_ns);
	g_assert_cmpint(knots[count - 1].node_ns, >=, last_ns);
}

/* The same messages, nodes in the opposite order and one clock shifted by an hour: the same clocks. */
static void test_order(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 5, 5);
	cluster.asymmetry_ns = 30000;
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	talk(&cluster, matches, MESH, 200);
	const char *const names[] = { "e", "d", "c", "b", "a" };
	g_autoptr(DtcMatches) turned = dtc_matches_new(names, 5), shifted = cluster_new_matches(&cluster);
	const int64_t hour = G_GINT64_CONSTANT(3600000000000);
	for (guint i = 0; i < dtc_matches_get_pair_count(matches); i++) {
		struct dtc_match_pair pair;
		dtc_matches_get_pair(matches, i, &pair);
		int64_t shift_a = pair.a == 2 ? hour : 0, shift_b = pair.b == 2 ? hour : 0;
		for (guint k = 0; k < pair.ab_count; k++) {
			dtc_matches_add(turned, 4 - pair.a, 4 - pair.b, pair.ab[k].sent_ns, pair.ab[k].received_ns);
			dtc_matches_add(shifted, pair.a, pair.b, pair.ab[k].sent_ns + shift_a,
					pair.ab[k].received_ns + shift_b);
		}
		for (guint k = 0; k < pair.ba_count; k++) {
			dtc_matches_add(turned, 4 - pair.b, 4 - pair.a, pair.ba[k].sent_ns, pair.ba[k].received_ns);
			dtc_matches_add(shifted, pair.b, pair.a, pair.ba[k].sent_ns + shift_b,
					pair.ba[k].received_ns + shift_a);
		}
	}
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSync) one = fit(matches, findings), other = fit(turned, findings);
	g_autoptr(DtcSync) third = fit(shifted, findings);
	g_assert_cmpint(dtc_sync_get_options(one)->reference, ==, 4 - dtc_sync_get_options(other)->reference);
	g_assert_cmpint(dtc_sync_get_options(one)->reference, ==, dtc_sync_get_options(third)->reference);
	bool reference_moves = dtc_sync_get_options(one)->reference == 2;
	for (guint node = 0; node < 5; node++) {
		guint count, other_count, third_count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(dtc_sync_get_clocks(one), node, &count);
		const struct dtc_clock_knot *same =
			dtc_clocks_get_knots(dtc_sync_get_clocks(other), 4 - node, &other_count);
		const struct dtc_clock_knot *later =
			dtc_clocks_get_knots(dtc_sync_get_clocks(third), node, &third_count);
		g_assert_cmpmem(knots, count * sizeof(*knots), same, other_count * sizeof(*same));
		g_assert_cmpuint(count, ==, third_count);
		for (guint k = 0; k < count; k++) {
			g_assert_cmpint(later[k].node_ns, ==, knots[k].node_ns + (node == 2 ? hour : 0));
			g_assert_cmpint(later[k].cluster_ns, ==, knots[k].cluster_ns + (reference_moves ? hour : 0));
			g_assert_cmpint(later[k].lo_ns, ==, knots[k].lo_ns + (reference_moves ? hour : 0));
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/truth/steady", test_steady);
	g_test_add_func("/fit/truth/wandering", test_wandering);
	g_test_add_func("/fit/truth/restless", test_restless);
	g_test_add_func("/fit/truth/hidden", test_hidden);
	g_test_add_func("/fit/truth/width", test_width);
	g_test_add_func("/fit/truth/pause", test_pause);
	g_test_add_func("/fit/truth/bursts", test_bursts);
	g_test_add_func("/fit/truth/afterwards", test_afterwards);
	g_test_add_func("/fit/truth/wrong-stamps", test_wrong_stamps);
	g_test_add_func("/fit/truth/steps", test_steps);
	g_test_add_func("/fit/truth/steps-among-many", test_steps_among_many);
	g_test_add_func("/fit/truth/far-step", test_far_step);
	g_test_add_func("/fit/truth/neighbours", test_neighbours);
	g_test_add_func("/fit/truth/step-at-end", test_step_at_end);
	g_test_add_func("/fit/truth/span", test_span);
	g_test_add_func("/fit/truth/order", test_order);
	return g_test_run();
}
