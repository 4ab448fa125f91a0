/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that is ready and not let run by the limit of its cgroup (cpu.max: CFS bandwidth control, throttle_cfs_rq in
 * kernel/sched/fair.c): what the cgroup may use in a period is spent, and its threads are out of all runqueues until
 * the next one. A switch shows them leave a CPU as if they had lost it, and no event says that they are held, nor why.
 * What does: a thread that lost its CPU has it again as soon as that CPU has nothing to do, but if it was moved to the
 * queue of another one, from which idle CPUs take at the next tick (10 ms with HZ=100). What is ready for longer, its
 * own CPU being idle, is held. Where others have that CPU all the time, nothing tells a limit from them.
 */
#pragma once

#include "dtrace-chain/history.h"

/* For so long its own CPU is idle. */
#define DTC_HELD_LEAST_NS (INT64_C(10) * 1000 * 1000)

struct dtc_held {
	int64_t begin_ns, end_ns; /* as far as is seen: from when its CPU was first idle to when it was last */
	int64_t idle_ns;	  /* of its CPU in between */
};

/*
 * Of an interval in RUNQUEUE or PREEMPTED the part in which the thread was held. One that was woken meanwhile, whose
 * CPU may take its time to wake up, is held while another thread of its process is that had lost its CPU. False if none
 * is seen.
 */
bool dtc_held_find(const DtcHistory *history, const struct dtc_interval *interval, struct dtc_held *ret_held);
