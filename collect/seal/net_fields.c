/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Since all members of LTTng's headers are in network order and aligned to bytes, they are the bytes of the packet.
 */
#include "collect/seal/net_fields.h"

#include <string.h>

#define BE(bits, base, name)                                                                                           \
	"integer { size = " #bits "; align = 8; signed = 0; encoding = none; base = " #base                            \
	"; byte_order = be; } _" name ";\n"
#define NIBBLE(name)                                                                                                   \
	"integer { size = 4; align = 4; signed = 0; encoding = none; base = 10; byte_order = be; } _" name ";\n"
#define BITS(bits, base, name)                                                                                         \
	"integer { size = " #bits "; align = 1; signed = 0; encoding = none; base = " #base                            \
	"; byte_order = be; } _" name ";\n"
#define PROTOCOL(name)                                                                                                 \
	"enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; byte_order = be; } {\n"         \
	"\"_unknown\" = 0, \"_icmp\" = 1, \"_unknown\" = 2 ... 5, \"_tcp\" = 6, \"_unknown\" = 7 ... 16, "             \
	"\"_udp\" = 17, \"_unknown\" = 18 ... 255 } _" name ";\n"
#define PADDING(name) "struct { } align(8) _" name "_padding;\n"
#define TRANSPORT                                                                                                      \
	"enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } {\n"                          \
	"\"_unknown\" = 0, \"_tcp\" = 1, \"_udp\" = 2, \"_icmp\" = 3 } _transport_header_type;\n"                      \
	"variant <_transport_header_type> {\n"                                                                         \
	"struct { } _unknown;\n"                                                                                       \
	"struct {\n" BE(16, 10, "source_port") BE(16, 10, "dest_port") BE(32, 10, "seq") BE(32, 10, "ack_seq") NIBBLE( \
		"data_offset") BITS(3, 10, "reserved") BITS(9, 16, "flags") BE(16, 10, "window_size") BE(16, 16,       \
													 "checksum")   \
		BE(16, 10, "urg_ptr") "} _tcp;\n"                                                                      \
				      "struct {\n" BE(16, 10, "source_port") BE(16, 10, "dest_port") BE(16, 10, "len") \
					      BE(16, 10, "check") "} _udp;\n"                                          \
								  "struct {\n" BE(8, 10, "type") BE(8, 10, "code")     \
									  BE(16, 10, "checksum") BE(                   \
										  32, 10,                              \
										  "gateway") "} _icmp;\n"              \
											     "} _transport_header;\n"

static const char tsdl[] =
	"enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } {\n"
	"\"_unknown\" = 0, \"_ipv4\" = 1, \"_ipv6\" = 2 } _network_header_type;\n"
	"variant <_network_header_type> {\n"
	"struct { } _unknown;\n"
	/* clang-format off */
	"struct {\n" NIBBLE("version") NIBBLE("ihl") BE(8, 10, "tos") BE(16, 10, "tot_len") BE(16, 16, "id")
		BE(16, 10, "frag_off") BE(8, 10, "ttl") PROTOCOL("protocol") BE(16, 16, "checksum")
		PADDING("saddr") BE(8, 10, "saddr[4]") PADDING("daddr") BE(8, 10, "daddr[4]") TRANSPORT "} _ipv4;\n"
	"struct {\n" NIBBLE("version") NIBBLE("prio") PADDING("flow_lbl") BE(8, 16, "flow_lbl[3]")
		BE(16, 10, "payload_len") PROTOCOL("nexthdr") BE(8, 10, "hop_limit") PADDING("saddr")
		BE(16, 16, "saddr[8]") PADDING("daddr") BE(16, 16, "daddr[8]") TRANSPORT "} _ipv6;\n"
	/* clang-format on */
	"} _network_header;\n"
	"integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; } _netns;\n"
	"enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; } {\n"
	"\"none\" = 0, \"event\" = 1, \"joined\" = 2, \"inferred\" = 3 } _header_source;\n";

_Static_assert(DTC_HEADER_EVENT == 1 && DTC_HEADER_JOINED == 2 && DTC_HEADER_INFERRED == 3, "as the text above");

enum { NETWORK_UNKNOWN, NETWORK_IPV4, NETWORK_IPV6 };
enum { TRANSPORT_UNKNOWN, TRANSPORT_TCP, TRANSPORT_UDP, TRANSPORT_ICMP };

#define PROTOCOL_ICMP 1
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_ICMPV6 58

const char *dtc_net_fields_get_tsdl(void)
{
	return tsdl;
}

/* Of the header that is there: LTTng calls both ICMPs the same. */
static uint8_t find_transport(const struct dtc_wire_headers *headers, uint8_t protocol)
{
	if (protocol == PROTOCOL_TCP && headers->transport_bytes == 20)
		return TRANSPORT_TCP;
	if (headers->transport_bytes != 8)
		return TRANSPORT_UNKNOWN;
	if (protocol == PROTOCOL_UDP)
		return TRANSPORT_UDP;
	return protocol == PROTOCOL_ICMP || protocol == PROTOCOL_ICMPV6 ? TRANSPORT_ICMP : TRANSPORT_UNKNOWN;
}

static size_t encode_headers(const struct dtc_wire_headers *headers, uint8_t *to)
{
	uint8_t network = headers->network_bytes;
	if (network != 20 && network != 40) {
		to[0] = NETWORK_UNKNOWN;
		return 1;
	}
	uint8_t transport = find_transport(headers, headers->bytes[network == 20 ? 9 : 6]);
	size_t behind = transport == TRANSPORT_UNKNOWN ? 0 : headers->transport_bytes;
	to[0] = network == 20 ? NETWORK_IPV4 : NETWORK_IPV6;
	memcpy(to + 1, headers->bytes, network);
	to[1 + network] = transport;
	memcpy(to + 2 + network, headers->bytes + network, behind);
	return 2 + network + behind;
}

size_t dtc_net_fields_encode(const struct dtc_wire_headers *headers, enum dtc_header_source source, uint8_t *to)
{
	static const struct dtc_wire_headers none;
	const struct dtc_wire_headers *known = source == DTC_HEADER_NONE ? &none : headers;
	size_t bytes = encode_headers(known, to);
	memcpy(to + bytes, &known->netns, sizeof known->netns);
	bytes += sizeof known->netns;
	to[bytes++] = (uint8_t)source;
	return bytes;
}
