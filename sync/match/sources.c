/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/sources.h"

#include "collect/packets/records.h"

#include <string.h>

/* Sightings of a flow's packets that are looked at to see which way they pass a node. */
#define SIGHTINGS 64

/* Without headers only if counts are wanted. */
static void count_packets(const DtcPackets *packets, guint64 with_headers[2], struct dtc_node_counts *counts)
{
	uint32_t flow_count = packets ? dtc_packets_get_flow_count(packets) : 0;
	uint32_t bare = packets && counts ? dtc_packets_find_without_flow(packets, 0) : DTC_NONE;
	for (uint32_t i = 0; i < flow_count; i++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(packets, i);
		uint8_t directions = dtc_packets_get_flow_seen(packets, i).directions;
		bool is_sent = directions == 1 << DTC_SENT, is_received = directions == 1 << DTC_RECEIVED;
		if (is_sent || is_received)
			with_headers[is_sent ? DTC_SENT : DTC_RECEIVED] += flow->packet_count;
		for (uint32_t k = 0; k < flow->packet_count && !is_sent && !is_received; k++)
			with_headers[dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, k))
					     .direction]++;
	}
	for (; bare != DTC_NONE; bare = dtc_packets_find_without_flow(packets, bare + 1)) {
		const struct dtc_packet packet = dtc_packets_read(packets, bare);
		counts->bare[packet.direction]++;
		counts->numbered[packet.direction] += dtc_packet_is_numbered(&packet);
	}
}

void dtc_node_source_count(struct dtc_node_source *node, DtcSpace *scratch)
{
	const struct dtc_match_source *source = node->source;
	struct dtc_node_counts *counts = &node->counts;

	if (source->brief) {
		*counts = source->brief->counts;
		dtc_relation_copy(node->relation, &source->brief->relation);
		return;
	}
	count_packets(source->kernel, counts->kernel, counts);
	count_packets(source->capture, counts->captured, NULL);
	node->relation->identity = !source->kernel;
	if (source->kernel && source->capture && (counts->kernel[0] || counts->kernel[1]))
		dtc_relation_estimate(node->relation, source->kernel, source->capture, scratch);
}

void dtc_node_source_choose(struct dtc_node_source *node, DtcFindings *findings)
{
	static const char *const verbs[2] = { "sent", "received" };
	const struct dtc_match_source *source = node->source;
	struct dtc_relation *relation = node->relation;
	const struct dtc_node_counts *counts = &node->counts;
	for (guint d = 0; d < 2; d++) {
		bool kernel_serves = counts->kernel[d] && counts->kernel[d] >= counts->bare[d];
		node->chosen[d] = source->kernel;
		if (!counts->captured[d] || kernel_serves)
			continue;
		if (source->kernel && !relation->count && !relation->identity) {
			/* the tracer's offset is the difference of the same two clocks at its start: good enough to
			 * say something, not to be silent about it */
			if (counts->kernel[0] || counts->kernel[1])
				continue;
			relation->identity = true;
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, source->node,
					 "the trace has no packets with headers: its clock is taken to be the "
					 "capture's");
		}
		node->chosen[d] = source->capture;
		if (source->kernel && relation->count)
			dtc_findings_add(findings, DTC_SEVERITY_INFO, false, source->node,
					 "%s packets are taken from the capture, whose clock is known to "
					 "%" G_GINT64_FORMAT " ns in the trace's",
					 verbs[d], relation->error_ns);
	}
}

guint64 dtc_flow_hash_ends(const struct dtc_flow *flow)
{
	guint64 words[5] = { [4] = (guint64)flow->source_port << 32 | (guint64)flow->destination_port << 8 |
				   flow->protocol };
	guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);
	memcpy(words, flow->source, 16);
	memcpy(words + 2, flow->destination, 16);
	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		hash = (hash ^ words[i]) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same_packet(const struct dtc_packet *p, const struct dtc_packet *q)
{
	return p->seq == q->seq && p->ack == q->ack && p->payload_bytes == q->payload_bytes && p->ip_id == q->ip_id &&
	       p->tcp_flags == q->tcp_flags;
}

static void count_turns(const DtcPackets *packets, uint32_t id, int *first_sent, int *last_sent)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, id);
	struct dtc_packet seen[SIGHTINGS];
	guint count = MIN(flow->packet_count, SIGHTINGS);
	for (guint i = 0; i < count; i++)
		seen[i] = dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, i));
	for (guint i = 0; i < count; i++) {
		const struct dtc_packet *packet = &seen[i];
		bool is_first = true, is_last = true, both = false;
		for (guint k = 0; k < count; k++) {
			if (k == i || !is_same_packet(packet, &seen[k]))
				continue;
			is_first &= k > i;
			is_last &= k < i;
			both |= packet->direction != seen[k].direction;
		}
		if (both && is_first)
			*first_sent += packet->direction == DTC_SENT ? 1 : -1;
		if (both && is_last)
			*last_sent += packet->direction == DTC_SENT ? 1 : -1;
	}
}

