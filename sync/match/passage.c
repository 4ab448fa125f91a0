/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/passage.h"

#include "collect/packets/records.h"
#include "sync/match/keyed.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Interfaces beyond these on one flow are not counted: no packet passes more devices. */
#define MAX_INTERFACES 32
/* Packets of a long stream that are asked in which round of its numbers they were sent, and how many must answer. */
#define WITNESSES 4096
#define WITNESSES_LEAST 3

static bool is_loopback_interface(const DtcPackets *packets, uint16_t interface)
{
	return strcmp(dtc_packets_get_interface(packets, interface), "lo") == 0;
}

static const int64_t powers[DTC_PASSAGE_ZEROS_MAX + 1] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

static enum dtc_direction get_direction(const struct dtc_passage *passage)
{
	return passage->is_received ? DTC_RECEIVED : DTC_SENT;
}

/* All of a flow's packets went in the same direction through the same interface. */
static bool is_seen_once(struct dtc_flow_seen seen)
{
	return !seen.is_on_many && (seen.directions & (seen.directions - 1)) == 0;
}

void dtc_passage_choose_interface(struct dtc_passage *passage, const DtcPackets *packets, bool is_inside)
{
	struct {
		uint16_t interface;
		uint32_t count;
		uint32_t last; /* place of its latest packet in the flow */
		uint32_t first;
	} found[MAX_INTERFACES];
	guint found_count = 0, zeros = DTC_PASSAGE_ZEROS_MAX;
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, passage->flow);
	const struct dtc_flow_seen seen = dtc_packets_get_flow_seen(packets, passage->flow);
	passage->zeros = DTC_PASSAGE_ZEROS_MAX;
	passage->packet_count = 0;
	if (!(seen.directions >> get_direction(passage) & 1))
		return;
	bool is_plain = is_seen_once(seen);
	/* of a flow that is seen in one place only times are looked at, until one of them ends in no zero */
	for (uint32_t i = 0; i < flow->packet_count && (!is_plain || i == 0 || zeros); i++) {
		const struct dtc_packet packet =
			dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, i));
		if (packet.direction != get_direction(passage))
			continue;
		while (zeros && packet.time_ns % powers[zeros])
			zeros--;
		guint k = 0;
		while (k < found_count && found[k].interface != packet.interface)
			k++;
		if (k == MAX_INTERFACES)
			continue;
		if (k == found_count) {
			found[k].interface = packet.interface;
			found[k].count = 0;
			found[k].first = i;
			found_count++;
		}
		found[k].count++;
		found[k].last = i;
	}
	passage->zeros = zeros;
	if (is_plain) {
		found[0].count = flow->packet_count;
		found[0].last = flow->packet_count - 1;
	}
	uint32_t best_place = 0;
	/* of those sent the outermost is, and of those received the innermost */
	bool is_latest = passage->is_received == is_inside;
	for (guint k = 0; k < found_count; k++) {
		if (is_loopback_interface(packets, found[k].interface))
			continue;
		uint32_t place = is_latest ? found[k].last : found[k].first;
		bool is_better = is_latest ? place > best_place : place < best_place;
		if (found[k].count > passage->packet_count || (found[k].count == passage->packet_count && is_better)) {
			passage->packet_count = found[k].count;
			passage->interface = found[k].interface;
			best_place = place;
		}
	}
}

__attribute__((always_inline)) static inline struct dtc_packet get_packet(const struct dtc_sightings *sightings,
									  guint index)
{
	return dtc_packets_read(sightings->packets, DTC_AT(sightings->seen, struct dtc_seen, index)->packet);
}

static uint32_t get_mark(const struct dtc_sightings *sightings, guint index)
{
	return dtc_packets_get_mark(sightings->packets, DTC_AT(sightings->seen, struct dtc_seen, index)->packet);
}

static struct dtc_seen *get_seen(const struct dtc_sightings *sightings, guint index)
{
	return DTC_AT(sightings->seen, struct dtc_seen, index);
}

