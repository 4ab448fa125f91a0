/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/walk.h"
#include "analyze/edge/arrival.h"
#include "analyze/edge/cause.h"
#include "analyze/edge/handoff.h"
#include "analyze/edge/host.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/path/causality.h"
#include "analyze/path/explain.h"
#include "analyze/path/path_build.h"
#include "dtrace-chain/error.h"

#include <string.h>

/*
 * The walk goes back in time from the target's end. It stands at (node, thread, node time); tc is the cluster time down
 * to which the path is explained. A wait ended by a thread pushes a frame: the waker is followed down to the begin of
 * the wait, then the walk returns to the waiting thread. A message pushes none: the path goes on at the sender.
 */
struct frame {
	guint node;
	uint32_t thread;
	int64_t bound_ns;	  /* node time of that node: where the walk returns to the thread */
	int64_t bound_cluster_ns; /* the same, in cluster time */
	bool has_arrival;	  /* what the waiting thread was pursuing when the frame was pushed */
	struct dtc_arrival arrival;
	uint32_t giver;
	int64_t given_ns;
	const struct dtc_work *work;
	/* a guest's request to its device, followed in the host: the walk also returns when it comes to this vCPU */
	guint vcpu_node;
	uint32_t vcpu_thread; /* DTC_NONE: none */
	guint waiter;	      /* this thread's number in the path */
};

/*
 * A question that a process was asked and that the walk has not reached yet: whatever its threads sent to others after
 * it was asked, they sent for its sake, unless they are seen to act on something later.
 */
struct scope {
	guint node;
	int32_t pid;
	uint32_t reader; /* the thread that read the question */
	struct dtc_arrival question;
};

#define FRAME_LIMIT 4096
#define SCOPE_LIMIT 256

struct walk {
	const DtcLinks *links;
	const DtcClocks *clocks;
	const struct dtc_path_target *target;
	DtcPath *path;
	GArray *frames;
	guint device_frames; /* of them are followed in a host */
	guint node;
	uint32_t thread;
	int64_t at_ns;	  /* node time */
	int64_t tc;	  /* cluster time: everything from here to the target's end is explained */
	bool has_arrival; /* the arrival down to which this thread's own history is followed */
	struct dtc_arrival arrival;
	uint32_t giver;		     /* who gave the thread, at given_ns, what it answers; DTC_NONE: its own work */
	int64_t given_ns;	     /* after the arrival */
	GArray *scopes;		     /* struct scope, the innermost last */
	const struct dtc_work *work; /* that this thread, a kernel worker, executes; NULL: none that a thread queued */
	enum dtc_link_quality link;  /* of the step that led here: the next segment bears it */
	int64_t uncertainty_ns;
	bool by_kernel;			      /* the next segments are made by it */
	const struct dtc_interval *explained; /* of a guest's thread: one interval makes many segments */
	char *explanation;		      /* its detail; owned */
};

static int64_t lower_bound(const struct walk *w)
{
	int64_t bound = w->target->begin.ns;
	if (w->frames->len) {
		const struct frame *top = &g_array_index(w->frames, struct frame, w->frames->len - 1);
		bound = MAX(bound, top->bound_cluster_ns);
	}
	return bound;
}

/* Whose wait the walk explains; 0: nobody's. */
static guint get_waiter(const struct walk *w)
{
	return w->frames->len ? g_array_index(w->frames, struct frame, w->frames->len - 1).waiter : 0;
}

/* Explains the time from cluster time begin up to tc. Names are those that (node, thread) had at name_ns. */
static void emit(struct walk *w, guint node, uint32_t thread, int64_t name_ns, int64_t begin_cluster_ns,
		 enum dtc_cause cause, char *detail)
{
	int64_t begin = MAX(begin_cluster_ns, lower_bound(w));
	if (begin >= w->tc) {
		g_free(detail);
		return;
	}
	const DtcHistory *h = dtc_links_get_history(w->links, node);
	struct dtc_segment segment = { .begin = { begin },
				       .end = { w->tc },
				       .node = node,
				       .thread = thread,
				       .cause = cause,
				       .link = w->link,
				       .uncertainty_ns = w->uncertainty_ns,
				       .tid = -1,
				       .pid = -1,
				       .detail = detail,
				       .by_kernel = w->by_kernel,
				       .waiter = get_waiter(w) };
	if (thread != DTC_NONE) {
		const struct dtc_thread *t = dtc_history_get_thread(h, thread);
		segment.tid = t->tid;
		segment.pid = t->pid;
		segment.comm = g_strdup(dtc_history_get_comm(h, thread, name_ns));
		segment.process = g_strdup(dtc_history_get_process(h, thread, name_ns));
	} else {
		segment.comm = g_strdup("");
		segment.process = g_strdup("kernel");
	}
	dtc_path_add_segment(w->path, &segment);
	w->tc = begin;
	w->link = DTC_LINK_EXACT;
	w->uncertainty_ns = 0;
}

