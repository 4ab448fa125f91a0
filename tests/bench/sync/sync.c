/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alignment in figures: made-up clusters with known clocks, the largest error of the maps (median over seeds), the
 * certified half-width over the physical limit (d1 + d2) / 2, whether the truth was ever outside, and the CPU time of
 * the fit. One line per case beside what it has to reach; exits 1 if the truth was outside or a figure is missed.
 * With --messages it reads a file of messages and prints the CPU seconds of that and of the fit.
 * usage: bench-sync [SEEDS [CASE]] | --messages FILE
 */
#include "sync/fit/fit.h"
#include "sync/match/match.h"
#include "tests/support/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INSTANTS 2000
#define SEEDS_MAX 20

enum shape { MESH, LINE, RANDOM };

struct bench_case {
	const char *name;
	guint nodes, messages; /* per pair, both ways together */
	enum shape shape;
	guint pairs; /* RANDOM */
	double duration_s, asymmetry_ns, walk, sine, sine_period_s, wrong_part;
	int64_t step_ns, base_ns;
	double reach_ns;
	double reach_width; /* median; 0: not asked for */
	double reach_s;	    /* CPU time of the fit; 0: not asked for */
	const char *before; /* the best predecessor, as published in the issue */
};

static const struct bench_case cases[] = {
	{ .name = "2 nodes, 1,000",
	  .nodes = 2,
	  .messages = 1000,
	  .duration_s = 600,
	  .reach_ns = 300,
	  .before = "928 ns" },
	{ .name = "2 nodes, 10,000",
	  .nodes = 2,
	  .messages = 10000,
	  .duration_s = 600,
	  .reach_ns = 40,
	  .before = "333 ns" },
	{ .name = "10 nodes, mesh, 2,000",
	  .nodes = 10,
	  .messages = 2000,
	  .duration_s = 600,
	  .reach_ns = 150,
	  .before = "1573 ns" },
	{ .name = "10 nodes, line, 2,000",
	  .nodes = 10,
	  .messages = 2000,
	  .shape = LINE,
	  .duration_s = 600,
	  .reach_ns = 900,
	  .before = "aborts" },
	{ .name = "sine of 1 ppm, 20,000",
	  .nodes = 2,
	  .messages = 20000,
	  .duration_s = 600,
	  .sine = 1e-6,
	  .sine_period_s = 600,
	  .reach_ns = 2000,
	  .reach_width = 1.15,
	  .before = "421 us" },
	{ .name = "random walk, 1 h, 20,000",
	  .nodes = 2,
	  .messages = 20000,
	  .duration_s = 3600,
	  .walk = 5e-9,
	  .reach_ns = 2000,
	  .reach_width = 1.15,
	  .before = "117 us" },
	{ .name = "step of 1 ms, 20,000",
	  .nodes = 2,
	  .messages = 20000,
	  .duration_s = 600,
	  .step_ns = 1000000,
	  .reach_ns = 2000,
	  .reach_width = 1.15,
	  .before = "510 us" },
	{ .name = "wrong stamps, 20,000",
	  .nodes = 2,
	  .messages = 20000,
	  .duration_s = 600,
	  .wrong_part = 0.0005,
	  .reach_ns = 100,
	  .reach_width = 1.15,
	  .before = "28 us" },
	{ .name = "100 nodes, mesh, 100, asymmetric",
	  .nodes = 100,
	  .messages = 100,
	  .duration_s = 600,
	  .asymmetry_ns = 50000,
	  .reach_ns = 5000,
	  .before = "32 us" },
	{ .name = "100 nodes, 500 pairs, wandering",
	  .nodes = 100,
	  .messages = 1000,
	  .shape = RANDOM,
	  .pairs = 500,
	  .duration_s = 1800,
	  .asymmetry_ns = 50000,
	  .walk = 5e-9,
	  .sine = 1e-7,
	  .sine_period_s = 900,
	  .reach_ns = 20000,
	  .before = "83 us" },
	{ .name = "2 nodes, 10,000, epoch 1.7e9 s",
	  .nodes = 2,
	  .messages = 10000,
	  .duration_s = 600,
	  .base_ns = G_GINT64_CONSTANT(1700000000000000000),
	  .reach_ns = 40,
	  .before = "0.4 s" },
	{ .name = "2 nodes, 1,000,000",
	  .nodes = 2,
	  .messages = 1000000,
	  .duration_s = 600,
	  .reach_ns = 40,
	  .reach_s = 1,
	  .before = "" },
	{ .name = "2 nodes, 10,000, clocks at 1e7 s",
	  .nodes = 2,
	  .messages = 10000,
	  .duration_s = 600,
	  .base_ns = G_GINT64_CONSTANT(10000000000000000),
	  .reach_ns = 40,
	  .before = "0.4 s" },
	{ .name = "100 nodes, 500 pairs, 400",
	  .nodes = 100,
	  .messages = 400,
	  .shape = RANDOM,
	  .pairs = 500,
	  .duration_s = 600,
	  .reach_ns = 20000,
	  .reach_s = 5,
	  .before = "" },
};

