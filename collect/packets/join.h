/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which captured packet is it that a net event of the same node speaks of? tracefs' net events name a device, a length
 * and a buffer, but no addresses; the captures have the headers, and no buffer. Both tell when: an event is within a
 * microsecond of its packet's stamp. Events and packets are given in any order of files and CPUs, then joined at once.
 *
 * Costs: 60 bytes an event, 8 bytes a wake and 88 bytes a packet, in tables that may be files; time is linear in all.
 */
#pragma once

#include "collect/packets/headers.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_join_kind {
	DTC_JOIN_QUEUE,	     /* net_dev_queue: before segmentation and before the device's queue */
	DTC_JOIN_START_XMIT, /* net_dev_start_xmit: one for each captured packet on the way out */
	DTC_JOIN_RECEIVE,    /* netif_receive_skb: after reassembly (GRO), as the capture is */
};

/* What a CPU is at: a thread may be interrupted, and its packets be sent for others. */
enum dtc_join_context {
	DTC_JOIN_CONTEXT_UNKNOWN,
	DTC_JOIN_CONTEXT_THREAD,    /* bottom halves may be off, but none is served */
	DTC_JOIN_CONTEXT_INTERRUPT, /* or bottom half */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

struct dtc_join_event {
	int64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t skb;	 /* skbaddr */
	/*
	 * Bytes from the network header on, since that is what cooked captures count: len less network_offset of
	 * net_dev_start_xmit, len of netif_receive_skb. Of net_dev_queue len as it is.
	 */
	uint32_t length;
	int32_t tid; /* common_pid: the thread that was running */
	uint16_t cpu;
	uint16_t device; /* dtc_join_add_device */
	uint8_t kind;	 /* enum dtc_join_kind */
	uint8_t context; /* enum dtc_join_context */
	uint8_t spare[2];
};
_Static_assert(sizeof(struct dtc_join_event) == 32, "one for each net event of a node stays in memory");

#pragma GCC diagnostic pop

struct dtc_join_summary {
	uint64_t events;
	uint64_t own;	 /* have their headers themselves; not counted below */
	uint64_t joined; /* enum dtc_header_source */
	uint64_t inferred;
	uint64_t none;
	uint64_t packets;	    /* captured */
	uint64_t packets_unmatched; /* no event was found for */
	uint64_t packets_in_step;   /* of them, taken while the wall clock was stepped: when is not known */
};

typedef struct DtcJoin DtcJoin;

DtcJoin *dtc_join_new(void);
void dtc_join_free(DtcJoin *join);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcJoin, dtc_join_free)

/*
 * A reading of both clocks at one moment, with the width of the reading; in the order in which they were taken.
 * Without any, no packet can be joined.
 */
void dtc_join_add_clock(DtcJoin *join, int64_t mono_ns, int64_t real_ns, int64_t uncertainty_ns);
/* Interns a device's name, as events have it. */
uint16_t dtc_join_add_device(DtcJoin *join, const char *name);
/* What an interface's index means in a namespace; before its captures. A later name takes the place of an earlier. */
void dtc_join_add_interface(DtcJoin *join, uint32_t netns, uint32_t index, const char *name);
/*
 * Reads a capture (cooked v2) of a namespace; damage is a finding, and what stands before it counts. False, with
 * nothing taken, if it cannot be opened or is of another link type.
 */
bool dtc_join_add_capture(DtcJoin *join, const char *node, const char *path, uint32_t netns, DtcFindings *findings,
			  GError **error);
/* Events of one CPU in their order, CPUs in any. Gives its id: 0, 1, 2 ... DTC_NONE if there are too many. */
uint32_t dtc_join_add_event(DtcJoin *join, const struct dtc_join_event *event);

/*
 * The event's own headers, which are then its result (DTC_HEADER_EVENT). Its captured packet is found nevertheless, so
 * that no other event gets it.
 */
void dtc_join_set_headers(DtcJoin *join, uint32_t event, const struct dtc_wire_headers *headers);

/* The thread that the interrupt woke first which had received this, before it did anything else. */
void dtc_join_add_woken(DtcJoin *join, uint32_t event, int32_t tid);

/* After all was added, once: docs/collecting.md has the rules, the sources of this stage the reasons. */
void dtc_join_run(DtcJoin *join);
struct dtc_join_summary dtc_join_get_summary(const DtcJoin *join);
/*
 * Run: the headers of an event, and where they are from; *ret_headers is not set for DTC_HEADER_NONE.
 */
enum dtc_header_source dtc_join_get(const DtcJoin *join, uint32_t event, struct dtc_wire_headers *ret_headers);
