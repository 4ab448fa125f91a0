/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Network namespaces: which one a thread is in (the state dump tells, and children inherit it), and who opened a
 * connection in it. Two pods that both listen on 127.0.0.1:6379 are asked from the same ports.
 */
#include "analyze/state/machine_state.h"

#include <string.h>

#define CLONE_NEWNET 0x40000000u

uint64_t dtc_machine_hash_peer(const uint8_t address[16], int64_t port)
{
	uint64_t a, b;
	memcpy(&a, address, 8);
	memcpy(&b, address + 8, 8);
	return (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu + (uint64_t)port;
}

void dtc_machine_set_environment(DtcMachine *m, const DtcEnvironment *environment)
{
	dtc_packets_share_addresses(m->history->packets, environment);
}

void dtc_machine_apply_netns(DtcMachine *m, const struct dtc_event *event)
{
	uint32_t thread = dtc_machine_get_thread(m, event->v[DTC_DUMP_NETNS_TID], event->cpu);

	if (thread != DTC_NONE && event->v[DTC_DUMP_NETNS_INODE] != DTC_ABSENT)
		DTC_TASK(m, thread)->netns = (uint32_t)event->v[DTC_DUMP_NETNS_INODE];
}

void dtc_machine_inherit_netns(DtcMachine *m, uint32_t parent, uint32_t child)
{
	uint32_t index = DTC_TASK(m, parent)->call;
	const struct dtc_call *call =
		index == DTC_NONE ? NULL : DTC_AT(m->history->filling->calls, struct dtc_call, index);
	bool is_new = call && call->kind == DTC_CALL_FORK && (call->argument & CLONE_NEWNET);

	DTC_TASK(m, child)->netns = is_new ? 0 : DTC_TASK(m, parent)->netns;
}

static uint64_t make_key(const uint8_t address[16], int64_t port, uint32_t netns)
{
	return dtc_machine_hash_peer(address, port) ^ netns * UINT64_C(0xbf58476d1ce4e5b9);
}

void dtc_machine_add_syn(DtcMachine *m, const struct dtc_headers *headers, uint32_t flow)
{
	/* where it arrived: the flow's may be the one where it was sent */
	bool needs = dtc_packets_need_netns(m->history->packets, headers->source, headers->destination);
	uint32_t netns = needs ? headers->netns : 0;
	uint64_t *key = g_new(uint64_t, 1);

	*key = make_key(headers->source, headers->source_port, netns);
	g_hash_table_replace(m->syns, key, GUINT_TO_POINTER(flow + 1));
}

uint32_t dtc_machine_find_syn(DtcMachine *m, uint32_t thread, const uint8_t address[16], int64_t port)
{
	uint32_t netns = DTC_TASK(m, thread)->netns;
	uint64_t key = make_key(address, port, netns);
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(m->syns, &key));

	if (!found && netns && !dtc_packets_is_shared(m->history->packets, address)) {
		key = make_key(address, port, 0); /* of flows that need no namespace */
		found = GPOINTER_TO_UINT(g_hash_table_lookup(m->syns, &key));
	}
	return found - 1;
}
