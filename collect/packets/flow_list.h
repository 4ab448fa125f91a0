/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flows of a node, and the one that a packet's ends are found under: one open-addressing table maps a key (ends,
 * ports, protocol, namespace) to the flow of its latest generation; earlier generations hang behind it in a chain.
 */
#pragma once

#include "collect/packets/packets.h"
#include "collect/packets/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct dtc_flow_key {
	const uint8_t *source; /* 16 bytes each, borrowed */
	const uint8_t *destination;
	uint16_t source_port;
	uint16_t destination_port;
	uint16_t netns;
	uint8_t protocol;
};

typedef struct DtcFlowList {
	DtcTable *flows;     /* struct dtc_flow */
	DtcTable *previous;  /* uint32_t: of each flow the generation before, or DTC_NONE */
	uint32_t *slots;     /* open addressing, DTC_NONE: free; value: flow of the latest generation */
	uint32_t slot_count; /* power of two */
	uint32_t key_count;
	uint32_t recent_slots[2]; /* where keys were found last, by which port is larger */
	uint64_t seed;		  /* addresses come from foreign files: no one shall choose the collisions */
} DtcFlowList;

DtcFlowList *dtc_flow_list_new(void);
void dtc_flow_list_free(DtcFlowList *list);
/* Flows grow in one space, what is not kept of them in the other. While there are none. */
void dtc_flow_list_set_spaces(DtcFlowList *list, DtcSpace *space, DtcSpace *scratch);
/* Shows so many flows that stay where they are, and must outlive it; generations follow each other. While it is empty.
 */
void dtc_flow_list_show(DtcFlowList *list, const struct dtc_flow *flows, uint32_t count);
/* A new flow, its own reverse, of the generation behind the latest of its key; gives its id. */
uint32_t dtc_flow_list_append(DtcFlowList *list, const struct dtc_flow_key *key);
/* No more is to come. */
void dtc_flow_list_settle(DtcFlowList *list);

/* The latest generation, or DTC_NONE. */
uint32_t dtc_flow_list_find(const DtcFlowList *list, const struct dtc_flow_key *key);
/* The same, and its slot, or the one where it belongs. */
uint32_t dtc_flow_list_find_anew(const DtcFlowList *list, const struct dtc_flow_key *key, uint32_t *ret_slot);

static inline bool dtc_flow_has_key(const struct dtc_flow *flow, const struct dtc_flow_key *key)
{
	return flow->source_port == key->source_port && flow->destination_port == key->destination_port &&
	       flow->protocol == key->protocol && flow->netns == key->netns &&
	       memcmp(flow->source, key->source, 16) == 0 && memcmp(flow->destination, key->destination, 16) == 0;
}

/* Of a list that shows another's flows they are not written. */
static inline struct dtc_flow *dtc_flow_list_get(const DtcFlowList *list, uint32_t flow)
{
	return DTC_AT(list->flows, struct dtc_flow, flow);
}

/*
 * As dtc_flow_list_find, for each packet: bulk goes to and fro on one connection. A key is in one slot, wherever that
 * is by now.
 */
static inline uint32_t dtc_flow_list_find_again(DtcFlowList *list, const struct dtc_flow_key *key)
{
	uint32_t *slot = &list->recent_slots[key->source_port < key->destination_port];
	uint32_t flow = list->slots[*slot];

	return flow != DTC_NONE && dtc_flow_has_key(dtc_flow_list_get(list, flow), key)
		       ? flow
		       : dtc_flow_list_find_anew(list, key, slot);
}

/* The generation before, or DTC_NONE. */
static inline uint32_t dtc_flow_list_get_previous(const DtcFlowList *list, uint32_t flow)
{
	return *DTC_AT(list->previous, uint32_t, flow);
}
