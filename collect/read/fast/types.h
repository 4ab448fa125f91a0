/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the metadata of a trace declare, whichever language they are in: types, and which of them the parts of packets
 * and events have. Types are shared wherever they are used; layout.c makes of each use what a decoder needs. All of it
 * lives in one arena.
 */
#pragma once

#include "collect/read/fast/arena.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_type_kind {
	DTC_TYPE_INTEGER, /* also booleans, bit arrays, enumerations */
	DTC_TYPE_FLOAT,
	DTC_TYPE_STRING, /* up to a zero */
	DTC_TYPE_STRUCT,
	DTC_TYPE_ARRAY,
	DTC_TYPE_SEQUENCE, /* an array whose length is another field */
	DTC_TYPE_VARIANT,
	DTC_TYPE_OPTION,
	DTC_TYPE_VARINT, /* LEB128 */
};

enum dtc_type_order { DTC_ORDER_NATIVE, DTC_ORDER_LITTLE, DTC_ORDER_BIG };

/* What a field is for, by its name (CTF 1.8) or by its role (CTF 2). */
enum dtc_type_role {
	DTC_ROLE_NONE,
	DTC_ROLE_MAGIC,
	DTC_ROLE_UUID,
	DTC_ROLE_STREAM_CLASS,
	DTC_ROLE_STREAM,
	DTC_ROLE_EVENT_CLASS,
	DTC_ROLE_CLOCK, /* a time stamp of the stream's clock */
	DTC_ROLE_PACKET_BEGIN,
	DTC_ROLE_PACKET_END,
	DTC_ROLE_PACKET_BITS,
	DTC_ROLE_CONTENT_BITS,
	DTC_ROLE_SEQUENCE,
	DTC_ROLE_DISCARDED,
	DTC_ROLE_CPU,
	DTC_ROLES
};

/* The parts of packets and events, in the order in which they are decoded. A field can refer to earlier parts. */
enum dtc_type_scope {
	DTC_SCOPE_PACKET_HEADER,
	DTC_SCOPE_PACKET_CONTEXT,
	DTC_SCOPE_EVENT_HEADER,
	DTC_SCOPE_COMMON_CONTEXT,
	DTC_SCOPE_SPECIFIC_CONTEXT,
	DTC_SCOPE_PAYLOAD,
	DTC_SCOPES
};

/* Inclusive; values of signed fields are signed. */
struct dtc_type_range {
	int64_t low, high;
	bool is_unsigned; /* compare as uint64_t */
};

/* A name for a range of an enumeration's values. */
struct dtc_type_label {
	const char *name;
	struct dtc_type_range range;
};

struct dtc_type_member {
	const char *name; /* as written */
	struct dtc_type *type;
	/* CTF 2: the selector's values for which a variant has this option; CTF 1.8 has labels for that */
	const struct dtc_type_range *ranges;
	guint range_count;
};

/* Where the field is that tells a length or selects an option. */
struct dtc_type_reference {
	bool is_absolute; /* begins in scope; else at the field itself, and outward */
	bool is_exact;	  /* CTF 2: one that is not absolute begins so many structures outward, and nowhere else */
	guint outward;
	enum dtc_type_scope scope;
	guint count;
	const char *const *names;
};

struct dtc_type {
	uint8_t kind;  /* enum dtc_type_kind */
	uint8_t order; /* enum dtc_type_order */
	uint8_t base;  /* in which an integer is shown; 0: not told */
	uint8_t role;  /* enum dtc_type_role: CTF 2 tells, and of clocks CTF 1.8, too */
	bool is_signed;
	bool is_text; /* an integer that is a character; an array or sequence of bytes that is a string */
	bool is_boolean;
	bool is_enum;
	bool is_blob;
	bool is_bit_map;    /* labels are of bits */
	uint8_t unit_bytes; /* CTF 2: of a text's code unit, in the type's byte order: 2, 4, else 1 byte */
	bool is_reversed;   /* CTF 2: bits within bytes run against the byte order */
	uint32_t bits;
	uint32_t align;	   /* in bits, a power of two; of structures at least that */
	const char *clock; /* CTF 1.8: the name of the clock whose time stamp it is; NULL: not told */
	const struct dtc_type_label *labels;
	guint label_count;
	struct dtc_type_member *members; /* of structures; options of variants */
	guint member_count;
	struct dtc_type *element;		    /* of arrays, sequences, options */
	uint64_t length;			    /* of arrays */
	const struct dtc_type_reference *reference; /* of sequences, variants, options */
	const struct dtc_type_range *ranges;	    /* of options: when it is there; none: when the boolean is true */
	guint range_count;
};

