/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/anonymous.h"

#include "analyze/exchange/label.h"
#include "analyze/request/same_wire.h"

#include <dtrace-chain/hash.h>

#include <string.h>

#define NS_PER_S INT64_C(1000000000)
#define MAX_LIKE 64 /* exchanges with one sequence number that are looked at: more are made up */

static const struct dtc_flow *get_flow(const struct dtc_exchange *e, const struct dtc_anonymous_input *input)
{
	return dtc_packets_get_flow(input->captures[e->node], e->flow);
}

/* ---- one row for all captures that saw it ---- */

/* The newest exchange with a sequence number, and from each the one before it. */
struct chains {
	GHashTable *newest; /* sequence number, of the response with bit 32 -> exchange + 1 */
	uint32_t *before;   /* by exchange, of the request's and of the response's number: exchange + 1, 0: none */
};

static gint64 make_key(uint32_t seq, bool is_response)
{
	return (gint64)((guint64)is_response << 32 | seq);
}

static uint32_t get_newest(const struct chains *chains, gint64 key)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(chains->newest, &key));
}

static uint32_t find_row(const DtcExchanges *exchanges, const struct dtc_anonymous_input *input,
			 const struct chains *chains, const uint32_t *row_of, guint n, bool is_response)
{
	const struct dtc_exchange *e = dtc_exchanges_get(exchanges, n);
	uint32_t like = get_newest(chains, make_key(is_response ? e->response_seq : e->request_seq, is_response));
	for (guint steps = 0; like && steps < MAX_LIKE; steps++) {
		const struct dtc_exchange *other = dtc_exchanges_get(exchanges, like - 1);
		if (other->node != e->node && dtc_same_wire(other, get_flow(other, input), e, get_flow(e, input)))
			return row_of[like - 1];
		like = chains->before[2 * (like - 1) + is_response];
	}
	return DTC_NO_ROW;
}

static void add_to_chain(const struct chains *chains, guint n, gint64 key, bool is_response)
{
	chains->before[2 * n + is_response] = get_newest(chains, key);
	g_hash_table_insert(chains->newest, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(n + 1));
}

void dtc_anonymous_assign(const DtcExchanges *exchanges, const struct dtc_anonymous_input *input, uint32_t *row_of,
			  guint *row_count)
{
	guint count = dtc_exchanges_get_count(exchanges);
	struct chains chains = {
		.newest = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
		.before = g_new0(uint32_t, 2 * (gsize)count + 1),
	};
	for (guint n = 0; n < count; n++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, n);
		if (row_of[n] != DTC_NO_ROW || !input->captures[e->node])
			continue;
		if (e->has_request)
			row_of[n] = find_row(exchanges, input, &chains, row_of, n, false);
		if (row_of[n] == DTC_NO_ROW && e->has_response)
			row_of[n] = find_row(exchanges, input, &chains, row_of, n, true);
		if (row_of[n] == DTC_NO_ROW)
			row_of[n] = (*row_count)++;
		if (e->has_request)
			add_to_chain(&chains, n, make_key(e->request_seq, false), false);
		if (e->has_response)
			add_to_chain(&chains, n, make_key(e->response_seq, true), true);
	}
	g_hash_table_unref(chains.newest);
	g_free(chains.before);
}

char *dtc_anonymous_name(const struct dtc_exchange *exchange, const struct dtc_anonymous_input *input)
{
	const struct dtc_flow *flow = get_flow(exchange, input);
	g_autofree char *client = dtc_address_to_string(flow->source, flow->source_port);
	g_autofree char *server = dtc_address_to_string(flow->destination, flow->destination_port);
	int64_t captured_ns = exchange->has_request ? exchange->request_ns : exchange->response_ns;
	int64_t at_ns = input->to_cluster ? input->to_cluster(input->data, exchange->node, captured_ns) : captured_ns;
	int64_t day_s = (at_ns / NS_PER_S) % 86400, us = at_ns % NS_PER_S / 1000;
	g_autofree char *name = g_strdup_printf("%s-%s@%02d:%02d:%02d.%06d", client, server, (int)(day_s / 3600),
						(int)(day_s / 60 % 60), (int)(day_s % 60), (int)us);
	return exchange->stream ? g_strdup_printf("%s/%u", name, exchange->stream) : g_steal_pointer(&name);
}

/* ---- who asks while it is asked ---- */

/* Until when the server has something to answer, as far as the exchanges of this node until now show. */
static void note_server(GHashTable *busy_until, const struct dtc_exchange *e, const struct dtc_flow *flow)
{
	int64_t *until_ns = g_hash_table_lookup(busy_until, flow->destination);
	int64_t end_ns = e->has_response ? e->response_end_ns : INT64_MAX;
	if (!until_ns) {
		until_ns = g_new0(int64_t, 1);
		*until_ns = INT64_MIN;
		g_hash_table_insert(busy_until, (gpointer)flow->destination, until_ns);
	}
	*until_ns = MAX(*until_ns, end_ns);
}

bool *dtc_anonymous_find_inner(const DtcExchanges *exchanges, const struct dtc_anonymous_input *input)
{
	guint count = dtc_exchanges_get_count(exchanges), node = G_MAXUINT;
	g_autoptr(GHashTable) busy_until = g_hash_table_new_full(dtc_address_hash, dtc_address_equal, NULL, g_free);
	bool *inner = g_new0(bool, count + 1);
	for (guint n = 0; n < count; n++) { /* by node and time */
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, n);
		if (!input->captures[e->node])
			continue;
		if (e->node != node)
			g_hash_table_remove_all(busy_until);
		node = e->node;
		const struct dtc_flow *flow = get_flow(e, input);
		const int64_t *until_ns = g_hash_table_lookup(busy_until, flow->source);
		inner[n] = until_ns && *until_ns >= e->request_ns &&
			   !(input->clients && dtc_clients_has_only_asked(input->clients, e));
		note_server(busy_until, e, flow);
	}
	return inner;
}
