/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/arrival.h"
#include "analyze/edge/bare.h"
#include "analyze/edge/brought.h"
#include "analyze/edge/handoff.h"
#include "analyze/edge/opening.h"
#include "analyze/edge/room.h"
#include "analyze/edge/streams.h"
#include "analyze/exchange/endpoint.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

#include <errno.h>

/* A turn of an event loop has far fewer calls; a thread that never polls is looked back at this far. */
#define TURN_CALLS 4096
/* Packets behind one that may bring its bytes again, and wakeups behind a packet that may be its own. */
#define COPIES_MAX 64
#define WAKES_MAX 32
/* include/linux/interrupt.h */
#define SOFTIRQ_TIMER 1
#define SOFTIRQ_TASKLET 6
/* Below TCP_RTO_MIN (200 ms, include/net/tcp.h), less a tick of 250 Hz. */
#define TIMEOUT_MIN_NS (196 * G_GINT64_CONSTANT(1000000))

static bool has_returned(const struct dtc_call *call, int64_t time_ns)
{
	return call->end_ns != DTC_TIME_NONE && call->end_ns <= time_ns;
}

static struct dtc_packet packet_of(const DtcHistory *h, uint32_t packet)
{
	return dtc_packets_read(dtc_history_get_packets(h), packet);
}

static int64_t time_of(const DtcHistory *h, uint32_t packet)
{
	return dtc_packets_read(dtc_history_get_packets(h), packet).time_ns;
}

/* Of the first ones of a flow. */
static uint32_t find_received_before(const DtcPackets *packets, const struct dtc_flow *f, uint32_t i, bool with_data)
{
	while (i-- > 0) {
		uint32_t id = dtc_packets_read_flow_packet(packets, f, i);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		if (p.direction == DTC_RECEIVED && (!with_data || dtc_packet_get_span(&p)))
			return id;
	}
	return DTC_NONE;
}

/* The last packet with data that the flow brought by time. */
static uint32_t find_last_received(const DtcHistory *h, uint32_t flow, int64_t time_ns, bool with_data)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *f = dtc_packets_get_flow(packets, flow);
	uint32_t i =
		DTC_BISECT(k, 0, f->packet_count,
			   dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, f, k)).time_ns <= time_ns);
	return find_received_before(packets, f, i, with_data);
}

/* The last packet that the flow brought by the time of another one of the node. */
static uint32_t find_received_by(const DtcHistory *h, uint32_t flow, uint32_t packet)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *f = dtc_packets_get_flow(packets, flow);
	uint32_t end = dtc_packets_find_behind(packets, packet);
	uint32_t i = DTC_BISECT(k, 0, f->packet_count, dtc_packets_read_flow_packet(packets, f, k) < end);
	return find_received_before(packets, f, i, false);
}

bool dtc_arrival_of_packet(guint node, const DtcHistory *h, uint32_t packet, uint32_t file, bool exact,
			   struct dtc_arrival *ret_arrival)
{
	if (packet == DTC_NONE)
		return false;
	const struct dtc_packet p = packet_of(h, packet);
	if (p.flow == DTC_NONE)
		return false;
	*ret_arrival = (struct dtc_arrival){ .node = node,
					     .time_ns = p.time_ns,
					     .packet = packet,
					     .flow = p.flow,
					     .file = file,
					     .exact = exact && !p.is_inferred };
	return true;
}

/* Without a flow, a packet's numbers tell all the same who sent it. */
static struct dtc_arrival arrival_of_bare(guint node, const DtcHistory *h, uint32_t packet)
{
	return (struct dtc_arrival){
		.node = node, .time_ns = time_of(h, packet), .packet = packet, .flow = DTC_NONE, .file = DTC_NONE
	};
}

/* Receivers without headers: the byte arrived at some time before the read returned; the wake tells better. */
static bool arrival_of_byte(guint node, const struct dtc_file *file, uint32_t file_index, uint32_t seq, int64_t time_ns,
			    struct dtc_arrival *ret_arrival)
{
	*ret_arrival = (struct dtc_arrival){ .node = node,
					     .time_ns = time_ns,
					     .packet = DTC_NONE,
					     .flow = file->flow_in,
					     .seq = seq,
					     .file = file_index,
					     .exact = false };
	return true;
}

static int64_t wake_before(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	int64_t at = end_ns;
	while (at > begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, at, &place);
		if (!v)
			break;
		if (dtc_state_is_wait(v->state) && v->ref != DTC_NONE &&
		    dtc_history_copy_wake(h, v->ref).waker == DTC_WAKER_PACKET)
			return v->end_ns;
		at = v->begin_ns;
	}
	return begin_ns;
}

/* Whether a packet woke a thread of the process that reads what it brought. */
static bool has_woken(const DtcHistory *h, uint32_t packet, int64_t time_ns, const struct dtc_call *read)
{
	uint32_t count = dtc_history_get_wake_count(h);
	int32_t pid = dtc_history_get_thread(h, read->thread)->pid;
	uint32_t first = DTC_BISECT(k, 0, count, dtc_history_get_waking_ns(h, k) < time_ns);
	for (uint32_t i = first; i < count && i - first < WAKES_MAX; i++) {
		const struct dtc_wake wake = dtc_history_copy_wake(h, i);
		if (wake.waking_ns > read->end_ns)
			break;
		if (wake.waker == DTC_WAKER_PACKET && wake.ref == packet &&
		    dtc_history_get_thread(h, wake.target)->pid == pid)
			return true;
	}
	return false;
}