static void emit_interval(struct walk *w, const struct dtc_interval *interval, int64_t begin_ns, enum dtc_cause cause)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	emit(w, w->node, w->thread, interval->end_ns, dtc_clocks_to_cluster_ns(w->clocks, w->node, begin_ns), cause,
	     dtc_explain_detail(h, interval));
	w->at_ns = begin_ns;
}

static char *explain_own(struct walk *w, const struct dtc_interval *interval)
{
	if (w->explained != interval) {
		g_free(w->explanation);
		w->explanation = dtc_explain_detail(dtc_links_get_history(w->links, w->node), interval);
		w->explained = interval;
	}
	return g_strdup(w->explanation);
}

static bool push_frame(struct walk *w, int64_t bound_ns)
{
	if (w->frames->len >= FRAME_LIMIT)
		return false;
	struct frame frame = { .node = w->node,
			       .thread = w->thread,
			       .bound_ns = bound_ns,
			       .bound_cluster_ns = dtc_clocks_to_cluster_ns(w->clocks, w->node, bound_ns),
			       .has_arrival = w->has_arrival,
			       .arrival = w->arrival,
			       .giver = w->giver,
			       .given_ns = w->given_ns,
			       .work = w->work,
			       .vcpu_thread = DTC_NONE };
	/* never before the start of an outer wait, whenever the inner one began */
	DtcClusterTime floor = { lower_bound(w) };
	if (frame.bound_cluster_ns < floor.ns) {
		frame.bound_cluster_ns = floor.ns;
		frame.bound_ns = MAX(bound_ns, dtc_clocks_to_node(w->clocks, w->node, floor).ns);
	}
	struct dtc_waiter waiter = { w->node, w->thread, get_waiter(w) };
	frame.waiter = dtc_path_add_waiter(w->path, &waiter);
	g_array_append_val(w->frames, frame);
	w->has_arrival = false;
	w->giver = DTC_NONE;
	w->work = NULL;
	return true;
}

static void pop_frame(struct walk *w)
{
	struct frame frame = g_array_index(w->frames, struct frame, w->frames->len - 1);
	g_array_set_size(w->frames, w->frames->len - 1);
	w->device_frames -= frame.vcpu_thread != DTC_NONE;
	w->node = frame.node;
	w->thread = frame.thread;
	w->at_ns = frame.bound_ns;
	w->has_arrival = frame.has_arrival;
	w->arrival = frame.arrival;
	w->giver = frame.giver;
	w->given_ns = frame.given_ns;
	w->work = frame.work;
}

/* The host's thread got the request from the guest's vCPU: what was before is the guest's again. */
static bool return_to_guest(struct walk *w)
{
	for (guint i = w->frames->len; w->device_frames && i-- > 0;) {
		const struct frame *frame = &g_array_index(w->frames, struct frame, i);
		if (frame->vcpu_thread != w->thread || frame->vcpu_node != w->node)
			continue;
		while (w->frames->len > i)
			pop_frame(w);
		w->at_ns = MAX(w->at_ns, dtc_clocks_to_node_ns(w->clocks, w->node, w->tc));
		return true;
	}
	return false;
}

static char *explain_message(const struct walk *w, const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(w->links, sender->node);
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_packet *p = dtc_packets_get(packets, sender->packet);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, p->flow);
	g_autofree char *what = dtc_explain_packet(p);
	g_autofree char *from = dtc_explain_address(flow->source, flow->source_port);
	g_autofree char *to = dtc_explain_address(flow->destination, flow->destination_port);
	return g_strdup_printf("%s from %s %s to %s", what, dtc_links_get_node_name(w->links, sender->node), from, to);
}

static char *explain_retransmission(const struct walk *w, const struct dtc_sender *sender)
{
	static const char *const names[] = {
		[DTC_AGAIN_NOT] = "sent again",
		[DTC_AGAIN_HANDSHAKE] = "handshake timeout",
		[DTC_AGAIN_TIMEOUT] = "retransmission timeout",
		[DTC_AGAIN_PROBE] = "tail-loss probe",
		[DTC_AGAIN_REORDERING] = "RACK-TLP reordering timer",
		[DTC_AGAIN_FAST] = "fast retransmit",
	};
	g_autofree char *what = explain_message(w, sender);
	if (sender->copies > 2)
		return g_strdup_printf("%s, sent %u times: %s", names[sender->again], sender->copies, what);
	return g_strdup_printf("%s: %s", names[sender->again], what);
}

