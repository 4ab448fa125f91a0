/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections of one question and one answer: SYN, SYN ACK, ACK, question, answer, and a FIN each way. No packet is
 * lost and none overtakes another of its direction.
 */
#include "clusters/sim/cluster.h"

#include <string.h>

#define SERVER_PORT 8000
#define FIRST_PORT 32768
#define LAST_PORT 60999
#define LEAST_DELAY_NS (25 * SIM_US)
#define MEAN_JITTER_NS (40 * SIM_US)
#define BETWEEN_NS 300
#define NET_IRQ 30
#define NET_RX 3
#define ETHERNET_BYTES 14
#define IP_BYTES 20
#define TCP_BYTES 20
#define FIN 0x01
#define SYN 0x02
#define PSH 0x08
#define ACK 0x10

struct sim_packet {
	struct sim_conn *conn;
	bool from_client;
	enum sim_packet_kind kind;
	struct sim_frame frame;
};

struct sim_conn *sim_conn_new(struct sim_cluster *cluster, guint32 thread, struct sim_call *call)
{
	struct sim_conn *conn = g_new0(struct sim_conn, 1);
	struct sim_node *node = &cluster->nodes[cluster->threads[thread].node];
	conn->client = cluster->threads[thread].node;
	conn->server = call->node;
	conn->client_thread = thread;
	conn->server_thread = SIM_NONE;
	conn->port = node->next_port;
	node->next_port = node->next_port == LAST_PORT ? FIRST_PORT : node->next_port + 1;
	conn->client_seq = g_rand_int(cluster->rand);
	conn->server_seq = g_rand_int(cluster->rand);
	conn->call = call;
	return conn;
}

/* ---- frames ---- */

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static uint32_t sum16(const uint8_t *bytes, gsize count, uint32_t sum)
{
	for (gsize i = 0; i < count; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return sum;
}

static uint32_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static gsize make_payload(const struct sim_cluster *cluster, const struct sim_packet *packet, char *text, gsize size)
{
	const struct sim_call *call = packet->conn->call;
	const struct sim_request *request = call->request;
	if (packet->kind == SIM_QUESTION)
		g_snprintf(text, size, "GET /%s HTTP/1.1\r\nHost: %s\r\nX-Request-Id: req-%06u\r\n\r\n",
			   sim_cause_get_name(request->cause), cluster->nodes[packet->conn->server].name,
			   request->index);
	else if (packet->kind == SIM_ANSWER)
		g_snprintf(text, size, "HTTP/1.1 200 OK\r\nX-Request-Id: req-%06u\r\nContent-Length: 5\r\n\r\ndone\n",
			   request->index);
	else
		return 0;
	return strlen(text);
}

static uint8_t get_flags(enum sim_packet_kind kind)
{
	static const uint8_t flags[] = {
		[SIM_SYN] = SYN,	  [SIM_SYNACK] = SYN | ACK, [SIM_ACK] = ACK, [SIM_QUESTION] = PSH | ACK,
		[SIM_ANSWER] = PSH | ACK, [SIM_FIN] = FIN | ACK
	};
	return flags[kind];
}

static void make_frame(struct sim_cluster *cluster, struct sim_packet *packet)
{
	struct sim_conn *conn = packet->conn;
	struct sim_node *from = &cluster->nodes[packet->from_client ? conn->client : conn->server];
	const struct sim_node *to = &cluster->nodes[packet->from_client ? conn->server : conn->client];
	uint8_t *bytes = packet->frame.bytes, *ip = bytes + ETHERNET_BYTES, *tcp = ip + IP_BYTES;
	uint32_t *seq = packet->from_client ? &conn->client_seq : &conn->server_seq;
	uint32_t ack = packet->from_client ? conn->server_seq : conn->client_seq;
	gsize payload = make_payload(cluster, packet, (char *)tcp + TCP_BYTES, SIM_FRAME_BYTES - 54);
	memset(bytes, 0, ETHERNET_BYTES + IP_BYTES + TCP_BYTES);
	bytes[0] = bytes[6] = 2;
	put32(bytes + 2, to->address);
	put32(bytes + 8, from->address);
	put16(bytes + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)(IP_BYTES + TCP_BYTES + payload));
	put16(ip + 4, from->next_ip_id++);
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = 6;
	put32(ip + 12, from->address);
	put32(ip + 16, to->address);
	put16(ip + 10, fold(sum16(ip, IP_BYTES, 0)));
	put16(tcp, packet->from_client ? conn->port : SERVER_PORT);
	put16(tcp + 2, packet->from_client ? SERVER_PORT : conn->port);
	put32(tcp + 4, *seq);
	put32(tcp + 8, packet->kind == SIM_SYN ? 0 : ack);
	tcp[12] = 5 << 4;
	tcp[13] = get_flags(packet->kind);
	put16(tcp + 14, 502);
	put16(tcp + 16, fold(sum16(tcp, TCP_BYTES + payload, sum16(ip + 12, 8, 6 + (uint32_t)(TCP_BYTES + payload)))));
	packet->frame.size = (uint16_t)(ETHERNET_BYTES + IP_BYTES + TCP_BYTES + payload);
	*seq += (uint32_t)payload + ((tcp[13] & (SYN | FIN)) != 0);
	if (packet->kind == SIM_QUESTION)
		conn->question_bytes = (guint)payload;
	else if (packet->kind == SIM_ANSWER)
		conn->answer_bytes = (guint)payload;
}

