/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, their clocks, who calls whom; and of each request the calls and what is done to one of them. */
#include "clusters/sim/cluster.h"

#define OFFSET_NS_MAX G_GINT64_CONSTANT(5000000000)
#define DRIFT_MAX 50e-6
#define FIRST_ADDRESS 0x0a000001u
#define FIRST_PORT 32768
#define FIRST_TID 1000
#define HOGS_PER_CPU 3
#define CLIENT_SHARE 20 /* one of so many nodes is a client */
#define SERVICE_NS_LEAST (80 * SIM_US)
#define CAUSE_NS_LEAST (10 * SIM_MS)
#define POOL_RARITY 4
#define EVENTS_PER_CALL 66
#define EVENTS_PER_TICK 7

static double draw(struct sim_cluster *cluster)
{
	return g_rand_double(cluster->rand);
}

static guint draw_below(struct sim_cluster *cluster, guint limit)
{
	return (guint)g_rand_int_range(cluster->rand, 0, (gint32)limit);
}

/* ---- nodes ---- */

/* Sizes of tiers: the clients, then one after the other by as much larger as calls are more. */
static void size_tiers(const struct sim_cluster *cluster, guint *sizes)
{
	const struct sim_options *options = &cluster->options;
	guint left = options->node_count, tiers = options->tier_count;
	double weight = 1, all = 0;
	sizes[0] = MAX(options->node_count / CLIENT_SHARE, 1);
	left -= sizes[0];
	for (guint i = 1; i < tiers; i++, weight *= options->fanout)
		all += weight;
	weight = 1;
	for (guint i = 1; i < tiers; i++, weight *= options->fanout) {
		guint later = tiers - 1 - i;
		sizes[i] = later == 0 ? left
				      : CLAMP((guint)((double)(options->node_count - sizes[0]) * weight / all), 1,
					      left - later);
		left -= sizes[i];
	}
}

static void add_peer(struct sim_node *node, guint32 peer)
{
	for (guint i = 0; i < node->peer_count; i++)
		if (node->peers[i] == peer)
			return;
	node->peers = g_renew(guint32, node->peers, node->peer_count + 1);
	node->peers[node->peer_count++] = peer;
}

/* Every node is called by one of the tier before it; the rest is chance. */
static void join_tiers(struct sim_cluster *cluster, const guint *sizes)
{
	guint first = 0, node_count = cluster->options.node_count;
	for (guint tier = 0; tier + 1 < cluster->options.tier_count; first += sizes[tier++]) {
		guint below = first + sizes[tier];
		for (guint i = 0; i < sizes[tier + 1]; i++)
			add_peer(&cluster->nodes[first + i % sizes[tier]], below + i);
		for (guint i = first; i < below; i++) {
			/* in a mesh a call may leave tiers out */
			guint end = cluster->options.is_mesh ? node_count : below + sizes[tier + 1];
			for (guint k = cluster->nodes[i].peer_count; k < cluster->options.peer_count; k++)
				add_peer(&cluster->nodes[i], below + draw_below(cluster, end - below));
		}
	}
}

static void add_threads(struct sim_cluster *cluster, GArray *threads, guint32 index, enum sim_thread_kind kind,
			const char *comm, guint count)
{
	for (guint i = 0; i < count; i++) {
		struct sim_thread thread = { .node = index, .kind = (uint8_t)kind, .next = SIM_NONE };
		guint number = threads->len - cluster->nodes[index].first_thread;
		thread.tid = FIRST_TID + (int32_t)number;
		/* servers' threads are one process, so are clients'; the others are alone */
		thread.pid = kind == SIM_WORKER || kind == SIM_CLIENT || kind == SIM_FILLER ? FIRST_TID : thread.tid;
		thread.cpu = (uint8_t)(number % cluster->options.cpu_count);
		g_strlcpy(thread.comm, comm, sizeof(thread.comm));
		g_array_append_val(threads, thread);
	}
}

static void fill_node(struct sim_cluster *cluster, GArray *threads, guint32 index)
{
	const struct sim_options *options = &cluster->options;
	struct sim_node *node = &cluster->nodes[index];
	node->first_thread = threads->len;
	if (node->tier == 0) {
		add_threads(cluster, threads, index, SIM_CLIENT, "client", options->client_threads);
		add_threads(cluster, threads, index, SIM_FILLER, "client", options->worker_count);
	} else {
		add_threads(cluster, threads, index, SIM_WORKER, "server", options->worker_count);
		add_threads(cluster, threads, index, SIM_HOLDER, "holder", 1);
		add_threads(cluster, threads, index, SIM_HOG, "hog", HOGS_PER_CPU * options->cpu_count);
	}
	if (cluster->ticker_ns > 0)
		add_threads(cluster, threads, index, SIM_TICKER, "ticker", 1);
	node->thread_count = threads->len - node->first_thread;
}

static void begin_node(struct sim_cluster *cluster, guint32 index, guint tier)
{
	struct sim_node *node = &cluster->nodes[index];
	g_snprintf(node->name, sizeof(node->name), "%s%04u", tier == 0 ? "client" : "node", index);
	node->tier = tier;
	node->address = FIRST_ADDRESS + index;
	node->next_port = FIRST_PORT;
	node->clock_offset_ns = (int64_t)(draw(cluster) * (double)OFFSET_NS_MAX);
	node->clock_rate = (2 * draw(cluster) - 1) * DRIFT_MAX;
	node->cpus = g_new0(struct sim_cpu, cluster->options.cpu_count);
	for (guint i = 0; i < cluster->options.cpu_count; i++)
		node->cpus[i] = (struct sim_cpu){ .thread = SIM_NONE, .head = SIM_NONE, .tail = SIM_NONE };
}

