/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The messages of a pair as points in nominal coordinates, in order of time. There can be as many as packets, so that
 * points are made where they are looked at, and only their order is kept: 4 bytes a message, and 4 more once some are
 * left out.
 */
#pragma once

#include "collect/packets/table.h"
#include "sync/fit/envelope.h"
#include "sync/fit/nominal.h"

/* One direction. */
struct dtc_placed {
	const struct dtc_message *messages; /* borrowed */
	guint count;
	bool is_upper;		 /* sent by a */
	struct dtc_nominal a, b; /* coordinates of both clocks */
	int64_t slack;		 /* what a point is higher (an upper one), or lower, than its message says */
	const uint32_t *order;	 /* messages by point, (x, v), then as they were found; NULL: they are so already */
	gint32 *by_ns;		 /* by place: how far a message that is left out lies beyond the others, 0: kept */
	DtcSpace *space;	 /* borrowed; where the lists grow; NULL: in files of their own */
	DtcTable *orders;	 /* owned, of order */
	DtcTable *trims;	 /* owned, of by_ns */
};

/* All messages are kept. Caller clears. */
void dtc_placed_init(struct dtc_placed *placed, const struct dtc_message *messages, guint count, bool is_upper,
		     const struct dtc_nominal *a, const struct dtc_nominal *b, int64_t slack, DtcSpace *space);
void dtc_placed_clear(struct dtc_placed *placed);

/* Leaves a message out; by_ns is at least 1. */
void dtc_placed_trim(struct dtc_placed *placed, guint place, gint32 by_ns);

static inline bool dtc_placed_is_trimmed(const struct dtc_placed *placed, guint place)
{
	return placed->by_ns && placed->by_ns[place];
}

/* Which message is at a place. */
static inline guint dtc_placed_get_message(const struct dtc_placed *placed, guint place)
{
	return placed->order ? placed->order[place] : place;
}

/* The coordinate on a of the message at a place. */
static inline int64_t dtc_placed_get_x(const struct dtc_placed *placed, guint place)
{
	const struct dtc_message *message = &placed->messages[dtc_placed_get_message(placed, place)];
	return dtc_nominal_from_node(&placed->a, placed->is_upper ? message->sent_ns : message->received_ns);
}

static inline struct dtc_point dtc_placed_get_point(const struct dtc_placed *placed, guint place)
{
	const struct dtc_message *message = &placed->messages[dtc_placed_get_message(placed, place)];
	int64_t x = dtc_placed_get_x(placed, place);
	int64_t on_b = dtc_nominal_from_node(&placed->b, placed->is_upper ? message->received_ns : message->sent_ns);
	return (struct dtc_point){ x, on_b - x + (placed->is_upper ? placed->slack : -placed->slack) };
}
