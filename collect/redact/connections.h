/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The TCP connections of one capture: whose bytes come next, which were seen before (what is sent again, or seen on two
 * interfaces, becomes the same again), which are not there. Packets lie in one piece of memory, in which they are
 * replaced; all is done when this is freed.
 */
#pragma once

#include "collect/redact/messages.h"

typedef struct DtcConnections DtcConnections;

/* One direction of a connection. */
struct dtc_connection_key {
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
};

struct dtc_connection_segment {
	uint32_t seq; /* of the first byte */
	uint32_t bytes;
	uint32_t captured_bytes; /* at data, to be replaced */
	uint8_t *data;
	bool is_begin; /* it has a SYN, which seq does not count */
};

/* words and headers are borrowed, as are the bytes of segments. Caller owns. */
DtcConnections *dtc_connections_new(DtcPseudonyms *words, const char *const *headers);
/* Ends all connections. */
void dtc_connections_free(DtcConnections *connections);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcConnections, dtc_connections_free)

void dtc_connections_add(DtcConnections *connections, const struct dtc_connection_key *key,
			 const struct dtc_connection_segment *segment);
