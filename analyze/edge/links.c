/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/links.h"

#include "analyze/edge/bare.h"
#include "analyze/edge/links_build.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/flow_nodes.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Sends of a flow that are compared with one that has no bytes to tell it by. */
#define SENDS_MAX 65536

/*
 * Sends and receives of one flow on one node, with what makes them searchable: the end of the sequence space sent so
 * far (monotone, so that a binary search finds the first send of a byte), and the contiguous end received so far.
 * Sequence positions are relative to the flow's first packet and unwrapped to 64 bits.
 */
struct flow_index {
	uint32_t base_seq;
	uint32_t sent_count;
	uint32_t received_count;
	DtcTable *lists;	/* owned: what the others point to; NULL: it is behind this */
	int64_t *sent_end;	/* highest end sent up to and including this one */
	int64_t *delivered_end; /* contiguous end received up to and including this one */
	uint32_t *sent;		/* packet ids in time order */
	uint32_t *received;	/* packet ids */
};
/* Longer lists of a flow go to a file: 12 bytes for each packet of the flows that are asked for are too much. */
#define LISTS_BYTES ((gsize)64 << 10)

/* What is made for those of a node's flows, or files, that are asked for. Several threads may ask. */
struct slots {
	guint count;
	gpointer items[]; /* owned; NULL: not yet */
};

struct DtcLinks {
	guint node_count;
	char **names;
	const DtcHistory **histories;
	const DtcClocks *clocks;
	DtcFlowNodes *flow_nodes;      /* of the histories' packets; NULL: nobody has asked yet */
	DtcTranslations *translations; /* the same */
	const DtcGuests *guests;
	DtcTurnMarks **turn_marks; /* by node; filled on demand */
	DtcDatagrams **datagrams;  /* the same */
	gint *limit_counts;	   /* by enum dtc_limit; atomic */
	struct slots **indexes;	   /* by node: struct flow_index of each flow */
	struct slots **file_calls; /* by node: DtcFileCalls of each file */
	const DtcPackets *const *captures;
	const DtcFrames *const *frames;	    /* in these; NULL: of none */
	const DtcShingles *const *shingles; /* the same */
	DtcBareSends *bare;		    /* made when first asked for */
	struct slots **framed; /* by node: struct framed of each flow, twice: of another machine's, and local */
};

/* Where the frames of a node's flow are. */
struct framed {
	const DtcFrames *frames; /* NULL: nowhere */
	uint32_t flow;
};

/* Of two threads that made the same the second takes what the first one put there. */
static gpointer put(gpointer *slot, gpointer made, GDestroyNotify free_one)
{
	if (g_atomic_pointer_compare_and_exchange(slot, NULL, made))
		return made;
	free_one(made);
	return g_atomic_pointer_get(slot);
}

static gpointer *find_slot(struct slots **slots, guint node, guint count, guint index)
{
	struct slots *of_node = g_atomic_pointer_get(&slots[node]);
	if (!of_node) {
		of_node = g_malloc0(sizeof(*of_node) + count * sizeof(gpointer));
		of_node->count = count;
		of_node = put((gpointer *)(void *)&slots[node], of_node, g_free);
	}
	return &of_node->items[index];
}

static void slots_free(struct slots *slots, GDestroyNotify free_one)
{
	for (guint i = 0; slots && i < slots->count; i++)
		if (slots->items[i])
			free_one(slots->items[i]);
	g_free(slots);
}

static void free_index(gpointer data)
{
	struct flow_index *index = data;

	dtc_table_free(index->lists);
	g_free(index);
}

static void free_file_calls(gpointer calls)
{
	dtc_file_calls_free(calls);
}

static void free_turn_marks(gpointer marks)
{
	dtc_turn_marks_free(marks);
}

static void free_datagrams(gpointer datagrams)
{
	dtc_datagrams_free(datagrams);
}

static const DtcPackets *packets_of(const DtcLinks *links, guint node)
{
	return links->histories[node] ? dtc_history_get_packets(links->histories[node]) : NULL;
}

static DtcFlowNodes *new_flow_nodes(const DtcLinks *links)
{
	g_autofree const DtcPackets **packets = g_new0(const DtcPackets *, links->node_count + 1);
	for (guint i = 0; i < links->node_count; i++)
		packets[i] = packets_of(links, i);
	return dtc_flow_nodes_new(packets, links->node_count);
}

