/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From packets to messages: passages of the same flow on several nodes are brought together by their 5-tuple, then by
 * generation (port reuse), and what finds no partner by what a 1:1 address translation leaves alone.
 *
 * A router sees a flow received and sent. Its sends follow the origin's sends, and precede the receives of the last
 * node; nothing is said about two routers. So a passage is compared only if the sender is the origin or the receiver
 * the last. A node that hosts containers sees their packets in both directions as well: what leaves one is sent by its
 * device, received by the other end of the pair, and sent on the wire. Which of the two a node is, is told by the
 * direction in which it saw a packet first, and last.
 */
#include "sync/match/sources.h"

#include "collect/bundle/threads.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Packets of a passage that are looked at to recognise the same connection elsewhere. */
#define SAMPLE_PACKETS 64
/* Parts that the groups are matched in: enough for every thread to have something to do to the end. */
#define PARTS 16
/* Connections without an initial number are compared packet by packet with at most this many others. */
#define COMPARED_MAX 256
/* From this many uses of the same ports on they are found by a table. */
#define INDEXED_GENERATIONS 8
/* Bits, by which ports of passages without a partner are told apart. */
#define PORTS_PLACES (1u << 20)

/* All passages with the same ends: a run of the matcher's list, grouped by node, ascending. */
struct flow_group {
	struct dtc_passage *passages; /* borrowed */
	guint count;
};

/* The passages of one node in a group, and what is asked about them again and again: ports are used many times. */
struct node_passages {
	guint node;
	guint first; /* in the group's passages */
	guint end;
	guint counts[2];    /* by direction */
	bool is_origin;	    /* the flow begins here */
	bool is_last;	    /* it ends here */
	GHashTable *by_isn; /* scattered initial number of received passages -> passage; NULL if they are few */
	guint without_isn;  /* received passages that do not know theirs */
};

/* What the comparison of two passages found; its messages are those behind the one before's. */
struct comparison {
	guint from, to; /* nodes */
	guint message_count;
	struct dtc_passage_result result;
};

/* Groups of passages that are compared one after the other, by one thread. */
struct part {
	guint first, end; /* passages */
	struct dtc_passage_lists lists;
	DtcTable *sent; /* struct dtc_seen, of what is compared now */
	DtcTable *received;
	GArray *comparisons; /* struct comparison */
	guint limited_count; /* connections that were not compared with all that they may be elsewhere */
};

struct matcher {
	const struct dtc_match_source *sources;
	guint count;
	DtcMatches *matches;
	struct dtc_node_source *nodes;
	GArray **of_node;	     /* by node: passages, until they are together */
	GArray *passages;	     /* struct dtc_passage; once all are there in the order of their ends */
	GHashTable *node_by_address; /* struct address_key -> node + 1, or 0 if several claim it */
	uint32_t seed;		     /* of all hashes: who writes a recording must not choose the buckets */
	struct part *parts;	     /* while they are matched */
	DtcSpace *scratch;	     /* borrowed; where long lists are, or NULL */
};

struct address_key {
	uint32_t seed;
	uint8_t address[16];
};

