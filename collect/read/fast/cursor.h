/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goes over the packets of one stream and finds the events in them: when they are, where, of which class, and where
 * they end, so that what is damaged is known before it is given out: then the rest of its packet is left out, and the
 * next packet goes on. What is in the events is not looked at; that is done for those that are asked for (program.h).
 * Events come in batches, so that the loop over them is short. Cursors may be moved by several threads, each by one.
 */
#pragma once

#include "collect/read/fast/chain.h"
#include "collect/read/fast/forms.h"
#include "collect/read/streams.h"

enum dtc_span_kind {
	DTC_SPAN_UNKNOWN, /* none of them was met yet */
	DTC_SPAN_FIXED,
	DTC_SPAN_FORMS,
	DTC_SPAN_STEPS, /* without forms */
};

/* How long an event of a class is: what the loop over events looks at. */
struct dtc_span {
	gint kind; /* enum dtc_span_kind; atomic: set after all else */
	guint class;
	uint32_t bits; /* if that is all; of those with forms: the number of their guess */
	uint16_t align;
	uint8_t form; /* the only one, or 0: none */
};

struct dtc_class_parts {
	struct dtc_steps *steps; /* atomic; NULL: none of them was met yet */
	struct dtc_forms *forms; /* or NULL */
};

#define DTC_GUESSES 32

/* Those of the classes of a stream layout, which its streams share. */
struct dtc_spans {
	GMutex lock; /* of making one */
	struct dtc_class_parts *parts;
	guint count;
	struct dtc_span *by_id; /* of those that the layout has by id */
	guint id_count;
	guint guess_count;
};

void dtc_spans_init(struct dtc_spans *spans, const struct dtc_stream_layout *layout);
void dtc_spans_clear(struct dtc_spans *spans);

/* Where an event's id and time lie when they are the low and the high bits of one word, as in LTTng's headers. */
struct dtc_header_plan {
	uint32_t id_bits; /* 0: there is no such plan */
	uint32_t time_bits;
	uint32_t align;
	uint64_t id_limit; /* ids from here on have another form */
};

/* What every batch needs comes first, in few lines of the cache: of many streams each is another's turn. */
struct dtc_cursor {
	_Alignas(64) struct dtc_decoder decoder; /* behind the last event of the batch, in whose packet all of it is */
	struct dtc_item *items;
	int64_t base_ns; /* of the clock */
	struct dtc_header_plan plan;
	struct dtc_spans *spans;	/* borrowed */
	struct dtc_form_guess *guesses; /* NULL: no event needed one yet */
	uint64_t frequency;
	guint batch_limit;
	guint next; /* packet */
	bool is_inside;
	bool has_gap_told; /* of the packet that comes next */
	bool has_previous;
	struct dtc_event_layout *events; /* by class; borrowed */
	guint64 done_bytes;		 /* of packets that are behind it */
	struct dtc_stream stream;
	const struct dtc_trace_layout *trace; /* borrowed, as the next two */
	const struct dtc_chain *chain;
	const char *node;
	uint64_t previous_end, previous_discarded, previous_sequence;
	guint64 judged_packet; /* the last of which its end was looked at, from 1 */
	bool is_late;	       /* ... and whether it has events after its end */
	guint report_count;
	/*
	 * Where lengths in events are told by headers, those of the last event found stay in the decoder's slots; then
	 * batches must be of one. Else NULL.
	 */
	uint64_t *spare_slots;
};

/* What dtc_cursor_advance will look at first is asked for. */
static inline void dtc_cursor_expect(const struct dtc_cursor *cursor)
{
	const uint8_t *hot = (const uint8_t *)cursor;
	for (guint i = 0; i < 4; i++)
		__builtin_prefetch(hot + i * UINT64_C(64), 1);
	__builtin_prefetch(cursor->decoder.data + cursor->decoder.at / 8);
}

/* Puts it before the first item; wrap_ns is the range of the low bits of its times. Clear with dtc_cursor_clear. */
void dtc_cursor_init(struct dtc_cursor *cursor, const struct dtc_trace_layout *trace, const struct dtc_chain *chain,
		     struct dtc_spans *spans, const char *node, int64_t wrap_ns, guint batch_limit);
void dtc_cursor_clear(struct dtc_cursor *cursor);
/* To the next events of a packet, or the next gap; has_item of the stream tells whether there are any. */
void dtc_cursor_advance(struct dtc_cursor *cursor);
