/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a sealed node says of itself: the trace's metadata, the environment, the manifest. */
#pragma once

#include "collect/packets/join.h"
#include "collect/seal/classes.h"
#include "collect/seal/convert.h"
#include "collect/seal/ctf_writer.h"
#include "collect/seal/raw.h"
#include "collect/seal/recording.h"
#include "collect/seal/walk.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_description {
	const DtcRecording *recording; /* all borrowed */
	const DtcWalk *walk;
	const DtcWalk *end;
	const char *creator;
	const struct dtc_convert_cpu *cpus; /* as many as the recording names */
	struct dtc_seal_summary summary;
	struct dtc_join_summary join;
	uint64_t damaged_pages;
	uint64_t unknown_events;
	uint64_t uncounted_gaps;
	guint named_files;
	bool is_complete; /* nothing lost, nothing damaged */
};

/* A trace of the same recording has the same. */
void dtc_describe_uuid(const DtcRecording *recording, uint8_t ret_uuid[DTC_CTF_UUID_BYTES]);
/* The metadata's text; caller frees. */
char *dtc_describe_trace(const struct dtc_description *what, const DtcClasses *classes, uint32_t first_dump_id);
/* The environment's text; caller frees. */
char *dtc_describe_environment(const struct dtc_description *what);
/* Reads what lies in folder (and the captures beside it, in captures_folder) for its checksums. Caller owns. */
GBytes *dtc_describe_manifest(const struct dtc_description *what, const char *folder, const char *captures_folder,
			      GError **error);
