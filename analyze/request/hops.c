/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/hops.h"

#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/file_calls.h"
#include "analyze/exchange/flow_nodes.h"
#include "analyze/request/same_wire.h"

#include <string.h>

/* The same ends and sequence number again after this time are another connection, if no SYN says so before. */
#define SAME_CONNECTION_NS ((int64_t)60 * 1000000000)
#define UNKNOWN_NODE G_MAXUINT

struct DtcLocator {
	const DtcRequests *requests; /* borrowed */
	struct dtc_locate_input input;
	DtcKeptPlaces *kept; /* or NULL */
};

/* A hop being gathered: its exchanges are those of the request whose next leads on. */
struct gathered {
	guint first, last; /* positions in members */
	guint count;
	guint same_seq[2]; /* the hop before with the same sequence number of the request and of the response + 1; 0:
			      none */
	const struct dtc_exchange *best;
};

struct member {
	const struct dtc_exchange *exchange;
	guint next; /* G_MAXUINT: the last of its hop */
};

/* The sequence number of the first byte that a file's counts include. */
struct base {
	bool is_known;
	bool is_guess; /* the connection is older than the trace: the state machine took it from what was moved */
	uint32_t seq;
};

/* The times of an exchange's packets as seen from one node's trace clock. */
struct wire_times {
	int64_t request_ns, request_end_ns, response_ns, response_end_ns;
};

DtcLocator *dtc_locator_new(const DtcRequests *requests, const struct dtc_locate_input *input)
{
	DtcLocator *locator = g_new0(DtcLocator, 1);
	locator->requests = requests;
	locator->input = *input;
	return locator;
}

void dtc_locator_free(DtcLocator *locator)
{
	if (locator)
		dtc_kept_places_free(locator->kept);
	g_free(locator);
}

void dtc_locator_keep(DtcLocator *locator)
{
	if (!locator->kept)
		locator->kept = dtc_kept_places_new(dtc_requests_get_count(locator->requests));
}

void dtc_locator_settle(DtcLocator *locator)
{
	if (locator->kept)
		dtc_kept_places_settle(locator->kept);
}

DtcKeptPlaces *dtc_locator_get_kept(const DtcLocator *locator)
{
	return locator->kept;
}

const DtcClocks *dtc_locator_get_clocks(const DtcLocator *locator)
{
	return dtc_links_get_clocks(locator->input.links);
}

static const DtcHistory *get_history(const DtcLocator *locator, guint node)
{
	const DtcLinks *links = locator->input.links;
	return node < dtc_links_get_node_count(links) ? dtc_links_get_history(links, node) : NULL;
}

static const struct dtc_flow *get_flow(const DtcLocator *locator, const struct dtc_exchange *e)
{
	static const struct dtc_flow unknown;
	const DtcPackets *packets = locator->input.captures[e->node];
	return packets ? dtc_packets_get_flow(packets, e->flow) : &unknown;
}

/* --- times --- */

/* The node's trace clock; a trace's and a capture's clock count from the same epoch, which must do if nothing better is
 * known. */
static int64_t to_node_ns(const DtcLocator *locator, guint node, int64_t capture_ns)
{
	int64_t node_ns;
	if (capture_ns == DTC_TIME_NONE)
		return DTC_TIME_NONE;
	if (locator->input.capture_to_node &&
	    locator->input.capture_to_node(locator->input.capture_data, node, capture_ns, &node_ns))
		return node_ns;
	return capture_ns;
}

static DtcClusterTime to_cluster(const DtcLocator *locator, guint node, int64_t capture_ns)
{
	DtcNodeTime time = { to_node_ns(locator, node, capture_ns) };
	return dtc_clocks_to_cluster(dtc_locator_get_clocks(locator), node, time);
}

