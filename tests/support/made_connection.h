/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captured TCP connections made up packet by packet, for what no recording has: losses, reordering, wraps, cut packets.
 * A scanner reads them as they are made. Time goes on by a microsecond with each packet. Sequence numbers advance with
 * what a side sends; made_segment places a segment anywhere.
 */
#pragma once

#include "analyze/exchange/http.h"

#include <glib.h>
#include <string.h>

struct made_capture {
	DtcPackets *packets;
	DtcHttp *http;
	DtcFindings *findings;
	DtcExchanges *exchanges; /* after made_finish */
	int64_t now_ns;
	uint32_t snapshot_bytes; /* of payload; 0: all */
	int here;		 /* enum made_side: what it sends is sent; -1: everything is received */
	bool passes;		 /* what comes is not looked at, and not kept */
};

enum made_side { CLIENT, SERVER };

struct made_connection {
	struct made_capture *capture;
	uint8_t address[2][16];
	uint16_t port[2];
	uint32_t first[2]; /* sequence number of the first byte */
	uint32_t next[2];
};

static inline void made_open_at(struct made_capture *capture, guint node, const struct dtc_http_options *options)
{
	*capture = (struct made_capture){
		.packets = dtc_packets_new(),
		.findings = dtc_findings_new(),
		.now_ns = 1000000000,
		.here = -1,
	};
	capture->http = dtc_http_new(node, capture->packets, options);
}

static inline void made_open_with(struct made_capture *capture, const struct dtc_http_options *options)
{
	made_open_at(capture, 3, options);
}

static inline void made_open(struct made_capture *capture)
{
	made_open_with(capture, NULL);
}

static inline const DtcExchanges *made_finish(struct made_capture *capture)
{
	capture->exchanges = dtc_http_finish(capture->http, "web", capture->findings);
	return capture->exchanges;
}

static inline void made_close(struct made_capture *capture)
{
	dtc_http_free(capture->http);
	dtc_packets_free(capture->packets);
	dtc_findings_free(capture->findings);
	dtc_exchanges_free(capture->exchanges);
}

/* The exchange with this index, which must be there. */
static inline const struct dtc_exchange *made_get(const struct made_capture *capture, guint index)
{
	g_assert_cmpuint(index, <, dtc_exchanges_get_count(capture->exchanges));
	return dtc_exchanges_get(capture->exchanges, index);
}

static inline bool made_has_finding(const struct made_capture *capture, const char *part)
{
	for (guint i = 0; i < dtc_findings_get_count(capture->findings); i++)
		if (strstr(dtc_findings_get(capture->findings, i)->text, part))
			return true;
	return false;
}

/* Ends and first sequence numbers; nothing is captured yet. */
static inline void made_connect_silently(struct made_connection *c, struct made_capture *capture, uint16_t client_port,
					 uint32_t client_first, uint32_t server_first)
{
	static const uint8_t client_address[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	static const uint8_t server_address[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 };
	c->capture = capture;
	memcpy(c->address[CLIENT], client_address, 16);
	memcpy(c->address[SERVER], server_address, 16);
	c->port[CLIENT] = client_port;
	c->port[SERVER] = 80;
	c->first[CLIENT] = c->next[CLIENT] = client_first;
	c->first[SERVER] = c->next[SERVER] = server_first;
}

static inline void made_packet(struct made_connection *c, enum made_side from, uint8_t flags, uint32_t seq,
			       uint32_t ack, const char *data, uint32_t bytes)
{
	struct made_capture *capture = c->capture;
	struct dtc_captured captured = { .time_ns = capture->now_ns += 1000 };
	struct dtc_headers *h = &captured.headers;
	memcpy(h->source, c->address[from], 16);
	memcpy(h->destination, c->address[!from], 16);
	h->source_port = c->port[from];
	h->destination_port = c->port[!from];
	h->ip_version = 4;
	h->protocol = DTC_PROTOCOL_TCP;
	h->tcp_flags = flags;
	h->has_transport = true;
	h->seq = seq;
	h->ack = ack;
	h->payload_bytes = bytes;
	captured.payload_captured_bytes = capture->snapshot_bytes ? MIN(bytes, capture->snapshot_bytes) : bytes;
	/* A copy of exactly that size, so that a sanitizer sees a read beyond it. */
	g_autofree uint8_t *copy = g_memdup2(data, captured.payload_captured_bytes);
	captured.payload = copy;
	enum dtc_direction direction = (int)from == capture->here ? DTC_SENT : DTC_RECEIVED;
	uint32_t packet = dtc_packets_add(capture->packets, captured.time_ns, direction, 0, 0, h);
	if (capture->passes) {
		dtc_packets_forget(capture->packets);
		dtc_http_pass(capture->http);
		return;
	}
	dtc_http_add(capture->http, packet, &captured);
}

/* A segment at an offset in its stream, acknowledging all that the other side has sent. */
static inline void made_segment(struct made_connection *c, enum made_side from, uint32_t offset, const char *data,
				uint32_t bytes)
{
	made_packet(c, from, DTC_TCP_ACK, c->first[from] + offset, c->next[!from], data, bytes);
}

static inline void made_send_bytes(struct made_connection *c, enum made_side from, const char *data, uint32_t bytes)
{
	made_packet(c, from, DTC_TCP_ACK, c->next[from], c->next[!from], data, bytes);
	c->next[from] += bytes;
}

static inline void made_send(struct made_connection *c, enum made_side from, const char *text)
{
	made_send_bytes(c, from, text, (uint32_t)strlen(text));
}

/* The side sends text, but the capture lacks it. */
static inline void made_lose(struct made_connection *c, enum made_side from, const char *text)
{
	c->next[from] += (uint32_t)strlen(text);
}

static inline void made_acknowledge(struct made_connection *c, enum made_side from)
{
	made_packet(c, from, DTC_TCP_ACK, c->next[from], c->next[!from], "", 0);
}

static inline void made_end(struct made_connection *c, enum made_side from)
{
	made_packet(c, from, DTC_TCP_FIN | DTC_TCP_ACK, c->next[from], c->next[!from], "", 0);
	c->next[from]++;
}

static inline void made_reset(struct made_connection *c, enum made_side from)
{
	made_packet(c, from, DTC_TCP_RST | DTC_TCP_ACK, c->next[from], c->next[!from], "", 0);
}

static inline void made_shake_hands(struct made_connection *c)
{
	made_packet(c, CLIENT, DTC_TCP_SYN, c->first[CLIENT] - 1, 0, "", 0);
	made_packet(c, SERVER, DTC_TCP_SYN | DTC_TCP_ACK, c->first[SERVER] - 1, c->first[CLIENT], "", 0);
	made_packet(c, CLIENT, DTC_TCP_ACK, c->first[CLIENT], c->first[SERVER], "", 0);
}

static inline void made_connect(struct made_connection *c, struct made_capture *capture, uint16_t client_port)
{
	made_connect_silently(c, capture, client_port, 1000 + client_port, 500000000u + client_port);
	made_shake_hands(c);
}
