/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process was told on one connection and told on another one, sooner or later: a broker's job, which lay in its
 * memory until a worker asked for the next. No call tells that, but the bytes do: shingles (exchange/shingles.h) that
 * the two messages have in common and that hardly any other has. What a write shares with several messages is the one's
 * with which it shares most; if that is no single one, it is nobody's.
 */
#pragma once

#include "analyze/edge/links.h"

/*
 * Appends to writes those (ids of calls) that pass on what their process had received: bytes from a sequence number of
 * the connection on, of which the first ones were taken by that read. Each once, in no order that says anything.
 */
void dtc_passed_on_find(const DtcLinks *links, guint node, uint32_t read, uint32_t seq, uint32_t bytes, GArray *writes);
