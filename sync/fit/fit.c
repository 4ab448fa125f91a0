/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole fit: pairs by themselves; groups of nodes that pairs join; the reference; then each group in common nominal
 * coordinates, with bounds and estimates at the knots of a common grid.
 */
#include "sync/fit/fit.h"

#include "collect/bundle/threads.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"
#include "sync/fit/group.h"
#include "sync/fit/lp.h"
#include "sync/fit/outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An estimate's rate changes by at most the wander within this time: a crystal's temperature is not faster. */
#define WANDER_TIME_NS 60e9
/* 2^57 ns, four and a half years */
#define SPAN_LIMIT_NS ((int64_t)1 << 57)

struct DtcSync {
	struct dtc_fit_options options;
	guint node_count;
	char **names;
	DtcClocks *clocks;
	GArray *pairs;	  /* struct dtc_sync_pair */
	GPtrArray *owned; /* arrays that the pairs point into */
	bool complete;
};

struct dtc_fit_options dtc_fit_options_default(void)
{
	return (struct dtc_fit_options){
		.reference = -1, .min_delay_ns = 0, .max_drift_ppm = 500, .max_wander_ppm = 2
	};
}

const char *dtc_pair_status_to_string(enum dtc_pair_status status)
{
	static const char *const names[] = { "aligned", "one-way", "none", "contradictory" };
	return names[status];
}

static bool check_options(const struct dtc_fit_options *options, guint node_count, GError **error)
{
	const char *name = NULL, *range = NULL;
	if (options->reference >= 0 && (guint)options->reference >= node_count) {
		name = "reference", range = "must be one of the nodes";
	} else if (options->min_delay_ns < 0 || options->min_delay_ns > 1000000000) {
		name = "min-delay", range = "must be between 0 and 1 s";
	} else if (!(options->max_drift_ppm > 0 && options->max_drift_ppm <= 100000)) {
		name = "max-drift", range = "must be above 0 and at most 100000 ppm";
	} else if (!(options->max_wander_ppm >= 0 && options->max_wander_ppm <= options->max_drift_ppm)) {
		name = "max-wander", range = "must be between 0 and the maximum drift";
	}
	if (name)
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_USAGE, "the value of '%s' is out of range\n%s %s", name,
			    name, range);
	return !name;
}

/* --- pairs ------------------------------------------------------------------------------------------------------ */

struct named {
	const char *name;
	guint node;
};

static int compare_named(const void *left, const void *right)
{
	const struct named *p = left, *q = right;
	int order = strcmp(p->name, q->name);
	return order ? order : (p->node > q->node) - (p->node < q->node);
}

static int compare_pairs(const void *left, const void *right)
{
	const struct dtc_pair *p = left, *q = right;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return (p->b > q->b) - (p->b < q->b);
}

/*
 * Nodes are numbered by their names' order from here to the end of the fit, and a pair's a is the lower number: so the
 * order in which nodes were given changes nothing, not even rounding.
 */
static struct dtc_pair *new_pairs(const DtcMatches *matches, const guint *rank, guint *ret_count)
{
	guint count = dtc_matches_get_pair_count(matches);
	struct dtc_pair *pairs = g_new0(struct dtc_pair, count + 1);
	for (guint i = 0; i < count; i++) {
		struct dtc_match_pair match;
		dtc_matches_get_pair(matches, i, &match);
		bool turned = rank[match.a] > rank[match.b];
		pairs[i].a = rank[turned ? match.b : match.a];
		pairs[i].b = rank[turned ? match.a : match.b];
		pairs[i].ab = turned ? match.ba : match.ab;
		pairs[i].ba = turned ? match.ab : match.ba;
		pairs[i].ab_count = turned ? match.ba_count : match.ab_count;
		pairs[i].ba_count = turned ? match.ab_count : match.ba_count;
		pairs[i].space = dtc_matches_get_space(matches);
	}
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	*ret_count = count;
	return pairs;
}