/* Its packets begin and end at the node: what it saw both sent and received it saw sent first, and received last. */
static bool is_inside(const DtcPackets *packets, uint32_t flow)
{
	int first_sent = 0, last_sent = 0;

	if (dtc_packets_get_flow_seen(packets, flow).directions != (1 << DTC_SENT | 1 << DTC_RECEIVED))
		return false;
	count_turns(packets, flow, &first_sent, &last_sent);
	return first_sent > 0 && last_sent < 0;
}

static void list_packets(const struct dtc_node_source *node, guint number, enum dtc_direction direction,
			 GArray *passages)
{
	const DtcPackets *chosen = node->chosen[direction];
	uint32_t count = chosen ? dtc_packets_get_flow_count(chosen) : 0;

	for (uint32_t id = 0; id < count; id++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(chosen, id);
		struct dtc_passage passage = { .key_hash = dtc_flow_hash_ends(flow),
					       .node = number,
					       .flow = id,
					       .is_received = direction == DTC_RECEIVED,
					       .is_capture = chosen == node->source->capture };
		if (!flow->packet_count || dtc_address_is_loopback(flow->source) ||
		    dtc_address_is_loopback(flow->destination))
			continue;
		dtc_passage_choose_interface(&passage, chosen, is_inside(chosen, id));
		if (passage.packet_count)
			g_array_append_val(passages, passage);
	}
}

/* The flow of a passage that a brief tells of is its number there. */
static const struct dtc_brief_passage *get_told(const struct dtc_node_source *node, const struct dtc_passage *passage)
{
	const DtcBrief *brief = node->source->brief;

	return brief ? &g_array_index(brief->passages, struct dtc_brief_passage, passage->flow) : NULL;
}

void dtc_node_source_list(const struct dtc_node_source *node, guint number, GArray *passages)
{
	const DtcBrief *brief = node->source->brief;

	for (guint d = 0; d < 2 && !brief; d++)
		list_packets(node, number, d, passages);
	for (guint i = 0; brief && i < brief->passages->len; i++) {
		struct dtc_passage passage = g_array_index(brief->passages, struct dtc_brief_passage, i).passage;
		passage.node = number;
		passage.flow = i;
		g_array_append_val(passages, passage);
	}
}

/* As dtc_passage_get_seen would have them. */
static struct dtc_sightings list_spelled(const DtcBrief *brief, const struct dtc_brief_passage *told, guint limit,
					 DtcTable *seen)
{
	const int64_t *times = DTC_AT(brief->times, int64_t, told->time_first);
	guint begin = seen->len, tie = 0, count = MIN(told->time_count, limit);

	for (guint i = 0; i < count; i++) {
		const struct dtc_seen item = { .packet = i };
		if (times[i] != times[tie]) {
			dtc_passage_order_tie(told->packets, seen, begin + tie, begin + i);
			tie = i;
		}
		dtc_table_append(seen, &item);
	}
	dtc_passage_order_tie(told->packets, seen, begin + tie, begin + count);
	return (struct dtc_sightings){ .packets = told->packets, .seen = seen, .safe_ns = times };
}

static const DtcPackets *get_packets(const struct dtc_node_source *node, const struct dtc_passage *passage)
{
	return passage->is_capture ? node->source->capture : node->source->kernel;
}

struct dtc_sightings dtc_node_source_get_seen(const struct dtc_node_source *node, const struct dtc_passage *passage,
					      guint limit, DtcTable *seen)
{
	const struct dtc_brief_passage *told = get_told(node, passage);
	const DtcPackets *packets = get_packets(node, passage);
	bool converts = passage->is_capture && node->source->kernel;

	if (told && told->packets)
		return list_spelled(node->source->brief, told, limit, seen);
	return dtc_passage_get_seen(told ? &told->passage : passage, packets, converts ? node->relation : NULL, limit,
				    seen);
}

const struct dtc_flow *dtc_node_source_get_flow(const struct dtc_node_source *node, const struct dtc_passage *passage)
{
	const struct dtc_brief_passage *told = get_told(node, passage);

	return told ? &told->flow : dtc_packets_get_flow(get_packets(node, passage), passage->flow);
}

uint32_t dtc_node_source_get_isn(const struct dtc_node_source *node, const struct dtc_passage *passage)
{
	const struct dtc_brief_passage *told = get_told(node, passage);

	if (told && told->has_number)
		return told->flow.isn;
	return dtc_packets_get_flow(get_packets(node, passage), told ? told->passage.flow : passage->flow)->isn;
}

void dtc_node_source_count_turns(const struct dtc_node_source *node, const struct dtc_passage *passage, int *first_sent,
				 int *last_sent)
{
	const struct dtc_brief_passage *told = get_told(node, passage);

	if (told) {
		*first_sent += told->first_sent;
		*last_sent += told->last_sent;
	} else {
		count_turns(get_packets(node, passage), passage->flow, first_sent, last_sent);
	}
}
