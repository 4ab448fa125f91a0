/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets of old tracers (LTTng 2.1: inet_sock_local_out and _in), which bear no addresses, so that they belong to no
 * flow; what they bear is TCP's numbers and flags. Of two nodes these are the same in the send and in what arrives.
 */
#pragma once

#include "dtrace-chain/history.h"

static inline bool dtc_packet_is_bare(const struct dtc_packet *packet)
{
	return packet->flow == DTC_NONE && (packet->seq || packet->ack || packet->tcp_flags);
}

struct dtc_bare_send {
	guint node;
	uint32_t packet;
};

typedef struct DtcBareSends DtcBareSends;

/* All that were sent on any node (histories may be NULL). Linear in the packets of all. Caller owns. */
DtcBareSends *dtc_bare_sends_new(guint node_count, const DtcHistory *const *histories);
void dtc_bare_sends_free(DtcBareSends *sends);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBareSends, dtc_bare_sends_free)

/* Those with the same numbers and flags, by node and then in time order. Borrowed; NULL with a count of 0. */
const struct dtc_bare_send *dtc_bare_sends_find(const DtcBareSends *sends, const struct dtc_packet *received,
						guint *ret_count);
/*
 * What a kernel sent by itself answers what it had received last on that connection: the received packet that fits its
 * numbers, up to that time. DTC_NONE if none does.
 */
uint32_t dtc_bare_find_answered(const DtcHistory *history, uint32_t sent);
