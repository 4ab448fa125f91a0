/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a history is what its header promises. A judge looks at one record and names the promise that it breaks, or
 * gives NULL. Records are judged in an order in which what a judge relies on was judged before it: strings, threads and
 * the ranges of each CPU first. An index is compared with its bound before it is followed, so that a history from
 * anywhere can be judged.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"
#include "dtrace-chain/error.h"

#include <dtrace-chain/bisect.h>

#include <inttypes.h>

struct checker {
	const DtcHistory *h;
	DtcTable *moved;	      /* for dtc_calls_move_once */
	uint32_t *run_at;	      /* by CPU: where its runs were searched last */
	struct dtc_interval *found;   /* by thread: the interval that was searched last, as for _find_plain_near */
	struct dtc_interval interval; /* that is looked at */
	uint32_t owner;		      /* whose it is */
	struct dtc_call call;	      /* that was looked at last, of an interval */
	uint32_t call_index;	      /* its number, or DTC_NONE */
	guint cpu;		      /* of the run that is looked at */
	guint vcpu;		      /* of the guest span that is looked at */
	int64_t packet_ns;	      /* of the packet before */
	uint64_t tids_found;	      /* threads that were reached by their tids */
	uint32_t thread;	      /* whose the record is, for the message, or DTC_NONE */
	int64_t at_ns;
};

static const struct dtc_thread *get_thread(const struct checker *c, uint32_t thread)
{
	return &g_array_index(c->h->threads, struct dtc_thread, thread);
}

static uint32_t get_u32(const GArray *array, guint index)
{
	return g_array_index(array, uint32_t, index);
}

static bool is_zero(const uint8_t *bytes, gsize count)
{
	while (count && !bytes[count - 1])
		count--;
	return !count;
}

/* Below its bound, or DTC_NONE. */
static bool is_id(uint32_t id, guint bound)
{
	return id < bound || id == DTC_NONE;
}

static bool is_string(const struct checker *c, uint32_t string)
{
	return is_id(string, c->h->string_at->len);
}

static bool is_thread(const struct checker *c, uint32_t thread)
{
	return is_id(thread, c->h->threads->len);
}

static bool is_in_trace(const struct checker *c, int64_t time_ns)
{
	return time_ns >= c->h->begin_ns && time_ns <= c->h->end_ns;
}

static bool is_in_life(const struct checker *c, uint32_t thread, int64_t time_ns)
{
	return time_ns >= get_thread(c, thread)->begin_ns && time_ns <= get_thread(c, thread)->end_ns;
}

static bool is_on_cpu(const struct dtc_interval *v)
{
	return dtc_state_is_running(v->state) || v->state == DTC_STATE_IDLE;
}

/* The first run of the CPU that begins after time. Records are judged in order, so that times go on by little. */
static uint32_t find_run_after(const struct checker *c, guint cpu, int64_t time_ns)
{
	if (cpu >= dtc_history_get_cpu_count(c->h))
		return 0;
	return c->run_at[cpu] = dtc_history_find_run_near(c->h, cpu, time_ns, c->run_at[cpu]);
}

/* Whether the thread had the CPU at that time; at the time of a switch both have it. */
static bool has_cpu(const struct checker *c, uint32_t thread, guint cpu, int64_t time_ns)
{
	for (uint32_t i = find_run_after(c, cpu, time_ns); i-- > 0;) {
		const struct dtc_run run = dtc_history_get_run(c->h, cpu, i);
		if (run.thread == thread)
			return true;
		if (run.begin_ns < time_ns)
			break;
	}
	return false;
}

/* Whether the thread had the CPU at that time or before, as far as that is not forgotten. */
static bool had_cpu(const struct checker *c, uint32_t thread, guint cpu, int64_t time_ns)
{
	uint32_t i = find_run_after(c, cpu, time_ns);
	bool had = i == 0 && c->h->has_forgotten;
	while (!had && i-- > 0)
		had = dtc_history_get_run(c->h, cpu, i).thread == thread;
	return had;
}

/* Whether an interval of the thread goes on from before that time to after it. */
static bool is_inside_interval(const struct checker *c, uint32_t thread, int64_t time_ns)
{
	const struct dtc_interval *v = dtc_history_find_plain_near(c->h, thread, time_ns, &c->found[thread]);
	return v && v->end_ns > time_ns;
}

static const char *judge_lengths(struct checker *c, uint32_t index)
{
	(void)index;
	const DtcHistory *h = c->h;
	guint thread_count = h->threads->len;
	if (h->tid_previous->len != thread_count || h->name_first->len != thread_count + 2 ||
	    h->file_call_first->len != h->files->len + 2 || !h->run_first->len)
		return "lists that go together are not equally long";
	if (h->contexts->len != dtc_packets_get_count(h->packets))
		return "packets and their contexts are not equally many";
	if (h->flow_files->len != dtc_packets_get_flow_count(h->packets))
		return "flows and their files are not equally many";
	if ((h->begin_ns == DTC_TIME_NONE) != (h->end_ns == DTC_TIME_NONE) || h->begin_ns > h->end_ns)
		return "its end comes before its begin";
	if (h->begin_ns == DTC_TIME_NONE && thread_count)
		return "threads without events";
	if (get_u32(h->name_first, 0) || get_u32(h->name_first, thread_count) != h->names->len)
		return "the ranges of names do not cover them";
	if (get_u32(h->file_call_first, 0) || get_u32(h->file_call_first, h->files->len) != h->file_calls->len)
		return "the ranges of calls by file do not cover them";
	if (get_u32(h->run_first, 0) || get_u32(h->run_first, h->run_first->len - 1) != h->runs->len)
		return "the ranges of runs do not cover them";
	if (h->string_bytes->len && *DTC_AT(h->string_bytes, char, h->string_bytes->len - 1))
		return "the last string does not end";
	return dtc_history_judge_limits(c->h);
}

