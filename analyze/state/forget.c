/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happened is forgotten, what is the case is not: for who follows a trace from its begin, since what a thread
 * does at some time depends on all before, and asks for a window of it. What is still open (calls, block requests, work
 * items, stays in a guest) stays with the times at which it began, and so does how a connection that is open was made.
 * All before that is one interval of each thread, of which it is unknown what it did.
 */
#include "analyze/state/machine_state.h"

#include <dtrace-chain/bisect.h>

#include <stdlib.h>

#define FOLLOWED_BYTES (UINT64_C(8) << 20)

/* Records that stay: their old numbers, ascending, and what they were. */
struct kept {
	GArray *numbers; /* uint32_t */
	DtcTable *records;
};

static struct kept kept_new(gsize record_size)
{
	return (struct kept){ g_array_new(FALSE, FALSE, sizeof(uint32_t)), dtc_table_new(record_size) };
}

static void kept_clear(struct kept *kept)
{
	g_array_unref(kept->numbers);
	dtc_table_free(kept->records);
}

static void keep(struct kept *kept, uint32_t number, const void *record)
{
	g_array_append_val(kept->numbers, number);
	dtc_table_append_bytes(kept->records, record, kept->records->size);
}

/* The new number, or DTC_NONE. */
static uint32_t rename_kept(const struct kept *kept, uint32_t number)
{
	uint32_t at = DTC_BISECT(i, 0, kept->numbers->len, g_array_index(kept->numbers, uint32_t, i) < number);
	bool is_kept = at < kept->numbers->len && g_array_index(kept->numbers, uint32_t, at) == number;
	return is_kept ? at : DTC_NONE;
}

struct forgetting {
	DtcMachine *machine;
	struct kept calls;  /* struct dtc_call */
	struct kept wakes;  /* struct dtc_wake */
	struct kept blocks; /* struct dtc_block_request */
	struct kept works;  /* struct dtc_work */
	struct kept spans;  /* struct dtc_guest_span */
	GArray *accepts;    /* uint32_t by file: the call that accepted it, or DTC_NONE */
};

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Sorted, each once, without DTC_NONE. */
static void order(GArray *numbers)
{
	guint count = 0;
	uint32_t *at = (uint32_t *)(void *)numbers->data;
	if (numbers->len)
		qsort(at, numbers->len, sizeof(uint32_t), compare_numbers);
	for (guint i = 0; i < numbers->len; i++)
		if (at[i] != DTC_NONE && (!count || at[count - 1] != at[i]))
			at[count++] = at[i];
	g_array_set_size(numbers, count);
}

/* By file: whether a descriptor is open on it. */
static uint8_t *find_open_files(const DtcMachine *m)
{
	uint8_t *is_open = g_new0(uint8_t, m->history->files->len + 1);
	GHashTableIter iter;
	gpointer value;
	g_hash_table_iter_init(&iter, m->fd_tables);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const GArray *fds = ((const struct dtc_fd_table *)value)->fds;
		for (guint i = 0; i < fds->len; i++) {
			uint32_t file = g_array_index(fds, struct dtc_fd, i).file;
			if (file != DTC_NONE)
				is_open[file] = 1;
		}
	}
	return is_open;
}

/* Calls that go on, that may have woken somebody, and those that made the connections that are open: who asks whom. */
static void keep_calls(struct forgetting *f)
{
	const DtcMachine *m = f->machine;
	const DtcTable *calls = m->history->filling->calls;
	g_autofree uint8_t *is_open = find_open_files(m);
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (guint i = 0; i < m->tasks->len; i++)
		if (!DTC_TASK(m, i)->freed)
			g_array_append_val(numbers, DTC_TASK(m, i)->call);
	for (guint i = 0; i < m->cpus->len; i++)
		for (guint k = 0; k < G_N_ELEMENTS(((struct dtc_cpu *)NULL)->acts); k++)
			if (k < g_array_index(m->cpus, struct dtc_cpu, i).act_count)
				g_array_append_val(numbers, g_array_index(m->cpus, struct dtc_cpu, i).acts[k].call);
	for (guint i = 0; i < m->history->files->len; i++)
		if (is_open[i])
			g_array_append_val(numbers, DTC_AT(m->history->files, struct dtc_file, i)->accept);
	for (guint i = 0; i < calls->len; i++) {
		const struct dtc_call *call = DTC_AT(calls, struct dtc_call, i);
		if (call->kind == DTC_CALL_CONNECT && call->file != DTC_NONE && is_open[call->file])
			g_array_append_val(numbers, i);
	}
	order(numbers);
	for (guint i = 0; i < numbers->len; i++) {
		uint32_t number = g_array_index(numbers, uint32_t, i);
		struct dtc_call call = *DTC_AT(calls, struct dtc_call, number);
		if (call.kind == DTC_CALL_POLL) /* for what it returned */
			call.offset = 0;
		keep(&f->calls, number, &call);
	}
}

