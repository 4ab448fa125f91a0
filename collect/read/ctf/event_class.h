/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an event as babeltrace2 has it to ours: what spellings.c says of its class, worked out once per class. */
#pragma once

#include "collect/read/event.h"
#include "collect/read/names.h"

#include <babeltrace2/babeltrace.h>

typedef struct DtcCtfClass DtcCtfClass;

/* Adds the class's name; call_names are borrowed until the class is freed, and may grow with its events. */
DtcCtfClass *dtc_ctf_class_new(const bt_event_class *bt_class, DtcNames *event_names, DtcNames *call_names);
void dtc_ctf_class_free(DtcCtfClass *class);

/* Sets all but time and CPU. Strings are lent by bt_event. */
void dtc_ctf_class_fill(const DtcCtfClass *class, const bt_event *bt_event, struct dtc_event *event);

/* The member of a structure that is an unsigned integer of this name, or -1. structure may be NULL. */
int dtc_ctf_find_unsigned(const bt_field_class *structure, const char *wanted);
