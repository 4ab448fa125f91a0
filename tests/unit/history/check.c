/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A history made by hand, in which every promise of dtrace-chain/history.h is kept; then each is broken in turn, and
 * the check must name it.
 */
#include "collect/packets/records.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_history.h"

static void test_kept(void)
{
	g_autoptr(DtcHistory) h = make_history();
	g_autoptr(GError) error = NULL;
	bool kept = dtc_history_check(h, &error);
	g_assert_no_error(error);
	g_assert_true(kept);

	g_autoptr(DtcHistory) empty = dtc_history_new();
	dtc_history_seal(empty);
	kept = dtc_history_check(empty, &error);
	g_assert_no_error(error);
	g_assert_true(kept);
}

/* What sealing makes of it: groups, indexes, strings. */
static void test_sealed(void)
{
	g_autoptr(DtcHistory) h = make_history();
	g_assert_cmpuint(dtc_history_get_run_count(h, 1), ==, 4);
	g_assert_cmpuint(dtc_history_get_run(h, 1, 2).thread, ==, WORKER);
	g_assert_cmpuint(dtc_history_get_run_count(h, 2), ==, 0);
	g_assert_cmpuint(dtc_history_find_thread(h, 12, 1050), ==, FIRST);
	g_assert_cmpuint(dtc_history_find_thread(h, 12, DTC_TIME_NONE), ==, CHILD);
	g_assert_cmpstr(dtc_history_get_comm(h, SERVER, 1599), ==, "server");
	g_assert_cmpstr(dtc_history_get_comm(h, SERVER, 1600), ==, "renamed");
	g_assert_cmpstr(dtc_history_get_device_name(h, 16), ==, "sdb");
	g_assert_cmpstr(dtc_history_get_string(h, DTC_NONE), ==, "");
	g_assert_cmpint(dtc_history_find_work(h, WORKER, 1575)->begin_ns, ==, 1565);
	g_assert_cmpint(dtc_history_get_guest_span(h, 1)->entry_ns, ==, 1820); /* grouped by vCPU */
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, CONNECTION, &count);
	g_assert_cmpuint(count, ==, 3);
	g_assert_cmpuint(calls[2], ==, READ_AGAIN);
}

enum list {
	INTERVAL,
	INTERVAL_REF,
	THREAD,
	WAKE,
	CALL,
	FILE_,
	BLOCK,
	WORK,
	RUN,
	SPAN,
	VCPU,
	IRQ,
	MARK,
	FAULT,
	CONTEXT,
	PACKET,
	NAME,
	DEVICE,
	CPU_LIMIT,
	PERIOD_END,
	STRING_AT,
	TID_PREVIOUS,
	TID_LATEST,
	NAME_FIRST,
	FILE_CALL,
	FILE_CALL_FIRST,
	FLOW_FILE,
	READY,
	RUN_FIRST
};

struct breakage {
	enum list list;
	int64_t place; /* an index; of intervals the thread, at_ns says which, and offset is an enum field */
	int64_t at_ns;
	gsize offset;
	gsize size;
	int64_t value;
	const char *expected;
};

static struct dtc_interval_record *get_interval(DtcHistory *h, uint32_t thread, int64_t at_ns)
{
	struct dtc_interval place;
	g_assert_nonnull(dtc_history_find_interval_before(h, thread, at_ns + 1, &place));
	return DTC_AT(h->intervals, struct dtc_interval_record, place.index);
}

/* Of a record of intervals, whose fields have no address. */
enum field { BEGIN_OF, STATE_OF, IN_CALL, CPU_OF, REF_OF };

static void set_field(struct dtc_interval_record *record, enum field field, uint64_t value)
{
	switch (field) {
	case BEGIN_OF:
		record->begin = value - BEGIN_NS;
		break;
	case STATE_OF:
		record->state = value & 0xf;
		break;
	case IN_CALL:
		record->is_in_call = value & 1;
		break;
	case CPU_OF:
		record->cpu = value & 0x3fff;
		break;
	case REF_OF:
		record->ref = value & 0x3f;
		break;
	}
}

static void set_wake(DtcHistory *h, uint32_t index, gsize offset, const void *value, gsize size)
{
	struct dtc_wake wake = dtc_history_copy_wake(h, index);
	memcpy((char *)&wake + offset, value, size);
	*DTC_AT(h->wakes, struct dtc_wake_record, index) = dtc_wake_pack((uint64_t)(wake.waking_ns - BEGIN_NS), &wake);
}

/* All are packed anew, in the order that they had. */
static void set_packet(DtcHistory *h, uint32_t index, gsize offset, const void *value, gsize size)
{
	DtcPacked *changed = dtc_packed_new();
	for (uint32_t i = 0; i < dtc_packets_get_count(h->packets); i++) {
		struct dtc_packet packet = dtc_packets_get(h->packets, i);
		if (i == index)
			memcpy((char *)&packet + offset, value, size);
		dtc_packed_add(changed, &packet, dtc_packets_get_mark(h->packets, i));
	}
	changed->has_late = false; /* it stays where it is */
	dtc_packed_seal(changed);
	dtc_packed_free(h->packets->packed);
	h->packets->packed = changed;
}

/* Of a record of runs or faults, likewise. */
enum moment { TIME_OF, THREAD_OF, FLAG_OF };

