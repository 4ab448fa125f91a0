/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/turn_order.h"

#include "dtrace-chain/history.h"

void dtc_turn_order_clear(struct dtc_turn_order *order)
{
	g_clear_pointer(&order->reads, g_array_unref);
	order->file = DTC_NONE;
}

void dtc_turn_order_add(struct dtc_turn_order *order, uint32_t file, guint request)
{
	if (!order->reads)
		order->reads = g_array_new(FALSE, FALSE, sizeof(guint));
	else if (order->file == file && order->reads->len &&
		 g_array_index(order->reads, guint, order->reads->len - 1) == request)
		return;
	order->file = file;
	g_array_append_val(order->reads, request);
}

guint dtc_turn_order_get(const struct dtc_turn_order *order, guint none_request)
{
	return order->reads && order->reads->len ? g_array_index(order->reads, guint, 0) : none_request;
}

guint dtc_turn_order_find(const struct dtc_turn_order *order, guint but, bool (*may)(gconstpointer data, guint request),
			  gconstpointer data, guint none_request)
{
	for (guint i = 0; order->reads && i < order->reads->len; i++) {
		guint request = g_array_index(order->reads, guint, i);
		if (request != but && may(data, request))
			return request;
	}
	return none_request;
}

void dtc_turn_order_take(struct dtc_turn_order *order, guint request)
{
	for (guint i = 0; order->reads && i < order->reads->len; i++) {
		if (g_array_index(order->reads, guint, i) != request)
			continue;
		g_array_remove_index(order->reads, i);
		return;
	}
}
