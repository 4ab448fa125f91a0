/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/flow_index.h"

#include <stdbool.h>

#define BITS_MAX 32
/* Of one that has all bits. */
#define PART_WORDS (DTC_FLOW_INDEX_COUNT * BITS_MAX / 64)

DtcFlowIndex *dtc_flow_index_new(DtcSpace *space)
{
	DtcFlowIndex *index = g_new0(DtcFlowIndex, 1);
	index->words = dtc_table_new(sizeof(uint64_t));
	index->parts = dtc_table_new(sizeof(struct dtc_flow_index_part));
	dtc_table_set_space(index->words, space);
	dtc_table_set_space(index->parts, space);
	return index;
}

void dtc_flow_index_free(DtcFlowIndex *index)
{
	if (!index)
		return;
	dtc_table_free(index->ids);
	dtc_table_free(index->words);
	dtc_table_free(index->parts);
	g_free(index);
}

static uint32_t count_parts(uint32_t count)
{
	return count / DTC_FLOW_INDEX_COUNT + (count % DTC_FLOW_INDEX_COUNT != 0);
}

uint32_t *dtc_flow_index_begin(DtcFlowIndex *index, uint32_t count, DtcSpace *scratch)
{
	g_assert(!index->words->len && !index->ids);
	index->ids = dtc_table_new(sizeof(uint32_t));
	dtc_table_set_space(index->ids, scratch);
	dtc_table_extend(index->ids, count);
	return DTC_AT(index->ids, uint32_t, 0);
}

/* Bits from the lowest on, as words that any machine reads alike. */
static void pack_part(const uint32_t *ids, guint count, uint32_t least, guint bits, uint64_t *words)
{
	uint64_t word = 0;
	guint used = 0;

	for (guint i = 0; i < count; i++) {
		uint64_t id = ids[i] - least;
		word |= id << used;
		used += bits;
		if (used < 64)
			continue;
		*words++ = GUINT64_TO_LE(word);
		used -= 64;
		word = used ? id >> (bits - used) : 0;
	}
	if (used)
		*words = GUINT64_TO_LE(word);
}

void dtc_flow_index_pack(DtcFlowIndex *index)
{
	uint32_t count = index->ids->len;
	struct dtc_flow_index_part part = { 0, 0 };

	for (uint32_t k = 0; k < count_parts(count); k++) {
		uint32_t first = k * DTC_FLOW_INDEX_COUNT, most = 0;
		const uint32_t *ids = DTC_AT(index->ids, uint32_t, first);
		uint64_t words[PART_WORDS] = { 0 };
		guint here = MIN(DTC_FLOW_INDEX_COUNT, count - first);
		part.least = UINT32_MAX;
		for (guint i = 0; i < here; i++) {
			part.least = MIN(part.least, ids[i]);
			most = MAX(most, ids[i]);
		}
		dtc_table_append(index->parts, &part);
		guint bits = most > part.least ? BITS_MAX - (guint)__builtin_clz(most - part.least) : 0;
		pack_part(ids, here, part.least, bits, words);
		dtc_table_extend(index->words, bits);
		if (bits) /* else there may be no words yet */
			memcpy(DTC_AT(index->words, uint64_t, part.at), words, bits * sizeof(words[0]));
		part.at += bits;
	}
	part.least = 0;
	dtc_table_append(index->parts, &part);
	dtc_table_set_length(index->words, part.at + 1);
	g_clear_pointer(&index->ids, dtc_table_free);
	dtc_table_settle(index->words);
	dtc_table_settle(index->parts);
}

void dtc_flow_index_save(const DtcFlowIndex *index, DtcImageWriter *writer)
{
	dtc_table_save(index->words, writer, "packets.by_flow");
	dtc_table_save(index->parts, writer, "packets.by_flow_parts");
}

static const char *judge(const DtcFlowIndex *index, uint32_t count, uint32_t packet_count)
{
	const struct dtc_flow_index_part *parts = DTC_AT(index->parts, struct dtc_flow_index_part, 0);
	uint32_t part_count = count_parts(count);

	if (index->parts->len != part_count + 1 || parts[0].at || index->words->len == 0 ||
	    parts[part_count].at != index->words->len - 1)
		return "the packets of flows are not there";
	for (uint32_t i = 0; i < part_count; i++)
		if (parts[i + 1].at < parts[i].at || parts[i + 1].at - parts[i].at > BITS_MAX)
			return "the packets of flows are not there";
	for (uint32_t i = 0; i < count; i++)
		if (dtc_flow_index_get(index, i) >= packet_count)
			return "a packet of a flow is not there";
	return NULL;
}

DtcFlowIndex *dtc_flow_index_load(DtcImage *image, uint32_t count, uint32_t packet_count, GError **error)
{
	gsize word_count, part_count;
	const void *words = dtc_image_get(image, "packets.by_flow", sizeof(uint64_t), &word_count, error);
	const void *parts = words ? dtc_image_get(image, "packets.by_flow_parts", sizeof(struct dtc_flow_index_part),
						  &part_count, error)
				  : NULL;

	if (!parts)
		return NULL;
	g_autoptr(DtcFlowIndex) index = g_new0(DtcFlowIndex, 1);
	index->words = dtc_table_new_borrowed(sizeof(uint64_t), words, (guint)MIN(word_count, G_MAXUINT));
	index->parts =
		dtc_table_new_borrowed(sizeof(struct dtc_flow_index_part), parts, (guint)MIN(part_count, G_MAXUINT));
	const char *wrong = dtc_image_is_far(image) ? NULL : judge(index, count, packet_count);
	if (wrong) {
		dtc_image_refuse(image, error, wrong);
		return NULL;
	}
	return g_steal_pointer(&index);
}