static const char *name_hold(enum dtc_hold hold)
{
	switch (hold) {
	case DTC_HOLD_RECEIVER:
		return "in the sender's socket: the receiver's window was full (flow control)";
	case DTC_HOLD_CONGESTION:
		return "in the sender's socket until earlier bytes were acknowledged (congestion or receive window)";
	case DTC_HOLD_QUEUE:
		return "in the sender's socket until its qdisc and device had sent earlier bytes";
	case DTC_HOLD_TIMER:
		return "in the sender's socket until a timer of its kernel";
	case DTC_HOLD_NOT_KNOWN:
		break;
	}
	return "waited in the sender's socket";
}

/* A send that seems to come after its arrival: emit gives it no wire time, and the path remembers that. */
static void note_reversal(struct walk *w, const struct dtc_arrival *arrival, const struct dtc_sender *sender)
{
	int64_t by_ns = dtc_clocks_to_cluster_ns(w->clocks, sender->node, sender->left_ns) -
			dtc_clocks_to_cluster_ns(w->clocks, arrival->node, arrival->time_ns);
	struct dtc_reversal reversal = { sender->node, arrival->node, by_ns, w->uncertainty_ns };
	if (by_ns > 0 && sender->node != arrival->node)
		dtc_path_add_reversal(w->path, &reversal);
}

/* The walk goes back to begin on the guest's thread; low is the begin of its interval or arrival. */
static void set_guest_time(struct walk *w, int64_t begin_cluster_ns, int64_t low_ns)
{
	w->at_ns = MAX(low_ns, dtc_clocks_to_node_ns(w->clocks, w->node, begin_cluster_ns));
}

static void set_host_doubt(struct walk *w, guint node, const struct dtc_guest_cpu *cpu)
{
	w->link = cpu->is_verified ? w->link : MAX(w->link, DTC_LINK_INFERRED);
	w->uncertainty_ns = MAX(w->uncertainty_ns,
				dtc_clocks_get_uncertainty_ns(w->clocks, node, cpu->host, (DtcClusterTime){ w->tc }));
}

/*
 * An interrupt for a guest waited for its vCPU: what the host did from when it was pending to the entry, down to low.
 * Before, down to the entry, the guest served it: that is cause's. Leaves tc where it was pending.
 */
static void emit_delivery(struct walk *w, const struct dtc_host_interrupt *interrupt, int64_t name_ns,
			  int64_t low_cluster_ns, enum dtc_cause cause, const char *detail)
{
	guint node = w->node, host = interrupt->cpu.host;
	uint32_t thread = w->thread;
	struct dtc_host_piece piece;
	emit(w, node, thread, name_ns,
	     MAX(dtc_clocks_to_cluster_ns(w->clocks, host, interrupt->entry_ns), low_cluster_ns), cause,
	     g_strdup(detail));
	int64_t end_ns = interrupt->entry_ns;
	while (end_ns > interrupt->pending_ns && w->tc > MAX(low_cluster_ns, lower_bound(w)) &&
	       dtc_host_find_piece(w->links, &interrupt->cpu, end_ns, &piece)) {
		int64_t begin_ns = MAX(piece.begin_ns, interrupt->pending_ns);
		bool is_preempted = piece.doing == DTC_HOST_PREEMPTED;
		bool is_away = is_preempted || piece.doing == DTC_HOST_EXIT || piece.doing == DTC_HOST_BLOCKED;
		if (is_away)
			set_host_doubt(w, node, &interrupt->cpu);
		emit(w, node, thread, name_ns, MAX(dtc_clocks_to_cluster_ns(w->clocks, host, begin_ns), low_cluster_ns),
		     is_preempted ? DTC_CAUSE_VM_PREEMPTED
		     : is_away	  ? DTC_CAUSE_VM_EXIT
				  : cause,
		     is_away ? dtc_explain_host(w->links, &piece) : g_strdup(detail));
		end_ns = begin_ns;
	}
}

/* The packet lay in the host, ready for a guest whose vCPU did not run: that part of its way is the host's. */
static void emit_wire_delivery(struct walk *w, const struct dtc_arrival *arrival, const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(w->links, arrival->node);
	struct dtc_host_interrupt interrupt;
	if (arrival->packet == DTC_NONE || arrival->node != w->node)
		return;
	uint32_t on_top_of = dtc_history_get_packet_context(h, arrival->packet)->thread;
	if (!dtc_host_find_interrupt(w->links, arrival->node, on_top_of, arrival->time_ns, &interrupt))
		return;
	enum dtc_link_quality link = w->link;
	int64_t uncertainty_ns = w->uncertainty_ns;
	g_autofree char *detail = explain_message(w, sender);
	emit_delivery(w, &interrupt, arrival->time_ns,
		      dtc_clocks_to_cluster_ns(w->clocks, sender->node, sender->left_ns), DTC_CAUSE_NETWORK_WIRE,
		      detail);
	w->link = link; /* the step to the sender is still to come */
	w->uncertainty_ns = uncertainty_ns;
}

