/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/history/records.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT(array, type, index) (&g_array_index((array), type, (index)))

const char *dtc_state_to_string(enum dtc_state state)
{
	static const char *const names[DTC_STATES] = {
		[DTC_STATE_UNKNOWN] = "unknown",   [DTC_STATE_USER] = "user",
		[DTC_STATE_SYSCALL] = "syscall",   [DTC_STATE_KERNEL] = "kernel",
		[DTC_STATE_IRQ] = "irq",	   [DTC_STATE_SOFTIRQ] = "softirq",
		[DTC_STATE_RUNQUEUE] = "runqueue", [DTC_STATE_PREEMPTED] = "preempted",
		[DTC_STATE_WAIT] = "wait",	   [DTC_STATE_WAIT_DISK] = "wait-uninterruptible",
		[DTC_STATE_STOPPED] = "stopped",   [DTC_STATE_EXITED] = "exited",
		[DTC_STATE_IDLE] = "idle",
	};
	return names[state];
}

DtcHistory *dtc_history_new(void)
{
	DtcHistory *h = g_new0(DtcHistory, 1);
	h->begin_ns = h->end_ns = DTC_TIME_NONE;
	h->string_chunk = g_string_chunk_new(4096);
	h->strings = g_ptr_array_new();
	h->string_ids = g_hash_table_new(g_str_hash, g_str_equal);
	h->threads = g_array_new(FALSE, TRUE, sizeof(struct dtc_thread));
	h->tid_previous = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->tid_latest = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->names = dtc_table_new(sizeof(struct dtc_name_record));
	h->name_first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->intervals = dtc_table_new(sizeof(struct dtc_interval));
	h->wakes = dtc_table_new(sizeof(struct dtc_wake));
	h->faults = dtc_table_new(sizeof(struct dtc_fault));
	h->calls = dtc_table_new(sizeof(struct dtc_call));
	h->files = g_array_new(FALSE, TRUE, sizeof(struct dtc_file));
	h->file_calls = dtc_table_new(sizeof(uint32_t));
	h->file_call_first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	h->flow_files = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	h->blocks = dtc_table_new(sizeof(struct dtc_block_request));
	h->devices = g_array_new(FALSE, FALSE, sizeof(struct dtc_device));
	h->works = dtc_table_new(sizeof(struct dtc_work));
	h->marks = g_array_new(FALSE, FALSE, sizeof(struct dtc_mark));
	h->vcpus = g_array_new(FALSE, FALSE, sizeof(struct dtc_vcpu));
	h->guest_spans = dtc_table_new(sizeof(struct dtc_guest_span));
	h->guest_irqs = dtc_table_new(sizeof(struct dtc_guest_irq));
	h->runs = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	h->packets = dtc_packets_new();
	h->contexts = dtc_table_new(sizeof(struct dtc_packet_context));
	return h;
}

void dtc_history_free(DtcHistory *h)
{
	if (!h)
		return;
	g_string_chunk_free(h->string_chunk);
	g_ptr_array_unref(h->strings);
	g_hash_table_unref(h->string_ids);
	GArray *arrays[] = { h->threads, h->tid_previous, h->tid_latest, h->name_first,	     h->files,
			     h->vcpus,	 h->flow_files,	  h->marks,	 h->file_call_first, h->devices };
	for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
		g_array_unref(arrays[i]);
	DtcTable *tables[] = { h->names,  h->intervals, h->wakes,    h->faults,	     h->calls,	   h->file_calls,
			       h->blocks, h->works,	h->contexts, h->guest_spans, h->guest_irqs };
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		dtc_table_free(tables[i]);
	g_ptr_array_unref(h->runs);
	dtc_packets_free(h->packets);
	g_free(h);
}

