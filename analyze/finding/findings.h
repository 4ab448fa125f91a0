/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is worth saying beside an answer: one file per kind, each with a code that programs may test for and a threshold
 * with its reason. They look at the answer and at what it was made from, and change neither. The codes and thresholds
 * are a contract: docs/formats.md lists them, and a code never gets another meaning.
 */
#pragma once

#include "analyze/edge/links.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/path.h"
#include "sync/fit/fit.h"

#define DTC_FINDING_BUSY "busy-for-other-request"
#define DTC_FINDING_AMBIGUOUS "ambiguous-owner"
#define DTC_FINDING_REVERSAL "reversal-within-bound"
#define DTC_FINDING_CONTRADICTION "reversal-beyond-bound"
#define DTC_FINDING_UNMATCHED "packets-unmatched"
#define DTC_FINDING_LONG_RUN "runs-without-system-call"
#define DTC_FINDING_POLLING "polls-in-vain"
#define DTC_FINDING_SILENCE "silent-receiver"
#define DTC_FINDING_VM_PREEMPTED "vm-preempted"
#define DTC_FINDING_NOT_SEEN "thread-not-seen"
#define DTC_FINDING_TRACER "tracer-cost"
#define DTC_FINDING_CPU_LIMIT "cpu-limit"

/* An answer and what it was made from. All borrowed. */
struct dtc_finding_input {
	const DtcPath *path;   /* with the names of other requests, where they are known */
	const DtcLinks *links; /* the histories, names, clocks and guests that the path was walked with */
	const DtcSync *sync;   /* NULL: there was nothing to align, or the clocks came from a file */
	guint ambiguous_hops;  /* of the request, that may be another's */
	bool is_part;	       /* not all of the recording was read */
};

/* All of the below, in this order. */
void dtc_finding_add_all(const struct dtc_finding_input *input, DtcFindings *findings);
/* Those of them that make an answer incomplete: for many answers of which only that is shown. sync is not looked at. */
void dtc_finding_add_incomplete(const struct dtc_finding_input *input, DtcFindings *findings);

/* Waits for other requests in the same loop, pool or lock. */
void dtc_finding_add_busy(const struct dtc_finding_input *input, DtcFindings *findings);
/* Hops and time on the path of which two requests may be the owner. */
void dtc_finding_add_ambiguous(const struct dtc_finding_input *input, DtcFindings *findings);
/* Messages that run backward: within the clocks' uncertainty they are possible, beyond it something is wrong. */
void dtc_finding_add_reversals(const struct dtc_finding_input *input, DtcFindings *findings);
/* Packets that have no match on the other node: drops, or events that were not recorded. */
void dtc_finding_add_unmatched(const struct dtc_finding_input *input, DtcFindings *findings);
/* The longest time that one thread ran on the path without entering the kernel. */
void dtc_finding_add_long_run(const struct dtc_finding_input *input, DtcFindings *findings);
/* The thread that asked longest in vain, of those on the path, while it was on it. */
void dtc_finding_add_polling(const struct dtc_finding_input *input, DtcFindings *findings);
/* The longest silence of a receiver while a packet was on its way to it. */
void dtc_finding_add_silence(const struct dtc_finding_input *input, DtcFindings *findings);
/* Guests' CPUs that were ready to run and did not, one finding per guest. */
void dtc_finding_add_vm_preempted(const struct dtc_finding_input *input, DtcFindings *findings);
/* CPUs of which it is not known for a part of the answer who had them, since a switch is missing: one for each node. */
void dtc_finding_add_missing(const struct dtc_finding_input *input, DtcFindings *findings);
/* Processes that were ready and not let run though their CPU was free: a limit of their cgroup. */
void dtc_finding_add_cpu_limit(const struct dtc_finding_input *input, DtcFindings *findings);
/* Who had the CPU (struct dtc_occupant) in a segment's part of the wait that it is of; NULL: of none. Caller owns. */
GArray *dtc_finding_list_occupants(const struct dtc_finding_input *input, const struct dtc_segment *segment);
/* Waits for a CPU that tracers and captures had. */
void dtc_finding_add_tracer(const struct dtc_finding_input *input, DtcFindings *findings);
/* What was looked for only so far: the answer may be behind a limit. */
void dtc_finding_add_limits(const struct dtc_finding_input *input, DtcFindings *findings);
/*
 * Not of the above: if a thread was asked for of which nothing is known in nearly all of the span, who was busy there
 * instead.
 */
void dtc_finding_add_not_seen(const struct dtc_finding_input *input, DtcFindings *findings);
