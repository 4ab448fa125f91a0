/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small stories for the state machine, told event by event: the node's events are made here instead of being read.
 * Times are in ns from the story's begin. Every helper is one kernel event.
 */
#pragma once

#include "analyze/state/machine.h"

#include <string.h>

struct story {
	DtcMachine *machine;
	DtcHistory *history; /* after story_end */
	DtcFindings *findings;
};

static inline void story_begin(struct story *story, const char *node)
{
	*story = (struct story){ .machine = dtc_machine_new(node, NULL), .findings = dtc_findings_new() };
}

static inline DtcHistory *story_end(struct story *story)
{
	story->history = dtc_machine_finish(story->machine, story->findings);
	dtc_machine_free(story->machine);
	story->machine = NULL;
	GError *error = NULL;
	bool consistent = dtc_history_check(story->history, &error);
	g_assert_no_error(error);
	g_assert_true(consistent);
	return story->history;
}

static inline void story_clear(struct story *story)
{
	dtc_machine_free(story->machine);
	dtc_history_free(story->history);
	dtc_findings_free(story->findings);
}

static inline struct dtc_event story_event(enum dtc_event_kind kind, int64_t time_ns, uint32_t cpu)
{
	struct dtc_event event = { .time_ns = time_ns, .cpu = cpu, .kind = (uint16_t)kind };
	for (int i = 0; i < DTC_EVENT_SLOTS; i++)
		event.v[i] = DTC_ABSENT;
	return event;
}

static inline void story_switch(struct story *s, int64_t t, uint32_t cpu, int prev, const char *prev_comm,
				int prev_state, int next, const char *next_comm)
{
	struct dtc_event e = story_event(DTC_EVENT_SCHED_SWITCH, t, cpu);
	e.v[DTC_SWITCH_PREV_TID] = prev;
	e.v[DTC_SWITCH_PREV_STATE] = prev_state;
	e.v[DTC_SWITCH_NEXT_TID] = next;
	e.text[0] = prev_comm;
	e.text[1] = next_comm;
	dtc_machine_apply(s->machine, &e);
}

/* kind: SCHED_WAKING, SCHED_WAKEUP, SCHED_WAKEUP_NEW, SCHED_MIGRATE, SCHED_EXIT, SCHED_FREE */
static inline void story_task(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int tid,
			      const char *comm, int target_cpu)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[DTC_TASK_TID] = tid;
	e.v[DTC_TASK_TARGET_CPU] = target_cpu;
	e.text[0] = comm;
	dtc_machine_apply(s->machine, &e);
}

static inline void story_fork(struct story *s, int64_t t, uint32_t cpu, int parent, int parent_pid, int child,
			      int child_pid, const char *comm)
{
	struct dtc_event e = story_event(DTC_EVENT_SCHED_FORK, t, cpu);
	e.v[DTC_FORK_PARENT_TID] = parent;
	e.v[DTC_FORK_PARENT_PID] = parent_pid;
	e.v[DTC_FORK_CHILD_TID] = child;
	e.v[DTC_FORK_CHILD_PID] = child_pid;
	e.text[0] = e.text[1] = comm;
	dtc_machine_apply(s->machine, &e);
}

/* IRQ, SOFTIRQ, HRTIMER, TIMER, VECTOR entries and exits; value goes to the first slot (VECTOR: to its type) */
static inline void story_context(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int64_t value,
				 const char *name)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[0] = value;
	if (kind == DTC_EVENT_HRTIMER_ENTRY)
		e.v[DTC_TIMER_FUNCTION] = value;
	if (kind == DTC_EVENT_VECTOR_ENTRY || kind == DTC_EVENT_VECTOR_EXIT)
		e.v[DTC_VECTOR_TYPE] = value;
	e.text[0] = name;
	dtc_machine_apply(s->machine, &e);
}

/* The local timer's interrupt, from begin_ns on, in which a timer's function wakes a thread for that CPU. */
static inline void story_timer_wakes(struct story *s, int64_t begin_ns, int64_t wake_ns, uint32_t cpu, int tid,
				     const char *comm)
{
	story_context(s, DTC_EVENT_VECTOR_ENTRY, begin_ns, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, begin_ns + 1, cpu, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, wake_ns, cpu, tid, comm, (int)cpu);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, wake_ns + 1, cpu, 1, NULL);
	story_context(s, DTC_EVENT_VECTOR_EXIT, wake_ns + 2, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
}

static inline void story_enter(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_FD] = fd < 0 ? DTC_ABSENT : fd;
	dtc_machine_apply(s->machine, &e);
}

static inline void story_leave(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t result)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_EXIT, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_RET] = result;
	dtc_machine_apply(s->machine, &e);
}

