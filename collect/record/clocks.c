/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/clocks.h"

#include <inttypes.h>
#include <time.h>

#define TRIES 5

static int64_t get_ns(clockid_t id)
{
	struct timespec time = { 0 };

	(void)clock_gettime(id, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t dtc_clock_get_mono_ns(void)
{
	return get_ns(CLOCK_MONOTONIC);
}

/* The others are read between two readings of the trace's clock. */
static struct dtc_clock_sample take_once(void)
{
	int64_t before = get_ns(CLOCK_MONOTONIC);
	struct dtc_clock_sample sample = {
		.real_ns = get_ns(CLOCK_REALTIME),
		.boot_ns = get_ns(CLOCK_BOOTTIME),
		.tai_ns = get_ns(CLOCK_TAI),
		.raw_ns = get_ns(CLOCK_MONOTONIC_RAW),
	};
	int64_t after = get_ns(CLOCK_MONOTONIC);

	sample.mono_ns = before + (after - before) / 2;
	sample.uncertainty_ns = (after - before + 1) / 2;
	return sample;
}

struct dtc_clock_sample dtc_clock_sample_take(void)
{
	struct dtc_clock_sample best = take_once();

	for (int i = 1; i < TRIES; i++) {
		struct dtc_clock_sample sample = take_once();
		if (sample.uncertainty_ns < best.uncertainty_ns)
			best = sample;
	}
	return best;
}

void dtc_clock_sample_write(const struct dtc_clock_sample *sample, FILE *file)
{
	fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", sample->mono_ns,
		sample->real_ns, sample->boot_ns, sample->tai_ns, sample->raw_ns, sample->uncertainty_ns);
}
