/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/join_clock.h"

#include <glib.h>

/* Readings of one distance differ by their widths and by an interruption that fell between two of their clock calls. */
#define AGREE_NS 2000
/* A clock that is stepped more often tells nothing; what comes later is not converted. */
#define STRETCHES_MAX 256

/* Readings between two steps. */
struct stretch {
	int64_t first_ns; /* mono */
	int64_t last_ns;
	int64_t offset_ns; /* real - mono, of the narrowest reading */
	int64_t uncertainty_ns;
};

struct DtcJoinClock {
	GArray *stretches; /* struct stretch */
};

DtcJoinClock *dtc_join_clock_new(void)
{
	DtcJoinClock *clock = g_new0(DtcJoinClock, 1);

	clock->stretches = g_array_new(FALSE, FALSE, sizeof(struct stretch));
	return clock;
}

void dtc_join_clock_free(DtcJoinClock *clock)
{
	if (!clock)
		return;
	g_array_unref(clock->stretches);
	g_free(clock);
}

static struct stretch *get_stretch(const DtcJoinClock *clock, guint i)
{
	return &g_array_index(clock->stretches, struct stretch, i);
}

/* Widens the stretch by a reading of the same distance; false if it is of another. */
static bool extend(struct stretch *stretch, const struct stretch *reading)
{
	int64_t apart_ns;
	int64_t limit_ns = stretch->uncertainty_ns + reading->uncertainty_ns + AGREE_NS;

	if (__builtin_sub_overflow(reading->offset_ns, stretch->offset_ns, &apart_ns) || apart_ns > limit_ns ||
	    apart_ns < -limit_ns)
		return false;
	stretch->last_ns = reading->last_ns;
	if (reading->uncertainty_ns < stretch->uncertainty_ns) {
		stretch->uncertainty_ns = reading->uncertainty_ns;
		stretch->offset_ns = reading->offset_ns;
	}
	return true;
}

void dtc_join_clock_add(DtcJoinClock *clock, int64_t mono_ns, int64_t real_ns, int64_t uncertainty_ns)
{
	struct stretch reading = { mono_ns, mono_ns, 0, CLAMP(uncertainty_ns, 0, G_USEC_PER_SEC) };
	guint count = clock->stretches->len;

	if (__builtin_sub_overflow(real_ns, mono_ns, &reading.offset_ns))
		return;
	if (count > 0) {
		struct stretch *last = get_stretch(clock, count - 1);
		if (mono_ns < last->last_ns || extend(last, &reading))
			return;
	}
	if (count < STRETCHES_MAX)
		g_array_append_val(clock->stretches, reading);
}

/* True if the moment can be of the stretch: it ends where the next one is known to have begun, at the latest. */
static bool can_hold(const DtcJoinClock *clock, guint i, int64_t mono_ns)
{
	return (i == 0 || mono_ns >= get_stretch(clock, i - 1)->last_ns) &&
	       (i + 1 == clock->stretches->len || mono_ns <= get_stretch(clock, i + 1)->first_ns);
}

bool dtc_join_clock_convert(const DtcJoinClock *clock, int64_t real_ns, int64_t *ret_mono_ns)
{
	bool is_found = false;
	int64_t found_ns = 0;

	for (guint i = 0; i < clock->stretches->len; i++) {
		int64_t mono_ns;
		if (__builtin_sub_overflow(real_ns, get_stretch(clock, i)->offset_ns, &mono_ns) ||
		    !can_hold(clock, i, mono_ns))
			continue;
		if (is_found)
			return false;
		is_found = true;
		found_ns = mono_ns;
	}
	if (is_found)
		*ret_mono_ns = found_ns;
	return is_found;
}

int64_t dtc_join_clock_get_error_ns(const DtcJoinClock *clock)
{
	int64_t error_ns = 0;

	for (guint i = 0; i < clock->stretches->len; i++)
		error_ns = MAX(error_ns, get_stretch(clock, i)->uncertainty_ns);
	return error_ns;
}
