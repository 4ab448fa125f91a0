/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In what an event came: what its CPU did, for who counts events while a machine reads them. */
#pragma once

#include "analyze/state/machine.h"

#define DTC_CONTEXT_IDLER (DTC_NONE - 1) /* the idle thread of whatever CPU */

/* Strings are those of the machine, DTC_NONE: not known. Without padding: compared as bytes. */
struct dtc_event_context {
	uint32_t state;	  /* enum dtc_state: USER, SYSCALL, KERNEL, IRQ, SOFTIRQ, IDLE; UNKNOWN */
	uint32_t name;	  /* string: SYSCALL: the call; IRQ: the interrupt; else DTC_NONE */
	uint32_t vector;  /* SOFTIRQ; else DTC_NONE */
	uint32_t process; /* string: the process that had the CPU, by its name at that time; or DTC_CONTEXT_IDLER */
};
_Static_assert(sizeof(struct dtc_event_context) == 16, "compared as bytes, once for each event");

/* What the CPU does now. */
struct dtc_event_context dtc_machine_get_context(const DtcMachine *machine, uint32_t cpu);
/*
 * Applies an event, and tells in what it came. What begins a context is of it, as what ends it is: of an interrupt's
 * events the entry and the exit, of a call's likewise. A switch is of the thread that leaves.
 */
struct dtc_event_context dtc_machine_apply_in_context(DtcMachine *machine, const struct dtc_event *event);
/* "" for DTC_NONE, "idle" for DTC_CONTEXT_IDLER. Borrowed until the machine is freed. */
const char *dtc_machine_get_string(const DtcMachine *machine, uint32_t string);
