/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread's calls, in time order. */
#include "analyze/request/serving_scan_build.h"

#include "analyze/edge/streams.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/request/begun.h"
#include "analyze/request/calling.h"
#include "analyze/request/next_act.h"
#include "analyze/request/woken.h"

#include <dtrace-chain/bisect.h>

/* Marks that are looked at for the next write of what is in a thread's hands. */
#define TURN_MARKS 64

/* For whom a thread asked to be told when there is room on a connection. */
struct asked_room {
	guint request;
	guint other; /* as of a span */
};

/* A call that answers in several streams is the first one's. */
static void add_span(struct scan *scan, guint request, guint other, int64_t end_ns, bool leads)
{
	struct dtc_served span = { scan->since_ns, end_ns, request, leads, other };
	const GArray *spans = scan->worker->spans;

	if (!scan->is_last || request >= STRANGER) /* only what the last scan leaves is looked at */
		return;
	if (spans->len)
		span.begin_ns = MAX(span.begin_ns, g_array_index(spans, struct dtc_served, spans->len - 1).end_ns);
	dtc_serving_cut(scan->serving, request, scan->worker->node, scan->worker->thread, &span.begin_ns, &span.end_ns);
	if (span.end_ns > span.begin_ns)
		g_array_append_val(scan->worker->spans, span);
}

/* If the work went on over a poll, and what comes next is not of it, then the poll was left for something else. */
static void pause(struct scan *scan, int64_t at_ns)
{
	int64_t end_ns = scan->woken_ns == DTC_TIME_NONE ? at_ns : scan->woken_ns;

	scan->woken_ns = DTC_TIME_NONE;
	if (scan->current == NOBODY)
		return;
	add_span(scan, scan->current, scan->other, end_ns, false);
	scan->current = NOBODY;
	scan->other = DTC_NO_REQUEST;
	scan->since_ns = end_ns;
}

static void become(struct scan *scan, guint request, guint other, int64_t at_ns)
{
	if (request != scan->current && scan->woken_ns != DTC_TIME_NONE)
		pause(scan, at_ns);
	if (scan->woken_ns != DTC_TIME_NONE) { /* ready, and not yet at work */
		add_span(scan, scan->current, scan->other, scan->woken_ns, false);
		scan->since_ns = dtc_woken_get_run_ns(scan->history, scan->worker->thread, scan->woken_ns);
	}
	scan->woken_ns = DTC_TIME_NONE;
	if (request == scan->current && other == scan->other)
		return;
	if (scan->current == NOBODY)
		add_span(scan, request, other, at_ns, true);
	else
		add_span(scan, scan->current, scan->other, at_ns, false);
	scan->current = request;
	scan->other = other;
	scan->since_ns = at_ns;
}

static struct dtc_channel *get_connection(struct scan *scan, uint32_t file, uint32_t channel, uint32_t stream,
					  bool has_read)
{
	struct dtc_channel *c = dtc_channels_find(scan->channels, channel);

	if (!c) {
		c = dtc_channels_add(scan->channels, channel);
		c->request = STRANGER;
		c->other = DTC_NO_REQUEST;
		if (dtc_datagrams_is_socket(scan->history, file))
			c->in_flight = dtc_in_flight_new(STRANGER);
		c->is_server = dtc_streams_is_server(scan->history, file, stream, has_read);
	}
	return c;
}

static void forget_questions(gpointer data, uint32_t channel)
{
	struct scan *scan = data;

	dtc_questions_close(scan->questions, channel);
	dtc_questions_end_asking(scan->questions, channel);
}

/* Forgets what was on a descriptor. */
static void drop_connection(struct scan *scan, uint32_t file)
{
	dtc_channels_drop(scan->channels, file, forget_questions, scan);
}

/* The next write, or read, of data on a connection and stream after a time; DTC_NONE: none that is near. */
static uint32_t find_next(const struct scan *scan, uint32_t file, uint32_t stream, bool written, int64_t time_ns)
{
	return dtc_streams_find_next(scan->serving->links, scan->worker->node, file, stream, written, time_ns);
}

static bool will_answer(const struct scan *scan, const struct moved *read)
{
	uint32_t write = find_next(scan, read->call->file, read->stream, true, read->call->begin_ns);

	return write != DTC_NONE && dtc_history_copy_call(scan->history, write).thread == scan->worker->thread;
}

/*
 * A server may sleep in the middle of a question: a database in its query, a loop until a timer or until its own server
 * has answered. If one question is open, it sleeps for that one; if there are several, the next call tells.
 */