/*
 * A packet that came when no softirq ran: its interrupt asked for one, and from then on the receiver was late, not the
 * wire. What came while the softirq ran already has no time of its own and counts as on the wire.
 */
static void emit_softirq_delay(struct walk *w, const struct dtc_arrival *arrival, const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(w->links, arrival->node);
	if (arrival->packet == DTC_NONE)
		return;
	int64_t asked_ns = dtc_history_get_packet_context(h, arrival->packet)->queue_ns;
	if (asked_ns == DTC_TIME_NONE || asked_ns >= arrival->time_ns)
		return;
	int64_t asked_cluster_ns = dtc_clocks_to_cluster_ns(w->clocks, arrival->node, asked_ns);
	if (asked_cluster_ns > dtc_clocks_to_cluster_ns(w->clocks, sender->node, sender->left_ns))
		emit(w, arrival->node, w->thread, arrival->time_ns, asked_cluster_ns, DTC_CAUSE_NETWORK_RECEIVE,
		     g_strdup("arrived, until the receiver's softirq took it"));
}

/* The question that the process of the walk's thread works on, if the walk came from its answer; else NULL. */
static const struct scope *find_scope(struct walk *w, int32_t pid)
{
	for (guint i = w->scopes->len; i-- > 0;) {
		const struct scope *scope = &g_array_index(w->scopes, struct scope, i);
		if (scope->node == w->node && scope->pid == pid && scope->question.time_ns < w->at_ns)
			return scope;
	}
	return NULL;
}

/* Who received what arrived: the reader of the question, if it lived then and the walk came by another thread. */
static void go_to_reader(struct walk *w, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	for (guint i = w->scopes->len; i-- > 0;) {
		const struct scope *scope = &g_array_index(w->scopes, struct scope, i);
		if (scope->node == w->node && scope->question.file == arrival->file &&
		    scope->question.time_ns == arrival->time_ns &&
		    dtc_history_get_thread(h, scope->reader)->begin_ns < arrival->time_ns)
			w->thread = scope->reader;
	}
}

static bool is_other_question(const struct walk *w, uint32_t file, uint32_t question_file)
{
	return file != DTC_NONE && file != question_file &&
	       dtc_endpoint_is_stream_server(dtc_links_get_history(w->links, w->node), file);
}

/*
 * The walk stands at a send on file by its thread: what the thread acted on. An answer leads to its question, by way of
 * who gave it to the thread if that is another one; what a process sends to others while it works on a question it
 * sends for its sake, if the sender is not seen to have read anything since that is no other client's question.
 */
static void pursue(struct walk *w, uint32_t file)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	struct dtc_asked asked;

	w->giver = DTC_NONE;
	w->has_arrival = dtc_arrival_find_for_send(w->links, w->node, w->thread, w->at_ns, file, &w->arrival);
	int32_t pid = dtc_history_get_thread(h, w->thread)->pid;
	if (dtc_handoff_find_question(w->links, w->node, file, w->at_ns, &asked)) {
		struct scope scope = { w->node, pid, asked.thread, asked.arrival };
		if (w->scopes->len < SCOPE_LIMIT)
			g_array_append_val(w->scopes, scope);
		uint32_t giver;
		int64_t given_ns;
		if (w->has_arrival && w->arrival.time_ns == asked.arrival.time_ns &&
		    dtc_handoff_find_giver(w->links, w->node, w->thread, w->at_ns, &asked, &giver, &given_ns)) {
			w->giver = giver;
			w->given_ns = given_ns;
		}
		return;
	}
	const struct scope *scope = find_scope(w, pid);
	if (scope && (!w->has_arrival || w->arrival.time_ns < scope->question.time_ns ||
		      is_other_question(w, w->arrival.file, scope->question.file))) {
		w->arrival = scope->question;
		w->has_arrival = true;
	}
}

/*
 * From an arrival to the thread that sent it: wire, retransmission, time in the sender's stack. Several steps when the
 * kernel answered by itself (SYN-ACK, ACK). False if nobody traced sent it: then the walk stays where it is.
 */
