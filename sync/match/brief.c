/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A brief is one row of bytes: counts and relation, then of all passages each field in turn, which squeezes better than
 * passage by passage. Numbers are written 7 bits at a time, the lowest first; those that can be negative are folded.
 */
#include "sync/match/brief.h"

#include "collect/packets/records.h"
#include "sync/match/sources.h"

#include <math.h>
#include <string.h>

#define DIGEST_BITS 48
#define DIGEST_MASK ((G_GUINT64_CONSTANT(1) << DIGEST_BITS) - 1)
/* From so many packets on a passage is spelled out. */
#define SPELLED_MIN 4096
#define SPELLED_FIELDS 7
/* Of TCP over Ethernet with timestamps: what a kernel sends as one packet is as many on the wire. */
#define SEGMENT_BYTES 1448
#define SECTION "brief"

/* ---- numbers ---- */

static void put(GByteArray *bytes, guint64 value)
{
	guint8 byte;

	for (; value > 0x7f; value >>= 7) {
		byte = (guint8)(value | 0x80);
		g_byte_array_append(bytes, &byte, 1);
	}
	byte = (guint8)value;
	g_byte_array_append(bytes, &byte, 1);
}

static void put_signed(GByteArray *bytes, int64_t value)
{
	put(bytes, (guint64)value << 1 ^ (guint64)(value >> 63));
}

/* The lowest bits of a number that is as good as random. */
static void put_bits(GByteArray *bytes, guint64 value, guint bits)
{
	guint64 word = GUINT64_TO_LE(value);

	g_byte_array_append(bytes, (const guint8 *)&word, bits / 8);
}

/* What is left to be read; at NULL: it is no brief. */
struct rest {
	const guint8 *at;
	gsize bytes;
};

static void refuse(struct rest *rest)
{
	*rest = (struct rest){ NULL, 0 };
}

