/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

#define BUSIEST 3
#define UNKNOWN_SHARE 0.9 /* of the span: what is left is no answer to it */

/* A thread and how long it ran. */
struct runner {
	uint32_t thread;
	int64_t ns;
};

static int compare_runners(gconstpointer a, gconstpointer b)
{
	const struct runner *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* All threads but one that ran in the span, the busiest first; not the idle ones. Caller unrefs. */
static GArray *list_runners(const DtcHistory *h, uint32_t but, int64_t begin_ns, int64_t end_ns)
{
	GArray *runners = g_array_new(FALSE, FALSE, sizeof(struct runner));

	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(h, i);
		struct runner runner = { .thread = i };
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_get_interval_after(h, i, begin_ns, &place);
		for (; v && v->begin_ns < end_ns; v = dtc_history_get_next_interval(h, &place))
			if (dtc_state_is_running(v->state))
				runner.ns += MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
		if (runner.ns > 0 && thread->idle_cpu < 0 && i != but)
			g_array_append_val(runners, runner);
	}
	g_array_sort(runners, compare_runners);
	return runners;
}

/* The last segment of a path, in whose thread it ends, and how much of that thread is unknown; NULL: in none. */
static const struct dtc_segment *find_asked(const DtcPath *path, int64_t *ret_unknown_ns)
{
	guint count = dtc_path_get_segment_count(path);
	const struct dtc_segment *last = count ? dtc_path_get_segment(path, count - 1) : NULL;

	*ret_unknown_ns = 0;
	for (guint i = 0; i < count; i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		if (s->node == last->node && s->thread == last->thread && s->cause == DTC_CAUSE_UNKNOWN)
			*ret_unknown_ns += s->end.ns - s->begin.ns;
	}
	return last && last->thread != DTC_NONE ? last : NULL;
}

/*
 * Threads that slept from before the trace to its end are in it by name only, and they come first in a list of tids
 * (init of the demo); a process's first thread may do nothing but accept (bulk on B). Who asks for one most likely
 * wants another.
 */
void dtc_finding_add_not_seen(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t span_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns, unknown_ns;
	const struct dtc_segment *s = find_asked(input->path, &unknown_ns);
	if (!s || span_ns <= 0 || (double)unknown_ns < UNKNOWN_SHARE * (double)span_ns)
		return;
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);
	const DtcHistory *h = dtc_links_get_history(input->links, s->node);
	int64_t begin_ns = dtc_clocks_to_node(clocks, s->node, dtc_path_get_begin(input->path)).ns;
	int64_t end_ns = dtc_clocks_to_node(clocks, s->node, dtc_path_get_end(input->path)).ns;
	g_autoptr(GArray) runners = list_runners(h, s->thread, begin_ns, end_ns);
	GString *names = g_string_new(NULL);
	for (guint i = 0; i < MIN(runners->len, BUSIEST); i++) {
		const struct runner *runner = &g_array_index(runners, struct runner, i);
		g_string_append_printf(names, "%s%s (tid %d) %.3f ms", i ? ", " : "; the busiest there were ",
				       dtc_history_get_comm(h, runner->thread, end_ns),
				       dtc_history_get_thread(h, runner->thread)->tid, (double)runner->ns / 1e6);
	}
	dtc_findings_add_coded(findings, DTC_FINDING_NOT_SEEN, DTC_SEVERITY_INFO, false,
			       dtc_links_get_node_name(input->links, s->node),
			       "what %s (tid %d) did or waited for in %.0f %% of this span is not known%s", s->comm,
			       s->tid, 100.0 * (double)unknown_ns / (double)span_ns, names->str);
	g_string_free(names, TRUE);
}
