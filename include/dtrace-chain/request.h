/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests found in the captures: HTTP/1.x exchanges (a request and its response on one connection) with the identities
 * their headers carry. Byte positions are TCP sequence numbers, which need no clock and are the same on both hosts.
 */
#pragma once

#include "collect/read/packets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_identity {
	char *source; /* owned: "x-request-id", "traceparent", ... lower case */
	char *id;     /* owned: the value (traceparent: the 32 hex digits of the trace id), bounded to 256 bytes */
};

/* One request and its response on one connection, as one node's capture shows it. */
struct dtc_exchange {
	guint node;
	uint32_t flow; /* in the node's capture packets: client -> server; its reverse carries the response */
	uint32_t request_seq;	    /* first byte of the request */
	uint32_t request_end_seq;   /* after its last byte */
	uint32_t response_seq;	    /* valid if has_response */
	uint32_t response_end_seq;  /* after the last byte of the response seen */
	bool has_response;
	bool response_complete;	    /* its end is known (content length, chunks, close) and was seen */
	bool is_first;		    /* first request on its connection, and the connection's SYN was captured */
	int64_t request_ns;	    /* capture's clock: the packet with the first byte of the request */
	int64_t request_end_ns;
	int64_t response_ns;	    /* packet with the first byte of the response */
	int64_t response_end_ns;    /* packet with the last byte */
	int status;		    /* 0 if not known */
	char *method;		    /* owned, printable, bounded */
	char *target;		    /* owned: request target, printable, bounded to 256 bytes */
	GArray *identities;	    /* struct dtc_identity, in header order, request's first; owned */
};
