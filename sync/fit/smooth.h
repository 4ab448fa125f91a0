/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tighter bounds from the second part of the assumption: the rate changes by at most change_rate per ns, so around x
 * the
 * difference of the clocks is a line up to change_rate t^2 / 2. Each point, lifted by that much, bounds the line; the
 * best bound at x is a linear program in two unknowns (value and slope at x) over the points near x.
 */
#pragma once

#include "sync/fit/envelope.h"

/*
 * Moves ret_bounds at each x of grid (sorted) inwards where this is tighter. rates are the slopes possible at x (mean
 * rates and wander).
 */
void dtc_points_tighten(const struct dtc_point *points, guint count, bool is_upper, double change_rate,
			const struct dtc_rates *rates, const int64_t *grid, guint grid_count, double *ret_bounds);
