/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time of servers charged to their clients (flightbox: self, sub, total).
 *
 * A service is what a server does for one message of a client: it begins with the read that took the message's bytes
 * from the server's end of a connection and ends with the last write on it before the next such read. For which of them
 * a thread works when is told by request/serving.h, as for requests: each service is one, and all its calls are known.
 * What a thread runs on a CPU meanwhile is charged to it.
 *
 * Nothing is charged for services without an answer, from before the message was read, for work after the answer, for
 * other processes, for kernel threads and interrupts. A service's parent is the one in which its client wrote the
 * message, so that the CPU time of a server's servers reaches the first client, too; each process is charged once.
 */
#include "analyze/edge/arrival.h"
#include "analyze/edge/shares.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/label.h"
#include "analyze/profile/usage_build.h"
#include "analyze/request/serving.h"

#define CHAIN_LIMIT 64 /* services within services; clocks that are off must not make a circle */

struct service {
	guint node;
	uint32_t thread; /* that read the message */
	uint32_t read;	 /* call */
	uint32_t file;
	int64_t answered_ns; /* when the last write returned; DTC_TIME_NONE: not answered */
	int64_t cpu_ns;
	int64_t time_ns; /* of what is counted, from the read of the message to the last write */
	uint64_t read_bytes, written_bytes;
	bool is_counted; /* its message was read in the span; its time and bytes may lie in it without that */
	/* where the message came from */
	guint client; /* process; G_MAXUINT: not traced */
	uint32_t parent;
	bool exact;
	guint server; /* its place in the tree of servers; G_MAXUINT: not yet asked */
};

/* One node's pass. */
struct pass {
	const struct dtc_usage_build *build;
	const DtcHistory *history;
	guint node;
	DtcServing *serving;
	GArray *services; /* struct service, of all nodes: its index is the request's number */
};

static int64_t sum_cpu(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	int64_t cpu_ns = 0;

	dtc_shares_cut(shares, interval, parts);
	for (guint i = 0; i < parts->len; i++) {
		const struct dtc_interval *part = &g_array_index(parts, struct dtc_interval, i);
		if (part->state != DTC_STATE_VM_PREEMPTED && part->state != DTC_STATE_VM_EXIT)
			cpu_ns += part->end_ns - part->begin_ns;
	}
	return cpu_ns;
}

/* CPU time of a thread between two times, without interrupts and what a guest's vCPU was away. */
static int64_t get_cpu_ns(const struct dtc_usage_build *build, guint node, uint32_t thread, int64_t begin_ns,
			  int64_t end_ns)
{
	const DtcHistory *h = dtc_links_get_history(build->links, node);
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	struct dtc_shares shares;
	int64_t cpu_ns = 0;

	dtc_shares_begin(&shares, build->links, node, h, thread);
	while (end_ns > begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
		if (!v)
			break;
		struct dtc_interval interval = *v;
		interval.begin_ns = MAX(v->begin_ns, begin_ns);
		interval.end_ns = end_ns;
		if (v->state == DTC_STATE_USER || v->state == DTC_STATE_SYSCALL || v->state == DTC_STATE_KERNEL)
			cpu_ns += sum_cpu(&shares, &interval, parts);
		end_ns = v->begin_ns;
	}
	return cpu_ns;
}

static bool has_moved(const struct dtc_call *call)
{
	return (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE) && call->end_ns != DTC_TIME_NONE &&
	       call->result != DTC_ABSENT && call->result > 0;
}

/* Calls in the order in which they returned. */
static gint compare_ends(gconstpointer a, gconstpointer b, gpointer data)
{
	struct dtc_call x_place;
	const struct dtc_call *x = dtc_history_get_call(data, *(const uint32_t *)a, &x_place);
	struct dtc_call y_place;
	const struct dtc_call *y = dtc_history_get_call(data, *(const uint32_t *)b, &y_place);

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : *(const uint32_t *)a > *(const uint32_t *)b;
}

static struct service *begin_service(struct pass *pass, uint32_t index)
{
	struct dtc_call read_place;
	const struct dtc_call *read = dtc_history_get_call(pass->history, index, &read_place);
	const struct service fresh = {
		.node = pass->node,
		.thread = read->thread,
		.read = index,
		.file = read->file,
		.answered_ns = DTC_TIME_NONE,
		.is_counted = dtc_usage_is_counted(pass->build, pass->node, read->end_ns),
		.client = G_MAXUINT,
		.parent = DTC_NONE,
		.server = G_MAXUINT,
	};

	g_array_append_val(pass->services, fresh);
	return &g_array_index(pass->services, struct service, pass->services->len - 1);
}