struct range {
	int64_t first, last;
};

static void widen(struct range *range, int64_t ns)
{
	range->first = MIN(range->first, ns);
	range->last = MAX(range->last, ns);
}

/* Which span of its clock each node's messages cover. */
static struct range *find_ranges(const struct dtc_pair *pairs, guint pair_count, guint node_count)
{
	struct range *ranges = g_new0(struct range, node_count + 1);
	for (guint i = 0; i < node_count; i++)
		ranges[i] = (struct range){ INT64_MAX, INT64_MIN };
	for (guint i = 0; i < pair_count; i++) {
		const struct dtc_pair *pair = &pairs[i];
		for (guint k = 0; k < pair->ab_count; k++) {
			widen(&ranges[pair->a], pair->ab[k].sent_ns);
			widen(&ranges[pair->b], pair->ab[k].received_ns);
		}
		for (guint k = 0; k < pair->ba_count; k++) {
			widen(&ranges[pair->b], pair->ba[k].sent_ns);
			widen(&ranges[pair->a], pair->ba[k].received_ns);
		}
	}
	return ranges;
}

/* A clock that shows years within one recording is damaged, and arithmetic with it would overflow. */
static bool is_plausible(const struct range *range)
{
	return range->first <= range->last && range->last - range->first < SPAN_LIMIT_NS;
}

static void fit_messages(struct dtc_pair *pair, const struct dtc_pair_limits *limits)
{
	pair->coarse = dtc_coarse_estimate(pair->ab, pair->ab_count, pair->ba, pair->ba_count, limits->max_rate);
	struct dtc_nominal a = { 0 };
	if (pair->coarse.is_known)
		a.origin_ns = pair->coarse.a_ns;
	else if (pair->ab_count)
		a.origin_ns = pair->ab[0].sent_ns;
	else if (pair->ba_count)
		a.origin_ns = pair->ba[0].received_ns;
	struct dtc_nominal b = a;
	if (pair->coarse.is_known)
		b = dtc_nominal_follow(&a, &pair->coarse, true);
	else if (pair->ab_count || pair->ba_count)
		b.origin_ns = pair->ab_count ? pair->ab[0].received_ns : pair->ba[0].sent_ns;
	dtc_pair_fit(pair, &a, &b, limits);
}

/* What is asked of each pair before it is known which others there are. */
struct alone {
	struct dtc_pair *pairs;
	const struct range *ranges;
	const struct dtc_pair_limits *limits;
};

static void fit_alone(gpointer data, guint index)
{
	const struct alone *alone = data;
	struct dtc_pair *pair = &alone->pairs[index];
	bool has_messages = pair->ab_count || pair->ba_count;
	if (has_messages && (!is_plausible(&alone->ranges[pair->a]) || !is_plausible(&alone->ranges[pair->b])))
		pair->status = DTC_PAIR_CONTRADICTORY;
	else
		fit_messages(pair, alone->limits);
	dtc_lp_release_thread();
}

/* --- result ----------------------------------------------------------------------------------------------------- */

static guint64 count_all(const struct dtc_sync_pair *pair)
{
	return pair->messages_ab + pair->messages_ba + pair->bounds_ab + pair->bounds_ba;
}

static void add_finding_for_pair(const DtcSync *sync, const struct dtc_sync_pair *pair, DtcFindings *findings)
{
	const char *a = sync->names[pair->a], *b = sync->names[pair->b];
	guint64 total = count_all(pair);
	if (pair->status == DTC_PAIR_ONE_WAY)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, a,
				 "cannot align '%s' with '%s' directly: %" G_GUINT64_FORMAT
				 " messages, all from '%s' to '%s'",
				 a, b, total, pair->messages_ab ? a : b, pair->messages_ab ? b : a);
	else if (pair->status == DTC_PAIR_CONTRADICTORY)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, a,
				 "no clock within the limits satisfies the %" G_GUINT64_FORMAT
				 " messages between '%s' and '%s'",
				 total, a, b);
	else if (pair->trimmed_count)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, a,
				 "%u of %" G_GUINT64_FORMAT
				 " messages between '%s' and '%s' contradict the others and were left out",
				 pair->trimmed_count, total, a, b);
	for (guint i = 0; i < pair->step_count; i++)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "the clocks of '%s' and '%s' step by %+.6f s against each other", a, b,
				 (double)pair->steps[i].change_ns / 1e9);
}

