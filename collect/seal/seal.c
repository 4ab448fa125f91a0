/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/raw.h"

#include "dtrace-chain/error.h"

bool dtc_seal_node(const char *node_folder, const struct dtc_seal_options *options, DtcFindings *findings,
		   struct dtc_seal_summary *ret_summary, GError **error)
{
	(void)options;
	(void)findings;
	(void)ret_summary;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE, "'%s' cannot be sealed yet", node_folder);
	return false;
}
