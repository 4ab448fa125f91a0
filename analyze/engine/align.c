/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/align.h"

#include "analyze/engine/alignment_image.h"
#include "analyze/engine/capture_fit.h"
#include "analyze/engine/owners.h"
#include "collect/bundle/threads.h"
#include "sync/fit/saved.h"

#define GUEST_ROUNDS 6
#define GUEST_GAIN 0.9 /* a round that makes the clocks' widths less than a tenth smaller is the last */

const DtcClocks *dtc_alignment_get_clocks(const struct dtc_alignment *alignment)
{
	return alignment->sync ? dtc_sync_get_clocks(alignment->sync) : alignment->own;
}

/* Maps from a file take the place of a fit; what it does not know is not aligned. */
static bool read_clocks(struct dtc_alignment *alignment, const struct dtc_align_input *input, DtcFindings *findings,
			GError **error)
{
	const struct dtc_recordings *recordings = input->recordings;
	guint node_count = recordings->node_count;
	g_autofree int64_t *begin_ns = g_new0(int64_t, node_count + 1);

	for (guint node = 0; node < node_count; node++) {
		const DtcPackets *packets = recordings->captures[node];
		if (recordings->histories[node])
			begin_ns[node] = dtc_history_get_begin_ns(recordings->histories[node]);
		else if (packets && dtc_packets_get_count(packets))
			begin_ns[node] = dtc_packets_get_time_ns(packets, 0);
	}
	alignment->own = dtc_clocks_read_file(input->sync_file, input->names, begin_ns, node_count, error);
	if (!alignment->own)
		return false;
	for (guint node = 0; node < node_count; node++)
		if (dtc_clocks_get_group(alignment->own, node) != 0)
			dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, input->names[node],
					 "'%s' does not align it with '%s'", input->sync_file,
					 input->names[dtc_clocks_get_reference(alignment->own)]);
	return true;
}

DtcGuests *dtc_alignment_find_guests(const struct dtc_alignment *alignment, const struct dtc_align_input *input,
				     DtcFindings *findings)
{
	const struct dtc_guests_input guests_input = {
		.node_count = input->recordings->node_count,
		.names = input->names,
		.histories = (const DtcHistory *const *)input->recordings->histories,
		.clocks = dtc_alignment_get_clocks(alignment),
		.cluster = input->cluster,
	};
	return dtc_guests_find(&guests_input, findings);
}

/* The sum of the certified widths of all maps: what better bounds make smaller. */
static double measure_width(const DtcClocks *clocks)
{
	double sum = 0;

	for (guint node = 0; node < dtc_clocks_get_node_count(clocks); node++) {
		guint count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
		for (guint i = 0; i < count; i++)
			sum += (double)(knots[i].hi_ns - knots[i].lo_ns) / count;
	}
	return sum;
}

static bool is_steady(const DtcSync *sync)
{
	for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++)
		if (dtc_sync_get_pair(sync, i)->step_count)
			return false;
	return true;
}

/*
 * Guests of traced hosts: the stays of their vCPUs bound their clocks far more tightly than packets, and the tighter
 * the clocks, the more of the stays say something. So this goes round until it no longer pays. --min-delay is about
 * packets; a bound has none, which is made up for.
 */
static bool align_guests(struct dtc_alignment *alignment, const struct dtc_align_input *input,
			 const struct dtc_fit_options *options, const struct dtc_watch *watch,
			 DtcFindings *packet_findings, DtcFindings *findings, GError **error)
{
	const struct dtc_progress progress = { .phase = DTC_PHASE_ALIGN, .all = input->recordings->node_count };
	g_autoptr(DtcFindings) fit_findings = dtc_findings_new();

	dtc_findings_move(fit_findings, packet_findings);
	for (guint round = 0; round < GUEST_ROUNDS; round++) {
		g_autoptr(DtcFindings) unwanted = dtc_findings_new();
		g_autoptr(DtcGuests) guests = dtc_alignment_find_guests(alignment, input, unwanted);
		if (!dtc_guests_has_any(guests))
			break;
		if (!dtc_watch_tell(watch, &progress, error))
			return false;
		double before = measure_width(dtc_sync_get_clocks(alignment->sync));
		g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, dtc_sync_get_clocks(alignment->sync),
								  is_steady(alignment->sync));
		dtc_matches_drop_bounds(alignment->matches);
		for (guint i = 0; i < bounds->len; i++) {
			const struct dtc_guest_bound *b = &g_array_index(bounds, struct dtc_guest_bound, i);
			dtc_matches_add_bound(alignment->matches, b->from, b->to, b->sent_ns,
					      b->received_ns + options->min_delay_ns);
		}
		g_autoptr(DtcFindings) round_findings = dtc_findings_new();
		DtcSync *sync = dtc_fit_clocks(alignment->matches, options, round_findings, error);
		if (!sync)
			return false;
		dtc_sync_free(alignment->sync);
		alignment->sync = sync;
		dtc_findings_free(g_steal_pointer(&fit_findings));
		fit_findings = g_steal_pointer(&round_findings);
		if (measure_width(dtc_sync_get_clocks(alignment->sync)) > GUEST_GAIN * before)
			break;
	}
	dtc_findings_move(findings, fit_findings);
	return true;
}