static int compare_trimmed(const void *left, const void *right)
{
	const struct dtc_sync_trimmed *p = left, *q = right;
	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	if (p->sent_ns != q->sent_ns)
		return p->sent_ns < q->sent_ns ? -1 : 1;
	return (p->received_ns > q->received_ns) - (p->received_ns < q->received_ns);
}

static void publish_corners(DtcSync *sync, const struct dtc_pair *pair, bool turned, struct dtc_sync_pair *item)
{
	GArray *corners = g_array_new(FALSE, FALSE, sizeof(struct dtc_sync_corner));
	for (guint i = 0; i < pair->era_count; i++)
		dtc_outline_append(pair, &pair->eras[i], corners);
	item->corner_count = corners->len;
	struct dtc_sync_corner *found = (struct dtc_sync_corner *)(void *)g_array_free(corners, FALSE);
	for (guint i = 0; i < item->corner_count && turned; i++)
		found[i] = (struct dtc_sync_corner){ found[i].b_ns, found[i].a_ns, !found[i].is_ab, found[i].is_first };
	g_ptr_array_add(sync->owned, found);
	item->corners = found;
}

static void publish_pair(DtcSync *sync, const struct dtc_match_pair *match, const struct dtc_pair *pair, bool turned,
			 const struct dtc_pair_summary *summary)
{
	struct dtc_sync_pair item = {
		.a = match->a,
		.b = match->b,
		.status = pair->status,
		.messages_ab = match->ab_count - match->bounds_ab,
		.messages_ba = match->ba_count - match->bounds_ba,
		.bounds_ab = match->bounds_ab,
		.bounds_ba = match->bounds_ba,
		.unmatched_a = match->unmatched_a,
		.unmatched_b = match->unmatched_b,
		.ambiguous = match->ambiguous,
	};
	for (guint i = 0; i < pair->era_count; i++) {
		const struct dtc_cloud *cloud = &pair->eras[i].cloud;
		item.hull_ab += turned ? cloud->lower_count : cloud->upper_count;
		item.hull_ba += turned ? cloud->upper_count : cloud->lower_count;
	}
	if (pair->trimmed && pair->trimmed->len) {
		struct dtc_sync_trimmed *trimmed =
			g_memdup2(pair->trimmed->data, pair->trimmed->len * sizeof(*trimmed));
		for (guint i = 0; i < pair->trimmed->len; i++)
			trimmed[i].from = (trimmed[i].from == pair->a) != turned ? match->a : match->b;
		qsort(trimmed, pair->trimmed->len, sizeof(*trimmed), compare_trimmed);
		g_ptr_array_add(sync->owned, trimmed);
		item.trimmed = trimmed;
		item.trimmed_count = pair->trimmed->len;
	}
	if (summary->is_known) {
		int sign = turned ? -1 : 1;
		item.begin_ns = turned ? summary->begin_b_ns : summary->begin_a_ns;
		item.end_ns = turned ? summary->end_b_ns : summary->end_a_ns;
		item.offset_ns = sign * summary->offset_ns;
		double drift = turned ? 1 / (1 + summary->drift) - 1 : summary->drift;
		for (guint i = 0; i < summary->step_count && item.end_ns > item.begin_ns; i++)
			drift -= (double)(sign * (turned ? summary->steps_b : summary->steps_a)[i].change_ns) /
				 (double)(item.end_ns - item.begin_ns);
		item.drift_ppm = 1e6 * drift;
		item.wander_ppm = 1e6 * summary->wander;
		memcpy(item.width_ns, summary->width_ns, sizeof(item.width_ns));
		struct dtc_sync_step *steps = g_new0(struct dtc_sync_step, summary->step_count + 1);
		for (guint i = 0; i < summary->step_count; i++) {
			steps[i] = turned ? summary->steps_b[i] : summary->steps_a[i];
			steps[i].change_ns *= sign;
		}
		g_ptr_array_add(sync->owned, steps);
		item.steps = steps;
		item.step_count = summary->step_count;
		publish_corners(sync, pair, turned, &item);
	}
	g_array_append_val(sync->pairs, item);
}

