/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/turn_marks.h"

#define CALLS_PER_WORD 64

enum mark { MARK_POLL, MARK_READ, MARKS };

/* What 64 calls are, the first one in the lowest bit. */
struct word {
	uint64_t bits[MARKS];
};

struct DtcTurnMarks {
	const DtcHistory *history;
	uint32_t call_count;
	struct word *words;
	/* By word: 1 once it is filled. Threads that fill the same word write the same bits. */
	gint *is_known;
};

DtcTurnMarks *dtc_turn_marks_new(const DtcHistory *history)
{
	DtcTurnMarks *marks = g_new0(DtcTurnMarks, 1);
	marks->history = history;
	marks->call_count = dtc_history_get_call_count(history);
	gsize count = (gsize)marks->call_count / CALLS_PER_WORD + 1;
	marks->words = g_new0(struct word, count);
	marks->is_known = g_new0(gint, count);
	return marks;
}

void dtc_turn_marks_free(DtcTurnMarks *marks)
{
	if (!marks)
		return;
	g_free(marks->words);
	g_free(marks->is_known);
	g_free(marks);
}

static void fill(DtcTurnMarks *marks, uint32_t index)
{
	struct word word = { { 0, 0 } };
	uint32_t first = index * CALLS_PER_WORD;
	for (uint32_t i = 0; i < CALLS_PER_WORD && i < marks->call_count - first; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(marks->history, first + i, &call_place);
		if (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call))
			word.bits[MARK_POLL] |= (uint64_t)1 << i;
		else if (call->kind == DTC_CALL_READ && call->result > 0)
			word.bits[MARK_READ] |= (uint64_t)1 << i;
	}
	for (guint m = 0; m < MARKS; m++)
		__atomic_store_n(&marks->words[index].bits[m], word.bits[m], __ATOMIC_RELAXED);
	g_atomic_int_set(&marks->is_known[index], 1);
}

static uint64_t get_bits(DtcTurnMarks *marks, uint32_t index, enum mark mark)
{
	if (!g_atomic_int_get(&marks->is_known[index]))
		fill(marks, index);
	return __atomic_load_n(&marks->words[index].bits[mark], __ATOMIC_RELAXED);
}

static uint32_t find_last(DtcTurnMarks *marks, uint32_t begin, uint32_t end, enum mark mark)
{
	if (begin >= end)
		return DTC_NONE;
	g_assert(end <= marks->call_count);
	uint64_t wanted = UINT64_MAX >> (CALLS_PER_WORD - 1 - (end - 1) % CALLS_PER_WORD);
	for (uint32_t index = (end - 1) / CALLS_PER_WORD;; index--, wanted = UINT64_MAX) {
		if (index == begin / CALLS_PER_WORD)
			wanted &= UINT64_MAX << begin % CALLS_PER_WORD;
		uint64_t bits = get_bits(marks, index, mark) & wanted;
		if (bits)
			return index * CALLS_PER_WORD + CALLS_PER_WORD - 1 - (uint32_t)__builtin_clzll(bits);
		if (index == begin / CALLS_PER_WORD)
			return DTC_NONE;
	}
}

uint32_t dtc_turn_marks_find_poll(DtcTurnMarks *marks, uint32_t begin, uint32_t end)
{
	return find_last(marks, begin, end, MARK_POLL);
}

uint32_t dtc_turn_marks_find_read(DtcTurnMarks *marks, uint32_t begin, uint32_t end)
{
	return find_last(marks, begin, end, MARK_READ);
}
