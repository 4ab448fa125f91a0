/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording in words: the line while it runs, and what is said at its end. Caller owns what is given. */
#pragma once

#include "collect/record/recorder.h"
#include "collect/seal/raw.h"

#include <glib.h>

/* "12 s: 1.2 M events (0 lost), 45 MB; 2345 packets (0 dropped)" */
char *dtc_summary_get_line(const struct dtc_recorder_totals *totals);
/* What was recorded, what was lost, what it cost, what is lacking: lines. */
char *dtc_summary_get_end(const char *node_folder, const struct dtc_recorder_totals *totals, const GPtrArray *lacks);
/* What sealing made of it: lines. */
char *dtc_summary_get_sealed(const struct dtc_seal_summary *summary, const DtcFindings *findings);
/* The command to type next, for a node in that folder. */
char *dtc_summary_get_next(const char *node_folder);
/* Something was lost, or it ended early. */
bool dtc_summary_is_incomplete(const struct dtc_recorder_totals *totals);