static void scan_poll(struct scan *scan, const struct dtc_call *call)
{
	uint32_t channel;

	/* what follows may be for any of those that were read; the next call tells */
	if (dtc_call_is_glance(call)) {
		scan->is_put_off = true;
		if (scan->is_turn_mixed)
			pause(scan, call->begin_ns);
		return;
	}
	if (call->argument) { /* a loop that has work at hand looks for more without waiting */
		scan->turn_request = NOBODY;
		scan->read_file = DTC_NONE;
		scan->is_turn_mixed = scan->is_at_once = false;
		dtc_turn_order_clear(&scan->order);
	}
	const struct dtc_channel *c =
		dtc_questions_get_only(scan->questions, &channel) ? dtc_channels_find(scan->channels, channel) : NULL;
	if (!c || dtc_channel_is_shared(c) || dtc_channel_is_mixed(c)) {
		pause(scan, call->begin_ns);
		return;
	}
	become(scan, c->request, c->other, call->begin_ns);
	scan->woken_ns = dtc_woken_get_ns(scan->history, scan->worker->thread, call);
}

/* A call of the current request on one end of a followed hop: it lasts at least as long. */
static void note_hop_end(struct scan *scan, const struct dtc_call *call, bool is_server)
{
	const struct end end = { scan->worker->node, call->file, scan->current };
	gpointer index = g_hash_table_lookup(scan->serving->ends, &end);
	int64_t end_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;

	if (!index || index == CAPTURED)
		return;
	struct dtc_followed_hop *hop =
		&g_array_index(scan->serving->hops, struct dtc_followed_hop, GPOINTER_TO_UINT(index) - 1);
	int64_t *to_ns = is_server ? &hop->server_end_ns : &hop->client_end_ns;
	*to_ns = MAX(*to_ns, end_ns);
}

/* Whether the other end of a connection that this thread asked on has still to answer. */
static void note_asked(struct scan *scan, uint32_t channel, const struct dtc_channel *c)
{
	if (!c->is_server && !c->answered && c->request < STRANGER)
		dtc_questions_ask(scan->questions, channel, c->request);
	else
		dtc_questions_end_asking(scan->questions, channel);
}

/* The last look: what a read took for a request, all or up to the end of a message. */
static void note_read(struct scan *scan, const struct dtc_channel *c, const struct moved *moved, guint request,
		      uint32_t upto)
{
	struct dtc_owned *read = g_hash_table_lookup(scan->reads, GUINT_TO_POINTER(request));
	const struct dtc_call *call = moved->call;

	if (!read) {
		read = g_new(struct dtc_owned, 1);
		g_hash_table_insert(scan->reads, GUINT_TO_POINTER(request), read);
	}
	*read = (struct dtc_owned){ .request = request,
				    .read = moved->id,
				    .taken = upto < call->result || moved->number ? upto : 0,
				    .is_inferred = c->by_order,
				    .other = c->other };
	if (c->is_server)
		return;
	const int64_t at_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;
	const struct taking taking = { request, scan->worker->node, { scan->worker->thread, moved->id, at_ns }, at_ns };
	g_array_append_val(scan->serving->takings, taking);
}

/* Nobody is known, or it was answered before a call: a thread may still be at what it was asked. */
static bool is_over(const struct scan *scan, guint request, const struct dtc_call *call)
{
	int64_t begin_ns = call->begin_ns, end_ns = begin_ns + 1;

	if (request >= STRANGER)
		return true;
	dtc_serving_cut(scan->serving, request, scan->worker->node, scan->worker->thread, &begin_ns, &end_ns);
	return begin_ns >= end_ns;
}

static void note_question(const struct scan *scan, struct dtc_channel *c, guint request, const struct dtc_call *call)
{
	if (request >= STRANGER)
		return;
	for (guint i = dtc_channel_count_asked(c); i-- > 0;)
		if (is_over(scan, dtc_channel_get_asked(c, i), call))
			dtc_channel_end_asked(c, dtc_channel_get_asked(c, i));
	dtc_channel_add_asked(c, request);
}

static bool is_unanswered(gconstpointer data, guint request)
{
	const struct scan *scan = data;

	return is_over(scan, request, scan->call);
}

/*
 * For whom a datagram of several questions' answers was: that of the question which the turn that reads it answers. So
 * it was written for that one, too, by whoever could not tell that.
 */
