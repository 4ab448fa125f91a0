/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guest's time as its host saw it: what the host did with the vCPU, and what its devices did for the guest. */
#include "analyze/edge/cause.h"
#include "analyze/edge/held.h"
#include "analyze/edge/shares.h"
#include "analyze/path/traverse_build.h"

/* What the host did with the vCPU while it was away. */
static struct dtc_evidence get_host_evidence(const struct dtc_host_piece *piece)
{
	struct dtc_evidence why =
		dtc_evidence_of_interval(piece->cpu.host, piece->has_interval ? &piece->interval : NULL);
	why.reason = piece->doing == DTC_HOST_PREEMPTED ? DTC_REASON_HOST_PREEMPTED
		     : piece->doing == DTC_HOST_EXIT	? DTC_REASON_HOST_EXIT
							: DTC_REASON_HOST_BLOCKED;
	why.exit_reason = piece->span->reason;
	why.isa = piece->span->isa;
	return why;
}

/* The stand is at a vCPU of the guest whose request is followed: at that one, or at another of its process. */
static bool is_at_guest(const struct dtc_traverse *t, const struct dtc_frame *frame)
{
	const struct dtc_stand *stand = &t->stand;
	if (frame->vcpu_thread == DTC_NONE || frame->vcpu_node != stand->node)
		return false;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	return frame->vcpu_thread == stand->thread ||
	       (dtc_shares_find_vcpu(h, stand->thread) &&
		dtc_history_get_thread(h, stand->thread)->pid == dtc_history_get_thread(h, frame->vcpu_thread)->pid);
}

bool dtc_traverse_return_to_guest(struct dtc_traverse *t)
{
	for (guint i = t->frames->len; t->device_frames && i-- > 0;) {
		const struct dtc_frame *frame = &g_array_index(t->frames, struct dtc_frame, i);
		if (!is_at_guest(t, frame))
			continue;
		bool has_way = frame->has_way;
		dtc_traverse_leave(t, i);
		if (!has_way)
			t->stand.at_ns = MAX(t->stand.at_ns, dtc_clocks_to_node_ns(t->clocks, t->stand.node, t->tc));
		return true;
	}
	return false;
}

/* The walk goes back to begin on the guest's thread; low is the begin of its interval or arrival. */
static void set_guest_time(struct dtc_traverse *t, int64_t begin_cluster_ns, int64_t low_ns)
{
	t->stand.at_ns = MAX(low_ns, dtc_clocks_to_node_ns(t->clocks, t->stand.node, begin_cluster_ns));
}

void dtc_traverse_set_host_doubt(struct dtc_traverse *t, guint node, const struct dtc_guest_cpu *cpu)
{
	t->link = cpu->is_verified ? t->link : MAX(t->link, DTC_LINK_INFERRED);
	if (t->visitor->check || t->visitor->no_doubts)
		return;
	t->uncertainty_ns = MAX(t->uncertainty_ns,
				dtc_clocks_get_uncertainty_ns(t->clocks, node, cpu->host, (DtcClusterTime){ t->tc }));
}

/* What of a guest's time the host did with its CPU from its time begin to end, not before low; else it is cause's. */
static void explain_pieces(struct dtc_traverse *t, const struct dtc_guest_cpu *cpu, const struct dtc_visit *of,
			   int64_t name_ns, int64_t begin_ns, int64_t end_ns, const struct dtc_evidence *why)
{
	struct dtc_host_piece piece;
	while (t->tc > MAX(of->begin.ns, dtc_traverse_get_bound(t)) &&
	       dtc_host_take_piece(t->links, cpu, begin_ns, &end_ns, &piece)) {
		bool is_preempted = piece.doing == DTC_HOST_PREEMPTED;
		bool is_away = is_preempted || piece.doing == DTC_HOST_EXIT || piece.doing == DTC_HOST_BLOCKED;
		if (is_away)
			dtc_traverse_set_host_doubt(t, of->node, cpu);
		dtc_traverse_explain(t, of->node, of->thread, name_ns,
				     MAX(dtc_clocks_to_cluster_ns(t->clocks, cpu->host, piece.begin_ns), of->begin.ns),
				     is_preempted ? DTC_CAUSE_VM_PREEMPTED
				     : is_away	  ? DTC_CAUSE_VM_EXIT
						  : of->cause,
				     is_away ? get_host_evidence(&piece) : *why, NULL);
	}
}

