/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layouts:
 *   Ethernet     destination 6, source 6, type 2; 802.1Q and 802.1ad tags (4 bytes each) before the type
 *   Linux cooked packet type 2, device type 2, address length 2, address 8, protocol 2
 *   cooked v2    protocol 2, reserved 2, interface 4, device type 2, packet type 1, address length 1, address 8
 *   VXLAN        in UDP to port 4789 or 8472: flags 1 (8: has an identifier), reserved 3, identifier 3, reserved 1,
 *                Ethernet (RFC 7348; with flag 128, group policy, the first reserved bytes are in use)
 *   GRE          IP protocol 47: flags and version 2, type 2; then 4 bytes each for checksum, key and sequence number
 *                if their flags are set (RFC 2784, 2890); types: IPv4, IPv6, Ethernet
 *   IP in IP     IP protocol 4 (RFC 2003) and 41 (RFC 4213)
 * A snapshot length may cut a frame anywhere: lengths come from the headers, bounds from what was captured.
 * Mirrored frames (ERSPAN) are left in their envelope: they are copies of traffic, not traffic.
 */
#include "collect/packets/frame.h"

#include "collect/packets/layers.h"

#include <string.h>

#define COOKED_TO_US 0
#define COOKED_OTHER_HOST 3
#define COOKED_OUTGOING 4

/* What is left of a frame: captured bytes, and how many there were on the wire. */
struct rest {
	const uint8_t *at;
	uint32_t captured;
	uint32_t wire;
};

/* Drops count bytes; false if they were not captured. */
static bool skip(struct rest *rest, uint32_t count)
{
	if (rest->captured < count)
		return false;
	rest->at += count;
	rest->captured -= count;
	rest->wire = rest->wire > count ? rest->wire - count : 0;
	return true;
}

static void set_wire(struct rest *rest, uint32_t wire)
{
	rest->wire = wire;
	rest->captured = MIN(rest->captured, wire); /* the rest is the link layer's padding */
}

/* The Ethernet type of what follows the link layer; 0: not known, or cut. rest is moved behind it. */
static uint16_t skip_link(enum dtc_frame_kind kind, struct rest *rest, struct dtc_captured *captured)
{
	uint16_t type = 0;
	const uint8_t *start = rest->at;
	uint16_t packet_type = COOKED_OTHER_HOST;
	switch (kind) {
	case DTC_FRAME_ETHERNET:
		if (!skip(rest, 14))
			return 0;
		memcpy(captured->mac_destination, start, 6);
		memcpy(captured->mac_source, start + 6, 6);
		type = dtc_layer_get16(start + 12);
		break;
	case DTC_FRAME_COOKED:
		if (!skip(rest, 16))
			return 0;
		packet_type = dtc_layer_get16(start);
		if (dtc_layer_get16(start + 4) == 6)
			memcpy(captured->mac_source, start + 6, 6);
		type = dtc_layer_get16(start + 14);
		break;
	case DTC_FRAME_COOKED2:
		if (!skip(rest, 20))
			return 0;
		packet_type = start[10];
		if (start[11] == 6)
			memcpy(captured->mac_source, start + 12, 6);
		type = dtc_layer_get16(start);
		captured->interface = dtc_layer_get32(start + 4);
		break;
	case DTC_FRAME_LOOPBACK:
		if (!skip(rest, 4))
			return 0;
		G_GNUC_FALLTHROUGH;
	case DTC_FRAME_RAW: /* address families have other numbers on every system: the IP version tells as well */
		if (rest->captured > 0)
			type = rest->at[0] >> 4 == 4 ? DTC_ETHER_IPV4 : rest->at[0] >> 4 == 6 ? DTC_ETHER_IPV6 : 0;
		return type;
	}
	if (kind != DTC_FRAME_ETHERNET && packet_type != COOKED_OTHER_HOST)
		captured->direction = packet_type == COOKED_OUTGOING ? DTC_CAPTURE_OUT : DTC_CAPTURE_IN;
	for (int tags = 0; tags < DTC_LAYER_TAGS_MAX; tags++) {
		if (!dtc_layer_is_tag(type))
			break;
		if (rest->captured < 4)
			return 0;
		type = dtc_layer_get16(rest->at + 2);
		skip(rest, 4);
	}
	return type;
}

static void set_ipv4(uint8_t address[16], const uint8_t *bytes)
{
	memset(address, 0, 10);
	address[10] = address[11] = 0xff;
	memcpy(address + 12, bytes, 4);
}

