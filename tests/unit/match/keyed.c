/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order by key, side and index is that of a comparison, however many items there are and whatever their keys. */
#include "sync/match/keyed.h"

#include <stdlib.h>
#include <string.h>

static int compare_items(const void *left, const void *right)
{
	const struct dtc_keyed *p = left, *q = right;
	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	if (p->side != q->side)
		return p->side < q->side ? -1 : 1;
	return (p->index > q->index) - (p->index < q->index);
}

/* Keys between least and least + span; 0: of all 64 bits. */
static void check_order(guint count, guint64 least, guint64 span)
{
	g_autofree struct dtc_keyed *items = g_new0(struct dtc_keyed, count + 1);
	for (guint i = 0; i < count; i++) {
		guint64 number = (guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
		items[i].key = least + (span ? number % span : number);
		items[i].index = (guint32)g_test_rand_int();
		items[i].side = i & 1;
	}
	g_autofree struct dtc_keyed *expected = g_memdup2(items, (count + 1) * sizeof(*items));
	qsort(expected, count, sizeof(*expected), compare_items);
	g_autofree struct dtc_keyed *room = g_new(struct dtc_keyed, count + 1);
	dtc_keyed_sort(items, count, room);
	g_assert_cmpmem(items, count * sizeof(*items), expected, count * sizeof(*expected));
}

static void test_order(void)
{
	const guint counts[] = { 0, 1, 2, 3, 1023, 1024, 1025, 40000 };
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		check_order(counts[i], 0, 0);
		check_order(counts[i], 0, 1);
		check_order(counts[i], G_MAXUINT64 - 100, 100);
		check_order(counts[i], G_GUINT64_CONSTANT(1) << 63, G_GUINT64_CONSTANT(60000000000));
		check_order(counts[i], 1700000000, G_GUINT64_CONSTANT(1) << 33);
		check_order(counts[i], 1700000000, (G_GUINT64_CONSTANT(1) << 33) + 1);
	}
}

/* All that the counted digits show is the same, so that the rest has to be compared. */
static void test_far_key(void)
{
	struct dtc_keyed items[2000] = { { 0 } }, room[G_N_ELEMENTS(items)];
	for (guint i = 0; i < G_N_ELEMENTS(items); i++)
		items[i] = (struct dtc_keyed){ G_N_ELEMENTS(items) - i, i, 0 };
	items[7].key = G_MAXUINT64;
	dtc_keyed_sort(items, G_N_ELEMENTS(items), room);
	for (guint i = 1; i < G_N_ELEMENTS(items); i++)
		g_assert_cmpuint(items[i - 1].key, <, items[i].key);
	g_assert_cmpuint(items[G_N_ELEMENTS(items) - 1].index, ==, 7);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/keyed/order", test_order);
	g_test_add_func("/keyed/far-key", test_far_key);
	return g_test_run();
}
