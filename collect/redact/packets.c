/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layouts are those of collect/packets/frame.c, which reads what is written here: an envelope is opened only if
 * what is in it is an IP header with the right checksum, so that a right one is made again and a wrong one stays wrong.
 */
#include "collect/redact/packets.h"

#include "collect/packets/layers.h"

#include <string.h>

#define TOKEN_BYTES 16
#define EXTENSION_FRAGMENT 44
#define EXTENSION_AUTHENTICATION 51

struct rest {
	uint8_t *at;
	uint32_t captured;
	uint32_t wire;
};

static void put16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static void skip(struct rest *rest, uint32_t count)
{
	uint32_t captured = MIN(count, rest->captured);
	rest->at += captured;
	rest->captured -= captured;
	rest->wire -= MIN(count, rest->wire);
}

/* What is behind the packet in its frame is padding, in which anything may be. */
static void set_wire(struct rest *rest, uint32_t wire)
{
	rest->wire = wire;
	if (rest->captured > wire) {
		memset(rest->at + wire, 0, rest->captured - wire);
		rest->captured = wire;
	}
}

/*
 * Payload that nobody reads: of equal bytes equal ones, since packets without numbers are told apart by them. What is
 * hashed is as much as frame.c hashes, so that it makes no difference how much else was captured.
 */
static void fill_payload(const struct dtc_packet_redaction *redaction, struct rest rest)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	uint32_t hashed = MIN(rest.wire, DTC_LAYER_HASHED_BYTES);
	uint8_t token[TOKEN_BYTES];

	if (!redaction->connections || rest.captured == 0)
		return;
	if (rest.captured < hashed) {
		dtc_redacted_fill(rest.at, rest.captured);
		return;
	}
	dtc_pseudonyms_derive(redaction->words, 'p', rest.at, hashed, token, sizeof(token));
	dtc_redacted_fill(rest.at, rest.captured);
	for (uint32_t i = 0; i < MIN(hashed, TOKEN_BYTES); i++)
		rest.at[i] = (uint8_t)letters[token[i] % 32];
}

static void replace_mac(const struct dtc_packet_redaction *redaction, uint8_t *mac)
{
	if (redaction->addresses)
		dtc_addresses_replace_mac(redaction->addresses, mac);
}

/* ---- transport ---- */

/* Only options whose meaning is known to be none but numbers: segment size, scale, SACK, times. */
static void replace_tcp_options(uint8_t *options, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes;) {
		uint8_t kind = options[at];
		uint32_t length = kind <= 1 || at + 1 >= bytes ? 1 : options[at + 1];
		if (kind == 0) {
			memset(options + at, 0, bytes - at);
			return;
		}
		if (kind > 1 && (length < 2 || at + length > bytes)) {
			memset(options + at, 1, bytes - at);
			return;
		}
		if (kind > 1 && kind != 8 && (kind < 2 || kind > 5))
			memset(options + at, 1, length);
		at += length;
	}
}

static void redact_tcp(const struct dtc_packet_redaction *redaction, struct rest rest,
		       const struct dtc_connection_key *ends)
{
	uint8_t *tcp = rest.at;
	uint32_t header = rest.captured >= 20 ? (uint32_t)(tcp[12] >> 4) * 4 : 0;

	if (header < 20) {
		/* ports and numbers, or what is there of them */
		if (rest.captured > 16)
			memset(tcp + 16, 0, rest.captured - 16);
		return;
	}
	struct dtc_connection_key key = *ends;
	key.source_port = dtc_layer_get16(tcp);
	key.destination_port = dtc_layer_get16(tcp + 2);
	struct dtc_connection_segment segment = { .is_begin = tcp[13] & DTC_TCP_SYN };
	segment.seq = dtc_layer_get32(tcp + 4) + segment.is_begin;
	put16(tcp + 16, 0); /* it would tell of what is overwritten */
	replace_tcp_options(tcp + 20, MIN(header, rest.captured) - 20);
	skip(&rest, header);
	segment.bytes = rest.wire;
	segment.captured_bytes = rest.captured;
	segment.data = rest.at;
	if (redaction->connections)
		dtc_connections_add(redaction->connections, &key, &segment);
}

