/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that wait without being blocked: they ask again and again. The states say that such a thread runs, or sleeps
 * for a moment, and that is all the kernel sees; what it waits for (a word in shared memory) is in no trace.
 */
#pragma once

#include "dtrace-chain/history.h"

/* Calls in a row that got nothing. */
struct dtc_polling {
	uint64_t count;
	int64_t begin_ns;
	int64_t end_ns; /* of the last of them */
	uint32_t call;	/* the first */
};

/*
 * The longest such stretch of the thread within a span. False if there is none of at least 16 calls: sched_yield, polls
 * that found nothing, sleeps of up to a millisecond, and reads, writes and futexes that said "try again".
 */
bool dtc_polling_find(const DtcHistory *history, uint32_t thread, DtcNodeTime begin, DtcNodeTime end,
		      struct dtc_polling *ret_polling);