DtcLinks *dtc_links_new(guint node_count, const char *const *names, const DtcHistory *const *histories,
			const DtcClocks *clocks)
{
	DtcLinks *links = g_new0(DtcLinks, 1);
	links->node_count = node_count;
	links->limit_counts = g_new0(gint, DTC_LIMITS);
	links->names = g_new0(char *, node_count + 1);
	links->turn_marks = g_new0(DtcTurnMarks *, node_count + 1);
	links->datagrams = g_new0(DtcDatagrams *, node_count + 1);
	links->histories = g_new0(const DtcHistory *, node_count + 1);
	for (guint i = 0; i < node_count; i++) {
		links->names[i] = g_strdup(names[i]);
		links->histories[i] = histories[i];
	}
	links->clocks = clocks;
	links->indexes = g_new0(struct slots *, node_count + 1);
	links->file_calls = g_new0(struct slots *, node_count + 1);
	links->framed = g_new0(struct slots *, node_count + 1);
	return links;
}

void dtc_links_free(DtcLinks *links)
{
	if (!links)
		return;
	g_strfreev(links->names);
	for (guint i = 0; i < links->node_count; i++) {
		dtc_turn_marks_free(links->turn_marks[i]);
		dtc_datagrams_free(links->datagrams[i]);
		slots_free(links->indexes[i], free_index);
		slots_free(links->file_calls[i], free_file_calls);
		slots_free(links->framed[i], g_free);
	}
	g_free(links->indexes);
	g_free(links->file_calls);
	g_free(links->turn_marks);
	g_free(links->datagrams);
	g_free(links->histories);
	dtc_flow_nodes_free(links->flow_nodes);
	dtc_translations_free(links->translations);
	g_free(links->limit_counts);
	g_free(links->framed);
	dtc_bare_sends_free(links->bare);
	g_free(links);
}

guint dtc_links_get_node_count(const DtcLinks *links)
{
	return links->node_count;
}

const char *dtc_links_get_node_name(const DtcLinks *links, guint node)
{
	return links->names[node];
}

const DtcHistory *dtc_links_get_history(const DtcLinks *links, guint node)
{
	return links->histories[node];
}

const DtcClocks *dtc_links_get_clocks(const DtcLinks *links)
{
	return links->clocks;
}

void dtc_links_note_limit(const DtcLinks *links, enum dtc_limit limit)
{
	g_atomic_int_inc(&links->limit_counts[limit]);
}

guint dtc_links_get_limit_count(const DtcLinks *links, enum dtc_limit limit)
{
	return (guint)g_atomic_int_get(&links->limit_counts[limit]);
}

/* Made of all flows when the first is asked for: who wants clocks alone does not look at one. */
const DtcFlowNodes *dtc_links_get_flow_nodes(const DtcLinks *links)
{
	DtcFlowNodes **slot = (DtcFlowNodes **)&links->flow_nodes;

	if (g_once_init_enter(slot))
		g_once_init_leave(slot, new_flow_nodes(links));
	return *slot;
}

const DtcTranslations *dtc_links_get_translations(const DtcLinks *links)
{
	DtcTranslations **slot = (DtcTranslations **)&links->translations;

	if (g_once_init_enter(slot))
		g_once_init_leave(slot, dtc_translations_new(links->histories, links->node_count));
	return *slot;
}

void dtc_links_set_guests(DtcLinks *links, const DtcGuests *guests)
{
	links->guests = guests;
}

void dtc_links_set_frames(DtcLinks *links, const DtcPackets *const *captures, const DtcFrames *const *frames)
{
	bool has_any = false;

	for (guint i = 0; i < links->node_count; i++)
		has_any |= frames[i] && !dtc_frames_are_none(frames[i]);
	links->captures = captures;
	links->frames = has_any ? frames : NULL;
}

void dtc_links_set_shingles(DtcLinks *links, const DtcShingles *const *shingles)
{
	bool has_any = false;

	for (guint i = 0; i < links->node_count; i++)
		has_any |= shingles[i] && !dtc_shingles_are_none(shingles[i]);
	links->shingles = has_any ? shingles : NULL;
}

const DtcGuests *dtc_links_get_guests(const DtcLinks *links)
{
	return links->guests;
}

struct span {
	int64_t begin, end;
};