static const char *judge_string(struct checker *c, uint32_t index)
{
	const DtcTable *bytes = c->h->string_bytes;
	uint32_t at = get_u32(c->h->string_at, index);
	uint32_t end = index + 1 < c->h->string_at->len ? get_u32(c->h->string_at, index + 1) : bytes->len;
	if (index == 0 && at != 0)
		return "does not begin where strings begin";
	if (end <= at || end > bytes->len)
		return "does not lie before the next";
	return *DTC_AT(bytes, char, end - 1) ? "does not end" : NULL;
}

static const char *judge_cpu(struct checker *c, uint32_t cpu)
{
	return get_u32(c->h->run_first, cpu) > get_u32(c->h->run_first, cpu + 1) ? "its runs end before they begin"
										 : NULL;
}

/* That ranges follow each other: where this one must begin; the last must end with the list. */
static bool follows(const DtcTable *list, uint64_t expected, uint32_t first, uint32_t count, bool is_last)
{
	uint64_t end = (uint64_t)first + count;
	return first == expected && (is_last ? end == list->len : end <= list->len);
}

static const char *judge_family(const struct checker *c, uint32_t index)
{
	const struct dtc_thread *t = get_thread(c, index);
	if (!is_thread(c, t->parent) || t->parent == index)
		return "its parent is no thread";
	if (t->pid < -1)
		return "its process has no id";
	if (!is_thread(c, t->leader) || (t->leader == DTC_NONE) != (t->pid <= 0))
		return "its leader is no thread";
	if (t->leader != DTC_NONE && get_thread(c, t->leader)->tid != t->pid)
		return "its leader is not of its process";
	if (t->idle_cpu < -1 || (t->idle_cpu >= 0) != (t->tid == 0) || t->tid < 0)
		return "idle threads have tid 0, and no others";
	return t->idle_cpu >= (int32_t)dtc_history_get_cpu_count(c->h) ? "idles on a CPU that is not there" : NULL;
}

static const char *judge_thread(struct checker *c, uint32_t index)
{
	const struct dtc_thread *t = get_thread(c, index), *before = index ? t - 1 : NULL;
	uint32_t previous = get_u32(c->h->tid_previous, index);
	bool is_last = index + 1 == c->h->threads->len;
	c->thread = index;
	c->at_ns = t->begin_ns;
	if (t->end_ns < t->begin_ns)
		return "ends before it begins";
	if (!is_in_trace(c, t->begin_ns) || !is_in_trace(c, t->end_ns))
		return "lives outside of the trace";
	if (!follows(c->h->intervals, before ? (uint64_t)before->interval_first + before->interval_count : 0,
		     t->interval_first, t->interval_count, is_last))
		return "its intervals do not follow those of the thread before";
	if (!follows(c->h->calls, before ? (uint64_t)before->call_first + before->call_count : 0, t->call_first,
		     t->call_count, is_last))
		return "its calls do not follow those of the thread before";
	if (get_u32(c->h->name_first, index) > get_u32(c->h->name_first, index + 1))
		return "its names end before they begin";
	if (!t->interval_count && t->end_ns > t->begin_ns)
		return "intervals do not reach the thread's end";
	if (previous != DTC_NONE && (previous >= index || get_thread(c, previous)->tid != t->tid))
		return "the thread that had its tid before is no such thread";
	if (previous != DTC_NONE && get_thread(c, previous)->end_ns > t->begin_ns)
		return "has the tid of a thread that still lives";
	if (!is_zero(t->spare, sizeof(t->spare)))
		return "spare bytes are set";
	return judge_family(c, index);
}

/* All threads but idle ones are found by their tids: with the last index it is known whether they were. */
static const char *judge_tid(struct checker *c, uint32_t tid)
{
	const DtcHistory *h = c->h;
	if (tid < h->tid_latest->len) {
		uint32_t thread = get_u32(h->tid_latest, tid);
		if (!is_thread(c, thread) || (thread != DTC_NONE && get_thread(c, thread)->tid != (int32_t)tid))
			return "its latest thread has another";
		for (; thread != DTC_NONE; thread = get_u32(h->tid_previous, thread))
			c->tids_found++;
		return NULL;
	}
	uint64_t wanted = 0;
	for (guint i = 0; i < h->threads->len; i++)
		wanted += get_thread(c, i)->idle_cpu < 0;
	return c->tids_found == wanted ? NULL : "a thread is not found by its tid";
}

/* That what the records leave out is where it is looked for. */
static const char *judge_era(struct checker *c, uint32_t index)
{
	return dtc_eras_judge(c->h->eras, index, c->h->intervals->len);
}

static const char *judge_moment_era(struct checker *c, uint32_t index)
{
	return dtc_history_judge_moment_era(c->h, index);
}

static const char *judge_odd_ref(struct checker *c, uint32_t index)
{
	return dtc_history_judge_odd_ref(c->h, index);
}

