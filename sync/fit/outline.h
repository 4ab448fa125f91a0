/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hulls of a pair's two clouds, for people to look at: the lower hull of the messages from a to b and the upper
 * hull of those from b to a, over the longest stretches in which a straight line fits between the two. Where clocks
 * wander that is several stretches. Bounds and estimates do not use this.
 */
#pragma once

#include "sync/fit/pair.h"

/* Appends the hulls of one era (struct dtc_sync_corner, in node times of the pair's a and b). */
void dtc_outline_append(const struct dtc_pair *pair, const struct dtc_era *era, GArray *corners);
