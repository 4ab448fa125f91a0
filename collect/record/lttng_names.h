/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's events by LTTng's names and by tracefs's. The sets of events are lists of tracefs names; LTTng's probes
 * are of the same tracepoints and are called otherwise.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* "irq_softirq_entry" is "irq:softirq_entry". Caller owns. */
char *dtc_lttng_name_to_tracefs(const char *name);
/* "system:event" a line, as available_events of tracefs: of the tracepoints, and of the system calls. Caller owns. */
char *dtc_lttng_names_list(const GPtrArray *tracepoints, const GPtrArray *calls);
/*
 * LTTng's names of what was chosen from that list: the tracepoints, sorted, and the calls, sorted; a call that is
 * chosen at its entry or exit is traced at both, as LTTng does. Free both with g_ptr_array_unref.
 */
void dtc_lttng_names_split(const GPtrArray *tracepoints, const GPtrArray *chosen, GPtrArray **ret_tracepoints,
			   GPtrArray **ret_calls);
/* Whether a set's lack of a kind of event ("events-task=...") is none with LTTng, which tells the same otherwise. */
bool dtc_lttng_has_otherwise(const char *lack);
