/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CPUs of a trace: those that it has streams of, and those that its events name. A CPU on which a thread was woken,
 * to which it moved or on which it ran when the trace began was there and at work, and records it: if it has no stream,
 * or one that had ended or not begun, events are missing. Not told by threads that slept: they keep the number of a CPU
 * that went offline.
 */
#pragma once

#include "collect/read/event.h"

#include <glib.h>

typedef struct DtcCpus DtcCpus;

DtcCpus *dtc_cpus_new(void);
void dtc_cpus_free(DtcCpus *cpus);
/* There is a stream of it. */
void dtc_cpus_add(DtcCpus *cpus, uint32_t cpu);
/* That stream tells of this time; begin_ns may be DTC_ABSENT. */
void dtc_cpus_add_span(DtcCpus *cpus, uint32_t cpu, int64_t begin_ns, int64_t end_ns);
/* Whether events of the kind name CPUs: to be asked before the call of the next. */
static inline bool dtc_cpus_are_named_by(uint16_t kind)
{
	const uint64_t kinds = UINT64_C(1) << DTC_EVENT_SCHED_WAKING | UINT64_C(1) << DTC_EVENT_SCHED_WAKEUP |
			       UINT64_C(1) << DTC_EVENT_SCHED_WAKEUP_NEW | UINT64_C(1) << DTC_EVENT_SCHED_MIGRATE |
			       UINT64_C(1) << DTC_EVENT_DUMP_PROCESS;
	_Static_assert(DTC_EVENT_KINDS <= 64, "kinds are bits of a word");
	return kinds >> kind & 1;
}
/* Takes the CPUs that an event of such a kind names. Events may come in any order. */
void dtc_cpus_name(DtcCpus *cpus, const struct dtc_event *event);
/*
 * Those that are named and have no stream, as "1, 3 to 5"; NULL: none. *ret_count: how many. Caller frees.
 */
char *dtc_cpus_list_missing(const DtcCpus *cpus, guint *ret_count);
/*
 * A CPU is named before its stream begins, or after it ended, by more than tracers need to start and stop; how long
 * before or after in *ret_before_ns, *ret_after_ns, 0 if it is not. False after the last CPU; *cpu is the first to look
 * at, and then the one found.
 */
bool dtc_cpus_find_partial(const DtcCpus *cpus, guint *cpu, int64_t *ret_before_ns, int64_t *ret_after_ns);
