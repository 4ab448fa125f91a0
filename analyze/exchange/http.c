/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/http.h"

#include "analyze/exchange/http2.h"
#include "analyze/exchange/http2_streams.h"
#include "analyze/exchange/identity.h"
#include "analyze/exchange/message.h"
#include "analyze/exchange/open_exchange.h"
#include "analyze/exchange/stream.h"

#include <string.h>

#define DEFAULT_MAX_WAITING_BYTES ((gsize)64 << 20)
#define MAX_PIPELINED 256	     /* unanswered requests on one connection; more were never answered */
#define MAX_SEGMENT_BYTES (1u << 24) /* larger than any packet, GSO or not: a damaged header */

/* Within this a packet goes through a node's devices; so many others come in between. */
#define ECHO_NS 1000000
#define ECHO_PACKETS 64

struct side {
	struct dtc_tcp_stream stream;
	struct dtc_http_message message;
	struct dtc_open_exchange *open; /* whose message is being read, or NULL: between messages, or an orphan's */
	bool is_seen;			/* a packet of it was, since the connection was met */
};

struct connection {
	uint32_t flow[2];
	struct side side[2];
	int client;		 /* which side sends requests; -1: not known yet */
	bool is_sure;		 /* of that: seen from the begin, or a response met its request */
	bool has_requests;	 /* that were seen */
	bool is_ended;		 /* reset, upgraded, or something else than HTTP */
	bool is_echo;		 /* its first bytes were just seen under other ends */
	bool look_again;	 /* it only looked like a message, in the middle of a connection */
	GQueue unanswered;	 /* struct dtc_open_exchange *, in the order of the requests; no response has begun */
	struct dtc_http2 *http2; /* by side, once it turned out to be that; NULL: it is not. Owned, as the streams */
	DtcHttp2Streams *streams;
};

/* In flows: what is known about a flow without a connection. */
#define FLOW_IGNORED ((void *)1)
#define FLOW_TLS ((void *)2)

struct DtcHttp {
	guint node;
	const DtcPackets *packets; /* borrowed */
	DtcIdentityHeaders *headers;
	GPtrArray *flows;   /* by flow id: NULL (nothing known), a mark, or struct connection * */
	guint passed_flows; /* so many had packets that were passed: their begin is not told */
	DtcExchanges *exchanges;
	DtcFrames *frames;
	DtcShingles *shingles;
	struct dtc_tcp_stream_budget budget;
	guint64 tls_count;
	guint64 http2_lost_count; /* connections of HTTP/2 that lack frames */
	guint64 http2_unread_count;
	guint64 upgraded_count;
	guint64 lost_bytes;	  /* of HTTP connections, never captured */
	guint64 cut_header_count; /* messages whose headers lie beyond the snapshot length */
};

DtcHttp *dtc_http_new(guint node, const DtcPackets *packets, const struct dtc_http_options *options)
{
	static const struct dtc_http_options defaults = { 0 };
	if (!options)
		options = &defaults;
	DtcHttp *http = g_new0(DtcHttp, 1);
	http->node = node;
	http->packets = packets;
	http->headers = dtc_identity_headers_new(options->id_headers);
	http->flows = g_ptr_array_new();
	http->exchanges = dtc_exchanges_new(options->max_exchange_bytes);
	http->frames = dtc_frames_new(0);
	http->shingles = dtc_shingles_new(0);
	http->budget.max_waiting_bytes =
		options->max_waiting_bytes ? options->max_waiting_bytes : DEFAULT_MAX_WAITING_BYTES;
	return http;
}

static bool is_connection(const void *known)
{
	return known && known != FLOW_IGNORED && known != FLOW_TLS;
}

/* --- exchanges being read --- */

static struct dtc_open_exchange *open_exchange_new(DtcHttp *http, const struct connection *c)
{
	return dtc_open_exchange_new(http->node, c->flow[c->client]);
}

