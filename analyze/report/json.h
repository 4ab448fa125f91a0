/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The JSON view of a report: schema dtrace-chain/report/1, documented in docs/formats.md. One line per element of the
 * long lists, so that a diff of two reports can be read; keys are always there, what does not apply is null.
 */
#pragma once

#include "dtrace-chain/report.h"

#define DTC_REPORT_SCHEMA "dtrace-chain/report/1"

/* The whole document with a final newline. Caller owns. */
char *dtc_report_to_json(const DtcReport *report);
