/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving.h"

#include "analyze/exchange/endpoint.h"
#include "analyze/request/begun.h"
#include "analyze/request/calling.h"
#include "analyze/request/inherit.h"
#include "analyze/request/life.h"
#include "analyze/request/lock_words.h"
#include "analyze/request/made_for.h"
#include "analyze/request/passed_on.h"
#include "analyze/request/serving_build.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/hash.h>

/* From one that inherits to those whom it asks, whose threads call others: a queue's thread, a broker, its worker. */
#define INHERITED_ROUNDS 6

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

/* A call, or what it moves of one stream, that has a mark. */
struct marked {
	guint node;
	uint32_t call;
	uint32_t stream;
	uint32_t upto;
};

static guint marked_hash(gconstpointer data)
{
	const struct marked *marked = data;

	return dtc_hash_pair((guint64)marked->node << 32 | marked->call, (guint64)marked->stream << 32 | marked->upto);
}

static gboolean marked_equal(gconstpointer a, gconstpointer b)
{
	const struct marked *x = a, *y = b;

	return x->node == y->node && x->call == y->call && x->stream == y->stream && x->upto == y->upto;
}

static guint end_hash(gconstpointer data)
{
	const struct end *end = data;

	return dtc_hash_pair((guint64)end->node << 32 | end->file, end->request);
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
	g_array_unref(worker->told);
	g_array_unref(worker->owned);
	g_free(worker);
}

DtcServing *dtc_serving_new(const DtcLinks *links)
{
	DtcServing *serving = g_new0(DtcServing, 1);

	serving->links = links;
	serving->clocks = dtc_links_get_clocks(links);
	serving->workers = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, worker_free);
	serving->order = g_ptr_array_new();
	serving->marked = g_hash_table_new_full(marked_hash, marked_equal, g_free, NULL);
	serving->unanswered = dtc_unanswered_new(links);
	serving->lives = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	serving->ends = g_hash_table_new_full(end_hash, end_equal, g_free, NULL);
	serving->messages = g_array_new(FALSE, FALSE, sizeof(struct message));
	serving->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_followed_hop));
	serving->askings = g_array_new(FALSE, FALSE, sizeof(struct asking));
	serving->takings = g_array_new(FALSE, FALSE, sizeof(struct taking));
	return serving;
}

void dtc_serving_free(DtcServing *serving)
{
	if (!serving)
		return;
	g_ptr_array_unref(serving->order);
	g_hash_table_unref(serving->workers);
	g_hash_table_unref(serving->marked);
	dtc_unanswered_free(serving->unanswered);
	g_hash_table_unref(serving->lives);
	g_hash_table_unref(serving->ends);
	g_array_unref(serving->messages);
	g_array_unref(serving->hops);
	g_array_unref(serving->askings);
	g_array_unref(serving->takings);
	g_free(serving);
}

/* --- lives --- */

static bool has_id(const struct dtc_place *place)
{
	bool found = false;

	for (guint i = 0; i < place->hops->len; i++)
		found |= g_array_index(place->hops, struct dtc_hop, i).exchange->identity_count > 0;
	return found;
}

static void add_life(DtcServing *serving, guint request, const struct dtc_place *place)
{
	if (place->thread == DTC_NONE)
		return;
	const struct dtc_life life = {
		.node = place->node,
		.client = place->is_client ? place->thread : DTC_NONE,
		.begin_ns = place->is_client ? place->begin.ns : INT64_MIN, /* a server reads what came before */
		.end_ns = place->has_end ? place->end.ns : INT64_MAX,
		.has_id = has_id(place),
	};
	g_hash_table_insert(serving->lives, GUINT_TO_POINTER(request), g_memdup2(&life, sizeof(life)));
}

void dtc_serving_cut(const DtcServing *serving, guint request, guint node, uint32_t thread, int64_t *begin_ns,
		     int64_t *end_ns)
{
	dtc_life_cut(serving->clocks, g_hash_table_lookup(serving->lives, GUINT_TO_POINTER(request)), node, thread,
		     begin_ns, end_ns);
}

