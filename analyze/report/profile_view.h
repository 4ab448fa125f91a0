/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Views of the table of processes or threads: text in three tables per node (time, blocked by cause, counts), and JSON
 * with the schema dtrace-chain/top/1, documented in docs/formats.md. They lay out the rows and compute nothing.
 */
#pragma once

#include "analyze/engine/top.h"
#include "dtrace-chain/finding.h"

#define DTC_TOP_SCHEMA "dtrace-chain/top/1"

/* Everything is borrowed for the call. */
struct dtc_top_input {
	const struct dtc_top_node *nodes;
	guint node_count;
	const char *reference; /* the node whose clock is cluster time */
	enum dtc_profile_column sort;
	bool has_threads; /* rows are threads, else processes */
	guint limit;	  /* rows per node; 0: all */
	const DtcFindings *findings;
};

/* The whole document with a final newline. Caller owns. */
char *dtc_top_to_json(const struct dtc_top_input *input);
/* At most width columns, unless is_exact: then as many as the nanoseconds take. Caller owns. */
char *dtc_top_to_text(const struct dtc_top_input *input, guint width, bool has_color, bool has_utf8, bool is_exact);