/* Messages of one direction that the final maps turn round, not counting those left out. */
struct turned {
	guint64 count;
	int64_t worst_ns;
};

static struct turned count_turned(const DtcSync *sync, const struct dtc_sync_pair *pair,
				  const struct dtc_message *messages, guint count, guint from, guint to)
{
	struct turned turned = { 0, 0 };
	for (guint i = 0; i < count; i++) {
		DtcNodeTime sent = { messages[i].sent_ns }, received = { messages[i].received_ns };
		int64_t early = dtc_clocks_to_cluster(sync->clocks, from, sent).ns -
				dtc_clocks_to_cluster(sync->clocks, to, received).ns;
		struct dtc_sync_trimmed key = { from, sent.ns, received.ns, 0 };
		if (early <= 0 || (pair->trimmed_count &&
				   bsearch(&key, pair->trimmed, pair->trimmed_count, sizeof(key), compare_trimmed)))
			continue;
		turned.count++;
		turned.worst_ns = MAX(turned.worst_ns, early);
	}
	return turned;
}

/* What solvers and averages say is verified with every message, in integers. */
struct verifying {
	const DtcSync *sync;
	const DtcMatches *matches;
	struct turned *turned; /* by pair: from a to b, from b to a */
};

static void verify_direction(gpointer data, guint index)
{
	const struct verifying *verifying = data;
	const struct dtc_sync_pair *pair = &g_array_index(verifying->sync->pairs, struct dtc_sync_pair, index / 2);
	struct dtc_match_pair match;

	if (pair->status != DTC_PAIR_ALIGNED)
		return;
	dtc_matches_get_pair(verifying->matches, index / 2, &match);
	verifying->turned[index] =
		index % 2 ? count_turned(verifying->sync, pair, match.ba, match.ba_count, match.b, match.a)
			  : count_turned(verifying->sync, pair, match.ab, match.ab_count, match.a, match.b);
}

/* So many messages left out before the first or after the last that is kept are no chance: a clock has stepped. */
#define LEFT_OUT_AT_END 4

/*
 * Too near an end a step cannot be told from wrong stamps: all messages of one direction beyond it are left out, and
 * the bounds do not hold there.
 */
static void report_ends(const DtcSync *sync, const struct dtc_sync_pair *pair, const struct dtc_message *messages,
			guint count, guint from, guint to, DtcFindings *findings)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (guint i = 0; i < count; i++) {
		struct dtc_sync_trimmed key = { from, messages[i].sent_ns, messages[i].received_ns, 0 };
		if (bsearch(&key, pair->trimmed, pair->trimmed_count, sizeof(key), compare_trimmed))
			continue;
		first = MIN(first, messages[i].sent_ns);
		last = MAX(last, messages[i].sent_ns);
	}
	guint before = 0, after = 0;
	for (guint i = 0; i < pair->trimmed_count; i++) {
		before += pair->trimmed[i].from == from && pair->trimmed[i].sent_ns < first;
		after += pair->trimmed[i].from == from && pair->trimmed[i].sent_ns > last;
	}
	if (before >= LEFT_OUT_AT_END || after >= LEFT_OUT_AT_END)
		dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, sync->names[from],
				 "the %s %u messages from '%s' to '%s' contradict all others: a clock may have stepped "
				 "there, where the bounds do not hold",
				 before >= LEFT_OUT_AT_END ? "first" : "last",
				 before >= LEFT_OUT_AT_END ? before : after, sync->names[from], sync->names[to]);
}