static const char *judge_record(const struct checker *c, const struct dtc_interval *v)
{
	const struct dtc_interval_record *record = DTC_AT(c->h->intervals, struct dtc_interval_record, v->index);
	bool is_small = record->ref != DTC_REF_WAKE && record->ref != DTC_REF_ODD;
	if (record->state >= DTC_STATES)
		return "its state is none";
	if (record->is_in_call && v->call == DTC_NONE)
		return "lies in a call that is not there";
	if (is_small && record->ref > c->h->interval_refs->len)
		return "what it refers to is not there";
	if (record->ref != 0 && v->ref == DTC_NONE)
		return dtc_state_is_wait(v->state) ? "a wait ended without a wake" : "what it refers to is not there";
	return is_small || dtc_state_is_wait(v->state) || v->state == DTC_STATE_IRQ || v->state == DTC_STATE_SOFTIRQ
		       ? NULL
		       : "refers to something in a state that does not";
}

static const char *judge_wait(const struct checker *c, const struct dtc_interval *v)
{
	struct dtc_interval place = *v;
	const struct dtc_interval *next = v->ref == DTC_NONE ? dtc_history_get_next_interval(c->h, &place) : NULL;
	/* still waiting at the end, or when its events were lost; but a wake may be the last thing that is known */
	if (v->ref == DTC_NONE && (!next || next->state == DTC_STATE_UNKNOWN))
		return NULL;
	if (v->ref >= c->h->wakes->len)
		return "a wait ended without a wake";
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(c->h, v->ref, &wake_place);
	if (wake->target != v->thread)
		return "a wait ended with another thread's wake";
	/* so that it is no other wait's: a thread's intervals follow each other */
	return wake->waking_ns == v->end_ns ? NULL : "a wait ended with a wake of another time";
}

static const char *judge_place(const struct checker *c, const struct dtc_interval *v)
{
	int32_t idle_cpu = get_thread(c, v->thread)->idle_cpu;
	if (v->state == DTC_STATE_IDLE ? idle_cpu != v->cpu : idle_cpu >= 0 && dtc_state_is_wait(v->state))
		return "idle is what a CPU's idle thread is, and no other";
	if (!is_on_cpu(v))
		return NULL;
	uint32_t after = find_run_after(c, v->cpu, v->begin_ns);
	if (!after || dtc_history_get_run(c->h, v->cpu, after - 1).thread != v->thread)
		return "runs on a CPU that another thread has";
	return after < dtc_history_get_run_count(c->h, v->cpu) &&
			       dtc_history_get_run(c->h, v->cpu, after).begin_ns < v->end_ns
		       ? "runs on after its CPU was taken"
		       : NULL;
}

/* Intervals that follow each other mostly lie in the same call. */
static const struct dtc_call *get_call(struct checker *c, uint32_t call)
{
	if (call != c->call_index)
		(void)dtc_history_get_call(c->h, call, &c->call);
	c->call_index = call;
	return &c->call;
}

/* The call of the thread that has not returned when the interval ends, or DTC_NONE. */
static uint32_t find_call_around(struct checker *c, const struct dtc_interval *v)
{
	if (v->last_call == DTC_NONE)
		return DTC_NONE;
	int64_t end_ns = get_call(c, v->last_call)->end_ns;
	/* else its exit may have been lost */
	return end_ns != DTC_TIME_NONE && end_ns >= v->end_ns ? v->last_call : DTC_NONE;
}

/* Calls begin and end where intervals do. */
static const char *judge_cut(struct checker *c, const struct dtc_interval *v)
{
	const struct dtc_thread *t = get_thread(c, v->thread);
	uint32_t next = v->last_call == DTC_NONE ? t->call_first : v->last_call + 1;
	if (next - t->call_first < t->call_count && dtc_history_get_call_begin_ns(c->h, next) < v->end_ns)
		return "a call begins inside of it";
	if (v->last_call == DTC_NONE || v->state != DTC_STATE_USER) /* where events were lost it may have gone on */
		return NULL;
	int64_t end_ns = get_call(c, v->last_call)->end_ns;
	return end_ns != DTC_TIME_NONE && end_ns > v->begin_ns ? "begins before the call before it ended" : NULL;
}

static const char *judge_call_of(struct checker *c, const struct dtc_interval *v)
{
	bool has_none = v->state == DTC_STATE_USER || v->state == DTC_STATE_UNKNOWN || v->state == DTC_STATE_EXITED;
	if (!is_id(v->call, c->h->calls->len))
		return "lies in a call that is not there";
	if (v->call == DTC_NONE && v->state == DTC_STATE_SYSCALL)
		return "is in a system call, but in none";
	if (v->call == DTC_NONE)
		return has_none || find_call_around(c, v) == DTC_NONE ? NULL : "lies inside a call, but in none";
	const struct dtc_call *call = get_call(c, v->call);
	if (has_none)
		return "has a call in a state that has none";
	if (call->thread != v->thread)
		return "lies in a call of another thread";
	bool is_inside = call->begin_ns <= v->begin_ns && (call->end_ns == DTC_TIME_NONE || v->end_ns <= call->end_ns);
	return is_inside ? NULL : "does not lie inside its call";
}