static guint find_taken_for(struct scan *scan, const struct moved *read)
{
	uint32_t answer =
		read->number ? DTC_NONE : dtc_next_act_find_led_to(scan->serving->links, scan->worker->node, read->id);
	guint request = dtc_scan_find_led_to(scan, read->call->begin_ns, answer);
	const struct message message = {
		.node = scan->worker->node, .call = read->id, .request = request, .other = DTC_NO_REQUEST
	};

	if (!scan->is_last && request < STRANGER)
		g_array_append_val(scan->serving->messages, message);
	return request;
}

/* What a peer of datagrams is answered, or answers, where nothing marks it: of several questions any. */
static void tell_answered(struct scan *scan, struct dtc_channel *c, const struct moved *moved)
{
	guint last;

	scan->call = moved->call;
	dtc_in_flight_forget(c->in_flight, is_unanswered, scan);
	if (moved->mark) {
		c->request = moved->mark->request;
		c->other = moved->mark->other;
	} else if (dtc_channel_is_mixed(c)) {
		c->request = c->is_server ? STRANGER : find_taken_for(scan, moved);
		c->other = DTC_NO_REQUEST;
		c->by_order = c->request < STRANGER;
	} else if (dtc_in_flight_get_last(c->in_flight, &last)) {
		c->request = last;
	}
	dtc_in_flight_end(c->in_flight, c->request);
}

/*
 * An answer, which its writer gave to another request by the order of questions only, is for the one that the turn
 * answers which reads it: the writer is told.
 */
static void correct_taken(struct scan *scan, struct dtc_channel *c, const struct moved *moved)
{
	const struct mark *mark = moved->mark;

	if (!mark || mark->role != ROLE_ANSWER || mark->by_bytes || moved->stream || c->in_flight)
		return;
	uint32_t answer = dtc_next_act_find_led_to(scan->serving->links, scan->worker->node, moved->id);
	guint request = dtc_scan_find_led_to(scan, moved->call->begin_ns, answer);
	if (request >= STRANGER || request == mark->request)
		return;
	c->request = request;
	c->other = DTC_NO_REQUEST;
	const struct message message = { .node = scan->worker->node,
					 .call = moved->id,
					 .request = request,
					 .other = DTC_NO_REQUEST,
					 .writer_node = mark->from_node,
					 .writer = mark->from };
	if (!scan->is_last && mark->from != DTC_NONE)
		g_array_append_val(scan->serving->messages, message);
}

static void scan_read(struct scan *scan, const struct moved *moved)
{
	const struct dtc_call *call = moved->call;
	struct dtc_channel *c = get_connection(scan, call->file, moved->channel, moved->stream, true);

	if (moved->mark) {
		c->request = moved->mark->request;
		c->other = moved->mark->other;
		if (moved->mark->role != ROLE_NONE)
			c->is_server = moved->mark->role == ROLE_QUESTION;
		correct_taken(scan, c, moved);
	} else if (c->is_server && (c->answered || c->in_flight)) {
		c->request = STRANGER;
		c->other = DTC_NO_REQUEST;
	}
	if (c->in_flight && c->is_server)
		dtc_in_flight_add(c->in_flight, c->request);
	else if (c->in_flight)
		tell_answered(scan, c, moved);
	c->answered = !c->is_server;
	note_asked(scan, moved->channel, c);
	if (c->is_server && (dtc_questions_is_open(scan->questions, moved->channel) || will_answer(scan, moved)))
		dtc_questions_open(scan->questions, moved->channel, c->request, call->end_ns);
	if (c->is_server)
		note_question(scan, c, c->request, call);
	scan->is_turn_mixed |= scan->turn_request != NOBODY && scan->turn_request != c->request;
	scan->turn_request = c->request;
	scan->read_file = call->file;
	scan->is_handed_on = false;
	g_array_set_size(scan->in_hand, 0);
	scan->is_put_off = false;
	dtc_turn_order_add(&scan->order, moved->channel, c->request);
	become(scan, c->request, c->other, call->begin_ns);
	if (!scan->is_last || scan->current >= STRANGER)
		return;
	note_read(scan, c, moved, scan->current, moved->mark && !moved->number ? moved->mark->upto : moved->number);
	if (!c->is_server)
		note_hop_end(scan, call, false);
}