/* A message that was read in parts, and not yet answered, is one; so is an answer that was written in parts. */
static void add_services_of_file(struct pass *pass, uint32_t file)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(pass->history, file, &count);
	g_autofree uint32_t *moved = g_new(uint32_t, count + 1);
	struct service *service = NULL;
	guint moved_count = 0;
	struct dtc_call place;

	for (uint32_t i = 0; i < count; i++)
		if (has_moved(dtc_history_get_call(pass->history, calls[i], &place)))
			moved[moved_count++] = calls[i];
	g_qsort_with_data(moved, (gint)moved_count, sizeof(*moved), compare_ends, (gpointer)pass->history);
	for (guint i = 0; i < moved_count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(pass->history, moved[i], &call_place);
		bool is_read = call->kind == DTC_CALL_READ;
		bool is_last = i + 1 == moved_count ||
			       dtc_history_copy_call(pass->history, moved[i + 1]).kind == DTC_CALL_READ;
		if (is_read && (!service || service->answered_ns != DTC_TIME_NONE))
			service = begin_service(pass, moved[i]);
		if (!service) /* the message was read before the trace */
			continue;
		uint64_t bytes =
			dtc_usage_is_counted(pass->build, pass->node, call->end_ns) ? dtc_call_get_bytes(call) : 0;
		*(is_read ? &service->read_bytes : &service->written_bytes) += bytes;
		if (!is_read)
			service->answered_ns = call->end_ns;
		dtc_serving_add_call(pass->serving, pass->node, moved[i], pass->services->len - 1, !is_read && is_last);
	}
}

static void add_services(struct pass *pass)
{
	for (uint32_t i = 0; i < dtc_history_get_file_count(pass->history); i++)
		if (dtc_history_get_file(pass->history, i)->flow_out != DTC_NONE &&
		    dtc_endpoint_is_server(pass->history, i))
			add_services_of_file(pass, i);
}

/* What a thread ran for its process' services. */
static void charge_thread(struct pass *pass, uint32_t thread)
{
	const guint *process_of = pass->build->thread_process[pass->node];
	const struct dtc_usage_span *counted = &pass->build->spans[pass->node];
	guint count;
	const struct dtc_served *spans = dtc_serving_get(pass->serving, pass->node, thread, &count);

	for (guint i = 0; i < count; i++) {
		struct service *service = &g_array_index(pass->services, struct service, spans[i].request);
		/* a socket may be handed to another process, whose time is not the server's */
		if (service->answered_ns == DTC_TIME_NONE || process_of[thread] != process_of[service->thread])
			continue;
		/* another thread can have it only when the read has returned */
		struct dtc_call read_place;
		const struct dtc_call *read = dtc_history_get_call(pass->history, service->read, &read_place);
		int64_t read_ns = thread == service->thread ? read->begin_ns : read->end_ns;
		service->cpu_ns += get_cpu_ns(pass->build, pass->node, thread,
					      MAX(MAX(spans[i].begin_ns, read_ns), counted->begin.ns),
					      MIN(MIN(spans[i].end_ns, service->answered_ns), counted->end.ns));
	}
}

/* Who wrote the message, and for which service of its own. */
static void find_client(const struct dtc_usage_build *build, const DtcServing *serving, struct service *service)
{
	struct dtc_arrival arrival;
	struct dtc_sender sender;

	if (!dtc_arrival_find_for_read(build->links, service->node, service->read, &arrival) ||
	    !dtc_arrival_find_sender(build->links, &arrival, &sender) || sender.relayed || sender.thread == DTC_NONE)
		return;
	service->client = build->thread_process[sender.node][sender.thread];
	service->exact = sender.exact;
	const struct dtc_owned *owned =
		sender.call == DTC_NONE ? NULL : dtc_serving_find_owned(serving, sender.node, sender.call, 0);
	service->parent = owned ? owned->request : DTC_NONE;
}

static void set_time(const struct dtc_usage_build *build, struct service *service)
{
	const DtcHistory *h = dtc_links_get_history(build->links, service->node);
	const struct dtc_usage_span *counted = &build->spans[service->node];
	int64_t read_ns = dtc_history_copy_call(h, service->read).end_ns;

	if (service->answered_ns != DTC_TIME_NONE)
		service->time_ns = MAX(0, MIN(service->answered_ns, counted->end.ns) - MAX(read_ns, counted->begin.ns));
}

/* The service's CPU time to its client, the client's client, and so on; to each process once, and not to the server. */
static void charge_clients(struct dtc_usage_build *build, const GArray *services, uint32_t index)
{
	const struct service *service = &g_array_index(services, struct service, index);
	guint charged[CHAIN_LIMIT + 1] = { build->thread_process[service->node][service->thread] };
	guint count = 1;
	int64_t cpu_ns = service->cpu_ns;

	for (int step = 0; step < CHAIN_LIMIT && service->client != G_MAXUINT; step++) {
		bool is_charged = false;
		for (guint i = 0; i < count; i++)
			is_charged |= charged[i] == service->client;
		if (!is_charged) {
			dtc_usage_get_process(build, service->client)->sub_ns += cpu_ns;
			charged[count++] = service->client;
		}
		if (service->parent == DTC_NONE)
			break;
		service = &g_array_index(services, struct service, service->parent);
	}
}

static guint get_server_process(const struct dtc_usage_build *build, const struct service *service)
{
	return build->thread_process[service->node][service->thread];
}