static const char *judge_interval(struct checker *c, uint32_t index)
{
	const struct dtc_interval *v = &c->interval;
	const struct dtc_thread *t = get_thread(c, c->owner);
	while (index - t->interval_first >= t->interval_count)
		t = get_thread(c, ++c->owner);
	if (index == t->interval_first)
		(void)dtc_history_get_interval(c->h, c->owner, index, &c->interval);
	else
		(void)dtc_history_get_next_interval(c->h, &c->interval);
	c->at_ns = v->begin_ns;
	c->thread = c->owner;
	if ((index == t->interval_first && v->begin_ns != t->begin_ns) || v->end_ns <= v->begin_ns)
		return "intervals are not contiguous";
	const char *wrong = judge_record(c, v);
	if (!wrong)
		wrong = judge_place(c, v);
	if (!wrong)
		wrong = judge_call_of(c, v);
	if (!wrong)
		wrong = judge_cut(c, v);
	if (wrong)
		return wrong;
	if (dtc_state_is_wait(v->state))
		return judge_wait(c, v);
	if (v->state == DTC_STATE_IRQ)
		return is_string(c, v->ref) ? NULL : "the interrupt's name is no string";
	return v->state == DTC_STATE_SOFTIRQ || v->ref == DTC_NONE ? NULL
								   : "refers to something in a state that does not";
}

/* While it has the CPU, a thread runs there, or it is not known what it does. */
static const char *judge_occupation(const struct checker *c, const struct dtc_run *run, int64_t end_ns)
{
	const struct dtc_interval *v =
		dtc_history_find_plain_near(c->h, run->thread, run->begin_ns + 1, &c->found[run->thread]);
	if (!v)
		return "a thread has a CPU before its life";
	for (; v && v->begin_ns < end_ns; v = dtc_history_get_next_plain(c->h, &c->found[run->thread])) {
		bool is_here = is_on_cpu(v) && v->cpu == c->cpu;
		if (!is_here && v->state != DTC_STATE_UNKNOWN)
			return "a thread has a CPU on which it does not run";
	}
	return get_thread(c, run->thread)->end_ns < end_ns ? "a thread has a CPU after its life" : NULL;
}

/* The run with that number of all, which is the next one. at: its number on c->cpu. */
static struct dtc_run get_next_run(struct checker *c, uint32_t index, uint32_t *ret_at)
{
	if (index == 0)
		c->cpu = 0;
	while (index >= get_u32(c->h->run_first, c->cpu + 1))
		c->cpu++;
	*ret_at = index - get_u32(c->h->run_first, c->cpu);
	return dtc_history_get_run(c->h, c->cpu, *ret_at);
}

/* Before intervals, for which the CPU's runs are searched by time. */
static const char *judge_run_order(struct checker *c, uint32_t index)
{
	uint32_t at;
	const struct dtc_run run = get_next_run(c, index, &at);
	c->at_ns = run.begin_ns;
	c->thread = run.thread;
	if (!is_in_trace(c, run.begin_ns))
		return "begins outside of the trace";
	return at && run.begin_ns < dtc_history_get_run(c->h, c->cpu, at - 1).begin_ns
		       ? "begins before the one before it"
		       : NULL;
}

static const char *judge_run(struct checker *c, uint32_t index)
{
	uint32_t at;
	const struct dtc_run place = get_next_run(c, index, &at), *run = &place;
	bool is_last = at + 1 == dtc_history_get_run_count(c->h, c->cpu);
	c->at_ns = run->begin_ns;
	if (!is_thread(c, run->thread))
		return "is of no thread";
	c->thread = run->thread;
	if (run->is_missing > (run->thread == DTC_NONE))
		return "is not known, but its thread is";
	if (run->thread == DTC_NONE)
		return NULL;
	int32_t idle_cpu = get_thread(c, run->thread)->idle_cpu;
	if (idle_cpu >= 0 && (guint)idle_cpu != c->cpu)
		return "is of another CPU's idle thread";
	int64_t end_ns = is_last ? c->h->end_ns : dtc_history_get_run(c->h, c->cpu, at + 1).begin_ns;
	return end_ns > run->begin_ns ? judge_occupation(c, run, end_ns) : NULL;
}

/* Who and what woke or queued; at_ns is when. */
static const char *judge_waker(const struct checker *c, const struct dtc_wake *wake)
{
	const DtcHistory *h = c->h;
	if (wake->waker > DTC_WAKER_NEW)
		return "its waker is none";
	if (!is_thread(c, wake->thread))
		return "its waker's thread is none";
	bool is_bare = wake->waker == DTC_WAKER_UNKNOWN || wake->waker == DTC_WAKER_THREAD ||
		       wake->waker == DTC_WAKER_IPI || wake->waker == DTC_WAKER_NEW;
	if (is_bare && wake->ref != DTC_NONE)
		return "refers to something with a waker that does not";
	if (wake->thread == DTC_NONE && (wake->waker == DTC_WAKER_THREAD || wake->waker == DTC_WAKER_NEW))
		return "a thread woke it, but none";
	if ((wake->waker == DTC_WAKER_TIMER || wake->waker == DTC_WAKER_IRQ) && !is_string(c, wake->ref))
		return "its waker's name is no string";
	if (wake->waker == DTC_WAKER_BLOCK) {
		if (wake->ref >= h->blocks->len)
			return "its block request is none";
		int64_t complete_ns = DTC_AT(h->blocks, struct dtc_block_request, wake->ref)->complete_ns;
		if (complete_ns == DTC_TIME_NONE)
			return "its block request did not complete";
	}
	if (wake->waker == DTC_WAKER_PACKET && wake->ref != DTC_NONE) {
		if (wake->ref >= dtc_packets_get_count(h->packets))
			return "its packet is none";
		const struct dtc_packet packet = dtc_packets_read(h->packets, wake->ref);
		if (packet.direction != DTC_RECEIVED || packet.time_ns > wake->waking_ns)
			return "its packet was not received before";
	}
	return wake->signal > 64 ? "its signal is none" : NULL;
}

