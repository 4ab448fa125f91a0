/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that belongs to a node, redacted: its kernel trace, its captures, what the recorder wrote about it. */
#pragma once

#include "collect/redact/redaction.h"
#include "dtrace-chain/bundle.h"

/* Where a node's files go. */
struct dtc_node_place {
	const char *folder; /* exists, and is empty */
	const char *beside; /* NODE.pcap without its suffix, for what lies there; NULL: all goes into folder */
};

/*
 * Only files that are understood are written. UNREADABLE with the file and what to do if one is not: images of what was
 * read, metadata and captures that are not known.
 */
bool dtc_node_redact(struct dtc_redaction *redaction, const struct dtc_bundle_node *node,
		     const struct dtc_node_place *place, GError **error);