uint32_t dtc_history_add_string(DtcHistory *h, const char *string)
{
	if (!string)
		return DTC_NONE;
	gpointer id = g_hash_table_lookup(h->string_ids, string);
	if (id)
		return GPOINTER_TO_UINT(id) - 1;
	char *kept = g_string_chunk_insert(h->string_chunk, string);
	g_ptr_array_add(h->strings, kept);
	g_hash_table_insert(h->string_ids, kept, GUINT_TO_POINTER(h->strings->len));
	return h->strings->len - 1;
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

static void group_intervals(DtcHistory *h, GArray *first)
{
	count_keys(first, h->threads->len);
	uint32_t *at = AT(first, uint32_t, 0);
	for (guint i = 0; i < h->intervals->len; i++)
		at[DTC_AT(h->intervals, struct dtc_interval, i)->thread + 2]++;
	sum_keys(first);
	DtcTable *grouped = dtc_table_new(sizeof(struct dtc_interval));
	dtc_table_set_length(grouped, h->intervals->len);
	for (guint i = 0; i < h->intervals->len; i++) {
		const struct dtc_interval *from = DTC_AT(h->intervals, struct dtc_interval, i);
		*DTC_AT(grouped, struct dtc_interval, at[from->thread + 1]++) = *from;
	}
	dtc_table_free(h->intervals);
	h->intervals = grouped;
	for (guint i = 0; i < h->threads->len; i++) {
		struct dtc_thread *thread = AT(h->threads, struct dtc_thread, i);
		thread->interval_first = at[i];
		thread->interval_count = at[i + 1] - at[i];
	}
}

static void group_calls(DtcHistory *h, GArray *first)
{
	count_keys(first, h->threads->len);
	uint32_t *at = AT(first, uint32_t, 0);
	for (guint i = 0; i < h->calls->len; i++)
		at[DTC_AT(h->calls, struct dtc_call, i)->thread + 2]++;
	sum_keys(first);
	DtcTable *grouped = dtc_table_new(sizeof(struct dtc_call));
	dtc_table_set_length(grouped, h->calls->len);
	g_autofree uint32_t *renamed = g_new(uint32_t, h->calls->len + 1);
	for (guint i = 0; i < h->calls->len; i++) {
		const struct dtc_call *from = DTC_AT(h->calls, struct dtc_call, i);
		renamed[i] = at[from->thread + 1]++;
		*DTC_AT(grouped, struct dtc_call, renamed[i]) = *from;
	}
	dtc_table_free(h->calls);
	h->calls = grouped;
	for (guint i = 0; i < h->threads->len; i++) {
		struct dtc_thread *thread = AT(h->threads, struct dtc_thread, i);
		thread->call_first = at[i];
		thread->call_count = at[i + 1] - at[i];
	}
	for (guint i = 0; i < h->intervals->len; i++) {
		uint32_t *call = &DTC_AT(h->intervals, struct dtc_interval, i)->call;
		if (*call != DTC_NONE)
			*call = renamed[*call];
	}
	for (guint i = 0; i < h->contexts->len; i++) {
		uint32_t *call = &DTC_AT(h->contexts, struct dtc_packet_context, i)->call;
		if (*call != DTC_NONE)
			*call = renamed[*call];
	}
}

static int compare_call_begin(const void *a, const void *b, void *data)
{
	const DtcHistory *h = data;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int64_t x = DTC_AT(h->calls, struct dtc_call, i)->begin_ns, y = DTC_AT(h->calls, struct dtc_call, j)->begin_ns;
	return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

static void index_file_calls(DtcHistory *h)
{
	count_keys(h->file_call_first, h->files->len);
	uint32_t *at = AT(h->file_call_first, uint32_t, 0);
	for (guint i = 0; i < h->calls->len; i++) {
		uint32_t file = DTC_AT(h->calls, struct dtc_call, i)->file;
		if (file != DTC_NONE)
			at[file + 2]++;
	}
	sum_keys(h->file_call_first);
	dtc_table_set_length(h->file_calls, at[h->files->len + 1]);
	for (guint i = 0; i < h->calls->len; i++) {
		uint32_t file = DTC_AT(h->calls, struct dtc_call, i)->file;
		if (file != DTC_NONE)
			*DTC_AT(h->file_calls, uint32_t, at[file + 1]++) = i;
	}
	/* grouped by thread within a file so far: order by time */
	for (guint i = 0; i < h->files->len; i++)
		if (at[i + 1] - at[i] > 1)
			g_qsort_with_data(DTC_AT(h->file_calls, uint32_t, at[i]), (gint)(at[i + 1] - at[i]),
					  sizeof(uint32_t), compare_call_begin, h);
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

static void group_guest_spans(DtcHistory *h)
{
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
	dtc_table_free(h->guest_spans);
	h->guest_spans = grouped;
}

void dtc_history_seal(DtcHistory *h)
{
	g_autoptr(GArray) first = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	group_guest_spans(h);
	group_intervals(h, first);
	group_calls(h, first);
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
}

int64_t dtc_history_get_begin_ns(const DtcHistory *h)
{
	return h->begin_ns;
}

int64_t dtc_history_get_end_ns(const DtcHistory *h)
{
	return h->end_ns;
}

const char *dtc_history_get_string(const DtcHistory *h, uint32_t string)
{
	return string < h->strings->len ? g_ptr_array_index(h->strings, string) : "";
}

uint32_t dtc_history_get_thread_count(const DtcHistory *h)
{
	return h->threads->len;
}

const struct dtc_thread *dtc_history_get_thread(const DtcHistory *h, uint32_t thread)
{
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
	uint32_t low = *AT(h->name_first, uint32_t, thread), high = *AT(h->name_first, uint32_t, thread + 1),
		 first = low;
	if (low == high)
		return "";
	while (low < high) { /* the last record that begins at or before time */
		uint32_t middle = low + (high - low) / 2;
		if (DTC_AT(h->names, struct dtc_name_record, middle)->from_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return dtc_history_get_string(h,
				      DTC_AT(h->names, struct dtc_name_record, low > first ? low - 1 : first)->string);
}

const char *dtc_history_get_process(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	uint32_t leader = AT(h->threads, struct dtc_thread, thread)->leader;
	return dtc_history_get_comm(h, leader == DTC_NONE ? thread : leader, time_ns);
}

const struct dtc_interval *dtc_history_find_interval_before(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t low = t->interval_first, high = low + t->interval_count;
	while (low < high) { /* the last that begins before time */
		uint32_t middle = low + (high - low) / 2;
		if (DTC_AT(h->intervals, struct dtc_interval, middle)->begin_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == t->interval_first)
		return NULL;
	const struct dtc_interval *interval = DTC_AT(h->intervals, struct dtc_interval, low - 1);
	return interval->end_ns >= time_ns ? interval : NULL;
}

const struct dtc_interval *dtc_history_get_interval(const DtcHistory *h, uint32_t interval)
{
	return DTC_AT(h->intervals, struct dtc_interval, interval);
}

const struct dtc_wake *dtc_history_get_wake(const DtcHistory *h, uint32_t wake)
{
	return DTC_AT(h->wakes, struct dtc_wake, wake);
}

uint32_t dtc_history_get_wake_count(const DtcHistory *h)
{
	return h->wakes->len;
}

uint32_t dtc_history_get_fault_count(const DtcHistory *h)
{
	return h->faults->len;
}

const struct dtc_fault *dtc_history_get_fault(const DtcHistory *h, uint32_t fault)
{
	return DTC_AT(h->faults, struct dtc_fault, fault);
}

uint32_t dtc_history_get_call_count(const DtcHistory *h)
{
	return h->calls->len;
}

const struct dtc_call *dtc_history_get_call(const DtcHistory *h, uint32_t call)
{
	return DTC_AT(h->calls, struct dtc_call, call);
}

uint32_t dtc_history_find_call(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	const struct dtc_thread *t = AT(h->threads, struct dtc_thread, thread);
	uint32_t low = t->call_first, high = low + t->call_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (DTC_AT(h->calls, struct dtc_call, middle)->begin_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == t->call_first ? DTC_NONE : low - 1;
}

uint32_t dtc_history_get_file_count(const DtcHistory *h)
{
	return h->files->len;
}

const struct dtc_file *dtc_history_get_file(const DtcHistory *h, uint32_t file)
{
	return AT(h->files, struct dtc_file, file);
}

const uint32_t *dtc_history_get_file_calls(const DtcHistory *h, uint32_t file, uint32_t *ret_count)
{
	uint32_t first = *AT(h->file_call_first, uint32_t, file);
	*ret_count = *AT(h->file_call_first, uint32_t, file + 1) - first;
	return DTC_AT(h->file_calls, uint32_t, first);
}

uint32_t dtc_history_find_file_of_flow(const DtcHistory *h, uint32_t flow_out)
{
	return flow_out < h->flow_files->len ? *AT(h->flow_files, uint32_t, flow_out) : DTC_NONE;
}

uint32_t dtc_history_get_block_request_count(const DtcHistory *h)
{
	return h->blocks->len;
}

const struct dtc_block_request *dtc_history_get_block_request(const DtcHistory *h, uint32_t request)
{
	return DTC_AT(h->blocks, struct dtc_block_request, request);
}

const struct dtc_work *dtc_history_find_work(const DtcHistory *h, uint32_t worker, int64_t time_ns)
{
	uint32_t low = 0, high = h->works->len;
	while (low < high) { /* the last of this worker that begins before time */
		uint32_t middle = low + (high - low) / 2;
		const struct dtc_work *work = DTC_AT(h->works, struct dtc_work, middle);
		if (work->queued.target < worker || (work->queued.target == worker && work->begin_ns < time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	const struct dtc_work *work = low ? DTC_AT(h->works, struct dtc_work, low - 1) : NULL;
	return work && work->queued.target == worker && (work->end_ns == DTC_TIME_NONE || time_ns <= work->end_ns)
		       ? work
		       : NULL;
}

const char *dtc_history_get_device_name(const DtcHistory *h, uint32_t device)
{
	for (guint i = 0; i < h->devices->len; i++)
		if (AT(h->devices, struct dtc_device, i)->device == device)
			return dtc_history_get_string(h, AT(h->devices, struct dtc_device, i)->name);
	return NULL;
}

guint dtc_history_get_cpu_count(const DtcHistory *h)
{
	return h->runs->len;
}

const struct dtc_run *dtc_history_get_runs(const DtcHistory *h, guint cpu, uint32_t *ret_count)
{
	if (cpu >= h->runs->len) {
		*ret_count = 0;
		return NULL;
	}
	const GArray *runs = g_ptr_array_index(h->runs, cpu);
	*ret_count = runs->len;
	return AT(runs, struct dtc_run, 0);
}

uint32_t dtc_history_get_vcpu_count(const DtcHistory *h)
{
	return h->vcpus->len;
}

const struct dtc_vcpu *dtc_history_get_vcpu(const DtcHistory *h, uint32_t vcpu)
{
	return AT(h->vcpus, struct dtc_vcpu, vcpu);
}

const struct dtc_guest_span *dtc_history_get_guest_span(const DtcHistory *h, uint32_t span)
{
	return DTC_AT(h->guest_spans, struct dtc_guest_span, span);
}

uint32_t dtc_history_get_guest_irq_count(const DtcHistory *h)
{
	return h->guest_irqs->len;
}

const struct dtc_guest_irq *dtc_history_get_guest_irq(const DtcHistory *h, uint32_t irq)
{
	return DTC_AT(h->guest_irqs, struct dtc_guest_irq, irq);
}

uint32_t dtc_history_get_mark_count(const DtcHistory *h)
{
	return h->marks->len;
}

const struct dtc_mark *dtc_history_get_mark(const DtcHistory *h, uint32_t mark)
{
	return AT(h->marks, struct dtc_mark, mark);
}

const DtcPackets *dtc_history_get_packets(const DtcHistory *h)
{
	return h->packets;
}

const struct dtc_packet_context *dtc_history_get_packet_context(const DtcHistory *h, uint32_t packet)
{
	return DTC_AT(h->contexts, struct dtc_packet_context, packet);
}

static bool broken(GError **error, const DtcHistory *h, uint32_t thread, int64_t at_ns, const char *what)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "history of tid %d is inconsistent at %" PRId64
		    ": %s\nhint: this is a defect of dtrace-chain, please report it with the trace",
		    AT(h->threads, struct dtc_thread, thread)->tid, at_ns, what);
	return false;
}

static bool check_intervals(const DtcHistory *h, uint32_t index, GError **error)
{
	const struct dtc_thread *thread = AT(h->threads, struct dtc_thread, index);
	int64_t at_ns = thread->begin_ns;
	for (uint32_t i = 0; i < thread->interval_count; i++) {
		const struct dtc_interval *v = DTC_AT(h->intervals, struct dtc_interval, thread->interval_first + i);
		if (v->thread != index)
			return broken(error, h, index, v->begin_ns, "an interval of another thread");
		if (v->begin_ns != at_ns || v->end_ns <= v->begin_ns)
			return broken(error, h, index, v->begin_ns, "intervals are not contiguous");
		bool waited = v->state == DTC_STATE_WAIT || v->state == DTC_STATE_WAIT_DISK;
		bool open = i + 1 == thread->interval_count; /* still waiting when the trace or the thread ended */
		bool lost = !open && ((v + 1)->state == DTC_STATE_UNKNOWN || (v + 1)->state == DTC_STATE_EXITED);
		if (waited && !open && !lost && v->ref >= h->wakes->len)
			return broken(error, h, index, v->end_ns, "a wait ended without a wake");
		at_ns = v->end_ns;
	}
	if (at_ns != thread->end_ns)
		return broken(error, h, index, at_ns, "intervals do not reach the thread's end");
	return true;
}

static bool check_guest_spans(const DtcHistory *h, const struct dtc_vcpu *vcpu, GError **error)
{
	int64_t at_ns = INT64_MIN;
	for (uint32_t i = 0; i < vcpu->span_count; i++) {
		const struct dtc_guest_span *s = DTC_AT(h->guest_spans, struct dtc_guest_span, vcpu->span_first + i);
		if (s->thread != vcpu->thread)
			return broken(error, h, vcpu->thread, s->entry_ns, "a guest span of another thread");
		if (s->entry_ns < at_ns || s->left_ns < s->entry_ns)
			return broken(error, h, vcpu->thread, s->entry_ns, "guest spans overlap");
		if (s->exit_ns != DTC_TIME_NONE && s->exit_ns < s->left_ns)
			return broken(error, h, vcpu->thread, s->entry_ns, "an exit before the guest was left");
		const struct dtc_interval *v = dtc_history_find_interval_before(h, vcpu->thread, s->left_ns);
		if (s->left_ns > s->entry_ns && (!v || v->begin_ns > s->entry_ns || !dtc_state_is_running(v->state)))
			return broken(error, h, vcpu->thread, s->entry_ns, "a thread in a guest that does not run");
		at_ns = s->exit_ns == DTC_TIME_NONE ? s->left_ns : s->exit_ns;
	}
	return true;
}

bool dtc_history_check(const DtcHistory *h, GError **error)
{
	for (guint i = 0; i < h->vcpus->len; i++)
		if (!check_guest_spans(h, AT(h->vcpus, struct dtc_vcpu, i), error))
			return false;
	for (uint32_t i = 0; i < h->threads->len; i++)
		if (!check_intervals(h, i, error))
			return false;
	/* each CPU: running intervals lie inside the runs of that thread on that CPU */
	for (uint32_t i = 0; i < h->intervals->len; i++) {
		const struct dtc_interval *v = DTC_AT(h->intervals, struct dtc_interval, i);
		if (!dtc_state_is_running(v->state) && v->state != DTC_STATE_IDLE)
			continue;
		uint32_t count;
		const struct dtc_run *runs = dtc_history_get_runs(h, v->cpu, &count);
		uint32_t low = 0, high = count;
		while (low < high) {
			uint32_t middle = low + (high - low) / 2;
			if (runs[middle].begin_ns <= v->begin_ns)
				low = middle + 1;
			else
				high = middle;
		}
		/* several switches may share a time: any run of the thread at that time will do */
		uint32_t run = low;
		while (run > 0 && runs[run - 1].thread != v->thread && runs[run - 1].begin_ns == v->begin_ns)
			run--;
		if (run == 0 || runs[run - 1].thread != v->thread)
			return broken(error, h, v->thread, v->begin_ns, "runs on a CPU that another thread has");
		if (run < count && runs[run].begin_ns < v->end_ns && runs[run].begin_ns > v->begin_ns)
			return broken(error, h, v->thread, v->begin_ns, "runs on after its CPU was taken");
	}
	return true;
}
