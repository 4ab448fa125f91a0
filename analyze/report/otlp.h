/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The path as OpenTelemetry spans, in the JSON encoding of OTLP (ids in hex, enums as integers, 64-bit integers as
 * strings): a root span for the request, a span for every visit of the path to a tier, a span for every message between
 * nodes, and the waits as events. Ids are derived from the content: the same request gives the same ids.
 *
 * A path that goes client, web, database, web, client becomes a tree by its order: coming to a tier that is open
 * returns to it, coming to another opens it beneath. Where a header carried a trace id of 128 or 64 bits (traceparent,
 * b3, ...), the spans bear it, and the root is linked to the sender's span that the header named.
 */
#pragma once

#include "dtrace-chain/report.h"

/* Caller owns. */
char *dtc_report_to_otlp(const DtcReport *report);
