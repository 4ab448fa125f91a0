/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals, which are half of a history: how they are packed into 8 bytes, and how they are given out whole. What a
 * record leaves out is found where it is anyway: the end in the record that follows, the call and the wake by their
 * times.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

#define AT(array, type, index) (&g_array_index((array), type, (index)))
#define ERA_MASK ((UINT64_C(1) << DTC_ERA_BITS) - 1)

/* --- filling ---------------------------------------------------------------------------------------------------- */

/* Whether find_wake finds it: the first of its target at its time. */
static bool is_found(const DtcHistory *h, uint32_t wake, uint32_t thread, int64_t time_ns)
{
	if (wake >= h->wakes->len)
		return false;
	if (dtc_history_read_wake_target(h, wake) != thread || dtc_history_read_waking_ns(h, wake) != time_ns)
		return false;
	while (wake-- > 0 && dtc_history_read_waking_ns(h, wake) == time_ns)
		if (dtc_history_read_wake_target(h, wake) == thread)
			return false;
	return true;
}

/* The small number for what an interrupt refers to. */
static uint32_t intern_ref(DtcHistory *h, uint32_t ref)
{
	guint count = h->interval_refs->len;
	uint8_t *slot = &h->filling->ref_slots[ref % G_N_ELEMENTS(h->filling->ref_slots)];
	if (*slot && *AT(h->interval_refs, uint32_t, *slot - 1) == ref)
		return *slot;
	for (guint i = 0; i < count; i++)
		if (*AT(h->interval_refs, uint32_t, i) == ref)
			return *slot = (uint8_t)(i + 1);
	if (count + 1 == DTC_REF_WAKE)
		return DTC_REF_ODD;
	g_array_append_val(h->interval_refs, ref);
	return *slot = (uint8_t)(count + 1);
}

static uint32_t pack_ref(DtcHistory *h, const struct dtc_interval *interval)
{
	if (interval->ref == DTC_NONE)
		return 0;
	if (!dtc_state_is_wait(interval->state))
		return intern_ref(h, interval->ref);
	return is_found(h, interval->ref, interval->thread, interval->end_ns) ? DTC_REF_WAKE : DTC_REF_ODD;
}

static uint32_t *get_era(DtcHistory *h, uint32_t thread)
{
	GArray *eras = h->filling->thread_eras;
	if (thread >= eras->len)
		g_array_set_size(eras, thread + 1);
	return AT(eras, uint32_t, thread);
}

void dtc_history_add_interval(DtcHistory *h, const struct dtc_interval *interval)
{
	struct dtc_history_filling *filling = h->filling;
	g_assert(!h->is_sealed);
	uint64_t begin = (uint64_t)interval->begin_ns - (uint64_t)h->begin_ns;
	uint32_t ref = pack_ref(h, interval), era = (uint32_t)(begin >> DTC_ERA_BITS);
	const struct dtc_interval_record record = {
		.begin = begin & ERA_MASK,
		.state = interval->state & 0xf,
		.is_in_call = interval->call != DTC_NONE,
		.cpu = MIN(interval->cpu, DTC_CPU_UNKNOWN) & 0x3fff,
		.ref = ref & 0x3f,
	};
	uint64_t word;
	memcpy(&word, &record, sizeof(word));
	uint32_t place = dtc_grouper_add(filling->intervals, interval->thread, word);
	if (G_UNLIKELY(ref == DTC_REF_ODD)) {
		const struct dtc_remark odd = { interval->thread, place, interval->ref };
		g_array_append_val(filling->odd_refs, odd);
	}
	if (G_UNLIKELY(era != 0) && *get_era(h, interval->thread) != era) {
		const struct dtc_remark change = { interval->thread, place, era };
		g_array_append_val(filling->eras, change);
		*get_era(h, interval->thread) = era;
	}
}

/* --- sealing ---------------------------------------------------------------------------------------------------- */

static void lay_in_row(DtcHistory *h)
{
	uint64_t count = 0;
	for (guint i = 0; i < h->threads->len; i++)
		count += dtc_grouper_get_count(h->filling->intervals, i);
	dtc_table_reserve(h->intervals, (guint)MIN(count, G_MAXUINT));
	for (guint i = 0; i < h->threads->len; i++) {
		struct dtc_thread *thread = AT(h->threads, struct dtc_thread, i);
		thread->interval_first = h->intervals->len;
		thread->interval_count = dtc_grouper_get_count(h->filling->intervals, i);
		dtc_grouper_copy(h->filling->intervals, i, h->intervals);
	}
}