static int compare_span(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Adds a received span beyond the contiguous end; holes are few, so the list stays short. */
static int64_t deliver(GArray *beyond, int64_t contiguous, struct span span)
{
	if (span.begin > contiguous) {
		g_array_append_val(beyond, span);
		g_array_sort(beyond, compare_span);
		return contiguous;
	}
	contiguous = MAX(contiguous, span.end);
	guint used = 0;
	for (; used < beyond->len && g_array_index(beyond, struct span, used).begin <= contiguous; used++)
		contiguous = MAX(contiguous, g_array_index(beyond, struct span, used).end);
	if (used)
		g_array_remove_range(beyond, 0, used);
	return contiguous;
}

#define SENT_ONLY (1 << DTC_SENT)

static bool is_mixed(uint8_t directions)
{
	return (directions & (directions - 1)) != 0;
}

/* With room for the lists of a flow. */
static struct flow_index *new_index(const DtcPackets *packets, const struct dtc_flow *flow, uint8_t directions)
{
	uint32_t count = flow->packet_count, sent_count = directions == SENT_ONLY ? count : 0;
	for (uint32_t i = 0; i < count && is_mixed(directions); i++) {
		uint32_t id = dtc_packets_read_flow_packet(packets, flow, i);
		sent_count += dtc_packets_read(packets, id).direction == DTC_SENT;
	}
	gsize record_bytes = sizeof(int64_t) + sizeof(uint32_t), bytes = count * record_bytes;
	struct flow_index *index = g_malloc(sizeof(*index) + (bytes > LISTS_BYTES ? 0 : bytes));
	*index = (struct flow_index){ 0 };
	if (count)
		index->base_seq = dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, 0)).seq;
	if (bytes > LISTS_BYTES) {
		index->lists = dtc_table_new_on_heap(record_bytes, LISTS_BYTES);
		dtc_table_extend(index->lists, count);
		dtc_table_settle(index->lists);
	}
	index->sent_end = (int64_t *)(void *)(index->lists ? index->lists->data : (char *)(index + 1));
	index->delivered_end = index->sent_end + sent_count;
	index->sent = (uint32_t *)(void *)(index->sent_end + count);
	index->received = index->sent + sent_count;
	return index;
}

static struct flow_index *build_index(const DtcPackets *packets, uint32_t flow)
{
	const struct dtc_flow *of = dtc_packets_get_flow(packets, flow);
	uint8_t directions = dtc_packets_get_flow_seen(packets, flow).directions;
	struct flow_index *index = new_index(packets, of, directions);
	g_autoptr(GArray) beyond = g_array_new(FALSE, FALSE, sizeof(struct span));
	int64_t last = 0, sent_end = INT64_MIN, delivered = INT64_MIN;
	for (uint32_t i = 0; i < of->packet_count; i++) {
		uint32_t id = dtc_packets_read_flow_packet(packets, of, i);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		int64_t begin = last + dtc_seq_distance(index->base_seq + (uint32_t)last, p.seq);
		int64_t end = begin + dtc_packet_get_span(&p);
		last = MAX(last, end);
		/* as they were counted */
		if (is_mixed(directions) ? p.direction == DTC_SENT : directions == SENT_ONLY) {
			sent_end = MAX(sent_end, end);
			index->sent[index->sent_count] = id;
			index->sent_end[index->sent_count++] = sent_end;
		} else {
			if (delivered == INT64_MIN)
				delivered = begin;
			delivered = deliver(beyond, delivered, (struct span){ begin, end });
			if (beyond->len > 4096) { /* a capture hole, not a network's: go on behind it */
				delivered = g_array_index(beyond, struct span, 0).end;
				g_array_remove_index(beyond, 0);
			}
			index->received[index->received_count] = id;
			index->delivered_end[index->received_count++] = delivered;
		}
	}
	return index;
}

static const struct flow_index *get_index(const DtcLinks *links, guint node, uint32_t flow)
{
	const DtcPackets *packets = packets_of(links, node);
	gpointer *slot = find_slot(links->indexes, node, dtc_packets_get_flow_count(packets), flow);
	const struct flow_index *index = g_atomic_pointer_get(slot);
	return index ? index : put(slot, build_index(packets, flow), free_index);
}

/* Unwraps seq near a position that lies about there. */
static int64_t unwrap(const struct flow_index *index, uint32_t seq, int64_t near)
{
	return near + dtc_seq_distance(index->base_seq + (uint32_t)near, seq);
}

/* First position in a sorted list with a value greater than limit. */
static guint find_greater(const int64_t *values, guint count, int64_t limit)
{
	return DTC_BISECT(i, 0, count, values[i] <= limit);
}

/* Number of packets sent at or before time. */
static guint count_until(const DtcPackets *packets, const struct flow_index *index, int64_t time_ns)
{
	return DTC_BISECT(i, 0, index->sent_count, dtc_packets_read(packets, index->sent[i]).time_ns <= time_ns);
}

uint32_t dtc_links_find_completing_packet(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq)
{
	const struct flow_index *index = get_index(links, node, flow);
	guint count = index->received_count;
	if (!count)
		return DTC_NONE;
	/* unwrap near the middle of what was received: right for flows up to 4 GiB, and for longer ones near their end
	 */
	int64_t first = index->delivered_end[0], last = index->delivered_end[count - 1];
	int64_t at = unwrap(index, seq, first + (last - first) / 2);
	guint i = find_greater(index->delivered_end, count, at);
	return i < count ? index->received[i] : DTC_NONE;
}

