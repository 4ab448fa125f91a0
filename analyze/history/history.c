/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define AT(array, type, index) (&g_array_index((array), type, (index)))

/* include/linux/interrupt.h */
const char *dtc_softirq_to_string(uint32_t vector)
{
	static const char *const names[] = { "hi",	 "timer",   "net-tx", "net-rx",	 "block",
					     "irq-poll", "tasklet", "sched",  "hrtimer", "rcu" };
	return vector < G_N_ELEMENTS(names) ? names[vector] : "softirq";
}

const char *dtc_state_to_string(enum dtc_state state)
{
	static const char *const names[DTC_STATES_OF_SHARES] = {
		[DTC_STATE_UNKNOWN] = "unknown",
		[DTC_STATE_USER] = "user",
		[DTC_STATE_SYSCALL] = "syscall",
		[DTC_STATE_KERNEL] = "kernel",
		[DTC_STATE_IRQ] = "irq",
		[DTC_STATE_SOFTIRQ] = "softirq",
		[DTC_STATE_RUNQUEUE] = "runqueue",
		[DTC_STATE_PREEMPTED] = "preempted",
		[DTC_STATE_WAIT] = "wait",
		[DTC_STATE_WAIT_DISK] = "wait-uninterruptible",
		[DTC_STATE_STOPPED] = "stopped",
		[DTC_STATE_EXITED] = "exited",
		[DTC_STATE_IDLE] = "idle",
		[DTC_STATE_GUEST] = "guest",
		[DTC_STATE_VM_PREEMPTED] = "vm-preempted",
		[DTC_STATE_VM_EXIT] = "vm-exit",
	};
	return names[state];
}

DtcHistory *dtc_history_new(void)
{
	DtcHistory *h = g_new0(DtcHistory, 1);
	h->begin_ns = h->end_ns = DTC_TIME_NONE;
	h->filling = g_new0(struct dtc_history_filling, 1);
	h->filling->string_chunk = g_string_chunk_new(4096);
	h->filling->strings = g_ptr_array_new();
	h->filling->string_ids = g_hash_table_new(g_str_hash, g_str_equal);
	h->filling->intervals = dtc_grouper_new();
	h->filling->thread_eras = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->filling->eras = g_array_new(FALSE, FALSE, sizeof(struct dtc_remark));
	h->filling->odd_refs = g_array_new(FALSE, FALSE, sizeof(struct dtc_remark));
	h->filling->context_calls = dtc_table_new(sizeof(uint32_t));
	h->filling->runs = dtc_grouper_new();
	h->filling->last_runs = g_array_new(FALSE, FALSE, sizeof(struct dtc_last_run));
	h->filling->run_eras = g_array_new(FALSE, FALSE, sizeof(struct dtc_remark));
	h->string_bytes = dtc_table_new(1);
	h->string_at = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->threads = g_array_new(FALSE, TRUE, sizeof(struct dtc_thread));
	h->tid_previous = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->tid_latest = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->names = dtc_table_new(sizeof(struct dtc_name_record));
	h->name_first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->intervals = dtc_table_new(sizeof(struct dtc_interval_record));
	h->eras = dtc_table_new(sizeof(struct dtc_begin_era));
	h->interval_refs = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->odd_refs = dtc_table_new(sizeof(struct dtc_odd_ref));
	h->wakes = dtc_table_new(sizeof(struct dtc_wake_record));
	h->wake_eras = dtc_table_new(sizeof(struct dtc_begin_era));
	h->faults = dtc_table_new(sizeof(struct dtc_moment_record));
	h->fault_eras = dtc_table_new(sizeof(struct dtc_begin_era));
	h->filling->calls = dtc_table_new(sizeof(struct dtc_call));
	h->calls = dtc_table_new(sizeof(struct dtc_call_record));
	h->odd_calls = dtc_table_new(sizeof(struct dtc_odd_call));
	h->ready = dtc_table_new(sizeof(uint32_t));
	h->files = dtc_table_new(sizeof(struct dtc_file));
	h->file_calls = dtc_table_new(sizeof(uint32_t));
	h->file_call_first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->flow_files = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->blocks = dtc_table_new(sizeof(struct dtc_block_request));
	h->devices = g_array_new(FALSE, FALSE, sizeof(struct dtc_device));
	h->cpu_limits = g_array_new(FALSE, FALSE, sizeof(struct dtc_cpu_limit));
	h->period_ends = dtc_table_new(sizeof(int64_t));
	h->works = dtc_table_new(sizeof(struct dtc_work));
	h->marks = g_array_new(FALSE, FALSE, sizeof(struct dtc_mark));
	h->vcpus = g_array_new(FALSE, FALSE, sizeof(struct dtc_vcpu));
	h->guest_spans = dtc_table_new(sizeof(struct dtc_guest_span));
	h->guest_irqs = dtc_table_new(sizeof(struct dtc_guest_irq));
	h->runs = dtc_table_new(sizeof(struct dtc_moment_record));
	h->run_eras = dtc_table_new(sizeof(struct dtc_begin_era));
	h->run_first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->packets = dtc_packets_new();
	h->contexts = dtc_table_new(sizeof(struct dtc_context_record));
	h->odd_contexts = dtc_table_new(sizeof(struct dtc_odd_context));
	return h;
}

