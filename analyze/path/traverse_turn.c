/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A write of which it is known for which request it was, in a thread that has others in its hands. What the thread
 * acted on is what it had read for the same request, and not what it read last. In between the request may have lain
 * still: the loop waited for events, and whatever it did was for others. What ended that tells what the request waited
 * for: the poll with which the writing turn begins.
 */
#include "analyze/edge/room.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

/* Calls between a read and the write that it led to: a loop that serves thousands of others meanwhile has as many. */
#define PAUSE_CALLS 65536

/* Calls before a question that are looked at for the poll that it ended. */
#define TURN_CALLS 256

/*
 * A timer came due in the turn that wrote, although something else had ended the poll with which that began, or one
 * before: a loop that has work at hand (setImmediate of node.js) polls with timeout 0, and the last poll that could
 * wait is the one that tells. What was due before the turn began had been served before it.
 */
static bool is_due(const struct dtc_call *waited, int64_t turn_begin_ns, int64_t write_ns, int64_t *ret_due_ns)
{
	return waited->result != 0 && dtc_traverse_find_due_ns(waited, ret_due_ns) && *ret_due_ns >= turn_begin_ns &&
	       *ret_due_ns <= write_ns + DTC_TIMER_GRAIN_NS;
}

/* The begin of the first of the polls, one after the other, that were for the timer of the last one. */
static int64_t find_set_ns(const DtcLinks *links, const DtcHistory *h, uint32_t poll, int64_t due_ns, int64_t bound_ns)
{
	struct dtc_call place;
	const struct dtc_call *last = dtc_history_get_call(h, poll, &place);
	uint32_t first = dtc_history_get_thread(h, last->thread)->call_first;
	int64_t set_ns = last->begin_ns;
	for (uint32_t i = poll; i-- > first && set_ns > bound_ns;) {
		int64_t other_ns;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->end_ns == DTC_TIME_NONE || call->end_ns <= bound_ns)
			break;
		if (poll - i == PAUSE_CALLS) {
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
			break;
		}
		if (call->kind != DTC_CALL_POLL || !call->argument)
			continue;
		if (!dtc_traverse_find_due_ns(call, &other_ns) ||
		    other_ns > due_ns + DTC_TIMER_GRAIN_NS) /* it was not set then */
			break;
		if (other_ns >= due_ns - DTC_TIMER_GRAIN_NS) /* the others were for a timer that came before it */
			set_ns = call->begin_ns;
	}
	return set_ns;
}

/* Where the turn of a call ends: the begin of the next poll of its thread; DTC_TIME_NONE: it is too long. */
static int64_t find_turn_end_ns(const DtcLinks *links, const DtcHistory *h, uint32_t index)
{
	struct dtc_call place;
	const struct dtc_thread *thread = dtc_history_get_thread(h, dtc_history_get_call(h, index, &place)->thread);
	for (uint32_t i = index + 1; i < thread->call_first + thread->call_count; i++) {
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call))
			return call->begin_ns;
		if (i - index == TURN_CALLS) {
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
			break;
		}
	}
	return DTC_TIME_NONE;
}

/*
 * Whether all that a poll brought was new connections, up to when the thread polls again; they bring no bytes. Until
 * when the turn lasted is told, too.
 */
static bool brought_connections(const DtcLinks *links, const DtcHistory *h, uint32_t poll, int64_t *ret_end_ns)
{
	struct dtc_call place;
	const struct dtc_thread *thread = dtc_history_get_thread(h, dtc_history_get_call(h, poll, &place)->thread);
	bool has_accepted = false;
	for (uint32_t i = poll + 1; i < thread->call_first + thread->call_count; i++) {
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call)) {
			*ret_end_ns = call->begin_ns;
			return has_accepted;
		}
		if (i - poll == TURN_CALLS)
			dtc_links_note_limit(links, DTC_LIMIT_TURN);
		if (i - poll == TURN_CALLS || (call->kind == DTC_CALL_READ && call->result > 0))
			return false;
		has_accepted |= call->kind == DTC_CALL_ACCEPT && call->result >= 0;
	}
	return false;
}

int64_t dtc_traverse_find_set_ns(const struct dtc_traverse *t, const struct dtc_interval *wait, int64_t bound_ns,
				 bool has_expired)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_call place;
	int64_t due_ns, end_ns;
	if (wait->call == DTC_NONE || dtc_history_get_call(h, wait->call, &place)->kind != DTC_CALL_POLL ||
	    has_expired != (place.result == 0) || !dtc_traverse_find_due_ns(&place, &due_ns) ||
	    (!has_expired &&
	     (!brought_connections(t->links, h, wait->call, &end_ns) || due_ns > end_ns + DTC_TIMER_GRAIN_NS)))
		return DTC_TIME_NONE;
	return find_set_ns(t->links, h, wait->call, due_ns, bound_ns);
}

