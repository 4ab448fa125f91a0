/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node's CPUs: who runs, who waits for one, interrupts. What is recorded of a node is in the order in which it is
 * handled here; an event that would be stamped before the one before it is moved behind it by a nanosecond.
 */
#include "clusters/sim/cluster.h"

#define BETWEEN_NS 300 /* two things that a CPU does one after the other */
#define IDLE_EXIT_NS (6 * SIM_US)
#define CLOCK_BEGIN_NS (10 * G_GINT64_CONSTANT(1000000000))
#define PRIO 20
#define STATE_SLEEPS 1
#define STATE_DISK 2
#define DISK_IRQ 28
#define DISK_DEVICE 266338304
#define WRITES 65
#define SECTORS 8

/* ---- records ---- */

int64_t sim_to_node_clock(const struct sim_node *node, int64_t true_ns)
{
	return CLOCK_BEGIN_NS + node->clock_offset_ns + true_ns + (int64_t)(node->clock_rate * (double)true_ns);
}

static int64_t take_stamp(struct sim_node *node, int64_t at_ns)
{
	node->last_ns = MAX(at_ns, node->last_ns + 1);
	return node->last_ns;
}

int64_t sim_record(struct sim_cluster *cluster, guint32 index, guint cpu, int64_t at_ns, enum sim_event event,
		   const int64_t *values, const char *const *texts)
{
	struct sim_node *node = &cluster->nodes[index];
	int64_t stamp = take_stamp(node, at_ns);
	sim_trace_add(node->trace, cpu, sim_to_node_clock(node, stamp), event, values, texts);
	return stamp;
}

int64_t sim_record_frame(struct sim_cluster *cluster, guint32 index, guint cpu, int64_t at_ns, enum sim_event event,
			 const struct sim_frame *frame)
{
	struct sim_node *node = &cluster->nodes[index];
	/* what is sent is captured behind its event, what is received before */
	int64_t captured = event == SIM_NET_QUEUE ? at_ns + BETWEEN_NS : at_ns - BETWEEN_NS / 2;
	int64_t stamp = take_stamp(node, at_ns);
	node->last_capture_ns = MAX(captured, node->last_capture_ns + 1);
	sim_trace_add_packet(node->trace, cpu, sim_to_node_clock(node, stamp), event, frame);
	sim_trace_capture(node->trace, sim_to_node_clock(node, node->last_capture_ns), frame);
	return stamp;
}

/* ---- CPUs ---- */

static void enqueue(struct sim_cluster *cluster, guint32 thread, guint cpu_index)
{
	struct sim_thread *one = &cluster->threads[thread];
	struct sim_cpu *cpu = &cluster->nodes[one->node].cpus[cpu_index];
	one->state = SIM_READY;
	one->cpu = (uint8_t)cpu_index;
	one->next = SIM_NONE;
	if (cpu->head == SIM_NONE)
		cpu->head = thread;
	else
		cluster->threads[cpu->tail].next = thread;
	cpu->tail = thread;
	cpu->length++;
}

static guint32 dequeue(struct sim_cluster *cluster, struct sim_cpu *cpu)
{
	guint32 thread = cpu->head;
	if (thread != SIM_NONE) {
		cpu->head = cluster->threads[thread].next;
		cpu->length--;
	}
	return thread;
}

static bool is_free(const struct sim_cpu *cpu)
{
	return cpu->thread == SIM_NONE && cpu->head == SIM_NONE;
}

/* The CPU it had if that is free, another that is, or the one with the fewest in its queue. */
static guint choose_cpu(const struct sim_node *node, guint cpu_count, guint last)
{
	guint best = last;
	if (is_free(&node->cpus[last]))
		return last;
	for (guint i = 0; i < cpu_count; i++) {
		if (is_free(&node->cpus[i]))
			return i;
		if (node->cpus[i].length < node->cpus[best].length)
			best = i;
	}
	return best;
}

static void dispatch_later(struct sim_cluster *cluster, guint32 node, guint cpu_index, int64_t at_ns)
{
	struct sim_cpu *cpu = &cluster->nodes[node].cpus[cpu_index];
	if (cpu->thread != SIM_NONE || cpu->is_dispatching)
		return;
	cpu->is_dispatching = true;
	sim_queue_add(cluster->queue, at_ns + IDLE_EXIT_NS, SIM_DISPATCH, node, cpu_index, NULL);
}

