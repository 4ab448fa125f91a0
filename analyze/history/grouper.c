/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/history/grouper.h"

#include "collect/packets/packets.h"

/* Words of a block; the first is small since most threads of a build or a shell are short-lived. */
#define BLOCK_MIN 6
#define BLOCK_MAX 1022
/* Words that a block's head takes. */
#define HEAD 2
/* The number of a record that is not in the word, but whole in the two that follow. */
#define NUMBER_WHOLE (DTC_GROUPED_RESTS - 1)
#define TIME_MASK ((UINT64_C(1) << DTC_GROUPED_TIME_BITS) - 1)
#define NO_REST UINT32_MAX /* a rest is shorter */
#define PLACES 8	   /* that a rest can have */

/* What stands before a block's words. */
struct head {
	uint32_t next; /* where the next block begins, in words; DTC_NONE: none */
	uint32_t size; /* words that it has room for */
};
_Static_assert(sizeof(struct head) == HEAD * sizeof(uint32_t), "a block is an array of words");

static void forget_rests(DtcGrouper *grouper)
{
	for (guint i = 0; i < DTC_GROUPED_RESTS; i++)
		grouper->rests[i] = NO_REST;
}

DtcGrouper *dtc_grouper_new(void)
{
	DtcGrouper *grouper = g_new(DtcGrouper, 1);
	grouper->words = dtc_table_new(sizeof(uint32_t));
	grouper->chains = g_array_new(FALSE, TRUE, sizeof(struct dtc_grouped));
	forget_rests(grouper);
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
	forget_rests(grouper);
}

static struct head *get_head(const DtcGrouper *grouper, uint32_t block)
{
	return (struct head *)DTC_AT(grouper->words, uint32_t, block);
}

static void add_block(DtcGrouper *grouper, struct dtc_grouped *chain)
{
	uint32_t block = grouper->words->len;
	uint32_t size = chain->count ? MIN(get_head(grouper, chain->last)->size * 2 + HEAD, BLOCK_MAX) : BLOCK_MIN;
	dtc_table_extend(grouper->words, size + HEAD);
	*get_head(grouper, block) = (struct head){ DTC_NONE, size };
	if (chain->end)
		get_head(grouper, chain->last)->next = block;
	else
		chain->first = block;
	chain->last = block;
	chain->at = block + HEAD;
	chain->end = chain->at + size;
}

static void add_word(DtcGrouper *grouper, struct dtc_grouped *chain, uint32_t word)
{
	if (chain->at == chain->end)
		add_block(grouper, chain);
	*DTC_AT(grouper->words, uint32_t, chain->at++) = word;
}

/* Where it is, or can be, not far from where it is looked for first; NUMBER_WHOLE: others are there. */
static uint32_t find_number(DtcGrouper *grouper, uint32_t rest)
{
	uint32_t first = dtc_grouper_hash(rest);
	for (uint32_t i = 0; i < PLACES; i++) {
		uint32_t number = (first + i) % DTC_GROUPED_RESTS;
		if (number == NUMBER_WHOLE)
			continue;
		if (grouper->rests[number] == NO_REST)
			grouper->rests[number] = rest;
		if (grouper->rests[number] == rest)
			return number;
	}
	return NUMBER_WHOLE;
}

uint32_t dtc_grouper_add_any(DtcGrouper *grouper, uint32_t owner, uint64_t record)
{
	if (owner >= grouper->chains->len)
		g_array_set_size(grouper->chains, owner + 1);
	struct dtc_grouped *chain = &g_array_index(grouper->chains, struct dtc_grouped, owner);
	uint64_t time = record & TIME_MASK, step = time - chain->time;
	uint32_t number = find_number(grouper, (uint32_t)(record >> DTC_GROUPED_TIME_BITS));
	if (step >> DTC_GROUPED_STEP_BITS || number == NUMBER_WHOLE) {
		add_word(grouper, chain, NUMBER_WHOLE << DTC_GROUPED_STEP_BITS);
		add_word(grouper, chain, (uint32_t)record);
		add_word(grouper, chain, (uint32_t)(record >> 32));
	} else {
		add_word(grouper, chain, number << DTC_GROUPED_STEP_BITS | (uint32_t)step);
	}
	chain->time = time;
	return chain->count++;
}

uint32_t dtc_grouper_get_count(const DtcGrouper *grouper, uint32_t owner)
{
	return owner < grouper->chains->len ? g_array_index(grouper->chains, struct dtc_grouped, owner).count : 0;
}

/* A walk along a chain, word by word. */
struct walk {
	const DtcGrouper *grouper;
	const uint32_t *at, *end;
	uint32_t next; /* block */
};

static uint32_t take_word(struct walk *walk)
{
	if (walk->at == walk->end) {
		const struct head *head = get_head(walk->grouper, walk->next);
		walk->next = head->next;
		walk->at = (const uint32_t *)(head + 1);
		walk->end = walk->at + head->size;
	}
	return *walk->at++;
}

void dtc_grouper_copy(const DtcGrouper *grouper, uint32_t owner, DtcTable *to)
{
	uint32_t count = dtc_grouper_get_count(grouper, owner), first = to->len;
	uint64_t time = 0;
	if (!count)
		return;
	struct walk walk = { .grouper = grouper,
			     .next = g_array_index(grouper->chains, struct dtc_grouped, owner).first };
	dtc_table_extend(to, count);
	uint64_t *records = DTC_AT(to, uint64_t, first);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t word = take_word(&walk), number = word >> DTC_GROUPED_STEP_BITS;
		if (number == NUMBER_WHOLE) {
			records[i] = take_word(&walk);
			records[i] |= (uint64_t)take_word(&walk) << 32;
			time = records[i] & TIME_MASK;
		} else {
			time += word & ((UINT32_C(1) << DTC_GROUPED_STEP_BITS) - 1);
			records[i] = (uint64_t)grouper->rests[number] << DTC_GROUPED_TIME_BITS | time;
		}
	}
}
