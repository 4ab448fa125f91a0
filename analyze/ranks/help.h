/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the asker has to do with those that help it: processes of other ranks, which run the same command as far as
 * what all processes must have (the recordings, of their owners), are given what the asker found of them (clocks, who
 * serves whom), and then do parts of the work. A helper changes nothing that another process has: one that dies, is
 * silent or slow is not missed (parts.h), and nobody looks whether it is there.
 *
 * Used from two threads.
 */
#pragma once

#include "analyze/engine/owners.h"
#include "analyze/ranks/letter.h"

typedef struct DtcHelp DtcHelp;

/* helps: by rank, copied. Caller owns. */
DtcHelp *dtc_help_new(int end, guint generation, guint rank_count, const bool *helps);
bool dtc_help_has_any(const DtcHelp *help);
/* They begin. what: of DTC_LETTER_HELP_TYPE. Once; later calls do nothing. False: nobody carries letters any more. */
bool dtc_help_call(DtcHelp *help, GVariant *what);
/* What they wait for. */
void dtc_help_give(DtcHelp *help, enum dtc_owners_found what, GBytes *image);
/* As struct dtc_owners has it. Once; later ones are done here alone. */
bool dtc_help_share(DtcHelp *help, const struct dtc_owners_work *work, GError **error);
/* A letter of theirs, and the message that it ends, or NULL. False: nobody carries letters any more. */
bool dtc_help_handle(DtcHelp *help, const struct dtc_letter *letter, GBytes *message);
