/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exchanges that carry no id are requests, too: one of its own each, however many captures saw it, named by its
 * connection and when its first packet was captured. What a server asks others while it is being asked is not what a
 * user asked for: such exchanges are inner ones, which belong to whom the bytes lead back, if they do.
 */
#pragma once

#include "analyze/exchange/exchanges.h"
#include "analyze/request/clients.h"

#include <glib.h>

#define DTC_NO_ROW UINT32_MAX

/* Arrays by node; borrowed. */
struct dtc_anonymous_input {
	const DtcPackets *const *captures; /* NULL: none */
	int64_t (*to_cluster)(gconstpointer data, guint node, int64_t capture_ns);
	gconstpointer data;
	DtcClients *clients; /* NULL: only addresses tell */
};

/*
 * Gives each exchange without a row (row_of: one per exchange, DTC_NO_ROW: none) one from *row_count on, which grows.
 */
void dtc_anonymous_assign(const DtcExchanges *exchanges, const struct dtc_anonymous_input *input, uint32_t *row_of,
			  guint *row_count);
/* "10.0.0.1:51700-10.0.0.2:80@09:58:31.598123" (UTC), of HTTP/2 with its stream: ".../3". Caller frees. */
char *dtc_anonymous_name(const struct dtc_exchange *exchange, const struct dtc_anonymous_input *input);
/*
 * Whether the client of each exchange, by the same capture, was a server of another exchange under way when it asked.
 * One per exchange. Caller frees.
 */
bool *dtc_anonymous_find_inner(const DtcExchanges *exchanges, const struct dtc_anonymous_input *input);