int64_t dtc_links_get_latest_send_ns(const DtcLinks *links, guint receiver, guint sender, DtcNodeTime arrival)
{
	if (sender == receiver)
		return arrival.ns;
	DtcClusterTime at = dtc_clocks_to_cluster(links->clocks, receiver, arrival);
	int64_t slack = dtc_clocks_get_uncertainty_ns(links->clocks, receiver, sender, at);
	if (slack == INT64_MAX)
		return INT64_MAX;
	at.ns += slack;
	return dtc_clocks_to_node(links->clocks, sender, at).ns;
}

/* Among the sends of a flow that cover a byte, up to a time: the first, and the one that arrived. */
static bool find_covering(const DtcPackets *packets, const struct flow_index *index, uint32_t seq, int64_t latest_ns,
			  const struct dtc_packet *received, struct dtc_send *ret_send)
{
	guint count = count_until(packets, index, latest_ns);
	if (!count)
		return false;
	int64_t at = unwrap(index, seq, index->sent_end[count - 1]);
	guint first = find_greater(index->sent_end, index->sent_count, at);
	uint32_t matched = DTC_NONE;
	struct dtc_packet first_sent = { 0 };
	bool is_inferred = false;
	ret_send->copies = 0;
	for (guint i = first; i < count; i++) {
		uint32_t id = index->sent[i];
		const struct dtc_packet p = dtc_packets_read(packets, id);
		int32_t into = dtc_seq_distance(p.seq, seq);
		if (into < 0 || (uint32_t)into >= dtc_packet_get_span(&p) ||
		    (matched != DTC_NONE && dtc_links_is_passage(&first_sent, &p)))
			continue;
		if (matched == DTC_NONE) {
			ret_send->first = id;
			first_sent = p;
		}
		ret_send->before = matched == DTC_NONE ? id : matched;
		matched = id;
		is_inferred = p.is_inferred;
		ret_send->copies++;
		ret_send->is_tail = at - into + (int64_t)dtc_packet_get_span(&p) >= index->sent_end[i];
		if (received && received->ip_id && dtc_links_is_same_segment(&p, received))
			break; /* this very one, whatever was sent afterwards */
	}
	ret_send->packet = matched;
	ret_send->exact = matched != DTC_NONE && !is_inferred;
	return matched != DTC_NONE;
}

/*
 * A segment without bytes, or a datagram: all header fields must agree; the latest such send, where it was first seen.
 */
static bool find_empty(const DtcLinks *links, const DtcPackets *packets, const struct flow_index *index,
		       int64_t latest_ns, const struct dtc_packet *received, struct dtc_send *ret_send)
{
	guint count = count_until(packets, index, latest_ns);
	guint candidates = 0;
	struct dtc_packet last = { 0 };
	for (guint i = count; i-- > 0;) {
		if (count - i > SENDS_MAX) {
			dtc_links_note_limit(links, DTC_LIMIT_SENDS);
			break;
		}
		uint32_t id = index->sent[i];
		const struct dtc_packet p = dtc_packets_read(packets, id);
		bool is_near = candidates == 1 && last.time_ns - p.time_ns <= DTC_PASSAGE_NS;
		if (candidates && received->ip_id && !is_near)
			break;
		if (!dtc_links_is_same_segment(&p, received))
			continue;
		bool is_again = is_near && dtc_links_is_passage(&p, &last);
		if (!candidates)
			last = p;
		if (!candidates || is_again)
			ret_send->packet = ret_send->first = ret_send->before = id;
		candidates += !is_again;
	}
	ret_send->copies = 1;
	ret_send->is_tail = true;
	ret_send->exact = candidates == 1 && !dtc_packets_read(packets, ret_send->packet).is_inferred;
	return candidates > 0;
}

/* What arrived on a node by a flow, and what tells its send. */
struct arrived {
	guint node;
	uint32_t flow;
	DtcNodeTime at;
	bool has_bytes;
	uint32_t seq;
	const struct dtc_packet *received; /* NULL: by its bytes alone */
};

bool dtc_links_are_aligned(const DtcLinks *links, guint a, guint b)
{
	return a == b || dtc_clocks_get_group(links->clocks, a) == dtc_clocks_get_group(links->clocks, b);
}