static void set_moment(struct dtc_moment_record *record, enum moment field, uint64_t value)
{
	switch (field) {
	case TIME_OF:
		record->time = (value - BEGIN_NS) & ((UINT64_C(1) << DTC_ERA_BITS) - 1);
		break;
	case THREAD_OF:
		record->thread = value & DTC_THREAD_LIMIT;
		break;
	case FLAG_OF:
		record->has_flag = value & 1;
		break;
	}
}

/* A packet's context, kept whole. */
static struct dtc_packet_context *make_odd(DtcHistory *h, uint32_t packet)
{
	const struct dtc_odd_context odd = { dtc_history_get_packet_context(h, packet), packet, 0 };
	DTC_AT(h->contexts, struct dtc_context_record, packet)->queue = DTC_QUEUE_ODD;
	dtc_table_append(h->odd_contexts, &odd);
	return &DTC_AT(h->odd_contexts, struct dtc_odd_context, h->odd_contexts->len - 1)->context;
}

static int compare_odd_calls(const void *a, const void *b)
{
	const struct dtc_odd_call *x = a, *y = b;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The call, whole, as one that does not fit. */
static struct dtc_call *make_odd_call(DtcHistory *h, uint32_t index)
{
	const struct dtc_odd_call odd = { dtc_history_copy_call(h, index), index, 0 };
	struct dtc_call_record *record = DTC_AT(h->calls, struct dtc_call_record, index);
	if (record->begin != DTC_BEGIN_ODD)
		dtc_table_append(h->odd_calls, &odd);
	*record = (struct dtc_call_record){ .begin = DTC_BEGIN_ODD };
	qsort(h->odd_calls->data, h->odd_calls->len, sizeof(odd), compare_odd_calls);
	struct dtc_odd_call *found =
		bsearch(&odd, h->odd_calls->data, h->odd_calls->len, sizeof(odd), compare_odd_calls);
	return &found->call;
}

static void *find_record(DtcHistory *h, const struct breakage *b)
{
	gsize i = (gsize)b->place;
	switch (b->list) {
	case INTERVAL:
		return get_interval(h, (uint32_t)b->place, b->at_ns);
	case WAKE: /* of a copy: set_wake */
		break;
	case INTERVAL_REF:
		return &g_array_index(h->interval_refs, uint32_t, i);
	case THREAD:
		return &g_array_index(h->threads, struct dtc_thread, i);
	case CALL:
		return make_odd_call(h, (uint32_t)i);
	case FILE_:
		return DTC_AT(h->files, struct dtc_file, i);
	case BLOCK:
		return DTC_AT(h->blocks, struct dtc_block_request, i);
	case WORK:
		return DTC_AT(h->works, struct dtc_work, i);
	case RUN:
		return DTC_AT(h->runs, struct dtc_moment_record, i);
	case SPAN:
		return DTC_AT(h->guest_spans, struct dtc_guest_span, i);
	case VCPU:
		return &g_array_index(h->vcpus, struct dtc_vcpu, i);
	case IRQ:
		return DTC_AT(h->guest_irqs, struct dtc_guest_irq, i);
	case MARK:
		return &g_array_index(h->marks, struct dtc_mark, i);
	case FAULT:
		return DTC_AT(h->faults, struct dtc_moment_record, i);
	case CONTEXT:
		return make_odd(h, (uint32_t)i);
	case PACKET: /* packed: set_packet */
		break;
	case NAME:
		return DTC_AT(h->names, struct dtc_name_record, i);
	case DEVICE:
		return &g_array_index(h->devices, struct dtc_device, i);
	case CPU_LIMIT:
		return &g_array_index(h->cpu_limits, struct dtc_cpu_limit, i);
	case PERIOD_END:
		return DTC_AT(h->period_ends, int64_t, i);
	case STRING_AT:
		return &g_array_index(h->string_at, uint32_t, i);
	case TID_PREVIOUS:
		return &g_array_index(h->tid_previous, uint32_t, i);
	case TID_LATEST:
		return &g_array_index(h->tid_latest, uint32_t, i);
	case NAME_FIRST:
		return &g_array_index(h->name_first, uint32_t, i);
	case FILE_CALL:
		return DTC_AT(h->file_calls, uint32_t, i);
	case FILE_CALL_FIRST:
		return &g_array_index(h->file_call_first, uint32_t, i);
	case FLOW_FILE:
		return &g_array_index(h->flow_files, uint32_t, i);
	case READY:
		return DTC_AT(h->ready, uint32_t, i);
	case RUN_FIRST:
		return &g_array_index(h->run_first, uint32_t, i);
	}
	g_assert_not_reached();
}

#define SET(list, type, index, field, value, expected)                                                                 \
	{                                                                                                              \
		list, index, 0, offsetof(struct type, field), sizeof(((struct type *)NULL)->field), value, expected    \
	}
#define SET_INTERVAL(thread, at_ns, field, value, expected)                                                            \
	{                                                                                                              \
		INTERVAL, thread, at_ns, field, 0, value, expected                                                     \
	}
#define SET_MOMENT(list, index, field, value, expected)                                                                \
	{                                                                                                              \
		list, index, 0, field, 0, value, expected                                                              \
	}
#define SET_U32(list, index, value, expected)                                                                          \
	{                                                                                                              \
		list, index, 0, 0, sizeof(uint32_t), value, expected                                                   \
	}

static const struct breakage breakages[] = {
	SET_U32(STRING_AT, 0, 1, "string 0: does not begin where strings begin"),
	SET_U32(STRING_AT, 1, 0, "string 0: does not lie before the next"),
	SET_U32(STRING_AT, 1, 5, "string 0: does not end"),
	SET_U32(NAME_FIRST, 0, 1, "the ranges of names do not cover them"),
	SET_U32(NAME_FIRST, 6, 99, "the ranges of names do not cover them"),
	SET_U32(NAME_FIRST, 1, 99, "its names end before they begin"),
	SET_U32(RUN_FIRST, 0, 1, "the ranges of runs do not cover them"),
	SET_U32(RUN_FIRST, 2, 8, "the ranges of runs do not cover them"),
	SET_U32(RUN_FIRST, 1, 10, "cpu 1: its runs end before they begin"),
	SET_U32(FILE_CALL_FIRST, 0, 1, "the ranges of calls by file do not cover them"),
	SET_U32(FILE_CALL_FIRST, 6, 4, "the ranges of calls by file do not cover them"),
	SET_U32(FILE_CALL_FIRST, 1, 99, "its calls end before they begin"),

	SET(THREAD, dtc_thread, SERVER, end_ns, 999, "ends before it begins"),
	SET(THREAD, dtc_thread, SERVER, begin_ns, 999, "lives outside of the trace"),
	SET(THREAD, dtc_thread, SERVER, end_ns, 2001, "lives outside of the trace"),
	SET(THREAD, dtc_thread, SERVER, interval_first, 12, "its intervals do not follow those of the thread before"),
	SET(THREAD, dtc_thread, CHILD, interval_count, 2, "its intervals do not follow those of the thread before"),
	SET(THREAD, dtc_thread, SERVER, call_first, 1, "its calls do not follow those of the thread before"),
	SET(THREAD, dtc_thread, SERVER, call_count, 8, "its calls do not follow those of the thread before"),
	SET(THREAD, dtc_thread, SERVER, spare, 1, "spare bytes are set"),
	SET(THREAD, dtc_thread, CHILD, parent, CHILD, "its parent is no thread"),
	SET(THREAD, dtc_thread, CHILD, parent, 6, "its parent is no thread"),
	SET(THREAD, dtc_thread, CHILD, pid, -2, "its process has no id"),
	SET(THREAD, dtc_thread, CHILD, leader, 6, "its leader is no thread"),
	SET(THREAD, dtc_thread, CHILD, leader, NONE, "its leader is no thread"),
	SET(THREAD, dtc_thread, CHILD, pid, -1, "its leader is no thread"),
	SET(THREAD, dtc_thread, CHILD, leader, WORKER, "its leader is not of its process"),
	SET(THREAD, dtc_thread, IDLE0, idle_cpu, -1, "idle threads have tid 0, and no others"),
	SET(THREAD, dtc_thread, CHILD, idle_cpu, 1, "idle threads have tid 0, and no others"),
	SET(THREAD, dtc_thread, IDLE1, idle_cpu, 2, "idles on a CPU that is not there"),
	SET_U32(TID_PREVIOUS, CHILD, CHILD, "the thread that had its tid before is no such thread"),
	SET_U32(TID_PREVIOUS, CHILD, WORKER, "the thread that had its tid before is no such thread"),
	SET(THREAD, dtc_thread, FIRST, end_ns, 1551, "has the tid of a thread that still lives"),
	SET_U32(TID_PREVIOUS, CHILD, NONE, "a thread is not found by its tid"),
	SET_U32(TID_LATEST, 11, NONE, "a thread is not found by its tid"),
	SET_U32(TID_LATEST, 11, SERVER, "tid 11: its latest thread has another"),

	SET_INTERVAL(SERVER, 1000, BEGIN_OF, 1001, "intervals are not contiguous"),
	SET_INTERVAL(SERVER, 1200, BEGIN_OF, 1100, "intervals are not contiguous"),
	SET_INTERVAL(CHILD, 1610, BEGIN_OF, 2000, "intervals are not contiguous"),
	SET_INTERVAL(SERVER, 1100, BEGIN_OF, 1101, "a call begins inside of it"),
	SET_INTERVAL(SERVER, 1450, BEGIN_OF, 1449, "begins before the call before it ended"),
	SET_INTERVAL(SERVER, 1910, STATE_OF, DTC_STATES, "its state is none"),
	SET_INTERVAL(SERVER, 1910, STATE_OF, DTC_STATE_IDLE, "idle is what a CPU's idle thread is"),
	SET_INTERVAL(IDLE0, 1200, CPU_OF, 1, "idle is what a CPU's idle thread is"),
	SET_INTERVAL(IDLE0, 1400, STATE_OF, DTC_STATE_WAIT, "idle is what a CPU's idle thread is"),
	SET_INTERVAL(SERVER, 1910, CPU_OF, 1, "runs on a CPU that another thread has"),
	SET_INTERVAL(SERVER, 1910, CPU_OF, 2, "runs on a CPU that another thread has"),
	SET_INTERVAL(SERVER, 1325, STATE_OF, DTC_STATE_KERNEL, "runs on a CPU that another thread has"),
	SET_MOMENT(RUN, 1, TIME_OF, 1199, "interval 14 of tid 10 at 1100: runs on after its CPU was taken"),
	SET_INTERVAL(SERVER, 1700, IN_CALL, 0, "is in a system call, but in none"),
	SET_INTERVAL(SERVER, 1200, IN_CALL, 0, "lies inside a call, but in none"),
	SET_INTERVAL(SERVER, 1910, IN_CALL, 1, "has a call in a state that has none"),
	SET_INTERVAL(FIRST, 1050, IN_CALL, 1, "lies in a call that is not there"),
	SET_INTERVAL(WORKER, 1000, IN_CALL, 1, "lies in a call that is not there"),
	SET(CALL, dtc_call, SYNC, end_ns, 1809, "does not lie inside its call"),
	SET_INTERVAL(SERVER, 1200, REF_OF, 0, "a wait ended without a wake"),
	SET(WAKE, dtc_wake, FROM_PACKET, target, WORKER, "a wait ended without a wake"),
	SET(WAKE, dtc_wake, FROM_PACKET, waking_ns, 1324, "a wait ended without a wake"),
	SET_INTERVAL(SERVER, 1200, REF_OF, DTC_REF_ODD, "a wait ended without a wake"),
	SET_INTERVAL(SERVER, 1710, STATE_OF, DTC_STATE_STOPPED, NULL), /* ended by a wake as well: nothing is wrong */
	SET_INTERVAL(WORKER, 1600, REF_OF, DTC_REF_WAKE, "a wait ended without a wake"),
	SET_INTERVAL(IDLE0, 1300, REF_OF, 9, "what it refers to is not there"),
	SET_INTERVAL(IDLE0, 1300, REF_OF, DTC_REF_ODD, "what it refers to is not there"),
	SET_INTERVAL(IDLE0, 1330, REF_OF, DTC_REF_WAKE, "what it refers to is not there"),
	SET_U32(INTERVAL_REF, 0, 9999, "the interrupt's name is no string"),
	SET_INTERVAL(CHILD, 1600, STATE_OF, DTC_STATE_RUNQUEUE, "a thread has a CPU on which it does not run"),
	SET_INTERVAL(CHILD, 1600, STATE_OF, DTC_STATE_UNKNOWN, NULL), /* may have run there unseen */
	SET_INTERVAL(SERVER, 1910, REF_OF, 1, "refers to something in a state that does not"),

	SET_MOMENT(RUN, 0, THREAD_OF, 6, "interval 13 of tid 10 at 1000: runs on a CPU that another thread has"),
	SET_MOMENT(RUN, 0, FLAG_OF, 1, "run 0 of tid 10 at 1000: is not known, but its thread is"),

	SET(WAKE, dtc_wake, BY_SIGNAL, target, 6, "wakes no thread"),
	SET(WAKE, dtc_wake, BY_SIGNAL, waking_ns, 1789, "comes before the one before it"),
	SET(WAKE, dtc_wake, FROM_TIMER, waking_ns, 2001, "wakes a thread that does not live"),
	SET(WAKE, dtc_wake, OF_CHILD, waking_ns, 1549, "wakes a thread that does not live"),
	SET(WAKE, dtc_wake, BY_THREAD, wakeup_ns, 2001, "was done before it began, or after the trace"),
	SET(WAKE, dtc_wake, BY_SIGNAL, waker, DTC_WAKER_NEW + 1, "its waker is none"),
	SET(WAKE, dtc_wake, BY_SIGNAL, thread, 6, "its waker's thread is none"),
	SET(WAKE, dtc_wake, BY_SIGNAL, thread, NONE, "a thread woke it, but none"),
	SET(WAKE, dtc_wake, BY_SIGNAL, ref, 0, "refers to something with a waker that does not"),
	SET(WAKE, dtc_wake, FROM_TIMER, ref, 9999, "its waker's name is no string"),
	SET(WAKE, dtc_wake, FROM_DISK, ref, 2, "its block request is none"),
	SET(WAKE, dtc_wake, FROM_DISK, ref, NONE, "its block request is none"),
	SET(WAKE, dtc_wake, FROM_DISK, ref, 1, "its block request did not complete"),
	SET(WAKE, dtc_wake, FROM_PACKET, ref, 2, "its packet is none"),
	SET(WAKE, dtc_wake, FROM_PACKET, ref, SENT, "its packet was not received before"),
	SET(PACKET, dtc_packet, RECEIVED, time_ns, 1326, "its packet was not received before"),
	SET(WAKE, dtc_wake, BY_SIGNAL, cpu, 2, "was made on a CPU that is not there"),
	SET(WAKE, dtc_wake, OF_CHILD, thread, WORKER, "a new thread was not woken by its parent"),
	SET(WAKE, dtc_wake, BY_SIGNAL, cpu, 0, "its waker's thread was not on the waker's CPU"),

	SET(CALL, dtc_call, SHORT, thread, 6, "is of no thread"),
	SET(CALL, dtc_call, SHORT, name, 9999, "its name is no string"),
	SET(CALL, dtc_call, SHORT, path, 9999, "its path is no string"),
	SET(CALL, dtc_call, SHORT, file, 6, "its file is none"),
	SET(CALL, dtc_call, SHORT, file, DATA, "its file is none"), /* it has no descriptor */
	SET(CALL, dtc_call, SHORT, fd, -2, "its descriptor is none"),
	SET(CALL, dtc_call, SHORT, kind, DTC_CALL_REGISTER + 1, "its kind is none"),
	SET(CALL, dtc_call, ACCEPT, argument, 6, "what it accepted is no file"),
	SET(CALL, dtc_call, SHORT, offset, DTC_READY_AT(1, 2), "what it returned is no file"),
	SET(CALL, dtc_call, SHORT, offset, DTC_READY_AT(2, 0), NULL),
	SET_U32(READY, 1, 6, "what it returned is no file"),
	SET(CALL, dtc_call, SHORT, thread, WORKER, "a call of another thread"),
	SET(CALL, dtc_call, SHORT, end_ns, 1949, "ends before it begins"),
	SET(CALL, dtc_call, SHORT, spare, 1, "spare bytes are set"),
	SET(CALL, dtc_call, SHORT, begin_ns, 1909, "begins before the one before it ended"),
	SET(CALL, dtc_call, SHORT, begin_ns, 999, "does not lie in its thread's life"),
	SET(CALL, dtc_call, SHORT, end_ns, 2001, "does not lie in its thread's life"),

	SET_U32(FLOW_FILE, 0, 6, "flow 0: its file is none"),
	SET_U32(FLOW_FILE, 0, CONNECTION, "flow 0: its file is another flow's"),
	SET_U32(FLOW_FILE, 1, NONE, "is not found by its flow"),
	SET(FILE_, dtc_file, DATA, begin_ns, 999, "was first seen outside of the trace"),
	SET(FILE_, dtc_file, DATA, name, 9999, "its name is no string"),
	SET(FILE_, dtc_file, DATA, kind, DTC_FILE_EVENT + 1, "its kind is none"),
	SET(FILE_, dtc_file, DATA, flow_in, 0, "its flows are not the two of a connection"),
	SET(FILE_, dtc_file, CONNECTION, flow_in, 1, "its flows are not the two of a connection"),
	SET(FILE_, dtc_file, CONNECTION, flow_in, NONE, "its flows are not the two of a connection"),
	SET(FILE_, dtc_file, DATA, has_base_out, 1, "is not found by its flow"),
	SET(FILE_, dtc_file, DATA, has_base_in, 1, "is not found by its flow"),
	SET(FILE_, dtc_file, PIPE_A, peer, PIPE_A, "it is not the other end's other end"),
	SET(FILE_, dtc_file, PIPE_A, peer, 6, "it is not the other end's other end"),
	SET(FILE_, dtc_file, CONNECTION, accept, SYNC, "the call that accepted it gave another file"),
	SET(FILE_, dtc_file, CONNECTION, accept, 1000, "the call that accepted it gave another file"),
	SET_U32(FILE_CALL, 0, 7, "one of its calls is none"),
	SET_U32(FILE_CALL, 0, SYNC, "one of its calls is another file's"),
	SET_U32(FILE_CALL, 0, READ_AGAIN, "its calls are not in time order"),
	SET_U32(FILE_CALL, 1, READ, "its calls are not in time order"),
	SET(FILE_, dtc_file, CONNECTION, read_bytes, 9, "its reads did not take each byte once"),
	SET(CALL, dtc_call, READ_AGAIN, offset, 4, "its reads did not take each byte once"),
	SET(CALL, dtc_call, READ, result, 6, "its reads did not take each byte once"),
	SET(FILE_, dtc_file, CONNECTION, written_bytes, 6, "its writes did not give each byte once"),
	SET(CALL, dtc_call, WRITE, offset, 1, "its writes did not give each byte once"),

	SET(NAME, dtc_name_record, 2, thread, 6, "name 2 at 1000: is of no thread"),
	SET(NAME, dtc_name_record, 2, thread, WORKER, "a name of another thread"),
	SET(NAME, dtc_name_record, 2, string, 9999, "is no string"),
	SET(NAME, dtc_name_record, 2, string, NONE, "is no string"),
	SET(NAME, dtc_name_record, 2, from_ns, 999, "begins outside of its thread's life"),
	SET(NAME, dtc_name_record, 6, from_ns, 1549, "begins outside of its thread's life"),
	SET(NAME, dtc_name_record, 2, from_ns, 1601, "begins before the one before it"),

	SET(BLOCK, dtc_block_request, 0, insert_ns, 999, "was made outside of the trace"),
	SET(BLOCK, dtc_block_request, 0, issue_ns, 1719, "was issued before it was made"),
	SET(BLOCK, dtc_block_request, 0, complete_ns, 1729, "completed before it was issued, or after the trace"),
	SET(BLOCK, dtc_block_request, 1, complete_ns, 1849, "completed before it was issued, or after the trace"),
	SET(BLOCK, dtc_block_request, 0, complete_ns, 2001, "completed before it was issued, or after the trace"),
	SET(BLOCK, dtc_block_request, 0, thread, 6, "is of no thread"),
	SET(DEVICE, dtc_device, 1, device, 8, "has two names"),
	SET(DEVICE, dtc_device, 1, name, 9999, "its name is no string"),

	SET(CPU_LIMIT, dtc_cpu_limit, 1, pid, 20, "a CPU limit is not in the order of processes, or the second of one"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, quota_us, 0, "a CPU limit is none"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, period_us, 0, "a CPU limit is none"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, period_us, 1000001, "a CPU limit is none"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, throttled, -2, "a CPU limit is none"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, throttled_us, -2, "a CPU limit is none"),
	SET(CPU_LIMIT, dtc_cpu_limit, 0, cgroup, 9999, "a CPU limit's cgroup is no string"),
	{ PERIOD_END, 1, 0, 0, sizeof(int64_t), BEGIN_NS + 1, "a period of a limit ends before the one before it" },
	{ PERIOD_END, 1, 0, 0, sizeof(int64_t), BEGIN_NS + 2000, "a period of a limit ends outside of the trace" },

	SET(WORK, dtc_work, 0, queued.target, 6, "is done by no thread"),
	SET(WORK, dtc_work, 0, queued.target, FIRST, "does not lie in its worker's life"),
	SET(WORK, dtc_work, 1, queued.target, SERVER, "is not in the order of workers"),
	SET(WORK, dtc_work, 0, end_ns, 1590, "begins before the one before it ended"),
	SET(WORK, dtc_work, 0, begin_ns, 1566, "begins or ends inside an interval"),
	SET(WORK, dtc_work, 1, begin_ns, 1576, "begins or ends inside an interval"),
	SET(WORK, dtc_work, 1, begin_ns, 999, "begins before the one before it ended"),
	SET(WORK, dtc_work, 0, begin_ns, 999, "does not lie in its worker's life"),
	SET(WORK, dtc_work, 1, end_ns, 2001, "does not lie in its worker's life"),
	SET(WORK, dtc_work, 1, end_ns, 1579, "ends before it begins"),
	SET(WORK, dtc_work, 1, end_ns, 1595, "begins or ends inside an interval"),
	SET(WORK, dtc_work, 0, queued.waking_ns, DTC_TIME_NONE, "nobody queued it, but somebody did"),
	SET(WORK, dtc_work, 1, queued.ref, 0, "nobody queued it, but somebody did"),
	SET(WORK, dtc_work, 0, queued.waking_ns, 1566, "was queued after it began"),
	SET(WORK, dtc_work, 0, queued.thread, 6, "its waker's thread is none"),

	SET(MARK, dtc_mark, 0, thread, 6, "is of no thread"),
	SET(MARK, dtc_mark, 0, text, 9999, "its text is no string"),
	SET(MARK, dtc_mark, 0, time_ns, 999, "lies outside of the trace"),
	SET(MARK, dtc_mark, 1, time_ns, 1104, "mark 1 at 1104: comes before the one before it"),
	SET_MOMENT(FAULT, 0, THREAD_OF, 6, "is of no thread"),
	SET_MOMENT(FAULT, 1, TIME_OF, 1009, "fault 1 of tid 10 at 1009: comes before the one before it"),
	SET(IRQ, dtc_guest_irq, 0, thread, 6, "is of no thread"),
	SET(IRQ, dtc_guest_irq, 0, spare, 1, "spare bytes are set"),
	SET(IRQ, dtc_guest_irq, 1, time_ns, 1689, "comes before the one before it"),

	SET(VCPU, dtc_vcpu, 0, thread, 6, "vcpu 0: is no thread"),
	SET(VCPU, dtc_vcpu, 1, thread, CHILD, "is there twice"),
	SET(VCPU, dtc_vcpu, 0, number, -2, "its number is none"),
	SET(VCPU, dtc_vcpu, 0, span_first, 1, "its spans do not follow those of the one before"),
	SET(VCPU, dtc_vcpu, 1, span_count, 2, "its spans do not follow those of the one before"),
	SET(VCPU, dtc_vcpu, 1, span_count, 0, "its spans do not follow those of the one before"),
	SET(SPAN, dtc_guest_span, 0, entry_ns, 1816, "entered a guest before the one before it"),
	SET(SPAN, dtc_guest_span, 0, thread, SERVER, "a guest span of another thread"),
	SET(SPAN, dtc_guest_span, 0, left_ns, 1699, "ends before it begins, or lies outside of its thread's life"),
	SET(SPAN, dtc_guest_span, 1, left_ns, 2001, "ends before it begins, or lies outside of its thread's life"),
	SET(SPAN, dtc_guest_span, 0, entry_ns, 1549, "ends before it begins, or lies outside of its thread's life"),
	SET(SPAN, dtc_guest_span, 1, entry_ns, 1711, "guest spans overlap"),
	SET(SPAN, dtc_guest_span, 0, exit_ns, 1709, "an exit before the guest was left"),
	SET(SPAN, dtc_guest_span, 2, exit_ns, 2001, "an exit before the guest was left"),
	SET(SPAN, dtc_guest_span, 0, isa, 3, "its processor's kind is none"),
	SET(SPAN, dtc_guest_span, 0, entry_ns, 1609, "a thread in a guest that does not run"),
	SET(SPAN, dtc_guest_span, 2, left_ns, 1841, "an exit before the guest was left"),

	SET(CONTEXT, dtc_packet_context, SENT, thread, 6, "is of no thread"),
	SET(CONTEXT, dtc_packet_context, SENT, thread, CHILD, "its thread was not on its CPU"),
	SET(CONTEXT, dtc_packet_context, SENT, queue_ns, 1489, "its time in the queue ends before it begins"),
	SET(CONTEXT, dtc_packet_context, RECEIVED, queue_ns, 1321, "its time in the queue ends before it begins"),
	SET(CONTEXT, dtc_packet_context, SENT, spare, 1, "spare bytes are set"),
	SET(CONTEXT, dtc_packet_context, SENT, vector, 3, "is in a softirq, but in no interrupt"),
	SET(CONTEXT, dtc_packet_context, RECEIVED, call, READ, "its call is none"),
	SET(CONTEXT, dtc_packet_context, SENT, call, 7, "its call is none"),
	SET(CONTEXT, dtc_packet_context, SENT, call, READ, "does not lie inside its call"),
	SET(CONTEXT, dtc_packet_context, SENT, call, FORK, "does not lie inside its call"),
	SET(PACKET, dtc_packet, SENT, time_ns, 1319, "packet 1 of tid 10 at 1319: comes before the one before it"),
	SET(PACKET, dtc_packet, SENT, time_ns, 2001, "lies outside of the trace"),
};

static void check_broken(DtcHistory *h, const char *expected)
{
	g_autoptr(GError) error = NULL;
	bool kept = dtc_history_check(h, &error);
	if (!expected) {
		g_assert_no_error(error);
		g_assert_true(kept);
		return;
	}
	if (kept || !strstr(error->message, expected)) {
		g_test_message("'%s', not '%s'", kept ? "nothing" : error->message, expected);
		g_test_fail();
	}
	g_assert_true(kept || g_error_matches(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED));
}

static void test_broken(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(breakages); i++) {
		const struct breakage *b = &breakages[i];
		g_autoptr(DtcHistory) h = make_history();
		if (b->list == INTERVAL)
			set_field(find_record(h, b), (enum field)b->offset, (uint64_t)b->value);
		else if (b->list == WAKE)
			set_wake(h, (uint32_t)b->place, b->offset, &b->value, MIN(b->size, sizeof(b->value)));
		else if (b->list == PACKET)
			set_packet(h, (uint32_t)b->place, b->offset, &b->value, MIN(b->size, sizeof(b->value)));
		else if (b->list == RUN || b->list == FAULT)
			set_moment(find_record(h, b), (enum moment)b->offset, (uint64_t)b->value);
		else /* little endian: the first bytes of a wider integer are the narrower one */
			memcpy((char *)find_record(h, b) + b->offset, &b->value, MIN(b->size, sizeof(b->value)));
		check_broken(h, b->expected);
	}
}