static void index_eras(DtcHistory *h)
{
	guint count = h->threads->len;
	g_autofree uint32_t *first = g_new(uint32_t, count + 1);
	if (!h->filling->eras->len)
		return;
	for (guint i = 0; i < count; i++)
		first[i] = AT(h->threads, struct dtc_thread, i)->interval_first;
	first[count] = h->intervals->len;
	dtc_eras_index(h->filling->eras, first, h->eras);
}

static void index_odd_refs(DtcHistory *h)
{
	GArray *remarks = h->filling->odd_refs;
	g_array_sort(remarks, dtc_remark_compare);
	for (guint i = 0; i < remarks->len; i++) {
		const struct dtc_remark *remark = AT(remarks, struct dtc_remark, i);
		const struct dtc_thread *thread = AT(h->threads, struct dtc_thread, remark->owner);
		const struct dtc_odd_ref odd = { thread->interval_first + remark->place, remark->value };
		dtc_table_append(h->odd_refs, &odd);
	}
}

void dtc_history_seal_intervals(DtcHistory *h)
{
	g_assert(!h->is_sealed);
	if (!h->filling->intervals)
		return;
	lay_in_row(h);
	index_eras(h);
	index_odd_refs(h);
	g_clear_pointer(&h->filling->intervals, dtc_grouper_free);
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

static const struct dtc_interval_record *get_record(const DtcHistory *h, uint32_t interval)
{
	return DTC_AT(h->intervals, struct dtc_interval_record, interval);
}

static int64_t get_begin_ns(const DtcHistory *h, uint32_t interval)
{
	uint64_t begin = get_record(h, interval)->begin;
	if (G_UNLIKELY(h->eras->len > 0))
		begin += (uint64_t)dtc_eras_find(h->eras, interval) << DTC_ERA_BITS;
	return (int64_t)((uint64_t)h->begin_ns + begin);
}

/* The first wake of the thread at that time, or DTC_NONE. */
static uint32_t find_wake(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	uint32_t count = h->wakes->len;
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_read_waking_ns(h, i) < time_ns);
	for (uint32_t i = first; i < count; i++) {
		if (dtc_history_read_waking_ns(h, i) != time_ns)
			break;
		if (dtc_history_read_wake_target(h, i) == thread)
			return i;
	}
	return DTC_NONE;
}

static uint32_t find_odd_ref(const DtcHistory *h, uint32_t interval)
{
	const DtcTable *odd = h->odd_refs;
	uint32_t at = DTC_BISECT(i, 0, odd->len, DTC_AT(odd, struct dtc_odd_ref, i)->interval < interval);
	const struct dtc_odd_ref *found = at < odd->len ? DTC_AT(odd, struct dtc_odd_ref, at) : NULL;
	return found && found->interval == interval ? found->ref : DTC_NONE;
}

static uint32_t unpack_ref(const DtcHistory *h, const struct dtc_interval *interval, uint32_t ref)
{
	if (ref == 0)
		return DTC_NONE;
	if (ref == DTC_REF_WAKE)
		return find_wake(h, interval->thread, interval->end_ns);
	if (ref == DTC_REF_ODD)
		return find_odd_ref(h, interval->index);
	return ref <= h->interval_refs->len ? *AT(h->interval_refs, uint32_t, ref - 1) : DTC_NONE;
}

/* What a record says by itself, and the one that follows. */
static inline void unpack_plain(const DtcHistory *h, const struct dtc_thread *thread, struct dtc_interval *place)
{
	const struct dtc_interval_record *record = get_record(h, place->index);
	bool is_last = place->index - thread->interval_first + 1 == thread->interval_count;
	place->end_ns = is_last ? thread->end_ns : get_begin_ns(h, place->index + 1);
	place->cpu = record->cpu == DTC_CPU_UNKNOWN ? 0xffff : (uint16_t)record->cpu;
	place->state = record->state;
}

/* What it refers to; last_call is known. */
static void unpack_refs(const DtcHistory *h, struct dtc_interval *place)
{
	const struct dtc_interval_record *record = get_record(h, place->index);
	place->ref = unpack_ref(h, place, record->ref);
	place->call = record->is_in_call ? place->last_call : DTC_NONE;
}

/* From the last call that is known on. */
static void follow_calls(const DtcHistory *h, const struct dtc_thread *thread, struct dtc_interval *place)
{
	uint32_t call = place->last_call == DTC_NONE ? thread->call_first : place->last_call + 1;
	for (; call - thread->call_first < thread->call_count; call++) {
		if (dtc_history_read_call_begin(h, call) > place->begin_ns)
			break;
		place->last_call = call;
	}
}