struct dtc_event_declaration {
	uint64_t id;
	const char *name; /* or NULL */
	struct dtc_type *context;
	struct dtc_type *payload;
};

struct dtc_clock_declaration {
	const char *name;
	const char *uuid; /* or NULL */
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
};

struct dtc_stream_declaration {
	uint64_t id;
	bool is_declared; /* else there are but events of it */
	struct dtc_type *packet_context;
	struct dtc_type *event_header;
	struct dtc_type *common_context;
	GHashTable *events; /* id -> struct dtc_event_declaration; keys are in the declarations */
	const struct dtc_clock_declaration *clock; /* CTF 2; NULL: by the fields that it maps */
};

/*
 * Where a value stands that tells nodes from each other and declares nothing: an identity, the environment, where a
 * clock began. Metadata that differ in nothing else declare the same (known.h).
 */
struct dtc_own_value {
	guint part;	  /* what it is, in the parser's own numbers */
	const char *name; /* its key; NULL: the part tells */
	guint clock;	  /* of which clock */
	gsize at, bytes;  /* in the text */
};

struct dtc_trace_declaration {
	bool is_derived; /* streams and types are borrowed */
	DtcArena *arena;
	bool is_big_endian;
	bool has_uuid;
	bool is_version_2;
	uint8_t uuid[16];
	struct dtc_type *packet_header;
	GHashTable *streams;		      /* id -> struct dtc_stream_declaration */
	GHashTable *environment;	      /* texts in the arena */
	struct dtc_clock_declaration *clocks; /* array */
	guint clock_count;
	struct dtc_own_value *own_values; /* array, as they stand in the text */
	guint own_count;
	bool is_alone; /* has too many of them to be compared */
};

/* The name of two members of a structure or variant; NULL: all differ. Of those without a name ("") there may be many.
 */
const char *dtc_type_find_twice(const struct dtc_type *type);

struct dtc_trace_declaration *dtc_trace_declaration_new(void);
/* Of metadata that declare the same, which is borrowed: with its own values, which can be replaced. */
struct dtc_trace_declaration *dtc_trace_declaration_derive(const struct dtc_trace_declaration *from);
void dtc_trace_declaration_free(struct dtc_trace_declaration *declaration);

/* What metadata may take; one with more is refused. The largest that we met (LTTng, all system calls) has 0.5 MB. */
#define DTC_METADATA_MAX_BYTES ((gsize)16 << 20)
#define DTC_METADATA_MAX_MEMORY ((gsize)64 << 20)
#define DTC_METADATA_MAX_DEPTH 64
#define DTC_OWN_MAX_VALUES 1024 /* LTTng has 20 */

/* Whether a text is CTF 2's metadata, by how it begins. */
bool dtc_declaration_is_version_2(const char *text, gsize bytes);
/* Parses metadata of either version, which it tells by how they begin; NULL with an error that names the line. */
struct dtc_trace_declaration *dtc_declaration_parse(const char *text, gsize bytes, GError **error);
/* CTF 1.8's TSDL. */
struct dtc_trace_declaration *dtc_tsdl_parse(const char *text, gsize bytes, GError **error);
/* CTF 2's sequence of JSON texts; what separates them may be missing. */
struct dtc_trace_declaration *dtc_ctf2_parse(const char *text, gsize bytes, GError **error);

/* ... up to its first event: of who recorded it, and the clocks. NULL: refused. */
struct dtc_trace_declaration *dtc_ctf2_parse_head(const char *text, gsize bytes);

/* What stands in another text in the place of an own value: where, and in how many bytes. */
struct dtc_own_place {
	const char *text;
	gsize bytes, at, end;
};

/*
 * Reads what stands in the place, sets it in a derived declaration and the place's end; false if it is no such value.
 * What stands behind it is not looked at but to tell where a word ends.
 */
bool dtc_tsdl_read_own(struct dtc_trace_declaration *declaration, const struct dtc_own_value *value,
		       struct dtc_own_place *place);
bool dtc_ctf2_read_own(struct dtc_trace_declaration *declaration, const struct dtc_own_value *value,
		       struct dtc_own_place *place);