static void free_filling(DtcHistory *h)
{
	if (!h->filling)
		return;
	g_string_chunk_free(h->filling->string_chunk);
	g_ptr_array_unref(h->filling->strings);
	g_hash_table_unref(h->filling->string_ids);
	dtc_grouper_free(h->filling->intervals);
	dtc_table_free(h->filling->calls);
	dtc_table_free(h->filling->context_calls);
	g_array_unref(h->filling->thread_eras);
	g_array_unref(h->filling->eras);
	g_array_unref(h->filling->odd_refs);
	dtc_grouper_free(h->filling->runs);
	g_array_unref(h->filling->last_runs);
	g_array_unref(h->filling->run_eras);
	g_clear_pointer(&h->filling, g_free);
}

static void for_each_table(const DtcHistory *h, void (*call)(DtcTable *))
{
	DtcTable *tables[] = { h->names,	h->files,	h->intervals,  h->wakes,     h->faults,
			       h->calls,	h->file_calls,	h->blocks,     h->works,     h->contexts,
			       h->odd_contexts, h->guest_spans, h->guest_irqs, h->runs,	     h->string_bytes,
			       h->ready,	h->eras,	h->odd_refs,   h->odd_calls, h->run_eras,
			       h->fault_eras,	h->wake_eras,	h->period_ends };
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		call(tables[i]);
}

void dtc_history_free(DtcHistory *h)
{
	if (!h)
		return;
	free_filling(h);
	GArray *arrays[] = { h->threads,    h->tid_previous,  h->tid_latest,	  h->name_first, h->vcpus,
			     h->flow_files, h->marks,	      h->file_call_first, h->devices,	 h->string_at,
			     h->run_first,  h->interval_refs, h->cpu_limits };
	for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
		g_array_unref(arrays[i]);
	for_each_table(h, dtc_table_free);
	dtc_packets_free(h->packets);
	dtc_image_unref(h->image);
	g_free(h);
}

uint32_t dtc_history_add_string(DtcHistory *h, const char *string)
{
	struct dtc_history_filling *filling = h->filling;
	g_assert(!h->is_sealed);
	if (!string)
		return DTC_NONE;
	gpointer id = g_hash_table_lookup(filling->string_ids, string);
	if (id)
		return GPOINTER_TO_UINT(id) - 1;
	filling->string_bytes += strlen(string) + 1;
	if (filling->string_bytes > UINT32_MAX) /* where a string begins has 32 bits: later ones are not known */
		return DTC_NONE;
	char *kept = g_string_chunk_insert(filling->string_chunk, string);
	g_ptr_array_add(filling->strings, kept);
	g_hash_table_insert(filling->string_ids, kept, GUINT_TO_POINTER(filling->strings->len));
	return filling->strings->len - 1;
}

