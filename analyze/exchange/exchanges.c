/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/exchanges.h"

#include <string.h>

#define DEFAULT_MAX_BYTES ((gsize)256 << 20)
#define STRING_OVERHEAD_BYTES 32 /* of a string in the hash table of the chunk */

struct DtcExchanges {
	GArray *list;	   /* struct dtc_exchange; identities arrays owned */
	GPtrArray *pools;  /* GStringChunk *; the first is the one that is added to */
	GHashTable *known; /* strings of the first pool */
	gsize used_bytes;
	gsize max_bytes;
	guint64 dropped_count;
	guint capture_count;
};

static void exchange_clear(void *data)
{
	struct dtc_exchange *exchange = data;
	g_free((void *)exchange->identities);
}

static void pool_free(void *pool)
{
	g_string_chunk_free(pool);
}

DtcExchanges *dtc_exchanges_new(gsize max_bytes)
{
	DtcExchanges *exchanges = g_new0(DtcExchanges, 1);
	exchanges->list = g_array_new(FALSE, FALSE, sizeof(struct dtc_exchange));
	g_array_set_clear_func(exchanges->list, exchange_clear);
	exchanges->pools = g_ptr_array_new_with_free_func(pool_free);
	g_ptr_array_add(exchanges->pools, g_string_chunk_new(4096));
	exchanges->known = g_hash_table_new(g_str_hash, g_str_equal);
	exchanges->max_bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
	return exchanges;
}

void dtc_exchanges_free(DtcExchanges *exchanges)
{
	if (!exchanges)
		return;
	g_array_unref(exchanges->list);
	g_hash_table_unref(exchanges->known);
	g_ptr_array_unref(exchanges->pools);
	g_free(exchanges);
}

static const char *intern(DtcExchanges *exchanges, const char *text)
{
	if (!text || !*text)
		return "";
	char *known = g_hash_table_lookup(exchanges->known, text);
	if (known)
		return known;
	known = g_string_chunk_insert(g_ptr_array_index(exchanges->pools, 0), text);
	g_hash_table_add(exchanges->known, known);
	exchanges->used_bytes += strlen(known) + 1 + STRING_OVERHEAD_BYTES;
	return known;
}

bool dtc_exchanges_add(DtcExchanges *exchanges, const struct dtc_exchange *exchange)
{
	if (exchanges->used_bytes >= exchanges->max_bytes) {
		exchanges->dropped_count++;
		return false;
	}
	struct dtc_exchange copy = *exchange;
	copy.method = intern(exchanges, exchange->method);
	copy.target = intern(exchanges, exchange->target);
	struct dtc_identity *identities = g_new(struct dtc_identity, exchange->identity_count);
	for (guint i = 0; i < exchange->identity_count; i++) {
		identities[i].source = intern(exchanges, exchange->identities[i].source);
		identities[i].id = intern(exchanges, exchange->identities[i].id);
		identities[i].value = intern(exchanges, exchange->identities[i].value);
	}
	copy.identities = identities;
	g_array_append_val(exchanges->list, copy);
	exchanges->used_bytes += sizeof(copy) + exchange->identity_count * sizeof(*identities);
	return true;
}

void dtc_exchanges_move(DtcExchanges *to, DtcExchanges *from)
{
	g_array_append_vals(to->list, from->list->data, from->list->len);
	g_array_set_clear_func(from->list, NULL); /* the identities went along */
	g_array_set_size(from->list, 0);
	g_array_set_clear_func(from->list, exchange_clear);
	while (from->pools->len > 0)
		g_ptr_array_add(to->pools, g_ptr_array_steal_index(from->pools, from->pools->len - 1));
	g_ptr_array_add(from->pools, g_string_chunk_new(4096));
	g_hash_table_remove_all(from->known);
	to->used_bytes += from->used_bytes;
	to->dropped_count += from->dropped_count;
	to->capture_count += from->capture_count;
	from->used_bytes = 0;
	from->dropped_count = 0;
	from->capture_count = 0;
}

static int compare(const void *a, const void *b)
{
	const struct dtc_exchange *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->request_ns != y->request_ns)
		return x->request_ns < y->request_ns ? -1 : 1;
	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	int32_t distance = dtc_seq_distance(y->request_seq, x->request_seq);
	return distance < 0 ? -1 : distance > 0;
}

void dtc_exchanges_sort(DtcExchanges *exchanges)
{
	if (exchanges->list->len > 1)
		g_array_sort(exchanges->list, compare);
}

guint dtc_exchanges_get_count(const DtcExchanges *exchanges)
{
	return exchanges->list->len;
}

guint64 dtc_exchanges_get_dropped_count(const DtcExchanges *exchanges)
{
	return exchanges->dropped_count;
}

const struct dtc_exchange *dtc_exchanges_get(const DtcExchanges *exchanges, guint index)
{
	return &g_array_index(exchanges->list, struct dtc_exchange, index);
}

void dtc_exchanges_add_capture(DtcExchanges *exchanges)
{
	exchanges->capture_count++;
}

guint dtc_exchanges_get_capture_count(const DtcExchanges *exchanges)
{
	return exchanges->capture_count;
}