/* A time of an exchange's capture on the clock of another node, or DTC_TIME_NONE. */
static int64_t to_other_ns(const DtcLocator *locator, const struct dtc_exchange *e, guint node, int64_t capture_ns)
{
	if (capture_ns == DTC_TIME_NONE || node == e->node)
		return to_node_ns(locator, e->node, capture_ns);
	const DtcClocks *clocks = dtc_locator_get_clocks(locator);
	if (dtc_clocks_get_group(clocks, node) != dtc_clocks_get_group(clocks, e->node))
		return DTC_TIME_NONE;
	return dtc_clocks_to_node(clocks, node, to_cluster(locator, e->node, capture_ns)).ns;
}

static struct wire_times get_wire_times(const DtcLocator *locator, const struct dtc_exchange *e, guint node)
{
	return (struct wire_times){
		.request_ns = to_other_ns(locator, e, node, e->request_ns),
		.request_end_ns = to_other_ns(locator, e, node, e->request_end_ns),
		.response_ns = to_other_ns(locator, e, node, e->response_ns),
		.response_end_ns = to_other_ns(locator, e, node, e->response_end_ns),
	};
}

/* --- exchanges that are the same on the wire --- */

static bool is_near_in_time(const DtcLocator *locator, const struct dtc_exchange *a, const struct dtc_exchange *b)
{
	int64_t a_ns = to_other_ns(locator, a, b->node, a->request_ns),
		b_ns = to_node_ns(locator, b->node, b->request_ns);
	return a_ns == DTC_TIME_NONE || ABS(a_ns - b_ns) < SAME_CONNECTION_NS;
}

static bool is_same_on_wire(const DtcLocator *locator, const struct dtc_exchange *a, const struct dtc_exchange *b)
{
	const struct dtc_flow *x = get_flow(locator, a), *y = get_flow(locator, b);
	return dtc_same_wire(a, x, b, y) && ((x->has_isn && y->has_isn) || is_near_in_time(locator, a, b));
}

/* The exchange that shows more: a response, its end, the begin of the connection, then the earlier node. */
static guint get_richness(const struct dtc_exchange *e)
{
	return e->has_request * 8u + e->has_response * 4u + e->response_complete * 2u + e->is_first;
}

/* The hop among those with the exchange's sequence number that is the exchange's, + 1; 0: none. */
static guint find_hop(const DtcLocator *locator, const GArray *hops, guint latest, guint key,
		      const struct dtc_exchange *e)
{
	enum { MAX_STEPS = 64 }; /* that many connections with equal numbers are made up */
	for (guint steps = 0; latest > 0 && steps < MAX_STEPS; steps++) {
		const struct gathered *g = &g_array_index(hops, struct gathered, latest - 1);
		if (is_same_on_wire(locator, g->best, e))
			return latest;
		latest = g->same_seq[key];
	}
	return 0;
}

static GArray *gather(const DtcLocator *locator, const struct dtc_request *request, GArray *members)
{
	const DtcExchanges *exchanges = dtc_requests_get_exchanges(locator->requests);
	GArray *hops = g_array_new(FALSE, FALSE, sizeof(struct gathered));
	/* Sequence number of the request [0] and the response [1] -> latest hop with it + 1. */
	GHashTable *by_seq[2] = { g_hash_table_new(g_direct_hash, g_direct_equal),
				  g_hash_table_new(g_direct_hash, g_direct_equal) };
	for (guint i = 0; i < request->exchange_count; i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, request->exchanges[i]);
		struct member member = { e, G_MAXUINT };
		const gpointer seq[2] = { GUINT_TO_POINTER(e->request_seq), GUINT_TO_POINTER(e->response_seq) };
		const bool has_seq[2] = { e->has_request, e->has_response };
		guint latest[2] = { 0, 0 }, hop = 0;
		g_array_append_val(members, member);
		for (guint k = 0; k < 2; k++) {
			if (has_seq[k])
				latest[k] = GPOINTER_TO_UINT(g_hash_table_lookup(by_seq[k], seq[k]));
			if (!hop)
				hop = find_hop(locator, hops, latest[k], k, e);
		}
		if (hop) {
			struct gathered *g = &g_array_index(hops, struct gathered, hop - 1);
			g_array_index(members, struct member, g->last).next = i;
			g->last = i;
			g->count++;
			if (get_richness(e) > get_richness(g->best))
				g->best = e;
			continue;
		}
		struct gathered new = { i, i, 1, { latest[0], latest[1] }, e };
		g_array_append_val(hops, new);
		for (guint k = 0; k < 2; k++)
			if (has_seq[k])
				g_hash_table_insert(by_seq[k], seq[k], GUINT_TO_POINTER(hops->len));
	}
	g_hash_table_unref(by_seq[0]);
	g_hash_table_unref(by_seq[1]);
	return hops;
}