/* The thread that had CPU 1 first is not known to have run, so that only the runs themselves say who had it. */
static struct dtc_moment_record *hide_first(DtcHistory *h)
{
	get_interval(h, FIRST, 1000)->state = DTC_STATE_UNKNOWN;
	return DTC_AT(h->runs, struct dtc_moment_record, 5);
}

static void break_run_thread(DtcHistory *h)
{
	hide_first(h)->thread = 6;
}

static void break_run_time(DtcHistory *h)
{
	set_moment(hide_first(h), TIME_OF, END_NS + 1);
}

static void break_run_order(DtcHistory *h)
{
	set_moment(hide_first(h), TIME_OF, 1051);
}

static void break_run_idle(DtcHistory *h)
{
	hide_first(h)->thread = IDLE0;
}

static void break_run_life(DtcHistory *h)
{
	hide_first(h)->thread = CHILD;
}

static void break_run_death(DtcHistory *h)
{
	hide_first(h);
	get_interval(h, FIRST, 1050)->state = DTC_STATE_UNKNOWN;
	get_interval(h, IDLE1, 1050)->state = DTC_STATE_PREEMPTED;
	DTC_AT(h->runs, struct dtc_moment_record, 6)->thread = FIRST;
}

/* A wait that refers to a wake by its number. */
static void refer(DtcHistory *h, uint32_t wake)
{
	struct dtc_interval_record *record = get_interval(h, SERVER, 1200);
	const struct dtc_odd_ref odd = { (uint32_t)(record - DTC_AT(h->intervals, struct dtc_interval_record, 0)),
					 wake };
	record->ref = DTC_REF_ODD;
	dtc_table_append(h->odd_refs, &odd);
}

