/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/usual.h"

#include "analyze/exchange/url_pattern.h"

#include <dtrace-chain/sort.h>

#include <string.h>

/* The exchange that the user asked with: the first. Its URL names the request. */
static const struct dtc_exchange *get_outer(const DtcRequests *requests, guint request)
{
	const struct dtc_request *r = dtc_requests_get(requests, request);
	const DtcExchanges *exchanges = dtc_requests_get_exchanges(requests);
	const struct dtc_exchange *outer = dtc_exchanges_get(exchanges, r->exchanges[0]);
	for (guint i = 1; i < r->exchange_count; i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(exchanges, r->exchanges[i]);
		/* captures' clocks differ: who asks lasts longer than what is asked on */
		if (e->response_end_ns - e->request_ns > outer->response_end_ns - outer->request_ns)
			outer = e;
	}
	return outer;
}

static bool is_like(const struct dtc_usual *usual, const struct dtc_exchange *e)
{
	if (!usual->pattern || strcmp(usual->method, e->method) != 0)
		return false;
	g_autofree char *pattern = dtc_url_fold(e->target);
	return strcmp(pattern, usual->pattern) == 0;
}

void dtc_usual_find(struct dtc_usual *usual, const DtcRequests *requests, const DtcLocator *locator, guint request)
{
	g_autoptr(GArray) like = g_array_new(FALSE, FALSE, sizeof(int64_t));
	int64_t begin_ns, end_ns;

	*usual = (struct dtc_usual){ .rank = 1 };
	if (!dtc_locator_get_packet_span(locator, request, &begin_ns, &end_ns))
		return;
	int64_t own_ns = end_ns - begin_ns;
	const struct dtc_exchange *outer = get_outer(requests, request);
	usual->method = g_strdup(outer->method);
	usual->pattern = *outer->target ? dtc_url_fold(outer->target) : NULL;
	for (guint i = 0; i < dtc_requests_get_count(requests); i++) {
		if ((i != request && dtc_requests_get(requests, i)->is_inner) ||
		    !dtc_locator_get_packet_span(locator, i, &begin_ns, &end_ns))
			continue;
		int64_t ns = end_ns - begin_ns;
		usual->count++;
		usual->rank += ns > own_ns;
		if (is_like(usual, get_outer(requests, i)))
			g_array_append_val(like, ns);
	}
	usual->like_count = like->len;
	if (!like->len)
		return;
	g_array_sort(like, dtc_compare_int64);
	usual->like_p50_ns = g_array_index(like, int64_t, (like->len - 1) / 2);
}

void dtc_usual_clear(struct dtc_usual *usual)
{
	g_free(usual->method);
	g_free(usual->pattern);
}
