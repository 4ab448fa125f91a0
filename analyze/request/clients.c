/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/clients.h"

#include "analyze/exchange/endpoint.h"

#include <string.h>

struct DtcClients {
	const DtcLinks *links;
	const DtcPackets *const *captures;
	GHashTable **servers; /* by node: pids; NULL: not looked for yet */
	guint node_count;
};

DtcClients *dtc_clients_new(const DtcLinks *links, const DtcPackets *const *captures)
{
	DtcClients *clients = g_new0(DtcClients, 1);

	clients->links = links;
	clients->captures = captures;
	clients->node_count = dtc_links_get_node_count(links);
	clients->servers = g_new0(GHashTable *, clients->node_count + 1);
	return clients;
}

void dtc_clients_free(DtcClients *clients)
{
	if (!clients)
		return;
	for (guint i = 0; i < clients->node_count; i++)
		g_clear_pointer(&clients->servers[i], g_hash_table_unref);
	g_free(clients->servers);
	g_free(clients);
}

/* Of the process with a file's first call; -1: there is none. */
static int32_t find_pid(const DtcHistory *h, uint32_t file)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);

	return count ? dtc_history_get_thread(h, dtc_history_copy_call(h, calls[0]).thread)->pid : -1;
}

static GHashTable *find_servers(const DtcHistory *h)
{
	GHashTable *servers = g_hash_table_new(g_direct_hash, g_direct_equal);

	for (uint32_t i = 0; i < dtc_history_get_file_count(h); i++) {
		const struct dtc_file *file = dtc_history_get_file(h, i);
		bool is_known = file->flow_out != DTC_NONE || dtc_endpoint_has_local_peer(h, i);
		if (file->accept != DTC_NONE)
			g_hash_table_add(
				servers,
				GINT_TO_POINTER(
					dtc_history_get_thread(h, dtc_history_copy_call(h, file->accept).thread)->pid));
		if (file->kind == DTC_FILE_SOCKET && is_known && dtc_endpoint_is_server(h, i))
			g_hash_table_add(servers, GINT_TO_POINTER(find_pid(h, i)));
	}
	return servers;
}

bool dtc_clients_has_only_asked(DtcClients *clients, const struct dtc_exchange *exchange)
{
	guint node = exchange->node;
	const DtcHistory *h = dtc_links_get_history(clients->links, node);
	const DtcPackets *capture = clients->captures[node];

	if (!h || !capture)
		return false;
	const struct dtc_flow *flow = dtc_packets_get_flow(capture, exchange->flow);
	if (memcmp(flow->source, flow->destination, sizeof(flow->source)) != 0)
		return false;
	uint32_t found =
		dtc_endpoint_find_flow(capture, exchange->flow, dtc_history_get_packets(h), true, DTC_TIME_NONE);
	uint32_t file = found == DTC_NONE ? DTC_NONE : dtc_history_find_file_of_flow(h, found);
	int32_t pid = file == DTC_NONE ? -1 : find_pid(h, file);
	if (pid < 0)
		return false;
	if (!clients->servers[node])
		clients->servers[node] = find_servers(h);
	return !g_hash_table_contains(clients->servers[node], GINT_TO_POINTER(pid));
}
