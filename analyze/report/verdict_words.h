/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a report in words: the same on a terminal and on a page. */
#pragma once

#include "dtrace-chain/report.h"

#include <glib.h>
#include <stdbool.h>

/* What took half of the time or more; else that nothing did, and what is largest. NULL: nothing. Caller owns. */
char *dtc_words_for_verdict(const DtcReport *report, bool is_exact);
/* For which request this one waited; NULL: for none, or for so short that it is not said. Caller owns. */
char *dtc_words_for_waited(const DtcReport *report, bool is_exact);
/* How many machines, largest first, are worth a line. */
guint dtc_words_count_machines(const DtcReport *report);
/* What one of them spent its time on: "timer 50.00 ms (clock_nanosleep), CPU 10.96 ms (labsrv)". Caller owns. */
char *dtc_words_for_machine(const DtcReport *report, const struct dtc_report_machine *machine, bool is_exact);
/*
 * "Slowest of 206 in the captures, where GET /disk usually takes 148ms (p50 of 11)": by packets, is that usual? NULL if
 * there is nothing to compare it with. Caller owns.
 */
char *dtc_words_for_usual(const DtcReport *report);
