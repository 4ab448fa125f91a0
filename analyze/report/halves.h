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
};

/* The detail of a step, or NULL; equal details have one address. */
typedef const char *(*DtcStepDetail)(gpointer data, guint step);

DtcHalves *dtc_halves_new(void);
void dtc_halves_free(DtcHalves *halves);
/*
 * steps: struct dtc_half_step, all of a row of ns, in any order, and are ordered here. The longest are asked first. Of
 * two halves the first by name, as in a report; NULL: there is none.
 */
const char *dtc_halves_find(DtcHalves *halves, GArray *steps, int64_t ns, DtcStepDetail get, gpointer data);
