/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins, one after the other, of legs that ran side by side: a thread starts several others, or processes, and waits
 * for the end of each in turn. The one that ends last is what all of that took; the others ended meanwhile.
 */
#pragma once

#include "dtrace-chain/history.h"

/*
 * How long before a wait, that the end of a thread or process ended, its thread had begun to wait for the ends of
 * others that ran beside that one: all such waits right before it that began after that one did, with less running
 * between them than waiting on one side of it. 0: it had not. Costs a look at each such wait and what lies between.
 */
int64_t dtc_join_get_ns(const DtcHistory *history, const struct dtc_interval *wait);
