/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who woke a thread. sched_waking is logged where the waker runs, so the CPU's own context tells. A trace without it
 * has only sched_wakeup, which a kernel that queues remote wakeups (TTWU_QUEUE, kernel/sched/core.c) logs on the
 * target's CPU: inside the reschedule vector (before 5.8), the function-call vectors (since), or, where the target
 * idled in a polling loop, in the idle thread without any interrupt. What ran there has nothing to do with it.
 * The sender is looked for on the other CPUs:
 *   1. who raised an IPI at this CPU, if ipi_raise or ipi_send_cpu is traced;
 *   2. else who did, since the wait began, what ends such a wait: wrote to that pipe, woke that futex, received a
 *      packet of that connection, let a sleeper's timer expire;
 *   3. else what was the only thing that any of them did in the kernel for a while, since user code wakes nobody.
 * More than one that fits, or none: the waker is another CPU, and nothing is guessed. What 2 and 3 find is inferred.
 * In a trace with sched_waking neither is looked for: it was lost, with what its CPU did then, which is only told
 * behind the gap (a poll of 200 ms was said to have been ended by the last worker before that).
 */
#include "analyze/state/machine_state.h"
#include "collect/packets/records.h"

#include <string.h>

/*
 * If only one CPU was in the kernel for this long, and did only one thing, that is what sent the IPI. An IPI takes a
 * few microseconds, to a virtual CPU that has to be scheduled or emulated first up to some milliseconds.
 */
#define ALONE_NS 5000000

/* FUTEX_* (include/uapi/linux/futex.h) that wake: WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET,
 * CMP_REQUEUE_PI */
#define FUTEX_WAKERS (1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 10 | 1u << 12)

static bool is_idle(DtcMachine *m, const struct dtc_cpu *cpu)
{
	return cpu->current != DTC_NONE && DTC_THREAD(m, cpu->current)->idle_cpu >= 0;
}

static const char *get_name(DtcMachine *m, uint32_t thread)
{
	return dtc_history_get_string(m->history, DTC_TASK(m, thread)->name);
}

/* By the innermost context; without one it is the thread. */
static void classify(DtcMachine *m, const struct dtc_cpu *cpu, const struct dtc_context *top, struct dtc_wake *wake)
{
	wake->thread = cpu->current;
	wake->ref = DTC_NONE;
	wake->waker = DTC_WAKER_UNKNOWN;
	if (!top) {
		if (cpu->current != DTC_NONE && !is_idle(m, cpu))
			wake->waker = DTC_WAKER_THREAD;
		return;
	}
	if (top->kind <= DTC_CONTEXT_VECTOR && top->block != DTC_NONE) {
		/* an interrupt is a disk's if a request completed in this very instance, whatever its name */
		wake->waker = DTC_WAKER_BLOCK;
		wake->ref = top->block;
		return;
	}
	switch ((enum dtc_context_kind)top->kind) {
	case DTC_CONTEXT_TIMER:
	case DTC_CONTEXT_HRTIMER:
		wake->waker = DTC_WAKER_TIMER;
		wake->ref = top->value;
		break;
	case DTC_CONTEXT_IRQ:
		wake->waker = DTC_WAKER_IRQ;
		wake->ref = top->value;
		break;
	case DTC_CONTEXT_VECTOR:
		wake->waker = top->value == DTC_VECTOR_LOCAL_TIMER ? DTC_WAKER_TIMER : DTC_WAKER_IPI;
		break;
	case DTC_CONTEXT_SOFTIRQ:
		/* vectors of include/linux/interrupt.h: 1 timer, 2 net tx, 3 net rx, 4 block, 8 hrtimer */
		if (top->value == 1 || top->value == 8) {
			wake->waker = DTC_WAKER_TIMER;
		} else if (top->value == 2 || top->value == 3) {
			wake->waker = DTC_WAKER_PACKET;
			wake->ref = top->packet;
		} else {
			wake->waker = DTC_WAKER_SOFTIRQ;
			wake->ref = top->value;
		}
		break;
	}
}

