/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/exchanges.h"

#include "collect/packets/table.h"

#include <string.h>

#define DEFAULT_MAX_BYTES ((gsize)256 << 20)
/* A node has few; those of all nodes leave the heap. */
#define HEAP_BYTES ((gsize)1 << 20)
#define STRING_OVERHEAD_BYTES 32 /* of a string in the hash table of the chunk */

struct DtcExchanges {
	DtcTable *list;	   /* struct dtc_exchange; identities arrays owned */
	GPtrArray *pools;  /* GStringChunk *; the first is the one that is added to */
	GHashTable *known; /* strings of the first pool */
	gsize used_bytes;
	gsize max_bytes;
	guint64 dropped_count;
	guint capture_count;
};

static void pool_free(void *pool)
{
	g_string_chunk_free(pool);
}

DtcExchanges *dtc_exchanges_new(gsize max_bytes)
{
	DtcExchanges *exchanges = g_new0(DtcExchanges, 1);
	exchanges->list = dtc_table_new_on_heap(sizeof(struct dtc_exchange), HEAP_BYTES);
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
	for (guint i = 0; i < exchanges->list->len; i++)
		g_free((void *)dtc_exchanges_get(exchanges, i)->identities);
	dtc_table_free(exchanges->list);
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
	dtc_table_append(exchanges->list, &copy);
	exchanges->used_bytes += sizeof(copy) + exchange->identity_count * sizeof(*identities);
	return true;
}

void dtc_exchanges_move(DtcExchanges *to, DtcExchanges *from)
{
	for (guint i = 0; i < from->list->len; i++)
		dtc_table_append(to->list, dtc_exchanges_get(from, i));
	dtc_table_set_length(from->list, 0); /* the identities went along */
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
		qsort(exchanges->list->data, exchanges->list->len, sizeof(struct dtc_exchange), compare);
	dtc_table_settle(exchanges->list); /* all nodes' lists are there at once: no file of any stays open */
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
	return DTC_AT(exchanges->list, struct dtc_exchange, index);
}

void dtc_exchanges_add_capture(DtcExchanges *exchanges)
{
	exchanges->capture_count++;
}

guint dtc_exchanges_get_capture_count(const DtcExchanges *exchanges)
{
	return exchanges->capture_count;
}

/* ---- images ---- */

/* As in struct dtc_exchange; strings are numbers among the image's. */
struct saved_exchange {
	int64_t request_ns, request_end_ns, response_ns, response_end_ns;
	uint32_t flow;
	uint32_t request_seq, request_end_seq, response_seq, response_end_seq;
	int32_t status;
	uint32_t method, target;
	uint32_t identity_first, identity_count;
	uint32_t flags; /* the bools, the first in the lowest bit */
	uint32_t stream;
};
_Static_assert(sizeof(struct saved_exchange) == 80, "written to files as it is");

struct saved_identity {
	uint32_t source, id, value;
};

struct saved_head {
	uint64_t dropped_count;
	uint64_t capture_count;
};

/* What is put together while the records are made. */
struct saving {
	GHashTable *numbers; /* of strings, which are borrowed -> number + 1 */
	GPtrArray *strings;
	GArray *identities;
};

static uint32_t number_string(struct saving *saving, const char *string)
{
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(saving->numbers, string));

	if (number)
		return number - 1;
	g_ptr_array_add(saving->strings, (gpointer)string);
	g_hash_table_insert(saving->numbers, (gpointer)string, GUINT_TO_POINTER(saving->strings->len));
	return saving->strings->len - 1;
}

static struct saved_exchange save_exchange(struct saving *saving, const struct dtc_exchange *x)
{
	struct saved_exchange saved = {
		.request_ns = x->request_ns,
		.request_end_ns = x->request_end_ns,
		.response_ns = x->response_ns,
		.response_end_ns = x->response_end_ns,
		.flow = x->flow,
		.request_seq = x->request_seq,
		.request_end_seq = x->request_end_seq,
		.response_seq = x->response_seq,
		.response_end_seq = x->response_end_seq,
		.status = x->status,
		.method = number_string(saving, x->method),
		.target = number_string(saving, x->target),
		.identity_first = saving->identities->len,
		.identity_count = x->identity_count,
		.stream = x->stream,
		.flags = (uint32_t)(x->has_request | x->request_complete << 1 | x->has_response << 2 |
				    x->response_complete << 3 | x->is_first << 4),
	};
	for (guint i = 0; i < x->identity_count; i++) {
		const struct dtc_identity *identity = &x->identities[i];
		const struct saved_identity saved_identity = { number_string(saving, identity->source),
							       number_string(saving, identity->id),
							       number_string(saving, identity->value) };
		g_array_append_val(saving->identities, saved_identity);
	}
	return saved;
}

void dtc_exchanges_save(const DtcExchanges *exchanges, DtcImageWriter *writer)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) strings = g_ptr_array_new();
	g_autoptr(GArray) identities = g_array_new(FALSE, FALSE, sizeof(struct saved_identity));
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct saved_exchange));
	struct saving saving = { numbers, strings, identities };
	const struct saved_head head = { exchanges->dropped_count, exchanges->capture_count };

	for (guint i = 0; i < exchanges->list->len; i++) {
		struct saved_exchange saved = save_exchange(&saving, dtc_exchanges_get(exchanges, i));
		g_array_append_val(list, saved);
	}
	dtc_image_add_copy(writer, "exchanges.head", sizeof(head), &head, 1);
	dtc_image_add_copy(writer, "exchanges.records", sizeof(struct saved_exchange), list->data, list->len);
	dtc_image_add_copy(writer, "exchanges.identities", sizeof(struct saved_identity), identities->data,
			   identities->len);
	dtc_image_add_strings(writer, "exchanges.strings", (const char *const *)strings->pdata, strings->len);
}

