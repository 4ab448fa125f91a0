/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/open_exchange.h"

#include <string.h>

#define MAX_IDENTITIES 16

struct dtc_open_exchange *dtc_open_exchange_new(guint node, uint32_t flow)
{
	struct dtc_open_exchange *open = g_new0(struct dtc_open_exchange, 1);

	open->exchange.node = node;
	open->exchange.flow = flow;
	open->exchange.method = g_strdup("");
	open->exchange.target = g_strdup("");
	open->exchange.request_ns = open->exchange.request_end_ns = DTC_TIME_NONE;
	open->exchange.response_ns = open->exchange.response_end_ns = DTC_TIME_NONE;
	return open;
}

static void identity_clear(void *data)
{
	struct dtc_identity *identity = data;

	g_free((void *)identity->source);
	g_free((void *)identity->id);
	g_free((void *)identity->value);
}

void dtc_open_exchange_free(struct dtc_open_exchange *open)
{
	g_free((void *)open->exchange.method);
	g_free((void *)open->exchange.target);
	if (open->identities)
		g_array_unref(open->identities);
	g_free(open);
}

void dtc_open_exchange_emit(struct dtc_open_exchange *open, DtcExchanges *exchanges)
{
	if (open->identities) {
		open->exchange.identities = (const struct dtc_identity *)open->identities->data;
		open->exchange.identity_count = open->identities->len;
	}
	dtc_exchanges_add(exchanges, &open->exchange);
	dtc_open_exchange_free(open);
}

void dtc_open_exchange_set_text(const char **text, const char *bytes, gsize count)
{
	char clean[DTC_REQUEST_TEXT_BYTES + 1];

	dtc_identity_clean(bytes, count, clean);
	g_free((void *)*text);
	*text = g_strdup(clean);
}

/* Of all it says the response may repeat some. */
static void add_identity(struct dtc_open_exchange *open, const char *source, const char *id, const char *value)
{
	if (!open->identities) {
		open->identities = g_array_new(FALSE, FALSE, sizeof(struct dtc_identity));
		g_array_set_clear_func(open->identities, identity_clear);
	}
	for (guint i = 0; i < open->identities->len; i++) {
		const struct dtc_identity *known = &g_array_index(open->identities, struct dtc_identity, i);
		if (strcmp(known->source, source) == 0 && strcmp(known->value, value) == 0)
			return;
	}
	if (open->identities->len >= MAX_IDENTITIES)
		return;
	struct dtc_identity identity = { g_strdup(source), g_strdup(id), g_strdup(value) };
	g_array_append_val(open->identities, identity);
}

void dtc_open_exchange_add_header(struct dtc_open_exchange *open, const DtcIdentityHeaders *headers, const char *name,
				  gsize name_bytes, const char *value, gsize value_bytes)
{
	const char *source;
	char id[DTC_REQUEST_TEXT_BYTES + 1], whole[DTC_REQUEST_TEXT_BYTES + 1];

	if (dtc_identity_headers_match(headers, name, name_bytes, value, value_bytes, &source, id, whole))
		add_identity(open, source, id, whole);
}

static void take_text(const char **text, const char **from)
{
	if (**text)
		return;
	const char *taken = *from;
	*from = *text;
	*text = taken;
}

void dtc_open_exchange_take_words(struct dtc_open_exchange *open, struct dtc_open_exchange *from)
{
	take_text(&open->exchange.method, &from->exchange.method);
	take_text(&open->exchange.target, &from->exchange.target);
	for (guint i = 0; from->identities && i < from->identities->len; i++) {
		const struct dtc_identity *identity = &g_array_index(from->identities, struct dtc_identity, i);
		add_identity(open, identity->source, identity->id, identity->value);
	}
}

void dtc_open_exchange_set_seen(int64_t *seen_ns, int64_t time_ns)
{
	if (time_ns != DTC_TIME_NONE && time_ns > *seen_ns)
		*seen_ns = time_ns;
}
