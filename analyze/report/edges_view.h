/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One edge or span of work as a line: for people, and as a JSON object on one line (schema dtrace-chain/edges/1,
 * documented in docs/formats.md).
 */
#pragma once

#include "analyze/engine/edge_question.h"
#include "analyze/report/layout.h"

#include <glib.h>

#define DTC_EDGES_SCHEMA "dtrace-chain/edges/1"

/* "thread", "packet", ..., "open", "work", "hand-over", "vcpu" */
const char *dtc_edge_item_to_string(const struct dtc_edge_item *item);

/* Both append one line. The text's columns have fixed widths: nobody knows what is still to come. */
void dtc_edge_item_add_text(DtcLayout *layout, const DtcEngine *engine, const struct dtc_edge_question *question,
			    const struct dtc_edge_item *item);
void dtc_edge_item_add_json(GString *out, const DtcEngine *engine, const struct dtc_edge_item *item);

/* Before the first line and, with what is odd, after the last: without a tail the list was cut. */
void dtc_edges_add_head_text(DtcLayout *layout, const DtcEngine *engine, const struct dtc_edge_question *question);
void dtc_edges_add_head_json(GString *out, const DtcEngine *engine, const struct dtc_edge_question *question);
void dtc_edges_add_tail_json(GString *out, guint64 edge_count, guint64 span_count, const DtcFindings *findings);
