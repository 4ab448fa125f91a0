/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second pass over a CPU's events: it writes them. One packet of the output and one block of pages are in memory.
 */
#pragma once

#include "collect/seal/classes.h"
#include "collect/seal/ctf_writer.h"
#include "collect/seal/scan.h"
#include "collect/seal/tasks.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What all CPUs share; borrowed, read only. */
struct dtc_convert_input {
	const DtcRecording *recording;
	const DtcSubjects *subjects;
	const DtcClasses *classes;
	const DtcTasks *tasks;
	const DtcJoin *join;
	const DtcWalk *names; /* of threads that run before the first switch */
	const char *folder;   /* for the stream */
	const uint8_t *uuid;
	int64_t begin_ns; /* no event is before */
	int64_t end_ns;	  /* the last event of all CPUs */
};

/* Events that were lost somewhere in that time, with no mark in the pages. */
struct dtc_loss {
	int64_t begin_ns;
	int64_t end_ns;
	uint64_t count;
};

struct dtc_convert_cpu {
	uint32_t cpu;
	guint scan;	       /* its index */
	uint32_t first_net;    /* what the join calls the first net event of this CPU; DTC_NONE: nothing is joined */
	uint64_t unknown_lost; /* how many are taken to be lost where the pages do not tell */
	const GArray *repairs; /* struct dtc_repair, as the scan found them; borrowed */
	const GArray *losses;  /* struct dtc_loss, in order; borrowed */
	uint64_t events;       /* results: written, without those put in */
	uint64_t lost_events;
	uint64_t repaired_switches;
	uint64_t bytes;
};

bool dtc_convert_cpu(const struct dtc_convert_input *input, struct dtc_convert_cpu *cpu, GError **error);
