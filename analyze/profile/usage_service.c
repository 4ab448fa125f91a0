/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time of servers charged to their clients (flightbox: self, sub, total).
 *
 * A service is what a server does for one message of a client: it begins with the read that took the message's bytes
 * from the server's end of a connection and ends with the last write on it before the next such read. Every thread's
 * CPU time is cut at its reads, writes, connects and polls; each piece is charged to at most one service:
 *
 * - after a read on a server's end: to the service of that read; after a read on a client's end (an answer from a
 * server of its own): to the service in which the request was written;
 * - until the thread polls, reads for another service, or has answered;
 * - the piece that ends in a write on a server's end, if the thread works on no service: to that connection's, but
 *   nothing from before the message was read. So a pool's worker that takes a request from another thread is charged.
 *
 * A piece counts once the service is answered after it. So nothing is charged for services without an answer, for work
 * after the answer, for polling, accepting and closing, for threads that neither read nor write the connection, for
 * kernel threads and interrupts. A service's parent is the one in which its client wrote the message, so that the CPU
 * time of a server's servers reaches the first client, too; each process is charged once.
 */
#include "analyze/edge/arrival.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/label.h"
#include "analyze/profile/usage_build.h"

#include <string.h>

#define CHAIN_LIMIT 64 /* services within services; clocks that are off must not make a circle */

struct service {
	guint node;
	uint32_t thread; /* that read the message */
	uint32_t read;	 /* call */
	uint32_t file;
	int64_t read_ns;
	int64_t pending_ns; /* CPU time since the last answer */
	int64_t cpu_ns;
	uint64_t read_bytes, written_bytes;
	bool is_answered;
	bool is_counted; /* its message was read in the span; its time and bytes may lie in it without that */
	/* where the message came from */
	guint client; /* process; G_MAXUINT: not traced */
	uint32_t parent;
	bool exact;
};

/* An event of a thread at which its CPU time is cut. */
struct cut {
	int64_t time_ns; /* when the call returned; a poll: when it began, because that ends the work before it */
	uint32_t call;
};

/* What a thread works on. */
struct worker {
	uint32_t service; /* or DTC_NONE */
	int64_t since_ns; /* up to which its CPU time was looked at */
};

struct pass {
	const struct dtc_usage_build *build;
	const DtcHistory *history;
	guint node;
	const guint *process_of; /* by thread */
	struct worker *workers;	 /* by thread */
	uint32_t *service_of;	 /* by file: a server's end: the last service; a client's: the one it asks for */
	uint8_t *ends;		 /* by file: enum end */
	GHashTable *written_for; /* call -> service + 1: writes on clients' ends */
	GArray *services;	 /* struct service, of all nodes */
};

enum end { END_UNASKED, END_NONE, END_SERVER, END_CLIENT };

static enum end get_end(struct pass *pass, uint32_t file)
{
	if (file == DTC_NONE)
		return END_NONE;
	if (pass->ends[file] == END_UNASKED)
		pass->ends[file] = dtc_history_get_file(pass->history, file)->flow_out == DTC_NONE ? END_NONE
				   : dtc_endpoint_is_server(pass->history, file)		   ? END_SERVER
												   : END_CLIENT;
	return pass->ends[file];
}

static struct service *get_service(struct pass *pass, uint32_t service)
{
	return &g_array_index(pass->services, struct service, service);
}

/* CPU time of a thread between two times, without interrupts. */
static int64_t get_cpu_ns(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	int64_t cpu_ns = 0;

	while (end_ns > begin_ns) {
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns);
		if (!v)
			break;
		if (v->state == DTC_STATE_USER || v->state == DTC_STATE_SYSCALL || v->state == DTC_STATE_KERNEL)
			cpu_ns += end_ns - MAX(v->begin_ns, begin_ns);
		end_ns = v->begin_ns;
	}
	return cpu_ns;
}

/* Charges a thread's CPU time up to a time to the service it works on. */
static void charge(struct pass *pass, uint32_t thread, int64_t until_ns)
{
	struct worker *worker = &pass->workers[thread];
	const struct dtc_usage_span *span = &pass->build->spans[pass->node];

	if (worker->service != DTC_NONE) {
		struct service *service = get_service(pass, worker->service);
		/* a socket may be handed to another process, whose time is not the server's */
		if (pass->process_of[thread] == pass->process_of[service->thread])
			service->pending_ns += get_cpu_ns(pass->history, thread, MAX(worker->since_ns, span->begin.ns),
							  MIN(until_ns, span->end.ns));
	}
	worker->since_ns = MAX(worker->since_ns, until_ns);
}

