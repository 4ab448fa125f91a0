/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/requests.h"

#include "analyze/exchange/identity.h"
#include "analyze/request/anonymous.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define NO_ROW DTC_NO_ROW
#define SHARED_ROW (UINT32_MAX - 1)

struct DtcRequests {
	const DtcExchanges *exchanges; /* borrowed */
	GArray *rows;		       /* struct dtc_request */
	GArray *order;		       /* uint32_t: exchanges by row */
	GArray *identities;	       /* struct dtc_identity by row */
	GStringChunk *names;	       /* of those without an id */
	guint anonymous_count;
};

/* --- which row an exchange belongs to --- */

struct grouping {
	const DtcExchanges *exchanges;
	guint count;	  /* of the exchanges */
	uint32_t *row_of; /* by exchange */
	guint row_count;
	GHashTable *first_of; /* X-Request-Id that is not the first of its exchange -> the first, or "" if several */
	GHashTable *holder;   /* id -> row (as pointer + 1) that has it, or SHARED_ROW */
	GHashTable *leftover; /* shared id -> row of the exchanges that have nothing better */
};

static bool is_narrow(const struct dtc_identity *identity)
{
	return dtc_identity_get_width(identity->source) == 0;
}

static const struct dtc_identity *find_narrow(const struct dtc_exchange *e)
{
	for (guint i = 0; i < e->identity_count; i++)
		if (is_narrow(&e->identities[i]))
			return &e->identities[i];
	return NULL;
}

static uint32_t lookup_row(GHashTable *table, const char *id)
{
	gpointer value;
	return g_hash_table_lookup_extended(table, id, NULL, &value) ? GPOINTER_TO_UINT(value) : NO_ROW;
}

static void set_holder(struct grouping *g, const char *id, uint32_t row)
{
	uint32_t known = lookup_row(g->holder, id);
	if (known == NO_ROW)
		g_hash_table_insert(g->holder, (void *)id, GUINT_TO_POINTER(row));
	else if (known != row)
		g_hash_table_insert(g->holder, (void *)id, GUINT_TO_POINTER(SHARED_ROW));
}

static void note_second_ids(struct grouping *g)
{
	for (guint n = 0; n < g->count; n++) {
		const struct dtc_exchange *e = dtc_exchanges_get(g->exchanges, n);
		const struct dtc_identity *first = find_narrow(e);
		for (guint i = 0; i < e->identity_count; i++) {
			const struct dtc_identity *second = &e->identities[i];
			if (!is_narrow(second) || strcmp(second->id, first->id) == 0)
				continue;
			const char *known = g_hash_table_lookup(g->first_of, second->id);
			if (!known)
				g_hash_table_insert(g->first_of, (void *)second->id, (void *)first->id);
			else if (strcmp(known, first->id) != 0)
				g_hash_table_insert(g->first_of, (void *)second->id, (void *)"");
		}
	}
}

/* The id that stands for all X-Request-Ids that came together with it. Bounded: two proxies might swap ids. */
static const char *get_root_id(const struct grouping *g, const char *id)
{
	for (guint steps = 0; steps < 16; steps++) {
		const char *first = g_hash_table_lookup(g->first_of, id);
		if (!first || !*first || strcmp(first, id) == 0)
			break;
		id = first;
	}
	return id;
}

static void assign_narrow(struct grouping *g)
{
	g_autoptr(GHashTable) rows = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint n = 0; n < g->count; n++) {
		const struct dtc_identity *narrow = find_narrow(dtc_exchanges_get(g->exchanges, n));
		if (!narrow)
			continue;
		const char *id = get_root_id(g, narrow->id);
		uint32_t row = lookup_row(rows, id);
		if (row == NO_ROW) {
			row = g->row_count++;
			g_hash_table_insert(rows, (void *)id, GUINT_TO_POINTER(row));
		}
		g->row_of[n] = row;
	}
	for (guint n = 0; n < g->count; n++) {
		const struct dtc_exchange *e = dtc_exchanges_get(g->exchanges, n);
		for (guint i = 0; g->row_of[n] != NO_ROW && i < e->identity_count; i++)
			set_holder(g, e->identities[i].id, g->row_of[n]);
	}
}

