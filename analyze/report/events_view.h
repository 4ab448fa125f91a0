/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One event as a line: for people, and as a JSON object on one line (schema dtrace-chain/events/1, documented in
 * docs/formats.md). Fields bear the tracer's usual names; those that the reader does not carry are not there.
 */
#pragma once

#include "collect/read/reader.h"
#include "dtrace-chain/time.h"

#include <glib.h>

#define DTC_EVENTS_SCHEMA "dtrace-chain/events/1"

struct dtc_event_line {
	const char *node;
	const DtcReader *reader; /* that gave the event: knows the names */
	const struct dtc_event *event;
	DtcClusterTime time;
	int64_t origin_ns; /* text counts from here; 0: the time itself is shown */
	int32_t tid;	   /* that ran on the CPU; -1: not known */
	const char *comm;  /* its name, or NULL */
};

/* Both append one line with its newline. */
void dtc_event_line_add_text(GString *out, const struct dtc_event_line *line);
void dtc_event_line_add_json(GString *out, const struct dtc_event_line *line);

/* Whether a field of the event names the thread: switched in, woken, forked, ... */
bool dtc_event_names_thread(const struct dtc_event *event, int32_t tid);
