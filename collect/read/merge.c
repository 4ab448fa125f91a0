/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree[0] holds the winner, tree[i] the loser of the match at inner node i; stream s is leaf (count + s), whose parent
 * is half its number. Knuth, The Art of Computer Programming 3, section 5.4.1.
 */
#include "collect/read/merge.h"

#include <string.h>

/* An ended stream goes behind all others, also those at the last of all times: its rank is its number and the count. */
struct item {
	int64_t time_ns;
	guint rank;
};

struct DtcMerge {
	guint count;
	struct item *items; /* of the streams, before they are built into the tree */
	struct item *tree;
};

static struct item make_item(const DtcMerge *merge, guint stream, int64_t time_ns, bool ended)
{
	return ended ? (struct item){ INT64_MAX, merge->count + stream } : (struct item){ time_ns, stream };
}

DtcMerge *dtc_merge_new(guint stream_count)
{
	DtcMerge *merge = g_new0(DtcMerge, 1);
	merge->count = stream_count;
	merge->items = g_new0(struct item, stream_count + 1);
	merge->tree = g_new0(struct item, stream_count + 1);
	for (guint i = 0; i < stream_count; i++)
		merge->items[i] = make_item(merge, i, 0, true);
	merge->tree[0] = make_item(merge, 0, 0, true);
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
	merge->items[stream] = make_item(merge, stream, time_ns, ended);
}

static inline bool goes_before(const struct item *a, const struct item *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->rank < b->rank);
}

void dtc_merge_build(DtcMerge *merge)
{
	guint count = merge->count;
	if (count == 0)
		return;
	g_autofree struct item *winners = g_new(struct item, (gsize)2 * count);
	memcpy(winners + count, merge->items, count * sizeof(*winners));
	for (gsize node = count - 1; node > 0; node--) {
		const struct item *a = &winners[2 * node], *b = &winners[2 * node + 1];
		bool a_wins = goes_before(a, b);
		winners[node] = a_wins ? *a : *b;
		merge->tree[node] = a_wins ? *b : *a;
	}
	merge->tree[0] = winners[1];
}

guint dtc_merge_get_top(const DtcMerge *merge)
{
	return merge->tree[0].rank < merge->count ? merge->tree[0].rank : G_MAXUINT;
}

bool dtc_merge_get_bound(const DtcMerge *merge, int64_t *ret_ns)
{
	guint winner = merge->tree[0].rank;
	struct item next = { INT64_MAX, G_MAXUINT };
	for (guint node = (merge->count + winner) / 2; node > 0; node /= 2)
		if (goes_before(&merge->tree[node], &next))
			next = merge->tree[node];
	*ret_ns = next.time_ns;
	return winner < next.rank;
}

/* As one number, which a processor compares in two instructions. */
typedef __int128 wide;

static inline wide widen(uint64_t time_ns, uint64_t rank)
{
	return (wide)(((unsigned __int128)time_ns << 64) | rank);
}

/*
 * Without a jump, since of many streams nobody can foretell which is next; compilers make one again of a choice, but
 * not of bits that change places where a mask says so.
 */
void dtc_merge_replace_top(DtcMerge *merge, int64_t time_ns, bool ended)
{
	guint stream = merge->tree[0].rank;
	const struct item moved = make_item(merge, stream, time_ns, ended);
	uint64_t winner_ns = (uint64_t)moved.time_ns, winner_rank = moved.rank;
	for (guint node = (merge->count + stream) / 2; node > 0; node /= 2) {
		struct item *loser = &merge->tree[node];
		uint64_t loser_ns = (uint64_t)loser->time_ns, loser_rank = loser->rank;
		bool is_beaten = widen(loser_ns, loser_rank) < widen(winner_ns, winner_rank);
		uint64_t mask = UINT64_C(0) - is_beaten;
		uint64_t change_ns = (loser_ns ^ winner_ns) & mask, change_rank = (loser_rank ^ winner_rank) & mask;
		*loser = (struct item){ (int64_t)(loser_ns ^ change_ns), (guint)(loser_rank ^ change_rank) };
		winner_ns ^= change_ns;
		winner_rank ^= change_rank;
	}
	merge->tree[0] = (struct item){ (int64_t)winner_ns, (guint)winner_rank };
}