/* Among what a node sent by this flow of its own. */
static bool find_on_flow(const DtcLinks *links, const struct arrived *arrived, guint sender, uint32_t flow,
			 int64_t latest_ns, struct dtc_send *ret_send)
{
	const DtcPackets *packets = packets_of(links, sender);
	const struct flow_index *index = get_index(links, sender, flow);
	*ret_send = (struct dtc_send){ .node = sender };
	return arrived->has_bytes ? find_covering(packets, index, arrived->seq, latest_ns, arrived->received, ret_send)
				  : find_empty(links, packets, index, latest_ns, arrived->received, ret_send);
}

/*
 * The other end knows the connection by other addresses. What it sent is what arrived: machines on the way, which send
 * it under the addresses that arrive, only hand it on.
 */
static bool find_translated(const DtcLinks *links, const struct arrived *arrived, struct dtc_send *ret_send)
{
	struct dtc_flow_place other;
	if (!dtc_translations_find(dtc_links_get_translations(links), arrived->node, arrived->flow, &other) ||
	    !dtc_links_are_aligned(links, arrived->node, other.node))
		return false;
	return find_on_flow(links, arrived, other.node, other.flow,
			    dtc_links_get_latest_send_ns(links, arrived->node, other.node, arrived->at), ret_send);
}

/* The nodes to look at: the receiver itself first for loopback traffic, then the others in order. */
static bool find_on_nodes(const DtcLinks *links, const struct arrived *arrived, struct dtc_send *ret_send)
{
	guint node = arrived->node, count;
	const DtcPackets *own = packets_of(links, node);
	bool found = false;
	if (find_translated(links, arrived, ret_send))
		return true;
	const guint *nodes =
		dtc_flow_nodes_get(dtc_links_get_flow_nodes(links), dtc_packets_get_flow(own, arrived->flow), &count);
	for (guint i = 0; i <= count; i++) {
		guint sender = i == 0 ? node : nodes[i - 1];
		if ((i > 0 && sender == node) || !links->histories[sender] ||
		    !dtc_links_are_aligned(links, sender, node))
			continue;
		int64_t latest_ns = dtc_links_get_latest_send_ns(links, node, sender, arrived->at);
		int64_t near_ns = latest_ns == INT64_MAX ? DTC_TIME_NONE : latest_ns;
		uint32_t peer = sender == node ? arrived->flow
					       : dtc_endpoint_find_flow(own, arrived->flow, packets_of(links, sender),
									false, near_ns);
		struct dtc_send send;
		if (peer == DTC_NONE || !find_on_flow(links, arrived, sender, peer, latest_ns, &send))
			continue;
		/* a host that forwards sees the packet too: the end that owns the socket is the sender */
		bool owner = dtc_links_find_file_of_flow(links, sender, peer, latest_ns) != DTC_NONE;
		if (!found || owner)
			*ret_send = send;
		found = true;
		if (owner || sender == node)
			break;
	}
	return found;
}

static const DtcBareSends *get_bare(const DtcLinks *links)
{
	/* An index is no change that anybody sees. It holds all nodes' packets: who asks meanwhile waits for it. */
	gpointer *slot = (gpointer *)(void *)&links->bare;
	if (g_once_init_enter(slot))
		g_once_init_leave(slot, (gpointer)dtc_bare_sends_new(links->node_count, links->histories));
	return links->bare;
}

/* By its numbers alone: of several sends with the same ones the latest that can have arrived. */
static bool find_bare(const DtcLinks *links, guint node, const struct dtc_packet *received, struct dtc_send *ret_send)
{
	guint count, fitting = 0;
	const struct dtc_bare_send *sends = dtc_bare_sends_find(get_bare(links), received, &count);
	int64_t nearest_ns = INT64_MIN;
	for (guint i = 0; i < count; i++) {
		int64_t at_ns = dtc_packets_read(packets_of(links, sends[i].node), sends[i].packet).time_ns;
		if (at_ns >
		    dtc_links_get_latest_send_ns(links, node, sends[i].node, (DtcNodeTime){ received->time_ns }))
			continue;
		fitting++;
		int64_t cluster_ns = dtc_clocks_to_cluster_ns(links->clocks, sends[i].node, at_ns);
		if (cluster_ns < nearest_ns)
			continue;
		nearest_ns = cluster_ns;
		*ret_send = (struct dtc_send){ .node = sends[i].node,
					       .packet = sends[i].packet,
					       .first = sends[i].packet,
					       .before = sends[i].packet,
					       .copies = 1 };
	}
	ret_send->exact = fitting == 1;
	return fitting > 0;
}

