/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nested Blockings Causality report (Fournier, 2009): each blocking of the target, how it was woken, and beneath it
 * what the waker was blocked on in that time. Built by iteration; a child's waits end within its parent's, so it ends.
 */
#pragma once

#include "analyze/path/walk.h"

void dtc_causality_add(const DtcLinks *links, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, DtcPath *path);
