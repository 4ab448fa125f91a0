/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/history/grouper.h"

#include "collect/packets/packets.h"

/* Records of a block; the first is small since most threads of a build or a shell are short-lived. */
#define BLOCK_MIN 7
#define BLOCK_MAX 511

/* What stands before a block's records. */
struct head {
	uint32_t next; /* where the next block begins, in words; DTC_NONE: none */
	uint32_t size; /* records that it has room for */
};
_Static_assert(sizeof(struct head) == sizeof(uint64_t), "a block is an array of words");

DtcGrouper *dtc_grouper_new(void)
{
	DtcGrouper *grouper = g_new(DtcGrouper, 1);
	grouper->words = dtc_table_new(sizeof(uint64_t));
	grouper->chains = g_array_new(FALSE, TRUE, sizeof(struct dtc_grouped));
	return grouper;
}

void dtc_grouper_free(DtcGrouper *grouper)
{
	if (!grouper)
		return;
	dtc_table_free(grouper->words);
	g_array_unref(grouper->chains);
	g_free(grouper);
}

void dtc_grouper_clear(DtcGrouper *grouper)
{
	dtc_table_set_length(grouper->words, 0);
	g_array_set_size(grouper->chains, 0);
}

static struct head *get_head(const DtcGrouper *grouper, uint32_t block)
{
	return DTC_AT(grouper->words, struct head, block);
}

static void add_block(DtcGrouper *grouper, struct dtc_grouped *chain)
{
	uint32_t block = grouper->words->len;
	uint32_t size = chain->count ? MIN(get_head(grouper, chain->last)->size * 2 + 1, BLOCK_MAX) : BLOCK_MIN;
	dtc_table_extend(grouper->words, size + 1);
	*get_head(grouper, block) = (struct head){ DTC_NONE, size };
	if (chain->count)
		get_head(grouper, chain->last)->next = block;
	else
		chain->first = block;
	chain->last = block;
	chain->at = block + 1;
	chain->end = chain->at + size;
}

void dtc_grouper_make_room(DtcGrouper *grouper, uint32_t owner)
{
	if (owner >= grouper->chains->len)
		g_array_set_size(grouper->chains, owner + 1);
	struct dtc_grouped *chain = &g_array_index(grouper->chains, struct dtc_grouped, owner);
	if (chain->at == chain->end)
		add_block(grouper, chain);
}

uint32_t dtc_grouper_get_count(const DtcGrouper *grouper, uint32_t owner)
{
	return owner < grouper->chains->len ? g_array_index(grouper->chains, struct dtc_grouped, owner).count : 0;
}

void dtc_grouper_copy(const DtcGrouper *grouper, uint32_t owner, DtcTable *to)
{
	uint32_t left = dtc_grouper_get_count(grouper, owner);
	if (!left)
		return;
	uint32_t block = g_array_index(grouper->chains, struct dtc_grouped, owner).first;
	while (left) {
		const struct head *head = get_head(grouper, block);
		uint32_t count = MIN(left, head->size), at = to->len;
		dtc_table_extend(to, count);
		memcpy(DTC_AT(to, uint64_t, at), head + 1, count * sizeof(uint64_t));
		left -= count;
		block = head->next;
	}
}
