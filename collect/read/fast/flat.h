/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wanted of an event where all of that lies at known places: in its first stretch and in its last one
 * (forms.h), or, of an event without a form, in the run that it begins with. It is taken without looking at steps and
 * rules.
 */
#pragma once

#include "collect/read/fast/forms.h"
#include "collect/read/fast/program.h"
#include "collect/read/fields.h"

#include <stddef.h>

/* A number: eight bytes from at on, shifted to the left and, with their sign, to the right. */
struct dtc_flat_number {
	uint64_t mask; /* of its bits; of signed ones all */
	uint32_t at;   /* bytes from the stretch's begin */
	uint16_t to;   /* bytes in the event, or in the values of headers */
	uint8_t left, right;
};

struct dtc_flat_text {
	uint32_t at;   /* bytes from the stretch's begin */
	uint32_t zero; /* where an array's last byte is */
	uint8_t mask;  /* of the byte that must be 0: 0 where none must */
	bool is_last;  /* in the last stretch */
	bool is_there; /* events of the class have one */
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

/* As many numbers are taken of every event, those that are none into what is set anyway: a loop would be guessed. */
#define DTC_FLAT_FEW 2

/* What is looked at for every event: in two lines of the cache, since classes come in any order. */
struct dtc_flat {
	_Alignas(64) uint16_t kind; /* enum dtc_event_kind */
	uint16_t name;
	bool is_net;
	bool is_call;
	bool has_tid;
	bool has_more;	      /* of the other numbers, or the thread */
	uint8_t protocol;     /* that events of the class are of, whatever they say; or 0 */
	uint8_t slot;	      /* of what is the same of all events of the class */
	uint8_t number_count; /* little endian, in the first stretch, beside the few */
	uint8_t last_count;   /* ... in the last one; these follow on those */
	uint8_t turned_count; /* big endian */
	uint8_t turned_last_count;
	uint32_t align; /* of the first stretch */
	/*
	 * Of it there must be so many in the file. Where there is a form, who found it looked; G_MAXINT64: what is
	 * wanted does not lie like this.
	 */
	uint64_t bits;
	int64_t value; /* of that slot */
	struct dtc_flat_number few[DTC_FLAT_FEW];
	struct dtc_flat_text texts[2]; /* by slot */
	struct dtc_flat_number *numbers;
	struct dtc_flat_headers *headers; /* NULL: none */
};
_Static_assert(sizeof(struct dtc_flat) == 128, "two lines of the cache");

/* Sets those of a program of which all else is made; forms are those of its event class, or NULL. */
void dtc_flats_init(DtcProgram *program, const struct dtc_forms *forms, const struct dtc_event_spelling *spelling);
void dtc_flats_clear(DtcProgram *program);

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

static inline void dtc_flat_take_number(const struct dtc_flat_number *number, const uint8_t *from, void *to)
{
	uint64_t word;
	memcpy(&word, from + number->at, sizeof(word));
	word = GUINT64_FROM_LE(word);
	word = (uint64_t)((int64_t)(word << (number->left & 63)) >> (number->right & 63)) & number->mask;
	memcpy((uint8_t *)to + number->to, &word, sizeof(word));
}

/* What an event of the class is before anything of it is taken. */
static inline void dtc_flat_begin(const struct dtc_flat *flat, struct dtc_event *event)
{
	event->kind = flat->kind;
	event->name = flat->name;
	memset((uint8_t *)event + offsetof(struct dtc_event, has_address), 0,
	       offsetof(struct dtc_event, v) - offsetof(struct dtc_event, has_address));
	for (guint i = 0; i < DTC_EVENT_FEW_SLOTS; i++)
		event->v[i] = DTC_ABSENT;
	if (flat->is_call)
		for (guint i = DTC_EVENT_FEW_SLOTS; i < DTC_EVENT_SLOTS; i++)
			event->v[i] = DTC_ABSENT;
	event->v[flat->slot] = flat->value;
	if (flat->is_net) {
		memset(&event->headers, 0, sizeof(event->headers));
		event->headers.protocol = flat->protocol;
	}
}

/* False if it is not flat, the file ends too near, or a name has no end: then all but texts is as it begins. */
static inline bool dtc_flat_take(const struct dtc_flat *flat, const struct dtc_decoder *packet,
				 const struct dtc_item *item, struct dtc_event *event)
{
	uint64_t begin = dtc_align_bits(item->at, flat->align);
	if (G_UNLIKELY(begin + flat->bits > packet->room))
		return false;
	const uint8_t *first = packet->data + begin / 8, *last = first + item->last;
	for (guint i = 0; i < G_N_ELEMENTS(flat->texts); i++) {
		const struct dtc_flat_text *text = &flat->texts[i];
		const uint8_t *from = text->is_last ? last : first;
		if (G_UNLIKELY(from[text->zero] & text->mask))
			return false;
		event->text[i] = text->is_there ? (const char *)from + text->at : NULL;
	}
	for (guint i = 0; i < DTC_FLAT_FEW; i++)
		dtc_flat_take_number(&flat->few[i], first, event);
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