/*
 * A bridge shows what comes back after one half of a translation (the client's address is its own again, the server's
 * not yet), and never the question under these ends: it is an answer that others show with its question.
 */
static bool is_half_translated(const struct connection *c, guint side)
{
	return c->is_echo && !c->side[side].is_seen;
}

static void open_exchange_emit(DtcHttp *http, const struct connection *c, struct dtc_open_exchange *open)
{
	if (!open->exchange.has_request && c->client >= 0 && is_half_translated(c, (guint)c->client)) {
		dtc_open_exchange_free(open);
		return;
	}
	dtc_open_exchange_emit(open, http->exchanges);
}

/* The response of this exchange will not be seen (any more). */
static void give_up_response(DtcHttp *http, struct connection *c, struct dtc_open_exchange *open)
{
	open->response_done = true;
	if (c->side[c->client].open == open)
		return; /* emitted when its request is read to the end */
	open_exchange_emit(http, c, open);
}

/* --- connections --- */

static void set_flows(DtcHttp *http, const struct connection *c, void *known)
{
	for (guint i = 0; i < 2; i++)
		g_ptr_array_index(http->flows, c->flow[i]) = known;
}

static void connection_free(DtcHttp *http, struct connection *c)
{
	for (guint i = 0; i < 2; i++) {
		dtc_tcp_stream_clear(&c->side[i].stream, &http->budget);
		dtc_http_message_clear(&c->side[i].message);
	}
	g_queue_clear(&c->unanswered);
	for (guint i = 0; c->http2 && i < 2; i++)
		dtc_http2_clear(&c->http2[i]);
	g_free(c->http2);
	dtc_http2_streams_free(c->streams);
	g_free(c);
}

/* All that the flow ever brought is told, as far as it was captured. */
static bool begins_at_isn(const DtcHttp *http, uint32_t flow)
{
	return flow >= http->passed_flows && dtc_packets_get_flow(http->packets, flow)->has_isn;
}

static struct connection *connection_new(DtcHttp *http, uint32_t flow, uint32_t reverse)
{
	struct connection *c = g_new0(struct connection, 1);
	c->flow[0] = flow;
	c->flow[1] = reverse;
	c->client = -1;
	g_queue_init(&c->unanswered);
	for (guint i = 0; i < 2; i++) {
		const struct dtc_flow *f = dtc_packets_get_flow(http->packets, c->flow[i]);
		if (begins_at_isn(http, c->flow[i]))
			dtc_tcp_stream_start(&c->side[i].stream, f->isn + 1);
	}
	set_flows(http, c, c);
	return c;
}

static void message_gone(DtcHttp *http, struct connection *c, guint i, bool complete)
{
	struct side *side = &c->side[i];
	struct dtc_open_exchange *open = side->open;
	side->open = NULL;
	if (!open)
		return;
	if ((int)i == c->client) {
		open->request_done = true;
		open->exchange.request_complete = complete;
		/* Until its response is read the exchange lives in unanswered or in the other side. */
		if (open->response_done)
			open_exchange_emit(http, c, open);
	} else {
		open->exchange.response_complete = complete;
		give_up_response(http, c, open);
	}
}

/* Reports what is left and forgets the connection; its flows are not looked at again. */
static void connection_end(DtcHttp *http, struct connection *c, void *mark)
{
	for (guint i = 0; i < 2; i++) {
		struct side *side = &c->side[i];
		bool complete =
			dtc_tcp_stream_is_at_end(&side->stream) && dtc_http_message_ends_with_stream(&side->message);
		message_gone(http, c, i, complete);
	}
	struct dtc_open_exchange *open;
	while ((open = g_queue_pop_head(&c->unanswered)))
		open_exchange_emit(http, c, open);
	if (c->http2 && (c->http2[0].lost_count || c->http2[1].lost_count))
		http->http2_lost_count++;
	if (c->streams)
		http->http2_unread_count += dtc_http2_streams_get_unread_count(c->streams);
	set_flows(http, c, mark);
	connection_free(http, c);
}

