/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an event of tracefs becomes one of CTF: for each type the fields as LTTng has them, and a list of steps that make
 * the bytes. All fields are aligned to bytes, so that most steps are copies, and neighbours are copied as one.
 *
 * Some facts are known of one event and not of another of its type: who is whose thread, the name of a file, who ran
 * before a switch that is not in the buffer. A type can have a second class of the same name that holds them, so that
 * no value has to stand for "not known".
 */
#pragma once

#include "collect/packets/join.h"
#include "collect/seal/formats.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_encode_kind {
	DTC_ENCODE_COPY,
	DTC_ENCODE_STRING,     /* a dynamic string, ended by 0 */
	DTC_ENCODE_SEQUENCE,   /* 16 bits that count, and the elements */
	DTC_ENCODE_RWBS,       /* letters of a block request as LTTng's flags */
	DTC_ENCODE_PARENT_PID, /* facts */
	DTC_ENCODE_CHILD_PID,
	DTC_ENCODE_FILE_NAME,
	DTC_ENCODE_ONE, /* a byte that says that the switch was put in */
	DTC_ENCODE_HEADERS,
};

struct dtc_encode_step {
	uint8_t kind;
	bool is_relative;
	uint16_t element_bytes;
	uint32_t from; /* in the event */
	uint32_t bytes;
};

struct dtc_event_class {
	char *name;    /* owned; NULL: the type is not written */
	GString *tsdl; /* owned; the members of its structure */
	GArray *steps; /* struct dtc_encode_step */
	uint32_t id;
	uint32_t fixed_bytes; /* at most that many bytes are written, and those of the event for each dynamic step */
	uint32_t dynamic_count;
};

enum dtc_class_role {
	DTC_CLASS_PLAIN,
	DTC_CLASS_FORK,
	DTC_CLASS_OPEN,
	DTC_CLASS_SWITCH,
	DTC_CLASS_NET,
};

/* By the type's number. */
struct dtc_event_type {
	const struct dtc_raw_format *format; /* borrowed; NULL: no such type */
	enum dtc_class_role role;
	struct dtc_event_class plain;
	struct dtc_event_class informed; /* with the facts; no name: the role has none */
};

/* What is known of an event beside its bytes. */
struct dtc_event_facts {
	int32_t parent_pid;
	int32_t child_pid;
	const char *file_name; /* borrowed */
	enum dtc_header_source source;
	struct dtc_wire_headers headers;
};

typedef struct DtcClasses DtcClasses;

/* Borrows the formats. Caller owns. */
DtcClasses *dtc_classes_new(const DtcFormats *formats);
void dtc_classes_free(DtcClasses *classes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcClasses, dtc_classes_free)
/* NULL: no such type, or none that is written. */
const struct dtc_event_type *dtc_classes_find(const DtcClasses *classes, uint16_t type);
/* The first class that later ones (of the state dump) may have. */
uint32_t dtc_classes_get_next_id(const DtcClasses *classes);
/* The declarations of all classes. */
void dtc_classes_declare(const DtcClasses *classes, GString *tsdl);

/*
 * Writes the event's fields; to has room for dtc_event_class_get_max_bytes. data holds at least the format's
 * fixed_bytes. How many bytes it wrote.
 */
size_t dtc_event_class_encode(const struct dtc_event_class *class, const uint8_t *data, uint32_t bytes,
			      const struct dtc_event_facts *facts, uint8_t *to);
size_t dtc_event_class_get_max_bytes(const struct dtc_event_class *class, uint32_t event_bytes,
				     const struct dtc_event_facts *facts);
