/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who had the CPU while a thread waited for it. */
#pragma once

#include "dtrace-chain/history.h"

#include <glib.h>

struct dtc_occupant {
	uint32_t thread; /* DTC_NONE: what the kernel did on top of an idle thread */
	uint8_t state;	 /* then DTC_STATE_IRQ, DTC_STATE_SOFTIRQ, or DTC_STATE_IDLE: nobody had it */
	uint32_t ref;	 /* of these, as in struct dtc_interval */
	int64_t ns;
};

/*
 * Who (struct dtc_occupant) had the CPU of an interval in RUNQUEUE or PREEMPTED, longest first, without the waiting
 * thread. A CPU that was idle may have been in a softirq for
 * all of that time (A, req-0096: nginx waits 7.3 ms for the one that sends its packet). Caller owns.
 */
GArray *dtc_occupants_find(const DtcHistory *history, const struct dtc_interval *interval);

/* When nobody had that CPU, not even an interrupt. */
struct dtc_idle {
	int64_t begin_ns, end_ns; /* of the first and of the last time */
	int64_t ns;		  /* all together */
};

/* False if it was never idle. */
bool dtc_occupants_find_idle(const DtcHistory *history, const struct dtc_interval *interval, struct dtc_idle *ret_idle);
