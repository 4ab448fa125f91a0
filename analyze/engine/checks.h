/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all answers promise about their figures, verified on a bundle that was read. */
#pragma once

#include "analyze/engine/engine.h"
#include "analyze/profile/profile_check.h"

/* path_count: critical paths per node that are walked, of the busiest threads. struct dtc_check; caller owns. */
GArray *dtc_checks_run(const DtcEngine *engine, guint path_count);