/* WORK_QUEUE, WORK_START, WORK_END */
static inline void story_work(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int64_t address)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[DTC_WORK_ADDRESS] = address;
	dtc_machine_apply(s->machine, &e);
}

static inline void story_futex(struct story *s, int64_t t, uint32_t cpu, int64_t operation, int64_t uaddr)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "futex");
	e.v[DTC_CALL_OP] = operation;
	e.v[DTC_CALL_UADDR] = uaddr;
	dtc_machine_apply(s->machine, &e);
}

/* epoll_wait, poll, ...: timeout as the trace has it, DTC_ABSENT if it has none */
static inline void story_poll(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t timeout)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_FD] = fd < 0 ? DTC_ABSENT : fd;
	e.v[DTC_CALL_TIMEOUT] = timeout;
	dtc_machine_apply(s->machine, &e);
}

/* A poll returns for these descriptors; with is_data they are what epoll_ctl was given. Absent ones: beyond count. */
static inline void story_ready(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t result, bool is_data,
			       uint16_t count, const int64_t *values)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_EXIT, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_RET] = result;
	e.is_ready_data = is_data;
	e.ready_count = count;
	memcpy(e.ready, values, count * sizeof(*values));
	dtc_machine_apply(s->machine, &e);
}

static inline void story_block(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int64_t sector,
			       int64_t sectors)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[DTC_BLOCK_DEVICE] = 8 << 20;
	e.v[DTC_BLOCK_SECTOR] = sector;
	e.v[DTC_BLOCK_SECTORS] = sectors;
	dtc_machine_apply(s->machine, &e);
}

static inline struct dtc_headers story_headers(uint32_t source, uint16_t source_port, uint32_t destination,
					       uint16_t destination_port, uint32_t seq, uint32_t ack, uint8_t flags,
					       uint32_t payload_bytes, uint16_t ip_id)
{
	struct dtc_headers h = { .source_port = source_port,
				 .destination_port = destination_port,
				 .ip_version = 4,
				 .protocol = DTC_PROTOCOL_TCP,
				 .tcp_flags = flags,
				 .has_transport = true,
				 .ip_id = ip_id,
				 .seq = seq,
				 .ack = ack,
				 .payload_bytes = payload_bytes };
	uint32_t addresses[2] = { source, destination };
	uint8_t *to[2] = { h.source, h.destination };
	for (int i = 0; i < 2; i++) {
		to[i][10] = to[i][11] = 0xff;
		for (int k = 0; k < 4; k++)
			to[i][12 + k] = (uint8_t)(addresses[i] >> (24 - 8 * k));
	}
	return h;
}

/* NET_SEND or NET_RECEIVE */
static inline void story_packet(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu,
				const struct dtc_headers *headers)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.headers = *headers;
	e.text[0] = "eth0";
	dtc_machine_apply(s->machine, &e);
}

#define STORY_KVM_RUN 0xae80

static inline void story_ioctl(struct story *s, int64_t t, uint32_t cpu, int64_t request)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "ioctl");
	e.v[DTC_CALL_OP] = request;
	dtc_machine_apply(s->machine, &e);
}

/* KVM_ENTRY: value is the vCPU's number; KVM_EXIT: the reason, of an SVM machine */
static inline void story_vm(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int64_t value)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[kind == DTC_EVENT_KVM_ENTRY ? DTC_KVM_VCPU : DTC_KVM_REASON] = value;
	e.v[DTC_KVM_ISA] = 2;
	dtc_machine_apply(s->machine, &e);
}

/* KVM_ACCEPT, KVM_INJECT */
static inline void story_guest_irq(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t cpu, int64_t apic,
				   int64_t vector)
{
	struct dtc_event e = story_event(kind, t, cpu);
	e.v[DTC_KVM_APIC] = apic;
	e.v[DTC_KVM_VECTOR] = vector;
	dtc_machine_apply(s->machine, &e);
}

static inline void story_lost(struct story *s, int64_t begin_ns, int64_t end_ns, uint32_t cpu)
{
	struct dtc_event e = story_event(DTC_EVENT_LOST, end_ns, cpu);
	e.v[DTC_LOST_COUNT] = DTC_ABSENT;
	e.v[DTC_LOST_BEGIN] = begin_ns;
	dtc_machine_apply(s->machine, &e);
}

/* The interval of the thread that contains the time just before t. */
static inline const struct dtc_interval *story_interval(const struct story *s, int tid, int64_t t)
{
	uint32_t thread = dtc_history_find_thread(s->history, tid, t);
	g_assert_cmpuint(thread, !=, DTC_NONE);
	static struct dtc_interval places[64]; /* a story looks at a few at a time */
	static guint next;
	const struct dtc_interval *interval =
		dtc_history_find_interval_before(s->history, thread, t, &places[next++ % G_N_ELEMENTS(places)]);
	g_assert_nonnull(interval);
	return interval;
}
