/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a node's events came (analyze/engine/split.h): parts of the views of `stats`. */
#pragma once

#include "analyze/engine/split.h"
#include "analyze/report/layout.h"

/* Members "cpus" and "contexts": lists, or null for what was not asked; both are for NULL. */
void dtc_split_add_json(GString *out, const struct dtc_split *split);
/* Tables of a node, or nothing for NULL. */
void dtc_split_add_text(DtcLayout *layout, const struct dtc_split *split);
