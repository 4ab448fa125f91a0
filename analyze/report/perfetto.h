/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace for Perfetto (ui.perfetto.dev): a machine per node, its processes and threads with their states as slices,
 * the critical path on a track of its own, messages as flows. Timestamps are cluster time. The part of Perfetto's
 * schema that is written is in proto/perfetto.proto.
 */
#pragma once

#include "analyze/report/lanes.h"
#include "dtrace-chain/report.h"

/* The whole trace; caller owns. */
GBytes *dtc_report_to_perfetto(const DtcReport *report, const DtcLanes *lanes);
