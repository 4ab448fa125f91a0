/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a work come back in their order, whoever does them, and whether all that were given come back or not. */
#include "analyze/ranks/parts.h"

static void put(DtcParts *parts, guint part, guint who)
{
	const guint made[] = { part, who };
	g_autoptr(GBytes) bytes = g_bytes_new(made, sizeof(made));
	dtc_parts_put(parts, part, bytes);
}

/* Who made the next, or NONE. */
static guint take(DtcParts *parts, guint wanted)
{
	guint part;
	g_autoptr(GBytes) bytes = dtc_parts_take(parts, &part);
	if (!bytes)
		return DTC_PARTS_NONE;
	const guint *made = g_bytes_get_data(bytes, NULL);
	g_assert_cmpuint(part, ==, wanted);
	g_assert_cmpuint(made[0], ==, wanted);
	return made[1];
}

static void test_order(void)
{
	g_autoptr(DtcParts) parts = dtc_parts_new(4, 1);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpuint(dtc_parts_give(parts, 0), ==, i);
	put(parts, 2, 7);
	put(parts, 1, 8);
	g_assert_cmpuint(take(parts, 0), ==, DTC_PARTS_NONE);
	put(parts, 0, 9);
	put(parts, 0, 6); /* the second that comes is dropped */
	g_assert_cmpuint(take(parts, 0), ==, 9);
	put(parts, 0, 5);
	g_assert_cmpuint(take(parts, 1), ==, 8);
	g_assert_cmpuint(take(parts, 2), ==, 7);
	g_assert_cmpuint(take(parts, 3), ==, DTC_PARTS_NONE);
	put(parts, 3, 4); /* that nobody was given */
	put(parts, 77, 4);
	g_assert_cmpuint(take(parts, 3), ==, DTC_PARTS_NONE);
	g_assert_cmpuint(dtc_parts_give_last(parts), ==, 3);
	put(parts, 3, 3);
	g_assert_cmpuint(dtc_parts_give_last(parts), ==, DTC_PARTS_NONE);
	g_assert_cmpuint(take(parts, 3), ==, 3);
	g_assert_cmpuint(take(parts, 4), ==, DTC_PARTS_NONE);
}

/* Who has nothing else to do does those that do not come back. */
static void test_lost(void)
{
	g_autoptr(DtcParts) parts = dtc_parts_new(5, 1);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpuint(dtc_parts_give(parts, 0), ==, i);
	put(parts, 1, 1);
	g_assert_cmpuint(dtc_parts_give_last(parts), ==, 4);
	put(parts, 4, 0);
	g_assert_cmpuint(dtc_parts_give(parts, 0), ==, DTC_PARTS_NONE);
	static const guint left[] = { 0, 2, 3 };
	for (guint i = 0; i < G_N_ELEMENTS(left); i++) {
		g_assert_cmpuint(dtc_parts_give_last(parts), ==, left[i]);
		put(parts, left[i], 0);
	}
	g_assert_cmpuint(dtc_parts_give_last(parts), ==, DTC_PARTS_NONE);
	for (guint i = 0; i < 5; i++)
		g_assert_cmpuint(take(parts, i), ==, i == 1);
}

/* Each has neighbours as long as there are some, and begins where most is left. */
static void test_neighbours(void)
{
	g_autoptr(DtcParts) parts = dtc_parts_new(16, 3);
	static const struct {
		guint who, part;
	} given[] = {
		{ 2, 8 },  { 2, 9 }, { 1, 4 },	{ 0, 0 },  { 0, 1 },  { 1, 5 },	 { 1, 6 }, { 1, 7 },
		{ 1, 13 }, { 0, 2 }, { 2, 10 }, { 7, 12 }, { 2, 11 }, { 2, 15 }, { 2, 3 }, { 1, 14 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(given); i++)
		g_assert_cmpuint(dtc_parts_give(parts, given[i].who), ==, given[i].part);
	for (guint who = 0; who < 4; who++)
		g_assert_cmpuint(dtc_parts_give(parts, who), ==, DTC_PARTS_NONE);
}

static void test_none(void)
{
	g_autoptr(DtcParts) parts = dtc_parts_new(0, 1);
	g_assert_cmpuint(dtc_parts_give_last(parts), ==, DTC_PARTS_NONE);
	g_assert_cmpuint(take(parts, 0), ==, DTC_PARTS_NONE);
	dtc_parts_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/parts/order", test_order);
	g_test_add_func("/parts/lost", test_lost);
	g_test_add_func("/parts/neighbours", test_neighbours);
	g_test_add_func("/parts/none", test_none);
	return g_test_run();
}