/* Positions by key: first[k] is where the records with key k begin, first[keys] the count. Counting sort's first pass.
 */
static void count_keys(GArray *first, uint32_t keys)
{
	g_array_set_size(first, 0);
	g_array_set_size(first, keys + 2);
}

static void sum_keys(GArray *first)
{
	uint32_t *at = AT(first, uint32_t, 0);
	for (guint i = 1; i < first->len; i++)
		at[i] += at[i - 1];
}

static void group_calls(DtcHistory *h)
{
	/* as long as the trace has calls: not on the heap */
	g_autoptr(DtcTable) table = dtc_table_new_beside(h->filling->calls, sizeof(uint32_t));
	dtc_table_extend(table, h->filling->calls->len);
	uint32_t *renamed = DTC_AT(table, uint32_t, 0);
	dtc_history_seal_calls(h, renamed);
	g_clear_pointer(&h->filling->calls, dtc_table_free);
	dtc_history_seal_contexts(h, renamed);
	for (guint i = 0; i < h->files->len; i++) {
		uint32_t *call = &DTC_AT(h->files, struct dtc_file, i)->accept;
		if (*call != DTC_NONE)
			*call = renamed[*call];
	}
}

static int compare_call_begin(const void *a, const void *b, void *data)
{
	const DtcHistory *h = data;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int64_t x = dtc_history_read_call_begin(h, i), y = dtc_history_read_call_begin(h, j);
	return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

/* Calls of one thread are; a file is mostly one thread's, or one's after the other. */
static bool are_in_order(const DtcHistory *h, const uint32_t *calls, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (dtc_history_read_call_begin(h, calls[i]) < dtc_history_read_call_begin(h, calls[i - 1]))
			return false;
	return true;
}

static void index_file_calls(DtcHistory *h)
{
	count_keys(h->file_call_first, h->files->len);
	uint32_t *at = AT(h->file_call_first, uint32_t, 0);
	for (guint i = 0; i < h->calls->len; i++) {
		uint32_t file = dtc_history_read_call_file(h, i);
		if (file != DTC_NONE)
			at[file + 2]++;
	}
	sum_keys(h->file_call_first);
	dtc_table_set_length(h->file_calls, at[h->files->len + 1]);
	for (guint i = 0; i < h->calls->len; i++) {
		uint32_t file = dtc_history_read_call_file(h, i);
		if (file != DTC_NONE)
			*DTC_AT(h->file_calls, uint32_t, at[file + 1]++) = i;
	}
	/* grouped by thread within a file so far: order by time */
	for (guint i = 0; i < h->files->len; i++) {
		uint32_t *calls = DTC_AT(h->file_calls, uint32_t, at[i]), count = at[i + 1] - at[i];
		if (!are_in_order(h, calls, count))
			g_qsort_with_data(calls, (gint)count, sizeof(uint32_t), compare_call_begin, h);
	}
}

/* g_qsort_with_data is a stable merge sort: the later of two records of one instant stays behind. */
static int compare_name(const void *a, const void *b, void *data)
{
	(void)data;
	const struct dtc_name_record *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int compare_work(const void *a, const void *b, void *data)
{
	(void)data;
	const struct dtc_work *x = a, *y = b;
	if (x->queued.target != y->queued.target)
		return x->queued.target < y->queued.target ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Of a history that has forgotten, those that entered a guest since, in the order of their first entries. */
static void drop_left_vcpus(DtcHistory *h)
{
	guint count = 0;
	for (guint i = 0; i < h->guest_spans->len && count < h->vcpus->len; i++) {
		uint32_t thread = DTC_AT(h->guest_spans, struct dtc_guest_span, i)->thread;
		guint at = 0;
		while (AT(h->vcpus, struct dtc_vcpu, at)->thread != thread)
			at++;
		if (at < count)
			continue;
		const struct dtc_vcpu next = *AT(h->vcpus, struct dtc_vcpu, at);
		*AT(h->vcpus, struct dtc_vcpu, at) = *AT(h->vcpus, struct dtc_vcpu, count);
		*AT(h->vcpus, struct dtc_vcpu, count++) = next;
	}
	g_array_set_size(h->vcpus, count);
}

static void group_guest_spans(DtcHistory *h)
{
	if (h->has_forgotten)
		drop_left_vcpus(h);
	g_autofree uint32_t *vcpu_by_thread = g_new0(uint32_t, h->threads->len + 1);
	uint32_t first = 0;
	for (guint i = 0; i < h->vcpus->len; i++) { /* their counts were kept while filling */
		struct dtc_vcpu *vcpu = AT(h->vcpus, struct dtc_vcpu, i);
		vcpu_by_thread[vcpu->thread] = i;
		vcpu->span_first = first;
		first += vcpu->span_count;
		vcpu->span_count = 0;
	}
	DtcTable *grouped = dtc_table_new(sizeof(struct dtc_guest_span));
	dtc_table_set_length(grouped, h->guest_spans->len);
	for (guint i = 0; i < h->guest_spans->len; i++) {
		const struct dtc_guest_span *from = DTC_AT(h->guest_spans, struct dtc_guest_span, i);
		struct dtc_vcpu *vcpu = AT(h->vcpus, struct dtc_vcpu, vcpu_by_thread[from->thread]);
		*DTC_AT(grouped, struct dtc_guest_span, vcpu->span_first + vcpu->span_count++) = *from;
	}
	/* back to where they grew, which may become the image: a second table would leave the first there */
	if (grouped->len)
		memcpy(h->guest_spans->data, grouped->data, (gsize)grouped->len * grouped->size);
	dtc_table_free(grouped);
}

static void flatten_strings(DtcHistory *h)
{
	const GPtrArray *strings = h->filling->strings;
	for (guint i = 0; i < strings->len; i++) {
		const char *string = g_ptr_array_index(strings, i);
		uint32_t at = h->string_bytes->len;
		gsize size = strlen(string) + 1;
		g_array_append_val(h->string_at, at);
		dtc_table_set_length(h->string_bytes, at + (guint)size);
		memcpy(DTC_AT(h->string_bytes, char, at), string, size);
	}
}

static gint compare_cpu_limits(gconstpointer a, gconstpointer b)
{
	const struct dtc_cpu_limit *x = a, *y = b;
	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : memcmp(x, y, sizeof(*x));
}

/* A second session may dump them again. */
static void order_cpu_limits(GArray *limits)
{
	guint used = 0;

	g_array_sort(limits, compare_cpu_limits);
	for (guint i = 0; i < limits->len; i++)
		if (!i || AT(limits, struct dtc_cpu_limit, i)->pid != AT(limits, struct dtc_cpu_limit, i - 1)->pid)
			*AT(limits, struct dtc_cpu_limit, used++) = *AT(limits, struct dtc_cpu_limit, i);
	g_array_set_size(limits, used);
}

void dtc_history_seal(DtcHistory *h)
{
	g_assert(!h->is_sealed);
	order_cpu_limits(h->cpu_limits);
	group_guest_spans(h);
	dtc_history_seal_intervals(h);
	group_calls(h);
	index_file_calls(h);
	if (h->names->len)
		g_qsort_with_data(h->names->data, (gint)h->names->len, sizeof(struct dtc_name_record), compare_name,
				  NULL);
	if (h->works->len)
		g_qsort_with_data(h->works->data, (gint)h->works->len, sizeof(struct dtc_work), compare_work, NULL);
	count_keys(h->name_first, h->threads->len);
	for (guint i = 0; i < h->names->len; i++)
		(*AT(h->name_first, uint32_t, DTC_AT(h->names, struct dtc_name_record, i)->thread + 1))++;
	sum_keys(h->name_first);
	flatten_strings(h);
	dtc_history_seal_runs(h);
	free_filling(h);
	for_each_table(h, dtc_table_settle);
	h->is_sealed = true;
}

int64_t dtc_history_get_begin_ns(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->begin_ns;
}

int64_t dtc_history_get_end_ns(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->end_ns;
}

const char *dtc_history_get_string(const DtcHistory *h, uint32_t string)
{
	if (!h->is_sealed)
		return string < h->filling->strings->len ? g_ptr_array_index(h->filling->strings, string) : "";
	return string < h->string_at->len ? DTC_AT(h->string_bytes, char, *AT(h->string_at, uint32_t, string)) : "";
}

uint32_t dtc_history_get_thread_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->threads->len;
}

const struct dtc_thread *dtc_history_get_thread(const DtcHistory *h, uint32_t thread)
{
	g_assert(h->is_sealed);
	return AT(h->threads, struct dtc_thread, thread);
}

uint32_t dtc_history_find_thread(const DtcHistory *h, int32_t tid, int64_t time_ns)
{
	if (tid < 0 || (guint)tid >= h->tid_latest->len)
		return DTC_NONE;
	uint32_t thread = *AT(h->tid_latest, uint32_t, tid);
	if (time_ns == DTC_TIME_NONE)
		return thread;
	while (thread != DTC_NONE && AT(h->threads, struct dtc_thread, thread)->begin_ns > time_ns)
		thread = *AT(h->tid_previous, uint32_t, thread);
	return thread;
}

const char *dtc_history_get_comm(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	g_assert(h->is_sealed);
	uint32_t first = *AT(h->name_first, uint32_t, thread), last = *AT(h->name_first, uint32_t, thread + 1);
	if (first == last)
		return "";
	/* the last record that begins at or before time, else the first */
	uint32_t at =
		DTC_BISECT(i, first + 1, last, DTC_AT(h->names, struct dtc_name_record, i)->from_ns <= time_ns) - 1;
	return dtc_history_get_string(h, DTC_AT(h->names, struct dtc_name_record, at)->string);
}

const char *dtc_history_get_process(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	g_assert(h->is_sealed);
	uint32_t leader = AT(h->threads, struct dtc_thread, thread)->leader;
	return dtc_history_get_comm(h, leader == DTC_NONE ? thread : leader, time_ns);
}

uint32_t dtc_history_get_call_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->calls->len;
}

uint32_t dtc_history_find_call(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	g_assert(h->is_sealed);
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t after = DTC_BISECT(i, t->call_first, t->call_first + t->call_count,
				    dtc_history_read_call_begin(h, i) <= time_ns);
	return after == t->call_first ? DTC_NONE : after - 1;
}

uint32_t dtc_history_get_file_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->files->len;
}