/* --- when a request was in flight --- */

#define SLACK_NS ((int64_t)1000000000)	   /* from a packet to the calls around it */
#define PATIENCE_NS ((int64_t)60000000000) /* of a client that got no answer */

/* The span of a request's packets in cluster time; false if they are on clocks that nothing relates. */
static bool get_packet_span(const DtcLocator *locator, guint index, guint *ret_group, int64_t *ret_begin_ns,
			    int64_t *ret_end_ns)
{
	const struct dtc_request *request = dtc_requests_get(locator->requests, index);
	const DtcExchanges *exchanges = dtc_requests_get_exchanges(locator->requests);

	for (guint i = 0; i < request->exchange_count; i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, request->exchanges[i]);
		guint group = dtc_clocks_get_group(dtc_locator_get_clocks(locator), e->node);
		int64_t begin_ns = to_cluster(locator, e->node, e->request_ns).ns, end_ns = begin_ns + PATIENCE_NS;
		if (e->has_response && e->response_complete)
			end_ns = to_cluster(locator, e->node, e->response_end_ns).ns;
		if (i > 0 && group != *ret_group)
			return false;
		*ret_group = group;
		*ret_begin_ns = i > 0 ? MIN(*ret_begin_ns, begin_ns) : begin_ns;
		*ret_end_ns = i > 0 ? MAX(*ret_end_ns, end_ns) : end_ns;
	}
	return request->exchange_count > 0;
}

/* The connection was opened for it, so that its SYN is the first packet. */
static int64_t get_open_ns(const DtcLocator *locator, const struct dtc_exchange *e)
{
	const DtcPackets *packets = locator->input.captures[e->node];
	uint32_t first = dtc_packets_get_flow_packet(packets, e->flow, 0);
	return to_cluster(locator, e->node, dtc_packets_get_time_ns(packets, first)).ns;
}

bool dtc_locator_get_packet_span(const DtcLocator *locator, guint request, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
	const struct dtc_request *r = dtc_requests_get(locator->requests, request);
	const DtcExchanges *exchanges = dtc_requests_get_exchanges(locator->requests);
	guint group;

	for (guint i = 0; i < r->exchange_count; i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, r->exchanges[i]);
		if (!e->has_request || !e->has_response || !e->response_complete)
			return false;
	}
	if (!get_packet_span(locator, request, &group, ret_begin_ns, ret_end_ns))
		return false;
	for (guint i = 0; i < r->exchange_count; i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, r->exchanges[i]);
		if (e->is_first && get_flow(locator, e)->packet_count > 0)
			*ret_begin_ns = MIN(*ret_begin_ns, get_open_ns(locator, e));
	}
	return true;
}

bool dtc_locator_may_overlap(const DtcLocator *locator, guint request, guint other)
{
	guint group[2];
	int64_t begin_ns[2], end_ns[2];

	if (!get_packet_span(locator, request, &group[0], &begin_ns[0], &end_ns[0]) ||
	    !get_packet_span(locator, other, &group[1], &begin_ns[1], &end_ns[1]) || group[0] != group[1])
		return true;
	return begin_ns[0] <= end_ns[1] + SLACK_NS && begin_ns[1] <= end_ns[0] + SLACK_NS;
}

/* --- from the flow in a capture to the file in a history --- */

