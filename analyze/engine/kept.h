/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a store has, image by image, and the making of images ahead of all questions. */
#pragma once

#include "analyze/engine/watch.h"
#include "collect/image/store.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"

/* All owned. */
struct dtc_kept {
	char *file;
	char *node;   /* NULL, as path: it cannot be believed */
	char *path;   /* of the trace, or of the first capture, as it was called when it was read */
	char *clocks; /* of an alignment: its nodes; NULL: it is of a recording */
	bool is_capture;
	guint64 bytes;
	gint64 used_us; /* wall clock */
};

/* struct dtc_kept, that used last first. Free with g_ptr_array_unref. */
GPtrArray *dtc_kept_list(const DtcStore *store);

/* What was made of a bundle. */
struct dtc_index_summary {
	guint image_count; /* found, or made and kept */
	guint all_count;   /* recordings there are */
	guint64 bytes;
};

/*
 * Reads every recording of a bundle that the store has no image of, and keeps what was read. With a directory (else
 * NULL), the images are written there, too, as a bundle of its own: NODE/kernel.dtci and NODE/captures.dtci, and what
 * the recorder said of the node. sources is set to an array of struct dtc_census_source as dtc_census_new gives it.
 * False with an error if nothing can be read or written, or the watcher stops it.
 */
bool dtc_index_bundle(const DtcBundle *bundle, DtcStore *store, const char *directory, const struct dtc_watch *watch,
		      DtcFindings *findings, struct dtc_index_summary *ret_summary, GPtrArray **ret_sources,
		      GError **error);
