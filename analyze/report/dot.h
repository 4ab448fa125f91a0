/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The path's threads as a graph for Graphviz: a box per thread with its time on the path and what most of it was, a
 * cluster per node, and an edge wherever the path goes from one thread to another, with how often and, between nodes,
 * the time on the wire and how sure the step is.
 */
#pragma once

#include "dtrace-chain/report.h"

/* Caller owns. */
char *dtc_report_to_dot(const DtcReport *report);