static bool jump(struct walk *w, struct dtc_arrival arrival)
{
	bool moved = false;
	for (int hops = 0; hops < 64; hops++) {
		struct dtc_sender sender;
		if (!dtc_arrival_find_sender(w->links, &arrival, &sender))
			return moved;
		emit_softirq_delay(w, &arrival, &sender);
		w->link = sender.exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
		w->uncertainty_ns =
			dtc_clocks_get_uncertainty_ns(w->clocks, sender.node, arrival.node, (DtcClusterTime){ w->tc });
		note_reversal(w, &arrival, &sender);
		emit_wire_delivery(w, &arrival, &sender);
		emit(w, arrival.node, w->thread, arrival.time_ns,
		     dtc_clocks_to_cluster_ns(w->clocks, sender.node, sender.left_ns), DTC_CAUSE_NETWORK_WIRE,
		     explain_message(w, &sender));
		if (sender.left_ns > sender.sent_ns)
			emit(w, sender.node, sender.thread, sender.left_ns,
			     dtc_clocks_to_cluster_ns(w->clocks, sender.node, sender.sent_ns), DTC_CAUSE_NETWORK_SEND,
			     g_strdup("waited in the sender's qdisc"));
		w->node = sender.node;
		w->thread = sender.thread;
		if (sender.sent_ns > sender.first_ns) {
			emit(w, sender.node, sender.thread, sender.sent_ns,
			     dtc_clocks_to_cluster_ns(w->clocks, sender.node, sender.first_ns),
			     DTC_CAUSE_RETRANSMISSION, explain_retransmission(w, &sender));
		}
		moved = true;
		if (!sender.relayed) {
			if (sender.written_ns < sender.first_ns)
				emit(w, sender.node, sender.thread, sender.first_ns,
				     dtc_clocks_to_cluster_ns(w->clocks, sender.node, sender.written_ns),
				     DTC_CAUSE_NETWORK_SEND, g_strdup(name_hold(sender.hold)));
			w->at_ns = sender.written_ns;
			/* exact as long as the bytes tell; the loop's rule below is by order within one turn */
			w->has_arrival = false;
			w->giver = DTC_NONE;
			if (sender.thread != DTC_NONE)
				pursue(w, sender.file);
			return true;
		}
		w->by_kernel = true;
		emit(w, sender.node, sender.thread, sender.first_ns,
		     dtc_clocks_to_cluster_ns(w->clocks, sender.node, sender.cause.time_ns),
		     sender.is_delayed ? DTC_CAUSE_NETWORK_SEND : DTC_CAUSE_SOFTIRQ,
		     g_strdup(sender.is_delayed ? "delayed ACK" : "the kernel answers a packet"));
		w->by_kernel = false;
		arrival = sender.cause;
		w->at_ns = arrival.time_ns;
		if (w->tc <= lower_bound(w))
			return true;
	}
	return moved;
}

/*
 * The peer is not traced. What can be said: since this node's last send on that connection, in this thread's calls, the
 * answer was outstanding. The walk goes on at that send. False if there was none.
 */
static bool follow_untraced(struct walk *w, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	if (arrival->file == DTC_NONE)
		return false;
	uint32_t count, found = DTC_NONE;
	const uint32_t *calls = dtc_history_get_file_calls(h, arrival->file, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_call *call = dtc_history_get_call(h, calls[i]);
		if (call->begin_ns >= arrival->time_ns)
			break;
		if (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_CONNECT)
			found = calls[i];
	}
	if (found == DTC_NONE)
		return false;
	const struct dtc_call *call = dtc_history_get_call(h, found);
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? arrival->time_ns : MIN(call->end_ns, arrival->time_ns);
	if (call->kind == DTC_CALL_CONNECT) /* a blocking connect ends with the arrival */
		at_ns = call->begin_ns;
	g_autofree char *peer = dtc_explain_file(h, arrival->file);
	w->link = DTC_LINK_UNKNOWN;
	emit(w, w->node, w->thread, arrival->time_ns, dtc_clocks_to_cluster_ns(w->clocks, w->node, at_ns),
	     DTC_CAUSE_UNKNOWN, g_strdup_printf("%s answers, and is not traced", peer ? peer : "the peer"));
	w->thread = call->thread;
	w->at_ns = at_ns;
	pursue(w, arrival->file);
	return true;
}

static bool waits_for_network(const DtcHistory *h, const struct dtc_interval *wait)
{
	if (wait->call == DTC_NONE)
		return false;
	const struct dtc_call *call = dtc_history_get_call(h, wait->call);
	const struct dtc_file *file = call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_READ:
	case DTC_CALL_PEEK:
		return !file || file->kind == DTC_FILE_SOCKET || file->kind == DTC_FILE_UNKNOWN;
	case DTC_CALL_POLL:
	case DTC_CALL_ACCEPT:
	case DTC_CALL_CONNECT:
		return true;
	default:
		return false;
	}
}

/* Emits the softirq's work between the arrival and the wakeup, and goes to the sender. */
static bool follow_arrival(struct walk *w, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	emit(w, w->node, w->thread, wait->end_ns, dtc_clocks_to_cluster_ns(w->clocks, w->node, arrival->time_ns),
	     DTC_CAUSE_NETWORK_RECEIVE, dtc_explain_detail(h, wait));
	w->at_ns = arrival->time_ns;
	w->has_arrival = false;
	guint node = w->node;
	uint32_t thread = w->thread;
	if (jump(w, *arrival))
		return true;
	w->node = node;
	w->thread = thread;
	return follow_untraced(w, arrival);
}