/* Those that have no time of the node are not among the sightings. */
static int64_t get_safe_ns(const struct dtc_sightings *sightings, guint index, int64_t time_ns)
{
	if (sightings->safe_ns)
		return sightings->safe_ns[DTC_AT(sightings->seen, struct dtc_seen, index)->packet];
	if (sightings->relation)
		(void)dtc_relation_to_node(sightings->relation, time_ns, &time_ns);
	return time_ns + sightings->shift_ns;
}

int64_t dtc_sightings_get_safe_ns(const struct dtc_sightings *sightings, guint index)
{
	return get_safe_ns(sightings, index, get_packet(sightings, index).time_ns);
}

/*
 * Headers that may be another packet's have their part in what was sent more than once, but no bound of a clock is
 * drawn from them.
 */
static void add_message(const struct dtc_sightings *sent, guint i, const struct dtc_sightings *received, guint k,
			DtcTable *messages)
{
	const struct dtc_packet from = get_packet(sent, i), to = get_packet(received, k);
	const struct dtc_message message = { get_safe_ns(sent, i, from.time_ns), get_safe_ns(received, k, to.time_ns) };

	if (!from.is_inferred && !to.is_inferred)
		dtc_table_append(messages, &message);
}

struct tie {
	const DtcPackets *packets;
	uint32_t base;
};

static int compare_tied(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct tie *tie = data;
	const struct dtc_packet p = dtc_packets_read(tie->packets, ((const struct dtc_seen *)left)->packet);
	const struct dtc_packet q = dtc_packets_read(tie->packets, ((const struct dtc_seen *)right)->packet);
	int32_t p_distance = dtc_seq_distance(tie->base, p.seq), q_distance = dtc_seq_distance(tie->base, q.seq);
	if (p_distance != q_distance)
		return p_distance < q_distance ? -1 : 1;
	if (p.payload_bytes != q.payload_bytes)
		return p.payload_bytes < q.payload_bytes ? -1 : 1;
	return p.ack < q.ack ? -1 : p.ack > q.ack;
}

void dtc_passage_order_tie(const DtcPackets *packets, DtcTable *seen, guint begin, guint end)
{
	struct dtc_seen *first = DTC_AT(seen, struct dtc_seen, begin);
	if (end - begin < 2)
		return;
	struct tie tie = { packets, dtc_packets_read(packets, first->packet).seq };
	g_qsort_with_data(first, (gint)(end - begin), sizeof(*first), compare_tied, &tie);
}

/* A send may not look later, a receive not earlier than it was. */
static int64_t get_shift_ns(const struct dtc_passage *passage, const struct dtc_relation *relation)
{
	int64_t error_ns = relation ? relation->error_ns : 0;
	int64_t coarse_ns = passage->is_capture && passage->is_received ? powers[passage->zeros] - 1 : 0;
	return coarse_ns + (passage->is_received ? error_ns : -error_ns);
}

struct dtc_sightings dtc_passage_get_seen(const struct dtc_passage *passage, const DtcPackets *packets,
					  const struct dtc_relation *relation, guint limit, DtcTable *seen)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, passage->flow);
	guint begin = seen->len, end = begin, tie = begin, last = begin + MIN(passage->packet_count, limit);
	bool is_plain = is_seen_once(dtc_packets_get_flow_seen(packets, passage->flow));
	int64_t tie_ns = INT64_MIN; /* of those from tie on */
	dtc_table_extend(seen, last - begin);
	for (uint32_t i = 0; i < flow->packet_count && end < last; i++) {
		uint32_t id = dtc_packets_read_flow_packet(packets, flow, i);
		const struct dtc_packet packet = dtc_packets_read(packets, id);
		if (!is_plain && (packet.direction != get_direction(passage) || packet.interface != passage->interface))
			continue;
		int64_t ns = packet.time_ns;
		if (relation && !dtc_relation_to_node(relation, ns, &ns))
			continue;
		if (ns != tie_ns) {
			dtc_passage_order_tie(packets, seen, tie, end);
			tie = end;
			tie_ns = ns;
		}
		*DTC_AT(seen, struct dtc_seen, end++) = (struct dtc_seen){ .packet = id };
	}
	dtc_passage_order_tie(packets, seen, tie, end);
	dtc_table_set_length(seen, end);
	return (struct dtc_sightings){
		.packets = packets, .seen = seen, .relation = relation, .shift_ns = get_shift_ns(passage, relation)
	};
}

