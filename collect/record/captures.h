/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets of every network namespace: a thread for each, which alone goes there, and a file for each that has traffic.
 * All interfaces of a namespace are in one capture (LINUX_SLL2 says which, and the direction), `lo` too.
 */
#pragma once

#include "collect/record/place.h"
#include "collect/record/slow.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_CAPTURES_MAX 256 /* namespaces: each costs a thread and a buffer */

struct dtc_capture_settings {
	const DtcPlace *place;
	guint snaplen;
	gsize buffer_bytes;    /* of the namespace that this was started in; others have an eighth, at least 1 MiB */
	const char *filter;    /* as pcap-filter(7), or NULL */
	const char *interface; /* "any", or one; in namespaces that have none of this name nothing is captured */
	bool headers_only;
	const char *const *kept_headers; /* with headers_only: more to keep, lower case, NULL-terminated; or NULL */
	/* of a flight recorder: packets of this time stay in memory until the stop, up to so many bytes; else 0 */
	int64_t hold_ns;
	guint64 hold_bytes;
	struct dtc_slow_limit slow;
	/* What was slow, in the thread of a capture; borrowed. NULL without a limit. */
	void (*tell_slow)(const char *text, void *data);
	void *data;
};

struct dtc_capture_counts {
	guint64 packets;
	guint64 dropped; /* by the kernel or an interface */
	guint64 bytes;	 /* written */
	gint64 cpu_ns;	 /* of the threads that have ended */
	guint namespaces;
	guint files;
	bool is_failed; /* a file could not be written */
};

typedef struct DtcCaptures DtcCaptures;

/*
 * Captures in all namespaces there are now. False if it cannot even do so in its own; what others refuse is among the
 * lacks. Settings are borrowed.
 */
DtcCaptures *dtc_captures_start(const struct dtc_capture_settings *settings, GError **error);
/* Namespaces that have come since. */
void dtc_captures_rescan(DtcCaptures *captures);
void dtc_captures_get_counts(DtcCaptures *captures, struct dtc_capture_counts *ret_counts);
/*
 * A flight recorder's packets up to this time (CLOCK_REALTIME) are those that are wanted: none of them goes any more,
 * however long it takes until the stop.
 */
void dtc_captures_hold(DtcCaptures *captures, int64_t until_ns);
/*
 * Waits for what is still on its way, and joins the threads. Writes raw/captures. A flight recorder's packets are
 * written now, those from this time on (CLOCK_REALTIME).
 */
bool dtc_captures_stop(DtcCaptures *captures, int64_t from_ns, GError **error);
/* "thing=reason" of what could not be captured (char *). Borrowed; after the stop. */
const GPtrArray *dtc_captures_get_lacks(const DtcCaptures *captures);
/* Stops as well. */
void dtc_captures_free(DtcCaptures *captures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcCaptures, dtc_captures_free)

/* The filter can be compiled; else a usage error. */
bool dtc_captures_check_filter(const char *filter, GError **error);