/*
 * Bytes that came again and woke their reader then had not come to it before: what the device received was dropped
 * behind it (a filter, a full socket), for bytes that are there already wake nobody. The packet that brought them, or
 * the copy of it that did.
 */
static uint32_t find_taken_copy(const DtcHistory *h, uint32_t flow, uint32_t packet, uint32_t seq,
				const struct dtc_call *read)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *f = dtc_packets_get_flow(packets, flow);
	const struct dtc_packet first = packet_of(h, packet);
	uint32_t at = DTC_BISECT(k, 0, f->packet_count, dtc_packets_read_flow_packet(packets, f, k) <= packet);
	for (uint32_t seen = 0; at < f->packet_count && seen < COPIES_MAX; at++, seen++) {
		uint32_t id = dtc_packets_read_flow_packet(packets, f, at);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		if (p.time_ns > read->end_ns)
			break;
		bool is_passage = p.interface != first.interface && p.ip_id == first.ip_id;
		int32_t into = dtc_seq_distance(p.seq, seq);
		if (p.direction == DTC_RECEIVED && into >= 0 && (uint32_t)into < p.payload_bytes && !is_passage &&
		    has_woken(h, id, p.time_ns, read))
			return id;
	}
	return packet;
}

/* When what a call wrote was there: when it woke a thread of the reading process, else when it began. */
static int64_t find_written_ns(const DtcHistory *h, const struct dtc_call *write, const struct dtc_call *read)
{
	uint32_t count = dtc_history_get_wake_count(h);
	int32_t pid = dtc_history_get_thread(h, read->thread)->pid;
	int64_t end_ns = write->end_ns == DTC_TIME_NONE ? read->end_ns : MIN(write->end_ns, read->end_ns);
	for (uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_waking_ns(h, k) < write->begin_ns);
	     i < count && dtc_history_get_waking_ns(h, i) <= end_ns; i++) {
		const struct dtc_wake wake = dtc_history_copy_wake(h, i);
		if (wake.waker == DTC_WAKER_THREAD && wake.thread == write->thread &&
		    dtc_history_get_thread(h, wake.target)->pid == pid)
			return wake.waking_ns;
	}
	return write->begin_ns;
}

/* Between two sockets of the node: the write that gave the last byte that a read took. */
static bool arrival_of_write(const DtcLinks *links, guint node, const struct dtc_call *read,
			     struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_file *file = dtc_history_get_file(h, read->file);
	uint64_t end = read->offset + (uint64_t)read->result;
	if (read->result <= 0 || read->kind != DTC_CALL_READ || end <= file->base_in) /* who closed it is not told */
		return false;
	uint32_t last = (uint32_t)(end - file->base_in - 1);
	uint32_t write =
		dtc_file_calls_find_byte(dtc_links_get_file_calls(links, node, file->peer), true, last, read->end_ns);
	if (write == DTC_NONE || dtc_history_get_call_begin_ns(h, write) >= read->end_ns)
		return false;
	const struct dtc_call written = dtc_history_copy_call(h, write);
	*ret_arrival = (struct dtc_arrival){ .node = node,
					     .time_ns = find_written_ns(h, &written, read),
					     .packet = DTC_NONE,
					     .flow = DTC_NONE,
					     .file = read->file,
					     .exact = file->pairing == DTC_PAIRING_EXACT,
					     .is_local = true,
					     .write = write };
	return true;
}

static bool find_for_read(const DtcLinks *links, guint node, struct dtc_datagram read, const struct dtc_call *call,
			  struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	if (call->file == DTC_NONE || call->result == DTC_ABSENT || call->result < 0)
		return false;
	const struct dtc_file *file = dtc_history_get_file(h, call->file);
	if (dtc_endpoint_has_local_peer(h, call->file))
		return arrival_of_write(links, node, call, ret_arrival);
	if (file->flow_in == DTC_NONE)
		return false;
	const struct dtc_flow *flow = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_in);
	uint32_t base_in;
	uint32_t taken = flow->protocol == DTC_PROTOCOL_UDP && call->kind == DTC_CALL_READ
				 ? dtc_datagrams_find_taken(dtc_links_get_datagrams(links, node), read)
				 : DTC_NONE;
	if (taken != DTC_NONE)
		return dtc_arrival_of_packet(node, h, taken, call->file, false, ret_arrival);
	if (flow->protocol != DTC_PROTOCOL_TCP || !dtc_links_find_base_in(links, node, call->file, &base_in)) {
		uint32_t last = find_last_received(h, file->flow_in, call->end_ns, true);
		return dtc_arrival_of_packet(node, h, last, call->file, false, ret_arrival);
	}
	/* the last byte taken; the end of file is the FIN, one behind the last byte */
	uint64_t end = call->kind == DTC_CALL_PEEK ? call->offset : call->offset + (uint64_t)call->result;
	uint32_t seq = base_in + (uint32_t)end - (call->result > 0 && call->kind != DTC_CALL_PEEK);
	if (!flow->packet_count)
		return arrival_of_byte(node, file, call->file, seq,
				       wake_before(h, call->thread, call->begin_ns, call->end_ns), ret_arrival);
	uint32_t packet = dtc_links_find_completing_packet(links, node, file->flow_in, seq);
	if (packet != DTC_NONE && time_of(h, packet) <= call->end_ns) {
		packet = find_taken_copy(h, file->flow_in, packet, seq, call);
		return dtc_arrival_of_packet(node, h, packet, call->file, true, ret_arrival);
	}
	packet = find_last_received(h, file->flow_in, call->end_ns, true);
	return dtc_arrival_of_packet(node, h, packet, call->file, false, ret_arrival);
}

