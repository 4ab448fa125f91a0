/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/traverse.h"

#include "analyze/edge/cause.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/path/lineage.h"
#include "analyze/path/path_build.h"
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

/*
 * Steps that neither explain time nor enter a wait: to a giver, a queuer, a parent, a sender. So many at one time, and
 * clocks or packets contradict each other in a circle.
 */
#define IDLE_STEPS_MAX 4096

int64_t dtc_traverse_get_bound(const struct dtc_traverse *t)
{
	int64_t bound = t->of->begin.ns;
	if (t->frames->len) {
		const struct dtc_frame *top = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
		bound = MAX(bound, top->bound_cluster_ns);
	}
	return bound;
}

/* Whose wait is explained; 0: nobody's. */
static guint get_waiter(const struct dtc_traverse *t)
{
	return t->frames->len ? g_array_index(t->frames, struct dtc_frame, t->frames->len - 1).waiter : 0;
}

/* What is told of a segment beside its times. Names are those that its thread had at name_ns. */
static void describe(const struct dtc_traverse *t, struct dtc_segment *segment, int64_t name_ns)
{
	segment->link = t->tc > t->doubt_cluster_ns ? MAX(t->link, DTC_LINK_INFERRED) : t->link;
	segment->uncertainty_ns = t->uncertainty_ns;
	segment->by_kernel = t->by_kernel;
	segment->waiter = get_waiter(t);
	segment->owner = t->stand.owner;
	if (t->message) {
		segment->evidence.packet = t->message->packet;
		segment->evidence.sent_node = t->message_sender->node;
		segment->evidence.sent_packet = t->message_sender->packet;
		segment->evidence.sent_call = t->message_sender->call;
		segment->evidence.copies = t->message_sender->copies;
	}
	if (segment->thread == DTC_NONE) {
		segment->tid = segment->pid = -1;
		segment->comm = "";
		segment->process = "kernel";
		segment->is_kernel = true;
		return;
	}
	const DtcHistory *h = dtc_links_get_history(t->links, segment->node);
	const struct dtc_thread *of = dtc_history_get_thread(h, segment->thread);
	segment->tid = of->tid;
	segment->pid = of->pid;
	segment->comm = dtc_history_get_comm(h, segment->thread, name_ns);
	segment->process = dtc_history_get_process(h, segment->thread, name_ns);
	segment->is_kernel = of->is_kernel;
}

/* why NULL: what the interval tells. */
static void explain(struct dtc_traverse *t, guint node, uint32_t thread, int64_t name_ns, int64_t begin_cluster_ns,
		    enum dtc_cause cause, const struct dtc_evidence *why, const struct dtc_interval *interval)
{
	int64_t begin = MAX(begin_cluster_ns, dtc_traverse_get_bound(t));
	if (begin >= t->tc)
		return;
	if (t->visitor->check) {
		t->visitor->check(t->data, (DtcClusterTime){ begin }, (DtcClusterTime){ t->tc });
	} else {
		struct dtc_segment segment = { .begin = { begin },
					       .end = { t->tc },
					       .node = node,
					       .thread = thread,
					       .cause = cause,
					       .evidence = why ? *why : dtc_evidence_of_interval(node, interval) };
		if (t->tc - begin >= t->visitor->named_ns)
			describe(t, &segment, name_ns);
		t->visitor->explain(t->data, &segment, interval);
	}
	t->tc = begin;
	t->link = DTC_LINK_EXACT;
	t->uncertainty_ns = 0;
}

void dtc_traverse_explain(struct dtc_traverse *t, guint node, uint32_t thread, int64_t name_ns,
			  int64_t begin_cluster_ns, enum dtc_cause cause, struct dtc_evidence why,
			  const struct dtc_interval *interval)
{
	explain(t, node, thread, name_ns, begin_cluster_ns, cause, &why, interval);
}

void dtc_traverse_explain_interval(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t begin_ns,
				   enum dtc_cause cause)
{
	explain(t, t->stand.node, t->stand.thread, interval->end_ns,
		dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, begin_ns), cause, NULL, interval);
	t->stand.at_ns = begin_ns;
}

void dtc_traverse_tell(struct dtc_traverse *t, struct dtc_visit *of, int64_t begin_ns)
{
	if (!t->visitor->wait)
		return;
	int64_t begin = dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, begin_ns);
	of->node = t->stand.node;
	of->thread = t->stand.thread;
	of->begin.ns = MAX(begin, dtc_traverse_get_bound(t));
	of->end.ns = t->tc;
	if (of->begin.ns < of->end.ns)
		t->visitor->wait(t->data, of);
}

/* False if the thread was entered at this time already: threads that woke each other at one instant. */
static bool note_entry(struct dtc_traverse *t, guint node, uint32_t thread)
{
	if (t->entered_ns != t->tc)
		g_hash_table_remove_all(t->entered);
	t->entered_ns = t->tc;
	return g_hash_table_add(t->entered, GSIZE_TO_POINTER(((gsize)node << 32) + thread + 1));
}