static guint64 take(struct rest *rest)
{
	guint64 value = 0;

	for (guint shift = 0; shift < 64; shift += 7) {
		if (!rest->bytes)
			break;
		guint8 byte = *rest->at++;
		rest->bytes--;
		value |= (guint64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	refuse(rest);
	return 0;
}

static int64_t take_signed(struct rest *rest)
{
	guint64 folded = take(rest);

	return (int64_t)(folded >> 1 ^ -(folded & 1));
}

static bool take_bytes(struct rest *rest, void *to, gsize bytes)
{
	if (rest->bytes < bytes) {
		refuse(rest);
		return false;
	}
	memcpy(to, rest->at, bytes);
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

static guint64 take_bits(struct rest *rest, guint bits)
{
	guint64 word = 0;

	(void)take_bytes(rest, &word, bits / 8);
	return GUINT64_FROM_LE(word);
}

/* ---- passages ---- */

static const struct dtc_brief_passage *get(const DtcBrief *brief, guint index)
{
	return &g_array_index(brief->passages, struct dtc_brief_passage, index);
}

static struct dtc_brief_passage *get_new(DtcBrief *brief, guint index)
{
	return &g_array_index(brief->passages, struct dtc_brief_passage, index);
}

/* ---- making one ---- */

struct making {
	struct dtc_node_source node;
	struct dtc_relation relation;
	struct dtc_passage_lists lists;
	DtcTable *sent, *received; /* struct dtc_seen, both of the same passage */
	DtcBrief *brief;
};

static guint64 stir(guint64 hash, guint64 word)
{
	hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
	return hash ^ hash >> 32;
}

/* Of all that dtc_passage_compare looks at but for times, and of the initial number. */
static guint64 make_digest(const DtcPackets *packets, const DtcTable *seen, const struct dtc_flow *flow)
{
	guint64 hash = stir(dtc_flow_hash_ends(flow), (guint64)flow->protocol << 1 | dtc_flow_has_ranges(flow));

	hash = stir(hash, (guint64)flow->has_isn << 32 | (flow->has_isn ? flow->isn : 0));

	for (guint i = 0; i < seen->len; i++) {
		uint32_t id = DTC_AT(seen, struct dtc_seen, i)->packet;
		const struct dtc_packet packet = dtc_packets_read(packets, id);
		hash = stir(hash, (guint64)packet.seq << 32 | packet.ack);
		hash = stir(hash, (guint64)packet.payload_bytes << 40 | (guint64)packet.tcp_flags << 32 |
					  (guint64)packet.ip_id << 16 | packet.window);
		hash = stir(hash, (guint64)dtc_packets_get_mark(packets, id) << 2 | packet.has_timestamps << 1 |
					  packet.is_inferred);
	}
	return hash >> (64 - DIGEST_BITS);
}

/* The messages that there are if the other node saw the same. */
static void compare_with_itself(struct making *making, struct dtc_brief_passage *told)
{
	bool is_received = told->passage.is_received;
	struct dtc_passage_result result;
	DtcTable *messages = making->lists.messages;

	dtc_table_set_length(making->sent, 0);
	dtc_table_set_length(making->received, 0);
	dtc_table_set_length(messages, 0);
	const struct dtc_sightings sent =
		dtc_node_source_get_seen(&making->node, &told->passage, G_MAXUINT, making->sent);
	const struct dtc_sightings received =
		dtc_node_source_get_seen(&making->node, &told->passage, G_MAXUINT, making->received);
	told->digest = make_digest(sent.packets, making->sent, &told->flow);
	dtc_passage_compare(&sent, &received, told->flow.protocol, dtc_flow_has_ranges(&told->flow), &making->lists,
			    &result);
	told->time_first = making->brief->times->len;
	told->time_count = messages->len;
	for (guint i = 0; i < messages->len; i++) {
		const struct dtc_message *message = DTC_AT(messages, struct dtc_message, i);
		dtc_table_append(making->brief->times, is_received ? &message->received_ns : &message->sent_ns);
	}
	told->unmatched = (guint)(is_received ? result.unmatched_received : result.unmatched_sent);
	told->ambiguous_sent = (guint)result.ambiguous_sent;
	told->ambiguous_received = (guint)result.ambiguous_received;
}

/* The packet as it is compared, at its place. */
static struct dtc_packet spell(struct dtc_packet packet, guint place)
{
	return (struct dtc_packet){ .time_ns = place,
				    .flow = DTC_NONE,
				    .seq = packet.seq,
				    .ack = packet.ack,
				    .payload_bytes = packet.payload_bytes,
				    .tcp_flags = packet.tcp_flags,
				    .ip_id = packet.ip_id,
				    .window = packet.window,
				    .has_timestamps = packet.has_timestamps,
				    .is_inferred = packet.is_inferred };
}

static int compare_ids(const void *left, const void *right)
{
	const struct dtc_seen *p = left, *q = right;

	return (p->packet > q->packet) - (p->packet < q->packet);
}

/* Who asks orders those of one time, as many as it looks at. */
static void spell_out(struct making *making, struct dtc_brief_passage *told)
{
	dtc_table_set_length(making->sent, 0);
	const struct dtc_sightings sightings =
		dtc_node_source_get_seen(&making->node, &told->passage, G_MAXUINT, making->sent);
	qsort(making->sent->data, making->sent->len, sizeof(struct dtc_seen), compare_ids);
	told->packets = dtc_packets_new();
	told->time_first = making->brief->times->len;
	told->time_count = making->sent->len;
	for (guint i = 0; i < making->sent->len; i++) {
		uint32_t id = DTC_AT(making->sent, struct dtc_seen, i)->packet;
		const struct dtc_packet packet = spell(dtc_packets_read(sightings.packets, id), i);
		int64_t ns = dtc_sightings_get_safe_ns(&sightings, i);
		dtc_packets_append(told->packets, &packet, dtc_packets_get_mark(sightings.packets, id));
		dtc_table_append(making->brief->times, &ns);
	}
	dtc_packets_seal(told->packets);
}

static void add_passage(struct making *making, const struct dtc_passage *passage)
{
	struct dtc_brief_passage told = { .passage = *passage,
					  .flow = *dtc_node_source_get_flow(&making->node, passage) };
	int first_sent = 0, last_sent = 0;
	const DtcPackets *packets = making->node.chosen[passage->is_received];

	if (passage->packet_count >= SPELLED_MIN)
		spell_out(making, &told);
	else
		compare_with_itself(making, &told);
	if (!passage->is_received && dtc_packets_get_flow_seen(packets, passage->flow).directions == 3)
		dtc_node_source_count_turns(&making->node, passage, &first_sent, &last_sent);
	told.first_sent = (int8_t)first_sent;
	told.last_sent = (int8_t)last_sent;
	g_array_append_val(making->brief->passages, told);
}

static bool is_reverse(const struct dtc_flow *p, const struct dtc_flow *q)
{
	return memcmp(p->source, q->destination, 16) == 0 && memcmp(p->destination, q->source, 16) == 0 &&
	       p->source_port == q->destination_port && p->destination_port == q->source_port &&
	       p->protocol == q->protocol;
}

static guint count_sent(const DtcBrief *brief)
{
	guint count = 0;

	while (count < brief->passages->len && !get(brief, count)->passage.is_received)
		count++;
	return count;
}

/* One more than the passage that went the other way, or 0. Both directions are in the order of their flows. */
static guint find_reverse(const DtcBrief *brief, guint index, guint sent_count, guint near)
{
	for (guint i = near; i < MIN(near + 4, sent_count); i++)
		if (is_reverse(&get(brief, i)->flow, &get(brief, index)->flow))
			return i + 1;
	return 0;
}

/* One is enough for both directions: mostly both are the same on the other node, or neither is. */
static bool shares_digest(const DtcBrief *brief, const struct dtc_brief_passage *told)
{
	return told->reverse && !told->packets && !get(brief, told->reverse - 1)->packets;
}

static void join_digests(DtcBrief *brief)
{
	guint sent_count = count_sent(brief), near = 0;

	for (guint i = sent_count; i < brief->passages->len; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		told->reverse = find_reverse(brief, i, sent_count, near);
		near = MAX(near, told->reverse);
		if (shares_digest(brief, told)) {
			struct dtc_brief_passage *reverse = get_new(brief, told->reverse - 1);
			told->digest = reverse->digest = (told->digest + reverse->digest) & DIGEST_MASK;
		}
	}
}

static gpointer get_ends_key(const struct dtc_passage *passage)
{
	return GSIZE_TO_POINTER((gsize)(passage->key_hash << 1 | passage->is_received));
}

/* Of ends that came once a digest is enough, and packets are where there is none. */
static void choose_numbers(DtcBrief *brief)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < brief->passages->len; i++) {
		gpointer key = get_ends_key(&get(brief, i)->passage);
		guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key));
		g_hash_table_insert(counts, key, GUINT_TO_POINTER(count + 1));
	}
	for (guint i = 0; i < brief->passages->len; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		gpointer key = get_ends_key(&told->passage);
		bool is_only = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key)) == 1 && !told->packets;
		told->has_number = told->flow.has_isn && !is_only;
	}
}

