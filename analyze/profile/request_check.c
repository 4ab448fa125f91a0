/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/request_check.h"

#include <inttypes.h>

/* A time on a node. */
struct instant {
	guint node;
	int64_t ns;
};

/* Of a time that is mapped to another node and back; and a doubt is added on one clock or the other: rates differ less.
 */
#define ROUNDING_NS 2
#define RATE_DIVISOR 1000

/*
 * How much later the first is than the second, beyond what their clocks leave open at either time; at most 0: it may be
 * earlier.
 */
static int64_t get_lead_ns(const DtcLinks *links, struct instant first, struct instant second)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);

	if (first.node == second.node)
		return first.ns - second.ns;
	DtcClusterTime x = dtc_clocks_to_cluster(clocks, first.node, (DtcNodeTime){ first.ns });
	DtcClusterTime y = dtc_clocks_to_cluster(clocks, second.node, (DtcNodeTime){ second.ns });
	int64_t doubt_ns = MAX(dtc_clocks_get_uncertainty_ns(clocks, first.node, second.node, x),
			       dtc_clocks_get_uncertainty_ns(clocks, first.node, second.node, y));
	return doubt_ns == INT64_MAX ? 0 : x.ns - y.ns - doubt_ns - doubt_ns / RATE_DIVISOR - ROUNDING_NS;
}

static struct instant get_begin(const DtcLinks *links, guint node, uint32_t call)
{
	return (struct instant){ node, dtc_history_get_call_begin_ns(dtc_links_get_history(links, node), call) };
}

static struct instant get_end(const DtcLinks *links, guint node, uint32_t call)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	int64_t end_ns = dtc_history_copy_call(h, call).end_ns;

	return (struct instant){ node, end_ns == DTC_TIME_NONE ? dtc_history_get_end_ns(h) : end_ns };
}

static void look_at_message(struct dtc_check *check, const struct dtc_request_check_input *input, guint request,
			    struct instant written, struct instant read)
{
	int64_t lead_ns = get_lead_ns(input->links, written, read);

	dtc_check_look(check, lead_ns <= 0,
		       "request %s: read on '%s' at %" PRId64 ", %" PRId64 " ns before it was written on '%s'",
		       (const char *)g_ptr_array_index(input->ids, request),
		       dtc_links_get_node_name(input->links, read.node), read.ns, lead_ns,
		       dtc_links_get_node_name(input->links, written.node));
}

static void look_at_captured(struct dtc_check *check, const struct dtc_request_check_input *input, guint request,
			     const struct dtc_hop *hop)
{
	const struct dtc_hop_side *client = &hop->client, *server = &hop->server;

	if (client->file == DTC_NONE || server->file == DTC_NONE)
		return;
	if (client->request_first_call != DTC_NONE && server->request_first_call != DTC_NONE)
		look_at_message(check, input, request,
				get_begin(input->links, client->node, client->request_first_call),
				get_end(input->links, server->node, server->request_first_call));
	if (client->response_last_call != DTC_NONE && server->response_last_call != DTC_NONE)
		look_at_message(check, input, request,
				get_begin(input->links, server->node, server->response_last_call),
				get_end(input->links, client->node, client->response_last_call));
}

static struct dtc_check check_hops(const struct dtc_request_check_input *input)
{
	struct dtc_check check = {
		.name = "hops",
		.node = G_MAXUINT,
		.text = "no server read a request, and no client an answer, before the other wrote it, "
			"within the clocks' uncertainty"
	};

	for (guint i = 0; i < input->places->len; i++) {
		const struct dtc_place *place = g_ptr_array_index(input->places, i);
		for (guint k = 0; place && k < place->hops->len; k++)
			look_at_captured(&check, input, i, &g_array_index(place->hops, struct dtc_hop, k));
		guint count;
		const struct dtc_followed_hop *hops = dtc_serving_get_hops(input->serving, i, &count);
		for (guint k = 0; k < count; k++)
			look_at_message(&check, input, i,
					(struct instant){ hops[k].client_node, hops[k].client_begin_ns },
					(struct instant){ hops[k].server_node, hops[k].server_begin_ns });
	}
	return check;
}

/* Before its first byte a request is its client's only, which prepares it; after its last answer it is nobody's. */
static bool is_within_life(const struct dtc_request_check_input *input, const struct dtc_served *span, guint node,
			   uint32_t thread)
{
	const struct dtc_place *place = g_ptr_array_index(input->places, span->request);

	if (!place || place->thread == DTC_NONE)
		return true;
	bool is_client = place->is_client && place->node == node && place->thread == thread;
	struct instant first = { place->node, place->begin.ns }, last = { place->node, place->end.ns };
	if (place->is_client && !is_client &&
	    get_lead_ns(input->links, first, (struct instant){ node, span->begin_ns }) > 0)
		return false;
	return !place->has_end || get_lead_ns(input->links, (struct instant){ node, span->end_ns }, last) <= 0;
}

static void look_at_thread(struct dtc_check *check, const struct dtc_request_check_input *input, guint node,
			   uint32_t thread)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(input->serving, node, thread, &count);

	for (guint i = 0; i < count; i++) {
		bool is_apart = i == 0 || spans[i].begin_ns >= spans[i - 1].end_ns;
		dtc_check_look(check, is_apart && is_within_life(input, &spans[i], node, thread),
			       "'%s', tid %d: for request %s from %" PRId64 " to %" PRId64 ", %s",
			       dtc_links_get_node_name(input->links, node),
			       dtc_history_get_thread(dtc_links_get_history(input->links, node), thread)->tid,
			       (const char *)g_ptr_array_index(input->ids, spans[i].request), spans[i].begin_ns,
			       spans[i].end_ns,
			       is_apart ? "which was not sent yet or answered before" : "and for another one, too");
	}
}

static struct dtc_check check_work(const struct dtc_request_check_input *input)
{
	struct dtc_check check = {
		.name = "work",
		.node = G_MAXUINT,
		.text = "a thread works for one request at a time, and for none before its first byte or "
			"after its last answer"
	};

	for (guint node = 0; node < dtc_links_get_node_count(input->links); node++) {
		const DtcHistory *h = dtc_links_get_history(input->links, node);
		for (uint32_t t = 0; h && t < dtc_history_get_thread_count(h); t++)
			look_at_thread(&check, input, node, t);
	}
	return check;
}

void dtc_request_check_run(const struct dtc_request_check_input *input, GArray *checks)
{
	const struct dtc_check found[] = { check_hops(input), check_work(input) };

	g_array_append_vals(checks, found, G_N_ELEMENTS(found));
}
