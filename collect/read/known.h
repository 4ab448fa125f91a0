/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What readers of several nodes know of each other's metadata: nodes that record the same events declare the same, and
 * what one of them has parsed the others need not. For as many threads as there are.
 */
#pragma once

#include <glib.h>

typedef struct DtcKnown DtcKnown;

/* Knows nothing yet. For struct dtc_reader_options; outlives the opening of readers, not the readers. */
DtcKnown *dtc_known_new(void);
/* It knows nothing any more, and what readers still use goes with the last of them. NULL: nothing happens. */
void dtc_known_forget(DtcKnown *known);
/* The same, and it goes itself. */
void dtc_known_free(DtcKnown *known);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcKnown, dtc_known_free)

/* How often metadata were parsed, and not found: for who wants to know whether it is of use. */
guint64 dtc_known_get_parse_count(DtcKnown *known);
