/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/rows.h"

#include "analyze/report/pool.h"

#include <string.h>

/* Steps of one tier with one cause and one detail. */
struct group {
	const char *tier; /* first, as the next two: the key */
	const char *detail;
	enum dtc_cause cause;
	guint step_count;
	const char *node; /* of the longest step, the first of those */
	const char *process;
	int64_t longest_ns;
	int64_t ns;
	guint last_member; /* its last step */
};

/* A step, and the one before it in its group. */
struct member {
	int64_t ns;
	guint before; /* G_MAXUINT: none */
};

struct DtcRowSums {
	DtcPool *pool;	    /* struct group */
	GHashTable *groups; /* of the pool */
	GPtrArray *list;    /* the same */
	GArray *members;    /* struct member, by step; NULL: not kept */
};

static guint group_hash(gconstpointer data)
{
	const struct group *group = data;
	return (g_direct_hash(group->tier) * 31 + g_direct_hash(group->detail)) * 31 + group->cause;
}

static gboolean group_equal(gconstpointer a, gconstpointer b)
{
	const struct group *x = a, *y = b;
	return x->tier == y->tier && x->detail == y->detail && x->cause == y->cause;
}

DtcRowSums *dtc_row_sums_new(bool has_members)
{
	DtcRowSums *sums = g_new0(DtcRowSums, 1);
	sums->groups = g_hash_table_new(group_hash, group_equal);
	sums->list = g_ptr_array_new();
	sums->pool = dtc_pool_new(sizeof(struct group));
	if (has_members)
		sums->members = g_array_new(FALSE, FALSE, sizeof(struct member));
	return sums;
}

void dtc_row_sums_free(DtcRowSums *sums)
{
	if (!sums)
		return;
	g_hash_table_unref(sums->groups);
	g_ptr_array_unref(sums->list);
	g_clear_pointer(&sums->members, g_array_unref);
	dtc_pool_free(sums->pool);
	g_free(sums);
}

void dtc_row_sums_add(DtcRowSums *sums, const struct dtc_report_step *step)
{
	const struct group key = { .tier = step->who.tier,
				   .detail = step->detail,
				   .cause = step->cause,
				   .node = step->who.node,
				   .process = step->who.process,
				   .last_member = G_MAXUINT };
	struct group *group = g_hash_table_lookup(sums->groups, &key);
	int64_t ns = step->end_ns - step->begin_ns;

	if (!group) {
		group = dtc_pool_add(sums->pool, &key);
		g_hash_table_add(sums->groups, group);
		g_ptr_array_add(sums->list, group);
	}
	if (ns > group->longest_ns) {
		group->longest_ns = ns;
		group->node = step->who.node;
		group->process = step->who.process;
	}
	group->ns += ns;
	group->step_count++;
	if (!sums->members)
		return;
	const struct member member = { ns, group->last_member };
	group->last_member = sums->members->len;
	g_array_append_val(sums->members, member);
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	int order = x->tier == y->tier ? 0 : strcmp(x->tier, y->tier);

	if (order == 0)
		order = (x->cause > y->cause) - (x->cause < y->cause);
	return order || x->detail == y->detail ? order : g_strcmp0(x->detail, y->detail);
}

/* A tier that a cluster file names may have several processes: the row shows the one of its longest step. */
static void add_group(struct dtc_report_row *row, const struct group *group, int64_t *longest_ns)
{
	if (group->longest_ns > *longest_ns) {
		*longest_ns = group->longest_ns;
		row->node = group->node;
		row->process = group->process;
	}
	row->ns += group->ns;
	row->step_count += group->step_count;
	row->unnamed_ns += group->detail ? 0 : group->ns;
	if (group->detail && group->ns > row->detail_ns) {
		row->detail = group->detail;
		row->detail_ns = group->ns;
	}
}

void dtc_row_sums_list(DtcRowSums *sums, GArray *rows)
{
	const GPtrArray *groups = sums->list;
	struct dtc_report_row *row = NULL;
	int64_t longest_ns = 0;

	g_ptr_array_sort(sums->list, compare_groups);
	for (guint i = 0; i < groups->len; i++) {
		const struct group *group = groups->pdata[i];
		if (!row || row->tier != group->tier || row->cause != group->cause) {
			const struct dtc_report_row fresh = { .tier = group->tier,
							      .node = group->node,
							      .process = group->process,
							      .cause = group->cause };
			g_array_append_val(rows, fresh);
			row = &g_array_index(rows, struct dtc_report_row, rows->len - 1);
			longest_ns = 0;
		}
		add_group(row, group, &longest_ns);
	}
}

/* A step whose detail may be asked for. */
struct candidate {
	int64_t ns;
	guint step;
};

/* What the steps that were asked say, of one row after the other. */
struct details {
	GArray *parts;	    /* struct part */
	GHashTable *places; /* detail -> index in parts, and one */
};

struct part {
	const char *detail;
	int64_t ns;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->step < y->step ? -1 : 1;
}

static void list_candidates(const DtcRowSums *sums, const struct group *group, GArray *candidates)
{
	g_array_set_size(candidates, 0);
	for (guint step = group->last_member; step != G_MAXUINT;) {
		const struct member *member = &g_array_index(sums->members, struct member, step);
		const struct candidate candidate = { member->ns, step };
		g_array_append_val(candidates, candidate);
		step = member->before;
	}
	if (candidates->len > 1)
		qsort(candidates->data, candidates->len, sizeof(struct candidate), compare_candidates);
}

static struct part *find_part(struct details *details, const char *detail)
{
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(details->places, detail));
	const struct part fresh = { detail, 0 };

	if (!place) {
		g_array_append_val(details->parts, fresh);
		place = details->parts->len;
		g_hash_table_insert(details->places, (gpointer)detail, GUINT_TO_POINTER(place));
	}
	return &g_array_index(details->parts, struct part, place - 1);
}

static void set_half(struct dtc_report_row *row, const GArray *candidates, struct details *details, DtcStepDetail get,
		     gpointer data)
{
	struct part best = { NULL, 0 };
	int64_t left_ns = row->ns;

	g_array_set_size(details->parts, 0);
	g_hash_table_remove_all(details->places);
	/* until one is more than half, or none can be half any more */
	for (guint i = 0; left_ns && 2 * best.ns <= row->ns && 2 * (best.ns + left_ns) >= row->ns; i++) {
		const struct candidate *candidate = &g_array_index(candidates, struct candidate, i);
		const char *detail = get(data, candidate->step);
		left_ns -= candidate->ns;
		if (!detail)
			continue;
		struct part *part = find_part(details, detail);
		part->ns += candidate->ns;
		/* of two halves the first by name, as in a report */
		if (part->ns > best.ns || (best.detail && part->ns == best.ns && strcmp(part->detail, best.detail) < 0))
			best = *part;
	}
	if (best.detail && 2 * best.ns >= row->ns) {
		row->detail = best.detail;
		row->detail_ns = best.ns;
	}
}

void dtc_row_sums_list_halves(DtcRowSums *sums, GArray *rows, DtcStepDetail get, gpointer data)
{
	g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	g_autoptr(GHashTable) places = g_hash_table_new(g_direct_hash, g_direct_equal);
	struct details details = { parts, places };

	dtc_row_sums_list(sums, rows);
	g_assert(rows->len == sums->list->len); /* no details: each group is a row */
	for (guint i = 0; i < rows->len; i++) {
		list_candidates(sums, sums->list->pdata[i], candidates);
		set_half(&g_array_index(rows, struct dtc_report_row, i), candidates, &details, get, data);
	}
}