static const char *judge_wake(struct checker *c, uint32_t index)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(c->h, index, &wake_place);
	c->at_ns = wake->waking_ns;
	if (wake->target >= c->h->threads->len)
		return "wakes no thread";
	c->thread = wake->target;
	if (index && dtc_history_get_waking_ns(c->h, index - 1) > wake->waking_ns)
		return "comes before the one before it";
	if (!is_in_life(c, wake->target, wake->waking_ns))
		return "wakes a thread that does not live";
	if (wake->wakeup_ns != DTC_TIME_NONE && (wake->wakeup_ns < wake->waking_ns || wake->wakeup_ns > c->h->end_ns))
		return "was done before it began, or after the trace";
	const char *wrong = judge_waker(c, wake);
	if (wrong)
		return wrong;
	if (wake->cpu >= dtc_history_get_cpu_count(c->h))
		return "was made on a CPU that is not there";
	if (wake->waker == DTC_WAKER_NEW)
		return get_thread(c, wake->target)->parent == wake->thread ? NULL
									   : "a new thread was not woken by its parent";
	/* one that was inferred acted elsewhere, or before */
	bool is_told = wake->thread != DTC_NONE && !wake->is_inferred;
	return !is_told || had_cpu(c, wake->thread, wake->cpu, wake->waking_ns)
		       ? NULL
		       : "its waker's thread was not on the waker's CPU";
}

/* What a poll returned lies in the list of these, and is files. */
static bool is_ready(const struct checker *c, uint64_t at)
{
	uint64_t first = (uint32_t)at, end = first + (at >> 32);
	if (end > c->h->ready->len)
		return false;
	for (uint64_t i = first; i < end; i++)
		if (!is_id(*DTC_AT(c->h->ready, uint32_t, i), c->h->files->len))
			return false;
	return true;
}

static const char *judge_odd_call(struct checker *c, uint32_t index)
{
	return dtc_history_judge_odd_call(c->h, index);
}

static const char *judge_call(struct checker *c, uint32_t index)
{
	struct dtc_call place, before_place;
	const struct dtc_call *call = dtc_history_get_call(c->h, index, &place);
	c->at_ns = call->begin_ns;
	if (call->thread >= c->h->threads->len)
		return "is of no thread";
	const struct dtc_thread *t = get_thread(c, call->thread);
	c->thread = call->thread;
	if (index < t->call_first || index - t->call_first >= t->call_count)
		return "a call of another thread";
	if (!is_in_life(c, call->thread, call->begin_ns) ||
	    (call->end_ns != DTC_TIME_NONE && !is_in_life(c, call->thread, call->end_ns)))
		return "does not lie in its thread's life";
	if (call->end_ns != DTC_TIME_NONE && call->end_ns < call->begin_ns)
		return "ends before it begins";
	const struct dtc_call *before =
		index > t->call_first ? dtc_history_get_call(c->h, index - 1, &before_place) : NULL;
	if (before &&
	    (before->begin_ns > call->begin_ns || (before->end_ns != DTC_TIME_NONE && before->end_ns > call->begin_ns)))
		return "begins before the one before it ended";
	if (call->name >= c->h->string_at->len)
		return "its name is no string";
	if (!is_string(c, call->path))
		return "its path is no string";
	if (!is_id(call->file, c->h->files->len) || (call->file != DTC_NONE && call->fd < 0))
		return "its file is none";
	if (call->fd < -1)
		return "its descriptor is none";
	if (call->kind > DTC_CALL_REGISTER)
		return "its kind is none";
	bool registers = call->kind == DTC_CALL_REGISTER && call->argument != DTC_NONE;
	bool has_accepted = call->kind == DTC_CALL_ACCEPT && call->result != DTC_ABSENT && call->result >= 0;
	if ((has_accepted || registers) && call->argument >= c->h->files->len)
		return registers ? "what it registers is no file" : "what it accepted is no file";
	if (call->kind == DTC_CALL_POLL && !is_ready(c, call->offset))
		return "what it returned is no file";
	return call->spare ? "spare bytes are set" : NULL;
}

static const char *judge_file_calls(struct checker *c, uint32_t index)
{
	const struct dtc_file *file = DTC_AT(c->h->files, struct dtc_file, index);
	uint32_t first = get_u32(c->h->file_call_first, index), end = get_u32(c->h->file_call_first, index + 1);
	if (first > end || end > c->h->file_calls->len)
		return "its calls end before they begin";
	const uint32_t *calls = DTC_AT(c->h->file_calls, uint32_t, first);
	for (uint32_t i = 0; i < end - first; i++) {
		if (calls[i] >= c->h->calls->len)
			return "one of its calls is none";
		const struct dtc_call call = dtc_history_copy_call(c->h, calls[i]);
		int64_t before_ns = i ? dtc_history_get_call_begin_ns(c->h, calls[i - 1]) : call.begin_ns;
		if (call.file != index)
			return "one of its calls is another file's";
		if (before_ns > call.begin_ns || (i && before_ns == call.begin_ns && calls[i - 1] >= calls[i]))
			return "its calls are not in time order";
	}
	if (!dtc_calls_move_once(c->h, c->moved, calls, end - first, file, DTC_CALL_READ))
		return "its reads did not take each byte once";
	if (!dtc_calls_move_once(c->h, c->moved, calls, end - first, file, DTC_CALL_WRITE))
		return "its writes did not give each byte once";
	return NULL;
}

