/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a flight recorder keeps in memory besides events and packets, until something happens: the samples of the last
 * seconds, and walks of /proc of which the best one becomes the begin of the recording. A recording that begins with a
 * walk knows who was there; so walks are made anew four times in the time that is kept, less often where one costs
 * much.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_flight_walk {
	int64_t begin_ns; /* CLOCK_MONOTONIC, as all times here */
	char *text;	  /* owned */
};

typedef struct DtcFlight DtcFlight;

/*
 * What each CPU's ring buffer begins with, of what a flight may take altogether: an eighth of what it may become, or
 * 1 MiB, but of all CPUs never more than half.
 */
gsize dtc_flight_get_buffer_bytes(guint64 flight_bytes, guint cpu_count);
/* What a walk costs of a CPU says how often one is made. */
DtcFlight *dtc_flight_new(int64_t keep_ns, int64_t walk_cost_ns);
void dtc_flight_free(DtcFlight *flight);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFlight, dtc_flight_free)
/* So much has to be kept of events and packets, so that there is a walk at the begin of what was asked for. */
int64_t dtc_flight_get_hold_ns(const DtcFlight *flight);
/* What was lost since everything began. */
struct dtc_flight_losses {
	guint64 events, packets;
};

/* Lines of raw/clocks and of raw/drops, which it takes. */
void dtc_flight_take_sample(DtcFlight *flight, int64_t time_ns, char *clocks, char *drops,
			    const struct dtc_flight_losses *losses);
/* What had been lost at the last sample up to then, or at the first that is left: none of it is the recording's. */
struct dtc_flight_losses dtc_flight_get_losses_before(const DtcFlight *flight, int64_t from_ns);
bool dtc_flight_wants_walk(const DtcFlight *flight, int64_t now_ns);
/* Takes the text. */
void dtc_flight_take_walk(DtcFlight *flight, const struct dtc_flight_walk *walk);
/*
 * The walk with which a recording begins of which all events are there from first_ns on: the latest that is keep_ns old
 * at end_ns, else the oldest after first_ns, else the last before. NULL: there was none. Borrowed.
 */
const struct dtc_flight_walk *dtc_flight_choose_walk(const DtcFlight *flight, int64_t first_ns, int64_t end_ns);
/* The lines of all samples that are left; caller owns. */
char *dtc_flight_join_clocks(const DtcFlight *flight);
char *dtc_flight_join_drops(const DtcFlight *flight);
