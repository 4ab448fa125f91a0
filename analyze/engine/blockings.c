/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/blockings.h"

#include "analyze/path/path_build.h"
#include "analyze/path/tree.h"

static DtcPath *find_causality(const DtcEngine *engine, const struct dtc_blockings_options *options,
			       const struct dtc_selection *selection)
{
	const struct dtc_path_target target = {
		.node = selection->node,
		.thread = selection->thread,
		.begin = selection->spans[selection->node].cluster_begin,
		.end = selection->spans[selection->node].cluster_end,
		.call = DTC_NONE,
	};
	const struct dtc_path_options path_options = {
		.max_depth = options->max_depth,
		.min_blocking_ns = options->min_ns,
	};
	DtcPath *path = dtc_path_new(target.begin, target.end);

	dtc_tree_add_waits(dtc_engine_get_edges(engine), &target, &path_options, path);
	dtc_path_finish(path);
	return path;
}

/* What the views leave out. */
static void note_depth(const DtcPath *path, DtcFindings *findings)
{
	guint left_out = 0;

	for (guint i = 0; i < dtc_path_get_blocking_count(path); i++)
		left_out += dtc_path_get_blocking(path, i)->depth >= DTC_REPORT_MAX_DEPTH;
	if (left_out)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "%u blockings nested deeper than %d levels are left out of the causality", left_out,
				 DTC_REPORT_MAX_DEPTH);
}

static DtcBlocked *collect(const DtcEngine *engine, const struct dtc_blockings_options *options,
			   const struct dtc_selection *selection)
{
	g_autofree struct dtc_blocked_part *parts = g_new0(struct dtc_blocked_part, selection->node_count + 1);
	const struct dtc_blocked_options blocked_options = { .parts = parts, .min_ns = options->min_ns };

	for (guint node = 0; node < selection->node_count; node++)
		parts[node] = (struct dtc_blocked_part){ selection->spans[node].begin, selection->spans[node].end,
							 selection->wanted[node] };
	return dtc_blocked_new(dtc_engine_get_edges(engine), &blocked_options);
}

DtcBlockings *dtc_blockings_new(const DtcEngine *engine, const struct dtc_subject *subject,
				const struct dtc_blockings_options *options, DtcFindings *findings, GError **error)
{
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return NULL;
	DtcBlockings *blockings = g_new0(DtcBlockings, 1);
	blockings->blocked = collect(engine, options, &selection);
	if (selection.thread != DTC_NONE) {
		blockings->path = find_causality(engine, options, &selection);
		note_depth(blockings->path, findings);
		blockings->node = selection.node;
		blockings->thread = selection.thread;
		blockings->begin = dtc_path_get_begin(blockings->path);
		blockings->end = dtc_path_get_end(blockings->path);
	}
	dtc_selection_clear(&selection);
	return blockings;
}

void dtc_blockings_free(DtcBlockings *blockings)
{
	if (!blockings)
		return;
	dtc_blocked_free(blockings->blocked);
	dtc_path_free(blockings->path);
	g_free(blockings);
}
