/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/keyed.h"

#include <stdlib.h>
#include <string.h>

/* Three passes tell 2^33 keys apart: hashes of the packets of a flow, and times of a minute to 8 ns. */
#define DIGIT_BITS 11
#define DIGITS 3
#define PLACES (1u << DIGIT_BITS)
/* Fewer than these are compared: counting costs as much for one as for some thousands. */
#define COUNTED_LEAST 1024

static int compare_keyed(const void *left, const void *right)
{
	const struct dtc_keyed *p = left, *q = right;
	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	if (p->side != q->side)
		return p->side < q->side ? -1 : 1;
	return (p->index > q->index) - (p->index < q->index);
}

/* What the keys are shifted by, so that the digits hold the difference of any two that differ most. */
static guint find_shift(const struct dtc_keyed *items, gsize count, guint64 *ret_least)
{
	guint64 least = items[0].key, most = items[0].key;
	for (gsize i = 1; i < count; i++) {
		least = MIN(least, items[i].key);
		most = MAX(most, items[i].key);
	}
	guint shift = 0;
	while ((most - least) >> shift >> (DIGITS * DIGIT_BITS))
		shift++;
	*ret_least = least;
	return shift;
}

/* One pass: items go to sorted by the digit that begins at bit shift of key - least, and keep their order otherwise. */
static void scatter_by_digit(const struct dtc_keyed *items, gsize count, guint64 least, guint shift,
			     struct dtc_keyed *sorted)
{
	gsize places[PLACES] = { 0 }, next = 0;
	for (gsize i = 0; i < count; i++)
		places[(items[i].key - least) >> shift & (PLACES - 1)]++;
	for (guint i = 0; i < PLACES; i++) {
		gsize here = places[i];
		places[i] = next;
		next += here;
	}
	for (gsize i = 0; i < count; i++)
		sorted[places[(items[i].key - least) >> shift & (PLACES - 1)]++] = items[i];
}

/* Items whose digits are the same lie together: they are put in order among themselves. */
static void compare_rest(struct dtc_keyed *items, gsize count, guint64 least, guint shift)
{
	for (gsize i = 0, next; i < count; i = next) {
		guint64 digits = (items[i].key - least) >> shift;
		for (next = i + 1; next < count && (items[next].key - least) >> shift == digits; next++)
			;
		if (next - i == 2 && compare_keyed(&items[i], &items[i + 1]) > 0) {
			struct dtc_keyed first = items[i];
			items[i] = items[i + 1];
			items[i + 1] = first;
		} else if (next - i > 2) {
			qsort(&items[i], next - i, sizeof(*items), compare_keyed);
		}
	}
}

void dtc_keyed_sort(struct dtc_keyed *items, gsize count, struct dtc_keyed *other)
{
	if (count < COUNTED_LEAST) {
		if (count)
			qsort(items, count, sizeof(*items), compare_keyed);
		return;
	}
	guint64 least;
	guint shift = find_shift(items, count, &least);
	struct dtc_keyed *from = items, *to = other;
	for (guint digit = 0; digit < DIGITS; digit++) {
		scatter_by_digit(from, count, least, shift + digit * DIGIT_BITS, to);
		struct dtc_keyed *swapped = from;
		from = to;
		to = swapped;
	}
	memcpy(items, from, count * sizeof(*items)); /* an odd number of passes ends in the other list */
	compare_rest(items, count, least, shift);
}
