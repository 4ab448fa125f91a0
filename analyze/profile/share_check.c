/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/share_check.h"

#include "analyze/edge/delivery.h"
#include "analyze/edge/shares.h"
#include "analyze/path/walk.h"
#include "analyze/profile/profile.h"
#include "analyze/profile/profile_states.h"

#include <inttypes.h>
#include <stdlib.h>

/* The tree shows every delay that lasts so long. */
#define SHOWN_NS 1000000

struct comparing {
	const DtcLinks *links;
	const DtcEdges *edges;
	const DtcHistory *history;
	guint node;
	struct dtc_check *check;
};

/* What a thread did in a stretch without waits, or in one: by columns of `top`. */
struct sums {
	int64_t ns[DTC_PROFILE_BASIC_COLUMNS];
	int64_t shown_ns;   /* of what the vCPU was away, the parts that the tree shows */
	int64_t allowed_ns; /* rounding, where the node's clock is not cluster time */
};

/* What `top` has of it: that a thread is held is no state of its own. */
static enum dtc_profile_column get_column(const struct dtc_segment *segment)
{
	static const struct {
		enum dtc_cause cause;
		enum dtc_profile_column column;
	} columns[] = {
		{ DTC_CAUSE_RUNNING_USER, DTC_PROFILE_USER },	{ DTC_CAUSE_RUNNING_KERNEL, DTC_PROFILE_SYSTEM },
		{ DTC_CAUSE_RUNNING_GUEST, DTC_PROFILE_GUEST }, { DTC_CAUSE_IRQ, DTC_PROFILE_IRQ },
		{ DTC_CAUSE_SOFTIRQ, DTC_PROFILE_SOFTIRQ },	{ DTC_CAUSE_RUNQUEUE, DTC_PROFILE_RUNQUEUE },
		{ DTC_CAUSE_PREEMPTED, DTC_PROFILE_PREEMPTED }, { DTC_CAUSE_VM_PREEMPTED, DTC_PROFILE_VM_PREEMPTED },
		{ DTC_CAUSE_VM_EXIT, DTC_PROFILE_VM_EXIT },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
		if (columns[i].cause == segment->cause)
			return columns[i].column;
	if (segment->cause == DTC_CAUSE_CPU_LIMIT)
		return segment->evidence.interval.state == DTC_STATE_PREEMPTED ? DTC_PROFILE_PREEMPTED
									       : DTC_PROFILE_RUNQUEUE;
	return DTC_PROFILE_UNKNOWN;
}

/* As `states` cuts it; host pieces that follow each other are one part here, and several on the path. */
static void add_states(const struct comparing *c, uint32_t thread, int64_t begin_ns, int64_t end_ns, struct sums *sums)
{
	struct dtc_spells spells;
	struct dtc_interval spell;

	dtc_spells_begin(&spells, c->links, c->node, c->history, thread, (DtcNodeTime){ begin_ns },
			 (DtcNodeTime){ end_ns });
	while (dtc_spells_next(&spells, &spell))
		sums->ns[dtc_profile_get_column(c->history, &spell)] += spell.end_ns - spell.begin_ns;
	dtc_spells_end(&spells);
}

/* What a host did while it waited for something is told on the path of the host's threads. */
static bool is_own(const struct comparing *c, const struct dtc_segment *segment, uint32_t thread)
{
	return segment->node == c->node && segment->thread == thread;
}

static int64_t to_node_ns(const struct comparing *c, DtcClusterTime time)
{
	return dtc_clocks_to_node(dtc_links_get_clocks(c->links), c->node, time).ns;
}

static void add_path(const struct comparing *c, const DtcPath *path, uint32_t thread, struct sums *sums)
{
	/* both ends: a clock that is cluster time is so everywhere */
	if (to_node_ns(c, dtc_path_get_begin(path)) != dtc_path_get_begin(path).ns ||
	    to_node_ns(c, dtc_path_get_end(path)) != dtc_path_get_end(path).ns)
		sums->allowed_ns = 2 + 2 * (int64_t)dtc_path_get_segment_count(path);
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		int64_t ns = to_node_ns(c, segment->end) - to_node_ns(c, segment->begin);
		enum dtc_profile_column column = is_own(c, segment, thread) ? get_column(segment) : DTC_PROFILE_VM_EXIT;
		sums->ns[column] += ns;
		if (is_own(c, segment, thread) && ns >= SHOWN_NS &&
		    (column == DTC_PROFILE_VM_PREEMPTED || column == DTC_PROFILE_VM_EXIT))
			sums->shown_ns += ns;
	}
}