const struct dtc_file *dtc_history_get_file(const DtcHistory *h, uint32_t file)
{
	g_assert(h->is_sealed);
	return DTC_AT(h->files, struct dtc_file, file);
}

const uint32_t *dtc_history_get_ready(const DtcHistory *h, uint32_t call, uint32_t *ret_count)
{
	g_assert(h->is_sealed);
	struct dtc_call place;
	uint64_t at = dtc_history_read_call(h, call, &place)->offset;
	*ret_count = (uint32_t)(at >> 32);
	return DTC_AT(h->ready, uint32_t, (uint32_t)at);
}

bool dtc_history_may_be_ready(const DtcHistory *h, uint32_t call, uint32_t file)
{
	uint32_t count;
	const uint32_t *ready = dtc_history_get_ready(h, call, &count);
	for (uint32_t i = 0; i < count; i++)
		if (ready[i] == file || ready[i] == DTC_NONE)
			return true;
	return count == 0;
}

const uint32_t *dtc_history_get_file_calls(const DtcHistory *h, uint32_t file, uint32_t *ret_count)
{
	g_assert(h->is_sealed);
	uint32_t first = *AT(h->file_call_first, uint32_t, file);
	*ret_count = *AT(h->file_call_first, uint32_t, file + 1) - first;
	return DTC_AT(h->file_calls, uint32_t, first);
}