static void redact_icmp(const struct dtc_packet_redaction *redaction, uint8_t protocol, struct rest rest)
{
	bool is_echo = rest.captured >= 8 && (protocol == DTC_PROTOCOL_ICMP ? rest.at[0] == 0 || rest.at[0] == 8
									    : rest.at[0] == 128 || rest.at[0] == 129);
	if (rest.captured >= 4)
		put16(rest.at + 2, 0);
	skip(&rest, is_echo ? 8 : 4);
	fill_payload(redaction, rest); /* of all others it is somebody's packet, or addresses */
}

/* ---- the network layer and envelopes ---- */

static void redact_ip(const struct dtc_packet_redaction *redaction, uint16_t type, struct rest rest, guint depth);
static void redact_ethernet(const struct dtc_packet_redaction *redaction, struct rest rest, guint depth);

static void redact_udp(const struct dtc_packet_redaction *redaction, struct rest rest, guint depth)
{
	if (rest.captured >= 8)
		put16(rest.at + 6, 0);
	if (depth < DTC_CAPTURE_TUNNELS && dtc_layer_is_vxlan(rest.at, rest.captured, rest.wire)) {
		set_wire(&rest, dtc_layer_get16(rest.at + 4));
		skip(&rest, DTC_VXLAN_BYTES);
		redact_ethernet(redaction, rest, depth + 1);
		return;
	}
	uint32_t length = rest.captured >= 8 ? dtc_layer_get16(rest.at + 4) : 0;
	skip(&rest, 8);
	if (length >= 8)
		rest.wire = length - 8; /* of the datagram, not of its first fragment */
	fill_payload(redaction, rest);
}

static void redact_gre(const struct dtc_packet_redaction *redaction, struct rest rest, guint depth)
{
	uint16_t flags = rest.captured >= 4 ? dtc_layer_get16(rest.at) : DTC_GRE_UNKNOWN;
	uint32_t length = dtc_layer_get_gre_bytes(flags);
	if (!length || rest.captured < length || depth >= DTC_CAPTURE_TUNNELS) {
		dtc_redacted_fill(rest.at, rest.captured);
		return;
	}
	uint16_t type = dtc_layer_get16(rest.at + 2);
	if (flags & DTC_GRE_CHECKSUM)
		put16(rest.at + 4, 0);
	skip(&rest, length);
	if (type == DTC_ETHER_BRIDGED)
		redact_ethernet(redaction, rest, depth + 1);
	else
		redact_ip(redaction, type, rest, depth + 1);
}

static void redact_inside(const struct dtc_packet_redaction *redaction, uint8_t protocol, struct rest rest,
			  const struct dtc_connection_key *ends, guint depth)
{
	switch (protocol) {
	case DTC_PROTOCOL_TCP:
		redact_tcp(redaction, rest, ends);
		return;
	case DTC_PROTOCOL_UDP:
		redact_udp(redaction, rest, depth);
		return;
	case DTC_PROTOCOL_ICMP:
	case DTC_PROTOCOL_ICMPV6:
		redact_icmp(redaction, protocol, rest);
		return;
	case DTC_PROTOCOL_GRE:
		redact_gre(redaction, rest, depth);
		return;
	case DTC_PROTOCOL_IPV4:
	case DTC_PROTOCOL_IPV6:
		if (depth < DTC_CAPTURE_TUNNELS) {
			redact_ip(redaction, protocol == DTC_PROTOCOL_IPV4 ? DTC_ETHER_IPV4 : DTC_ETHER_IPV6, rest,
				  depth + 1);
			return;
		}
		break;
	default:
		break;
	}
	dtc_redacted_fill(rest.at, rest.captured);
}

/* Options tell the way of a packet: they become such that do nothing. */
static void redact_ipv4_header(const struct dtc_packet_redaction *redaction, uint8_t *ip, uint32_t header,
			       uint32_t captured)
{
	bool is_right = captured >= header && dtc_layer_sum_ipv4(ip, header) == 0xffff;
	if (redaction->addresses) {
		dtc_addresses_replace_ipv4(redaction->addresses, ip + 12);
		dtc_addresses_replace_ipv4(redaction->addresses, ip + 16);
	}
	if (header > 20)
		memset(ip + 20, 1, MIN(header, captured) - 20);
	put16(ip + 10, 0);
	uint16_t sum = captured >= header ? (uint16_t)~dtc_layer_sum_ipv4(ip, header) : 0;
	put16(ip + 10, is_right ? sum : (uint16_t)~sum);
}

