/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps of a clock: both directions' envelopes jump by the same amount at the same place. An outlier moves one of them,
 * congestion moves them apart or together; only a step moves both the same way.
 */
#pragma once

#include "sync/fit/trim.h"

/* Where a step lies, as far as messages tell. */
struct dtc_step {
	int64_t begin; /* last message that fits only before the step */
	int64_t end;   /* first message that fits only after it */
	double change; /* of d */
};

/* The steps in order of time (struct dtc_step); empty if there are too few messages to tell. Caller owns. */
GArray *dtc_step_find(const struct dtc_message_points *placed, int64_t begin, int64_t end);
