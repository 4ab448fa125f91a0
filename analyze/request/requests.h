/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which exchanges belong to one request, and how a request is found by an id. A request is all exchanges with the same
 * X-Request-Id. Other ids (a trace id, a correlation id, a header of the user) may be shared by several requests: they
 * join an exchange without X-Request-Id to the request that has them, if there is only one, and are a request of their
 * own otherwise; they never make one request of two X-Request-Ids. Two X-Request-Ids in one exchange (a proxy that
 * gives its own) are one request, unless the second one comes with many first ones and so identifies nothing. An
 * exchange without any id is a request of its own (anonymous.h).
 */
#pragma once

#include "analyze/exchange/exchanges.h"
#include "analyze/request/anonymous.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_request {
	const char *id;		   /* its X-Request-Id (the first seen), else the id that tells it best, else a name */
	const char *source;	   /* the header that carried it; NULL: none, it is named by connection and time */
	int64_t begin_ns;	   /* its first packet, cluster time; without that, by the capture's clock */
	bool is_inner;		   /* without an id, and its client was being asked itself */
	const uint32_t *exchanges; /* indexes in the set, in its order; all attempts, on all nodes */
	guint exchange_count;
	const struct dtc_identity *identities; /* all that its exchanges carry, each once; the one that is id first */
	guint identity_count;
};

typedef struct DtcRequests DtcRequests;

/*
 * exchanges is borrowed and must neither change nor go before the requests. With anonymous, exchanges without an id
 * are requests, too; NULL: they are left out. Caller owns.
 */
DtcRequests *dtc_requests_new(const DtcExchanges *exchanges, const struct dtc_anonymous_input *anonymous);
void dtc_requests_free(DtcRequests *requests);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcRequests, dtc_requests_free)

/* By begin. Borrowed. */
guint dtc_requests_get_count(const DtcRequests *requests);
const struct dtc_request *dtc_requests_get(const DtcRequests *requests, guint index);
const DtcExchanges *dtc_requests_get_exchanges(const DtcRequests *requests);
/* How many have no id. */
guint dtc_requests_get_anonymous_count(const DtcRequests *requests);

/*
 * The request with this id, or whole header value, in whatever header. If there is none, a part of an id that fits only
 * one request is enough: tried as the begin of a request's id, of any of its ids, then inside these. An id of several
 * requests is an error (USAGE) that lists up to 10 of them; none is NOT_FOUND, with a hint.
 */
bool dtc_request_find(const DtcRequests *requests, const char *id, guint *ret_index, GError **error);