/* --- messages --- */

static void lose_track(DtcHttp *http, struct connection *c, guint i)
{
	message_gone(http, c, i, false);
	dtc_http_message_resync(&c->side[i].message);
}

static void begin_request(DtcHttp *http, struct connection *c, guint i)
{
	struct side *side = &c->side[i];
	const struct dtc_http_message *message = &side->message;
	if (g_queue_get_length(&c->unanswered) >= MAX_PIPELINED)
		give_up_response(http, c, g_queue_pop_head(&c->unanswered));
	struct dtc_open_exchange *open = open_exchange_new(http, c);
	struct dtc_exchange *e = &open->exchange;
	dtc_open_exchange_set_text(&e->method, message->method, message->method_bytes);
	dtc_open_exchange_set_text(&e->target, message->target, message->target_bytes);
	e->has_request = true;
	e->request_seq = e->request_end_seq = message->begin_seq;
	e->request_ns = e->request_end_ns = message->begin_ns;
	e->is_first = begins_at_isn(http, e->flow) && !c->has_requests && !message->after_hole;
	c->has_requests = true;
	open->ack = message->begin_ack;
	open->has_ack = message->has_begin_ack;
	g_queue_push_tail(&c->unanswered, open);
	side->open = open;
}

/*
 * Which request this response answers. In order; but the server cannot answer what it had not received (the ack of the
 * response's first packet), and after a hole among the responses the requests that the client sent before it had
 * received all that lies before this response are the ones whose responses fell into the hole.
 */
static struct dtc_open_exchange *take_request(DtcHttp *http, struct connection *c,
					      const struct dtc_http_message *message)
{
	while (message->after_hole && g_queue_get_length(&c->unanswered) > 1) {
		const struct dtc_open_exchange *first = g_queue_peek_nth(&c->unanswered, 0);
		const struct dtc_open_exchange *second = g_queue_peek_nth(&c->unanswered, 1);
		if (!first->has_ack || !second->has_ack || dtc_seq_distance(first->ack, second->ack) <= 0 ||
		    dtc_seq_distance(second->ack, message->begin_seq) < 0)
			break;
		give_up_response(http, c, g_queue_pop_head(&c->unanswered));
	}
	const struct dtc_open_exchange *first = g_queue_peek_head(&c->unanswered);
	if (!first)
		return NULL;
	if (message->has_begin_ack && dtc_seq_distance(first->exchange.request_seq, message->begin_ack) <= 0)
		return NULL;
	c->is_sure = true;
	return g_queue_pop_head(&c->unanswered);
}

static void drain(DtcHttp *http, struct connection *c, guint i);

static void begin_response(DtcHttp *http, struct connection *c, guint i)
{
	struct side *side = &c->side[i];
	const struct dtc_http_message *message = &side->message;
	struct side *client = &c->side[c->client];
	if (message->has_begin_ack) { /* what the server had received and we have not will not come any more */
		dtc_tcp_stream_skip(&client->stream, &http->budget, message->begin_ack);
		drain(http, c, (guint)c->client);
	}
	if (dtc_http_message_is_interim(message))
		return; /* 100 Continue and its kin: the final response is still to come */
	struct dtc_open_exchange *open = take_request(http, c, message);
	if (!open) {
		open = open_exchange_new(http, c);
		open->request_done = true;
		open->exchange.request_seq = open->exchange.request_end_seq = message->begin_ack;
		open->exchange.request_ns = open->exchange.request_end_ns = message->begin_ns;
	}
	struct dtc_exchange *e = &open->exchange;
	e->has_response = true;
	e->response_seq = e->response_end_seq = message->begin_seq;
	e->response_ns = e->response_end_ns = message->begin_ns;
	e->status = message->status;
	side->open = open;
	dtc_http_message_set_request(&side->message, e->has_request ? e->method : NULL);
}

