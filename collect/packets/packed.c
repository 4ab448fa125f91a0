/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A block:
 *
 *   head      32 bytes: how long fields are, and what times are counted from
 *   places    16 bytes each: flow, CPU and so on; what seq and ack of its packets are counted from
 *   marks     4 bytes for each place, if a packet of the block has a mark
 *   rows      flags (1 byte), IP id, window and payload (2 each), which change from packet to packet; the moment, of
 *             which the lowest bits are the place and the others the time; seq, ack and mark; and, in a block that has
 *             one of them, the upper bits of time and payload
 *   spare     8 bytes at least, so that a load of 8 bytes stays inside wherever it is
 *
 * seq, ack and mark are distances from what the place has, which is less than its first packet's by half of what the
 * bytes can hold: packets come in any order. An ack without the flag is counted from another number: a SYN has none. A
 * mark that is a TCP timestamp is what it differs from the time in milliseconds by, which is how most systems count
 * them, and differs from the place's first one by little.
 *
 * Rejected: differences from the flow's last packet, since a packet in the middle could not be read by itself;
 * differences from what a flow began with, which need 4 bytes on long connections, and a table by flow; rows of bits
 * instead of bytes, which take 3 bytes less and twice the time to read.
 */
#include "collect/packets/packed.h"

#define UNIT sizeof(struct dtc_packed_unit)
#define SPARE_BYTES 8
/* A mark counts these, if it is a timestamp. */
#define TICK_NS 1000000
#define SLOTS (DTC_PACKED_COUNT * 2)
#define NO_PLACE 0xff
/* So many of the latest packets stay as they are: a capture's were late by up to 248 others. */
#define RECENT_COUNT (4 * DTC_PACKED_COUNT)

_Static_assert(DTC_PACKED_COUNT < NO_PLACE, "slots are bytes");

static guint count_bits(uint64_t word)
{
	return word ? 64 - (guint)__builtin_clzll(word) : 0;
}

/* Small for small distances in either direction; it has as many bits as the distance with its sign. */
static uint32_t fold(uint32_t distance)
{
	return distance << 1 ^ -(distance >> 31);
}

static uint32_t gather_seen(const struct dtc_packet *packet)
{
#if G_BYTE_ORDER == G_LITTLE_ENDIAN /* they lie there as they are wanted */
	uint32_t seen;
	memcpy(&seen, (const char *)&packet->interface - sizeof(uint16_t), sizeof(seen));
	return seen;
#endif
	return packet->cpu | (uint32_t)packet->direction << 13 | (uint32_t)packet->has_timestamps << 14 |
	       (uint32_t)packet->is_inferred << 15 | (uint32_t)packet->interface << 16;
}

/* What its mark is counted from besides its place's. */
static uint32_t get_ticks(uint32_t seen, int64_t time_ns)
{
	bool has_timestamps = seen >> 14 & 1;
	return has_timestamps ? (uint32_t)((uint64_t)time_ns / TICK_NS) : 0;
}

/* --- packing ---------------------------------------------------------------------------------------------------- */

struct block {
	struct dtc_packed_place places[DTC_PACKED_COUNT];
	uint32_t marks[DTC_PACKED_COUNT];
	bool has_ack[DTC_PACKED_COUNT];
	uint8_t slots[SLOTS]; /* open addressing; NO_PLACE: free */
	guint place_count;
	uint8_t place_of[DTC_PACKED_COUNT]; /* packets */
	uint32_t mark_of[DTC_PACKED_COUNT]; /* less what it is counted from besides its place's */
	/* Bits that a packet has; those of distances are folded. */
	uint64_t time;
	uint32_t seq;
	uint32_t ack;
	uint32_t mark;
	uint32_t payload;
};

static bool is_of(const struct block *b, uint8_t place, const struct dtc_packet *packet, uint32_t seen)
{
	return b->places[place].flow == packet->flow && b->places[place].seen == seen;
}

