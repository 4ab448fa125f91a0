/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A bit that changes in the name of an event makes it one that nobody knows, and all that it would have told is missing
 * without a word. Only a checksum could tell for sure, and metadata have none; but a name that is one bit from one that
 * is known, or that lacks half of its pair, is no chance.
 */
#pragma once

#include "dtrace-chain/finding.h"

#include <glib.h>

/* names: of all events that a trace declares, each once. */
void dtc_name_check(GHashTable *names, const char *node, DtcFindings *findings);