bool dtc_links_find_send(const DtcLinks *links, guint node, uint32_t packet, struct dtc_send *ret_send)
{
	const struct dtc_packet p = dtc_packets_read(packets_of(links, node), packet);
	if (p.flow == DTC_NONE)
		return dtc_packet_is_bare(&p) && find_bare(links, node, &p, ret_send);
	uint32_t span = dtc_packet_get_span(&p);
	/* a datagram has no place among others: one of the same length is another one, and not this one again */
	const struct dtc_flow *flow = dtc_packets_get_flow(packets_of(links, node), p.flow);
	bool has_bytes = span > 0 && flow->protocol == DTC_PROTOCOL_TCP;
	const struct arrived arrived = { node, p.flow, { p.time_ns }, has_bytes, p.seq + span - 1, &p };
	return find_on_nodes(links, &arrived, ret_send);
}

bool dtc_links_find_send_of_byte(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, DtcNodeTime arrival,
				 struct dtc_send *ret_send)
{
	const struct arrived arrived = { node, flow, arrival, true, seq, NULL };
	return find_on_nodes(links, &arrived, ret_send);
}

bool dtc_links_find_isn(const DtcLinks *links, guint node, uint32_t flow, uint32_t *ret_isn)
{
	const DtcPackets *packets = packets_of(links, node);
	const struct dtc_flow *f = dtc_packets_get_flow(packets, flow);
	if (f->has_isn) {
		*ret_isn = f->isn;
		return true;
	}
	struct dtc_flow_place other;
	if (dtc_translations_find(dtc_links_get_translations(links), node, flow, &other)) {
		const struct dtc_flow *there = dtc_packets_get_flow(packets_of(links, other.node), other.flow);
		if (there->has_isn) {
			*ret_isn = there->isn;
			return true;
		}
	}
	guint count;
	const guint *nodes = dtc_flow_nodes_get(dtc_links_get_flow_nodes(links), f, &count);
	for (guint i = 0; i < count; i++) {
		const DtcPackets *others = nodes[i] == node ? NULL : packets_of(links, nodes[i]);
		/* the generation is told by the direction that this node sent itself */
		uint32_t found =
			others ? dtc_endpoint_find_flow(packets, flow, others, false, DTC_TIME_NONE) : DTC_NONE;
		if (found == DTC_NONE)
			continue;
		const struct dtc_flow *there = dtc_packets_get_flow(others, found);
		if (there->has_isn && there->packet_count) {
			*ret_isn = there->isn;
			return true;
		}
	}
	return false;
}

const DtcFileCalls *dtc_links_get_file_calls(const DtcLinks *links, guint node, uint32_t file)
{
	const DtcHistory *h = links->histories[node];
	gpointer *slot = find_slot(links->file_calls, node, dtc_history_get_file_count(h), file);
	const DtcFileCalls *calls = g_atomic_pointer_get(slot);
	return calls ? calls : put(slot, dtc_file_calls_new(h, file), free_file_calls);
}

DtcTurnMarks *dtc_links_get_turn_marks(const DtcLinks *links, guint node)
{
	DtcTurnMarks *marks = g_atomic_pointer_get(&links->turn_marks[node]);
	gpointer *slot = (gpointer *)(void *)&links->turn_marks[node];
	return marks ? marks : put(slot, dtc_turn_marks_new(links->histories[node]), free_turn_marks);
}

DtcDatagrams *dtc_links_get_datagrams(const DtcLinks *links, guint node)
{
	DtcDatagrams *datagrams = g_atomic_pointer_get(&links->datagrams[node]);
	gpointer *slot = (gpointer *)(void *)&links->datagrams[node];
	return datagrams ? datagrams : put(slot, dtc_datagrams_new(links->histories[node]), free_datagrams);
}

static bool is_datagram_flow(const DtcPackets *packets, uint32_t flow)
{
	return flow != DTC_NONE && dtc_packets_get_flow(packets, flow)->protocol == DTC_PROTOCOL_UDP;
}

uint32_t dtc_links_find_file_of_flow(const DtcLinks *links, guint node, uint32_t flow_out, int64_t time_ns)
{
	if (!is_datagram_flow(packets_of(links, node), flow_out))
		return dtc_history_find_file_of_flow(links->histories[node], flow_out);
	uint32_t flow_in = dtc_packets_get_flow(packets_of(links, node), flow_out)->reverse;
	return dtc_datagrams_find_file(dtc_links_get_datagrams(links, node), flow_in, time_ns);
}

bool dtc_links_find_base_in(const DtcLinks *links, guint node, uint32_t file_index, uint32_t *ret_base)
{
	const struct dtc_file *file = dtc_history_get_file(links->histories[node], file_index);
	uint32_t isn;
	if (file->has_base_in) {
		*ret_base = file->base_in;
		return true;
	}
	if (file->flow_in == DTC_NONE ||
	    dtc_packets_get_flow(packets_of(links, node), file->flow_in)->protocol != DTC_PROTOCOL_TCP ||
	    !dtc_links_find_isn(links, node, file->flow_in, &isn))
		return false;
	*ret_base = isn + 1;
	return true;
}