/* Extends the message being read to what was just consumed. */
static void note_seen(struct connection *c, guint i, int64_t time_ns)
{
	struct dtc_open_exchange *open = c->side[i].open;
	if (!open)
		return;
	if ((int)i == c->client) {
		open->exchange.request_end_seq = c->side[i].message.seq;
		dtc_open_exchange_set_seen(&open->exchange.request_end_ns, time_ns);
	} else {
		open->exchange.response_end_seq = c->side[i].message.seq;
		dtc_open_exchange_set_seen(&open->exchange.response_end_ns, time_ns);
	}
}

/*
 * A message begins on side i: does it fit what the sides are taken for? A capture that begins in the middle may have
 * met a body in which a message stands: until a response has met a request, a request from the other side turns the
 * roles, and what was taken for requests was none.
 */
static bool agree_on_roles(DtcHttp *http, struct connection *c, guint i)
{
	const struct dtc_http_message *message = &c->side[i].message;
	int client = message->is_request ? (int)i : (int)!i;
	if (c->client == client)
		return true;
	if (c->client >= 0 && (c->is_sure || !message->is_request))
		return false;
	if (c->client >= 0) {
		struct dtc_open_exchange *open;
		for (guint k = 0; k < 2; k++)
			message_gone(http, c, k, false);
		while ((open = g_queue_pop_head(&c->unanswered)))
			dtc_open_exchange_free(open);
		dtc_http_message_resync(&c->side[!i].message);
	}
	c->client = client;
	c->is_sure = begins_at_isn(http, c->flow[i]) && !message->after_hole;
	return true;
}

static void become_http2(DtcHttp *http, struct connection *c)
{
	const struct dtc_http2_streams_input input = {
		.node = http->node,
		.flow = { c->flow[0], c->flow[1] },
		.is_of_begin = { begins_at_isn(http, c->flow[0]), begins_at_isn(http, c->flow[1]) },
		.headers = http->headers,
		.exchanges = http->exchanges,
	};

	c->http2 = g_new0(struct dtc_http2, 2);
	c->streams = dtc_http2_streams_new(&input);
	for (guint i = 0; i < 2; i++)
		dtc_http2_init(&c->http2[i], c->flow[i], http->frames, dtc_http2_streams_get_listener(c->streams, i));
}

/* False if the connection turned out to be something else and is not to be read on. */
static bool read_piece(DtcHttp *http, struct connection *c, guint i, const struct dtc_tcp_stream_piece *piece)
{
	struct side *side = &c->side[i];
	struct dtc_http_message_input input;
	dtc_http_message_input_init(&input, piece);
	for (;;) {
		enum dtc_http_message_event event = dtc_http_message_next(&side->message, &input);
		switch (event) {
		case DTC_HTTP_MORE:
			note_seen(c, i, piece->time_ns);
			return true;
		case DTC_HTTP_BEGIN:
			if (!agree_on_roles(http, c, i)) {
				lose_track(http, c, i); /* inside a body that happens to look like a message */
				break;
			}
			if (side->message.is_request)
				begin_request(http, c, i);
			else
				begin_response(http, c, i);
			break;
		case DTC_HTTP_HEADER:
			if (side->open)
				dtc_open_exchange_add_header(side->open, http->headers, side->message.name,
							     side->message.name_bytes, side->message.value,
							     side->message.value_bytes);
			break;
		case DTC_HTTP_END:
			note_seen(c, i, piece->time_ns);
			message_gone(http, c, i, true);
			if (side->message.answers == DTC_HTTP_ANSWERS_CONNECT && !side->message.is_request)
				dtc_http_message_leave_tunnel(&c->side[!i].message); /* refused */
			break;
		case DTC_HTTP_UPGRADED:
			note_seen(c, i, piece->time_ns);
			message_gone(http, c, i, true);
			http->upgraded_count++;
			return false;
		case DTC_HTTP_HTTP2:
			become_http2(http, c);
			dtc_http2_skip_preface(&c->http2[i], side->message.seq);
			dtc_http2_read(&c->http2[i], piece, input.used);
			return true;
		case DTC_HTTP_CUT:
			http->cut_header_count++;
			note_seen(c, i, piece->time_ns);
			lose_track(http, c, i);
			break;
		case DTC_HTTP_LOST:
			note_seen(c, i, DTC_TIME_NONE);
			lose_track(http, c, i);
			break;
		case DTC_HTTP_FOREIGN:
			if (c->client < 0) {
				c->look_again = !begins_at_isn(http, c->flow[i]);
				return false;
			}
			lose_track(http, c, i);
			break;
		}
	}
}

