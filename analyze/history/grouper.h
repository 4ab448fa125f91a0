/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of many owners that come in any order and are read owner by owner: each owner has a chain of blocks that
 * double up to a page. Every record is written once where it belongs, and once more when all are laid in a row.
 */
#pragma once

#include "collect/packets/table.h"

#include <stdint.h>

/* One owner's; words are places in blocks. */
struct dtc_grouped {
	uint32_t at;  /* where the next record goes */
	uint32_t end; /* of the last block */
	uint32_t count;
	uint32_t first; /* block */
	uint32_t last;	/* block */
};

typedef struct DtcGrouper {
	DtcTable *words; /* uint64_t: blocks, each with its head; private, as all of this */
	GArray *chains;	 /* struct dtc_grouped by owner */
} DtcGrouper;

DtcGrouper *dtc_grouper_new(void);
void dtc_grouper_free(DtcGrouper *grouper);
/* Makes room for one more record of an owner; for dtc_grouper_add. */
void dtc_grouper_make_room(DtcGrouper *grouper, uint32_t owner);
/* Appends 8 bytes to an owner's; gives how many the owner had before. Owners are small numbers. */
static inline uint32_t dtc_grouper_add(DtcGrouper *grouper, uint32_t owner, uint64_t record)
{
	if (G_UNLIKELY(owner >= grouper->chains->len))
		dtc_grouper_make_room(grouper, owner);
	struct dtc_grouped *chain = &g_array_index(grouper->chains, struct dtc_grouped, owner);
	if (G_UNLIKELY(chain->at == chain->end))
		dtc_grouper_make_room(grouper, owner);
	*DTC_AT(grouper->words, uint64_t, chain->at++) = record;
	return chain->count++;
}
/* Nobody has any record now. */
void dtc_grouper_clear(DtcGrouper *grouper);
uint32_t dtc_grouper_get_count(const DtcGrouper *grouper, uint32_t owner);
/* Appends all of an owner to a table of records of 8 bytes. */
void dtc_grouper_copy(const DtcGrouper *grouper, uint32_t owner, DtcTable *to);
