/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which fields an event of a kind carries, in which of its slots, under the names that LTTng gives them. */
#pragma once

#include "collect/read/event.h"

#include <stdbool.h>

enum dtc_field_form {
	DTC_FORM_NUMBER,
	DTC_FORM_UNSIGNED, /* 64 bits without a sign */
	DTC_FORM_ADDRESS,
	DTC_FORM_TID,
	DTC_FORM_TEXT, /* slot: of text[] */
};

struct dtc_event_field {
	const char *name; /* NULL ends a list */
	uint8_t form;	  /* enum dtc_field_form */
	uint8_t slot;	  /* of v[] */
};

/* Never NULL; static. */
const struct dtc_event_field *dtc_event_get_fields(const struct dtc_event *event);
/* Whether a field of the event names the thread: switched in, woken, forked, ... */
bool dtc_event_names_thread(const struct dtc_event *event, int32_t tid);