static bool is_ipi(const struct dtc_context *top)
{
	if (!top || top->kind != DTC_CONTEXT_VECTOR || top->block != DTC_NONE)
		return false;
	return top->value == DTC_VECTOR_RESCHEDULE || top->value == DTC_VECTOR_CALL_FUNCTION ||
	       top->value == DTC_VECTOR_CALL_FUNCTION_SINGLE || top->value == DTC_VECTOR_IPI;
}

/* In user mode for a while: whatever happens on this CPU now happens in an interrupt that is not traced. */
static bool is_in_user_mode(DtcMachine *m, const struct dtc_cpu *cpu)
{
	return m->saw[DTC_EVENT_SYSCALL_ENTRY] && DTC_TASK(m, cpu->current)->state == DTC_STATE_USER &&
	       cpu->left_call_ns < m->now_ns - DTC_CALL_SETTLED_NS && cpu->fault_ns < m->now_ns - DTC_CALL_SETTLED_NS;
}

/* Whether a wakeup that is logged on this CPU was queued by another one. */
static bool is_remote(DtcMachine *m, const struct dtc_cpu *cpu, const struct dtc_context *top)
{
	if (top)
		return is_ipi(top);
	if (cpu->current == DTC_NONE)
		return false;
	return is_idle(m, cpu) ? m->saw_irq : !m->saw[DTC_EVENT_VECTOR_ENTRY] && is_in_user_mode(m, cpu);
}

/*
 * Softirqs that are left over are given to ksoftirqd, on the way out of an interrupt whose exit was logged already
 * (irq_exit, kernel/softirq.c), or by a thread that raises one: either way not the thread but the softirq is why.
 */
static bool takes_leftover(DtcMachine *m, const struct dtc_cpu *cpu, const struct dtc_context *top, uint32_t target)
{
	return !top && cpu->raised != DTC_NONE && strncmp(get_name(m, target), "ksoftirqd/", 10) == 0;
}

static bool is_same_file(DtcMachine *m, uint32_t a, uint32_t b)
{
	if (a == DTC_NONE || b == DTC_NONE)
		return false;
	const struct dtc_file *x = DTC_AT(m->history->files, struct dtc_file, a);
	const struct dtc_file *y = DTC_AT(m->history->files, struct dtc_file, b);
	/* the two ends of a pipe from the state dump bear one name with the inode */
	bool one_pipe = x->kind == DTC_FILE_PIPE && y->kind == DTC_FILE_PIPE && x->name == y->name &&
			x->name != DTC_NONE && strchr(dtc_history_get_string(m->history, x->name), '[');
	return a == b || x->peer == b || y->peer == a || one_pipe;
}

static int32_t get_process(DtcMachine *m, uint32_t thread)
{
	const struct dtc_thread *t = DTC_THREAD(m, thread);
	return t->pid > 0 ? t->pid : t->tid;
}

/* Whether any descriptor of the process that polls is the file, or the other end of it, or a socket of the flow. */
static bool is_polled(DtcMachine *m, uint32_t target, uint32_t file, uint32_t flow_in)
{
	const struct dtc_fd_table *table = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(get_process(m, target)));
	for (guint i = 0; table && i < table->fds->len; i++) {
		uint32_t own = g_array_index(table->fds, struct dtc_fd, i).file;
		if (own == DTC_NONE)
			continue;
		if (flow_in != DTC_NONE && DTC_AT(m->history->files, struct dtc_file, own)->flow_in == flow_in)
			return true;
		if (is_same_file(m, own, file))
			return true;
	}
	return false;
}

