/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who had the CPU while a thread waited for it. */
#pragma once

#include "dtrace-chain/history.h"

#include <glib.h>

struct dtc_occupant {
	uint32_t thread;
	int64_t ns;
};

/*
 * The threads (struct dtc_occupant) that ran on the CPU of an interval in RUNQUEUE or PREEMPTED, the one that had it
 * longest first; without idle threads and the waiting one. Caller owns.
 */
GArray *dtc_occupants_find(const DtcHistory *history, const struct dtc_interval *interval);
