/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the table of work: where events were lost. Whoever may have run meanwhile may have told of its piece and taken
 * up another one, so a piece that is known at its begin is known up to there, and one that is known at its end from
 * there on; both if they are for the same request. With a hundredth of the packets of a pool's trace taken out, a
 * thread's last piece went on through the next one, or the next one began with it.
 */
#pragma once

#include <dtrace-chain/history.h>

/* Whether that happened to some thread of the node at all. */
bool dtc_unseen_is_any(const DtcHistory *history);
/*
 * Where in a span (node time) it is not known what a thread did: from when on, and until when at last. False: it is
 * known everywhere.
 */
bool dtc_unseen_find(const DtcHistory *history, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		     int64_t *ret_first_ns, int64_t *ret_last_ns);
