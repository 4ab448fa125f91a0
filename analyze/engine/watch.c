/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/watch.h"

#include "dtrace-chain/error.h"

bool dtc_watch_tell(const struct dtc_watch *watch, const struct dtc_progress *progress, GError **error)
{
	if (!watch || watch->look(progress, watch->data))
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED, "cancelled");
	return false;
}
