/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The estimate of an era: the line (or piecewise line) with the largest room to the messages of both directions. It
 * is an estimate because nothing says that the fastest messages of both directions were equally fast.
 */
#pragma once

#include "sync/fit/pair.h"

/*
 * Sets era->curve; the era has upper and lower points. change_rate is how fast the rate may change (per ns),
 * message_count the number of messages in the direction that has fewer.
 */
void dtc_curve_fit(struct dtc_era *era, const struct dtc_rates *box, double change_rate, guint message_count);
