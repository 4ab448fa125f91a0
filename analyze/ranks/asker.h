/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that was asked: it runs the command as dtrace-chain does, with owners (analyze/engine/owners.h) that are
 * other processes. If one of them is lost after it was given nodes, what was computed is worth nothing: the process
 * notes who, and ends; whoever started it begins again, without those nodes.
 */
#pragma once

#include "analyze/engine/owners.h"
#include "analyze/ranks/losses.h"

/* With which a process ends that is to be begun again. */
#define DTC_ASKER_BEGIN_AGAIN 111

/* One of a process, which uses it until it ends; so long a byte goes into that pipe at each pulse (pulse.h). */
const struct dtc_owners *dtc_asker_new(int end, int pulses, DtcLosses *losses);