static void clear_passage(void *data)
{
	dtc_packets_free(((struct dtc_brief_passage *)data)->packets);
}

static DtcBrief *brief_new(void)
{
	DtcBrief *brief = g_new0(DtcBrief, 1);

	brief->passages = g_array_new(FALSE, TRUE, sizeof(struct dtc_brief_passage));
	g_array_set_clear_func(brief->passages, clear_passage);
	brief->times = dtc_table_new(sizeof(int64_t));
	return brief;
}

void dtc_brief_free(DtcBrief *brief)
{
	if (!brief)
		return;
	dtc_relation_clear(&brief->relation);
	g_array_unref(brief->passages);
	dtc_table_free(brief->times);
	g_free(brief);
}

DtcBrief *dtc_brief_make(const struct dtc_match_source *source, DtcSpace *scratch)
{
	struct making making = { .brief = brief_new() };
	g_autoptr(GArray) passages = g_array_new(FALSE, FALSE, sizeof(struct dtc_passage));
	g_autoptr(DtcFindings) unused = dtc_findings_new(); /* who asks finds the same */

	making.node = (struct dtc_node_source){ .source = source, .relation = &making.brief->relation };
	dtc_passage_lists_init(&making.lists, scratch);
	making.sent = dtc_table_new_in(sizeof(struct dtc_seen), DTC_SEEN_BYTES, scratch);
	making.received = dtc_table_new_in(sizeof(struct dtc_seen), DTC_SEEN_BYTES, scratch);
	dtc_node_source_count(&making.node, scratch);
	making.brief->counts = making.node.counts;
	/* what is taken to be is not kept: who asks takes it to be so, too */
	struct dtc_relation estimated = making.brief->relation;
	dtc_node_source_choose(&making.node, unused);
	dtc_node_source_list(&making.node, 0, passages);
	for (guint i = 0; i < passages->len; i++)
		add_passage(&making, &g_array_index(passages, struct dtc_passage, i));
	join_digests(making.brief);
	choose_numbers(making.brief);
	making.brief->relation = estimated;
	dtc_table_free(making.sent);
	dtc_table_free(making.received);
	dtc_passage_lists_clear(&making.lists);
	return making.brief;
}