bool dtc_serving_is_client(const DtcServing *serving, guint request, guint node, uint32_t thread)
{
	const struct dtc_life *life = g_hash_table_lookup(serving->lives, GUINT_TO_POINTER(request));

	return life && life->node == node && life->client == thread;
}

bool dtc_serving_has_id(const DtcServing *serving, guint request)
{
	const struct dtc_life *life = g_hash_table_lookup(serving->lives, GUINT_TO_POINTER(request));

	return life && life->has_id;
}

static const DtcHistory *get_history(const DtcServing *serving, guint node)
{
	return dtc_links_get_history(serving->links, node);
}

/* --- marks --- */

struct worker *dtc_serving_add_worker(DtcServing *serving, guint node, uint32_t thread)
{
	struct worker *worker = g_new0(struct worker, 1);

	worker->node = node;
	worker->thread = thread;
	worker->begun_file = DTC_NONE;
	worker->marks = g_array_new(FALSE, FALSE, sizeof(struct mark));
	worker->spans = g_array_new(FALSE, FALSE, sizeof(struct dtc_served));
	worker->told = g_array_new(FALSE, FALSE, sizeof(struct dtc_served));
	worker->owned = g_array_new(FALSE, FALSE, sizeof(struct dtc_owned));
	g_hash_table_insert(serving->workers, make_key(node, thread), worker);
	return worker;
}

/* A worker whose calls tell for whom it works. */
static struct worker *get_scanned(DtcServing *serving, guint node, uint32_t thread)
{
	struct worker *worker = look_up(serving->workers, node, thread);

	if (!worker)
		worker = dtc_serving_add_worker(serving, node, thread);
	if (!worker->is_scanned)
		g_ptr_array_add(serving->order, worker);
	worker->is_scanned = true;
	return worker;
}

static gpointer pack(const struct mark *mark)
{
	return GSIZE_TO_POINTER((gsize)mark->request << 2 | mark->role);
}

bool dtc_serving_add_mark(DtcServing *serving, guint node, const struct mark *mark)
{
	const struct marked marked = { node, mark->call, mark->stream, mark->upto };
	const struct marked whole = { node, mark->call, mark->stream, 0 }; /* a capture tells of it */
	gpointer known;

	if (mark->call == DTC_NONE)
		return false;
	bool is_known = g_hash_table_lookup_extended(serving->marked, &marked, NULL, &known);
	if (is_known ? known == pack(mark) : g_hash_table_contains(serving->marked, &whole))
		return false;
	uint32_t thread = dtc_history_copy_call(get_history(serving, node), mark->call).thread;
	struct worker *worker = get_scanned(serving, node, thread);
	if (is_known && !dtc_serving_correct(serving, node, worker, mark))
		return false;
	if (!is_known)
		g_array_append_vals(worker->marks, mark, 1);
	worker->is_dirty = true;
	g_hash_table_insert(serving->marked, g_memdup2(&marked, sizeof(marked)), pack(mark));
	return true;
}

static void add_mark(DtcServing *serving, guint node, uint32_t call, uint32_t stream, guint request, bool ends)
{
	const struct mark mark = { .call = call,
				   .stream = stream,
				   .request = request,
				   .other = DTC_NO_REQUEST,
				   .ends = ends,
				   .from = DTC_NONE };

	dtc_serving_add_mark(serving, node, &mark);
}

void dtc_serving_add_call(DtcServing *serving, guint node, uint32_t call, guint request, bool ends)
{
	g_assert(!serving->is_sealed);
	add_mark(serving, node, call, 0, request, ends);
}

/* Whoever accepts a connection, and may hand it on, works for its first request. */
static void add_accept(DtcServing *serving, guint node, uint32_t file, guint request)
{
	add_mark(serving, node, dtc_history_get_file(get_history(serving, node), file)->accept, 0, request, false);
}