int64_t sim_wake(struct sim_cluster *cluster, guint32 thread, guint cpu, int64_t at_ns)
{
	struct sim_thread *one = &cluster->threads[thread];
	one->is_woken = true;
	if (one->state != SIM_BLOCKED)
		return at_ns;
	guint target = choose_cpu(&cluster->nodes[one->node], cluster->options.cpu_count, one->cpu);
	int64_t values[] = { one->tid, PRIO, target };
	const char *texts[] = { one->comm };
	at_ns = sim_record(cluster, one->node, cpu, at_ns + BETWEEN_NS, SIM_SCHED_WAKING, values, texts);
	enqueue(cluster, thread, target);
	dispatch_later(cluster, one->node, target, at_ns);
	return at_ns;
}

/* SIM_NONE: the idle task. */
static int64_t switch_to(struct sim_cluster *cluster, guint32 node, guint cpu, guint32 previous, int64_t state,
			 guint32 next, int64_t at_ns)
{
	char idle[24];
	const struct sim_thread *from = previous == SIM_NONE ? NULL : &cluster->threads[previous];
	const struct sim_thread *to = next == SIM_NONE ? NULL : &cluster->threads[next];
	g_snprintf(idle, sizeof(idle), "swapper/%u", cpu);
	int64_t values[] = { from ? from->tid : 0, PRIO, state, to ? to->tid : 0, PRIO };
	const char *texts[] = { from ? from->comm : idle, to ? to->comm : idle };
	cluster->nodes[node].cpus[cpu].thread = next;
	if (next != SIM_NONE)
		cluster->threads[next].state = SIM_RUNNING;
	return sim_record(cluster, node, cpu, at_ns + BETWEEN_NS, SIM_SCHED_SWITCH, values, texts);
}

/* The thread that has the CPU goes on, and those after it, until one computes or nobody is left. */
static void go_on(struct sim_cluster *cluster, guint32 node, guint cpu_index, int64_t at_ns)
{
	struct sim_cpu *cpu = &cluster->nodes[node].cpus[cpu_index];
	while (cpu->thread != SIM_NONE) {
		guint32 thread = cpu->thread;
		struct sim_thread *one = &cluster->threads[thread];
		if (one->left_ns > 0) {
			sim_queue_add(cluster->queue, at_ns + MIN(one->left_ns, SIM_SLICE_NS), SIM_BURST_END, node,
				      thread, NULL);
			return;
		}
		enum sim_step_result result = sim_program_step(cluster, thread, &at_ns);
		if (result == SIM_STEP_RUN)
			continue;
		one->state = SIM_BLOCKED;
		at_ns = switch_to(cluster, node, cpu_index, thread,
				  result == SIM_STEP_BLOCK_DISK ? STATE_DISK : STATE_SLEEPS, dequeue(cluster, cpu),
				  at_ns);
	}
}

static void end_burst(struct sim_cluster *cluster, guint32 thread, int64_t at_ns)
{
	struct sim_thread *one = &cluster->threads[thread];
	guint cpu_index = one->cpu;
	struct sim_cpu *cpu = &cluster->nodes[one->node].cpus[cpu_index];
	one->left_ns -= MIN(one->left_ns, SIM_SLICE_NS);
	if (one->left_ns > 0 && cpu->head != SIM_NONE) {
		guint32 next = dequeue(cluster, cpu);
		enqueue(cluster, thread, cpu_index);
		at_ns = switch_to(cluster, one->node, cpu_index, thread, 0, next, at_ns);
	}
	go_on(cluster, one->node, cpu_index, at_ns);
}

static void dispatch(struct sim_cluster *cluster, guint32 node, guint cpu_index, int64_t at_ns)
{
	struct sim_cpu *cpu = &cluster->nodes[node].cpus[cpu_index];
	cpu->is_dispatching = false;
	if (cpu->thread != SIM_NONE || cpu->head == SIM_NONE)
		return;
	at_ns = switch_to(cluster, node, cpu_index, SIM_NONE, 0, dequeue(cluster, cpu), at_ns);
	go_on(cluster, node, cpu_index, at_ns);
}

/* ---- interrupts ---- */

