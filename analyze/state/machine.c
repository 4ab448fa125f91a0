/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/state/machine_state.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/hash.h>

#include <stdlib.h>
#include <string.h>

#define TID_LIMIT (1 << 22) /* PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h) */

void dtc_machine_set_kernel(DtcMachine *m, unsigned long major, unsigned long minor)
{
	unsigned long version = major * 1000 + MIN(minor, 999);
	m->old_state_max = version < 3009   ? 512
			   : version < 4002 ? 1024
			   : version < 4008 ? 2048
			   : version < 4014 ? 4096
					    : 0;
}

DtcMachine *dtc_machine_new(const char *node, const DtcReader *reader)
{
	DtcMachine *m = g_new0(DtcMachine, 1);
	m->node = g_strdup(node);
	m->reader = reader;
	m->history = dtc_history_new();
	m->tasks = g_array_new(FALSE, TRUE, sizeof(struct dtc_task));
	m->cpus = g_array_new(FALSE, TRUE, sizeof(struct dtc_cpu));
	m->call_kinds = g_array_new(FALSE, FALSE, sizeof(uint8_t));
	m->call_names = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	m->call_traits = g_array_new(FALSE, FALSE, sizeof(uint16_t));
	m->fd_tables = g_hash_table_new(g_direct_hash, g_direct_equal);
	m->table_owners = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	m->named_files = g_hash_table_new(g_direct_hash, g_direct_equal);
	m->flow_owners = g_hash_table_new(NULL, NULL);
	m->blocks = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	m->gaps = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	m->gap_bounds = g_array_new(FALSE, FALSE, sizeof(int64_t));
	m->gap_ends = g_array_new(FALSE, FALSE, sizeof(int64_t));
	m->irq_names = g_hash_table_new(g_direct_hash, g_direct_equal);
	m->vector_names = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	m->queued_works = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, g_free);
	m->queued = g_hash_table_new(g_direct_hash, g_direct_equal);
	m->registered = g_hash_table_new_full(dtc_registration_hash, dtc_registration_equal, g_free, NULL);
	m->numbered = g_hash_table_new(g_direct_hash, g_direct_equal);
	m->syns = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	m->now_ns = DTC_TIME_NONE;
	const char *release = reader ? dtc_reader_get_environment(reader, "kernel_release") : "";
	unsigned long major = strtoul(release, NULL, 10), minor = 0;
	const char *dot = strchr(release, '.');
	if (dot)
		minor = strtoul(dot + 1, NULL, 10);
	if (*release)
		dtc_machine_set_kernel(m, major, minor);
	m->is_perf = reader && strcmp(dtc_reader_get_environment(reader, "tracer_name"), "perf") == 0;
	return m;
}

void dtc_machine_free(DtcMachine *m)
{
	if (!m)
		return;
	g_autofree gpointer *pids = g_hash_table_get_keys_as_array(m->fd_tables, NULL);
	for (guint i = g_hash_table_size(m->fd_tables); i-- > 0;)
		dtc_machine_drop_files(m, GPOINTER_TO_INT(pids[i]));
	g_hash_table_unref(m->fd_tables);
	g_ptr_array_unref(m->gaps);
	g_array_unref(m->gap_bounds);
	g_array_unref(m->gap_ends);
	g_hash_table_unref(m->table_owners);
	g_hash_table_unref(m->named_files);
	g_hash_table_unref(m->flow_owners);
	g_hash_table_unref(m->blocks);
	g_hash_table_unref(m->irq_names);
	g_array_unref(m->vector_names);
	g_hash_table_unref(m->queued_works);
	g_hash_table_unref(m->queued);
	g_hash_table_unref(m->registered);
	g_hash_table_unref(m->numbered);
	g_hash_table_unref(m->syns);
	g_array_unref(m->tasks);
	g_array_unref(m->cpus);
	g_array_unref(m->call_kinds);
	g_array_unref(m->call_names);
	g_array_unref(m->call_traits);
	dtc_history_free(m->history);
	g_free(m->node);
	g_free(m);
}

