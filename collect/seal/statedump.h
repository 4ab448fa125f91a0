/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk of /proc as LTTng's state dump: a stream of its own, all of it at the time at which the walk began, so that
 * what is traced from then on comes after it and has the last word. Fields that no walk can know are left out; what
 * LTTng has no event for has one of ours, dtrace_chain_statedump_*.
 */
#pragma once

#include "collect/seal/ctf_writer.h"
#include "collect/seal/walk.h"

#include <glib.h>
#include <stdint.h>

/* The declarations of its events, whose ids begin with first_id. */
void dtc_statedump_declare(GString *tsdl, uint32_t first_id);
/* What was there at the walk, and of limits what they did up to the last one, end. How many events it wrote. */
uint64_t dtc_statedump_write(DtcCtfWriter *writer, const DtcWalk *walk, const DtcWalk *end, uint32_t first_id);
