/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What records kernel events, behind one door: tracefs, or LTTng where its modules are loaded. A tracer has an instance
 * of its own, disturbs nobody's, and is gone when it is freed. All of it is called from one thread; what drains buffers
 * does so in threads of the tracer's.
 */
#pragma once

#include "collect/record/place.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dtc_tracer_settings {
	const char *instance;	 /* its name: unique on this machine */
	const GPtrArray *events; /* char *, "system:event", sorted */
	gsize buffer_bytes;	 /* for each CPU */
	/*
	 * Of a flight recorder: buffers overwrite themselves and are read at the stop. They grow until they hold this
	 * time, up to so many bytes of all CPUs. 0: they are emptied while they fill.
	 */
	int64_t hold_ns;
	guint64 hold_bytes;
	const DtcPlace *place;
};

struct dtc_tracer_counts {
	guint64 events; /* that happened, lost ones too */
	guint64 lost;
	guint64 bytes;	/* written */
	gint64 cpu_ns;	/* of the threads that have ended */
	bool is_failed; /* a file could not be written: the disk is full, most likely */
};

typedef struct DtcTracer DtcTracer;

struct dtc_tracer_kind {
	const char *name; /* in options and in the recording */
	bool is_sealed;	  /* it writes NODE/kernel/ itself, and what is in raw/ goes beside it */
	/* Whether it can be used here, with the rights there are; the error says what to do. */
	bool (*check)(GError **error);
	/* All events there are, as available_events of tracefs lists them. Caller owns; NULL on error. */
	char *(*list_events)(GError **error);
	/* Of what dtc_events_choose says is lacking, whether this tracer tells it by other events; NULL: it does not.
	 */
	bool (*has_otherwise)(const char *lack);
	/* Removes what crashed recorders have left; how many. */
	guint (*clean)(void);
	/* Everything but the start: instance, buffers, events, files. NULL on error: nothing is left then. */
	DtcTracer *(*open)(const struct dtc_tracer_settings *settings, GError **error);
	bool (*start)(DtcTracer *tracer, GError **error);
	/* Each second: new CPUs, and a line a CPU of what was lost into drops (now: CLOCK_MONOTONIC). */
	void (*sample)(DtcTracer *tracer, int64_t now_ns, FILE *drops, struct dtc_tracer_counts *ret_counts);
	/* No more events; all there are have been written. */
	bool (*stop)(DtcTracer *tracer, GError **error);
	/*
	 * After the stop of a flight recorder: from when on no CPU's buffer lacks anything (CLOCK_MONOTONIC; 0: none
	 * ever did). NULL: this tracer records no flights.
	 */
	int64_t (*get_first_ns)(const DtcTracer *tracer);
	/* Adds what it knows to the recording's group: cpus, page-size. */
	void (*describe)(const DtcTracer *tracer, GKeyFile *recording);
	/* Removes the instance, whatever state it is in. */
	void (*free)(DtcTracer *tracer);
};

extern const struct dtc_tracer_kind dtc_tracer_tracefs;
extern const struct dtc_tracer_kind dtc_tracer_lttng;
/* This kernel can make events of its own out of other events' pointers. */
bool dtc_tracefs_has_eprobes(void);