/*
 * A kernel worker does what others asked of it: from the start of a work back to its queueing it was busy, or on its
 * way to the CPU; what led to the queueing is the queuer's. What it did before is none of this path's business. Works
 * that an interrupt queued have no thread to go on with: there the worker's own history tells, and what woke it.
 */
static const struct dtc_work *find_work(const struct walk *w, const DtcHistory *h)
{
	const struct dtc_work *work = dtc_history_find_work(h, w->thread, w->at_ns);
	bool is_other = work && work->queued.waker == DTC_WAKER_THREAD && work->queued.thread != w->thread;
	return is_other ? work : NULL;
}

static void go_to_queuer(struct walk *w)
{
	w->thread = w->work->queued.thread;
	w->work = NULL;
	w->has_arrival = false;
}

static void follow_block(struct walk *w, const struct dtc_interval *wait, const struct dtc_wake *wake, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	const struct dtc_block_request *request = dtc_history_get_block_request(h, wake->ref);
	int64_t begin_ns = low_ns;
	/* submitted while this thread waited already, by another: what that one did before is part of the answer */
	bool other = request->insert_ns > low_ns && request->insert_ns < w->at_ns && request->thread != DTC_NONE &&
		     request->thread != w->thread && dtc_history_get_thread(h, request->thread)->idle_cpu < 0;
	if (other)
		begin_ns = request->insert_ns;
	/* on the path the time until the completion is the disk's, even if the thread itself was idle meanwhile */
	bool fault = dtc_cause_of_interval(h, wait) == DTC_CAUSE_PAGE_FAULT;
	emit_interval(w, wait, begin_ns, fault ? DTC_CAUSE_PAGE_FAULT : DTC_CAUSE_DISK);
	if (other && push_frame(w, low_ns)) {
		w->thread = request->thread;
		w->at_ns = begin_ns;
	} else if (other) {
		emit_interval(w, wait, low_ns, DTC_CAUSE_UNKNOWN);
	}
}

/* A wait for a packet that no traced node sent, or that cannot be told. */
static char *explain_untraced(const DtcHistory *h, const struct dtc_interval *wait)
{
	g_autofree char *detail = dtc_explain_detail(h, wait);
	return g_strdup_printf("%s: for a packet whose sender is not traced", detail ? detail : "waits");
}

/*
 * A guest's wait that an interrupt ended. While the interrupt was pending and the vCPU did not run, the host made it
 * wait. Before that the device worked: a disk of the guest is a thread of the host, and the path goes on there, down
 * to when the guest made its request. False if the host does not tell.
 */
static bool follow_interrupt(struct walk *w, const struct dtc_interval *wait, const struct dtc_wake *wake,
			     int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	struct dtc_host_interrupt interrupt;
	if (!dtc_host_find_interrupt(w->links, w->node, wake->thread, wake->waking_ns, &interrupt))
		return false;
	int64_t low = dtc_clocks_to_cluster_ns(w->clocks, w->node, low_ns);
	enum dtc_cause cause = dtc_cause_of_interval(h, wait);
	g_autofree char *detail = dtc_explain_detail(h, wait);
	emit_delivery(w, &interrupt, wait->end_ns, low, cause, detail);
	set_guest_time(w, MAX(w->tc, low), low_ns);
	if (wake->waker != DTC_WAKER_BLOCK || interrupt.thread == DTC_NONE || w->tc <= low)
		return true; /* the rest of the wait is entered from within: its own cause */
	const struct dtc_block_request *request = dtc_history_get_block_request(h, wake->ref);
	int64_t made_ns = MAX(request->insert_ns, low_ns);
	if (made_ns >= w->at_ns)
		return true;
	/* made while this thread waited already, by another: before, that one's time is part of the answer */
	bool other = made_ns > low_ns && request->thread != DTC_NONE && request->thread != w->thread &&
		     dtc_history_get_thread(h, request->thread)->idle_cpu < 0;
	if (other && push_frame(w, low_ns))
		w->thread = request->thread;
	if (push_frame(w, made_ns)) {
		struct frame *frame = &g_array_index(w->frames, struct frame, w->frames->len - 1);
		frame->vcpu_node = interrupt.cpu.host;
		frame->vcpu_thread = interrupt.cpu.thread;
		w->device_frames++;
		set_host_doubt(w, w->node, &interrupt.cpu);
		w->node = interrupt.cpu.host;
		w->thread = interrupt.thread;
		w->at_ns = interrupt.pending_ns;
	}
	return true;
}