/* Messages of others behind the first one that a read took: the thread has them, and goes on with the first. */
static void scan_more(struct scan *scan, const struct moved *moved, const struct mark *marks, guint mark_count)
{
	struct dtc_channel *c = get_connection(scan, moved->call->file, moved->channel, moved->stream, true);

	for (guint i = 0; i < mark_count; i++) {
		if (!moved->mark || !moved->mark->upto || marks[i].upto <= moved->mark->upto ||
		    marks[i].request == moved->mark->request)
			continue;
		scan->is_turn_mixed = true;
		dtc_turn_order_add(&scan->order, moved->channel, marks[i].request);
		g_array_append_val(scan->in_hand, marks[i].request);
		if (c->is_server)
			note_question(scan, c, marks[i].request, moved->call);
		if (scan->is_last)
			note_read(scan, c, moved, marks[i].request, marks[i].upto);
	}
}

static void note_owned(struct scan *scan, const struct dtc_channel *c, uint32_t id, uint32_t stream, bool is_inferred)
{
	const struct dtc_owned *read = g_hash_table_lookup(scan->reads, GUINT_TO_POINTER(scan->current));
	struct dtc_owned owned = { .call = id,
				   .request = scan->current,
				   .read = read ? read->read : DTC_NONE,
				   .taken = read ? read->taken : 0,
				   .stream = stream,
				   .is_inferred = is_inferred || c->by_order || (read && read->is_inferred),
				   .other = scan->other };

	g_array_append_val(scan->worker->owned, owned);
	if (c->is_server)
		return;
	const struct asking asking = { scan->current, scan->worker->node, scan->worker->thread,
				       dtc_history_get_call_begin_ns(scan->history, id) };
	g_array_append_val(scan->serving->askings, asking);
}

/* The request that the thread sends itself: whatever else it asks is not for that. h2load has many open at once. */
static bool is_its_own(const struct scan *scan, guint request)
{
	return dtc_serving_is_client(scan->serving, request, scan->worker->node, scan->worker->thread);
}

/* Bytes for others, which nothing but the order of the calls gives to a request. */
static void scan_question(struct scan *scan, struct dtc_channel *c, const struct moved *moved)
{
	const struct dtc_call *call = moved->call;
	const struct asked asked = dtc_scan_get_asked(scan, moved);
	guint correlated =
		scan->current < STRANGER && !scan->is_turn_mixed ? STRANGER : dtc_scan_find_correlated(scan, &asked);

	if (correlated < STRANGER) {
		c->by_order = true;
		c->other = DTC_NO_REQUEST;
		become(scan, correlated, c->other, call->begin_ns);
		return;
	}
	if (c->answered) {
		c->by_order = false;
		c->other = DTC_NO_REQUEST;
	} else if (is_its_own(scan, c->request)) { /* it goes on with what it asks */
		become(scan, c->request, c->other, call->begin_ns);
		return;
	}
	if (c->is_new ||
	    (scan->current == NOBODY && !c->answered && !dtc_channel_is_mixed(c))) /* it had to be waited for */
		become(scan, c->request, c->other, call->begin_ns);
	if (scan->current < STRANGER &&
	    (!dtc_scan_may_be_for(&asked, scan->current) || is_its_own(scan, scan->current))) {
		become(scan, STRANGER, DTC_NO_REQUEST, call->begin_ns);
		c->is_new = false;
	}
	/* a turn with the bytes of several requests acts in the order in which it read them */
	bool is_next = !c->is_new && (scan->is_at_once || (scan->is_turn_mixed && scan->is_put_off &&
							   dtc_turn_order_get(&scan->order, STRANGER) < STRANGER));
	if (scan->current < STRANGER && !is_next)
		return;
	c->other = DTC_NO_REQUEST;
	guint asker = dtc_scan_find_asker(scan, c, &asked, moved, &c->other);
	c->by_order = asker < STRANGER;
	g_hash_table_remove(scan->twins, GUINT_TO_POINTER(asker));
	if (c->other != DTC_NO_REQUEST)
		g_hash_table_insert(scan->twins, GUINT_TO_POINTER(c->other), GUINT_TO_POINTER(asker + 1));
	if (asker < STRANGER || scan->current >= STRANGER || scan->is_at_once)
		become(scan, asker, c->other, call->begin_ns);
}

/* A request's question on the connection is not answered yet, whichever thread of the process has read it. */
static bool has_asked(const struct scan *scan, const struct moved *moved, const struct dtc_channel *c, guint request)
{
	if (request >= STRANGER)
		return false;
	return dtc_channel_has_asked(c, request) ||
	       (!moved->stream && !c->in_flight &&
		dtc_unanswered_has(scan->serving->unanswered, scan->worker->node, moved->call, request));
}

