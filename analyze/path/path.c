/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/path_build.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>

#define SEGMENTS_HEAP_BYTES ((gsize)1 << 20) /* a request's path does without a file */

struct DtcPath {
	DtcClusterTime begin, end;
	DtcTable *segments;  /* struct dtc_segment: of a request hundreds, of a thread's span hundreds of thousands */
	GArray *waiters;     /* struct dtc_waiter; number 1 is the first */
	DtcTable *blockings; /* struct dtc_blocking: likewise */
	guint untold, untold_deep; /* blockings: dtc_path_get_untold_count */
	GArray *reversals;	   /* struct dtc_reversal */
};

const char *dtc_cause_to_string(enum dtc_cause cause)
{
	static const char *const names[DTC_CAUSES] = {
		[DTC_CAUSE_RUNNING_USER] = "running-user",
		[DTC_CAUSE_RUNNING_KERNEL] = "running-kernel",
		[DTC_CAUSE_RUNNING_GUEST] = "running-guest",
		[DTC_CAUSE_RUNQUEUE] = "runqueue",
		[DTC_CAUSE_PREEMPTED] = "preempted",
		[DTC_CAUSE_CPU_LIMIT] = "cpu-limit",
		[DTC_CAUSE_IRQ] = "irq",
		[DTC_CAUSE_SOFTIRQ] = "softirq",
		[DTC_CAUSE_TIMER] = "timer",
		[DTC_CAUSE_DISK] = "disk",
		[DTC_CAUSE_LOCK] = "lock",
		[DTC_CAUSE_IPC] = "ipc",
		[DTC_CAUSE_PAGE_FAULT] = "page-fault",
		[DTC_CAUSE_FORK_EXEC] = "fork-exec",
		[DTC_CAUSE_CHILD] = "child",
		[DTC_CAUSE_NETWORK_SEND] = "network-send",
		[DTC_CAUSE_NETWORK_WIRE] = "network-wire",
		[DTC_CAUSE_NETWORK_RECEIVE] = "network-receive",
		[DTC_CAUSE_RETRANSMISSION] = "retransmission",
		[DTC_CAUSE_VM_PREEMPTED] = "vm-preempted",
		[DTC_CAUSE_VM_EXIT] = "vm-exit",
		[DTC_CAUSE_DEVICE] = "device",
		[DTC_CAUSE_STOPPED] = "stopped",
		[DTC_CAUSE_UNKNOWN] = "unknown",
	};
	return names[cause];
}

const char *dtc_link_quality_to_string(enum dtc_link_quality quality)
{
	static const char *const names[] = { "exact", "inferred", "unknown" };
	return names[quality];
}

const char *dtc_reason_to_string(enum dtc_reason reason)
{
	static const char *const names[DTC_REASONS] = {
		[DTC_REASON_OWN] = "own",
		[DTC_REASON_ON_CPU] = "on-cpu",
		[DTC_REASON_NOT_YET_QUEUED] = "not-yet-queued",
		[DTC_REASON_NOT_YET_GIVEN] = "not-yet-given",
		[DTC_REASON_ASKED] = "asked",
		[DTC_REASON_UNTRACED_SENDER] = "untraced-sender",
		[DTC_REASON_UNTRACED_PEER] = "untraced-peer",
		[DTC_REASON_UNKNOWN_BEFORE] = "unknown-before",
		[DTC_REASON_CIRCLE] = "circle",
		[DTC_REASON_INSIDE] = "inside-process",
		[DTC_REASON_SPENT] = "limit-spent",
		[DTC_REASON_IDLE_CPU] = "idle-cpu",
		[DTC_REASON_HOST_PREEMPTED] = "host-preempted",
		[DTC_REASON_HOST_EXIT] = "host-exit",
		[DTC_REASON_HOST_BLOCKED] = "host-blocked",
		[DTC_REASON_WIRE] = "wire",
		[DTC_REASON_RECEIVER_SOFTIRQ] = "receiver-softirq",
		[DTC_REASON_QDISC] = "qdisc",
		[DTC_REASON_KERNEL_ANSWER] = "kernel-answer",
		[DTC_REASON_DELAYED_ACK] = "delayed-ack",
		[DTC_REASON_SENT_AGAIN] = "sent-again",
		[DTC_REASON_HANDSHAKE_TIMEOUT] = "handshake-timeout",
		[DTC_REASON_RETRANSMISSION_TIMEOUT] = "retransmission-timeout",
		[DTC_REASON_TAIL_LOSS_PROBE] = "tail-loss-probe",
		[DTC_REASON_REORDERING_TIMER] = "reordering-timer",
		[DTC_REASON_FAST_RETRANSMIT] = "fast-retransmit",
		[DTC_REASON_HELD] = "held",
		[DTC_REASON_HELD_BY_RECEIVER] = "held-by-receiver",
		[DTC_REASON_HELD_BY_CONGESTION] = "held-by-congestion",
		[DTC_REASON_HELD_BY_QUEUE] = "held-by-queue",
		[DTC_REASON_HELD_BY_TIMER] = "held-by-timer",
		[DTC_REASON_HELD_BY_NAGLE] = "held-by-nagle",
		[DTC_REASON_HELD_BACK] = "held-back",
	};
	return names[reason];
}

