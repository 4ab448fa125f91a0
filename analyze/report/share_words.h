/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the time as the tables of many requests show them. */
#pragma once

#include "analyze/report/layout.h"
#include "analyze/report/summary.h"
#include "analyze/report/units.h"

#define DTC_FIGURE_COLUMNS 10

/* "labsrv@backend disk, fsync". Caller frees. */
char *dtc_share_describe(const struct dtc_share *share);
/* A duration at the right end of its column. */
void dtc_figure_add(DtcLayout *layout, struct dtc_scale scale, int64_t ns, enum dtc_style style);
