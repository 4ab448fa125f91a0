/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clock that a CTF trace declares: what its manifest says about it. The text is searched, not compiled, so that a
 * trace that cannot be read any more still tells.
 */
#pragma once

#include "collect/read/ctf/packet_context.h"
#include "collect/read/origin.h"
#include "dtrace-chain/manifest.h"

#include <stdbool.h>

/* The first clock of the metadata in the directory; false if there is none. Clear with dtc_clock_class_clear. */
bool dtc_clock_class_read(const char *kernel_path, struct dtc_clock_class *ret_clock);
/* The same from text; it need not end with a zero. */
bool dtc_clock_class_parse(const char *text, gsize bytes, struct dtc_clock_class *ret_clock);

/*
 * The range in ns of the low bits that events have of their time in LTTng's headers; 0 if events have whole times, if
 * the streams of the trace differ in that, or if it is not known.
 */
int64_t dtc_clock_class_get_wrap(const char *kernel_path);
/* The same from the text of the metadata. */
int64_t dtc_clock_class_find_wrap(const GString *text);

/* The text of the trace's metadata, of all packets; NULL if there is none, or more than we take. Caller owns. */
GString *dtc_metadata_read_text(const char *kernel_path);

/* Whether the text says that the trace is LTTng's of that: "kernel", "ust". */
bool dtc_clock_class_is_of(const char *kernel_path, const char *what);
bool dtc_clock_class_is_text_of(const GString *text, const char *what);

/* Where the trace was recorded. */
bool dtc_clock_class_describe_origin(const char *kernel_path, struct dtc_trace_origin *ret_origin);
