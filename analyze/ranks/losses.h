/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an asker leaves to the one that begins again after it: who is lost, and who owned what. Shared by a process and
 * its children, and written by one of them at a time.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcLosses DtcLosses;

/* NULL: there is no memory for it. */
DtcLosses *dtc_losses_new(guint rank_count);
guint dtc_losses_get_rank_count(const DtcLosses *losses);
/* Why an owner is not there any more; NULL: it is. */
const char *dtc_losses_get(const DtcLosses *losses, guint rank);
void dtc_losses_set(DtcLosses *losses, guint rank, const char *why);
/* How many askers there were before. */
guint dtc_losses_get_generation(const DtcLosses *losses);
void dtc_losses_begin_again(DtcLosses *losses);
/* Of another asker, which is helped. */
void dtc_losses_set_generation(DtcLosses *losses, guint generation);

/* Owners of a bundle's nodes, "a(ayu)"; NULL: they are not known yet. Caller owns. */
GVariant *dtc_losses_get_owners(const DtcLosses *losses, guint bundle);
void dtc_losses_set_owners(DtcLosses *losses, guint bundle, GVariant *owners);
