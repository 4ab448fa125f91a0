/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain numbers in ascending order. Not for NaN, which has no place among others. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <stdlib.h>

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
