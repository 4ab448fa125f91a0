/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What processes used (analyze/profile/usage.h): as text, as JSON (dtrace-chain/usage/1, docs/formats.md), and as a
 * graph.
 */
#pragma once

#include "analyze/profile/usage.h"
#include "analyze/report/memory_view.h"
#include "dtrace-chain/finding.h"

#define DTC_USAGE_SCHEMA "dtrace-chain/usage/1"

/* Everything is borrowed for the call. */
struct dtc_usage_input {
	const DtcUsage *usage;
	const char *const *node_names;
	const char *reference; /* the node whose clock is cluster time */
	const DtcFindings *findings;
	const struct dtc_memory_input *memory; /* NULL: not asked for */
};

struct dtc_usage_view_options {
	guint width;
	bool has_color;
	bool has_utf8;
	bool is_exact; /* nanoseconds */
	guint limit;   /* rows per table; 0: all */
};

/* Callers own the results. */
char *dtc_usage_to_text(const struct dtc_usage_input *input, const struct dtc_usage_view_options *options);
char *dtc_usage_to_json(const struct dtc_usage_input *input);
/*
 * Graphviz: a box per process that talks to another or used at least 1 % of what processes used on its node, an arrow
 * from client to server and from writer to reader.
 */
char *dtc_usage_to_dot(const struct dtc_usage_input *input);