static bool has_accepted(const struct checker *c, uint32_t call_index, uint32_t file)
{
	if (call_index >= c->h->calls->len)
		return false;
	const struct dtc_call call = dtc_history_copy_call(c->h, call_index);
	return call.kind == DTC_CALL_ACCEPT && call.result >= 0 && call.argument == file;
}

static const char *judge_file(struct checker *c, uint32_t index)
{
	const struct dtc_file *file = DTC_AT(c->h->files, struct dtc_file, index);
	guint flow_count = dtc_packets_get_flow_count(c->h->packets);
	c->at_ns = file->begin_ns;
	if (!is_in_trace(c, file->begin_ns))
		return "was first seen outside of the trace";
	if (!is_string(c, file->name))
		return "its name is no string";
	if (file->kind > DTC_FILE_EVENT || file->pairing > DTC_PAIRING_INFERRED)
		return "its kind is none";
	if (!is_id(file->flow_out, flow_count) ||
	    (file->flow_out == DTC_NONE
		     ? file->flow_in != DTC_NONE
		     : file->flow_in != dtc_packets_get_flow(c->h->packets, file->flow_out)->reverse))
		return "its flows are not the two of a connection";
	if (file->flow_out == DTC_NONE ? file->has_base_out || file->has_base_in
				       : get_u32(c->h->flow_files, file->flow_out) == DTC_NONE)
		return "is not found by its flow";
	if (!is_id(file->peer, c->h->files->len) ||
	    (file->peer != DTC_NONE && DTC_AT(c->h->files, struct dtc_file, file->peer)->peer != index))
		return "it is not the other end's other end";
	if (file->accept != DTC_NONE && !has_accepted(c, file->accept, index))
		return "the call that accepted it gave another file";
	return judge_file_calls(c, index);
}

static const char *judge_flow(struct checker *c, uint32_t flow)
{
	uint32_t file = get_u32(c->h->flow_files, flow);
	if (!is_id(file, c->h->files->len))
		return "its file is none";
	return file != DTC_NONE && DTC_AT(c->h->files, struct dtc_file, file)->flow_out != flow
		       ? "its file is another flow's"
		       : NULL;
}

static const char *judge_calls_by_file(struct checker *c, uint32_t index)
{
	(void)index;
	guint count = 0;
	for (guint i = 0; i < c->h->calls->len; i++)
		count += dtc_history_copy_call(c->h, i).file != DTC_NONE;
	return count == c->h->file_calls->len ? NULL : "a call on a file is not among the file's calls";
}

static const char *judge_name(struct checker *c, uint32_t index)
{
	const struct dtc_name_record *name = DTC_AT(c->h->names, struct dtc_name_record, index);
	c->at_ns = name->from_ns;
	if (name->thread >= c->h->threads->len)
		return "is of no thread";
	c->thread = name->thread;
	if (index < get_u32(c->h->name_first, name->thread) || index >= get_u32(c->h->name_first, name->thread + 1))
		return "a name of another thread";
	if (name->string >= c->h->string_at->len)
		return "is no string";
	if (!is_in_life(c, name->thread, name->from_ns))
		return "begins outside of its thread's life";
	bool is_first = index == get_u32(c->h->name_first, name->thread);
	return !is_first && (name - 1)->from_ns > name->from_ns ? "begins before the one before it" : NULL;
}

static const char *judge_block(struct checker *c, uint32_t index)
{
	const struct dtc_block_request *block = DTC_AT(c->h->blocks, struct dtc_block_request, index);
	int64_t issued_ns = block->issue_ns == DTC_TIME_NONE ? block->insert_ns : block->issue_ns;
	c->at_ns = block->insert_ns;
	if (!is_in_trace(c, block->insert_ns))
		return "was made outside of the trace";
	if (issued_ns < block->insert_ns)
		return "was issued before it was made";
	if (block->complete_ns != DTC_TIME_NONE &&
	    (block->complete_ns < issued_ns || block->complete_ns > c->h->end_ns))
		return "completed before it was issued, or after the trace";
	return is_thread(c, block->thread) ? NULL : "is of no thread";
}

static const char *judge_device(struct checker *c, uint32_t index)
{
	const struct dtc_device *devices = &g_array_index(c->h->devices, struct dtc_device, 0);
	for (guint i = 0; i < index; i++)
		if (devices[i].device == devices[index].device)
			return "has two names";
	return devices[index].name < c->h->string_at->len ? NULL : "its name is no string";
}

static const char *judge_work(struct checker *c, uint32_t index)
{
	const struct dtc_work *work = DTC_AT(c->h->works, struct dtc_work, index);
	uint32_t worker = work->queued.target;
	c->at_ns = work->begin_ns;
	if (worker >= c->h->threads->len)
		return "is done by no thread";
	c->thread = worker;
	if (index && (work - 1)->queued.target > worker)
		return "is not in the order of workers";
	const struct dtc_work *before = index && (work - 1)->queued.target == worker ? work - 1 : NULL;
	if (before &&
	    (before->begin_ns > work->begin_ns || (before->end_ns != DTC_TIME_NONE && before->end_ns > work->begin_ns)))
		return "begins before the one before it ended";
	if (!is_in_life(c, worker, work->begin_ns) ||
	    (work->end_ns != DTC_TIME_NONE && !is_in_life(c, worker, work->end_ns)))
		return "does not lie in its worker's life";
	if (work->end_ns != DTC_TIME_NONE && work->end_ns < work->begin_ns)
		return "ends before it begins";
	if (is_inside_interval(c, worker, work->begin_ns) ||
	    (work->end_ns != DTC_TIME_NONE && is_inside_interval(c, worker, work->end_ns)))
		return "begins or ends inside an interval";
	if (work->queued.waking_ns == DTC_TIME_NONE)
		return work->queued.waker == DTC_WAKER_UNKNOWN && work->queued.thread == DTC_NONE &&
				       work->queued.ref == DTC_NONE
			       ? NULL
			       : "nobody queued it, but somebody did";
	if (work->queued.waking_ns > work->begin_ns)
		return "was queued after it began";
	return judge_waker(c, &work->queued);
}

