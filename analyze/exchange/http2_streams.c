/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/http2_streams.h"

#include "analyze/exchange/open_exchange.h"

#include <string.h>

/* Of one connection, at once; peers allow 100 to 250. Of more, as of damage, the oldest are given as they are. */
#define STREAMS_MAX 4096

struct side {
	DtcHttp2Streams *streams;
	guint index;
	struct dtc_http2_listener listener;
};

struct DtcHttp2Streams {
	struct dtc_http2_streams_input input;
	struct side side[2];
	int client; /* side; -1: not known */
	bool is_echo;
	bool is_seen[2];   /* frames of that side were */
	bool has_requests; /* that were seen */
	GHashTable *open;  /* stream -> struct dtc_open_exchange * */
	guint64 unread_count;
	/* of the message whose headers are being read */
	struct dtc_open_exchange *said; /* method, target, identities, status */
	bool has_method, has_status;
};

static struct dtc_open_exchange *make_said(void)
{
	return dtc_open_exchange_new(0, 0);
}

static bool is_name(const char *name, gsize bytes, const char *wanted)
{
	return bytes == strlen(wanted) && memcmp(name, wanted, bytes) == 0;
}

/* Three digits; else 0. */
static int get_status(const char *value, gsize bytes)
{
	int status = 0;

	for (gsize i = 0; i < bytes && bytes == 3; i++) {
		if (!g_ascii_isdigit(value[i]))
			return 0;
		status = status * 10 + (value[i] - '0');
	}
	return status < 100 ? 0 : status;
}

static void take_header(void *data, const char *name, gsize name_bytes, const char *value, gsize value_bytes)
{
	DtcHttp2Streams *streams = ((const struct side *)data)->streams;
	struct dtc_open_exchange *said = streams->said;

	if (is_name(name, name_bytes, ":method")) {
		streams->has_method = true;
		dtc_open_exchange_set_text(&said->exchange.method, value, value_bytes);
	} else if (is_name(name, name_bytes, ":path")) {
		dtc_open_exchange_set_text(&said->exchange.target, value, value_bytes);
	} else if (is_name(name, name_bytes, ":status")) {
		streams->has_status = true;
		said->exchange.status = get_status(value, value_bytes);
	} else {
		dtc_open_exchange_add_header(said, streams->input.headers, name, name_bytes, value, value_bytes);
	}
}

static struct dtc_open_exchange *find(const DtcHttp2Streams *streams, uint32_t stream)
{
	return g_hash_table_lookup(streams->open, GUINT_TO_POINTER(stream));
}

static void close_stream(DtcHttp2Streams *streams, uint32_t stream)
{
	struct dtc_open_exchange *open = find(streams, stream);

	if (!open)
		return;
	g_hash_table_remove(streams->open, GUINT_TO_POINTER(stream));
	if (!open->exchange.has_request && streams->is_echo && !streams->is_seen[streams->client])
		dtc_open_exchange_free(open);
	else
		dtc_open_exchange_emit(open, streams->input.exchanges);
}

/* Streams are numbered as they are opened. */
static void close_oldest(DtcHttp2Streams *streams)
{
	GHashTableIter iter;
	gpointer stream;
	guint oldest = G_MAXUINT;

	g_hash_table_iter_init(&iter, streams->open);
	while (g_hash_table_iter_next(&iter, &stream, NULL))
		oldest = MIN(oldest, GPOINTER_TO_UINT(stream));
	close_stream(streams, oldest);
}

static struct dtc_open_exchange *open_stream(DtcHttp2Streams *streams, uint32_t stream)
{
	if (g_hash_table_size(streams->open) >= STREAMS_MAX)
		close_oldest(streams);
	struct dtc_open_exchange *open =
		dtc_open_exchange_new(streams->input.node, streams->input.flow[streams->client]);
	open->exchange.stream = stream;
	g_hash_table_insert(streams->open, GUINT_TO_POINTER(stream), open);
	return open;
}

/* Headers of a request that goes on are trailers. */
static struct dtc_open_exchange *begin_request(DtcHttp2Streams *streams, const struct dtc_http2_seen *seen)
{
	struct dtc_open_exchange *open = find(streams, seen->stream);

	if (open && open->exchange.has_request && !streams->has_method)
		return open;
	if (!open || open->exchange.has_request) {
		close_stream(streams, seen->stream); /* of another connection that has the same ends */
		open = open_stream(streams, seen->stream);
	}
	open->request_done = false;
	struct dtc_exchange *e = &open->exchange;
	e->has_request = true;
	e->request_seq = seen->seq;
	e->request_ns = e->request_end_ns = seen->begin_ns;
	e->is_first = streams->input.is_of_begin[streams->client] && !streams->has_requests;
	streams->has_requests = true;
	if (!streams->has_method)
		streams->unread_count++;
	dtc_open_exchange_take_words(open, streams->said);
	return open;
}