static void assign_wide(struct grouping *g, guint n, const struct dtc_identity *best)
{
	const struct dtc_exchange *e = dtc_exchanges_get(g->exchanges, n);
	uint32_t row = lookup_row(g->holder, best->id);
	/* What the best id does not tell, another may. */
	for (guint i = 0; row >= SHARED_ROW && i < e->identity_count; i++) {
		uint32_t other = lookup_row(g->holder, e->identities[i].id);
		if (other < SHARED_ROW)
			row = other;
	}
	if (row == SHARED_ROW) {
		row = lookup_row(g->leftover, best->id);
		if (row == NO_ROW) {
			row = g->row_count++;
			g_hash_table_insert(g->leftover, (void *)best->id, GUINT_TO_POINTER(row));
		}
	} else if (row == NO_ROW) {
		row = g->row_count++;
	}
	g->row_of[n] = row;
	for (guint i = 0; i < e->identity_count; i++)
		set_holder(g, e->identities[i].id, row);
}

static const struct dtc_identity *find_best(const struct dtc_exchange *e)
{
	const struct dtc_identity *best = NULL;
	for (guint i = 0; i < e->identity_count; i++)
		if (!best || dtc_identity_get_width(e->identities[i].source) < dtc_identity_get_width(best->source))
			best = &e->identities[i];
	return best;
}

static void group(struct grouping *g)
{
	enum { WIDTHS = 8 };
	note_second_ids(g);
	assign_narrow(g);
	for (guint width = 1; width < WIDTHS; width++) {
		for (guint n = 0; n < g->count; n++) {
			if (g->row_of[n] != NO_ROW)
				continue;
			const struct dtc_identity *best = find_best(dtc_exchanges_get(g->exchanges, n));
			if (best && dtc_identity_get_width(best->source) == width)
				assign_wide(g, n, best);
		}
	}
}

/* --- rows --- */

static void add_row(DtcRequests *requests, uint32_t order_first, uint32_t order_count)
{
	guint identity_first = requests->identities->len;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal); /* values */
	guint best = 0;
	for (uint32_t k = 0; k < order_count; k++) {
		uint32_t n = g_array_index(requests->order, uint32_t, order_first + k);
		const struct dtc_exchange *e = dtc_exchanges_get(requests->exchanges, n);
		for (guint i = 0; i < e->identity_count; i++) {
			if (!g_hash_table_add(seen, (void *)e->identities[i].value))
				continue;
			g_array_append_val(requests->identities, e->identities[i]);
			guint last = requests->identities->len - 1 - identity_first;
			const struct dtc_identity *of =
				&g_array_index(requests->identities, struct dtc_identity, identity_first);
			if (dtc_identity_get_width(of[last].source) < dtc_identity_get_width(of[best].source))
				best = last;
		}
	}
	struct dtc_identity chosen = { 0 };
	if (requests->identities->len > identity_first) {
		struct dtc_identity *of = &g_array_index(requests->identities, struct dtc_identity, identity_first);
		chosen = of[best];
		memmove(of + 1, of, best * sizeof(*of));
		of[0] = chosen;
	}
	struct dtc_request row = {
		.id = chosen.id,
		.source = chosen.source,
		.exchanges = GUINT_TO_POINTER(order_first), /* addresses once the arrays have stopped growing */
		.exchange_count = order_count,
		.identities = GUINT_TO_POINTER(identity_first),
		.identity_count = requests->identities->len - identity_first,
	};
	g_array_append_val(requests->rows, row);
}

static void set_begins(DtcRequests *requests, const struct dtc_anonymous_input *anonymous)
{
	for (guint i = 0; i < requests->rows->len; i++) {
		struct dtc_request *row = &g_array_index(requests->rows, struct dtc_request, i);
		row->begin_ns = INT64_MAX;
		for (guint k = 0; k < row->exchange_count; k++) {
			const struct dtc_exchange *e = dtc_exchanges_get(requests->exchanges, row->exchanges[k]);
			int64_t at_ns = anonymous && anonymous->to_cluster
						? anonymous->to_cluster(anonymous->data, e->node, e->request_ns)
						: e->request_ns;
			row->begin_ns = MIN(row->begin_ns, at_ns);
		}
	}
}

