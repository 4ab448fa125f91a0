/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/made_for.h"

#include "analyze/request/inherit.h"
#include "analyze/request/serving_build.h"

/* For which request a thread was made; DTC_NO_REQUEST: for none that is known. */
struct pass {
	DtcServing *serving;
	guint node;
	const DtcHistory *history;
	guint *requests;
};

static bool is_all_for(const GArray *spans, guint request)
{
	for (guint i = 0; i < spans->len; i++)
		if (g_array_index(spans, struct dtc_served, i).request != request)
			return false;
	return true;
}

static struct worker *find_worker(const struct pass *pass, uint32_t thread)
{
	guint64 key = (guint64)pass->node << 32 | thread;
	return g_hash_table_lookup(pass->serving->workers, &key);
}

/* When a thread was gone for good, but for what its parent takes of it. */
static int64_t find_exit_ns(const DtcHistory *h, uint32_t thread)
{
	const struct dtc_thread *of = dtc_history_get_thread(h, thread);
	struct dtc_interval last;
	if (of->interval_count == 0)
		return of->end_ns;
	dtc_history_get_interval(h, thread, of->interval_first + of->interval_count - 1, &last);
	return last.state == DTC_STATE_EXITED ? last.begin_ns : of->end_ns;
}

/*
 * When a thread was done; false: it did not exit in the trace. With its exit others go on, whose end of file that is,
 * and may take its CPU before it is gone: so it is done when it calls for that.
 */
static bool find_done_ns(const DtcHistory *h, uint32_t thread, int64_t *ret_done_ns)
{
	const struct dtc_thread *of = dtc_history_get_thread(h, thread);
	if (of->interval_count == 0)
		return false;
	*ret_done_ns = find_exit_ns(h, thread);
	if (*ret_done_ns >= dtc_history_get_end_ns(h))
		return false;
	if (!of->call_count)
		return true;
	const struct dtc_call call = dtc_history_copy_call(h, of->call_first + of->call_count - 1);
	if (call.end_ns == DTC_TIME_NONE && g_str_has_prefix(dtc_history_get_string(h, call.name), "exit"))
		*ret_done_ns = call.begin_ns;
	return true;
}

/* For whom the maker of a thread worked then. For whom one of the same process is made is told by who wakes it. */
static guint find_request(const struct pass *pass, uint32_t thread)
{
	const DtcHistory *h = pass->history;
	const struct dtc_thread *born = dtc_history_get_thread(h, thread);
	if (born->is_kernel || born->parent == DTC_NONE || born->parent >= thread ||
	    born->begin_ns <= dtc_history_get_begin_ns(h))
		return DTC_NO_REQUEST;
	if (pass->requests[born->parent] != DTC_NO_REQUEST)
		return pass->requests[born->parent];
	if (dtc_history_get_thread(h, born->parent)->pid == born->pid)
		return DTC_NO_REQUEST;
	const struct dtc_served *span = dtc_serving_find_span(pass->serving, pass->node, born->parent, born->begin_ns);
	return span && !span->leads && span->other == DTC_NO_REQUEST ? span->request : DTC_NO_REQUEST;
}

/* Whether all of a thread's life lies in the request's, as far as that is known. */
static bool is_within(const struct pass *pass, uint32_t thread, guint request)
{
	int64_t begin_ns = dtc_history_get_thread(pass->history, thread)->begin_ns, done_ns;
	if (!find_done_ns(pass->history, thread, &done_ns))
		return false;
	int64_t from_ns = begin_ns, to_ns = done_ns;
	dtc_serving_cut(pass->serving, request, pass->node, thread, &from_ns, &to_ns);
	return from_ns == begin_ns && to_ns == done_ns;
}

static void look_at(struct pass *pass, uint32_t thread)
{
	struct worker *worker = find_worker(pass, thread);
	guint request = find_request(pass, thread);
	if (request == DTC_NO_REQUEST || !is_within(pass, thread, request) ||
	    (worker && !is_all_for(worker->spans, request)))
		return;
	const struct dtc_thread *born = dtc_history_get_thread(pass->history, thread);
	const struct dtc_handed handed = { born->parent, thread, born->begin_ns, find_exit_ns(pass->history, thread),
					   true };
	if (worker) { /* a piece of that: its input was written to it */
		g_array_set_size(worker->told, 0);
		g_array_set_size(worker->spans, 0);
	}
	if (!dtc_serving_add_inherited(pass->serving, pass->node, &handed, request))
		return;
	pass->requests[thread] = request;
	if (worker && worker->is_scanned)
		dtc_serving_merge_told(worker);
}

void dtc_made_for(DtcServing *serving, const DtcLinks *links)
{
	for (guint node = 0; node < dtc_links_get_node_count(links); node++) {
		const DtcHistory *h = dtc_links_get_history(links, node);
		uint32_t count = h ? dtc_history_get_thread_count(h) : 0;
		g_autofree guint *requests = g_new(guint, count + 1);
		struct pass pass = { serving, node, h, requests };
		for (uint32_t i = 0; i < count; i++) {
			requests[i] = DTC_NO_REQUEST;
			look_at(&pass, i);
		}
	}
}