bool dtc_arrival_find_for_read(const DtcLinks *links, guint node, uint32_t index, struct dtc_arrival *ret_arrival)
{
	struct dtc_call place;
	return find_for_read(links, node, (struct dtc_datagram){ index, 0 },
			     dtc_history_get_call(dtc_links_get_history(links, node), index, &place), ret_arrival);
}

bool dtc_arrival_find_for_taken(const DtcLinks *links, guint node, uint32_t index, uint32_t bytes,
				struct dtc_arrival *ret_arrival)
{
	struct dtc_call call = dtc_history_copy_call(dtc_links_get_history(links, node), index);
	struct dtc_datagram read = { index, 0 };
	if (dtc_call_counts_messages(&call))
		read.number = bytes;
	else if (bytes && call.result > bytes)
		call.result = bytes;
	return find_for_read(links, node, read, &call, ret_arrival);
}

/* The packet that the waking softirq received last: of a socket of this process it is as good as exact. */
static bool arrival_of_wake(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			    struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, wait->ref, &wake_place);
	if (wake->waker != DTC_WAKER_PACKET || wake->ref == DTC_NONE)
		return false;
	const struct dtc_packet p = packet_of(h, wake->ref);
	if (dtc_packet_is_bare(&p)) {
		*ret_arrival = arrival_of_bare(node, h, wake->ref);
		return true;
	}
	if (p.flow == DTC_NONE)
		return false;
	uint32_t reverse = dtc_packets_get_flow(dtc_history_get_packets(h), p.flow)->reverse;
	uint32_t file = dtc_links_find_file_of_flow(links, node, reverse, p.time_ns);
	int32_t pid = dtc_history_get_thread(h, wait->thread)->pid;
	bool own = file != DTC_NONE && dtc_history_get_file(h, file)->pid == pid;
	return dtc_arrival_of_packet(node, h, wake->ref, file, own, ret_arrival);
}

static bool is_inside(const struct dtc_arrival *arrival, const struct dtc_interval *wait)
{
	return arrival->time_ns > wait->begin_ns && arrival->time_ns <= wait->end_ns;
}

/* What a call after a poll took, of what that returned for. */
static bool find_taken(const DtcLinks *links, guint node, uint32_t poll, uint32_t call, struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_call next_place;
	const struct dtc_call *next = dtc_history_get_call(h, call, &next_place);
	if (next->file == DTC_NONE || !dtc_history_may_be_ready(h, poll, next->file))
		return false;
	if ((next->kind == DTC_CALL_READ || next->kind == DTC_CALL_PEEK) && next->result >= 0 &&
	    next->result != DTC_ABSENT)
		return dtc_arrival_find_for_read(links, node, call, ret_arrival);
	if (next->kind == DTC_CALL_ACCEPT)
		return dtc_opening_find_accepted(h, node, next, ret_arrival);
	return next->kind == DTC_CALL_WRITE && next->offset == 0 &&
	       dtc_opening_find_handshake(h, node, next->file, ret_arrival);
}

/* The first that came, in a poll's wait, for a connection that it returned, if its wake tells of another one. */
static bool find_ready(const DtcLinks *links, guint node, const struct dtc_interval *wait,
		       struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t count;
	const uint32_t *ready = dtc_history_get_ready(h, wait->call, &count);
	struct dtc_arrival found, woke;
	bool has_found = false;
	if (arrival_of_wake(links, node, wait, &woke) &&
	    (woke.file == DTC_NONE || dtc_history_may_be_ready(h, wait->call, woke.file)))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t flow = ready[i] == DTC_NONE ? DTC_NONE : dtc_history_get_file(h, ready[i])->flow_in;
		uint32_t packet = flow == DTC_NONE ? DTC_NONE : find_last_received(h, flow, wait->end_ns, false);
		if (dtc_arrival_of_packet(node, h, packet, ready[i], false, &found) && is_inside(&found, wait) &&
		    (!has_found || found.time_ns < ret_arrival->time_ns)) {
			*ret_arrival = found;
			has_found = true;
		}
	}
	return has_found;
}

