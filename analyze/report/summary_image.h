/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a summary as sections of an image, for another process to add to its own. */
#pragma once

#include "analyze/report/summary.h"
#include "collect/image/image.h"

void dtc_summary_save(const DtcSummary *summary, DtcImageWriter *writer);
/* Adds the rows behind those that there are; false with an error adds none. */
bool dtc_summary_load(DtcSummary *summary, const DtcImage *image, GError **error);
