/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The relations of the nodes' capture clocks as sections of an image; messages are not kept, they are made again. */
#pragma once

#include "collect/image/image.h"
#include "sync/match/match.h"

void dtc_relations_save(const DtcMatches *matches, DtcImageWriter *writer);
/* Matches of these nodes without any message, which tell what those that were saved told of captures. Caller owns. */
DtcMatches *dtc_relations_load(const DtcImage *image, const char *const *names, guint count, GError **error);
