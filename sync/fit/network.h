/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many nodes at one instant: each pair gives an estimate and a certified interval of the difference of two clocks.
 *
 * Bounds: the largest difference of a node's clock to the root's that all intervals allow is a linear program whose
 * constraints are all of the form theta_b - theta_a <= c. Its optimum is the length of the shortest path from the root
 * in the graph with these weights, so that is what is computed: exact, and no simplex can stop early.
 *
 * Estimate: least squares over all pairs, weighted by 1 / width^2; a full mesh averages path asymmetry away. What hangs
 * on one pair only lies where that says, so that a line or a tree is linear.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* theta[b] - theta[a] lies in [lo, hi] (either may be infinite) and is about estimate; weight 0: no estimate. */
struct dtc_network_edge {
	guint a;
	guint b;
	double lo;
	double hi;
	double estimate;
	double weight;
	/* |theta[b] - theta[a] - estimate| <= margin satisfies the pair's messages; negative: not known */
	double margin;
};

/*
 * Certified bounds of theta[i] - theta[root]. False if the intervals contradict each other around a cycle; then
 * ret_edge is an edge of it.
 */
bool dtc_network_get_bounds(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			    double *ret_lo, double *ret_hi, guint *ret_edge);

/* Least squares; theta is the start on entry and the solution on return, theta[root] stays 0. */
void dtc_network_estimate(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			  double *theta);

/*
 * Moves theta as little as it takes that every pair's messages hold (differences within the margins), where averaging
 * went beyond: the violated constraints are projected on in turn. Gives what violation is left, 0 if none.
 */
double dtc_network_project(const struct dtc_network_edge *edges, guint edge_count, guint root, double *theta);