static void break_wake_range(DtcHistory *h)
{
	refer(h, 6);
}

static void break_wake_target(DtcHistory *h)
{
	refer(h, BY_THREAD);
}

static void break_wake_time(DtcHistory *h)
{
	refer(h, FROM_DISK);
}

static void break_odd_order(DtcHistory *h)
{
	refer(h, FROM_PACKET);
	refer(h, FROM_PACKET);
}

static void break_odd_interval(DtcHistory *h)
{
	refer(h, FROM_PACKET);
	get_interval(h, SERVER, 1200)->ref = DTC_REF_WAKE;
}

static void break_odd_context_order(DtcHistory *h)
{
	make_odd(h, SENT);
	make_odd(h, RECEIVED);
}

static void break_odd_context_packet(DtcHistory *h)
{
	make_odd(h, SENT);
	DTC_AT(h->contexts, struct dtc_context_record, SENT)->queue = 0;
}

static void break_odd_context_spare(DtcHistory *h)
{
	make_odd(h, SENT);
	DTC_AT(h->odd_contexts, struct dtc_odd_context, 0)->spare = 1;
}

static void break_odd_call_order(DtcHistory *h)
{
	const struct dtc_odd_call odd = { dtc_history_copy_call(h, SHORT), SHORT, 0 };
	make_odd_call(h, SHORT);
	dtc_table_append(h->odd_calls, &odd);
}

