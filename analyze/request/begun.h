/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread was at when the trace began, in a call that it does not have: a server that slept in its read has a
 * question of which only what it did next is known.
 */
#pragma once

#include "dtrace-chain/history.h"

/* What ended the wait in which a thread was when the trace began, if that was a packet. False: it was not. */
bool dtc_begun_find_packet(const DtcHistory *history, uint32_t thread, struct dtc_wake *ret_wake);
/*
 * Whether a thread had gone into its read before the trace began, so that there is no call of it, and a packet with
 * bytes ended that: what it did next is the first thing that is known of it.
 */
bool dtc_begun_was_in_read(const DtcHistory *history, uint32_t thread);
/*
 * From when on a thread may have led up to the first call that is known to move a request on. What it had begun to read
 * before the trace is another question, which takes it until it waits for the next.
 */
int64_t dtc_begun_find_work_ns(const DtcHistory *history, uint32_t thread, uint32_t first);
