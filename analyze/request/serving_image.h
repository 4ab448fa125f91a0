/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For whom each thread worked when, as an image for another process that has the same recordings. */
#pragma once

#include "analyze/request/serving.h"
#include "collect/image/image.h"

/* Of one that is sealed. NULL: there is no room for it. Caller owns. */
GBytes *dtc_serving_to_bytes(const DtcServing *serving);
/* Sealed. NULL with an error: it is of other recordings, or none. links as of dtc_serving_new; caller owns. */
DtcServing *dtc_serving_load(const DtcLinks *links, const DtcImage *image, GError **error);