static void keep_wakes(struct forgetting *f)
{
	const DtcMachine *m = f->machine;
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (guint i = 0; i < m->tasks->len; i++)
		if (!DTC_TASK(m, i)->freed)
			g_array_append_val(numbers, DTC_TASK(m, i)->pending_wake);
	for (guint i = 0; i < m->cpus->len; i++)
		g_array_append_val(numbers, g_array_index(m->cpus, struct dtc_cpu, i).last_wake);
	order(numbers);
	for (guint i = 0; i < numbers->len; i++) {
		uint32_t number = g_array_index(numbers, uint32_t, i);
		struct dtc_wake place;
		keep(&f->wakes, number, dtc_history_read_wake(m->history, number, &place));
	}
}

static void add_block(GArray *numbers, uint32_t request)
{
	g_array_append_val(numbers, request);
}

/* Of a wake that is not in the history. */
static void add_block_of(GArray *numbers, const struct dtc_wake *wake)
{
	if (wake->waker == DTC_WAKER_BLOCK)
		add_block(numbers, wake->ref);
}

static void add_blocks_of_cpu(GArray *numbers, const struct dtc_cpu *cpu)
{
	add_block(numbers, cpu->completed);
	for (guint i = 0; i < cpu->depth; i++)
		add_block(numbers, cpu->stack[i].block);
	if (cpu->sent_count)
		add_block_of(numbers, &cpu->sent);
	for (guint i = 0; i < G_N_ELEMENTS(cpu->acts) && i < cpu->act_count; i++)
		add_block_of(numbers, &cpu->acts[i].wake);
}

/* Requests in flight, and what has completed and is not yet told to who waits for it. */
static void keep_blocks(struct forgetting *f)
{
	const DtcMachine *m = f->machine;
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GHashTableIter iter;
	gpointer value;
	for (guint i = 0; i < m->history->blocks->len; i++)
		if (DTC_AT(m->history->blocks, struct dtc_block_request, i)->complete_ns == DTC_TIME_NONE)
			add_block(numbers, i);
	for (guint i = 0; i < m->cpus->len; i++)
		add_blocks_of_cpu(numbers, &g_array_index(m->cpus, struct dtc_cpu, i));
	for (guint i = 0; i < f->wakes.records->len; i++)
		add_block_of(numbers, DTC_AT(f->wakes.records, struct dtc_wake, i));
	g_hash_table_iter_init(&iter, m->queued_works);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		add_block_of(numbers, value);
	order(numbers);
	for (guint i = 0; i < numbers->len; i++) {
		uint32_t number = g_array_index(numbers, uint32_t, i);
		keep(&f->blocks, number, DTC_AT(m->history->blocks, struct dtc_block_request, number));
	}
}

static void keep_open(struct forgetting *f)
{
	const DtcMachine *m = f->machine;
	g_autoptr(GArray) works = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (guint i = 0; i < m->tasks->len; i++) {
		g_array_append_val(works, DTC_TASK(m, i)->work);
		g_array_append_val(spans, DTC_TASK(m, i)->guest_span);
	}
	order(works);
	order(spans);
	for (guint i = 0; i < works->len; i++) {
		uint32_t number = g_array_index(works, uint32_t, i);
		keep(&f->works, number, DTC_AT(m->history->works, struct dtc_work, number));
	}
	for (guint i = 0; i < spans->len; i++) {
		uint32_t number = g_array_index(spans, uint32_t, i);
		keep(&f->spans, number, DTC_AT(m->history->guest_spans, struct dtc_guest_span, number));
	}
}

