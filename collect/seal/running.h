/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who runs on a CPU, and whether a switch is missing. Every event of tracefs bears the thread in whose context it was
 * logged, so that a switch that is not in the buffer (lost, or never logged: seen on Linux 6.18) shows at the next
 * event of whoever has the CPU. Between the event sched_switch and the switch itself the kernel logs a little more,
 * in the name of the thread before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The events right after a switch that still bear the thread before it are within that time; as analyze/state. */
#define DTC_AFTER_SWITCH_NS 20000

struct dtc_running {
	int64_t switched_ns;
	int32_t tid;
	int32_t before; /* who ran before the last switch */
	bool is_known;
	bool is_settled; /* the new thread was seen */
};

/* True: a switch from running->tid to tid is missing. Then, too, the state is as if it had been seen. */
static inline bool dtc_running_check(struct dtc_running *running, int64_t time_ns, int32_t tid, bool is_switch)
{
	if (running->is_known && tid == running->tid) {
		running->is_settled = true;
		return false;
	}
	if (running->is_known && !running->is_settled && !is_switch && tid == running->before &&
	    time_ns - running->switched_ns < DTC_AFTER_SWITCH_NS)
		return false;
	bool was_known = running->is_known;
	*running = (struct dtc_running){ .tid = tid, .before = tid, .is_known = true, .is_settled = true };
	return was_known;
}

static inline void dtc_running_switch(struct dtc_running *running, int64_t time_ns, int32_t prev, int32_t next)
{
	*running = (struct dtc_running){ .switched_ns = time_ns, .tid = next, .before = prev, .is_known = true };
}