static bool ends_wait_of(DtcMachine *m, const struct dtc_act *act, uint32_t target, const struct dtc_call *wait)
{
	uint32_t thread = act->wake.thread;
	bool same_process = get_process(m, thread) == get_process(m, target);
	if (act->call == DTC_NONE) { /* the exit of a thread: joined by a futex, or waited for by the parent */
		bool exits = DTC_TASK(m, thread)->in_kernel && !DTC_THREAD(m, thread)->is_kernel;
		uint32_t parent = DTC_THREAD(m, thread)->parent;
		bool is_child = parent != DTC_NONE && get_process(m, parent) == get_process(m, target);
		return exits &&
		       ((wait->kind == DTC_CALL_WAITPID && is_child) || (wait->kind == DTC_CALL_FUTEX && same_process));
	}
	const struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, act->call);
	switch ((enum dtc_call_kind)wait->kind) {
	case DTC_CALL_FUTEX:
		return call->kind == DTC_CALL_FUTEX && same_process && call->argument == wait->argument &&
		       wait->argument && call->operation < 32 && (FUTEX_WAKERS >> call->operation & 1) &&
		       call->result != 0; /* how many it woke, if it has returned */
	case DTC_CALL_READ:
	case DTC_CALL_PEEK:
		return (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_CLOSE) &&
		       is_same_file(m, call->file, wait->file);
	case DTC_CALL_POLL:
		return (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_CLOSE) && call->file != DTC_NONE &&
		       is_polled(m, target, call->file, DTC_NONE);
	case DTC_CALL_WRITE:
		return (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_CLOSE) &&
		       is_same_file(m, call->file, wait->file);
	case DTC_CALL_LOCK:
		return (call->kind == DTC_CALL_LOCK || call->kind == DTC_CALL_CLOSE) && call->file != DTC_NONE;
	default:
		return false;
	}
}

static bool is_packet_for(DtcMachine *m, uint32_t packet, uint32_t target, const struct dtc_call *wait)
{
	const struct dtc_packet p = dtc_packets_read(m->history->packets, packet);
	if (p.flow == DTC_NONE)
		return false;
	if (wait->kind == DTC_CALL_POLL)
		return is_polled(m, target, DTC_NONE, p.flow);
	if (wait->kind == DTC_CALL_ACCEPT) { /* the ACK of a handshake that was made on this node */
		const struct dtc_flow *in = dtc_packets_get_flow(m->history->packets, p.flow);
		return in->protocol == DTC_PROTOCOL_TCP && in->has_isn && p.seq == in->isn + 1 &&
		       dtc_packets_get_flow(m->history->packets, in->reverse)->has_isn;
	}
	return wait->file != DTC_NONE && DTC_AT(m->history->files, struct dtc_file, wait->file)->flow_in == p.flow;
}

/* Whether it is what this very wait waits for. */
static bool is_related(DtcMachine *m, const struct dtc_act *act, uint32_t target)
{
	const struct dtc_task *task = DTC_TASK(m, target);
	if (task->call == DTC_NONE)
		return false;
	const struct dtc_call *wait = DTC_AT(m->history->filling->calls, struct dtc_call, task->call);
	switch ((enum dtc_waker)act->wake.waker) {
	case DTC_WAKER_THREAD:
		return ends_wait_of(m, act, target, wait);
	case DTC_WAKER_TIMER:
		return wait->kind == DTC_CALL_SLEEP && m->sleepers_function && act->function == m->sleepers_function;
	case DTC_WAKER_BLOCK:
		return DTC_AT(m->history->blocks, struct dtc_block_request, act->wake.ref)->thread == target;
	case DTC_WAKER_PACKET:
		return act->wake.ref != DTC_NONE && is_packet_for(m, act->wake.ref, target, wait);
	default:
		return false;
	}
}

/* What was found so far on the other CPUs. */
struct search {
	struct dtc_act related, possible;
	guint related_count, possible_count;
	uint32_t target;
};

static bool is_same_act(const struct dtc_act *a, const struct dtc_act *b)
{
	return a->wake.waker == b->wake.waker && a->wake.thread == b->wake.thread && a->wake.ref == b->wake.ref;
}

static void consider(DtcMachine *m, struct search *search, const struct dtc_act *act)
{
	if (act->wake.waker == DTC_WAKER_UNKNOWN || act->wake.waker == DTC_WAKER_IPI ||
	    (act->wake.waker == DTC_WAKER_THREAD && act->wake.thread == search->target))
		return;
	if (act->end_ns >= m->now_ns - ALONE_NS) {
		if (!search->possible_count || !is_same_act(act, &search->possible))
			search->possible_count++;
		search->possible = *act;
	}
	if (act->end_ns >= DTC_TASK(m, search->target)->since_ns && is_related(m, act, search->target)) {
		if (!search->related_count || !is_same_act(act, &search->related))
			search->related_count++;
		search->related = *act;
	}
}