static int64_t sum_tree(const struct comparing *c, const DtcPath *path, uint32_t thread)
{
	int64_t shown_ns = 0;

	for (guint i = 0; i < dtc_path_get_blocking_count(path); i++) {
		const struct dtc_blocking *b = dtc_path_get_blocking(path, i);
		bool is_away = b->cause == DTC_CAUSE_VM_PREEMPTED || b->cause == DTC_CAUSE_VM_EXIT;
		if (is_away && b->node == c->node && b->thread == thread && b->parent == G_MAXUINT &&
		    b->evidence.reason != DTC_REASON_HOST_BLOCKED &&
		    to_node_ns(c, b->end) - to_node_ns(c, b->begin) >= SHOWN_NS)
			shown_ns += to_node_ns(c, b->end) - to_node_ns(c, b->begin);
	}
	return shown_ns;
}

/* NULL: the span is empty in cluster time. */
static DtcPath *walk(const struct comparing *c, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	const DtcClocks *clocks = dtc_links_get_clocks(c->links);
	const struct dtc_path_target target = {
		.node = c->node,
		.thread = thread,
		.begin = dtc_clocks_to_cluster(clocks, c->node, (DtcNodeTime){ begin_ns }),
		.end = dtc_clocks_to_cluster(clocks, c->node, (DtcNodeTime){ end_ns }),
		.call = DTC_NONE,
	};
	const struct dtc_path_options options = { .max_depth = 1 };

	return target.begin.ns < target.end.ns ? dtc_path_walk(c->edges, &target, &options, NULL) : NULL;
}

/* The packet that ended a wait, or DTC_NONE. */
static uint32_t find_packet(const struct comparing *c, uint32_t thread, int64_t end_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *wait = dtc_history_find_interval_before(c->history, thread, end_ns, &place);
	struct dtc_arrival arrival;

	if (!wait || wait->ref == DTC_NONE)
		return DTC_NONE;
	const struct dtc_wake wake = dtc_history_copy_wake(c->history, wait->ref);
	return dtc_delivery_find_arrival(c->links, c->node, wait, &wake, &arrival) ? arrival.packet : DTC_NONE;
}

/*
 * The vCPU was away, as the thread's own segments tell up to the end of its wait. What other messages lost on their way
 * through the guest is theirs: those that the thread had sent, and that kernels answered before (a handshake).
 */
static int64_t sum_away(const struct comparing *c, const DtcPath *path, uint32_t thread, int64_t end_ns)
{
	uint32_t packet = find_packet(c, thread, end_ns);
	int64_t away_ns = 0;

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		bool is_away = segment->cause == DTC_CAUSE_VM_PREEMPTED || segment->cause == DTC_CAUSE_VM_EXIT;
		bool is_other = segment->evidence.packet != DTC_NONE && segment->evidence.packet != packet;
		int64_t begin_ns = to_node_ns(c, segment->begin);
		if (is_away && !is_other && is_own(c, segment, thread) && begin_ns < end_ns)
			away_ns += MIN(to_node_ns(c, segment->end), end_ns) - begin_ns;
	}
	return away_ns;
}

/*
 * A wait: what was to end it was there, and the vCPU was away. The rest of it is on the path what others did. What came
 * behind it is asked for, too, so that the walk comes to its end.
 */