/*
 * Whether a server asks the other end: it acts on what it has just read, and what it writes on another
 * connection answers nobody who waits there: a broker passes the request on to a worker (RabbitMQ, BLPOP of redis).
 */
static bool is_passed_on(const struct scan *scan, const struct moved *moved, const struct dtc_channel *c)
{
	if (moved->mark)
		return moved->mark->is_passed_on && c->is_server && c->request != moved->mark->request &&
		       !has_asked(scan, moved, c, moved->mark->request);
	if (moved->stream || c->in_flight || !c->is_server || scan->current >= STRANGER ||
	    (scan->is_turn_mixed && (scan->is_put_off || scan->is_at_once)) || has_asked(scan, moved, c, scan->current))
		return false;
	return is_over(scan, c->request, moved->call); /* whose it was is answered long since */
}

/*
 * Whether what a write has in common with a message that its process had received tells for whom it is. Whom a server
 * answers is known without, and what it asks others for, unless either is in doubt: a row that one request wrote into a
 * database is read by others. Whom others asked to let them work, a worker, is told what these had asked.
 */
static bool tells(const struct scan *scan, const struct moved *moved, const struct dtc_channel *c)
{
	const struct mark *mark = moved->mark;
	guint known = c->is_server ? c->request : scan->current, other = c->is_server ? c->other : scan->other;

	if (is_over(scan, mark->request, moved->call))
		return false;
	return known == mark->request || other != DTC_NO_REQUEST || is_over(scan, known, moved->call) ||
	       (c->is_server && (dtc_channel_is_shared(c) || has_asked(scan, moved, c, mark->request))) ||
	       (!c->is_server && dtc_endpoint_is_server(scan->history, moved->call->file));
}

/*
 * While it works for a request, a loop asks to be told of room on another connection than the one that it has read: it
 * will write there for that request, in a turn of its own (beanstalkd, libevent's bufferevents).
 */
static void scan_register(struct scan *scan, const struct dtc_call *call)
{
	gpointer file = GUINT_TO_POINTER((uint32_t)call->argument);
	const struct asked_room asked = { scan->current, scan->other };

	if (call->argument == DTC_NONE || call->argument == scan->read_file)
		return;
	if (scan->current < STRANGER && scan->turn_request == scan->current)
		g_hash_table_insert(scan->asked_room, file, g_memdup2(&asked, sizeof(asked)));
	else if (scan->turn_request != NOBODY)
		g_hash_table_remove(scan->asked_room, file);
}

/* A turn in which nothing was read writes for whom it was asked to be told of room. */
static void take_room(struct scan *scan, const struct moved *moved)
{
	gpointer file = GUINT_TO_POINTER(moved->call->file);
	const struct asked_room *asked = g_hash_table_lookup(scan->asked_room, file);

	if (!asked)
		return;
	if (!moved->mark && !moved->stream && scan->current >= STRANGER && scan->turn_request == NOBODY)
		become(scan, asked->request, asked->other, moved->call->begin_ns);
	g_hash_table_remove(scan->asked_room, file);
}

/* A datagram asks; or those that are still to be answered keep the question open. */
static void note_in_flight(struct scan *scan, const struct dtc_channel *c, const struct moved *moved)
{
	guint last;

	if (c->in_flight && !c->is_server)
		dtc_in_flight_add(c->in_flight, c->request);
	else if (c->in_flight && dtc_in_flight_get_last(c->in_flight, &last))
		dtc_questions_open(scan->questions, moved->channel, last, moved->call->begin_ns);
}

/*
 * A worker's answer went to whom it is for, and now the worker is told that it was taken: no next question (LPUSH of
 * redis).
 */
static bool is_acknowledged(const struct scan *scan, const struct moved *moved, const struct dtc_channel *c)
{
	return !moved->mark && !moved->stream && !c->in_flight && !c->is_server && c->answered && scan->is_handed_on &&
	       scan->read_file == moved->call->file && scan->current == NOBODY && c->request < STRANGER;
}

/* Of the datagrams that one call took a thread is at that which it answers next, if it does nothing else before. */
static void take_next(struct scan *scan, const struct dtc_call *call, uint32_t id, int64_t at_ns)
{
	uint32_t stream = scan->in_hand->len ? dtc_next_act_find_peer(scan->serving->links, scan->worker->node, id) : 0;
	const struct dtc_channel *c =
		stream ? dtc_channels_find(scan->channels, dtc_channels_get_number(scan->channels, call->file, stream))
		       : NULL;

	for (guint k = 0; c && c->is_server && k < scan->in_hand->len; k++)
		if (g_array_index(scan->in_hand, guint, k) == c->request)
			become(scan, c->request, c->other, at_ns);
}

