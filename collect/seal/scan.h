/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first pass over a CPU's events. It gathers what must be known of all CPUs before any event can be written: net
 * events, for the join with the captures; who made which thread; which files were opened and closed. Costs 32 bytes for
 * each of those events, and nothing for the others.
 */
#pragma once

#include "collect/packets/join.h"
#include "collect/packets/table.h"
#include "collect/seal/packet_bytes.h"
#include "collect/seal/pages.h"
#include "collect/seal/recording.h"
#include "collect/seal/running.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_note_kind {
	DTC_NOTE_NEW_TASK,   /* tid made a; b: clone flags, lower half */
	DTC_NOTE_FORK,	     /* tid made a */
	DTC_NOTE_EXEC,	     /* the thread b is a from here on */
	DTC_NOTE_OPEN,	     /* tid begins to open a file */
	DTC_NOTE_OPENED,     /* tid: it is the descriptor a */
	DTC_NOTE_CLOSE,	     /* tid: a is closed, or becomes something else */
	DTC_NOTE_CLOSE_MANY, /* tid: any may be */
	DTC_NOTE_LOST,	     /* events are missing: anything may have happened */
};

struct dtc_note {
	int64_t time_ns;
	int32_t tid;
	int32_t a;
	int32_t b;
	uint32_t index; /* of its kind on its CPU */
	uint16_t cpu;
	uint8_t kind; /* enum dtc_note_kind */
	uint8_t spare[5];
};
_Static_assert(sizeof(struct dtc_note) == 32, "one for each such event of a node stays in memory");

/* Which types of events are looked at, and where in them. Read-only once made. */
typedef struct DtcSubjects DtcSubjects;
DtcSubjects *dtc_subjects_new(const DtcFormats *formats);
void dtc_subjects_free(DtcSubjects *subjects);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSubjects, dtc_subjects_free)
const struct dtc_switch_layout *dtc_subjects_get_switch(const DtcSubjects *subjects);
/* The same that the scan counts as a net event, an open or a fork, so that a second pass can count along. */
bool dtc_subjects_is_net(const DtcSubjects *subjects, uint16_t type, uint32_t event_bytes);
bool dtc_subjects_is_kind(const DtcSubjects *subjects, uint16_t type, uint32_t event_bytes, enum dtc_note_kind kind);

/* The headers that a net event has itself. */
struct dtc_net_bytes {
	uint32_t net; /* index of the event */
	struct dtc_wire_headers headers;
};

/* Whom a reception woke. */
struct dtc_net_woken {
	uint32_t net; /* index of the event */
	int32_t tid;
};

struct dtc_scan {
	uint32_t cpu;
	bool is_missing; /* there is no file of its pages */
	uint64_t events;
	uint64_t unknown_events; /* of no type that has a format, or shorter than it says */
	int64_t first_ns;	 /* 0 without events */
	int64_t last_ns;
	struct dtc_pages_summary pages;
	GArray *net;	    /* struct dtc_join_event; device: index in devices */
	DtcTable *bytes;    /* struct dtc_net_bytes, in no order */
	DtcTable *woken;    /* struct dtc_net_woken, in order */
	GPtrArray *devices; /* owned texts */
	GArray *notes;	    /* struct dtc_note */
	GArray *repairs;    /* struct dtc_repair: switches that are missing */
};

bool dtc_scan_cpu(const DtcRecording *recording, const DtcSubjects *subjects, uint32_t cpu, struct dtc_scan *scan,
		  GError **error);
/* Only where switches are missing: passes over the events once more, for the wakes of their threads. */
bool dtc_scan_wakes(const DtcRecording *recording, const DtcSubjects *subjects, uint32_t cpu, DtcRepairs *repairs,
		    GError **error);
void dtc_scan_clear(struct dtc_scan *scan);
/* The file of that CPU's pages. Caller owns. */
DtcPages *dtc_scan_open(const DtcRecording *recording, uint32_t cpu, GError **error);
