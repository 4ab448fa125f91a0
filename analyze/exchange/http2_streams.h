/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The exchanges of an HTTP/2 connection, one in each stream that its client began (RFC 9113, 8.1): from the frame with
 * the request's headers to the one that ends its stream on that side, and the same of the response. Headers of either
 * tell who the client is, or the preface does; what a block that was not read would have told is not known, and the
 * exchange is there all the same.
 */
#pragma once

#include "analyze/exchange/exchanges.h"
#include "analyze/exchange/http2.h"
#include "analyze/exchange/identity.h"

typedef struct DtcHttp2Streams DtcHttp2Streams;

struct dtc_http2_streams_input {
	guint node;
	uint32_t flow[2];
	bool is_of_begin[2];		   /* of the flow's first bytes: they were captured */
	const DtcIdentityHeaders *headers; /* borrowed, as what follows */
	DtcExchanges *exchanges;
};

DtcHttp2Streams *dtc_http2_streams_new(const struct dtc_http2_streams_input *input);
/* What is open is given to the exchanges as it is. */
void dtc_http2_streams_free(DtcHttp2Streams *streams);
/* Of the side of a flow. Borrowed. */
const struct dtc_http2_listener *dtc_http2_streams_get_listener(DtcHttp2Streams *streams, guint side);
/*
 * Its first bytes were just seen between other ends: an answer whose question was not seen is told with that where they
 * are those of both.
 */
void dtc_http2_streams_set_echo(DtcHttp2Streams *streams);
/* Requests and responses whose headers could not be read. */
guint64 dtc_http2_streams_get_unread_count(const DtcHttp2Streams *streams);
