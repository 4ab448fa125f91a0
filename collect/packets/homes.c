/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/homes.h"

#include <string.h>

struct stay {
	uint16_t netns;
	uint16_t home;
};

struct DtcHomes {
	GHashTable *by_ends; /* struct dtc_ends (owned) -> GArray of struct stay */
	uint64_t seed;	     /* addresses come from foreign files: no one shall choose the collisions */
};

/* GHashTable takes no data for its hash function: the seed is in the key, and the same in all. */
struct key {
	struct dtc_ends ends;
	uint64_t seed;
};

static guint hash_key(gconstpointer data)
{
	const struct key *key = data;
	const uint16_t *words = (const uint16_t *)(const void *)&key->ends;
	uint64_t hash = key->seed;

	for (size_t i = 0; i < sizeof(key->ends) / sizeof(*words); i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 32;
	}
	return (guint)hash;
}

static gboolean equal_key(gconstpointer a, gconstpointer b)
{
	return memcmp(&((const struct key *)a)->ends, &((const struct key *)b)->ends, sizeof(struct dtc_ends)) == 0;
}

static void free_stays(gpointer stays)
{
	g_array_unref(stays);
}

struct dtc_ends dtc_ends_make(const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
			      uint16_t destination_port, uint8_t protocol)
{
	int order = memcmp(source, destination, 16);
	guint first = order > 0 || (order == 0 && source_port > destination_port);
	struct dtc_ends ends = { .protocol = protocol };

	memcpy(ends.address[first], source, 16);
	memcpy(ends.address[!first], destination, 16);
	ends.port[first] = source_port;
	ends.port[!first] = destination_port;
	return ends;
}

DtcHomes *dtc_homes_new(void)
{
	DtcHomes *homes = g_new0(DtcHomes, 1);

	homes->by_ends = g_hash_table_new_full(hash_key, equal_key, g_free, free_stays);
	homes->seed = ((uint64_t)g_random_int() << 32) | g_random_int();
	return homes;
}

void dtc_homes_free(DtcHomes *homes)
{
	if (!homes)
		return;
	g_hash_table_unref(homes->by_ends);
	g_free(homes);
}

static GArray *find_stays(const DtcHomes *homes, const struct dtc_ends *ends)
{
	struct key key = { *ends, homes->seed };

	return g_hash_table_lookup(homes->by_ends, &key);
}

static struct stay *find_stay(GArray *stays, uint16_t netns)
{
	for (guint i = 0; stays && i < stays->len; i++) {
		struct stay *stay = &g_array_index(stays, struct stay, i);
		if (stay->netns == netns)
			return stay;
	}
	return NULL;
}

uint16_t dtc_homes_find(const DtcHomes *homes, const struct dtc_ends *ends, uint16_t netns)
{
	const struct stay *stay = find_stay(find_stays(homes, ends), netns);

	return stay ? stay->home : DTC_NO_HOME;
}

uint16_t dtc_homes_get(const DtcHomes *homes, const struct dtc_ends *ends, guint i)
{
	const GArray *stays = find_stays(homes, ends);

	return stays && i < stays->len ? g_array_index(stays, struct stay, i).home : DTC_NO_HOME;
}

void dtc_homes_set(DtcHomes *homes, const struct dtc_ends *ends, uint16_t netns, uint16_t home)
{
	GArray *stays = find_stays(homes, ends);
	struct stay *known = find_stay(stays, netns), new = { netns, home };

	if (known) {
		known->home = home;
		return;
	}
	if (!stays) {
		struct key *key = g_new(struct key, 1);
		*key = (struct key){ *ends, homes->seed };
		stays = g_array_new(FALSE, FALSE, sizeof(struct stay));
		g_hash_table_insert(homes->by_ends, key, stays);
	}
	g_array_append_val(stays, new);
}

static gint compare_ends(gconstpointer a, gconstpointer b)
{
	return memcmp(&((const struct dtc_home *)a)->ends, &((const struct dtc_home *)b)->ends,
		      sizeof(struct dtc_ends));
}

/* The stays of the same ends keep their order: g_array_sort is stable. */
GArray *dtc_homes_list(const DtcHomes *homes)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct dtc_home));
	GHashTableIter iter;
	gpointer key, stays;

	g_hash_table_iter_init(&iter, homes->by_ends);
	while (g_hash_table_iter_next(&iter, &key, &stays)) {
		for (guint i = 0; i < ((GArray *)stays)->len; i++) {
			const struct stay *stay = &g_array_index((GArray *)stays, struct stay, i);
			const struct dtc_home home = { ((const struct key *)key)->ends, stay->netns, stay->home };
			g_array_append_val(list, home);
		}
	}
	g_array_sort(list, compare_ends);
	return list;
}
