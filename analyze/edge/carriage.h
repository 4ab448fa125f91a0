/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who carried a packet between a guest and its host: its network card is a thread of the host that copies packets
 * between the guest's memory and an interface of the host (vhost's of the kernel, or one of the hypervisor's that reads
 * and writes a tap). What that thread waited for, the packet waited for.
 */
#pragma once

#include "analyze/edge/arrival.h"
#include "analyze/edge/host.h"

struct dtc_carriage {
	guint host;
	uint32_t thread;	  /* of the host, that carried it */
	int64_t done_ns;	  /* host's time: when it had: handed to the host's network, or the guest was told */
	struct dtc_guest_cpu cpu; /* of the guest, that sent or received it */
	bool exact;		  /* the thread slept, was woken for this packet, and this was what it did first */
	bool has_interrupt;	  /* into a guest: how it was told */
	struct dtc_host_interrupt interrupt;
};

/*
 * Into the guest that a packet arrived at. False if no guest of a known host received it, or the host's trace does not
 * tell who carried it, or that one did nothing from when the packet was there to when it arrived.
 */
bool dtc_carriage_find_in(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			  struct dtc_carriage *ret_carriage);
/* Out of the guest that sent it, up to where its host's network had it. False likewise. */
bool dtc_carriage_find_out(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			   struct dtc_carriage *ret_carriage);
/*
 * Whether a wait was ended by a packet that its waker, a thread, had received itself in no interrupt: so a thread of
 * the host hands over what a guest sends. Then that is what arrived.
 */
bool dtc_carriage_find_brought(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       const struct dtc_wake *wake, struct dtc_arrival *ret_arrival);