/* What is read next in the turn that a poll began, and had come in its wait; else what came for what it returned. */
static bool find_for_poll(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			  struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, wait->thread);
	uint32_t end = thread->call_first + thread->call_count;
	struct dtc_arrival found;
	for (uint32_t i = wait->call + 1; i < end; i++) {
		if (i - wait->call >= TURN_CALLS) {
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
			break;
		}
		struct dtc_call next_place;
		const struct dtc_call *next = dtc_history_get_call(h, i, &next_place);
		if (next->kind == DTC_CALL_POLL && !dtc_call_is_glance(next))
			break;
		if (find_taken(links, node, wait->call, i, &found) && is_inside(&found, wait)) {
			*ret_arrival = found;
			return true;
		}
	}
	return find_ready(links, node, wait, ret_arrival) || arrival_of_wake(links, node, wait, ret_arrival);
}

bool dtc_arrival_find_for_wait(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_call call_place;
	const struct dtc_call *call = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &call_place);
	struct dtc_arrival found;
	if (call && (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_PEEK)) {
		/* a read that waits several times (MSG_WAITALL) is ended by its last wait only */
		if (dtc_arrival_find_for_read(links, node, wait->call, &found) && found.time_ns > wait->begin_ns &&
		    found.time_ns <= wait->end_ns) {
			*ret_arrival = found;
			return true;
		}
	} else if (call && call->kind == DTC_CALL_ACCEPT) {
		if (dtc_opening_find_accepted(h, node, call, &found) && found.time_ns > wait->begin_ns &&
		    found.time_ns <= wait->end_ns) {
			*ret_arrival = found;
			return true;
		}
	} else if (call && call->kind == DTC_CALL_CONNECT && call->file != DTC_NONE) {
		/* one softirq may bring several connections' answers */
		if (dtc_opening_find_handshake(h, node, call->file, &found) && found.time_ns > wait->begin_ns &&
		    found.time_ns <= wait->end_ns) {
			*ret_arrival = found;
			return true;
		}
	} else if (call && call->kind == DTC_CALL_POLL) {
		return find_for_poll(links, node, wait, ret_arrival);
	}
	return arrival_of_wake(links, node, wait, ret_arrival);
}

bool dtc_arrival_find_local(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			    const struct dtc_wake *wake, struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t write = wake->waker == DTC_WAKER_THREAD && !wake->signal
				 ? dtc_history_find_call(h, wake->thread, wake->waking_ns)
				 : DTC_NONE;
	struct dtc_call write_place, place;
	const struct dtc_call *written = write == DTC_NONE ? NULL : dtc_history_get_call(h, write, &write_place);
	if (!written || wait->call == DTC_NONE || written->file == DTC_NONE || has_returned(written, wake->waking_ns))
		return false;
	if (written->kind == DTC_CALL_CONNECT)
		return dtc_opening_find_connected(node, h, wait, wake, write, ret_arrival);
	if (written->kind != DTC_CALL_WRITE || !dtc_endpoint_has_local_peer(h, written->file))
		return false;
	uint32_t file = dtc_history_get_file(h, written->file)->peer;
	const struct dtc_call *call = dtc_history_get_call(h, wait->call, &place);
	bool is_poll = call->kind == DTC_CALL_POLL;
	const struct dtc_thread *thread = dtc_history_get_thread(h, wait->thread);
	for (uint32_t i = wait->call; i < thread->call_first + thread->call_count; i++) {
		call = dtc_history_get_call(h, i, &place);
		if (i > wait->call && (!is_poll || (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call))))
			break;
		if (i - wait->call >= TURN_CALLS) {
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
			break;
		}
		if (call->kind == DTC_CALL_READ && call->file == file &&
		    dtc_arrival_find_for_read(links, node, i, ret_arrival))
			return ret_arrival->time_ns > wait->begin_ns && ret_arrival->time_ns <= wait->end_ns;
	}
	return false;
}

uint32_t dtc_arrival_find_local_read(const DtcLinks *links, const struct dtc_arrival *arrival)
{
	const struct dtc_call write =
		dtc_history_copy_call(dtc_links_get_history(links, arrival->node), arrival->write);
	if (write.result <= 0)
		return DTC_NONE;
	return dtc_file_calls_find_byte(dtc_links_get_file_calls(links, arrival->node, arrival->file), false,
					(uint32_t)write.offset + (uint32_t)write.result - 1, write.begin_ns);
}

/* What a thread that sends may act on: not what only controls a connection, on its own one not another stream. */
static bool may_be_acted_on(const DtcLinks *links, guint node, uint32_t read, bool is_own, uint32_t write)
{
	return !dtc_streams_is_control(links, node, read) &&
	       (!is_own || write == DTC_NONE || dtc_streams_may_answer(links, node, write, read));
}

/* The calls of a thread before a send, back to the poll that began the turn, and what they read. */
struct turn {
	uint32_t begin;
	uint32_t end;
	bool has_loop;		    /* it begins behind a poll */
	bool is_cut;		    /* at a limit */
	bool has_nearest;	    /* the last read */
	bool has_own;		    /* the last read on the connection that is sent on */
	struct dtc_arrival nearest; /* what came for it */
	struct dtc_arrival own;
};

