/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of many owners that come in any order and are read owner by owner: each owner has a chain of blocks that
 * double up to a page. Every record is written once where it belongs, and once more when all are laid in a row.
 *
 * A record is 8 bytes, of which the lower 39 bits are a time and the others are among few. In a block it mostly takes
 * 4: how much later than the one before it it is, and a small number for the rest. Chains are all that a long trace has
 * in the scratch file until it is sealed, and a page costs more to get and to write than to decode.
 */
#pragma once

#include "collect/packets/table.h"

#include <stdint.h>

#define DTC_GROUPED_TIME_BITS 39
/* Of a word in a block; what is above is a number. */
#define DTC_GROUPED_STEP_BITS 23
#define DTC_GROUPED_RESTS (UINT32_C(1) << (32 - DTC_GROUPED_STEP_BITS))

/* One owner's; words are places in blocks. */
struct dtc_grouped {
	uint64_t time; /* of the last record */
	uint32_t at;   /* where the next word goes */
	uint32_t end;  /* of the last block */
	uint32_t count;
	uint32_t first; /* block */
	uint32_t last;	/* block */
	uint32_t spare;
};

typedef struct DtcGrouper {
	DtcTable *words;		   /* uint32_t: blocks, each with its head; private, as all of this */
	GArray *chains;			   /* struct dtc_grouped by owner */
	uint32_t rests[DTC_GROUPED_RESTS]; /* records without their times, by number, which is about their hash */
} DtcGrouper;

DtcGrouper *dtc_grouper_new(void);
void dtc_grouper_free(DtcGrouper *grouper);
/* The same as dtc_grouper_add, and slower: for it. */
uint32_t dtc_grouper_add_any(DtcGrouper *grouper, uint32_t owner, uint64_t record);

static inline uint32_t dtc_grouper_hash(uint32_t rest)
{
	return rest * UINT32_C(0x9e3779b1) >> DTC_GROUPED_STEP_BITS;
}

/* Appends 8 bytes to an owner's; gives how many the owner had before. Owners are small numbers. */
static inline uint32_t dtc_grouper_add(DtcGrouper *grouper, uint32_t owner, uint64_t record)
{
	uint32_t rest = (uint32_t)(record >> DTC_GROUPED_TIME_BITS);
	uint64_t time = record & ((UINT64_C(1) << DTC_GROUPED_TIME_BITS) - 1);
	uint32_t number = dtc_grouper_hash(rest);
	if (G_UNLIKELY(owner >= grouper->chains->len || grouper->rests[number] != rest))
		return dtc_grouper_add_any(grouper, owner, record);
	struct dtc_grouped *chain = &g_array_index(grouper->chains, struct dtc_grouped, owner);
	uint64_t step = time - chain->time;
	if (G_UNLIKELY(chain->at == chain->end || step >> DTC_GROUPED_STEP_BITS))
		return dtc_grouper_add_any(grouper, owner, record);
	chain->time = time;
	*DTC_AT(grouper->words, uint32_t, chain->at++) = number << DTC_GROUPED_STEP_BITS | (uint32_t)step;
	return chain->count++;
}
/* Nobody has any record now. */
void dtc_grouper_clear(DtcGrouper *grouper);
uint32_t dtc_grouper_get_count(const DtcGrouper *grouper, uint32_t owner);
/* Appends all of an owner to a table of records of 8 bytes. */
void dtc_grouper_copy(const DtcGrouper *grouper, uint32_t owner, DtcTable *to);