/* A service may be worked on as long as no later message came on its connection. */
static bool is_open(struct pass *pass, uint32_t service)
{
	return service != DTC_NONE && pass->service_of[get_service(pass, service)->file] == service;
}

static bool is_counted(const struct pass *pass, const struct dtc_call *call)
{
	return dtc_usage_is_counted(pass->build, pass->node, call->end_ns);
}

static void begin_service(struct pass *pass, uint32_t index, const struct dtc_call *call)
{
	uint32_t last = pass->service_of[call->file];

	/* a message that was read in parts, and not yet answered, is one */
	if (last == DTC_NONE || get_service(pass, last)->is_answered) {
		struct service fresh = {
			.node = pass->node,
			.thread = call->thread,
			.read = index,
			.file = call->file,
			.read_ns = call->end_ns,
			.is_counted = is_counted(pass, call),
			.client = G_MAXUINT,
			.parent = DTC_NONE,
		};
		g_array_append_val(pass->services, fresh);
		last = pass->service_of[call->file] = pass->services->len - 1;
	}
	if (is_counted(pass, call))
		get_service(pass, last)->read_bytes += (uint64_t)call->result;
	pass->workers[call->thread].service = last;
}

static void apply_read(struct pass *pass, uint32_t index, const struct dtc_call *call)
{
	struct worker *worker = &pass->workers[call->thread];

	charge(pass, call->thread, call->begin_ns);
	if (get_end(pass, call->file) == END_SERVER)
		begin_service(pass, index, call);
	else
		worker->service = is_open(pass, pass->service_of[call->file]) ? pass->service_of[call->file] : DTC_NONE;
	charge(pass, call->thread, call->end_ns);
}

/* Answers on a server's end. */
static void apply_answer(struct pass *pass, const struct dtc_call *call)
{
	struct worker *worker = &pass->workers[call->thread];
	uint32_t index = pass->service_of[call->file];

	if (index == DTC_NONE) { /* the message was read before the trace */
		charge(pass, call->thread, call->end_ns);
		worker->service = DTC_NONE;
		return;
	}
	if (!is_open(pass, worker->service)) {
		worker->since_ns = MAX(worker->since_ns, get_service(pass, index)->read_ns);
		worker->service = index;
	}
	charge(pass, call->thread, call->end_ns);
	struct service *service = get_service(pass, index);
	service->is_answered = true;
	if (is_counted(pass, call))
		service->written_bytes += (uint64_t)call->result;
	service->cpu_ns += service->pending_ns;
	service->pending_ns = 0;
	worker->service = DTC_NONE;
}

/* Requests on a client's end, and connects: for whatever the thread works on. */
static void apply_request(struct pass *pass, uint32_t index, const struct dtc_call *call)
{
	struct worker *worker = &pass->workers[call->thread];

	/* the connect came before a poll, the bytes after it */
	if (!is_open(pass, worker->service))
		worker->service = is_open(pass, pass->service_of[call->file]) ? pass->service_of[call->file] : DTC_NONE;
	charge(pass, call->thread, call->end_ns);
	pass->service_of[call->file] = worker->service;
	if (worker->service != DTC_NONE)
		g_hash_table_insert(pass->written_for, GUINT_TO_POINTER(index), GUINT_TO_POINTER(worker->service + 1));
}

static void apply_cut(struct pass *pass, const struct cut *cut)
{
	const struct dtc_call *call = dtc_history_get_call(pass->history, cut->call);

	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_POLL:
		charge(pass, call->thread, call->begin_ns);
		pass->workers[call->thread].service = DTC_NONE;
		charge(pass, call->thread, call->end_ns);
		break;
	case DTC_CALL_READ:
		apply_read(pass, cut->call, call);
		break;
	case DTC_CALL_WRITE:
		if (get_end(pass, call->file) == END_SERVER)
			apply_answer(pass, call);
		else
			apply_request(pass, cut->call, call);
		break;
	case DTC_CALL_CONNECT:
		apply_request(pass, cut->call, call);
		break;
	default:
		break;
	}
}

