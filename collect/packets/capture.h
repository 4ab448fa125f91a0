/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pull reader of one packet capture (pcap or pcapng, through libpcap; any snapshot length). Ethernet, VLAN, Linux
 * cooked (v1, v2), raw IP and loopback link types; IPv4 and IPv6. A truncated file is read up to where it ends.
 * Of a packet in a tunnel (VXLAN, GRE, IP in IP) the headers are those of the innermost packet: that is what the peers
 * have in common, whatever route it took.
 */
#pragma once

#include "collect/packets/headers.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcCapture DtcCapture;

/* Tunnels in tunnels are opened up to this depth. */
#define DTC_CAPTURE_TUNNELS 3

enum dtc_capture_direction {
	DTC_CAPTURE_UNKNOWN, /* Ethernet does not say; dtc_packets decides by the node's addresses */
	DTC_CAPTURE_OUT,
	DTC_CAPTURE_IN,
};

struct dtc_captured {
	int64_t time_ns; /* the capture's clock: CLOCK_REALTIME of the node */
	enum dtc_capture_direction direction;
	uint32_t interface;    /* the kernel's index of it if the link type tells (cooked v2), else 0 */
	uint8_t tunnel_count;  /* how many envelopes were taken off */
	uint8_t mac_source[6]; /* zero if the link type has none */
	uint8_t mac_destination[6];
	struct dtc_headers headers;	 /* ip_version 0: not IP */
	const uint8_t *payload;		 /* transport payload, borrowed until the next packet */
	uint32_t payload_captured_bytes; /* may be less than headers.payload_bytes */
};

DtcCapture *dtc_capture_open(const char *node, const char *path, GError **error);
void dtc_capture_free(DtcCapture *capture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcCapture, dtc_capture_free)
/* The next packet in file order, or NULL at the end or at damage. */
const struct dtc_captured *dtc_capture_next(DtcCapture *capture);
/*
 * Of the packet that dtc_capture_next gave last: its outermost headers, and its length from the network header on, as
 * dtc_frame_get_wire. False also if the capture is not cooked (v2), which alone counts lengths so for all devices.
 */
bool dtc_capture_get_wire(const DtcCapture *capture, struct dtc_wire_headers *ret_headers, uint32_t *ret_length);
bool dtc_capture_is_cooked2(const DtcCapture *capture);
/* How far it is in the file. */
guint64 dtc_capture_get_consumed_bytes(const DtcCapture *capture);
/* After NULL: damage is added to findings. */
void dtc_capture_finish(DtcCapture *capture, DtcFindings *findings);
