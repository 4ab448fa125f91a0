/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an interval of a thread really was, where virtual machines are: a vCPU's thread of a host that is in its guest
 * does nothing of its own, and a thread of a guest that seems to run, or to wait for its CPU, does neither while the
 * vCPU is away. The critical path goes by the same rules, so that it and every sum over a history agree to the
 * nanosecond (where the node's clock is cluster time; else to the nanosecond of rounding at each end).
 */
#pragma once

#include "analyze/edge/host.h"
#include "analyze/edge/links.h"

/* A thread whose intervals are cut. Everything is borrowed. */
struct dtc_shares {
	const DtcLinks *links; /* NULL: nothing is cut */
	const DtcHistory *history;
	guint node;
	const struct dtc_vcpu *vcpu; /* the thread's, or NULL */
	bool is_guest;		     /* of its node, some CPU is a vCPU of a host that is known */
};

/* links may be NULL: then every interval is one share, itself. */
void dtc_shares_begin(struct dtc_shares *shares, const DtcLinks *links, guint node, const DtcHistory *history,
		      uint32_t thread);
/* Goes on with another thread of the same history. */
void dtc_shares_turn_to(struct dtc_shares *shares, uint32_t thread);
/* Whether there is anything to be cut: if not, every interval is one share, itself. */
static inline bool dtc_shares_has_any(const struct dtc_shares *shares)
{
	return shares->vcpu || shares->is_guest;
}
/*
 * Cuts an interval of the thread (or a part of one): replaces what parts (struct dtc_interval) holds by its parts,
 * contiguous and in time order. A part has the interval's state, or GUEST, VM_PREEMPTED or VM_EXIT instead.
 */
void dtc_shares_cut(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts);

/* The vCPU that a thread of this history is, or NULL. */
const struct dtc_vcpu *dtc_shares_find_vcpu(const DtcHistory *history, uint32_t thread);
/*
 * The last part of an interval of a vCPU's thread that ends at end_ns: since when (ret_begin_ns, not before the
 * interval) it was the same. True if it was in the guest.
 */
bool dtc_shares_find_stay(const DtcHistory *history, const struct dtc_vcpu *vcpu, const struct dtc_interval *interval,
			  int64_t end_ns, int64_t *ret_begin_ns);
