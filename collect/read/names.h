/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned names of events and of system calls. Indexes are stable. */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct DtcNames DtcNames;

DtcNames *dtc_names_new(void);
void dtc_names_free(DtcNames *names);
/* The index of a name. Beyond DTC_NAMES_MAX all names share one index, so that hostile input is bounded. */
guint dtc_names_add(DtcNames *names, const char *name);
guint dtc_names_get_count(const DtcNames *names);
const char *dtc_names_get(const DtcNames *names, guint index);

#define DTC_NAMES_MAX 65000 /* an event holds the index in 16 bits */
