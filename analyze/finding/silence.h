/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans in which a CPU that ran a thread logged nothing at all, although its timer should have interrupted it: the
 * whole machine may not have run, as a guest whose host gave its CPU to somebody else.
 */
#pragma once

#include "dtrace-chain/history.h"

struct dtc_silence {
	int64_t begin_ns;
	int64_t end_ns;
	guint cpu;
	uint32_t thread; /* that seems to have run */
};

/* A timer interrupts a busy CPU every 1 to 10 ms; what is shorter than this is no silence. */
#define DTC_SILENCE_NS 20000000

/* The timer's interrupts are traced on this node; where they are not, a silence is nothing. Looks at all intervals. */
bool dtc_silence_has_ticks(const DtcHistory *history);
/* The longest silence that meets [begin_ns, end_ns] and fills most of it. False if there is none. */
bool dtc_silence_find(const DtcHistory *history, int64_t begin_ns, int64_t end_ns, struct dtc_silence *ret_silence);
