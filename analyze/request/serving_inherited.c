/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads were given to do, besides what their own calls tell. */
#include "analyze/request/inherit.h"
#include "analyze/request/serving_build.h"

#include <dtrace-chain/bisect.h>

bool dtc_serving_add_inherited(DtcServing *serving, guint node, const struct dtc_handed *handed, guint request)
{
	struct worker *worker = dtc_serving_find_worker(serving, node, handed->thread);
	struct dtc_served span = { handed->begin_ns, handed->end_ns, request, false, DTC_NO_REQUEST };

	if (worker && worker->is_scanned && !handed->is_told) /* its own calls tell */
		return false;
	if (!worker)
		worker = dtc_serving_add_worker(serving, node, handed->thread);
	GArray *spans = worker->is_scanned ? worker->told : worker->spans;
	guint count = spans->len;
	/* who is at work is given a mutex, and not another piece */
	if (count && handed->begin_ns < g_array_index(spans, struct dtc_served, count - 1).end_ns)
		return false;
	dtc_serving_cut(serving, request, node, handed->thread, &span.begin_ns, &span.end_ns);
	if (span.end_ns > span.begin_ns)
		g_array_append_val(spans, span);
	return span.end_ns > span.begin_ns;
}

static void append_span(GArray *spans, struct dtc_served span, int64_t begin_ns, int64_t end_ns)
{
	span.begin_ns = begin_ns;
	span.end_ns = end_ns;
	if (end_ns > begin_ns)
		g_array_append_val(spans, span);
}

/* A thread whose own calls tell works for whom it was told to work for where they do not. */
void dtc_serving_merge_told(struct worker *worker)
{
	GArray *own = worker->spans, *told = worker->told;
	GArray *both = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_served), own->len + told->len);
	guint at = 0;

	for (guint i = 0; i < told->len; i++) {
		const struct dtc_served piece = g_array_index(told, struct dtc_served, i);
		int64_t from_ns = piece.begin_ns;
		if (both->len) /* one of its own may reach over several pieces */
			from_ns = MAX(from_ns, g_array_index(both, struct dtc_served, both->len - 1).end_ns);
		for (; at < own->len && g_array_index(own, struct dtc_served, at).begin_ns < piece.end_ns; at++) {
			struct dtc_served *span = &g_array_index(own, struct dtc_served, at);
			if (!span->leads) {
				append_span(both, piece, from_ns, MIN(span->begin_ns, piece.end_ns));
				g_array_append_val(both, *span);
				from_ns = MAX(from_ns, span->end_ns);
				continue;
			}
			append_span(both, *span, span->begin_ns, MIN(span->end_ns, piece.begin_ns));
			span->begin_ns = MAX(span->begin_ns, piece.end_ns);
			if (span->end_ns > span->begin_ns) /* what of it comes behind the piece */
				break;
		}
		append_span(both, piece, from_ns, piece.end_ns);
	}
	g_array_append_vals(both, &g_array_index(own, struct dtc_served, at), own->len - at);
	g_array_unref(own);
	worker->spans = both;
}

void dtc_serving_add_done(DtcServing *serving, guint node, const struct dtc_handed *handed, guint request,
			  int64_t told_ns)
{
	const struct taking taking = { request, node, { handed->thread, DTC_NONE, told_ns }, handed->begin_ns };

	g_array_append_val(serving->takings, taking);
}

void dtc_serving_end_inherited(DtcServing *serving, guint node, const struct dtc_handed *handed, int64_t at_ns)
{
	struct worker *worker = dtc_serving_find_worker(serving, node, handed->thread);
	GArray *spans = worker->is_scanned ? worker->told : worker->spans;
	struct dtc_served *last = spans->len ? &g_array_index(spans, struct dtc_served, spans->len - 1) : NULL;

	if (last && last->begin_ns < at_ns && last->end_ns > at_ns)
		last->end_ns = at_ns;
}

const struct dtc_owned *dtc_serving_get_owned(const DtcServing *serving, guint node, uint32_t thread, guint *ret_count)
{
	const struct worker *worker = dtc_serving_find_worker(serving, node, thread);

	*ret_count = worker ? worker->owned->len : 0;
	return *ret_count ? &g_array_index(worker->owned, struct dtc_owned, 0) : NULL;
}

bool dtc_serving_goes_on(const DtcServing *serving, guint node, uint32_t thread, guint request, int64_t at_ns)
{
	const DtcHistory *h = dtc_links_get_history(serving->links, node);
	guint count;
	const struct dtc_owned *owned = dtc_serving_get_owned(serving, node, thread, &count);
	guint i = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, owned[k].call) < at_ns);

	return i < count && owned[i].request == request;
}
