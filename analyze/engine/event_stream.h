/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The wanted events of a node that is elsewhere: its owner has a stream of them, and who lists them has the other end,
 * a feed, which calls for some, and for more when these are used up; first for few, since a list may be short.
 *
 * What is not wanted is not sent, but what matters to a list that stops early: that events were lost, and when the last
 * event was.
 */
#pragma once

#include "analyze/engine/event_source.h"
#include "dtrace-chain/finding.h"

/* ---- of an owner ---- */

#define DTC_EVENT_STREAM_OPEN_TYPE "(a(xxxx)imaay)"
#define DTC_EVENT_STREAM_NEXT_TYPE "(xxu)"

typedef struct DtcEventStream DtcEventStream;

/* Of a question of the first type. *ret_answer, floating, is set also where there is no stream (NULL). Caller owns. */
DtcEventStream *dtc_event_stream_open(const struct dtc_bundle_node *node, GVariant *question, GVariant **ret_answer);
/* Of one of the second. Floating. */
GVariant *dtc_event_stream_next(DtcEventStream *stream, GVariant *question);
void dtc_event_stream_free(DtcEventStream *stream);

/* ---- of who lists ---- */

typedef struct DtcEventFeed DtcEventFeed;

/* Of a node of the bundle that is elsewhere; clocks are borrowed. Errors as of dtc_event_source_open. Caller owns. */
DtcEventFeed *dtc_event_feed_open(const DtcBundle *bundle, guint node, const DtcClocks *clocks,
				  const struct dtc_event_wants *wants, GError **error);
void dtc_event_feed_free(DtcEventFeed *feed);
/* When its first event is until it has begun, wanted or not, then the next step. False: there are no more. */
bool dtc_event_feed_get_time(const DtcEventFeed *feed, DtcClusterTime *ret_time);
void dtc_event_feed_begin(DtcEventFeed *feed, const struct dtc_event_wants *wants);
/* As dtc_event_source_look, and leave. */
bool dtc_event_feed_look(DtcEventFeed *feed, struct dtc_event_line *ret_line);
bool dtc_event_feed_leave(DtcEventFeed *feed);
bool dtc_event_feed_has_matched(const DtcEventFeed *feed);
/* It stopped before the end, at an event that is too late. */
bool dtc_event_feed_is_past(const DtcEventFeed *feed);
/* As dtc_reader_finish, at its end. */
bool dtc_event_feed_finish(DtcEventFeed *feed, DtcFindings *findings, GError **error);
/* Of events that were read, if none of them has matched; NULL-terminated. Borrowed. */
const char *const *dtc_event_feed_get_names(const DtcEventFeed *feed);
