/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The own address is source or destination of at least 95 % of the unicast frames (the rest is what a switch floods).
 * A node that talks to one neighbour only (a client and its gateway) leaves two such addresses. Then, in this order:
 *   1. Padding. A network card pads short frames to 60 bytes, after the capture took them: who sends padded frames is
 *      not the node. (Virtual cards do not pad; then nobody does.)
 *   2. Routers. Who sends packets whose time-to-live is not an initial value (64, 128, 255) forwards for others: if
 *      only one of the two does, the other one is the node. (If the node itself forwards, it has more neighbours.)
 *   3. Handshakes. Between SYN and SYN-ACK, and between SYN-ACK and the final ACK, one gap is the way to the peer and
 *      back, the other one only this host's answer: the shorter gap is answered by the node itself. Most votes win.
 * Broadcasts and ARP say nothing: both ends send them and both see them.
 */
#include "collect/packets/origin.h"

#include <dtrace-chain/hash.h>

#include <string.h>

#define SHARE_PERCENT 95
#define STATIONS_MAX 4096 /* a flood of made-up addresses must not grow the table */
#define HANDSHAKES 64	  /* open ones remembered; older ones are forgotten */
#define GAP_FACTOR 2	  /* gaps this alike say nothing */

struct station {
	uint8_t mac[6];
	guint64 frames;
	guint64 padded;
	guint64 forwarded;
	guint64 votes;
};

struct handshake {
	uint8_t client_mac[6];
	uint8_t server_mac[6];
	uint16_t client_port;
	uint16_t server_port;
	uint32_t client_isn;
	uint32_t server_isn;
	int64_t syn_ns;
	int64_t answer_ns;
	bool is_open;
	bool is_answered;
};

struct DtcOrigin {
	GArray *stations;  /* struct station */
	GHashTable *index; /* address as integer -> position + 1 */
	guint64 unicast_frames;
	struct handshake handshakes[HANDSHAKES];
	guint next_handshake;
};

DtcOrigin *dtc_origin_new(void)
{
	DtcOrigin *origin = g_new0(DtcOrigin, 1);
	origin->stations = g_array_new(FALSE, TRUE, sizeof(struct station));
	origin->index = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	return origin;
}

void dtc_origin_free(DtcOrigin *origin)
{
	if (!origin)
		return;
	g_array_unref(origin->stations);
	g_hash_table_unref(origin->index);
	g_free(origin);
}

static struct station *find_station(const DtcOrigin *origin, const uint8_t mac[6])
{
	gint64 key = 0;
	memcpy(&key, mac, 6);
	guint position = GPOINTER_TO_UINT(g_hash_table_lookup(origin->index, &key));
	return position > 0 ? &g_array_index(origin->stations, struct station, position - 1) : NULL;
}

static void add_frame(DtcOrigin *origin, const uint8_t mac[6], bool is_source, struct dtc_frame_hints hints)
{
	struct station *station = find_station(origin, mac);
	if (!station) {
		if (origin->stations->len == STATIONS_MAX)
			return;
		g_array_set_size(origin->stations, origin->stations->len + 1);
		station = &g_array_index(origin->stations, struct station, origin->stations->len - 1);
		memcpy(station->mac, mac, 6);
		gint64 *key = g_new0(gint64, 1);
		memcpy(key, mac, 6);
		g_hash_table_insert(origin->index, key, GUINT_TO_POINTER(origin->stations->len));
	}
	station->frames++;
	if (is_source) {
		guint ttl = hints.ttl;
		station->padded += hints.padding_bytes > 0;
		station->forwarded += ttl > 1 && ttl != 64 && ttl != 128 && ttl != 255;
	}
}

static void vote(const DtcOrigin *origin, const uint8_t mac[6])
{
	struct station *station = find_station(origin, mac);
	if (station)
		station->votes++;
}

static void begin_handshake(DtcOrigin *origin, const struct dtc_captured *captured)
{
	const struct dtc_headers *headers = &captured->headers;
	struct handshake *handshake = &origin->handshakes[origin->next_handshake++ % HANDSHAKES];
	*handshake = (struct handshake){
		.client_port = headers->source_port,
		.server_port = headers->destination_port,
		.client_isn = headers->seq,
		.syn_ns = captured->time_ns,
		.is_open = true,
	};
	memcpy(handshake->client_mac, captured->mac_source, 6);
	memcpy(handshake->server_mac, captured->mac_destination, 6);
}

