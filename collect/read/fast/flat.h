/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wanted of an event where all of that lies at known places: in its first stretch and in its last one
 * (forms.h), or, of an event without a form, in the run that it begins with. It is taken without looking at steps and
 * rules.
 */
#pragma once

#include "collect/read/fast/program_parts.h"

/* A number: eight bytes from at on, shifted to the left and, with their sign, to the right. */
struct dtc_flat_number {
	uint64_t mask; /* of its bits; of signed ones all */
	uint32_t at;   /* bytes from the stretch's begin */
	uint16_t to;   /* bytes in the event, or in the values of headers */
	uint8_t left, right;
};

struct dtc_flat_text {
	uint8_t slot;
	bool is_last;  /* in the last stretch */
	uint8_t mask;  /* of the byte that must be 0: 0 where none must */
	uint32_t at;   /* bytes from the stretch's begin */
	uint32_t zero; /* where an array's last byte is */
};

/* The headers of a packet: big endian, and in the last stretch, as all that is known of them. */
struct dtc_flat_headers {
	enum dtc_header_layer ip, transport; /* OTHER: none */
	bool is_wire;			     /* their fields lie as on the wire, each header behind these places: */
	uint32_t ip_at, transport_at;
	uint32_t ip_fields, transport_fields;
	uint32_t source_at, destination_at, address_bytes;
	guint number_count;
	struct dtc_flat_number *numbers;
};

struct dtc_flat {
	bool has_tid;
	bool has_more; /* of the other numbers, or the thread */
	uint8_t text_count;
	uint8_t number_count; /* little endian, in the first stretch */
	uint8_t last_count;   /* ... in the last one; these follow on those */
	uint8_t turned_count; /* big endian */
	uint8_t turned_last_count;
	uint32_t align; /* of the first stretch */
	/*
	 * Of it there must be so many in the file. Where there is a form, who found it looked; G_MAXINT64: what is
	 * wanted does not lie like this.
	 */
	uint64_t bits;
	struct dtc_flat_number *numbers;
	struct dtc_flat_headers *headers; /* NULL: none */
	struct dtc_flat_text texts[2];
};

/* By form, the first for none; as many as the forms and one. forms may be NULL. Caller owns. */
struct dtc_flat *dtc_flats_new(const DtcProgram *program, const struct dtc_forms *forms);
void dtc_flats_free(struct dtc_flat *flats, guint count);

static inline void dtc_flat_take_numbers(const struct dtc_flat_number *number, guint count, const uint8_t *from,
					 void *to, bool is_turned)
{
	for (const struct dtc_flat_number *end = number + count; number < end; number++) {
		uint64_t word;
		memcpy(&word, from + number->at, sizeof(word));
		word = is_turned ? GUINT64_FROM_BE(word) : GUINT64_FROM_LE(word);
		word = (uint64_t)((int64_t)(word << (number->left & 63)) >> (number->right & 63)) & number->mask;
		memcpy((uint8_t *)to + number->to, &word, sizeof(word));
	}
}

/* The headers of an event whose own are all 0. */
void dtc_flat_take_headers(const struct dtc_flat_headers *headers, const uint8_t *last, struct dtc_event *event);

/* False if it is not flat, the file ends too near, or a name has no end: then all but texts is as it begins. */
static inline bool dtc_flat_take(const struct dtc_flat *flat, const struct dtc_decoder *packet,
				 const struct dtc_item *item, struct dtc_event *event)
{
	uint64_t begin = dtc_align_bits(item->at, flat->align);
	if (G_UNLIKELY(begin + flat->bits > packet->room))
		return false;
	const uint8_t *first = packet->data + begin / 8, *last = first + item->last;
	const struct dtc_flat_text *text = flat->texts, *end = text + flat->text_count;
	for (; text < end; text++) {
		const uint8_t *from = text->is_last ? last : first;
		if (G_UNLIKELY(from[text->zero] & text->mask))
			return false;
		event->text[text->slot] = (const char *)from + text->at;
	}
	dtc_flat_take_numbers(flat->numbers, flat->number_count, first, event, false);
	if (G_UNLIKELY(flat->has_more)) {
		const struct dtc_flat_number *more = flat->numbers + flat->number_count;
		dtc_flat_take_numbers(more, flat->last_count, last, event, false);
		more += flat->last_count;
		dtc_flat_take_numbers(more, flat->turned_count, first, event, true);
		more += flat->turned_count;
		dtc_flat_take_numbers(more, flat->turned_last_count, last, event, true);
		event->has_tid = flat->has_tid;
	}
	if (flat->headers)
		dtc_flat_take_headers(flat->headers, last, event);
	return true;
}

/* dtc_program_run, in the loop of who asks. */
static inline bool dtc_program_take(const DtcProgram *program, const struct dtc_decoder *packet,
				    const struct dtc_item *item, struct dtc_program_texts *texts,
				    struct dtc_event *event)
{
	const gsize few = offsetof(struct dtc_event, v) + DTC_EVENT_FEW_SLOTS * sizeof(int64_t);
	memcpy(event, &program->begin, few);
	if (program->is_call)
		memcpy((uint8_t *)event + few, program->begin.bytes + few, sizeof(program->begin) - few);
	if (program->is_net) {
		memset(&event->headers, 0, sizeof(event->headers));
		event->headers.protocol = program->protocol;
	}
	return dtc_flat_take(&program->flats[item->form], packet, item, event) ||
	       dtc_program_take_any(program, packet, item->at, texts, event);
}
