/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The door for readers of traces: what a back end has to do for reader.c, which is the only file that knows which ones
 * there are. A back end decodes: it gives streams (struct dtc_stream), each in its own order, and the events in them.
 * Merging the streams, counting names and lost events, and what is said about gaps and damage is the reader's, so that
 * all back ends say the same of the same trace.
 *
 * A back end's own struct begins with struct dtc_backend; the functions of its kind get that pointer. It is used from
 * one thread at a time, several of them from several threads.
 */
#pragma once

#include "collect/read/event.h"
#include "collect/read/known.h"
#include "collect/read/names.h"
#include "collect/read/origin.h"
#include "collect/read/streams.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_backend {
	const struct dtc_backend_kind *kind;
	/*
	 * All streams, owned by the back end, in an order that depends on nothing but the trace: among items of equal
	 * time the earlier stream goes first. After open every stream is on its first item or has none.
	 */
	guint stream_count;
	struct dtc_stream **streams;
	bool has_no_clock;		/* a stream cannot be put in order: it is for nothing but to be refused */
	bool declares[DTC_EVENT_KINDS]; /* the trace could hold such events, whether or not one happened */
	guint64 consumed_bytes;		/* of what measure counts; 0 to the end if that cannot be told */
	DtcFindings
		*findings; /* owned by the back end, the reader takes them out: what it found in the files; or NULL */
};

struct dtc_item_class {
	uint16_t kind; /* enum dtc_event_kind */
	uint16_t name; /* of event_names */
};

/* All of it is borrowed, the names until close. */
struct dtc_backend_request {
	const char *node; /* for errors */
	const char *path;
	const char *program;   /* for a back end in a process of its own; NULL: none */
	DtcNames *event_names; /* grow as events are met */
	DtcNames *call_names;  /* the first stands for calls without a name */
	DtcKnown *known;       /* of other nodes' metadata; NULL: nothing */
};

struct dtc_backend_kind {
	const char *name; /* as `stats` shows it */

	/*
	 * Whether path is a trace of this kind, by a look that says nothing of its being whole. What is missing
	 * otherwise, and how it should be, are for the error when no kind recognizes it: "no file 'metadata'", "a
	 * directory with ...".
	 */
	bool (*recognizes)(const char *path);
	const char *missing;
	const char *layout;

	/* The bytes that there are to read, for who waits; 0 if it cannot be told. Works on damaged traces. */
	guint64 (*measure)(const char *path);
	/* The clock that the trace declares; false if it does not tell. Clear with dtc_clock_class_clear. */
	bool (*describe_clock)(const char *path, struct dtc_clock_class *ret_clock);
	/* Where the trace was recorded, as it says; false if it does not tell. Clear with dtc_trace_origin_clear. */
	bool (*describe_origin)(const char *path, struct dtc_trace_origin *ret_origin);

	/* NULL with an error if nothing of the trace can be read; DAMAGED if another back end may understand it. */
	struct dtc_backend *(*open)(const struct dtc_backend_request *request, GError **error);
	void (*close)(struct dtc_backend *backend);

	/*
	 * Moves a stream to its next item with dtc_stream_take_event, dtc_stream_take_gap or dtc_stream_end, and says
	 * so in has_item. What the stream's last event lent is gone. What is damaged ends its stream alone, with an
	 * error.
	 */
	void (*advance)(struct dtc_backend *backend, guint stream);
	/*
	 * Threads that may be started, if there are any to spare, and are given back; atomic, and outlives the back
	 * end. NULL: it starts none.
	 */
	void (*share_threads)(struct dtc_backend *backend, gint *spare);
	/*
	 * The event that the stream's item is (NULL: its current one): all of it but its time and CPU, for which there
	 * is room. Lent until advance, as its strings are.
	 */
	struct dtc_event *(*get_event)(struct dtc_backend *backend, guint stream);

	/*
	 * An item of a stream that get_event will be asked for soon, or NULL: the stream will be advanced. NULL: that
	 * is of no use.
	 */
	void (*expect)(struct dtc_backend *backend, guint stream, const struct dtc_item *item);

	/*
	 * Of a back end that gives several items at once: what events of a class are, with no event at hand. Else NULL.
	 */
	struct dtc_item_class (*get_class)(struct dtc_backend *backend, guint stream, guint class);

	/* What the trace says of where it was recorded, by the tracer's own key; NULL if it does not. Borrowed. */
	const char *(*get_environment)(const struct dtc_backend *backend, const char *key);
};
