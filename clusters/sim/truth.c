/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ground-truth.json: clocks as the lab's recordings have them, requests as those of clusters/netns. */
#include "clusters/sim/cluster.h"

#include <inttypes.h>

const char *sim_cause_get_name(enum sim_cause cause)
{
	static const char *const names[SIM_CAUSES] = {
		[SIM_CAUSE_NONE] = "fast", [SIM_CAUSE_CPU] = "cpu",   [SIM_CAUSE_SLEEP] = "sleep",
		[SIM_CAUSE_DISK] = "disk", [SIM_CAUSE_LOCK] = "lock", [SIM_CAUSE_RUNQUEUE] = "runqueue",
		[SIM_CAUSE_POOL] = "pool"
	};
	return names[cause];
}

/* In which causes of a report it must show, in whose, and how much of it at least. */
static const struct {
	const char *causes, *process;
	double share;
} shown[SIM_CAUSES] = {
	[SIM_CAUSE_CPU] = { "\"running-user\", \"running-kernel\"", "server", 0.9 },
	[SIM_CAUSE_SLEEP] = { "\"timer\"", "server", 0.95 },
	[SIM_CAUSE_DISK] = { "\"disk\"", "server", 0.95 },
	[SIM_CAUSE_LOCK] = { "\"running-user\", \"running-kernel\", \"runqueue\", \"preempted\"", "holder", 0.9 },
	[SIM_CAUSE_RUNQUEUE] = { "\"runqueue\", \"preempted\"", "server", 0.5 },
	/* what the workers do for those that came before */
	[SIM_CAUSE_POOL] = { "\"timer\"", "server", 0.9 },
};

static int64_t to_trace_time(const struct sim_cluster *cluster, guint32 node, int64_t true_ns)
{
	return SIM_EPOCH_NS + sim_to_node_clock(&cluster->nodes[node], true_ns);
}

void sim_truth_begin(struct sim_cluster *cluster)
{
	const struct sim_options *options = &cluster->options;
	fprintf(cluster->truth,
		"{\"scenario\": \"sim\", \"seed\": %" PRIu64 ", \"how_to_use\": \"true time is host_raw; "
		"begin_ns and end_ns of requests are of the client's trace\",\n \"nodes\": {\n",
		options->seed);
	for (guint i = 0; i < options->node_count; i++) {
		const struct sim_node *node = &cluster->nodes[i];
		fprintf(cluster->truth,
			"  \"%s\": {\"tier\": %u, \"ctf_clock_offset_ns\": %" PRId64
			", \"clock_fit\": {\"host_raw_ref_ns\": 0, "
			"\"guest_mono_ref_ns\": %" PRId64 ", \"intercept_ns\": 0.0, \"rate\": %.17g}}%s\n",
			node->name, node->tier, SIM_EPOCH_NS, sim_to_node_clock(node, 0), 1 + node->clock_rate,
			i + 1 < options->node_count ? "," : "");
	}
	fprintf(cluster->truth, " },\n \"requests\": [");
}

static const struct sim_call *find_cause(const struct sim_call *call)
{
	if (call->cause != SIM_CAUSE_NONE)
		return call;
	for (guint i = 0; i < call->child_count; i++) {
		const struct sim_call *found = find_cause(call->children[i]);
		if (found)
			return found;
	}
	return NULL;
}

static void write_calls(const struct sim_cluster *cluster, const struct sim_call *call)
{
	for (guint i = 0; i < call->child_count; i++) {
		const struct sim_call *child = call->children[i];
		fprintf(cluster->truth,
			"%s{\"from\": \"%s\", \"node\": \"%s\", \"tid\": %u, \"begin_true_ns\": %" PRId64 ", "
			"\"end_true_ns\": %" PRId64 "}",
			i > 0 || call->parent ? ", " : "", cluster->nodes[call->node].name,
			cluster->nodes[child->node].name, child->tid, child->begin_ns, child->end_ns);
		write_calls(cluster, child);
	}
}

void sim_truth_add(struct sim_cluster *cluster, const struct sim_request *request)
{
	const struct sim_call *cause = find_cause(request->root);
	fprintf(cluster->truth,
		"%s\n  {\"id\": \"req-%06u\", \"kind\": \"%s\", \"client\": \"%s\", \"tid\": %u, \"begin_ns\": %" PRId64
		", "
		"\"end_ns\": %" PRId64 ", \"begin_true_ns\": %" PRId64 ", \"end_true_ns\": %" PRId64 ", \"calls\": [",
		cluster->has_truth_begun ? "," : "", request->index, sim_cause_get_name(request->cause),
		cluster->nodes[request->client].name, request->tid,
		to_trace_time(cluster, request->client, request->begin_ns),
		to_trace_time(cluster, request->client, request->end_ns), request->begin_ns, request->end_ns);
	cluster->has_truth_begun = true;
	write_calls(cluster, request->root);
	fprintf(cluster->truth, "]");
	if (cause)
		fprintf(cluster->truth,
			", \"injected\": {\"node\": \"%s\", \"tid\": %u, \"process\": \"%s\", \"causes\": [%s], "
			"\"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"share\": %g}",
			cluster->nodes[cause->node].name, cause->tid, shown[cause->cause].process,
			shown[cause->cause].causes, cause->cause_begin_ns, cause->cause_end_ns,
			shown[cause->cause].share);
	fprintf(cluster->truth, "}");
}

void sim_truth_end(struct sim_cluster *cluster)
{
	fprintf(cluster->truth, "\n ]\n}\n");
}
