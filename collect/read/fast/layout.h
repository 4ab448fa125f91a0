/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A type where it is used: with its byte order, and with the places at which the fields lie that tell its lengths and
 * options. Such a field has a slot, into which the decoder puts its value while it passes; slots hold over the scopes,
 * since an event may refer to its packet. Layouts of a trace lie in one arena, which bounds what metadata that multiply
 * themselves can cost.
 */
#pragma once

#include "collect/read/fast/types.h"

#define DTC_LAYOUT_MAX_SLOTS 65536

struct dtc_layout;

struct dtc_layout_member {
	const char *name;
	struct dtc_layout *layout;
};

/* Values for which a variant has an option. */
struct dtc_layout_choice {
	struct dtc_type_range range;
	uint32_t option;
};

struct dtc_layout {
	uint8_t kind;  /* enum dtc_type_kind */
	uint8_t role;  /* enum dtc_type_role */
	uint8_t scope; /* enum dtc_type_scope */
	bool is_big_endian;
	bool is_signed;
	bool is_clock;	  /* holds low bits of the stream's clock, or all of it */
	bool is_reversed; /* bits within bytes run against the byte order */
	bool is_plain;	  /* an integer that begins at a byte and has 8, 16, 32 or 64 bits */
	uint32_t bits;
	uint32_t align;
	int32_t slot;	/* where its value goes; -1: nobody asks */
	int32_t source; /* the slot that tells its length or option; -1 */
	/*
	 * Its bits when it is decoded from a place that fits align, the same for all values, with no slot and no clock
	 * in it; -1: they differ, or it must be looked at.
	 */
	int64_t fixed_bits;
	const struct dtc_type *type;
	struct dtc_layout_member *members;
	guint member_count;
	struct dtc_layout *element;
	struct dtc_layout_choice *choices;
	guint choice_count;
};

struct dtc_event_layout {
	const struct dtc_event_declaration *declaration;
	struct dtc_layout *context;
	struct dtc_layout *payload;
	void *user; /* what who decodes made of it */
};

struct dtc_stream_layout {
	const struct dtc_stream_declaration *declaration;
	struct dtc_layout *packet_context;
	struct dtc_layout *event_header;
	struct dtc_layout *common_context;
	const struct dtc_clock_declaration *clock; /* or NULL */
	struct dtc_event_layout **dense;	   /* by id, for the ids below dense_count */
	guint dense_count;
	GHashTable *sparse; /* the others; NULL: none. Owned by the trace layout */
	guint event_count;
	struct dtc_event_layout *events;
};

struct dtc_trace_layout {
	const struct dtc_trace_declaration *declaration; /* borrowed */
	struct dtc_layout *packet_header;		 /* or NULL */
	guint stream_count;
	struct dtc_stream_layout *streams; /* by id */
	guint slot_count;
	bool refers_to_headers; /* lengths or options in an event are told by the headers before it, or the packet's */
};

/*
 * In the declaration's arena, which both then share; NULL with an error if a field that is referred to is not there, is
 * no integer, or there is too much of it all.
 */
struct dtc_trace_layout *dtc_layout_compile(struct dtc_trace_declaration *declaration, GError **error);
/*
 * The same of a derived declaration, in its arena: with its clocks, and with events that nothing was made of yet; the
 * layouts of their parts are borrowed. NULL: there is no room.
 */
struct dtc_trace_layout *dtc_layout_derive(const struct dtc_trace_layout *from,
					   const struct dtc_trace_declaration *declaration);
void dtc_trace_layout_free(struct dtc_trace_layout *layout);

const struct dtc_stream_layout *dtc_layout_find_stream(const struct dtc_trace_layout *layout, uint64_t id);

static inline struct dtc_event_layout *dtc_layout_find_event(const struct dtc_stream_layout *stream, uint64_t id)
{
	if (G_LIKELY(id < stream->dense_count))
		return stream->dense[id];
	return stream->sparse ? (struct dtc_event_layout *)g_hash_table_lookup(stream->sparse, &id) : NULL;
}

/* The member of a structure, without its leading underscore; NULL if it has none. structure may be NULL. */
const struct dtc_layout *dtc_layout_find_member(const struct dtc_layout *structure, const char *name);
