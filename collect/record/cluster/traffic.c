/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/traffic.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <unistd.h>

#define HEADER_BYTES 64u /* of a packet: the addresses, and the ports of most */
#define MAX_TURN 1000u	 /* packets that are taken at once */
#define V4_SOURCE 12u
#define V6_SOURCE 8u
#define V4_HEADER_BYTES 20u
#define V6_HEADER_BYTES 40u
/*
 * That are looked for. The kernel makes four instructions of its own, of 8 bytes, of an address' two, and the whole
 * must fit into net.core.optmem_max: 20480 bytes before Linux 6.8.
 */
#define MAX_ADDRESSES 400u
#ifndef PACKET_IGNORE_OUTGOING /* Linux 4.20 */
#define PACKET_IGNORE_OUTGOING 23
#endif

struct source {
	uint8_t address[16];
	guint number;
};

struct DtcTraffic {
	int fd;
	uint16_t own_port;
	GArray *sources; /* struct source */
	GArray *counts;	 /* guint, of each node */
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const uint8_t address[16])
{
	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* ---- the filter ---- */

static void add_instruction(GArray *program, uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t operand)
{
	const struct sock_filter instruction = { code, if_true, if_false, operand };

	g_array_append_val(program, instruction);
}

static uint32_t get_word(const uint8_t *address, guint index)
{
	uint32_t word;

	memcpy(&word, address + (gsize)4 * index, sizeof(word));
	return ntohl(word);
}

/* What is compared: of IPv4 the address, of IPv6 its words folded into one, which few others share by chance. */
static uint32_t get_mark(const uint8_t address[16])
{
	return is_v4(address)
		       ? get_word(address, 3)
		       : get_word(address, 0) ^ get_word(address, 1) ^ get_word(address, 2) ^ get_word(address, 3);
}

/* The mark of a packet's source, into the accumulator. */
static void add_mark(GArray *program, bool has_v4)
{
	add_instruction(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, has_v4 ? V4_SOURCE : V6_SOURCE);
	for (guint i = 1; i < 4 && !has_v4; i++) {
		add_instruction(program, BPF_MISC | BPF_TAX, 0, 0, 0);
		add_instruction(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, V6_SOURCE + 4 * i);
		add_instruction(program, BPF_ALU | BPF_XOR | BPF_X, 0, 0, 0);
	}
}

/* An address more: hands the packet over, or goes on behind it. */
static void add_source(GArray *program, const uint8_t address[16])
{
	add_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, get_mark(address));
	add_instruction(program, BPF_RET | BPF_K, 0, 0, HEADER_BYTES);
}

/* What is wanted of one protocol; another one goes on behind it. */
static void add_protocol(const DtcTraffic *traffic, GArray *program, bool wants_v4)
{
	guint begin = program->len;

	add_instruction(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL));
	add_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, wants_v4 ? ETH_P_IP : ETH_P_IPV6);
	add_instruction(program, BPF_JMP | BPF_JA, 0, 0, 0);
	add_mark(program, wants_v4);
	for (guint i = 0; i < traffic->sources->len; i++) {
		const struct source *source = &g_array_index(traffic->sources, struct source, i);
		if (is_v4(source->address) == wants_v4 && !dtc_traffic_is_enough(traffic, source->number))
			add_source(program, source->address);
	}
	add_instruction(program, BPF_RET | BPF_K, 0, 0, 0);
	g_array_index(program, struct sock_filter, begin + 2).k = program->len - (begin + 3);
}

