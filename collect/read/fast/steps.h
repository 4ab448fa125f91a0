/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Structures, one behind the other, as steps: fields of fixed size between two of varying size are one run, whose end
 * is compared with the packet's once, and of which only what is wanted is looked at. Whoever wants nothing passes an
 * event with dtc_steps_pass; program.c takes what is wanted.
 */
#pragma once

#include "collect/read/fast/decode.h"

enum dtc_operation {
	DTC_OPERATION_NUMBER,
	DTC_OPERATION_ELEMENT, /* of an array of integers */
	DTC_OPERATION_TEXT,
	DTC_OPERATION_ADDRESS,
	DTC_OPERATION_HEADER,
	DTC_OPERATION_READY,
	DTC_OPERATION_DATA,
	DTC_OPERATION_LAYERS, /* the variant of a network header, or of a transport header in it */
	DTC_OPERATION_FIELD,  /* of a header */
	DTC_OPERATION_SOURCE,
	DTC_OPERATION_DESTINATION,
	DTC_OPERATION_THREAD, /* in whose context it happened */
};

/* What is done with one field. */
struct dtc_rule {
	uint8_t operation; /* enum dtc_operation */
	uint8_t slot;
	int8_t element;
	uint32_t at; /* bits from the run's begin; not of fields of varying size */
	const struct dtc_layout *layout;
};

/*
 * A number that begins in a known bit of a byte and ends in the seven after it: the eight bytes from there, whose order
 * is turned if it is big endian, shifted to the left and then to the right.
 */
struct dtc_step_number {
	uint32_t at; /* bytes from the run's begin */
	uint8_t slot;
	uint8_t left;
	uint8_t right : 6;
	bool is_big_endian : 1;
	bool is_signed : 1;
};

/* A number that the decoder itself asks for. */
struct dtc_step_length {
	uint32_t at;  /* bits from the run's begin */
	int32_t slot; /* of the decoder */
	bool is_number;
	struct dtc_step_number number; /* without a slot */
	const struct dtc_layout *layout;
};

enum dtc_step_kind {
	DTC_STEP_RUN, /* nothing but the run */
	DTC_STEP_STRING,
	DTC_STEP_LIST, /* whose elements have one size */
	DTC_STEP_VARIANT,
	DTC_STEP_OTHER,
};

#define DTC_STEP_OPTIONS 16 /* values of a variant's selector that need no search */

struct dtc_steps;

/* A run, then, unless all ends, a field of varying size. */
struct dtc_layout_step {
	uint32_t align;
	uint32_t run_bits;
	uint8_t kind; /* enum dtc_step_kind */
	int32_t source;
	uint32_t element_bits;
	guint length_first, length_count;
	guint number_first, number_count; /* wanted, in the run */
	guint rule_first, rule_count;	  /* what else is wanted in the run */
	guint field_rule_first, field_rule_count;
	const struct dtc_layout *field;
	struct dtc_steps **options;	    /* of a variant; of those that are no structures NULL. NULL: search */
	int8_t option_of[DTC_STEP_OPTIONS]; /* by the selector's value; -1: search */
};

struct dtc_steps {
	guint count;
	guint wanted_count;	    /* of those up to the last of which something is wanted */
	bool is_last_wanted_string; /* that is at its end a string, whose end is of no interest then */
	struct dtc_layout_step *steps;
	struct dtc_step_length *lengths;
	struct dtc_step_number *numbers;
	struct dtc_rule *rules;
};

/*
 * structures: struct dtc_layout *, NULL among them; wanted: struct dtc_rule without places, or NULL. What is wanted of
 * the options of variants is not asked for here. Caller owns.
 */
struct dtc_steps *dtc_steps_new(const struct dtc_layout *const *structures, guint count, const GArray *wanted);
void dtc_steps_free(struct dtc_steps *steps);

/* Goes to the end of all; false if that is not in the packet. */
bool dtc_steps_pass(const struct dtc_steps *steps, struct dtc_decoder *decoder);
/* The field at the end of a step. */
bool dtc_steps_pass_field(const struct dtc_layout_step *step, struct dtc_decoder *decoder);
/* The option that a variant's selector says, and what is in it; false if there is none. */
bool dtc_steps_select(const struct dtc_layout_step *step, const struct dtc_decoder *decoder, uint32_t *ret_option,
		      const struct dtc_layout **ret_inner);

/* A field that a run can hold: a number, or what has fixed bits all through. */
bool dtc_step_is_fixed(const struct dtc_layout *layout, uint32_t *ret_bits);
/*
 * The number at a place (bits) of a run that is aligned so; false if it does not lie in eight bytes from the one in
 * which it begins.
 */
bool dtc_step_make_number(const struct dtc_layout *layout, uint32_t align, uint32_t at, uint8_t slot,
			  struct dtc_step_number *ret_number);
/* The option of each small value of a variant's selector, as the search finds it; -1: none. */
void dtc_step_list_options(const struct dtc_layout *variant, int8_t options[DTC_STEP_OPTIONS]);

static inline uint64_t dtc_step_extract(uint64_t word, const struct dtc_step_number *number)
{
	word = number->is_big_endian ? GUINT64_FROM_BE(word) : GUINT64_FROM_LE(word);
	word <<= number->left & 63;
	return number->is_signed ? (uint64_t)((int64_t)word >> number->right) : word >> number->right;
}

/* The numbers of a run that begins there and is in the packet, to the decoder's slots. */
static inline void dtc_step_take_lengths(const struct dtc_steps *steps, const struct dtc_layout_step *step,
					 const struct dtc_decoder *decoder, uint64_t begin)
{
	const struct dtc_step_length *length = &steps->lengths[step->length_first], *end = length + step->length_count;
	bool has_room = begin + step->run_bits + 64 <= decoder->room;
	for (; length < end; length++) {
		uint64_t word;
		if (G_LIKELY(has_room && length->is_number)) {
			memcpy(&word, decoder->data + begin / 8 + length->number.at, sizeof(word));
			decoder->slots[length->slot] = dtc_step_extract(word, &length->number);
		} else {
			decoder->slots[length->slot] =
				dtc_decode_load(decoder->data, begin + length->at, length->layout);
		}
	}
}

/* Aligns the decoder to a step's begin; false if its run is not in the packet. */
static inline bool dtc_step_begin(const struct dtc_layout_step *step, const struct dtc_decoder *decoder,
				  uint64_t *ret_begin)
{
	*ret_begin = dtc_align_bits(decoder->at, step->align);
	return *ret_begin <= decoder->end && step->run_bits <= decoder->end - *ret_begin;
}