/* ---- ways ---- */

int64_t sim_send(struct sim_cluster *cluster, struct sim_conn *conn, bool from_client, enum sim_packet_kind kind,
		 guint cpu, int64_t at_ns)
{
	struct sim_packet *packet = g_new(struct sim_packet, 1);
	*packet = (struct sim_packet){ .conn = conn, .from_client = from_client, .kind = kind };
	make_frame(cluster, packet);
	at_ns = sim_record_frame(cluster, from_client ? conn->client : conn->server, cpu, at_ns + BETWEEN_NS,
				 SIM_NET_QUEUE, &packet->frame);
	int64_t jitter = (int64_t)(g_rand_double(cluster->rand) * g_rand_double(cluster->rand) * 4 * MEAN_JITTER_NS);
	int64_t *last = &conn->arrival_ns[!from_client];
	*last = MAX(at_ns + LEAST_DELAY_NS + jitter, *last + 2 * SIM_US);
	sim_queue_add(cluster->queue, *last, SIM_ARRIVAL, 0, 0, packet);
	return at_ns;
}

/* What a packet means where it comes to, in the interrupt that brings it. */
static int64_t take(struct sim_cluster *cluster, const struct sim_packet *packet, guint cpu, int64_t at_ns)
{
	struct sim_conn *conn = packet->conn;
	struct sim_node *server = &cluster->nodes[conn->server];
	switch (packet->kind) {
	case SIM_SYN:
		return sim_send(cluster, conn, false, SIM_SYNACK, cpu, at_ns);
	case SIM_SYNACK:
		at_ns = sim_send(cluster, conn, true, SIM_ACK, cpu, at_ns);
		conn->is_open = true;
		return sim_wake(cluster, conn->client_thread, cpu, at_ns);
	case SIM_ACK:
		conn->queued_ns = at_ns;
		g_queue_push_tail(&server->accept, conn);
		if (!g_queue_is_empty(&server->waiting))
			return sim_wake(cluster, GPOINTER_TO_UINT(g_queue_pop_head(&server->waiting)), cpu, at_ns);
		return at_ns;
	case SIM_QUESTION:
		conn->has_question = true;
		return conn->server_thread == SIM_NONE ? at_ns : sim_wake(cluster, conn->server_thread, cpu, at_ns);
	case SIM_ANSWER:
		conn->has_answer = true;
		return sim_wake(cluster, conn->client_thread, cpu, at_ns);
	default:
		conn->end_count++;
		return at_ns;
	}
}

void sim_packet_arrive(struct sim_cluster *cluster, struct sim_packet *packet, int64_t at_ns)
{
	struct sim_conn *conn = packet->conn;
	guint32 node = packet->from_client ? conn->server : conn->client;
	guint cpu = conn->port % cluster->options.cpu_count;
	const char *name = "virtio0-input.0";
	int64_t irq[] = { NET_IRQ, 1 }, softirq = NET_RX;
	at_ns = sim_record(cluster, node, cpu, at_ns, SIM_IRQ_ENTRY, irq, &name);
	at_ns = sim_record(cluster, node, cpu, at_ns + BETWEEN_NS, SIM_IRQ_EXIT, irq, NULL);
	at_ns = sim_record(cluster, node, cpu, at_ns + BETWEEN_NS, SIM_SOFTIRQ_ENTRY, &softirq, NULL);
	at_ns = sim_record_frame(cluster, node, cpu, at_ns + BETWEEN_NS, SIM_NET_RECEIVE, &packet->frame);
	at_ns = take(cluster, packet, cpu, at_ns);
	sim_record(cluster, node, cpu, at_ns + BETWEEN_NS, SIM_SOFTIRQ_EXIT, &softirq, NULL);
	g_free(packet);
	if (conn->end_count == 2)
		g_free(conn);
}
