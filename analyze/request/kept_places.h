/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the locator: places that were found, so that they need not be found again. */
#pragma once

#include "analyze/request/locate.h"

typedef struct DtcKeptPlaces DtcKeptPlaces;

/* Of so many requests. Caller owns. */
DtcKeptPlaces *dtc_kept_places_new(guint request_count);
void dtc_kept_places_free(DtcKeptPlaces *kept);

/* kept may be NULL, which knows none. A copy, or NULL; caller owns. */
struct dtc_place *dtc_kept_places_get(const DtcKeptPlaces *kept, guint request);
/* Without effect once they have settled. */
void dtc_kept_places_add(DtcKeptPlaces *kept, guint request, const struct dtc_place *place);
/* No more is kept, so that several threads may get and add. */
void dtc_kept_places_settle(DtcKeptPlaces *kept);
guint dtc_kept_places_get_count(const DtcKeptPlaces *kept);
