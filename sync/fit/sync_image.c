/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/sync_image.h"

#include "sync/fit/clocks.h"
#include "sync/match/match.h"

#include <math.h>

/* Records without padding, so that two runs write the same bytes. */

struct saved_options {
	int64_t reference;
	int64_t min_delay_ns;
	double max_drift_ppm;
	double max_wander_ppm;
};

struct saved_map {
	uint32_t group;
	uint32_t knot_count;
	double spread;
};

/* What the pairs of a group know of each other: knots, pairs, and for each knot a bound of each pair. */
struct saved_group {
	uint32_t group;
	uint32_t knot_count;
	uint32_t pair_count;
	uint32_t spare;
};

struct saved_trimmed {
	uint64_t from;
	int64_t sent_ns;
	int64_t received_ns;
	int64_t by_ns;
};

struct saved_corner {
	int64_t a_ns;
	int64_t b_ns;
	uint32_t is_ab;
	uint32_t is_first;
};

struct saved_pair {
	uint32_t a, b;
	uint32_t status;
	uint32_t bounds_ab, bounds_ba;
	uint32_t hull_ab, hull_ba;
	uint32_t trimmed_count, step_count, corner_count;
	uint64_t messages_ab, messages_ba;
	uint64_t unmatched_a, unmatched_b;
	uint64_t ambiguous;
	int64_t begin_ns, end_ns, offset_ns;
	double drift_ppm, wander_ppm;
	int64_t width_ns[3];
};

/* ---- saving ---- */

static void add_list(DtcImageWriter *writer, const char *name, const GArray *list)
{
	dtc_image_add_copy(writer, name, g_array_get_element_size((GArray *)(gpointer)list), list->data, list->len);
}

static void save_maps(const DtcClocks *clocks, DtcImageWriter *writer)
{
	g_autoptr(GArray) maps = g_array_new(FALSE, FALSE, sizeof(struct saved_map));
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct dtc_clock_knot));

	for (guint node = 0; node < dtc_clocks_get_node_count(clocks); node++) {
		guint count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
		const struct saved_map map = { dtc_clocks_get_group(clocks, node), count,
					       dtc_clocks_get_spread(clocks, node) };
		g_array_append_val(maps, map);
		g_array_append_vals(all, knots, count);
	}
	add_list(writer, "sync.maps", maps);
	add_list(writer, "sync.knots", all);
}

static void add_group(const DtcPairBounds *bounds, GArray *knots, GArray *pairs, GArray *all)
{
	guint knot_count = dtc_pair_bounds_get_knot_count(bounds), pair_count = dtc_pair_bounds_get_pair_count(bounds);

	for (guint i = 0; i < pair_count; i++) {
		struct dtc_node_pair pair = dtc_pair_bounds_get_pair(bounds, i);
		g_array_append_val(pairs, pair);
	}
	for (guint i = 0; i < knot_count; i++) {
		int64_t knot_ns = dtc_pair_bounds_get_knot(bounds, i);
		g_array_append_val(knots, knot_ns);
		for (guint k = 0; k < pair_count; k++) {
			struct dtc_bound bound = dtc_pair_bounds_get(bounds, i, k);
			g_array_append_val(all, bound);
		}
	}
}

static void save_groups(const DtcClocks *clocks, DtcImageWriter *writer)
{
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct saved_group));
	g_autoptr(GArray) knots = g_array_new(FALSE, FALSE, sizeof(int64_t));
	g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_node_pair));
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct dtc_bound));

	for (guint group = 0; group <= dtc_clocks_get_node_count(clocks); group++) {
		const DtcPairBounds *bounds = dtc_clocks_get_pair_bounds(clocks, group);
		if (!bounds)
			continue;
		const struct saved_group saved = { group, dtc_pair_bounds_get_knot_count(bounds),
						   dtc_pair_bounds_get_pair_count(bounds), 0 };
		g_array_append_val(groups, saved);
		add_group(bounds, knots, pairs, all);
	}
	add_list(writer, "sync.groups", groups);
	add_list(writer, "sync.group_knots", knots);
	add_list(writer, "sync.group_pairs", pairs);
	add_list(writer, "sync.group_bounds", all);
}

