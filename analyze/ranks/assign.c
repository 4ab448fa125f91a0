/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/assign.h"

#include <string.h>

/* Largest first, then by name. */
static gint compare(gconstpointer a, gconstpointer b)
{
	const struct dtc_assign_node *x = *(const struct dtc_assign_node *const *)a;
	const struct dtc_assign_node *y = *(const struct dtc_assign_node *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static guint find_least(const GArray *ranks, const guint64 *loads)
{
	guint least = DTC_ASSIGN_NOBODY;

	for (guint i = 0; i < ranks->len; i++) {
		guint rank = g_array_index(ranks, guint, i);
		if (least == DTC_ASSIGN_NOBODY || loads[rank] < loads[least] ||
		    (loads[rank] == loads[least] && rank < least))
			least = rank;
	}
	return least;
}

void dtc_assign(GArray *nodes, guint rank_count)
{
	g_autofree guint64 *loads = g_new0(guint64, rank_count + 1);
	g_autoptr(GPtrArray) order = g_ptr_array_new();

	for (guint i = 0; i < nodes->len; i++) {
		struct dtc_assign_node *node = &g_array_index(nodes, struct dtc_assign_node, i);
		if (node->owner != DTC_ASSIGN_NOBODY)
			loads[node->owner] += node->bytes;
		else
			g_ptr_array_add(order, node);
	}
	g_ptr_array_sort(order, compare);
	for (guint i = 0; i < order->len; i++) {
		struct dtc_assign_node *node = order->pdata[i];
		node->owner = find_least(node->readers->len ? node->readers : node->seers, loads);
		if (node->owner != DTC_ASSIGN_NOBODY)
			loads[node->owner] += MAX(node->bytes, 1);
	}
}