/*
 * It has answered one of the messages that a read brought together, and goes on with the next one, as the first of its
 * later writes of which that is known tells.
 */
static void go_on(struct scan *scan, const struct moved *moved, int64_t at_ns)
{
	const GArray *marks = scan->worker->marks;
	guint first = DTC_BISECT(i, 0, marks->len, g_array_index(marks, struct mark, i).call <= moved->id);

	for (guint i = first; scan->in_hand->len && i < MIN(marks->len, first + TURN_MARKS); i++) {
		const struct mark *mark = &g_array_index(marks, struct mark, i);
		for (guint k = 0; mark->is_passed_on && k < scan->in_hand->len; k++) {
			if (g_array_index(scan->in_hand, guint, k) != mark->request)
				continue;
			become(scan, mark->request, mark->other, at_ns);
			return;
		}
	}
	take_next(scan, moved->call, moved->id, at_ns);
}

/*
 * Whom a server answers, where nothing tells: of several who wait on the connection the one who has longest. Protocols
 * whose answers bear nothing of their questions have them in order.
 */
static guint find_answered(const struct scan *scan, const struct moved *moved, struct dtc_channel *c)
{
	guint first = STRANGER, waiting = 0;

	if (!c->is_server || moved->stream || c->in_flight)
		return c->request;
	for (guint i = 0; i < dtc_channel_count_asked(c); i++) {
		guint request = dtc_channel_get_asked(c, i);
		if (is_over(scan, request, moved->call))
			continue;
		first = waiting++ ? first : request;
	}
	c->by_order = waiting > 1;
	return waiting ? first : c->request;
}

static void scan_write(struct scan *scan, struct moved *moved)
{
	const struct dtc_call *call = moved->call;
	struct dtc_channel *c = get_connection(scan, call->file, moved->channel, moved->stream, false);

	if (moved->mark && moved->mark->is_passed_on && !tells(scan, moved, c)) {
		moved->mark = NULL;
		scan->worker->has_doubt = true;
	}
	take_room(scan, moved);
	dtc_questions_close(scan->questions, moved->channel);
	bool is_acknowledgement = is_acknowledged(scan, moved, c);
	if (is_passed_on(scan, moved, c))
		c->is_server = false;
	if (c->in_flight && c->is_server)
		tell_answered(scan, c, moved);
	if (moved->mark)
		become(scan, moved->mark->request, moved->mark->other, call->begin_ns);
	else if (c->is_server && !c->in_flight && has_asked(scan, moved, c, scan->current))
		become(scan, scan->current, scan->other, call->begin_ns); /* what it has just read is for one of them */
	else if (c->is_server || is_acknowledgement)
		become(scan, find_answered(scan, moved, c), c->other, call->begin_ns);
	else
		scan_question(scan, c, moved);
	dtc_turn_order_take(&scan->order, scan->current);
	if (scan->current >= STRANGER) {
		if (!c->is_server)
			c->request = STRANGER;
		note_asked(scan, moved->channel, c);
		note_in_flight(scan, c, moved);
		return;
	}
	scan->is_handed_on |= call->file != scan->read_file;
	if (!c->is_server && !is_acknowledgement) {
		c->request = scan->current;
		c->other = scan->other;
		c->answered = c->is_new = false;
		note_asked(scan, moved->channel, c);
	}
	note_in_flight(scan, c, moved);
	if (scan->is_last) {
		note_owned(scan, c, moved->id, moved->stream, moved->mark && moved->mark->is_passed_on);
		if (c->is_server)
			note_hop_end(scan, call, true);
	} else {
		const struct message message = { .node = scan->worker->node,
						 .call = moved->id,
						 .request = scan->current,
						 .other = scan->other,
						 .stream = moved->stream,
						 .skip = moved->skip,
						 .number = moved->number,
						 .is_answer = c->is_server,
						 .by_bytes = moved->mark && moved->mark->is_passed_on };
		g_array_append_val(scan->serving->messages, message);
	}
	if (c->is_server && !moved->stream && !c->in_flight)
		dtc_unanswered_answer(scan->serving->unanswered, scan->worker->node, moved->id, scan->current);
	if (c->is_server || is_acknowledgement) {
		int64_t at_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;
		c->answered = true;
		dtc_channel_end_asked(c, scan->current);
		pause(scan, at_ns);
		go_on(scan, moved, at_ns);
	}
}

