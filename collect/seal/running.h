/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who runs on a CPU, and whether a switch is missing. Every event of tracefs bears the thread in whose context it was
 * logged, so that a switch that is not in the buffer shows at the next event of whoever has the CPU. Seen on Linux
 * 6.18 in a virtual machine with haltpoll: CPU 1 logged none of its 486 switches from idle to a thread in 1.5 s.
 * Between the event sched_switch and the switch itself the kernel logs a little more, in the name of the thread before.
 *
 * When did it happen? After the last event of who ran before. The idle thread does nothing but wait for work: it
 * switched right after that event, or, if the thread was woken (or moved there) later, right then. Of any other thread
 * only the span is known, and the switch is put where the next event shows it.
 */
#pragma once

#include "collect/seal/pages.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The events right after a switch that still bear the thread before it are within that time; as analyze/state. */
#define DTC_AFTER_SWITCH_NS 20000
#define DTC_COMM_BYTES 16

/* Where sched_switch has what. */
struct dtc_switch_layout {
	const struct dtc_raw_format *format; /* NULL: it has another form, or was not recorded: nothing is repaired */
	uint32_t prev_comm;
	uint32_t prev_pid;
	uint32_t prev_prio;
	uint32_t next_comm;
	uint32_t next_pid;
	uint32_t next_prio;
};

struct dtc_running {
	int64_t switched_ns;
	int64_t last_ns; /* of the last event on this CPU */
	int32_t tid;
	int32_t before; /* who ran before the last switch */
	bool is_known;
	bool is_settled; /* the new thread was seen */
};

struct dtc_repair {
	int64_t after_ns;  /* the last event of who ran before, or the end of a gap */
	int64_t before_ns; /* the event that shows the new thread */
	int64_t time_ns;   /* where it is put, from the first to the second */
	int32_t from;
	int32_t to;
	char comm[DTC_COMM_BYTES]; /* of to; empty: not known */
};

void dtc_switch_layout_find(const DtcFormats *formats, struct dtc_switch_layout *ret_layout);
/*
 * Every event that has a thread is shown here, and a switch afterwards to dtc_running_switch. True: one is missing;
 * then the state is as if it had been seen.
 */
bool dtc_running_check(struct dtc_running *running, const struct dtc_raw_event *event, int32_t tid, bool is_switch,
		       struct dtc_repair *ret_repair);
void dtc_running_switch(struct dtc_running *running, const struct dtc_switch_layout *layout,
			const struct dtc_raw_event *event);

/* The repairs of all CPUs, which learn when their threads were woken. */
typedef struct DtcRepairs DtcRepairs;

/* Caller owns. Borrows what dtc_repairs_add takes (struct dtc_repair), in the order of time. */
DtcRepairs *dtc_repairs_new(void);
void dtc_repairs_free(DtcRepairs *repairs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcRepairs, dtc_repairs_free)
void dtc_repairs_add(DtcRepairs *repairs, GArray *of_cpu);
guint dtc_repairs_get_count(const DtcRepairs *repairs);
/* Of any CPU, from any thread. comm: DTC_COMM_BYTES of them, or NULL. */
void dtc_repairs_note_wake(DtcRepairs *repairs, int32_t tid, const void *comm, int64_t time_ns);