/* Of lists in time order: what is said of each time and thread. */
static const char *judge_moment(struct checker *c, int64_t time_ns, int64_t before_ns, uint32_t thread)
{
	c->at_ns = time_ns;
	if (!is_thread(c, thread))
		return "is of no thread";
	c->thread = thread;
	if (!is_in_trace(c, time_ns))
		return "lies outside of the trace";
	return before_ns > time_ns ? "comes before the one before it" : NULL;
}

static const char *judge_mark(struct checker *c, uint32_t index)
{
	const struct dtc_mark *mark = &g_array_index(c->h->marks, struct dtc_mark, index);
	const char *wrong = judge_moment(c, mark->time_ns, index ? (mark - 1)->time_ns : mark->time_ns, mark->thread);
	if (wrong)
		return wrong;
	return is_string(c, mark->text) ? NULL : "its text is no string";
}

static const char *judge_fault(struct checker *c, uint32_t index)
{
	const struct dtc_fault fault = dtc_history_get_fault(c->h, index);
	int64_t before_ns = index ? dtc_history_get_fault(c->h, index - 1).time_ns : fault.time_ns;
	return judge_moment(c, fault.time_ns, before_ns, fault.thread);
}

static const char *judge_guest_irq(struct checker *c, uint32_t index)
{
	const struct dtc_guest_irq *irq = DTC_AT(c->h->guest_irqs, struct dtc_guest_irq, index);
	const char *wrong = judge_moment(c, irq->time_ns, index ? (irq - 1)->time_ns : irq->time_ns, irq->thread);
	return !wrong && irq->spare ? "spare bytes are set" : wrong;
}

static const char *judge_vcpu(struct checker *c, uint32_t index)
{
	const struct dtc_vcpu *vcpu = &g_array_index(c->h->vcpus, struct dtc_vcpu, index);
	const struct dtc_vcpu *before = index ? vcpu - 1 : NULL;
	const DtcTable *spans = c->h->guest_spans;
	if (vcpu->thread >= c->h->threads->len)
		return "is no thread";
	c->thread = vcpu->thread;
	if (!vcpu->span_count || !follows(spans, before ? (uint64_t)before->span_first + before->span_count : 0,
					  vcpu->span_first, vcpu->span_count, index + 1 == c->h->vcpus->len))
		return "its spans do not follow those of the one before";
	c->at_ns = DTC_AT(spans, struct dtc_guest_span, vcpu->span_first)->entry_ns;
	if (before && DTC_AT(spans, struct dtc_guest_span, before->span_first)->entry_ns > c->at_ns)
		return "entered a guest before the one before it";
	for (guint i = 0; i < index; i++)
		if (g_array_index(c->h->vcpus, struct dtc_vcpu, i).thread == vcpu->thread)
			return "is there twice";
	return vcpu->number < -1 ? "its number is none" : NULL;
}

static const char *judge_guest_span(struct checker *c, uint32_t index)
{
	const struct dtc_guest_span *s = DTC_AT(c->h->guest_spans, struct dtc_guest_span, index);
	const struct dtc_vcpu *vcpu = &g_array_index(c->h->vcpus, struct dtc_vcpu, c->vcpu);
	if (index - vcpu->span_first >= vcpu->span_count) {
		c->vcpu++;
		vcpu++;
	}
	const struct dtc_guest_span *before = index > vcpu->span_first ? s - 1 : NULL;
	c->at_ns = s->entry_ns;
	if (s->thread != vcpu->thread)
		return "a guest span of another thread";
	c->thread = s->thread;
	if (!is_in_life(c, s->thread, s->entry_ns) || s->left_ns < s->entry_ns || s->left_ns > c->h->end_ns)
		return "ends before it begins, or lies outside of its thread's life";
	if (before && s->entry_ns < (before->exit_ns == DTC_TIME_NONE ? before->left_ns : before->exit_ns))
		return "guest spans overlap";
	if (s->exit_ns != DTC_TIME_NONE && (s->exit_ns < s->left_ns || s->exit_ns > c->h->end_ns))
		return "an exit before the guest was left";
	if (s->isa > 2 || s->spare)
		return "its processor's kind is none";
	const struct dtc_interval *v = dtc_history_find_plain_near(c->h, s->thread, s->left_ns, &c->found[s->thread]);
	bool is_running = v && v->begin_ns <= s->entry_ns && dtc_state_is_running(v->state);
	is_running |= c->h->has_forgotten && v && v->state == DTC_STATE_UNKNOWN; /* kept: its exit is to come */
	return s->left_ns > s->entry_ns && !is_running ? "a thread in a guest that does not run" : NULL;
}

