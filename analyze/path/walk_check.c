/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits leads to who was waited for, so that the ways of busy threads soon come together, and go on alike from
 * there. Each way notes spots that it passes (struct dtc_spot), some two hundred, however long it is. One that comes to
 * a spot where another one was ends there: what is behind is that one's to verify, down to the last spot of it within
 * both spans. There the way is taken up again, in another round. No order of threads changes what is found: if any way
 * is wrong, all are taken once more, each for itself.
 */
#include "analyze/path/walk_check.h"

#include "analyze/path/traverse_build.h"
#include "collect/bundle/threads.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>

/* Of the time of all ways: of each a way notes its first spot. */
#define STRETCHES 256
/* Ways for which there is a place for each stretch: of 4,000 nodes' some hundred were in most stretches. */
#define WAYS_OF_PLACE 4

/* A way whose segments are looked at and not kept, from the latest to the earliest. */
struct verified {
	int64_t at_ns; /* down to which all is well */
	int64_t begin_ns, end_ns;
	guint count; /* of segments until the first that is not */
	bool is_wrong;
};

static void verify_span(struct verified *verified, int64_t begin_ns, int64_t end_ns)
{
	if (verified->is_wrong)
		return;
	verified->begin_ns = begin_ns;
	verified->end_ns = end_ns;
	verified->is_wrong = end_ns != verified->at_ns || begin_ns >= end_ns;
	verified->at_ns = begin_ns;
	verified->count++;
}

static void check_span(gpointer data, DtcClusterTime begin, DtcClusterTime end)
{
	verify_span(data, begin.ns, end.ns);
}

bool dtc_path_check_walk(const DtcEdges *edges, const struct dtc_path_target *target, GError **error)
{
	static const struct dtc_visitor visitor = { .check = check_span };
	const struct dtc_traversal of = dtc_path_get_traversal(target);
	struct verified verified = { .at_ns = target->end.ns };

	if (!dtc_path_can_walk(dtc_edges_get_links(edges), target, error))
		return false;
	dtc_traverse(edges, &of, &visitor, &verified);
	if (!verified.is_wrong && verified.at_ns == target->begin.ns)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "path is not contiguous: segment %u from its end is [%" PRId64 ", %" PRId64 "] of [%" PRId64
		    ", %" PRId64 "]\nhint: this is a defect of dtrace-chain, please report it with the bundle",
		    verified.count, verified.begin_ns, verified.end_ns, target->begin.ns, target->end.ns);
	return false;
}

#define NO_SPOT G_MAXUINT

/* A spot that a way was the first to come to. */
struct passed {
	struct dtc_spot spot;
	guint way;
	guint before; /* of the same way, or NO_SPOT */
	guint next;   /* in the same place, or NO_SPOT */
};

struct way {
	struct ways *all;
	const struct dtc_path_target *target;
	struct verified verified;
	guint from; /* the spot where it is taken up again, or NO_SPOT */
	guint last; /* the last that it noted, or NO_SPOT */
	guint met;  /* another way's spot, where it ended; NO_SPOT: it went on to its begin */
};

struct ways {
	const DtcLinks *links;
	struct way *of; /* by target */
	guint count;
	int64_t begin_ns, stretch_ns;
	GMutex lock;   /* of what follows */
	GArray *spots; /* struct passed */
	guint *places; /* the last spot of each, or NO_SPOT */
	guint place_count;
};

static struct passed *get_passed(const struct ways *ways, guint spot)
{
	return &g_array_index(ways->spots, struct passed, spot);
}

/* Spots that are the same have the same one. */
static guint *get_place(const struct ways *ways, const struct dtc_spot *spot)
{
	guint64 hash = ((guint64)spot->tc * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) ^
		       ((guint64)spot->stand.node << 32 | spot->stand.thread);

	return &ways->places[(hash * G_GUINT64_CONSTANT(0x9fb21c651e98df25) >> 32) % ways->place_count];
}

static guint find_same(const struct ways *ways, guint i, const struct dtc_spot *spot)
{

	while (i != NO_SPOT && !dtc_spot_is_same(&get_passed(ways, i)->spot, spot))
		i = get_passed(ways, i)->next;
	return i;
}

static bool pass(gpointer data, const struct dtc_spot *spot, int64_t *ret_next_ns)
{
	struct way *way = data;
	struct ways *ways = way->all;
	guint stretch = (guint)((spot->tc - ways->begin_ns) / ways->stretch_ns);

	*ret_next_ns = ways->begin_ns + stretch * ways->stretch_ns - 1;
	if (way->verified.is_wrong || way->verified.at_ns != spot->tc)
		return true;
	guint *place = get_place(ways, spot);
	g_mutex_lock(&ways->lock);
	guint same = find_same(ways, *place, spot);
	if (same == NO_SPOT) {
		const struct passed passed = { *spot, (guint)(way - ways->of), way->last, *place };
		way->last = *place = ways->spots->len;
		g_array_append_val(ways->spots, passed);
	} else if (same != way->from) {
		way->met = same;
	}
	g_mutex_unlock(&ways->lock);
	return way->met == NO_SPOT;
}