/* stream: in which it asks and is answered, or 0. */
static void add_side(DtcServing *serving, guint request, const struct dtc_hop_side *side, uint32_t stream)
{
	struct end end = { side->node, side->file, request };

	if (side->file == DTC_NONE)
		return;
	g_hash_table_insert(serving->ends, g_memdup2(&end, sizeof(end)), CAPTURED);
	/* the last one first: a call that is both keeps what it ends */
	add_mark(serving, side->node, side->response_last_call, stream, request, true);
	add_mark(serving, side->node, side->connect_call, 0, request, false);
	add_mark(serving, side->node, side->request_first_call, stream, request, false);
	add_mark(serving, side->node, side->request_last_call, stream, request, false);
	add_mark(serving, side->node, side->response_first_call, stream, request, false);
}

/* The question that a thread read with a call from before the trace: it has it from its first call on. */
static void add_begun(DtcServing *serving, guint request, const struct dtc_hop_side *side, uint32_t stream)
{
	if (side->file == DTC_NONE || stream || side->request_first_call != DTC_NONE ||
	    side->response_first_call == DTC_NONE)
		return;
	const DtcHistory *h = get_history(serving, side->node);
	uint32_t thread = dtc_history_copy_call(h, side->response_first_call).thread, count;
	const uint32_t *calls = dtc_history_get_file_calls(h, side->file, &count);
	struct worker *worker = look_up(serving->workers, side->node, thread);
	struct dtc_wake wake; /* the last packet of that softirq may have been another one */
	if (!worker || !dtc_begun_find_packet(h, thread, &wake) || dtc_history_copy_call(h, calls[0]).thread != thread)
		return;
	worker->begun_file = side->file;
	worker->begun_request = request;
}

void dtc_serving_add(DtcServing *serving, guint request, const struct dtc_place *place)
{
	g_assert(!serving->is_sealed);
	add_life(serving, request, place);
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		/* a proxy goes on with an answer that it has read */
		struct dtc_hop_side client = hop->client;
		uint32_t stream = hop->exchange->stream;
		if (hop->parent != G_MAXUINT && client.file != DTC_NONE) {
			add_mark(serving, client.node, client.response_last_call, stream, request, false);
			client.response_last_call = DTC_NONE;
		}
		add_side(serving, request, &client, stream);
		add_side(serving, request, &hop->server, stream);
		add_begun(serving, request, &hop->server, stream);
		if (hop->server.file != DTC_NONE && hop->exchange->is_first)
			add_accept(serving, hop->server.node, hop->server.file, request);
	}
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
	struct dtc_call write_place;
	const struct dtc_call *write = dtc_history_get_call(from, message->call, &write_place);
	const struct dtc_file *source = dtc_history_get_file(from, write->file);
	int64_t near_ns = get_near_ns(serving, message->node, write->begin_ns, node);

	if (dtc_endpoint_has_local_peer(from, write->file))
		return dtc_file_calls_find_byte(dtc_links_get_file_calls(serving->links, node, file), false,
						dtc_history_get_file(get_history(serving, node), file)->base_in +
							(uint32_t)write->offset + message->skip,
						near_ns);
	if (!source->has_base_out)
		return dtc_file_calls_find_at(dtc_links_get_file_calls(serving->links, node, file), false, near_ns);
	uint32_t flow_in = dtc_history_get_file(get_history(serving, node), file)->flow_in;
	uint32_t seq = source->base_out + (uint32_t)write->offset + message->skip;
	return dtc_links_find_read_of_byte(serving->links, node, flow_in, seq, near_ns);
}

/*
 * Bytes of a read up to where a message ends, of which it took the first one: a connection brings several at a time if
 * who reads is behind (NATS pushes jobs). 0: that is not known.
 */
static uint32_t find_upto(const DtcServing *serving, const struct message *message, guint node, uint32_t file,
			  uint32_t reader)
{
	const DtcHistory *from = get_history(serving, message->node), *to = get_history(serving, node);
	if (message->stream || reader == DTC_NONE)
		return 0;
	const struct dtc_call write = dtc_history_copy_call(from, message->call);
	const struct dtc_call read = dtc_history_copy_call(to, reader);
	uint32_t end = (uint32_t)write.offset + (uint32_t)write.result, base;
	if (dtc_endpoint_has_local_peer(from, write.file))
		end += dtc_history_get_file(to, file)->base_in;
	else if (dtc_history_get_file(from, write.file)->has_base_out &&
		 dtc_links_find_base_in(serving->links, node, file, &base))
		end += dtc_history_get_file(from, write.file)->base_out - base;
	else
		return 0;
	int32_t bytes = dtc_seq_distance((uint32_t)read.offset, end);
	return bytes <= 0 ? 0 : (uint32_t)MIN(bytes, read.result);
}