/* --- byte ranges of a TCP stream ------------------------------------------------------------------------------- */

struct segment {
	int64_t begin; /* position in the stream, sequence numbers unwrapped */
	uint32_t span;
	uint32_t sent : 31;    /* index of the first send of these bytes */
	uint32_t repeated : 1; /* some byte of it was sent again */
};
_Static_assert(sizeof(struct segment) == 16, "one per packet of a flow");

/* Where the numbers of one side go on past 2^32. */
struct unwrapped {
	uint32_t base;
	int64_t position;
};

static int64_t unwrap(struct unwrapped *unwrapped, uint32_t seq)
{
	unwrapped->position += dtc_seq_distance(unwrapped->base + (uint32_t)unwrapped->position, seq);
	return unwrapped->position;
}

static int64_t get_end(const struct segment *segment)
{
	return segment->begin + segment->span;
}

/* So many segments beyond the last one are looked at before all of them are searched. */
#define SEGMENTS_AHEAD 4

/* The first segment that ends after position. What is looked for next most often lies at near, or soon behind it. */
static guint find_segment(const DtcTable *segments, int64_t position, guint near)
{
	const struct segment *all = DTC_AT(segments, struct segment, 0);
	if (near < segments->len && (near == 0 || get_end(&all[near - 1]) <= position)) {
		guint end = MIN(near + SEGMENTS_AHEAD, segments->len);
		while (near < end && get_end(&all[near]) <= position)
			near++;
		if (near < end || near == segments->len)
			return near;
	}
	return DTC_BISECT(i, 0, segments->len, get_end(&all[i]) <= position);
}

/*
 * Sends in time order make segments in stream order: what lies beyond all earlier sends is new, the rest repeats bytes
 * and makes them ambiguous.
 */
static void collect_segments(const struct dtc_sightings *sent, uint32_t base, DtcTable *segments,
			     struct dtc_passage_result *result)
{
	struct unwrapped unwrapped = { base, 0 };
	int64_t top = INT64_MIN;
	for (guint i = 0; i < sent->seen->len; i++) {
		const struct dtc_packet packet = get_packet(sent, i);
		uint32_t span = dtc_packet_get_span(&packet);
		if (!span)
			continue;
		int64_t position = unwrap(&unwrapped, packet.seq), end = position + span;
		if (end > top) {
			int64_t begin = MAX(position, top);
			struct segment segment = { begin, (uint32_t)(end - begin), i & G_MAXINT32, 0 };
			dtc_table_append(segments, &segment);
		}
		if (position < top) {
			result->ambiguous_sent++;
			get_seen(sent, i)->matched = true;
			for (guint k = find_segment(segments, position, 0); k < segments->len; k++) {
				struct segment *segment = DTC_AT(segments, struct segment, k);
				if (segment->begin >= end)
					break;
				segment->repeated = 1;
			}
		}
		top = MAX(top, end);
	}
}

/* How many bytes of the stream lie between the first and the last that this side saw. */
static int64_t get_extent(const struct dtc_sightings *sightings)
{
	int64_t top = INT64_MIN, bottom = INT64_MAX;
	struct unwrapped unwrapped = { sightings->seen->len ? get_packet(sightings, 0).seq : 0, 0 };
	for (guint i = 0; i < sightings->seen->len; i++) {
		const struct dtc_packet packet = get_packet(sightings, i);
		uint32_t span = dtc_packet_get_span(&packet);
		if (!span)
			continue;
		int64_t position = unwrap(&unwrapped, packet.seq);
		top = MAX(top, position + span);
		bottom = MIN(bottom, position);
	}
	return top > bottom ? top - bottom : 0;
}

static bool is_syn(const struct dtc_sightings *sightings)
{
	return get_packet(sightings, 0).tcp_flags & DTC_TCP_SYN;
}

