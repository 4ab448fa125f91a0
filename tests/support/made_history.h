/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A history made by hand, in which every promise of dtrace-chain/history.h is kept. */
#pragma once

#include "analyze/history/records.h"
#include "tests/support/story.h"

enum { IDLE0, IDLE1, SERVER, WORKER, FIRST, CHILD };	     /* threads: two of them had tid 12 one after the other */
enum { READ, WRITE, FORK, SYNC, ACCEPT, READ_AGAIN, SHORT }; /* calls, all of the server; the last takes no time */
enum { CONNECTION, DATA, ACCEPTED, LISTENER, PIPE_A, PIPE_B };
enum { FROM_PACKET, OF_CHILD, BY_THREAD, FROM_DISK, BY_SIGNAL, FROM_TIMER };
enum { RECEIVED, SENT };

#define BEGIN_NS 1000
#define END_NS 2000

static inline uint32_t add_string(DtcHistory *h, const char *text)
{
	return dtc_history_add_string(h, text);
}

static inline void add_thread(DtcHistory *h, struct dtc_thread thread, const char *name)
{
	const struct dtc_name_record record = { thread.begin_ns, h->threads->len, add_string(h, name) };
	uint32_t index = h->threads->len, previous = DTC_NONE;
	if (thread.tid) {
		uint32_t none = DTC_NONE, *latest;
		while (h->tid_latest->len <= (guint)thread.tid)
			g_array_append_val(h->tid_latest, none);
		latest = &g_array_index(h->tid_latest, uint32_t, thread.tid);
		previous = *latest;
		*latest = index;
	}
	g_array_append_val(h->threads, thread);
	g_array_append_val(h->tid_previous, previous);
	dtc_table_append(h->names, &record);
}

static inline void add_threads(DtcHistory *h)
{
	const struct dtc_thread idle = { BEGIN_NS, END_NS, .parent = DTC_NONE, .leader = DTC_NONE, .is_kernel = true };
	struct dtc_thread thread = idle;
	add_thread(h, thread, "swapper/0");
	thread.idle_cpu = 1;
	add_thread(h, thread, "swapper/1");
	thread = (struct dtc_thread){ BEGIN_NS, END_NS, 10, 10, DTC_NONE, SERVER, .idle_cpu = -1 };
	add_thread(h, thread, "server");
	thread = (struct dtc_thread){ BEGIN_NS, END_NS, 11, 11, DTC_NONE, WORKER, .idle_cpu = -1, .is_kernel = true };
	add_thread(h, thread, "kworker/1:0");
	thread = (struct dtc_thread){ BEGIN_NS, 1100, 12, 12, DTC_NONE, FIRST, .idle_cpu = -1 };
	add_thread(h, thread, "gone");
	thread = (struct dtc_thread){ 1550, END_NS, 12, 10, SERVER, SERVER, .idle_cpu = -1 };
	add_thread(h, thread, "server");
	const struct dtc_name_record renamed = { 1600, SERVER, add_string(h, "renamed") };
	dtc_table_append(h->names, &renamed);
}

/* Intervals of a thread, each until the next; of running ones cpu is where. */
struct piece {
	int64_t begin_ns;
	enum dtc_state state;
	uint16_t cpu;
	uint32_t call;
	uint32_t ref;
};

static inline void add_intervals(DtcHistory *h, uint32_t thread, const struct piece *pieces, gsize count)
{
	for (gsize i = 0; i < count; i++) {
		const struct piece *p = &pieces[i];
		const struct dtc_interval interval = {
			.begin_ns = p->begin_ns,
			.end_ns = i + 1 < count ? pieces[i + 1].begin_ns
						: g_array_index(h->threads, struct dtc_thread, thread).end_ns,
			.thread = thread,
			.call = p->call,
			.ref = p->ref,
			.cpu = p->cpu,
			.state = (uint8_t)p->state,
		};
		dtc_history_add_interval(h, &interval);
	}
}

#define NONE DTC_NONE
#define OFF 0xffff

