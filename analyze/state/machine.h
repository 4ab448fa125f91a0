/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state machine of one node: it is fed the node's events in order and leaves the history of every thread. One pass,
 * no per-event allocation but the growth of its flat arrays. Not thread-safe; one machine per node may run in parallel.
 */
#pragma once

#include "collect/packets/node_namespaces.h"
#include "collect/read/reader.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"

typedef struct DtcMachine DtcMachine;

/*
 * reader gives the names of system calls; it must live until dtc_machine_finish. With NULL (events that no reader made)
 * names are added by dtc_machine_add_call_name, which gives the value for DTC_CALL_NAME.
 */
DtcMachine *dtc_machine_new(const char *node, const DtcReader *reader);
uint32_t dtc_machine_add_call_name(DtcMachine *machine, const char *name);
/* The kernel's version; a reader's trace tells it, without one (events that no reader made) it is a new one. */
void dtc_machine_set_kernel(DtcMachine *machine, unsigned long major, unsigned long minor);
/* What the recorder says of the node's network namespaces; NULL: nothing. Before the first event. */
void dtc_machine_set_environment(DtcMachine *machine, const DtcEnvironment *environment);
/* Where the history grows (analyze/history/records.h). Before the first event. */
void dtc_machine_set_spaces(DtcMachine *machine, DtcSpace *space, DtcSpace *scratch);
void dtc_machine_free(DtcMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcMachine, dtc_machine_free)

void dtc_machine_apply(DtcMachine *machine, const struct dtc_event *event);
/* There is an event at that time, which is not applied: who wants packets alone wants their times all the same. */
void dtc_machine_pass(DtcMachine *machine, int64_t time_ns);

/*
 * What happened until now is forgotten, what is the case is not (forget.c): the history will say of the time before
 * that it is unknown what threads did, and what follows is as if nothing had been forgotten.
 */
void dtc_machine_forget(DtcMachine *machine);
/* For who wants nothing of what was applied so far, now and then: forgets it before it is much. */
void dtc_machine_follow(DtcMachine *machine);

/*
 * Closes what is open, seals the history (packets included) and hands it over; the machine may then only be freed. What
 * the trace did not tell (lost events, no net events, no statedump) is added to findings.
 */
DtcHistory *dtc_machine_finish(DtcMachine *machine, DtcFindings *findings);