struct outcome {
	double error_ns, outside_ns, width_median, width_most, seconds;
	guint trimmed, steps;
	double step_error_ns, step_place_s;
};

static int compare_doubles(const void *left, const void *right)
{
	double p = *(const double *)left, q = *(const double *)right;
	return (p > q) - (p < q);
}

static double get_median(double *values, guint count)
{
	qsort(values, count, sizeof(double), compare_doubles);
	return values[count / 2];
}

static void talk(struct cluster *cluster, const struct bench_case *entry, DtcMatches *matches)
{
	guint count = entry->messages / 2, n = entry->nodes, made = 0;
	g_autofree bool *is_joined = g_new0(bool, n *n);
	for (guint b = 1; entry->shape == RANDOM && b < n; b++) {
		guint a = (guint)(cluster_random(cluster) * b);
		is_joined[a * n + b] = true;
		made++;
	}
	while (entry->shape == RANDOM && made < entry->pairs) {
		guint a = (guint)(cluster_random(cluster) * n), b = (guint)(cluster_random(cluster) * n);
		if (a >= b || is_joined[a * n + b])
			continue;
		is_joined[a * n + b] = true;
		made++;
	}
	for (guint a = 0; a < n; a++)
		for (guint b = a + 1; b < n; b++)
			if (entry->shape == MESH || (entry->shape == LINE && b == a + 1) || is_joined[a * n + b])
				cluster_talk(cluster, matches, a, b, count);
}

static void measure(const struct cluster *cluster, const struct bench_case *entry, const DtcSync *sync,
		    struct outcome *outcome)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint reference = dtc_clocks_get_reference(clocks), count = 0, points = entry->nodes > 10 ? 200 : INSTANTS;
	g_autofree double *widths = g_new(double, (gsize)(points + 1) * entry->nodes);
	for (guint node = 0; node < entry->nodes; node++) {
		for (guint i = 0; node != reference && i <= points; i++) {
			double at = cluster->duration_s * 1e9 * i / points;
			DtcNodeTime shown = { cluster_read(cluster, node, at) };
			int64_t truth = cluster_read(cluster, reference, at);
			DtcClusterTime lo, hi, map = dtc_clocks_to_cluster(clocks, node, shown);
			dtc_clocks_get_bounds(clocks, node, shown, &lo, &hi);
			/* stamps are floors: a nanosecond either way is not the fit's */
			outcome->outside_ns = MAX(outcome->outside_ns, (double)(lo.ns - truth - 1));
			outcome->outside_ns = MAX(outcome->outside_ns, (double)(truth - hi.ns - 1));
			if (entry->step_ns && fabs(at - 300e9) < 1e9)
				continue;
			widths[count++] = (double)(hi.ns - lo.ns) / 2 / cluster->min_ns;
			outcome->error_ns = MAX(outcome->error_ns, fabs((double)(map.ns - truth)));
		}
	}
	outcome->width_median = get_median(widths, count);
	outcome->width_most = widths[count - 1];
	const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, 0);
	outcome->trimmed = pair->trimmed_count;
	outcome->steps = pair->step_count;
	if (pair->step_count) {
		outcome->step_error_ns = fabs((double)(pair->steps[0].change_ns - entry->step_ns));
		outcome->step_place_s = fabs((double)(pair->steps[0].a_ns - cluster_read(cluster, 0, 300e9)) / 1e9);
	}
}