static inline void add_all_intervals(DtcHistory *h)
{
	const struct piece idle0[] = {
		{ 1000, DTC_STATE_PREEMPTED, 0, NONE, NONE },
		{ 1200, DTC_STATE_IDLE, 0, NONE, NONE },
		{ 1300, DTC_STATE_IRQ, 0, NONE, add_string(h, "nic") },
		{ 1310, DTC_STATE_SOFTIRQ, 0, NONE, 3 },
		{ 1330, DTC_STATE_IDLE, 0, NONE, NONE },
		{ 1400, DTC_STATE_PREEMPTED, 0, NONE, NONE },
		{ 1710, DTC_STATE_IDLE, 0, NONE, NONE },
		{ 1780, DTC_STATE_IRQ, 0, NONE, add_string(h, "disk") },
		{ 1792, DTC_STATE_IDLE, 0, NONE, NONE },
		{ 1800, DTC_STATE_PREEMPTED, 0, NONE, NONE },
	};
	const struct piece idle1[] = { { 1000, DTC_STATE_PREEMPTED, 1, NONE, NONE },
				       { 1050, DTC_STATE_IDLE, 1, NONE, NONE },
				       { 1560, DTC_STATE_PREEMPTED, 1, NONE, NONE } };
	const struct piece server[] = {
		{ 1000, DTC_STATE_USER, 0, NONE, NONE },	{ 1100, DTC_STATE_SYSCALL, 0, READ, NONE },
		{ 1200, DTC_STATE_WAIT, 0, READ, FROM_PACKET }, { 1325, DTC_STATE_RUNQUEUE, 0, READ, NONE },
		{ 1400, DTC_STATE_SYSCALL, 0, READ, NONE },	{ 1450, DTC_STATE_USER, 0, NONE, NONE },
		{ 1480, DTC_STATE_SYSCALL, 0, WRITE, NONE },	{ 1520, DTC_STATE_USER, 0, NONE, NONE },
		{ 1540, DTC_STATE_SYSCALL, 0, FORK, NONE },	{ 1580, DTC_STATE_USER, 0, NONE, NONE },
		{ 1700, DTC_STATE_SYSCALL, 0, SYNC, NONE },	{ 1710, DTC_STATE_WAIT_DISK, 0, SYNC, FROM_DISK },
		{ 1790, DTC_STATE_RUNQUEUE, OFF, SYNC, NONE },	{ 1800, DTC_STATE_SYSCALL, 0, SYNC, NONE },
		{ 1810, DTC_STATE_USER, 0, NONE, NONE },	{ 1840, DTC_STATE_SYSCALL, 0, ACCEPT, NONE },
		{ 1860, DTC_STATE_USER, 0, NONE, NONE },	{ 1900, DTC_STATE_SYSCALL, 0, READ_AGAIN, NONE },
		{ 1910, DTC_STATE_USER, 0, NONE, NONE },	{ 1950, DTC_STATE_USER, 0, NONE, NONE },
	};
	const struct piece worker[] = {
		{ 1000, DTC_STATE_WAIT, 1, NONE, BY_THREAD }, { 1555, DTC_STATE_RUNQUEUE, 1, NONE, NONE },
		{ 1560, DTC_STATE_KERNEL, 1, NONE, NONE },    { 1565, DTC_STATE_KERNEL, 1, NONE, NONE },
		{ 1575, DTC_STATE_KERNEL, 1, NONE, NONE },    { 1580, DTC_STATE_KERNEL, 1, NONE, NONE },
		{ 1590, DTC_STATE_KERNEL, 1, NONE, NONE },    { 1600, DTC_STATE_WAIT, 1, NONE, NONE },
	};
	const struct piece first[] = { { 1000, DTC_STATE_USER, 1, NONE, NONE },
				       { 1050, DTC_STATE_EXITED, OFF, NONE, NONE } };
	const struct piece child[] = { { 1550, DTC_STATE_RUNQUEUE, OFF, NONE, NONE },
				       { 1600, DTC_STATE_KERNEL, 1, NONE, NONE },
				       { 1610, DTC_STATE_USER, 1, NONE, NONE } };
	/* not in the order of threads: sealing groups them */
	add_intervals(h, CHILD, child, G_N_ELEMENTS(child));
	add_intervals(h, SERVER, server, G_N_ELEMENTS(server));
	add_intervals(h, IDLE1, idle1, G_N_ELEMENTS(idle1));
	add_intervals(h, FIRST, first, G_N_ELEMENTS(first));
	add_intervals(h, WORKER, worker, G_N_ELEMENTS(worker));
	add_intervals(h, IDLE0, idle0, G_N_ELEMENTS(idle0));
}