/* Moves rest to the IP payload. False if the header is cut or wrong. *ret_first: a transport header may follow. */
static bool skip_ipv4(struct rest *rest, struct dtc_headers *headers, bool *ret_first)
{
	const uint8_t *ip = rest->at;
	if (rest->captured < 20 || ip[0] >> 4 != 4)
		return false;
	uint32_t header_bytes = (ip[0] & 0xfu) * 4;
	uint32_t total_bytes = dtc_layer_get16(ip + 2);
	if (total_bytes == 0) /* segmentation offload: longer than the field holds, or left to the device */
		total_bytes = rest->wire;
	if (header_bytes < 20 || total_bytes < header_bytes)
		return false;
	set_wire(rest, total_bytes);
	headers->ip_version = 4;
	headers->protocol = ip[9];
	headers->ip_id = dtc_layer_get16(ip + 4);
	set_ipv4(headers->source, ip + 12);
	set_ipv4(headers->destination, ip + 16);
	*ret_first = (dtc_layer_get16(ip + 6) & 0x1fff) == 0;
	if (!skip(rest, header_bytes)) {
		rest->captured = 0; /* options are cut */
		rest->wire = total_bytes - header_bytes;
	}
	return true;
}

static bool skip_ipv6(struct rest *rest, struct dtc_headers *headers, bool *ret_first)
{
	const uint8_t *ip = rest->at;
	if (rest->captured < 40 || ip[0] >> 4 != 6)
		return false;
	uint32_t payload_bytes = dtc_layer_get16(ip + 4);
	headers->ip_version = 6;
	uint8_t next = ip[6];
	memcpy(headers->source, ip + 8, 16);
	memcpy(headers->destination, ip + 24, 16);
	skip(rest, 40);
	if (payload_bytes > 0) /* 0: jumbogram or segmentation offload, as for IPv4 */
		set_wire(rest, payload_bytes);
	*ret_first = true;
	for (int i = 0; i < DTC_LAYER_EXTENSIONS_MAX; i++) {
		uint32_t length;
		/* hop-by-hop, routing, destination options, mobility */
		if (next == 0 || next == 43 || next == 60 || next == 135)
			length = rest->captured < 2 ? 0 : (rest->at[1] + 1u) * 8;
		else if (next == 51) /* authentication */
			length = rest->captured < 2 ? 0 : (rest->at[1] + 2u) * 4;
		else if (next == 44) /* fragment */
			length = 8;
		else
			break;
		if (length == 0 || rest->captured < length) {
			rest->captured = 0;
			*ret_first = false;
			break;
		}
		if (next == 44 && dtc_layer_get16(rest->at + 2) >> 3 != 0)
			*ret_first = false;
		next = rest->at[0];
		skip(rest, length);
	}
	headers->protocol = next;
	return true;
}

static void read_tcp_options(const uint8_t *options, uint32_t bytes, struct dtc_headers *headers)
{
	for (uint32_t at = 0; at < bytes;) {
		uint8_t kind = options[at];
		if (kind == 0)
			return;
		if (kind == 1) {
			at++;
			continue;
		}
		if (at + 1 >= bytes || options[at + 1] < 2 || at + options[at + 1] > bytes)
			return;
		if (kind == 8 && options[at + 1] == 10) {
			headers->tsval = dtc_layer_get32(options + at + 2);
			headers->has_timestamps = true;
		}
		at += options[at + 1];
	}
}

static void skip_tcp(struct rest *rest, struct dtc_headers *headers)
{
	const uint8_t *tcp = rest->at;
	if (rest->captured < 20)
		return;
	uint32_t header_bytes = (uint32_t)(tcp[12] >> 4) * 4;
	if (header_bytes < 20)
		return;
	headers->source_port = dtc_layer_get16(tcp);
	headers->destination_port = dtc_layer_get16(tcp + 2);
	headers->seq = dtc_layer_get32(tcp + 4);
	headers->ack = dtc_layer_get32(tcp + 8);
	headers->tcp_flags = tcp[13];
	headers->window = dtc_layer_get16(tcp + 14);
	headers->has_transport = true;
	read_tcp_options(tcp + 20, MIN(header_bytes, rest->captured) - 20, headers);
	headers->payload_bytes = rest->wire > header_bytes ? rest->wire - header_bytes : 0;
	if (!skip(rest, header_bytes))
		rest->captured = 0;
}

static void skip_udp(struct rest *rest, struct dtc_headers *headers)
{
	const uint8_t *udp = rest->at;
	if (rest->captured < 8)
		return;
	headers->source_port = dtc_layer_get16(udp);
	headers->destination_port = dtc_layer_get16(udp + 2);
	headers->has_transport = true;
	uint32_t length = dtc_layer_get16(udp + 4);
	skip(rest, 8);
	/* the length of the datagram, not of its first fragment */
	headers->payload_bytes = length >= 8 ? length - 8 : rest->wire;
}

