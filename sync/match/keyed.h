/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of many items by a 64-bit key: packets by the hash of their fields, messages by time. By counting, a few
 * passes over the items whatever their number; what the counted digits do not tell apart is compared.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

struct dtc_keyed {
	guint64 key;
	uint32_t index;
	uint32_t side; /* 0 sent or the kernel's, 1 received or the capture's */
};
_Static_assert(sizeof(struct dtc_keyed) == 16, "one per packet of a flow");

/* By key, then side, then index. other: room for as many, of the caller; what is in it afterwards means nothing. */
void dtc_keyed_sort(struct dtc_keyed *items, gsize count, struct dtc_keyed *other);