static void check_span_of_way(gpointer data, DtcClusterTime begin, DtcClusterTime end)
{
	verify_span(&((struct way *)data)->verified, begin.ns, end.ns);
}

static void take_way(gpointer data, guint index)
{
	static const struct dtc_visitor visitor = { .check = check_span_of_way, .pass = pass };
	struct way *way = ((struct way **)data)[index];
	g_autoptr(DtcEdges) edges = dtc_edges_new(way->all->links);
	struct dtc_traversal of = dtc_path_get_traversal(way->target);
	struct dtc_spot spot;

	if (way->from != NO_SPOT) {
		g_mutex_lock(&way->all->lock); /* others add to the spots */
		spot = get_passed(way->all, way->from)->spot;
		g_mutex_unlock(&way->all->lock);
		of.from = &spot;
		way->verified.at_ns = spot.tc;
	}
	dtc_traverse(edges, &of, &visitor, way);
}

/* The last spot within the span of a way that has met another: down to there it is known. No way is being taken. */
static guint find_known(const struct ways *ways, const struct way *way)
{
	int64_t begin_ns = way->target->begin.ns;
	const struct way *other = &ways->of[get_passed(ways, way->met)->way];

	while (other->met != NO_SPOT && get_passed(ways, other->met)->spot.tc > begin_ns)
		other = &ways->of[get_passed(ways, other->met)->way];
	guint spot = other->last;
	while (get_passed(ways, spot)->spot.tc <= begin_ns)
		spot = get_passed(ways, spot)->before;
	return spot;
}

/* Ways that are not at their begin yet, each from where it is to be taken up. */
static GPtrArray *list_open(struct ways *ways)
{
	GPtrArray *open = g_ptr_array_new();

	for (guint i = 0; i < ways->count; i++)
		if (ways->of[i].met != NO_SPOT) {
			ways->of[i].from = find_known(ways, &ways->of[i]);
			g_ptr_array_add(open, &ways->of[i]);
		}
	for (guint i = 0; i < open->len; i++)
		((struct way *)open->pdata[i])->met = NO_SPOT;
	return open;
}

static void take_all(struct ways *ways)
{
	GPtrArray *open = g_ptr_array_new();

	for (guint i = 0; i < ways->count; i++)
		g_ptr_array_add(open, &ways->of[i]);
	while (open->len) {
		dtc_threads_run(open->len, take_way, open->pdata);
		g_ptr_array_unref(open);
		open = list_open(ways);
	}
	g_ptr_array_unref(open);
}

static void begin_ways(struct ways *ways, const struct dtc_path_target *targets)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (guint i = 0; i < ways->count; i++) {
		ways->of[i] = (struct way){ .all = ways,
					    .target = &targets[i],
					    .verified = { .at_ns = targets[i].end.ns },
					    .from = NO_SPOT,
					    .last = NO_SPOT,
					    .met = NO_SPOT };
		begin_ns = MIN(begin_ns, targets[i].begin.ns);
		end_ns = MAX(end_ns, targets[i].end.ns);
	}
	ways->begin_ns = begin_ns;
	ways->stretch_ns = (end_ns - begin_ns) / STRETCHES + 1;
	for (guint i = 0; i < ways->place_count; i++)
		ways->places[i] = NO_SPOT;
}

static bool are_right(const struct ways *ways)
{
	bool are = true;

	for (guint i = 0; i < ways->count && are; i++)
		are = !ways->of[i].verified.is_wrong && ways->of[i].verified.at_ns == ways->of[i].target->begin.ns;
	return are;
}

static bool can_all_be_walked(const struct ways *ways)
{
	bool can = true;

	for (guint i = 0; i < ways->count && can; i++)
		can = dtc_path_can_walk(ways->links, ways->of[i].target, NULL);
	return can;
}

void dtc_path_check_walks(const DtcLinks *links, const struct dtc_path_target *targets, guint count, GError **errors)
{
	if (count == 0)
		return;
	g_autofree struct way *of = g_new0(struct way, count);
	guint place_count = STRETCHES * (count / WAYS_OF_PLACE + 1);
	g_autofree guint *places = g_new(guint, place_count);
	struct ways ways = { .links = links,
			     .of = of,
			     .count = count,
			     .spots = g_array_new(FALSE, FALSE, sizeof(struct passed)),
			     .places = places,
			     .place_count = place_count };

	g_mutex_init(&ways.lock);
	begin_ways(&ways, targets);
	bool can = can_all_be_walked(&ways);
	if (can)
		take_all(&ways);
	bool are = can && are_right(&ways);
	for (guint i = 0; i < count; i++) {
		g_autoptr(DtcEdges) edges = are ? NULL : dtc_edges_new(links);
		errors[i] = NULL;
		if (!are)
			dtc_path_check_walk(edges, &targets[i], &errors[i]);
	}
	g_array_unref(ways.spots);
	g_mutex_clear(&ways.lock);
}
