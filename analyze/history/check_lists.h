/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dtrace-chain/history.h"

/* The first of what dtc_history_check looks at: lists that go together are equally long, the last string ends. */
bool dtc_history_check_lists(const DtcHistory *history, GError **error);