bool dtc_traverse_enter(struct dtc_traverse *t, guint node, uint32_t thread, int64_t bound_ns)
{
	if (!note_entry(t, node, thread))
		return false;
	struct dtc_frame frame = { .stand = t->stand,
				   .bound_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, bound_ns),
				   .vcpu_thread = DTC_NONE };
	frame.stand.at_ns = bound_ns;
	/* never before the start of an outer wait, whenever the inner one began */
	DtcClusterTime floor = { dtc_traverse_get_bound(t) };
	if (frame.bound_cluster_ns < floor.ns) {
		frame.bound_cluster_ns = floor.ns;
		frame.stand.at_ns = MAX(bound_ns, dtc_clocks_to_node(t->clocks, t->stand.node, floor).ns);
	}
	struct dtc_waiter waiter = { t->stand.node, t->stand.thread, get_waiter(t) };
	frame.waiter = t->visitor->enter ? t->visitor->enter(t->data, &waiter) : 0;
	g_array_append_val(t->frames, frame);
	t->stand.purpose = DTC_PURPOSE_OWN;
	t->stand.owner = 0;
	t->stand.work = NULL;
	return true;
}

bool dtc_traverse_go_aside(struct dtc_traverse *t, int64_t bound_ns)
{
	struct dtc_frame frame = { .stand = t->stand,
				   .bound_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, bound_ns),
				   .vcpu_thread = DTC_NONE,
				   .waiter = get_waiter(t) };
	if (frame.bound_cluster_ns <= dtc_traverse_get_bound(t) || frame.bound_cluster_ns >= t->tc ||
	    !note_entry(t, t->stand.node, t->stand.thread))
		return false;
	frame.stand.at_ns = bound_ns;
	g_array_append_val(t->frames, frame);
	return true;
}

void dtc_traverse_drop_frames(struct dtc_traverse *t, guint depth)
{
	for (guint i = depth; i < t->frames->len; i++)
		t->device_frames -= g_array_index(t->frames, struct dtc_frame, i).vcpu_thread != DTC_NONE;
	t->stand = g_array_index(t->frames, struct dtc_frame, depth).stand;
	g_array_set_size(t->frames, depth);
}

void dtc_traverse_leave(struct dtc_traverse *t, guint depth)
{
	const struct dtc_frame last = g_array_index(t->frames, struct dtc_frame, depth);
	dtc_traverse_drop_frames(t, depth);
	if (last.has_way)
		dtc_traverse_continue_way(t, &last.way);
}

/* Whether a poll returned for a connection, or for the socket that accepted it. */
static bool polls_for(const DtcHistory *h, uint32_t poll, uint32_t file)
{
	if (file == DTC_NONE || dtc_history_may_be_ready(h, poll, file))
		return true;
	uint32_t accept = dtc_history_get_file(h, file)->accept;
	uint32_t listener = accept == DTC_NONE ? DTC_NONE : dtc_history_copy_call(h, accept).file;
	return listener != DTC_NONE && dtc_history_may_be_ready(h, poll, listener);
}

/* One softirq took both packets: it may log them all before it works on the first (netif_receive_skb_list). */
static bool is_same_softirq(const DtcHistory *h, uint32_t a, uint32_t b)
{
	const struct dtc_packet_context x = dtc_history_get_plain_context(h, a);
	const struct dtc_packet_context y = dtc_history_get_plain_context(h, b);
	return x.queue_ns == y.queue_ns; /* both absent: not known */
}

/*
 * A poll that the arrival did not end, and a later packet for another socket of the process did, was not for what
 * arrived: that would have ended it. Which descriptors it waited for, few tracers tell.
 */
static bool is_for_another(const DtcHistory *h, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	struct dtc_wake place;
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &place);
	if (!wake || wake->waker != DTC_WAKER_PACKET || wake->is_inferred || wake->ref == DTC_NONE ||
	    arrival->packet == DTC_NONE || wake->waking_ns <= arrival->time_ns)
		return false;
	const DtcPackets *packets = dtc_history_get_packets(h);
	uint32_t flow = dtc_packets_get_flow_of(packets, wake->ref);
	if (flow == DTC_NONE || flow == arrival->flow || is_same_softirq(h, wake->ref, arrival->packet))
		return false;
	uint32_t file = dtc_history_find_file_of_flow(h, dtc_packets_get_flow(packets, flow)->reverse);
	return file != DTC_NONE && arrival->file != DTC_NONE &&
	       (file != arrival->file || !dtc_datagrams_is_socket(h, file)) &&
	       dtc_history_get_file(h, file)->pid == dtc_history_get_file(h, arrival->file)->pid;
}

/*
 * Nor was one that a thread ended later, with a call on what is no connection to another machine: what arrived would
 * have ended it. postfix' master does not look at a socket while a process that accepts there is idle, and a connection
 * lay there for 12 ms, until that one told that it is busy.
 */