/* The flow (client -> server) in a history's packets, or DTC_NONE. */
static uint32_t find_flow(const DtcLocator *locator, guint node, const struct dtc_exchange *e)
{
	const DtcPackets *capture = locator->input.captures[e->node];
	int64_t time_ns = to_other_ns(locator, e, node, e->request_ns);
	if (!capture)
		return DTC_NONE;
	return dtc_endpoint_find_flow(capture, e->flow, dtc_history_get_packets(get_history(locator, node)),
				      node == e->node, time_ns);
}

/* Finds the file on one end of the hop; any node may hold it, as the capture that showed the hop may be another's. */
static bool find_file(const DtcLocator *locator, const GArray *members, const struct gathered *g, bool is_client,
		      struct dtc_hop_side *side, const struct dtc_exchange **ret_exchange)
{
	for (guint m = g->first; m != G_MAXUINT; m = g_array_index(members, struct member, m).next) {
		const struct dtc_exchange *e = g_array_index(members, struct member, m).exchange;
		const struct dtc_flow *flow = get_flow(locator, e);
		guint count;
		const guint *nodes = dtc_flow_nodes_get(dtc_links_get_flow_nodes(locator->input.links), flow, &count);
		for (guint i = 0; i < count; i++) {
			guint node = nodes[i];
			const DtcHistory *h = get_history(locator, node);
			if ((node != e->node && dtc_address_is_loopback(flow->source)))
				continue;
			uint32_t id = find_flow(locator, node, e);
			if (id != DTC_NONE && !is_client)
				id = dtc_packets_get_flow(dtc_history_get_packets(h), id)->reverse;
			uint32_t file = id == DTC_NONE ? DTC_NONE : dtc_history_find_file_of_flow(h, id);
			if (file == DTC_NONE)
				continue;
			side->node = node;
			side->file = file;
			*ret_exchange = e;
			return true;
		}
	}
	return false;
}

/* Without a file: the node that saw the request leave, or arrive, in its capture. */
static guint find_node_by_direction(const DtcLocator *locator, const GArray *members, const struct gathered *g,
				    bool is_client)
{
	for (guint m = g->first; m != G_MAXUINT; m = g_array_index(members, struct member, m).next) {
		const struct dtc_exchange *e = g_array_index(members, struct member, m).exchange;
		const DtcPackets *packets = locator->input.captures[e->node];
		const struct dtc_flow *flow = get_flow(locator, e);
		if (flow->packet_count == 0)
			continue;
		uint32_t first = dtc_packets_get_flow_packet(packets, e->flow, 0);
		bool sent = dtc_packets_get_direction(packets, first) == DTC_SENT;
		if (sent == is_client || dtc_address_is_loopback(flow->source))
			return e->node;
	}
	return UNKNOWN_NODE;
}

/* The exchange that tells a side's times: as the side's own node captured it, if it did. */
static const struct dtc_exchange *choose_clock(const GArray *members, const struct gathered *g, guint node)
{
	for (guint m = g->first; m != G_MAXUINT; m = g_array_index(members, struct member, m).next) {
		const struct dtc_exchange *e = g_array_index(members, struct member, m).exchange;
		if (e->node == node && e->has_request >= g->best->has_request &&
		    e->has_response >= g->best->has_response)
			return e;
	}
	return g->best;
}

/*
 * Where the file's bytes begin in the sequence space of a flow. The kernel's events tell, unless they carry no headers;
 * then the capture's SYN does, if the connection was opened in the trace: the file's bytes are counted from there.
 */
static struct base get_base(const DtcLocator *locator, const struct dtc_hop_side *side, const struct dtc_exchange *e,
			    bool written, bool is_client)
{
	const DtcHistory *h = get_history(locator, side->node);
	const struct dtc_file *file = dtc_history_get_file(h, side->file);
	if (written ? file->has_base_out : file->has_base_in) {
		const struct dtc_flow *flow =
			dtc_packets_get_flow(dtc_history_get_packets(h), written ? file->flow_out : file->flow_in);
		return (struct base){ true, !flow->has_isn || file->has_lost_bytes,
				      written ? file->base_out : file->base_in };
	}
	const DtcPackets *packets = locator->input.captures[e->node];
	const struct dtc_flow *request_flow = get_flow(locator, e);
	if (!packets || request_flow->packet_count == 0)
		return (struct base){ .is_known = false };
	const struct dtc_flow *flow =
		written == is_client ? request_flow : dtc_packets_get_flow(packets, request_flow->reverse);
	uint32_t first = dtc_packets_get_flow_packet(packets, e->flow, 0);
	int64_t first_ns = to_other_ns(locator, e, side->node, dtc_packets_get_time_ns(packets, first));
	bool in_trace = first_ns != DTC_TIME_NONE && first_ns >= dtc_history_get_begin_ns(h);
	return (struct base){ flow->has_isn && in_trace, false, flow->isn + 1 };
}

