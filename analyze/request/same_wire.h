/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether two captures saw one exchange: told by the bytes, so that no clock is needed. */
#pragma once

#include "dtrace-chain/request.h"

/*
 * The same sequence numbers between the same ends; or, through address translation, which keeps sequence numbers, both
 * of them equal, which is one in 2^64 by chance. An old connection with the same ends may have the same number again:
 * who knows times compares these, too. Flows are those of the requests.
 */
bool dtc_same_wire(const struct dtc_exchange *a, const struct dtc_flow *a_flow, const struct dtc_exchange *b,
		   const struct dtc_flow *b_flow);