/* Moves the begin behind the last poll that had returned by then, or to the limit. */
static void find_turn(const DtcLinks *links, guint node, int64_t time_ns, struct turn *turn)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	DtcTurnMarks *marks = dtc_links_get_turn_marks(links, node);
	struct dtc_call place;
	turn->is_cut = turn->end - turn->begin > TURN_CALLS;
	if (turn->is_cut)
		turn->begin = turn->end - TURN_CALLS;
	uint32_t poll = dtc_turn_marks_find_poll(marks, turn->begin, turn->end);
	while (poll != DTC_NONE && !has_returned(dtc_history_get_call(h, poll, &place), time_ns))
		poll = dtc_turn_marks_find_poll(marks, turn->begin, poll);
	turn->has_loop = poll != DTC_NONE;
	if (turn->has_loop) {
		turn->begin = poll + 1;
		turn->is_cut = false;
	}
}

/* Without a loop it is the nearest read that counts: none is looked for beyond it. */
static void look_back(const DtcLinks *links, guint node, struct turn *turn, int64_t time_ns, uint32_t file,
		      uint32_t write)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	DtcTurnMarks *marks = dtc_links_get_turn_marks(links, node);
	bool wants_own = turn->has_loop && file != DTC_NONE;
	uint32_t end = turn->end, at;
	struct dtc_arrival candidate;
	while ((!turn->has_nearest || (wants_own && !turn->has_own)) &&
	       (at = dtc_turn_marks_find_read(marks, turn->begin, end)) != DTC_NONE) {
		end = at;
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &call_place);
		bool may_be_own = file != DTC_NONE && call->file == file;
		if (!has_returned(call, time_ns) || (turn->has_nearest && !may_be_own) ||
		    !may_be_acted_on(links, node, at, may_be_own, write) ||
		    !dtc_arrival_find_for_read(links, node, at, &candidate))
			continue;
		if (!turn->has_nearest)
			turn->nearest = candidate;
		turn->has_nearest = true;
		if (may_be_own) {
			turn->own = candidate;
			turn->has_own = true;
		}
	}
}

bool dtc_arrival_find_for_answer(const DtcLinks *links, guint node, uint32_t thread_index, int64_t time_ns,
				 uint32_t file, uint32_t write, const struct dtc_asked *asked,
				 struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_index);
	uint32_t at = dtc_history_find_call(h, thread_index, time_ns);
	if (at == DTC_NONE)
		return false;
	struct turn turn = { .begin = thread->call_first, .end = at + 1 };
	int64_t turn_ns = time_ns;
	uint32_t room = write == DTC_NONE ? DTC_NONE : dtc_room_find_poll(links, node, write);
	if (room != write) {
		turn.end = room;
		turn_ns = dtc_history_get_call_begin_ns(h, room);
	}
	find_turn(links, node, turn_ns, &turn);
	look_back(links, node, &turn, turn_ns, file, write);
	/* with a read that is near enough, what lies behind is looked at for its own connection only */
	if (turn.is_cut && !turn.has_nearest)
		dtc_links_note_limit(links, DTC_LIMIT_TURN);
	/*
	 * In a turn of an event loop that served several clients, the answer belongs to the question on its own
	 * connection. A thread that blocks in each read has no turns: what it read last is what it acts on. If that is
	 * older than the question, or another client's, the answer came from another thread.
	 */
	if (turn.has_loop && turn.has_own) {
		*ret_arrival = turn.own;
		return true;
	}
	if (asked && (!turn.has_nearest || turn.nearest.time_ns < asked->arrival.time_ns ||
		      (turn.nearest.file != file && turn.nearest.file != DTC_NONE &&
		       dtc_endpoint_is_stream_server(h, turn.nearest.file)))) {
		*ret_arrival = asked->arrival;
		return true;
	}
	struct dtc_arrival came;
	if (!asked && dtc_opening_find_greeted(links, node, file, write, time_ns, &came) &&
	    (!turn.has_nearest || turn.nearest.time_ns < came.time_ns)) {
		*ret_arrival = came;
		return true;
	}
	if (turn.has_nearest) {
		*ret_arrival = turn.nearest;
		return true;
	}
	/* the first bytes on a connection that a non-blocking connect opened: sent because the handshake was done */
	if (turn.has_loop && file != DTC_NONE) {
		uint32_t count;
		const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
		bool connecting = false, first_write = true;
		for (uint32_t i = 0; i < count && first_write; i++) {
			struct dtc_call call_place;
			const struct dtc_call *call = dtc_history_get_call(h, calls[i], &call_place);
			if (call->begin_ns > time_ns)
				break;
			connecting |= call->kind == DTC_CALL_CONNECT && call->result == -EINPROGRESS;
			first_write &=
				call->kind != DTC_CALL_WRITE || call->end_ns == DTC_TIME_NONE || call->end_ns > time_ns;
		}
		if (connecting && first_write && dtc_opening_find_handshake(h, node, file, ret_arrival))
			return ret_arrival->time_ns <= time_ns;
	}
	return false;
}