void dtc_machine_set_spaces(DtcMachine *m, DtcSpace *space, DtcSpace *scratch)
{
	dtc_history_set_spaces(m->history, space, scratch);
}

void dtc_machine_add_cpus(DtcMachine *m, uint32_t last)
{
	while (last >= m->cpus->len) {
		struct dtc_cpu fresh = { .current = DTC_NONE,
					 .idle = DTC_NONE,
					 .raised = DTC_NONE,
					 .net_raised_ns = DTC_TIME_NONE,
					 .last_wake = DTC_NONE,
					 .completed = DTC_NONE,
					 .left_call_ns = DTC_TIME_NONE,
					 .fault_ns = DTC_TIME_NONE };
		g_array_append_val(m->cpus, fresh);
		dtc_history_add_cpu(m->history);
		g_ptr_array_add(m->gaps, g_array_new(FALSE, FALSE, sizeof(int64_t)));
	}
}

uint32_t dtc_machine_add_thread(DtcMachine *m, int64_t tid, int64_t begin_ns, int32_t idle_cpu)
{
	DtcHistory *h = m->history;
	uint32_t index = h->threads->len, previous = DTC_NONE;
	if (idle_cpu < 0) {
		guint length = h->tid_latest->len;
		if (tid >= length) {
			g_array_set_size(h->tid_latest, (guint)tid + 1);
			memset(&g_array_index(h->tid_latest, uint32_t, length), 0xff,
			       ((gsize)tid + 1 - length) * sizeof(uint32_t));
		}
		previous = g_array_index(h->tid_latest, uint32_t, tid);
		g_array_index(h->tid_latest, uint32_t, tid) = index;
	}
	struct dtc_thread thread = {
		.begin_ns = begin_ns,
		.end_ns = DTC_TIME_NONE,
		.tid = (int32_t)tid,
		.pid = idle_cpu < 0 ? -1 : 0,
		.parent = DTC_NONE,
		.leader = DTC_NONE,
		.idle_cpu = idle_cpu,
		.is_kernel = idle_cpu >= 0,
	};
	g_array_append_val(h->threads, thread);
	g_array_append_val(h->tid_previous, previous);
	struct dtc_task task = {
		.since_ns = begin_ns,
		.name_seen_ns = begin_ns,
		.name = DTC_NONE,
		.call = DTC_NONE,
		.ref = DTC_NONE,
		.work = DTC_NONE,
		.guest_span = DTC_NONE,
		.pending_wake = DTC_NONE,
		.cpu = 0xffff,
		.state = DTC_STATE_UNKNOWN,
		.in_kernel = idle_cpu >= 0,
	};
	g_array_append_val(m->tasks, task);
	return index;
}

static void end_thread(DtcMachine *m, uint32_t thread, int64_t time_ns)
{
	dtc_machine_set_state(m, thread, DTC_STATE_EXITED, time_ns, 0xffff, DTC_NONE);
	DTC_THREAD(m, thread)->end_ns = time_ns;
	DTC_TASK(m, thread)->freed = true;
}

uint32_t dtc_machine_get_thread(DtcMachine *m, int64_t tid, uint32_t cpu)
{
	if (tid == 0) { /* an idle thread for each CPU */
		struct dtc_cpu *c = dtc_machine_get_cpu(m, cpu);
		if (c->idle == DTC_NONE && m->history->threads->len < DTC_THREAD_LIMIT) {
			uint32_t idle = dtc_machine_add_thread(m, 0, m->history->begin_ns, (int32_t)cpu);
			c = dtc_machine_get_cpu(m, cpu);
			c->idle = idle;
			g_autofree char *name = g_strdup_printf("swapper/%u", cpu);
			dtc_machine_observe_name(m, idle, name, m->history->begin_ns);
		}
		return c->idle;
	}
	if (tid < 0 || tid >= TID_LIMIT)
		return DTC_NONE;
	uint32_t thread = dtc_history_find_thread(m->history, (int32_t)tid, DTC_TIME_NONE);
	if (thread != DTC_NONE && !DTC_TASK(m, thread)->freed)
		return thread;
	if (m->history->threads->len >= DTC_THREAD_LIMIT)
		return DTC_NONE;
	/* a freed tid that shows up without a fork: the fork was lost, so the thread began unseen */
	return dtc_machine_add_thread(m, tid, thread == DTC_NONE ? m->history->begin_ns : m->now_ns, -1);
}