static bool is_connection(const DtcHistory *history, const struct dtc_call *call)
{
	return call->file != DTC_NONE && dtc_history_get_file(history, call->file)->kind == DTC_FILE_SOCKET;
}

/* A connection was opened for a request. */
static void note_opened(struct scan *scan, const struct dtc_channel *c, uint32_t id)
{
	const struct message message = {
		.node = scan->worker->node, .call = id, .request = c->request, .other = c->other
	};

	if (scan->is_last)
		note_owned(scan, c, id, 0, false);
	else
		g_array_append_val(scan->serving->messages, message);
}

/* Several datagrams of one call, each by itself. The thread has read all that there was before it acts. */
static void scan_datagrams(struct scan *scan, uint32_t id, const struct mark *marks, guint mark_count)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(scan->history, id, &call_place);
	const DtcLinks *links = scan->serving->links;
	g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(guint));

	for (uint32_t number = 1; number <= dtc_datagrams_count(call); number++) {
		struct moved moved = { .call = call, .id = id, .number = number };
		moved.stream =
			dtc_streams_get_of_datagram(links, scan->worker->node, (struct dtc_datagram){ id, number });
		moved.channel = dtc_channels_get_number(scan->channels, call->file, moved.stream);
		for (guint k = 0; k < mark_count && !moved.mark; k++)
			if (!marks[k].upto || marks[k].upto == number)
				moved.mark = &marks[k];
		if (call->kind == DTC_CALL_WRITE) {
			scan_write(scan, &moved);
			continue;
		}
		scan_read(scan, &moved);
		if (scan->current < STRANGER)
			g_array_append_val(taken, scan->current);
	}
	if (call->kind == DTC_CALL_WRITE || !scan->is_turn_mixed)
		return;
	scan->is_put_off = true;
	pause(scan, call->end_ns);
	g_array_append_vals(scan->in_hand, taken->data, taken->len);
	take_next(scan, call, id, call->end_ns);
}

/* Of several streams each by itself, in the order of their bytes; what only controls the connection is nobody's. */
static void scan_moved(struct scan *scan, uint32_t id, const struct mark *marks, guint mark_count)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(scan->history, id, &call_place);
	struct moved moved = { .call = call, .id = id, .channel = call->file };
	struct dtc_streams streams;

	dtc_streams_look(scan->serving->links, scan->worker->node, id, &streams);
	for (guint i = 0; i < (streams.is_known ? streams.count : 1); i++) {
		if (streams.is_known) {
			moved.stream = streams.streams[i];
			moved.skip = streams.skips[i];
			moved.channel = dtc_channels_get_number(scan->channels, call->file, moved.stream);
		}
		moved.mark = NULL;
		for (guint k = 0; k < mark_count && !moved.mark; k++)
			if (!marks[k].stream || marks[k].stream == moved.stream || !streams.is_known)
				moved.mark = &marks[k];
		if (call->kind != DTC_CALL_READ) {
			scan_write(scan, &moved);
			continue;
		}
		scan_read(scan, &moved);
		if (!streams.is_known)
			scan_more(scan, &moved, marks, mark_count);
	}
	if (call->kind != DTC_CALL_READ)
		return;
	scan->is_at_once = streams.is_known && streams.count > 1; /* nghttpx asks for the last one first */
	if (scan->is_at_once)
		become(scan, STRANGER, DTC_NO_REQUEST, call->begin_ns);
}

/* A thread calls a loop of its process, which goes on for whom it works; or this loop was called. */
static void scan_calling(struct scan *scan, const struct dtc_call *call, uint32_t id, const struct mark *mark)
{
	if (scan->current < STRANGER && !scan->is_last && dtc_calling_is_call(scan->history, call))
		dtc_calling_note(scan->serving, scan->worker->node, id, scan->current, scan->other);
	if (!mark || call->kind != DTC_CALL_READ)
		return;
	scan->is_turn_mixed |= scan->turn_request != NOBODY && scan->turn_request != mark->request;
	scan->turn_request = mark->request;
	become(scan, mark->request, mark->other, call->begin_ns);
}

