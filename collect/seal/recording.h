/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The small files of a raw recording: what was recorded, on what, when, and what is known to be lost. */
#pragma once

#include "collect/seal/formats.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_raw_clock {
	int64_t mono_ns;
	int64_t real_ns;
	int64_t uncertainty_ns;
};

/* Counters of a CPU's buffer, since it was made. */
struct dtc_raw_drop {
	int64_t mono_ns;
	uint32_t cpu;
	uint64_t overrun; /* overwritten by newer events; the pages tell where */
	uint64_t dropped; /* never written: nothing tells where */
};

struct dtc_raw_capture {
	char *file;	  /* owned; beside raw/ */
	uint64_t packets; /* as the recorder counted; 0: it did not */
	uint64_t dropped; /* that the kernel could not hand over */
	uint32_t netns;
};

typedef struct DtcRecording {
	char *folder; /* NODE/raw */
	char *node;
	GKeyFile *keys; /* the file as it is */
	uint32_t *cpus; /* cpu_count of them, in order */
	guint cpu_count;
	bool is_lttng; /* it has pages of no CPU: the trace is LTTng's, in NODE/kernel */
	uint32_t page_bytes;
	struct dtc_page_layout layout;
	int64_t begin_ns; /* of what can be: a minute before and after is taken, too */
	int64_t end_ns;
	int64_t from_ns;  /* of a flight recorder: events begin here; else 0 */
	bool was_stopped; /* by the recorder, that is */
	DtcFormats *formats;
	GArray *clocks;	  /* struct dtc_raw_clock */
	GArray *drops;	  /* struct dtc_raw_drop, as they stand in the file */
	GArray *captures; /* struct dtc_raw_capture */
} DtcRecording;

/* Caller owns. NOT_FOUND: there is none; DAMAGED, UNREADABLE: it cannot be understood. */
DtcRecording *dtc_recording_read(const char *node_folder, DtcFindings *findings, GError **error);
void dtc_recording_free(DtcRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcRecording, dtc_recording_free)
/* A text of the group [recording]; never NULL. Caller frees. */
char *dtc_recording_get_text(const DtcRecording *recording, const char *key);
