/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two kinds of time that must not be mixed: what one node's trace clock shows, and the common time of the cluster
 * (the reference node's clock). One-member structs, so that mixing them does not compile. Both in nanoseconds since
 * the clock's origin as the trace's metadata gives it. sync/fit/clocks.c is the one file that converts.
 */
#pragma once

#include <stdint.h>

typedef struct {
	int64_t ns;
} DtcNodeTime;

typedef struct {
	int64_t ns;
} DtcClusterTime;

/* "no time": before all others, so that a forgotten check shows as an absurd span and not as a plausible one */
#define DTC_TIME_NONE INT64_MIN