/* What an image has; borrowed. */
struct loading {
	const struct saved_exchange *records;
	const struct saved_identity *identities;
	const char *const *strings;
	gsize count, identity_count, string_count;
	gsize identity_next; /* that no request before had */
};

static bool has_string(const struct loading *loading, uint32_t string)
{
	return string < loading->string_count && strlen(loading->strings[string]) <= DTC_REQUEST_TEXT_BYTES;
}

/* From begin to end, which are those of packets. */
static bool are_times(const DtcPackets *packets, bool has, int64_t begin_ns, int64_t end_ns)
{
	uint32_t count = dtc_packets_get_count(packets);

	if (begin_ns == DTC_TIME_NONE && end_ns == DTC_TIME_NONE)
		return !has;
	return count && begin_ns <= end_ns && dtc_packets_get_time_ns(packets, 0) <= begin_ns &&
	       end_ns <= dtc_packets_get_time_ns(packets, count - 1);
}

static bool is_whole(const struct loading *loading, const struct saved_exchange *saved, const DtcPackets *packets)
{
	if (saved->flow >= dtc_packets_get_flow_count(packets) || !has_string(loading, saved->method) ||
	    !has_string(loading, saved->target) || saved->identity_first != loading->identity_next ||
	    saved->identity_count > loading->identity_count - saved->identity_first ||
	    !are_times(packets, saved->flags & 1, saved->request_ns, saved->request_end_ns) ||
	    !are_times(packets, saved->flags >> 2 & 1, saved->response_ns, saved->response_end_ns))
		return false;
	for (guint i = 0; i < saved->identity_count; i++) {
		const struct saved_identity *identity = &loading->identities[saved->identity_first + i];
		if (!has_string(loading, identity->source) || !has_string(loading, identity->id) ||
		    !has_string(loading, identity->value))
			return false;
	}
	return true;
}

static void load_exchange(DtcExchanges *exchanges, const struct loading *loading, const struct saved_exchange *saved,
			  guint node)
{
	g_autofree struct dtc_identity *identities = g_new0(struct dtc_identity, saved->identity_count + 1);
	const struct dtc_exchange exchange = {
		.node = node,
		.flow = saved->flow,
		.request_seq = saved->request_seq,
		.request_end_seq = saved->request_end_seq,
		.response_seq = saved->response_seq,
		.response_end_seq = saved->response_end_seq,
		.stream = saved->stream,
		.has_request = saved->flags & 1,
		.request_complete = saved->flags >> 1 & 1,
		.has_response = saved->flags >> 2 & 1,
		.response_complete = saved->flags >> 3 & 1,
		.is_first = saved->flags >> 4 & 1,
		.request_ns = saved->request_ns,
		.request_end_ns = saved->request_end_ns,
		.response_ns = saved->response_ns,
		.response_end_ns = saved->response_end_ns,
		.status = saved->status,
		.method = loading->strings[saved->method],
		.target = loading->strings[saved->target],
		.identities = identities,
		.identity_count = saved->identity_count,
	};

	for (guint i = 0; i < saved->identity_count; i++) {
		const struct saved_identity *identity = &loading->identities[saved->identity_first + i];
		identities[i] =
			(struct dtc_identity){ loading->strings[identity->source], loading->strings[identity->id],
					       loading->strings[identity->value] };
	}
	dtc_exchanges_add(exchanges, &exchange);
}

DtcExchanges *dtc_exchanges_load(const DtcImage *image, guint node, const DtcPackets *packets, GError **error)
{
	struct loading loading = { 0 };
	const struct saved_head *head = dtc_image_get_one(image, "exchanges.head", sizeof(*head), error);
	g_autofree const char **strings =
		head ? dtc_image_get_strings(image, "exchanges.strings", &loading.string_count, error) : NULL;

	loading.strings = strings;
	loading.records = strings ? dtc_image_get(image, "exchanges.records", sizeof(struct saved_exchange),
						  &loading.count, error)
				  : NULL;
	loading.identities = loading.records
				     ? dtc_image_get(image, "exchanges.identities", sizeof(struct saved_identity),
						     &loading.identity_count, error)
				     : NULL;
	if (!loading.identities)
		return NULL;
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(G_MAXSIZE); /* what was too much is not in it */
	for (gsize i = 0; i < loading.count; i++) {
		if (!is_whole(&loading, &loading.records[i], packets)) {
			dtc_image_refuse(image, error, "a request in it is not whole");
			return NULL;
		}
		load_exchange(exchanges, &loading, &loading.records[i], node);
		loading.identity_next += loading.records[i].identity_count;
	}
	exchanges->dropped_count = head->dropped_count;
	exchanges->capture_count = (guint)head->capture_count;
	dtc_table_settle(exchanges->list);
	return g_steal_pointer(&exchanges);
}
