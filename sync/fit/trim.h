/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which messages of a pair contradict each other, and where its clocks step. Trimming comes before hulls, because a
 * hull keeps outliers first.
 */
#pragma once

#include "sync/fit/placed.h"

struct dtc_message_points {
	struct dtc_placed upper; /* the pair's ab */
	struct dtc_placed lower; /* its ba */
};

/*
 * Trims the messages that cannot be true together with the rest, for rates in box and the given wander, among upper
 * points [begin[0], end[0]) and lower points [begin[1], end[1]). To be called if there is a contradiction. Gives false
 * if so many would have to go that the pair as a whole contradicts itself.
 */
bool dtc_trim_contradictions(struct dtc_message_points *placed, const guint begin[2], const guint end[2], double wander,
			     const struct dtc_rates *box);
