/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A wait that did not get what it was for: a stop (SIGSTOP, a debugger, a cgroup's freezer) broke its call off, and
 * after it the kernel takes that up again (include/linux/errno.h: ERESTARTSYS to ERESTART_RESTARTBLOCK). Who stopped a
 * thread is why it is stopped from then on, and no reason for what it had waited for until then: a sleep would have
 * lasted, and a lock or a pipe is for whoever ends the wait that comes after the stop.
 *
 * The freezer's first version lets some waits be and marks them (TASK_FREEZABLE: sleeps, futexes, signals): nothing is
 * seen until they are thawed, by a write of another process, with which such a wait never ends else. Since when it was
 * frozen, those tell that the same write thaws, and that had been broken off.
 */
#pragma once

#include "dtrace-chain/history.h"

/* Who ends the wait that comes after the stop, or DTC_NONE, in ret_by. False if the wait was not broken off. */
bool dtc_broken_off_find(const DtcHistory *history, const struct dtc_interval *wait, uint32_t *ret_by);

/* Since when it was frozen, within the wait, or DTC_TIME_NONE, in ret_since. False if it was not thawed. */
bool dtc_broken_off_find_thaw(const DtcHistory *history, const struct dtc_interval *wait, int64_t *ret_since_ns);
