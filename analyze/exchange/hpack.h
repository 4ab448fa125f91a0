/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The headers of HTTP/2 (HPACK, RFC 7541), by libnghttp2. What a header is may have been said once, long before, and is
 * a number since: of a connection that is met in its middle, or that lacks a piece, those numbers mean nothing until
 * they are said again. Such a table is filled with entries that stand for what is not known, so that what is said from
 * then on has its right number, and what was said before is left out.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcHpack DtcHpack;

/* of_begin: all that was said is going to be read. */
DtcHpack *dtc_hpack_new(bool of_begin);
void dtc_hpack_free(DtcHpack *hpack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcHpack, dtc_hpack_free)

/* A header that is known, in the order in which they come; borrowed for the call, and any bytes. */
typedef void (*dtc_hpack_take)(void *data, const char *name, gsize name_bytes, const char *value, gsize value_bytes);
/* A whole block of headers. False: it is none, or is too large; what follows is for one that is new. */
bool dtc_hpack_read(DtcHpack *hpack, const uint8_t *block, gsize bytes, dtc_hpack_take take, void *data);
