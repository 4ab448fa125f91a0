/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets: kept with the context in which they were sent or received; they tell which connection a descriptor is. */
#include "analyze/state/machine_state.h"

#include <string.h>

#define LOOPBACK "lo"

/*
 * accept() without an address, and connections from before the trace: a segment that leaves inside a call on a
 * descriptor, not from a softirq, is that descriptor's. A socket that is only read sends window updates from its reads
 * (tcp_cleanup_rbuf); without softirq events an ACK inside a read could be anybody's. What is written to one that is
 * corked (TCP_CORK: puma, Apache, nginx's tcp_nopush) leaves when that ends, or when it is closed.
 */
static void bind_file(DtcMachine *m, uint32_t call_index, uint32_t packet)
{
	const struct dtc_packet p = dtc_packets_get(m->history->packets, packet);
	const struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, call_index);
	if (call->file == DTC_NONE)
		return;
	bool is_update = call->kind == DTC_CALL_READ && m->saw[DTC_EVENT_SOFTIRQ_ENTRY] && p.tcp_flags == DTC_TCP_ACK &&
			 !p.payload_bytes;
	bool is_let_go = (DTC_TASK(m, call->thread)->traits & DTC_TRAIT_LETS_GO) && p.payload_bytes > 0;
	if (call->kind != DTC_CALL_WRITE && call->kind != DTC_CALL_CONNECT && !is_update && !is_let_go)
		return;
	uint32_t flow = p.flow;
	struct dtc_file *file = DTC_AT(m->history->files, struct dtc_file, call->file);
	if (file->flow_out != DTC_NONE || file->listens ||
	    (file->kind != DTC_FILE_SOCKET && file->kind != DTC_FILE_UNKNOWN))
		return;
	dtc_machine_set_flow(m, dtc_machine_find_own_file(m, call_index, flow), flow);
}

static const struct dtc_context *get_softirq(const struct dtc_cpu *cpu)
{
	for (guint i = cpu->depth; i-- > 0;)
		if (cpu->stack[i].kind == DTC_CONTEXT_SOFTIRQ)
			return &cpu->stack[i];
	return NULL;
}

/* Mostly it goes to the device at once, and is the only one: then nothing is put into the table. */
static void add_queued(DtcMachine *m, int64_t skb, uint32_t packet)
{
	struct dtc_queued *last = &m->last_queued;
	if (last->packet && last->skb != skb)
		g_hash_table_insert(m->queued, GSIZE_TO_POINTER((gsize)last->skb), GUINT_TO_POINTER(last->packet));
	if (g_hash_table_size(m->queued) > 0)
		g_hash_table_remove(m->queued, GSIZE_TO_POINTER((gsize)skb));
	*last = (struct dtc_queued){ skb, packet + 1 };
}

/* The packet and one; 0: it was not seen to be queued. */
static uint32_t find_queued(const DtcMachine *m, int64_t skb)
{
	if (m->last_queued.packet && m->last_queued.skb == skb)
		return m->last_queued.packet;
	return GPOINTER_TO_UINT(g_hash_table_lookup(m->queued, GSIZE_TO_POINTER((gsize)skb)));
}

static void remove_queued(DtcMachine *m, int64_t skb)
{
	if (m->last_queued.skb == skb)
		m->last_queued.packet = 0;
	if (g_hash_table_size(m->queued) > 0)
		g_hash_table_remove(m->queued, GSIZE_TO_POINTER((gsize)skb));
}

/*
 * The packet goes to the device. net_dev_xmit is logged after the driver's work, often after the peer received: only
 * for a packet that had waited in the qdisc, and is sent by somebody else than who queued it, is that a time of its
 * own.
 */
static void apply_xmit(DtcMachine *m, const struct dtc_event *event)
{
	int64_t skb = event->v[DTC_NET_SKB];
	uint32_t found = find_queued(m, skb);
	if (!found || (event->v[DTC_NET_RESULT] != DTC_ABSENT && event->v[DTC_NET_RESULT] != 0))
		return; /* busy: it stays queued */
	remove_queued(m, skb);
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	const struct dtc_packet_context context = dtc_history_read_context(m->history, found - 1);
	int64_t sent_ns = dtc_packets_get_time_ns(m->history->packets, found - 1);
	const struct dtc_context *softirq = get_softirq(cpu);
	bool same = context.thread == cpu->current && context.call == dtc_machine_get_own_call(m, cpu) &&
		    context.in_softirq == (cpu->depth > 0) && (!softirq || softirq->begin_ns <= sent_ns);
	if (!same)
		dtc_history_set_queue(m->history, found - 1, m->now_ns);
}