static void drain(DtcHttp *http, struct connection *c, guint i)
{
	struct dtc_tcp_stream_piece piece;
	while (!c->is_ended && dtc_tcp_stream_next(&c->side[i].stream, &http->budget, &piece)) {
		if (piece.kind == DTC_PIECE_LOST && c->client >= 0 && !is_half_translated(c, i))
			http->lost_bytes += piece.bytes;
		if (c->http2)
			dtc_http2_read(&c->http2[i], &piece, 0);
		else if (!read_piece(http, c, i, &piece))
			c->is_ended = true;
	}
}

/* --- packets --- */

static bool is_tls_record(const uint8_t *data, uint32_t bytes)
{
	/* type handshake to application data (or change cipher spec, alert), version 3.0 to 3.4, a length TLS allows */
	return bytes >= 5 && data[0] >= 0x14 && data[0] <= 0x17 && data[1] == 3 && data[2] <= 4 &&
	       (data[3] << 8 | data[4]) > 0 && (data[3] << 8 | data[4]) <= (1 << 14) + 2048;
}

/* A packet that was seen just before, with the same numbers between other ends. */
static bool is_echo_of_another(const DtcHttp *http, uint32_t packet)
{
	const struct dtc_packet p = dtc_packets_get(http->packets, packet);
	for (uint32_t i = packet; i > 0 && packet - i < ECHO_PACKETS; i--) {
		const struct dtc_packet before = dtc_packets_get(http->packets, i - 1);
		if (before.seq == p.seq && before.ack == p.ack && before.payload_bytes == p.payload_bytes &&
		    before.flow != p.flow && ABS(p.time_ns - before.time_ns) < ECHO_NS)
			return true;
	}
	return false;
}

/* The first payload of a connection: is it worth a connection? */
static struct connection *meet(DtcHttp *http, uint32_t flow, const struct dtc_tcp_segment *segment)
{
	const struct dtc_flow *f = dtc_packets_get_flow(http->packets, flow);
	uint32_t reverse = f->reverse;
	bool at_begin = f->has_isn && segment->seq == f->isn + 1;
	bool reordered = begins_at_isn(http, flow) && !at_begin && dtc_seq_distance(f->isn + 1, segment->seq) > 0;
	if (segment->captured_bytes == 0)
		return NULL;
	enum dtc_http_message_look look = dtc_http_message_look_at(segment->data, segment->captured_bytes, !at_begin);
	bool is_http2 =
		look == DTC_LOOK_FOREIGN && !reordered && dtc_http2_look_at(segment->data, segment->captured_bytes);
	if (look == DTC_LOOK_FOREIGN && !reordered && !is_http2) {
		bool is_tls = is_tls_record(segment->data, segment->captured_bytes);
		http->tls_count += is_tls;
		/* Seen from its begin it is something else; met in the middle it may be the body of a message. */
		if (is_tls || at_begin) {
			void *mark = is_tls ? FLOW_TLS : FLOW_IGNORED;
			g_ptr_array_index(http->flows, flow) = mark;
			if (reverse != DTC_NONE)
				g_ptr_array_index(http->flows, reverse) = mark;
		}
		return NULL;
	}
	if (reverse == DTC_NONE)
		return NULL;
	struct connection *c = connection_new(http, flow, reverse);
	if (!c->side[0].stream.is_started)
		dtc_tcp_stream_start(&c->side[0].stream, segment->seq);
	/* What the sender of a request had received is where the response will begin, and the other way round. */
	if (!c->side[1].stream.is_started && segment->has_ack)
		dtc_tcp_stream_start(&c->side[1].stream, segment->ack);
	if (is_http2) {
		become_http2(http, c);
		for (guint i = 0; !at_begin && i < 2; i++)
			dtc_http2_resync(&c->http2[i]);
	}
	return c;
}

