/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging any streams is the stable sort of all their items by (time, stream, position). */
#include "collect/read/merge.h"

struct item {
	gint64 time;
	guint stream;
	guint position;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

/* Sorted random times with many ties, at the ends of the range too. */
static GArray *make_items(GRand *rand, guint stream_count, guint *lengths)
{
	GArray *items = g_array_new(FALSE, FALSE, sizeof(struct item));
	for (guint s = 0; s < stream_count; s++) {
		lengths[s] = g_rand_boolean(rand) ? 0 : (guint)g_rand_int_range(rand, 0, 50);
		gint64 time = g_rand_int_range(rand, 0, 4) == 0 ? G_MININT64 : 0;
		for (guint i = 0; i < lengths[s]; i++) {
			struct item item = { time, s, i };
			g_array_append_val(items, item);
			time = g_rand_int_range(rand, 0, 40) == 0 ? G_MAXINT64
			       : time == G_MAXINT64		  ? time
								  : MAX(time, 0) + g_rand_int_range(rand, 0, 3);
		}
	}
	return items;
}

/* Items within the bound come before all of other streams, in the order of all; the next one is of another stream. */
static void check_bound(const DtcMerge *merge, const GArray *sorted, guint at)
{
	gint64 bound;
	bool is_tie_won = dtc_merge_get_bound(merge, &bound);
	guint stream = g_array_index(sorted, struct item, at).stream;
	for (; at < sorted->len; at++) {
		const struct item *item = &g_array_index(sorted, struct item, at);
		bool is_within = item->time < bound || (item->time == bound && is_tie_won);
		if (item->stream != stream) {
			g_assert_cmpint(item->time, ==, bound);
			return;
		}
		g_assert_true(is_within);
	}
}

static void check_merge(GRand *rand, guint stream_count)
{
	guint lengths[40];
	g_autoptr(GArray) items = make_items(rand, stream_count, lengths);
	/* where each stream's items lie in the array, and how many were taken */
	guint first[40], taken[40] = { 0 };
	DtcMerge *merge = dtc_merge_new(stream_count);
	for (guint s = 0, at = 0; s < stream_count; at += lengths[s], s++) {
		first[s] = at;
		if (lengths[s] > 0)
			dtc_merge_set(merge, s, g_array_index(items, struct item, at).time, false);
	}
	dtc_merge_build(merge);
	g_autoptr(GArray) sorted = g_array_copy(items);
	g_array_sort(sorted, compare_items);
	for (guint i = 0; i < sorted->len; i++) {
		const struct item *expected = &g_array_index(sorted, struct item, i);
		guint top = dtc_merge_get_top(merge);
		g_assert_cmpuint(top, ==, expected->stream);
		g_assert_cmpuint(taken[top], ==, expected->position);
		check_bound(merge, sorted, i);
		bool ended = ++taken[top] == lengths[top];
		gint64 next = ended ? expected->time : g_array_index(items, struct item, first[top] + taken[top]).time;
		dtc_merge_replace_top(merge, next, ended);
	}
	g_assert_cmpuint(dtc_merge_get_top(merge), ==, G_MAXUINT);
	dtc_merge_free(merge);
}

static void test_merge(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(20261120);
	for (guint round = 0; round < 400; round++)
		check_merge(rand, (guint)g_rand_int_range(rand, 0, 40));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/merge/is-a-stable-sort", test_merge);
	return g_test_run();
}
