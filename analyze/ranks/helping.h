/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who helps the asker. It has work for as many threads as its rank may use processors, so that those ranks are of use
 * which bring processors that no other brings, on this machine or elsewhere: where mpirun binds no rank to processors,
 * one of each further machine.
 */
#pragma once

#include "analyze/ranks/bell.h"

/* In its environment: "all" of the others help, or "none" of them. */
#define DTC_HELPING_VARIABLE "DTRACE_CHAIN_MPI_HELP"

/* A bit for each. Plain bytes, to be sent. */
struct dtc_helping_processors {
	guint64 words[64];
};

/* Those that this process may use; none if that cannot be told. */
void dtc_helping_get_processors(struct dtc_helping_processors *ret_processors);
/* ret_helps: by rank; the first never does. True if any does. */
bool dtc_helping_choose(const struct dtc_bell_name *places, const struct dtc_helping_processors *processors,
			guint rank_count, bool *ret_helps);
