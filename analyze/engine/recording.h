/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One recording, as it is read: the kernel trace of a node, or all its captures. What was read is what an image keeps
 * (recording_image.h): a recording comes from its files, or from an image that was made of them, and nobody after this
 * can tell which.
 */
#pragma once

#include "analyze/engine/census.h"
#include "analyze/engine/recordings.h"

struct dtc_recording {
	struct dtc_census_source source;	      /* first; what was counted */
	const struct dtc_recordings_options *options; /* borrowed */
	const DtcBundle *bundle;		      /* borrowed */
	/* results; what there is none of is NULL */
	DtcHistory *history;
	DtcPackets *packets;
	DtcExchanges *exchanges;
	DtcFrames *frames;
	DtcShingles *shingles;
	/* what was found when histories or requests were made, which is told to those alone who asked for them */
	DtcFindings *made_findings;
	bool is_whole;	    /* the history has more than packets; of captures: exchanges */
	bool enters_guests; /* a host of virtual machines */
	bool is_foreign;    /* a capture in which no packet starts or ends at this node */
	guint capture_count;
	struct dtc_image_key key; /* of what is kept of it */
	bool is_kept;
	guint64 image_bytes; /* of the image that it came from, or was kept in; 0: none */
	DtcImage *image;     /* owned: of all that was read, if the options want one and there is something */
};

/* Zeroed but for source.reading and what is borrowed. Results and reading.error are set. */
void dtc_recording_read(struct dtc_recording *recording);
/* There is something to keep. */
bool dtc_recording_has_result(const struct dtc_recording *recording);
/* Frees what was read, but for counts and findings. */
void dtc_recording_drop(struct dtc_recording *recording);
/* Of one that is in an array of dtc_readings_new. */
void dtc_recording_free(void *recording);