void dtc_machine_set_state(DtcMachine *m, uint32_t thread, enum dtc_state state, int64_t time_ns, uint16_t cpu,
			   uint32_t ref)
{
	struct dtc_task *task = DTC_TASK(m, thread);
	if (task->guest_span != DTC_NONE) {
		dtc_machine_leave_guest(m, thread, time_ns);
		if (state == DTC_STATE_UNKNOWN) /* its exit is lost too */
			task->guest_span = DTC_NONE;
	}
	if (time_ns > task->since_ns) {
		bool in_call = task->state != DTC_STATE_EXITED && task->state != DTC_STATE_UNKNOWN;
		struct dtc_interval interval = {
			.begin_ns = task->since_ns,
			.end_ns = time_ns,
			.thread = thread,
			.call = in_call ? task->call : DTC_NONE,
			.ref = task->ref,
			.cpu = task->cpu,
			.state = task->state,
		};
		dtc_history_add_interval(m->history, &interval);
		task->since_ns = time_ns;
	}
	task->state = state;
	task->cpu = cpu;
	task->ref = ref;
}

void dtc_machine_set_running(DtcMachine *m, uint32_t thread, int64_t time_ns, uint32_t cpu)
{
	struct dtc_cpu *c = dtc_machine_get_cpu(m, cpu);
	const struct dtc_task *task = DTC_TASK(m, thread);
	enum dtc_state state = DTC_THREAD(m, thread)->idle_cpu >= 0 ? DTC_STATE_IDLE
			       : task->call != DTC_NONE		    ? DTC_STATE_SYSCALL
			       : task->in_kernel		    ? DTC_STATE_KERNEL
								    : DTC_STATE_USER;
	uint32_t ref = DTC_NONE;
	for (guint i = c->depth; i-- > 0;) { /* timer callbacks run inside an irq or softirq: not states of their own */
		const struct dtc_context *context = &c->stack[i];
		if (context->kind == DTC_CONTEXT_SOFTIRQ) {
			state = DTC_STATE_SOFTIRQ;
			ref = context->value;
			break;
		}
		if (context->kind == DTC_CONTEXT_IRQ || context->kind == DTC_CONTEXT_VECTOR) {
			state = DTC_STATE_IRQ;
			ref = context->name;
			break;
		}
	}
	dtc_machine_set_state(m, thread, state, time_ns, (uint16_t)cpu, ref);
}

static void add_name(DtcMachine *m, uint32_t thread, uint32_t name, int64_t from_ns)
{
	struct dtc_name_record record = { from_ns, thread, name };
	dtc_table_append(m->history->names, &record);
	DTC_TASK(m, thread)->name = name;
}

/*
 * Workers of io_uring are threads of the process whose ring they serve, named after the thread that set it up, and
 * never come to user mode; nothing tells of their creation (create_io_thread; io_uring/io-wq.c, sqpoll.c, from
 * Linux 5.12 on).
 */
static void take_ring_worker(DtcMachine *m, uint32_t thread, const char *name)
{
	static const char *const prefixes[] = { "iou-wrk-", "iou-sqp-" };
	guint64 owner_tid = 0;

	for (guint i = 0; i < G_N_ELEMENTS(prefixes) && !owner_tid; i++)
		if (g_str_has_prefix(name, prefixes[i]) &&
		    !g_ascii_string_to_unsigned(name + strlen(prefixes[i]), 10, 1, TID_LIMIT - 1, &owner_tid, NULL))
			return;
	if (!owner_tid || DTC_TASK(m, thread)->knows_call) /* a thread that gave itself such a name has calls */
		return;
	DTC_THREAD(m, thread)->is_kernel = true;
	DTC_TASK(m, thread)->in_kernel = true;
	uint32_t owner = dtc_history_find_thread(m->history, (int32_t)owner_tid, DTC_TIME_NONE);
	if (owner != DTC_NONE && DTC_THREAD(m, thread)->pid < 0)
		dtc_machine_set_process(m, thread, DTC_THREAD(m, owner)->pid);
}

