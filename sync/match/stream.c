/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/stream.h"

#include <string.h>

#define PROTOCOL_TCP 6
/* Interfaces beyond these on one flow are not counted: no packet passes more devices. */
#define MAX_INTERFACES 32

static bool is_loopback_interface(const DtcPackets *packets, uint16_t interface)
{
	return strcmp(dtc_packets_get_interface(packets, interface), "lo") == 0;
}

void dtc_stream_choose_interface(struct dtc_stream *stream)
{
	struct {
		uint16_t interface;
		uint32_t count;
		uint32_t last; /* place of its latest packet in the flow */
		uint32_t first;
	} found[MAX_INTERFACES];
	guint found_count = 0;
	const struct dtc_flow *flow = dtc_packets_get_flow(stream->packets, stream->flow);
	const uint32_t *ids = dtc_packets_get_flow_packets(stream->packets, stream->flow);
	for (uint32_t i = 0; i < flow->packet_count; i++) {
		const struct dtc_packet *packet = dtc_packets_get(stream->packets, ids[i]);
		if (packet->direction != stream->direction)
			continue;
		guint k = 0;
		while (k < found_count && found[k].interface != packet->interface)
			k++;
		if (k == MAX_INTERFACES)
			continue;
		if (k == found_count) {
			found[k].interface = packet->interface;
			found[k].count = 0;
			found[k].first = i;
			found_count++;
		}
		found[k].count++;
		found[k].last = i;
	}
	stream->packet_count = 0;
	uint32_t best_place = 0;
	for (guint k = 0; k < found_count; k++) {
		if (is_loopback_interface(stream->packets, found[k].interface))
			continue;
		bool outermost = stream->direction == DTC_SENT ? found[k].last > best_place
								: found[k].first < best_place;
		if (found[k].count > stream->packet_count || (found[k].count == stream->packet_count && outermost)) {
			stream->packet_count = found[k].count;
			stream->interface = found[k].interface;
			best_place = stream->direction == DTC_SENT ? found[k].last : found[k].first;
		}
	}
}

static int compare_tied(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct dtc_seen *p = left, *q = right;
	const uint32_t *base = data;
	int32_t p_distance = dtc_seq_distance(*base, p->seq), q_distance = dtc_seq_distance(*base, q->seq);
	if (p_distance != q_distance)
		return p_distance < q_distance ? -1 : 1;
	if (p->payload_bytes != q->payload_bytes)
		return p->payload_bytes < q->payload_bytes ? -1 : 1;
	return p->ack < q->ack ? -1 : p->ack > q->ack;
}

/*
 * Packets with the same stamp (coarse clocks, several CPUs) come in any order; in the stream's order the later ones do
 * not look like repetitions of bytes that went before.
 */
static void order_ties(GArray *seen, guint begin)
{
	for (guint next; begin < seen->len; begin = next) {
		struct dtc_seen *first = &g_array_index(seen, struct dtc_seen, begin);
		uint32_t base = first->seq;
		for (next = begin + 1; next < seen->len; next++)
			if (g_array_index(seen, struct dtc_seen, next).ns != first->ns)
				break;
		if (next - begin > 1)
			g_qsort_with_data(first, (gint)(next - begin), sizeof(*first), compare_tied, &base);
	}
}

void dtc_stream_get_seen(const struct dtc_stream *stream, GArray *seen)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(stream->packets, stream->flow);
	const uint32_t *ids = dtc_packets_get_flow_packets(stream->packets, stream->flow);
	guint begin = seen->len;
	for (uint32_t i = 0; i < flow->packet_count; i++) {
		const struct dtc_packet *packet = dtc_packets_get(stream->packets, ids[i]);
		if (packet->direction != stream->direction || packet->interface != stream->interface)
			continue;
		int64_t ns = packet->time_ns;
		if (stream->relation) {
			if (!dtc_relation_to_node(stream->relation, ns, &ns))
				continue;
			/* a send may not look later, a receive not earlier than it was */
			ns += stream->direction == DTC_SENT ? -stream->relation->error_ns : stream->relation->error_ns;
		}
		struct dtc_seen item = {
			.ns = ns,
			.seq = packet->seq,
			.ack = packet->ack,
			.payload_bytes = packet->payload_bytes,
			.payload_hash = packet->payload_hash,
			.tsval = packet->has_timestamps ? packet->tsval : 0,
			.ip_id = packet->ip_id,
			.window = packet->window,
			.tcp_flags = packet->tcp_flags,
		};
		g_array_append_val(seen, item);
	}
	order_ties(seen, begin);
}

