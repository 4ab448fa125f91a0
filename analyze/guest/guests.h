/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes are guests of which hosts, and which threads of the host are a guest's CPUs. What the trace says of a
 * vCPU's number is not trusted: a guest's CPU runs only while its vCPU is in the guest, so every event that the guest
 * logged on it must lie in a stay of that vCPU, within the certified bounds of the two clocks. A mapping that events
 * contradict is refused, one that the events cannot tell from another is a finding, and neither is used.
 *
 * The same rule gives bounds for the clocks: an event comes after the entry of the first stay that it can lie in, and
 * before the end of the last. They hold because the bounds hold from which the stays were found, and they are far
 * tighter than packets: so fit, look again, and fit.
 */
#pragma once

#include "dtrace-chain/cluster.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_guests_input {
	guint node_count;
	const char *const *names;
	const DtcHistory *const *histories; /* NULL where there is none */
	const DtcClocks *clocks;
	const DtcCluster *cluster; /* what somebody says of hosts and vCPUs; or NULL */
};

/* A CPU of a guest. */
struct dtc_guest_cpu {
	guint host;	  /* node */
	uint32_t vcpu;	  /* index in the host's history */
	uint32_t thread;  /* the same as a thread of the host */
	int apic;	  /* APIC id of the vCPU: whose interrupts are its own; -1: not known */
	bool is_verified; /* by the guest's events; else as the cluster file or names say, and nothing contradicts */
};

typedef struct DtcGuests DtcGuests;

/* Borrows input's histories; copies the rest. Caller owns; never NULL. */
DtcGuests *dtc_guests_find(const struct dtc_guests_input *input, DtcFindings *findings);
void dtc_guests_free(DtcGuests *guests);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcGuests, dtc_guests_free)

bool dtc_guests_has_any(const DtcGuests *guests);
/* Whether it is known of any of the node's CPUs which thread carries it. */
bool dtc_guests_is_guest(const DtcGuests *guests, guint node);
/* False if the node is no guest, or it is not known which thread carries that CPU. */
bool dtc_guests_get_cpu(const DtcGuests *guests, guint node, uint32_t cpu, struct dtc_guest_cpu *ret_cpu);

/* from's event at sent_ns came before to's at received_ns; node times. */
struct dtc_guest_bound {
	guint from;
	guint to;
	int64_t sent_ns;
	int64_t received_ns;
};

/*
 * What the stays of vCPUs say of the clocks, beyond what clocks know: array of struct dtc_guest_bound; caller owns.
 * is_steady: no clock steps.
 */
GArray *dtc_guests_list_bounds(const DtcGuests *guests, const DtcClocks *clocks, bool is_steady);

/* How many events of a guest's CPUs were compared with the stays of their vCPUs, and how many lie in none. */
struct dtc_guest_fit {
	uint64_t event_count;
	uint64_t outside_count;
	int64_t outside_ns; /* guest's node time of the first one outside */
};
struct dtc_guest_fit dtc_guests_check(const DtcGuests *guests, guint node, const DtcClocks *clocks);