/* A packet whose fields tell in which round of the numbers it was sent. */
struct witness {
	guint64 key;
	int64_t position;
	guint side; /* 0 sent, 1 received */
};

static int compare_witnesses(gconstpointer left, gconstpointer right)
{
	const struct witness *p = left, *q = right;
	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	return (int)p->side - (int)q->side;
}

static guint64 scatter(guint64 hash, guint64 value)
{
	hash = (hash ^ value) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
	return hash ^ (hash >> 32);
}

/*
 * Packets for which the hash of their fields is below a limit, so that both sides choose the same ones. The IP id, what
 * they acknowledge and their timestamp tell rounds apart.
 */
static void collect_witnesses(const struct dtc_sightings *sightings, uint32_t base, guint side, guint64 limit,
			      GArray *witnesses)
{
	struct unwrapped unwrapped = { base, 0 };
	for (guint i = 0; i < sightings->seen->len; i++) {
		const struct dtc_packet packet = get_packet(sightings, i);
		if (!dtc_packet_get_span(&packet))
			continue;
		int64_t position = unwrap(&unwrapped, packet.seq);
		guint64 key = scatter(0x2545f491, (guint64)packet.seq << 32 | packet.ack);
		key = scatter(key, (guint64)packet.ip_id << 16 | packet.window);
		struct witness witness = { key, position, side };
		if (key <= limit)
			g_array_append_val(witnesses, witness);
	}
}

/*
 * Positions at both ends agree only modulo 2^32. Of a stream that is longer than half of that, and whose begin one side
 * did not see, packets of which every field is the same on both sides tell the difference, if nine in ten agree on it.
 */
static bool find_rounds(const struct dtc_sightings *sent, const struct dtc_sightings *received, uint32_t base,
			int64_t *ret_shift)
{
	guint64 share = MAX(1, (MAX(sent->seen->len, received->seen->len)) / WITNESSES);
	g_autoptr(GArray) witnesses = g_array_new(FALSE, FALSE, sizeof(struct witness));
	g_autoptr(GArray) shifts = g_array_new(FALSE, FALSE, sizeof(int64_t));
	collect_witnesses(sent, base, 0, G_MAXUINT64 / share, witnesses);
	collect_witnesses(received, base, 1, G_MAXUINT64 / share, witnesses);
	g_array_sort(witnesses, compare_witnesses);
	for (guint i = 0, next; i < witnesses->len; i = next) {
		const struct witness *both = &g_array_index(witnesses, struct witness, i);
		for (next = i + 1; next < witnesses->len; next++)
			if (both[next - i].key != both->key)
				break;
		int64_t shift = next - i == 2 ? both[0].position - both[1].position : 0;
		if (next - i == 2 && both[0].side == 0 && both[1].side == 1 && shift % ((int64_t)1 << 32) == 0)
			g_array_append_val(shifts, shift);
	}
	guint agreed = 0;
	for (guint i = 0; i < shifts->len; i++) { /* a majority, if there is one, survives */
		int64_t shift = g_array_index(shifts, int64_t, i);
		if (!agreed)
			*ret_shift = shift;
		agreed = shift == *ret_shift ? agreed + 1 : agreed - 1;
	}
	agreed = 0;
	for (guint i = 0; i < shifts->len; i++)
		agreed += g_array_index(shifts, int64_t, i) == *ret_shift;
	return agreed >= WITNESSES_LEAST && agreed * 10 >= shifts->len * 9;
}

/*
 * The first send of a byte precedes every receive of it. Of all pairs that a received segment allows, the latest first
 * send is the tightest; of all receives that end with the same send, the first.
 */
