/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls that moved the bytes of a socket: by position in its stream, or by time. */
#pragma once

#include "dtrace-chain/history.h"

#include <glib.h>

typedef struct DtcFileCalls DtcFileCalls;

/* history is borrowed. */
DtcFileCalls *dtc_file_calls_new(const DtcHistory *history, uint32_t file);
void dtc_file_calls_free(DtcFileCalls *calls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFileCalls, dtc_file_calls_free)

/*
 * The call that wrote (or read) the byte at this position of the stream, modulo 2^32 as sequence numbers are: DTC_NONE
 * if no call covers it. near_ns tells which of several, 4 GiB apart, is meant (node time; DTC_TIME_NONE: the first). A
 * write that never returned in the trace may have given any byte behind those of the others.
 */
uint32_t dtc_file_calls_find_byte(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns);
/* The byte at this position came before the first one that the calls moved: a call that the trace lacks moved it. */
bool dtc_file_calls_is_before_first(const DtcFileCalls *calls, bool written, uint32_t position);
/* No call covers the byte at this position, and one has bytes behind it: what moved it was lost with events. */
bool dtc_file_calls_is_lost(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns);
/*
 * The last write that began before a packet left, or the first read that ended after it came; DTC_NONE if there is
 * none. A packet from before or after the trace has none: its call was not recorded, and the nearest one is another's.
 */
uint32_t dtc_file_calls_find_at(const DtcFileCalls *calls, bool written, int64_t packet_ns);
/*
 * Where a packet's time (node time) lies: -1 before the trace's first event, 1 after its last, 0 in between, or where
 * that is not known (DTC_TIME_NONE, no events). What the relation of a capture's clock leaves open counts as between.
 */
int dtc_file_calls_compare_to_trace(const DtcHistory *history, int64_t packet_ns);
/* The last read with data after a write and before the next write, or DTC_NONE. */
uint32_t dtc_file_calls_find_answer(const DtcFileCalls *calls, uint32_t write);
/* The first call of whatever kind that began at or after a time, or DTC_NONE. */
uint32_t dtc_file_calls_find_next(const DtcFileCalls *calls, int64_t from_ns);
/* The first write with data that began, or read with data that ended, after a time; or DTC_NONE. */
uint32_t dtc_file_calls_find_moved(const DtcFileCalls *calls, bool written, int64_t time_ns);
/* The last write or connect that began before a time, or DTC_NONE: when what comes was asked for. */
uint32_t dtc_file_calls_find_asking(const DtcFileCalls *calls, int64_t before_ns);
/* The first call of a kind that began at or after a time, or DTC_NONE. */
uint32_t dtc_file_calls_find_kind(const DtcFileCalls *calls, enum dtc_call_kind kind, int64_t from_ns);
