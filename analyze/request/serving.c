/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving.h"

#include "analyze/exchange/endpoint.h"
#include "analyze/request/inherit.h"
#include "analyze/request/life.h"
#include "analyze/request/next_act.h"
#include "analyze/request/turn_order.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define NOBODY G_MAXUINT	 /* a pause: the next call tells */
#define STRANGER (G_MAXUINT - 1) /* works, for a request that is not known */

/* A call that is known to move a request on. */
struct mark {
	uint32_t call;
	guint request;
	bool ends; /* with it the thread's work for the request is done */
};

struct worker {
	guint node;
	uint32_t thread;
	GArray *marks; /* struct mark; by call when scanned; none: it only inherits */
	GArray *spans; /* struct dtc_served */
	GArray *owned; /* struct dtc_owned, by call */
	bool is_dirty; /* has marks that it was not scanned with */
};

/* What a connection is to the thread that works on it. */
struct connection {
	guint request;	  /* whose bytes are on it, or STRANGER */
	bool is_server;	  /* the other end connected: answers are written to it */
	bool answered;	  /* the next bytes are another request's */
	bool is_new;	  /* connected for the request, and nothing written yet */
	bool by_order;	  /* for whom bytes went out on it is told by order only */
	int64_t asked_ns; /* is_server: when the question was read that is open */
};

/* What was written for a request where the other end may read it. */
struct message {
	guint node;
	uint32_t call;
	guint request;
	bool is_answer;
};

/* One end of a hop: a file, for one request. */
struct end {
	guint node;
	uint32_t file;
	guint request;
};
#define CAPTURED GUINT_TO_POINTER(G_MAXUINT) /* of a hop that a capture shows */

struct DtcServing {
	const DtcLinks *links;
	const DtcClocks *clocks; /* of the links */
	GHashTable *workers;	 /* (node, thread) -> struct worker */
	GPtrArray *order;	 /* the workers; sorted by (node, thread) before they are scanned */
	GHashTable *marked;	 /* (node, call) that have a mark, as keys */
	GHashTable *lives;	 /* request -> struct dtc_life; none: not known */
	GHashTable *ends;	 /* struct end -> index of its hop + 1, or CAPTURED */
	GArray *messages;	 /* struct message: of this round */
	GArray *hops;		 /* struct dtc_followed_hop */
	bool is_sealed;
};

static guint64 *make_key(guint node, uint32_t id)
{
	guint64 key = (guint64)node << 32 | id;

	return g_memdup2(&key, sizeof(key));
}

static gpointer look_up(GHashTable *table, guint node, uint32_t id)
{
	guint64 key = (guint64)node << 32 | id;

	return g_hash_table_lookup(table, &key);
}

static guint end_hash(gconstpointer data)
{
	const struct end *end = data;

	return (end->node * 31 + end->file) * 0x9e3779b1u + end->request;
}

static gboolean end_equal(gconstpointer a, gconstpointer b)
{
	const struct end *x = a, *y = b;

	return x->node == y->node && x->file == y->file && x->request == y->request;
}

static void worker_free(gpointer data)
{
	struct worker *worker = data;

	g_array_unref(worker->marks);
	g_array_unref(worker->spans);
	g_array_unref(worker->owned);
	g_free(worker);
}

DtcServing *dtc_serving_new(const DtcLinks *links)
{
	DtcServing *serving = g_new0(DtcServing, 1);

	serving->links = links;
	serving->clocks = dtc_links_get_clocks(links);
	serving->workers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, worker_free);
	serving->order = g_ptr_array_new();
	serving->marked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	serving->lives = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	serving->ends = g_hash_table_new_full(end_hash, end_equal, g_free, NULL);
	serving->messages = g_array_new(FALSE, FALSE, sizeof(struct message));
	serving->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_followed_hop));
	return serving;
}

void dtc_serving_free(DtcServing *serving)
{
	if (!serving)
		return;
	g_ptr_array_unref(serving->order);
	g_hash_table_unref(serving->workers);
	g_hash_table_unref(serving->marked);
	g_hash_table_unref(serving->lives);
	g_hash_table_unref(serving->ends);
	g_array_unref(serving->messages);
	g_array_unref(serving->hops);
	g_free(serving);
}

