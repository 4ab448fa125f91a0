/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Views of an alignment of clocks: a table for people, and JSON with the schema dtrace-chain/sync/1 (documented in
 * docs/formats.md). They lay out what the fit found and compute nothing.
 */
#pragma once

#include "dtrace-chain/finding.h"
#include "sync/fit/fit.h"

#define DTC_SYNC_SCHEMA "dtrace-chain/sync/1"

/* The whole document with a final newline. Caller owns. */
char *dtc_sync_to_json(const DtcSync *sync, const DtcFindings *findings);

/* A table per pair and per node, at most width columns. Caller owns. */
char *dtc_sync_to_text(const DtcSync *sync, const DtcFindings *findings, guint width, bool has_color, bool has_utf8);

/*
 * A drawing (SVG) of aligned pairs, up to 12: both clouds of messages, both hulls, the chosen map, the certified band,
 * residuals, steps, messages left out; and of up to 24 nodes, how the clock drifts over time. Of more pairs and nodes
 * those with steps or messages left out come first, then the least certain ones; the drawing says so. matches are those
 * of the fit. Caller owns.
 */
char *dtc_sync_to_svg(const DtcSync *sync, const DtcMatches *matches);
