/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packets one node saw through one source (its kernel trace, or its captures), packed (packed.h) and in time order,
 * and the flows they belong to. A flow is one direction of a connection, (source, destination, ports, protocol) with a
 * generation, so that a reused port is another flow: a SYN with another sequence number than the flow's begins a new
 * generation of the flow and of its reverse. Flow and packet ids are indexes. A flow's is stable once given; a packet's
 * once they are sealed, or at once where packets come in the order of time: those that are late are sorted, soon after
 * they came or at last.
 *
 * An address that several network namespaces of the node have (127.0.0.1 above all, and pods that were given the same)
 * is another machine's in each of them: flows from or to it are told apart by namespace, and only these. A connection
 * that goes through several namespaces is one even so: its packets have the same numbers wherever they are seen, and
 * are of the flow of the namespace in which it was seen first.
 */
#pragma once

#include "collect/image/image.h"
#include "collect/packets/headers.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_NONE UINT32_MAX

enum dtc_direction {
	DTC_SENT,     /* net_dev_queue, or captured on the way out */
	DTC_RECEIVED, /* netif_receive_skb, or captured on the way in */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* no bytes that nobody sets: flows are written to files with the history */

struct dtc_packet {
	int64_t time_ns; /* clock of the source */
	uint32_t flow;	 /* DTC_NONE: no usable headers */
	uint32_t seq;
	uint32_t ack;
	uint32_t payload_bytes : 24; /* the most of what is longer */
	uint32_t tcp_flags : 8;
	uint16_t ip_id;
	uint16_t window;
	uint16_t cpu : 13;
	uint16_t direction : 1; /* enum dtc_direction */
	uint16_t has_timestamps : 1;
	uint16_t is_inferred : 1; /* its headers may be another packet's */
	uint16_t interface;	  /* index for dtc_packets_get_interface */
};
_Static_assert(sizeof(struct dtc_packet) == 32, "given out by value");

struct dtc_flow {
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t protocol;
	bool has_isn;	/* the SYN was seen: isn is its sequence number, the first data byte has isn + 1 */
	uint16_t netns; /* for dtc_packets_get_netns; 0: of addresses that are in one namespace only, or not known */
	uint32_t isn;
	uint32_t generation;   /* 0, 1, ... for reused ports */
	uint32_t reverse;      /* flow of the other direction, created together */
	uint32_t packet_first; /* after dtc_packets_seal: for dtc_packets_get_flow_packet */
	uint32_t packet_count;
};
_Static_assert(sizeof(struct dtc_flow) == 60, "two for each connection; looked at for each of its packets");

#pragma GCC diagnostic pop

typedef struct DtcPackets DtcPackets;

DtcPackets *dtc_packets_new(void);
void dtc_packets_free(DtcPackets *packets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPackets, dtc_packets_free)

/* Records grow in one space, what is not kept in the other; both may be one. Before the first packet. */
void dtc_packets_set_spaces(DtcPackets *packets, DtcSpace *space, DtcSpace *scratch);
/*
 * This address is in more than one namespace of the node; loopback addresses are one. Before the first packet.
 */
void dtc_packets_share_address(DtcPackets *packets, const uint8_t address[16]);
bool dtc_packets_is_shared(const DtcPackets *packets, const uint8_t address[16]);
/* Either is: what is between them counts by namespace. */
bool dtc_packets_need_netns(const DtcPackets *packets, const uint8_t source[16], const uint8_t destination[16]);

/*
 * Appends a packet and gives its id. A SYN without ACK is taken to begin a connection, and a packet with a key that
 * was never seen begins generation 0. headers->ip_version 0 is kept with flow DTC_NONE (GRO off: no headers).
 */
uint32_t dtc_packets_add(DtcPackets *packets, int64_t time_ns, enum dtc_direction direction, uint16_t cpu,
			 uint16_t interface, const struct dtc_headers *headers);
/* Appends one as it is, which is not the earliest and of no flow (DTC_NONE): of a list that is read, and no more. */
void dtc_packets_append(DtcPackets *packets, const struct dtc_packet *packet, uint32_t mark);
/* Interns an interface name (NULL counts as ""). */
uint16_t dtc_packets_add_interface(DtcPackets *packets, const char *name);
const char *dtc_packets_get_interface(const DtcPackets *packets, uint16_t interface);

/* The inode of a flow's namespace; 0: none. */
uint32_t dtc_packets_get_netns(const DtcPackets *packets, uint16_t netns);
uint16_t dtc_packets_get_netns_count(const DtcPackets *packets); /* one more than the last */

/*
 * Takes back all packets, but no flow, interface or namespace: the next one has id 0, and the flow that it would have
 * otherwise.
 */
void dtc_packets_forget(DtcPackets *packets);
/* Builds the packets-by-flow index; nothing may be added afterwards. Packets are sorted by time if they were not. */
void dtc_packets_seal(DtcPackets *packets);

uint32_t dtc_packets_get_count(const DtcPackets *packets);
struct dtc_packet dtc_packets_get(const DtcPackets *packets, uint32_t packet);
/* One field alone, without unpacking the others. */
int64_t dtc_packets_get_time_ns(const DtcPackets *packets, uint32_t packet);
uint32_t dtc_packets_get_flow_of(const DtcPackets *packets, uint32_t packet);
enum dtc_direction dtc_packets_get_direction(const DtcPackets *packets, uint32_t packet);
/*
 * What tells packets with equal numbers apart, as captures know it: of TCP the timestamp that it bears, of others a
 * hash of the payload; 0: not known.
 */
uint32_t dtc_packets_get_mark(const DtcPackets *packets, uint32_t packet);
uint32_t dtc_packets_get_flow_count(const DtcPackets *packets);
const struct dtc_flow *dtc_packets_get_flow(const DtcPackets *packets, uint32_t flow);
/* Sealed: the first id with a later time than that packet; the count if there is none. Mostly that is the next one. */
uint32_t dtc_packets_find_behind(const DtcPackets *packets, uint32_t packet);
/* Sealed: the first packet from that one on that is of no flow, or DTC_NONE: most are not looked at. */
uint32_t dtc_packets_find_without_flow(const DtcPackets *packets, uint32_t packet);
/* Sealed: the id of one of the flow's packets (flow->packet_count of them), which are in time order. */
uint32_t dtc_packets_get_flow_packet(const DtcPackets *packets, uint32_t flow, uint32_t index);

/*
 * The last generation of the flow with these ends, or DTC_NONE. Addresses 16 bytes, ports in host order, netns an
 * inode of one in which it is seen, which counts only where an address is in several namespaces. Earlier generations:
 * dtc_packets_find_previous_generation.
 */
uint32_t dtc_packets_find_flow(const DtcPackets *packets, const uint8_t source[16], uint16_t source_port,
			       const uint8_t destination[16], uint16_t destination_port, uint8_t protocol,
			       uint32_t netns);
uint32_t dtc_packets_find_previous_generation(const DtcPackets *packets, uint32_t flow);

/* Sealed packets as sections of an image, which borrows them. */
void dtc_packets_save(const DtcPackets *packets, DtcImageWriter *writer);
/*
 * The packets of an image, sealed; their records stay there. Every index in them is looked at. Caller owns; DAMAGED if
 * one leads nowhere.
 */
DtcPackets *dtc_packets_load(DtcImage *image, GError **error);

/* 127.0.0.0/8, ::1, and the former as an IPv6 address, as flows have it. */
bool dtc_address_is_loopback(const uint8_t address[16]);
/* Of keys that are addresses, for GHashTable. */
guint dtc_address_hash(gconstpointer address);
gboolean dtc_address_equal(gconstpointer a, gconstpointer b);

/* Sequence numbers wrap: distance from a to b, positive if b is later. */
static inline int32_t dtc_seq_distance(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a);
}

/* Sequence space a packet occupies: payload, plus one for SYN and one for FIN. */
static inline uint32_t dtc_packet_get_span(const struct dtc_packet *packet)
{
	return packet->payload_bytes + !!(packet->tcp_flags & DTC_TCP_SYN) + !!(packet->tcp_flags & DTC_TCP_FIN);
}