/* ---- ends ---- */

/* Addresses are written once each. */
static guint find_address(GHashTable *known, GByteArray *addresses, const uint8_t *address)
{
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(known, address));

	if (!number) {
		g_byte_array_append(addresses, address, 16);
		number = addresses->len / 16;
		g_hash_table_insert(known, (void *)address, GUINT_TO_POINTER(number));
	}
	return number - 1;
}

static void save_ends(const DtcBrief *brief, GByteArray *bytes)
{
	guint count = brief->passages->len, sent_count = count_sent(brief), near = 0;
	g_autoptr(GHashTable) known = g_hash_table_new(dtc_address_hash, dtc_address_equal);
	g_autoptr(GByteArray) addresses = g_byte_array_new();
	g_autoptr(GByteArray) pairs = g_byte_array_new();
	g_autoptr(GByteArray) ports = g_byte_array_new();

	put(bytes, count);
	put(bytes, sent_count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_flow *flow = &get(brief, i)->flow;
		guint reverse = get(brief, i)->reverse;
		if (i >= sent_count)
			put(bytes, reverse ? reverse - near : 0);
		if (reverse) {
			near = reverse;
			continue;
		}
		put(pairs, find_address(known, addresses, flow->source));
		put(pairs, find_address(known, addresses, flow->destination));
		put(pairs, flow->protocol);
		put_bits(ports, flow->source_port, 16);
		put_bits(ports, flow->destination_port, 16);
	}
	put(bytes, addresses->len / 16);
	g_byte_array_append(bytes, addresses->data, addresses->len);
	g_byte_array_append(bytes, pairs->data, pairs->len);
	g_byte_array_append(bytes, ports->data, ports->len);
}

static void reverse_ends(const struct dtc_flow *from, struct dtc_flow *to)
{
	memcpy(to->source, from->destination, 16);
	memcpy(to->destination, from->source, 16);
	to->source_port = from->destination_port;
	to->destination_port = from->source_port;
	to->protocol = from->protocol;
}

static void load_address(struct rest *rest, const guint8 *addresses, guint count, uint8_t *to)
{
	guint64 index = take(rest);

	if (index < count)
		memcpy(to, addresses + 16 * index, 16);
	else
		refuse(rest);
}

static void load_ends(DtcBrief *brief, struct rest *rest)
{
	guint64 count = take(rest), sent_count = take(rest), near = 0;

	if (count > rest->bytes || sent_count > count) {
		refuse(rest);
		return;
	}
	g_array_set_size(brief->passages, (guint)count);
	for (guint64 i = sent_count; i < count; i++) {
		guint64 step = take(rest);
		if (step > sent_count - near)
			refuse(rest);
		else if (step)
			near = get_new(brief, (guint)i)->reverse = (guint)(near + step);
	}
	guint64 address_count = take(rest);
	const guint8 *addresses = rest->at;
	if (address_count > rest->bytes / 16) {
		refuse(rest);
		return;
	}
	rest->at += 16 * address_count;
	rest->bytes -= 16 * address_count;
	for (guint i = 0; i < count && rest->at; i++) {
		struct dtc_flow *flow = &get_new(brief, i)->flow;
		get_new(brief, i)->passage.is_received = i >= sent_count;
		if (get(brief, i)->reverse)
			continue;
		load_address(rest, addresses, (guint)address_count, flow->source);
		load_address(rest, addresses, (guint)address_count, flow->destination);
		flow->protocol = (uint8_t)take(rest);
	}
	for (guint i = 0; i < count && rest->at; i++) {
		struct dtc_flow *flow = &get_new(brief, i)->flow;
		if (get(brief, i)->reverse) {
			reverse_ends(&get(brief, get(brief, i)->reverse - 1)->flow, flow);
			continue;
		}
		flow->source_port = (uint16_t)take_bits(rest, 16);
		flow->destination_port = (uint16_t)take_bits(rest, 16);
	}
}

