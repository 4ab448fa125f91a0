/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the wall clock, which captures stamp with, to the monotonic clock, which events have. Both are slewed alike, so
 * that their distance is constant but for steps; between two readings that a step lies between, a wall time may mean
 * two moments, and is then not converted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct DtcJoinClock DtcJoinClock;

DtcJoinClock *dtc_join_clock_new(void);
void dtc_join_clock_free(DtcJoinClock *clock);
/* In the order in which they were read; one that goes back in mono_ns is damage and left out. */
void dtc_join_clock_add(DtcJoinClock *clock, int64_t mono_ns, int64_t real_ns, int64_t uncertainty_ns);
/* False: there is no reading, or real_ns is of the stretch in which the wall clock was stepped. */
bool dtc_join_clock_convert(const DtcJoinClock *clock, int64_t real_ns, int64_t *ret_mono_ns);
/* How far a converted time may be off. */
int64_t dtc_join_clock_get_error_ns(const DtcJoinClock *clock);