static struct saved_pair make_saved_pair(const struct dtc_sync_pair *pair)
{
	return (struct saved_pair){
		.a = pair->a,
		.b = pair->b,
		.status = pair->status,
		.bounds_ab = pair->bounds_ab,
		.bounds_ba = pair->bounds_ba,
		.hull_ab = pair->hull_ab,
		.hull_ba = pair->hull_ba,
		.trimmed_count = pair->trimmed_count,
		.step_count = pair->step_count,
		.corner_count = pair->corner_count,
		.messages_ab = pair->messages_ab,
		.messages_ba = pair->messages_ba,
		.unmatched_a = pair->unmatched_a,
		.unmatched_b = pair->unmatched_b,
		.ambiguous = pair->ambiguous,
		.begin_ns = pair->begin_ns,
		.end_ns = pair->end_ns,
		.offset_ns = pair->offset_ns,
		.drift_ppm = pair->drift_ppm,
		.wander_ppm = pair->wander_ppm,
		.width_ns = { pair->width_ns[0], pair->width_ns[1], pair->width_ns[2] },
	};
}

static void save_pairs(const DtcSync *sync, DtcImageWriter *writer)
{
	g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(struct saved_pair));
	g_autoptr(GArray) all_trimmed = g_array_new(FALSE, FALSE, sizeof(struct saved_trimmed));
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(struct dtc_sync_step));
	g_autoptr(GArray) corners = g_array_new(FALSE, FALSE, sizeof(struct saved_corner));

	for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		const struct saved_pair saved = make_saved_pair(pair);
		g_array_append_val(pairs, saved);
		for (guint k = 0; k < pair->trimmed_count; k++) {
			const struct dtc_sync_trimmed *from = &pair->trimmed[k];
			struct saved_trimmed trimmed = { from->from, from->sent_ns, from->received_ns, from->by_ns };
			g_array_append_val(all_trimmed, trimmed);
		}
		if (pair->step_count)
			g_array_append_vals(steps, pair->steps, pair->step_count);
		for (guint k = 0; k < pair->corner_count; k++) {
			const struct dtc_sync_corner *from = &pair->corners[k];
			struct saved_corner corner = { from->a_ns, from->b_ns, from->is_ab, from->is_first };
			g_array_append_val(corners, corner);
		}
	}
	add_list(writer, "sync.pairs", pairs);
	add_list(writer, "sync.trimmed", all_trimmed);
	add_list(writer, "sync.steps", steps);
	add_list(writer, "sync.corners", corners);
}

void dtc_sync_save(const DtcSync *sync, DtcImageWriter *writer)
{
	const struct dtc_fit_options *options = dtc_sync_get_options(sync);
	const struct saved_options saved = { options->reference, options->min_delay_ns, options->max_drift_ppm,
					     options->max_wander_ppm };

	dtc_image_add_copy(writer, "sync.options", sizeof(saved), &saved, 1);
	save_maps(dtc_sync_get_clocks(sync), writer);
	save_groups(dtc_sync_get_clocks(sync), writer);
	save_pairs(sync, writer);
}

/* ---- loading ---- */

/* What is left of a section; records of several owners lie in it one after the other. */
struct rest {
	const char *records;
	gsize record_bytes;
	gsize count;
};

static bool open_rest(const DtcImage *image, const char *name, gsize record_bytes, struct rest *ret_rest,
		      GError **error)
{
	ret_rest->record_bytes = record_bytes;
	ret_rest->records = dtc_image_get(image, name, record_bytes, &ret_rest->count, error);
	return ret_rest->records != NULL;
}

/* The next so many; NULL: there are not as many. */
static const void *take(struct rest *rest, gsize count)
{
	const void *taken = rest->records;

	if (count > rest->count)
		return NULL;
	rest->records += count * rest->record_bytes;
	rest->count -= count;
	return taken;
}

/* As dtc_clocks_set_node wants them. */
static bool are_in_order(const struct dtc_clock_knot *knots, guint count)
{
	for (guint i = 0; i < count; i++)
		if (!dtc_match_is_time(knots[i].node_ns) || !dtc_match_is_time(knots[i].lo_ns) ||
		    !dtc_match_is_time(knots[i].hi_ns) || knots[i].lo_ns > knots[i].cluster_ns ||
		    knots[i].cluster_ns > knots[i].hi_ns ||
		    (i > 0 &&
		     (knots[i - 1].node_ns >= knots[i].node_ns || knots[i - 1].cluster_ns >= knots[i].cluster_ns)))
			return false;
	return count > 0;
}