static void note_hop(DtcServing *serving, const struct message *message, guint node, uint32_t file, uint32_t reader)
{
	struct dtc_call write_place;
	const struct dtc_call *write =
		dtc_history_get_call(get_history(serving, message->node), message->call, &write_place);
	struct dtc_call read_place;
	const struct dtc_call *read = dtc_history_get_call(get_history(serving, node), reader, &read_place);
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
		.other = message->other,
	};
	g_array_append_val(serving->hops, hop);
	add_accept(serving, node, file, message->request);
	gpointer index = GUINT_TO_POINTER(serving->hops->len);
	g_hash_table_insert(serving->ends, g_memdup2(&server, sizeof(server)), index);
	g_hash_table_insert(serving->ends, g_memdup2(&client, sizeof(client)), index);
}

/*
 * A connection that was opened for a request: whichever thread of the process writes or reads its first bytes does that
 * for it. A runtime that schedules by itself goes on elsewhere when the connection is there. A process that was given
 * it (a launcher connects, and forks) uses it for whom that one works.
 */
static void deliver_opened(DtcServing *serving, const struct message *message, const struct dtc_call *connect)
{
	const DtcHistory *h = get_history(serving, message->node);
	const DtcFileCalls *calls = dtc_links_get_file_calls(serving->links, message->node, connect->file);
	int32_t pid = dtc_history_get_thread(h, connect->thread)->pid;

	for (guint written = 0; written < 2; written++) {
		uint32_t first = dtc_file_calls_find_moved(calls, written, connect->begin_ns);
		if (first == DTC_NONE)
			continue;
		const struct dtc_call call = dtc_history_copy_call(h, first);
		const struct mark mark = dtc_mark_of_message(message, first);
		if (call.offset == 0 && call.thread != connect->thread &&
		    dtc_history_get_thread(h, call.thread)->pid == pid)
			dtc_serving_add_mark(serving, message->node, &mark);
	}
}

/* Whether two writes of a thread are of one question: it has taken up nothing else in between. */
static bool is_one_question(const DtcHistory *history, uint32_t first, uint32_t last)
{
	for (uint32_t i = first + 1; i < last; i++) {
		struct dtc_call place;
		enum dtc_call_kind kind = (enum dtc_call_kind)dtc_history_get_call(history, i, &place)->kind;
		if (kind == DTC_CALL_READ || kind == DTC_CALL_POLL || kind == DTC_CALL_ACCEPT)
			return false;
	}
	return true;
}

/*
 * What somebody was asked whom no trace shows: the answer comes back on the connection, and another thread than the
 * asker's may read it. Not where another question went out before it came, or this one before another's answer had.
 */
static void deliver_untraced(DtcServing *serving, const struct message *message, const struct dtc_call *write)
{
	const DtcHistory *h = get_history(serving, message->node);
	const DtcFileCalls *calls = dtc_links_get_file_calls(serving->links, message->node, write->file);
	uint32_t read = dtc_file_calls_find_moved(calls, false, write->begin_ns);
	uint32_t next = dtc_file_calls_find_moved(calls, true, write->begin_ns);
	uint32_t before = dtc_file_calls_find_asking(calls, write->begin_ns);

	if (message->is_answer || message->stream || read == DTC_NONE)
		return;
	const struct dtc_call answer = dtc_history_copy_call(h, read);
	if (answer.thread == write->thread || answer.end_ns == DTC_TIME_NONE ||
	    (next != DTC_NONE && dtc_history_get_call_begin_ns(h, next) < answer.end_ns))
		return;
	if (before != DTC_NONE) {
		const struct dtc_call asked = dtc_history_copy_call(h, before);
		if (asked.kind == DTC_CALL_WRITE && dtc_file_calls_find_moved(calls, false, asked.begin_ns) == read &&
		    (asked.thread != write->thread || !is_one_question(h, before, message->call)))
			return;
	}
	const struct mark mark = dtc_mark_of_message(message, read);
	dtc_serving_add_mark(serving, message->node, &mark);
}