/* --- lives --- */

static void add_life(DtcServing *serving, guint request, const struct dtc_place *place)
{
	if (place->thread == DTC_NONE)
		return;
	const struct dtc_life life = {
		.node = place->node,
		.client = place->is_client ? place->thread : DTC_NONE,
		.begin_ns = place->is_client ? place->begin.ns : INT64_MIN, /* a server reads what came before */
		.end_ns = place->has_end ? place->end.ns : INT64_MAX,
	};
	g_hash_table_insert(serving->lives, GUINT_TO_POINTER(request), g_memdup2(&life, sizeof(life)));
}

/* When work for a request can begin and end at most, on a node and in a thread of it. */
static void get_life(const DtcServing *serving, guint request, guint node, uint32_t thread, int64_t *ret_begin_ns,
		     int64_t *ret_end_ns)
{
	dtc_life_get(serving->clocks, g_hash_table_lookup(serving->lives, GUINT_TO_POINTER(request)), node, thread,
		     ret_begin_ns, ret_end_ns);
}

static const DtcHistory *get_history(const DtcServing *serving, guint node)
{
	return dtc_links_get_history(serving->links, node);
}

/* --- marks --- */

static struct worker *add_worker(DtcServing *serving, guint node, uint32_t thread)
{
	struct worker *worker = g_new0(struct worker, 1);

	worker->node = node;
	worker->thread = thread;
	worker->marks = g_array_new(FALSE, FALSE, sizeof(struct mark));
	worker->spans = g_array_new(FALSE, FALSE, sizeof(struct dtc_served));
	worker->owned = g_array_new(FALSE, FALSE, sizeof(struct dtc_owned));
	g_hash_table_insert(serving->workers, make_key(node, thread), worker);
	return worker;
}

/* True if the call had none: the first one counts, so that what is followed never overrules what a capture tells. */
static bool add_mark(DtcServing *serving, guint node, uint32_t call, guint request, bool ends)
{
	if (call == DTC_NONE || look_up(serving->marked, node, call))
		return false;
	uint32_t thread = dtc_history_get_call(get_history(serving, node), call)->thread;
	struct worker *worker = look_up(serving->workers, node, thread);
	if (!worker) {
		worker = add_worker(serving, node, thread);
		g_ptr_array_add(serving->order, worker);
	}
	struct mark mark = { call, request, ends };
	g_array_append_val(worker->marks, mark);
	worker->is_dirty = true;
	g_hash_table_insert(serving->marked, make_key(node, call), GINT_TO_POINTER(1));
	return true;
}

void dtc_serving_add_call(DtcServing *serving, guint node, uint32_t call, guint request, bool ends)
{
	g_assert(!serving->is_sealed);
	add_mark(serving, node, call, request, ends);
}

/* Whoever accepts a connection, and may hand it on, works for its first request. */
static void add_accept(DtcServing *serving, guint node, uint32_t file, guint request)
{
	add_mark(serving, node, dtc_history_get_file(get_history(serving, node), file)->accept, request, false);
}

static void add_side(DtcServing *serving, guint request, const struct dtc_hop_side *side)
{
	struct end end = { side->node, side->file, request };

	if (side->file == DTC_NONE)
		return;
	g_hash_table_insert(serving->ends, g_memdup2(&end, sizeof(end)), CAPTURED);
	/* the last one first: a call that is both keeps what it ends */
	add_mark(serving, side->node, side->response_last_call, request, true);
	add_mark(serving, side->node, side->connect_call, request, false);
	add_mark(serving, side->node, side->request_first_call, request, false);
	add_mark(serving, side->node, side->request_last_call, request, false);
	add_mark(serving, side->node, side->response_first_call, request, false);
}

void dtc_serving_add(DtcServing *serving, guint request, const struct dtc_place *place)
{
	g_assert(!serving->is_sealed);
	add_life(serving, request, place);
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		/* a proxy goes on with an answer that it has read */
		struct dtc_hop_side client = hop->client;
		if (hop->parent != G_MAXUINT && client.file != DTC_NONE) {
			add_mark(serving, client.node, client.response_last_call, request, false);
			client.response_last_call = DTC_NONE;
		}
		add_side(serving, request, &client);
		add_side(serving, request, &hop->server);
		if (hop->server.file != DTC_NONE && hop->exchange->is_first)
			add_accept(serving, hop->server.node, hop->server.file, request);
	}
}