static bool is_cut(struct pass *pass, const struct dtc_call *call)
{
	if (call->end_ns == DTC_TIME_NONE || call->result == DTC_ABSENT)
		return false;
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_POLL:
		return !dtc_call_is_glance(call);
	case DTC_CALL_READ:
	case DTC_CALL_WRITE:
		return call->result > 0 && get_end(pass, call->file) != END_NONE;
	case DTC_CALL_CONNECT:
		return get_end(pass, call->file) == END_CLIENT;
	default:
		return false;
	}
}

static gint compare_cuts(gconstpointer a, gconstpointer b)
{
	const struct cut *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* The calls of all threads that cut, in order of time. */
static GArray *collect_cuts(struct pass *pass)
{
	GArray *cuts = g_array_new(FALSE, FALSE, sizeof(struct cut));

	for (uint32_t i = 0; i < dtc_history_get_thread_count(pass->history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(pass->history, i);
		for (uint32_t k = 0; k < thread->call_count; k++) {
			const struct dtc_call *call = dtc_history_get_call(pass->history, thread->call_first + k);
			struct cut cut = { call->kind == DTC_CALL_POLL ? call->begin_ns : call->end_ns,
					   thread->call_first + k };
			if (is_cut(pass, call))
				g_array_append_val(cuts, cut);
		}
	}
	g_array_sort(cuts, compare_cuts);
	return cuts;
}

static void add_services(struct pass *pass)
{
	uint32_t file_count = dtc_history_get_file_count(pass->history);
	uint32_t thread_count = dtc_history_get_thread_count(pass->history);

	pass->ends = g_new0(uint8_t, file_count + 1);
	pass->service_of = g_new(uint32_t, file_count + 1);
	memset(pass->service_of, 0xff, (file_count + 1) * sizeof(uint32_t));
	pass->workers = g_new0(struct worker, thread_count + 1);
	for (uint32_t i = 0; i < thread_count; i++)
		pass->workers[i] = (struct worker){ DTC_NONE, dtc_history_get_begin_ns(pass->history) };
	g_autoptr(GArray) cuts = collect_cuts(pass);
	for (guint i = 0; i < cuts->len; i++)
		apply_cut(pass, &g_array_index(cuts, struct cut, i));
	g_free(pass->ends);
	g_free(pass->service_of);
	g_free(pass->workers);
}

/* Who wrote the message, and for which service of its own. */
static void find_client(const struct dtc_usage_build *build, GHashTable *const *written_for, struct service *service)
{
	struct dtc_arrival arrival;
	struct dtc_sender sender;

	if (!dtc_arrival_find_for_read(build->links, service->node, service->read, &arrival) ||
	    !dtc_arrival_find_sender(build->links, &arrival, &sender) || sender.relayed || sender.thread == DTC_NONE)
		return;
	service->client = build->thread_process[sender.node][sender.thread];
	service->exact = sender.exact;
	if (sender.call != DTC_NONE && written_for[sender.node])
		service->parent =
			GPOINTER_TO_UINT(g_hash_table_lookup(written_for[sender.node], GUINT_TO_POINTER(sender.call))) -
			1;
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

static void add_edge(struct dtc_usage_build *build, const struct service *service)
{
	const DtcHistory *h = dtc_links_get_history(build->links, service->node);
	const struct dtc_file *file = dtc_history_get_file(h, service->file);
	const struct dtc_flow *flow = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_in);
	guint server = build->thread_process[service->node][service->thread];
	g_autofree char *host = service->client == G_MAXUINT ? dtc_address_to_host_string(flow->source) : NULL;
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
	g_autofree GHashTable **written_for = g_new0(GHashTable *, node_count + 1);

	for (guint node = 0; node < node_count; node++) {
		if (!build->usage->nodes[node].has_history)
			continue;
		struct pass pass = {
			.build = build,
			.history = dtc_links_get_history(build->links, node),
			.node = node,
			.process_of = build->thread_process[node],
			.written_for = written_for[node] = g_hash_table_new(g_direct_hash, g_direct_equal),
			.services = services,
		};
		add_services(&pass);
	}
	for (guint i = 0; i < services->len; i++)
		find_client(build, written_for, &g_array_index(services, struct service, i));
	for (guint i = 0; i < services->len; i++) {
		const struct service *service = &g_array_index(services, struct service, i);
		if (build->thread_process[service->node][service->thread] == G_MAXUINT ||
		    !(service->is_counted || service->read_bytes || service->written_bytes || service->cpu_ns))
			continue;
		charge_clients(build, services, i);
		add_edge(build, service);
	}
	for (guint node = 0; node < node_count; node++)
		g_clear_pointer(&written_for[node], g_hash_table_unref);
}
