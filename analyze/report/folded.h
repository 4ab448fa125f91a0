/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collapsed stacks for flame graphs: one line "tier;thread;cause;detail NS" per distinct stack, sorted. Semicolons in
 * names become colons, because the format has no way to quote them. The figures sum to the report's duration.
 */
#pragma once

#include "dtrace-chain/report.h"

/* Caller owns. */
char *dtc_report_to_folded(const DtcReport *report);