/* FNV-1a. */
static uint32_t hash_payload(const uint8_t *payload, uint32_t payload_bytes, uint32_t captured_bytes)
{
	uint32_t count = MIN(payload_bytes, DTC_LAYER_HASHED_BYTES);
	if (count == 0 || captured_bytes < count)
		return 0;
	uint32_t hash = 2166136261u;
	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ payload[i]) * 16777619u;
	return hash ? hash : 1;
}

static bool skip_ip(uint16_t type, struct rest *rest, struct dtc_headers *headers, bool *ret_first)
{
	return type == DTC_ETHER_IPV4	? skip_ipv4(rest, headers, ret_first)
	       : type == DTC_ETHER_IPV6 ? skip_ipv6(rest, headers, ret_first)
					: false;
}

/* --- tunnels ---------------------------------------------------------------------------------------------------- */

static uint16_t skip_inner_ethernet(struct rest *rest)
{
	struct dtc_captured inner = { 0 }; /* the outer addresses tell whose capture it is */
	return skip_link(DTC_FRAME_ETHERNET, rest, &inner);
}

static uint16_t skip_vxlan(struct rest *rest)
{
	if (!dtc_layer_is_vxlan(rest->at, rest->captured, rest->wire))
		return 0;
	set_wire(rest, dtc_layer_get16(rest->at + 4));
	skip(rest, DTC_VXLAN_BYTES);
	return skip_inner_ethernet(rest);
}

static uint16_t skip_gre(struct rest *rest)
{
	const uint8_t *gre = rest->at;
	uint32_t length = rest->captured >= 4 ? dtc_layer_get_gre_bytes(dtc_layer_get16(gre)) : 0;
	if (!length || !skip(rest, length))
		return 0;
	uint16_t type = dtc_layer_get16(gre + 2);
	return type == DTC_ETHER_BRIDGED ? skip_inner_ethernet(rest) : type;
}

/* The Ethernet type of what is inside, rest moved to it; 0: no tunnel, or not one of ours. */
static uint16_t skip_tunnel(uint8_t protocol, struct rest *rest)
{
	switch (protocol) {
	case DTC_PROTOCOL_IPV4:
		return DTC_ETHER_IPV4;
	case DTC_PROTOCOL_IPV6:
		return DTC_ETHER_IPV6;
	case DTC_PROTOCOL_GRE:
		return skip_gre(rest);
	case DTC_PROTOCOL_UDP:
		return skip_vxlan(rest);
	default:
		return 0;
	}
}

/*
 * A port number proves nothing: what is to be an IP packet must look like one, fit into its envelope, and (IPv4) have
 * the right checksum, which Linux never leaves to the device. A fragmented envelope is too short and fails as well.
 */
static bool is_ip_inside(uint16_t type, const struct rest *rest)
{
	const uint8_t *ip = rest->at;
	if (type == DTC_ETHER_IPV6)
		return rest->captured >= 40 && ip[0] >> 4 == 6 && dtc_layer_get16(ip + 4) + 40u <= rest->wire;
	if (type != DTC_ETHER_IPV4 || rest->captured < 20 || ip[0] >> 4 != 4)
		return false;
	uint32_t header_bytes = (ip[0] & 0xfu) * 4, total_bytes = dtc_layer_get16(ip + 2);
	return header_bytes >= 20 && rest->captured >= header_bytes && total_bytes <= rest->wire &&
	       dtc_layer_sum_ipv4(ip, header_bytes) == 0xffff;
}

/* Goes from the envelope to the packet in it, while there is one. */
static void open_tunnels(struct dtc_captured *captured, struct rest *rest, bool *is_first)
{
	while (*is_first && captured->tunnel_count < DTC_CAPTURE_TUNNELS) {
		struct rest inside = *rest;
		struct dtc_headers headers = { 0 };
		bool inside_first = false;
		uint16_t type = skip_tunnel(captured->headers.protocol, &inside);
		if (!is_ip_inside(type, &inside) || !skip_ip(type, &inside, &headers, &inside_first))
			return;
		*rest = inside;
		*is_first = inside_first;
		captured->headers = headers;
		captured->tunnel_count++;
	}
}

void dtc_frame_decode(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes, uint32_t wire_bytes,
		      struct dtc_captured *captured)
{
	struct rest rest = { bytes, captured_bytes, MAX(wire_bytes, captured_bytes) };
	struct dtc_headers *headers = &captured->headers;
	bool is_first = false;
	memset(captured, 0, sizeof(*captured));
	uint16_t type = skip_link(kind, &rest, captured);
	if (!skip_ip(type, &rest, headers, &is_first)) {
		memset(headers, 0, sizeof(*headers));
		return;
	}
	open_tunnels(captured, &rest, &is_first);
	headers->payload_bytes = rest.wire;
	if (is_first && headers->protocol == DTC_PROTOCOL_TCP)
		skip_tcp(&rest, headers);
	else if (is_first && headers->protocol == DTC_PROTOCOL_UDP)
		skip_udp(&rest, headers);
	captured->payload_captured_bytes = MIN(rest.captured, headers->payload_bytes);
	captured->payload = rest.at;
	if (headers->protocol != DTC_PROTOCOL_TCP) /* whose packets have numbers */
		headers->payload_hash = hash_payload(rest.at, headers->payload_bytes, captured->payload_captured_bytes);
}