static bool is_ended_locally(const DtcHistory *h, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	struct dtc_wake place;
	struct dtc_call call_place;
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &place);
	if (!wake || wake->waker != DTC_WAKER_THREAD || wake->is_inferred || arrival->packet == DTC_NONE ||
	    wake->waking_ns <= arrival->time_ns)
		return false;
	uint32_t call = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	uint32_t file = call == DTC_NONE ? DTC_NONE : dtc_history_get_call(h, call, &call_place)->file;
	return file != DTC_NONE && dtc_history_get_file(h, file)->flow_out == DTC_NONE;
}

/* Another thread read what arrived while this one still waited, so that this one waited for something else. */
static bool was_taken(const struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	uint32_t read = arrival->is_local	      ? dtc_arrival_find_local_read(t->links, arrival)
			: arrival->packet == DTC_NONE ? DTC_NONE
						      : dtc_links_find_read(t->links, arrival->node, arrival->packet);
	struct dtc_call place;
	const struct dtc_call *call =
		read == DTC_NONE ? NULL
				 : dtc_history_get_call(dtc_links_get_history(t->links, arrival->node), read, &place);
	return call && call->thread != wait->thread && call->end_ns != DTC_TIME_NONE && call->end_ns < wait->end_ns;
}

/* What a thread of this node writes wakes who waits for that, or nobody: a wait that goes on behind it is for another.
 */
static bool goes_on(const struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	if (!arrival->is_local)
		return false;
	struct dtc_call place;
	const struct dtc_call *write =
		dtc_history_get_call(dtc_links_get_history(t->links, arrival->node), arrival->write, &place);
	return write->end_ns != DTC_TIME_NONE && wait->end_ns > write->end_ns;
}

/* Whether what arrived may be what a wait was for. */
static bool waits_for(const struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	uint32_t arrived_for = arrival->file;
	if (wait->call == DTC_NONE || was_taken(t, wait, arrival) || goes_on(t, wait, arrival))
		return false;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, wait->call, &call_place);
	const struct dtc_file *file = call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_READ:
	case DTC_CALL_PEEK:
		return !file || arrived_for == call->file ||
		       (arrived_for == DTC_NONE && (file->kind == DTC_FILE_SOCKET || file->kind == DTC_FILE_UNKNOWN));
	case DTC_CALL_POLL:
		return polls_for(h, wait->call, arrived_for) && !is_for_another(h, wait, arrival) &&
		       !is_ended_locally(h, wait, arrival);
	case DTC_CALL_ACCEPT:
	case DTC_CALL_CONNECT:
	case DTC_CALL_RING:
		return true;
	default:
		return false;
	}
}

/* The time between the arrival and the wakeup is the softirq's; then on to the sender. */
static bool leave_by_arrival(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_arrival *arrival,
			     const struct dtc_sender *sender)
{
	const struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, wait);
	bool is_here = arrival->node == t->stand.node;
	enum dtc_cause cause = arrival->is_local ? DTC_CAUSE_IPC : DTC_CAUSE_NETWORK_RECEIVE;
	dtc_traverse_explain_on_cpu(t, t->stand.node, is_here ? arrival->packet : DTC_NONE, t->stand.thread,
				    wait->end_ns, dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, arrival->time_ns),
				    cause, &why);
	t->stand.at_ns = arrival->time_ns;
	t->stand.purpose = DTC_PURPOSE_OWN;
	return dtc_traverse_follow_arrival(t, arrival, sender);
}

void dtc_traverse_explain_rest(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns,
			       enum dtc_link_quality link, enum dtc_cause cause, enum dtc_reason reason)
{
	struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, wait);
	why.reason = reason;
	t->link = link;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, wait->end_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, low_ns), cause, why, NULL);
	t->stand.at_ns = low_ns;
}

/* A wait for a packet that no traced node sent, or that cannot be told. */
static void explain_untraced(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns)
{
	dtc_traverse_explain_rest(t, wait, low_ns, DTC_LINK_UNKNOWN, DTC_CAUSE_UNKNOWN, DTC_REASON_UNTRACED_SENDER);
}

static void follow_disk(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
			int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	/* made while this thread waited already, by another: what that one did before is part of the answer */
	bool is_other = edge->from_thread != DTC_NONE && edge->from_ns > low_ns && edge->from_ns < t->stand.at_ns;
	int64_t begin_ns = is_other ? edge->from_ns : low_ns;
	/* the time until the completion is the disk's, even if the thread itself was idle meanwhile */
	bool is_fault = dtc_cause_of_interval(h, wait) == DTC_CAUSE_PAGE_FAULT;
	enum dtc_cause cause = is_fault ? DTC_CAUSE_PAGE_FAULT : DTC_CAUSE_DISK;
	dtc_traverse_explain_interval(t, wait, begin_ns, cause);
	if (is_other && dtc_traverse_was_held_back(h, edge, low_ns)) {
		dtc_traverse_explain_rest(t, wait, low_ns, DTC_LINK_INFERRED, cause, DTC_REASON_HELD_BACK);
		return;
	}
	if (is_other && dtc_traverse_enter(t, edge->from_node, edge->from_thread, low_ns)) {
		t->stand.thread = edge->from_thread;
		t->stand.at_ns = begin_ns;
	} else if (is_other) {
		dtc_traverse_explain_interval(t, wait, low_ns, DTC_CAUSE_UNKNOWN);
	}
}