/*
 * A question that no call has read: the thread that reads on that connection had gone into its read before the trace
 * began, so that there is no call of it, and the first that is known of it is what it does for the question.
 */
static void deliver_begun(DtcServing *serving, const struct message *message, guint node, uint32_t file)
{
	const DtcHistory *h = get_history(serving, node);
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	uint32_t thread = count ? dtc_history_copy_call(h, calls[0]).thread : DTC_NONE;
	if (message->is_answer || message->stream || thread == DTC_NONE || !dtc_begun_was_in_read(h, thread))
		return;
	int64_t near_ns =
		get_near_ns(serving, message->node,
			    dtc_history_get_call_begin_ns(get_history(serving, message->node), message->call), node);
	uint32_t first = dtc_history_get_thread(h, thread)->call_first;
	if (near_ns == DTC_TIME_NONE || near_ns > dtc_history_get_call_begin_ns(h, first))
		return;
	struct worker *worker = get_scanned(serving, node, thread);
	if (worker->begun_file != DTC_NONE)
		return;
	worker->begun_file = file;
	worker->begun_request = message->request;
	worker->is_dirty = serving->has_begun = true;
}

/* What the process that read a message passes on of it is for the same request. */
static void pass_on(DtcServing *serving, const struct message *message, const struct dtc_call *write, guint node,
		    uint32_t reader)
{
	const struct dtc_file *source = dtc_history_get_file(get_history(serving, message->node), write->file);
	g_autoptr(GArray) writes = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	if (!source->has_base_out || message->stream)
		return;
	dtc_passed_on_find(serving->links, node, reader, source->base_out + (uint32_t)write->offset,
			   (uint32_t)write->result, writes);
	for (guint i = 0; i < writes->len; i++) {
		struct mark mark = dtc_mark_of_message(message, g_array_index(writes, uint32_t, i));
		mark.is_passed_on = true;
		dtc_serving_add_mark(serving, node, &mark);
	}
}

/* What was read at the other end; of a stream, if its numbers are the same there. False: the call had a mark. */
static bool mark_read(DtcServing *serving, const struct message *message, guint node, uint32_t file, uint32_t reader,
		      uint32_t stream, uint32_t upto)
{
	struct mark mark = dtc_mark_of_message(message, reader);
	mark.stream = stream;
	mark.upto = upto;
	mark.by_bytes = message->by_bytes;
	mark.role = message->is_answer ? ROLE_ANSWER : ROLE_QUESTION;
	if (!dtc_serving_add_mark(serving, node, &mark))
		return false;
	if (message->is_answer)
		return true;
	note_hop(serving, message, node, file, reader);
	dtc_unanswered_add(serving->unanswered, node, reader, message->request);
	dtc_serving_mark_answer(serving, node, &mark);
	return true;
}

/* A datagram is one message, which one call reads, with others or without. */
static void deliver_datagram(DtcServing *serving, const struct message *message, const struct dtc_call *write)
{
	const struct dtc_datagram sent = { message->call, message->number };
	struct dtc_datagram read;
	uint32_t file;
	guint node;

	if (dtc_links_find_datagram_read(serving->links, message->node, sent, &node, &file, &read))
		mark_read(serving, message, node, file, read.call, 0, read.number);
	else if (!message->number)
		deliver_untraced(serving, message, write);
}

/* Of an answer that was read for a request. */
static void tell_writer(DtcServing *serving, const struct message *message)
{
	const DtcHistory *h = get_history(serving, message->node);
	if (!dtc_datagrams_is_socket(h, dtc_history_copy_call(h, message->call).file)) {
		const struct mark told = dtc_mark_of_message(message, message->writer);
		dtc_serving_add_mark(serving, message->writer_node, &told);
		return;
	}
	const struct dtc_datagram read = { message->call, message->number };
	struct dtc_datagram write;
	guint node;

	if (!dtc_links_find_datagram_write(serving->links, message->node, read, &node, &write))
		return;
	struct mark mark = dtc_mark_of_message(message, write.call);
	mark.upto = write.number;
	dtc_serving_add_mark(serving, node, &mark);
}