static void set_end(uint8_t end[16], const uint8_t *address)
{
	memset(end, 0, 10);
	end[10] = end[11] = 0xff;
	memcpy(end + 12, address, 4);
}

/* False if it is no such header; then all of it is overwritten. */
static bool redact_ipv4(const struct dtc_packet_redaction *redaction, struct rest *rest, guint depth)
{
	uint8_t *ip = rest->at, protocol;
	struct dtc_connection_key ends = { 0 };

	if (rest->captured < 20 || ip[0] >> 4 != 4)
		return false;
	uint32_t header = (ip[0] & 0xfu) * 4, total = dtc_layer_get16(ip + 2);
	if (total == 0)
		total = rest->wire;
	if (header < 20 || total < header)
		return false;
	/*
	 * In an envelope a port number proves nothing: frame.c would not take it for a packet either. Elsewhere a sum
	 * may be left to the device, and is 0 then; a wrong one is damage, behind which anything may stand.
	 */
	bool is_right = rest->captured >= header && dtc_layer_sum_ipv4(ip, header) == 0xffff;
	if (!is_right && (depth > 0 || (rest->captured >= header && dtc_layer_get16(ip + 10) != 0)))
		return false;
	set_wire(rest, total);
	protocol = ip[9];
	bool is_first = (dtc_layer_get16(ip + 6) & 0x1fff) == 0;
	set_end(ends.source, ip + 12);
	set_end(ends.destination, ip + 16);
	redact_ipv4_header(redaction, ip, header, rest->captured);
	skip(rest, header);
	if (is_first)
		redact_inside(redaction, protocol, *rest, &ends, depth);
	else
		fill_payload(redaction, *rest);
	return true;
}

/* The length of an extension header, 0 if it is none or cut. What it says beside is overwritten. */
static uint32_t redact_extension(uint8_t next, struct rest *rest)
{
	uint32_t length = 0;
	if (rest->captured < 8)
		return 0;
	if (next == 0 || next == 43 || next == 60 || next == 135)
		length = (rest->at[1] + 1u) * 8;
	else if (next == EXTENSION_AUTHENTICATION)
		length = (rest->at[1] + 2u) * 4;
	else if (next == EXTENSION_FRAGMENT)
		return 8;
	if (length > rest->captured)
		return 0;
	if (length > 2) /* options of no bytes, a route over nobody */
		memset(rest->at + 2, 0, length - 2);
	return length;
}

static bool redact_ipv6(const struct dtc_packet_redaction *redaction, struct rest *rest, guint depth)
{
	uint8_t *ip = rest->at;
	struct dtc_connection_key ends = { 0 };

	if (rest->captured < 40 || ip[0] >> 4 != 6)
		return false;
	uint32_t payload = dtc_layer_get16(ip + 4), length;
	uint8_t next = ip[6];
	bool is_first = true;
	memcpy(ends.source, ip + 8, 16);
	memcpy(ends.destination, ip + 24, 16);
	if (redaction->addresses) {
		dtc_addresses_replace_ipv6(redaction->addresses, ip + 8);
		dtc_addresses_replace_ipv6(redaction->addresses, ip + 24);
	}
	skip(rest, 40);
	if (payload > 0)
		set_wire(rest, payload);
	for (int i = 0; i < DTC_LAYER_EXTENSIONS_MAX && (length = redact_extension(next, rest)) > 0; i++) {
		if (next == EXTENSION_FRAGMENT && dtc_layer_get16(rest->at + 2) >> 3 != 0)
			is_first = false;
		next = rest->at[0];
		skip(rest, length);
	}
	if (is_first)
		redact_inside(redaction, next, *rest, &ends, depth);
	else
		fill_payload(redaction, *rest);
	return true;
}

