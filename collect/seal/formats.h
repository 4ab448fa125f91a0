/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the events of a raw recording look like: the format files of tracefs, which say for each field where it is, how
 * long and of which type. They are text from anywhere: sizes are bounded, and what cannot be understood is left out.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_RAW_EVENT_MAX_BYTES 65536u /* of a field's place, and of an event on the smallest pages */

enum dtc_raw_shape {
	DTC_RAW_INTEGER,
	DTC_RAW_ARRAY,	  /* of integers */
	DTC_RAW_CHARS,	  /* char name[N] */
	DTC_RAW_STRING,	  /* __data_loc char[]: 4 bytes that say where in the event it is */
	DTC_RAW_SEQUENCE, /* __data_loc of integers */
};

struct dtc_raw_field {
	char *name; /* owned */
	char *type; /* owned; as C calls it, without __data_loc and brackets */
	uint32_t offset;
	uint32_t size;		/* as it lies in the event */
	uint16_t element_bytes; /* of arrays and sequences; of an integer its size */
	uint8_t shape;		/* enum dtc_raw_shape */
	bool is_signed;
	bool is_pointer;
	bool is_relative; /* __rel_loc: the place counts from behind the field */
};

struct dtc_raw_format {
	char *system; /* owned */
	char *name;   /* owned */
	uint16_t id;
	uint32_t fixed_bytes;  /* an event of this type is at least that long */
	uint32_t pid_offset;   /* of common_pid; 0: it has none */
	uint32_t flags_offset; /* of common_flags; 0: it has none */
	GArray *fields;	       /* struct dtc_raw_field, without the common ones */
};

typedef struct DtcFormats DtcFormats;

/* skipped_count: formats that could not be understood. Caller owns. */
DtcFormats *dtc_formats_parse(const char *text, gsize bytes, guint *ret_skipped_count);
void dtc_formats_free(DtcFormats *formats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFormats, dtc_formats_free)
guint dtc_formats_get_count(const DtcFormats *formats);
const struct dtc_raw_format *dtc_formats_get(const DtcFormats *formats, guint index);
/* NULL: it has no such field. */
const struct dtc_raw_field *dtc_raw_format_find(const struct dtc_raw_format *format, const char *field);

/* Where the parts of a sub-buffer lie, as header_page says. */
struct dtc_page_layout {
	uint32_t commit_offset;
	uint32_t commit_bytes; /* 4 or 8 */
	uint32_t data_offset;
};
/* False: it is not understood, and *ret_layout is that of 64-bit kernels. */
bool dtc_page_layout_parse(const char *text, struct dtc_page_layout *ret_layout);