/* ---- all of it ---- */

static void save_counts(const DtcBrief *brief, GByteArray *bytes)
{
	const struct dtc_relation *relation = &brief->relation;
	guint64 rate;
	int64_t before[2] = { 0, 0 };

	for (guint d = 0; d < 2; d++) {
		put(bytes, brief->counts.kernel[d]);
		put(bytes, brief->counts.bare[d]);
		put(bytes, brief->counts.captured[d]);
		put(bytes, brief->counts.numbered[d]);
	}
	memcpy(&rate, &relation->rate, sizeof(rate));
	put_bits(bytes, rate, 64);
	put(bytes, relation->identity);
	put_signed(bytes, relation->error_ns);
	put(bytes, relation->count);
	for (guint i = 0; i < relation->count; i++) {
		put_signed(bytes, relation->knots[i].capture_ns - before[0]);
		put_signed(bytes, relation->knots[i].difference_ns - before[1]);
		before[0] = relation->knots[i].capture_ns;
		before[1] = relation->knots[i].difference_ns;
	}
}

static int64_t take_next(struct rest *rest, int64_t before)
{
	return (int64_t)((guint64)before + (guint64)take_signed(rest));
}

static void load_counts(DtcBrief *brief, struct rest *rest)
{
	struct dtc_relation *relation = &brief->relation;
	struct dtc_relation_knot knot = { 0, 0 };

	for (guint d = 0; d < 2; d++) {
		brief->counts.kernel[d] = take(rest);
		brief->counts.bare[d] = take(rest);
		brief->counts.captured[d] = take(rest);
		brief->counts.numbered[d] = take(rest);
	}
	guint64 rate = take_bits(rest, 64);
	memcpy(&relation->rate, &rate, sizeof(rate));
	relation->identity = take(rest) != 0;
	relation->error_ns = take_signed(rest);
	guint64 count = take(rest);
	if (count > rest->bytes || !isfinite(relation->rate) || relation->error_ns < 0 ||
	    !dtc_match_is_time(relation->error_ns)) {
		refuse(rest);
		return;
	}
	relation->knots = g_new0(struct dtc_relation_knot, count + 1);
	relation->count = (guint)count;
	for (guint i = 0; i < count; i++) {
		knot.capture_ns = take_next(rest, knot.capture_ns);
		knot.difference_ns = take_next(rest, knot.difference_ns);
		if (i > 0 && knot.capture_ns <= relation->knots[i - 1].capture_ns)
			refuse(rest);
		relation->knots[i] = knot;
	}
}

/* Of the first message what it is after that of the passage before, then what each is after the one before. */
static void save_times(const DtcBrief *brief, GByteArray *bytes)
{
	int64_t first = 0;

	for (guint i = 0; i < brief->passages->len; i++) {
		const struct dtc_brief_passage *told = get(brief, i);
		int64_t before = first;
		for (guint k = 0; k < told->time_count; k++) {
			int64_t ns = *DTC_AT(brief->times, int64_t, told->time_first + k);
			put_signed(bytes, (int64_t)((guint64)ns - (guint64)before));
			before = ns;
			if (k == 0)
				first = ns;
		}
	}
}

static void load_times(DtcBrief *brief, struct rest *rest)
{
	int64_t first = 0;

	for (guint i = 0; i < brief->passages->len; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		int64_t ns = first;
		told->time_first = brief->times->len;
		for (guint k = 0; k < told->time_count && rest->at; k++) {
			ns = take_next(rest, ns);
			dtc_table_append(brief->times, &ns);
			if (k == 0)
				first = ns;
		}
	}
}

/* Where a field is most often, so that what is written is most often 0: behind the packet before. */
static struct dtc_packet foresee(const struct dtc_packet *before)
{
	struct dtc_packet next = *before;
	guint segments = MAX((before->payload_bytes + SEGMENT_BYTES - 1) / SEGMENT_BYTES, 1);

	next.seq += dtc_packet_get_span(before);
	next.ip_id = (uint16_t)(before->ip_id + segments);
	return next;
}