static bool step(const DtcHistory *h, const struct dtc_thread *thread, struct dtc_interval *place)
{
	if (place->index - thread->interval_first + 1 >= thread->interval_count)
		return false;
	place->begin_ns = place->end_ns;
	place->index++;
	unpack_plain(h, thread, place);
	return true;
}

const struct dtc_interval *dtc_history_get_interval(const DtcHistory *h, uint32_t thread, uint32_t interval,
						    struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	*place = (struct dtc_interval){ .begin_ns = get_begin_ns(h, interval), .thread = thread, .index = interval };
	place->last_call = dtc_history_find_call(h, thread, place->begin_ns);
	unpack_plain(h, AT(h->threads, struct dtc_thread, thread), place);
	unpack_refs(h, place);
	return place;
}

const struct dtc_interval *dtc_history_get_next_interval(const DtcHistory *h, struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *thread = AT(h->threads, struct dtc_thread, place->thread);
	if (!step(h, thread, place))
		return NULL;
	follow_calls(h, thread, place);
	unpack_refs(h, place);
	return place;
}

const struct dtc_interval *dtc_history_get_next_plain(const DtcHistory *h, struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	place->call = place->ref = DTC_NONE;
	return step(h, AT(h->threads, struct dtc_thread, place->thread), place) ? place : NULL;
}

static inline uint64_t get_word(const DtcHistory *h, uint32_t interval)
{
	uint64_t word;
	memcpy(&word, get_record(h, interval), sizeof(word));
	return word;
}

static inline uint64_t make_word(struct dtc_interval_record record)
{
	uint64_t word;
	memcpy(&word, &record, sizeof(word));
	return word;
}

/* A field of a record's word: where this compiler lays it, its mask says. */
static inline uint64_t get_field(uint64_t word, uint64_t mask)
{
	return (word & mask) >> __builtin_ctzll(mask);
}

/* A record is read as one word, and not once for each of its fields. */
const struct dtc_interval *dtc_history_add_times(const DtcHistory *h, struct dtc_interval *place, int64_t begin_ns,
						 int64_t end_ns, struct dtc_state_times *times)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *thread = AT(h->threads, struct dtc_thread, place->thread);
	const uint64_t state_mask = make_word((struct dtc_interval_record){ .state = 0xf });
	const uint64_t begin_mask = make_word((struct dtc_interval_record){ .begin = ERA_MASK });
	uint64_t cpu_mask = 0, cpu = 0;
	if (times->cpu != DTC_NONE) {
		cpu_mask = make_word((struct dtc_interval_record){ .cpu = DTC_CPU_UNKNOWN });
		cpu = make_word((struct dtc_interval_record){ .cpu = times->cpu & DTC_CPU_UNKNOWN });
	}
	uint32_t last = thread->interval_first + thread->interval_count - 1, at = place->index;
	uint32_t states = times->cpu == DTC_NONE || times->cpu < DTC_CPU_UNKNOWN ? times->states : 0;
	int64_t at_ns = place->begin_ns, from_ns = begin_ns, next_ns = place->end_ns, base_ns = h->begin_ns;
	bool has_eras = h->eras->len > 0, is_other;
	for (uint64_t word = get_word(h, at), next = 0;; word = next) {
		guint state = (guint)get_field(word, state_mask);
		is_other = !(states >> state & 1) || (word & cpu_mask) != cpu;
		if (is_other)
			break;
		times->ns[state] += MIN(next_ns, end_ns) - from_ns;
		if (at == last || next_ns >= end_ns)
			break;
		at_ns = from_ns = next_ns;
		next = get_word(h, ++at);
		if (at == last)
			next_ns = thread->end_ns;
		else if (G_LIKELY(!has_eras))
			next_ns = base_ns + (int64_t)get_field(get_word(h, at + 1), begin_mask);
		else
			next_ns = get_begin_ns(h, at + 1);
	}
	place->index = at;
	place->begin_ns = at_ns;
	place->call = place->ref = DTC_NONE;
	unpack_plain(h, thread, place);
	return is_other ? place : NULL;
}

void dtc_history_fill_interval(const DtcHistory *h, struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	if (place->last_call == DTC_NONE)
		place->last_call = dtc_history_find_call(h, place->thread, place->begin_ns);
	else
		follow_calls(h, AT(h->threads, struct dtc_thread, place->thread), place);
	unpack_refs(h, place);
}