static uint8_t find_place(struct block *b, const struct dtc_packet *packet, uint32_t seen, uint32_t mark)
{
	uint64_t key = (uint64_t)packet->flow << 32 | seen;
	guint slot = (guint)((key * UINT64_C(0x9fb21c651e98df25)) >> 32) % SLOTS;
	uint8_t place;

	while ((place = b->slots[slot]) != NO_PLACE) {
		if (is_of(b, place, packet, seen))
			return place;
		slot = (slot + 1) % SLOTS;
	}
	place = (uint8_t)b->place_count++;
	b->slots[slot] = place;
	b->places[place] = (struct dtc_packed_place){ .flow = packet->flow, .seen = seen, .seq = packet->seq };
	b->marks[place] = mark;
	b->has_ack[place] = false;
	return place;
}

static void find_places(struct block *b, const struct dtc_packet *packets, const uint32_t *marks, guint count,
			const struct dtc_packed_head *head)
{
	memset(b->slots, NO_PLACE, sizeof(b->slots));
	b->place_count = 0;
	b->time = b->seq = b->ack = b->mark = b->payload = 0;
	for (guint i = 0; i < count; i++) {
		const struct dtc_packet *packet = &packets[i];
		uint32_t seen = gather_seen(packet);
		uint32_t mark = head->has_marks ? marks[i] - get_ticks(seen, packet->time_ns) : 0;
		uint8_t index = find_place(b, packet, seen, mark);
		struct dtc_packed_place *place = &b->places[index];
		bool is_ack = packet->tcp_flags & DTC_TCP_ACK;
		if (is_ack && !b->has_ack[index]) {
			b->has_ack[index] = true;
			place->ack = packet->ack;
		}
		b->place_of[i] = index;
		b->mark_of[i] = mark;
		b->time |= (uint64_t)packet->time_ns - (uint64_t)head->time_ns;
		b->seq |= fold(packet->seq - place->seq);
		b->ack |= fold(packet->ack - (is_ack ? place->ack : 0));
		b->mark |= fold(mark - b->marks[index]);
		b->payload |= packet->payload_bytes;
	}
}

static uint8_t count_bytes(uint32_t word)
{
	return (uint8_t)((count_bits(word) + 7) / 8);
}

/* What distances can be less than 0 by. */
static uint32_t get_bias(uint8_t bytes)
{
	return bytes ? UINT32_C(1) << (8 * bytes - 1) : 0;
}

static gsize measure_places(const struct dtc_packed_head *head)
{
	return ((gsize)head->last_place + 1) * (sizeof(struct dtc_packed_place) + (head->has_marks ? 4 : 0));
}

static guint measure_row(const struct dtc_packed_head *head)
{
	return DTC_PACKED_FIXED + head->moment_bytes + head->seq_bytes + head->ack_bytes + head->mark_bytes +
	       head->odd_bytes;
}

static gsize measure_block(const struct dtc_packed_head *head)
{
	gsize rows = ((gsize)head->last + 1) * head->row_bytes;
	return (head->rows_at + rows + SPARE_BYTES + UNIT - 1) / UNIT * UNIT;
}

/* How long what is; places are counted from accordingly. */
static void set_lengths(struct dtc_packed_head *head, struct block *b)
{
	head->last_place = (uint8_t)(b->place_count - 1);
	head->place_bits = (uint8_t)count_bits(head->last_place);
	head->time_bits = (uint8_t)MIN(count_bits(b->time), 32);
	head->moment_bytes = (uint8_t)((head->place_bits + head->time_bits + 7) / 8);
	head->seq_bytes = count_bytes(b->seq);
	head->ack_bytes = count_bytes(b->ack);
	head->mark_bytes = head->has_marks ? count_bytes(b->mark) : 0;
	head->odd_bytes = b->time >> 32 || b->payload >> 16 ? DTC_PACKED_ODD : 0;
	head->no_ack = 0 - get_bias(head->ack_bytes);
	head->row_bytes = (uint8_t)measure_row(head);
	head->rows_at = (uint16_t)(sizeof(*head) + measure_places(head));
	for (guint i = 0; i < b->place_count; i++) {
		b->places[i].seq -= get_bias(head->seq_bytes);
		b->places[i].ack -= get_bias(head->ack_bytes);
		b->marks[i] -= get_bias(head->mark_bytes);
	}
}