static void report_turned(const DtcSync *sync, const struct dtc_sync_pair *pair, const struct turned turned[2],
			  DtcFindings *findings)
{
	if (turned[0].count || turned[1].count)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, sync->names[pair->a],
				 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				 " messages between '%s' and '%s' arrive before they are sent, by up to "
				 "%" G_GINT64_FORMAT " ns: other pairs contradict them",
				 turned[0].count + turned[1].count, count_all(pair), sync->names[pair->a],
				 sync->names[pair->b], (gint64)MAX(turned[0].worst_ns, turned[1].worst_ns));
}

/* Pairs in the order of matches; pairs of the fit are found by their nodes' ranks. */
static void publish_pairs(DtcSync *sync, const DtcMatches *matches, const guint *rank, const struct dtc_pair *pairs,
			  guint pair_count, const struct dtc_pair_summary *summaries, DtcFindings *findings)
{
	g_autofree struct turned *turned = g_new0(struct turned, 2 * (gsize)pair_count + 1);
	struct verifying verifying = { sync, matches, turned };
	struct dtc_match_pair match;

	for (guint i = 0; i < pair_count; i++) {
		dtc_matches_get_pair(matches, i, &match);
		bool is_turned = rank[match.a] > rank[match.b];
		struct dtc_pair key = { .a = rank[is_turned ? match.b : match.a],
					.b = rank[is_turned ? match.a : match.b] };
		const struct dtc_pair *pair = bsearch(&key, pairs, pair_count, sizeof(*pairs), compare_pairs);
		publish_pair(sync, &match, pair, is_turned, &summaries[pair - pairs]);
	}
	dtc_threads_run(2 * pair_count, verify_direction, &verifying);
	for (guint i = 0; i < pair_count; i++) {
		const struct dtc_sync_pair *published = &g_array_index(sync->pairs, struct dtc_sync_pair, i);
		dtc_matches_get_pair(matches, i, &match);
		add_finding_for_pair(sync, published, findings);
		report_turned(sync, published, &turned[2 * (gsize)i], findings);
		if (published->status == DTC_PAIR_ALIGNED && published->trimmed_count) {
			report_ends(sync, published, match.ab, match.ab_count, match.a, match.b, findings);
			report_ends(sync, published, match.ba, match.ba_count, match.b, match.a, findings);
		}
	}
}

/* The pair that came nearest to joining a node to the reference's group, or NULL. */
static const struct dtc_sync_pair *find_nearest(const DtcSync *sync, guint node)
{
	const struct dtc_sync_pair *nearest = NULL;
	for (guint i = 0; i < sync->pairs->len; i++) {
		const struct dtc_sync_pair *pair = &g_array_index(sync->pairs, struct dtc_sync_pair, i);
		if (pair->a != node && pair->b != node)
			continue;
		guint other = pair->a == node ? pair->b : pair->a;
		if (dtc_clocks_get_group(sync->clocks, other) != 0)
			continue;
		if (!nearest || count_all(pair) > count_all(nearest))
			nearest = pair;
	}
	return nearest;
}

