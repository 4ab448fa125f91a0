/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was read of every node: histories of the kernel traces, packets and exchanges of the captures. What a node lacks
 * or has damaged is a finding as long as one node can be read.
 */
#pragma once

#include "analyze/engine/watch.h"
#include "analyze/engine/window.h"
#include "analyze/exchange/exchanges.h"
#include "analyze/exchange/frames.h"
#include "analyze/exchange/shingles.h"
#include "collect/image/store.h"
#include "collect/packets/packets.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"

struct dtc_recordings_options {
	bool needs_exchanges; /* scan the captures for requests */
	/*
	 * The histories hold packets and nothing else, which takes less memory; unless there are several nodes and one
	 * of them enters guests, whose clocks need to know what CPUs and vCPUs did.
	 */
	bool clocks_only;
	/*
	 * What was read before is taken from there, and what is read is kept there, all of it, whatever is asked for.
	 * NULL: nothing is kept.
	 */
	DtcStore *store;
	const char *const *id_headers;	       /* more headers that carry an identity, NULL-terminated; or NULL */
	const struct dtc_window_span *windows; /* by node, what alone is kept; NULL: everything. Without a store */
	bool makes_images; /* of all that is read, for somebody else: in the store or without a name */
	bool calls_help;   /* what is asked of these, others can help with (owners.h) */
};

/* What the images of a node's recordings were made of; zeros: there is no such recording. */
struct dtc_recording_keys {
	struct dtc_image_key kernel;
	struct dtc_image_key captures;
};

/* By node of the bundle; everything is owned. All zeros: nothing was read. */
struct dtc_recordings {
	guint node_count;
	DtcHistory **histories;	 /* NULL where there is none that can be read */
	char **problems;	 /* why not; NULL: there is no trace */
	DtcPackets **captures;	 /* sealed; NULL where there is none */
	DtcFrames **frames;	 /* of HTTP/2, in these; NULL where there are none or they were not asked for */
	DtcShingles **shingles;	 /* likewise, of what is no HTTP */
	bool *is_foreign;	 /* the capture shows traffic of others, and nothing of this node's clock */
	DtcExchanges *exchanges; /* of all nodes, sorted by node; NULL unless asked for */
	guint capture_count;	 /* files that could be read */
	struct dtc_recording_keys *keys;
	bool are_kept;	   /* every recording is in the store, by these keys */
	DtcStore *store;   /* borrowed; NULL: nothing is kept */
	DtcSpace *scratch; /* of the readings; NULL: there were none */
};

/*
 * False with an error if nothing at all can be read or the watcher (or NULL) stops it. To be cleared in either case.
 */
bool dtc_recordings_read(struct dtc_recordings *recordings, const DtcBundle *bundle,
			 const struct dtc_recordings_options *options, const struct dtc_watch *watch,
			 DtcFindings *findings, GError **error);
void dtc_recordings_clear(struct dtc_recordings *recordings);