bool dtc_arrival_find_for_send(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns, uint32_t file,
			       uint32_t write, struct dtc_arrival *ret_arrival)
{
	struct dtc_asked asked;
	bool has_question = dtc_handoff_find_question(links, node, file, write, time_ns, &asked);

	return dtc_arrival_find_for_answer(links, node, thread, time_ns, file, write, has_question ? &asked : NULL,
					   ret_arrival);
}

/* Some thread of the process that owns the socket, for a segment that the kernel sent on its own. */
static uint32_t find_owner(const DtcHistory *h, uint32_t file, int64_t time_ns)
{
	return file == DTC_NONE ? DTC_NONE : dtc_history_find_thread(h, dtc_history_get_file(h, file)->pid, time_ns);
}

static uint32_t reverse_of(const DtcHistory *h, uint32_t flow)
{
	return dtc_packets_get_flow(dtc_history_get_packets(h), flow)->reverse;
}

bool dtc_arrival_find_last(const DtcLinks *links, guint node, uint32_t flow, int64_t time_ns,
			   struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t in = reverse_of(h, flow);
	return dtc_arrival_of_packet(node, h, find_last_received(h, in, time_ns, true),
				     dtc_links_find_file_of_flow(links, node, flow, time_ns), false, ret_arrival);
}

/*
 * What sent the bytes again. The retransmission timer waits at least TCP_RTO_MIN. Two other timers are shorter (RFC
 * 8985): the probe repeats the last bytes of all when nothing comes back; RACK's gives bytes up some time after an ACK
 * that told of later ones. What no timer sent, an ACK did: in the softirq that received it, or in the call that had the
 * socket locked at that time.
 */
static enum dtc_again find_again(const DtcHistory *h, const struct dtc_send *send)
{
	const struct dtc_packet again = packet_of(h, send->packet), before = packet_of(h, send->before);
	if (send->packet == send->first)
		return DTC_AGAIN_NOT;
	if (again.tcp_flags & DTC_TCP_SYN)
		return DTC_AGAIN_HANDSHAKE;
	if (dtc_history_get_plain_context(h, send->packet).vector != SOFTIRQ_TIMER)
		return DTC_AGAIN_FAST;
	if (again.time_ns - before.time_ns >= TIMEOUT_MIN_NS)
		return DTC_AGAIN_TIMEOUT;
	if (send->is_tail)
		return DTC_AGAIN_PROBE;
	uint32_t ack = find_received_by(h, reverse_of(h, again.flow), send->packet);
	return ack != DTC_NONE && time_of(h, ack) > before.time_ns ? DTC_AGAIN_REORDERING : DTC_AGAIN_TIMEOUT;
}

/* The last packet of a flow before one that is not the same, seen on another interface of the node (containers). */
static uint32_t find_other_before(const DtcHistory *h, uint32_t flow, uint32_t packet)
{
	const struct dtc_packet p = packet_of(h, packet);
	uint32_t other = find_last_received(h, flow, p.time_ns - 1, false);
	while (other != DTC_NONE) {
		const struct dtc_packet o = packet_of(h, other);
		if (o.ip_id != p.ip_id || o.seq != p.seq || o.ack != p.ack || o.window != p.window)
			break;
		other = find_last_received(h, flow, o.time_ns - 1, false);
	}
	return other;
}

/* Ten segments may be on their way from the start (TCP_INIT_CWND), and no segment is smaller where it is full. */
#define SEGMENT_BYTES 536
#define INITIAL_WINDOW_BYTES (10 * SEGMENT_BYTES)

/*
 * Nagle's algorithm holds a segment that is not full while anything is unacknowledged (tcp_nagle_check). So it leaves
 * with the ACK that leaves nothing, and neither window was in its way before: less was on its way than a connection may
 * send at its start, and the receiver's had room. That is scaled by a factor that the trace does not tell, and less
 * than a segment is never announced (RFC 1122, 4.2.3.3).
 */
static bool is_nagle(const struct dtc_packet *sent, const struct dtc_packet *ack, const struct dtc_packet *before)
{
	uint32_t acknowledged = ack->ack - before->ack, wanted = acknowledged + sent->payload_bytes;
	return ack->ack == sent->seq && acknowledged - 1 < INITIAL_WINDOW_BYTES &&
	       wanted <= MAX(before->window, SEGMENT_BYTES);
}

/* What let bytes go that had been written before. */
static enum dtc_hold find_hold(const DtcHistory *h, uint32_t packet)
{
	const struct dtc_packet sent = packet_of(h, packet);
	uint8_t vector = dtc_history_get_plain_context(h, packet).vector;
	if (vector == SOFTIRQ_TIMER)
		return DTC_HOLD_TIMER;
	if (vector == SOFTIRQ_TASKLET) /* net/ipv4/tcp_output.c: tcp_tasklet_func */
		return DTC_HOLD_QUEUE;
	uint32_t flow = reverse_of(h, sent.flow);
	uint32_t last = find_received_by(h, flow, packet);
	uint32_t previous = last == DTC_NONE ? DTC_NONE : find_other_before(h, flow, last);
	if (previous == DTC_NONE)
		return DTC_HOLD_NOT_KNOWN;
	const struct dtc_packet p = packet_of(h, last), before = packet_of(h, previous);
	bool is_update = p.ack == before.ack && p.window > before.window;
	if (is_update || before.window == 0)
		return DTC_HOLD_RECEIVER;
	return is_nagle(&sent, &p, &before) ? DTC_HOLD_NAGLE : DTC_HOLD_CONGESTION;
}