static void break_odd_call_record(DtcHistory *h)
{
	make_odd_call(h, 0);
	DTC_AT(h->calls, struct dtc_call_record, 0)->kind = 1;
}

static void break_odd_call_spare(DtcHistory *h)
{
	make_odd_call(h, 0);
	DTC_AT(h->odd_calls, struct dtc_odd_call, 0)->spare = 1;
}

static void break_odd_call_missing(DtcHistory *h)
{
	make_odd_call(h, 0);
	dtc_table_set_length(h->odd_calls, 0);
}

static void break_context_call(DtcHistory *h)
{
	DTC_AT(h->contexts, struct dtc_context_record, SENT)->thread = IDLE1;
}

static void break_era_order(DtcHistory *h)
{
	const struct dtc_begin_era eras[] = { { 5, 0 }, { 4, 0 } };
	dtc_table_append(h->eras, &eras[0]);
	dtc_table_append(h->eras, &eras[1]);
}

static void break_era_range(DtcHistory *h)
{
	const struct dtc_begin_era era = { h->intervals->len + 1, 0 };
	dtc_table_append(h->eras, &era);
}

/* Of faults, when there are some of runs. */
static void break_moment_era(DtcHistory *h)
{
	const struct dtc_begin_era eras[] = { { h->runs->len, 0 }, { h->faults->len + 1, 0 } };
	dtc_table_append(h->run_eras, &eras[0]);
	dtc_table_append(h->fault_eras, &eras[1]);
}