static int compare_rows(gconstpointer a, gconstpointer b)
{
	const struct dtc_request *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* They were found one by one: each has a row of its own. */
static void name_anonymous(DtcRequests *requests, const struct dtc_anonymous_input *anonymous)
{
	g_autofree bool *inner = dtc_anonymous_find_inner(requests->exchanges, anonymous);
	for (guint i = 0; i < requests->rows->len; i++) {
		struct dtc_request *row = &g_array_index(requests->rows, struct dtc_request, i);
		if (row->id)
			continue;
		g_autofree char *name =
			dtc_anonymous_name(dtc_exchanges_get(requests->exchanges, row->exchanges[0]), anonymous);
		row->id = g_string_chunk_insert(requests->names, name);
		for (guint k = 0; k < row->exchange_count; k++)
			row->is_inner |= inner[row->exchanges[k]];
		requests->anonymous_count++;
	}
}

DtcRequests *dtc_requests_new(const DtcExchanges *exchanges, const struct dtc_anonymous_input *anonymous)
{
	DtcRequests *requests = g_new0(DtcRequests, 1);
	guint count = dtc_exchanges_get_count(exchanges);
	requests->exchanges = exchanges;
	requests->rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_request));
	requests->order = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), count);
	requests->identities = g_array_new(FALSE, FALSE, sizeof(struct dtc_identity));
	requests->names = g_string_chunk_new(1024);

	struct grouping g = {
		.exchanges = exchanges,
		.count = count,
		.row_of = g_new0(uint32_t, count),
		.first_of = g_hash_table_new(g_str_hash, g_str_equal),
		.holder = g_hash_table_new(g_str_hash, g_str_equal),
		.leftover = g_hash_table_new(g_str_hash, g_str_equal),
	};
	for (guint n = 0; n < count; n++)
		g.row_of[n] = NO_ROW;
	group(&g);
	if (anonymous)
		dtc_anonymous_assign(exchanges, anonymous, g.row_of, &g.row_count);

	/* Counting sort of the exchanges by row. */
	g_autofree uint32_t *first = g_new0(uint32_t, g.row_count + 1);
	for (guint n = 0; n < count; n++)
		if (g.row_of[n] != NO_ROW)
			first[g.row_of[n] + 1]++;
	for (guint row = 0; row < g.row_count; row++)
		first[row + 1] += first[row];
	g_array_set_size(requests->order, first[g.row_count]);
	g_autofree uint32_t *next = g_memdup2(first, (g.row_count + 1) * sizeof(uint32_t));
	for (guint n = 0; n < count; n++)
		if (g.row_of[n] != NO_ROW)
			g_array_index(requests->order, uint32_t, next[g.row_of[n]]++) = n;
	for (guint row = 0; row < g.row_count; row++)
		add_row(requests, first[row], first[row + 1] - first[row]);
	g_free(g.row_of);
	g_hash_table_unref(g.first_of);
	g_hash_table_unref(g.holder);
	g_hash_table_unref(g.leftover);

	for (guint row = 0; row < requests->rows->len; row++) {
		struct dtc_request *r = &g_array_index(requests->rows, struct dtc_request, row);
		r->exchanges = &g_array_index(requests->order, uint32_t, GPOINTER_TO_UINT(r->exchanges));
		r->identities =
			&g_array_index(requests->identities, struct dtc_identity, GPOINTER_TO_UINT(r->identities));
	}
	if (anonymous)
		name_anonymous(requests, anonymous);
	set_begins(requests, anonymous);
	g_array_sort(requests->rows, compare_rows);
	return requests;
}

void dtc_requests_free(DtcRequests *requests)
{
	if (!requests)
		return;
	g_array_unref(requests->rows);
	g_array_unref(requests->order);
	g_array_unref(requests->identities);
	g_string_chunk_free(requests->names);
	g_free(requests);
}

guint dtc_requests_get_count(const DtcRequests *requests)
{
	return requests->rows->len;
}

const struct dtc_request *dtc_requests_get(const DtcRequests *requests, guint index)
{
	return &g_array_index(requests->rows, struct dtc_request, index);
}

guint dtc_requests_get_anonymous_count(const DtcRequests *requests)
{
	return requests->anonymous_count;
}

const DtcExchanges *dtc_requests_get_exchanges(const DtcRequests *requests)
{
	return requests->exchanges;
}
