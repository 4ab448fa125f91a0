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
};

struct DtcRowSums {
	DtcPool *pool;	    /* struct group */
	GHashTable *groups; /* of the pool */
	GPtrArray *list;    /* the same */
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

DtcRowSums *dtc_row_sums_new(void)
{
	DtcRowSums *sums = g_new0(DtcRowSums, 1);
	sums->groups = g_hash_table_new(group_hash, group_equal);
	sums->list = g_ptr_array_new();
	sums->pool = dtc_pool_new(sizeof(struct group));
	return sums;
}

void dtc_row_sums_free(DtcRowSums *sums)
{
	if (!sums)
		return;
	g_hash_table_unref(sums->groups);
	g_ptr_array_unref(sums->list);
	dtc_pool_free(sums->pool);
	g_free(sums);
}

void dtc_row_sums_add(DtcRowSums *sums, const struct dtc_report_step *step)
{
	const struct group key = { .tier = step->who.tier,
				   .detail = step->detail,
				   .cause = step->cause,
				   .node = step->who.node,
				   .process = step->who.process };
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