static struct outcome run(const struct bench_case *entry, guint seed)
{
	struct outcome outcome = { 0 };
	g_autofree struct cluster *cluster = g_new0(struct cluster, 1);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	cluster_init(cluster, seed, entry->nodes);
	cluster->duration_s = entry->duration_s;
	cluster->asymmetry_ns = entry->asymmetry_ns;
	cluster->wrong_part = entry->wrong_part;
	cluster->wrong_ns = 200000;
	for (guint i = 0; i < entry->nodes; i++) {
		cluster->clocks[i].offset_ns = entry->base_ns + cluster->clocks[i].offset_ns / 200;
		if (entry->walk != 0 || entry->sine != 0)
			cluster_wander(cluster, i, entry->walk, entry->sine, entry->sine_period_s);
	}
	if (entry->step_ns) {
		cluster->clocks[1].step_at_s = 300;
		cluster->clocks[1].step_ns = entry->step_ns;
	}
	g_autoptr(DtcMatches) matches = cluster_new_matches(cluster);
	talk(cluster, entry, matches);
	clock_t begin = clock();
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, findings, NULL);
	outcome.seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	g_assert(sync && dtc_sync_is_complete(sync));
	measure(cluster, entry, sync, &outcome);
	return outcome;
}

static bool run_case(const struct bench_case *entry, guint seeds)
{
	double errors[SEEDS_MAX], medians[SEEDS_MAX], seconds[SEEDS_MAX], outside = 0, width = 0, step = 0, place = 0;
	guint trimmed = 0;
	for (guint seed = 0; seed < seeds; seed++) {
		struct outcome outcome = run(entry, seed + 1);
		errors[seed] = outcome.error_ns;
		medians[seed] = outcome.width_median;
		seconds[seed] = outcome.seconds;
		outside = MAX(outside, outcome.outside_ns);
		width = MAX(width, outcome.width_most);
		step = MAX(step, outcome.step_error_ns);
		place = MAX(place, outcome.step_place_s);
		trimmed += outcome.trimmed;
	}
	double error = get_median(errors, seeds), median = get_median(medians, seeds);
	double time = get_median(seconds, seeds);
	bool ok = error <= entry->reach_ns && outside <= 0 &&
		  (entry->reach_width == 0 || median <= entry->reach_width) &&
		  (entry->reach_s == 0 || time <= entry->reach_s);
	printf("%-34s %9.0f %9.0f %9.0f  %-8s %5.3f %6.3f %8.0f %7.3f  %s", entry->name, error, errors[seeds - 1],
	       entry->reach_ns, entry->before, median, width, outside, time, ok ? "ok" : "MISSED");
	if (entry->step_ns)
		printf("  step found within %.3f s, %.0f ns", place, step);
	if (entry->wrong_part > 0)
		printf("  %u left out in %u runs", trimmed, seeds);
	putchar('\n');
	fflush(stdout);
	return ok;
}

/* What of the program's time on a file of messages is reading, and what the fit. */
static int time_file(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	clock_t begin = clock();
	g_autoptr(DtcMatches) matches = dtc_matches_read_file(path, &error);
	if (!matches) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	clock_t parsed = clock();
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, findings, NULL);
	clock_t end = clock();
	printf("%.3f %.3f\n", (double)(parsed - begin) / CLOCKS_PER_SEC, (double)(end - parsed) / CLOCKS_PER_SEC);
	return sync ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--messages") == 0)
		return time_file(argv[2]);
	guint seeds = argc > 1 ? (guint)CLAMP(atoi(argv[1]), 1, SEEDS_MAX) : 5;
	bool ok = true;
	printf("%-34s %9s %9s %9s  %-8s %5s %6s %8s %7s\n", "case", "error ns", "worst", "to reach", "before", "width",
	       "most", "outside", "CPU s");
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		if (argc < 3 || (guint)atoi(argv[2]) == i)
			ok &= run_case(&cases[i], seeds);
	return ok ? 0 : 1;
}
