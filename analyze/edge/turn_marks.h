/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which calls of a node end a turn of an event loop, and which took bytes, a bit each: who looks back from a send over
 * thousands of a thread's calls reads a word for 64 of them. Words are made when they are first asked for, so that a
 * question about a second does not read an hour's calls. May be asked from several threads.
 */
#pragma once

#include "dtrace-chain/history.h"

typedef struct DtcTurnMarks DtcTurnMarks;

/* history is borrowed, sealed, and must outlive the marks. */
DtcTurnMarks *dtc_turn_marks_new(const DtcHistory *history);
void dtc_turn_marks_free(DtcTurnMarks *marks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcTurnMarks, dtc_turn_marks_free)

/* The last call in [begin, end) that is a poll and no glance, or DTC_NONE. */
uint32_t dtc_turn_marks_find_poll(DtcTurnMarks *marks, uint32_t begin, uint32_t end);
/* The last call in [begin, end) that took bytes (READ with a result above 0), or DTC_NONE. */
uint32_t dtc_turn_marks_find_read(DtcTurnMarks *marks, uint32_t begin, uint32_t end);
