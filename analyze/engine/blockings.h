/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads were blocked on; and of a single one, what its wakers were blocked on meanwhile. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/engine/watch.h"
#include "analyze/profile/blocked.h"

struct dtc_blockings_options {
	guint max_depth; /* of the nested causality; 0: no limit */
	int64_t min_ns;	 /* leave out waits that are shorter */
};

typedef struct DtcBlockings {
	DtcBlocked *blocked; /* the waits by thread, cause, call and waker */
	guint request_count; /* requests whose waits are weighed; 0: none are known */
	/* of one thread: its blockings as a tree; NULL if more are meant */
	DtcPath *path;
	guint node;
	uint32_t thread;
	GArray *lineage; /* struct dtc_lineage_part. Owned */
	DtcClusterTime begin;
	DtcClusterTime end;
} DtcBlockings;

/*
 * NULL with an error as of dtc_selection_find, or if the watcher (or NULL) stops it. Of an engine with exchanges the
 * waits of more than one thread are weighed by all requests: how long each waited for them, also through others.
 * Caller owns.
 */
DtcBlockings *dtc_blockings_new(const DtcEngine *engine, const struct dtc_subject *subject,
				const struct dtc_blockings_options *options, const struct dtc_watch *watch,
				DtcFindings *findings, GError **error);
void dtc_blockings_free(DtcBlockings *blockings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBlockings, dtc_blockings_free)
