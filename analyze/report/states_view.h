/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Views of state trees and of their longest instances: text, and JSON with the schema dtrace-chain/states/1, documented
 * in docs/formats.md. They lay out what analyze/profile/profile_states.h found and compute nothing.
 */
#pragma once

#include "analyze/engine/states.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/sync.h"

#define DTC_STATES_SCHEMA "dtrace-chain/states/1"

/* Everything is borrowed for the call. */
struct dtc_states_input {
	const char *const *node_names;
	const DtcHistory *const *histories;
	const DtcClocks *clocks;
	const int64_t *origins_ns; /* per node, cluster time: what text counts from */
	const struct dtc_states_scope *scopes;
	guint scope_count;
	const GArray *instances; /* struct dtc_state_instance; NULL: trees were asked for, and no instances */
	const DtcFindings *findings;
};

struct dtc_states_text_options {
	guint width;
	bool has_color;
	bool has_utf8;
	bool is_exact;
	int64_t min_ns; /* fold entries that are shorter in all; -1: a thousandth of the tree */
};

/* Caller owns both. */
char *dtc_states_to_json(const struct dtc_states_input *input);
char *dtc_states_to_text(const struct dtc_states_input *input, const struct dtc_states_text_options *options);