/* What goes on there now: every context of the stack, and the thread's call. */
static void consider_open(DtcMachine *m, struct search *search, struct dtc_cpu *cpu, uint32_t number)
{
	struct dtc_act act = { .wake.cpu = (uint16_t)number, .call = DTC_NONE, .end_ns = m->now_ns };
	for (guint i = 0; i < cpu->depth; i++) {
		classify(m, cpu, &cpu->stack[i], &act.wake);
		act.function = cpu->stack[i].function;
		consider(m, search, &act);
	}
	const struct dtc_task *task = cpu->current == DTC_NONE ? NULL : DTC_TASK(m, cpu->current);
	if (!task || is_idle(m, cpu))
		return;
	if (task->call != DTC_NONE || task->in_kernel) {
		classify(m, cpu, NULL, &act.wake);
		act.call = task->call;
		act.function = 0;
		consider(m, search, &act);
	} else if (!task->is_placed) {
		search->possible_count += 2; /* perhaps in a call from before the trace */
	}
}

static bool find_sender(DtcMachine *m, uint32_t target, uint32_t own_cpu, struct dtc_wake *ret_wake)
{
	struct search search = { .target = target };
	for (uint32_t i = 0; i < m->cpus->len; i++) {
		struct dtc_cpu *cpu = dtc_machine_get_cpu(m, i);
		if (i == own_cpu)
			continue;
		for (guint k = 0; k < G_N_ELEMENTS(cpu->acts) && k < cpu->act_count; k++)
			consider(m, &search, &cpu->acts[k]);
		consider_open(m, &search, cpu, i);
		if (cpu->current == DTC_NONE)
			search.possible_count += 2; /* whatever it does, it is not known */
	}
	const struct dtc_act *found = &search.related;
	if (search.related_count != 1) {
		/* without these events a CPU can be in the kernel unseen */
		if (search.related_count || search.possible_count != 1 || !m->saw[DTC_EVENT_SYSCALL_ENTRY] ||
		    !m->saw_irq)
			return false;
		found = &search.possible;
	}
	ret_wake->thread = found->wake.thread;
	ret_wake->ref = found->wake.ref;
	ret_wake->waker = found->wake.waker;
	ret_wake->cpu = found->wake.cpu;
	ret_wake->is_inferred = true;
	return true;
}

struct dtc_wake dtc_machine_get_origin(DtcMachine *m, uint32_t number)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, number);
	struct dtc_wake origin = {
		.waking_ns = m->now_ns, .wakeup_ns = DTC_TIME_NONE, .target = DTC_NONE, .cpu = (uint16_t)number
	};
	classify(m, cpu, dtc_machine_get_top(cpu), &origin);
	return origin;
}

void dtc_machine_end_act(DtcMachine *m, struct dtc_cpu *cpu, uint32_t number, const struct dtc_context *context,
			 uint32_t call)
{
	if (m->saw[DTC_EVENT_SCHED_WAKING])
		return;
	struct dtc_act *act = &cpu->acts[cpu->act_count++ % G_N_ELEMENTS(cpu->acts)];
	*act = (struct dtc_act){ .wake.cpu = (uint16_t)number,
				 .call = call,
				 .end_ns = m->now_ns,
				 .function = context ? context->function : 0 };
	classify(m, cpu, context, &act->wake);
}

/*
 * In a trace without interrupts a timer's wakeup seems to be by whatever it interrupted. A sleep is ended by its timer,
 * or by a signal, which would be told next.
 */
static bool is_hidden_timer(const DtcMachine *m, const struct dtc_wake *wake, const struct dtc_task *target)
{
	static const enum dtc_event_kind interrupts[] = { DTC_EVENT_IRQ_ENTRY, DTC_EVENT_SOFTIRQ_ENTRY,
							  DTC_EVENT_HRTIMER_ENTRY, DTC_EVENT_VECTOR_ENTRY };
	for (gsize i = 0; i < G_N_ELEMENTS(interrupts); i++)
		if (m->saw[interrupts[i]])
			return false;
	return wake->waker == DTC_WAKER_THREAD && target->call != DTC_NONE &&
	       DTC_AT(m->history->filling->calls, struct dtc_call, target->call)->kind == DTC_CALL_SLEEP;
}

