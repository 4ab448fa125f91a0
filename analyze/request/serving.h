/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For which request a thread worked when. An event loop or a pooled thread has many requests in its hands; at any time
 * it works for one. Told by its calls: from a call that moves bytes of a request on, it works for that request, until
 * it moves another's, goes to wait for events or connections, or has answered. While exactly one question is open in
 * the thread, it waits for events in the middle of that one. The time that leads up to a call from a pause belongs to
 * that call's request too, as far as the thread ran. Nobody works for a request before its first byte or after its
 * answer.
 *
 * The calls of hops are known from the captures. From there bytes are followed where no capture shows an id: what a
 * thread writes to a connection while it works for a request is that request's for whoever reads these bytes, and so is
 * what comes back. These are the inferred hops: over loopback, to a database, through a proxy that drops the id.
 *
 * A thread of which no call tells anything inherits from the one that wakes it for a piece of work (inherit.h). What
 * such a one asks others is followed likewise, a few times.
 *
 * Costs one look at the calls of every thread that served, once per step of the longest chain of such hops.
 */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/request/locate.h"

/* Where a second request is named: there is none. */
#define DTC_NO_REQUEST G_MAXUINT

/* A span in which a thread worked for a request, in node time. Spans of a thread do not overlap. */
struct dtc_served {
	int64_t begin_ns;
	int64_t end_ns;
	guint request;
	bool leads;  /* the thread paused, or worked for nobody known, before the request's call at the end */
	guint other; /* it cannot be told from this request for which of the two it was; or DTC_NO_REQUEST */
};

/* A hop that no capture shows with an id: followed from call to call. */
struct dtc_followed_hop {
	guint request;
	guint client_node, server_node;
	uint32_t client_thread, server_thread;
	uint32_t client_file, server_file;
	int64_t client_begin_ns, client_end_ns; /* first write to last read, node time of the client */
	int64_t server_begin_ns, server_end_ns; /* first read to last write, node time of the server */
	guint other;				/* as of a span */
};

/* A write or connect that is known to be for a request. */
struct dtc_owned {
	uint32_t call;
	guint request;
	uint32_t read;	  /* the last call before it with which this thread took bytes of the request; DTC_NONE: none */
	uint32_t taken;	  /* bytes of it up to the end of the request's message, or that datagram's number; 0: all */
	uint32_t stream;  /* of several in which the call asks or answers; 0: it has none */
	bool is_inferred; /* one of the two is the request's by the order of calls only */
	guint other;	  /* as of a span */
};

/* What a process has of a request that lay still in it: others' answer, or what a thread of its own was woken for. */
struct dtc_taken {
	uint32_t thread; /* that has it */
	uint32_t call;	 /* its read; DTC_NONE: a piece of work that is done */
	int64_t at_ns;	 /* when the read returned, or the thread last woke one of its process; node time */
};

typedef struct DtcServing DtcServing;

/* links are borrowed and must outlive it. Caller owns. */
DtcServing *dtc_serving_new(const DtcLinks *links);
void dtc_serving_free(DtcServing *serving);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcServing, dtc_serving_free)

/* The calls of a placed request, in whatever order; the place is not kept. */
void dtc_serving_add(DtcServing *serving, guint request, const struct dtc_place *place);
/*
 * One more call that moves a request on; with ends, the thread's work for it is done then. What a call was told first
 * counts. Requests may be anything that is numbered: profile/usage_service.c numbers the messages of all connections.
 */
void dtc_serving_add_call(DtcServing *serving, guint node, uint32_t call, guint request, bool ends);
/* Follows the bytes to other threads, if asked to. To be called once, after the last request or call was added. */
void dtc_serving_seal(DtcServing *serving, bool follows);

/* By time. Borrowed; NULL with 0 for a thread that served nobody. */
const struct dtc_served *dtc_serving_get(const DtcServing *serving, guint node, uint32_t thread, guint *ret_count);
/* No call of the thread tells for whom it works: all its spans are inherited from those who woke it. */
bool dtc_serving_only_inherits(const DtcServing *serving, guint node, uint32_t thread);
/* The span of a thread that a time (node time) is in, or NULL: it worked for nobody that is known. Borrowed. */
const struct dtc_served *dtc_serving_find_span(const DtcServing *serving, guint node, uint32_t thread, int64_t time_ns);

/* Whether a thread is the one that sends the request, for whom nobody else asked: what else it asks is not for that. */
bool dtc_serving_is_client(const DtcServing *serving, guint request, guint node, uint32_t thread);
/* Whether an id makes it a request: without one it may be what somebody asked for another one's sake. */
bool dtc_serving_has_id(const DtcServing *serving, guint request);

/*
 * Whose a write of bytes or a connect is, and what its thread had read for that request; of what it writes in a stream,
 * or if that is 0 of the first one. Borrowed; NULL: not known.
 */
const struct dtc_owned *dtc_serving_find_owned(const DtcServing *serving, guint node, uint32_t write, uint32_t stream);
/* Whether a process wrote or connected to others for a request, within a span (node time). */
bool dtc_serving_has_asked(const DtcServing *serving, guint request, guint node, int32_t pid, int64_t begin_ns,
			   int64_t end_ns);
/*
 * What a thread of a process last took from others for a request, or had done for it and called another thread for,
 * within a span (node time), behind its begin. False: there is nothing.
 */
bool dtc_serving_find_taken(const DtcServing *serving, guint request, guint node, int32_t pid, int64_t begin_ns,
			    int64_t end_ns, struct dtc_taken *ret_taken);
/* The followed hops of a request, by begin at the client's node. Borrowed. */
const struct dtc_followed_hop *dtc_serving_get_hops(const DtcServing *serving, guint request, guint *ret_count);