struct dtc_frame_hints dtc_frame_get_hints(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes,
					   uint32_t wire_bytes)
{
	struct rest rest = { bytes, captured_bytes, MAX(wire_bytes, captured_bytes) };
	struct dtc_captured captured = { 0 };
	struct dtc_frame_hints hints = { 0 };
	uint32_t length = 0;
	uint16_t type = skip_link(kind, &rest, &captured);
	if (type == DTC_ETHER_IPV4 && rest.captured >= 20) {
		hints.ttl = rest.at[8];
		length = dtc_layer_get16(rest.at + 2);
	} else if (type == DTC_ETHER_IPV6 && rest.captured >= 40) {
		hints.ttl = rest.at[7];
		length = dtc_layer_get16(rest.at + 4) ? dtc_layer_get16(rest.at + 4) + 40u : 0;
	} else if (type == DTC_ETHER_ARP) {
		length = DTC_LAYER_ARP_BYTES;
	}
	hints.padding_bytes = length > 0 && rest.wire > length ? rest.wire - length : 0;
	return hints;
}

/* --- as on the wire --------------------------------------------------------------------------------------------- */

/* Bytes of the header of that protocol which are kept; 0: none of ours. */
static uint32_t get_transport_bytes(uint8_t protocol)
{
	switch (protocol) {
	case DTC_PROTOCOL_TCP:
		return 20;
	case DTC_PROTOCOL_UDP:
	case DTC_PROTOCOL_ICMP:
	case DTC_PROTOCOL_ICMPV6:
		return 8;
	default:
		return 0;
	}
}

/* Keeps what is at rest as the header behind the network header, if it is all there. */
static void take_transport(const struct rest *rest, uint8_t protocol, struct dtc_wire_headers *headers)
{
	uint32_t bytes = get_transport_bytes(protocol);
	if (rest->captured < bytes)
		return;
	memcpy(headers->bytes + headers->network_bytes, rest->at, bytes);
	headers->transport_bytes = (uint8_t)bytes;
}

static void take_ipv4(struct rest rest, struct dtc_wire_headers *headers)
{
	const uint8_t *ip = rest.at;
	if (rest.captured < 20 || ip[0] >> 4 != 4)
		return;
	memcpy(headers->bytes, ip, 20);
	headers->network_bytes = 20;
	uint32_t header_bytes = (ip[0] & 0xfu) * 4;
	bool is_first = (dtc_layer_get16(ip + 6) & 0x1fff) == 0;
	if (is_first && header_bytes >= 20 && skip(&rest, header_bytes))
		take_transport(&rest, ip[9], headers);
}

static void take_ipv6(struct rest rest, struct dtc_wire_headers *headers)
{
	const uint8_t *ip = rest.at;
	if (rest.captured < 40 || ip[0] >> 4 != 6)
		return;
	memcpy(headers->bytes, ip, 40);
	headers->network_bytes = 40;
	skip(&rest, 40);
	take_transport(&rest, ip[6], headers); /* behind extension headers there is none that LTTng would tell either */
}

static void take_network(struct rest rest, struct dtc_wire_headers *headers)
{
	if (headers->type == DTC_ETHER_IPV4)
		take_ipv4(rest, headers);
	else if (headers->type == DTC_ETHER_IPV6)
		take_ipv6(rest, headers);
}

bool dtc_frame_get_wire(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes, uint32_t wire_bytes,
			struct dtc_wire_headers *ret_headers, uint32_t *ret_length)
{
	struct rest rest = { bytes, captured_bytes, MAX(wire_bytes, captured_bytes) };
	struct dtc_captured link = { 0 };
	uint32_t netns = ret_headers->netns;

	memset(ret_headers, 0, sizeof(*ret_headers));
	ret_headers->netns = netns;
	ret_headers->type = skip_link(kind, &rest, &link);
	if (rest.at == bytes)
		return false;
	*ret_length = rest.wire;
	take_network(rest, ret_headers);
	return true;
}

bool dtc_frame_get_network(uint16_t type, const uint8_t *bytes, uint32_t byte_count,
			   struct dtc_wire_headers *ret_headers)
{
	uint32_t netns = ret_headers->netns;

	memset(ret_headers, 0, sizeof(*ret_headers));
	ret_headers->netns = netns;
	ret_headers->type = type;
	take_network((struct rest){ bytes, byte_count, byte_count }, ret_headers);
	return ret_headers->network_bytes > 0;
}
