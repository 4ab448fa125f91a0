/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From packets to messages: streams of the same flow on several nodes are brought together by their 5-tuple, then by
 * generation (port reuse), and what finds no partner by what a 1:1 address translation leaves alone.
 *
 * A router sees a flow received and sent. Its sends follow the origin's sends, and precede the receives of the last
 * node; nothing is said about two routers. So a stream is compared only if the sender is the origin (did not receive
 * the flow) or the receiver the last (does not send it on).
 */
#include "sync/match/stream.h"

#include <string.h>

#define PROTOCOL_TCP 6
/* Packets of a stream that are looked at to recognise the same connection elsewhere. */
#define SAMPLE_PACKETS 64
/* Connections without an initial number are compared packet by packet with at most this many others. */
#define COMPARED_MAX 256
/* From this many uses of the same ports on they are found by a table. */
#define INDEXED_GENERATIONS 8

struct flow_group {
	GArray *streams; /* struct dtc_stream, grouped by node, ascending */
};

/* The streams of one node in a group, and what is asked about them again and again: ports are used many times. */
struct node_streams {
	guint node;
	guint first; /* in the group's streams */
	guint end;
	guint counts[2];      /* by direction */
	GHashTable *by_isn;   /* scattered initial number of received streams -> stream; NULL if they are few */
	guint without_isn;    /* received streams that do not know theirs */
};

struct matcher {
	const struct dtc_match_source *sources;
	guint count;
	DtcMatches *matches;
	GHashTable *group_by_key; /* 40 bytes -> struct flow_group, owned by groups */
	GPtrArray *groups;
	GHashTable *node_by_address; /* struct address_key -> node + 1, or 0 if several claim it */
	uint32_t seed; /* of all hashes: who writes a recording must not choose the buckets */
};

struct address_key {
	uint32_t seed;
	uint8_t address[16];
};

struct group_key {
	uint32_t seed;
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
	uint32_t protocol;
};

