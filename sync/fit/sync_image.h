/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a fit found, as sections of an image: all that can be asked of it is in there. */
#pragma once

#include "collect/image/image.h"
#include "sync/fit/fit.h"

void dtc_sync_save(const DtcSync *sync, DtcImageWriter *writer);
/* Of nodes that are called like that; names and their number are those of the fit that was saved. Caller owns. */
DtcSync *dtc_sync_load(const DtcImage *image, const char *const *names, guint count, GError **error);