void dtc_http_pass(DtcHttp *http)
{
	http->passed_flows = dtc_packets_get_flow_count(http->packets);
}

/* It may still turn out to be the body of a message: what it tells then is as true. */
static void add_shingles(DtcHttp *http, uint32_t flow, const struct dtc_tcp_segment *segment)
{
	if (segment->captured_bytes && g_ptr_array_index(http->flows, flow) != FLOW_TLS)
		dtc_shingles_add(http->shingles, flow, segment->seq, segment->data, segment->captured_bytes);
}

void dtc_http_add(DtcHttp *http, uint32_t packet, const struct dtc_captured *captured)
{
	const struct dtc_headers *headers = &captured->headers;
	if (headers->ip_version == 0 || headers->protocol != DTC_PROTOCOL_TCP || !headers->has_transport)
		return;
	uint32_t flow = dtc_packets_get_flow_of(http->packets, packet);
	if (flow == DTC_NONE)
		return;
	guint flow_count = dtc_packets_get_flow_count(http->packets);
	if (http->flows->len < flow_count)
		g_ptr_array_set_size(http->flows, (gint)flow_count);
	void *known = g_ptr_array_index(http->flows, flow);
	if (known == FLOW_TLS)
		return;

	bool is_syn = headers->tcp_flags & DTC_TCP_SYN;
	struct dtc_tcp_segment segment = {
		.seq = headers->seq + is_syn,
		.ack = headers->ack,
		.has_ack = headers->tcp_flags & DTC_TCP_ACK,
		.bytes = headers->payload_bytes,
		.captured_bytes = captured->payload ? MIN(captured->payload_captured_bytes, headers->payload_bytes) : 0,
		.data = captured->payload,
		.time_ns = captured->time_ns,
	};
	if (segment.bytes > MAX_SEGMENT_BYTES)
		return;
	if (known == FLOW_IGNORED) {
		add_shingles(http, flow, &segment);
		return;
	}
	struct connection *c = known;
	if (!c) {
		if (segment.bytes == 0)
			return;
		if (!(c = meet(http, flow, &segment))) {
			add_shingles(http, flow, &segment);
			return;
		}
		c->is_echo = is_echo_of_another(http, packet);
		if (c->is_echo && c->streams)
			dtc_http2_streams_set_echo(c->streams);
	}
	guint i = c->flow[0] == flow ? 0 : 1;
	struct side *side = &c->side[i], *other = &c->side[!i];
	side->is_seen = true;
	if (is_syn && !side->stream.is_started)
		dtc_tcp_stream_start(&side->stream, segment.seq);
	/* Bytes that this packet acknowledges come before its own. */
	if (segment.has_ack) {
		dtc_tcp_stream_acknowledge(&other->stream, segment.ack);
		drain(http, c, !i);
	}
	dtc_tcp_stream_add(&side->stream, &http->budget, &segment);
	drain(http, c, i);
	if (headers->tcp_flags & DTC_TCP_FIN)
		dtc_tcp_stream_end(&side->stream, segment.seq + segment.bytes);
	if (dtc_tcp_stream_is_at_end(&side->stream) && dtc_http_message_ends_with_stream(&side->message))
		message_gone(http, c, i, true);
	if (headers->tcp_flags & DTC_TCP_RST) {
		for (guint k = 0; k < 2; k++) {
			dtc_tcp_stream_flush(&c->side[k].stream);
			drain(http, c, k);
		}
		c->is_ended = true;
	}
	if (c->is_ended || (dtc_tcp_stream_is_at_end(&side->stream) && dtc_tcp_stream_is_at_end(&other->stream)))
		connection_end(http, c, c->look_again ? NULL : FLOW_IGNORED);
}