/* --- from bytes to calls --- */

/*
 * A byte from outside of the trace has no call in it, and one that was moved before the first byte that the trace's
 * calls moved (by a read that was under way when the trace began) has none that is known, nor has one that a lost call
 * moved: the next read was another's, and 300 ms of the request behind it were said of one that took 45. None of them
 * is a guess. A base that is one says nothing against the clocks.
 */
static uint32_t find_call(const DtcHistory *h, const DtcFileCalls *calls, bool written, struct base base, uint32_t seq,
			  int64_t time_ns, struct dtc_hop_side *side)
{
	bool is_outside = dtc_file_calls_compare_to_trace(h, time_ns) != 0;
	side->inferred |= base.is_guess;
	if (base.is_known && !(base.is_guess && is_outside)) {
		uint32_t call = dtc_file_calls_find_byte(calls, written, seq - base.seq, time_ns);
		if (call != DTC_NONE || dtc_file_calls_is_before_first(calls, written, seq - base.seq) ||
		    dtc_file_calls_is_lost(calls, written, seq - base.seq, time_ns))
			return call;
	}
	if (is_outside)
		return DTC_NONE;
	side->inferred = true;
	return dtc_file_calls_find_at(calls, written, time_ns);
}

/*
 * What of the exchange lies outside of the trace. A byte whose call was found lies inside, whatever the clocks say;
 * without a response it is not known when the wait for it ended, so that something may lie inside.
 */
static uint8_t find_outside(const DtcHistory *h, const struct dtc_exchange *e, const struct wire_times *wire,
			    const struct dtc_hop_side *side)
{
	uint32_t first_call = e->has_request ? side->request_first_call : side->response_first_call;
	uint32_t last_call = e->has_response ? side->response_last_call : side->request_last_call;
	int64_t last_ns = e->has_response ? wire->response_end_ns : wire->request_end_ns;
	int first = first_call == DTC_NONE ? dtc_file_calls_compare_to_trace(h, wire->request_ns) : 0;
	int last = last_call == DTC_NONE ? dtc_file_calls_compare_to_trace(h, last_ns) : 0;
	bool is_whole = first > 0 || (first < 0 && last < 0 && e->has_response);

	return (uint8_t)((first < 0 ? DTC_OUTSIDE_BEGIN : 0) | (first > 0 || last > 0 ? DTC_OUTSIDE_END : 0) |
			 (is_whole ? DTC_OUTSIDE_WHOLE : 0));
}

/*
 * Of several calls any tells the thread: the last of the response by preference, others if that lies outside. A call
 * that was under way when the trace began is not known; who used the connection next most likely made it.
 */
static uint32_t find_thread(const DtcHistory *h, const DtcFileCalls *calls, struct dtc_hop_side *side)
{
	const uint32_t by_preference[] = { side->response_last_call, side->request_first_call,
					   side->response_first_call, side->request_last_call };
	for (guint i = 0; i < G_N_ELEMENTS(by_preference); i++)
		if (by_preference[i] != DTC_NONE)
			return dtc_history_copy_call(h, by_preference[i]).thread;
	side->inferred = true;
	uint32_t next = dtc_file_calls_find_next(calls, side->end.ns);
	return next == DTC_NONE ? DTC_NONE : dtc_history_copy_call(h, next).thread;
}

