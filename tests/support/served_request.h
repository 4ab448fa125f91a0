/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request that a thread of the only node reads with one call, and answers with another one; its client is not known.
 */
#pragma once

#include "analyze/request/serving.h"

/* Node times in the two calls. stream: of HTTP/2, or 0. */
static inline void served_request_add_place(DtcServing *serving, const DtcHistory *h, guint request, int tid,
					    int64_t read_ns, int64_t write_ns, uint32_t stream, bool has_end)
{
	uint32_t thread = dtc_history_find_thread(h, tid, read_ns);
	uint32_t read = dtc_history_find_call(h, thread, read_ns), write = dtc_history_find_call(h, thread, write_ns);
	const struct dtc_exchange exchange = { .stream = stream };
	struct dtc_hop hop = { .exchange = &exchange,
			       .client = { .node = G_MAXUINT, .thread = DTC_NONE, .file = DTC_NONE },
			       .server = { .thread = thread,
					   .file = dtc_history_copy_call(h, read).file,
					   .connect_call = DTC_NONE,
					   .request_first_call = read,
					   .request_last_call = read,
					   .response_first_call = write,
					   .response_last_call = write },
			       .parent = G_MAXUINT,
			       .attempt = 1 };
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	place->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	place->thread = has_end ? thread : DTC_NONE;
	place->has_end = has_end;
	place->end.ns = dtc_history_copy_call(h, write).end_ns;
	g_array_append_val(place->hops, hop);
	dtc_serving_add(serving, request, place);
	dtc_place_free(place);
}

/* When it ended nobody tells. */
static inline void served_request_add(DtcServing *serving, const DtcHistory *h, guint request, int tid, int64_t read_ns,
				      int64_t write_ns, uint32_t stream)
{
	served_request_add_place(serving, h, request, tid, read_ns, write_ns, stream, false);
}

/* It ended with its answer. */
static inline void served_request_add_ended(DtcServing *serving, const DtcHistory *h, guint request, int tid,
					    int64_t read_ns, int64_t write_ns)
{
	served_request_add_place(serving, h, request, tid, read_ns, write_ns, 0, true);
}
