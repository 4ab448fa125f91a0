/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets in half of the room that struct dtc_packet and what belongs to it take: blocks of 128, each of which is read
 * by itself. What hardly changes from one packet of a flow to its next (CPU, interface, direction) is in a list of the
 * block, once; the others are rows of as few bytes as the block needs for them, so that a packet's row is found by its
 * number alone. Nothing is lost, whatever the packets are: a field can have all of its bits.
 *
 * The latest packets stay as they are until a block of them is full and some more have come. Those that came late are
 * sorted by time then, and have other numbers.
 */
#pragma once

#include "collect/packets/packets.h"
#include "collect/packets/table.h"

#include <string.h>

#define DTC_PACKED_COUNT 128 /* packets of a block; a power of two */
#define DTC_PACKED_FIXED 7   /* bytes of a row that all rows have */

/* What a block begins with. Behind it are its places, of each place a mark if there are any, and the rows. */
struct dtc_packed_head {
	int64_t time_ns;    /* of its first packet: the others count from there */
	uint32_t no_ack;    /* what the ack of packets without the flag is counted from */
	uint16_t rows_at;   /* bytes from here */
	uint8_t row_bytes;  /* of each */
	uint8_t last;	    /* packet; of all blocks but the last: 127 */
	uint8_t last_place; /* of its places */
	uint8_t has_marks;
	uint8_t place_bits; /* of the moment, from its lowest bit on */
	uint8_t time_bits;
	uint8_t moment_bytes;
	uint8_t seq_bytes;
	uint8_t ack_bytes;
	uint8_t mark_bytes;
	uint8_t odd_bytes; /* DTC_PACKED_ODD, or 0 */
	uint8_t spare[7];
};
_Static_assert(sizeof(struct dtc_packed_head) == 32, "as docs/formats.md has it");

/* Of a row: the upper 32 bits of time, and 8 of the payload's. */
#define DTC_PACKED_ODD 5

/* What packets of a block have in common. */
struct dtc_packed_place {
	uint32_t flow;
	uint32_t seen; /* cpu, direction, has_timestamps, is_inferred and interface, from the lowest bit on */
	uint32_t seq;  /* that of its packets is counted from */
	uint32_t ack;  /* of those that have one */
};
_Static_assert(sizeof(struct dtc_packed_place) == 16, "as docs/formats.md has it");

/* Blocks begin at multiples of that. */
struct dtc_packed_unit {
	uint64_t words[2];
};

typedef struct DtcPacked {
	const struct dtc_packed_unit *unit; /* of the tables, as long as nothing is added */
	const uint32_t *block;
	uint32_t packed_count;	   /* packets in blocks; behind them are the recent ones */
	uint32_t count;		   /* of all */
	DtcTable *units;	   /* struct dtc_packed_unit */
	DtcTable *blocks;	   /* uint32_t: its first unit */
	struct dtc_packet *recent; /* owned */
	uint32_t *marks;	   /* of these; owned */
	int64_t packed_ns;	   /* of the last packet in a block */
	bool has_late;		   /* a recent one is earlier than the one before it */
	bool is_unsorted;	   /* one came so late that its place is in a block */
	bool has_inferred;	   /* one is, of those in blocks */
	guint recent_size;
} DtcPacked;

DtcPacked *dtc_packed_new(void);
void dtc_packed_free(DtcPacked *packed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPacked, dtc_packed_free)

/* Blocks grow in that space. Before the first packet. */
void dtc_packed_set_space(DtcPacked *packed, DtcSpace *space);
/* 0: it has no mark. */
void dtc_packed_add(DtcPacked *packed, const struct dtc_packet *packet, uint32_t mark);
/* All is in the order of time: true. False: the caller has to add it anew, sorted. */
bool dtc_packed_sort(DtcPacked *packed);
/* Takes back all. */
void dtc_packed_clear(DtcPacked *packed);
/* No more is to come. */
void dtc_packed_seal(DtcPacked *packed);

/* What packets of a block have in common. */
const struct dtc_packed_place *dtc_packed_get_places(const DtcPacked *packed, uint32_t block, guint *ret_count);
/* The sealed packets of a block, DTC_PACKED_COUNT at most; gives how many. */
guint dtc_packed_list(const DtcPacked *packed, uint32_t block, struct dtc_packet list[DTC_PACKED_COUNT]);

void dtc_packed_save(const DtcPacked *packed, DtcImageWriter *writer);
/*
 * Of an image, sealed. NULL with DAMAGED: a block is not one, or a packet is of a flow that there is not. Of one that
 * is far away no block is looked at.
 */
DtcPacked *dtc_packed_load_image(DtcImage *image, uint32_t flow_count, GError **error);