/*
 * When a thread asked for what arrived: the begin of the last write or connect on that connection before the arrival.
 * DTC_TIME_NONE if it did not, as for a request that came by itself.
 */
static int64_t find_asked_ns(const struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (arrival->file == DTC_NONE)
		return DTC_TIME_NONE;
	uint32_t asking = dtc_traverse_find_asking(t, arrival);
	return asking == DTC_NONE ? DTC_TIME_NONE : dtc_history_get_call_begin_ns(h, asking);
}

static void tell_wait(struct dtc_traverse *t, enum dtc_visit_kind kind, const struct dtc_interval *wait,
		      const struct dtc_edge *edge, int64_t begin_ns)
{
	if (!t->visitor->wait)
		return;
	struct dtc_visit visit = { .kind = kind, .wait = wait, .edge = edge, .by = DTC_NONE };
	if (edge->has_arrival) {
		int64_t asked_ns = find_asked_ns(t, &edge->arrival);
		visit.came_by_itself = asked_ns == DTC_TIME_NONE;
		if (kind == DTC_VISIT_ASKED && asked_ns != DTC_TIME_NONE)
			begin_ns = MIN(begin_ns, asked_ns);
	}
	/* a packet that the waker had received itself: seen from this thread alone, that one called it */
	bool is_brought = edge->kind == DTC_EDGE_PACKET && edge->wake != DTC_NONE &&
			  dtc_history_copy_wake(dtc_links_get_history(t->links, t->stand.node), edge->wake).waker ==
				  DTC_WAKER_THREAD;
	bool is_message = kind == DTC_VISIT_ASKED || is_brought;
	visit.cause = edge->has_arrival && edge->arrival.is_local ? DTC_CAUSE_IPC
		      : is_message				  ? DTC_CAUSE_NETWORK_RECEIVE
				   : dtc_cause_of_interval(dtc_links_get_history(t->links, t->stand.node), wait);
	dtc_traverse_tell(t, &visit, begin_ns);
}

static void tell_by(struct dtc_traverse *t, enum dtc_visit_kind kind, uint32_t by, int64_t by_ns, int64_t begin_ns)
{
	struct dtc_visit visit = { .kind = kind, .cause = DTC_CAUSE_IPC, .by = by, .by_ns = by_ns };
	dtc_traverse_tell(t, &visit, begin_ns);
}

/* The wait that was for what arrived, however often it was woken. */
static void follow_awaited(struct dtc_traverse *t, const struct dtc_interval *wait)
{
	const struct dtc_arrival arrival = t->stand.arrival;
	struct dtc_edge edge;
	dtc_edges_find_awaited(t->edges, t->stand.node, wait, &arrival, &edge);
	tell_wait(t, DTC_VISIT_ASKED, wait, &edge, wait->begin_ns);
	if (!leave_by_arrival(t, wait, &arrival, edge.has_sender ? &edge.sender : NULL))
		explain_untraced(t, wait, wait->begin_ns);
}

/* Down to where the stand's thread is looked at, of what began at a time. */
static int64_t get_low_ns(const struct dtc_stand *stand, int64_t begin_ns)
{
	int64_t low_ns = begin_ns;
	if (stand->purpose != DTC_PURPOSE_OWN)
		low_ns = MAX(low_ns, stand->arrival.time_ns);
	if (stand->purpose == DTC_PURPOSE_GIVEN)
		low_ns = MAX(low_ns, stand->given_ns);
	if (stand->work)
		low_ns = MAX(low_ns, stand->work->queued.waking_ns);
	return low_ns;
}

/*
 * What comes before is for another request, or while this one lay still: from there the stand comes back, but if this
 * one had called for it before that.
 */
static void step_aside(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
		       int64_t low_ns)
{
	if (t->stand.purpose != DTC_PURPOSE_ARRIVAL ||
	    (t->stand.pause.poll == DTC_NONE && !dtc_traverse_is_ring_wait(t, wait) &&
	     !(edge->has_arrival && dtc_traverse_is_others(t, &edge->arrival))))
		return;
	/* that the bytes which began the turn are why is told by order alone: a timer may have been due in it */
	if (dtc_traverse_go_aside(t, low_ns) && t->stand.pause.poll != DTC_NONE)
		t->doubt_cluster_ns =
			MIN(t->doubt_cluster_ns, dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, low_ns));
}