/* Whether the poll that the turn of a read began with was for a timer that is due at a time: it had been set before. */
static bool is_older(const DtcHistory *h, uint32_t read, int64_t due_ns)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, read, &place);
	uint32_t first = dtc_history_get_thread(h, call->thread)->call_first;
	for (uint32_t i = read, seen = 0; i-- > first && seen < TURN_CALLS; seen++) {
		int64_t before_ns;
		call = dtc_history_get_call(h, i, &place);
		if (call->kind != DTC_CALL_POLL || !call->argument)
			continue;
		return dtc_traverse_find_due_ns(call, &before_ns) && ABS(before_ns - due_ns) <= DTC_TIMER_GRAIN_NS;
	}
	return false;
}

/* A read was for another request than the one for which the stand wrote; false if that is not known. */
static bool is_others_read(const struct dtc_traverse *t, guint node, uint32_t read)
{
	struct dtc_call place;
	if (!t->of->serving || !t->stand.owner)
		return false;
	const struct dtc_call *call = dtc_history_get_call(dtc_links_get_history(t->links, node), read, &place);
	const struct dtc_served *span = dtc_serving_find_span(t->of->serving, node, call->thread, call->begin_ns);
	return span && !span->leads && span->request != t->stand.owner - 1;
}

/* A read took what others had answered a request, whichever end had connected: what a broker reads from a worker. */
static bool is_answer_read(const struct dtc_traverse *t, guint node, uint32_t read)
{
	const DtcHistory *h = dtc_links_get_history(t->links, node);
	const struct dtc_call call = dtc_history_copy_call(h, read);
	const struct dtc_served *span = dtc_serving_find_span(t->of->serving, node, call.thread, call.begin_ns);
	struct dtc_taken taken;
	return span && call.end_ns != DTC_TIME_NONE &&
	       dtc_serving_find_taken(t->of->serving, span->request, node, dtc_history_get_thread(h, call.thread)->pid,
				      call.end_ns - 1, call.end_ns, &taken) &&
	       taken.call == read;
}

/*
 * Whether what a server read is another request's question, which it answered in a later turn: that lay still itself.
 * What a broker reads from a worker is no question, whatever it sends there next.
 */
static bool was_put_off(const struct dtc_traverse *t, uint32_t read, int64_t turn_end_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_call place;
	uint32_t count, file = dtc_history_get_call(h, read, &place)->file;
	if (file == DTC_NONE || !dtc_endpoint_is_stream_server(h, file) || !is_others_read(t, t->stand.node, read) ||
	    is_answer_read(t, t->stand.node, read))
		return false;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	int64_t read_ns = place.begin_ns;
	guint i = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, calls[k]) <= read_ns);
	for (guint seen = 0; i < count && seen < TURN_CALLS; i++, seen++) {
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->kind == DTC_CALL_WRITE)
			return call->begin_ns >= turn_end_ns;
		if (call->kind == DTC_CALL_READ && call->result > 0)
			return false;
	}
	return false;
}

/*
 * The turn of a write brought nothing that can be why another request was taken up: a new connection, which has no
 * bytes, or a question that was put off itself (BLPOP of redis: its polls tell of no timer but its own ten a second).
 * Nor was there room for the rest of an answer, if the write is the first since the read.
 */
static bool brought_nothing(const struct dtc_traverse *t, uint32_t poll, uint32_t read, uint32_t write)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_call place;
	uint32_t file = dtc_history_get_call(h, write, &place)->file;
	int64_t turn_end_ns = find_turn_end_ns(t->links, h, write);
	bool has_event = false;
	if (turn_end_ns == DTC_TIME_NONE)
		return false;
	for (uint32_t i = write; --i > read;) {
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		bool is_in_turn = i > poll, has_read = call->kind == DTC_CALL_READ && call->result > 0;
		if (call->kind == DTC_CALL_WRITE && call->file == file)
			return false;
		if (is_in_turn && has_read && !was_put_off(t, i, turn_end_ns))
			return false;
		has_event |= is_in_turn && (has_read || (call->kind == DTC_CALL_ACCEPT && call->result >= 0));
		if (!is_in_turn && !has_event)
			return false;
	}
	return has_event;
}