/* Why a node is on no common clock with the reference, and what would help. */
static char *explain_group(const DtcSync *sync, guint node)
{
	const struct dtc_sync_pair *pair = find_nearest(sync, node);
	const char *a = pair ? sync->names[pair->a] : NULL, *b = pair ? sync->names[pair->b] : NULL;
	guint64 count = pair ? count_all(pair) : 0;
	if (!pair)
		return g_strdup("no packet between them was seen on both sides, nor one by way of other nodes; record "
				"while they talk, and on both");
	if (pair->status == DTC_PAIR_CONTRADICTORY)
		return g_strdup_printf("the %" G_GUINT64_FORMAT " messages between '%s' and '%s' contradict each "
				       "other; a clock was set back and forth, or a trace is not of the same time "
				       "(--max-drift and --max-wander say what a clock may do)",
				       count, a, b);
	if (!count)
		return g_strdup_printf("'%s' and '%s' saw packets of each other (%" G_GUINT64_FORMAT " and "
				       "%" G_GUINT64_FORMAT "), but none that can be told apart on both sides; record "
				       "captures as well, or at the same time",
				       a, b, pair->unmatched_a, pair->unmatched_b);
	bool is_ab = pair->messages_ab + pair->bounds_ab > 0;
	return g_strdup_printf("%" G_GUINT64_FORMAT " messages, all from '%s' to '%s'; it takes messages both ways: "
			       "record longer, or on the interface that the answers take",
			       count, is_ab ? a : b, is_ab ? b : a);
}

static void report_groups(DtcSync *sync, DtcFindings *findings)
{
	sync->complete = true;
	for (guint i = 0; i < sync->node_count; i++) {
		if (dtc_clocks_get_group(sync->clocks, i) == 0)
			continue;
		sync->complete = false;
		g_autofree char *why = explain_group(sync, i);
		dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, sync->names[i], "cannot align '%s' with '%s': %s",
				 sync->names[i], sync->names[sync->options.reference], why);
	}
}

DtcSync *dtc_fit_clocks(const DtcMatches *matches, const struct dtc_fit_options *options, DtcFindings *findings,
			GError **error)
{
	struct dtc_fit_options defaults = dtc_fit_options_default();
	guint node_count = dtc_matches_get_node_count(matches);
	if (!options)
		options = &defaults;
	if (!check_options(options, node_count, error))
		return NULL;
	DtcSync *sync = g_new0(DtcSync, 1);
	sync->options = *options;
	sync->node_count = node_count;
	sync->names = g_new0(char *, node_count + 1);
	sync->pairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_sync_pair));
	sync->owned = g_ptr_array_new_with_free_func(g_free);
	g_autofree struct named *named = g_new(struct named, node_count + 1);
	g_autofree guint *rank = g_new(guint, node_count + 1);
	for (guint i = 0; i < node_count; i++) {
		sync->names[i] = g_strdup(dtc_matches_get_node_name(matches, i));
		named[i] = (struct named){ sync->names[i], i };
	}
	qsort(named, node_count, sizeof(*named), compare_named);
	for (guint i = 0; i < node_count; i++)
		rank[named[i].node] = i;

	struct dtc_pair_limits limits = { options->min_delay_ns, options->max_drift_ppm * 1e-6,
					  options->max_wander_ppm * 1e-6,
					  options->max_wander_ppm * 1e-6 / WANDER_TIME_NS };
	guint pair_count;
	g_autofree struct dtc_pair *pairs = new_pairs(matches, rank, &pair_count);
	g_autofree struct range *ranges = find_ranges(pairs, pair_count, node_count);
	dtc_threads_run(pair_count, fit_alone, &(struct alone){ pairs, ranges, &limits });
	g_autofree struct dtc_pair_summary *summaries = g_new0(struct dtc_pair_summary, pair_count + 1);
	g_autofree guint *node_of = g_new(guint, node_count + 1);
	g_autofree DtcPairBounds **pair_bounds = g_new0(DtcPairBounds *, node_count + 1);
	for (guint i = 0; i < node_count; i++)
		node_of[i] = named[i].node;
	struct dtc_grouping grouping = {
		.pairs = pairs,
		.pair_count = pair_count,
		.node_count = node_count,
		.limits = &limits,
		.reference = options->reference >= 0 ? rank[options->reference] : G_MAXUINT,
		.summaries = summaries,
		.node_of = node_of,
		.pair_bounds = pair_bounds,
	};
	struct dtc_node_map *maps = dtc_group_align(&grouping);
	if (node_count)
		sync->options.reference = (int)named[grouping.reference].node;
	sync->clocks = dtc_clocks_new(node_count, node_count ? (guint)sync->options.reference : 0);
	for (guint i = 0; i < node_count; i++) {
		dtc_clocks_set_node(sync->clocks, named[i].node, maps[i].group,
				    (const struct dtc_clock_knot *)(const void *)maps[i].knots->data,
				    maps[i].knots->len, maps[i].spread);
		g_array_unref(maps[i].knots);
	}
	g_free(maps);
	for (guint i = 0; i < node_count; i++)
		if (pair_bounds[i])
			dtc_clocks_take_pair_bounds(sync->clocks, i, pair_bounds[i]);
	publish_pairs(sync, matches, rank, pairs, pair_count, summaries, findings);
	report_groups(sync, findings);
	for (guint i = 0; i < pair_count; i++) {
		dtc_pair_clear(&pairs[i]);
		dtc_pair_summary_clear(&summaries[i]);
	}
	dtc_lp_release_thread();
	return sync;
}

