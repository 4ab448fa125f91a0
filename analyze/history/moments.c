/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of a CPU and page faults: a time, a thread, and one bit. How they are packed into 8 bytes, and the eras that
 * such times are in.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

#define AT(array, type, index) (&g_array_index((array), type, (index)))
#define THREAD_UNKNOWN DTC_THREAD_LIMIT
#define TIME_MASK ((UINT64_C(1) << DTC_ERA_BITS) - 1)

/* --- eras ------------------------------------------------------------------------------------------------------- */

int dtc_remark_compare(const void *a, const void *b)
{
	const struct dtc_remark *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void dtc_eras_index(GArray *changes, const uint32_t *first, DtcTable *eras)
{
	g_array_sort(changes, dtc_remark_compare);
	for (guint i = 0; i < changes->len; i++) {
		const struct dtc_remark *change = AT(changes, struct dtc_remark, i);
		const struct dtc_remark *next = i + 1 < changes->len ? change + 1 : NULL;
		const struct dtc_begin_era era = { first[change->owner] + change->place, change->value };
		const struct dtc_begin_era back = { first[change->owner + 1], 0 };
		dtc_table_append(eras, &era);
		/* the next owner begins in the first era again */
		if (!next || (next->owner != change->owner && first[next->owner] + next->place > back.from))
			dtc_table_append(eras, &back);
	}
}

uint32_t dtc_eras_find(const DtcTable *eras, uint32_t index)
{
	uint32_t after = DTC_BISECT(i, 0, eras->len, DTC_AT(eras, struct dtc_begin_era, i)->from <= index);
	return after ? DTC_AT(eras, struct dtc_begin_era, after - 1)->era : 0;
}

void dtc_eras_follow(DtcTable *eras, uint32_t index, uint64_t distance)
{
	const struct dtc_begin_era era = { index, (uint32_t)(distance >> DTC_ERA_BITS) };
	uint32_t last = eras->len ? DTC_AT(eras, struct dtc_begin_era, eras->len - 1)->era : 0;
	if (G_UNLIKELY(era.era != last))
		dtc_table_append(eras, &era);
}

const char *dtc_eras_judge(const DtcTable *eras, uint32_t index, uint32_t record_count)
{
	const struct dtc_begin_era *era = DTC_AT(eras, struct dtc_begin_era, index);
	if (era->from > record_count)
		return "begins behind all records";
	return index && (era - 1)->from > era->from ? "comes before the one before it" : NULL;
}

/* --- filling ---------------------------------------------------------------------------------------------------- */

static struct dtc_moment_record pack(uint64_t distance, uint32_t thread, bool has_flag)
{
	return (struct dtc_moment_record){ .time = distance & TIME_MASK,
					   .thread = MIN(thread, THREAD_UNKNOWN) & THREAD_UNKNOWN,
					   .has_flag = has_flag };
}

void dtc_history_add_cpu(DtcHistory *h)
{
	const struct dtc_last_run none = { .run.begin_ns = DTC_TIME_NONE };
	g_assert(!h->is_sealed);
	g_array_append_val(h->filling->last_runs, none);
}

/* The CPU's last run will not change any more. */
static void write_last(DtcHistory *h, uint32_t cpu)
{
	struct dtc_last_run *last = AT(h->filling->last_runs, struct dtc_last_run, cpu);
	if (last->run.begin_ns == DTC_TIME_NONE)
		return;
	uint64_t distance = dtc_history_measure(h, last->run.begin_ns), word;
	const struct dtc_moment_record record = pack(distance, last->run.thread, last->run.is_missing);
	memcpy(&word, &record, sizeof(word));
	const struct dtc_remark change = { cpu, dtc_grouper_add(h->filling->runs, cpu, word),
					   (uint32_t)(distance >> DTC_ERA_BITS) };
	if (change.value != last->era)
		g_array_append_val(h->filling->run_eras, change);
	last->era = change.value;
}

void dtc_history_add_run(DtcHistory *h, uint32_t cpu, int64_t begin_ns, uint32_t thread)
{
	g_assert(!h->is_sealed);
	write_last(h, cpu);
	AT(h->filling->last_runs, struct dtc_last_run, cpu)->run =
		(struct dtc_run){ .begin_ns = begin_ns, .thread = thread };
}

void dtc_history_mark_missing(DtcHistory *h, uint32_t cpu)
{
	g_assert(!h->is_sealed);
	struct dtc_run *last = &AT(h->filling->last_runs, struct dtc_last_run, cpu)->run;
	if (last->begin_ns == DTC_TIME_NONE || last->thread != DTC_NONE)
		return;
	last->is_missing = 1;
	h->has_missing = true;
}

const struct dtc_run *dtc_history_get_last_run(const DtcHistory *h, uint32_t cpu)
{
	g_assert(!h->is_sealed);
	const struct dtc_run *last = &AT(h->filling->last_runs, struct dtc_last_run, cpu)->run;
	return last->begin_ns == DTC_TIME_NONE ? NULL : last;
}

void dtc_history_add_fault(DtcHistory *h, const struct dtc_fault *fault)
{
	g_assert(!h->is_sealed);
	uint64_t distance = dtc_history_measure(h, fault->time_ns);
	const struct dtc_moment_record record = pack(distance, fault->thread, fault->in_kernel);
	dtc_eras_follow(h->fault_eras, h->faults->len, distance);
	dtc_table_append(h->faults, &record);
}

/* --- sealing ---------------------------------------------------------------------------------------------------- */

void dtc_history_seal_runs(DtcHistory *h)
{
	guint cpu_count = h->filling->last_runs->len;
	g_assert(!h->is_sealed);
	for (guint cpu = 0; cpu <= cpu_count; cpu++) {
		uint32_t first = h->runs->len;
		g_array_append_val(h->run_first, first);
		if (cpu == cpu_count)
			break;
		write_last(h, cpu);
		dtc_grouper_copy(h->filling->runs, cpu, h->runs);
	}
	dtc_eras_index(h->filling->run_eras, AT(h->run_first, uint32_t, 0), h->run_eras);
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

static int64_t unpack_time(const DtcHistory *h, const struct dtc_moment_record *record, const DtcTable *eras,
			   uint32_t index)
{
	uint64_t distance = record->time;
	if (G_UNLIKELY(eras->len > 0))
		distance += (uint64_t)dtc_eras_find(eras, index) << DTC_ERA_BITS;
	return (int64_t)((uint64_t)h->begin_ns + distance);
}

static uint32_t unpack_thread(const struct dtc_moment_record *record)
{
	return record->thread == THREAD_UNKNOWN ? DTC_NONE : record->thread;
}

guint dtc_history_get_cpu_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->run_first->len - 1;
}

uint32_t dtc_history_get_run_count(const DtcHistory *h, guint cpu)
{
	g_assert(h->is_sealed);
	if (cpu >= dtc_history_get_cpu_count(h))
		return 0;
	const uint32_t *first = AT(h->run_first, uint32_t, cpu);
	return first[1] - first[0];
}

struct dtc_run dtc_history_get_run(const DtcHistory *h, guint cpu, uint32_t run)
{
	g_assert(h->is_sealed);
	g_assert(run < dtc_history_get_run_count(h, cpu));
	uint32_t index = *AT(h->run_first, uint32_t, cpu) + run;
	const struct dtc_moment_record *record = DTC_AT(h->runs, struct dtc_moment_record, index);
	return (struct dtc_run){ unpack_time(h, record, h->run_eras, index), unpack_thread(record), record->has_flag };
}

static int64_t read_run_begin(const DtcHistory *h, uint32_t index)
{
	return unpack_time(h, DTC_AT(h->runs, struct dtc_moment_record, index), h->run_eras, index);
}

uint32_t dtc_history_find_run_after(const DtcHistory *h, guint cpu, int64_t time_ns)
{
	g_assert(h->is_sealed);
	if (cpu >= dtc_history_get_cpu_count(h))
		return 0;
	uint32_t first = *AT(h->run_first, uint32_t, cpu), end = *AT(h->run_first, uint32_t, cpu + 1);
	return DTC_BISECT(i, first, end, read_run_begin(h, i) <= time_ns) - first;
}

uint32_t dtc_history_find_run_near(const DtcHistory *h, guint cpu, int64_t time_ns, uint32_t near)
{
	g_assert(h->is_sealed);
	if (cpu >= dtc_history_get_cpu_count(h))
		return 0;
	uint32_t first = *AT(h->run_first, uint32_t, cpu), end = *AT(h->run_first, uint32_t, cpu + 1);
	return DTC_BISECT_NEAR(i, first, end, first + MIN(near, end - first), read_run_begin(h, i) <= time_ns) - first;
}

bool dtc_history_has_missing(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->has_missing;
}

uint32_t dtc_history_get_fault_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->faults->len;
}

struct dtc_fault dtc_history_get_fault(const DtcHistory *h, uint32_t fault)
{
	g_assert(h->is_sealed);
	const struct dtc_moment_record *record = DTC_AT(h->faults, struct dtc_moment_record, fault);
	return (struct dtc_fault){ unpack_time(h, record, h->fault_eras, fault), unpack_thread(record),
				   record->has_flag };
}

/* index counts those of runs, of faults and of wakes, one list behind the other. */
const char *dtc_history_judge_moment_era(const DtcHistory *h, uint32_t index)
{
	const DtcTable *eras[] = { h->run_eras, h->fault_eras, h->wake_eras };
	const DtcTable *records[] = { h->runs, h->faults, h->wakes };
	gsize list = 0;
	while (list + 1 < G_N_ELEMENTS(eras) && index >= eras[list]->len)
		index -= eras[list++]->len;
	return dtc_eras_judge(eras[list], index, records[list]->len);
}