static void follow_wait(struct walk *w, const struct dtc_interval *wait, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(w->links, w->node);
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref);
	bool whole = wake && w->at_ns == wait->end_ns; /* entered at its end: what ended it is a cause */
	if (w->has_arrival && w->giver == DTC_NONE && w->arrival.time_ns > wait->begin_ns &&
	    waits_for_network(h, wait)) {
		struct dtc_arrival arrival = w->arrival;
		if (!follow_arrival(w, wait, &arrival)) {
			w->link = DTC_LINK_UNKNOWN;
			emit(w, w->node, w->thread, wait->end_ns,
			     dtc_clocks_to_cluster_ns(w->clocks, w->node, wait->begin_ns), DTC_CAUSE_UNKNOWN,
			     explain_untraced(h, wait));
			w->at_ns = wait->begin_ns;
		}
		return;
	}
	if (w->work && wake && wake->waker == DTC_WAKER_THREAD && wake->thread == w->work->queued.thread &&
	    wait->begin_ns <= w->work->queued.waking_ns) {
		go_to_queuer(w); /* idle until it was asked; the queuer woke it right after */
		return;
	}
	if (!whole) {
		emit_interval(w, wait, low_ns, dtc_cause_of_interval(h, wait));
		return;
	}
	if (wake->is_inferred)
		w->link = DTC_LINK_INFERRED;
	struct dtc_arrival arrival;
	int64_t before = w->tc;
	if (wake->waker != DTC_WAKER_THREAD && wake->waker != DTC_WAKER_NEW && wake->waker != DTC_WAKER_PACKET &&
	    follow_interrupt(w, wait, wake, low_ns) && w->tc < before)
		return;
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_THREAD:
	case DTC_WAKER_NEW:
		if (wake->thread != DTC_NONE && wake->thread != w->thread && push_frame(w, low_ns)) {
			w->thread = wake->thread;
			return;
		}
		break;
	case DTC_WAKER_BLOCK:
		follow_block(w, wait, wake, low_ns);
		return;
	case DTC_WAKER_PACKET:
		if (dtc_arrival_find_for_wait(w->links, w->node, wait, &arrival)) {
			if (follow_arrival(w, wait, &arrival))
				return;
		}
		w->link = DTC_LINK_UNKNOWN;
		emit(w, w->node, w->thread, wait->end_ns, dtc_clocks_to_cluster_ns(w->clocks, w->node, low_ns),
		     DTC_CAUSE_UNKNOWN, explain_untraced(h, wait));
		w->at_ns = low_ns;
		return;
	default:
		break;
	}
	emit_interval(w, wait, low_ns, dtc_cause_of_interval(h, wait));
}

/*
 * A thread of a guest that seems to run, or to wait for its CPU: if that CPU's vCPU was not in the guest, the time is
 * what the host did instead. One piece per step. False if the node is no guest, or the host does not tell.
 */
static bool follow_host(struct walk *w, const struct dtc_interval *interval, int64_t low_ns)
{
	struct dtc_guest_cpu cpu;
	struct dtc_host_piece piece;
	if (!dtc_guests_get_cpu(dtc_links_get_guests(w->links), w->node, interval->cpu, &cpu))
		return false;
	int64_t host_ns = dtc_clocks_to_node_ns(w->clocks, cpu.host, w->tc), begin;
	for (;;) { /* a piece that is empty in cluster time is passed over */
		if (!dtc_host_find_piece(w->links, &cpu, host_ns, &piece))
			return false;
		begin = dtc_clocks_to_cluster_ns(w->clocks, cpu.host, piece.begin_ns);
		if (begin < w->tc)
			break;
		host_ns = piece.begin_ns;
	}
	begin = MAX(begin, MAX(dtc_clocks_to_cluster_ns(w->clocks, w->node, low_ns), lower_bound(w)));
	if (begin >= w->tc)
		return false;
	guint node = w->node;
	uint32_t thread = w->thread;
	if (piece.doing == DTC_HOST_IN_GUEST || piece.doing == DTC_HOST_HALTED || piece.doing == DTC_HOST_UNKNOWN) {
		emit(w, node, thread, interval->end_ns, begin,
		     dtc_cause_of_interval(dtc_links_get_history(w->links, node), interval), explain_own(w, interval));
		set_guest_time(w, begin, low_ns);
		return true;
	}
	set_host_doubt(w, node, &cpu);
	set_guest_time(w, begin, low_ns);
	if (piece.doing == DTC_HOST_BLOCKED && push_frame(w, w->at_ns)) {
		w->node = cpu.host;
		w->thread = cpu.thread;
		w->at_ns = piece.interval->end_ns - host_ns <= 1 ? piece.interval->end_ns : host_ns;
		return true;
	}
	emit(w, node, thread, interval->end_ns, begin,
	     piece.doing == DTC_HOST_PREEMPTED ? DTC_CAUSE_VM_PREEMPTED : DTC_CAUSE_VM_EXIT,
	     dtc_explain_host(w->links, &piece));
	return true;
}