static void compare_wait(const struct comparing *c, uint32_t thread, int64_t begin_ns, int64_t end_ns, int64_t until_ns)
{
	g_autoptr(DtcPath) path = walk(c, thread, begin_ns, until_ns);
	struct sums states = { 0 }, walked = { 0 };

	if (!path)
		return;
	add_states(c, thread, begin_ns, end_ns, &states);
	add_path(c, path, thread, &walked);
	int64_t states_ns = states.ns[DTC_PROFILE_VM_PREEMPTED] + states.ns[DTC_PROFILE_VM_EXIT];
	int64_t path_ns = sum_away(c, path, thread, end_ns);
	dtc_check_look(c->check, llabs(states_ns - path_ns) <= walked.allowed_ns,
		       "tid %d waits from %" PRId64 " to %" PRId64 ": its vCPU was away from that for %" PRId64
		       " ns in its states, %" PRId64 " ns on the path",
		       dtc_history_get_thread(c->history, thread)->tid, begin_ns, end_ns, states_ns, path_ns);
}

static void compare_stretch(const struct comparing *c, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	int32_t tid = dtc_history_get_thread(c->history, thread)->tid;
	g_autoptr(DtcPath) path = walk(c, thread, begin_ns, end_ns);
	struct sums states = { 0 }, walked = { 0 };

	if (!path)
		return;
	add_states(c, thread, begin_ns, end_ns, &states);
	add_path(c, path, thread, &walked);
	for (guint i = 0; i < DTC_PROFILE_BASIC_COLUMNS; i++)
		dtc_check_look(c->check, llabs(states.ns[i] - walked.ns[i]) <= walked.allowed_ns,
			       "tid %d from %" PRId64 " to %" PRId64 ": %s is %" PRId64 " ns in its states, %" PRId64
			       " ns on the path",
			       tid, begin_ns, end_ns, dtc_profile_column_to_string((enum dtc_profile_column)i),
			       states.ns[i], walked.ns[i]);
	int64_t shown_ns = sum_tree(c, path, thread);
	dtc_check_look(c->check, shown_ns == walked.shown_ns,
		       "tid %d from %" PRId64 " to %" PRId64 ": its vCPU was away for %" PRId64
		       " ns on the path, %" PRId64 " ns in the tree",
		       tid, begin_ns, end_ns, walked.shown_ns, shown_ns);
}

/* Runs, or waits for a CPU: a kernel worker's way leads to who gave it work, which is no sum of its own. */
static bool is_compared(const DtcHistory *h, const struct dtc_interval *v)
{
	return (dtc_state_is_running(v->state) || v->state == DTC_STATE_RUNQUEUE || v->state == DTC_STATE_PREEMPTED) &&
	       !dtc_history_find_work(h, v->thread, v->end_ns);
}

static void compare_thread(const struct comparing *c, uint32_t index)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(c->history, index, INT64_MIN, &place);
	int64_t begin_ns = 0, end_ns = 0, wait_ns = DTC_TIME_NONE;

	for (; v; v = dtc_history_get_next_interval(c->history, &place)) {
		bool is_wait = dtc_state_is_wait(v->state);
		if (wait_ns != DTC_TIME_NONE && !is_wait && is_compared(c->history, v))
			compare_wait(c, index, wait_ns, v->begin_ns, v->end_ns);
		wait_ns = is_wait ? v->begin_ns : DTC_TIME_NONE;
		if (!is_compared(c->history, v))
			continue;
		if (v->begin_ns != end_ns) {
			if (end_ns > begin_ns)
				compare_stretch(c, index, begin_ns, end_ns);
			begin_ns = v->begin_ns;
		}
		end_ns = v->end_ns;
	}
	if (end_ns > begin_ns)
		compare_stretch(c, index, begin_ns, end_ns);
}

struct dtc_check dtc_share_check_run(const DtcLinks *links, guint node)
{
	struct dtc_check check = {
		.name = "vcpus",
		.node = node,
		.text = "user, system, guest and stolen time are the same in states, path and tree"
	};
	const DtcHistory *history = dtc_links_get_history(links, node);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	const struct comparing c = { links, edges, history, node, &check };

	struct dtc_shares shares;
	dtc_shares_begin(&shares, links, node, history, DTC_NONE);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		dtc_shares_turn_to(&shares, i);
		if (dtc_shares_has_any(&shares) && dtc_history_get_thread(history, i)->idle_cpu < 0)
			compare_thread(&c, i);
	}
	return check;
}
