/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/network.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Improvements below this are rounding, ns; they must not look like a negative cycle. */
#define ROUNDING_NS 1e-3
/* Projections in turn approach the set of solutions geometrically; if there is none they would go on for ever. */
#define PROJECTION_ROUNDS 200
/* Aimed at this far inside the margins, because maps are rounded to whole nanoseconds. */
#define PROJECTION_ROOM_NS 4

/* The edges of each node, and which are still to be looked at: a bit each, and one for every 64 of those. */
struct pending {
	guint *first; /* node -> its first place in incident */
	guint *incident;
	uint64_t *bits;
	uint64_t *words; /* which of bits are not 0 */
	guint edge_count;
};

#define BITS 64
/* So many rounds are over before it would pay to know which edges are left. */
#define FULL_ROUNDS 8

static void pending_init(struct pending *pending, const struct dtc_network_edge *edges, guint edge_count,
			 guint node_count)
{
	guint word_count = edge_count / BITS + 1;
	*pending = (struct pending){ .first = g_new0(guint, (gsize)node_count + 2),
				     .incident = g_new(guint, 2 * (gsize)edge_count + 1),
				     .bits = g_new0(uint64_t, word_count),
				     .words = g_new0(uint64_t, word_count / BITS + 1),
				     .edge_count = edge_count };
	/* counted one place up, so that filling moves each first to where it belongs */
	for (guint e = 0; e < edge_count; e++) {
		pending->first[edges[e].a + 2]++;
		pending->first[edges[e].b + 2]++;
	}
	for (guint i = 2; i < node_count + 2; i++)
		pending->first[i] += pending->first[i - 1];
	for (guint e = 0; e < edge_count; e++) {
		pending->incident[pending->first[edges[e].a + 1]++] = e;
		pending->incident[pending->first[edges[e].b + 1]++] = e;
	}
}

static void pending_clear(struct pending *pending)
{
	g_free(pending->first);
	g_free(pending->incident);
	g_free(pending->bits);
	g_free(pending->words);
}

static void add_edges_of(struct pending *pending, guint node)
{
	for (guint k = pending->first[node]; k < pending->first[node + 1]; k++) {
		guint e = pending->incident[k];
		pending->bits[e / BITS] |= (uint64_t)1 << e % BITS;
		pending->words[e / BITS / BITS] |= (uint64_t)1 << e / BITS % BITS;
	}
}

/* The first edge from a place on that is to be looked at, which it then is no more; edge_count if there is none. */
static guint take_edge(struct pending *pending, guint from)
{
	guint word_count = pending->edge_count / BITS + 1, at = from / BITS;
	uint64_t bits = from < pending->edge_count ? pending->bits[at] & UINT64_MAX << from % BITS : 0;
	for (at++; !bits && at < word_count; at++) {
		uint64_t words = pending->words[at / BITS] & UINT64_MAX << at % BITS;
		if (!words) {
			at |= BITS - 1;
			continue;
		}
		at = at / BITS * BITS + (guint)__builtin_ctzll(words);
		bits = pending->bits[at];
	}
	if (!bits)
		return pending->edge_count;
	at--;
	guint e = at * BITS + (guint)__builtin_ctzll(bits);
	pending->bits[at] &= ~((uint64_t)1 << e % BITS);
	if (!pending->bits[at])
		pending->words[at / BITS] &= ~((uint64_t)1 << at % BITS);
	return e;
}

/* Shortens the way to the edge's ends by what is known of the other ones. What changed is pending, unless that is NULL.
 */
static bool relax(const struct dtc_network_edge *edge, int direction, double *distance, struct pending *pending)
{
	double up = direction > 0 ? edge->hi : -edge->lo, down = direction > 0 ? -edge->lo : edge->hi;
	bool changed = false;
	if (distance[edge->a] + up < distance[edge->b] - ROUNDING_NS) {
		distance[edge->b] = distance[edge->a] + up;
		if (pending)
			add_edges_of(pending, edge->b);
		changed = true;
	}
	if (distance[edge->b] + down < distance[edge->a] - ROUNDING_NS) {
		distance[edge->a] = distance[edge->b] + down;
		if (pending)
			add_edges_of(pending, edge->a);
		changed = true;
	}
	return changed;
}