/* --- queries: the packet is there ------------------------------------------------------------------------------- */

/* NULL: it is in a block. */
static inline const struct dtc_packet *dtc_packed_get_recent(const DtcPacked *packed, uint32_t packet)
{
	return packet >= packed->packed_count ? &packed->recent[packet - packed->packed_count] : NULL;
}

/* A packet that is in a block. */
struct dtc_packed_row {
	const struct dtc_packed_head *head;
	const uint8_t *at;
};

static inline uint64_t dtc_packed_load_word(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return GUINT64_FROM_LE(word);
}

/* Less than 8 of them. */
static inline uint64_t dtc_packed_cut(uint64_t word, uint8_t bytes)
{
	return word & ((UINT64_C(1) << 8 * bytes) - 1);
}

static inline struct dtc_packed_row dtc_packed_find(const DtcPacked *packed, uint32_t packet)
{
	const struct dtc_packed_head *head = (const void *)&packed->unit[packed->block[packet / DTC_PACKED_COUNT]];
	return (struct dtc_packed_row){ head, (const uint8_t *)head + head->rows_at +
						      (gsize)(packet % DTC_PACKED_COUNT) * head->row_bytes };
}

/* Where in the list of the block's places it is. */
static inline uint32_t dtc_packed_read_place(const struct dtc_packed_head *head, const uint8_t *row)
{
	return dtc_packed_load_word(row + DTC_PACKED_FIXED) & ((UINT64_C(1) << head->place_bits) - 1);
}

static inline int64_t dtc_packed_read_time_ns(const struct dtc_packed_head *head, const uint8_t *row)
{
	uint64_t moment = dtc_packed_load_word(row + DTC_PACKED_FIXED);
	uint64_t time = moment >> head->place_bits & ((UINT64_C(1) << head->time_bits) - 1);
	if (G_UNLIKELY(head->odd_bytes))
		time |= dtc_packed_load_word(row + head->row_bytes - DTC_PACKED_ODD) << 32;
	return (int64_t)((uint64_t)head->time_ns + time);
}

/* What is not looked at of the packet that it gives costs nothing. */
__attribute__((always_inline)) static inline struct dtc_packet
dtc_packed_unpack(const struct dtc_packed_head *head, const struct dtc_packed_place *places, const uint8_t *row)
{
	const struct dtc_packed_place *place = &places[dtc_packed_read_place(head, row)];
	uint64_t fields = dtc_packed_load_word(row), high = 0;
	uint64_t numbers = dtc_packed_load_word(row + DTC_PACKED_FIXED + head->moment_bytes);
	uint8_t flags = fields & 0xff;
	if (G_UNLIKELY(head->odd_bytes))
		high = dtc_packed_load_word(row + head->row_bytes - DTC_PACKED_ODD) >> 32 & 0xff;
	return (struct dtc_packet){
		.time_ns = dtc_packed_read_time_ns(head, row),
		.flow = place->flow,
		.seq = place->seq + (uint32_t)dtc_packed_cut(numbers, head->seq_bytes),
		.ack = (flags & DTC_TCP_ACK ? place->ack : head->no_ack) +
		       (uint32_t)dtc_packed_cut(numbers >> 8 * head->seq_bytes, head->ack_bytes),
		.payload_bytes = (fields >> 40 & 0xffff) | high << 16,
		.tcp_flags = flags,
		.ip_id = (uint16_t)(fields >> 8),
		.window = (uint16_t)(fields >> 24),
		.cpu = place->seen & 0x1fff,
		.direction = place->seen >> 13 & 1,
		.has_timestamps = place->seen >> 14 & 1,
		.is_inferred = place->seen >> 15 & 1,
		.interface = (uint16_t)(place->seen >> 16),
	};
}

__attribute__((always_inline)) static inline struct dtc_packet dtc_packed_get(const DtcPacked *packed, uint32_t packet)
{
	const struct dtc_packet *recent = dtc_packed_get_recent(packed, packet);
	if (recent)
		return *recent;
	struct dtc_packed_row row = dtc_packed_find(packed, packet);
	return dtc_packed_unpack(row.head, (const void *)(row.head + 1), row.at);
}

static inline int64_t dtc_packed_get_time_ns(const DtcPacked *packed, uint32_t packet)
{
	const struct dtc_packet *recent = dtc_packed_get_recent(packed, packet);
	if (recent)
		return recent->time_ns;
	struct dtc_packed_row row = dtc_packed_find(packed, packet);
	return dtc_packed_read_time_ns(row.head, row.at);
}

uint32_t dtc_packed_get_mark(const DtcPacked *packed, uint32_t packet);