uint32_t dtc_links_find_write(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, int64_t near_ns)
{
	const DtcHistory *h = links->histories[node];
	uint32_t file = dtc_history_find_file_of_flow(h, flow);
	if (file == DTC_NONE || !dtc_history_get_file(h, file)->has_base_out)
		return DTC_NONE;
	uint32_t position = seq - dtc_history_get_file(h, file)->base_out;
	return dtc_file_calls_find_byte(dtc_links_get_file_calls(links, node, file), true, position, near_ns);
}

/* The socket that takes what a flow (remote -> local) brings at a time, or DTC_NONE. */
static uint32_t find_receiving_file(const DtcLinks *links, guint node, uint32_t flow, int64_t time_ns)
{
	return dtc_links_find_file_of_flow(links, node, dtc_packets_get_flow(packets_of(links, node), flow)->reverse,
					   time_ns);
}

uint32_t dtc_links_find_read_of_byte(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, int64_t near_ns)
{
	uint32_t file = find_receiving_file(links, node, flow, near_ns), base;
	if (file == DTC_NONE)
		return DTC_NONE;
	const DtcFileCalls *calls = dtc_links_get_file_calls(links, node, file);
	if (dtc_links_find_base_in(links, node, file, &base))
		return dtc_file_calls_find_byte(calls, false, seq - base, near_ns);
	return dtc_file_calls_find_at(calls, false, near_ns);
}

uint32_t dtc_links_find_read(const DtcLinks *links, guint node, uint32_t packet)
{
	const DtcHistory *h = links->histories[node];
	const struct dtc_packet p = dtc_packets_read(packets_of(links, node), packet);
	uint32_t file =
		p.flow == DTC_NONE || !p.payload_bytes ? DTC_NONE : find_receiving_file(links, node, p.flow, p.time_ns);
	uint32_t base;
	if (file == DTC_NONE)
		return DTC_NONE;
	if (is_datagram_flow(packets_of(links, node), p.flow)) {
		uint32_t read = dtc_datagrams_find_read(dtc_links_get_datagrams(links, node), file, packet).call;
		if (read != DTC_NONE || dtc_history_get_file(h, file)->flow_in != p.flow)
			return read;
	}
	const DtcFileCalls *calls = dtc_links_get_file_calls(links, node, file);
	if (!dtc_links_find_base_in(links, node, file, &base))
		return dtc_file_calls_find_moved(calls, false, p.time_ns);
	uint32_t call = dtc_file_calls_find_byte(calls, false, p.seq + p.payload_bytes - 1 - base, p.time_ns);
	return call == DTC_NONE || dtc_history_copy_call(h, call).end_ns < p.time_ns ? DTC_NONE : call;
}

/* The node's own capture first; what never leaves a machine no other one shows. */
static struct framed *find_framed(const DtcLinks *links, guint node, uint32_t flow, bool is_local)
{
	struct framed *framed = g_new0(struct framed, 1);
	for (guint i = 0; i < links->node_count; i++) {
		guint at = i == 0 ? node : i <= node ? i - 1 : i;
		if (!links->captures[at] || !links->frames[at] || (is_local && at != node))
			continue;
		uint32_t found = dtc_endpoint_find_flow(packets_of(links, node), flow, links->captures[at], at == node,
							DTC_TIME_NONE);
		if (found == DTC_NONE || !dtc_frames_has_flow(links->frames[at], found))
			continue;
		*framed = (struct framed){ links->frames[at], found };
		break;
	}
	return framed;
}

static const struct framed *get_framed(const DtcLinks *links, guint node, uint32_t flow, bool is_local)
{
	guint count = dtc_packets_get_flow_count(packets_of(links, node));
	gpointer *slot = find_slot(links->framed, node, 2 * count, 2 * flow + is_local);
	const struct framed *framed = g_atomic_pointer_get(slot);
	return framed ? framed : put(slot, find_framed(links, node, flow, is_local), g_free);
}

/* The flow on which a call moved bytes, and the first one's sequence number. DTC_NONE: that is not known. */
static uint32_t find_moved(const DtcLinks *links, guint node, const struct dtc_call *call, uint32_t *ret_seq)
{
	const struct dtc_file *file =
		call->file == DTC_NONE ? NULL : dtc_history_get_file(links->histories[node], call->file);
	bool is_write = call->kind == DTC_CALL_WRITE;
	uint32_t flow = !file ? DTC_NONE : is_write ? file->flow_out : file->flow_in, base;
	if (flow == DTC_NONE || call->result <= 0 || call->result == DTC_ABSENT ||
	    (is_write ? !file->has_base_out : !dtc_links_find_base_in(links, node, call->file, &base)))
		return DTC_NONE;
	*ret_seq = (is_write ? file->base_out : base) + (uint32_t)call->offset;
	return flow;
}