void dtc_traverse_explain_vcpu(struct dtc_traverse *t, const struct dtc_guest_cpu *cpu, guint node, uint32_t thread,
			       int64_t name_ns, int64_t begin_cluster_ns, enum dtc_cause cause,
			       const struct dtc_evidence *why)
{
	const struct dtc_visit of = { .node = node, .thread = thread, .begin = { begin_cluster_ns }, .cause = cause };
	explain_pieces(t, cpu, &of, name_ns, dtc_clocks_to_node_ns(t->clocks, cpu->host, begin_cluster_ns),
		       dtc_clocks_to_node_ns(t->clocks, cpu->host, t->tc), why);
}

/*
 * An interrupt for a guest waited for its vCPU: what the host did from when it was pending to the entry, down to low.
 * Before, down to the entry, the guest served it: that is cause's. Leaves tc where it was pending.
 */
void dtc_traverse_explain_delivery(struct dtc_traverse *t, const struct dtc_host_interrupt *interrupt, int64_t name_ns,
				   int64_t low_cluster_ns, enum dtc_cause cause, const struct dtc_evidence *why)
{
	const struct dtc_visit of = {
		.node = t->stand.node, .thread = t->stand.thread, .begin = { low_cluster_ns }, .cause = cause
	};
	int64_t entry_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, interrupt->cpu.host, interrupt->entry_ns);
	dtc_traverse_explain(t, of.node, of.thread, name_ns, MAX(entry_cluster_ns, low_cluster_ns), cause, *why, NULL);
	explain_pieces(t, &interrupt->cpu, &of, name_ns, interrupt->pending_ns, interrupt->entry_ns, why);
}

/*
 * A guest's wait that an interrupt ended. While the interrupt was pending and the vCPU did not run, the host made it
 * wait. Before that the device worked: a disk of the guest is a thread of the host, and the way goes on there, down to
 * when the guest made its request.
 */
bool dtc_traverse_follow_interrupt(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
				   int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	const struct dtc_host_interrupt *interrupt = &edge->interrupt;
	if (!edge->has_interrupt)
		return false;
	int64_t low = dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, low_ns);
	enum dtc_cause cause = dtc_cause_of_interval(h, wait);
	const struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, wait);
	dtc_traverse_explain_delivery(t, interrupt, wait->end_ns, low, cause, &why);
	set_guest_time(t, MAX(t->tc, low), low_ns);
	if (edge->block_request == DTC_NONE || interrupt->thread == DTC_NONE || t->tc <= low)
		return true; /* the rest of the wait is entered from within: its own cause */
	int64_t made_ns = MAX(edge->from_ns, low_ns);
	if (made_ns >= t->stand.at_ns)
		return true;
	/* made while this thread waited already, by another: before, that one's time is part of the answer */
	if (made_ns > low_ns && edge->from_thread != DTC_NONE &&
	    dtc_traverse_enter(t, edge->from_node, edge->from_thread, low_ns)) {
		t->stand.thread = edge->from_thread;
	}
	if (dtc_traverse_enter(t, interrupt->cpu.host, interrupt->thread, made_ns)) {
		struct dtc_frame *frame = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
		frame->vcpu_node = interrupt->cpu.host;
		frame->vcpu_thread = interrupt->cpu.thread;
		t->device_frames++;
		dtc_traverse_set_host_doubt(t, t->stand.node, &interrupt->cpu);
		t->stand.node = interrupt->cpu.host;
		t->stand.thread = interrupt->thread;
		t->stand.at_ns = interrupt->pending_ns;
	}
	return true;
}

/*
 * A thread of a guest that seems to run, or to wait for its CPU: if that CPU's vCPU was not in the guest, the time is
 * what the host did instead. One piece per step. False if the node is no guest, or the host does not tell.
 */
