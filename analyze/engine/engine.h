/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program without its command line. A bundle is opened (open.h), and an engine reads it, aligns its
 * clocks and links what was read; then it answers, as often as it is asked, from memory and without changing:
 *
 *     question.h      one request or thread over a span: its critical path and what is worth saying beside it
 *     identify.h      the same for a request that marks, spans or a connection name
 *     all_requests.h  every request, one after the other
 *     top.h states.h blockings.h usage_of.h   what threads, processes and nodes did in a span (selection.h: whom, when)
 *     edge_question.h every edge of a span, thread or request, one after the other
 *     checks.h        whether what all of these promise holds
 *
 * What needs no engine, since nothing is analysed: census.h counts what a bundle holds, event_list.h lists its events.
 *
 * Nothing in here prints, ends the program or knows a terminal, and there is no state but in the objects: two engines
 * may live in two threads; one is asked by one thread at a time, since indexes are filled when they are first needed.
 * Answers are typed (ids, times, codes); analyze/report makes words and pictures of them. Kernel traces and captures
 * are read by as many threads as there are processors (reading.h); matching, clocks and links follow when all are
 * there. Answers depend neither on the number of threads nor on the order in which they end. Who watches (watch.h) is
 * told how far it is, and can stop it.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "analyze/engine/watch.h"
#include "analyze/engine/window.h"
#include "analyze/request/locate.h"
#include "collect/image/store.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "sync/fit/fit.h"
#include "sync/match/match.h"

struct dtc_engine_options {
	const char *reference;		   /* node whose clock is cluster time; NULL: the best one */
	bool needs_exchanges;		   /* scan the captures for requests */
	bool clocks_only;		   /* the histories hold packets and nothing else: less memory */
	DtcStore *store;		   /* what was read is kept there, and found again; NULL: nowhere */
	const char *const *id_headers;	   /* more headers that carry an identity, NULL-terminated; or NULL */
	const struct dtc_fit_options *fit; /* NULL: defaults; reference above counts, not the one in here */
	const char *sync_file;		   /* clock maps to use instead of fitting; or NULL */
	const struct dtc_window *window;   /* what will be asked: nothing else is read; NULL: anything may be */
	bool lists_requests; /* rows of all requests will be asked for, which others may help with (owners.h) */
};

typedef struct DtcEngine DtcEngine;

/*
 * What a node lacks or has damaged is a finding as long as one node can be read; the bundle is borrowed and must live
 * as long as the result. Caller owns; NULL with an error if nothing can be read, the clocks contradict each other, or
 * the watcher (NULL: nobody) stops it.
 */
DtcEngine *dtc_engine_new(const DtcBundle *bundle, const struct dtc_engine_options *options,
			  const struct dtc_watch *watch, DtcFindings *findings, GError **error);
void dtc_engine_free(DtcEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcEngine, dtc_engine_free)

guint dtc_engine_get_node_count(const DtcEngine *engine);
const char *const *dtc_engine_get_node_names(const DtcEngine *engine); /* NULL-terminated */
/* False with a list of the nodes there are. */
bool dtc_engine_find_node(const DtcEngine *engine, const char *name, guint *ret_node, GError **error);
/* One per node, NULL where there is none. */
const DtcHistory *const *dtc_engine_get_histories(const DtcEngine *engine);
/* NULL: the node has no kernel trace that can be read. */
const DtcHistory *dtc_engine_get_history(const DtcEngine *engine, guint node);
/* Why a node's history is NULL: "there is none in the bundle", or why it cannot be read. */
const char *dtc_engine_get_kernel_problem(const DtcEngine *engine, guint node);
/* NULL: the node has no capture of its own traffic. Sealed. */
const DtcPackets *dtc_engine_get_capture(const DtcEngine *engine, guint node);
/* The bundle's, or NULL. */
const DtcCluster *dtc_engine_get_cluster(const DtcEngine *engine);
const DtcClocks *dtc_engine_get_clocks(const DtcEngine *engine);
/* Messages and all; those of clocks that were kept from before are made first, which takes as long as it took. */
const DtcMatches *dtc_engine_get_matches(const DtcEngine *engine);
/* dtc_matches_capture_to_node, for which no messages are needed. */
bool dtc_engine_capture_to_node(const DtcEngine *engine, guint node, int64_t capture_ns, int64_t *ret_node_ns);
/* NULL for a single node, or if the clocks came from a file. */
const DtcSync *dtc_engine_get_sync(const DtcEngine *engine);
const DtcLinks *dtc_engine_get_links(const DtcEngine *engine);
const DtcEdges *dtc_engine_get_edges(const DtcEngine *engine);
/* Of all nodes, sorted by node. NULL unless asked for. */
const DtcExchanges *dtc_engine_get_exchanges(const DtcEngine *engine);
/* Of those exchanges; NULL unless asked for. */
const DtcRequests *dtc_engine_get_requests(const DtcEngine *engine);
/* Places requests of those exchanges in the histories; engine and requests must outlive it. Caller owns. */
DtcLocator *dtc_engine_new_locator(const DtcEngine *engine, const DtcRequests *requests);
/* Who helps with rows of all requests; NULL: nobody. Borrowed. */
const struct dtc_owners *dtc_engine_get_helped(const DtcEngine *engine);
/* Only a window was read. */
bool dtc_engine_is_part(const DtcEngine *engine);
/* How many captures were read. */
guint dtc_engine_get_capture_count(const DtcEngine *engine);
/* The name of the node whose clock is cluster time. */
const char *dtc_engine_get_reference(const DtcEngine *engine);
/* The earliest event of the nodes that are aligned with the reference: what relative times count from; 0 without. */
DtcClusterTime dtc_engine_get_origin(const DtcEngine *engine);
/* The latest event of these nodes; 0 without. */
DtcClusterTime dtc_engine_get_end(const DtcEngine *engine);