/* Nothing tells of calls and bytes: who ran when it left, or, in an interrupt, what the kernel answered. */
static void set_bare_sender(const DtcHistory *h, const struct dtc_send *send, struct dtc_sender *ret_sender)
{
	const struct dtc_packet_context context = dtc_history_get_plain_context(h, send->packet);
	int64_t sent_ns = time_of(h, send->packet);
	*ret_sender = (struct dtc_sender){ .node = send->node,
					   .thread = context.in_softirq ? DTC_NONE : context.thread,
					   .call = DTC_NONE,
					   .file = DTC_NONE,
					   .written_ns = sent_ns,
					   .first_ns = sent_ns,
					   .sent_ns = sent_ns,
					   .left_ns = sent_ns,
					   .copies = 1,
					   .packet = send->packet };
	uint32_t answered = context.in_softirq ? dtc_bare_find_answered(h, send->packet) : DTC_NONE;
	if (answered == DTC_NONE)
		return;
	ret_sender->relayed = true;
	ret_sender->is_delayed = context.vector == SOFTIRQ_TIMER;
	ret_sender->cause = arrival_of_bare(send->node, h, answered);
}

/*
 * A kernel answers in the context of the thread that brought it the packet, as in a softirq: by the last packet of that
 * connection that the thread received itself.
 */
static bool is_answer(const DtcHistory *h, uint32_t packet, const struct dtc_packet *sent,
		      const struct dtc_packet_context *context)
{
	uint32_t last = find_received_by(h, reverse_of(h, sent->flow), packet);
	return last != DTC_NONE && dtc_brought_get_thread(h, last) == context->thread &&
	       dtc_brought_has_run(h, context->thread, time_of(h, last), sent->time_ns);
}

/* Whoever wrote it: what is written is there at once. */
static void set_local_sender(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_sender *ret_sender)
{
	const DtcHistory *h = dtc_links_get_history(links, arrival->node);
	struct dtc_call place;
	const struct dtc_call *write = dtc_history_get_call(h, arrival->write, &place);
	*ret_sender = (struct dtc_sender){ .node = arrival->node,
					   .thread = write->thread,
					   .call = arrival->write,
					   .file = write->file,
					   .written_ns = arrival->time_ns,
					   .first_ns = arrival->time_ns,
					   .sent_ns = arrival->time_ns,
					   .left_ns = arrival->time_ns,
					   .copies = 1,
					   .exact = arrival->exact,
					   .packet = DTC_NONE };
}

/*
 * The receiver's window was full, or earlier bytes were to be acknowledged, and a thread there read and so told that:
 * what let the bytes go is that thread, whenever they had been written. False if nobody is seen to do that.
 */
static bool set_reader(const DtcLinks *links, const DtcHistory *h, const struct dtc_send *send,
		       struct dtc_sender *ret_sender)
{
	struct dtc_sender reader;
	uint32_t told = find_received_by(h, reverse_of(h, packet_of(h, send->first).flow), send->first);
	if (told == DTC_NONE || packet_of(h, told).payload_bytes ||
	    !dtc_arrival_of_packet(send->node, h, told, ret_sender->file, false, &ret_sender->cause) ||
	    !dtc_arrival_find_sender(links, &ret_sender->cause, &reader) || reader.relayed || reader.call == DTC_NONE)
		return false;
	uint8_t kind = dtc_history_copy_call(dtc_links_get_history(links, reader.node), reader.call).kind;
	ret_sender->is_let_go = kind == DTC_CALL_READ || kind == DTC_CALL_RING;
	return ret_sender->is_let_go;
}

/* When a call went to sleep that sleeps at a time: what it wrote until then lay in the socket. */
static int64_t find_slept_ns(const DtcHistory *h, const struct dtc_call *call, int64_t at_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, call->thread, at_ns, &place);
	return v && dtc_state_is_wait(v->state) ? MAX(v->begin_ns, call->begin_ns) : at_ns;
}

/* Packets before one that are looked at for what a kernel passed on as that, and how long before it that came. */
#define FORWARDED_PACKETS 64
#define FORWARDED_NS 1000000

/*
 * A kernel answers no datagram by itself: what leaves in a softirq is passed on, and if it belongs to no flow that came
 * in, under another address (NAT). It is what this CPU received last, if that has the same length and identification.
 * DTC_NONE: it is not so.
 */