bool dtc_traverse_follow_host(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t low_ns)
{
	struct dtc_host_cut cut;
	if (!dtc_host_find_cut(t->links, t->stand.node, interval, t->tc, &cut))
		return false;
	const struct dtc_host_piece piece = cut.piece;
	const struct dtc_guest_cpu cpu = piece.cpu;
	int64_t begin = MAX(cut.begin_cluster_ns,
			    MAX(dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, low_ns), dtc_traverse_get_bound(t)));
	if (begin >= t->tc)
		return false;
	guint node = t->stand.node;
	uint32_t thread = t->stand.thread;
	if (piece.doing == DTC_HOST_IN_GUEST || piece.doing == DTC_HOST_HALTED || piece.doing == DTC_HOST_UNKNOWN) {
		dtc_traverse_explain(t, node, thread, interval->end_ns, begin,
				     dtc_cause_of_interval(dtc_links_get_history(t->links, node), interval),
				     dtc_evidence_of_interval(node, interval), interval);
		set_guest_time(t, begin, low_ns);
		return true;
	}
	dtc_traverse_set_host_doubt(t, node, &cpu);
	set_guest_time(t, begin, low_ns);
	if (piece.doing == DTC_HOST_BLOCKED && dtc_traverse_enter(t, cpu.host, cpu.thread, t->stand.at_ns)) {
		const struct dtc_evidence why = get_host_evidence(&piece);
		const struct dtc_visit visit = { .kind = DTC_VISIT_HOST,
						 .node = node,
						 .thread = thread,
						 .begin = { begin },
						 .end = { t->tc },
						 .cause = DTC_CAUSE_VM_EXIT,
						 .host = &why,
						 .by = DTC_NONE };
		if (t->visitor->wait)
			t->visitor->wait(t->data, &visit);
		t->stand.node = cpu.host;
		t->stand.thread = cpu.thread;
		t->stand.at_ns = piece.interval.end_ns - cut.host_ns <= 1 ? piece.interval.end_ns : cut.host_ns;
		return true;
	}
	dtc_traverse_explain(t, node, thread, interval->end_ns, begin,
			     piece.doing == DTC_HOST_PREEMPTED ? DTC_CAUSE_VM_PREEMPTED : DTC_CAUSE_VM_EXIT,
			     get_host_evidence(&piece), NULL);
	return true;
}

/*
 * A thread that is ready: held by the limit of its cgroup, or behind who had the CPU, one part per step. False if it is
 * not ready, or was not held at all.
 */
static bool explain_held(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (interval->state != DTC_STATE_PREEMPTED && interval->state != DTC_STATE_RUNQUEUE)
		return false;
	const struct dtc_ready_part part = dtc_held_find_part(h, interval, MIN(t->stand.at_ns, interval->end_ns));
	if (!part.is_held && part.begin_ns == interval->begin_ns && part.end_ns == interval->end_ns)
		return false;
	struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, interval);
	why.interval.begin_ns = part.begin_ns;
	why.interval.end_ns = part.end_ns;
	if (part.is_held) {
		why.reason = part.limit ? DTC_REASON_SPENT : DTC_REASON_IDLE_CPU;
		t->link = MAX(t->link, DTC_LINK_INFERRED);
	}
	int64_t begin_ns = MAX(part.begin_ns, low_ns);
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, interval->end_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, begin_ns),
			     part.is_held ? DTC_CAUSE_CPU_LIMIT : dtc_cause_of_interval(h, interval), why, interval);
	t->stand.at_ns = begin_ns;
	return true;
}

void dtc_traverse_explain_own(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (explain_held(t, interval, low_ns))
		return;
	const struct dtc_vcpu *vcpu = dtc_shares_find_vcpu(h, interval->thread);
	enum dtc_cause cause = dtc_cause_of_interval(h, interval);
	int64_t begin_ns = low_ns;
	if (vcpu && dtc_shares_find_stay(h, vcpu, interval, MIN(t->stand.at_ns, interval->end_ns), &begin_ns))
		cause = DTC_CAUSE_RUNNING_GUEST;
	dtc_traverse_explain_interval(t, interval, MAX(begin_ns, low_ns), cause);
}