static void save_spelled(const DtcPackets *packets, GByteArray *bytes)
{
	GByteArray *fields[SPELLED_FIELDS];
	struct dtc_packet next = { 0 };
	uint32_t mark_before = 0;

	for (guint f = 0; f < SPELLED_FIELDS; f++)
		fields[f] = g_byte_array_new();
	for (uint32_t i = 0; i < dtc_packets_get_count(packets); i++) {
		const struct dtc_packet packet = dtc_packets_read(packets, i);
		uint32_t mark = dtc_packets_get_mark(packets, i);
		put_signed(fields[0], (int32_t)(packet.seq - next.seq));
		put_signed(fields[1], (int32_t)(packet.ack - next.ack));
		put(fields[2], packet.payload_bytes);
		put_signed(fields[3], (int16_t)(packet.ip_id - next.ip_id));
		put_signed(fields[4], (int16_t)(packet.window - next.window));
		put_signed(fields[5], (int32_t)(mark - mark_before));
		put(fields[6], packet.tcp_flags | packet.has_timestamps << 8 | packet.is_inferred << 9);
		next = foresee(&packet);
		mark_before = mark;
	}
	for (guint f = 0; f < SPELLED_FIELDS; f++) {
		g_byte_array_append(bytes, fields[f]->data, fields[f]->len);
		g_byte_array_unref(fields[f]);
	}
}

/* Each field of all packets in turn, as they are added to what is foreseen: so many lists. */
static DtcPackets *load_spelled(struct rest *rest, guint count)
{
	g_autofree int64_t *steps = g_new0(int64_t, (gsize)count * SPELLED_FIELDS + 1);
	struct dtc_packet next = { 0 };
	DtcPackets *packets = dtc_packets_new();
	uint32_t mark = 0;

	for (guint f = 0; f < SPELLED_FIELDS; f++)
		for (guint i = 0; i < count; i++)
			steps[(gsize)f * count + i] = f == 2 || f == 6 ? (int64_t)take(rest) : take_signed(rest);
	for (guint i = 0; i < count && rest->at; i++) {
		const int64_t *step = steps + i;
		guint64 flags = (guint64)step[(gsize)6 * count];
		struct dtc_packet packet = {
			.seq = next.seq + (uint32_t)step[0],
			.ack = next.ack + (uint32_t)step[count],
			.payload_bytes = (uint32_t)step[(gsize)2 * count] & 0xffffff,
			.ip_id = (uint16_t)(next.ip_id + step[(gsize)3 * count]),
			.window = (uint16_t)(next.window + step[(gsize)4 * count]),
			.tcp_flags = flags & 0xff,
			.has_timestamps = flags >> 8 & 1,
			.is_inferred = flags >> 9 & 1,
		};
		mark += (uint32_t)step[(gsize)5 * count];
		next = foresee(&packet);
		packet = spell(packet, i);
		dtc_packets_append(packets, &packet, mark);
	}
	dtc_packets_seal(packets);
	return packets;
}

static void save_passages(const DtcBrief *brief, GByteArray *bytes)
{
	guint count = brief->passages->len, sent_count = count_sent(brief);
	uint32_t before = 0;

	for (guint i = 0; i < count; i++) {
		uint32_t flow = get(brief, i)->passage.flow;
		put_signed(bytes, (int64_t)flow - (i == sent_count ? 0 : before));
		before = flow;
	}
	for (guint i = 0; i < count; i++)
		put(bytes, get(brief, i)->passage.packet_count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_passage *passage = &get(brief, i)->passage;
		put(bytes, (guint64)passage->interface << 6 | (guint)passage->zeros << 2 |
				   (guint)passage->is_capture << 1 | get(brief, i)->flow.has_isn);
	}
	for (guint i = 0; i < count; i++) {
		const struct dtc_brief_passage *told = get(brief, i);
		put_signed(bytes, (int64_t)told->passage.packet_count - told->time_count);
		put(bytes, told->unmatched);
		put(bytes, told->ambiguous_sent);
		put(bytes, told->ambiguous_received);
		put_signed(bytes, told->first_sent);
		put_signed(bytes, told->last_sent);
		put(bytes, (guint)told->has_number << 1 | (told->packets != NULL));
	}
	for (guint i = 0; i < count; i++)
		if (get(brief, i)->has_number)
			put_bits(bytes, get(brief, i)->flow.isn, 32);
	for (guint i = 0; i < count; i++)
		if (get(brief, i)->packets)
			save_spelled(get(brief, i)->packets, bytes);
	for (guint i = 0; i < count; i++)
		if (!get(brief, i)->packets && !shares_digest(brief, get(brief, i)))
			put_bits(bytes, get(brief, i)->digest, DIGEST_BITS);
}

