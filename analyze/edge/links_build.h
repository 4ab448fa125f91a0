/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What links.c, which looks for the send of what arrived, and links_datagram.c, which goes the other way, share. */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/edge/translations.h"

/* A packet passes the interfaces of its sender within that. */
#define DTC_PASSAGE_NS G_GINT64_CONSTANT(10000000)

const DtcTranslations *dtc_links_get_translations(const DtcLinks *links);
/* The latest time on the sender's clock at which something that arrived here at arrival can have been sent. */
int64_t dtc_links_get_latest_send_ns(const DtcLinks *links, guint receiver, guint sender, DtcNodeTime arrival);
bool dtc_links_are_aligned(const DtcLinks *links, guint a, guint b);

static inline bool dtc_links_is_same_segment(const struct dtc_packet *a, const struct dtc_packet *b)
{
	return a->seq == b->seq && a->ack == b->ack && a->payload_bytes == b->payload_bytes &&
	       a->tcp_flags == b->tcp_flags && a->ip_id == b->ip_id;
}

/*
 * A packet that leaves a container, a bridge or a VLAN is sent on one interface after the other, within this node: that
 * is one send, seen again.
 */
static inline bool dtc_links_is_passage(const struct dtc_packet *first, const struct dtc_packet *again)
{
	return first->interface != again->interface && dtc_links_is_same_segment(first, again);
}
