/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a bundle of a cluster that was never there: see README.md. */
#include "clusters/sim/cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFERS_BYTES ((gsize)256 << 20) /* of all streams together */
#define PACKET_BYTES_MAX ((gsize)64 << 10)
#define PACKET_BYTES_MIN ((gsize)4 << 10)
#define CPUS_LIMIT 255
#define NODES_LIMIT 65000

struct arguments {
	int nodes, cpus, workers, fanout, tiers, peers, client_threads, requests;
	gint64 events, seed;
	char *topology;
	gboolean no_captures;
	double causes;
	char **folders;
};

static bool parse(int argc, char **argv, struct arguments *arguments)
{
	const GOptionEntry entries[] = {
		{ "nodes", 0, 0, G_OPTION_ARG_INT, &arguments->nodes, "Nodes, 2 to 65000 (8)", "N" },
		{ "requests", 0, 0, G_OPTION_ARG_INT, &arguments->requests,
		  "Requests of the clients (ten for each node)", "N" },
		{ "events", 0, 0, G_OPTION_ARG_INT64, &arguments->events,
		  "About so many events in all; threads that do nothing make up for what is missing (0: none)", "N" },
		{ "topology", 0, 0, G_OPTION_ARG_STRING, &arguments->topology,
		  "tree: each call makes --fanout calls to the next tier; mesh: up to so many, to any later one",
		  "NAME" },
		{ "tiers", 0, 0, G_OPTION_ARG_INT, &arguments->tiers, "Tiers, with the clients' (4)", "N" },
		{ "fanout", 0, 0, G_OPTION_ARG_INT, &arguments->fanout, "Calls that a call makes (2)", "N" },
		{ "peers", 0, 0, G_OPTION_ARG_INT, &arguments->peers,
		  "Nodes that a node calls, if it has no more below it (4)", "N" },
		{ "cpus", 0, 0, G_OPTION_ARG_INT, &arguments->cpus, "Of each node (2)", "N" },
		{ "workers", 0, 0, G_OPTION_ARG_INT, &arguments->workers, "Threads of each server (8)", "N" },
		{ "client-threads", 0, 0, G_OPTION_ARG_INT, &arguments->client_threads,
		  "Requests of a client at a time (4)", "N" },
		{ "causes", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->causes,
		  "Share of the requests that are made slow (0.5)", "SHARE" },
		{ "no-captures", 0, 0, G_OPTION_ARG_NONE, &arguments->no_captures,
		  "Packets only as the kernel's events", NULL },
		{ "seed", 0, 0, G_OPTION_ARG_INT64, &arguments->seed, "Another one is another cluster (1)", "N" },
		{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &arguments->folders, NULL, "NEW-BUNDLE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL }
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_option_context_set_summary(context, "Simulates a cluster under load, with known clocks and causes.");
	g_option_context_add_main_entries(context, entries, NULL);
	bool is_parsed = g_option_context_parse(context, &argc, &argv, &error);
	if (is_parsed && arguments->folders && !arguments->folders[1])
		return true;
	fprintf(stderr, "sim: %s\n", is_parsed ? "one new folder must be named" : error->message);
	return false;
}

/* What is wrong with the arguments, or NULL. */
static const char *check(const struct arguments *arguments)
{
	if (arguments->nodes < 2 || arguments->nodes > NODES_LIMIT)
		return "--nodes must be 2 to 65000";
	if (arguments->cpus < 1 || arguments->cpus > CPUS_LIMIT)
		return "--cpus must be 1 to 255";
	if (arguments->workers < 1 || arguments->workers > 1000 || arguments->client_threads < 1 ||
	    arguments->client_threads > 1000)
		return "--workers and --client-threads must be 1 to 1000";
	if (arguments->fanout < 1 || arguments->fanout > 100 || arguments->tiers < 2 || arguments->tiers > 30 ||
	    arguments->peers < 1)
		return "--fanout must be 1 to 100, --tiers 2 to 30, --peers at least 1";
	if (arguments->requests < 0 || arguments->events < 0 || arguments->causes < 0 || arguments->causes > 1)
		return "--requests and --events cannot be negative, --causes must be 0 to 1";
	if (!g_str_equal(arguments->topology, "tree") && !g_str_equal(arguments->topology, "mesh"))
		return "--topology must be tree or mesh";
	if (g_file_test(arguments->folders[0], G_FILE_TEST_EXISTS))
		return "the folder is there already";
	return NULL;
}

static struct sim_options get_options(const struct arguments *arguments)
{
	return (struct sim_options){
		.node_count = (guint)arguments->nodes,
		.cpu_count = (guint)arguments->cpus,
		.worker_count = (guint)arguments->workers,
		.fanout = (guint)arguments->fanout,
		.tier_count = (guint)MIN(arguments->tiers, arguments->nodes),
		.peer_count = (guint)arguments->peers,
		.client_threads = (guint)arguments->client_threads,
		.request_count = (guint)(arguments->requests ? arguments->requests : arguments->nodes * 10),
		.event_count = (guint64)arguments->events,
		.seed = (guint64)arguments->seed,
		.is_mesh = g_str_equal(arguments->topology, "mesh"),
		.has_captures = !arguments->no_captures,
		.cause_share = arguments->causes,
		.folder = arguments->folders[0],
	};
}

static void open_files(struct sim_cluster *cluster)
{
	const struct sim_options *options = &cluster->options;
	g_autofree char *truth = g_build_filename(options->folder, "ground-truth.json", NULL);
	g_autofree char *metadata = g_build_filename(options->folder, "metadata.part", NULL);
	gsize packet_bytes =
		CLAMP(BUFFERS_BYTES / options->node_count / options->cpu_count, PACKET_BYTES_MIN, PACKET_BYTES_MAX);
	if (g_mkdir_with_parents(options->folder, 0777) != 0 || !(cluster->truth = fopen(truth, "we"))) {
		fprintf(stderr, "sim: cannot write '%s': %s\n", truth, g_strerror(errno));
		exit(1);
	}
	sim_metadata_write(metadata);
	for (guint i = 0; i < options->node_count; i++) {
		g_autofree char *folder = g_build_filename(options->folder, cluster->nodes[i].name, NULL);
		cluster->nodes[i].trace =
			sim_trace_new(folder, metadata, options->cpu_count, options->has_captures, packet_bytes);
	}
	unlink(metadata);
}

static void close_node(struct sim_node *node)
{
	sim_trace_free(node->trace);
	g_queue_clear(&node->accept);
	g_queue_clear(&node->waiting);
	g_queue_clear_full(&node->locks, g_free);
	g_free(node->peers);
	g_free(node->cpus);
}

/* The number of events. */
static uint64_t close_files(struct sim_cluster *cluster)
{
	uint64_t events = 0;
	sim_truth_end(cluster);
	if (fclose(cluster->truth) != 0) {
		fprintf(stderr, "sim: cannot write the truth: %s\n", g_strerror(errno));
		exit(1);
	}
	for (guint i = 0; i < cluster->options.node_count; i++) {
		events += sim_trace_get_event_count(cluster->nodes[i].trace);
		close_node(&cluster->nodes[i]);
	}
	return events;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .nodes = 8,
				       .cpus = 2,
				       .workers = 8,
				       .fanout = 2,
				       .tiers = 4,
				       .peers = 4,
				       .client_threads = 4,
				       .causes = 0.5,
				       .seed = 1 };
	if (!parse(argc, argv, &arguments))
		return 2;
	if (!arguments.topology)
		arguments.topology = g_strdup("tree");
	const char *wrong = check(&arguments);
	if (wrong) {
		fprintf(stderr, "sim: %s\n", wrong);
		return 2;
	}
	struct sim_cluster cluster = { .options = get_options(&arguments) };
	cluster.rand = g_rand_new_with_seed((guint32)cluster.options.seed);
	cluster.queue = sim_queue_new();
	sim_plan_nodes(&cluster);
	open_files(&cluster);
	sim_truth_begin(&cluster);
	sim_run(&cluster);
	uint64_t events = close_files(&cluster);
	printf("%u nodes, %u requests, %" PRIu64 " events, %.1f s\n", cluster.options.node_count, cluster.requests_done,
	       events, (double)cluster.now_ns / 1e9);
	sim_queue_free(cluster.queue);
	g_rand_free(cluster.rand);
	g_free(cluster.nodes);
	g_free(cluster.threads);
	g_strfreev(arguments.folders);
	g_free(arguments.topology);
	return 0;
}
