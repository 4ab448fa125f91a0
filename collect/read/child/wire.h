/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes through the pipe. Both ends are one program, so that structures travel as they are; but for the pointers in
 * them, whose texts follow. A record begins with its kind.
 */
#pragma once

#include "collect/read/event.h"
#include "collect/read/streams.h"

#include <glib.h>
#include <stdio.h>

enum dtc_wire_record {
	DTC_WIRE_FAILED = 1, /* the trace cannot be opened: error's code, message */
	DTC_WIRE_OPENED,     /* struct dtc_wire_opened, then texts of the environment */
	DTC_WIRE_EVENT_NAME, /* text: the next index */
	DTC_WIRE_CALL_NAME,
	DTC_WIRE_FINDING, /* struct dtc_wire_finding, then texts */
	DTC_WIRE_ITEM, /* struct dtc_wire_item, then name and error of the stream, and the event unless it is a gap */
	DTC_WIRE_END,  /* all streams are at their ends */
};

/* The keys that anybody asks for. */
extern const char *const dtc_wire_keys[];

struct dtc_wire_opened {
	guint stream_count;
	bool declares[DTC_EVENT_KINDS];
};

struct dtc_wire_finding {
	uint8_t severity;
	bool is_incomplete;
};

struct dtc_wire_item {
	guint stream;
	guint64 consumed_bytes;
	struct dtc_stream state; /* pointers are of the other side */
};

/* No text is longer; what is gets cut. */
#define DTC_WIRE_TEXT_BYTES 65536

/* NULL is a text of its own. */
void dtc_wire_put_text(FILE *to, const char *text);
/* False at the end of the pipe; *ret_text is NULL or owned. */
bool dtc_wire_get_text(FILE *from, char **ret_text);
/* All but time and CPU. The texts that are got lie in the two strings. */
void dtc_wire_put_event(FILE *to, const struct dtc_event *event);
bool dtc_wire_get_event(FILE *from, GString *texts[2], struct dtc_event *event);
