/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One event as a line: for people, and as a JSON object on one line (schema dtrace-chain/events/1, documented in
 * docs/formats.md). Fields bear the tracer's usual names; those that the reader does not carry are not there.
 */
#pragma once

#include "analyze/engine/event_list.h"

#include <glib.h>

#define DTC_EVENTS_SCHEMA "dtrace-chain/events/1"

/* Both append one line with its newline. */
void dtc_event_line_add_text(GString *out, const struct dtc_event_line *line);
void dtc_event_line_add_json(GString *out, const struct dtc_event_line *line);

/* In JSON the list begins with a line of its own, which names the node whose clock is cluster time. */
void dtc_events_add_head_json(GString *out, const char *reference);
/* In text only if times count from somewhere: from when. */
void dtc_events_add_head_text(GString *out, const struct dtc_event_line *first, const char *reference);
/* The last line tells that nothing is missing, and what is odd. */
void dtc_events_add_tail_json(GString *out, guint64 event_count, const DtcFindings *findings);
void dtc_events_add_tail_text(GString *out, const DtcFindings *findings, guint width, bool has_color, bool has_utf8);