/* NULL: it says nothing of one (an interim response). */
static struct dtc_open_exchange *begin_response(DtcHttp2Streams *streams, const struct dtc_http2_seen *seen)
{
	struct dtc_open_exchange *open = find(streams, seen->stream);
	int status = streams->said->exchange.status;

	if (streams->has_status && status >= 100 && status < 200)
		return NULL;
	if (open && open->exchange.has_response) /* trailers */
		return open;
	if (!open) {
		if (!seen->has_ack)
			return NULL;
		open = open_stream(streams, seen->stream);
		open->request_done = true;
		open->exchange.request_seq = open->exchange.request_end_seq = seen->ack;
		open->exchange.request_ns = open->exchange.request_end_ns = seen->begin_ns;
	}
	struct dtc_exchange *e = &open->exchange;
	e->has_response = true;
	e->response_seq = seen->seq;
	e->response_ns = e->response_end_ns = seen->begin_ns;
	e->status = status;
	if (!streams->has_status)
		streams->unread_count++;
	dtc_open_exchange_take_words(open, streams->said);
	return open;
}

/* Who asks, if this tells. */
static void learn_client(DtcHttp2Streams *streams, guint side, uint8_t type)
{
	if (streams->client >= 0)
		return;
	if (streams->has_method || type == DTC_FRAME_PREFACE)
		streams->client = (int)side;
	else if (streams->has_status)
		streams->client = (int)!side;
}

static void extend(struct dtc_open_exchange *open, bool is_request, const struct dtc_http2_seen *seen)
{
	struct dtc_exchange *e = &open->exchange;

	if (is_request) {
		e->request_end_seq = seen->end_seq;
		e->request_complete = seen->ends_stream;
		open->request_done = seen->ends_stream;
		dtc_open_exchange_set_seen(&e->request_end_ns, seen->end_ns);
	} else if (e->has_response) {
		e->response_end_seq = seen->end_seq;
		e->response_complete = seen->ends_stream;
		open->response_done = seen->ends_stream;
		dtc_open_exchange_set_seen(&e->response_end_ns, seen->end_ns);
	}
}

static void take_frame(void *data, const struct dtc_http2_seen *seen)
{
	const struct side *side = data;
	DtcHttp2Streams *streams = side->streams;
	struct dtc_open_exchange *open = NULL;

	streams->is_seen[side->index] = true;
	learn_client(streams, side->index, seen->type);
	bool is_request = streams->client == (int)side->index;
	bool is_of_client = seen->stream % 2 == 1; /* what a server begins, it pushes: nobody asked for it */
	if (streams->client >= 0 && is_of_client && seen->type == DTC_FRAME_RST_STREAM) {
		close_stream(streams, seen->stream);
	} else if (streams->client >= 0 && is_of_client) {
		if (seen->type != DTC_FRAME_HEADERS)
			open = find(streams, seen->stream);
		else
			open = is_request ? begin_request(streams, seen) : begin_response(streams, seen);
		if (open)
			extend(open, is_request, seen);
		if (open && open->request_done && open->response_done)
			close_stream(streams, seen->stream);
	}
	if (seen->type == DTC_FRAME_HEADERS) {
		dtc_open_exchange_free(streams->said);
		streams->said = make_said();
		streams->has_method = streams->has_status = false;
	}
}

DtcHttp2Streams *dtc_http2_streams_new(const struct dtc_http2_streams_input *input)
{
	DtcHttp2Streams *streams = g_new0(DtcHttp2Streams, 1);

	streams->input = *input;
	streams->client = -1;
	streams->open = g_hash_table_new(g_direct_hash, g_direct_equal);
	streams->said = make_said();
	for (guint i = 0; i < 2; i++) {
		struct side *side = &streams->side[i];
		*side = (struct side){ streams, i, { side, take_header, take_frame } };
	}
	return streams;
}

void dtc_http2_streams_free(DtcHttp2Streams *streams)
{
	if (!streams)
		return;
	while (g_hash_table_size(streams->open))
		close_oldest(streams);
	g_hash_table_unref(streams->open);
	dtc_open_exchange_free(streams->said);
	g_free(streams);
}

const struct dtc_http2_listener *dtc_http2_streams_get_listener(DtcHttp2Streams *streams, guint side)
{
	return &streams->side[side].listener;
}

void dtc_http2_streams_set_echo(DtcHttp2Streams *streams)
{
	streams->is_echo = true;
}

guint64 dtc_http2_streams_get_unread_count(const DtcHttp2Streams *streams)
{
	return streams->unread_count;
}
