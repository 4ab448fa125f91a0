/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A CTF trace written again with other values in some of its fields, of the same length, so that every packet and event
 * stays where it is. What is in no event that the trace declares (padding, what is between packets, the rest of a
 * packet that is damaged) is not copied.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_rewrite_shape {
	DTC_REWRITE_TEXT,  /* up to its zero; what is behind that in an array is zeroed by itself */
	DTC_REWRITE_BYTES, /* an array or sequence of numbers of 8 bits, or of 16 bits in network order */
	DTC_REWRITE_NUMBER,
};

/* Of a field, once for each place where it is declared. Names are without leading underscores. */
struct dtc_rewrite_field {
	const char *event; /* "": a field of packets or of events' headers */
	const char *name;
	enum dtc_rewrite_shape shape;
	uint32_t bits; /* of a number, or of an element */
};

#define DTC_REWRITE_KEEP 0u

struct dtc_rewrite {
	/* What to do with a field: DTC_REWRITE_KEEP, or a number that apply knows. */
	guint (*choose)(const struct dtc_rewrite_field *field, void *data);
	/* The value as it lies in the new file. */
	void (*apply)(guint action, uint8_t *bytes, gsize count, void *data);
	/* What becomes of a text of the metadata's environment, or of the clock's uuid and description; caller frees.
	 */
	char *(*describe)(const char *name, const char *text, void *data);
	/* What a file of streams is called; caller frees. NULL: as it was. */
	char *(*name_file)(const char *name, void *data);
	void *data;
};

/*
 * Writes metadata and streams of the trace at path into the existing, empty folder. False with an error if its metadata
 * are not understood (UNREADABLE), or a file cannot be read or written. node names the trace in errors.
 */
bool dtc_rewrite_trace(const struct dtc_rewrite *rewrite, const char *node, const char *path, const char *folder,
		       GError **error);
