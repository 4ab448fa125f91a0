/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/relation_image.h"

#include "sync/match/relation.h"

#include <math.h>

struct saved_relation {
	uint32_t knot_count;
	uint32_t is_identity;
	int64_t error_ns;
	double rate;
};

void dtc_relations_save(const DtcMatches *matches, DtcImageWriter *writer)
{
	g_autoptr(GArray) relations = g_array_new(FALSE, FALSE, sizeof(struct saved_relation));
	g_autoptr(GArray) knots = g_array_new(FALSE, FALSE, sizeof(struct dtc_relation_knot));

	for (guint node = 0; node < dtc_matches_get_node_count(matches); node++) {
		/* it gives what its matcher fills; nothing is changed here */
		const struct dtc_relation *relation = dtc_matches_get_relation((DtcMatches *)(gpointer)matches, node);
		const struct saved_relation saved = { relation->count, relation->identity, relation->error_ns,
						      relation->rate };
		g_array_append_val(relations, saved);
		if (relation->count)
			g_array_append_vals(knots, relation->knots, relation->count);
	}
	dtc_image_add_copy(writer, "relations", sizeof(struct saved_relation), relations->data, relations->len);
	dtc_image_add_copy(writer, "relations.knots", sizeof(struct dtc_relation_knot), knots->data, knots->len);
}

static bool is_relation(const struct saved_relation *saved, const struct dtc_relation_knot *knots)
{
	for (guint i = 0; i < saved->knot_count; i++)
		if (!dtc_match_is_time(knots[i].capture_ns) || !dtc_match_is_time(knots[i].difference_ns) ||
		    (i > 0 && knots[i - 1].capture_ns >= knots[i].capture_ns))
			return false;
	return saved->error_ns >= 0 && dtc_match_is_time(saved->error_ns) && isfinite(saved->rate) && saved->rate >= 0;
}

DtcMatches *dtc_relations_load(const DtcImage *image, const char *const *names, guint count, GError **error)
{
	gsize saved_count, knot_count;
	const struct saved_relation *saved =
		dtc_image_get(image, "relations", sizeof(struct saved_relation), &saved_count, error);
	const struct dtc_relation_knot *knots =
		saved ? dtc_image_get(image, "relations.knots", sizeof(*knots), &knot_count, error) : NULL;

	if (!knots)
		return NULL;
	if (saved_count != count) {
		dtc_image_refuse(image, error, "it is of another number of nodes");
		return NULL;
	}
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, count);
	for (guint node = 0; node < count; node++) {
		struct dtc_relation *relation = dtc_matches_get_relation(matches, node);
		if (saved[node].knot_count > knot_count || !is_relation(&saved[node], knots)) {
			dtc_image_refuse(image, error, "a relation of clocks is none");
			return NULL;
		}
		*relation = (struct dtc_relation){ .identity = saved[node].is_identity != 0,
						   .error_ns = saved[node].error_ns,
						   .rate = saved[node].rate,
						   .count = saved[node].knot_count };
		if (relation->count)
			relation->knots = g_memdup2(knots, relation->count * sizeof(*knots));
		knots += saved[node].knot_count;
		knot_count -= saved[node].knot_count;
	}
	return g_steal_pointer(&matches);
}