uint32_t dtc_history_find_file_of_flow(const DtcHistory *h, uint32_t flow_out)
{
	g_assert(h->is_sealed);
	return flow_out < h->flow_files->len ? *AT(h->flow_files, uint32_t, flow_out) : DTC_NONE;
}

uint32_t dtc_history_get_block_request_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->blocks->len;
}

const struct dtc_block_request *dtc_history_get_block_request(const DtcHistory *h, uint32_t request)
{
	g_assert(h->is_sealed);
	return DTC_AT(h->blocks, struct dtc_block_request, request);
}

static bool begins_before(const struct dtc_work *work, uint32_t worker, int64_t time_ns)
{
	return work->queued.target < worker || (work->queued.target == worker && work->begin_ns < time_ns);
}

bool dtc_history_is_worker(const DtcHistory *h, uint32_t thread)
{
	g_assert(h->is_sealed);
	uint32_t first = DTC_BISECT(i, 0, h->works->len, DTC_AT(h->works, struct dtc_work, i)->queued.target < thread);
	return first < h->works->len && DTC_AT(h->works, struct dtc_work, first)->queued.target == thread;
}

const struct dtc_work *dtc_history_find_work(const DtcHistory *h, uint32_t worker, int64_t time_ns)
{
	g_assert(h->is_sealed);
	uint32_t after =
		DTC_BISECT(i, 0, h->works->len, begins_before(DTC_AT(h->works, struct dtc_work, i), worker, time_ns));
	const struct dtc_work *work = after ? DTC_AT(h->works, struct dtc_work, after - 1) : NULL;
	return work && work->queued.target == worker && (work->end_ns == DTC_TIME_NONE || time_ns <= work->end_ns)
		       ? work
		       : NULL;
}