static void answer_handshake(DtcOrigin *origin, const struct dtc_captured *captured)
{
	const struct dtc_headers *headers = &captured->headers;
	for (guint i = 0; i < HANDSHAKES; i++) {
		struct handshake *handshake = &origin->handshakes[i];
		if (!handshake->is_open || handshake->is_answered || headers->ack != handshake->client_isn + 1 ||
		    headers->source_port != handshake->server_port ||
		    headers->destination_port != handshake->client_port)
			continue;
		handshake->is_answered = true;
		handshake->answer_ns = captured->time_ns;
		handshake->server_isn = headers->seq;
		return;
	}
}

static void end_handshake(DtcOrigin *origin, const struct dtc_captured *captured)
{
	const struct dtc_headers *headers = &captured->headers;
	for (guint i = 0; i < HANDSHAKES; i++) {
		struct handshake *handshake = &origin->handshakes[i];
		if (!handshake->is_open || !handshake->is_answered || headers->ack != handshake->server_isn + 1 ||
		    headers->source_port != handshake->client_port ||
		    headers->destination_port != handshake->server_port)
			continue;
		handshake->is_open = false;
		int64_t server_ns = handshake->answer_ns - handshake->syn_ns;
		int64_t client_ns = captured->time_ns - handshake->answer_ns;
		if (server_ns < 0 || client_ns < 0)
			return;
		if (client_ns < server_ns / GAP_FACTOR)
			vote(origin, handshake->client_mac);
		else if (server_ns < client_ns / GAP_FACTOR)
			vote(origin, handshake->server_mac);
		return;
	}
}

void dtc_origin_add(DtcOrigin *origin, const struct dtc_captured *captured, struct dtc_frame_hints hints)
{
	static const uint8_t zero[6] = { 0 };
	const struct dtc_headers *headers = &captured->headers;
	bool is_group = (captured->mac_destination[0] | captured->mac_source[0]) & 1;
	if (is_group || memcmp(captured->mac_source, zero, 6) == 0 || memcmp(captured->mac_destination, zero, 6) == 0 ||
	    memcmp(captured->mac_source, captured->mac_destination, 6) == 0)
		return;
	origin->unicast_frames++;
	add_frame(origin, captured->mac_source, true, hints);
	add_frame(origin, captured->mac_destination, false, hints);
	if (headers->protocol != DTC_PROTOCOL_TCP || !headers->has_transport)
		return;
	switch (headers->tcp_flags & 0x17) { /* FIN, SYN, RST, ACK */
	case 0x02:
		begin_handshake(origin, captured);
		break;
	case 0x12:
		answer_handshake(origin, captured);
		break;
	case 0x10:
		end_handshake(origin, captured);
		break;
	default:
		break;
	}
}

/* -1: a is the own one, 1: b is, 0: they do not differ. */
static int compare_stations(const struct station *a, const struct station *b)
{
	if (!a->padded != !b->padded)
		return a->padded ? 1 : -1;
	if (!a->forwarded != !b->forwarded)
		return a->forwarded ? 1 : -1;
	if (a->votes != b->votes)
		return a->votes > b->votes ? -1 : 1;
	return 0;
}

bool dtc_origin_get(const DtcOrigin *origin, uint8_t ret_mac[6])
{
	const struct station *found[2] = { NULL, NULL };
	guint count = 0;
	for (guint i = 0; i < origin->stations->len; i++) {
		const struct station *station = &g_array_index(origin->stations, struct station, i);
		if (station->frames * 100 < origin->unicast_frames * SHARE_PERCENT)
			continue;
		if (count < 2)
			found[count] = station;
		count++;
	}
	if (count == 0 || count > 2)
		return false;
	int order = count == 1 ? -1 : compare_stations(found[0], found[1]);
	if (order == 0)
		return false;
	memcpy(ret_mac, found[order < 0 ? 0 : 1]->mac, 6);
	return true;
}
