/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views of the checks: a table, and JSON with the schema dtrace-chain/check/1, documented in docs/formats.md. */
#pragma once

#include "analyze/profile/profile_check.h"

#define DTC_CHECK_SCHEMA "dtrace-chain/check/1"

/* checks: struct dtc_check; node_names by their node. All borrowed; caller owns the text. */
char *dtc_checks_to_json(const GArray *checks, const char *const *node_names, const DtcFindings *findings);
char *dtc_checks_to_text(const GArray *checks, const char *const *node_names, const DtcFindings *findings, guint width,
			 bool has_color, bool has_utf8);
