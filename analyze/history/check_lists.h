/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "collect/packets/table.h"
#include "dtrace-chain/history.h"

/* The first of what dtc_history_check looks at: lists that go together are equally long, the last string ends. */
bool dtc_history_check_lists(const DtcHistory *history, GError **error);
/* What is wrong with what is kept beside a list since it does not fit, or NULL; for dtc_history_check. Static. */
const char *dtc_eras_judge(const DtcTable *eras, uint32_t index, uint32_t record_count);
const char *dtc_history_judge_moment_era(const DtcHistory *history, uint32_t index);
const char *dtc_history_judge_odd_ref(const DtcHistory *history, uint32_t index);
const char *dtc_history_judge_odd_call(const DtcHistory *history, uint32_t index);
const char *dtc_history_judge_odd_context(const DtcHistory *history, uint32_t index);

/* The same of what limits CPUs, all of it. */
const char *dtc_history_judge_limits(const DtcHistory *history);

/* What one call read or wrote of a file. */
struct dtc_moved_bytes {
	uint64_t offset;
	uint64_t bytes;
};

/*
 * The calls of one kind took or gave every byte of the file once; where bytes were lost, none twice. moved is for its
 * own use: struct dtc_moved_bytes.
 */
bool dtc_calls_move_once(const DtcHistory *history, DtcTable *moved, const uint32_t *calls, uint32_t count,
			 const struct dtc_file *file, enum dtc_call_kind kind);
