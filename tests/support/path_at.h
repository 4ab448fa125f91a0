/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dtrace-chain/path.h"

#include <glib.h>

/* What a path says of an instant, at which it must say something: of two that meet there the earlier segment. */
static inline const struct dtc_segment *path_at(const DtcPath *path, int64_t ns)
{
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		if (segment->begin.ns < ns && ns <= segment->end.ns)
			return segment;
	}
	g_assert_not_reached();
}
