/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One error discipline: GError at stage boundaries, one domain per top-level area, a code for each thing that a caller
 * would do differently. The message is lower case without a full stop, names in single quotes; a second line, after
 * one '\n', is the hint: what to do. The command line prints them as "dtrace-chain: MESSAGE" and "hint: HINT".
 */
#pragma once

#include <glib.h>

#define DTC_COLLECT_ERROR (dtc_collect_error_quark())
#define DTC_SYNC_ERROR (dtc_sync_error_quark())
#define DTC_ANALYZE_ERROR (dtc_analyze_error_quark())

enum dtc_error {
	DTC_ERROR_USAGE,      /* the caller named what does not exist, or contradicts itself: exit 2 */
	DTC_ERROR_NOT_FOUND,  /* a file is not there, or nothing in the span that was asked for: exit 1 */
	DTC_ERROR_UNREADABLE, /* a file cannot be opened or is not of the expected kind: exit 1 */
	DTC_ERROR_DAMAGED,    /* a file is broken beyond what can be analysed: exit 1 */
	DTC_ERROR_INFEASIBLE, /* the clocks contradict each other: exit 1 */
	DTC_ERROR_IMPOSSIBLE, /* the recording lacks what the question needs (no captures, no net events): exit 1 */
	DTC_ERROR_LIMIT,      /* the machine allows no more open files, or has no memory: exit 1 */
	DTC_ERROR_IO,	      /* a file cannot be read because a disk fails: exit 1 */
	DTC_ERROR_CANCELLED,  /* who watched the work said that it should stop; nothing is wrong */
};

GQuark dtc_collect_error_quark(void);
GQuark dtc_sync_error_quark(void);
GQuark dtc_analyze_error_quark(void);
