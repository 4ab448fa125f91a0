/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/halves.h"

#include <string.h>

struct part {
	const char *detail;
	int64_t ns;
};

/* What the steps that were asked say; of one row after the other. */
struct DtcHalves {
	GArray *parts;	    /* struct part */
	GHashTable *places; /* detail -> index in parts, and one */
};

DtcHalves *dtc_halves_new(void)
{
	DtcHalves *halves = g_new0(DtcHalves, 1);

	halves->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	halves->places = g_hash_table_new(g_direct_hash, g_direct_equal);
	return halves;
}

void dtc_halves_free(DtcHalves *halves)
{
	if (!halves)
		return;
	g_array_unref(halves->parts);
	g_hash_table_unref(halves->places);
	g_free(halves);
}

static int compare_steps(const void *a, const void *b)
{
	const struct dtc_half_step *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->step < y->step ? -1 : 1;
}

static struct part *find_part(DtcHalves *halves, const char *detail)
{
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(halves->places, detail));
	const struct part fresh = { detail, 0 };

	if (!place) {
		g_array_append_val(halves->parts, fresh);
		place = halves->parts->len;
		g_hash_table_insert(halves->places, (gpointer)detail, GUINT_TO_POINTER(place));
	}
	return &g_array_index(halves->parts, struct part, place - 1);
}

const char *dtc_halves_find(DtcHalves *halves, GArray *steps, int64_t ns, DtcStepDetail get, gpointer data)
{
	struct part best = { NULL, 0 };
	int64_t left_ns = ns;

	g_array_set_size(halves->parts, 0);
	g_hash_table_remove_all(halves->places);
	if (steps->len > 1)
		qsort(steps->data, steps->len, sizeof(struct dtc_half_step), compare_steps);
	/* until one is more than half, or none can be half any more */
	for (guint i = 0; left_ns && 2 * best.ns <= ns && 2 * (best.ns + left_ns) >= ns; i++) {
		const struct dtc_half_step *step = &g_array_index(steps, struct dtc_half_step, i);
		const char *detail = get(data, step->step);
		left_ns -= step->ns;
		if (!detail)
			continue;
		struct part *part = find_part(halves, detail);
		part->ns += step->ns;
		if (part->ns > best.ns || (best.detail && part->ns == best.ns && strcmp(part->detail, best.detail) < 0))
			best = *part;
	}
	return best.detail && 2 * best.ns >= ns ? best.detail : NULL;
}
