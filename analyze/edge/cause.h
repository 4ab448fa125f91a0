/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why an interval lasted, seen from its own thread: by its state, its call and what ended it. */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"

/* Cause of an interval without following its waker. */
enum dtc_cause dtc_cause_of_interval(const DtcHistory *history, const struct dtc_interval *interval);