/* Namespaces have interfaces of the same name: eth0 of a container is another place than the machine's own. */
static uint16_t find_interface(DtcMachine *m, const char *name, uint32_t netns)
{
	DtcPackets *packets = m->history->packets;
	char place[64];

	if (!netns || !name || strcmp(name, LOOPBACK) == 0) /* which the stages after this one know by its name */
		return dtc_packets_add_interface(packets, name);
	gsize length = strnlen(name, sizeof(m->places[0].name));
	struct dtc_named_place *known =
		&m->places[(netns + (length ? (uint8_t)name[length - 1] : 0)) % G_N_ELEMENTS(m->places)];
	if (known->netns == netns && length < sizeof(known->name) && strcmp(known->name, name) == 0)
		return known->interface;
	g_snprintf(place, sizeof(place), "%s, namespace %u", name, netns);
	uint16_t interface = dtc_packets_add_interface(packets, place);
	if (length < sizeof(known->name)) {
		known->netns = netns;
		known->interface = interface;
		memcpy(known->name, name, length + 1);
	}
	return interface;
}

/* With what recordings from tracefs say beside the headers; false: the event does not, and its own are all. */
static bool complete_headers(const struct dtc_event *event, struct dtc_headers *ret_headers)
{
	bool is_inferred = event->v[DTC_NET_SOURCE] == DTC_HEADER_INFERRED;
	int64_t netns = event->v[DTC_NET_NETNS];
	if (!is_inferred && netns <= 0)
		return false;
	*ret_headers = event->headers;
	ret_headers->is_inferred = is_inferred;
	if (netns > 0)
		ret_headers->netns = (uint32_t)netns;
	return true;
}

void dtc_machine_apply_net(DtcMachine *m, const struct dtc_event *event)
{
	DtcHistory *h = m->history;
	if (event->kind == DTC_EVENT_NET_XMIT) {
		apply_xmit(m, event);
		return;
	}
	/* LTTng 2.1's inet_sock_local_* have no addresses: they belong to no flow, and are told by their numbers */
	bool is_bare = event->kind == DTC_EVENT_INET_OUT || event->kind == DTC_EVENT_INET_IN;
	bool sent = event->kind == DTC_EVENT_NET_SEND || event->kind == DTC_EVENT_INET_OUT;
	if (!is_bare) {
		m->packet_count++;
		m->headerless_count += !event->headers.ip_version;
	}
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	struct dtc_headers completed;
	const struct dtc_headers *headers = &event->headers;
	if (!is_bare && complete_headers(event, &completed))
		headers = &completed;
	uint16_t interface = find_interface(m, event->text[0], headers->netns);
	uint32_t id = dtc_packets_add(h->packets, m->now_ns, sent ? DTC_SENT : DTC_RECEIVED, (uint16_t)event->cpu,
				      interface, headers);
	const struct dtc_context *softirq = get_softirq(cpu);
	struct dtc_packet_context context = { .queue_ns = sent || !softirq ? DTC_TIME_NONE : softirq->raised_ns,
					      .thread = cpu->current,
					      .call = dtc_machine_get_own_call(m, cpu),
					      .in_softirq = cpu->depth > 0,
					      .vector = softirq ? (uint8_t)softirq->value : 0xff };
	dtc_history_add_context(h, &context);

	uint32_t flow = dtc_packets_get_flow_of(h->packets, id);
	if (sent) {
		if (!is_bare && event->v[DTC_NET_SKB] != DTC_ABSENT)
			add_queued(m, event->v[DTC_NET_SKB], id);
		if (flow != DTC_NONE && context.call != DTC_NONE)
			bind_file(m, context.call, id);
		return;
	}
	for (guint i = cpu->depth; i-- > 0 && (!is_bare || m->packet_count == 0);)
		if (cpu->stack[i].kind == DTC_CONTEXT_SOFTIRQ) {
			cpu->stack[i].packet = id;
			break;
		}
	if (flow != DTC_NONE && headers->has_transport && headers->protocol == DTC_PROTOCOL_TCP &&
	    (headers->tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN)
		dtc_machine_add_syn(m, headers, flow);
}