/* One step back. False when the walk cannot go on: the rest is unknown. */
static bool step(struct walk *w)
{
	const DtcHistory *h = w->thread == DTC_NONE ? NULL : dtc_links_get_history(w->links, w->node);
	if (!h)
		return false;
	if (return_to_guest(w))
		return true;
	if (w->giver != DTC_NONE && w->at_ns <= w->given_ns) {
		w->thread = w->giver;
		w->giver = DTC_NONE;
		w->link = DTC_LINK_INFERRED;
		return true;
	}
	if (w->has_arrival && w->at_ns <= w->arrival.time_ns) {
		w->has_arrival = false;
		w->giver = DTC_NONE;
		struct dtc_arrival arrival = w->arrival;
		go_to_reader(w, &arrival);
		guint node = w->node;
		uint32_t thread = w->thread;
		if (!jump(w, arrival)) {
			w->node = node;
			w->thread = thread;
			w->at_ns = arrival.time_ns;
			follow_untraced(w, &arrival); /* else on with this thread's own time */
		}
		return true;
	}
	if (!w->work)
		w->work = find_work(w, h);
	if (w->work && w->at_ns <= w->work->queued.waking_ns) {
		go_to_queuer(w);
		return true;
	}
	const struct dtc_interval *interval = dtc_history_find_interval_before(h, w->thread, w->at_ns);
	if (!interval) {
		/* not yet born: its parent made it (Fournier's parental chain) */
		const struct dtc_thread *thread = dtc_history_get_thread(h, w->thread);
		if (thread->parent == DTC_NONE || thread->begin_ns <= dtc_history_get_begin_ns(h))
			return false;
		w->at_ns = MIN(w->at_ns, thread->begin_ns);
		w->thread = thread->parent;
		return true;
	}
	int64_t low_ns = interval->begin_ns;
	if (w->has_arrival)
		low_ns = MAX(low_ns, w->arrival.time_ns);
	if (w->giver != DTC_NONE)
		low_ns = MAX(low_ns, w->given_ns);
	if (w->work)
		low_ns = MAX(low_ns, w->work->queued.waking_ns);
	if (dtc_state_is_wait(interval->state))
		follow_wait(w, interval, low_ns);
	else if (!follow_host(w, interval, low_ns))
		emit_interval(w, interval, low_ns, dtc_cause_of_interval(h, interval));
	return true;
}

DtcPath *dtc_path_walk(const DtcLinks *links, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, GError **error)
{
	const DtcHistory *h = dtc_links_get_history(links, target->node);
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	if (!h || target->thread >= dtc_history_get_thread_count(h) || target->end.ns <= target->begin.ns) {
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			"no span of a traced thread of '%s' to explain\nhint: the end must lie after the begin, within "
			"the trace",
			dtc_links_get_node_name(links, target->node));
		return NULL;
	}
	struct walk w = { .links = links,
			  .clocks = clocks,
			  .target = target,
			  .path = dtc_path_new(target->begin, target->end),
			  .frames = g_array_new(FALSE, FALSE, sizeof(struct frame)),
			  .scopes = g_array_new(FALSE, FALSE, sizeof(struct scope)),
			  .giver = DTC_NONE,
			  .node = target->node,
			  .thread = target->thread,
			  .at_ns = dtc_clocks_to_node(clocks, target->node, target->end).ns,
			  .tc = target->end.ns,
			  .link = DTC_LINK_EXACT };
	if (target->call != DTC_NONE) {
		const struct dtc_call *call = dtc_history_get_call(h, target->call);
		if (call->kind == DTC_CALL_WRITE)
			pursue(&w, call->file);
		else
			w.has_arrival = dtc_arrival_find_for_read(links, w.node, target->call, &w.arrival);
		w.has_arrival = w.has_arrival && w.arrival.time_ns <= w.at_ns;
	}
	/* each step shortens the path, climbs to a parent, or enters or leaves a frame; a step that does none counts
	 * here */
	guint idle = 0;
	while (w.tc > target->begin.ns) {
		if (w.frames->len &&
		    w.tc <= g_array_index(w.frames, struct frame, w.frames->len - 1).bound_cluster_ns) {
			pop_frame(&w);
			continue;
		}
		int64_t before = w.tc;
		bool on = step(&w);
		idle = w.tc < before ? 0 : idle + 1;
		if (on && idle < 4 * FRAME_LIMIT)
			continue;
		w.link = DTC_LINK_UNKNOWN;
		emit(&w, w.node, w.thread, w.at_ns, lower_bound(&w), DTC_CAUSE_UNKNOWN,
		     g_strdup("nothing is known before"));
		idle = 0;
	}
	if (!options || !options->path_only)
		dtc_causality_add(links, target, options, w.path);
	dtc_path_finish(w.path);
	g_array_unref(w.frames);
	g_free(w.explanation);
	g_array_unref(w.scopes);
	return w.path;
}
