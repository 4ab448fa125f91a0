/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ids of packets, flow by flow: 64 of them have as many bits each as the largest is more than the smallest. An id
 * is found by its place in that list.
 */
#pragma once

#include "collect/packets/table.h"

#include <stdint.h>

#define DTC_FLOW_INDEX_COUNT 64 /* ids that are packed together; a power of two */

struct dtc_flow_index_part {
	uint32_t least; /* id */
	uint32_t at;	/* word where its ids begin; they have as many bits as it has words */
};
_Static_assert(sizeof(struct dtc_flow_index_part) == 8, "as docs/formats.md has it");

typedef struct DtcFlowIndex {
	DtcTable *words; /* uint64_t; one more than ids need */
	DtcTable *parts; /* struct dtc_flow_index_part; one more, that says where the last one ends */
	DtcTable *ids;	 /* uint32_t, until they are packed; else NULL */
} DtcFlowIndex;

/* It grows in that space; NULL: in files of its own. */
DtcFlowIndex *dtc_flow_index_new(DtcSpace *space);
void dtc_flow_index_free(DtcFlowIndex *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFlowIndex, dtc_flow_index_free)

/* Room for so many ids, which the caller fills, all of them; they are in scratch, or NULL, until the index is packed.
 */
uint32_t *dtc_flow_index_begin(DtcFlowIndex *index, uint32_t count, DtcSpace *scratch);
void dtc_flow_index_pack(DtcFlowIndex *index);

static inline uint32_t dtc_flow_index_get(const DtcFlowIndex *index, uint32_t place)
{
	const struct dtc_flow_index_part *part =
		DTC_AT(index->parts, struct dtc_flow_index_part, place / DTC_FLOW_INDEX_COUNT);
	uint32_t bits = part[1].at - part[0].at, at = place % DTC_FLOW_INDEX_COUNT * bits;
	uint64_t word;
	memcpy(&word, (const char *)DTC_AT(index->words, uint64_t, part->at) + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word) >> at % 8;
	return part->least + (uint32_t)(word & ((UINT64_C(1) << bits) - 1));
}

void dtc_flow_index_save(const DtcFlowIndex *index, DtcImageWriter *writer);
/* Of an image. NULL with DAMAGED: it is not of so many ids, or one is not less than packet_count. */
DtcFlowIndex *dtc_flow_index_load(DtcImage *image, uint32_t count, uint32_t packet_count, GError **error);
