/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What LTTng 2.13 calls the events and fields of tracefs. Data, and look-ups that are made once per event type. */
#pragma once

#include "collect/seal/formats.h"

#include <glib.h>
#include <stdbool.h>

/* has_calls: the recording has events of single system calls, so that raw_syscalls says nothing new. Caller frees. */
char *dtc_lttng_name_event(const struct dtc_raw_format *format, bool has_calls);
/* NULL: the field is left out, since LTTng's of that name holds what it points to, or the event's name says it. */
const char *dtc_lttng_name_field(const struct dtc_raw_format *format, const struct dtc_raw_field *field);
/* Fields in LTTng's order, separated by spaces; the rest follows in the kernel's. NULL: all in the kernel's. */
const char *dtc_lttng_get_order(const char *event);
/*
 * What an argument of a system call is: all of them are recorded in 8 bytes, of which a shorter type has the lower.
 * 0: not known.
 */
guint dtc_lttng_get_type_bytes(const char *type, bool *ret_is_signed);