/* --- what stayed gets its new numbers --------------------------------------------------------------------------- */

/* A wake that is kept, or may become one. Its packet is gone, and with it which one it was. */
static void rename_ref(const struct forgetting *f, struct dtc_wake *wake)
{
	if (wake->waker == DTC_WAKER_PACKET)
		wake->ref = DTC_NONE;
	else if (wake->waker == DTC_WAKER_BLOCK)
		wake->ref = rename_kept(&f->blocks, wake->ref);
}

static void add_kept(const struct forgetting *f)
{
	DtcHistory *h = f->machine->history;
	for (guint i = 0; i < f->calls.records->len; i++)
		dtc_table_append(h->filling->calls, DTC_AT(f->calls.records, struct dtc_call, i));
	for (guint i = 0; i < f->blocks.records->len; i++)
		dtc_table_append(h->blocks, DTC_AT(f->blocks.records, struct dtc_block_request, i));
	for (guint i = 0; i < f->wakes.records->len; i++) {
		struct dtc_wake wake = *DTC_AT(f->wakes.records, struct dtc_wake, i);
		rename_ref(f, &wake);
		(void)dtc_history_add_wake(h, &wake);
	}
	for (guint i = 0; i < f->works.records->len; i++) {
		struct dtc_work *work = DTC_AT(f->works.records, struct dtc_work, i);
		rename_ref(f, &work->queued);
		dtc_table_append(h->works, work);
	}
	for (guint i = 0; i < f->spans.records->len; i++) {
		const struct dtc_guest_span *span = DTC_AT(f->spans.records, struct dtc_guest_span, i);
		dtc_table_append(h->guest_spans, span);
		for (guint k = 0; k < h->vcpus->len; k++) {
			struct dtc_vcpu *vcpu = &g_array_index(h->vcpus, struct dtc_vcpu, k);
			vcpu->span_count += vcpu->thread == span->thread;
		}
	}
}

/* What a thread did before is unknown; an interval ends where a call begins. calls: those kept, by thread, from *next
 * on. */
static void add_unknown(DtcMachine *m, uint32_t thread, const GArray *calls, guint *next)
{
	const struct dtc_task *task = DTC_TASK(m, thread);
	const struct dtc_thread *t = DTC_THREAD(m, thread);
	struct dtc_interval before = { .begin_ns = t->begin_ns,
				       .thread = thread,
				       .call = DTC_NONE,
				       .ref = DTC_NONE,
				       .cpu = 0xffff,
				       .state = DTC_STATE_UNKNOWN };
	int64_t end_ns = task->freed ? t->end_ns : task->since_ns;
	for (; *next < calls->len; ++*next) {
		const struct dtc_call *call = g_array_index(calls, const struct dtc_call *, *next);
		if (call->thread != thread)
			break;
		before.end_ns = MIN(call->begin_ns, end_ns);
		if (before.end_ns <= before.begin_ns)
			continue;
		dtc_history_add_interval(m->history, &before);
		before.begin_ns = before.end_ns;
	}
	before.end_ns = end_ns;
	if (before.end_ns > before.begin_ns)
		dtc_history_add_interval(m->history, &before);
}