/* --- one thread's calls, in time order --- */

struct scan {
	DtcServing *serving;
	struct worker *worker;
	const DtcHistory *history;
	GHashTable *connections; /* file -> struct connection */
	GHashTable *open;	 /* file -> its struct connection: of those whose question this thread will answer */
	guint current;		 /* request, NOBODY or STRANGER */
	int64_t since_ns;
	guint turn_request; /* whose bytes were read in this turn of the loop; NOBODY: nobody's yet */
	bool is_turn_mixed; /* of several requests */
	bool is_put_off;    /* it has read all that there was before it acts: it looked for more since its last read */
	struct dtc_turn_order order;
	int64_t woken_ns;  /* the last poll, over which the work went on, waited until then; DTC_TIME_NONE: none */
	GHashTable *reads; /* request -> its last read, as a struct dtc_owned without call; NULL: not the last look */
	bool is_last;
};

static void add_span(struct scan *scan, guint request, int64_t end_ns, bool leads)
{
	struct dtc_served span = { scan->since_ns, end_ns, request, leads };
	int64_t from_ns, to_ns;

	if (request >= STRANGER)
		return;
	get_life(scan->serving, request, scan->worker->node, scan->worker->thread, &from_ns, &to_ns);
	span.begin_ns = MAX(span.begin_ns, from_ns);
	span.end_ns = MIN(span.end_ns, to_ns);
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
	add_span(scan, scan->current, end_ns, false);
	scan->current = NOBODY;
	scan->since_ns = end_ns;
}

/* When the thread, woken at a time, was on a CPU again. */
static int64_t get_run_ns(const struct scan *scan, int64_t woken_ns)
{
	const struct dtc_interval *v =
		dtc_history_find_interval_before(scan->history, scan->worker->thread, woken_ns + 1);

	return v && v->state == DTC_STATE_RUNQUEUE ? v->end_ns : woken_ns;
}

static void become(struct scan *scan, guint request, int64_t at_ns)
{
	if (request != scan->current && scan->woken_ns != DTC_TIME_NONE)
		pause(scan, at_ns);
	if (scan->woken_ns != DTC_TIME_NONE) { /* ready, and not yet at work */
		add_span(scan, scan->current, scan->woken_ns, false);
		scan->since_ns = get_run_ns(scan, scan->woken_ns);
	}
	scan->woken_ns = DTC_TIME_NONE;
	if (request == scan->current)
		return;
	if (scan->current == NOBODY)
		add_span(scan, request, at_ns, true);
	else
		add_span(scan, scan->current, at_ns, false);
	scan->current = request;
	scan->since_ns = at_ns;
}

/* Who asks is the same for all threads of a process; of a socket without packets, who read first was asked. */
static bool is_server(const struct scan *scan, uint32_t file, bool has_read)
{
	bool has_packets = dtc_history_get_file(scan->history, file)->flow_out != DTC_NONE;

	return has_packets ? dtc_endpoint_is_server(scan->history, file) : has_read;
}

static struct connection *get_connection(struct scan *scan, uint32_t file, bool has_read)
{
	struct connection *c = g_hash_table_lookup(scan->connections, GUINT_TO_POINTER(file));

	if (!c) {
		c = g_new0(struct connection, 1);
		c->request = STRANGER;
		c->is_server = is_server(scan, file, has_read);
		g_hash_table_insert(scan->connections, GUINT_TO_POINTER(file), c);
	}
	return c;
}

/* Forgets what was on a descriptor. */
static void drop_connection(struct scan *scan, uint32_t file)
{
	g_hash_table_remove(scan->open, GUINT_TO_POINTER(file));
	g_hash_table_remove(scan->connections, GUINT_TO_POINTER(file));
}