/* --- byte ranges of a TCP stream ------------------------------------------------------------------------------- */

struct segment {
	int64_t begin; /* position in the stream, sequence numbers unwrapped */
	int64_t end;
	int64_t ns; /* first send of these bytes */
	struct dtc_seen *packet;
	bool repeated; /* some byte of it was sent again */
};

static uint32_t get_span(const struct dtc_seen *seen)
{
	return seen->payload_bytes + !!(seen->tcp_flags & DTC_TCP_SYN) + !!(seen->tcp_flags & DTC_TCP_FIN);
}

/* The first segment that ends after position. */
static guint find_segment(const GArray *segments, int64_t position)
{
	guint low = 0, high = segments->len;
	while (low < high) {
		guint middle = low + (high - low) / 2;
		if (g_array_index(segments, struct segment, middle).end > position)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Sends in time order make segments in stream order: what lies beyond all earlier sends is new, the rest repeats bytes
 * and makes them ambiguous.
 */
static int64_t collect_segments(GArray *sent, uint32_t base, GArray *segments, struct dtc_stream_result *result)
{
	int64_t position = 0, top = INT64_MIN, bottom = INT64_MAX;
	for (guint i = 0; i < sent->len; i++) {
		struct dtc_seen *packet = &g_array_index(sent, struct dtc_seen, i);
		uint32_t span = get_span(packet);
		if (!span)
			continue;
		position += dtc_seq_distance(base + (uint32_t)position, packet->seq);
		int64_t end = position + span;
		if (end > top) {
			struct segment segment = { MAX(position, top), end, packet->ns, packet, false };
			g_array_append_val(segments, segment);
		}
		if (position < top) {
			result->ambiguous_sent++;
			packet->matched = true;
			for (guint k = find_segment(segments, position); k < segments->len; k++) {
				struct segment *segment = &g_array_index(segments, struct segment, k);
				if (segment->begin >= end)
					break;
				segment->repeated = true;
			}
		}
		top = MAX(top, end);
		bottom = MIN(bottom, position);
	}
	return segments->len ? top - bottom : 0;
}

/*
 * The first send of a byte precedes every receive of it. Of all pairs that a received segment allows, the latest first
 * send is the tightest; of all receives that end with the same send, the first.
 */
static void compare_ranges(GArray *sent, GArray *received, DtcMatches *matches, guint sent_by, guint received_by,
			   struct dtc_stream_result *result)
{
	if (!sent->len || !received->len)
		return;
	g_autoptr(GArray) segments = g_array_new(FALSE, FALSE, sizeof(struct segment));
	uint32_t base = g_array_index(sent, struct dtc_seen, 0).seq;
	int64_t extent = collect_segments(sent, base, segments, result);
	/*
	 * Positions at both ends agree only modulo 2^32. Within half of that the nearest is right; a longer stream
	 * must have been seen from its SYN on by both.
	 */
	bool both_from_start = (g_array_index(sent, struct dtc_seen, 0).tcp_flags & DTC_TCP_SYN) &&
			       (g_array_index(received, struct dtc_seen, 0).tcp_flags & DTC_TCP_SYN);
	bool is_usable = both_from_start || extent < INT32_MAX;
	int64_t position = 0, received_top = INT64_MIN;
	guint last_segment = G_MAXUINT;
	for (guint i = 0; i < received->len; i++) {
		struct dtc_seen *packet = &g_array_index(received, struct dtc_seen, i);
		uint32_t span = get_span(packet);
		if (!span)
			continue;
		position += dtc_seq_distance(base + (uint32_t)position, packet->seq);
		int64_t end = position + span;
		guint first = find_segment(segments, position), k = first;
		bool repeated = !is_usable || end <= received_top;
		for (; k < segments->len && g_array_index(segments, struct segment, k).begin < end; k++)
			repeated |= g_array_index(segments, struct segment, k).repeated;
		received_top = MAX(received_top, end);
		if (k == first)
			continue; /* bytes that nobody was seen to send */
		packet->matched = true;
		if (repeated) {
			result->ambiguous_received++;
			for (guint n = first; n < k; n++)
				g_array_index(segments, struct segment, n).packet->matched = true;
			continue;
		}
		for (guint n = first; n < k; n++)
			g_array_index(segments, struct segment, n).packet->matched = true;
		if (k - 1 != last_segment)
			dtc_matches_add(matches, sent_by, received_by,
					g_array_index(segments, struct segment, k - 1).ns, packet->ns);
		last_segment = k - 1;
	}
}

/* --- whole packets by their key -------------------------------------------------------------------------------- */

struct keyed {
	guint64 key[3];
	struct dtc_seen *packet;
	guint side; /* 0 sent, 1 received */
};

static int compare_keyed(gconstpointer left, gconstpointer right, gpointer data)
{
	(void)data;
	const struct keyed *p = left, *q = right;
	for (guint i = 0; i < 3; i++)
		if (p->key[i] != q->key[i])
			return p->key[i] < q->key[i] ? -1 : 1;
	return (int)p->side - (int)q->side;
}

static void collect_keyed(GArray *seen, guint side, uint8_t protocol, bool has_ranges, bool has_hash, bool has_tsval,
			  GArray *keyed)
{
	for (guint i = 0; i < seen->len; i++) {
		struct dtc_seen *packet = &g_array_index(seen, struct dtc_seen, i);
		if (has_ranges && get_span(packet))
			continue;
		struct keyed item = { .packet = packet, .side = side };
		item.key[0] = (guint64)packet->seq << 32 | packet->ack;
		item.key[1] = (guint64)packet->payload_bytes << 32 | (guint64)packet->ip_id << 16 |
			      (protocol == PROTOCOL_TCP ? packet->window : 0);
		item.key[2] = (guint64)(protocol == PROTOCOL_TCP ? packet->tcp_flags : 0) << 32;
		if (has_hash)
			item.key[2] |= packet->payload_hash;
		else if (has_tsval)
			item.key[2] |= packet->tsval;
		g_array_append_val(keyed, item);
	}
}

/* Captures know payloads and timestamps, kernel events do not: compare them only if both sides have them. */
static bool have_all(const GArray *seen, bool hash)
{
	for (guint i = 0; i < seen->len; i++) {
		const struct dtc_seen *packet = &g_array_index(seen, struct dtc_seen, i);
		if (hash ? packet->payload_bytes && !packet->payload_hash : !packet->tsval)
			return false;
	}
	return true;
}

static void compare_keys(GArray *sent, GArray *received, uint8_t protocol, bool has_ranges, DtcMatches *matches,
			 guint sent_by, guint received_by, struct dtc_stream_result *result)
{
	bool is_tcp = protocol == PROTOCOL_TCP;
	bool has_hash = !is_tcp && have_all(sent, true) && have_all(received, true);
	bool has_tsval = is_tcp && have_all(sent, false) && have_all(received, false);
	g_autoptr(GArray) keyed = g_array_new(FALSE, FALSE, sizeof(struct keyed));
	collect_keyed(sent, 0, protocol, has_ranges, has_hash, has_tsval, keyed);
	collect_keyed(received, 1, protocol, has_ranges, has_hash, has_tsval, keyed);
	if (!keyed->len)
		return;
	g_qsort_with_data(keyed->data, (gint)keyed->len, sizeof(struct keyed), compare_keyed, NULL);
	for (guint i = 0, next; i < keyed->len; i = next) {
		const struct keyed *items = &g_array_index(keyed, struct keyed, i);
		for (next = i + 1; next < keyed->len; next++)
			if (memcmp(items[next - i].key, items->key, sizeof(items->key)) != 0)
				break;
		guint count = next - i, sides[2] = { 0, 0 };
		for (guint k = 0; k < count; k++)
			sides[items[k].side]++;
		if (!sides[0] || !sides[1])
			continue; /* never arrived, or never seen to leave */
		for (guint k = 0; k < count; k++)
			items[k].packet->matched = true;
		if (sides[0] == 1 && sides[1] == 1) {
			dtc_matches_add(matches, sent_by, received_by, items[0].packet->ns, items[1].packet->ns);
		} else {
			result->ambiguous_sent += sides[0];
			result->ambiguous_received += sides[1];
		}
	}
}

static guint64 count_unmatched(const GArray *seen)
{
	guint64 count = 0;
	for (guint i = 0; i < seen->len; i++)
		count += !g_array_index(seen, struct dtc_seen, i).matched;
	return count;
}

void dtc_stream_compare(GArray *sent, GArray *received, uint8_t protocol, bool has_ranges, DtcMatches *matches,
			guint sent_by, guint received_by, struct dtc_stream_result *ret_result)
{
	struct dtc_stream_result result = { 0 };
	if (has_ranges)
		compare_ranges(sent, received, matches, sent_by, received_by, &result);
	compare_keys(sent, received, protocol, has_ranges, matches, sent_by, received_by, &result);
	result.unmatched_sent = count_unmatched(sent);
	result.unmatched_received = count_unmatched(received);
	*ret_result = result;
}