/* A connection came, and nothing on it: who woke up for that may have a question in its hands already. */
static bool is_opening(const struct dtc_traverse *t, const struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(t->links, edge->arrival.node);
	return dtc_history_copy_call(h, edge->arrival.write).kind == DTC_CALL_CONNECT;
}

/*
 * A thread wrote what the wait was for to a socket of this node, or connected to it: a message as any other, if it is
 * seen what that one acted on. Else the wait is explained by what it did since it began.
 */
static bool leave_by_local(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
			   int64_t low_ns)
{
	const struct dtc_sender *sender = &edge->sender;
	struct dtc_arrival acted_on;
	if (!edge->has_arrival || !edge->has_sender || (t->stand.purpose != DTC_PURPOSE_OWN && is_opening(t, edge)) ||
	    !dtc_arrival_find_for_send(t->links, sender->node, sender->thread, sender->written_ns, sender->file,
				       sender->call, &acted_on))
		return false;
	step_aside(t, wait, edge, low_ns);
	return leave_by_arrival(t, wait, &edge->arrival, sender);
}

/*
 * Whose wait is explained is a loop in which a request lay still before that: what woke it in between was others'.
 * Its frame, or NULL.
 */
static struct dtc_frame *find_still_frame(const struct dtc_traverse *t)
{
	struct dtc_frame *top = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
	const struct dtc_stand *stand = &top->stand;
	return top->vcpu_thread == DTC_NONE && !top->has_way && stand->purpose == DTC_PURPOSE_ARRIVAL &&
			       stand->pause.poll != DTC_NONE && stand->pause.begin_ns < stand->at_ns
		       ? top
		       : NULL;
}

/* The wait that is explained reaches back to when the request began to lie still, or to the bound around it. */
static void widen(struct dtc_traverse *t, struct dtc_frame *frame)
{
	struct dtc_stand *stand = &frame->stand;
	int64_t bound = dtc_clocks_to_cluster_ns(t->clocks, stand->node, stand->pause.begin_ns),
		floor = t->of->begin.ns;
	if (t->frames->len > 1)
		floor = MAX(floor, frame[-1].bound_cluster_ns);
	frame->bound_cluster_ns = MAX(bound, floor);
	stand->at_ns =
		MAX(stand->pause.begin_ns, dtc_clocks_to_node(t->clocks, stand->node, (DtcClusterTime){ floor }).ns);
}

/* The stand's thread gave what another one answers, that had read the question: it had been asked to, by then or later.
 */
static bool is_giver(const struct dtc_traverse *t)
{
	const struct dtc_stand *stand = &t->stand;
	const struct dtc_scope *scope = NULL;
	if (stand->purpose == DTC_PURPOSE_ARRIVAL && stand->pause.poll == DTC_NONE)
		scope = dtc_traverse_find_scope(
			t, dtc_history_get_thread(dtc_links_get_history(t->links, stand->node), stand->thread)->pid);
	return scope && scope->asked.thread != stand->thread && scope->asked.arrival.file == stand->arrival.file &&
	       scope->asked.arrival.time_ns == stand->arrival.time_ns;
}

/*
 * A wait of a loop that is explained for another thread, and a timer ended it, or was due in the turn that a new
 * connection began: what the loop did for others since it had set the timer is no part of it.
 */
static bool follow_set_timer(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns, bool has_expired)
{
	bool is_entered = t->frames->len && t->stand.purpose == DTC_PURPOSE_OWN;
	if ((!is_entered && !(has_expired && is_giver(t))) || low_ns != wait->begin_ns)
		return false;
	struct dtc_frame *still = is_entered ? find_still_frame(t) : NULL;
	int64_t bound_ns = dtc_clocks_to_node_ns(t->clocks, t->stand.node, dtc_traverse_get_bound(t));
	int64_t since_ns = is_entered ? bound_ns : MAX(bound_ns, t->stand.arrival.time_ns);
	if (still) {
		int64_t since = dtc_clocks_to_cluster_ns(t->clocks, still->stand.node, still->stand.pause.begin_ns);
		since_ns = dtc_clocks_to_node_ns(t->clocks, t->stand.node, MAX(since, t->of->begin.ns));
	}
	int64_t set_ns = dtc_traverse_find_set_ns(t, wait, since_ns, has_expired);
	if (set_ns == DTC_TIME_NONE)
		return false;
	if (still && set_ns < bound_ns)
		widen(t, still);
	if (!is_entered)
		set_ns = MAX(set_ns, t->stand.arrival.time_ns);
	if (set_ns < wait->begin_ns || !has_expired)
		t->link = DTC_LINK_INFERRED;
	dtc_traverse_explain_interval(t, wait, MIN(set_ns, wait->begin_ns), DTC_CAUSE_TIMER);
	return true;
}