static bool will_answer(const struct scan *scan, const struct dtc_call *read)
{
	const DtcFileCalls *calls = dtc_links_get_file_calls(scan->serving->links, scan->worker->node, read->file);
	uint32_t write = dtc_file_calls_find_moved(calls, true, read->begin_ns);

	return write != DTC_NONE && dtc_history_get_call(scan->history, write)->thread == scan->worker->thread;
}

/* When the last wait in a call ended, or the call's begin if it did not wait. */
static int64_t get_woken_ns(const struct scan *scan, const struct dtc_call *call)
{
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;

	while (at_ns > call->begin_ns) {
		const struct dtc_interval *v =
			dtc_history_find_interval_before(scan->history, scan->worker->thread, at_ns);
		if (!v || v->end_ns <= call->begin_ns)
			break;
		if (dtc_state_is_wait(v->state))
			return v->end_ns;
		at_ns = v->begin_ns;
	}
	return call->begin_ns;
}

/*
 * A server may sleep in the middle of a question: a database in its query, a loop until a timer or until its own server
 * has answered. If one question is open, it sleeps for that one; if there are several, the next call tells.
 */
static void scan_poll(struct scan *scan, const struct dtc_call *call)
{
	GHashTableIter iter;
	gpointer connection;

	/* what follows may be for any of those that were read; the next call tells */
	if (dtc_call_is_glance(call)) {
		scan->is_put_off = true;
		if (scan->is_turn_mixed)
			pause(scan, call->begin_ns);
		return;
	}
	if (call->argument) { /* a loop that has work at hand looks for more without waiting */
		scan->turn_request = NOBODY;
		scan->is_turn_mixed = false;
		dtc_turn_order_clear(&scan->order);
	}
	if (g_hash_table_size(scan->open) != 1) {
		pause(scan, call->begin_ns);
		return;
	}
	g_hash_table_iter_init(&iter, scan->open);
	g_hash_table_iter_next(&iter, NULL, &connection);
	become(scan, ((const struct connection *)connection)->request, call->begin_ns);
	scan->woken_ns = get_woken_ns(scan, call);
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

static void add_open(struct scan *scan, const struct dtc_call *read, struct connection *c)
{
	if (g_hash_table_insert(scan->open, GUINT_TO_POINTER(read->file), c))
		c->asked_ns = read->end_ns;
}

static void scan_read(struct scan *scan, const struct dtc_call *call, uint32_t id, const struct mark *mark)
{
	struct connection *c = get_connection(scan, call->file, true);

	if (mark)
		c->request = mark->request;
	else if (c->is_server && c->answered)
		c->request = STRANGER;
	c->answered = !c->is_server;
	if (c->is_server && will_answer(scan, call))
		add_open(scan, call, c);
	scan->is_turn_mixed |= scan->turn_request != NOBODY && scan->turn_request != c->request;
	scan->turn_request = c->request;
	scan->is_put_off = false;
	dtc_turn_order_add(&scan->order, call->file, c->request);
	become(scan, c->request, call->begin_ns);
	if (!scan->is_last || scan->current >= STRANGER)
		return;
	struct dtc_owned *read = g_new(struct dtc_owned, 1);
	*read = (struct dtc_owned){ .request = scan->current, .read = id, .is_inferred = c->by_order };
	g_hash_table_insert(scan->reads, GUINT_TO_POINTER(scan->current), read);
	if (!c->is_server)
		note_hop_end(scan, call, false);
}

static void note_owned(struct scan *scan, const struct connection *c, uint32_t id)
{
	const struct dtc_owned *read = g_hash_table_lookup(scan->reads, GUINT_TO_POINTER(scan->current));
	struct dtc_owned owned = { .call = id,
				   .request = scan->current,
				   .read = read ? read->read : DTC_NONE,
				   .is_inferred = c->by_order || (read && read->is_inferred) };

	g_array_append_val(scan->worker->owned, owned);
}

/*
 * Whether what a thread asks others may be for a request: not if the answer comes after the request's own. It is
 * another one that got a pooled connection in the turn in which this request gave it back.
 */
static bool can_ask(const struct scan *scan, guint request, const struct dtc_call *write)
{
	const DtcFileCalls *calls = dtc_links_get_file_calls(scan->serving->links, scan->worker->node, write->file);
	uint32_t answer = dtc_file_calls_find_moved(calls, false, write->begin_ns);
	int64_t begin_ns, end_ns;

	get_life(scan->serving, request, scan->worker->node, scan->worker->thread, &begin_ns, &end_ns);
	if (write->begin_ns < begin_ns || write->begin_ns > end_ns)
		return false;
	return answer == DTC_NONE || dtc_history_get_call(scan->history, answer)->end_ns <= end_ns;
}

/* The open question whose answer a question to others leads to: its request, or STRANGER. */
static guint find_led_to(const struct scan *scan, const struct dtc_call *write, uint32_t id)
{
	uint32_t answer = dtc_next_act_find_answer(scan->serving->links, scan->worker->node, id);
	if (answer == DTC_NONE)
		return STRANGER;
	uint32_t file = dtc_history_get_call(scan->history, answer)->file;
	const struct connection *c = g_hash_table_lookup(scan->open, GUINT_TO_POINTER(file));
	const DtcFileCalls *calls = dtc_links_get_file_calls(scan->serving->links, scan->worker->node, file);

	return c && dtc_file_calls_find_moved(calls, true, write->begin_ns) == answer ? c->request : STRANGER;
}

/* Whether a request has asked somebody who has not answered yet. */
static bool has_asked(const struct scan *scan, guint request)
{
	GHashTableIter iter;
	gpointer connection;

	g_hash_table_iter_init(&iter, scan->connections);
	while (g_hash_table_iter_next(&iter, NULL, &connection)) {
		const struct connection *c = connection;
		if (!c->is_server && c->request == request && !c->answered)
			return true;
	}
	return false;
}

/*
 * Who got a connection that another request gave back: of those whose questions are open, and that wait for nobody yet,
 * the one that waits longest, if it can have asked. STRANGER: none, or a request that is not known waits, too.
 */
static guint find_longest_waiting(const struct scan *scan, const struct dtc_call *write)
{
	const struct connection *longest = NULL;
	GHashTableIter iter;
	gpointer connection;

	g_hash_table_iter_init(&iter, scan->open);
	while (g_hash_table_iter_next(&iter, NULL, &connection)) {
		const struct connection *c = connection;
		if (c->request >= STRANGER)
			return STRANGER;
		if ((!longest || c->asked_ns < longest->asked_ns) && !has_asked(scan, c->request) &&
		    can_ask(scan, c->request, write))
			longest = c;
	}
	return longest ? longest->request : STRANGER;
}

/* For whom a thread asks others, where what it read last does not tell. */
static guint find_asker(const struct scan *scan, const struct connection *c, const struct dtc_call *write, uint32_t id)
{
	guint asker = find_led_to(scan, write, id);
	if (asker < STRANGER && can_ask(scan, asker, write))
		return asker;
	guint first = dtc_turn_order_get(&scan->order, STRANGER);
	if (scan->is_put_off && first < STRANGER && can_ask(scan, first, write))
		return first;
	return c->answered ? find_longest_waiting(scan, write) : STRANGER;
}

/* Bytes for others, which nothing but the order of the calls gives to a request. */
static void scan_question(struct scan *scan, struct connection *c, const struct dtc_call *call, uint32_t id)
{
	if (c->answered)
		c->by_order = false;
	if (c->is_new || (scan->current == NOBODY && !c->answered)) /* it had to be waited for */
		become(scan, c->request, call->begin_ns);
	if (scan->current < STRANGER && !can_ask(scan, scan->current, call)) {
		become(scan, STRANGER, call->begin_ns);
		c->is_new = false;
	}
	/* a turn with the bytes of several requests acts in the order in which it read them */
	bool is_next = scan->is_turn_mixed && scan->is_put_off && !c->is_new &&
		       dtc_turn_order_get(&scan->order, STRANGER) < STRANGER;
	if (scan->current < STRANGER && !is_next)
		return;
	guint asker = find_asker(scan, c, call, id);
	c->by_order = asker < STRANGER;
	if (asker < STRANGER || scan->current >= STRANGER)
		become(scan, asker, call->begin_ns);
}

static void scan_write(struct scan *scan, const struct dtc_call *call, uint32_t id, const struct mark *mark)
{
	struct connection *c = get_connection(scan, call->file, false);

	g_hash_table_remove(scan->open, GUINT_TO_POINTER(call->file));
	if (mark)
		become(scan, mark->request, call->begin_ns);
	else if (c->is_server)
		become(scan, c->request, call->begin_ns);
	else
		scan_question(scan, c, call, id);
	dtc_turn_order_take(&scan->order, scan->current);
	if (scan->current >= STRANGER) {
		if (!c->is_server)
			c->request = STRANGER;
		return;
	}
	if (!c->is_server) {
		c->request = scan->current;
		c->answered = c->is_new = false;
	}
	if (scan->is_last) {
		note_owned(scan, c, id);
		if (c->is_server)
			note_hop_end(scan, call, true);
	} else {
		struct message message = { scan->worker->node, id, scan->current, c->is_server };
		g_array_append_val(scan->serving->messages, message);
	}
	if (c->is_server) {
		c->answered = true;
		pause(scan, call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns);
	}
}

static bool is_connection(const DtcHistory *history, const struct dtc_call *call)
{
	return call->file != DTC_NONE && dtc_history_get_file(history, call->file)->kind == DTC_FILE_SOCKET;
}

static void scan_call(struct scan *scan, uint32_t id, const struct mark *mark)
{
	const struct dtc_call *call = dtc_history_get_call(scan->history, id);
	bool has_moved = call->result > 0 && is_connection(scan->history, call);

	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_POLL:
		scan_poll(scan, call);
		break;
	case DTC_CALL_ACCEPT:
		pause(scan, call->begin_ns);
		if (mark)
			become(scan, mark->request, call->begin_ns);
		break;
	case DTC_CALL_READ:
		if (has_moved)
			scan_read(scan, call, id, mark);
		break;
	case DTC_CALL_WRITE:
		if (has_moved)
			scan_write(scan, call, id, mark);
		break;
	case DTC_CALL_CONNECT:
		if (mark)
			become(scan, mark->request, call->begin_ns);
		if (is_connection(scan->history, call)) {
			drop_connection(scan, call->file);
			struct connection *c = get_connection(scan, call->file, false);
			c->request = scan->current == NOBODY ? STRANGER : scan->current;
			c->is_new = true;
			if (scan->is_last && c->request != STRANGER)
				note_owned(scan, c, id);
		}
		break;
	case DTC_CALL_CLOSE:
		if (call->file != DTC_NONE)
			drop_connection(scan, call->file);
		break;
	default:
		break;
	}
	if (mark && mark->ends)
		pause(scan, call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns);
}