static int compare_calls(const void *a, const void *b)
{
	const struct dtc_call *x = *(const struct dtc_call *const *)a, *y = *(const struct dtc_call *const *)b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void add_all_unknown(const struct forgetting *f)
{
	g_autoptr(GArray) calls = g_array_new(FALSE, FALSE, sizeof(const struct dtc_call *));
	for (guint i = 0; i < f->calls.records->len; i++) {
		const struct dtc_call *call = DTC_AT(f->calls.records, struct dtc_call, i);
		g_array_append_val(calls, call);
	}
	g_array_sort(calls, compare_calls);
	for (guint i = 0, next = 0; i < f->machine->tasks->len; i++)
		add_unknown(f->machine, i, calls, &next);
}

static void rename_task(const struct forgetting *f, struct dtc_task *task)
{
	task->call = rename_kept(&f->calls, task->call);
	task->pending_wake = rename_kept(&f->wakes, task->pending_wake);
	task->work = rename_kept(&f->works, task->work);
	task->guest_span = rename_kept(&f->spans, task->guest_span);
}

static void rename_cpu(const struct forgetting *f, struct dtc_cpu *cpu)
{
	cpu->last_wake = rename_kept(&f->wakes, cpu->last_wake);
	cpu->completed = rename_kept(&f->blocks, cpu->completed);
	for (guint i = 0; i < cpu->depth; i++) {
		cpu->stack[i].packet = DTC_NONE;
		cpu->stack[i].block = rename_kept(&f->blocks, cpu->stack[i].block);
	}
	rename_ref(f, &cpu->sent);
	for (guint i = 0; i < G_N_ELEMENTS(cpu->acts) && i < cpu->act_count; i++) {
		rename_ref(f, &cpu->acts[i].wake);
		cpu->acts[i].call = rename_kept(&f->calls, cpu->acts[i].call);
	}
}

/* The key of what is not kept is no longer known: it completed. */
static void rename_blocks(const struct forgetting *f)
{
	GHashTableIter iter;
	gpointer value;
	g_hash_table_iter_init(&iter, f->machine->blocks);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		uint32_t number = rename_kept(&f->blocks, GPOINTER_TO_UINT(value) - 1);
		if (number == DTC_NONE)
			g_hash_table_iter_remove(&iter);
		else
			g_hash_table_iter_replace(&iter, GUINT_TO_POINTER(number + 1));
	}
}

static void rename_all(const struct forgetting *f)
{
	DtcMachine *m = f->machine;
	GHashTableIter iter;
	gpointer value;
	for (guint i = 0; i < m->tasks->len; i++)
		rename_task(f, DTC_TASK(m, i));
	for (guint i = 0; i < m->cpus->len; i++)
		rename_cpu(f, &g_array_index(m->cpus, struct dtc_cpu, i));
	rename_blocks(f);
	g_hash_table_iter_init(&iter, m->queued_works);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		rename_ref(f, value);
	g_hash_table_remove_all(m->queued); /* packets that are not kept */
	m->last_queued.packet = 0;
	for (guint i = 0; i < f->accepts->len; i++) {
		uint32_t call = g_array_index(f->accepts, uint32_t, i);
		DTC_AT(m->history->files, struct dtc_file, i)->accept = rename_kept(&f->calls, call);
	}
}

void dtc_machine_forget(DtcMachine *m)
{
	struct forgetting f = { .machine = m,
				.calls = kept_new(sizeof(struct dtc_call)),
				.wakes = kept_new(sizeof(struct dtc_wake)),
				.blocks = kept_new(sizeof(struct dtc_block_request)),
				.works = kept_new(sizeof(struct dtc_work)),
				.spans = kept_new(sizeof(struct dtc_guest_span)),
				.accepts = g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
	dtc_machine_place_writes(m);
	for (guint i = 0; i < m->history->files->len; i++)
		g_array_append_val(f.accepts, DTC_AT(m->history->files, struct dtc_file, i)->accept);
	keep_calls(&f);
	keep_wakes(&f);
	keep_blocks(&f);
	keep_open(&f);
	dtc_history_forget(m->history);
	add_kept(&f);
	add_all_unknown(&f);
	rename_all(&f);
	g_array_unref(f.accepts);
	kept_clear(&f.calls);
	kept_clear(&f.wakes);
	kept_clear(&f.blocks);
	kept_clear(&f.works);
	kept_clear(&f.spans);
}

void dtc_machine_follow(DtcMachine *m)
{
	/* what lives grows with the machine, what happened with time */
	guint64 living = (guint64)m->tasks->len * 128 + (guint64)m->history->files->len * 64;
	if (dtc_history_measure_filling(m->history) > MAX(FOLLOWED_BYTES, living * 4))
		dtc_machine_forget(m);
}
