/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nested Blockings Causality report (Fournier, 2009): each blocking of the target, how it was woken, and beneath it
 * what the waker was blocked on in that time. It takes the same way as the path (traverse.h), so that whatever the path
 * waits for stands here too, and then, for each wait of the target that this way did not come by, the way from its end
 * to its begin. A node lies within the one above it.
 */
#pragma once

#include "analyze/path/traverse.h"
#include "analyze/path/walk.h"

typedef struct DtcTree DtcTree;

/*
 * A tree that is added to path while somebody else takes the target's way, and tells it what visitors are told; when
 * that is done, dtc_tree_finish adds the waits that this way did not come by. Arguments are borrowed. Caller owns.
 */
DtcTree *dtc_tree_new(const DtcEdges *edges, const struct dtc_path_target *target,
		      const struct dtc_path_options *options, DtcPath *path);
void dtc_tree_free(DtcTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcTree, dtc_tree_free)
/* As struct dtc_visitor's. */
void dtc_tree_explain(DtcTree *tree, const struct dtc_segment *segment, const struct dtc_interval *interval);
void dtc_tree_wait(DtcTree *tree, const struct dtc_visit *visit);
void dtc_tree_finish(DtcTree *tree);

/* Adds the waits of the target alone, each with what is beneath: as if each of them was asked for. */
void dtc_tree_add_waits(const DtcEdges *edges, const struct dtc_path_target *target,
			const struct dtc_path_options *options, DtcPath *path);
