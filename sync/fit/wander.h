/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much do the clocks of this pair wander? The largest wander that is assumed costs width wherever messages are
 * rare and at both ends, and most clocks are far steadier. So the messages are asked at every scale of time: what the
 * delays' noise hides is taken for wander too, so that few messages show little and change nothing.
 */
#pragma once

#include "sync/fit/trim.h"

/*
 * The wander that the kept messages in upper points [begin[0], end[0]) and lower points [begin[1], end[1]) do not
 * exclude, with a margin: a rate, between a part of most and most. most if there are too few messages to tell, or none
 * for a while. span_begin and span_end bound their x.
 */
double dtc_wander_measure(const struct dtc_message_points *placed, const guint begin[2], const guint end[2],
			  int64_t span_begin, int64_t span_end, double most);