static void break_life(DtcHistory *h)
{
	/* a thread without intervals, which lived for some time */
	struct dtc_thread thread = { 1900, 1950, 13, 13, NONE, CHILD + 1, .idle_cpu = -1 };
	uint32_t none = NONE, index = h->threads->len, names = h->names->len;
	const struct dtc_thread *last = &g_array_index(h->threads, struct dtc_thread, CHILD);
	thread.interval_first = last->interval_first + last->interval_count;
	thread.call_first = last->call_first + last->call_count;
	g_array_append_val(h->threads, thread);
	g_array_append_val(h->tid_previous, none);
	g_array_append_val(h->tid_latest, index);
	g_array_append_val(h->name_first, names);
}

static void break_signal(DtcHistory *h)
{
	DTC_AT(h->wakes, struct dtc_wake_record, BY_SIGNAL)->signal = 65;
}

static void break_call_index(DtcHistory *h)
{
	struct dtc_call *call = make_odd_call(h, SHORT);
	call->fd = 5;
	call->file = DATA;
}

static void break_previous(DtcHistory *h)
{
	g_array_set_size(h->tid_previous, 5);
}

static void break_names(DtcHistory *h)
{
	g_array_set_size(h->name_first, 7);
}

static void break_file_index(DtcHistory *h)
{
	g_array_set_size(h->file_call_first, 7);
}

