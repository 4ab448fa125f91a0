/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/occupants.h"
#include "analyze/finding/findings.h"

/* As other requests: less than a hundredth of the whole is not felt. A tenth is: the host is too small for its guests.
 */
#define SHARE 100
#define LARGE_SHARE 10

/* Who had the vCPU's CPU for longest in a segment, as a thread of its host; DTC_NONE if that is not known. */
static uint32_t find_occupant(const struct dtc_finding_input *input, const struct dtc_segment *s)
{
	const DtcHistory *h = dtc_links_get_history(input->links, s->evidence.node);
	if (!h || !s->evidence.has_interval)
		return DTC_NONE;
	g_autoptr(GArray) occupants = dtc_occupants_find(h, &s->evidence.interval);
	/* an interrupt's is no thread */
	return occupants->len ? g_array_index(occupants, struct dtc_occupant, 0).thread : DTC_NONE;
}

/* ", most of it for qemu (tid 12) of host"; empty if that is not known. */
static char *name_occupant(const struct dtc_finding_input *input, guint host, uint32_t thread)
{
	const DtcHistory *h = dtc_links_get_history(input->links, host);
	if (thread == DTC_NONE)
		return g_strdup("");
	return g_strdup_printf(", most of it by %s (tid %d) on %s", dtc_history_get_comm(h, thread, INT64_MAX),
			       dtc_history_get_thread(h, thread)->tid, dtc_links_get_node_name(input->links, host));
}

static void add_of_node(const struct dtc_finding_input *input, guint node, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	int64_t sum_ns = 0, run_ns = 0, longest_ns = 0, most_ns = 0;
	DtcClusterTime at = { INT64_MIN };
	guint host = 0;
	uint32_t most = DTC_NONE;
	g_autoptr(GHashTable) by = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->node != node || s->cause != DTC_CAUSE_VM_PREEMPTED)
			continue;
		int64_t ns = s->end.ns - s->begin.ns;
		sum_ns += ns;
		run_ns = s->begin.ns == at.ns ? run_ns + ns : ns;
		longest_ns = MAX(longest_ns, run_ns);
		at = s->end;
		uint32_t occupant = find_occupant(input, s);
		int64_t *sum = g_hash_table_lookup(by, GUINT_TO_POINTER(occupant));
		if (!sum) {
			sum = g_new0(int64_t, 1);
			g_hash_table_insert(by, GUINT_TO_POINTER(occupant), sum);
		}
		*sum += ns;
		if (*sum > most_ns) {
			most_ns = *sum;
			most = occupant;
			host = s->evidence.node;
		}
	}
	if (sum_ns < whole_ns / SHARE || sum_ns == 0)
		return;
	g_autofree char *who = name_occupant(input, host, most);
	dtc_findings_add_coded(findings, DTC_FINDING_VM_PREEMPTED,
			       sum_ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false,
			       dtc_links_get_node_name(input->links, node),
			       "its virtual CPU was ready and did not run for %.3f ms of this (at most %.3f ms at "
			       "once)%s",
			       (double)sum_ns / 1e6, (double)longest_ns / 1e6, who);
}

static int compare_nodes(const void *a, const void *b)
{
	guint x = *(const guint *)a, y = *(const guint *)b;
	return (x > y) - (x < y);
}

void dtc_finding_add_vm_preempted(const struct dtc_finding_input *input, DtcFindings *findings)
{
	g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(guint));
	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->cause == DTC_CAUSE_VM_PREEMPTED)
			g_array_append_val(nodes, s->node);
	}
	g_array_sort(nodes, compare_nodes);
	for (guint i = 0; i < nodes->len; i++)
		if (i == 0 || g_array_index(nodes, guint, i) != g_array_index(nodes, guint, i - 1))
			add_of_node(input, g_array_index(nodes, guint, i), findings);
}