static int64_t get_end_ns(const DtcHistory *h, uint32_t call)
{
	int64_t end_ns = dtc_history_copy_call(h, call).end_ns;
	return end_ns == DTC_TIME_NONE ? dtc_history_get_end_ns(h) : end_ns;
}

/* No response was captured: what the client read before it wrote again, else when it closed or the trace ended. */
static int64_t guess_client_end(const DtcHistory *h, const DtcFileCalls *calls, struct dtc_hop_side *side)
{
	side->inferred = true;
	if (side->request_last_call != DTC_NONE)
		side->response_last_call = dtc_file_calls_find_answer(calls, side->request_last_call);
	if (side->response_last_call != DTC_NONE)
		return get_end_ns(h, side->response_last_call);
	uint32_t close = dtc_file_calls_find_kind(calls, DTC_CALL_CLOSE, side->begin.ns);
	side->is_open = close == DTC_NONE;
	return close != DTC_NONE ? get_end_ns(h, close) : dtc_history_get_end_ns(h);
}

static void place_client(const DtcHistory *h, const DtcFileCalls *calls, const struct dtc_exchange *e,
			 struct base request_base, const struct wire_times *wire, struct dtc_hop_side *side)
{
	int64_t begin_ns = wire->request_ns;
	if (side->request_first_call != DTC_NONE)
		begin_ns = dtc_history_get_call_begin_ns(h, side->request_first_call);
	if (e->has_request && (e->is_first || (request_base.is_known && e->request_seq == request_base.seq)))
		side->connect_call = dtc_file_calls_find_kind(calls, DTC_CALL_CONNECT, INT64_MIN);
	if (side->connect_call != DTC_NONE)
		begin_ns = dtc_history_get_call_begin_ns(h, side->connect_call);
	side->begin.ns = begin_ns == DTC_TIME_NONE ? dtc_history_get_begin_ns(h) : begin_ns;
	if (!e->has_response)
		side->end.ns = guess_client_end(h, calls, side);
	else if (side->response_last_call != DTC_NONE)
		side->end.ns = get_end_ns(h, side->response_last_call);
	else
		side->end.ns =
			wire->response_end_ns == DTC_TIME_NONE ? dtc_history_get_end_ns(h) : wire->response_end_ns;
}

static void place_server(const DtcHistory *h, const struct wire_times *wire, struct dtc_hop_side *side)
{
	int64_t begin_ns = wire->request_ns, end_ns = wire->response_end_ns;
	if (side->request_first_call != DTC_NONE)
		begin_ns = get_end_ns(h, side->request_first_call);
	if (side->response_last_call != DTC_NONE)
		end_ns = get_end_ns(h, side->response_last_call);
	side->begin.ns = begin_ns == DTC_TIME_NONE ? dtc_history_get_begin_ns(h) : begin_ns;
	side->is_open = end_ns == DTC_TIME_NONE;
	side->end.ns = side->is_open ? dtc_history_get_end_ns(h) : end_ns;
}

/* The side's calls, by its bytes or by time. */
static void find_calls(const DtcHistory *h, const DtcFileCalls *calls, const struct dtc_exchange *e, bool is_client,
		       struct base request_base, struct base response_base, const struct wire_times *wire,
		       struct dtc_hop_side *side)
{
	if (e->has_request) {
		side->request_first_call =
			find_call(h, calls, is_client, request_base, e->request_seq, wire->request_ns, side);
		side->request_last_call = find_call(h, calls, is_client, request_base, e->request_end_seq - 1,
						    wire->request_end_ns, side);
	} else {
		side->inferred = true;
	}
	if (e->has_response) {
		side->response_first_call =
			find_call(h, calls, !is_client, response_base, e->response_seq, wire->response_ns, side);
		side->response_last_call = find_call(h, calls, !is_client, response_base, e->response_end_seq - 1,
						     wire->response_end_ns, side);
		side->inferred |= !e->response_complete;
	}
}

