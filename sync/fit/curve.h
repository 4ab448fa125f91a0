/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The estimate of a segment: the line (or piecewise line) with the largest room to the messages of both directions. It
 * is an estimate because nothing says that the fastest messages of both directions were equally fast.
 */
#pragma once

#include "sync/fit/pair.h"

/* Sets segment->curve; the segment has upper and lower points. */
void dtc_curve_fit(struct dtc_segment *segment, const struct dtc_rates *box);
