/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain numbers in ascending order. Not for NaN, which has no place among others. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int dtc_compare_int64(const void *left, const void *right)
{
	int64_t p = *(const int64_t *)left, q = *(const int64_t *)right;
	return (p > q) - (p < q);
}

static inline int dtc_compare_double(const void *left, const void *right)
{
	double p = *(const double *)left, q = *(const double *)right;
	return (p > q) - (p < q);
}

static inline void dtc_sort_int64(int64_t *values, gsize count)
{
	if (count) /* an empty list may have no address */
		qsort(values, count, sizeof(*values), dtc_compare_int64);
}

static inline void dtc_sort_double(double *values, gsize count)
{
	if (count)
		qsort(values, count, sizeof(*values), dtc_compare_double);
}

/* An integer that is in the order of integers where the number is among numbers: of the two zeros it is the same. */
static inline int64_t dtc_rank_double(double value)
{
	int64_t bits;
	value += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* Parts the values: none up to the place that is given is larger than any behind it, and both have some. */
static inline gsize dtc_part_int64(int64_t *values, gsize count)
{
	int64_t a = values[0], b = values[count / 2], c = values[count - 1];
	int64_t middle = MAX(MIN(a, b), MIN(MAX(a, b), c));
	gsize low = 0, high = count - 1;
	for (;; low++, high--) {
		while (values[low] < middle)
			low++;
		while (values[high] > middle)
			high--;
		if (low >= high)
			return high;
		int64_t swapped = values[low];
		values[low] = values[high];
		values[high] = swapped;
	}
}

/*
 * Gives the value that would be at place in order, and puts it there, smaller ones before it and larger ones behind it.
 * place < count. In linear time, but for values that are chosen against it: these are sorted.
 */
static inline int64_t dtc_select_int64(int64_t *values, gsize count, gsize place)
{
	gsize begin = 0, end = count;
	for (guint round = 0; round < 64 && end - begin > 16; round++) {
		gsize last = begin + dtc_part_int64(values + begin, end - begin);
		if (place <= last)
			end = last + 1;
		else
			begin = last + 1;
	}
	dtc_sort_int64(values + begin, end - begin);
	return values[place];
}
