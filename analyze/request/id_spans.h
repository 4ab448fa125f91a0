/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that name themselves: spans of threads with an id, from marks in the kernel trace (lttng_logger) or from the
 * spans that a tracing library wrote (OTLP JSON). They need no capture, and so do for traffic that is encrypted.
 */
#pragma once

#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>
#include <stdbool.h>

/* A thread worked for the request from begin to end, as far as it says itself. */
struct dtc_id_span {
	const char *id;	    /* printable, bounded; owned by the set */
	const char *source; /* "mark", "trace id", "span id", or the attribute's key */
	guint node;
	uint32_t thread;
	DtcNodeTime begin;
	DtcNodeTime end; /* = begin: a single mark */
	bool is_server;	 /* it says that it serves somebody (OTLP's kind) */
};

/* Everything is borrowed and must outlive the set; arrays have node_count elements. */
struct dtc_id_spans_input {
	guint node_count;
	const char *const *names;
	const DtcHistory *const *histories; /* NULL: no kernel trace */
	/* Node time when the node's wall clock shows real_ns; false if that is not known. May be NULL. */
	bool (*real_to_node)(gconstpointer data, guint node, int64_t real_ns, int64_t *ret_node_ns);
	gconstpointer data;
};

typedef struct DtcIdSpans DtcIdSpans;

DtcIdSpans *dtc_id_spans_new(const struct dtc_id_spans_input *input);
void dtc_id_spans_free(DtcIdSpans *spans);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcIdSpans, dtc_id_spans_free)

/*
 * The marks that the expression fits: the id is its group named id, else its first group. All marks of a thread with
 * one id are one span, from the first to the last. USAGE if the expression is wrong or has no group.
 */
bool dtc_id_spans_add_marks(DtcIdSpans *spans, const char *expression, GError **error);
/*
 * The spans of an OTLP JSON file: of the resource host.name and process.pid, of the span thread.id, its times, and as
 * ids its traceId, its spanId and string attributes whose key ends in request id ("http.request.header.x-request-id",
 * "request_id"). What names no known node or thread is counted in a finding.
 */
bool dtc_id_spans_add_file(DtcIdSpans *spans, const char *path, DtcFindings *findings, GError **error);

/* How many spans there are; many may have one id. Borrowed until the next one is added. */
guint dtc_id_spans_get_count(const DtcIdSpans *spans);
const struct dtc_id_span *dtc_id_spans_get(const DtcIdSpans *spans, guint index);
/*
 * The longest span with this id (of equal ones the first added), or, if none has it, of the only id that begins with
 * it. NOT_FOUND, USAGE for an id that fits several, IMPOSSIBLE if all of its spans are single points.
 */
bool dtc_id_spans_find(const DtcIdSpans *spans, const char *id, struct dtc_id_span *ret_span, GError **error);
