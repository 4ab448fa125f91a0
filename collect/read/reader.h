/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pull reader of one node's kernel trace: events of all CPUs merged by (time, stream, position), so that two runs give
 * the same order. What the trace is decoded with is behind backend.h. A damaged stream is read up to where it can be
 * read; the rest is a finding. Several readers may be used from several threads, one reader from one thread at a time.
 */
#pragma once

#include "collect/read/event.h"
#include "collect/read/origin.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcReader DtcReader;

/*
 * Opens the trace at path with the first back end that recognizes and understands it. node names it in errors and
 * findings. Caller owns; NULL on error.
 */
DtcReader *dtc_reader_open(const char *node, const char *path, GError **error);
/* The same of a bundle's node, decoded as it says. */
DtcReader *dtc_reader_open_node(const struct dtc_bundle_node *node, GError **error);
/* ... and who understood a trace that is refused since it is no kernel's, or has no clock (static); else untouched. */
DtcReader *dtc_reader_try_node(const struct dtc_bundle_node *node, const char **ret_refused_by, GError **error);
/* What the program of struct dtc_reader_options does with its two words; its exit code. */
#define DTC_READER_CHILD_WORD "--serve-trace"
int dtc_reader_serve(const char *node, const char *path);
/* The same with a back end of the caller's choice, for who compares two or tests one. */
struct dtc_backend_kind;
DtcReader *dtc_reader_open_with(const struct dtc_backend_kind *kind, const char *node, const char *path,
				GError **error);
void dtc_reader_free(DtcReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcReader, dtc_reader_free)

/*
 * How many threads the reader may start to be faster, if it likes; it takes them out of the number, which others share
 * (atomic), and gives them back. spare outlives the reader. What it reads is the same.
 */
void dtc_reader_share_threads(DtcReader *reader, gint *spare);

/* The next event, or NULL at the end (or at an error: dtc_reader_finish tells). Borrowed until the next call. */
const struct dtc_event *dtc_reader_next(DtcReader *reader);

/*
 * Instead of dtc_reader_next, from the beginning on, for who wants to know how many events there are and when: passes
 * some of the next ones, of one stream after the other, at a fraction of the cost. How many; 0: there are no more.
 */
guint64 dtc_reader_count(DtcReader *reader);
/* The times of the first and the last of those so far; DTC_ABSENT: there were none. */
void dtc_reader_get_counted_span(const DtcReader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns);

/*
 * To be called after dtc_reader_next returned NULL or dtc_reader_count 0: false with an error if the trace could not be
 * read to its end and nothing of it is usable; damage that could be lived with is added to findings (lost events,
 * unreadable streams, clocks that ran backward inside a stream).
 */
bool dtc_reader_finish(DtcReader *reader, DtcFindings *findings, GError **error);

/* "fast" or "reference" */
const char *dtc_reader_get_backend(const DtcReader *reader);
/* Names seen so far; indexes are stable while the reader lives. */
guint dtc_reader_get_event_name_count(const DtcReader *reader);
const char *dtc_reader_get_event_name(const DtcReader *reader, guint index);
guint64 dtc_reader_get_event_count(const DtcReader *reader, guint index); /* events read under that name */
/* Calls that the trace tells by number have the names of its machine (call_numbers.h), or are "syscall_17". */
const char *dtc_reader_get_syscall_name(const DtcReader *reader, guint index);
/*
 * How far the reader is in what dtc_reader_measure counts. 0 to the end if that cannot be told of this trace.
 */
guint64 dtc_reader_get_consumed_bytes(const DtcReader *reader);
guint64 dtc_reader_get_lost_count(const DtcReader *reader); /* events lost as far as known */
/* Number of CPUs (highest cpu seen + 1). */
guint dtc_reader_get_cpu_count(const DtcReader *reader);
/* Whether the trace was told to record events of this kind: so its metadata declares, even if none happened. */
bool dtc_reader_declares(const DtcReader *reader, enum dtc_event_kind kind);
/* Kernel release and host name from the trace environment; "" if not given. Borrowed. */
const char *dtc_reader_get_environment(const DtcReader *reader, const char *key);

/* Of a trace that is not opened, and may be damaged: the bytes to be read, 0 if there is no trace. */
guint64 dtc_reader_measure(const char *path);
/* Where it was recorded; false if it does not tell. Clear with dtc_trace_origin_clear. */
bool dtc_reader_describe_origin(const char *path, struct dtc_trace_origin *ret_origin);
/* The clock that it declares; false if it tells none. Clear with dtc_clock_class_clear. */
bool dtc_reader_describe_clock(const char *path, struct dtc_clock_class *ret_clock);