/* The rounds after the first ones. */
static bool go_on(const struct dtc_network_edge *edges, guint edge_count, guint node_count, int direction,
		  double *distance, guint *ret_edge)
{
	struct pending pending;
	bool changed = true;
	pending_init(&pending, edges, edge_count, node_count);
	for (guint i = 0; i < node_count; i++)
		add_edges_of(&pending, i);
	for (guint round = FULL_ROUNDS; round <= node_count && changed; round++) {
		changed = false;
		for (guint e = 0; (e = take_edge(&pending, e)) < edge_count; e++) {
			if (relax(&edges[e], direction, distance, &pending)) {
				changed = true;
				*ret_edge = e;
			}
		}
	}
	pending_clear(&pending);
	return changed;
}

/*
 * Bellman-Ford, because weights may be negative. direction 1: largest theta (paths from the root along hi), -1: the
 * negative of the smallest (paths to the root). The graph's diameter decides how many rounds it takes. Edges are looked
 * at in their order; after the first rounds only those that have an end whose distance changed since they were looked
 * at last: of the others nothing comes, and in a long line they are all but one.
 */
static bool find_distances(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			   int direction, double *distance, guint *ret_edge)
{
	bool changed = true;
	for (guint i = 0; i < node_count; i++)
		distance[i] = INFINITY;
	distance[root] = 0;
	for (guint round = 0; round <= node_count && round < FULL_ROUNDS && changed; round++) {
		changed = false;
		for (guint e = 0; e < edge_count; e++) {
			if (relax(&edges[e], direction, distance, NULL)) {
				changed = true;
				*ret_edge = e;
			}
		}
	}
	if (changed && node_count >= FULL_ROUNDS)
		changed = go_on(edges, edge_count, node_count, direction, distance, ret_edge);
	return !changed && distance[root] > -ROUNDING_NS;
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
static void solve(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root, double *theta)
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

/* Smaller networks are solved in a few rounds whatever their shape. */
#define PEELED_MIN 32

/* A node that one estimate alone is about: it lies where that says. */
struct leaf {
	guint node;
	guint edge;
};

/*
 * Takes leaves off, and what become leaves by that: a line or a tree has no other nodes. A node is known by the sum
 * (exclusive or) of its edges, which is the edge where it has but one. Gives the leaves in the order of their removal;
 * is_left tells of each edge whether it stays. The root stays.
 */
static guint peel(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
		  struct leaf *ret_leaves, bool *ret_is_left)
{
	g_autofree guint *degree = g_new0(guint, node_count), *sum = g_new0(guint, node_count);
	guint count = 0;
	for (guint e = 0; e < edge_count; e++) {
		ret_is_left[e] = edges[e].weight > 0;
		if (!ret_is_left[e])
			continue;
		degree[edges[e].a]++;
		degree[edges[e].b]++;
		sum[edges[e].a] ^= e;
		sum[edges[e].b] ^= e;
	}
	for (guint i = 0; i < node_count; i++) {
		for (guint node = i; node != root && degree[node] == 1;) {
			guint e = sum[node], other = edges[e].a == node ? edges[e].b : edges[e].a;
			ret_leaves[count++] = (struct leaf){ node, e };
			ret_is_left[e] = false;
			degree[node] = 0;
			degree[other]--;
			sum[other] ^= e;
			node = other;
		}
	}
	return count;
}

void dtc_network_estimate(const struct dtc_network_edge *edges, guint edge_count, guint node_count, guint root,
			  double *theta)
{
	if (node_count < PEELED_MIN) {
		solve(edges, edge_count, node_count, root, theta);
		return;
	}
	g_autofree struct leaf *leaves = g_new(struct leaf, node_count);
	g_autofree bool *is_left = g_new(bool, (gsize)edge_count + 1);
	g_autofree struct dtc_network_edge *left = g_new(struct dtc_network_edge, (gsize)edge_count + 1);
	guint leaf_count = peel(edges, edge_count, node_count, root, leaves, is_left), left_count = 0;
	for (guint e = 0; e < edge_count; e++)
		if (is_left[e])
			left[left_count++] = edges[e];
	solve(left, left_count, node_count, root, theta);
	while (leaf_count-- > 0) {
		const struct dtc_network_edge *edge = &edges[leaves[leaf_count].edge];
		if (edge->b == leaves[leaf_count].node)
			theta[edge->b] = theta[edge->a] + edge->estimate;
		else
			theta[edge->a] = theta[edge->b] - edge->estimate;
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
