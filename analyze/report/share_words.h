/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the time as the tables of many requests show them. */
#pragma once

#include "analyze/report/layout.h"
#include "analyze/report/summary.h"
#include "analyze/report/units.h"

#define DTC_FIGURE_COLUMNS 10

/* "labsrv@backend disk, fsync". Caller frees. */
char *dtc_share_describe(const struct dtc_share *share);
/* " 45% labsrv@backend disk, fsync" of a whole; of the node alone if the line ends before the cause. */
void dtc_share_add(DtcLayout *layout, const struct dtc_share *share, int64_t whole_ns);
/* A duration at the right end of its column. */
void dtc_figure_add(DtcLayout *layout, struct dtc_scale scale, int64_t ns, enum dtc_style style);