uint32_t dtc_machine_add_wake(DtcMachine *m, uint32_t target, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	const struct dtc_context *top = dtc_machine_get_top(cpu);
	struct dtc_wake wake = {
		.waking_ns = m->now_ns, .wakeup_ns = DTC_TIME_NONE, .target = target, .cpu = (uint16_t)event->cpu
	};
	classify(m, cpu, top, &wake);
	bool is_leftover = takes_leftover(m, cpu, top, target);
	const struct dtc_task *task = DTC_TASK(m, target);
	if (top && top->kind == DTC_CONTEXT_HRTIMER && task->call != DTC_NONE &&
	    DTC_AT(m->history->filling->calls, struct dtc_call, task->call)->kind == DTC_CALL_SLEEP)
		m->sleepers_function = top->function;
	if (is_hidden_timer(m, &wake, task)) {
		wake.waker = DTC_WAKER_TIMER;
		wake.ref = DTC_NONE;
		wake.is_inferred = true;
	} else if (is_leftover) {
		wake.waker = DTC_WAKER_SOFTIRQ;
		wake.ref = cpu->raised;
	} else if (!top && cpu->completed != DTC_NONE && DTC_THREAD(m, cpu->current)->is_kernel) {
		/* a threaded interrupt handler, or a worker that serves a device: right after a completion */
		wake.waker = DTC_WAKER_BLOCK;
		wake.ref = cpu->completed;
		wake.is_inferred = true;
	} else if (event->kind == DTC_EVENT_SCHED_WAKEUP && is_remote(m, cpu, top)) {
		wake.waker = top || is_idle(m, cpu) ? DTC_WAKER_IPI : DTC_WAKER_UNKNOWN;
		if (cpu->sent_count == 1) {
			wake.thread = cpu->sent.thread;
			wake.ref = cpu->sent.ref;
			wake.waker = cpu->sent.waker;
			wake.cpu = cpu->sent.cpu;
		} else if (!m->saw[DTC_EVENT_SCHED_WAKING]) { /* else it was lost, with what its CPU did then */
			find_sender(m, target, event->cpu, &wake);
		}
	}
	cpu->last_wake = dtc_history_add_wake(m->history, &wake);
	return cpu->last_wake;
}

/* An IPI on its way: who sends it is who wakes whatever is woken inside it. */
void dtc_machine_apply_ipi(DtcMachine *m, const struct dtc_event *event)
{
	const struct dtc_wake sent = dtc_machine_get_origin(m, event->cpu);
	int64_t to = event->v[DTC_IPI_CPU], mask = event->v[DTC_IPI_MASK];
	for (uint32_t i = 0; i < m->cpus->len; i++) {
		bool is_target = to != DTC_ABSENT ? to == i : mask != DTC_ABSENT && i < 64 && (mask >> i & 1);
		if (!is_target)
			continue;
		struct dtc_cpu *cpu = dtc_machine_get_cpu(m, i);
		/* two senders before the target looks: it cannot be told which of them woke whom */
		bool is_same = cpu->sent_count && cpu->sent.cpu == sent.cpu && cpu->sent.thread == sent.thread &&
			       cpu->sent.waker == sent.waker && cpu->sent.ref == sent.ref;
		cpu->sent_count += !is_same;
		cpu->sent = sent;
	}
}

/*
 * signal_generate comes right after the waking that it causes (__send_signal, kernel/signal.c), and names the thread
 * that was chosen first; any thread of that process may have been woken.
 */
void dtc_machine_apply_signal(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	int64_t signal = event->v[DTC_SIGNAL_NUMBER];
	if (cpu->last_wake == DTC_NONE || signal < 1 || signal > 64)
		return;
	uint32_t named = dtc_machine_get_thread(m, event->v[DTC_SIGNAL_TID], event->cpu);
	uint32_t target = dtc_history_read_wake_target(m->history, cpu->last_wake);
	if (named != DTC_NONE && get_process(m, named) == get_process(m, target))
		dtc_history_set_signal(m->history, cpu->last_wake, (uint8_t)signal);
}