/* A wait that the traversal came to at its end: what ended it is a cause. */
static void follow_edge(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
			int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	int64_t before = t->tc;
	bool is_inferred = edge->wake != DTC_NONE && dtc_history_copy_wake(h, edge->wake).is_inferred;
	if (is_inferred || (edge->link == DTC_LINK_INFERRED && edge->kind != DTC_EDGE_PACKET))
		t->link = DTC_LINK_INFERRED;
	tell_wait(t, DTC_VISIT_WAIT, wait, edge, low_ns);
	if (edge->has_interrupt && dtc_traverse_follow_interrupt(t, wait, edge, low_ns) && t->tc < before)
		return;
	switch (edge->kind) {
	case DTC_EDGE_THREAD:
	case DTC_EDGE_FORK:
		/* a stop lasts for what stopped it: what the one did before that let it go on says nothing of that */
		if (wait->state == DTC_STATE_STOPPED)
			break;
		if (leave_by_local(t, wait, edge, low_ns))
			return;
		if (edge->from_thread != DTC_NONE && edge->from_thread != t->stand.thread &&
		    dtc_traverse_enter(t, edge->from_node, edge->from_thread,
				       dtc_traverse_find_still_ns(t, wait, low_ns))) {
			t->stand.node = edge->from_node;
			t->stand.thread = edge->from_thread;
			t->stand.at_ns = edge->from_ns;
			return;
		}
		break;
	case DTC_EDGE_DISK:
		follow_disk(t, wait, edge, low_ns);
		return;
	case DTC_EDGE_PACKET:
		if (follow_set_timer(t, wait, low_ns, false))
			return;
		step_aside(t, wait, edge, low_ns);
		if (!edge->has_arrival ||
		    !leave_by_arrival(t, wait, &edge->arrival, edge->has_sender ? &edge->sender : NULL))
			explain_untraced(t, wait, low_ns);
		return;
	case DTC_EDGE_TIMER:
		if (follow_set_timer(t, wait, low_ns, true))
			return;
		if (dtc_cause_of_interval(h, wait) != DTC_CAUSE_TIMER) /* its kernel's, and no event says what for */
			t->link = DTC_LINK_INFERRED;
		break;
	case DTC_EDGE_UNKNOWN:
		if (dtc_traverse_follow_thaw(t, wait, low_ns))
			return;
		break;
	case DTC_EDGE_WORK:
	case DTC_EDGE_INTERRUPT:
	case DTC_EDGE_KINDS:
		break;
	}
	dtc_traverse_explain_interval(t, wait, low_ns, dtc_cause_of_interval(h, wait));
}

/* Whatever woke the loop, a timer was due, and that took up what lay still. */
static void explain_due(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
			int64_t low_ns)
{
	struct dtc_visit visit = {
		.kind = DTC_VISIT_WAIT, .cause = DTC_CAUSE_TIMER, .wait = wait, .edge = edge, .by = DTC_NONE
	};
	dtc_traverse_tell(t, &visit, low_ns);
	t->link = DTC_LINK_INFERRED;
	dtc_traverse_explain_interval(t, wait, low_ns, DTC_CAUSE_TIMER);
}

/* The end of what is asked about cuts a wait, of the thread that is asked about or of one that this waits for then. */
static bool is_cut(const struct dtc_traverse *t, const struct dtc_interval *wait)
{
	return t->tc == t->of->end.ns && wait->ref != DTC_NONE && t->stand.at_ns < wait->end_ns;
}

/* The message that will end it is on its way, or not yet sent: then its sender's time is why it lasts. */
static bool follow_cut_message(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
			       int64_t low_ns)
{
	if (!edge->has_arrival || !edge->has_sender || edge->sender.thread == DTC_NONE ||
	    !note_entry(t, edge->sender.node, edge->sender.thread))
		return false;
	tell_wait(t, DTC_VISIT_WAIT, wait, edge, low_ns);
	return leave_by_arrival(t, wait, &edge->arrival, &edge->sender);
}

/* Who will wake it is known from the rest of the trace: what that one did up to here is why it lasts. */
static bool follow_cut(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns)
{
	struct dtc_edge edge;
	dtc_edges_find(t->edges, t->stand.node, wait, &edge);
	if (edge.kind == DTC_EDGE_PACKET)
		return follow_cut_message(t, wait, &edge, low_ns);
	if (edge.kind != DTC_EDGE_THREAD || edge.from_thread == DTC_NONE || edge.from_thread == t->stand.thread)
		return false;
	tell_wait(t, DTC_VISIT_WAIT, wait, &edge, low_ns);
	if (!dtc_traverse_enter(t, edge.from_node, edge.from_thread, low_ns))
		return false;
	t->stand.thread = edge.from_thread;
	return true;
}