static inline void add_runs(DtcHistory *h)
{
	const struct {
		uint32_t cpu;
		int64_t begin_ns;
		uint32_t thread;
	} runs[] = {
		{ 0, 1000, SERVER }, { 1, 1000, FIRST }, { 1, 1050, IDLE1 }, { 0, 1200, IDLE0 },  { 0, 1400, SERVER },
		{ 1, 1560, WORKER }, { 1, 1600, CHILD }, { 0, 1710, IDLE0 }, { 0, 1800, SERVER },
	};
	dtc_history_add_cpu(h);
	dtc_history_add_cpu(h);
	for (gsize i = 0; i < G_N_ELEMENTS(runs); i++)
		dtc_history_add_run(h, runs[i].cpu, runs[i].begin_ns, runs[i].thread);
}

static inline void add_wakes(DtcHistory *h)
{
	const struct dtc_wake wakes[] = {
		{ 1325, 1326, SERVER, IDLE0, RECEIVED, 0, .waker = DTC_WAKER_PACKET },
		{ 1550, 1551, CHILD, SERVER, NONE, 0, .waker = DTC_WAKER_NEW },
		{ 1555, 1557, WORKER, SERVER, NONE, 0, .waker = DTC_WAKER_THREAD },
		{ 1790, DTC_TIME_NONE, SERVER, IDLE0, 0, 0, .waker = DTC_WAKER_BLOCK },
		{ 1900, DTC_TIME_NONE, SERVER, CHILD, NONE, 1, .waker = DTC_WAKER_THREAD, .signal = 9 },
		{ 1950, DTC_TIME_NONE, CHILD, SERVER, add_string(h, "tick"), 0, .waker = DTC_WAKER_TIMER },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(wakes); i++)
		dtc_history_add_wake(h, &wakes[i]);
}

