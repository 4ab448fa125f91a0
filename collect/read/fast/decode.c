/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/decode.h"

/* The lowest bits come first; so they are in the lowest bits of a byte. */
static uint64_t take_little(const uint8_t *data, uint64_t at, uint32_t bits)
{
	uint64_t value = 0;
	for (uint32_t done = 0; done < bits;) {
		uint32_t offset = (uint32_t)((at + done) % 8), count = MIN(8 - offset, bits - done);
		uint64_t part = (data[(at + done) / 8] >> offset) & ((1u << count) - 1);
		value |= part << done;
		done += count;
	}
	return value;
}

/* The highest bits come first, in the highest bits of a byte. */
static uint64_t take_big(const uint8_t *data, uint64_t at, uint32_t bits)
{
	uint64_t value = 0;
	for (uint32_t done = 0; done < bits;) {
		uint32_t offset = (uint32_t)((at + done) % 8), count = MIN(8 - offset, bits - done);
		uint64_t part = (data[(at + done) / 8] >> (8 - offset - count)) & ((1u << count) - 1);
		value = value << count | part;
		done += count;
	}
	return value;
}

uint64_t dtc_decode_bits(const uint8_t *data, uint64_t at, uint32_t bits, bool is_big_endian)
{
	uint32_t offset = (uint32_t)(at % 8);
	if (offset + bits <= 8) /* as the halves of a byte in IP headers */
		return (data[at / 8] >> (is_big_endian ? 8 - offset - bits : offset)) & ((1u << bits) - 1);
	return is_big_endian ? take_big(data, at, bits) : take_little(data, at, bits);
}

uint64_t dtc_decode_reversed(const uint8_t *data, uint64_t at, uint32_t bits, bool is_big_endian)
{
	uint64_t value = 0;
	for (uint32_t i = 0; i < bits; i++) {
		uint32_t offset = (uint32_t)((at + i) % 8);
		uint64_t bit = (data[(at + i) / 8] >> (is_big_endian ? offset : 7 - offset)) & 1;
		value |= bit << (is_big_endian ? bits - 1 - i : i);
	}
	return value;
}

bool dtc_decode_get_length(const struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_length)
{
	if (layout->kind == DTC_TYPE_ARRAY) {
		*ret_length = layout->type->length;
		return true;
	}
	*ret_length = decoder->slots[layout->source];
	return *ret_length <= (uint64_t)INT64_MAX;
}

static bool is_in_range(uint64_t value, const struct dtc_type_range *range)
{
	return range->is_unsigned ? value >= (uint64_t)range->low && value <= (uint64_t)range->high
				  : (int64_t)value >= range->low && (int64_t)value <= range->high;
}

static bool is_there(const struct dtc_layout *option, uint64_t value)
{
	for (guint i = 0; i < option->type->range_count; i++)
		if (is_in_range(value, &option->type->ranges[i]))
			return true;
	return option->type->range_count == 0 && value != 0;
}

bool dtc_decode_select(const struct dtc_decoder *decoder, const struct dtc_layout *layout, uint32_t *ret_option,
		       const struct dtc_layout **ret_inner)
{
	uint64_t value = decoder->slots[layout->source];
	*ret_option = 0;
	if (layout->kind == DTC_TYPE_OPTION) {
		*ret_inner = is_there(layout, value) ? layout->element : NULL;
		return true;
	}
	for (guint i = 0; i < layout->choice_count; i++) {
		if (!is_in_range(value, &layout->choices[i].range))
			continue;
		*ret_option = layout->choices[i].option;
		*ret_inner = layout->members[*ret_option].layout;
		return true;
	}
	return false;
}

static const char *find_zero_unit(const char *text, uint64_t bytes, uint8_t unit)
{
	static const char zero[4] = { 0 };
	for (uint64_t at = 0; at + unit <= bytes; at += unit)
		if (memcmp(text + at, zero, unit) == 0)
			return text + at;
	return NULL;
}

const char *dtc_decode_any_string(struct dtc_decoder *decoder, const struct dtc_layout *layout, gsize *ret_bytes)
{
	uint64_t at = dtc_align_bits(decoder->at, layout->align);
	uint64_t left = at < decoder->end ? (decoder->end - at) / 8 : 0;
	const char *text = (const char *)decoder->data + at / 8;
	uint8_t unit = MAX(layout->type->unit_bytes, 1);
	const char *zero = unit > 1 ? find_zero_unit(text, left, unit) : left > 0 ? memchr(text, 0, left) : NULL;
	if (!zero)
		return NULL;
	*ret_bytes = (gsize)(zero - text);
	decoder->at = at + (*ret_bytes + unit) * 8;
	return text;
}

