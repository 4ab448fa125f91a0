/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was to end a guest's wait was there, and its CPU came to it late: an interrupt waited for the vCPU, a packet for
 * the softirq. Path and sums (shares.h) both ask here, so that they agree.
 */
#pragma once

#include "analyze/edge/carriage.h"

/* How a packet came into a guest. */
struct dtc_delivery {
	bool is_carried; /* by a thread that is known: carriage */
	struct dtc_carriage carriage;
	struct dtc_host_interrupt interrupt; /* made up where a carrier told nobody, as the guest polled */
};

/*
 * The interrupt in which wake ended a wait of a guest's thread, if it was no packet's and no thread's. False if the
 * host's trace does not tell.
 */
bool dtc_delivery_find_interrupt(const DtcLinks *links, guint node, const struct dtc_wake *wake,
				 struct dtc_host_interrupt *ret_interrupt);
/* The packet that ended a wait. False if something else did, or it is not known. */
bool dtc_delivery_find_arrival(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       const struct dtc_wake *wake, struct dtc_arrival *ret_arrival);
/*
 * As long as the receiver's softirq is asked for and has not begun (its CPU is taken, or ksoftirqd waits for it), what
 * comes waits for the receiver, not on the wire: since begin, on cluster time as now is. If it was asked for before the
 * packet left, that is all its way, but for as much as the clocks leave open: no more is known of how short a way can
 * be. What came while the softirq ran already has no time of its own and counts as on the wire: false.
 */
bool dtc_delivery_find_softirq(const DtcLinks *links, const struct dtc_arrival *arrival,
			       const struct dtc_sender *sender, int64_t now_cluster_ns, int64_t *ret_begin_cluster_ns);
/* How a packet (the arrival has one) came into a guest, up to now. False if it was no guest's, or is not known. */
bool dtc_delivery_find_in(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			  int64_t now_cluster_ns, struct dtc_delivery *ret_delivery);
