/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/relation.h"

#include "collect/packets/table.h"

#include <dtrace-chain/hash.h>

struct pair {
	guint a, b;
	DtcTable *ab, *ba; /* struct dtc_message; bounds at the end */
	guint bounds_ab, bounds_ba;
	guint64 unmatched_a, unmatched_b, ambiguous;
};

struct DtcMatches {
	guint node_count;
	char **names;
	struct dtc_relation *relations; /* per node */
	GHashTable *pair_by_nodes;	/* a * 2^32 + b -> struct pair, owned by pairs */
	GPtrArray *pairs;
	struct pair *last; /* that was looked for, or NULL: messages come pair by pair */
	bool sorted;
	DtcSpace *space; /* or NULL */
};

static void pair_free(gpointer data)
{
	struct pair *pair = data;
	dtc_table_free(pair->ab);
	dtc_table_free(pair->ba);
	g_free(pair);
}

DtcMatches *dtc_matches_new(const char *const *names, guint count)
{
	DtcMatches *matches = g_new0(DtcMatches, 1);
	matches->node_count = count;
	matches->names = g_new0(char *, count + 1);
	for (guint i = 0; i < count; i++)
		matches->names[i] = g_strdup(names[i]);
	matches->relations = g_new0(struct dtc_relation, count);
	matches->pair_by_nodes = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	matches->pairs = g_ptr_array_new_with_free_func(pair_free);
	matches->sorted = true;
	return matches;
}

void dtc_matches_set_space(DtcMatches *matches, DtcSpace *space)
{
	g_assert(!matches->space && !matches->pairs->len);
	matches->space = space ? dtc_space_ref(space) : NULL;
}

DtcSpace *dtc_matches_get_space(const DtcMatches *matches)
{
	return matches->space;
}

void dtc_matches_free(DtcMatches *matches)
{
	if (!matches)
		return;
	for (guint i = 0; i < matches->node_count; i++)
		dtc_relation_clear(&matches->relations[i]);
	g_free(matches->relations);
	g_strfreev(matches->names);
	g_hash_table_unref(matches->pair_by_nodes);
	g_ptr_array_unref(matches->pairs);
	dtc_space_unref(matches->space);
	g_free(matches);
}

static struct pair *find_pair(DtcMatches *matches, guint one, guint other)
{
	guint a = MIN(one, other), b = MAX(one, other);
	gint64 key = (gint64)((guint64)a << 32 | b);
	if (matches->last && matches->last->a == a && matches->last->b == b)
		return matches->last;
	struct pair *pair = matches->last = g_hash_table_lookup(matches->pair_by_nodes, &key);
	if (pair)
		return pair;
	pair = matches->last = g_new0(struct pair, 1);
	pair->a = a;
	pair->b = b;
	pair->ab = dtc_table_new(sizeof(struct dtc_message));
	pair->ba = dtc_table_new(sizeof(struct dtc_message));
	dtc_table_set_space(pair->ab, matches->space);
	dtc_table_set_space(pair->ba, matches->space);
	g_hash_table_insert(matches->pair_by_nodes, g_memdup2(&key, sizeof(key)), pair);
	g_ptr_array_add(matches->pairs, pair);
	matches->sorted = false;
	return pair;
}

static int compare_pairs(gconstpointer left, gconstpointer right)
{
	const struct pair *p = *(struct pair *const *)left, *q = *(struct pair *const *)right;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return (p->b > q->b) - (p->b < q->b);
}

static bool add(DtcMatches *matches, guint from, guint to, int64_t sent_ns, int64_t received_ns, bool is_bound)
{
	g_assert(from < matches->node_count && to < matches->node_count);
	if (from == to || !dtc_match_is_time(sent_ns) || !dtc_match_is_time(received_ns))
		return false;
	struct pair *pair = find_pair(matches, from, to);
	DtcTable *list = from == pair->a ? pair->ab : pair->ba;
	if (list->len == G_MAXINT32)
		return false;
	guint *bounds = from == pair->a ? &pair->bounds_ab : &pair->bounds_ba;
	g_assert(is_bound || *bounds == 0);
	struct dtc_message message = { sent_ns, received_ns };
	dtc_table_append(list, &message);
	*bounds += is_bound;
	return true;
}