void dtc_machine_observe_name(DtcMachine *m, uint32_t thread, const char *name, int64_t time_ns)
{
	struct dtc_task *task = DTC_TASK(m, thread);
	if (!name)
		return;
	/* a change since the last look: the new name is the one the interval ends with (prctl is not traced) */
	if (task->name == DTC_NONE || strcmp(dtc_history_get_string(m->history, task->name), name) != 0) {
		add_name(m, thread, dtc_history_add_string(m->history, name), task->name_seen_ns);
		take_ring_worker(m, thread, name);
	}
	DTC_TASK(m, thread)->name_seen_ns = time_ns;
}

void dtc_machine_set_process(DtcMachine *m, uint32_t thread, int64_t pid)
{
	if (pid <= 0 || pid >= TID_LIMIT)
		return;
	uint32_t leader = pid == DTC_THREAD(m, thread)->tid ? thread : dtc_machine_get_thread(m, pid, 0);
	if (leader == DTC_NONE)
		return;
	DTC_THREAD(m, thread)->pid = (int32_t)pid;
	DTC_THREAD(m, thread)->leader = leader;
	if (DTC_THREAD(m, leader)->pid < 0) {
		DTC_THREAD(m, leader)->pid = (int32_t)pid;
		DTC_THREAD(m, leader)->leader = leader;
	}
}

static int64_t find_gap_of(const GArray *gaps, int64_t since_ns)
{
	guint first = DTC_BISECT(i, 0, gaps->len, g_array_index(gaps, int64_t, i) < since_ns);
	return first < gaps->len ? g_array_index(gaps, int64_t, first) : DTC_TIME_NONE;
}

int64_t dtc_machine_find_gap(DtcMachine *m, uint16_t cpu, int64_t since_ns)
{
	if (cpu != 0xffff)
		return cpu < m->gaps->len ? find_gap_of(g_ptr_array_index(m->gaps, cpu), since_ns) : DTC_TIME_NONE;
	int64_t first_ns = DTC_TIME_NONE;
	for (guint i = 0; i < m->gaps->len; i++) {
		int64_t gap_ns = find_gap_of(g_ptr_array_index(m->gaps, i), since_ns);
		if (gap_ns != DTC_TIME_NONE && (first_ns == DTC_TIME_NONE || gap_ns < first_ns))
			first_ns = gap_ns;
	}
	return first_ns;
}

/*
 * Events of this CPU were lost: what ran there since the gap's begin is not known. What else it knew of, threads that
 * waited or were runnable there, is forgotten when they are next seen (settle_gap in sched.c).
 */
static void apply_lost(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	cpu->depth = 0;
	cpu->last_wake = DTC_NONE;
	cpu->net_raised_ns = DTC_TIME_NONE;
	int64_t begin_ns = event->v[DTC_LOST_BEGIN];
	if (begin_ns == DTC_ABSENT || begin_ns > m->now_ns)
		begin_ns = m->now_ns;
	GArray *gaps = g_ptr_array_index(m->gaps, event->cpu);
	if (!gaps->len || g_array_index(gaps, int64_t, gaps->len - 1) < begin_ns)
		g_array_append_val(gaps, begin_ns);
	g_array_append_val(m->gap_bounds, begin_ns);
	g_array_append_val(m->gap_bounds, m->now_ns);
	g_array_append_val(m->gap_ends, m->now_ns);
	if (cpu->current == DTC_NONE)
		return;
	int64_t since_ns = DTC_TASK(m, cpu->current)->since_ns;
	dtc_machine_abandon_call(m, cpu->current, DTC_STATE_UNKNOWN, MAX(begin_ns, since_ns));
	cpu->current = DTC_NONE;
	const struct dtc_run *last = dtc_history_get_last_run(m->history, event->cpu);
	begin_ns = MAX(begin_ns, m->history->begin_ns);
	dtc_history_add_run(m->history, event->cpu, last && last->begin_ns > begin_ns ? m->now_ns : begin_ns, DTC_NONE);
}

