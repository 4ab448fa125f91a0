/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The binary search against what going through the list gives, and at the ends of its index types. */
#include <dtrace-chain/bisect.h>

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

static guint count_before(const int *values, guint begin, guint end, int limit)
{
	while (begin < end && values[begin] < limit)
		begin++;
	return begin;
}

/* Every list of up to nine small numbers in order, with all their duplicates, and every range of it. */
static void test_against_counting(void)
{
	int values[9];
	for (guint seed = 0; seed < 512; seed++) {
		for (guint i = 0, value = 0; i < G_N_ELEMENTS(values); i++) {
			value += 2 * (seed >> i & 1);
			values[i] = (int)value;
		}
		for (guint begin = 0; begin <= G_N_ELEMENTS(values); begin++)
			for (guint end = begin; end <= G_N_ELEMENTS(values); end++)
				for (int limit = -1; limit < 20; limit++) {
					guint wanted = count_before(values, begin, end, limit);
					g_assert_cmpuint(DTC_BISECT(i, begin, end, values[i] < limit), ==, wanted);
					for (guint near = begin; near <= end; near++)
						g_assert_cmpuint(
							DTC_BISECT_NEAR(i, begin, end, near, values[i] < limit), ==,
							wanted);
				}
	}
}

static void test_ends(void)
{
	g_assert_cmpuint(DTC_BISECT(i, 0u, 0u, true), ==, 0);
	g_assert_cmpuint(DTC_BISECT(i, 5u, 5u, true), ==, 5);
	g_assert_cmpuint(DTC_BISECT(i, 6u, 5u, true), ==, 6); /* nothing lies in between: no probe */
	g_assert_cmpuint(DTC_BISECT(i, 5u, 6u, i < 5), ==, 5);
	g_assert_cmpuint(DTC_BISECT(i, 5u, 6u, i < 6), ==, 6);
	g_assert_cmpuint(DTC_BISECT(i, 3u, 1000u, true), ==, 1000);
	g_assert_cmpuint(DTC_BISECT(i, 3u, 1000u, false), ==, 3);
}

/* The sum of both ends does not fit into 32 bits, nor that of two places in 64. */
static void test_wide(void)
{
	static const uint32_t places[] = { 0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff };
	for (guint k = 0; k < G_N_ELEMENTS(places); k++) {
		uint32_t place = places[k], end = UINT32_MAX;
		g_assert_cmpuint(DTC_BISECT(i, 0, end, i < place), ==, place);
		g_assert_cmpuint(DTC_BISECT(i, MIN(place, 0x80000000u), end, i < place), ==, place);
	}
	uint64_t beyond = ((uint64_t)1 << 32) + 3, last = UINT64_MAX;
	g_assert_cmpuint(DTC_BISECT(i, 0, last, i < beyond), ==, beyond);
	g_assert_cmpuint(DTC_BISECT(i, beyond, last, i < last), ==, last);
	int64_t after = DTC_BISECT(i, (int64_t)-5, INT64_MAX - 5, i < -2);
	g_assert_cmpint(after, ==, -2);
}

static bool is_before_place(uint32_t i, uint32_t begin, uint32_t end, guint *probes)
{
	g_assert_cmpuint(i, >=, begin);
	g_assert_cmpuint(i, <, end);
	++*probes;
	return i < 12345678;
}

/* Sure of 2^32 entries after 32 questions, and it asks only about places in the range. */
static void test_probes(void)
{
	guint probes = 0;
	g_assert_cmpuint(DTC_BISECT(i, 7, UINT32_MAX, is_before_place(i, 7, UINT32_MAX, &probes)), ==, 12345678);
	g_assert_cmpuint(probes, <=, 32);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bundle/bisect/against-counting", test_against_counting);
	g_test_add_func("/bundle/bisect/ends", test_ends);
	g_test_add_func("/bundle/bisect/wide", test_wide);
	g_test_add_func("/bundle/bisect/probes", test_probes);
	return g_test_run();
}
