/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree[0] holds the winner, tree[i] the loser of the match at inner node i; stream s is leaf (count + s), whose parent
 * is half its number. Knuth, The Art of Computer Programming 3, section 5.4.1.
 */
#include "collect/read/merge.h"

struct item {
	int64_t time_ns;
	bool ended;
};

struct DtcMerge {
	guint count;
	struct item *items;
	guint *tree;
};

DtcMerge *dtc_merge_new(guint stream_count)
{
	DtcMerge *merge = g_new0(DtcMerge, 1);
	merge->count = stream_count;
	merge->items = g_new0(struct item, stream_count + 1);
	merge->tree = g_new0(guint, stream_count + 1);
	for (guint i = 0; i < stream_count; i++)
		merge->items[i].ended = true;
	return merge;
}

void dtc_merge_free(DtcMerge *merge)
{
	if (!merge)
		return;
	g_free(merge->items);
	g_free(merge->tree);
	g_free(merge);
}

void dtc_merge_set(DtcMerge *merge, guint stream, int64_t time_ns, bool ended)
{
	merge->items[stream] = (struct item){ time_ns, ended };
}

/* True if stream a goes before b. */
static inline bool goes_before(const DtcMerge *merge, guint a, guint b)
{
	const struct item *x = &merge->items[a], *y = &merge->items[b];
	if (x->ended != y->ended)
		return y->ended;
	return x->time_ns < y->time_ns || (x->time_ns == y->time_ns && a < b);
}

void dtc_merge_build(DtcMerge *merge)
{
	guint count = merge->count;
	if (count < 2)
		return; /* tree[0] is 0 */
	g_autofree guint *winners = g_new(guint, (gsize)2 * count);
	for (guint i = 0; i < count; i++)
		winners[count + i] = i;
	for (gsize node = count - 1; node > 0; node--) {
		guint a = winners[2 * node], b = winners[2 * node + 1];
		bool a_wins = goes_before(merge, a, b);
		winners[node] = a_wins ? a : b;
		merge->tree[node] = a_wins ? b : a;
	}
	merge->tree[0] = winners[1];
}

guint dtc_merge_get_top(const DtcMerge *merge)
{
	if (merge->count == 0 || merge->items[merge->tree[0]].ended)
		return G_MAXUINT;
	return merge->tree[0];
}

void dtc_merge_replace_top(DtcMerge *merge, int64_t time_ns, bool ended)
{
	guint winner = merge->tree[0];
	merge->items[winner] = (struct item){ time_ns, ended };
	for (guint node = (merge->count + winner) / 2; node > 0; node /= 2) {
		guint loser = merge->tree[node];
		if (goes_before(merge, loser, winner)) {
			merge->tree[node] = winner;
			winner = loser;
		}
	}
	merge->tree[0] = winner;
}
