/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time on a request's path in which a thread worked for another request: in an event loop that served others first, in
 * a pool whose thread was taken, or behind a lock that one held who served another. Such segments say so: busy_with is
 * the other request's id.
 */
#pragma once

#include "analyze/request/requests.h"
#include "analyze/request/serving.h"
#include "dtrace-chain/path.h"

/*
 * Splits the segments of the path of a request where the thread turned to another or came back. Sums, causes and order
 * stay; the path stays contiguous. Costs a binary search per segment and what is split.
 */
void dtc_path_name_busy(DtcPath *path, guint request, const DtcRequests *requests, const DtcServing *serving,
			const DtcClocks *clocks);