uint32_t dtc_history_get_work_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->works->len;
}

const struct dtc_work *dtc_history_get_work(const DtcHistory *h, uint32_t work)
{
	g_assert(h->is_sealed);
	return DTC_AT(h->works, struct dtc_work, work);
}

const char *dtc_history_get_device_name(const DtcHistory *h, uint32_t device)
{
	g_assert(h->is_sealed);
	for (guint i = 0; i < h->devices->len; i++)
		if (AT(h->devices, struct dtc_device, i)->device == device)
			return dtc_history_get_string(h, AT(h->devices, struct dtc_device, i)->name);
	return NULL;
}

uint32_t dtc_history_get_vcpu_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->vcpus->len;
}

const struct dtc_vcpu *dtc_history_get_vcpu(const DtcHistory *h, uint32_t vcpu)
{
	g_assert(h->is_sealed);
	return AT(h->vcpus, struct dtc_vcpu, vcpu);
}

const struct dtc_guest_span *dtc_history_get_guest_span(const DtcHistory *h, uint32_t span)
{
	g_assert(h->is_sealed);
	return DTC_AT(h->guest_spans, struct dtc_guest_span, span);
}

uint32_t dtc_history_get_guest_irq_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->guest_irqs->len;
}

const struct dtc_guest_irq *dtc_history_get_guest_irq(const DtcHistory *h, uint32_t irq)
{
	g_assert(h->is_sealed);
	return DTC_AT(h->guest_irqs, struct dtc_guest_irq, irq);
}

uint32_t dtc_history_get_mark_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->marks->len;
}

const struct dtc_mark *dtc_history_get_mark(const DtcHistory *h, uint32_t mark)
{
	g_assert(h->is_sealed);
	return AT(h->marks, struct dtc_mark, mark);
}

const DtcPackets *dtc_history_get_packets(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->packets;
}
