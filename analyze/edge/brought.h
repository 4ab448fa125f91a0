/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets that a thread received itself, in no interrupt: what vhost's thread, or the hypervisor's write to a tap,
 * hands to the host's stack is received there and then. Whatever that does at once (a wakeup of who waits for it, an
 * answer of the kernel) happens in that thread's context, and is none of its own doing.
 */
#pragma once

#include "dtrace-chain/history.h"

/* The thread that received a packet itself, and is no CPU of a guest; DTC_NONE: it was sent, or an interrupt did. */
uint32_t dtc_brought_get_thread(const DtcHistory *history, uint32_t packet);
/* Whether a thread has not left its CPU from begin to end. */
bool dtc_brought_has_run(const DtcHistory *history, uint32_t thread, int64_t begin_ns, int64_t end_ns);
/* The last packet that a thread received itself shortly before time, and has not left its CPU since; or DTC_NONE. */
uint32_t dtc_brought_find_last(const DtcHistory *history, uint32_t thread, int64_t time_ns);