static const struct dtc_flow *get_flow(const struct dtc_usage_build *build, const struct service *service)
{
	const DtcHistory *h = dtc_links_get_history(build->links, service->node);

	return dtc_packets_get_flow(dtc_history_get_packets(h), dtc_history_get_file(h, service->file)->flow_in);
}

/* Where the message came from, if no traced process sent it; else NULL. Caller owns. */
static char *make_host(const struct dtc_usage_build *build, const struct service *service)
{
	return service->client == G_MAXUINT ? dtc_address_to_host_string(get_flow(build, service)->source) : NULL;
}

/* The service of the same client in which it asked; NULL if that is not known. */
static struct service *get_parent(const struct dtc_usage_build *build, const GArray *services,
				  const struct service *service)
{
	struct service *parent =
		service->parent == DTC_NONE ? NULL : &g_array_index(services, struct service, service->parent);

	return parent && get_server_process(build, parent) == service->client ? parent : NULL;
}

/*
 * The service's place: beneath that of the service in which it was asked for, which may not have one yet. Of a circle,
 * as clocks that are off may make one, the first that is met again stands beneath its client.
 */
static guint place_service(struct dtc_usage_build *build, const GArray *services, struct service *service)
{
	struct service *chain[CHAIN_LIMIT];
	guint count = 0, place = G_MAXUINT;

	for (struct service *at = service; at && at->server == G_MAXUINT && count < CHAIN_LIMIT;
	     at = get_parent(build, services, at))
		chain[count++] = at;
	while (count > 0) {
		struct service *at = chain[--count];
		const struct service *parent = get_parent(build, services, at);
		bool has_place = parent && parent->server != G_MAXUINT && parent != at;
		if (has_place && !dtc_usage_server_is_deepest(build, parent->server)) {
			place = parent->server;
		} else {
			g_autofree char *host = make_host(build, at);
			place = dtc_usage_get_server(build, G_MAXUINT, at->client, host);
		}
		at->server = dtc_usage_get_server(build, place, get_server_process(build, at), NULL);
	}
	return service->server;
}

static void add_server(struct dtc_usage_build *build, const GArray *services, struct service *service)
{
	guint place = place_service(build, services, service);
	struct dtc_usage_server *server = &g_array_index(build->usage->servers, struct dtc_usage_server, place);

	server->messages += service->is_counted;
	server->exact_count += service->is_counted && service->exact;
	server->cpu_ns += service->cpu_ns;
	server->time_ns += service->time_ns;
}

static void add_edge(struct dtc_usage_build *build, const struct service *service)
{
	const struct dtc_flow *flow = get_flow(build, service);
	guint server = get_server_process(build, service);
	g_autofree char *host = make_host(build, service);
	struct dtc_usage_edge *edge =
		dtc_usage_get_edge(build, service->client, host, server,
				   flow->protocol == DTC_PROTOCOL_TCP ? DTC_USAGE_TCP : DTC_USAGE_UDP);

	edge->messages += service->is_counted;
	edge->bytes += service->read_bytes;
	edge->answer_bytes += service->written_bytes;
	edge->cpu_ns += service->cpu_ns;
	edge->exact_count += service->is_counted && service->exact;
	if (service->client != G_MAXUINT && service->client != server)
		dtc_usage_get_process(build, server)->served_ns += service->cpu_ns;
}

void dtc_usage_add_services(struct dtc_usage_build *build)
{
	guint node_count = build->usage->node_count;
	g_autoptr(GArray) services = g_array_new(FALSE, FALSE, sizeof(struct service));
	g_autoptr(DtcServing) serving = dtc_serving_new(build->links);
	g_autofree struct pass *passes = g_new0(struct pass, node_count + 1);

	for (guint node = 0; node < node_count; node++) {
		passes[node] = (struct pass){ .build = build,
					      .history = dtc_links_get_history(build->links, node),
					      .node = node,
					      .serving = serving,
					      .services = services };
		if (build->usage->nodes[node].has_history)
			add_services(&passes[node]);
	}
	/* a server's question to its own server has its service: nothing has to be followed */
	dtc_serving_seal(serving, false);
	for (guint node = 0; node < node_count; node++)
		for (uint32_t i = 0;
		     build->usage->nodes[node].has_history && i < dtc_history_get_thread_count(passes[node].history);
		     i++)
			charge_thread(&passes[node], i);
	for (guint i = 0; i < services->len; i++) {
		find_client(build, serving, &g_array_index(services, struct service, i));
		set_time(build, &g_array_index(services, struct service, i));
	}
	for (guint i = 0; i < services->len; i++) {
		struct service *service = &g_array_index(services, struct service, i);
		if (build->thread_process[service->node][service->thread] == G_MAXUINT ||
		    !(service->is_counted || service->read_bytes || service->written_bytes || service->cpu_ns))
			continue;
		charge_clients(build, services, i);
		add_edge(build, service);
		add_server(build, services, service);
	}
}
