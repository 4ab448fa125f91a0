/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/placed.h"

#include <stdlib.h>

/* Messages to a stretch of time, where they come evenly: so few are put in order by inserting. */
#define STRETCH_MESSAGES 4
#define INSERTED_MAX 24
/* What is longer goes to a file. */
#define LIST_BYTES ((gsize)64 << 10)

struct item {
	struct dtc_point point;
	uint32_t message;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *p = left, *q = right;
	if (p->point.x != q->point.x)
		return p->point.x < q->point.x ? -1 : 1;
	if (p->point.v != q->point.v)
		return p->point.v < q->point.v ? -1 : 1;
	return (p->message > q->message) - (p->message < q->message);
}

static void insert(struct item *items, guint count)
{
	for (guint i = 1; i < count; i++) {
		struct item item = items[i];
		guint k = i;
		for (; k > 0 && compare_items(&items[k - 1], &item) > 0; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

/* Puts a part of the order right whose messages all belong there. */
static void sort_stretch(const struct dtc_placed *placed, uint32_t *order, guint begin, guint end)
{
	struct item few[INSERTED_MAX];
	g_autofree struct item *many = end - begin > INSERTED_MAX ? g_new(struct item, end - begin) : NULL;
	struct item *items = many ? many : few;
	for (guint i = begin; i < end; i++)
		items[i - begin] = (struct item){ dtc_placed_get_point(placed, i), order[i] };
	if (many)
		qsort(many, end - begin, sizeof(*many), compare_items);
	else
		insert(few, end - begin);
	for (guint i = begin; i < end; i++)
		order[i] = items[i - begin].message;
}

/*
 * By stretches of equal length: counted, filled, then each put in order. Messages of a flow come about in the order of
 * time, so that this goes through memory in order, too.
 */
static void sort(struct dtc_placed *placed, int64_t least, int64_t most)
{
	guint shift = 0, wanted = placed->count / STRETCH_MESSAGES + 1;
	while ((guint64)(most - least) >> shift >= wanted)
		shift++;
	guint stretches = (guint)((guint64)(most - least) >> shift) + 1;
	g_autoptr(DtcTable) ends = dtc_table_new_in(sizeof(guint), LIST_BYTES, placed->space);
	dtc_table_set_length(ends, stretches + 1);
	guint *end = DTC_AT(ends, guint, 0);
	for (guint i = 0; i < placed->count; i++)
		end[((guint64)(dtc_placed_get_x(placed, i) - least) >> shift) + 1]++;
	for (guint k = 1; k <= stretches; k++)
		end[k] += end[k - 1];
	DtcTable *orders = dtc_table_new_in(sizeof(uint32_t), LIST_BYTES, placed->space);
	dtc_table_extend(orders, placed->count);
	uint32_t *order = DTC_AT(orders, uint32_t, 0);
	for (guint i = 0; i < placed->count; i++)
		order[end[(guint64)(dtc_placed_get_x(placed, i) - least) >> shift]++] = i;
	placed->orders = orders;
	placed->order = order;
	for (guint k = 0, begin = 0; k < stretches; begin = end[k++])
		if (end[k] - begin > 1)
			sort_stretch(placed, order, begin, end[k]);
}

void dtc_placed_init(struct dtc_placed *placed, const struct dtc_message *messages, guint count, bool is_upper,
		     const struct dtc_nominal *a, const struct dtc_nominal *b, int64_t slack, DtcSpace *space)
{
	*placed = (struct dtc_placed){ .messages = messages,
				       .count = count,
				       .is_upper = is_upper,
				       .a = *a,
				       .b = *b,
				       .slack = slack,
				       .space = space };
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool is_sorted = true;
	for (guint i = 0; i < count; i++) {
		int64_t x = dtc_placed_get_x(placed, i);
		is_sorted &= x > most || (i && x == most &&
					  dtc_placed_get_point(placed, i).v >= dtc_placed_get_point(placed, i - 1).v);
		least = MIN(least, x);
		most = MAX(most, x);
	}
	if (!is_sorted)
		sort(placed, least, most);
}

void dtc_placed_clear(struct dtc_placed *placed)
{
	g_clear_pointer(&placed->orders, dtc_table_free);
	g_clear_pointer(&placed->trims, dtc_table_free);
	placed->order = NULL;
	placed->by_ns = NULL;
	placed->count = 0;
}

void dtc_placed_trim(struct dtc_placed *placed, guint place, gint32 by_ns)
{
	if (!placed->trims) {
		placed->trims = dtc_table_new_in(sizeof(gint32), LIST_BYTES, placed->space);
		dtc_table_set_length(placed->trims, placed->count);
		placed->by_ns = DTC_AT(placed->trims, gint32, 0);
	}
	placed->by_ns[place] = by_ns;
}
