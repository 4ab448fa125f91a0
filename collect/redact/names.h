/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts in recordings: names of threads, files, machines. Every word of them is replaced (pseudonyms.h) but for what
 * every Linux machine has: names of the kernel's own threads and files, and of programs that record; names.c has the
 * list.
 */
#pragma once

#include "collect/redact/pseudonyms.h"

/* How many bytes at the begin are the kernel's own name, all of it or up to the part that is not; 0: it is none. */
gsize dtc_names_get_kernel_bytes(const char *text, gsize count);
/* In its place, of the same length. */
void dtc_names_replace(DtcPseudonyms *words, char *text, gsize count);
/* The figures of addresses that are written in a text ("10.0.0.2", "ip-10-0-0-2", "fe80::1"), and nothing else. */
void dtc_names_replace_addresses(DtcPseudonyms *words, char *text, gsize count);
/* What becomes of a text that is no field: a name of a machine, a file. Caller frees. */
char *dtc_names_replace_string(DtcPseudonyms *words, const char *text);