static void place_side(DtcLocator *locator, const GArray *members, const struct gathered *g, bool is_client,
		       struct dtc_hop_side *side)
{
	*side = (struct dtc_hop_side){ UNKNOWN_NODE,
				       DTC_NONE,
				       DTC_NONE,
				       DTC_NONE,
				       DTC_NONE,
				       DTC_NONE,
				       DTC_NONE,
				       DTC_NONE,
				       .begin = { DTC_TIME_NONE },
				       .end = { DTC_TIME_NONE } };
	const struct dtc_exchange *seen;
	if (!find_file(locator, members, g, is_client, side, &seen))
		side->node = find_node_by_direction(locator, members, g, is_client);
	const DtcHistory *h = get_history(locator, side->node);
	if (!h)
		return;
	/* Sequence numbers are the same in all captures; times are best from the capture that shows most. */
	const struct dtc_exchange *e = g->best;
	const struct dtc_exchange *clock = choose_clock(members, g, side->node);
	struct wire_times wire = get_wire_times(locator, clock, side->node);
	if (side->file == DTC_NONE) {
		side->outside = find_outside(h, e, &wire, side);
		return;
	}
	const DtcFileCalls *calls = dtc_links_get_file_calls(locator->input.links, side->node, side->file);
	struct base request_base = get_base(locator, side, clock, is_client, is_client);
	struct base response_base = get_base(locator, side, clock, !is_client, is_client);
	find_calls(h, calls, e, is_client, request_base, response_base, &wire, side);
	side->outside = find_outside(h, e, &wire, side);
	if (side->outside & DTC_OUTSIDE_WHOLE) {
		side->file = DTC_NONE;
		return;
	}
	if (is_client)
		place_client(h, calls, e, request_base, &wire, side);
	else
		place_server(h, &wire, side);
	int64_t begin_ns = dtc_history_get_begin_ns(h), end_ns = dtc_history_get_end_ns(h);
	side->begin.ns = CLAMP(side->begin.ns, begin_ns, end_ns);
	side->end.ns = CLAMP(side->end.ns, side->begin.ns, end_ns);
	side->thread = find_thread(h, calls, side);
}

/* --- hops --- */

static struct dtc_hop make_hop(DtcLocator *locator, const GArray *members, const struct gathered *g)
{
	struct dtc_hop hop = { .exchange = g->best, .exchange_count = g->count, .parent = G_MAXUINT, .attempt = 1 };
	const DtcClocks *clocks = dtc_locator_get_clocks(locator);
	place_side(locator, members, g, true, &hop.client);
	place_side(locator, members, g, false, &hop.server);
	const struct dtc_hop_side *side = hop.client.file != DTC_NONE ? &hop.client : &hop.server;
	if (side->file != DTC_NONE) {
		hop.begin = dtc_clocks_to_cluster(clocks, side->node, side->begin);
		hop.end = dtc_clocks_to_cluster(clocks, side->node, side->end);
	} else {
		const struct dtc_exchange *e = g->best;
		hop.begin = to_cluster(locator, e->node, e->request_ns);
		hop.end = to_cluster(locator, e->node, e->has_response ? e->response_end_ns : e->request_end_ns);
	}
	hop.inferred = hop.client.inferred || hop.server.inferred;
	return hop;
}

static int compare_hops(gconstpointer a, gconstpointer b)
{
	const struct dtc_hop *x = a, *y = b;
	if (x->begin.ns != y->begin.ns)
		return x->begin.ns < y->begin.ns ? -1 : 1;
	if (x->exchange->node != y->exchange->node)
		return x->exchange->node < y->exchange->node ? -1 : 1;
	return x->exchange->flow < y->exchange->flow ? -1 : x->exchange->flow > y->exchange->flow;
}

GArray *dtc_locator_make_hops(DtcLocator *locator, guint request)
{
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(struct member));
	g_autoptr(GArray) gathered = gather(locator, dtc_requests_get(locator->requests, request), members);
	GArray *hops = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_hop), gathered->len);
	for (guint i = 0; i < gathered->len; i++) {
		struct dtc_hop hop = make_hop(locator, members, &g_array_index(gathered, struct gathered, i));
		g_array_append_val(hops, hop);
	}
	g_array_sort(hops, compare_hops);
	return hops;
}
