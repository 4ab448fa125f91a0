/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Findings: odd input that the analysis can live with (lost events, damaged file, node without packets), kept in the
 * order in which they were added, shown by every report. A finding that makes the answer incomplete says so.
 * Not thread-safe: each worker fills a list of its own, and the caller moves them together.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum dtc_severity {
	DTC_SEVERITY_INFO,
	DTC_SEVERITY_WARNING,
	DTC_SEVERITY_ERROR,
};

struct dtc_finding {
	enum dtc_severity severity;
	bool incomplete; /* the report must say complete:false (exit code 3) */
	/* a word that programs may test for and that stays the same when the text changes; static; NULL: none yet */
	const char *code;
	char *node; /* owned; NULL: concerns all nodes */
	char *text; /* owned; one sentence, lower case, no full stop */
};

typedef struct DtcFindings DtcFindings;

DtcFindings *dtc_findings_new(void);
void dtc_findings_free(DtcFindings *findings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFindings, dtc_findings_free)

/* Adds a finding; node may be NULL. A text that is already there for the same node is not added twice. */
void dtc_findings_add(DtcFindings *findings, enum dtc_severity severity, bool incomplete, const char *node,
		      const char *format, ...) G_GNUC_PRINTF(5, 6);
/* The same with a code, which must live as long as the program: docs/formats.md lists them. */
void dtc_findings_add_coded(DtcFindings *findings, const char *code, enum dtc_severity severity, bool incomplete,
			    const char *node, const char *format, ...) G_GNUC_PRINTF(6, 7);
/* The code of whatever was looked for only so far, in any stage. */
#define DTC_FINDING_LIMIT "limit-reached"
/* The span of a request is a server's, since nothing shows its client's. */
#define DTC_FINDING_CLIENT_HIDDEN "client-not-visible"
/* The span that was asked for is not there to its ends. */
#define DTC_FINDING_CUT "span-cut"
/* The codes of what is wrong with a recording, whichever stage sees it. */
#define DTC_FINDING_STREAM_DAMAGED "stream-damaged"
#define DTC_FINDING_STREAM_MISSING "stream-missing"
#define DTC_FINDING_STREAM_FOREIGN "stream-foreign"
#define DTC_FINDING_STREAM_COPY "stream-copy"
#define DTC_FINDING_STRAY_FILE "stray-file"
#define DTC_FINDING_INDEX "index-unfit"
#define DTC_FINDING_PACKET_CPU "packet-cpu"
#define DTC_FINDING_PACKET_ORDER "packet-order"
#define DTC_FINDING_PACKET_TIME "packet-time"
#define DTC_FINDING_CLOCK_JUMP "clock-jump"
#define DTC_FINDING_OUTSIDE "outside-trace"
#define DTC_FINDING_EVENTS_LOST "events-lost"
#define DTC_FINDING_SWITCH_MISSING "switch-missing"
#define DTC_FINDING_NOT_RECORDED "not-recorded"
#define DTC_FINDING_PACKETS_LOST "packets-lost"
#define DTC_FINDING_BUNDLE_CHANGED "bundle-changed"
#define DTC_FINDING_LINK "link-outside"
#define DTC_FINDING_TRACE_TWICE "trace-twice"
#define DTC_FINDING_HOST_TWICE "host-twice"
#define DTC_FINDING_METADATA_DAMAGED "metadata-damaged"
#define DTC_FINDING_IO_ERROR "io-error"
#define DTC_FINDING_INDEX_ONLY "index-only"
#define DTC_FINDING_NODE_LOST "node-lost"
#define DTC_FINDING_TRACE_UNREADABLE "trace-unreadable"
#define DTC_FINDING_CAPTURE_DAMAGED "capture-damaged"
#define DTC_FINDING_CAPTURE_FOREIGN "capture-foreign"
#define DTC_FINDING_CAPTURE_TIME "capture-time"
/* Moves all findings of from to the end of to; from is empty afterwards. */
void dtc_findings_move(DtcFindings *to, DtcFindings *from);
guint dtc_findings_get_count(const DtcFindings *findings);
/*
 * Errors first, then warnings; of a severity in the order in which they were added. Borrowed until the next change of
 * the list.
 */
const struct dtc_finding *dtc_findings_get(const DtcFindings *findings, guint index);
/* False as soon as one finding is marked incomplete. */
bool dtc_findings_get_complete(const DtcFindings *findings);

/* "error", "warning", "info" */
const char *dtc_severity_to_string(enum dtc_severity severity);