static inline void add_calls(DtcHistory *h)
{
	uint32_t name = add_string(h, "call");
	const struct dtc_call calls[] = {
		{ 1100, 1450, 5, 0, 0, SERVER, name, CONNECTION, NONE, 4, .kind = DTC_CALL_READ },
		{ 1480, 1520, 7, 0, 0, SERVER, name, CONNECTION, NONE, 4, .kind = DTC_CALL_WRITE },
		{ 1540, 1580, 12, 0, 0, SERVER, name, NONE, NONE, -1, .kind = DTC_CALL_FORK },
		{ 1700, 1810, 0, 0, 0, SERVER, name, DATA, NONE, 5, .kind = DTC_CALL_SYNC },
		{ 1840, 1860, 7, 0, ACCEPTED, SERVER, name, LISTENER, NONE, 6, .kind = DTC_CALL_ACCEPT },
		{ 1900, 1910, 3, 5, 0, SERVER, name, CONNECTION, add_string(h, "path"), 4, .kind = DTC_CALL_READ },
		{ 1950, 1950, 0, DTC_READY_AT(0, 2), 0, SERVER, name, NONE, NONE, -1, .kind = DTC_CALL_POLL },
	};
	const uint32_t ready[] = { CONNECTION, NONE };
	for (gsize i = 0; i < G_N_ELEMENTS(ready); i++)
		dtc_table_append(h->ready, &ready[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(calls); i++)
		dtc_table_append(h->filling->calls, &calls[i]);
}

static inline void add_packets(DtcHistory *h)
{
	const struct dtc_headers in = story_headers(1, 4000, 2, 80, 100, 200, DTC_TCP_ACK, 5, 0);
	const struct dtc_headers out = story_headers(2, 80, 1, 4000, 200, 105, DTC_TCP_ACK, 7, 0);
	const struct dtc_packet_context received = { 1305, IDLE0, NONE, true, .vector = 3 },
					sent = { 1495, SERVER, WRITE, false, .vector = 0xff };
	dtc_packets_add(h->packets, 1320, DTC_RECEIVED, 0, 0, &in);
	dtc_packets_add(h->packets, 1490, DTC_SENT, 0, 0, &out);
	dtc_packets_seal(h->packets);
	dtc_history_add_context(h, &received);
	dtc_history_add_context(h, &sent);
}

static inline void add_files(DtcHistory *h)
{
	struct dtc_file files[] = {
		[CONNECTION] = { .kind = DTC_FILE_SOCKET, .read_bytes = 8, .written_bytes = 7, .has_base_in = true },
		[DATA] = { .kind = DTC_FILE_PATH, .name = add_string(h, "data") },
		[ACCEPTED] = { .kind = DTC_FILE_SOCKET },
		[LISTENER] = { .kind = DTC_FILE_SOCKET, .listens = true },
		[PIPE_A] = { .kind = DTC_FILE_PIPE },
		[PIPE_B] = { .kind = DTC_FILE_PIPE },
	};
	for (uint32_t i = 0; i < G_N_ELEMENTS(files); i++) {
		files[i].begin_ns = BEGIN_NS;
		files[i].flow_in = files[i].flow_out = DTC_NONE;
		files[i].peer = i == PIPE_A ? PIPE_B : i == PIPE_B ? PIPE_A : DTC_NONE;
		files[i].accept = DTC_NONE;
		files[i].name = i == DATA ? files[i].name : DTC_NONE;
	}
	files[CONNECTION].flow_out = dtc_packets_get_flow_of(h->packets, SENT);
	files[CONNECTION].flow_in = dtc_packets_get_flow_of(h->packets, RECEIVED);
	for (uint32_t i = 0; i < G_N_ELEMENTS(files); i++)
		dtc_table_append(h->files, &files[i]);
	uint32_t by_flow[2] = { DTC_NONE, DTC_NONE };
	by_flow[files[CONNECTION].flow_out] = CONNECTION;
	g_array_append_vals(h->flow_files, by_flow, G_N_ELEMENTS(by_flow));
}

static inline void add_rest(DtcHistory *h)
{
	const struct dtc_block_request blocks[] = { { 1720, 1730, 1785, 64, 8, 8, SERVER, 0 },
						    { 1850, DTC_TIME_NONE, DTC_TIME_NONE, 128, 8, 8, NONE, 0 } };
	const struct dtc_work works[] = {
		{ { DTC_TIME_NONE, DTC_TIME_NONE, WORKER, NONE, NONE, 0, .waker = DTC_WAKER_UNKNOWN }, 1580, 1590, 0 },
		{ { 1556, DTC_TIME_NONE, WORKER, SERVER, NONE, 0, .waker = DTC_WAKER_THREAD }, 1565, 1575, 0 },
	};
	const struct dtc_device devices[] = { { 8, add_string(h, "sda") }, { 16, add_string(h, "sdb") } };
	const struct dtc_mark marks[] = { { 1105, SERVER, add_string(h, "mark") }, { 1205, NONE, NONE } };
	const struct dtc_fault faults[] = { { 1010, SERVER, 0 }, { 1120, SERVER, 1 } };
	const struct dtc_vcpu vcpus[] = { { CHILD, 0, 0, 2 }, { SERVER, -1, 0, 1 } };
	const struct dtc_guest_span spans[] = {
		{ 1700, 1710, 1712, CHILD, 5, 2, 0 },
		{ 1815, 1830, 1830, SERVER, DTC_EXIT_UNKNOWN, 1, 0 },
		{ 1820, 1830, DTC_TIME_NONE, CHILD, DTC_EXIT_UNKNOWN, 0, 0 },
	};
	const struct dtc_guest_irq irqs[] = { { 1690, CHILD, 0, 236, true, 0 }, { 1700, NONE, 1, 236, false, 0 } };
	for (gsize i = 0; i < 2; i++) {
		dtc_table_append(h->blocks, &blocks[i]);
		dtc_table_append(h->works, &works[i]);
		dtc_history_add_fault(h, &faults[i]);
		dtc_table_append(h->guest_irqs, &irqs[i]);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(spans); i++)
		dtc_table_append(h->guest_spans, &spans[i]);
	g_array_append_vals(h->devices, devices, 2);
	for (int32_t pid = 30; pid >= 20; pid -= 10) {
		const struct dtc_cpu_limit limit = { -1, 3, pid, add_string(h, "/web"), 20000, 100000 };
		g_array_append_val(h->cpu_limits, limit);
	}
	for (int64_t end_ns = BEGIN_NS + 200; end_ns <= BEGIN_NS + 400; end_ns += 200)
		dtc_table_append(h->period_ends, &end_ns);
	g_array_append_vals(h->marks, marks, 2);
	g_array_append_vals(h->vcpus, vcpus, 2);
}

static inline DtcHistory *make_history(void)
{
	DtcHistory *h = dtc_history_new();
	h->begin_ns = BEGIN_NS;
	h->end_ns = END_NS;
	add_threads(h);
	add_wakes(h);
	add_all_intervals(h);
	add_runs(h);
	add_calls(h);
	add_packets(h);
	add_files(h);
	add_rest(h);
	dtc_history_seal(h);
	return h;
}