static guint hash_bytes(const uint8_t *bytes, guint count)
{
	guint hash = 2166136261u;
	for (guint i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static guint hash_key(gconstpointer key)
{
	return hash_bytes(key, sizeof(struct group_key));
}

static gboolean equal_keys(gconstpointer left, gconstpointer right)
{
	return memcmp(left, right, sizeof(struct group_key)) == 0;
}

static guint hash_address(gconstpointer key)
{
	return hash_bytes(key, sizeof(struct address_key));
}

static gboolean equal_addresses(gconstpointer left, gconstpointer right)
{
	return memcmp(left, right, sizeof(struct address_key)) == 0;
}

static struct address_key make_address_key(const struct matcher *matcher, const uint8_t address[16])
{
	struct address_key key = { .seed = matcher->seed };
	memcpy(key.address, address, 16);
	return key;
}

/* One to one, and not to be foreseen. */
static gpointer scatter(const struct matcher *matcher, uint32_t number)
{
	number = (number ^ matcher->seed) * 0x9e3779b1u;
	number = (number ^ number >> 15) * 0x85ebca6bu;
	return GUINT_TO_POINTER(number ^ number >> 13);
}

static void group_free(gpointer data)
{
	struct flow_group *group = data;
	g_array_unref(group->streams);
	g_free(group);
}

static bool is_loopback_address(const uint8_t address[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	static const uint8_t one[16] = { [15] = 1 };
	return (memcmp(address, mapped, 12) == 0 && address[12] == 127) || memcmp(address, one, 16) == 0;
}

/* Old events (inet_sock_local_*) carry no addresses: no flow, but numbers. Without headers there is nothing at all. */
static bool is_bare(const struct dtc_packet *packet)
{
	return packet->flow == DTC_NONE && (packet->seq || packet->ack || packet->tcp_flags);
}

/* --- which source of a node ------------------------------------------------------------------------------------ */

static void count_packets(const DtcPackets *packets, guint64 with_headers[2], guint64 without[2])
{
	uint32_t count = packets ? dtc_packets_get_count(packets) : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_packet *packet = dtc_packets_get(packets, i);
		(packet->flow == DTC_NONE ? without : with_headers)[packet->direction & 1]++;
	}
}

/*
 * Per direction the kernel's events, unless most of them have no headers (GRO off) and there is a capture. The kernel's
 * event is the earlier one of both, in the clock that matters.
 */
static void choose_sources(struct matcher *matcher, guint node, const DtcPackets *ret_chosen[2], DtcFindings *findings)
{
	static const char *const verbs[2] = { "sent", "received" };
	const struct dtc_match_source *source = &matcher->sources[node];
	struct dtc_relation *relation = dtc_matches_get_relation(matcher->matches, node);
	guint64 kernel[2] = { 0, 0 }, bare[2] = { 0, 0 }, captured[2] = { 0, 0 }, unused[2] = { 0, 0 };
	count_packets(source->kernel, kernel, bare);
	count_packets(source->capture, captured, unused);
	relation->identity = !source->kernel;
	if (source->kernel && source->capture && (kernel[0] || kernel[1]))
		dtc_relation_estimate(relation, source->kernel, source->capture);
	for (guint d = 0; d < 2; d++) {
		bool kernel_serves = kernel[d] && kernel[d] >= bare[d];
		ret_chosen[d] = source->kernel;
		if (!captured[d] || kernel_serves)
			continue;
		if (source->kernel && !relation->count && !relation->identity) {
			/* the tracer's offset is the difference of the same two clocks at its start: good enough to
			 * say something, not to be silent about it */
			if (kernel[0] || kernel[1])
				continue;
			relation->identity = true;
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, source->node,
					 "the trace has no packets with headers: its clock is taken to be the "
					 "capture's");
		}
		ret_chosen[d] = source->capture;
		if (source->kernel && relation->count)
			dtc_findings_add(findings, DTC_SEVERITY_INFO, false, source->node,
					 "%s packets are taken from the capture, whose clock is known to "
					 "%" G_GINT64_FORMAT
					 " ns in the trace's",
					 verbs[d], relation->error_ns);
	}
}

/* --- streams ---------------------------------------------------------------------------------------------------- */

static void add_stream(struct matcher *matcher, const struct dtc_stream *stream, const struct dtc_flow *flow)
{
	struct group_key key = { .seed = matcher->seed, .protocol = flow->protocol };
	memcpy(key.source, flow->source, 16);
	memcpy(key.destination, flow->destination, 16);
	key.source_port = flow->source_port;
	key.destination_port = flow->destination_port;
	struct flow_group *group = g_hash_table_lookup(matcher->group_by_key, &key);
	if (!group) {
		group = g_new0(struct flow_group, 1);
		group->streams = g_array_new(FALSE, FALSE, sizeof(struct dtc_stream));
		g_hash_table_insert(matcher->group_by_key, g_memdup2(&key, sizeof(key)), group);
		g_ptr_array_add(matcher->groups, group);
	}
	g_array_append_val(group->streams, *stream);
}

static void collect_streams(struct matcher *matcher, guint node, DtcFindings *findings)
{
	const DtcPackets *chosen[2];
	choose_sources(matcher, node, chosen, findings);
	struct dtc_relation *relation = dtc_matches_get_relation(matcher->matches, node);
	for (guint d = 0; d < 2; d++) {
		uint32_t count = chosen[d] ? dtc_packets_get_flow_count(chosen[d]) : 0;
		bool converts = matcher->sources[node].kernel && chosen[d] == matcher->sources[node].capture;
		for (uint32_t id = 0; id < count; id++) {
			const struct dtc_flow *flow = dtc_packets_get_flow(chosen[d], id);
			struct dtc_stream stream = { .node = node, .direction = (enum dtc_direction)d,
						     .packets = chosen[d], .flow = id,
						     .relation = converts ? relation : NULL };
			if (!flow->packet_count || is_loopback_address(flow->source) ||
			    is_loopback_address(flow->destination))
				continue;
			dtc_stream_choose_interface(&stream);
			if (stream.packet_count)
				add_stream(matcher, &stream, flow);
		}
	}
}

static struct dtc_stream *get_stream(const struct flow_group *group, guint index)
{
	return &g_array_index(group->streams, struct dtc_stream, index);
}

static bool node_has(const struct flow_group *group, guint node, enum dtc_direction direction)
{
	for (guint i = 0; i < group->streams->len; i++)
		if (get_stream(group, i)->node == node && get_stream(group, i)->direction == direction)
			return true;
	return false;
}

static const struct dtc_flow *get_flow(const struct dtc_stream *stream)
{
	return dtc_packets_get_flow(stream->packets, stream->flow);
}

static void compare_streams(struct matcher *matcher, struct dtc_stream *from, struct dtc_stream *to)
{
	g_autoptr(GArray) sent = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
	g_autoptr(GArray) received = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
	struct dtc_stream_result result;
	const struct dtc_flow *flow = get_flow(from);
	dtc_stream_get_seen(from, sent);
	dtc_stream_get_seen(to, received);
	dtc_stream_compare(sent, received, flow->protocol, flow->protocol == PROTOCOL_TCP, matcher->matches, from->node,
			   to->node, &result);
	dtc_matches_add_unmatched(matcher->matches, from->node, to->node, result.unmatched_sent);
	dtc_matches_add_unmatched(matcher->matches, to->node, from->node, result.unmatched_received);
	dtc_matches_add_ambiguous(matcher->matches, from->node, to->node,
				  MAX(result.ambiguous_sent, result.ambiguous_received));
	from->used = to->used = true;
}

/* How many of the first packets of both streams are the same; both lists are short. */
static guint count_common(const struct dtc_stream *one, const struct dtc_stream *other)
{
	g_autoptr(GArray) a = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
	g_autoptr(GArray) b = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
	dtc_stream_get_seen(one, a);
	dtc_stream_get_seen(other, b);
	guint common = 0;
	for (guint i = 0; i < MIN(a->len, SAMPLE_PACKETS); i++) {
		const struct dtc_seen *p = &g_array_index(a, struct dtc_seen, i);
		for (guint k = 0; k < MIN(b->len, SAMPLE_PACKETS); k++) {
			const struct dtc_seen *q = &g_array_index(b, struct dtc_seen, k);
			if (p->seq == q->seq && p->ack == q->ack && (!p->tsval || !q->tsval || p->tsval == q->tsval)) {
				common++;
				break;
			}
		}
	}
	return common;
}

/*
 * The receiving stream of that node which is the same connection: ports may have been used again, and the two nodes
 * need not have seen the same generations. The initial sequence number decides where both know it, else packets.
 */
static struct dtc_stream *find_counterpart(const struct matcher *matcher, const struct flow_group *group,
					   const struct dtc_stream *from, const struct node_streams *node,
					   guint from_generations)
{
	struct dtc_stream *best = NULL, *only = NULL;
	guint best_common = 0, candidates = 0, compared = 0;
	const struct dtc_flow *flow = get_flow(from);
	if (flow->has_isn && node->by_isn) {
		struct dtc_stream *to = g_hash_table_lookup(node->by_isn, scatter(matcher, flow->isn));
		if (to || !node->without_isn)
			return to;
	}
	for (guint i = node->first; i < node->end && compared < COMPARED_MAX; i++) {
		struct dtc_stream *to = get_stream(group, i);
		if (to->direction != DTC_RECEIVED)
			continue;
		const struct dtc_flow *other = get_flow(to);
		candidates++;
		only = to;
		if (flow->has_isn && other->has_isn) {
			if (flow->isn == other->isn)
				return to;
			only = NULL;
			continue;
		}
		if (flow->protocol != PROTOCOL_TCP)
			return to;
		if (from_generations > 1 || candidates > 1) {
			if (to->used)
				continue;
			guint common = count_common(from, to);
			compared++;
			if (common > best_common) {
				best = to;
				best_common = common;
			}
		}
	}
	return candidates == 1 && from_generations == 1 ? only : best;
}

/* The nodes of a group, with ranges of its streams. */
static GArray *index_nodes(const struct matcher *matcher, const struct flow_group *group)
{
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(struct node_streams));
	for (guint i = 0; i < group->streams->len;) {
		struct node_streams node = { .node = get_stream(group, i)->node, .first = i };
		for (; i < group->streams->len && get_stream(group, i)->node == node.node; i++) {
			bool is_received = get_stream(group, i)->direction == DTC_RECEIVED;
			node.counts[get_stream(group, i)->direction]++;
			node.without_isn += is_received && !get_flow(get_stream(group, i))->has_isn;
		}
		node.end = i;
		if (node.counts[DTC_RECEIVED] >= INDEXED_GENERATIONS) {
			node.by_isn = g_hash_table_new(NULL, NULL);
			for (guint k = node.end; k-- > node.first;) { /* of equal numbers the first stays */
				struct dtc_stream *stream = get_stream(group, k);
				if (stream->direction == DTC_RECEIVED && get_flow(stream)->has_isn)
					g_hash_table_insert(node.by_isn, scatter(matcher, get_flow(stream)->isn),
							    stream);
			}
		}
		g_array_append_val(nodes, node);
	}
	return nodes;
}

