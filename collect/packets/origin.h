/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose capture is this? Ethernet frames do not say whether they were sent or received, but the node's own address is
 * in nearly every unicast frame. Fed with the first frames of a capture, this finds it.
 */
#pragma once

#include "collect/packets/frame.h"

#include <glib.h>

typedef struct DtcOrigin DtcOrigin;

DtcOrigin *dtc_origin_new(void);
void dtc_origin_free(DtcOrigin *origin);
/* One frame, decoded. */
void dtc_origin_add(DtcOrigin *origin, const struct dtc_captured *captured, struct dtc_frame_hints hints);
/* The node's own address; false if the frames do not tell. */
bool dtc_origin_get(const DtcOrigin *origin, uint8_t ret_mac[6]);