static void break_contexts(DtcHistory *h)
{
	dtc_table_set_length(h->contexts, 1);
}

static void break_flows(DtcHistory *h)
{
	g_array_set_size(h->flow_files, 1);
}

static void break_begin(DtcHistory *h)
{
	h->begin_ns = DTC_TIME_NONE;
}

static void break_events(DtcHistory *h)
{
	h->begin_ns = h->end_ns = DTC_TIME_NONE;
}

static void break_end(DtcHistory *h)
{
	h->end_ns = 999;
}

/* Promises that one field cannot break. */
static void test_broken_further(void)
{
	const struct {
		void (*break_it)(DtcHistory *h);
		const char *expected;
	} further[] = {
		{ break_run_thread, "run 5 at 1000: is of no thread" },
		{ break_run_time, "run 5 of tid 12 at 2001: begins outside of the trace" },
		{ break_run_order, "run 6 of tid 0 at 1050: begins before the one before it" },
		{ break_run_idle, "run 5 of tid 0 at 1000: is of another CPU's idle thread" },
		{ break_run_life, "run 5 of tid 12 at 1000: a thread has a CPU before its life" },
		{ break_run_death, "run 6 of tid 12 at 1050: a thread has a CPU after its life" },
		{ break_wake_range, "a wait ended without a wake" },
		{ break_wake_target, "a wait ended with another thread's wake" },
		{ break_wake_time, "a wait ended with a wake of another time" },
		{ break_odd_order, "odd reference 1: comes before the one before it" },
		{ break_odd_interval, "odd reference 0: its interval has none" },
		{ break_odd_call_order, "comes before the one before it" },
		{ break_odd_call_record, "odd call 0: its call has none" },
		{ break_odd_call_spare, "odd call 0: spare bytes are set" },
		{ break_odd_call_missing, "call 0: is of no thread" },
		{ break_odd_context_order, "odd context 1: comes before the one before it" },
		{ break_odd_context_packet, "odd context 0: its packet has none" },
		{ break_odd_context_spare, "odd context 0: spare bytes are set" },
		{ break_context_call, "packet 1 of tid 0 at 1490: its thread was not on its CPU" },
		{ break_era_order, "era 1: comes before the one before it" },
		{ break_moment_era, "era of moments 1: begins behind all records" },
		{ break_era_range, "era 0: begins behind all records" },
		{ break_life, "thread 6 of tid 13 at 1900: intervals do not reach the thread's end" },
		{ break_signal, "wake 4 of tid 10 at 1900: its signal is none" },
		{ break_call_index, "a call on a file is not among the file's calls" },
		{ break_previous, "lists that go together are not equally long" },
		{ break_names, "lists that go together are not equally long" },
		{ break_file_index, "lists that go together are not equally long" },
		{ break_contexts, "packets and their contexts are not equally many" },
		{ break_flows, "flows and their files are not equally many" },
		{ break_begin, "its end comes before its begin" },
		{ break_end, "its end comes before its begin" },
		{ break_events, "threads without events" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(further); i++) {
		g_autoptr(DtcHistory) h = make_history();
		further[i].break_it(h);
		check_broken(h, further[i].expected);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/history/check/kept", test_kept);
	g_test_add_func("/history/check/sealed", test_sealed);
	g_test_add_func("/history/check/broken", test_broken);
	g_test_add_func("/history/check/broken/further", test_broken_further);
	return g_test_run();
}