static void redact_arp(const struct dtc_packet_redaction *redaction, struct rest rest)
{
	uint8_t *arp = rest.at;
	bool is_known = rest.captured >= DTC_LAYER_ARP_BYTES && dtc_layer_get16(arp + 2) == DTC_ETHER_IPV4 &&
			arp[4] == 6 && arp[5] == 4;

	if (!is_known) {
		memset(arp, 0, rest.captured);
		return;
	}
	set_wire(&rest, DTC_LAYER_ARP_BYTES);
	replace_mac(redaction, arp + 8);
	replace_mac(redaction, arp + 18);
	if (redaction->addresses) {
		dtc_addresses_replace_ipv4(redaction->addresses, arp + 14);
		dtc_addresses_replace_ipv4(redaction->addresses, arp + 24);
	}
}

static void redact_ip(const struct dtc_packet_redaction *redaction, uint16_t type, struct rest rest, guint depth)
{
	bool is_done = type == DTC_ETHER_IPV4	? redact_ipv4(redaction, &rest, depth)
		       : type == DTC_ETHER_IPV6 ? redact_ipv6(redaction, &rest, depth)
						: false;
	if (is_done)
		return;
	if (type == DTC_ETHER_ARP)
		redact_arp(redaction, rest);
	else
		memset(rest.at, 0, rest.captured);
}

/* ---- the link layer ---- */

static uint16_t skip_tags(struct rest *rest, uint16_t type)
{
	for (int tags = 0; tags < DTC_LAYER_TAGS_MAX && rest->captured >= 4; tags++) {
		if (!dtc_layer_is_tag(type))
			break;
		type = dtc_layer_get16(rest->at + 2);
		skip(rest, 4);
	}
	return type;
}

static void redact_ethernet(const struct dtc_packet_redaction *redaction, struct rest rest, guint depth)
{
	if (rest.captured < 14) {
		memset(rest.at, 0, rest.captured);
		return;
	}
	uint16_t type = dtc_layer_get16(rest.at + 12);
	replace_mac(redaction, rest.at);
	replace_mac(redaction, rest.at + 6);
	skip(&rest, 14);
	type = skip_tags(&rest, type);
	redact_ip(redaction, type, rest, depth);
}

/* The link address of who sent it, of up to eight bytes. */
static void redact_cooked(const struct dtc_packet_redaction *redaction, struct rest rest, uint32_t header,
			  uint8_t *length, uint8_t *address, uint16_t type)
{
	if (*length == 6)
		replace_mac(redaction, address);
	else
		memset(address, 0, 8);
	if (*length == 6)
		memset(address + 6, 0, 2);
	skip(&rest, header);
	type = skip_tags(&rest, type);
	redact_ip(redaction, type, rest, 0);
}

void dtc_packet_redact(const struct dtc_packet_redaction *redaction, enum dtc_frame_kind kind, uint8_t *bytes,
		       uint32_t captured_bytes, uint32_t wire_bytes)
{
	struct rest rest = { bytes, captured_bytes, MAX(wire_bytes, captured_bytes) };
	uint32_t header = kind == DTC_FRAME_COOKED ? 16 : kind == DTC_FRAME_COOKED2 ? 20 : 0;

	if (captured_bytes < header) {
		memset(bytes, 0, captured_bytes);
		return;
	}
	switch (kind) {
	case DTC_FRAME_ETHERNET:
		redact_ethernet(redaction, rest, 0);
		return;
	case DTC_FRAME_COOKED:
		redact_cooked(redaction, rest, header, bytes + 5, bytes + 6, dtc_layer_get16(bytes + 14));
		return;
	case DTC_FRAME_COOKED2:
		redact_cooked(redaction, rest, header, bytes + 11, bytes + 12, dtc_layer_get16(bytes));
		return;
	case DTC_FRAME_LOOPBACK:
		skip(&rest, 4);
		G_GNUC_FALLTHROUGH;
	case DTC_FRAME_RAW:
		break;
	}
	uint8_t version = rest.captured > 0 ? rest.at[0] >> 4 : 0;
	redact_ip(redaction, version == 4 ? DTC_ETHER_IPV4 : version == 6 ? DTC_ETHER_IPV6 : 0, rest, 0);
}
