/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A made-up cluster whose clocks are known exactly: messages between its nodes for tests of matching and alignment.
 * Clocks are readings as a function of true time; delays are a minimum plus an exponential part. Everything follows
 * from the seed.
 */
#pragma once

#include "sync/match/match.h"

#include <math.h>

#define CLUSTER_NODES_MAX 16

struct cluster_clock {
	int64_t offset_ns;
	double rate;	     /* minus one */
	double sine_rate;    /* amplitude of the rate */
	double sine_period_s;
	double step_at_s;    /* 0: none */
	int64_t step_ns;
};

struct cluster {
	guint64 state; /* of the generator of random numbers */
	guint node_count;
	struct cluster_clock clocks[CLUSTER_NODES_MAX];
	double duration_s;
	double min_ns;	  /* delays */
	double jitter_ns;
	double asymmetry_ns; /* each direction of each pair has up to this more */
	double wrong_part; /* of the messages arrive wrong_ns too early */
	double wrong_ns;
};

static inline double cluster_random(struct cluster *cluster)
{
	cluster->state = cluster->state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
	return ((double)(cluster->state >> 11) + 0.5) / 9007199254740992.0;
}

static inline void cluster_init(struct cluster *cluster, guint64 seed, guint node_count)
{
	g_assert(node_count <= CLUSTER_NODES_MAX);
	*cluster = (struct cluster){ .state = seed * 7919 + 1, .node_count = node_count, .duration_s = 60,
				     .min_ns = 25000, .jitter_ns = 50000 };
	for (guint i = 0; i < 8; i++)
		cluster_random(cluster);
	for (guint i = 0; i < node_count; i++) {
		cluster->clocks[i].offset_ns = (int64_t)(cluster_random(cluster) * 1e12);
		cluster->clocks[i].rate = (cluster_random(cluster) - 0.5) * 1e-4;
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
	char names[CLUSTER_NODES_MAX][2] = { 0 };
	const char *pointers[CLUSTER_NODES_MAX];
	for (guint i = 0; i < cluster->node_count; i++) {
		names[i][0] = (char)('a' + i);
		pointers[i] = names[i];
	}
	return dtc_matches_new(pointers, cluster->node_count);
}
