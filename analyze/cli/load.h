/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a bundle to everything an analysis needs: the one place that calls the stages in their order. Kernel traces and
 * captures are read by as many threads as there are processors; matching, clocks and links follow when all are there.
 * Results depend neither on the number of threads nor on the order in which they finish.
 */
#pragma once

#include "analyze/cli/terminal.h"
#include "analyze/link/links.h"
#include "analyze/report/quality.h"
#include "analyze/request/locate.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "sync/fit/fit.h"
#include "sync/match/match.h"

struct dtc_load_options {
	const char *reference;		   /* node whose clock is cluster time; NULL: the best one */
	bool needs_exchanges;		   /* scan the captures for requests */
	bool clocks_only;		   /* the histories hold packets and nothing else: less memory */
	const char *const *id_headers;	   /* more headers that carry an identity, NULL-terminated; or NULL */
	const struct dtc_fit_options *fit; /* NULL: defaults; reference above counts, not the one in here */
	const char *sync_file;		   /* clock maps to use instead of fitting; or NULL */
};

typedef struct DtcLoad DtcLoad;

/*
 * What a node lacks or has damaged is a finding as long as one node can be read; the bundle is borrowed and must live
 * as long as the result. Caller owns; NULL with an error if nothing can be read or the clocks contradict each other.
 */
DtcLoad *dtc_load_bundle(const DtcBundle *bundle, const struct dtc_load_options *options, DtcProgress *progress,
			 DtcFindings *findings, GError **error);
void dtc_load_free(DtcLoad *load);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLoad, dtc_load_free)

guint dtc_load_get_node_count(const DtcLoad *load);
const char *const *dtc_load_get_node_names(const DtcLoad *load); /* NULL-terminated */
/* False with a list of the nodes there are. */
bool dtc_load_find_node(const DtcLoad *load, const char *name, guint *ret_node, GError **error);
/* One per node, NULL where there is none. */
const DtcHistory *const *dtc_load_get_histories(const DtcLoad *load);
/* NULL: the node has no kernel trace that can be read. */
const DtcHistory *dtc_load_get_history(const DtcLoad *load, guint node);
/* Why a node's history is NULL: "there is none in the bundle", or why it cannot be read. */
const char *dtc_load_get_kernel_problem(const DtcLoad *load, guint node);
/* NULL: the node has no capture of its own traffic. Sealed. */
const DtcPackets *dtc_load_get_capture(const DtcLoad *load, guint node);
/* The bundle's, or NULL. */
const DtcCluster *dtc_load_get_cluster(const DtcLoad *load);
const DtcClocks *dtc_load_get_clocks(const DtcLoad *load);
const DtcMatches *dtc_load_get_matches(const DtcLoad *load);
/* NULL for a single node, or if the clocks came from a file. */
const DtcSync *dtc_load_get_sync(const DtcLoad *load);
const DtcLinks *dtc_load_get_links(const DtcLoad *load);
/* Of all nodes, sorted by node. NULL unless asked for. */
const DtcExchanges *dtc_load_get_exchanges(const DtcLoad *load);
/* How well the clocks are known at a time. Caller owns. */
DtcQuality *dtc_load_new_quality(const DtcLoad *load, DtcClusterTime at);
/* Places requests of those exchanges in the histories; load and requests must outlive it. Caller owns. */
DtcLocator *dtc_load_new_locator(const DtcLoad *load, const DtcRequests *requests);
/* How many captures were read. */
guint dtc_load_get_capture_count(const DtcLoad *load);