static int compare_marks(gconstpointer a, gconstpointer b)
{
	const struct mark *x = a, *y = b;

	return x->call < y->call ? -1 : x->call > y->call;
}

/* Calls of a thread have consecutive ids, in time order. Before the first mark nothing is known. */
static void scan_worker(DtcServing *serving, struct worker *worker, bool is_last)
{
	const DtcHistory *history = get_history(serving, worker->node);
	const struct dtc_thread *thread = dtc_history_get_thread(history, worker->thread);
	struct scan scan = {
		.serving = serving,
		.worker = worker,
		.history = history,
		.connections = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free),
		.open = g_hash_table_new(g_direct_hash, g_direct_equal),
		.current = NOBODY,
		.turn_request = NOBODY,
		.since_ns = thread->begin_ns,
		.woken_ns = DTC_TIME_NONE,
		.reads = is_last ? g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free) : NULL,
		.is_last = is_last,
	};
	guint next = 0;

	g_array_sort(worker->marks, compare_marks);
	g_array_set_size(worker->spans, 0);
	uint32_t first = g_array_index(worker->marks, struct mark, 0).call;
	for (uint32_t id = first; id < thread->call_first + thread->call_count; id++) {
		const struct mark *mark = NULL;
		if (next < worker->marks->len && g_array_index(worker->marks, struct mark, next).call == id)
			mark = &g_array_index(worker->marks, struct mark, next++);
		scan_call(&scan, id, mark);
	}
	pause(&scan, thread->end_ns);
	worker->is_dirty = false;
	g_hash_table_unref(scan.open);
	g_hash_table_unref(scan.connections);
	g_clear_pointer(&scan.reads, g_hash_table_unref);
	dtc_turn_order_clear(&scan.order);
}

