/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All clocks of this machine at one moment. */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct dtc_clock_sample {
	int64_t mono_ns; /* of the trace */
	int64_t real_ns; /* of captures */
	int64_t boot_ns;
	int64_t tai_ns;
	int64_t raw_ns;
	int64_t uncertainty_ns; /* all were read within so much before and after mono_ns */
};

/* The tightest of a few tries. */
struct dtc_clock_sample dtc_clock_sample_take(void);
/* A line of raw/clocks. */
void dtc_clock_sample_write(const struct dtc_clock_sample *sample, FILE *file);
int64_t dtc_clock_get_mono_ns(void);
