/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions that are under way at a time on one channel that has no order: datagrams to and from one peer. As long as
 * they are of one request, its answer is the next one. Of several any may be answered first: then nothing but what
 * marks a datagram tells whose it is, and once one was not told, it is not known whose the others are.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcInFlight DtcInFlight;

/* unknown: the number of a request that is not known. Caller owns. */
DtcInFlight *dtc_in_flight_new(guint unknown);
void dtc_in_flight_free(DtcInFlight *flight);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcInFlight, dtc_in_flight_free)

/* A question was asked, or read. */
void dtc_in_flight_add(DtcInFlight *flight, guint request);
/* One was answered: that request's, or if that is the unknown one any of them. */
void dtc_in_flight_end(DtcInFlight *flight, guint request);
/* Takes out those of which is_over says so: nobody answered them. */
void dtc_in_flight_forget(DtcInFlight *flight, bool (*is_over)(gconstpointer data, guint request), gconstpointer data);
/* There are some, and of more than one request. */
bool dtc_in_flight_is_mixed(const DtcInFlight *flight);
/* Whose the last one is; false: there is none. */
bool dtc_in_flight_get_last(const DtcInFlight *flight, guint *ret_request);
