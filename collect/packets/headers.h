/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a packet's headers say, whoever read them: a capture's frame or a net event of a kernel trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of the IP header, as IANA numbers them: those that are looked at. */
enum dtc_protocol {
	DTC_PROTOCOL_ICMP = 1,
	DTC_PROTOCOL_IPV4 = 4, /* IP in IP */
	DTC_PROTOCOL_TCP = 6,
	DTC_PROTOCOL_UDP = 17,
	DTC_PROTOCOL_IPV6 = 41, /* IPv6 in IP */
	DTC_PROTOCOL_GRE = 47,
	DTC_PROTOCOL_ICMPV6 = 58,
};

#define DTC_TCP_FIN 0x01
#define DTC_TCP_SYN 0x02
#define DTC_TCP_RST 0x04
#define DTC_TCP_PSH 0x08
#define DTC_TCP_ACK 0x10

/* Where the headers of a net event are from; the field header_source of recordings from tracefs. */
enum dtc_header_source {
	DTC_HEADER_NONE,     /* nobody knows them */
	DTC_HEADER_EVENT,    /* the event itself, from the packet's bytes */
	DTC_HEADER_JOINED,   /* the captured packet that it must be */
	DTC_HEADER_INFERRED, /* the captured packet that it is most likely; another may be */
};

/* Headers of a packet, as far as the source has them. Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d. */
struct dtc_headers {
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port; /* host order */
	uint16_t destination_port;
	uint8_t ip_version; /* 0: no headers at all (network_header_type unknown); then nothing else is valid */
	uint8_t protocol;   /* enum dtc_protocol, or another */
	uint8_t tcp_flags;  /* FIN 1, SYN 2, RST 4, PSH 8, ACK 16 */
	bool has_transport; /* ports (and for TCP seq, ack, flags) are valid */
	bool has_timestamps;
	uint16_t ip_id;
	uint16_t window;
	uint32_t seq;
	uint32_t ack;
	uint32_t payload_bytes; /* of the transport layer: total length minus IP and TCP or UDP headers */
	uint32_t tsval;		/* TCP timestamp option (captures only) */
	uint32_t payload_hash;	/* of the captured payload (captures only, and not of TCP); 0: none */
	uint32_t netns;		/* inode of the network namespace it was seen in; 0: not known */
	bool is_inferred;	/* another packet's headers may be the right ones (DTC_HEADER_INFERRED) */
};

/* The headers as they were on the wire, in network order. Options are left out. */
struct dtc_wire_headers {
	uint32_t netns;		 /* inode of the namespace it was captured in; 0: not known */
	uint16_t type;		 /* Ethernet type: 0x0800, 0x86dd, 0x0806 ... */
	uint8_t network_bytes;	 /* 20 for IPv4, 40 for IPv6, 0: another type, or cut */
	uint8_t transport_bytes; /* 20 for TCP, 8 for UDP, ICMP and ICMPv6; 0: another, a later fragment, or cut */
	/*
	 * The network header, behind it the transport header. On the way out in segments this is the first segment's,
	 * with the total length of the whole (0 if the field does not hold it, as the kernel does it).
	 */
	uint8_t bytes[60];
};
