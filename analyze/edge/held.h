/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that is ready and not let run by the limit of its cgroup (cpu.max: CFS bandwidth control, throttle_cfs_rq in
 * kernel/sched/fair.c): what the cgroup may use in a period is spent, and its threads are out of all runqueues until
 * the next one. A switch shows them leave a CPU as if they had lost it, and no event says that they are held, nor why.
 * What does:
 *
 * - Where the limit was recorded: none of the cgroup's threads runs anywhere, and in the period that ends then (the
 *   kernel's timer for that is in the trace, though not whose it is) they had used what it may. Whoever has the CPU
 *   meanwhile is not why. If cpu.stat says that it was never throttled, it was not.
 * - Else what the CPU did. A thread that lost its CPU has it again as soon as that CPU has nothing to do, but if it was
 *   moved to the queue of another one, from which idle CPUs take at the next tick (10 ms with HZ=100). What is ready
 *   for longer, its own CPU being idle, is held. One that was woken meanwhile, whose CPU may take its time to wake up,
 *   is while another thread of its process is that had lost its CPU. Where others have that CPU all the time, nothing
 *   tells a limit from them.
 */
#pragma once

#include "dtrace-chain/history.h"

/* A part of an interval in RUNQUEUE or PREEMPTED. */
struct dtc_ready_part {
	int64_t begin_ns, end_ns;
	bool is_held;
	const struct dtc_cpu_limit *limit; /* that held it; NULL: it was not recorded */
};

/* The part that ends at a time of such an interval, or after it. Without a limit it is all of it. */
struct dtc_ready_part dtc_held_find_part(const DtcHistory *history, const struct dtc_interval *interval, int64_t at_ns);

/* Of the thread's process, or if that was made while it was recorded and is not known itself, of who made it; or NULL.
 */
const struct dtc_cpu_limit *dtc_held_find_limit(const DtcHistory *history, uint32_t thread);
