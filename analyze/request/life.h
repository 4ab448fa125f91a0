/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the first byte of a request to its last answer: nobody works for it before or after. */
#pragma once

#include "dtrace-chain/sync.h"

struct dtc_life {
	guint node;	  /* whose time this is */
	uint32_t client;  /* the thread there that sends it, and may prepare it before; DTC_NONE: not known */
	int64_t begin_ns; /* INT64_MIN: not known */
	int64_t end_ns;	  /* INT64_MAX: not known */
	uint32_t has_id;  /* 1: it is one by its id, and no exchange that somebody may have made for another one */
	uint32_t spare;
};

/*
 * Cuts [*begin_ns, *end_ns] to when there can be work for a request, in time of a node and in a thread of it: from its
 * begin to its end, wider by what the clocks leave open, and without limits where they tell nothing, or where life is
 * NULL. What lies outside ends before it begins.
 */
void dtc_life_cut(const DtcClocks *clocks, const struct dtc_life *life, guint node, uint32_t thread, int64_t *begin_ns,
		  int64_t *end_ns);
