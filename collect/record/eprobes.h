/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events made of other events' pointers (CONFIG_EPROBE_EVENTS, kernels from 5.15 on, as distributions build them): the
 * packet's own bytes and its network namespace where a net event has only the buffer's address, and the name of the
 * file that a call is about. Where the kernel has them nothing needs to be joined or guessed.
 *
 * Pure: texts out of offsets. Who has tracefs makes the events, in a group of its own, and removes them.
 */
#pragma once

#include "collect/record/btf.h"

/* Bytes of a packet from skb->data on: a tagged Ethernet header, the largest IP header without options, TCP's. */
#define DTC_EPROBE_WORDS 11 /* of 8 bytes */

/* In bytes from the structures' begins. */
struct dtc_eprobe_offsets {
	guint skb_head;
	guint skb_data;
	guint skb_network_header;
	guint skb_protocol;
	guint skb_dev;
	guint device_net;
	guint net_inode;
};

struct dtc_eprobe {
	char *name;   /* of the new event */
	char *system; /* of the event that it is made of */
	char *event;
	char *fields;	 /* what it fetches, as dynamic_events of tracefs takes it */
	bool is_instead; /* it has all that the event has, which need not be recorded then */
};

/* False if this kernel's structures have not what is asked for. */
bool dtc_eprobe_offsets_find(const DtcBtf *btf, struct dtc_eprobe_offsets *ret_offsets, GError **error);

/*
 * What to make for the events ("system:event", char *) that will be recorded. offsets NULL: only what needs none.
 * Caller frees with g_ptr_array_unref; elements are struct dtc_eprobe.
 */
GPtrArray *dtc_eprobes_choose(const GPtrArray *events, const struct dtc_eprobe_offsets *offsets);