DtcTable *dtc_path_segments_new(void)
{
	return dtc_table_new_on_heap(sizeof(struct dtc_segment), SEGMENTS_HEAP_BYTES);
}

DtcPath *dtc_path_new(DtcClusterTime begin, DtcClusterTime end)
{
	DtcPath *path = g_new0(DtcPath, 1);
	path->begin = begin;
	path->end = end;
	path->segments = dtc_path_segments_new();
	path->waiters = g_array_new(FALSE, FALSE, sizeof(struct dtc_waiter));
	path->blockings = dtc_table_new(sizeof(struct dtc_blocking));
	path->reversals = g_array_new(FALSE, FALSE, sizeof(struct dtc_reversal));
	return path;
}

void dtc_path_free(DtcPath *path)
{
	if (!path)
		return;
	dtc_table_free(path->segments);
	g_array_unref(path->waiters);
	dtc_table_free(path->blockings);
	g_array_unref(path->reversals);
	g_free(path);
}

void dtc_path_add_segment(DtcPath *path, const struct dtc_segment *segment)
{
	dtc_table_append(path->segments, segment);
}

void dtc_path_set_segments(DtcPath *path, DtcTable *segments)
{
	dtc_table_free(path->segments);
	dtc_table_settle(segments);
	path->segments = segments;
}

guint dtc_path_add_waiter(DtcPath *path, const struct dtc_waiter *waiter)
{
	g_assert(waiter->outer <= path->waiters->len);
	g_array_append_vals(path->waiters, waiter, 1);
	return path->waiters->len;
}

const struct dtc_waiter *dtc_path_get_waiter(const DtcPath *path, guint waiter)
{
	g_assert(waiter <= path->waiters->len);
	return waiter ? &g_array_index(path->waiters, struct dtc_waiter, waiter - 1) : NULL;
}

guint dtc_path_add_blocking(DtcPath *path, const struct dtc_blocking *blocking)
{
	dtc_table_append(path->blockings, blocking);
	return path->blockings->len - 1;
}

void dtc_path_count_untold(DtcPath *path, guint depth)
{
	if (depth < DTC_REPORT_MAX_DEPTH)
		path->untold++;
	else
		path->untold_deep++;
}

void dtc_path_add_reversal(DtcPath *path, const struct dtc_reversal *reversal)
{
	g_array_append_vals(path->reversals, reversal, 1);
}

static gint compare_begin(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct dtc_blocking *blockings = data;
	guint i = *(const guint *)a, j = *(const guint *)b;
	if (blockings[i].begin.ns != blockings[j].begin.ns)
		return blockings[i].begin.ns < blockings[j].begin.ns ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* What order_blockings knows of one; the one behind all stands for their roots. */
struct place {
	guint child; /* first, and next sibling, in order of their begin; of equal ones the one that was added first */
	guint next;
	guint to_visit; /* the stack of those that are still to come */
	guint renamed;
};

/* A table, since there are as many as the span is long. */
static DtcTable *make_places(const struct dtc_blocking *from, guint count)
{
	g_autoptr(DtcTable) order_table = dtc_table_new(sizeof(guint));
	DtcTable *table = dtc_table_new(sizeof(struct place));
	dtc_table_extend(order_table, count);
	dtc_table_extend(table, count + 1);
	guint *order = DTC_AT(order_table, guint, 0);
	struct place *places = DTC_AT(table, struct place, 0);
	for (guint i = 0; i <= count; i++)
		places[i].child = G_MAXUINT;
	for (guint i = 0; i < count; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)count, sizeof(*order), compare_begin, (gpointer)from);
	for (guint i = count; i-- > 0;) {
		guint parent = from[order[i]].parent;
		guint *first = &places[parent == G_MAXUINT ? count : parent].child;
		places[order[i]].next = *first;
		*first = order[i];
	}
	return table;
}

