/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the locator: from exchanges to hops, and from the bytes of a hop to calls on its two sides. */
#pragma once

#include "analyze/request/kept_places.h"
#include "analyze/request/locate.h"

/* The hops (struct dtc_hop) of a request by begin, without parents and attempts. Caller owns. */
GArray *dtc_locator_make_hops(DtcLocator *locator, guint request);
const DtcClocks *dtc_locator_get_clocks(const DtcLocator *locator);
/* Places that were found before; NULL: they are not kept. */
DtcKeptPlaces *dtc_locator_get_kept(const DtcLocator *locator);