/* --- to the other end of a connection --- */

/* A time of one node on another one, or DTC_TIME_NONE if nothing relates their clocks. */
static int64_t get_near_ns(const DtcServing *serving, guint from, int64_t time_ns, guint to)
{
	if (dtc_clocks_get_group(serving->clocks, from) != dtc_clocks_get_group(serving->clocks, to))
		return DTC_TIME_NONE;
	DtcClusterTime at = dtc_clocks_to_cluster(serving->clocks, from, (DtcNodeTime){ time_ns });
	return dtc_clocks_to_node(serving->clocks, to, at).ns;
}

/* The read that took the first byte of what a call wrote, by the byte's position or else by time; or DTC_NONE. */
static uint32_t find_reader(DtcServing *serving, const struct message *message, guint node, uint32_t file)
{
	const DtcHistory *from = get_history(serving, message->node);
	const struct dtc_call *write = dtc_history_get_call(from, message->call);
	const struct dtc_file *source = dtc_history_get_file(from, write->file);
	int64_t near_ns = get_near_ns(serving, message->node, write->begin_ns, node);

	if (!source->has_base_out)
		return dtc_file_calls_find_at(dtc_links_get_file_calls(serving->links, node, file), false, near_ns);
	uint32_t flow_in = dtc_history_get_file(get_history(serving, node), file)->flow_in;
	return dtc_links_find_read_of_byte(serving->links, node, flow_in, source->base_out + (uint32_t)write->offset,
					   near_ns);
}