static bool load_maps(DtcClocks *clocks, const DtcImage *image, GError **error)
{
	struct rest maps, knots;

	if (!open_rest(image, "sync.maps", sizeof(struct saved_map), &maps, error) ||
	    !open_rest(image, "sync.knots", sizeof(struct dtc_clock_knot), &knots, error))
		return false;
	for (guint node = 0; node < dtc_clocks_get_node_count(clocks); node++) {
		const struct saved_map *map = take(&maps, 1);
		const struct dtc_clock_knot *own = map ? take(&knots, map->knot_count) : NULL;
		if (!own || !are_in_order(own, map->knot_count) || !dtc_clock_is_spread(map->spread))
			return dtc_image_refuse(image, error, "a clock's map is none");
		dtc_clocks_set_node(clocks, node, map->group, own, map->knot_count, map->spread);
	}
	return true;
}

static bool are_bounds(const int64_t *knots, const struct dtc_bound *bounds, const struct saved_group *group)
{
	for (guint i = 0; i < group->knot_count; i++)
		if (!dtc_match_is_time(knots[i]) || (i > 0 && knots[i - 1] >= knots[i]))
			return false;
	for (gsize i = 0; i < (gsize)group->knot_count * group->pair_count; i++)
		if (bounds[i].lo_ns > bounds[i].hi_ns || bounds[i].lo_ns >= DTC_BOUND_UNKNOWN_NS ||
		    bounds[i].hi_ns <= -DTC_BOUND_UNKNOWN_NS)
			return false;
	return group->knot_count > 0;
}

static bool are_pairs(const struct dtc_node_pair *pairs, guint count, guint node_count)
{
	for (guint i = 0; i < count; i++)
		if (pairs[i].a >= node_count || pairs[i].b >= node_count || pairs[i].a == pairs[i].b)
			return false;
	return true;
}

static bool load_groups(DtcClocks *clocks, const DtcImage *image, GError **error)
{
	struct rest groups, all_knots, all_pairs, all_bounds;

	if (!open_rest(image, "sync.groups", sizeof(struct saved_group), &groups, error) ||
	    !open_rest(image, "sync.group_knots", sizeof(int64_t), &all_knots, error) ||
	    !open_rest(image, "sync.group_pairs", sizeof(struct dtc_node_pair), &all_pairs, error) ||
	    !open_rest(image, "sync.group_bounds", sizeof(struct dtc_bound), &all_bounds, error))
		return false;
	for (const struct saved_group *group; (group = take(&groups, 1));) {
		const int64_t *knots = take(&all_knots, group->knot_count);
		const struct dtc_node_pair *pairs = take(&all_pairs, group->pair_count);
		const struct dtc_bound *bounds = take(&all_bounds, (gsize)group->knot_count * group->pair_count);
		if (!knots || !pairs || !bounds || !are_bounds(knots, bounds, group) ||
		    !are_pairs(pairs, group->pair_count, dtc_clocks_get_node_count(clocks)) ||
		    group->group > dtc_clocks_get_node_count(clocks) ||
		    dtc_clocks_get_pair_bounds(clocks, group->group))
			return dtc_image_refuse(image, error, "the bounds of a group are none");
		DtcPairBounds *loaded = dtc_pair_bounds_new(knots, group->knot_count, pairs, group->pair_count);
		for (guint i = 0; i < group->knot_count; i++)
			for (guint k = 0; k < group->pair_count; k++)
				dtc_pair_bounds_set(loaded, i, k, bounds[(gsize)i * group->pair_count + k]);
		dtc_clocks_take_pair_bounds(clocks, group->group, loaded);
	}
	return true;
}

static struct dtc_sync_pair make_pair(const struct saved_pair *saved)
{
	return (struct dtc_sync_pair){
		.a = saved->a,
		.b = saved->b,
		.status = (enum dtc_pair_status)saved->status,
		.messages_ab = saved->messages_ab,
		.messages_ba = saved->messages_ba,
		.bounds_ab = saved->bounds_ab,
		.bounds_ba = saved->bounds_ba,
		.unmatched_a = saved->unmatched_a,
		.unmatched_b = saved->unmatched_b,
		.ambiguous = saved->ambiguous,
		.hull_ab = saved->hull_ab,
		.hull_ba = saved->hull_ba,
		.trimmed_count = saved->trimmed_count,
		.step_count = saved->step_count,
		.corner_count = saved->corner_count,
		.begin_ns = saved->begin_ns,
		.end_ns = saved->end_ns,
		.offset_ns = saved->offset_ns,
		.drift_ppm = saved->drift_ppm,
		.wander_ppm = saved->wander_ppm,
		.width_ns = { saved->width_ns[0], saved->width_ns[1], saved->width_ns[2] },
	};
}

