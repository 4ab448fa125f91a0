/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One recording from its begin to its end: tracer, captures, walks of /proc and samples are started, watched and
 * stopped here, and leave NODE/raw/ (collect/seal/raw.h) and the captures. Signals that end it are blocked and asked
 * for, never handled, so that nothing is left half done.
 */
#pragma once

#include "collect/record/captures.h"
#include "collect/record/child.h"
#include "collect/record/events.h"
#include "collect/record/place.h"
#include "collect/record/tracer.h"
#include "collect/record/walk.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_recorder_request {
	const struct dtc_tracer_kind *tracer;
	enum dtc_event_set set;
	const char *event_list; /* or NULL */
	gsize buffer_bytes;	/* for each CPU */
	bool has_packets;
	struct dtc_capture_settings capture; /* without its place */
	bool has_guests;		     /* kvm events, and which virtual machines there are */
	uint16_t probe_port; /* UDP packets of it are probes (collect/record/cluster/probes.h); 0: none */
	const char *node_folder;
	int64_t duration_ns;	  /* 0: until it is stopped */
	char *const *command;	  /* or NULL; ends with NULL */
	const char *command_line; /* what is written down of how this was started */
	bool seals;		  /* keeps disk space free for it */
	const char *redact;	  /* as it was asked for, so that whoever seals it knows; or NULL */
	guint redacted_parts;
	/* Of a flight recorder: the last so much is kept in memory, and written at the end. 0: all is written at once.
	 */
	int64_t flight_ns;
	guint64 flight_bytes; /* for events and packets together */
	bool is_one_of_many;  /* another follows: what has no trigger is thrown away */
	/* What ends it besides: a response that is too slow (capture.slow), and a line in a log. */
	const char *line_path; /* or NULL */
	const char *line_expression;
};

enum dtc_recorder_end {
	DTC_END_SIGNAL,
	DTC_END_DURATION,
	DTC_END_COMMAND,
	DTC_END_DISK,	 /* it is nearly full, or could not be written */
	DTC_END_TRIGGER, /* what was waited for has happened; unless something else ended it meanwhile */
};

struct dtc_recorder_totals {
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	struct dtc_tracer_counts events;
	struct dtc_capture_counts packets;
	struct dtc_walk_counts walk; /* at the begin */
	gint64 cpu_ns;		     /* of this process, from the begin to the end */
	bool is_flight;		     /* that has ended: events are those in the buffers, of which the last are wanted */
	guint cleaned;		     /* instances of crashed recorders */
	enum dtc_recorder_end end;
	bool is_thrown_away; /* nothing is left of it */
};

typedef struct DtcRecorder DtcRecorder;

/* Each second, in the caller's thread. */
typedef void (*DtcRecorderWatch)(const struct dtc_recorder_totals *totals, void *data);

/*
 * Blocks the signals and starts everything; on error nothing is left behind. The request is borrowed until the end.
 */
DtcRecorder *dtc_recorder_start(const struct dtc_recorder_request *request, GError **error);
/* Returns when it has ended, whatever ended it, and all is written, or thrown away (is_one_of_many). */
bool dtc_recorder_run(DtcRecorder *recording, DtcRecorderWatch watch, void *data, GError **error);
const struct dtc_recorder_totals *dtc_recorder_get_totals(const DtcRecorder *recording);
const DtcPlace *dtc_recorder_get_place(const DtcRecorder *recording);
/* "thing=reason" (char *). Borrowed; after the run. */
const GPtrArray *dtc_recorder_get_lacks(const DtcRecorder *recording);
/* Virtual machines that were seen (struct dtc_environment_guest); empty unless they are asked for. Borrowed. */
const GPtrArray *dtc_recorder_get_guests(const DtcRecorder *recording);
const struct dtc_child *dtc_recorder_get_child(const DtcRecorder *recording);
/* What ended it, in words; NULL if nothing did that was waited for. Borrowed. */
const char *dtc_recorder_get_trigger(const DtcRecorder *recording);
/* The signals that end it: SIGINT, SIGTERM, SIGHUP, and SIGUSR1, which is a trigger. Waits so long for one (ns); its
 * number, or 0. */
int dtc_recorder_wait_for_signal(int64_t timeout_ns);
void dtc_recorder_free(DtcRecorder *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcRecorder, dtc_recorder_free)