const struct dtc_http2_frame *dtc_links_find_frames(const DtcLinks *links, guint node, uint32_t id, uint32_t *ret_seq,
						    guint *ret_count)
{
	if (!links->frames)
		return NULL;
	const struct dtc_call call = dtc_history_copy_call(links->histories[node], id);
	uint32_t flow = find_moved(links, node, &call, ret_seq);
	if (flow == DTC_NONE)
		return NULL;
	const struct framed *framed =
		get_framed(links, node, flow, dtc_endpoint_is_local(links->histories[node], call.file));
	if (!framed->frames)
		return NULL;
	return dtc_frames_find(framed->frames, framed->flow, *ret_seq, (uint32_t)call.result, ret_count);
}

const DtcShingles *dtc_links_get_shingles(const DtcLinks *links, guint node)
{
	return links->shingles ? links->shingles[node] : NULL;
}

uint32_t dtc_links_find_flow_of_shingles(const DtcLinks *links, guint node, uint32_t flow)
{
	return flow == DTC_NONE || !dtc_links_get_shingles(links, node)
		       ? DTC_NONE
		       : dtc_endpoint_find_flow(packets_of(links, node), flow, links->captures[node], true,
						DTC_TIME_NONE);
}

const struct dtc_shingle *dtc_links_find_shingles(const DtcLinks *links, guint node, uint32_t id, guint *ret_count)
{
	const DtcShingles *shingles = dtc_links_get_shingles(links, node);
	*ret_count = 0;
	if (!shingles)
		return NULL;
	const struct dtc_call call = dtc_history_copy_call(links->histories[node], id);
	uint32_t seq, flow = find_moved(links, node, &call, &seq);
	if (flow == DTC_NONE)
		return NULL;
	uint32_t found = dtc_links_find_flow_of_shingles(links, node, flow);
	return found == DTC_NONE ? NULL : dtc_shingles_find(shingles, found, seq, (uint32_t)call.result, ret_count);
}

uint32_t dtc_links_find_shingle_flow(const DtcLinks *links, guint node, const struct dtc_shingle *shingle)
{
	return dtc_endpoint_find_flow(links->captures[node], shingle->flow, packets_of(links, node), true,
				      DTC_TIME_NONE);
}

bool dtc_links_find_peer(const DtcLinks *links, guint node, uint32_t file, int64_t node_ns, guint *ret_node,
			 uint32_t *ret_file)
{
	if (dtc_endpoint_has_local_peer(links->histories[node], file)) {
		*ret_node = node;
		*ret_file = dtc_history_get_file(links->histories[node], file)->peer;
		return true;
	}
	uint32_t flow = dtc_history_get_file(links->histories[node], file)->flow_in;
	if (flow == DTC_NONE)
		return false;
	const DtcPackets *here = packets_of(links, node);
	DtcClusterTime at = dtc_clocks_to_cluster(links->clocks, node, (DtcNodeTime){ node_ns });
	struct dtc_flow_place other;
	if (dtc_translations_find(dtc_links_get_translations(links), node, flow, &other)) {
		*ret_node = other.node;
		*ret_file = dtc_history_find_file_of_flow(links->histories[other.node], other.flow);
		return true;
	}
	guint count;
	const guint *nodes =
		dtc_flow_nodes_get(dtc_links_get_flow_nodes(links), dtc_packets_get_flow(here, flow), &count);
	for (guint k = 0; k < count; k++) {
		guint i = nodes[k];
		const DtcPackets *there = packets_of(links, i);
		if (!there || dtc_packets_get_flow(here, flow)->protocol != DTC_PROTOCOL_TCP)
			continue;
		bool aligned = dtc_clocks_get_group(links->clocks, node) == dtc_clocks_get_group(links->clocks, i);
		int64_t there_ns = aligned ? dtc_clocks_to_node(links->clocks, i, at).ns : DTC_TIME_NONE;
		/* the peer sends by what this end receives by; over loopback both are flows of one node */
		uint32_t out = i == node ? flow : dtc_endpoint_find_flow(here, flow, there, false, there_ns);
		uint32_t found = out == DTC_NONE ? DTC_NONE : dtc_history_find_file_of_flow(links->histories[i], out);
		if (found == DTC_NONE || (i == node && found == file))
			continue;
		*ret_node = i;
		*ret_file = found;
		return true;
	}
	return false;
}
