/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins the histories of all nodes through their packets: which send carried a received packet, which packet completed
 * the bytes that a call read, which write produced the bytes of a segment. Everything is looked up on demand; the
 * histories stay in node time and the clocks map them.
 */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>

typedef struct DtcLinks DtcLinks;

/*
 * histories[i] is the history of node i, or NULL for a node without a kernel trace; names[i] its name. All borrowed and
 * must outlive the links.
 */
DtcLinks *dtc_links_new(guint node_count, const char *const *names, const DtcHistory *const *histories,
			const DtcClocks *clocks);
void dtc_links_free(DtcLinks *links);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLinks, dtc_links_free)

guint dtc_links_get_node_count(const DtcLinks *links);
const char *dtc_links_get_node_name(const DtcLinks *links, guint node);
const DtcHistory *dtc_links_get_history(const DtcLinks *links, guint node); /* may be NULL */
const DtcClocks *dtc_links_get_clocks(const DtcLinks *links);
