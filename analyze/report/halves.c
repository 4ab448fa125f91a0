/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/halves.h"

#include "analyze/report/words.h"

#include <string.h>

struct part {
	const char *detail;
	int64_t ns;
};

/* Of the row at hand. */
struct DtcHalves {
	GArray *parts;	     /* struct part: what the steps that were asked say */
	GHashTable *places;  /* detail -> index in parts, and one */
	GArray *sums;	     /* int64_t ns: of the digests of steps */
	GHashTable *digests; /* digest -> index in sums, and one */
};

DtcHalves *dtc_halves_new(void)
{
	DtcHalves *halves = g_new0(DtcHalves, 1);

	halves->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	halves->places = g_hash_table_new(g_direct_hash, g_direct_equal);
	halves->sums = g_array_new(FALSE, FALSE, sizeof(int64_t));
	halves->digests = g_hash_table_new(g_direct_hash, g_direct_equal);
	return halves;
}

void dtc_halves_free(DtcHalves *halves)
{
	if (!halves)
		return;
	g_array_unref(halves->parts);
	g_hash_table_unref(halves->places);
	g_array_unref(halves->sums);
	g_hash_table_unref(halves->digests);
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

static int64_t *find_sum(DtcHalves *halves, guint digest)
{
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(halves->digests, GUINT_TO_POINTER(digest)));
	const int64_t none = 0;

	if (!place) {
		g_array_append_val(halves->sums, none);
		place = halves->sums->len;
		g_hash_table_insert(halves->digests, GUINT_TO_POINTER(digest), GUINT_TO_POINTER(place));
	}
	return &g_array_index(halves->sums, int64_t, place - 1);
}

/*
 * Leaves those steps, in their order, of which a detail may be half: by the sum of its digest, of what has none, and of
 * what was not looked at, since one digest is more than half.
 */
static void leave_possible(DtcHalves *halves, GArray *steps, int64_t ns, const struct dtc_step_words *words)
{
	struct dtc_half_step *step = (void *)steps->data;
	int64_t left_ns = ns, best_ns = 0, unknown_ns = 0;
	guint looked = 0, kept = 0;

	g_array_set_size(halves->sums, 0);
	g_hash_table_remove_all(halves->digests);
	for (; left_ns && 2 * best_ns <= ns && 2 * (best_ns + unknown_ns + left_ns) >= ns; looked++) {
		guint digest = words->digest(words->data, step[looked].step);
		step[looked].digest = digest;
		left_ns -= step[looked].ns;
		if (digest == DTC_DIGEST_UNKNOWN) {
			unknown_ns += step[looked].ns;
		} else if (digest != DTC_DIGEST_NO_WORDS) {
			int64_t *sum_ns = find_sum(halves, digest);
			*sum_ns += step[looked].ns;
			best_ns = MAX(best_ns, *sum_ns);
		}
	}
	for (guint i = 0; i < steps->len; i++) {
		if (i < looked && step[i].digest == DTC_DIGEST_NO_WORDS)
			continue;
		if (i < looked && step[i].digest != DTC_DIGEST_UNKNOWN &&
		    2 * (*find_sum(halves, step[i].digest) + unknown_ns + left_ns) < ns)
			continue;
		step[kept++] = step[i];
	}
	g_array_set_size(steps, kept);
}

static int64_t add_up(const GArray *steps)
{
	int64_t ns = 0;

	for (guint i = 0; i < steps->len; i++)
		ns += g_array_index(steps, struct dtc_half_step, i).ns;
	return ns;
}

const char *dtc_halves_find(DtcHalves *halves, GArray *steps, int64_t ns, const struct dtc_step_words *words)
{
	struct part best = { NULL, 0 };

	g_array_set_size(halves->parts, 0);
	g_hash_table_remove_all(halves->places);
	if (steps->len > 1)
		qsort(steps->data, steps->len, sizeof(struct dtc_half_step), compare_steps);
	leave_possible(halves, steps, ns, words);
	int64_t left_ns = add_up(steps);
	/* until one is more than half, or none can be half any more */
	for (guint i = 0; left_ns && 2 * best.ns <= ns && 2 * (best.ns + left_ns) >= ns; i++) {
		const struct dtc_half_step *step = &g_array_index(steps, struct dtc_half_step, i);
		const char *detail = words->get(words->data, step->step);
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
