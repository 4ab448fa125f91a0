/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nominal coordinates: each node's clock, shifted and scaled by a constant so that all clocks of a group show about the
 * same. Everything fine is computed in them: differences of clocks are then small numbers with small slopes, and one
 * instant has nearly the same coordinate on every node. Rounding to whole nanoseconds is paid for once, as
 * DTC_ROUNDING_NS on every message.
 */
#pragma once

#include "sync/match/match.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A stamp is the floor of a reading (1 ns), and nominal coordinates of both ends are rounded (0.5 ns each, and once
 * more for the instant at which the difference is taken): less than 3 ns in all.
 */
#define DTC_ROUNDING_NS 3

struct dtc_nominal {
	int64_t origin_ns; /* node time that has coordinate shift */
	int64_t shift;
	double excess; /* how much faster the clock runs than the coordinate: z = shift + (1 - excess) (x - origin) */
};

static inline bool dtc_nominal_is_same(const struct dtc_nominal *a, const struct dtc_nominal *b)
{
	return a->origin_ns == b->origin_ns && a->shift == b->shift && a->excess == b->excess;
}

/* 2^61: epochs in nanoseconds fit, and differences of two coordinates. */
#define DTC_COORDINATE_LIMIT 2305843009213693952.0

/* base + distance - round(scale * distance), held within the range in which differences cannot overflow. */
static inline int64_t dtc_nominal_add_scaled(int64_t base, int64_t distance, double scale)
{
	double rough = (double)base + (double)distance - scale * (double)distance;
	if (!(fabs(rough) < DTC_COORDINATE_LIMIT))
		return rough > 0 ? (int64_t)DTC_COORDINATE_LIMIT : -(int64_t)DTC_COORDINATE_LIMIT;
	/* the sum fits, but its first two terms need not */
	return (int64_t)((__int128)base + distance - llrint(scale * (double)distance));
}

static inline int64_t dtc_nominal_from_node(const struct dtc_nominal *nominal, int64_t node_ns)
{
	return dtc_nominal_add_scaled(nominal->shift, node_ns - nominal->origin_ns, nominal->excess);
}

int64_t dtc_nominal_to_node(const struct dtc_nominal *nominal, int64_t coordinate);

/* A first idea of two clocks' relation: b shows a_ns + offset_ns when a shows a_ns, and gains rate from there. */
struct dtc_coarse {
	bool is_known;
	int64_t a_ns;
	int64_t offset_ns;
	double rate;
	double quality; /* spread of the messages around it, ns; smaller is better */
};

/*
 * From messages in both directions; robust against steps and a few per cent of wrong messages: quantiles of stretches,
 * median of slopes. max_rate limits the slope. Not known if a direction has no message.
 */
struct dtc_coarse dtc_coarse_estimate(const struct dtc_message *ab, guint ab_count, const struct dtc_message *ba,
				      guint ba_count, double max_rate);

/* Coordinates for b from those of a (forward), or for a from those of b. */
struct dtc_nominal dtc_nominal_follow(const struct dtc_nominal *known, const struct dtc_coarse *coarse, bool forward);