static guint hash_bytes(const uint8_t *bytes, guint count)
{
	guint hash = 2166136261u;
	for (guint i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
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

/* --- passages -------------------------------------------------------------------------------------------------- */

static const struct dtc_flow *get_flow(const struct matcher *matcher, const struct dtc_passage *passage)
{
	return dtc_node_source_get_flow(&matcher->nodes[passage->node], passage);
}

static uint32_t get_isn(const struct matcher *matcher, const struct dtc_passage *passage)
{
	return dtc_node_source_get_isn(&matcher->nodes[passage->node], passage);
}

/* NULL: it is not told of in brief. */
static const struct dtc_brief_passage *get_told(const struct matcher *matcher, const struct dtc_passage *passage)
{
	const DtcBrief *brief = matcher->sources[passage->node].brief;

	return brief ? &g_array_index(brief->passages, struct dtc_brief_passage, passage->flow) : NULL;
}

/* Both nodes saw the same packets in the same order, and have told so in brief. */
static bool are_told_alike(const struct matcher *matcher, const struct dtc_passage *from, const struct dtc_passage *to)
{
	const struct dtc_brief_passage *p = get_told(matcher, from), *q = get_told(matcher, to);

	return p && q && !p->packets && !q->packets && p->digest == q->digest && p->time_count == q->time_count;
}

static DtcTable *new_seen(const struct matcher *matcher)
{
	return dtc_table_new_in(sizeof(struct dtc_seen), DTC_SEEN_BYTES, matcher->scratch);
}

static struct dtc_sightings get_seen(const struct matcher *matcher, const struct dtc_passage *passage, guint limit,
				     DtcTable *seen)
{
	return dtc_node_source_get_seen(&matcher->nodes[passage->node], passage, limit, seen);
}

static int compare_ends(const struct dtc_flow *p, const struct dtc_flow *q)
{
	int order = memcmp(p->source, q->source, 16);
	if (!order)
		order = memcmp(p->destination, q->destination, 16);
	if (!order)
		order = (p->source_port > q->source_port) - (p->source_port < q->source_port);
	if (!order)
		order = (p->destination_port > q->destination_port) - (p->destination_port < q->destination_port);
	return order ? order : (p->protocol > q->protocol) - (p->protocol < q->protocol);
}

/* By hash, which spares most looks at the flows; the hash is not seeded, since sorting has no buckets to be chosen. */
static int compare_places(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct dtc_passage *p = left, *q = right;
	if (p->key_hash != q->key_hash)
		return p->key_hash < q->key_hash ? -1 : 1;
	int order = compare_ends(get_flow(data, p), get_flow(data, q));
	if (order)
		return order;
	if (p->node != q->node)
		return p->node < q->node ? -1 : 1;
	if (p->is_received != q->is_received)
		return p->is_received ? 1 : -1;
	return (p->flow > q->flow) - (p->flow < q->flow);
}

static void count_node(gpointer data, guint node)
{
	const struct matcher *matcher = data;

	dtc_node_source_count(&matcher->nodes[node], matcher->scratch);
}

static void list_passages(gpointer data, guint node)
{
	const struct matcher *matcher = data;

	matcher->of_node[node] = g_array_new(FALSE, FALSE, sizeof(struct dtc_passage));
	dtc_node_source_list(&matcher->nodes[node], node, matcher->of_node[node]);
}

/* Those of all nodes, in threads; then one after the other, in the order of the nodes. */
static void gather_passages(struct matcher *matcher, DtcFindings *findings)
{
	guint count = matcher->count;
	matcher->of_node = g_new0(GArray *, (gsize)count + 1);
	dtc_threads_run(count, count_node, matcher);
	for (guint i = 0; i < count; i++)
		dtc_node_source_choose(&matcher->nodes[i], findings);
	dtc_threads_run(count, list_passages, matcher);
	for (guint i = 0; i < count; i++) {
		if (matcher->of_node[i]->len)
			g_array_append_vals(matcher->passages, matcher->of_node[i]->data, matcher->of_node[i]->len);
		g_array_unref(matcher->of_node[i]);
	}
	g_clear_pointer(&matcher->of_node, g_free);
}

/* The group that begins at place first of the sorted passages; false at the end. */
static bool get_group(const struct matcher *matcher, guint first, struct flow_group *ret_group)
{
	struct dtc_passage *passages = (struct dtc_passage *)(void *)matcher->passages->data;
	guint end = first;
	if (first == matcher->passages->len)
		return false;
	while (end < matcher->passages->len && passages[end].key_hash == passages[first].key_hash &&
	       compare_ends(get_flow(matcher, &passages[end]), get_flow(matcher, &passages[first])) == 0)
		end++;
	*ret_group = (struct flow_group){ passages + first, end - first };
	return true;
}

static struct dtc_passage *get_passage(const struct flow_group *group, guint index)
{
	return &group->passages[index];
}

/* What the node is to its passages of one group, [first, end): the origin, the last, or a router in between. */
static void find_role(const struct matcher *matcher, const struct flow_group *group, struct node_passages *node)
{
	const struct dtc_node_source *source = &matcher->nodes[node->node];
	int first_sent = 0, last_sent = 0;
	node->is_origin = !node->counts[DTC_RECEIVED];
	node->is_last = !node->counts[DTC_SENT];
	if (node->is_origin || node->is_last || source->chosen[DTC_SENT] != source->chosen[DTC_RECEIVED])
		return;
	for (guint i = node->first; i < node->end; i++)
		if (!get_passage(group, i)->is_received)
			dtc_node_source_count_turns(source, get_passage(group, i), &first_sent, &last_sent);
	node->is_origin = first_sent > 0;
	node->is_last = last_sent < 0;
}

/* The node whose passages begin at place first of the group. */
static struct node_passages get_node(const struct matcher *matcher, const struct flow_group *group, guint first)
{
	struct node_passages node = { .node = get_passage(group, first)->node, .first = first, .end = first };
	for (; node.end < group->count && get_passage(group, node.end)->node == node.node; node.end++) {
		bool is_received = get_passage(group, node.end)->is_received;
		node.counts[is_received ? DTC_RECEIVED : DTC_SENT]++;
		node.without_isn += is_received && !get_flow(matcher, get_passage(group, node.end))->has_isn;
	}
	find_role(matcher, group, &node);
	return node;
}

static void part_init(struct part *part, const struct matcher *matcher)
{
	dtc_passage_lists_init(&part->lists, matcher->scratch);
	part->sent = new_seen(matcher);
	part->received = new_seen(matcher);
	part->comparisons = g_array_new(FALSE, FALSE, sizeof(struct comparison));
}

/* What it found stays, and nothing else. */
static void part_finish(struct part *part)
{
	dtc_passage_lists_finish(&part->lists);
	g_clear_pointer(&part->sent, dtc_table_free);
	g_clear_pointer(&part->received, dtc_table_free);
}

static void part_clear(struct part *part)
{
	part_finish(part);
	dtc_passage_lists_clear(&part->lists);
	g_array_unref(part->comparisons);
}

/* What a part found is told, in its order. */
static void deliver(struct matcher *matcher, const struct part *part)
{
	const struct dtc_message *message = DTC_AT(part->lists.messages, struct dtc_message, 0);

	for (guint i = 0; i < part->comparisons->len; i++) {
		const struct comparison *found = &g_array_index(part->comparisons, struct comparison, i);
		const struct dtc_passage_result *result = &found->result;
		for (guint k = 0; k < found->message_count; k++, message++)
			dtc_matches_add(matcher->matches, found->from, found->to, message->sent_ns,
					message->received_ns);
		dtc_matches_add_unmatched(matcher->matches, found->from, found->to, result->unmatched_sent);
		dtc_matches_add_unmatched(matcher->matches, found->to, found->from, result->unmatched_received);
		dtc_matches_add_ambiguous(matcher->matches, found->from, found->to,
					  MAX(result->ambiguous_sent, result->ambiguous_received));
	}
}

static void append_times(const struct dtc_brief_passage *from, const DtcTable *sent, const struct dtc_brief_passage *to,
			 const DtcTable *received, DtcTable *messages)
{
	for (guint i = 0; i < from->time_count; i++) {
		const struct dtc_message message = { *DTC_AT(sent, int64_t, from->time_first + i),
						     *DTC_AT(received, int64_t, to->time_first + i) };
		dtc_table_append(messages, &message);
	}
}

static bool compare_briefly(const struct matcher *matcher, struct part *part, const struct dtc_passage *from,
			    const struct dtc_passage *to, struct dtc_passage_result *ret_result)
{
	const DtcBrief *sender = matcher->sources[from->node].brief, *receiver = matcher->sources[to->node].brief;

	if (!are_told_alike(matcher, from, to))
		return false;
	const struct dtc_brief_passage *p = get_told(matcher, from), *q = get_told(matcher, to);
	append_times(p, sender->times, q, receiver->times, part->lists.messages);
	*ret_result =
		(struct dtc_passage_result){ p->unmatched, q->unmatched, p->ambiguous_sent, q->ambiguous_received };
	return true;
}

static void compare_packets(const struct matcher *matcher, struct part *part, const struct dtc_passage *from,
			    const struct dtc_passage *to, struct dtc_passage_result *ret_result)
{
	const struct dtc_flow *flow = get_flow(matcher, from);
	dtc_table_set_length(part->sent, 0);
	dtc_table_set_length(part->received, 0);
	const struct dtc_sightings sent = get_seen(matcher, from, G_MAXUINT, part->sent);
	const struct dtc_sightings received = get_seen(matcher, to, G_MAXUINT, part->received);
	dtc_passage_compare(&sent, &received, flow->protocol, dtc_flow_has_ranges(flow), &part->lists, ret_result);
}

static void compare_passages(const struct matcher *matcher, struct part *part, struct dtc_passage *from,
			     struct dtc_passage *to)
{
	struct comparison found = { .from = from->node, .to = to->node };
	guint before = part->lists.messages->len;
	if (!compare_briefly(matcher, part, from, to, &found.result))
		compare_packets(matcher, part, from, to, &found.result);
	found.message_count = part->lists.messages->len - before;
	g_array_append_val(part->comparisons, found);
	from->used = to->used = true;
}

/* How many of the first packets of both passages are the same; both lists are short. */
static guint count_common(const struct matcher *matcher, const struct dtc_passage *one, const struct dtc_passage *other)
{
	g_autoptr(DtcTable) a = new_seen(matcher), b = new_seen(matcher);
	const struct dtc_sightings left = get_seen(matcher, one, SAMPLE_PACKETS, a);
	const struct dtc_sightings right = get_seen(matcher, other, SAMPLE_PACKETS, b);
	guint common = 0;
	for (guint i = 0; i < a->len; i++) {
		uint32_t p_id = DTC_AT(a, struct dtc_seen, i)->packet;
		const struct dtc_packet p = dtc_packets_read(left.packets, p_id);
		for (guint k = 0; k < b->len; k++) {
			uint32_t q_id = DTC_AT(b, struct dtc_seen, k)->packet;
			const struct dtc_packet q = dtc_packets_read(right.packets, q_id);
			if (p.seq == q.seq && p.ack == q.ack &&
			    (!p.has_timestamps || !q.has_timestamps ||
			     dtc_packets_get_mark(left.packets, p_id) == dtc_packets_get_mark(right.packets, q_id))) {
				common++;
				break;
			}
		}
	}
	return common;
}

/*
 * The receiving passage of that node which is the same connection: ports may have been used again, and the two nodes
 * need not have seen the same generations. The initial sequence number decides where both know it, else packets.
 */
static struct dtc_passage *find_counterpart(const struct matcher *matcher, struct part *part,
					    const struct flow_group *group, const struct dtc_passage *from,
					    const struct node_passages *node, guint from_generations)
{
	struct dtc_passage *best = NULL, *only = NULL;
	guint best_common = 0, candidates = 0, compared = 0;
	const struct dtc_flow *flow = get_flow(matcher, from);
	if (flow->has_isn && node->by_isn) {
		struct dtc_passage *to = g_hash_table_lookup(node->by_isn, scatter(matcher, get_isn(matcher, from)));
		if (to || !node->without_isn)
			return to;
	}
	for (guint i = node->first; i < node->end; i++) {
		if (compared == COMPARED_MAX) {
			part->limited_count++;
			break;
		}
		struct dtc_passage *to = get_passage(group, i);
		if (!to->is_received)
			continue;
		const struct dtc_flow *other = get_flow(matcher, to);
		candidates++;
		only = to;
		if (flow->has_isn && other->has_isn) {
			if (are_told_alike(matcher, from, to) || get_isn(matcher, from) == get_isn(matcher, to))
				return to;
			only = NULL;
			continue;
		}
		if (flow->protocol != DTC_PROTOCOL_TCP)
			return to;
		if (from_generations > 1 || candidates > 1) {
			if (to->used)
				continue;
			guint common = count_common(matcher, from, to);
			compared++;
			if (common > best_common) {
				best = to;
				best_common = common;
			}
		}
	}
	return candidates == 1 && from_generations == 1 ? only : best;
}

/* The nodes of a group, with ranges of its passages. */
static GArray *index_nodes(const struct matcher *matcher, const struct flow_group *group)
{
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(struct node_passages));
	for (guint i = 0; i < group->count;) {
		struct node_passages node = get_node(matcher, group, i);
		i = node.end;
		if (node.counts[DTC_RECEIVED] >= INDEXED_GENERATIONS) {
			node.by_isn = g_hash_table_new(NULL, NULL);
			for (guint k = node.end; k-- > node.first;) { /* of equal numbers the first stays */
				struct dtc_passage *passage = get_passage(group, k);
				if (passage->is_received && get_flow(matcher, passage)->has_isn)
					g_hash_table_insert(node.by_isn, scatter(matcher, get_isn(matcher, passage)),
							    passage);
			}
		}
		g_array_append_val(nodes, node);
	}
	return nodes;
}

static void match_group(const struct matcher *matcher, struct part *part, const struct flow_group *group)
{
	g_autoptr(GArray) nodes = NULL;
	/* the common case by far: traffic with somebody who is not traced */
	bool several = false;
	for (guint i = 1; i < group->count && !several; i++)
		several = get_passage(group, i)->node != get_passage(group, 0)->node;
	if (!several)
		return;
	nodes = index_nodes(matcher, group);
	for (guint n = 0; n < nodes->len; n++) {
		const struct node_passages *sender = &g_array_index(nodes, struct node_passages, n);
		for (guint i = sender->first; i < sender->end; i++) {
			struct dtc_passage *from = get_passage(group, i);
			for (guint k = 0; k < nodes->len && !from->is_received; k++) {
				const struct node_passages *receiver = &g_array_index(nodes, struct node_passages, k);
				if (k == n || !receiver->counts[DTC_RECEIVED] ||
				    (!sender->is_origin && !receiver->is_last))
					continue;
				struct dtc_passage *to = find_counterpart(matcher, part, group, from, receiver,
									  sender->counts[DTC_SENT]);
				if (to)
					compare_passages(matcher, part, from, to);
			}
		}
	}
	for (guint n = 0; n < nodes->len; n++)
		g_clear_pointer(&g_array_index(nodes, struct node_passages, n).by_isn, g_hash_table_unref);
}

static void match_part(gpointer data, guint index)
{
	const struct matcher *matcher = data;
	struct part *part = &matcher->parts[index];
	struct flow_group group;

	part_init(part, matcher);
	for (guint g = part->first; g < part->end && get_group(matcher, g, &group); g += group.count)
		match_group(matcher, part, &group);
	part_finish(part);
}

/* Parts of about as many packets; no group, and so no hash of ends, is in two. */
static guint cut_parts(const struct matcher *matcher, struct part *parts)
{
	const struct dtc_passage *passages = (const struct dtc_passage *)(const void *)matcher->passages->data;
	guint64 all = 0, sum = 0;
	guint count = 0, first = 0;

	for (guint i = 0; i < matcher->passages->len; i++)
		all += passages[i].packet_count;
	for (guint i = 0; i < matcher->passages->len; i++) {
		bool is_end = i + 1 == matcher->passages->len;
		sum += passages[i].packet_count;
		if (!is_end && (sum < all / PARTS || passages[i + 1].key_hash == passages[i].key_hash))
			continue;
		parts[count++] = (struct part){ .first = first, .end = i + 1 };
		first = i + 1;
		sum = 0;
	}
	return count;
}

/* Flows know nothing of each other: in threads. What they found is told in their order, whoever was first. */
static guint match_groups(struct matcher *matcher)
{
	g_autofree struct part *parts = g_new0(struct part, 2 * PARTS + 2);
	guint count = cut_parts(matcher, parts), limited_count = 0;

	matcher->parts = parts;
	dtc_threads_run(count, match_part, matcher);
	matcher->parts = NULL;
	for (guint i = 0; i < count; i++) {
		deliver(matcher, &parts[i]);
		limited_count += parts[i].limited_count;
		part_clear(&parts[i]);
	}
	return limited_count;
}

static DtcTable *get_bare(const struct matcher *matcher, guint node, enum dtc_direction direction)
{
	const DtcPackets *packets = matcher->sources[node].kernel;
	DtcTable *seen = new_seen(matcher);
	uint32_t i =
		matcher->nodes[node].counts.numbered[direction] ? dtc_packets_find_without_flow(packets, 0) : DTC_NONE;
	for (; i != DTC_NONE; i = dtc_packets_find_without_flow(packets, i + 1)) {
		const struct dtc_packet packet = dtc_packets_read(packets, i);
		const struct dtc_seen item = { .packet = i };
		if (dtc_packet_is_numbered(&packet) && packet.direction == direction)
			dtc_table_append(seen, &item);
	}
	return seen;
}

/* Everything a node sent against everything another received; with more than two nodes nobody knows who was meant. */
static void match_bare(struct matcher *matcher)
{
	for (guint a = 0; a < matcher->count; a++) {
		const DtcPackets *from = matcher->sources[a].kernel;
		g_autoptr(DtcTable) sent = get_bare(matcher, a, DTC_SENT);
		for (guint b = 0; b < matcher->count && sent->len; b++) {
			const DtcPackets *to = matcher->sources[b].kernel;
			g_autoptr(DtcTable) received = get_bare(matcher, b, DTC_RECEIVED);
			struct dtc_passage_lists lists;
			struct dtc_passage_result result;
			if (a == b || !received->len)
				continue;
			dtc_passage_lists_init(&lists, matcher->scratch);
			for (guint i = 0; i < sent->len; i++)
				DTC_AT(sent, struct dtc_seen, i)->matched = false;
			dtc_passage_compare(&(struct dtc_sightings){ .packets = from, .seen = sent },
					    &(struct dtc_sightings){ .packets = to, .seen = received },
					    DTC_PROTOCOL_TCP, false, &lists, &result);
			const struct dtc_message *message = DTC_AT(lists.messages, struct dtc_message, 0);
			for (guint i = 0; i < lists.messages->len; i++, message++)
				dtc_matches_add(matcher->matches, a, b, message->sent_ns, message->received_ns);
			dtc_passage_lists_clear(&lists);
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

/* A packet of a passage that found no partner: its ports and numbers, scattered. */
struct sample {
	guint64 key;
	guint passage;
};

static int compare_samples(gconstpointer left, gconstpointer right)
{
	const struct sample *p = left, *q = right;
	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	return (p->passage > q->passage) - (p->passage < q->passage);
}

static guint64 get_sample_key(const struct dtc_flow *flow, const struct dtc_packet *packet)
{
	guint64 ports = (guint64)flow->source_port << 16 | flow->destination_port;
	guint64 hash = (G_GUINT64_CONSTANT(0x2545f491) + ports) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	hash = (hash ^ packet->seq) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	hash = (hash ^ (hash >> 29) ^ packet->ack) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return hash ^ (hash >> 32);
}

static struct dtc_passage *get_any_passage(const struct matcher *matcher, guint index)
{
	return &g_array_index(matcher->passages, struct dtc_passage, index);
}

static bool may_be_translated(const struct matcher *matcher, const struct dtc_passage *passage, bool is_received)
{
	return !passage->used && passage->is_received == is_received &&
	       get_flow(matcher, passage)->protocol == DTC_PROTOCOL_TCP;
}

static guint get_ports_place(const struct matcher *matcher, const struct dtc_passage *passage)
{
	const struct dtc_flow *flow = get_flow(matcher, passage);
	uint32_t ports = (uint32_t)flow->source_port << 16 | flow->destination_port;
	return GPOINTER_TO_UINT(scatter(matcher, ports)) % PORTS_PLACES;
}

/*
 * Which ports some passage without a partner was received on: translation keeps them, so that of the senders only those
 * with the same ports are looked at. Traffic with strangers is all sent or all received on other ports.
 */
static uint8_t *find_received_ports(const struct matcher *matcher)
{
	uint8_t *places = g_new0(uint8_t, PORTS_PLACES / 8);
	for (guint i = 0; i < matcher->passages->len; i++) {
		const struct dtc_passage *passage = get_any_passage(matcher, i);
		guint place = get_ports_place(matcher, passage);
		if (may_be_translated(matcher, passage, true))
			places[place / 8] |= (uint8_t)(1 << place % 8);
	}
	return places;
}

static void append_samples(const struct matcher *matcher, guint index, DtcTable *seen, GArray *samples)
{
	const struct dtc_passage *passage = get_any_passage(matcher, index);
	dtc_table_set_length(seen, 0);
	const struct dtc_sightings first = get_seen(matcher, passage, SAMPLE_PACKETS, seen);
	for (guint k = 0; k < seen->len; k++) {
		const struct dtc_packet packet =
			dtc_packets_read(first.packets, DTC_AT(seen, struct dtc_seen, k)->packet);
		struct sample sample = { get_sample_key(get_flow(matcher, passage), &packet), index };
		g_array_append_val(samples, sample);
	}
}

/* The one passage that sent this; G_MAXUINT if none did, or if several did and none can be told. */
static guint find_sample(const GArray *samples, guint64 key)
{
	guint found = G_MAXUINT,
	      first = DTC_BISECT(i, 0, samples->len, g_array_index(samples, struct sample, i).key < key);
	for (guint i = first; i < samples->len && g_array_index(samples, struct sample, i).key == key; i++) {
		guint passage = g_array_index(samples, struct sample, i).passage;
		if (found != G_MAXUINT && found != passage)
			return G_MAXUINT;
		found = passage;
	}
	return found;
}

/* Ports, sequence and acknowledgement numbers of the first packets; two must agree. */
static void match_translated(struct matcher *matcher)
{
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(struct sample));
	g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(struct sample));
	g_autoptr(DtcTable) seen = new_seen(matcher);
	g_autofree uint8_t *ports = find_received_ports(matcher);
	struct part part = { 0 };
	part_init(&part, matcher);
	for (guint i = 0; i < matcher->passages->len; i++) {
		const struct dtc_passage *passage = get_any_passage(matcher, i);
		guint place = get_ports_place(matcher, passage);
		if (may_be_translated(matcher, passage, false) && ports[place / 8] & 1 << place % 8)
			append_samples(matcher, i, seen, samples);
	}
	g_array_sort(samples, compare_samples);
	for (guint i = 0; i < matcher->passages->len && samples->len; i++) {
		struct dtc_passage *passage = get_any_passage(matcher, i);
		guint best = G_MAXUINT, hits = 0;
		if (!may_be_translated(matcher, passage, true))
			continue;
		g_array_set_size(own, 0);
		append_samples(matcher, i, seen, own);
		for (guint k = 0; k < own->len; k++) {
			guint other = find_sample(samples, g_array_index(own, struct sample, k).key);
			if (other == G_MAXUINT || (best != G_MAXUINT && best != other))
				continue;
			best = other;
			hits++;
		}
		if (hits < 2)
			continue;
		struct dtc_passage *from = get_any_passage(matcher, best);
		/* with the same addresses nothing was translated: the two route the flow, or host its ends */
		if (!from->used && from->node != passage->node && from->key_hash != passage->key_hash)
			compare_passages(matcher, &part, from, passage);
	}
	deliver(matcher, &part);
	part_clear(&part);
}

/* --- what did not pair ------------------------------------------------------------------------------------------ */

static void collect_addresses(struct matcher *matcher)
{
	struct flow_group group;
	for (guint g = 0; get_group(matcher, g, &group); g += group.count) {
		for (guint i = 0; i < group.count;) {
			struct node_passages node = get_node(matcher, &group, i);
			struct address_key key =
				make_address_key(matcher, get_flow(matcher, get_passage(&group, i))->source);
			gpointer known, value = GUINT_TO_POINTER(node.node + 1);
			i = node.end;
			if (!node.counts[DTC_SENT] || !node.is_origin)
				continue;
			if (g_hash_table_lookup_extended(matcher->node_by_address, &key, NULL, &known) &&
			    known != value)
				value = NULL;
			g_hash_table_insert(matcher->node_by_address, g_memdup2(&key, sizeof(key)), value);
		}
	}
}

static void count_unused(struct matcher *matcher)
{
	for (guint i = 0; i < matcher->passages->len; i++) {
		const struct dtc_passage *passage = get_any_passage(matcher, i);
		const struct dtc_flow *flow = get_flow(matcher, passage);
		if (passage->used)
			continue;
		const uint8_t *other = passage->is_received ? flow->source : flow->destination;
		struct address_key key = make_address_key(matcher, other);
		guint peer = GPOINTER_TO_UINT(g_hash_table_lookup(matcher->node_by_address, &key));
		if (peer)
			dtc_matches_add_unmatched(matcher->matches, passage->node, peer - 1, passage->packet_count);
	}
}

DtcMatches *dtc_match_packets(const struct dtc_match_source *sources, guint count, DtcSpace *scratch,
			      DtcFindings *findings)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	for (guint i = 0; i < count; i++)
		g_ptr_array_add(names, (gpointer)sources[i].node);
	struct matcher matcher = {
		.sources = sources,
		.count = count,
		.matches = dtc_matches_new((const char *const *)names->pdata, count),
		.nodes = g_new0(struct dtc_node_source, (gsize)count + 1),
		.passages = g_array_new(FALSE, FALSE, sizeof(struct dtc_passage)),
		.node_by_address = g_hash_table_new_full(hash_address, equal_addresses, g_free, NULL),
		.seed = g_random_int(),
		.scratch = scratch,
	};
	dtc_matches_set_space(matcher.matches, scratch);
	for (guint i = 0; i < count; i++)
		matcher.nodes[i] = (struct dtc_node_source){ .source = &sources[i],
							     .relation = dtc_matches_get_relation(matcher.matches, i) };
	gather_passages(&matcher, findings);
	g_qsort_with_data(matcher.passages->data, (gint)matcher.passages->len, sizeof(struct dtc_passage),
			  compare_places, &matcher);
	guint limited_count = match_groups(&matcher);
	match_bare(&matcher);
	match_translated(&matcher);
	collect_addresses(&matcher);
	count_unused(&matcher);
	if (limited_count)
		dtc_findings_add_coded(
			findings, DTC_FINDING_LIMIT, DTC_SEVERITY_INFO, false, NULL,
			"%u connections without their first packets were compared with %d others of the same "
			"ports each, and not with all",
			limited_count, COMPARED_MAX);
	dtc_matches_sort(matcher.matches);
	g_hash_table_unref(matcher.node_by_address);
	g_array_unref(matcher.passages);
	g_free(matcher.nodes);
	return matcher.matches;
}