/* 8 bytes, of which the last ones are those of the next field, or spare. */
static uint8_t *put(uint8_t *at, uint64_t value, guint bytes)
{
	value = GUINT64_TO_LE(value);
	memcpy(at, &value, sizeof(value));
	return at + bytes;
}

static void write_rows(uint8_t *at, const struct dtc_packed_head *head, const struct block *b,
		       const struct dtc_packet *packets)
{
	const struct dtc_packed_head h = *head;

	for (guint i = 0; i <= h.last; i++) {
		const struct dtc_packet *packet = &packets[i];
		uint8_t index = b->place_of[i];
		const struct dtc_packed_place *place = &b->places[index];
		bool is_ack = packet->tcp_flags & DTC_TCP_ACK;
		uint64_t time = (uint64_t)packet->time_ns - (uint64_t)h.time_ns;
		uint32_t seq = packet->seq - place->seq, ack = packet->ack - (is_ack ? place->ack : h.no_ack);
		at = put(at,
			 packet->tcp_flags | (uint64_t)packet->ip_id << 8 | (uint64_t)packet->window << 24 |
				 (uint64_t)(packet->payload_bytes & 0xffff) << 40,
			 DTC_PACKED_FIXED);
		at = put(at, index | (uint64_t)(uint32_t)time << h.place_bits, h.moment_bytes);
		at = put(at, seq | (uint64_t)ack << 8 * h.seq_bytes, (guint)h.seq_bytes + h.ack_bytes);
		if (h.mark_bytes)
			at = put(at, b->mark_of[i] - b->marks[index], h.mark_bytes);
		if (h.odd_bytes)
			at = put(at, time >> 32 | (uint64_t)(packet->payload_bytes >> 16) << 32, DTC_PACKED_ODD);
	}
	memset(at, 0, SPARE_BYTES);
}

/* Where the tables' records begin, which is looked at for each packet. */
static void note_begin(DtcPacked *packed)
{
	packed->unit = DTC_AT(packed->units, struct dtc_packed_unit, 0);
	packed->block = DTC_AT(packed->blocks, uint32_t, 0);
}

static void append_block(DtcPacked *packed, const struct dtc_packet *packets, const uint32_t *marks, guint count)
{
	struct dtc_packed_head head = { .time_ns = packets[0].time_ns, .last = (uint8_t)(count - 1) };
	struct block b;

	for (guint i = 0; i < count; i++)
		head.has_marks |= marks[i] != 0;
	find_places(&b, packets, marks, count, &head);
	set_lengths(&head, &b);

	guint first = packed->units->len, units = (guint)(measure_block(&head) / UNIT);
	g_assert(units < G_MAXUINT - first);
	dtc_table_extend(packed->units, units);
	dtc_table_append(packed->blocks, &first);
	uint8_t *at = (uint8_t *)DTC_AT(packed->units, struct dtc_packed_unit, first);
	memset(at + (gsize)(units - 2) * UNIT, 0, 2 * UNIT); /* what rows leave of them */
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), b.places, b.place_count * sizeof(b.places[0]));
	if (head.has_marks)
		memcpy(at + sizeof(head) + b.place_count * sizeof(b.places[0]), b.marks,
		       b.place_count * sizeof(b.marks[0]));
	write_rows(at + head.rows_at, &head, &b, packets);
	note_begin(packed);
	for (guint i = 0; i < b.place_count; i++)
		packed->has_inferred |= b.places[i].seen >> 15 & 1;
	packed->packed_count += count;
}

/* --- filling ---------------------------------------------------------------------------------------------------- */