static void match_group(struct matcher *matcher, const struct flow_group *group)
{
	g_autoptr(GArray) nodes = NULL;
	/* the common case by far: traffic with somebody who is not traced */
	bool several = false;
	for (guint i = 1; i < group->streams->len && !several; i++)
		several = get_stream(group, i)->node != get_stream(group, 0)->node;
	if (!several)
		return;
	nodes = index_nodes(matcher, group);
	for (guint n = 0; n < nodes->len; n++) {
		const struct node_streams *sender = &g_array_index(nodes, struct node_streams, n);
		bool is_origin = !sender->counts[DTC_RECEIVED];
		for (guint i = sender->first; i < sender->end; i++) {
			struct dtc_stream *from = get_stream(group, i);
			for (guint k = 0; k < nodes->len && from->direction == DTC_SENT; k++) {
				const struct node_streams *receiver = &g_array_index(nodes, struct node_streams, k);
				if (k == n || !receiver->counts[DTC_RECEIVED] ||
				    (!is_origin && receiver->counts[DTC_SENT]))
					continue;
				struct dtc_stream *to =
					find_counterpart(matcher, group, from, receiver, sender->counts[DTC_SENT]);
				if (to)
					compare_streams(matcher, from, to);
			}
		}
	}
	for (guint n = 0; n < nodes->len; n++)
		g_clear_pointer(&g_array_index(nodes, struct node_streams, n).by_isn, g_hash_table_unref);
}