uint32_t dtc_history_find_interval_after(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t first = t->interval_first, end = first + t->interval_count;
	if (first == end || t->end_ns <= time_ns)
		return end;
	return DTC_BISECT(i, first + 1, end, get_begin_ns(h, i) <= time_ns) - 1;
}

const struct dtc_interval *dtc_history_get_interval_after(const DtcHistory *h, uint32_t thread, int64_t time_ns,
							  struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t index = dtc_history_find_interval_after(h, thread, time_ns);
	return index - t->interval_first < t->interval_count ? dtc_history_get_interval(h, thread, index, place) : NULL;
}

const struct dtc_interval *dtc_history_get_plain_after(const DtcHistory *h, uint32_t thread, int64_t time_ns,
						       struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t index = dtc_history_find_interval_after(h, thread, time_ns);
	if (index - t->interval_first >= t->interval_count)
		return NULL;
	*place = (struct dtc_interval){ .begin_ns = get_begin_ns(h, index),
					.thread = thread,
					.call = DTC_NONE,
					.ref = DTC_NONE,
					.index = index,
					.last_call = DTC_NONE };
	unpack_plain(h, t, place);
	return place;
}

const struct dtc_interval *dtc_history_find_interval_before(const DtcHistory *h, uint32_t thread, int64_t time_ns,
							    struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t first = t->interval_first, end = first + t->interval_count;
	if (time_ns > t->end_ns)
		return NULL;
	uint32_t after = DTC_BISECT(i, first, end, get_begin_ns(h, i) < time_ns);
	return after == first ? NULL : dtc_history_get_interval(h, thread, after - 1, place);
}

const struct dtc_interval *dtc_history_find_plain_near(const DtcHistory *h, uint32_t thread, int64_t time_ns,
						       struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t first = t->interval_first, end = first + t->interval_count;
	uint32_t near = place->thread == thread ? place->index + 1 : first + t->interval_count / 2;
	if (time_ns > t->end_ns)
		return NULL;
	uint32_t after = DTC_BISECT_NEAR(i, first, end, near, get_begin_ns(h, i) < time_ns);
	if (after == first)
		return NULL;
	*place = (struct dtc_interval){ .begin_ns = get_begin_ns(h, after - 1),
					.thread = thread,
					.call = DTC_NONE,
					.ref = DTC_NONE,
					.index = after - 1,
					.last_call = DTC_NONE };
	unpack_plain(h, t, place);
	return place;
}

/* The thread's last call that began at or before time, or DTC_NONE; near was one of its calls that did, or none. */
static uint32_t find_call_near(const DtcHistory *h, const struct dtc_thread *t, uint32_t near, int64_t time_ns)
{
	uint32_t first = t->call_first, end = first + t->call_count;
	uint32_t expected = near == DTC_NONE ? first : near + 1;
	uint32_t after = DTC_BISECT_NEAR(i, first, end, expected, dtc_history_read_call_begin(h, i) <= time_ns);
	return after == first ? DTC_NONE : after - 1;
}

const struct dtc_interval *dtc_history_find_interval_near(const DtcHistory *h, uint32_t thread, int64_t time_ns,
							  struct dtc_interval *place)
{
	g_assert(h->is_sealed);
	if (place->thread != thread)
		return dtc_history_find_interval_before(h, thread, time_ns, place);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t first = t->interval_first, end = first + t->interval_count;
	if (time_ns > t->end_ns)
		return NULL;
	uint32_t after = DTC_BISECT_NEAR(i, first, end, place->index, get_begin_ns(h, i) < time_ns);
	if (after == first)
		return NULL;
	if (after - 1 == place->index)
		return place;
	place->index = after - 1;
	place->begin_ns = get_begin_ns(h, place->index);
	place->last_call = find_call_near(h, t, place->last_call, place->begin_ns);
	unpack_plain(h, t, place);
	unpack_refs(h, place);
	return place;
}

const char *dtc_history_judge_odd_ref(const DtcHistory *h, uint32_t index)
{
	const struct dtc_odd_ref *odd = DTC_AT(h->odd_refs, struct dtc_odd_ref, index);
	if (odd->interval >= h->intervals->len || get_record(h, odd->interval)->ref != DTC_REF_ODD)
		return "its interval has none";
	return index && (odd - 1)->interval >= odd->interval ? "comes before the one before it" : NULL;
}
