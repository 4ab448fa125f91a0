/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/network.h"

#include <math.h>
#include <string.h>

/* Improvements below this are rounding, ns; they must not look like a negative cycle. */
#define ROUNDING_NS 1e-3
/* Projections in turn approach the set of solutions geometrically; if there is none they would go on for ever. */
#define PROJECTION_ROUNDS 200
/* Aimed at this far inside the margins, because maps are rounded to whole nanoseconds. */
#define PROJECTION_ROOM_NS 4

/*
 * Bellman-Ford, because weights may be negative. direction 1: largest theta (paths from the root along hi), -1: the
 * negative of the smallest (paths to the root). The graph's diameter decides how many rounds it takes.
 */
static bool find_distances(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			   int direction, double *distance, guint *ret_edge)
{
	for (guint i = 0; i < node_count; i++)
		distance[i] = INFINITY;
	distance[root] = 0;
	for (guint round = 0; round <= node_count; round++) {
		bool changed = false;
		for (guint e = 0; e < edge_count; e++) {
			const struct dtc_network_edge *edge = &edges[e];
			double up = direction > 0 ? edge->hi : -edge->lo, down = direction > 0 ? -edge->lo : edge->hi;
			if (distance[edge->a] + up < distance[edge->b] - ROUNDING_NS) {
				distance[edge->b] = distance[edge->a] + up;
				changed = true;
				*ret_edge = e;
			}
			if (distance[edge->b] + down < distance[edge->a] - ROUNDING_NS) {
				distance[edge->a] = distance[edge->b] + down;
				changed = true;
				*ret_edge = e;
			}
		}
		if (!changed)
			return distance[root] > -ROUNDING_NS;
	}
	return false;
}

bool dtc_network_get_bounds(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			    double *ret_lo, double *ret_hi, guint *ret_edge)
{
	guint edge = 0;
	bool ok = find_distances(edges, edge_count, node_count, root, 1, ret_hi, &edge) &&
		  find_distances(edges, edge_count, node_count, root, -1, ret_lo, &edge);
	for (guint i = 0; i < node_count; i++)
		ret_lo[i] = -ret_lo[i];
	*ret_edge = edge;
	return ok;
}

/* product = Laplacian * vector, the root's row and column left out. */
static void multiply(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
		     const double *vector, double *product)
{
	memset(product, 0, node_count * sizeof(*product));
	for (guint e = 0; e < edge_count; e++) {
		const struct dtc_network_edge *edge = &edges[e];
		double flow = edge->weight * (vector[edge->b] - vector[edge->a]);
		product[edge->b] += flow;
		product[edge->a] -= flow;
	}
	product[root] = 0;
}

static double dot(const double *left, const double *right, guint count)
{
	double sum = 0;
	for (guint i = 0; i < count; i++)
		sum += left[i] * right[i];
	return sum;
}

/* Conjugate gradients with the diagonal as preconditioner: sparse, and quick from the solution of the knot before. */
void dtc_network_estimate(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			  double *theta)
{
	g_autofree double *work = g_new0(double, (gsize)node_count * 5);
	double *diagonal = work, *residual = work + node_count, *step = work + 2 * (gsize)node_count;
	double *product = work + 3 * (gsize)node_count, *scaled = work + 4 * (gsize)node_count;
	theta[root] = 0;
	for (guint e = 0; e < edge_count; e++) {
		const struct dtc_network_edge *edge = &edges[e];
		if (edge->weight <= 0)
			continue;
		double flow = edge->weight * (edge->estimate - (theta[edge->b] - theta[edge->a]));
		diagonal[edge->a] += edge->weight;
		diagonal[edge->b] += edge->weight;
		residual[edge->b] += flow;
		residual[edge->a] -= flow;
	}
	residual[root] = 0;
	for (guint i = 0; i < node_count; i++)
		step[i] = scaled[i] = diagonal[i] > 0 ? residual[i] / diagonal[i] : 0;
	double energy = dot(residual, scaled, node_count);
	for (guint round = 0; round < 8 * node_count + 50 && energy > 0; round++) {
		multiply(edges, edge_count, node_count, root, step, product);
		double curvature = dot(step, product, node_count);
		if (!(curvature > 0))
			break;
		double length = energy / curvature, largest = 0;
		for (guint i = 0; i < node_count; i++) {
			theta[i] += length * step[i];
			residual[i] -= length * product[i];
			scaled[i] = diagonal[i] > 0 ? residual[i] / diagonal[i] : 0;
			largest = MAX(largest, fabs(scaled[i]));
		}
		double next = dot(residual, scaled, node_count);
		if (largest < 1e-9)
			break;
		for (guint i = 0; i < node_count; i++)
			step[i] = scaled[i] + next / energy * step[i];
		energy = next;
	}
}

double dtc_network_project(const struct dtc_network_edge *edges, guint edge_count, guint root, double *theta)
{
	double worst = 0;
	for (guint round = 0; round < PROJECTION_ROUNDS; round++) {
		worst = 0;
		for (guint e = 0; e < edge_count; e++) {
			const struct dtc_network_edge *edge = &edges[e];
			double room = edge->margin > PROJECTION_ROOM_NS ? edge->margin - PROJECTION_ROOM_NS
									: edge->margin / 2;
			double difference = theta[edge->b] - theta[edge->a] - edge->estimate;
			double excess = fabs(difference) - room;
			if (edge->margin < 0 || excess <= ROUNDING_NS)
				continue;
			worst = MAX(worst, excess);
			excess = copysign(excess, difference);
			double part_a = edge->a == root ? 0 : edge->b == root ? 1 : 0.5;
			theta[edge->a] += part_a * excess;
			theta[edge->b] -= (1 - part_a) * excess;
		}
		if (worst == 0)
			break;
	}
	return worst;
}
