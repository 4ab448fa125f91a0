/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of fields from the bits of a packet. Every length is compared with what is left of the packet before anything
 * is done with it, and nothing is allocated. A decoder is at one place; what it passes leaves its trace in the slots
 * and in the clock.
 */
#pragma once

#include "collect/read/fast/layout.h"

#include <string.h>

struct dtc_decoder {
	const uint8_t *data; /* of the packet */
	uint64_t at, end;    /* bits from there */
	uint64_t *slots;     /* slot_count of them */
	uint64_t clock;	     /* the stream's, in its ticks */
	uint64_t room;	     /* bits of data that can be looked at, the packet's or not; 0: up to end */
};

/* The place at which a layout that is aligned to so many bits begins. */
static inline uint64_t dtc_align_bits(uint64_t at, uint32_t align)
{
	return (at + align - 1) & -(uint64_t)align;
}

/* Bits of either order at any place. */
uint64_t dtc_decode_bits(const uint8_t *data, uint64_t at, uint32_t bits, bool is_big_endian);
/* The same where the bits within bytes run against the byte order. */
uint64_t dtc_decode_reversed(const uint8_t *data, uint64_t at, uint32_t bits, bool is_big_endian);

/* An integer (or float: its bits) at a place that is its own, inside of the packet; signed ones are extended. */
static inline uint64_t dtc_decode_load(const uint8_t *data, uint64_t at, const struct dtc_layout *layout)
{
	uint64_t value;
	if (G_LIKELY(layout->is_plain && at % 8 == 0)) {
		const uint8_t *byte = data + at / 8;
		bool is_big = layout->is_big_endian;
		uint32_t word;
		uint16_t half;
		switch (layout->bits) {
		case 8:
			return layout->is_signed ? (uint64_t)(int64_t)(int8_t)*byte : *byte;
		case 16:
			memcpy(&half, byte, sizeof(half));
			half = is_big ? GUINT16_FROM_BE(half) : GUINT16_FROM_LE(half);
			return layout->is_signed ? (uint64_t)(int64_t)(int16_t)half : half;
		case 32:
			memcpy(&word, byte, sizeof(word));
			word = is_big ? GUINT32_FROM_BE(word) : GUINT32_FROM_LE(word);
			return layout->is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
		default:
			memcpy(&value, byte, sizeof(value));
			return is_big ? GUINT64_FROM_BE(value) : GUINT64_FROM_LE(value);
		}
	}
	value = layout->is_reversed ? dtc_decode_reversed(data, at, layout->bits, layout->is_big_endian)
				    : dtc_decode_bits(data, at, layout->bits, layout->is_big_endian);
	if (layout->is_signed && layout->bits - 1 < 63 && (value >> (layout->bits - 1)) & 1)
		value |= ~UINT64_C(0) << layout->bits;
	return value;
}

/* New low bits of the clock, which may have turned once since the last ones. */
static inline void dtc_decode_tick(struct dtc_decoder *decoder, uint64_t value, uint32_t bits)
{
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0);
	uint64_t turn = bits < 64 && value < (decoder->clock & mask) ? mask + 1 : 0;
	decoder->clock = ((decoder->clock & ~mask) + turn) | value;
}

/* The next field, an integer or float; false if the packet ends before its end. */
static inline bool dtc_decode_integer(struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_value)
{
	uint64_t at = dtc_align_bits(decoder->at, layout->align);
	if (G_UNLIKELY(at > decoder->end || layout->bits > decoder->end - at))
		return false;
	uint64_t value = dtc_decode_load(decoder->data, at, layout);
	decoder->at = at + layout->bits;
	if (layout->slot >= 0)
		decoder->slots[layout->slot] = value;
	if (layout->is_clock)
		dtc_decode_tick(decoder, value, layout->bits);
	*ret_value = value;
	return true;
}

/* The length of a sequence, from its slot; false if it is negative. */
bool dtc_decode_get_length(const struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_length);
/* What a variant or option holds; *ret_inner is NULL for an option that is not there. False if no choice fits. */
bool dtc_decode_select(const struct dtc_decoder *decoder, const struct dtc_layout *layout, uint32_t *ret_option,
		       const struct dtc_layout **ret_inner);
/* A string up to its zero (of a code unit), in the packet; NULL if it has none. */
const char *dtc_decode_any_string(struct dtc_decoder *decoder, const struct dtc_layout *layout, gsize *ret_bytes);
/*
 * The same. Names of devices and interfaces are shorter than a word: the lowest zero byte of one is the lowest whose
 * high bit is set here.
 */
static inline const char *dtc_decode_string(struct dtc_decoder *decoder, const struct dtc_layout *layout,
					    gsize *ret_bytes)
{
	uint64_t at = dtc_align_bits(decoder->at, layout->align), word;
	if (G_LIKELY(at + 64 <= decoder->end && layout->type->unit_bytes <= 1)) {
		const char *text = (const char *)decoder->data + at / 8;
		memcpy(&word, text, sizeof(word));
		word = GUINT64_FROM_LE(word);
		word = (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
		if (word) {
			*ret_bytes = (gsize)__builtin_ctzll(word) / 8;
			decoder->at = at + (*ret_bytes + 1) * 8;
			return text;
		}
	}
	return dtc_decode_any_string(decoder, layout, ret_bytes);
}

/* A LEB128 number; false if it is cut or has more than 64 bits. */
bool dtc_decode_varint(struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_value);
/* Goes to the end of any field; false if that is not in the packet. NULL is a structure without members. */
bool dtc_decode_pass(struct dtc_decoder *decoder, const struct dtc_layout *layout);
/*
 * The header of an event, of any form: the last field with that role tells the event's class (none: *ret_id stays), and
 * every field with a clock moves the stream's. NULL is one without fields.
 */
bool dtc_decode_header(struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_id);
