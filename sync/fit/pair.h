/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pair of nodes in nominal coordinates: which messages are kept, where the difference of the clocks steps, the
 * points its bounds rest on, and an estimate with its margin. d(x) is the second node's coordinate minus the first's
 * when the first shows x.
 */
#pragma once

#include "sync/fit/envelope.h"
#include "sync/fit/fit.h"
#include "sync/fit/nominal.h"

/* The estimate: piecewise linear, with the room that the messages leave around it. */
struct dtc_curve_knot {
	int64_t x;
	double v;
	double margin; /* |d - v| <= margin satisfies every message of the pair */
};

/* An era: a stretch of time without a step. */
struct dtc_era {
	int64_t begin; /* first and last message that can only belong here */
	int64_t end;
	struct dtc_point *points;     /* owned: upper, then lower, each sorted by x; hull vertices of cells */
	struct dtc_cloud cloud;	      /* views of points */
	double wander;		      /* of the rate, as far as the messages do not exclude it */
	struct dtc_rates rates;	      /* certified mean rates, for that wander */
	struct dtc_curve_knot *curve; /* owned; at least two knots */
	guint curve_count;
};

struct dtc_pair {
	guint a, b;			   /* node indexes; a's name sorts before b's */
	const struct dtc_message *ab, *ba; /* borrowed */
	guint ab_count, ba_count;
	DtcSpace *space; /* borrowed; where long lists of them grow; NULL: in files of their own */
	struct dtc_coarse coarse;
	struct dtc_nominal nominal_a, nominal_b; /* of the last fit */
	enum dtc_pair_status status;
	GArray *trimmed;      /* struct dtc_sync_trimmed */
	struct dtc_era *eras; /* owned; in order of time */
	guint era_count;
	int64_t begin; /* span of all messages, coordinate of a */
	int64_t end;
	int64_t earliest; /* of all stamps of kept messages, each in its own node's coordinate */
	int64_t latest;
	double outer_wander; /* beyond that span: what is assumed, whatever the messages show */
};

struct dtc_pair_limits {
	int64_t min_delay_ns;
	double max_rate; /* |rate| of one clock against another, before nominal scaling */
	double max_wander;
	double max_change; /* of the rate of an estimate, per ns */
};

void dtc_pair_clear(struct dtc_pair *pair);

/*
 * Places the pair's messages in the nodes' coordinates, leaves contradictory ones out, finds steps, reduces and fits.
 * Sets status and everything below it. May be called again with other coordinates.
 */
void dtc_pair_fit(struct dtc_pair *pair, const struct dtc_nominal *a, const struct dtc_nominal *b,
		  const struct dtc_pair_limits *limits);

/*
 * Certified bounds of d at each x of grid (sorted). Where a step may have happened, and within reach of there, those of
 * both sides together.
 */
void dtc_pair_get_bounds(const struct dtc_pair *pair, int64_t reach, const int64_t *grid, guint count, double *ret_lo,
			 double *ret_hi);
/* Where the step after era index is taken to be. */
int64_t dtc_pair_get_step(const struct dtc_pair *pair, guint index);
/* The estimate of d at x, and the margin there. */
double dtc_pair_get_estimate(const struct dtc_pair *pair, int64_t x, double *ret_margin);
/* The wander that its bounds rest on: the largest of its eras. */
double dtc_pair_get_wander(const struct dtc_pair *pair);
/* Largest |d'| that the pair allows: mean rates and wander. */
double dtc_pair_get_steepness(const struct dtc_pair *pair);