static void scan_call(struct scan *scan, uint32_t id, const struct mark *marks, guint mark_count)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(scan->history, id, &call_place);
	const struct mark *mark = mark_count ? marks : NULL;
	bool has_moved = call->result > 0 && is_connection(scan->history, call);

	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_POLL:
		scan_poll(scan, call);
		break;
	case DTC_CALL_ACCEPT:
		pause(scan, call->begin_ns);
		if (mark)
			become(scan, mark->request, mark->other, call->begin_ns);
		break;
	case DTC_CALL_READ:
	case DTC_CALL_WRITE:
		if (!has_moved)
			scan_calling(scan, call, id, mark);
		if (has_moved && dtc_datagrams_count(call) > 1)
			scan_datagrams(scan, id, marks, mark_count);
		else if (has_moved)
			scan_moved(scan, id, marks, mark_count);
		break;
	case DTC_CALL_CONNECT:
		if (mark)
			become(scan, mark->request, mark->other, call->begin_ns);
		if (is_connection(scan->history, call)) {
			drop_connection(scan, call->file);
			struct dtc_channel *c = get_connection(scan, call->file, call->file, 0, false);
			c->request = scan->current == NOBODY || (!mark && is_its_own(scan, scan->current))
					     ? STRANGER
					     : scan->current;
			c->other = scan->other;
			c->is_new = true;
			note_asked(scan, call->file, c);
			if (c->request < STRANGER)
				note_opened(scan, c, id);
		}
		break;
	case DTC_CALL_REGISTER:
		scan_register(scan, call);
		break;
	case DTC_CALL_CLOSE:
		if (call->file != DTC_NONE)
			drop_connection(scan, call->file);
		break;
	default:
		break;
	}
	for (guint i = 0; i < mark_count; i++)
		if (marks[i].ends)
			pause(scan, call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns);
}

static int compare_marks(gconstpointer a, gconstpointer b)
{
	const struct mark *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->upto < y->upto ? -1 : x->upto > y->upto;
}

/* It has a question from before its first call. */
static void begin(struct scan *scan, const struct worker *worker, int64_t at_ns)
{
	struct dtc_channel *c = get_connection(scan, worker->begun_file, worker->begun_file, 0, true);

	c->request = worker->begun_request;
	c->is_server = true;
	dtc_questions_open(scan->questions, worker->begun_file, c->request, at_ns);
	scan->turn_request = c->request;
	become(scan, c->request, c->other, at_ns);
}

/* Calls of a thread have consecutive ids, in time order. Before the first mark nothing is known. */
void dtc_serving_scan_worker(DtcServing *serving, struct worker *worker, bool is_last)
{
	const DtcHistory *history = dtc_links_get_history(serving->links, worker->node);
	const struct dtc_thread *thread = dtc_history_get_thread(history, worker->thread);
	struct scan scan = {
		.serving = serving,
		.worker = worker,
		.history = history,
		.channels = dtc_channels_new(),
		.questions = dtc_questions_new(STRANGER),
		.twins = g_hash_table_new(g_direct_hash, g_direct_equal),
		.current = NOBODY,
		.other = DTC_NO_REQUEST,
		.turn_request = NOBODY,
		.since_ns = thread->begin_ns,
		.woken_ns = DTC_TIME_NONE,
		.asked_room = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free),
		.read_file = DTC_NONE,
		.in_hand = g_array_new(FALSE, FALSE, sizeof(guint)),
		.reads = is_last ? g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free) : NULL,
		.is_last = is_last,
	};
	guint next = 0;

	worker->has_doubt = false;
	g_array_sort(worker->marks, compare_marks);
	g_array_set_size(worker->spans, 0);
	uint32_t first = thread->call_first;
	if (worker->begun_file != DTC_NONE) {
		begin(&scan, worker, dtc_history_get_call_begin_ns(history, first));
	} else {
		first = g_array_index(worker->marks, struct mark, 0).call;
		scan.since_ns = dtc_begun_find_work_ns(history, worker->thread, first);
	}
	for (uint32_t id = first; id < thread->call_first + thread->call_count; id++) {
		guint from = next;
		while (next < worker->marks->len && g_array_index(worker->marks, struct mark, next).call == id)
			next++;
		const struct mark *marks = next == from ? NULL : &g_array_index(worker->marks, struct mark, from);
		scan_call(&scan, id, marks, next - from);
	}
	pause(&scan, thread->end_ns);
	worker->is_dirty = false;
	dtc_questions_free(scan.questions);
	g_hash_table_unref(scan.twins);
	dtc_channels_free(scan.channels);
	g_hash_table_unref(scan.asked_room);
	g_array_unref(scan.in_hand);
	g_clear_pointer(&scan.reads, g_hash_table_unref);
	dtc_turn_order_clear(&scan.order);
}
