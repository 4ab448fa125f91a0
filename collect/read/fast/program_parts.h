/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What program.c makes and take.c runs. Nobody else looks in here. */
#pragma once

#include "collect/read/fast/flat.h"
#include "collect/read/fast/forms.h"
#include "collect/read/fast/program.h"
#include "collect/read/fields.h"
#include "collect/read/spellings.h"

#include <stddef.h>

/* One option of a header variant. */
struct dtc_layer {
	enum dtc_header_layer layer;
	struct dtc_steps *members;
	GArray *wanted;	    /* struct dtc_rule of its members; NULL: of another layer */
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

struct DtcProgram {
	uint16_t kind;
	uint16_t name;
	uint8_t protocol; /* that events of the class are of, whatever they say; or 0 */
	bool call_by_number;
	bool is_compat;
	struct dtc_steps *steps; /* the contexts and the payload */
	GArray *wanted;		 /* struct dtc_rule of them, without the headers' */
	guint form_count;
	guint option_count;
	struct dtc_layer *options;
	struct dtc_ready_places ready;
	DtcNames *call_names;	 /* borrowed */
	struct dtc_flat flats[]; /* of events without a form, and behind it of the forms */
};

/* What dtc_program_run does in the end: any class, by its steps. */
bool dtc_program_take_any(const DtcProgram *program, const struct dtc_decoder *packet, uint64_t at,
			  struct dtc_program_texts *texts, struct dtc_event *event);

/* dtc_program_run, in the loop of who asks. */
static inline bool dtc_program_take(const DtcProgram *program, const struct dtc_decoder *packet,
				    const struct dtc_item *item, struct dtc_program_texts *texts,
				    struct dtc_event *event)
{
	const struct dtc_flat *flat = &program->flats[item->form];
	dtc_flat_begin(flat, event);
	return dtc_flat_take(flat, packet, item, event) ||
	       dtc_program_take_any(program, packet, item->at, texts, event);
}
