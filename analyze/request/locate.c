/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/locate.h"

#include "analyze/request/hops.h"

/* The group of the clocks that the hop's begin and end are on. */
static guint get_group(const DtcClocks *clocks, const struct dtc_hop *hop)
{
	if (hop->client.file != DTC_NONE)
		return dtc_clocks_get_group(clocks, hop->client.node);
	return dtc_clocks_get_group(clocks, hop->server.file != DTC_NONE ? hop->server.node : hop->exchange->node);
}

static int64_t get_duration_ns(const struct dtc_hop *hop)
{
	return hop->end.ns - hop->begin.ns;
}

/*
 * The cause of a hop: the hop that was being served when it was sent, the latest such one. Where the node between is
 * known, its own clock decides, and a hop may outlive the one that caused it; where it is not (a proxy that nobody
 * traces), the one hop must lie within the other. On clocks that nothing relates, it must have taken longer: a
 * difference of their readings says nothing.
 */
static bool causes(const DtcClocks *clocks, const struct dtc_hop *outer, const struct dtc_hop *inner, bool is_earlier)
{
	guint between = outer->server.node;
	if (between != G_MAXUINT && inner->client.node != G_MAXUINT) {
		if (between != inner->client.node)
			return false;
		if (outer->server.file != DTC_NONE && inner->client.file != DTC_NONE)
			return outer->server.begin.ns <= inner->client.begin.ns;
		if (outer->exchange->node == inner->exchange->node)
			return outer->exchange->request_ns <= inner->exchange->request_ns;
		return is_earlier;
	}
	if (get_group(clocks, outer) != get_group(clocks, inner))
		return get_duration_ns(outer) > get_duration_ns(inner);
	return is_earlier && outer->begin.ns <= inner->begin.ns && inner->end.ns <= outer->end.ns;
}

/* Far more hops than a call tree has are retries of one id, which are no one's children: the search is bounded. */
#define MAX_DISTANCE 256u

static bool descends_from(const GArray *hops, guint hop, guint ancestor)
{
	while (hop != G_MAXUINT && hop != ancestor)
		hop = g_array_index(hops, struct dtc_hop, hop).parent;
	return hop == ancestor;
}

/* True if there are hops that lie too far apart to have been looked at together. */
static bool find_parents(const DtcClocks *clocks, GArray *hops)
{
	for (guint i = 0; i < hops->len; i++) {
		struct dtc_hop *inner = &g_array_index(hops, struct dtc_hop, i);
		/* Later ones too: nodes that are not aligned with each other are in no order. */
		guint from = i > MAX_DISTANCE ? i - MAX_DISTANCE : 0, to = MIN(i + MAX_DISTANCE, hops->len);
		for (guint k = to; k-- > from;) {
			const struct dtc_hop *outer = &g_array_index(hops, struct dtc_hop, k);
			if (k == i || !causes(clocks, outer, inner, k < i) || descends_from(hops, k, i))
				continue;
			if (inner->parent == G_MAXUINT ||
			    g_array_index(hops, struct dtc_hop, inner->parent).begin.ns < outer->begin.ns)
				inner->parent = k;
		}
	}
	return hops->len > MAX_DISTANCE;
}

static bool is_same_call(const struct dtc_hop *a, const struct dtc_hop *b)
{
	return a->parent == b->parent && a->client.node == b->client.node && a->server.node == b->server.node &&
	       g_strcmp0(a->exchange->method, b->exchange->method) == 0 &&
	       g_strcmp0(a->exchange->target, b->exchange->target) == 0;
}

static void count_attempts(GArray *hops)
{
	for (guint i = 0; i < hops->len; i++) {
		struct dtc_hop *hop = &g_array_index(hops, struct dtc_hop, i);
		hop->attempt = 1;
		for (guint k = i; k > 0 && hop->attempt == 1; k--) {
			const struct dtc_hop *before = &g_array_index(hops, struct dtc_hop, k - 1);
			if (is_same_call(before, hop))
				hop->attempt = before->attempt + 1;
		}
	}
}

static bool is_attempt_of_root(const struct dtc_place *place, const struct dtc_hop *hop)
{
	return hop->parent == G_MAXUINT && is_same_call(&g_array_index(place->hops, struct dtc_hop, place->root), hop);
}

/*
 * What of the request is outside of the trace by the side that the target is to be, or would be if it were inside: the
 * first and the last byte of all attempts count.
 */