static void follow_wait(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (t->stand.purpose == DTC_PURPOSE_ARRIVAL && t->stand.arrival.time_ns > wait->begin_ns &&
	    waits_for(t, wait, &t->stand.arrival)) {
		follow_awaited(t, wait);
		return;
	}
	const struct dtc_work *work = t->stand.work;
	if (work && work->queued.waker == DTC_WAKER_BLOCK && wait->begin_ns <= work->queued.waking_ns) {
		dtc_traverse_go_to_request(t, wait);
		return;
	}
	bool is_at_end = wait->ref != DTC_NONE && t->stand.at_ns == wait->end_ns;
	if (is_cut(t, wait) && follow_cut(t, wait, low_ns))
		return;
	if (!is_at_end && !work) { /* what ended it comes later: no cause */
		dtc_traverse_explain_interval(t, wait, low_ns, dtc_cause_of_interval(h, wait));
		return;
	}
	struct dtc_edge edge;
	dtc_edges_find(t->edges, t->stand.node, wait, &edge);
	bool ends_pause = is_at_end && dtc_traverse_ends_pause(t, wait);
	if (ends_pause) {
		low_ns = t->stand.pause.begin_ns; /* what the loop did for others in between is no part of it */
		if (t->stand.pause.is_due && !dtc_traverse_is_called_back(t, wait, &edge)) {
			explain_due(t, wait, &edge, low_ns);
			return;
		}
	}
	if (work && work->queued.waker == DTC_WAKER_THREAD && edge.kind == DTC_EDGE_THREAD &&
	    edge.from_thread == work->queued.thread && wait->begin_ns <= work->queued.waking_ns) {
		dtc_traverse_go_to_queuer(t); /* idle until it was asked; the queuer woke it right after */
		return;
	}
	if (is_at_end && (dtc_traverse_follow_handover(t, &edge) || dtc_traverse_follow_called(t, wait, &edge) ||
			  dtc_traverse_follow_inside(t, wait, &edge) ||
			  (ends_pause && dtc_traverse_follow_set_later(t, wait, &edge))))
		return;
	if (is_at_end) /* of a wait that was cut, who ended its last part explains all of it */
		follow_edge(t, wait, &edge, get_low_ns(&t->stand, MIN(low_ns, wait->begin_ns - edge.in_vain_ns)));
	else
		dtc_traverse_explain_interval(t, wait, low_ns, dtc_cause_of_interval(h, wait));
}

/* The thread did something else when the message came that it had asked for, or that came by itself. */
static void follow_asked(struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const struct dtc_interval at = {
		.begin_ns = arrival->time_ns, .end_ns = arrival->time_ns, .thread = t->stand.thread, .ref = DTC_NONE
	};
	struct dtc_edge edge;
	dtc_edges_find_awaited(t->edges, t->stand.node, &at, arrival, &edge);
	tell_wait(t, DTC_VISIT_ASKED, NULL, &edge, arrival->time_ns);
	if (dtc_traverse_follow_arrival(t, arrival, edge.has_sender ? &edge.sender : NULL))
		return;
	/* on with this thread's own time, but for another client's question: nothing that was before that is a reason
	 */
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (!t->frames->len || arrival->file == DTC_NONE || !dtc_endpoint_is_stream_server(h, arrival->file))
		return;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_UNTRACED_SENDER);
	why.node = t->stand.node;
	why.file = arrival->file;
	t->link = DTC_LINK_UNKNOWN;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, t->stand.at_ns, dtc_traverse_get_bound(t),
			     DTC_CAUSE_UNKNOWN, why, NULL);
}

/* What is remembered of the stand's thread. */
static struct dtc_last_look *look(struct dtc_traverse *t)
{
	const struct dtc_stand *stand = &t->stand;
	struct dtc_last_look *last = &t->looks[(stand->thread + stand->node) % DTC_LAST_LOOKS];
	if (last->thread != stand->thread || last->node != stand->node) {
		const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
		last->node = stand->node;
		last->thread = stand->thread;
		last->is_worker = dtc_history_is_worker(h, stand->thread);
		last->interval.thread = DTC_NONE;
	}
	return last;
}

/* What the stand's thread is looked at for has its begin here: on to where that came from. False if it has not. */
static bool change_purpose(struct dtc_traverse *t)
{
	struct dtc_stand *stand = &t->stand;
	if (stand->purpose == DTC_PURPOSE_GIVEN && stand->at_ns <= stand->given_ns) {
		tell_by(t, DTC_VISIT_GIVEN, stand->giver, stand->given_ns, stand->arrival.time_ns);
		stand->thread = stand->giver;
		stand->purpose = DTC_PURPOSE_ARRIVAL;
		t->link = DTC_LINK_INFERRED;
		if (stand->pause.poll != DTC_NONE)
			dtc_traverse_wait_for_set(t);
		stand->pause = DTC_PAUSE_NONE;
		return true;
	}
	if (stand->purpose != DTC_PURPOSE_OWN && stand->at_ns <= stand->arrival.time_ns) {
		const struct dtc_arrival arrival = stand->arrival;
		stand->purpose = DTC_PURPOSE_OWN;
		dtc_traverse_go_to_reader(t, &arrival);
		stand->at_ns = arrival.time_ns;
		follow_asked(t, &arrival);
		return true;
	}
	if (!stand->work && look(t)->is_worker)
		stand->work = dtc_traverse_find_work(t);
	if (stand->work && stand->at_ns <= stand->work->queued.waking_ns) {
		dtc_traverse_leave_work(t);
		return true;
	}
	return false;
}

