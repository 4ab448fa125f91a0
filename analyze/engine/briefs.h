/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is told in brief of a node that is elsewhere, so that its packets need not come: its part in the matching
 * (sync/match/brief.h), and whether its captures look like its own.
 */
#pragma once

#include "collect/packets/packets.h"
#include "sync/match/brief.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_node_brief {
	DtcBrief *brief; /* owned; NULL: nothing is told */
	bool is_others;	 /* the captures look like another host's (capture_fit.h) */
	char *time;	 /* owned; what their times look like, or NULL */
};

/* kernel, capture: sealed, or NULL. As told. Caller owns; NULL with an error. */
GBytes *dtc_node_brief_save(const char *name, const DtcPackets *kernel, const DtcPackets *capture, DtcSpace *scratch,
			    GError **error);
/* Nothing, if it is none. */
void dtc_node_brief_load(struct dtc_node_brief *brief, const DtcImage *told);
void dtc_node_brief_clear(struct dtc_node_brief *brief);