DtcPacked *dtc_packed_new(void)
{
	DtcPacked *packed = g_new0(DtcPacked, 1);
	packed->units = dtc_table_new(UNIT);
	packed->blocks = dtc_table_new(sizeof(uint32_t));
	return packed;
}

void dtc_packed_free(DtcPacked *packed)
{
	if (!packed)
		return;
	dtc_table_free(packed->units);
	dtc_table_free(packed->blocks);
	g_free(packed->recent);
	g_free(packed->marks);
	g_free(packed);
}

void dtc_packed_set_space(DtcPacked *packed, DtcSpace *space)
{
	dtc_table_set_space(packed->units, space);
	dtc_table_set_space(packed->blocks, space);
}

static guint count_recent(const DtcPacked *packed)
{
	return packed->count - packed->packed_count;
}

/* Late by few packets, and few of them. Those of equal times stay as they are. */
static void sort_recent(DtcPacked *packed)
{
	guint count = count_recent(packed);

	for (guint i = 1; i < count; i++) {
		const struct dtc_packet packet = packed->recent[i];
		const uint32_t mark = packed->marks[i];
		guint at = i;
		while (at > 0 && packed->recent[at - 1].time_ns > packet.time_ns)
			at--;
		memmove(packed->recent + at + 1, packed->recent + at, (i - at) * sizeof(packed->recent[0]));
		memmove(packed->marks + at + 1, packed->marks + at, (i - at) * sizeof(packed->marks[0]));
		packed->recent[at] = packet;
		packed->marks[at] = mark;
	}
	packed->has_late = false;
}

/* The first of the recent ones, of which there are more, become blocks. */
static void pack(DtcPacked *packed, guint count)
{
	guint left = count_recent(packed) - count;

	if (packed->has_late)
		sort_recent(packed);
	packed->is_unsorted |= packed->packed_count && packed->recent[0].time_ns < packed->packed_ns;
	packed->packed_ns = packed->recent[count - 1].time_ns;
	for (guint i = 0; i < count; i += DTC_PACKED_COUNT)
		append_block(packed, packed->recent + i, packed->marks + i, MIN(DTC_PACKED_COUNT, count - i));
	memmove(packed->recent, packed->recent + count, left * sizeof(packed->recent[0]));
	memmove(packed->marks, packed->marks + count, left * sizeof(packed->marks[0]));
}

static void make_room(DtcPacked *packed)
{
	if (packed->recent_size == 2 * RECENT_COUNT) {
		pack(packed, RECENT_COUNT);
		return;
	}
	packed->recent_size = MIN(MAX(2 * packed->recent_size, 16), 2 * RECENT_COUNT);
	packed->recent = g_renew(struct dtc_packet, packed->recent, packed->recent_size);
	packed->marks = g_renew(uint32_t, packed->marks, packed->recent_size);
}

void dtc_packed_add(DtcPacked *packed, const struct dtc_packet *packet, uint32_t mark)
{
	if (count_recent(packed) == packed->recent_size)
		make_room(packed);
	guint place = count_recent(packed);
	packed->has_late |= place && packed->recent[place - 1].time_ns > packet->time_ns;
	packed->recent[place] = *packet;
	packed->marks[place] = mark;
	packed->count++;
}

void dtc_packed_clear(DtcPacked *packed)
{
	dtc_table_set_length(packed->units, 0);
	dtc_table_set_length(packed->blocks, 0);
	packed->packed_count = 0;
	packed->count = 0;
	packed->has_late = packed->is_unsorted = packed->has_inferred = false;
}

bool dtc_packed_sort(DtcPacked *packed)
{
	if (packed->has_late)
		sort_recent(packed);
	bool is_late = packed->packed_count && packed->count > packed->packed_count &&
		       packed->recent[0].time_ns < packed->packed_ns;
	return !packed->is_unsorted && !is_late;
}

