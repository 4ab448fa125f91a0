/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which messages of a pair contradict each other, and where its clocks step. Trimming comes before hulls, because a
 * hull keeps outliers first.
 */
#pragma once

#include "sync/fit/pair.h"

/* A message as a point, with where it came from. */
struct dtc_message_point {
	struct dtc_point point;
	guint message; /* index in the pair's ab (upper) or ba (lower) */
	gint32 by_ns;  /* trimmed: how far beyond, saturated; 0: kept */
	bool trimmed;
};

struct dtc_message_points {
	struct dtc_message_point *upper; /* owned; sorted by x */
	guint upper_count;
	struct dtc_message_point *lower;
	guint lower_count;
};

void dtc_message_points_clear(struct dtc_message_points *placed);

/*
 * Trims the messages that cannot be true together with the rest, for rates in box and the given wander, among upper
 * points [begin[0], end[0]) and lower points [begin[1], end[1]). To be called if there is a contradiction. Gives false
 * if so many would have to go that the pair as a whole contradicts itself.
 */
bool dtc_trim_contradictions(struct dtc_message_points *placed, const guint begin[2], const guint end[2], double wander,
			     const struct dtc_rates *box);