static void note_outside(struct dtc_place *place, guint first, bool is_client)
{
	const struct dtc_hop *root = &g_array_index(place->hops, struct dtc_hop, first);
	for (guint i = first; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		const struct dtc_hop_side *side = is_client ? &hop->client : &hop->server;
		if (i != first && !is_same_call(root, hop))
			continue;
		if (side->outside && place->outside_node == G_MAXUINT)
			place->outside_node = side->node;
		place->outside |= side->outside;
	}
}

/* Sets the target to one side of the hop in which index 'first' is the first attempt. False if it is not traced. */
static bool set_target(struct dtc_place *place, guint first, bool is_client)
{
	note_outside(place, first, is_client);
	const struct dtc_hop *root = &g_array_index(place->hops, struct dtc_hop, first);
	const struct dtc_hop_side *begin = is_client ? &root->client : &root->server;
	if (begin->file == DTC_NONE || begin->thread == DTC_NONE)
		return false;
	const struct dtc_hop_side *end = begin;
	const struct dtc_hop *last = root;
	for (guint i = first + 1; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		const struct dtc_hop_side *side = is_client ? &hop->client : &hop->server;
		if (!is_same_call(root, hop) || side->file == DTC_NONE || side->thread == DTC_NONE)
			continue;
		if (side->end.ns > end->end.ns) {
			end = side;
			last = hop;
		}
	}
	place->node = begin->node;
	place->thread = end->thread;
	place->is_client = is_client;
	place->inferred = begin->inferred || end->inferred;
	place->has_end = last->exchange->has_response;
	place->is_open = end->is_open;
	place->begin = begin->begin;
	place->end = end->end;
	return true;
}

/* No kernel trace at all: the packets' times, on the clock of the node that saw the first attempt. */
static void set_target_of_packets(const DtcLocator *locator, struct dtc_place *place)
{
	const struct dtc_hop *root = &g_array_index(place->hops, struct dtc_hop, place->root), *last = root;
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		if (is_attempt_of_root(place, hop) && hop->end.ns > last->end.ns)
			last = hop;
	}
	const DtcClocks *clocks = dtc_locator_get_clocks(locator);
	place->node = root->exchange->node;
	place->thread = DTC_NONE;
	place->inferred = true;
	place->has_end = last->exchange->has_response;
	place->begin = dtc_clocks_to_node(clocks, place->node, root->begin);
	place->end = dtc_clocks_to_node(clocks, place->node, last->end);
}

/* The earliest hop that no other caused; of those on clocks that nothing relates, the one that took longest. */
static guint find_root(const DtcClocks *clocks, const GArray *hops)
{
	guint root = G_MAXUINT;

	for (guint i = 0; i < hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(hops, struct dtc_hop, i);
		if (hop->parent != G_MAXUINT)
			continue;
		const struct dtc_hop *best = root == G_MAXUINT ? NULL : &g_array_index(hops, struct dtc_hop, root);
		if (!best ||
		    (get_group(clocks, best) != get_group(clocks, hop) && get_duration_ns(best) < get_duration_ns(hop)))
			root = i;
	}
	return root == G_MAXUINT ? 0 : root;
}

static void choose_target(const DtcLocator *locator, struct dtc_place *place)
{
	place->root = find_root(dtc_locator_get_clocks(locator), place->hops);
	for (guint i = 0; i < place->hops->len; i++)
		place->attempt_count += is_attempt_of_root(place, &g_array_index(place->hops, struct dtc_hop, i));
	if (set_target(place, place->root, true) || set_target(place, place->root, false))
		return;
	/* Neither end of the root is traced: the hop nearest to it that is. */
	for (guint i = 0; i < place->hops->len; i++)
		if (set_target(place, i, true) || set_target(place, i, false)) {
			place->is_client = false;
			return;
		}
	set_target_of_packets(locator, place);
}

struct dtc_place *dtc_locator_find(DtcLocator *locator, guint request)
{
	struct dtc_place *place = dtc_kept_places_get(dtc_locator_get_kept(locator), request);
	if (place)
		return place;
	place = g_new0(struct dtc_place, 1);
	place->outside_node = G_MAXUINT;
	place->hops = dtc_locator_make_hops(locator, request);
	place->is_limited = find_parents(dtc_locator_get_clocks(locator), place->hops);
	count_attempts(place->hops);
	choose_target(locator, place);
	dtc_kept_places_add(dtc_locator_get_kept(locator), request, place);
	return place;
}

void dtc_place_free(struct dtc_place *place)
{
	if (!place)
		return;
	g_array_unref(place->hops);
	g_free(place);
}
