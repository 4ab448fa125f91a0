/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bundle holds, per node and per kind of event: a table, and JSON with the schema dtrace-chain/stats/1. */
#pragma once

#include "analyze/engine/census.h"
#include "analyze/engine/split.h"

#define DTC_STATS_SCHEMA "dtrace-chain/stats/1"

struct dtc_stats_input {
	const DtcBundle *bundle; /* all borrowed */
	const GPtrArray *census; /* of this bundle */
	const GPtrArray *splits; /* likewise; NULL: not asked for */
	const DtcFindings *findings;
};

/* Callers own the texts. */
char *dtc_stats_to_json(const struct dtc_stats_input *input);
char *dtc_stats_to_text(const struct dtc_stats_input *input, guint width, bool has_color, bool has_utf8);
