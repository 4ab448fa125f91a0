/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What program.c makes and take.c runs. Nobody else looks in here. */
#pragma once

#include "collect/read/fast/program.h"
#include "collect/read/fast/steps.h"
#include "collect/read/fields.h"
#include "collect/read/spellings.h"

/* One option of a header variant. */
struct dtc_layer {
	enum dtc_header_layer layer;
	struct dtc_steps *members;
	uint32_t fields;    /* bits by enum dtc_header_field: those that have a value when its members are taken */
	guint option_count; /* of the transport header in it */
	struct dtc_layer *options;
};

/* Where the members of a list's element are that tell a descriptor; NULL: not there. */
struct dtc_ready_places {
	const struct dtc_layout *fd;   /* a number */
	const struct dtc_layout *data; /* a structure ... */
	const struct dtc_layout *bits; /* ... and a number in it */
};

/* An array of characters in a run. */
struct dtc_flat_text {
	uint32_t at, length; /* bytes */
	uint8_t slot;
};

/*
 * What is wanted of most classes lies in one run: numbers, names that are arrays, and perhaps a string behind it. That
 * is taken without looking at steps and rules.
 */
struct dtc_flat {
	bool is_flat;
	bool has_string;
	uint8_t string_slot;
	guint text_count;
	uint32_t align;
	uint32_t bytes;
	guint number_count;
	const struct dtc_step_number *numbers; /* of the steps */
	struct dtc_flat_text texts[2];
};

struct DtcProgram {
	uint16_t kind;
	uint16_t name;
	guint slot_count; /* of v, which its kind has */
	bool is_net;
	bool call_by_number;
	bool is_compat;
	int64_t constants[DTC_EVENT_SLOTS]; /* what v holds before */
	struct dtc_steps *steps;	    /* the contexts and the payload */
	struct dtc_flat flat;
	guint option_count;
	struct dtc_layer *options;
	struct dtc_ready_places ready;
	DtcNames *call_names; /* borrowed */
};