static GArray *get_bare(const DtcPackets *packets, enum dtc_direction direction)
{
	GArray *seen = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
	uint32_t count = packets ? dtc_packets_get_count(packets) : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_packet *packet = dtc_packets_get(packets, i);
		if (!is_bare(packet) || packet->direction != direction)
			continue;
		struct dtc_seen item = { .ns = packet->time_ns, .seq = packet->seq, .ack = packet->ack,
					 .window = packet->window, .tcp_flags = packet->tcp_flags };
		g_array_append_val(seen, item);
	}
	return seen;
}

/* Everything a node sent against everything another received; with more than two nodes nobody knows who was meant. */
static void match_bare(struct matcher *matcher)
{
	for (guint a = 0; a < matcher->count; a++) {
		g_autoptr(GArray) sent = get_bare(matcher->sources[a].kernel, DTC_SENT);
		for (guint b = 0; b < matcher->count && sent->len; b++) {
			g_autoptr(GArray) received = get_bare(matcher->sources[b].kernel, DTC_RECEIVED);
			struct dtc_stream_result result;
			if (a == b || !received->len)
				continue;
			for (guint i = 0; i < sent->len; i++)
				g_array_index(sent, struct dtc_seen, i).matched = false;
			dtc_stream_compare(sent, received, PROTOCOL_TCP, false, matcher->matches, a, b, &result);
			if (matcher->count == 2) {
				dtc_matches_add_unmatched(matcher->matches, a, b, result.unmatched_sent);
				dtc_matches_add_unmatched(matcher->matches, b, a, result.unmatched_received);
			}
			dtc_matches_add_ambiguous(matcher->matches, a, b,
						  MAX(result.ambiguous_sent, result.ambiguous_received));
		}
	}
}

/* --- 1:1 address translation ------------------------------------------------------------------------------------ */

static guint64 get_sample_key(uint32_t seed, const struct dtc_flow *flow, const struct dtc_seen *seen)
{
	guint64 ports = (guint64)flow->source_port << 16 | flow->destination_port;
	guint64 hash = (((guint64)seed << 32) + ports) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	hash = (hash ^ seen->seq) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	hash = (hash ^ (hash >> 29) ^ seen->ack) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return hash ^ (hash >> 32);
}

