/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests found in the captures: HTTP/1.x exchanges (a request and its response on one connection) with the identities
 * their headers carry. Byte positions are TCP sequence numbers, which need no clock and are the same on both hosts.
 * Strings belong to the set of exchanges (analyze/exchange/exchanges.h) and live as long as it does.
 */
#pragma once

#include "collect/packets/packets.h"
#include "dtrace-chain/time.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* No string or identity taken from the wire is longer than this, escapes included. */
#define DTC_REQUEST_TEXT_BYTES 256

struct dtc_identity {
	const char *source; /* "x-request-id", "traceparent", ... lower case */
	const char *id;	   /* what tells requests apart: the value, or the trace id in it (traceparent, b3, sw8, ...) */
	const char *value; /* the whole value, printable; the same string as id where they are equal */
};

/* One request and its response on one connection, or in one stream of it, as one node's capture shows it. */
struct dtc_exchange {
	guint node;
	uint32_t flow;	      /* in the node's capture packets: client -> server; its reverse carries the response */
	uint32_t request_seq; /* first byte of the request; without has_request: the end of what the server had got */
	uint32_t request_end_seq;  /* after its last byte, as far as it was seen */
	uint32_t response_seq;	   /* valid if has_response; the final response, not an interim one (1xx) */
	uint32_t response_end_seq; /* after the last byte of the response seen */
	uint32_t stream;	   /* of HTTP/2, in which both are; 0: they have the connection for themselves */
	bool has_request;	   /* false: the capture shows only the response (it began too late, or lost packets) */
	bool request_complete;	   /* its end is known and was seen */
	bool has_response;
	bool response_complete;	 /* its end is known (content length, chunks, close) and was seen */
	bool is_first;		 /* first request on its connection, and the connection's SYN was captured */
	int64_t request_ns;	 /* capture's clock: the packet with the first byte of the request */
	int64_t request_end_ns;	 /* the packet with which all bytes of the request had been captured */
	int64_t response_ns;	 /* packet with the first byte of the response; DTC_TIME_NONE without response */
	int64_t response_end_ns; /* the packet with which all bytes of the response had been captured */
	int status;		 /* 0 if not known */
	const char *method;	 /* printable; "" if not known */
	const char *target;	 /* request target, printable; "" if not known */
	const struct dtc_identity *identities; /* in header order, the request's first */
	guint identity_count;
};