static bool attach(const DtcTraffic *traffic)
{
	g_autoptr(GArray) instructions = g_array_new(FALSE, FALSE, sizeof(struct sock_filter));

	add_protocol(traffic, instructions, true);
	add_protocol(traffic, instructions, false);
	add_instruction(instructions, BPF_RET | BPF_K, 0, 0, 0);
	const struct sock_fprog program = { (unsigned short)instructions->len, (void *)instructions->data };
	return setsockopt(traffic->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* ---- the tap ---- */

DtcTraffic *dtc_traffic_open(uint16_t own_port)
{
	int yes = 1, fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	g_autoptr(GArray) sources = g_array_new(FALSE, FALSE, sizeof(struct source));
	g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(guint));
	DtcTraffic traffic = { fd, own_port, sources, counts };

	/* it is bound once it has its filter, which lets nothing pass yet */
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) != 0 || !attach(&traffic) ||
	    bind(fd, (const struct sockaddr *)&all, sizeof(all)) != 0) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	g_steal_pointer(&sources);
	g_steal_pointer(&counts);
	return g_memdup2(&traffic, sizeof(traffic));
}

void dtc_traffic_free(DtcTraffic *traffic)
{
	if (!traffic)
		return;
	close(traffic->fd);
	g_array_unref(traffic->sources);
	g_array_unref(traffic->counts);
	g_free(traffic);
}

void dtc_traffic_add(DtcTraffic *traffic, const uint8_t (*addresses)[16], guint count)
{
	struct source source = { .number = traffic->counts->len };

	g_array_set_size(traffic->counts, traffic->counts->len + 1);
	for (guint i = 0; i < count && traffic->sources->len < MAX_ADDRESSES; i++) {
		memcpy(source.address, addresses[i], sizeof(source.address));
		g_array_append_val(traffic->sources, source);
	}
}

int dtc_traffic_get_fd(const DtcTraffic *traffic)
{
	return traffic->fd;
}

bool dtc_traffic_is_enough(const DtcTraffic *traffic, guint number)
{
	return g_array_index(traffic->counts, guint, number) >= DTC_TRAFFIC_ENOUGH;
}

void dtc_traffic_begin(DtcTraffic *traffic)
{
	if (traffic->counts->len) /* else there is no data */
		memset(traffic->counts->data, 0, traffic->counts->len * sizeof(guint));
	(void)attach(traffic);
}

/* ---- what comes ---- */

/* Of a UDP packet whose ports are there; else 0. */
static uint16_t get_udp_port(const uint8_t *bytes, gsize count, bool has_v4)
{
	gsize header = has_v4 ? (gsize)4 * (bytes[0] & 0xf) : V6_HEADER_BYTES;
	uint8_t protocol = bytes[has_v4 ? 9 : 6];

	return protocol == IPPROTO_UDP && count >= header + 4 ? (uint16_t)(bytes[header + 2] << 8 | bytes[header + 3])
							      : 0;
}

/* True if that made it enough. */
static bool count_packet(DtcTraffic *traffic, const uint8_t *bytes, gsize count)
{
	uint8_t source[16];
	bool has_v4 = count >= V4_HEADER_BYTES && bytes[0] >> 4 == 4;

	if (!has_v4 && (count < V6_HEADER_BYTES || bytes[0] >> 4 != 6))
		return false;
	if (get_udp_port(bytes, count, has_v4) == traffic->own_port)
		return false;
	memcpy(source, mapped, sizeof(mapped));
	if (has_v4)
		memcpy(source + sizeof(mapped), bytes + V4_SOURCE, 4);
	else
		memcpy(source, bytes + V6_SOURCE, 16);
	for (guint i = 0; i < traffic->sources->len; i++) {
		const struct source *at = &g_array_index(traffic->sources, struct source, i);
		if (memcmp(at->address, source, 16) == 0)
			return ++g_array_index(traffic->counts, guint, at->number) == DTC_TRAFFIC_ENOUGH;
	}
	return false;
}

void dtc_traffic_go_on(DtcTraffic *traffic)
{
	uint8_t bytes[HEADER_BYTES];
	ssize_t count;

	for (guint i = 0; i < MAX_TURN && (count = recv(traffic->fd, bytes, sizeof(bytes), 0)) >= 0; i++)
		if (count_packet(traffic, bytes, (gsize)count))
			(void)attach(traffic);
}
