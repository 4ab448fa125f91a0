/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the first byte of a request to its last answer: nobody works for it before or after. */
#pragma once

#include "dtrace-chain/sync.h"

struct dtc_life {
	guint node;	  /* whose time this is */
	uint32_t client;  /* the thread there that sends it, and may prepare it before; DTC_NONE: not known */
	int64_t begin_ns; /* INT64_MIN: not known */
	int64_t end_ns;	  /* INT64_MAX: not known */
};

/*
 * When work for a request can begin and end at most, in time of a node and in a thread of it: wider by what the clocks
 * leave open, and without an end where they tell nothing, or where life is NULL.
 */
void dtc_life_get(const DtcClocks *clocks, const struct dtc_life *life, guint node, uint32_t thread,
		  int64_t *ret_begin_ns, int64_t *ret_end_ns);
