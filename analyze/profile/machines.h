/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every virtual CPU did: in its guest, ready while another thread had the CPU (stolen, by whom), out of the guest
 * while the host worked for it (why), halted. Everything comes from the host's trace; the guest need not be traced.
 *
 * And what a guest's trace shows by itself where its host was not traced: a CPU that runs a thread is interrupted by
 * its timer at a steady pace, so that one which logs nothing until long after the next interrupt was due had no CPU.
 */
#pragma once

#include "analyze/edge/host.h"
#include "analyze/edge/links.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Who had the CPU of a host while a vCPU was ready. */
struct dtc_vm_thief {
	uint32_t thread; /* of the host, or DTC_NONE: state says what */
	uint8_t state;	 /* as in struct dtc_occupant */
	uint32_t ref;
	int64_t ns;
};

/* Exits for one reason, and what the host did until the next entry without being held up itself. */
struct dtc_vm_exit {
	uint16_t reason; /* as in struct dtc_guest_span */
	uint8_t isa;
	uint64_t count;
	int64_t ns; /* the host's kernel, the hypervisor, interrupts of the host */
};

struct dtc_vm_cpu {
	guint host;
	uint32_t thread;
	int32_t number;	  /* of the CPU in its guest; -1: not known */
	guint guest;	  /* the node that runs on it; G_MAXUINT: not traced, or not known which */
	bool is_verified; /* by the guest's events */
	/* node time of the host: of the span that was asked for, from the first entry on */
	int64_t begin_ns, end_ns;
	int64_t running_ns; /* in the guest */
	int64_t stolen_ns;  /* its thread was ready, and had no CPU */
	int64_t handled_ns; /* exits: the host worked for it, or served interrupts on top of it */
	int64_t blocked_ns; /* its thread waited for something in the host */
	int64_t halted_ns;  /* the guest had nothing to do */
	int64_t unknown_ns; /* lost events */
	GArray *thieves;    /* struct dtc_vm_thief, longest first */
	GArray *exits;	    /* struct dtc_vm_exit, longest first */
	uint64_t wakeups;   /* ends of its halts */
	int64_t woken_ns;   /* from these to the next entry, together; part of stolen and handled */
	int64_t woken_max_ns;
	uint64_t injections; /* interrupts put into it */
};

/*
 * The vCPUs of a node as host, by process and then by thread, in [begin, end]. Array of struct dtc_vm_cpu, cleared
 * when freed; caller owns. running, stolen, handled, blocked, halted and unknown sum to end_ns - begin_ns.
 */
GArray *dtc_machines_list(const DtcLinks *links, guint host, DtcNodeTime begin, DtcNodeTime end);

/* One silence of a CPU. */
struct dtc_vm_silence {
	int64_t begin_ns; /* the last event before */
	int64_t due_ns;	  /* at the latest then the timer was due: from here on it did not run */
	int64_t end_ns;	  /* the next event */
	uint32_t thread;  /* that had the CPU */
	bool is_kernel;	  /* which may have kept interrupts off; else user code, which cannot */
};

/* A CPU of a node whose host was not traced. Nothing of this is certified: firmware takes CPUs away, too. */
struct dtc_vm_silent_cpu {
	guint cpu;
	int64_t period_ns;  /* between interrupts of its timer; 0: not known, and nothing is told */
	int64_t busy_ns;    /* some thread had it */
	int64_t user_ns;    /* in user code: it did not run for at least so long */
	int64_t kernel_ns;  /* the same in the kernel */
	int64_t at_most_ns; /* all of these silences, from the last event to the next one */
	GArray *silences;   /* struct dtc_vm_silence, in time order */
};

/*
 * What is inferred of a node's CPUs in [begin, end]; empty where timer interrupts are not in the trace. Array of struct
 * dtc_vm_silent_cpu, cleared when freed; caller owns.
 */
GArray *dtc_machines_infer(const DtcHistory *history, DtcNodeTime begin, DtcNodeTime end);
