/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a trace, of which most is shared by all nodes whose metadata declare the same. They do if each byte is
 * the same but for the values that a parser said to be a node's own, and that mean the same there (types.h).
 */
#pragma once

#include "collect/read/event.h"
#include "collect/read/fast/layout.h"
#include "collect/read/known.h"

/* All of it but the fields is the node's. */
struct dtc_known_trace {
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	struct dtc_known_metadata *metadata; /* what is shared */
};

/*
 * Of a text of metadata, which is taken over. known: NULL, they are parsed. False with an error if they are refused:
 * such are not kept.
 */
bool dtc_known_open(DtcKnown *known, GString *text, struct dtc_known_trace *ret_trace, GError **error);
void dtc_known_close(struct dtc_known_trace *trace);

/* By enum dtc_event_kind. Borrowed. */
const bool *dtc_known_get_declared(const struct dtc_known_trace *trace);
/* Of all events, for who looks at them: a set of borrowed texts; NULL if there is nothing odd among them. */
GHashTable *dtc_known_get_odd_names(const struct dtc_known_trace *trace);
