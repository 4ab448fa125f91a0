/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/vms.h"

static void vms_node_clear(void *data)
{
	struct dtc_vms_node *node = data;

	g_array_unref(node->cpus);
	if (node->silent)
		g_array_unref(node->silent);
}

/* Some CPU of it is a vCPU of a host that was traced. */
static bool is_carried(const DtcLinks *links, guint node, const DtcHistory *history)
{
	struct dtc_guest_cpu cpu;

	for (guint i = 0; i < dtc_history_get_cpu_count(history); i++)
		if (dtc_guests_get_cpu(dtc_links_get_guests(links), node, i, &cpu))
			return true;
	return false;
}

GArray *dtc_vms_new(const DtcEngine *engine, const char *from, const char *to, DtcFindings *findings, GError **error)
{
	const struct dtc_subject subject = { .from = from, .to = to };
	const DtcLinks *links = dtc_engine_get_links(engine);
	struct dtc_selection selection;

	if (!dtc_selection_find(&subject, engine, findings, &selection, error))
		return NULL;
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(struct dtc_vms_node));
	g_array_set_clear_func(nodes, vms_node_clear);
	for (guint i = 0; i < selection.node_count; i++) {
		const DtcHistory *history = dtc_engine_get_history(engine, i);
		struct dtc_vms_node node = { .node = i, .span = selection.spans[i] };
		if (!history || !dtc_selection_has_node(&selection, i))
			continue;
		node.cpus = dtc_machines_list(links, i, node.span.begin, node.span.end);
		if (!is_carried(links, i, history))
			node.silent = dtc_machines_infer(history, node.span.begin, node.span.end);
		g_array_append_val(nodes, node);
	}
	dtc_selection_clear(&selection);
	return nodes;
}