/* Blockings in the order in which a reader wants them: parents before children, siblings by time. Indexes change. */
static void order_blockings(DtcPath *path)
{
	guint count = path->blockings->len, depth = 0, used = 0;
	if (count == 0)
		return;
	const struct dtc_blocking *from = DTC_AT(path->blockings, struct dtc_blocking, 0);
	g_autoptr(DtcTable) table = make_places(from, count);
	struct place *places = DTC_AT(table, struct place, 0);
	DtcTable *ordered = dtc_table_new(sizeof(struct dtc_blocking));
	dtc_table_extend(ordered, count);
	struct dtc_blocking *to = DTC_AT(ordered, struct dtc_blocking, 0);
	if (places[count].child != G_MAXUINT)
		places[depth++].to_visit = places[count].child;
	while (depth) {
		guint i = places[--depth].to_visit;
		places[i].renamed = used;
		to[used] = from[i];
		if (from[i].parent != G_MAXUINT)
			to[used].parent = places[from[i].parent].renamed;
		used++;
		if (places[i].next != G_MAXUINT)
			places[depth++].to_visit = places[i].next;
		if (places[i].child != G_MAXUINT)
			places[depth++].to_visit = places[i].child;
	}
	g_assert(used == count);
	dtc_table_free(path->blockings);
	path->blockings = ordered;
}

void dtc_path_finish(DtcPath *path)
{
	for (guint i = 0, j = path->segments->len; i + 1 < j; i++) {
		struct dtc_segment *a = DTC_AT(path->segments, struct dtc_segment, i);
		struct dtc_segment *b = DTC_AT(path->segments, struct dtc_segment, --j);
		struct dtc_segment keep = *a;
		*a = *b;
		*b = keep;
	}
	order_blockings(path);
	dtc_table_settle(path->segments);
	dtc_table_settle(path->blockings);
}

DtcClusterTime dtc_path_get_begin(const DtcPath *path)
{
	return path->begin;
}

DtcClusterTime dtc_path_get_end(const DtcPath *path)
{
	return path->end;
}

guint dtc_path_get_segment_count(const DtcPath *path)
{
	return path->segments->len;
}

const struct dtc_segment *dtc_path_get_segment(const DtcPath *path, guint index)
{
	return DTC_AT(path->segments, struct dtc_segment, index);
}

guint dtc_path_get_blocking_count(const DtcPath *path)
{
	return path->blockings->len;
}

const struct dtc_blocking *dtc_path_get_blocking(const DtcPath *path, guint index)
{
	return DTC_AT(path->blockings, struct dtc_blocking, index);
}

guint dtc_path_get_untold_count(const DtcPath *path, guint *ret_deep)
{
	*ret_deep = path->untold_deep;
	return path->untold;
}

guint dtc_path_get_reversal_count(const DtcPath *path)
{
	return path->reversals->len;
}

const struct dtc_reversal *dtc_path_get_reversal(const DtcPath *path, guint index)
{
	return &g_array_index(path->reversals, struct dtc_reversal, index);
}

bool dtc_path_check(const DtcPath *path, GError **error)
{
	int64_t at = path->begin.ns;
	for (guint i = 0; i < path->segments->len; i++) {
		const struct dtc_segment *s = DTC_AT(path->segments, struct dtc_segment, i);
		if (s->begin.ns != at || s->end.ns <= s->begin.ns) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
				    "path is not contiguous: segment %u is [%" PRId64 ", %" PRId64
				    "], expected to begin at %" PRId64
				    "\nhint: this is a defect of dtrace-chain, please report it with the bundle",
				    i, s->begin.ns, s->end.ns, at);
			return false;
		}
		at = s->end.ns;
	}
	if (at != path->end.ns) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
			    "path ends at %" PRId64 " instead of %" PRId64
			    "\nhint: this is a defect of dtrace-chain, please report it with the bundle",
			    at, path->end.ns);
		return false;
	}
	return true;
}
