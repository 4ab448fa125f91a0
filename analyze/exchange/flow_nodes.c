/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/flow_nodes.h"

#include <stdlib.h>
#include <string.h>

/* A node that has flows whose ends have this hash. Two connections with the same one share their nodes. */
struct sighting {
	uint64_t hash;
	guint node;
};

/* The nodes of a hash: count 0 is a free place. */
struct place {
	uint64_t hash;
	guint first;
	guint count;
};

struct DtcFlowNodes {
	guint *nodes;
	struct place *places; /* a power of two of them, at least twice as many as hashes */
	gsize mask;
	uint64_t seed; /* whoever makes up packets cannot make all of them collide */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t get_hash(const DtcFlowNodes *nodes, const struct dtc_flow *flow)
{
	uint64_t halves[4];
	uint64_t ports = (uint64_t)flow->protocol << 32 | (uint64_t)flow->source_port << 16 | flow->destination_port;
	uint64_t hash = mix(nodes->seed, ports);
	memcpy(halves, flow->source, sizeof(flow->source));
	memcpy(halves + 2, flow->destination, sizeof(flow->destination));
	for (guint i = 0; i < G_N_ELEMENTS(halves); i++)
		hash = mix(hash, halves[i]);
	return hash;
}

static int compare_sightings(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static GArray *collect(const DtcFlowNodes *nodes, const DtcPackets *const *packets, guint node_count)
{
	GArray *sightings = g_array_new(FALSE, FALSE, sizeof(struct sighting));
	for (guint node = 0; node < node_count; node++) {
		for (uint32_t i = 0; packets[node] && i < dtc_packets_get_flow_count(packets[node]); i++) {
			struct sighting sighting = { get_hash(nodes, dtc_packets_get_flow(packets[node], i)), node };
			g_array_append_val(sightings, sighting);
		}
	}
	if (sightings->len)
		qsort(sightings->data, sightings->len, sizeof(struct sighting), compare_sightings);
	return sightings;
}

static struct place *find_place(const DtcFlowNodes *nodes, uint64_t hash)
{
	gsize at = hash & nodes->mask;
	while (nodes->places[at].count && nodes->places[at].hash != hash)
		at = (at + 1) & nodes->mask;
	return &nodes->places[at];
}

/* Both ends of a connection are traced as a rule: half as many hashes as sightings, at most. */
static guint count_hashes(const GArray *sightings)
{
	guint count = sightings->len > 0;
	for (guint i = 1; i < sightings->len; i++)
		count += g_array_index(sightings, struct sighting, i - 1).hash !=
			 g_array_index(sightings, struct sighting, i).hash;
	return count;
}

DtcFlowNodes *dtc_flow_nodes_new(const DtcPackets *const *packets, guint node_count)
{
	DtcFlowNodes *nodes = g_new0(DtcFlowNodes, 1);
	nodes->seed = (uint64_t)g_random_int() << 32 | g_random_int();
	g_autoptr(GArray) sightings = collect(nodes, packets, node_count);
	gsize size = 16, hash_count = count_hashes(sightings);
	while (size < 2 * hash_count)
		size *= 2;
	nodes->mask = size - 1;
	nodes->places = g_new0(struct place, size);
	nodes->nodes = g_new(guint, (gsize)sightings->len + 1);
	guint count = 0;
	for (guint i = 0; i < sightings->len; i++) {
		const struct sighting *sighting = &g_array_index(sightings, struct sighting, i);
		struct place *place = find_place(nodes, sighting->hash);
		if (!place->count)
			*place = (struct place){ sighting->hash, count, 0 };
		else if (nodes->nodes[count - 1] == sighting->node)
			continue; /* several generations, or namespaces */
		nodes->nodes[count++] = sighting->node;
		place->count++;
	}
	nodes->nodes = g_renew(guint, nodes->nodes, (gsize)count + 1);
	return nodes;
}

void dtc_flow_nodes_free(DtcFlowNodes *nodes)
{
	if (!nodes)
		return;
	g_free(nodes->nodes);
	g_free(nodes->places);
	g_free(nodes);
}

const guint *dtc_flow_nodes_get(const DtcFlowNodes *nodes, const struct dtc_flow *flow, guint *ret_count)
{
	const struct place *place = find_place(nodes, get_hash(nodes, flow));
	*ret_count = place->count;
	return nodes->nodes + place->first;
}
