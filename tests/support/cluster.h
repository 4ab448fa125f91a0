/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A made-up cluster whose clocks are known exactly: messages between its nodes for tests of matching and alignment.
 * Clocks are readings as a function of true time; delays are a minimum plus an exponential part. Everything follows
 * from the seed.
 */
#pragma once

#include "sync/match/match.h"

#include <math.h>

#define CLUSTER_NODES_MAX 128
#define CLUSTER_KNOTS_MAX 512

struct cluster_clock {
	int64_t offset_ns;
	double rate;	  /* minus one */
	double sine_rate; /* amplitude of the rate */
	double sine_period_s;
	double step_at_s; /* 0: none */
	int64_t step_ns;
	/* a rate that is constant between knots, beside all that; 0 knots: none */
	guint knot_count;
	double knot_s;
	double knot_rate[CLUSTER_KNOTS_MAX];
	double knot_gained[CLUSTER_KNOTS_MAX]; /* up to the knot, ns */
};

struct cluster {
	guint64 state; /* of the generator of random numbers */
	guint node_count;
	struct cluster_clock clocks[CLUSTER_NODES_MAX];
	double duration_s;
	double min_ns; /* delays */
	double jitter_ns;
	double asymmetry_ns; /* each direction of each pair has up to this more */
	double wrong_part;   /* of the messages arrive wrong_ns too early */
	double wrong_ns;
};

static inline double cluster_random(struct cluster *cluster)
{
	cluster->state =
		cluster->state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
	return ((double)(cluster->state >> 11) + 0.5) / 9007199254740992.0;
}

static inline void cluster_init(struct cluster *cluster, guint64 seed, guint node_count)
{
	g_assert(node_count <= CLUSTER_NODES_MAX);
	*cluster = (struct cluster){ .state = seed * 7919 + 1,
				     .node_count = node_count,
				     .duration_s = 60,
				     .min_ns = 25000,
				     .jitter_ns = 50000 };
	for (guint i = 0; i < 8; i++)
		cluster_random(cluster);
	for (guint i = 0; i < node_count; i++) {
		cluster->clocks[i].offset_ns = (int64_t)(cluster_random(cluster) * 1e12);
		cluster->clocks[i].rate = (cluster_random(cluster) - 0.5) * 1e-4;
	}
}

/* A random walk of the rate, and a sine sampled at the knots, from the cluster's random numbers. */
static inline void cluster_wander(struct cluster *cluster, guint node, double walk_rate, double sine_rate,
				  double sine_period_s)
{
	struct cluster_clock *clock = &cluster->clocks[node];
	double walk = 0, phase = 2 * G_PI * cluster_random(cluster);
	clock->knot_s = 10;
	clock->knot_count = (guint)(cluster->duration_s / clock->knot_s) + 1;
	g_assert(clock->knot_count <= CLUSTER_KNOTS_MAX);
	for (guint k = 0; k < clock->knot_count; k++) {
		double sine = sine_period_s > 0 ? sin(2 * G_PI * k * clock->knot_s / sine_period_s + phase) : 0;
		clock->knot_rate[k] = walk + sine_rate * sine;
		clock->knot_gained[k] =
			k ? clock->knot_gained[k - 1] + clock->knot_rate[k - 1] * clock->knot_s * 1e9 : 0;
		/* nearly normal: the sum of twelve has variance one */
		double normal = -6;
		for (guint i = 0; i < 12; i++)
			normal += cluster_random(cluster);
		walk += walk_rate * normal;
	}
}

/* What the node's clock shows at a true time. */
static inline int64_t cluster_read(const struct cluster *cluster, guint node, double true_ns)
{
	const struct cluster_clock *clock = &cluster->clocks[node];
	double gained = clock->rate * true_ns;
	if (clock->sine_rate != 0) {
		double omega = 2 * G_PI / (clock->sine_period_s * 1e9);
		gained += clock->sine_rate / omega * (1 - cos(omega * true_ns));
	}
	if (clock->knot_count) {
		guint k = MIN((guint)(true_ns / (clock->knot_s * 1e9)), clock->knot_count - 1);
		gained += clock->knot_gained[k] + clock->knot_rate[k] * (true_ns - k * clock->knot_s * 1e9);
	}
	int64_t step = clock->step_at_s > 0 && true_ns >= clock->step_at_s * 1e9 ? clock->step_ns : 0;
	return clock->offset_ns + (int64_t)floor(true_ns + gained) + step;
}

static inline void cluster_send(struct cluster *cluster, DtcMatches *matches, guint from, guint to, double extra_ns)
{
	double sent = cluster_random(cluster) * cluster->duration_s * 1e9;
	double received = sent + cluster->min_ns + extra_ns - cluster->jitter_ns * log(cluster_random(cluster));
	int64_t stamp = cluster_read(cluster, to, received);
	if (cluster->wrong_part > 0 && cluster_random(cluster) < cluster->wrong_part)
		stamp -= (int64_t)cluster->wrong_ns;
	g_assert_true(dtc_matches_add(matches, from, to, cluster_read(cluster, from, sent), stamp));
}

/* count messages each way between two nodes. */
static inline void cluster_talk(struct cluster *cluster, DtcMatches *matches, guint a, guint b, guint count)
{
	double there = cluster->asymmetry_ns * cluster_random(cluster);
	double back = cluster->asymmetry_ns * cluster_random(cluster);
	for (guint i = 0; i < count; i++) {
		cluster_send(cluster, matches, a, b, there);
		cluster_send(cluster, matches, b, a, back);
	}
}

/* Empty messages for the cluster's nodes, named "a", "b", ... */
static inline DtcMatches *cluster_new_matches(const struct cluster *cluster)
{
	char names[CLUSTER_NODES_MAX][8] = { { 0 } };
	const char *pointers[CLUSTER_NODES_MAX];
	for (guint i = 0; i < cluster->node_count; i++) {
		g_snprintf(names[i], sizeof(names[i]), cluster->node_count <= 26 ? "%c" : "%03u",
			   cluster->node_count <= 26 ? 'a' + i : i);
		pointers[i] = names[i];
	}
	return dtc_matches_new(pointers, cluster->node_count);
}
