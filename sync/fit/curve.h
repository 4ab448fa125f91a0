/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The estimate of a segment: the line (or piecewise line) with the largest room to the messages of both directions. It
 * is an estimate because nothing says that the fastest messages of both directions were equally fast.
 */
#pragma once

#include "sync/fit/pair.h"

/*
 * Sets segment->curve; the segment has upper and lower points. change_rate is how fast the rate may change (per ns),
 * message_count the number of messages in the direction that has fewer.
 */
void dtc_curve_fit(struct dtc_segment *segment, const struct dtc_rates *box, double change_rate, guint message_count);
