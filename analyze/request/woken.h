/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a thread that waited in a call could go on. */
#pragma once

#include "dtrace-chain/history.h"

/* When the last wait of the thread in a call ended, or the call's begin if it did not wait. */
int64_t dtc_woken_get_ns(const DtcHistory *history, uint32_t thread, const struct dtc_call *call);
/* When the thread, woken at a time, was on a CPU again. */
int64_t dtc_woken_get_run_ns(const DtcHistory *history, uint32_t thread, int64_t woken_ns);
