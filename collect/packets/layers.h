/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers of the layers of a frame (frame.c has the layouts), for who reads frames and who redacts them: what one takes
 * for an envelope, a tag or the bytes by which packets are told apart, the other must, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DTC_ETHER_IPV4 0x0800
#define DTC_ETHER_IPV6 0x86dd
#define DTC_ETHER_ARP 0x0806
#define DTC_ETHER_VLAN 0x8100
#define DTC_ETHER_QINQ 0x88a8
#define DTC_ETHER_QINQ_OLD 0x9100
#define DTC_ETHER_BRIDGED 0x6558 /* Ethernet in GRE */

#define DTC_LAYER_TAGS_MAX 4
#define DTC_LAYER_ARP_BYTES 28 /* for IPv4 over Ethernet */
#define DTC_LAYER_EXTENSIONS_MAX 16

#define DTC_VXLAN_PORT 4789
#define DTC_VXLAN_PORT_LINUX 8472 /* older than the other, and still the default of the kernel, flannel and Cilium */
#define DTC_VXLAN_BYTES 16	  /* with the UDP header before it */

#define DTC_GRE_CHECKSUM 0x8000
#define DTC_GRE_KEY 0x2000
#define DTC_GRE_SEQUENCE 0x1000
#define DTC_GRE_UNKNOWN 0x4fff /* source routes (obsolete), reserved bits, versions other than 0 */

/*
 * The hash covers this much of the payload's beginning, or nothing if less of it was captured: two hosts that capture
 * with different snapshot lengths must find the same hash for the same packet.
 */
#define DTC_LAYER_HASHED_BYTES 128

static inline uint16_t dtc_layer_get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t dtc_layer_get32(const uint8_t *bytes)
{
	return (uint32_t)dtc_layer_get16(bytes) << 16 | dtc_layer_get16(bytes + 2);
}

static inline bool dtc_layer_is_tag(uint16_t type)
{
	return type == DTC_ETHER_VLAN || type == DTC_ETHER_QINQ || type == DTC_ETHER_QINQ_OLD;
}

/* Of the bytes of an IPv4 header; 0xffff: its checksum is right. */
static inline uint16_t dtc_layer_sum_ipv4(const uint8_t *ip, uint32_t bytes)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i + 1 < bytes; i += 2)
		sum += dtc_layer_get16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Whether a UDP header and what follows it is VXLAN's; wire: bytes from there on, of which so many were captured. */
static inline bool dtc_layer_is_vxlan(const uint8_t *udp, uint32_t captured, uint32_t wire)
{
	const uint8_t *vxlan = udp + 8;
	if (captured < DTC_VXLAN_BYTES ||
	    (dtc_layer_get16(udp + 2) != DTC_VXLAN_PORT && dtc_layer_get16(udp + 2) != DTC_VXLAN_PORT_LINUX))
		return false;
	uint32_t length = dtc_layer_get16(udp + 4);
	bool has_policy = vxlan[0] == 0x88;
	return length >= DTC_VXLAN_BYTES && length <= wire && (vxlan[0] == 0x08 || has_policy) &&
	       (has_policy || !(vxlan[1] | vxlan[2] | vxlan[3])) && !vxlan[7];
}

/* How long a GRE header with these flags is; 0: none of ours. */
static inline uint32_t dtc_layer_get_gre_bytes(uint16_t flags)
{
	if (flags & DTC_GRE_UNKNOWN)
		return 0;
	return 4u + (flags & DTC_GRE_CHECKSUM ? 4 : 0) + (flags & DTC_GRE_KEY ? 4 : 0) +
	       (flags & DTC_GRE_SEQUENCE ? 4 : 0);
}