static void compare_ranges(const struct dtc_sightings *sent, const struct dtc_sightings *received,
			   struct dtc_passage_lists *lists, struct dtc_passage_result *result)
{
	if (!sent->seen->len || !received->seen->len)
		return;
	DtcTable *segments = lists->segments;
	dtc_table_set_length(segments, 0);
	uint32_t base = get_packet(sent, 0).seq;
	collect_segments(sent, base, segments, result);
	bool both_from_start = is_syn(sent) && is_syn(received);
	int64_t shift = 0, received_top = INT64_MIN;
	bool is_usable = both_from_start || (get_extent(sent) < INT32_MAX && get_extent(received) < INT32_MAX) ||
			 find_rounds(sent, received, base, &shift);
	struct unwrapped unwrapped = { base, 0 };
	guint last_segment = G_MAXUINT, near = 0;
	for (guint i = 0; i < received->seen->len; i++) {
		const struct dtc_packet packet = get_packet(received, i);
		uint32_t span = dtc_packet_get_span(&packet);
		if (!span)
			continue;
		int64_t position = unwrap(&unwrapped, packet.seq) + shift, end = position + span;
		guint first = find_segment(segments, position, near), k = first;
		near = first;
		bool repeated = !is_usable || end <= received_top;
		for (; k < segments->len && DTC_AT(segments, struct segment, k)->begin < end; k++)
			repeated |= DTC_AT(segments, struct segment, k)->repeated;
		received_top = MAX(received_top, end);
		if (k == first)
			continue; /* bytes that nobody was seen to send */
		get_seen(received, i)->matched = true;
		for (guint n = first; n < k; n++)
			get_seen(sent, DTC_AT(segments, struct segment, n)->sent)->matched = true;
		if (repeated) {
			result->ambiguous_received++;
			continue;
		}
		if (k - 1 != last_segment)
			add_message(sent, DTC_AT(segments, struct segment, k - 1)->sent, received, i, lists->messages);
		last_segment = k - 1;
	}
}

/* --- whole packets by their key -------------------------------------------------------------------------------- */

/*
 * What two sightings of one packet have in common; what a side does not know is left out on both. A hash brings equal
 * packets together; whether two are equal the fields decide.
 */
struct key_fields {
	struct dtc_sightings sides[2]; /* sent, received */
	bool is_tcp;
	bool has_marks;
};

static void gather_fields(const struct key_fields *fields, const struct dtc_packet *packet,
			  const struct dtc_keyed *keyed, guint64 ret_fields[3])
{
	ret_fields[0] = (guint64)packet->seq << 32 | packet->ack;
	ret_fields[1] = (guint64)packet->payload_bytes << 32 | (guint64)packet->ip_id << 16 |
			(fields->is_tcp ? packet->window : 0);
	ret_fields[2] = (guint64)(fields->is_tcp ? packet->tcp_flags : 0) << 32;
	if (fields->has_marks)
		ret_fields[2] |= get_mark(&fields->sides[keyed->side], keyed->index);
}

static void get_fields(const struct key_fields *fields, const struct dtc_keyed *keyed, guint64 ret_fields[3])
{
	const struct dtc_packet packet = get_packet(&fields->sides[keyed->side], keyed->index);
	gather_fields(fields, &packet, keyed, ret_fields);
}

static bool have_equal_fields(const struct key_fields *fields, const struct dtc_keyed *p, const struct dtc_keyed *q)
{
	guint64 left[3], right[3];
	get_fields(fields, p, left);
	get_fields(fields, q, right);
	return memcmp(left, right, sizeof(left)) == 0;
}

static void collect_keyed(const struct key_fields *fields, guint side, bool has_ranges, DtcTable *keyed)
{
	const struct dtc_sightings *sightings = &fields->sides[side];
	for (guint i = 0; i < sightings->seen->len; i++) {
		struct dtc_keyed item = { .index = i, .side = side };
		guint64 values[3];
		const struct dtc_packet packet = get_packet(sightings, i);
		if (has_ranges && dtc_packet_get_span(&packet))
			continue;
		gather_fields(fields, &packet, &item, values);
		item.key = scatter(scatter(scatter(0x9e3779b9, values[0]), values[1]), values[2]);
		dtc_table_append(keyed, &item);
	}
}

/* Captures know payloads and timestamps, kernel events do not: compare them only if both sides have them. */
static bool have_marks(const struct dtc_sightings *sightings, bool is_tcp)
{
	for (guint i = 0; i < sightings->seen->len; i++) {
		const struct dtc_packet packet = get_packet(sightings, i);
		bool needs = is_tcp || packet.payload_bytes;
		if ((is_tcp && !packet.has_timestamps) || (needs && !get_mark(sightings, i)))
			return false;
	}
	return true;
}

