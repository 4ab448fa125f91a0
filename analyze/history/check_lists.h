/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "collect/packets/table.h"
#include "dtrace-chain/history.h"

/* The first of what dtc_history_check looks at: lists that go together are equally long, the last string ends. */
bool dtc_history_check_lists(const DtcHistory *history, GError **error);
/* What is wrong with what is kept beside a list since it does not fit, or NULL; for dtc_history_check. Static. */
const char *dtc_eras_judge(const DtcTable *eras, uint32_t index, uint32_t record_count);
const char *dtc_history_judge_odd_call(const DtcHistory *history, uint32_t index);
const char *dtc_history_judge_odd_context(const DtcHistory *history, uint32_t index);
