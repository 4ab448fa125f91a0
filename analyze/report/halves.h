/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What at least half of a row's time was about, told by no more of its steps than it takes to know: words are most of
 * what a row of `requests` costs.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct DtcHalves DtcHalves;

/* A step of a row. */
struct dtc_half_step {
	int64_t ns;
	guint step;
	guint digest; /* set here */
};

/* Of steps: each is given its number, and data. */
struct dtc_step_words {
	gpointer data;
	/* what dtc_words_digest_evidence says of its detail */
	guint (*digest)(gpointer data, guint step);
	/* its detail, or NULL; equal details have one address */
	const char *(*get)(gpointer data, guint step);
};

DtcHalves *dtc_halves_new(void);
void dtc_halves_free(DtcHalves *halves);
/*
 * steps: struct dtc_half_step, all of a row of ns, in any order, and are ordered here. The longest are asked first, and
 * for digests before details: what is not half by these is not by those. Of two halves the first by name, as in a
 * report; NULL: there is none.
 */
const char *dtc_halves_find(DtcHalves *halves, GArray *steps, int64_t ns, const struct dtc_step_words *words);
