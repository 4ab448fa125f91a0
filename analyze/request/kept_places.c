/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/kept_places.h"

#include "collect/packets/table.h"

/* A place, and where its hops lie. */
struct kept {
	struct dtc_place place; /* without hops */
	guint hop_first;
	guint hop_count; /* 0: not known, since a place has one at least */
};

/* A request takes two kilobytes, and there may be a hundred thousand: in tables, which are no anonymous memory. */
struct DtcKeptPlaces {
	DtcTable *places; /* struct kept, by request */
	DtcTable *hops;	  /* struct dtc_hop */
	guint count;
	bool is_settled;
};

DtcKeptPlaces *dtc_kept_places_new(guint request_count)
{
	DtcKeptPlaces *kept = g_new0(DtcKeptPlaces, 1);
	kept->places = dtc_table_new(sizeof(struct kept));
	kept->hops = dtc_table_new(sizeof(struct dtc_hop));
	dtc_table_set_length(kept->places, request_count);
	return kept;
}

void dtc_kept_places_free(DtcKeptPlaces *kept)
{
	if (!kept)
		return;
	dtc_table_free(kept->places);
	dtc_table_free(kept->hops);
	g_free(kept);
}

struct dtc_place *dtc_kept_places_get(const DtcKeptPlaces *kept, guint request)
{
	const struct kept *known = kept ? DTC_AT(kept->places, struct kept, request) : NULL;
	if (!known || !known->hop_count)
		return NULL;
	struct dtc_place *place = g_memdup2(&known->place, sizeof(*place));
	place->hops = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_hop), known->hop_count);
	g_array_append_vals(place->hops, DTC_AT(kept->hops, struct dtc_hop, known->hop_first), known->hop_count);
	return place;
}

void dtc_kept_places_add(DtcKeptPlaces *kept, guint request, const struct dtc_place *place)
{
	if (!kept || kept->is_settled)
		return;
	const struct kept known = { *place, kept->hops->len, place->hops->len };
	*DTC_AT(kept->places, struct kept, request) = known;
	for (guint i = 0; i < place->hops->len; i++)
		dtc_table_append(kept->hops, &g_array_index(place->hops, struct dtc_hop, i));
	kept->count++;
}

void dtc_kept_places_settle(DtcKeptPlaces *kept)
{
	dtc_table_settle(kept->places);
	dtc_table_settle(kept->hops);
	kept->is_settled = true;
}

guint dtc_kept_places_get_count(const DtcKeptPlaces *kept)
{
	return kept->count;
}