bool dtc_matches_add(DtcMatches *matches, guint from, guint to, int64_t sent_ns, int64_t received_ns)
{
	return add(matches, from, to, sent_ns, received_ns, false);
}

bool dtc_matches_add_bound(DtcMatches *matches, guint from, guint to, int64_t sent_ns, int64_t received_ns)
{
	return add(matches, from, to, sent_ns, received_ns, true);
}

void dtc_matches_drop_bounds(DtcMatches *matches)
{
	for (guint i = 0; i < matches->pairs->len; i++) {
		struct pair *pair = g_ptr_array_index(matches->pairs, i);
		dtc_table_set_length(pair->ab, pair->ab->len - pair->bounds_ab);
		dtc_table_set_length(pair->ba, pair->ba->len - pair->bounds_ba);
		pair->bounds_ab = pair->bounds_ba = 0;
	}
}

void dtc_matches_add_unmatched(DtcMatches *matches, guint node, guint peer, guint64 packet_count)
{
	if (node == peer || !packet_count)
		return;
	struct pair *pair = find_pair(matches, node, peer);
	if (node == pair->a)
		pair->unmatched_a += packet_count;
	else
		pair->unmatched_b += packet_count;
}

void dtc_matches_add_ambiguous(DtcMatches *matches, guint node, guint peer, guint64 packet_count)
{
	if (node != peer && packet_count)
		find_pair(matches, node, peer)->ambiguous += packet_count;
}

void dtc_matches_sort(DtcMatches *matches)
{
	if (!matches->sorted)
		g_ptr_array_sort(matches->pairs, compare_pairs);
	for (guint i = 0; i < matches->pairs->len; i++) {
		struct pair *pair = g_ptr_array_index(matches->pairs, i);
		dtc_table_settle(pair->ab);
		dtc_table_settle(pair->ba);
	}
	matches->sorted = true;
}

guint dtc_matches_get_node_count(const DtcMatches *matches)
{
	return matches->node_count;
}

const char *dtc_matches_get_node_name(const DtcMatches *matches, guint node)
{
	g_assert(node < matches->node_count);
	return matches->names[node];
}

guint dtc_matches_get_pair_count(const DtcMatches *matches)
{
	return matches->pairs->len;
}

void dtc_matches_get_pair(const DtcMatches *matches, guint index, struct dtc_match_pair *ret_pair)
{
	g_assert(index < matches->pairs->len);
	if (!matches->sorted) /* the order of the list is no part of its value: sorted when first asked for */
		dtc_matches_sort((DtcMatches *)matches);
	const struct pair *pair = g_ptr_array_index(matches->pairs, index);
	*ret_pair = (struct dtc_match_pair){
		.a = pair->a,
		.b = pair->b,
		.ab = (const struct dtc_message *)(const void *)pair->ab->data,
		.ba = (const struct dtc_message *)(const void *)pair->ba->data,
		.ab_count = pair->ab->len,
		.ba_count = pair->ba->len,
		.bounds_ab = pair->bounds_ab,
		.bounds_ba = pair->bounds_ba,
		.unmatched_a = pair->unmatched_a,
		.unmatched_b = pair->unmatched_b,
		.ambiguous = pair->ambiguous,
	};
}

struct dtc_relation *dtc_matches_get_relation(DtcMatches *matches, guint node)
{
	g_assert(node < matches->node_count);
	return &matches->relations[node];
}

bool dtc_matches_capture_to_node(const DtcMatches *matches, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	g_assert(node < matches->node_count);
	return dtc_relation_to_node(&matches->relations[node], capture_ns, ret_node_ns);
}

double dtc_matches_get_capture_rate(const DtcMatches *matches, guint node)
{
	g_assert(node < matches->node_count);
	return matches->relations[node].rate;
}

int64_t dtc_matches_get_capture_error_ns(const DtcMatches *matches, guint node)
{
	g_assert(node < matches->node_count);
	return matches->relations[node].error_ns;
}