static void note_hop(DtcServing *serving, const struct message *message, guint node, uint32_t file, uint32_t reader)
{
	const struct dtc_call *write = dtc_history_get_call(get_history(serving, message->node), message->call);
	const struct dtc_call *read = dtc_history_get_call(get_history(serving, node), reader);
	const struct end server = { node, file, message->request };
	const struct end client = { message->node, write->file, message->request };

	if (g_hash_table_contains(serving->ends, &server) || g_hash_table_contains(serving->ends, &client))
		return;
	struct dtc_followed_hop hop = {
		.request = message->request,
		.client_node = message->node,
		.server_node = node,
		.client_thread = write->thread,
		.server_thread = read->thread,
		.client_file = write->file,
		.server_file = file,
		.client_begin_ns = write->begin_ns,
		.client_end_ns = write->end_ns == DTC_TIME_NONE ? write->begin_ns : write->end_ns,
		.server_begin_ns = read->end_ns,
		.server_end_ns = read->end_ns,
	};
	g_array_append_val(serving->hops, hop);
	add_accept(serving, node, file, message->request);
	gpointer index = GUINT_TO_POINTER(serving->hops->len);
	g_hash_table_insert(serving->ends, g_memdup2(&server, sizeof(server)), index);
	g_hash_table_insert(serving->ends, g_memdup2(&client, sizeof(client)), index);
}

static void deliver(DtcServing *serving, const struct message *message)
{
	const struct dtc_call *write = dtc_history_get_call(get_history(serving, message->node), message->call);
	uint32_t file;
	guint node;

	if (!dtc_links_find_peer(serving->links, message->node, write->file, write->begin_ns, &node, &file))
		return;
	uint32_t reader = find_reader(serving, message, node, file);
	if (add_mark(serving, node, reader, message->request, false) && !message->is_answer)
		note_hop(serving, message, node, file, reader);
}

void dtc_serving_add_inherited(DtcServing *serving, guint node, const struct dtc_handed *handed, guint request)
{
	struct worker *worker = look_up(serving->workers, node, handed->thread);
	struct dtc_served span = { handed->begin_ns, handed->end_ns, request, false };
	int64_t from_ns, to_ns;

	if (worker && worker->marks->len) /* its own calls tell */
		return;
	if (!worker)
		worker = add_worker(serving, node, handed->thread);
	guint count = worker->spans->len;
	/* who is at work is given a mutex, and not another piece */
	if (count && handed->begin_ns < g_array_index(worker->spans, struct dtc_served, count - 1).end_ns)
		return;
	get_life(serving, request, node, handed->thread, &from_ns, &to_ns);
	span.begin_ns = MAX(span.begin_ns, from_ns);
	span.end_ns = MIN(span.end_ns, to_ns);
	if (span.end_ns > span.begin_ns)
		g_array_append_val(worker->spans, span);
}

