/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event class as a list of steps: what spellings.c wants of it, where that lies, and how to pass the rest. Fields of
 * fixed size between two of varying size are one run, of which only what is wanted is looked at.
 */
#pragma once

#include "collect/read/backend.h"
#include "collect/read/fast/decode.h"

typedef struct DtcProgram DtcProgram;

/* Adds the event's name; call_names are borrowed until the program is freed, and may grow with events. */
DtcProgram *dtc_program_new(const struct dtc_stream_layout *stream, const struct dtc_event_layout *event,
			    DtcNames *event_names, DtcNames *call_names);
void dtc_program_free(DtcProgram *program);
struct dtc_item_class dtc_program_get_class(const DtcProgram *program);

/* Room for a text that has no zero in the packet: of an array of characters. */
#define DTC_PROGRAM_TEXT_BYTES 4096 /* of a path */
struct dtc_program_texts {
	char text[2][DTC_PROGRAM_TEXT_BYTES];
};

/*
 * The contexts and the payload of an item, to the last field that is wanted: sets all of event but time and CPU. packet
 * is a decoder of the packet it is in, of which the slots are used. Only for an event that was found to be in the
 * packet to its end, with the form that dtc_forms_pass says, or by dtc_steps_pass without one (0); false if what is
 * wanted is not. Strings are lent by the packet and by texts.
 */
bool dtc_program_run(const DtcProgram *program, const struct dtc_decoder *packet, const struct dtc_item *item,
		     struct dtc_program_texts *texts, struct dtc_event *event);