static const char *judge_odd_context(struct checker *c, uint32_t index)
{
	return dtc_history_judge_odd_context(c->h, index);
}

static const char *judge_packet(struct checker *c, uint32_t index)
{
	const struct dtc_packet packet = dtc_packets_read(c->h->packets, index);
	const struct dtc_packet_context made = dtc_history_get_packet_context(c->h, index), *context = &made;
	int64_t before_ns = index ? c->packet_ns : packet.time_ns;
	const char *wrong = judge_moment(c, packet.time_ns, before_ns, context->thread);
	c->packet_ns = packet.time_ns;
	if (wrong)
		return wrong;
	if (context->thread != DTC_NONE && !has_cpu(c, context->thread, packet.cpu, packet.time_ns))
		return "its thread was not on its CPU";
	if (context->queue_ns != DTC_TIME_NONE &&
	    (packet.direction == DTC_SENT ? context->queue_ns < packet.time_ns : context->queue_ns > packet.time_ns))
		return "its time in the queue ends before it begins";
	if (!is_zero(context->spare, sizeof(context->spare)))
		return "spare bytes are set";
	if (context->vector != 0xff && !context->in_softirq)
		return "is in a softirq, but in no interrupt";
	if (context->call == DTC_NONE)
		return NULL;
	if (context->in_softirq || context->call >= c->h->calls->len)
		return "its call is none";
	const struct dtc_call lies_in = dtc_history_copy_call(c->h, context->call), *call = &lies_in;
	bool is_inside =
		call->begin_ns <= packet.time_ns && (call->end_ns == DTC_TIME_NONE || packet.time_ns <= call->end_ns);
	return call->thread == context->thread && is_inside ? NULL : "does not lie inside its call";
}

static bool broken(GError **error, const struct checker *c, const char *record, uint32_t index, const char *what)
{
	g_autofree char *who = c->thread < c->h->threads->len
				       ? g_strdup_printf(" of tid %d", get_thread(c, c->thread)->tid)
				       : g_strdup("");
	g_autofree char *when = c->at_ns == DTC_TIME_NONE ? g_strdup("") : g_strdup_printf(" at %" PRId64, c->at_ns);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "history is inconsistent: %s %u%s%s: %s\nhint: this is a defect of dtrace-chain, please report it "
		    "with the trace",
		    record, index, who, when, what);
	return false;
}

bool dtc_history_check_lists(const DtcHistory *h, GError **error)
{
	struct checker checker = { .h = h, .thread = DTC_NONE, .at_ns = DTC_TIME_NONE };
	const char *what = judge_lengths(&checker, 0);

	return !what || broken(error, &checker, "lists", 0, what);
}

bool dtc_history_check(const DtcHistory *h, GError **error)
{
	g_assert(h->is_sealed);
	const struct {
		const char *record;
		uint32_t count;
		const char *(*judge)(struct checker *checker, uint32_t index);
	} steps[] = {
		{ "lists", 1, judge_lengths },
		{ "string", h->string_at->len, judge_string },
		{ "cpu", h->run_first->len ? h->run_first->len - 1 : 0, judge_cpu },
		{ "thread", h->threads->len, judge_thread },
		{ "tid", h->tid_latest->len + 1, judge_tid },
		{ "era", h->eras->len, judge_era },
		{ "era of moments", h->run_eras->len + h->fault_eras->len + h->wake_eras->len, judge_moment_era },
		{ "odd reference", h->odd_refs->len, judge_odd_ref },
		{ "odd call", h->odd_calls->len, judge_odd_call },
		{ "call", h->calls->len, judge_call },
		{ "run", h->runs->len, judge_run_order },
		{ "interval", h->intervals->len, judge_interval },
		{ "run", h->runs->len, judge_run },
		{ "wake", h->wakes->len, judge_wake },
		{ "flow", h->flow_files->len, judge_flow },
		{ "file", h->files->len, judge_file },
		{ "calls by file", 1, judge_calls_by_file },
		{ "name", h->names->len, judge_name },
		{ "block request", h->blocks->len, judge_block },
		{ "device", h->devices->len, judge_device },
		{ "work", h->works->len, judge_work },
		{ "mark", h->marks->len, judge_mark },
		{ "fault", h->faults->len, judge_fault },
		{ "vcpu", h->vcpus->len, judge_vcpu },
		{ "guest span", h->guest_spans->len, judge_guest_span },
		{ "guest interrupt", h->guest_irqs->len, judge_guest_irq },
		{ "odd context", h->odd_contexts->len, judge_odd_context },
		{ "packet", h->contexts->len, judge_packet },
	};
	g_autoptr(DtcTable) moved = dtc_table_new(sizeof(struct dtc_moved_bytes));
	g_autofree uint32_t *run_at = g_new0(uint32_t, h->run_first->len + 1);
	g_autofree struct dtc_interval *found = g_new(struct dtc_interval, h->threads->len + 1);
	for (guint i = 0; i < h->threads->len; i++)
		found[i].thread = DTC_NONE;
	struct checker checker = { .h = h, .moved = moved, .run_at = run_at, .found = found, .call_index = DTC_NONE };
	for (gsize step = 0; step < G_N_ELEMENTS(steps); step++)
		for (uint32_t i = 0; i < steps[step].count; i++) {
			checker.thread = DTC_NONE;
			checker.at_ns = DTC_TIME_NONE;
			const char *what = steps[step].judge(&checker, i);
			if (what)
				return broken(error, &checker, steps[step].record, i, what);
		}
	return true;
}
