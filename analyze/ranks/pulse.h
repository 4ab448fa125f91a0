/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that lives says so, several times within the span in which it must be heard; one that is not heard is
 * stopped, or hangs, or its machine does, and is waited for no longer. Who says that it is at something tells how much
 * processor time that took: an owner that waits for its disk for the whole of the span is as good as lost, and one that
 * reads for an hour is not.
 */
#pragma once

#include "analyze/ranks/letter.h"

#include <sys/types.h>

/* In its environment: how many seconds somebody may be silent (default: 60). */
#define DTC_PULSE_VARIABLE "DTRACE_CHAIN_MPI_SILENCE"

/* Begins a thread that sends DTC_LETTER_PULSE to that end, ten times within these or more often, until the process
 * ends. is_busy: atomic; NULL: never. */
void dtc_pulse_begin(int end, const gint *is_busy);

/*
 * A clock that stands still while this process is stopped: if a whole job is suspended and goes on, nobody was silent.
 */
struct dtc_pulse_clock {
	gint64 limit_us, interval_us;
	gint64 now_us;
	gint64 last_us; /* when it was looked at, by the system's clock */
	gint64 tick_us;
};
void dtc_pulse_clock_begin(struct dtc_pulse_clock *clock);
/* To be called more often than there are pulses; true once in each interval. */
bool dtc_pulse_clock_tick(struct dtc_pulse_clock *clock);

/* When somebody was heard, on that clock. */
struct dtc_pulse_heard {
	gint64 at_us;
	guint64 progress_ns; /* processor time at a pulse that counted */
};
/* A letter has come; one of the pulses counts if something was done since the last one that did. */
void dtc_pulse_hear(struct dtc_pulse_heard *heard, const struct dtc_pulse_clock *clock,
		    const struct dtc_letter *letter);
bool dtc_pulse_is_silent(const struct dtc_pulse_heard *heard, const struct dtc_pulse_clock *clock);

/* Kills a child and waits for its end, which comes soon; false: the kernel does not let it go. */
bool dtc_pulse_end_child(pid_t child, int *ret_status);
