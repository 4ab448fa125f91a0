/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The set of HTTP exchanges found in captures. It owns them and their strings; equal strings are kept once, and there
 * is a limit on what they take altogether, however many ids strangers send. Scanners of several nodes fill one set each
 * (from a thread each), and the caller moves them together.
 */
#pragma once

#include "collect/image/image.h"
#include "dtrace-chain/request.h"

typedef struct DtcExchanges DtcExchanges;

/* max_bytes: what the exchanges may take; 0: the default of 256 MiB. */
DtcExchanges *dtc_exchanges_new(gsize max_bytes);
void dtc_exchanges_free(DtcExchanges *exchanges);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcExchanges, dtc_exchanges_free)

/* Copies the exchange with its strings. False (and counted as dropped) when the set is full. */
bool dtc_exchanges_add(DtcExchanges *exchanges, const struct dtc_exchange *exchange);
/* Moves all of from behind those of to; from is empty afterwards. */
void dtc_exchanges_move(DtcExchanges *to, DtcExchanges *from);
/* Sorts by (node, time of the request, flow, sequence number). */
void dtc_exchanges_sort(DtcExchanges *exchanges);

guint dtc_exchanges_get_count(const DtcExchanges *exchanges);
guint64 dtc_exchanges_get_dropped_count(const DtcExchanges *exchanges);
/* Captures that were read for the set, with or without exchanges in them. */
void dtc_exchanges_add_capture(DtcExchanges *exchanges);
guint dtc_exchanges_get_capture_count(const DtcExchanges *exchanges);
/* Borrowed until the set changes. */
const struct dtc_exchange *dtc_exchanges_get(const DtcExchanges *exchanges, guint index);

/* The exchanges of one node, which are all there are, as sections of an image; copied. */
void dtc_exchanges_save(const DtcExchanges *exchanges, DtcImageWriter *writer);
/*
 * Those of an image, as of that node, with flows of the image's packets. Caller owns; NULL with DAMAGED if something in
 * them leads nowhere.
 */
DtcExchanges *dtc_exchanges_load(const DtcImage *image, guint node, const DtcPackets *packets, GError **error);
