/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* For how long of a span it is not known who had that CPU, since a switch is missing. */
static int64_t get_missing_ns(const DtcHistory *h, guint cpu, int64_t begin_ns, int64_t end_ns)
{
	uint32_t count = dtc_history_get_run_count(h, cpu), after = dtc_history_find_run_after(h, cpu, begin_ns);
	int64_t missing_ns = 0;
	for (uint32_t i = after ? after - 1 : 0; i < count; i++) {
		const struct dtc_run run = dtc_history_get_run(h, cpu, i);
		if (run.begin_ns >= end_ns)
			break;
		int64_t run_end_ns =
			i + 1 < count ? dtc_history_get_run(h, cpu, i + 1).begin_ns : dtc_history_get_end_ns(h);
		if (run.is_missing)
			missing_ns += MAX(MIN(run_end_ns, end_ns) - MAX(run.begin_ns, begin_ns), 0);
	}
	return missing_ns;
}

static void add_of_node(const struct dtc_finding_input *input, guint node, DtcFindings *findings)
{
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);
	const DtcHistory *h = dtc_links_get_history(input->links, node);
	int64_t missing_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		for (guint cpu = 0; s->node == node && cpu < dtc_history_get_cpu_count(h); cpu++)
			missing_ns += get_missing_ns(h, cpu, dtc_clocks_to_node(clocks, node, s->begin).ns,
						     dtc_clocks_to_node(clocks, node, s->end).ns);
	}
	if (missing_ns)
		dtc_findings_add_coded(findings, DTC_FINDING_SWITCH_MISSING, DTC_SEVERITY_WARNING, true,
				       dtc_links_get_node_name(input->links, node),
				       "a switch is missing: for %.3f ms of this answer it is not known who had a CPU",
				       (double)missing_ns / 1e6);
}

/*
 * No threshold: whoever had that CPU, what they did then is missing wherever it is looked for, and the answer may be
 * about them.
 */
void dtc_finding_add_missing(const struct dtc_finding_input *input, DtcFindings *findings)
{
	bool has_any = false;
	for (guint i = 0; i < dtc_links_get_node_count(input->links) && !has_any; i++) {
		const DtcHistory *h = dtc_links_get_history(input->links, i);
		has_any = h && dtc_history_has_missing(h);
	}
	if (!has_any)
		return;
	g_autoptr(GHashTable) nodes = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		const DtcHistory *h = dtc_links_get_history(input->links, s->node);
		if (h && dtc_history_has_missing(h) && g_hash_table_add(nodes, GUINT_TO_POINTER(s->node)))
			add_of_node(input, s->node, findings);
	}
}