static void apply_logger(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_mark mark = { m->now_ns, dtc_machine_get_cpu(m, event->cpu)->current,
				 dtc_history_add_string(m->history, event->text[0]) };
	g_array_append_val(m->history->marks, mark);
}

static void apply_fault(DtcMachine *m, const struct dtc_event *event)
{
	const struct dtc_fault fault = { m->now_ns, dtc_machine_get_cpu(m, event->cpu)->current,
					 event->kind == DTC_EVENT_FAULT_KERNEL };
	dtc_history_add_fault(m->history, &fault);
	dtc_machine_get_cpu(m, event->cpu)->fault_ns = m->now_ns;
}

void dtc_machine_pass(DtcMachine *m, int64_t time_ns)
{
	/* small reversals in a stream are tolerated by the reader; here time never goes back */
	if (time_ns > m->now_ns)
		m->now_ns = time_ns;
	if (m->history->begin_ns == DTC_TIME_NONE)
		m->history->begin_ns = m->now_ns;
	m->history->end_ns = m->now_ns;
}

void dtc_machine_apply(DtcMachine *m, const struct dtc_event *event)
{
	g_assert(event->cpu < DTC_CPU_LIMIT);
	dtc_machine_pass(m, event->time_ns);
	m->event_count++;
	m->saw[event->kind] = true;
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	cpu->seen_ns = m->now_ns;
	if (G_UNLIKELY(cpu->has_left)) {
		cpu->has_left = false;
		if (event->kind != DTC_EVENT_LOST)
			dtc_machine_note_missing(m, event->cpu);
	}
	if (event->has_tid || event->kind == DTC_EVENT_SCHED_EXIT || event->kind == DTC_EVENT_SCHED_FORK)
		dtc_machine_check_context(m, event);

	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_SCHED_SWITCH:
	case DTC_EVENT_SCHED_WAKING:
	case DTC_EVENT_SCHED_WAKEUP:
	case DTC_EVENT_SCHED_WAKEUP_NEW:
	case DTC_EVENT_SCHED_MIGRATE:
	case DTC_EVENT_SCHED_FORK:
	case DTC_EVENT_SCHED_EXEC:
	case DTC_EVENT_SCHED_EXIT:
		dtc_machine_apply_sched(m, event);
		break;
	case DTC_EVENT_SCHED_FREE: {
		uint32_t thread = dtc_history_find_thread(m->history, (int32_t)event->v[DTC_TASK_TID], DTC_TIME_NONE);
		if (thread != DTC_NONE && !DTC_TASK(m, thread)->freed && DTC_TASK(m, thread)->state == DTC_STATE_EXITED)
			end_thread(m, thread, m->now_ns);
		break;
	}
	case DTC_EVENT_IRQ_ENTRY:
	case DTC_EVENT_IRQ_EXIT:
	case DTC_EVENT_SOFTIRQ_RAISE:
	case DTC_EVENT_SOFTIRQ_ENTRY:
	case DTC_EVENT_SOFTIRQ_EXIT:
	case DTC_EVENT_HRTIMER_ENTRY:
	case DTC_EVENT_HRTIMER_EXIT:
	case DTC_EVENT_TIMER_ENTRY:
	case DTC_EVENT_TIMER_EXIT:
	case DTC_EVENT_VECTOR_ENTRY:
	case DTC_EVENT_VECTOR_EXIT:
		dtc_machine_apply_irq(m, event);
		break;
	case DTC_EVENT_SYSCALL_ENTRY:
	case DTC_EVENT_SYSCALL_EXIT:
		dtc_machine_apply_call(m, event);
		break;
	case DTC_EVENT_NET_SEND:
	case DTC_EVENT_NET_XMIT:
	case DTC_EVENT_INET_OUT:
	case DTC_EVENT_INET_IN:
	case DTC_EVENT_NET_RECEIVE:
		dtc_machine_apply_net(m, event);
		break;
	case DTC_EVENT_BLOCK_GETRQ:
	case DTC_EVENT_BLOCK_INSERT:
	case DTC_EVENT_BLOCK_ISSUE:
	case DTC_EVENT_BLOCK_COMPLETE:
	case DTC_EVENT_BLOCK_FRONT:
	case DTC_EVENT_BLOCK_MERGE:
		dtc_machine_apply_block(m, event);
		break;
	case DTC_EVENT_DUMP_NETNS:
		dtc_machine_apply_netns(m, event);
		break;
	case DTC_EVENT_DUMP_PROCESS:
	case DTC_EVENT_DUMP_FD:
	case DTC_EVENT_DUMP_INTERRUPT:
	case DTC_EVENT_DUMP_BLOCK:
	case DTC_EVENT_DUMP_CPU_LIMIT:
		dtc_machine_apply_dump(m, event);
		break;
	case DTC_EVENT_KVM_ENTRY:
	case DTC_EVENT_KVM_EXIT:
	case DTC_EVENT_KVM_ACCEPT:
	case DTC_EVENT_KVM_INJECT:
		dtc_machine_apply_guest(m, event);
		break;
	case DTC_EVENT_FAULT_USER:
	case DTC_EVENT_FAULT_KERNEL:
		apply_fault(m, event);
		break;
	case DTC_EVENT_WORK_QUEUE:
	case DTC_EVENT_WORK_START:
	case DTC_EVENT_WORK_END:
		dtc_machine_apply_work(m, event);
		break;
	case DTC_EVENT_SIGNAL_GENERATE:
		dtc_machine_apply_signal(m, event);
		break;
	case DTC_EVENT_IPI_SEND:
		dtc_machine_apply_ipi(m, event);
		break;
	case DTC_EVENT_LOGGER:
		apply_logger(m, event);
		break;
	case DTC_EVENT_LOST:
		apply_lost(m, event);
		break;
	default:
		break;
	}
}

