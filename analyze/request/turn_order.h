/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a turn of an event loop has read and not yet acted on. A loop acts in the order in which it read: so, where
 * nothing better is known, the first that was read tells for which request the next write is.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros is a turn that has read nothing; to be cleared after use. */
struct dtc_turn_order {
	GArray *reads; /* of its requests, the first first; NULL: none */
	uint32_t file; /* that was read last */
};

void dtc_turn_order_clear(struct dtc_turn_order *order);
/* Bytes of a request were read from a file; more from the same one in a row are the same message. */
void dtc_turn_order_add(struct dtc_turn_order *order, uint32_t file, guint request);
/* The request whose bytes wait longest; none_request if there is none. */
guint dtc_turn_order_get(const struct dtc_turn_order *order, guint none_request);
/* The one that waits longest of those that are another than that and may be; none_request if there is none. */
guint dtc_turn_order_find(const struct dtc_turn_order *order, guint but, bool (*may)(gconstpointer data, guint request),
			  gconstpointer data, guint none_request);
/* Something was written for a request: what was read for it before led to that. */
void dtc_turn_order_take(struct dtc_turn_order *order, guint request);
