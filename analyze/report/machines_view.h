/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Views of virtual CPUs: text by guest, and JSON with the schema dtrace-chain/vms/1, documented in docs/formats.md.
 * They lay out what they are given and compute nothing.
 */
#pragma once

#include "analyze/engine/vms.h"

#define DTC_VMS_SCHEMA "dtrace-chain/vms/1"

/* Everything is borrowed for the call. */
struct dtc_vms_input {
	const GArray *nodes; /* struct dtc_vms_node */
	const char *const *node_names;
	const DtcHistory *const *histories;
	const DtcClocks *clocks;
	const char *reference; /* the node whose clock is cluster time */
	guint limit;	       /* rows of each list in text, silences in JSON; 0: all */
	const DtcFindings *findings;
};

/* The whole document with a final newline. Caller owns. */
char *dtc_vms_to_json(const struct dtc_vms_input *input);
/* At most width columns. Caller owns. */
char *dtc_vms_to_text(const struct dtc_vms_input *input, guint width, bool has_color, bool has_utf8);
