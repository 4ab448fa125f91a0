/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * record --redact: what was sealed is redacted before what was recorded is removed. Until then both are in the node's
 * folder: it is a recording like any other up to its last second, and what ends it early leaves raw/, which says that
 * it is to be redacted when it is sealed.
 */
#pragma once

#include "collect/redact/redaction.h"

#include <glib.h>
#include <stdbool.h>

/* What raw/ asks for: parts are 0 if nothing. id headers are the redaction's own; clear with dtc_redacting_clear. */
struct dtc_redacting {
	struct dtc_redaction redaction;
	char **id_headers;
};
bool dtc_redacting_of_raw(const char *node_folder, const char *key_file, struct dtc_redacting *ret, GError **error);
void dtc_redacting_clear(struct dtc_redacting *redacting);

/*
 * Of a node that was sealed and has its raw/ still, which goes with it. On error both are as they were, but for the
 * manifest, without which nobody takes it for a node.
 */
bool dtc_redacting_replace(const char *node_folder, struct dtc_redaction *redaction, GError **error);
/* Undoes what a crash left half done: before it is sealed again. */
bool dtc_redacting_restore(const char *node_folder, GError **error);