static void expire_timer(struct sim_cluster *cluster, guint32 thread, int64_t at_ns)
{
	const struct sim_thread *one = &cluster->threads[thread];
	int64_t timer = (int64_t)(G_GUINT64_CONSTANT(0xffffc90000000000) + (guint64)thread * 4096);
	if (one->state != SIM_BLOCKED)
		return;
	guint cpu = one->cpu;
	int64_t begin[] = { timer, sim_to_node_clock(&cluster->nodes[one->node], at_ns), (int64_t)0xffffffff81151d90 };
	at_ns = sim_record(cluster, one->node, cpu, at_ns, SIM_HRTIMER_ENTRY, begin, NULL);
	at_ns = sim_wake(cluster, thread, cpu, at_ns);
	sim_record(cluster, one->node, cpu, at_ns + BETWEEN_NS, SIM_HRTIMER_EXIT, &timer, NULL);
}

static void complete_disk(struct sim_cluster *cluster, guint32 thread, int64_t at_ns)
{
	const struct sim_thread *one = &cluster->threads[thread];
	guint cpu = one->cpu;
	const char *name = "virtio1-requests";
	int64_t irq[] = { DISK_IRQ, 1 };
	int64_t done[] = { DISK_DEVICE, one->job_ns, SECTORS, 0, WRITES };
	at_ns = sim_record(cluster, one->node, cpu, at_ns, SIM_IRQ_ENTRY, irq, &name);
	at_ns = sim_record(cluster, one->node, cpu, at_ns + BETWEEN_NS, SIM_BLOCK_COMPLETE, done, NULL);
	at_ns = sim_wake(cluster, thread, cpu, at_ns);
	sim_record(cluster, one->node, cpu, at_ns + BETWEEN_NS, SIM_IRQ_EXIT, irq, NULL);
}

static void dump_state(struct sim_cluster *cluster, guint32 index)
{
	struct sim_node *node = &cluster->nodes[index];
	const char *loopback = "lo", *device = "eth0";
	int64_t addresses[] = { 0x7f000001, node->address };
	int64_t at_ns = 0;
	for (guint i = 0; i < node->thread_count; i++) {
		const struct sim_thread *one = &cluster->threads[node->first_thread + i];
		const char *comm = one->comm;
		int64_t values[] = { one->tid, one->pid, 1,
				     0,	       5,	 0,
				     5,	       one->cpu, (int64_t)0xffff888004000000 + (int64_t)one->pid * 64 };
		at_ns = sim_record(cluster, index, 0, at_ns + BETWEEN_NS, SIM_DUMP_PROCESS, values, &comm);
	}
	at_ns = sim_record(cluster, index, 0, at_ns + BETWEEN_NS, SIM_DUMP_INTERFACE, &addresses[0], &loopback);
	at_ns = sim_record(cluster, index, 0, at_ns + BETWEEN_NS, SIM_DUMP_INTERFACE, &addresses[1], &device);
	sim_record(cluster, index, 0, at_ns + BETWEEN_NS, SIM_DUMP_END, NULL, NULL);
}

/* Everybody is there and wants a CPU. */
static void begin(struct sim_cluster *cluster)
{
	for (guint32 i = 0; i < cluster->options.node_count; i++) {
		struct sim_node *node = &cluster->nodes[i];
		dump_state(cluster, i);
		for (guint k = 0; k < node->thread_count; k++)
			enqueue(cluster, node->first_thread + k, cluster->threads[node->first_thread + k].cpu);
		for (guint k = 0; k < cluster->options.cpu_count; k++)
			dispatch_later(cluster, i, k, SIM_MS + (int64_t)i * SIM_US);
	}
}

void sim_run(struct sim_cluster *cluster)
{
	struct sim_entry entry;
	begin(cluster);
	while (sim_queue_take(cluster->queue, &entry)) {
		cluster->now_ns = entry.at_ns;
		switch (entry.kind) {
		case SIM_BURST_END:
			end_burst(cluster, entry.subject, entry.at_ns);
			break;
		case SIM_DISPATCH:
			dispatch(cluster, entry.node, entry.subject, entry.at_ns);
			break;
		case SIM_TIMER:
			expire_timer(cluster, entry.subject, entry.at_ns);
			break;
		case SIM_DISK_DONE:
			complete_disk(cluster, entry.subject, entry.at_ns);
			break;
		default:
			sim_packet_arrive(cluster, entry.packet, entry.at_ns);
		}
	}
}