static uint32_t find_forwarded(const DtcHistory *h, uint32_t packet)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_packet sent = packet_of(h, packet);
	for (uint32_t i = packet, seen = 0; i-- > 0 && seen < FORWARDED_PACKETS; seen++) {
		const struct dtc_packet p = packet_of(h, i);
		if (sent.time_ns - p.time_ns > FORWARDED_NS)
			break;
		if (p.cpu != sent.cpu || p.direction != DTC_RECEIVED)
			continue;
		bool is_same = p.flow != DTC_NONE && p.flow != sent.flow && p.ip_id == sent.ip_id &&
			       p.payload_bytes == sent.payload_bytes &&
			       dtc_packets_get_flow(packets, p.flow)->protocol ==
				       dtc_packets_get_flow(packets, sent.flow)->protocol;
		return is_same ? i : DTC_NONE;
	}
	return DTC_NONE;
}

/* Who sent what was passed on; false if that is not known. */
static bool set_translated_sender(const DtcLinks *links, const DtcHistory *h, const struct dtc_send *send,
				  struct dtc_sender *ret_sender)
{
	struct dtc_arrival came;
	if (!dtc_arrival_of_packet(send->node, h, find_forwarded(h, send->first), DTC_NONE, false, &came) ||
	    !dtc_arrival_find_sender(links, &came, ret_sender))
		return false;
	ret_sender->exact = false;
	return true;
}

bool dtc_arrival_find_sender(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_sender *ret_sender)
{
	struct dtc_send send;
	if (arrival->is_local) {
		set_local_sender(links, arrival, ret_sender);
		return true;
	}
	if (arrival->packet != DTC_NONE) {
		if (!dtc_links_find_send(links, arrival->node, arrival->packet, &send))
			return false;
	} else if (!dtc_links_find_send_of_byte(links, arrival->node, arrival->flow, arrival->seq,
						(DtcNodeTime){ arrival->time_ns }, &send)) {
		return false;
	}
	const DtcHistory *h = dtc_links_get_history(links, send.node);
	const struct dtc_packet sent = packet_of(h, send.packet), first = packet_of(h, send.first);
	if (sent.flow == DTC_NONE) {
		set_bare_sender(h, &send, ret_sender);
		return true;
	}
	const struct dtc_packet_context context = dtc_history_get_plain_context(h, send.first);
	uint32_t file = dtc_links_find_file_of_flow(links, send.node, first.flow, first.time_ns);
	*ret_sender = (struct dtc_sender){ .node = send.node,
					   .thread = DTC_NONE,
					   .call = DTC_NONE,
					   .file = file,
					   .written_ns = first.time_ns,
					   .first_ns = first.time_ns,
					   .sent_ns = sent.time_ns,
					   .left_ns = sent.time_ns,
					   .copies = send.copies,
					   .again = find_again(h, &send),
					   .exact = send.exact && arrival->exact,
					   .packet = send.packet };
	int64_t queue_ns =
		send.packet == send.first ? context.queue_ns : dtc_history_get_plain_context(h, send.packet).queue_ns;
	if (queue_ns != DTC_TIME_NONE)
		ret_sender->left_ns = queue_ns;
	bool is_datagram = dtc_packets_get_flow(dtc_history_get_packets(h), first.flow)->protocol == DTC_PROTOCOL_UDP;
	if (!context.in_softirq && context.thread != DTC_NONE &&
	    (is_datagram || !is_answer(h, send.first, &first, &context))) {
		ret_sender->thread = context.thread;
		ret_sender->call = dtc_history_get_packet_context(h, send.first).call;
		return true;
	}
	if (is_datagram)
		return set_translated_sender(links, h, &send, ret_sender);
	if (first.payload_bytes) {
		/* ack-clocked, or sent by a timer: back to the write that gave these bytes */
		uint32_t write = dtc_links_find_write(links, send.node, first.flow, first.seq + first.payload_bytes - 1,
						      first.time_ns);
		if (write != DTC_NONE && dtc_history_get_call_begin_ns(h, write) <= first.time_ns) {
			struct dtc_call call_place;
			const struct dtc_call *call = dtc_history_get_call(h, write, &call_place);
			ret_sender->thread = call->thread;
			ret_sender->call = write;
			ret_sender->hold = find_hold(h, send.first);
			if (call->end_ns != DTC_TIME_NONE && call->end_ns < first.time_ns)
				ret_sender->written_ns = call->end_ns;
			if ((ret_sender->hold == DTC_HOLD_RECEIVER || ret_sender->hold == DTC_HOLD_CONGESTION) &&
			    set_reader(links, h, &send, ret_sender) && ret_sender->written_ns == first.time_ns)
				ret_sender->written_ns = find_slept_ns(h, call, first.time_ns);
			return true;
		}
	}
	/* the kernel answered: to the last packet that it had received on this connection */
	ret_sender->thread = find_owner(h, file, first.time_ns);
	ret_sender->is_delayed = context.vector == SOFTIRQ_TIMER && !dtc_packet_get_span(&first);
	uint32_t last = find_received_by(h, reverse_of(h, first.flow), send.first);
	/* a SYN-ACK answers the SYN and nothing else; any other empty segment follows what came last by order alone */
	bool handshake = (first.tcp_flags & DTC_TCP_SYN) != 0;
	ret_sender->relayed = dtc_arrival_of_packet(send.node, h, last, file, handshake, &ret_sender->cause);
	ret_sender->exact = ret_sender->exact && handshake;
	return true;
}