static void deliver(DtcServing *serving, const struct message *message)
{
	struct dtc_call write_place;
	const struct dtc_call *write =
		dtc_history_get_call(get_history(serving, message->node), message->call, &write_place);
	uint32_t file;
	guint node;

	if (write->kind == DTC_CALL_CONNECT) {
		deliver_opened(serving, message, write);
		return;
	}
	if (write->kind == DTC_CALL_READ) {
		tell_writer(serving, message);
		return;
	}
	if (dtc_calling_is_call(get_history(serving, message->node), write)) {
		dtc_calling_deliver(serving, message);
		return;
	}
	if (dtc_datagrams_is_socket(get_history(serving, message->node), write->file)) {
		deliver_datagram(serving, message, write);
		return;
	}
	if (!dtc_links_find_peer(serving->links, message->node, write->file, write->begin_ns, &node, &file)) {
		deliver_untraced(serving, message, write);
		return;
	}
	uint32_t reader = find_reader(serving, message, node, file);
	if (reader == DTC_NONE)
		deliver_begun(serving, message, node, file);
	if (mark_read(serving, message, node, file, reader, message->stream,
		      find_upto(serving, message, node, file, reader)))
		pass_on(serving, message, write, node, reader);
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
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return x->skip < y->skip ? -1 : x->skip > y->skip;
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

static int compare_askings(gconstpointer a, gconstpointer b)
{
	const struct asking *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static int compare_takings(gconstpointer a, gconstpointer b)
{
	const struct taking *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->taken.at_ns != y->taken.at_ns)
		return x->taken.at_ns < y->taken.at_ns ? -1 : 1;
	if (x->taken.call != y->taken.call)
		return x->taken.call < y->taken.call ? -1 : 1;
	return x->taken.thread < y->taken.thread ? -1 : x->taken.thread > y->taken.thread;
}

/* One look at each worker of which more is known; true if one of them did not believe what it passes on. */
static bool scan_all(DtcServing *serving)
{
	bool has_doubt = false;

	g_ptr_array_sort(serving->order, compare_workers);
	for (guint i = 0; i < serving->order->len; i++) {
		struct worker *worker = g_ptr_array_index(serving->order, i);
		if (worker->is_dirty || worker->has_doubt)
			dtc_serving_scan_worker(serving, worker, false);
		has_doubt |= worker->has_doubt;
	}
	return has_doubt;
}

/* From thread to thread, until nothing new is told: a mark more or corrected, a question begun, an answer where a
 * worker doubts. */
static void follow(DtcServing *serving)
{
	bool is_more = true;

	while (is_more) {
		guint answers = dtc_unanswered_count_answers(serving->unanswered);
		bool has_doubt = scan_all(serving);
		g_array_sort(serving->messages, compare_messages);
		guint before = g_hash_table_size(serving->marked) + serving->correction_count;
		for (guint i = 0; i < serving->messages->len; i++)
			deliver(serving, &g_array_index(serving->messages, struct message, i));
		g_array_set_size(serving->messages, 0);
		is_more = g_hash_table_size(serving->marked) + serving->correction_count > before ||
			  serving->has_begun ||
			  (has_doubt && dtc_unanswered_count_answers(serving->unanswered) > answers);
		serving->has_begun = false;
	}
}

/* The last look at all workers, and what of these only inherit; locks_of: of dtc_inherit, or NULL: nobody does. */
static void look_at_all(DtcServing *serving, GPtrArray *locks_of)
{
	GHashTableIter iter;
	gpointer data;

	g_array_set_size(serving->askings, 0);
	g_array_set_size(serving->takings, 0);
	g_hash_table_iter_init(&iter, serving->workers);
	while (g_hash_table_iter_next(&iter, NULL, &data)) {
		struct worker *worker = data;
		g_array_set_size(worker->owned, 0);
		g_array_set_size(worker->spans, 0);
		g_array_set_size(worker->told, 0);
	}
	g_ptr_array_sort(serving->order, compare_workers);
	for (guint i = 0; i < serving->order->len; i++)
		dtc_serving_scan_worker(serving, g_ptr_array_index(serving->order, i), true);
	if (!locks_of)
		return;
	dtc_inherit(serving, serving->links, locks_of);
	for (guint i = 0; i < serving->order->len; i++)
		if (((struct worker *)g_ptr_array_index(serving->order, i))->told->len)
			dtc_serving_merge_told(g_ptr_array_index(serving->order, i));
	dtc_made_for(serving, serving->links);
}

/* What a thread writes to others while it is at work for a request that it was given, if its own calls do not tell. */
static void tell_inherited(DtcServing *serving, const struct worker *worker)
{
	const DtcHistory *h = get_history(serving, worker->node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, worker->thread);
	const GArray *spans = worker->is_scanned ? worker->told : worker->spans;

	for (guint i = 0; i < spans->len; i++) {
		const struct dtc_served *span = &g_array_index(spans, struct dtc_served, i);
		uint32_t id = dtc_history_find_call(h, worker->thread, span->begin_ns);
		for (id = id == DTC_NONE ? thread->call_first : id; id < thread->call_first + thread->call_count;
		     id++) {
			struct dtc_call place;
			const struct dtc_call *call = dtc_history_get_call(h, id, &place);
			if (call->begin_ns >= span->end_ns)
				break;
			if (call->begin_ns < span->begin_ns || call->kind != DTC_CALL_WRITE || call->result <= 0 ||
			    call->file == DTC_NONE || dtc_history_get_file(h, call->file)->kind != DTC_FILE_SOCKET ||
			    dtc_serving_find_owned(serving, worker->node, id, 0))
				continue;
			const struct message message = {
				.node = worker->node, .call = id, .request = span->request, .other = DTC_NO_REQUEST
			};
			g_array_append_val(serving->messages, message);
		}
	}
}

/* Whether that tells for whom others work. */
static bool follow_inherited(DtcServing *serving)
{
	guint before = g_hash_table_size(serving->marked);
	GHashTableIter iter;
	gpointer worker;

	g_hash_table_iter_init(&iter, serving->workers);
	while (g_hash_table_iter_next(&iter, NULL, &worker))
		tell_inherited(serving, worker);
	g_array_sort(serving->messages, compare_messages);
	for (guint i = 0; i < serving->messages->len; i++)
		deliver(serving, &g_array_index(serving->messages, struct message, i));
	g_array_set_size(serving->messages, 0);
	return g_hash_table_size(serving->marked) > before;
}

void dtc_serving_seal(DtcServing *serving, bool follows)
{
	g_autoptr(GPtrArray) locks_of = g_ptr_array_new_with_free_func((GDestroyNotify)dtc_lock_words_free);
	guint round = 0;

	g_assert(!serving->is_sealed);
	do {
		if (follows)
			follow(serving);
		look_at_all(serving, follows ? locks_of : NULL);
	} while (follows && ++round < INHERITED_ROUNDS && follow_inherited(serving));
	g_array_sort(serving->hops, compare_hops);
	while (serving->hops->len && /* a mistake */
	       g_array_index(serving->hops, struct dtc_followed_hop, serving->hops->len - 1).request == DTC_NO_REQUEST)
		g_array_set_size(serving->hops, serving->hops->len - 1);
	g_array_sort(serving->askings, compare_askings);
	g_array_sort(serving->takings, compare_takings);
	g_hash_table_remove_all(serving->ends); /* indexes of the unsorted list */
	g_hash_table_remove_all(serving->marked);
	g_clear_pointer(&serving->unanswered, dtc_unanswered_free);
	serving->is_sealed = true;
}

struct worker *dtc_serving_find_worker(const DtcServing *serving, guint node, uint32_t thread)
{
	return look_up(serving->workers, node, thread);
}

bool dtc_serving_only_inherits(const DtcServing *serving, guint node, uint32_t thread)
{
	const struct worker *worker = look_up(serving->workers, node, thread);

	return worker && !worker->is_scanned;
}

const struct dtc_served *dtc_serving_get(const DtcServing *serving, guint node, uint32_t thread, guint *ret_count)
{
	const struct worker *worker = look_up(serving->workers, node, thread);

	*ret_count = worker ? worker->spans->len : 0;
	return worker && worker->spans->len ? &g_array_index(worker->spans, struct dtc_served, 0) : NULL;
}

const struct dtc_served *dtc_serving_find_span(const DtcServing *serving, guint node, uint32_t thread, int64_t time_ns)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, node, thread, &count);
	guint i = DTC_BISECT(k, 0, count, spans[k].end_ns <= time_ns);

	return i < count && spans[i].begin_ns <= time_ns ? &spans[i] : NULL;
}

