/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference back end: CTF through babeltrace2, one cursor per stream, not merged. Streams are in the order that
 * breaks ties: by CPU, then by file name.
 */
#pragma once

#include "collect/read/names.h"
#include "collect/read/streams.h"

typedef struct DtcCtf DtcCtf;

/*
 * Opens the directory and moves every stream to its first item. names are borrowed and grow as event classes are met;
 * the first name of call_names stands for calls without a name. On failure NULL, and *ret_reason says why in
 * babeltrace2's words (caller frees).
 */
DtcCtf *dtc_ctf_open(const char *path, DtcNames *event_names, DtcNames *call_names, char **ret_reason);
void dtc_ctf_free(DtcCtf *ctf);

guint dtc_ctf_get_stream_count(const DtcCtf *ctf);
/* Borrowed. */
struct dtc_stream *dtc_ctf_get_stream(DtcCtf *ctf, guint index);
/* False if the stream has no item (any more). */
bool dtc_ctf_has_item(const DtcCtf *ctf, guint index);
/* Moves the stream to its next item; what its last event lent is gone. */
void dtc_ctf_advance(DtcCtf *ctf, guint index);
/* Packets whose events were all given out. */
guint64 dtc_ctf_get_packet_count(const DtcCtf *ctf);
/* Decodes the current item, which is an event: kind, name, v, text, address and headers. */
void dtc_ctf_fill(DtcCtf *ctf, guint index, struct dtc_event *event);

/* From the trace's environment; NULL if not given. */
const char *dtc_ctf_get_environment(const DtcCtf *ctf, const char *key);
/* False if a stream has no clock. */
bool dtc_ctf_has_clock(const DtcCtf *ctf);
/* True if the metadata declares an event of this kind, whether or not one happened. */
bool dtc_ctf_declares(const DtcCtf *ctf, enum dtc_event_kind kind);
