/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds exchanges of HTTP/1.x and HTTP/2 in a capture while it is read. Any port; a connection is HTTP if it begins
 * like it, or, where its begin was not captured, if a segment begins like a message. Bodies are skipped by their length
 * and never stored. A flow that is not HTTP costs one pointer after its first bytes; an open HTTP connection costs
 * about a kilobyte and what waits for lost segments, which is bounded per stream and altogether.
 *
 * Loss is lived with: a hole inside a body of known length is stepped over, a hole elsewhere ends the message and the
 * next segment that begins like a message is where it goes on. Responses meet requests in order on the connection, and
 * after a hole by what the peer had acknowledged.
 *
 * Of HTTP/2 the heads of the frames are kept as well (frames.h): they tell what is whose where many ask at once. Of
 * what is neither HTTP nor TLS shingles are (shingles.h): they tell what was passed on.
 */
#pragma once

#include "analyze/exchange/exchanges.h"
#include "analyze/exchange/frames.h"
#include "analyze/exchange/shingles.h"
#include "collect/packets/capture.h"
#include "dtrace-chain/finding.h"

typedef struct DtcHttp DtcHttp;

struct dtc_http_options {
	const char *const *id_headers; /* more headers that carry an identity, NULL-terminated; or NULL */
	gsize max_exchange_bytes;      /* 0: the default of dtc_exchanges_new */
	gsize max_waiting_bytes;       /* segments behind holes, all connections together; 0: 64 MiB */
};

/*
 * node is the index that exchanges get, packets the packets of the node's captures, borrowed, being filled by the
 * caller: each captured packet is added there first. options may be NULL.
 */
DtcHttp *dtc_http_new(guint node, const DtcPackets *packets, const struct dtc_http_options *options);
void dtc_http_free(DtcHttp *http);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcHttp, dtc_http_free)

/*
 * A packet of the begin is not to be looked at, but is among the packets, or was: the connections that there are go on
 * from somewhere in their middle. Before the first that is added.
 */
void dtc_http_pass(DtcHttp *http);
/* packet is the id that dtc_packets_add gave for captured. In the order of the file. */
void dtc_http_add(DtcHttp *http, uint32_t packet, const struct dtc_captured *captured);

/*
 * Ends what is open and hands over the exchanges, sorted; what could not be followed (TLS, HTTP/2, lost or cut packets)
 * is added to findings under the node's name. The scanner may then only be freed. To be called before the packets are
 * sealed.
 */
DtcExchanges *dtc_http_finish(DtcHttp *http, const char *node_name, DtcFindings *findings);
/* Once it is finished: the frames of the HTTP/2 connections, by the flows of its packets. Caller owns. */
DtcFrames *dtc_http_steal_frames(DtcHttp *http);
/* The same of the shingles of the connections that are neither HTTP nor TLS, finished. */
DtcShingles *dtc_http_steal_shingles(DtcHttp *http);
