/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of findings as sections of an image. */
#pragma once

#include "collect/image/image.h"
#include "dtrace-chain/finding.h"

void dtc_findings_save(const DtcFindings *const *lists, guint count, DtcImageWriter *writer);
/* Adds what was saved of each list to the list in its place; false may leave some of it there. */
bool dtc_findings_load(DtcFindings *const *lists, guint count, const DtcImage *image, GError **error);
