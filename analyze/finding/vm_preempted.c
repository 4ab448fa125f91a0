/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* As other requests: less than a hundredth of the whole is not felt. A tenth is: the host is too small for its guests.
 */
#define SHARE 100
#define LARGE_SHARE 10

static void add_of_node(const struct dtc_finding_input *input, guint node, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	int64_t sum_ns = 0, run_ns = 0, longest_ns = 0, most_ns = 0;
	DtcClusterTime at = { INT64_MIN };
	const char *most = NULL;
	g_autoptr(GHashTable) by = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->node != node || s->cause != DTC_CAUSE_VM_PREEMPTED)
			continue;
		int64_t ns = s->end.ns - s->begin.ns;
		sum_ns += ns;
		run_ns = s->begin.ns == at.ns ? run_ns + ns : ns;
		longest_ns = MAX(longest_ns, run_ns);
		at = s->end;
		int64_t *sum = g_hash_table_lookup(by, s->detail);
		if (!sum) {
			sum = g_new0(int64_t, 1);
			g_hash_table_insert(by, s->detail, sum);
		}
		*sum += ns;
		if (*sum > most_ns) {
			most_ns = *sum;
			most = s->detail;
		}
	}
	if (sum_ns >= whole_ns / SHARE && sum_ns > 0)
		dtc_findings_add_coded(
			findings, DTC_FINDING_VM_PREEMPTED,
			sum_ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false,
			dtc_links_get_node_name(input->links, node),
			"its virtual CPU was ready and did not run for %.3f ms of this (at most %.3f ms at "
			"once), most of it %s",
			(double)sum_ns / 1e6, (double)longest_ns / 1e6, most);
}

void dtc_finding_add_vm_preempted(const struct dtc_finding_input *input, DtcFindings *findings)
{
	for (guint node = 0; node < dtc_links_get_node_count(input->links); node++)
		add_of_node(input, node, findings);
}
