/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a capture belong to its node? The node's kernel trace knows which addresses the node sends from, and when it was
 * recorded. Warnings only: whoever captures one interface, or on another machine, may know what he does.
 */
#pragma once

#include "analyze/engine/briefs.h"
#include "analyze/engine/recordings.h"
#include "sync/match/match.h"

/* briefs: by node, of which one tells what the others are asked for; or NULL. */
void dtc_capture_fit_check(const struct dtc_recordings *recordings, const char *const *names, const DtcMatches *matches,
			   const struct dtc_node_brief *briefs, DtcFindings *findings);

/* It shows packets, and none of an address that the node sends from. Both are sealed. */
bool dtc_capture_fit_is_others(const DtcPackets *kernel, const DtcPackets *capture);

/*
 * What is wrong with the times of a node's capture, beside those of the packet events of its trace; NULL if nothing is.
 * Both are sealed and not empty. Caller frees.
 */
char *dtc_capture_fit_describe_time(const DtcPackets *kernel, const DtcPackets *capture, const DtcMatches *matches,
				    guint node);