void dtc_packed_seal(DtcPacked *packed)
{
	if (count_recent(packed))
		pack(packed, count_recent(packed));
	g_clear_pointer(&packed->recent, g_free);
	g_clear_pointer(&packed->marks, g_free);
	packed->recent_size = 0;
	dtc_table_settle(packed->units);
	dtc_table_settle(packed->blocks);
	note_begin(packed);
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

uint32_t dtc_packed_get_mark(const DtcPacked *packed, uint32_t packet)
{
	if (packet >= packed->packed_count)
		return packed->marks[packet - packed->packed_count];
	struct dtc_packed_row row = dtc_packed_find(packed, packet);
	const struct dtc_packed_head *head = row.head;
	if (!head->has_marks)
		return 0;
	const struct dtc_packed_place *places = (const void *)(head + 1);
	const struct dtc_packed_place *place = &places[dtc_packed_read_place(head, row.at)];
	const uint8_t *bases = (const uint8_t *)(places + head->last_place + 1);
	uint32_t base;
	memcpy(&base, bases + (gsize)(place - places) * sizeof(base), sizeof(base));
	uint64_t distance = dtc_packed_load_word(row.at + DTC_PACKED_FIXED + head->moment_bytes + head->seq_bytes +
						 head->ack_bytes);
	return base + (uint32_t)dtc_packed_cut(distance, head->mark_bytes) +
	       get_ticks(place->seen, dtc_packed_read_time_ns(head, row.at));
}

const struct dtc_packed_place *dtc_packed_get_places(const DtcPacked *packed, uint32_t block, guint *ret_count)
{
	const struct dtc_packed_head *head = dtc_packed_find(packed, block * DTC_PACKED_COUNT).head;
	*ret_count = head->last_place + 1u;
	return (const void *)(head + 1);
}

guint dtc_packed_list(const DtcPacked *packed, uint32_t block, struct dtc_packet list[DTC_PACKED_COUNT])
{
	struct dtc_packed_row row = dtc_packed_find(packed, block * DTC_PACKED_COUNT);
	const struct dtc_packed_place *places = (const void *)(row.head + 1);
	const struct dtc_packed_head head = *row.head; /* nothing that is written is of it */

	for (guint i = 0; i <= head.last; i++, row.at += head.row_bytes)
		list[i] = dtc_packed_unpack(&head, places, row.at);
	return head.last + 1u;
}

/* --- images ----------------------------------------------------------------------------------------------------- */

/* What all blocks together tell, for those who do not look at each. */
struct saved_head {
	uint32_t count;
	uint32_t has_inferred;
};

void dtc_packed_save(const DtcPacked *packed, DtcImageWriter *writer)
{
	const struct saved_head head = { packed->count, packed->has_inferred };

	g_assert(!count_recent(packed));
	dtc_image_add_copy(writer, "packets.head", sizeof(head), &head, 1);
	dtc_table_save(packed->units, writer, "packets.units");
	dtc_table_save(packed->blocks, writer, "packets.blocks");
}

static bool has_spare(const struct dtc_packed_head *head)
{
	for (guint i = 0; i < sizeof(head->spare); i++)
		if (head->spare[i])
			return true;
	return false;
}

/* All that is read of its rows lies in the block, which has so many bytes. */
static const char *judge_head(const struct dtc_packed_head *head, gsize bytes)
{
	if (head->last >= DTC_PACKED_COUNT || head->last_place > head->last || head->has_marks > 1 || has_spare(head))
		return "a block of packets has more than it can have";
	if (head->place_bits > 7 || head->time_bits > 32 || head->seq_bytes > 4 || head->ack_bytes > 4 ||
	    head->mark_bytes > 4 || (head->odd_bytes && head->odd_bytes != DTC_PACKED_ODD) ||
	    head->moment_bytes != (head->place_bits + head->time_bits + 7) / 8 || head->row_bytes != measure_row(head))
		return "a field of a packet is wider than it can be";
	return head->rows_at != sizeof(*head) + measure_places(head) || measure_block(head) != bytes
		       ? "a block of packets is not as long as it says"
		       : NULL;
}

static const char *judge_packets(struct dtc_packed_row row, uint32_t flow_count, int64_t *before_ns)
{
	const struct dtc_packed_place *places = (const void *)(row.head + 1);

	for (guint i = 0; i <= row.head->last_place; i++)
		if (places[i].flow >= flow_count && places[i].flow != DTC_NONE)
			return "a packet's flow is not there";
	for (guint i = 0; i <= row.head->last; i++, row.at += row.head->row_bytes) {
		int64_t time_ns = dtc_packed_read_time_ns(row.head, row.at);
		if (dtc_packed_read_place(row.head, row.at) > row.head->last_place)
			return "a packet's place is not there";
		if (time_ns < *before_ns || (i == 0 && time_ns != row.head->time_ns))
			return "a packet is not where it can be";
		*before_ns = time_ns;
	}
	return NULL;
}

static const char *judge(DtcPacked *packed, uint32_t flow_count)
{
	int64_t before_ns = INT64_MIN;
	uint32_t end = packed->units->len, block_count = packed->blocks->len;

	for (uint32_t i = block_count; i-- > 0;) { /* its end is where the next one begins */
		uint32_t unit = packed->block[i];
		if (unit >= end || end - unit < sizeof(struct dtc_packed_head) / UNIT)
			return "a block of packets is not there";
		const struct dtc_packed_head *head = (const void *)&packed->unit[unit];
		const char *wrong = judge_head(head, (gsize)(end - unit) * UNIT);
		if (!wrong && i + 1 < block_count && head->last != DTC_PACKED_COUNT - 1)
			wrong = "a block of packets is not full";
		if (wrong)
			return wrong;
		end = unit;
	}
	if (end)
		return "packets are in no block";
	for (uint32_t i = 0; i < block_count; i++) {
		struct dtc_packed_row row = dtc_packed_find(packed, i * DTC_PACKED_COUNT);
		const char *wrong = judge_packets(row, flow_count, &before_ns);
		if (wrong)
			return wrong;
		packed->count += row.head->last + 1u;
		for (guint k = 0; k <= row.head->last_place; k++)
			packed->has_inferred |= ((const struct dtc_packed_place *)(row.head + 1))[k].seen >> 15 & 1;
	}
	packed->packed_count = packed->count;
	return NULL;
}

DtcPacked *dtc_packed_load_image(DtcImage *image, uint32_t flow_count, GError **error)
{
	gsize unit_count, block_count;
	const struct saved_head *head = dtc_image_get_one(image, "packets.head", sizeof(*head), error);
	const void *units = head ? dtc_image_get(image, "packets.units", UNIT, &unit_count, error) : NULL;
	const uint32_t *blocks =
		units ? dtc_image_get(image, "packets.blocks", sizeof(uint32_t), &block_count, error) : NULL;

	if (!blocks)
		return NULL;
	if (unit_count > G_MAXUINT || block_count > (DTC_NONE - 1) / DTC_PACKED_COUNT) {
		dtc_image_refuse(image, error, "it has more packets than there can be");
		return NULL;
	}
	g_autoptr(DtcPacked) packed = g_new0(DtcPacked, 1);
	packed->units = dtc_table_new_borrowed(UNIT, units, (guint)unit_count);
	packed->blocks = dtc_table_new_borrowed(sizeof(uint32_t), blocks, (guint)block_count);
	packed->unit = units;
	packed->block = blocks;
	if (dtc_image_is_far(image)) {
		packed->count = packed->packed_count = head->count;
		packed->has_inferred = head->has_inferred != 0;
		return g_steal_pointer(&packed);
	}
	const char *wrong = judge(packed, flow_count);
	if (!wrong && (packed->count != head->count || packed->has_inferred != (head->has_inferred != 0)))
		wrong = "there are more or other packets than it says";
	if (wrong) {
		dtc_image_refuse(image, error, wrong);
		return NULL;
	}
	return g_steal_pointer(&packed);
}