static void compare_keys(const struct dtc_sightings *sent, const struct dtc_sightings *received, uint8_t protocol,
			 bool has_ranges, struct dtc_passage_lists *lists, struct dtc_passage_result *result)
{
	struct key_fields fields = { .sides = { *sent, *received }, .is_tcp = protocol == DTC_PROTOCOL_TCP };
	fields.has_marks = have_marks(sent, fields.is_tcp) && have_marks(received, fields.is_tcp);
	DtcTable *keyed = lists->keyed;
	dtc_table_set_length(keyed, 0);
	collect_keyed(&fields, 0, has_ranges, keyed);
	collect_keyed(&fields, 1, has_ranges, keyed);
	if (!keyed->len)
		return;
	dtc_table_reserve(lists->sorted, keyed->len);
	dtc_keyed_sort(DTC_AT(keyed, struct dtc_keyed, 0), keyed->len, DTC_AT(lists->sorted, struct dtc_keyed, 0));
	for (guint i = 0, next; i < keyed->len; i = next) {
		const struct dtc_keyed *items = DTC_AT(keyed, struct dtc_keyed, i);
		for (next = i + 1; next < keyed->len; next++)
			if (items[next - i].key != items->key)
				break;
		guint count = next - i, sides[2] = { 0, 0 };
		for (guint k = 0; k < count; k++)
			sides[items[k].side]++;
		if (!sides[0] || !sides[1])
			continue; /* never arrived, or never seen to leave */
		for (guint k = 0; k < count; k++)
			get_seen(&fields.sides[items[k].side], items[k].index)->matched = true;
		/* a hash that two packets share by chance is as good as a key that does: doubtful */
		if (sides[0] == 1 && sides[1] == 1 && have_equal_fields(&fields, &items[0], &items[1])) {
			add_message(sent, items[0].index, received, items[1].index, lists->messages);
		} else {
			result->ambiguous_sent += sides[0];
			result->ambiguous_received += sides[1];
		}
	}
}

void dtc_passage_lists_init(struct dtc_passage_lists *lists, DtcSpace *space)
{
	*lists = (struct dtc_passage_lists){
		.messages = dtc_table_new_in(sizeof(struct dtc_message), DTC_SEEN_BYTES, space),
		.segments = dtc_table_new_in(sizeof(struct segment), DTC_SEEN_BYTES, space),
		.keyed = dtc_table_new_in(sizeof(struct dtc_keyed), DTC_SEEN_BYTES, space),
		.sorted = dtc_table_new_in(sizeof(struct dtc_keyed), DTC_SEEN_BYTES, space),
	};
}

void dtc_passage_lists_finish(struct dtc_passage_lists *lists)
{
	g_clear_pointer(&lists->segments, dtc_table_free);
	g_clear_pointer(&lists->keyed, dtc_table_free);
	g_clear_pointer(&lists->sorted, dtc_table_free);
}

void dtc_passage_lists_clear(struct dtc_passage_lists *lists)
{
	dtc_passage_lists_finish(lists);
	g_clear_pointer(&lists->messages, dtc_table_free);
}

static guint64 count_unmatched(const struct dtc_sightings *sightings)
{
	guint64 count = 0;
	for (guint i = 0; i < sightings->seen->len; i++)
		count += !get_seen(sightings, i)->matched;
	return count;
}

void dtc_passage_compare(const struct dtc_sightings *sent, const struct dtc_sightings *received, uint8_t protocol,
			 bool has_ranges, struct dtc_passage_lists *lists, struct dtc_passage_result *ret_result)
{
	struct dtc_passage_result result = { 0 };
	if (has_ranges)
		compare_ranges(sent, received, lists, &result);
	compare_keys(sent, received, protocol, has_ranges, lists, &result);
	result.unmatched_sent = count_unmatched(sent);
	result.unmatched_received = count_unmatched(received);
	*ret_result = result;
}
