/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a request was in the histories: its hops, and on both ends of each hop which thread wrote and read which bytes,
 * in which calls. A byte's position on the connection is its sequence number minus the file's base, so that a call is
 * found without any clock; where base or calls are missing, order and time must do, and the side is marked inferred.
 *
 * Exchanges that several captures saw are one hop: the same ends (or, through NAT, the same two sequence numbers). A
 * hop whose end is not traced has no call on that side.
 *
 * Captures begin before the kernel traces do, and end after them. What was sent or answered outside of a node's trace
 * has no place on that node: a side that lies wholly outside has no calls, one that lies partly outside ends where the
 * trace does. A place whose request is not wholly inside says so.
 */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/request/requests.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>
#include <stdbool.h>

/* Everything is borrowed and must outlive the locator. */
struct dtc_locate_input {
	const DtcLinks *links;		   /* histories and clocks, and what is found of them for all who ask */
	const DtcPackets *const *captures; /* by node; sealed; NULL: no capture */
	/* Node time at which a node's capture clock shows capture_ns; false if that is not known. */
	bool (*capture_to_node)(gconstpointer data, guint node, int64_t capture_ns, int64_t *ret_node_ns);
	gconstpointer capture_data;
};

/* What of a request lies outside of a node's kernel trace, by the first and the last byte of it there; or-ed. */
enum dtc_outside {
	DTC_OUTSIDE_BEGIN = 1, /* the first byte came before the trace's first event */
	DTC_OUTSIDE_END = 2,   /* the last byte came after the trace's last event */
	DTC_OUTSIDE_WHOLE = 4, /* nothing lies inside: answered before the trace's begin, or sent after its end */
};

/* One end of a hop. On the client the request is written and the response read, on the server the other way round. */
struct dtc_hop_side {
	guint node;	       /* G_MAXUINT: not known, it has neither trace nor capture */
	uint32_t thread;       /* that finished the hop's work there: client: read the last byte, server: wrote it; or
				  DTC_NONE */
	uint32_t file;	       /* DTC_NONE: not traced, or wholly outside, and so are the calls below */
	uint32_t connect_call; /* client, if the request is the first on a connection opened in the trace */
	uint32_t request_first_call; /* wrote or read the first byte */
	uint32_t request_last_call;
	uint32_t response_first_call;
	uint32_t response_last_call;
	/* Client: from the entry of connect or of the first write to the exit of the last read; server: from the exit
	 * of the first read to the exit of the last write. Valid if there is a file; within the node's trace. */
	DtcNodeTime begin;
	DtcNodeTime end;
	bool inferred;	 /* a call was found by order or time only */
	bool is_open;	 /* no response was seen, and nothing ended the wait for it before the trace ended */
	uint8_t outside; /* enum dtc_outside */
};

struct dtc_hop {
	const struct dtc_exchange *exchange; /* the one that shows most; on node exchange->node */
	guint exchange_count;		     /* captures that saw it */
	struct dtc_hop_side client;
	struct dtc_hop_side server;
	guint parent;  /* the hop whose server sent this one; G_MAXUINT: none */
	guint attempt; /* 1, 2, ...: the same request to the same server for the same parent */
	/* The client side's span, else the server side's, else the packets'. */
	DtcClusterTime begin;
	DtcClusterTime end;
	bool inferred;
};

struct dtc_place {
	GArray *hops;	     /* struct dtc_hop by begin; never empty */
	guint root;	     /* the first attempt of the hop nearest to the user */
	guint attempt_count; /* of the root */
	guint node;	     /* the target's */
	uint32_t thread;     /* DTC_NONE: no hop has a traced end; begin and end are the packets' then */
	bool is_client;	     /* the target is the root's client: the duration is what the user saw */
	bool inferred;
	bool is_limited; /* there are so many hops that not all were looked at as the cause of each */
	bool has_end;	 /* false: no response was seen; end is when the client gave up, or the trace's end: */
	bool is_open;
	uint8_t outside; /* enum dtc_outside, of the side whose duration the user saw; the place is the part inside */
	guint outside_node; /* whose trace it is outside of; G_MAXUINT: of none */
	DtcNodeTime begin;  /* on node */
	DtcNodeTime end;
};

typedef struct DtcLocator DtcLocator;

/* requests is borrowed too. Caller owns. Several threads may ask it, but while it keeps what it finds. */
DtcLocator *dtc_locator_new(const DtcRequests *requests, const struct dtc_locate_input *input);
void dtc_locator_free(DtcLocator *locator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLocator, dtc_locator_free)

/*
 * From now on what is found is kept, in a file: who looks at all requests, for whom each thread worked and then one by
 * one, finds each place once. One thread at a time, until it has settled.
 */
void dtc_locator_keep(DtcLocator *locator);
/* What was found stays, and no more is kept: a place that was not is looked for each time it is asked for. */
void dtc_locator_settle(DtcLocator *locator);
/* The place of the request with an index in requests. Caller owns. */
struct dtc_place *dtc_locator_find(DtcLocator *locator, guint request);
void dtc_place_free(struct dtc_place *place);

/*
 * From the first packet of a request (of its connection, if that was opened for it) to the last one of its response,
 * in cluster time. False if no response was seen
 * whole, or if its packets are on clocks that nothing relates.
 */
bool dtc_locator_get_packet_span(const DtcLocator *locator, guint request, int64_t *ret_begin_ns, int64_t *ret_end_ns);
/*
 * False if two requests, by their packets, were not in flight at the same time (give or take a second); where clocks
 * cannot tell, they may have been. Much cheaper than to place them.
 */
bool dtc_locator_may_overlap(const DtcLocator *locator, guint request, guint other);