/* Whether all that a call moved is of one request. */
static bool is_owned_alike(const struct dtc_owned *first, const GArray *owned)
{
	const struct dtc_owned *end = &g_array_index(owned, struct dtc_owned, owned->len);

	for (const struct dtc_owned *next = first; next < end && next->call == first->call; next++)
		if (next->request != first->request)
			return false;
	return true;
}

const struct dtc_owned *dtc_serving_find_owned(const DtcServing *serving, guint node, uint32_t write, uint32_t stream)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(get_history(serving, node), write, &call_place);
	const struct worker *worker = look_up(serving->workers, node, call->thread);

	if (!worker)
		return NULL;
	const struct dtc_owned *owned = (const struct dtc_owned *)(const void *)worker->owned->data;
	guint i = DTC_BISECT(k, 0, worker->owned->len, owned[k].call < write);
	for (; i < worker->owned->len && owned[i].call == write; i++)
		if (!stream || !owned[i].stream || owned[i].stream == stream)
			return is_owned_alike(&owned[i], worker->owned) || !dtc_call_counts_messages(call) ? &owned[i]
													   : NULL;
	return NULL;
}

bool dtc_serving_has_asked(const DtcServing *serving, guint request, guint node, int32_t pid, int64_t begin_ns,
			   int64_t end_ns)
{
	const struct asking from = { .request = request, .node = node, .at_ns = begin_ns };
	const struct asking *askings = (const struct asking *)(const void *)serving->askings->data;
	guint i = DTC_BISECT(k, 0, serving->askings->len, compare_askings(&askings[k], &from) < 0);

	for (; i < serving->askings->len; i++) {
		const struct asking *asking = &askings[i];
		if (asking->request != request || asking->node != node || asking->at_ns > end_ns)
			break;
		if (dtc_history_get_thread(get_history(serving, node), asking->thread)->pid == pid)
			return true;
	}
	return false;
}