DtcSync *dtc_sync_new_of(DtcClocks *clocks, const char *const *names, const struct dtc_fit_options *options)
{
	DtcSync *sync = g_new0(DtcSync, 1);
	sync->options = *options;
	sync->node_count = dtc_clocks_get_node_count(clocks);
	sync->clocks = clocks;
	sync->names = g_new0(char *, sync->node_count + 1);
	sync->pairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_sync_pair));
	sync->owned = g_ptr_array_new_with_free_func(g_free);
	sync->complete = true;
	for (guint i = 0; i < sync->node_count; i++) {
		sync->names[i] = g_strdup(names[i]);
		sync->complete &= dtc_clocks_get_group(clocks, i) == 0;
	}
	return sync;
}

static const void *keep(DtcSync *sync, const void *records, gsize bytes)
{
	void *copy = g_memdup2(records, bytes);
	g_ptr_array_add(sync->owned, copy);
	return copy;
}

void dtc_sync_add_pair(DtcSync *sync, const struct dtc_sync_pair *pair)
{
	struct dtc_sync_pair kept = *pair;
	kept.trimmed = keep(sync, pair->trimmed, pair->trimmed_count * sizeof(*pair->trimmed));
	kept.steps = keep(sync, pair->steps, pair->step_count * sizeof(*pair->steps));
	kept.corners = keep(sync, pair->corners, pair->corner_count * sizeof(*pair->corners));
	g_array_append_val(sync->pairs, kept);
}

void dtc_sync_free(DtcSync *sync)
{
	if (!sync)
		return;
	dtc_clocks_free(sync->clocks);
	g_strfreev(sync->names);
	g_array_unref(sync->pairs);
	g_ptr_array_unref(sync->owned);
	g_free(sync);
}

const DtcClocks *dtc_sync_get_clocks(const DtcSync *sync)
{
	return sync->clocks;
}

DtcClocks *dtc_sync_steal_clocks(DtcSync *sync)
{
	return g_steal_pointer(&sync->clocks);
}

const struct dtc_fit_options *dtc_sync_get_options(const DtcSync *sync)
{
	return &sync->options;
}

guint dtc_sync_get_node_count(const DtcSync *sync)
{
	return sync->node_count;
}

const char *dtc_sync_get_node_name(const DtcSync *sync, guint node)
{
	g_assert(node < sync->node_count);
	return sync->names[node];
}

guint dtc_sync_get_pair_count(const DtcSync *sync)
{
	return sync->pairs->len;
}

const struct dtc_sync_pair *dtc_sync_get_pair(const DtcSync *sync, guint index)
{
	g_assert(index < sync->pairs->len);
	return &g_array_index(sync->pairs, struct dtc_sync_pair, index);
}

bool dtc_sync_is_complete(const DtcSync *sync)
{
	return sync->complete;
}