/*
 * Without system calls nothing tells when a thread enters and leaves the kernel, and a new child would never have
 * returned from its fork: all that user threads run counts as user mode, and a finding says so.
 */
static void forget_kernel_mode(DtcHistory *h)
{
	for (uint32_t i = 0; i < h->threads->len; i++) {
		const struct dtc_thread *thread = &g_array_index(h->threads, struct dtc_thread, i);
		struct dtc_interval_record *record =
			DTC_AT(h->intervals, struct dtc_interval_record, thread->interval_first);
		for (uint32_t k = 0; k < thread->interval_count && !thread->is_kernel; k++, record++)
			if (record->state == DTC_STATE_KERNEL)
				record->state = DTC_STATE_USER;
	}
}

static int compare_bounds(gconstpointer a, gconstpointer b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

DtcHistory *dtc_machine_finish(DtcMachine *m, DtcFindings *findings)
{
	DtcHistory *h = m->history;
	for (uint32_t i = 0; i < h->threads->len; i++) {
		if (DTC_TASK(m, i)->freed)
			continue;
		dtc_machine_settle_gap(m, i);
		const struct dtc_task *task = DTC_TASK(m, i);
		dtc_machine_set_state(m, i, task->state, h->end_ns, task->cpu, task->ref);
		DTC_THREAD(m, i)->end_ns = MAX(h->end_ns, DTC_THREAD(m, i)->begin_ns);
	}
	dtc_history_seal_intervals(h);
	dtc_packets_seal(h->packets);
	g_array_sort(m->gap_bounds, compare_bounds);
	g_array_sort(m->gap_ends, compare_bounds);
	dtc_machine_place_sockets(m);
	dtc_machine_place_lost_bytes(m);
	dtc_history_seal(h);
	dtc_machine_pair_local_sockets(m);
	if (!m->saw[DTC_EVENT_SYSCALL_ENTRY] && !m->saw[DTC_EVENT_SYSCALL_EXIT])
		forget_kernel_mode(h);

	dtc_machine_report_absent(m, findings);
	m->history = dtc_history_new();
	return h;
}