/* Arrays that a pair borrows, until it was added. */
struct pair_lists {
	struct dtc_sync_trimmed *trimmed;
	struct dtc_sync_corner *corners;
};

static void unpack(const struct saved_trimmed *trimmed, const struct saved_corner *corners, struct dtc_sync_pair *pair,
		   const struct pair_lists *lists)
{
	for (guint i = 0; i < pair->trimmed_count; i++)
		lists->trimmed[i] = (struct dtc_sync_trimmed){ (guint)trimmed[i].from, trimmed[i].sent_ns,
							       trimmed[i].received_ns, trimmed[i].by_ns };
	for (guint i = 0; i < pair->corner_count; i++)
		lists->corners[i] = (struct dtc_sync_corner){ corners[i].a_ns, corners[i].b_ns, corners[i].is_ab != 0,
							      corners[i].is_first != 0 };
	pair->trimmed = lists->trimmed;
	pair->corners = lists->corners;
}

static bool load_pairs(DtcSync *sync, const DtcImage *image, guint node_count, GError **error)
{
	struct rest pairs, all_trimmed, all_steps, all_corners;

	if (!open_rest(image, "sync.pairs", sizeof(struct saved_pair), &pairs, error) ||
	    !open_rest(image, "sync.trimmed", sizeof(struct saved_trimmed), &all_trimmed, error) ||
	    !open_rest(image, "sync.steps", sizeof(struct dtc_sync_step), &all_steps, error) ||
	    !open_rest(image, "sync.corners", sizeof(struct saved_corner), &all_corners, error))
		return false;
	for (const struct saved_pair *saved; (saved = take(&pairs, 1));) {
		const struct saved_trimmed *trimmed = take(&all_trimmed, saved->trimmed_count);
		const struct saved_corner *corners = take(&all_corners, saved->corner_count);
		struct dtc_sync_pair pair = make_pair(saved);
		pair.steps = take(&all_steps, saved->step_count);
		if (!trimmed || !corners || !pair.steps || saved->a >= saved->b || saved->b >= node_count ||
		    saved->status > DTC_PAIR_CONTRADICTORY || !isfinite(saved->drift_ppm) ||
		    !isfinite(saved->wander_ppm))
			return dtc_image_refuse(image, error, "a pair of clocks is none");
		g_autofree struct dtc_sync_trimmed *unpacked_trimmed =
			g_new0(struct dtc_sync_trimmed, pair.trimmed_count);
		g_autofree struct dtc_sync_corner *unpacked_corners = g_new0(struct dtc_sync_corner, pair.corner_count);
		const struct pair_lists lists = { unpacked_trimmed, unpacked_corners };
		unpack(trimmed, corners, &pair, &lists);
		dtc_sync_add_pair(sync, &pair);
	}
	return true;
}

DtcSync *dtc_sync_load(const DtcImage *image, const char *const *names, guint count, GError **error)
{
	gsize map_count;
	const struct saved_options *saved = dtc_image_get_one(image, "sync.options", sizeof(*saved), error);

	if (!saved || !dtc_image_get(image, "sync.maps", sizeof(struct saved_map), &map_count, error))
		return NULL;
	if (map_count != count || saved->reference < 0 || saved->reference >= (int64_t)count) {
		dtc_image_refuse(image, error, "it is of another number of nodes");
		return NULL;
	}
	const struct dtc_fit_options options = { (int)saved->reference, saved->min_delay_ns, saved->max_drift_ppm,
						 saved->max_wander_ppm };
	DtcClocks *clocks = dtc_clocks_new(count, (guint)options.reference);
	bool is_loaded = load_maps(clocks, image, error) && load_groups(clocks, image, error);
	g_autoptr(DtcSync) sync = dtc_sync_new_of(clocks, names, &options);
	return is_loaded && load_pairs(sync, image, count, error) ? g_steal_pointer(&sync) : NULL;
}