static void load_passages(DtcBrief *brief, struct rest *rest)
{
	guint count = brief->passages->len, sent_count = count_sent(brief);
	g_autofree bool *is_spelled = g_new0(bool, (gsize)count + 1);
	uint32_t flow = 0;

	for (guint i = 0; i < count; i++) {
		flow = (uint32_t)take_next(rest, i == sent_count ? 0 : flow);
		get_new(brief, i)->passage.flow = flow;
		get_new(brief, i)->passage.key_hash = dtc_flow_hash_ends(&get(brief, i)->flow);
	}
	for (guint i = 0; i < count; i++)
		get_new(brief, i)->passage.packet_count = (uint32_t)take(rest);
	for (guint i = 0; i < count; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		guint64 flags = take(rest);
		told->passage.interface = (uint16_t)(flags >> 6);
		told->passage.zeros = flags >> 2 & 0xf;
		told->passage.is_capture = flags >> 1 & 1;
		if (told->passage.zeros > DTC_PASSAGE_ZEROS_MAX)
			refuse(rest);
		told->flow.has_isn = flags & 1;
	}
	for (guint i = 0; i < count; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		told->time_count = (guint)(told->passage.packet_count - take_signed(rest));
		told->unmatched = (guint)take(rest);
		told->ambiguous_sent = (guint)take(rest);
		told->ambiguous_received = (guint)take(rest);
		told->first_sent = (int8_t)take_signed(rest);
		told->last_sent = (int8_t)take_signed(rest);
		guint64 flags = take(rest);
		is_spelled[i] = flags & 1;
		told->has_number = flags >> 1 & 1;
	}
	for (guint i = 0; i < count; i++)
		if (get(brief, i)->has_number)
			get_new(brief, i)->flow.isn = (uint32_t)take_bits(rest, 32);
	for (guint i = 0; i < count; i++) {
		if (is_spelled[i] && get(brief, i)->time_count > rest->bytes)
			refuse(rest);
		else if (is_spelled[i])
			get_new(brief, i)->packets = load_spelled(rest, get(brief, i)->time_count);
	}
	for (guint i = 0; i < count; i++) {
		struct dtc_brief_passage *told = get_new(brief, i);
		if (shares_digest(brief, told))
			told->digest = get(brief, told->reverse - 1)->digest;
		else if (!told->packets)
			told->digest = take_bits(rest, DIGEST_BITS);
	}
}

bool dtc_brief_is_of(const DtcBrief *brief, const struct dtc_match_source *source)
{
	const DtcPackets *both[2] = { source->kernel, source->capture };
	const struct dtc_node_counts *counts = &brief->counts;

	if (!source->kernel && (counts->numbered[0] || counts->numbered[1]))
		return false;
	for (guint i = 0; i < brief->passages->len; i++) {
		const struct dtc_passage *passage = &get(brief, i)->passage;
		const DtcPackets *packets = both[passage->is_capture];
		if (!packets || passage->flow >= dtc_packets_get_flow_count(packets) ||
		    passage->packet_count > dtc_packets_get_count(packets))
			return false;
	}
	return true;
}

const struct dtc_relation *dtc_brief_get_relation(const DtcBrief *brief)
{
	return &brief->relation;
}

void dtc_brief_save(const DtcBrief *brief, DtcImageWriter *writer)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	save_counts(brief, bytes);
	save_ends(brief, bytes);
	save_passages(brief, bytes);
	save_times(brief, bytes);
	dtc_image_add_copy(writer, SECTION, 1, bytes->data, bytes->len);
}

DtcBrief *dtc_brief_load(const DtcImage *image, GError **error)
{
	g_autoptr(DtcBrief) brief = brief_new();
	struct rest rest = { 0 };

	rest.at = dtc_image_get(image, SECTION, 1, &rest.bytes, error);
	if (!rest.at)
		return NULL;
	load_counts(brief, &rest);
	load_ends(brief, &rest);
	load_passages(brief, &rest);
	load_times(brief, &rest);
	if (rest.at && !rest.bytes)
		return g_steal_pointer(&brief);
	dtc_image_refuse(image, error, "what it tells of packets is no brief");
	return NULL;
}