bool dtc_decode_varint(struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_value)
{
	uint64_t at = dtc_align_bits(decoder->at, layout->align), value = 0;
	for (guint shift = 0; at < decoder->end && decoder->end - at >= 8; shift += 7) {
		uint8_t byte = decoder->data[at / 8];
		/* the tenth byte has one bit of value, or six copies of the sign and one */
		if (shift > 63 || (shift == 63 && (byte & 0x7f) != 0 && (byte & 0x7f) != 1 &&
				   !(layout->is_signed && (byte & 0x7f) == 0x7f)))
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		at += 8;
		if (byte & 0x80)
			continue;
		if (layout->is_signed && byte & 0x40 && shift + 7 < 64)
			value |= ~UINT64_C(0) << (shift + 7);
		decoder->at = at;
		if (layout->slot >= 0)
			decoder->slots[layout->slot] = value;
		if (layout->is_clock)
			dtc_decode_tick(decoder, value, 64);
		*ret_value = value;
		return true;
	}
	return false;
}

/* Elements of no size need no passing, however many they are said to be. */
static bool pass_elements(struct dtc_decoder *decoder, const struct dtc_layout *layout)
{
	const struct dtc_layout *element = layout->element;
	uint64_t length;
	if (!dtc_decode_get_length(decoder, layout, &length))
		return false;
	decoder->at = dtc_align_bits(decoder->at, layout->align);
	if (element->fixed_bits >= 0 && element->fixed_bits % element->align == 0) {
		if (decoder->at > decoder->end ||
		    (element->fixed_bits > 0 && length > (decoder->end - decoder->at) / (uint64_t)element->fixed_bits))
			return false;
		decoder->at += length * (uint64_t)element->fixed_bits;
		return true;
	}
	for (uint64_t i = 0; i < length; i++) {
		uint64_t before = decoder->at;
		if (!dtc_decode_pass(decoder, element))
			return false;
		if (decoder->at == before)
			break;
	}
	return true;
}

static bool pass_members(struct dtc_decoder *decoder, const struct dtc_layout *layout)
{
	decoder->at = dtc_align_bits(decoder->at, layout->align);
	for (guint i = 0; i < layout->member_count; i++)
		if (!dtc_decode_pass(decoder, layout->members[i].layout))
			return false;
	return decoder->at <= decoder->end;
}

bool dtc_decode_pass(struct dtc_decoder *decoder, const struct dtc_layout *layout)
{
	const struct dtc_layout *inner;
	uint32_t option;
	uint64_t value;
	gsize bytes;

	if (!layout)
		return true;
	if (layout->fixed_bits >= 0) {
		uint64_t at = dtc_align_bits(decoder->at, layout->align);
		if (at > decoder->end || (uint64_t)layout->fixed_bits > decoder->end - at)
			return false;
		decoder->at = at + (uint64_t)layout->fixed_bits;
		return true;
	}
	switch (layout->kind) {
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_FLOAT:
		return dtc_decode_integer(decoder, layout, &value);
	case DTC_TYPE_VARINT:
		return dtc_decode_varint(decoder, layout, &value);
	case DTC_TYPE_STRING:
		return dtc_decode_string(decoder, layout, &bytes) != NULL;
	case DTC_TYPE_STRUCT:
		return pass_members(decoder, layout);
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		return pass_elements(decoder, layout);
	default:
		return dtc_decode_select(decoder, layout, &option, &inner) && dtc_decode_pass(decoder, inner);
	}
}

bool dtc_decode_header(struct dtc_decoder *decoder, const struct dtc_layout *layout, uint64_t *ret_id)
{
	const struct dtc_layout *inner;
	uint32_t option;
	uint64_t value;

	if (!layout)
		return true;
	switch (layout->kind) {
	case DTC_TYPE_STRUCT:
		decoder->at = dtc_align_bits(decoder->at, layout->align);
		for (guint i = 0; i < layout->member_count; i++)
			if (!dtc_decode_header(decoder, layout->members[i].layout, ret_id))
				return false;
		return decoder->at <= decoder->end;
	case DTC_TYPE_VARIANT:
	case DTC_TYPE_OPTION:
		return dtc_decode_select(decoder, layout, &option, &inner) && dtc_decode_header(decoder, inner, ret_id);
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_VARINT:
		if (!(layout->kind == DTC_TYPE_INTEGER ? dtc_decode_integer(decoder, layout, &value)
						       : dtc_decode_varint(decoder, layout, &value)))
			return false;
		if (layout->role == DTC_ROLE_EVENT_CLASS)
			*ret_id = value;
		return true;
	default:
		return dtc_decode_pass(decoder, layout);
	}
}
