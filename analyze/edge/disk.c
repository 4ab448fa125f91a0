/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A disk request that completed. A request that another thread made while this one waited already (a journal's commit,
 * a kernel worker that writes pages back; clusters/demo's fsync) has that thread's time before it, too.
 */
#include "analyze/edge/edges_build.h"

void dtc_edge_complete_disk(const DtcLinks *links, const struct dtc_wake *wake, struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(links, edge->node);
	const struct dtc_block_request *request = dtc_history_get_block_request(h, wake->ref);
	edge->block_request = wake->ref;
	edge->from_ns = request->insert_ns;
	if (request->thread != DTC_NONE && request->thread != edge->thread &&
	    dtc_history_get_thread(h, request->thread)->idle_cpu < 0)
		edge->from_thread = request->thread;
}
