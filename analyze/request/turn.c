/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/turn.h"

#include "analyze/exchange/endpoint.h"
#include "dtrace-chain/error.h"

/* One end of the connection: a file on a node, and how far its calls are from the time that was asked for. */
struct candidate {
	guint node;
	uint32_t file;
	bool is_client;
	int64_t at_ns; /* on the node */
	int64_t distance_ns;
};

static int64_t get_end_ns(const DtcHistory *history, const struct dtc_call *call)
{
	return call->end_ns == DTC_TIME_NONE ? dtc_history_get_end_ns(history) : call->end_ns;
}

static bool moves(const struct dtc_call *call)
{
	return call->result > 0 && (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE);
}

static int64_t get_distance_ns(const DtcHistory *history, uint32_t file, int64_t at_ns)
{
	uint32_t count;
	const uint32_t *ids = dtc_history_get_file_calls(history, file, &count);

	if (!count)
		return INT64_MAX;
	int64_t first_ns = dtc_history_get_call_begin_ns(history, ids[0]);
	struct dtc_call place;
	int64_t last_ns = get_end_ns(history, dtc_history_get_call(history, ids[count - 1], &place));
	return at_ns < first_ns ? first_ns - at_ns : at_ns > last_ns ? at_ns - last_ns : 0;
}

/* Looks at the files of a flow and its earlier generations; the better one stays in best. */
static void look_at_flow(guint node, const DtcHistory *history, uint32_t id, int64_t at_ns, struct candidate *best)
{
	const DtcPackets *packets = dtc_history_get_packets(history);

	for (; id != DTC_NONE; id = dtc_packets_find_previous_generation(packets, id)) {
		uint32_t file = dtc_history_find_file_of_flow(history, id);
		if (file == DTC_NONE)
			continue;
		struct candidate new = {
			.node = node,
			.file = file,
			.is_client = !dtc_endpoint_is_server(history, file),
			.at_ns = at_ns,
			.distance_ns = get_distance_ns(history, file, at_ns),
		};
		if (new.distance_ns == INT64_MAX)
			continue;
		if (best->file == DTC_NONE || new.distance_ns < best->distance_ns ||
		    (new.distance_ns == best->distance_ns &&new.is_client && !best->is_client))
			*best = new;
	}
}

/* Who asks does not say in which namespace. */
static void look_at_node(guint node, const DtcHistory *history, const uint8_t source[16], uint16_t source_port,
			 const uint8_t destination[16], uint16_t destination_port, int64_t at_ns,
			 struct candidate *best)
{
	const DtcPackets *packets = dtc_history_get_packets(history);

	for (uint16_t i = 0; i < dtc_packets_get_netns_count(packets); i++)
		look_at_flow(node, history,
			     dtc_packets_find_flow(packets, source, source_port, destination, destination_port,
						   DTC_PROTOCOL_TCP, dtc_packets_get_netns(packets, i)),
			     at_ns, best);
}

static void set_turn(const struct candidate *from, const DtcHistory *history, struct dtc_turn *turn)
{
	uint32_t count, last = DTC_NONE, connect = DTC_NONE;
	const uint32_t *ids = dtc_history_get_file_calls(history, from->file, &count);
	const enum dtc_call_kind opens = from->is_client ? DTC_CALL_WRITE : DTC_CALL_READ;
	bool is_over = true, has_any = false;

	for (uint32_t i = 0; i < count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(history, ids[i], &call_place);
		if (call->kind == DTC_CALL_CONNECT && !has_any)
			connect = ids[i];
		if (!moves(call))
			continue;
		if (call->kind == opens && is_over) {
			int64_t begin_ns = from->is_client ? call->begin_ns : get_end_ns(history, call);
			if (connect != DTC_NONE)
				begin_ns = dtc_history_get_call_begin_ns(history, connect);
			if (has_any && begin_ns > from->at_ns)
				break;
			turn->begin.ns = begin_ns;
			turn->has_end = is_over = false;
			has_any = true;
			connect = DTC_NONE;
		} else if (call->kind != opens) {
			if (!has_any) /* the answer to what was written before the trace */
				turn->begin.ns = call->begin_ns;
			has_any = is_over = turn->has_end = true;
		}
		last = ids[i];
	}
	turn->call = last;
	if (last == DTC_NONE)
		return;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(history, last, &call_place);
	turn->node = from->node;
	turn->thread = call->thread;
	turn->is_client = from->is_client;
	turn->end.ns = get_end_ns(history, call);
}

bool dtc_turn_find(guint node_count, const DtcHistory *const *histories, const DtcClocks *clocks,
		   const struct dtc_turn_ends *ends, DtcClusterTime at, struct dtc_turn *ret_turn, GError **error)
{
	struct candidate best = { .file = DTC_NONE };
	struct dtc_turn turn = { .call = DTC_NONE };

	for (guint node = 0; node < node_count; node++) {
		if (!histories[node])
			continue;
		int64_t at_ns = dtc_clocks_to_node(clocks, node, at).ns;
		look_at_node(node, histories[node], ends->source, ends->source_port, ends->destination,
			     ends->destination_port, at_ns, &best);
		look_at_node(node, histories[node], ends->destination, ends->destination_port, ends->source,
			     ends->source_port, at_ns, &best);
	}
	if (best.file != DTC_NONE)
		set_turn(&best, histories[best.node], &turn);
	if (turn.call == DTC_NONE || turn.end.ns <= turn.begin.ns) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    best.file == DTC_NONE ? "no traced thread has that connection\n"
						    "both ends and ports must be as a traced node sees them; packets "
						    "without headers tell no connection"
						  : "nothing was read or written on that connection in the trace\n"
						    "ask for the thread instead: --thread NODE:TID");
		return false;
	}
	*ret_turn = turn;
	return true;
}
