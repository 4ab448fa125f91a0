/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/flow_list.h"

#include <string.h>

#define FIRST_SLOTS 64

static void set_slots(DtcFlowList *list, uint32_t count)
{
	list->slots = g_new(uint32_t, count);
	list->slot_count = count;
	memset(list->slots, 0xff, count * sizeof(uint32_t));
}

DtcFlowList *dtc_flow_list_new(void)
{
	DtcFlowList *list = g_new0(DtcFlowList, 1);

	list->flows = dtc_table_new(sizeof(struct dtc_flow));
	list->previous = dtc_table_new(sizeof(uint32_t));
	list->seed = ((uint64_t)g_random_int() << 32) | g_random_int();
	set_slots(list, FIRST_SLOTS);
	return list;
}

void dtc_flow_list_free(DtcFlowList *list)
{
	dtc_table_free(list->flows);
	dtc_table_free(list->previous);
	g_free(list->slots);
	g_free(list);
}

void dtc_flow_list_set_spaces(DtcFlowList *list, DtcSpace *space, DtcSpace *scratch)
{
	dtc_table_set_space(list->flows, space);
	dtc_table_set_space(list->previous, scratch);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9fb21c651e98df25);
	return hash ^ (hash >> 32);
}

static uint64_t hash_key(const DtcFlowList *list, const struct dtc_flow_key *key)
{
	uint64_t words[4];
	memcpy(words, key->source, 16);
	memcpy(words + 2, key->destination, 16);
	uint64_t hash = list->seed;
	for (int i = 0; i < 4; i++)
		hash = mix(hash, words[i]);
	return mix(hash, ((uint64_t)key->netns << 48) | ((uint64_t)key->source_port << 32) |
				 ((uint64_t)key->destination_port << 8) | key->protocol);
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t find_slot(const DtcFlowList *list, const struct dtc_flow_key *key)
{
	uint32_t mask = list->slot_count - 1;
	uint32_t slot = (uint32_t)hash_key(list, key) & mask;
	while (list->slots[slot] != DTC_NONE && !dtc_flow_has_key(dtc_flow_list_get(list, list->slots[slot]), key))
		slot = (slot + 1) & mask;
	return slot;
}

uint32_t dtc_flow_list_find(const DtcFlowList *list, const struct dtc_flow_key *key)
{
	return list->slots[find_slot(list, key)];
}

uint32_t dtc_flow_list_find_anew(const DtcFlowList *list, const struct dtc_flow_key *key, uint32_t *ret_slot)
{
	*ret_slot = find_slot(list, key);
	return list->slots[*ret_slot];
}

static struct dtc_flow_key get_key(const struct dtc_flow *flow)
{
	return (struct dtc_flow_key){ flow->source,	      flow->destination, flow->source_port,
				      flow->destination_port, flow->netns,	 flow->protocol };
}

static void grow(DtcFlowList *list)
{
	g_autofree uint32_t *old = list->slots;
	uint32_t old_count = list->slot_count;

	set_slots(list, old_count * 2);
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i] == DTC_NONE)
			continue;
		struct dtc_flow_key key = get_key(dtc_flow_list_get(list, old[i]));
		list->slots[find_slot(list, &key)] = old[i];
	}
}

/* Makes the flow behind the last that was linked the latest generation of its key; gives the one before. */
static uint32_t link_next(DtcFlowList *list)
{
	uint32_t flow = list->previous->len;
	struct dtc_flow_key key = get_key(dtc_flow_list_get(list, flow));

	if (list->key_count * 2 >= list->slot_count)
		grow(list);
	uint32_t slot = find_slot(list, &key);
	uint32_t previous = list->slots[slot];
	if (previous == DTC_NONE)
		list->key_count++;
	dtc_table_append(list->previous, &previous);
	list->slots[slot] = flow;
	return previous;
}

void dtc_flow_list_show(DtcFlowList *list, const struct dtc_flow *flows, uint32_t count)
{
	g_assert(!list->flows->len);
	dtc_table_free(list->flows);
	list->flows = dtc_table_new_borrowed(sizeof(*flows), flows, count);
	dtc_table_reserve(list->previous, count);
	while (list->previous->len < count)
		link_next(list);
	dtc_table_settle(list->previous);
}

uint32_t dtc_flow_list_append(DtcFlowList *list, const struct dtc_flow_key *key)
{
	uint32_t id = list->flows->len;
	struct dtc_flow flow = { .source_port = key->source_port,
				 .destination_port = key->destination_port,
				 .protocol = key->protocol,
				 .netns = key->netns,
				 .reverse = id };

	memcpy(flow.source, key->source, 16);
	memcpy(flow.destination, key->destination, 16);
	dtc_table_append(list->flows, &flow);
	uint32_t previous = link_next(list);
	if (previous != DTC_NONE)
		dtc_flow_list_get(list, id)->generation = dtc_flow_list_get(list, previous)->generation + 1;
	return id;
}

void dtc_flow_list_settle(DtcFlowList *list)
{
	dtc_table_settle(list->flows);
	dtc_table_settle(list->previous);
}
