/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An exchange that is being read: a request that waits for its response, or one side of which goes on. */
#pragma once

#include "analyze/exchange/exchanges.h"
#include "analyze/exchange/identity.h"

struct dtc_open_exchange {
	struct dtc_exchange exchange; /* strings owned here until it is given to the set */
	GArray *identities;	      /* struct dtc_identity, strings owned; NULL: none */
	uint32_t ack;		      /* of the packet with the request's first byte: what the client had received */
	bool has_ack;
	bool request_done;
	bool response_done;
};

/* flow: client -> server. Without request and response; caller owns. */
struct dtc_open_exchange *dtc_open_exchange_new(guint node, uint32_t flow);
void dtc_open_exchange_free(struct dtc_open_exchange *open);
/* Frees it, with what it owns given to the set. */
void dtc_open_exchange_emit(struct dtc_open_exchange *open, DtcExchanges *exchanges);

/* Makes text of any bytes, of its method or target; replaces what was there. */
void dtc_open_exchange_set_text(const char **text, const char *bytes, gsize count);
/* If the header carries an identity that it does not have. */
void dtc_open_exchange_add_header(struct dtc_open_exchange *open, const DtcIdentityHeaders *headers, const char *name,
				  gsize name_bytes, const char *value, gsize value_bytes);
/* Takes method, target and identities from another that has them, where it has none. */
void dtc_open_exchange_take_words(struct dtc_open_exchange *open, struct dtc_open_exchange *from);
/* A segment out of order may be older than the one that filled the hole. */
void dtc_open_exchange_set_seen(int64_t *seen_ns, int64_t time_ns);