/* One step back. False if nothing is known of the time before. */
static bool step(struct dtc_traverse *t)
{
	const DtcHistory *h = t->stand.thread == DTC_NONE ? NULL : dtc_links_get_history(t->links, t->stand.node);
	if (!h)
		return false;
	if (dtc_traverse_return_to_guest(t) || change_purpose(t))
		return true;
	const struct dtc_stand *stand = &t->stand;
	/* borrowed until the next step */
	const struct dtc_interval *interval =
		dtc_history_find_interval_near(h, stand->thread, stand->at_ns, &look(t)->interval);
	if (!interval)
		return dtc_traverse_go_to_parent(t, h);
	int64_t low_ns = get_low_ns(stand, interval->begin_ns);
	if (dtc_state_is_wait(interval->state))
		follow_wait(t, interval, low_ns);
	else if (!dtc_traverse_follow_host(t, interval, low_ns))
		dtc_traverse_explain_own(t, interval, low_ns);
	return true;
}

/* The span ends with a call: what it took to come to it is the purpose from the begin. */
static void pursue_call(struct dtc_traverse *t)
{
	struct dtc_stand *stand = &t->stand;
	struct dtc_call call_place;
	const struct dtc_call *call =
		dtc_history_get_call(dtc_links_get_history(t->links, stand->node), t->of->call, &call_place);
	if (call->kind == DTC_CALL_WRITE)
		dtc_traverse_pursue(t, call->file, t->of->call);
	else if (dtc_arrival_find_for_read(t->links, stand->node, t->of->call, &stand->arrival))
		stand->purpose = DTC_PURPOSE_ARRIVAL;
	if (stand->purpose != DTC_PURPOSE_OWN && stand->arrival.time_ns > stand->at_ns)
		stand->purpose = DTC_PURPOSE_OWN;
}

void dtc_traverse_walk(struct dtc_traverse *t)
{
	guint idle = 0;
	while (t->tc > t->of->begin.ns) {
		if (t->ahead && dtc_traverse_ends_ahead(t))
			return;
		if (t->tc <= t->pass_ns && idle == 0 && !dtc_traverse_pass(t))
			return;
		if (t->frames->len &&
		    t->tc <= g_array_index(t->frames, struct dtc_frame, t->frames->len - 1).bound_cluster_ns) {
			if (!dtc_traverse_follow_branch(t))
				dtc_traverse_leave(t, t->frames->len - 1);
			continue;
		}
		int64_t before = t->tc;
		guint depth = t->frames->len;
		bool is_known = step(t);
		idle = t->tc < before || t->frames->len != depth ? 0 : idle + 1;
		if (is_known && idle < IDLE_STEPS_MAX)
			continue;
		t->link = DTC_LINK_UNKNOWN;
		dtc_traverse_explain(t, t->stand.node, t->stand.thread, t->stand.at_ns, dtc_traverse_get_bound(t),
				     DTC_CAUSE_UNKNOWN,
				     dtc_evidence_of(is_known ? DTC_REASON_CIRCLE : DTC_REASON_UNKNOWN_BEFORE), NULL);
		idle = 0;
	}
}

void dtc_traverse(const DtcEdges *edges, const struct dtc_traversal *of, const struct dtc_visitor *visitor,
		  gpointer data)
{
	const DtcLinks *links = dtc_edges_get_links(edges);
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	struct dtc_traverse t = { .edges = edges,
				  .links = links,
				  .clocks = clocks,
				  .of = of,
				  .visitor = visitor,
				  .data = data,
				  .stand = { .node = of->node,
					     .thread = of->thread,
					     .at_ns = of->end_ns != DTC_TIME_NONE
							      ? of->end_ns
							      : dtc_clocks_to_node(clocks, of->node, of->end).ns,
					     .pause = DTC_PAUSE_NONE },
				  .tc = of->end.ns,
				  .frames = g_array_new(FALSE, FALSE, sizeof(struct dtc_frame)),
				  .scopes = g_array_new(FALSE, FALSE, sizeof(struct dtc_scope)),
				  .entered = g_hash_table_new(NULL, NULL),
				  .link = DTC_LINK_EXACT,
				  .doubt_cluster_ns = INT64_MAX,
				  .pass_ns = visitor->pass ? INT64_MAX : INT64_MIN };
	for (guint i = 0; i < DTC_LAST_LOOKS; i++)
		t.looks[i].thread = DTC_NONE;
	if (of->from)
		dtc_traverse_go_on(&t, of->from);
	else if (of->call != DTC_NONE)
		pursue_call(&t);
	dtc_traverse_walk(&t);
	g_array_unref(t.frames);
	g_array_unref(t.scopes);
	g_hash_table_unref(t.entered);
}