/* Ports, sequence and acknowledgement numbers of the first packets; two must agree (one if it is a SYN's answer). */
static void match_translated(struct matcher *matcher)
{
	g_autoptr(GHashTable) by_sample = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	for (guint pass = 0; pass < 2; pass++) {
		for (guint g = 0; g < matcher->groups->len; g++) {
			struct flow_group *group = g_ptr_array_index(matcher->groups, g);
			for (guint i = 0; i < group->streams->len; i++) {
				struct dtc_stream *stream = get_stream(group, i);
				const struct dtc_flow *flow = get_flow(stream);
				if (stream->used || flow->protocol != PROTOCOL_TCP ||
				    stream->direction != (pass ? DTC_RECEIVED : DTC_SENT))
					continue;
				g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(struct dtc_seen));
				dtc_stream_get_seen(stream, seen);
				struct dtc_stream *best = NULL;
				guint hits = 0;
				for (guint k = 0; k < MIN(seen->len, SAMPLE_PACKETS); k++) {
					const struct dtc_seen *packet = &g_array_index(seen, struct dtc_seen, k);
					guint64 key = get_sample_key(matcher->seed, flow, packet);
					struct dtc_stream *other = g_hash_table_lookup(by_sample, &key);
					if (pass == 0) {
						/* two senders of the same numbers: neither can be told */
						gpointer value = other && other != stream ? matcher : (gpointer)stream;
						g_hash_table_insert(by_sample, g_memdup2(&key, sizeof(key)), value);
					} else if (other && other != (gpointer)matcher && (!best || best == other)) {
						best = other;
						hits++;
					}
				}
				if (best && hits >= 2 && !best->used && best->node != stream->node)
					compare_streams(matcher, best, stream);
			}
		}
	}
}

/* --- what did not pair ------------------------------------------------------------------------------------------ */

static void collect_addresses(struct matcher *matcher)
{
	for (guint g = 0; g < matcher->groups->len; g++) {
		const struct flow_group *group = g_ptr_array_index(matcher->groups, g);
		bool is_origin = false;
		for (guint i = 0; i < group->streams->len; i++) {
			const struct dtc_stream *stream = get_stream(group, i);
			if (i == 0 || stream->node != get_stream(group, i - 1)->node)
				is_origin = !node_has(group, stream->node, DTC_RECEIVED);
			if (stream->direction != DTC_SENT || !is_origin)
				continue;
			struct address_key key = make_address_key(matcher, get_flow(stream)->source);
			gpointer known;
			gpointer value = GUINT_TO_POINTER(stream->node + 1);
			if (g_hash_table_lookup_extended(matcher->node_by_address, &key, NULL, &known) &&
				known != value)
				value = NULL;
			g_hash_table_insert(matcher->node_by_address, g_memdup2(&key, sizeof(key)), value);
		}
	}
}

static void count_unused(struct matcher *matcher)
{
	for (guint g = 0; g < matcher->groups->len; g++) {
		const struct flow_group *group = g_ptr_array_index(matcher->groups, g);
		for (guint i = 0; i < group->streams->len; i++) {
			const struct dtc_stream *stream = get_stream(group, i);
			const struct dtc_flow *flow = get_flow(stream);
			if (stream->used)
				continue;
			struct address_key key = make_address_key(
				matcher, stream->direction == DTC_SENT ? flow->destination : flow->source);
			guint peer = GPOINTER_TO_UINT(g_hash_table_lookup(matcher->node_by_address, &key));
			if (peer)
				dtc_matches_add_unmatched(matcher->matches, stream->node, peer - 1,
					stream->packet_count);
		}
	}
}

DtcMatches *dtc_match_packets(const struct dtc_match_source *sources, guint count, DtcFindings *findings)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	for (guint i = 0; i < count; i++)
		g_ptr_array_add(names, (gpointer)sources[i].node);
	struct matcher matcher = {
		.sources = sources,
		.count = count,
		.matches = dtc_matches_new((const char *const *)names->pdata, count),
		.group_by_key = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL),
		.groups = g_ptr_array_new_with_free_func(group_free),
		.node_by_address = g_hash_table_new_full(hash_address, equal_addresses, g_free, NULL),
		.seed = g_random_int(),
	};
	for (guint i = 0; i < count; i++)
		collect_streams(&matcher, i, findings);
	for (guint g = 0; g < matcher.groups->len; g++)
		match_group(&matcher, g_ptr_array_index(matcher.groups, g));
	match_bare(&matcher);
	match_translated(&matcher);
	collect_addresses(&matcher);
	count_unused(&matcher);
	dtc_matches_sort(matcher.matches);
	g_hash_table_unref(matcher.group_by_key);
	g_hash_table_unref(matcher.node_by_address);
	g_ptr_array_unref(matcher.groups);
	return matcher.matches;
}