/* What a thread did between a read and a write of a request. */
struct lull {
	struct dtc_pause pause;
	bool has_own_timer; /* it ended by a timer that was set in the turn of the read */
};

/* So short is a poll that did not wait. */
#define AT_ONCE_NS 100000

/*
 * A poll that returned at once, with the timeout of the one before, although the thread was busy in between: its loop
 * had not looked at its clock since (nginx, libevent), so that no timer can have been served in between either.
 */
static bool is_stale(const struct dtc_call *poll, const struct dtc_call *before)
{
	return poll->end_ns != DTC_TIME_NONE && poll->end_ns - poll->begin_ns < AT_ONCE_NS && before->argument &&
	       poll->argument == before->argument && before->end_ns != DTC_TIME_NONE &&
	       poll->begin_ns - before->end_ns > DTC_TIMER_GRAIN_NS;
}

/* False: it did not wait in between, or is looked at too far back. */
static bool find_lull(const struct dtc_traverse *t, uint32_t read, uint32_t write, struct lull *ret_lull)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct lull lull = { .pause = DTC_PAUSE_NONE };
	struct dtc_pause *pause = &lull.pause;
	int64_t turn_begin_ns = DTC_TIME_NONE, due_ns = DTC_TIME_NONE, other_ns;
	uint32_t due_poll = DTC_NONE;
	struct dtc_call turn = { .argument = 0 };
	if (write - read > PAUSE_CALLS) {
		dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
		return false;
	}
	for (uint32_t i = dtc_room_find_poll(t->links, t->stand.node, write) - 1; i > read; i--) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if (call->kind != DTC_CALL_POLL || dtc_call_is_glance(call))
			continue;
		if (pause->poll == DTC_NONE) {
			pause->poll = i;
			turn_begin_ns = call->begin_ns;
			turn = *call;
		} else if (due_poll == DTC_NONE && turn.begin_ns == turn_begin_ns && is_stale(&turn, call)) {
			turn_begin_ns = call->begin_ns;
			pause->begin_ns = DTC_TIME_NONE;
		}
		if (!call->argument) /* it took what was there without waiting */
			continue;
		if (pause->begin_ns == DTC_TIME_NONE && is_due(call, turn_begin_ns, t->stand.at_ns, &due_ns)) {
			due_poll = i;
			lull.has_own_timer = true;
		} else if (due_poll != DTC_NONE &&
			   (!dtc_traverse_find_due_ns(call, &other_ns) || other_ns > due_ns + DTC_TIMER_GRAIN_NS)) {
			lull.has_own_timer = false; /* it was not set then */
		}
		pause->begin_ns = call->begin_ns;
	}
	lull.has_own_timer = lull.has_own_timer && !is_older(h, read, due_ns);
	bool is_told = due_poll != DTC_NONE && (due_ns <= t->stand.at_ns || lull.has_own_timer);
	pause->is_due = is_told || (pause->poll != DTC_NONE && brought_nothing(t, pause->poll, read, write));
	*ret_lull = lull;
	return pause->begin_ns != DTC_TIME_NONE;
}

/* The first that is asked on a connection, and what led to it came there: the other end accepted, or spoke first. */
static bool is_opening(const struct dtc_traverse *t, const DtcHistory *h, const struct dtc_call *call)
{
	return t->stand.purpose == DTC_PURPOSE_ARRIVAL && call->file != DTC_NONE &&
	       t->stand.arrival.file == call->file && call->kind == DTC_CALL_WRITE && call->offset == 0 &&
	       !dtc_endpoint_is_stream_server(h, call->file);
}

/* Whether a thread of a process asked others for no other request that is known, and not for what it had just read. */
static bool asked_for_no_other(const struct dtc_traverse *t, guint node, uint32_t ask, int64_t question_ns)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(dtc_links_get_history(t->links, node), ask, &place);
	struct dtc_arrival acted_on;
	const struct dtc_owned *owned = dtc_serving_find_owned(t->of->serving, node, ask, 0);
	if (owned && owned->request + 1 != t->stand.owner)
		return false;
	const struct dtc_served *span = dtc_serving_find_span(t->of->serving, node, call->thread, call->begin_ns);
	if (span && span->request + 1 != t->stand.owner)
		return false;
	return !dtc_arrival_find_for_send(t->links, node, call->thread, call->begin_ns, call->file, ask, &acted_on) ||
	       acted_on.time_ns <= question_ns;
}

/*
 * A runtime that schedules by itself asks several at once, from several threads (errgroup, a join of coroutines). What
 * came last began the turn that answers, and for whom it was asked no thread tells: after the question was read, before
 * all that this thread waited for, and not all by one thread, as a loop would.
 */
