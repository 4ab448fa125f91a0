/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the host did with a guest's CPU: whether its vCPU was in the guest, and what kept it out if not. A guest cannot
 * see this: whatever it did when its vCPU was away seems to last as long as that.
 */
#pragma once

#include "analyze/edge/links.h"

enum dtc_host_doing {
	DTC_HOST_IN_GUEST,
	DTC_HOST_PREEMPTED, /* the vCPU's thread was runnable, and another had the CPU */
	DTC_HOST_EXIT,	    /* the host's kernel or the hypervisor worked for the guest, or an interrupt was served */
	DTC_HOST_BLOCKED,   /* the vCPU's thread waited for something in the host: a page, a lock, a disk */
	DTC_HOST_HALTED,    /* the guest had nothing to do and gave the CPU back */
	DTC_HOST_UNKNOWN,   /* lost events, or after the end of the host's trace */
};

/* A span in which the host did one thing with a vCPU; times are the host's. */
struct dtc_host_piece {
	struct dtc_guest_cpu cpu;
	enum dtc_host_doing doing;
	int64_t begin_ns;
	int64_t end_ns;
	bool has_interval;		   /* false: after the end of the trace */
	struct dtc_interval interval;	   /* of the vCPU's thread */
	const struct dtc_guest_span *span; /* the last stay in the guest that began before; borrowed */
};

/*
 * The piece of a guest's CPU that leads up to host_ns (begin_ns < host_ns <= end_ns). False before the vCPU's first
 * entry that was seen: then nothing is known of any time before either.
 */
bool dtc_host_find_piece(const DtcLinks *links, const struct dtc_guest_cpu *cpu, int64_t host_ns,
			 struct dtc_host_piece *ret_piece);

/*
 * The last piece of what is left of a span of the host's time, cut to it: from begin_ns to *end_ns, which goes back to
 * the piece's begin. False if nothing is left, or the host does not tell.
 */
bool dtc_host_take_piece(const DtcLinks *links, const struct dtc_guest_cpu *cpu, int64_t begin_ns, int64_t *end_ns,
			 struct dtc_host_piece *ret_piece);

/* The piece that leads up to a time, on cluster time. */
struct dtc_host_cut {
	struct dtc_host_piece piece;
	int64_t host_ns;	  /* where the host's clock was then */
	int64_t begin_cluster_ns; /* always before that time */
};

/*
 * What the host did with the CPU of an interval of a guest's thread, up to cluster_ns. False if the node is no guest,
 * the thread neither ran nor waited for a CPU, or the host does not tell.
 */
bool dtc_host_find_cut(const DtcLinks *links, guint node, const struct dtc_interval *interval, int64_t cluster_ns,
		       struct dtc_host_cut *ret_cut);

/* An interrupt that a guest served, as its host saw it. Times are the host's. */
struct dtc_host_interrupt {
	struct dtc_guest_cpu cpu;
	int64_t pending_ns; /* since when it waited for the vCPU */
	int64_t entry_ns;   /* when the vCPU entered the guest with it; not before pending_ns */
	uint32_t thread;    /* of the host, that raised it: a device's; DTC_NONE: a timer of the guest, or not known */
};

/*
 * The interrupt in which something happened on a guest's CPU at time (node time of the guest), on top of thread. False
 * if it was not in an interrupt, or the host's trace does not tell.
 */
bool dtc_host_find_interrupt(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns,
			     struct dtc_host_interrupt *ret_interrupt);
/* True for the ioctl in which a vCPU's thread runs its guest. call may be DTC_NONE. */
bool dtc_host_runs_guest(const DtcHistory *history, uint32_t call);