bool dtc_serving_find_taken(const DtcServing *serving, guint request, guint node, int32_t pid, int64_t begin_ns,
			    int64_t end_ns, struct dtc_taken *ret_taken)
{
	const struct taking to = { .request = request,
				   .node = node,
				   .taken = { .thread = DTC_NONE, .call = DTC_NONE, .at_ns = end_ns } };
	const struct taking *takings = (const struct taking *)(const void *)serving->takings->data;
	guint i = DTC_BISECT(k, 0, serving->takings->len, compare_takings(&takings[k], &to) <= 0);

	while (i-- > 0) {
		const struct taking *taking = &takings[i];
		if (taking->request != request || taking->node != node || taking->taken.at_ns <= begin_ns)
			break;
		if (taking->begin_ns <= begin_ns ||
		    dtc_history_get_thread(get_history(serving, node), taking->taken.thread)->pid != pid)
			continue;
		*ret_taken = taking->taken;
		return true;
	}
	return false;
}

const struct dtc_followed_hop *dtc_serving_get_hops(const DtcServing *serving, guint request, guint *ret_count)
{
	const struct dtc_followed_hop *hops = (const struct dtc_followed_hop *)(const void *)serving->hops->data;
	guint first = DTC_BISECT(i, 0, serving->hops->len, hops[i].request < request);
	guint end = DTC_BISECT(i, first, serving->hops->len, hops[i].request <= request);
	*ret_count = end - first;
	return *ret_count ? &hops[first] : NULL;
}