/* briefs: by node, or NULL. Of nodes that are elsewhere packets come as far as what is told in brief is not enough. */
static DtcMatches *match(const struct dtc_align_input *input, const struct dtc_node_brief *briefs,
			 DtcFindings *findings)
{
	const struct dtc_recordings *recordings = input->recordings;
	g_autofree struct dtc_match_source *sources = g_new0(struct dtc_match_source, recordings->node_count + 1);

	for (guint node = 0; node < recordings->node_count; node++) {
		sources[node].node = input->names[node];
		if (recordings->histories[node])
			sources[node].kernel = dtc_history_get_packets(recordings->histories[node]);
		if (!recordings->is_foreign[node])
			sources[node].capture = recordings->captures[node];
		if (briefs && briefs[node].brief && dtc_brief_is_of(briefs[node].brief, &sources[node]))
			sources[node].brief = briefs[node].brief;
	}
	return dtc_match_packets(sources, recordings->node_count, recordings->scratch, findings);
}

/* What is told in brief of nodes that are elsewhere. */
struct told {
	const DtcBundle *bundle;
	struct dtc_node_brief *briefs; /* by node */
};

static void take_brief(gpointer data, guint node)
{
	const struct told *told = data;

	if (dtc_bundle_get_node(told->bundle, node)->is_elsewhere)
		dtc_owners_take_brief(told->bundle, node, &told->briefs[node]);
}

/* By node; NULL: no node is elsewhere, or with an error that nobody can be asked. Caller frees. */
static struct dtc_node_brief *ask_briefs(const DtcBundle *bundle, GError **error)
{
	struct told told = { .bundle = bundle };
	guint number, count = bundle ? dtc_bundle_get_count(bundle) : 0;

	if (!bundle || !dtc_bundle_get_owners(bundle, &number) || !dtc_owners_ask_briefs(bundle, error))
		return NULL;
	told.briefs = g_new0(struct dtc_node_brief, count + 1);
	dtc_threads_run(count, take_brief, &told);
	return told.briefs;
}

static void free_briefs(struct dtc_node_brief *briefs, guint count)
{
	for (guint node = 0; briefs && node < count; node++)
		dtc_node_brief_clear(&briefs[node]);
	g_free(briefs);
}

static bool match_and_check(struct dtc_alignment *alignment, const struct dtc_align_input *input, DtcFindings *findings,
			    GError **error)
{
	GError *problem = NULL;
	struct dtc_node_brief *briefs = ask_briefs(input->bundle, &problem);

	if (problem) {
		g_propagate_error(error, problem);
		return false;
	}
	alignment->matches = match(input, briefs, findings);
	dtc_capture_fit_check(input->recordings, input->names, alignment->matches, briefs, findings);
	free_briefs(briefs, input->recordings->node_count);
	return true;
}

static bool make(struct dtc_alignment *alignment, const struct dtc_align_input *input, const struct dtc_watch *watch,
		 DtcFindings *findings, GError **error)
{
	struct dtc_fit_options options = input->fit ? *input->fit : dtc_fit_options_default();

	options.reference = input->reference;
	if (!match_and_check(alignment, input, findings, error))
		return false;
	if (input->recordings->node_count == 1) {
		alignment->own = dtc_clocks_new_identity(1);
		return true;
	}
	if (input->sync_file)
		return read_clocks(alignment, input, findings, error);
	g_autoptr(DtcFindings) fit_findings = dtc_findings_new();
	alignment->sync = dtc_fit_clocks(alignment->matches, &options, fit_findings, error);
	return alignment->sync && align_guests(alignment, input, &options, watch, fit_findings, findings, error);
}

bool dtc_align(struct dtc_alignment *alignment, const struct dtc_align_input *input, const struct dtc_watch *watch,
	       DtcFindings *findings, GError **error)
{
	const struct dtc_progress progress = { .phase = DTC_PHASE_ALIGN, .all = input->recordings->node_count };
	g_autoptr(DtcFindings) made = dtc_findings_new();

	*alignment = (struct dtc_alignment){ 0 };
	if (!dtc_watch_tell(watch, &progress, error))
		return false;
	if (dtc_alignment_find(alignment, input, findings))
		return true;
	bool is_made = make(alignment, input, watch, made, error);
	if (is_made)
		dtc_alignment_keep(alignment, input, made);
	dtc_findings_move(findings, made);
	return is_made;
}

static bool has_bounds(const DtcSync *sync)
{
	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++)
		if (dtc_sync_get_pair(sync, i)->bounds_ab || dtc_sync_get_pair(sync, i)->bounds_ba)
			return true;
	return false;
}

void dtc_alignment_complete(struct dtc_alignment *alignment, const struct dtc_align_input *input)
{
	struct dtc_alignment whole = { 0 };
	g_autoptr(DtcFindings) known = dtc_findings_new();

	if (!alignment->lacks_messages)
		return;
	/* only the fit's rounds find the bounds of guests, which stand among the messages */
	if (has_bounds(alignment->sync)) {
		(void)make(&whole, input, NULL, known, NULL);
	} else {
		struct dtc_node_brief *briefs = ask_briefs(input->bundle, NULL);
		whole.matches = match(input, briefs, known);
		free_briefs(briefs, input->recordings->node_count);
	}
	alignment->lacks_messages = false;
	dtc_matches_free(alignment->matches);
	alignment->matches = g_steal_pointer(&whole.matches);
	dtc_alignment_clear(&whole);
}

void dtc_alignment_clear(struct dtc_alignment *alignment)
{
	dtc_sync_free(alignment->sync);
	dtc_clocks_free(alignment->own);
	dtc_matches_free(alignment->matches);
	*alignment = (struct dtc_alignment){ 0 };
}
