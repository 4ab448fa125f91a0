/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program does for the kernel, in the middle of somebody's call: the daemon of a file system in user space
 * (FUSE) reads what is asked from /dev/fuse, and writes the answer there, which wakes whoever asked; a pager brings the
 * page that somebody touched (userfaultfd), with an ioctl; a scanner allows what is opened (fanotify). One that is busy
 * is woken by nobody for the next question: whom it wakes tells for whom it has worked.
 */
#pragma once

#include "dtrace-chain/history.h"

/* Whether a wake is such an answer: since when its target had waited for it, in ret_slept_ns. */
bool dtc_for_kernel_is_answer(const DtcHistory *history, const struct dtc_wake *wake, int64_t *ret_slept_ns);