static bool may_be_asked_beside(const struct dtc_traverse *t, const struct dtc_arrival *came,
				const struct dtc_asked *question, int64_t before_ns)
{
	guint node = t->stand.node;
	const DtcHistory *h = dtc_links_get_history(t->links, node);
	if (came->file == DTC_NONE || dtc_endpoint_is_stream_server(h, came->file) || dtc_traverse_is_others(t, came))
		return false;
	uint32_t ask = dtc_traverse_find_asking(t, came);
	if (ask == DTC_NONE)
		return false;
	const struct dtc_call asking = dtc_history_copy_call(h, ask);
	return asking.begin_ns >= question->read_ns && asking.begin_ns <= before_ns &&
	       (asking.thread != t->stand.thread || asking.thread != question->thread) &&
	       dtc_history_get_thread(h, asking.thread)->pid == dtc_history_get_thread(h, t->stand.thread)->pid &&
	       asked_for_no_other(t, node, ask, question->arrival.time_ns);
}

/* What the stand's thread had read for the request that it wrote for. */
struct own {
	uint32_t read;
	struct dtc_arrival arrival;
	bool is_inferred;
};

/* Whether the thread asked anybody for the request in between, behind a poll that could wait. */
static bool asked_again(const struct dtc_traverse *t, guint request, uint32_t from, uint32_t to)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	bool has_waited = false;
	if (to - from > PAUSE_CALLS)
		return true;
	for (uint32_t i = from + 1; i < to; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		const struct dtc_owned *owned =
			has_waited ? dtc_serving_find_owned(t->of->serving, t->stand.node, i, 0) : NULL;
		if (owned && owned->request == request)
			return true;
		has_waited |= call->kind == DTC_CALL_POLL && call->argument;
	}
	return false;
}

/*
 * False if it is not known. Where it is not told who sent what was read last (a Unix connection from before the trace),
 * it is the question, if there is one, since which the loop may have waited for that.
 */
static bool find_own(const struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question, struct own *ret_own)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	const struct dtc_owned *owned = !t->of->serving || call == DTC_NONE
						? NULL
						: dtc_serving_find_owned(t->of->serving, stand->node, call, 0);
	if (!owned || owned->read == DTC_NONE || dtc_history_copy_call(h, call).thread != stand->thread)
		return false;
	ret_own->read = owned->read;
	ret_own->is_inferred = owned->is_inferred;
	if (!dtc_arrival_find_for_taken(t->links, stand->node, owned->read, owned->taken, &ret_own->arrival)) {
		uint32_t file = dtc_history_copy_call(h, owned->read).file;
		if (!question || question->thread != stand->thread || question->call >= owned->read ||
		    file == DTC_NONE || dtc_history_get_file(h, file)->flow_in != DTC_NONE ||
		    asked_again(t, owned->request, question->call, owned->read))
			return false;
		ret_own->read = question->call;
		ret_own->arrival = question->arrival;
	}
	return ret_own->arrival.time_ns <= stand->at_ns;
}

bool dtc_traverse_pursue_timer(struct dtc_traverse *t, uint32_t call)
{
	struct dtc_stand *stand = &t->stand;
	struct own own;
	struct lull lull;
	if (!find_own(t, call, NULL, &own) || !find_lull(t, own.read, call, &lull) || !lull.has_own_timer)
		return false;
	stand->purpose = DTC_PURPOSE_ARRIVAL;
	stand->arrival = own.arrival;
	stand->pause = lull.pause;
	stand->pause.begin_ns = MAX(stand->pause.begin_ns, own.arrival.time_ns);
	t->link = DTC_LINK_INFERRED;
	return true;
}

bool dtc_traverse_pursue_child(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question)
{
	struct dtc_stand *stand = &t->stand;
	struct own own;
	struct lull lull;
	if (call == DTC_NONE)
		return false;
	if (find_own(t, call, question, &own)) {
		if (!find_lull(t, own.read, call, &lull) ||
		    !dtc_traverse_find_reaped(t, own.read, call, lull.pause.begin_ns, &stand->giver, &stand->given_ns))
			return false;
		stand->arrival = own.arrival;
	} else {
		if (!question || !dtc_traverse_find_reaped_beside(t, question, call, &stand->giver, &stand->given_ns))
			return false;
		stand->arrival = question->arrival;
	}
	stand->purpose = DTC_PURPOSE_GIVEN;
	t->link = DTC_LINK_INFERRED;
	return true;
}

