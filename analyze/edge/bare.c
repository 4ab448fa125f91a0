/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/bare.h"

/* So many packets back is one looked for that another answers: a connection's packets lie near each other. */
#define ANSWERED_MAX 4096
/* Numbers of one connection differ by no more than a window with its scale (RFC 7323). */
#define WINDOW_MAX (1 << 30)

struct DtcBareSends {
	GHashTable *by_numbers; /* struct numbers -> GArray of struct dtc_bare_send */
};

/* What a segment bears. Without padding: compared as bytes. */
struct numbers {
	uint32_t seq;
	uint32_t ack;
	uint32_t tcp_flags;
};

static struct numbers get_numbers(const struct dtc_packet *packet)
{
	return (struct numbers){ packet->seq, packet->ack, packet->tcp_flags };
}

static guint hash_numbers(gconstpointer data)
{
	const struct numbers *numbers = data;
	return (numbers->seq * 0x9e3779b1u ^ numbers->ack) * 0x85ebca6bu ^ numbers->tcp_flags;
}

static gboolean equal_numbers(gconstpointer a, gconstpointer b)
{
	const struct numbers *x = a, *y = b;
	return x->seq == y->seq && x->ack == y->ack && x->tcp_flags == y->tcp_flags;
}

static void add(DtcBareSends *sends, const struct dtc_packet *packet, struct dtc_bare_send send)
{
	struct numbers numbers = get_numbers(packet);
	GArray *alike = g_hash_table_lookup(sends->by_numbers, &numbers);
	if (!alike) {
		alike = g_array_new(FALSE, FALSE, sizeof(send));
		g_hash_table_insert(sends->by_numbers, g_memdup2(&numbers, sizeof(numbers)), alike);
	}
	g_array_append_val(alike, send);
}

DtcBareSends *dtc_bare_sends_new(guint node_count, const DtcHistory *const *histories)
{
	DtcBareSends *sends = g_new0(DtcBareSends, 1);
	sends->by_numbers = g_hash_table_new_full(hash_numbers, equal_numbers, g_free,
						  (GDestroyNotify)(void (*)(void))g_array_unref);
	for (guint node = 0; node < node_count; node++) {
		const DtcPackets *packets = histories[node] ? dtc_history_get_packets(histories[node]) : NULL;
		uint32_t count = packets ? dtc_packets_get_count(packets) : 0;
		for (uint32_t i = 0; i < count; i++) {
			const struct dtc_packet packet = dtc_packets_get(packets, i);
			if (packet.direction == DTC_SENT && dtc_packet_is_bare(&packet))
				add(sends, &packet, (struct dtc_bare_send){ node, i });
		}
	}
	return sends;
}

void dtc_bare_sends_free(DtcBareSends *sends)
{
	if (!sends)
		return;
	g_hash_table_unref(sends->by_numbers);
	g_free(sends);
}

const struct dtc_bare_send *dtc_bare_sends_find(const DtcBareSends *sends, const struct dtc_packet *received,
						guint *ret_count)
{
	struct numbers numbers = get_numbers(received);
	const GArray *alike = g_hash_table_lookup(sends->by_numbers, &numbers);
	*ret_count = alike ? alike->len : 0;
	return alike ? (const struct dtc_bare_send *)(const void *)alike->data : NULL;
}

/* Whether a received packet is of the connection of one that was sent after it. */
static bool fits(const struct dtc_packet *received, const struct dtc_packet *sent)
{
	if (received->direction != DTC_RECEIVED || !dtc_packet_is_bare(received))
		return false;
	int32_t acknowledged = dtc_seq_distance(received->seq, sent->ack);
	int32_t ahead = dtc_seq_distance(received->ack, sent->seq);
	bool is_syn = (received->tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN; /* it has no ack yet */
	return acknowledged >= 0 && acknowledged < WINDOW_MAX && (is_syn || (ahead >= 0 && ahead < WINDOW_MAX));
}

uint32_t dtc_bare_find_answered(const DtcHistory *history, uint32_t sent)
{
	const DtcPackets *packets = dtc_history_get_packets(history);
	const struct dtc_packet answer = dtc_packets_get(packets, sent);
	uint32_t end = sent > ANSWERED_MAX ? sent - ANSWERED_MAX : 0;
	for (uint32_t i = sent; i-- > end;) {
		const struct dtc_packet received = dtc_packets_get(packets, i);
		if (fits(&received, &answer))
			return i;
	}
	return DTC_NONE;
}