/* --- all together --- */

static int compare_workers(gconstpointer a, gconstpointer b)
{
	const struct worker *x = *(const struct worker *const *)a, *y = *(const struct worker *const *)b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int compare_messages(gconstpointer a, gconstpointer b)
{
	const struct message *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int compare_hops(gconstpointer a, gconstpointer b)
{
	const struct dtc_followed_hop *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->client_begin_ns != y->client_begin_ns)
		return x->client_begin_ns < y->client_begin_ns ? -1 : 1;
	if (x->client_node != y->client_node)
		return x->client_node < y->client_node ? -1 : 1;
	return x->client_file < y->client_file ? -1 : x->client_file > y->client_file;
}

void dtc_serving_seal(DtcServing *serving, bool follows)
{
	bool is_more = follows;

	g_assert(!serving->is_sealed);
	while (is_more) { /* each round but the last marks one call more at least */
		g_ptr_array_sort(serving->order, compare_workers);
		for (guint i = 0; i < serving->order->len; i++) {
			struct worker *worker = g_ptr_array_index(serving->order, i);
			if (worker->is_dirty)
				scan_worker(serving, worker, false);
		}
		g_array_sort(serving->messages, compare_messages);
		guint before = g_hash_table_size(serving->marked);
		for (guint i = 0; i < serving->messages->len; i++)
			deliver(serving, &g_array_index(serving->messages, struct message, i));
		g_array_set_size(serving->messages, 0);
		is_more = g_hash_table_size(serving->marked) > before;
	}
	g_ptr_array_sort(serving->order, compare_workers);
	for (guint i = 0; i < serving->order->len; i++)
		scan_worker(serving, g_ptr_array_index(serving->order, i), true);
	if (follows)
		dtc_inherit(serving, serving->links);
	g_array_sort(serving->hops, compare_hops);
	g_hash_table_remove_all(serving->ends); /* indexes of the unsorted list */
	g_hash_table_remove_all(serving->marked);
	serving->is_sealed = true;
}

bool dtc_serving_only_inherits(const DtcServing *serving, guint node, uint32_t thread)
{
	const struct worker *worker = look_up(serving->workers, node, thread);

	return worker && !worker->marks->len;
}

const struct dtc_served *dtc_serving_get(const DtcServing *serving, guint node, uint32_t thread, guint *ret_count)
{
	const struct worker *worker = look_up(serving->workers, node, thread);

	*ret_count = worker ? worker->spans->len : 0;
	return worker && worker->spans->len ? &g_array_index(worker->spans, struct dtc_served, 0) : NULL;
}

const struct dtc_owned *dtc_serving_find_owned(const DtcServing *serving, guint node, uint32_t write)
{
	const struct dtc_call *call = dtc_history_get_call(get_history(serving, node), write);
	const struct worker *worker = look_up(serving->workers, node, call->thread);

	if (!worker)
		return NULL;
	const struct dtc_owned *owned = (const struct dtc_owned *)(const void *)worker->owned->data;
	guint i = DTC_BISECT(k, 0, worker->owned->len, owned[k].call < write);
	return i < worker->owned->len && owned[i].call == write ? &owned[i] : NULL;
}

const struct dtc_followed_hop *dtc_serving_get_hops(const DtcServing *serving, guint request, guint *ret_count)
{
	const struct dtc_followed_hop *hops = (const struct dtc_followed_hop *)(const void *)serving->hops->data;
	guint first = DTC_BISECT(i, 0, serving->hops->len, hops[i].request < request);
	guint end = DTC_BISECT(i, first, serving->hops->len, hops[i].request <= request);
	*ret_count = end - first;
	return *ret_count ? &hops[first] : NULL;
}
