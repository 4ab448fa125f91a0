/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/occupants.h"
#include "analyze/finding/findings.h"

#include <string.h>

/* As other requests: less than a hundredth of the whole is not felt; of a tenth the answer without it is another one.
 */
#define SHARE 100
#define LARGE_SHARE 10
#define SHOWN 3

/* What somebody who waited for a CPU lost to one process of those that record. */
struct cost {
	guint node;
	const char *process;
	int64_t ns;
};

/*
 * Processes that record: LTTng's daemons and command, those of captures, perf, trace-cmd, and our own. A name of a
 * process has 15 characters.
 */
static bool is_tracer(const char *process)
{
	static const char *const names[] = { "lttng",	 "lttng-consumerd", "lttng-sessiond", "lttng-relayd",
					     "tcpdump",	 "dumpcap",	    "tshark",	      "perf",
					     "bpftrace", "trace-cmd",	    "dtrace-collect" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(process, names[i]) == 0)
			return true;
	return false;
}

static void add_cost(GArray *costs, guint node, const char *process, int64_t ns)
{
	for (guint i = 0; i < costs->len; i++) {
		struct cost *cost = &g_array_index(costs, struct cost, i);
		if (cost->node == node && strcmp(cost->process, process) == 0) {
			cost->ns += ns;
			return;
		}
	}
	const struct cost cost = { node, process, ns };
	g_array_append_val(costs, cost);
}

GArray *dtc_finding_list_occupants(const struct dtc_finding_input *input, const struct dtc_segment *s)
{
	const DtcHistory *h = dtc_links_get_history(input->links, s->node);
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);

	if (!h || !s->evidence.has_interval || s->evidence.node != s->node)
		return NULL;
	struct dtc_interval part = s->evidence.interval;
	if (part.cpu != 0xffff) { /* else it is told by where the thread ran at the end */
		part.begin_ns = MAX(part.begin_ns, dtc_clocks_to_node(clocks, s->node, s->begin).ns);
		part.end_ns = MIN(part.end_ns, dtc_clocks_to_node(clocks, s->node, s->end).ns);
	}
	return dtc_occupants_find(h, &part);
}

static void add_of_segment(GArray *costs, const struct dtc_finding_input *input, const struct dtc_segment *s)
{
	const DtcHistory *h = dtc_links_get_history(input->links, s->node);
	int64_t end_ns = dtc_clocks_to_node(dtc_links_get_clocks(input->links), s->node, s->end).ns;
	g_autoptr(GArray) occupants = dtc_finding_list_occupants(input, s);

	for (guint i = 0; occupants && i < occupants->len; i++) {
		const struct dtc_occupant *occupant = &g_array_index(occupants, struct dtc_occupant, i);
		if (occupant->thread == DTC_NONE)
			continue;
		const char *process = dtc_history_get_process(h, occupant->thread, end_ns);
		if (is_tracer(process))
			add_cost(costs, s->node, process, MIN(occupant->ns, s->end.ns - s->begin.ns));
	}
}

static int compare_costs(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return strcmp(x->process, y->process);
}

/* What the recording itself cost: waits for a CPU that its own processes had. What they cost otherwise is not seen. */
void dtc_finding_add_tracer(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns, sum_ns = 0;
	g_autoptr(GArray) costs = g_array_new(FALSE, FALSE, sizeof(struct cost));
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->cause == DTC_CAUSE_RUNQUEUE || s->cause == DTC_CAUSE_PREEMPTED)
			add_of_segment(costs, input, s);
	}
	g_array_sort(costs, compare_costs);
	for (guint i = 0; i < costs->len; i++) {
		const struct cost *cost = &g_array_index(costs, struct cost, i);
		sum_ns += cost->ns;
		if (i < SHOWN)
			g_string_append_printf(text, "%s%s on %s %.3f ms", i ? ", " : "", cost->process,
					       dtc_links_get_node_name(input->links, cost->node),
					       (double)cost->ns / 1e6);
	}
	if (sum_ns == 0 || sum_ns < whole_ns / SHARE)
		return;
	dtc_findings_add_coded(findings, DTC_FINDING_TRACER,
			       sum_ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false, NULL,
			       "the recording itself had a CPU that this waited for, for %.3f ms (%.0f %%): %s%s",
			       (double)sum_ns / 1e6, (double)sum_ns * 100 / (double)whole_ns, text->str,
			       costs->len > SHOWN ? ", and others" : "");
}