static void add_findings(const DtcHttp *http, const char *node, DtcFindings *findings)
{
	if (http->tls_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "%" G_GUINT64_FORMAT " connections are TLS; identities need --mark-regex or --spans",
				 http->tls_count);
	if (http->http2_unread_count > 0)
		dtc_findings_add(
			findings, DTC_SEVERITY_INFO, false, node,
			"of %" G_GUINT64_FORMAT
			" questions and answers of HTTP/2 method or status are not known: their connections began "
			"before the capture, or packets are missing",
			http->http2_unread_count);
	if (http->http2_lost_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, node,
				 "of %" G_GUINT64_FORMAT
				 " HTTP/2 connections the capture lacks frames: which answer belongs to which question "
				 "is not known there",
				 http->http2_lost_count);
	if (http->upgraded_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "%" G_GUINT64_FORMAT " HTTP connections were upgraded or became tunnels and were not "
				 "followed further",
				 http->upgraded_count);
	if (http->lost_bytes > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, node,
				 "the capture lacks %" G_GUINT64_FORMAT
				 " bytes of HTTP connections; requests in them are "
				 "missing or incomplete",
				 http->lost_bytes);
	if (http->cut_header_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, node,
				 "%" G_GUINT64_FORMAT
				 " HTTP headers were cut by the capture's snapshot length; identities "
				 "may be missing",
				 http->cut_header_count);
	guint64 dropped_count = dtc_exchanges_get_dropped_count(http->exchanges);
	if (dropped_count > 0)
		dtc_findings_add(
			findings, DTC_SEVERITY_WARNING, false, node,
			"there are more HTTP requests than memory was set aside for: the last %" G_GUINT64_FORMAT
			" of %" G_GUINT64_FORMAT " were left out",
			dropped_count, dropped_count + dtc_exchanges_get_count(http->exchanges));
}

static void end_all(DtcHttp *http)
{
	for (guint flow = 0; flow < http->flows->len; flow++) {
		struct connection *c = g_ptr_array_index(http->flows, flow);
		if (!is_connection(c))
			continue;
		for (guint i = 0; i < 2; i++) {
			dtc_tcp_stream_flush(&c->side[i].stream);
			drain(http, c, i);
		}
		connection_end(http, c, FLOW_IGNORED);
	}
}

DtcExchanges *dtc_http_finish(DtcHttp *http, const char *node_name, DtcFindings *findings)
{
	end_all(http);
	add_findings(http, node_name, findings);
	dtc_exchanges_sort(http->exchanges);
	dtc_exchanges_add_capture(http->exchanges);
	dtc_shingles_finish(http->shingles);
	return g_steal_pointer(&http->exchanges);
}

DtcFrames *dtc_http_steal_frames(DtcHttp *http)
{
	return g_steal_pointer(&http->frames);
}

DtcShingles *dtc_http_steal_shingles(DtcHttp *http)
{
	return g_steal_pointer(&http->shingles);
}

void dtc_http_free(DtcHttp *http)
{
	if (!http)
		return;
	if (http->exchanges) /* not finished */
		end_all(http);
	dtc_exchanges_free(http->exchanges);
	dtc_frames_free(http->frames);
	dtc_shingles_free(http->shingles);
	dtc_identity_headers_free(http->headers);
	g_ptr_array_unref(http->flows);
	g_free(http);
}