/* Whether a connection was accepted in the turn before a poll. */
static bool was_just_accepted(const DtcHistory *h, uint32_t file, uint32_t poll)
{
	struct dtc_call place;
	uint32_t accept = file == DTC_NONE ? DTC_NONE : dtc_history_get_file(h, file)->accept;
	if (accept == DTC_NONE || accept >= poll || poll - accept > TURN_CALLS ||
	    dtc_history_get_call(h, accept, &place)->thread != dtc_history_copy_call(h, poll).thread)
		return false;
	for (uint32_t i = accept + 1; i < poll; i++) {
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call))
			return false;
	}
	return true;
}

/*
 * The turn of a write began with a poll that returned at once, for the question of a client that the turn before had
 * accepted: it had come meanwhile, and the write follows from it (redis, whose new client pushes what a BLPOP waits
 * for). False if it is not so.
 */
static bool find_brought(const struct dtc_traverse *t, uint32_t poll, uint32_t write, struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, poll, &place);
	if (call->result <= 0 || call->end_ns == DTC_TIME_NONE || call->end_ns - call->begin_ns >= AT_ONCE_NS)
		return false;
	for (uint32_t i = write, seen = 0; --i > poll && seen < TURN_CALLS; seen++) {
		call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_READ && call->result > 0)
			return was_just_accepted(h, call->file, poll) &&
			       dtc_arrival_find_for_read(t->links, t->stand.node, i, ret_arrival);
	}
	return false;
}

bool dtc_traverse_pursue_own(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_call place;
	if (!t->of->serving || call == DTC_NONE || is_opening(t, h, dtc_history_get_call(h, call, &place)))
		return false;
	struct own own;
	if (!find_own(t, call, question, &own))
		return false;
	struct dtc_arrival nearest = stand->arrival;
	bool is_others = stand->purpose == DTC_PURPOSE_ARRIVAL && nearest.time_ns > own.arrival.time_ns;
	stand->purpose = DTC_PURPOSE_ARRIVAL;
	stand->arrival = own.arrival;
	if (own.is_inferred)
		t->link = DTC_LINK_INFERRED;
	struct lull lull;
	if (!find_lull(t, own.read, call, &lull))
		return true;
	stand->pause = lull.pause;
	if (question && is_others && may_be_asked_beside(t, &nearest, question, stand->pause.begin_ns)) {
		stand->arrival = nearest;
		stand->pause = DTC_PAUSE_NONE;
		t->doubt_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, stand->node, question->arrival.time_ns);
		return true;
	}
	struct dtc_call poll_place;
	const struct dtc_call *poll = dtc_history_get_call(h, stand->pause.poll, &poll_place);
	stand->pause.begin_ns = MAX(stand->pause.begin_ns, own.arrival.time_ns);
	is_others = is_others || find_brought(t, stand->pause.poll, call, &nearest);
	/* another request's bytes began the turn: they are followed as long as this one lay still */
	if (is_others && poll->result != 0 && !stand->pause.is_due && nearest.time_ns > stand->pause.begin_ns &&
	    dtc_traverse_go_aside(t, stand->pause.begin_ns)) {
		/* that the other's bytes are why is told by the order in the turn alone: it may have been a timer */
		int64_t begin_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, stand->node, stand->pause.begin_ns);
		t->doubt_cluster_ns = MIN(t->doubt_cluster_ns, begin_cluster_ns);
		stand->arrival = nearest;
		stand->pause = DTC_PAUSE_NONE;
		stand->owner = 0;
	}
	return true;
}

bool dtc_traverse_is_others(const struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	if (arrival->packet == DTC_NONE && !arrival->is_local)
		return false;
	uint32_t read = arrival->is_local ? dtc_arrival_find_local_read(t->links, arrival)
					  : dtc_links_find_read(t->links, arrival->node, arrival->packet);
	return read != DTC_NONE && is_others_read(t, arrival->node, read);
}

bool dtc_traverse_ends_pause(const struct dtc_traverse *t, const struct dtc_interval *wait)
{
	const struct dtc_stand *stand = &t->stand;
	struct dtc_call place;
	if (stand->purpose != DTC_PURPOSE_ARRIVAL || stand->pause.poll == DTC_NONE || wait->call == DTC_NONE)
		return false;
	/* the poll that tells of the timer may have returned at once */
	return wait->call == stand->pause.poll ||
	       (stand->pause.is_due && wait->call < stand->pause.poll && wait->end_ns > stand->pause.begin_ns &&
		dtc_history_get_call(dtc_links_get_history(t->links, stand->node), wait->call, &place)->kind ==
			DTC_CALL_POLL);
}