/* How often a thread must wake for nothing, so that there are as many events as were asked for. */
static int64_t space_ticks(const struct sim_cluster *cluster)
{
	const struct sim_options *options = &cluster->options;
	double calls = 0, level = 1;
	for (guint i = 1; i < options->tier_count; i++, level *= options->fanout)
		calls += level;
	if (options->is_mesh)
		calls /= 2;
	double missing = (double)options->event_count - options->request_count * calls * EVENTS_PER_CALL;
	double each_ns = 2.5 * SIM_MS + calls * 0.7 * SIM_MS + options->cause_share * 2.5 * CAUSE_NS_LEAST;
	double span_ns = options->request_count * each_ns / options->client_threads / cluster->client_count;
	if (options->event_count == 0 || missing <= 0)
		return 0;
	return MAX((int64_t)(span_ns * options->node_count * EVENTS_PER_TICK / missing), 50 * SIM_US);
}

void sim_plan_nodes(struct sim_cluster *cluster)
{
	g_autofree guint *sizes = g_new0(guint, cluster->options.tier_count);
	GArray *threads = g_array_new(FALSE, TRUE, sizeof(struct sim_thread));
	size_tiers(cluster, sizes);
	cluster->client_count = sizes[0];
	cluster->ticker_ns = space_ticks(cluster);
	cluster->nodes = g_new0(struct sim_node, cluster->options.node_count);
	for (guint tier = 0, index = 0; tier < cluster->options.tier_count; tier++)
		for (guint i = 0; i < sizes[tier]; i++, index++) {
			begin_node(cluster, index, tier);
			fill_node(cluster, threads, index);
		}
	join_tiers(cluster, sizes);
	cluster->thread_count = threads->len;
	cluster->threads = (struct sim_thread *)(void *)g_array_free(threads, FALSE);
}

/* ---- requests ---- */

static struct sim_call *plan_call(struct sim_cluster *cluster, struct sim_request *request, struct sim_call *parent,
				  guint32 node_index, GPtrArray *calls)
{
	const struct sim_node *node = &cluster->nodes[node_index];
	const struct sim_options *options = &cluster->options;
	struct sim_call *call = g_new0(struct sim_call, 1);
	call->request = request;
	call->parent = parent;
	call->node = node_index;
	call->service_ns = SERVICE_NS_LEAST + (int64_t)(draw(cluster) * 2 * SERVICE_NS_LEAST);
	g_ptr_array_add(calls, call);
	if (node->peer_count == 0)
		return call;
	call->child_count = !parent ? 1 : options->is_mesh ? draw_below(cluster, options->fanout + 1) : options->fanout;
	call->children = g_new(struct sim_call *, call->child_count);
	for (guint i = 0; i < call->child_count; i++)
		call->children[i] =
			plan_call(cluster, request, call, node->peers[draw_below(cluster, node->peer_count)], calls);
	return call;
}

static void choose_cause(struct sim_cluster *cluster, struct sim_request *request, const GPtrArray *calls)
{
	if (draw(cluster) >= cluster->options.cause_share)
		return;
	request->cause = (enum sim_cause)(1 + draw_below(cluster, SIM_CAUSES - 1));
	/* those that fill the pool are requests, too: one in so many is enough */
	if (request->cause == SIM_CAUSE_POOL && draw(cluster) * POOL_RARITY >= 1)
		request->cause = SIM_CAUSE_CPU;
	/* the first call is the client's; for the pool it must be the one that the client makes */
	guint which = request->cause == SIM_CAUSE_POOL ? 1 : 1 + draw_below(cluster, calls->len - 1);
	struct sim_call *call = calls->pdata[which];
	call->cause = request->cause;
	call->cause_ns = CAUSE_NS_LEAST + (int64_t)(draw(cluster) * 3 * CAUSE_NS_LEAST);
}

struct sim_request *sim_plan_request(struct sim_cluster *cluster, guint32 client)
{
	g_autoptr(GPtrArray) calls = g_ptr_array_new();
	if (cluster->requests_begun >= cluster->options.request_count)
		return NULL;
	struct sim_request *request = g_new0(struct sim_request, 1);
	request->index = ++cluster->requests_begun;
	request->client = client;
	request->root = plan_call(cluster, request, NULL, client, calls);
	choose_cause(cluster, request, calls);
	return request;
}

struct sim_request *sim_plan_filler(struct sim_cluster *cluster, guint32 client, guint32 node, int64_t ns)
{
	struct sim_request *request = g_new0(struct sim_request, 1);
	struct sim_call *root = g_new0(struct sim_call, 1), *call = g_new0(struct sim_call, 1);
	request->index = ++cluster->requests_begun;
	request->cause = SIM_CAUSE_SLEEP;
	request->client = client;
	request->root = root;
	root->request = call->request = request;
	root->node = client;
	root->child_count = 1;
	root->children = g_new(struct sim_call *, 1);
	root->children[0] = call;
	call->parent = root;
	call->node = node;
	call->service_ns = SERVICE_NS_LEAST;
	call->cause = SIM_CAUSE_SLEEP;
	call->cause_ns = ns;
	return request;
}

static void free_call(struct sim_call *call)
{
	for (guint i = 0; i < call->child_count; i++)
		free_call(call->children[i]);
	g_free(call->children);
	g_free(call);
}

void sim_request_free(struct sim_request *request)
{
	free_call(request->root);
	g_free(request);
}
