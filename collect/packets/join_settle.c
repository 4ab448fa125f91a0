/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of two events in doubt, which packet is whose? Order put one before the other, of two CPUs that were at it at the
 * same time; what else the recording says of them may be against that:
 *   source    A thread that sends a payload has sent from that address and port at other times, without doubt.
 *   sender    All that is known to be sent on that connection in that direction, that thread sent (a thread for each
 *             connection; the threads of a pool take turns).
 *   answer    What TCP acknowledges at once it acknowledges on the CPU that received it, before that receives anything
 *             else (tcp_rcv_established, __tcp_ack_snd_check; net/ipv4/tcp_input.c): a packet without payload, of the
 *             opposite direction, whose number is the end of what came.
 * Two packets are exchanged if more is in favour of that than of the order, and each of the events may have seen
 * either; they are in doubt as before. Without this, of two responses of one length that left two CPUs at the same
 * moment, an HTTP server's and a proxy's of another request, each was the other's: the proxy had made the server's
 * answer, and all of 280 ms were other requests'.
 */
#include "collect/packets/join_records.h"
#include "collect/packets/layers.h"
#include "collect/packets/packets.h"

#include <string.h>

/* Farther from each other, events are not confused, and packets are not theirs (DOUBT_NS, WINDOW_NS: join_match.c). */
#define NEAR_NS 100000
#define WINDOW_NS 1000000
/* Readings of the two clocks have a width. */
#define TOLERANCE_NS 200
/* So long a CPU is at one reception. */
#define ANSWER_NS 100000
/* Doubts within NEAR_NS that one is compared with. */
#define NEAR_MAX 64

/* So many times one thread has sent on a connection, and no other one, until that is believed to be the rule. */
#define SENDER_MIN 3

/* Who sent on a connection, in one direction. */
struct flow {
	int32_t tid; /* of all that were seen */
	uint32_t count;
	bool has_others;
};

/* An event in doubt. */
struct doubt {
	uint32_t event;
	uint32_t answer; /* a reception's: what its CPU sent next, or DTC_NONE */
};

struct settling {
	DtcJoin *join;
	GArray *doubts;	     /* struct doubt, by time */
	GHashTable *threads; /* of them */
	GHashTable *sources; /* what those threads sent from, without doubt: GBytes of make_source() */
	GHashTable *flows; /* of their packets: GBytes of make_flow() to struct flow, of what was sent without doubt */
};

/* --- who sent ----------------------------------------------------------------------------------------------------- */

/* The transmission: the event itself, or what a wire within the node led here; DTC_NONE: it is not known. */
static uint32_t find_transmission(const DtcJoin *join, uint32_t event)
{
	return dtc_join_event_at(join, event)->kind == DTC_JOIN_RECEIVE ? dtc_join_slot_at(join, event)->next : event;
}

/* The packet of a transmission, seen there or at its other end, if it is not in doubt; or DTC_NONE. */
static uint32_t find_sure_packet(const DtcJoin *join, uint32_t transmission)
{
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, transmission);

	if (slot->packet == DTC_NONE && slot->next != DTC_NONE)
		slot = dtc_join_slot_at(join, slot->next);
	return slot->is_doubted ? DTC_NONE : slot->packet;
}

/* False: the packet has no payload: the kernel sends such by itself. */
static bool read_payload(const DtcJoin *join, uint32_t transmission, uint32_t packet, struct dtc_join_transport *ret)
{
	return dtc_join_read_transport(join, packet, ret) &&
	       dtc_join_event_at(join, transmission)->length > ret->header_bytes;
}

/* A thread and where it sends from. */
static GBytes *make_source(int32_t tid, const struct dtc_join_transport *sent)
{
	GByteArray *key = g_byte_array_new();
	g_byte_array_append(key, (const guint8 *)&tid, sizeof(tid));
	g_byte_array_append(key, sent->ports, 2);
	g_byte_array_append(key, sent->addresses, sent->address_bytes);
	return g_byte_array_free_to_bytes(key);
}

/* From where, to where. */
static GBytes *make_flow(const struct dtc_join_transport *sent)
{
	GByteArray *key = g_byte_array_new();
	g_byte_array_append(key, sent->ports, 4);
	g_byte_array_append(key, sent->addresses, 2 * sent->address_bytes);
	return g_byte_array_free_to_bytes(key);
}

static void learn(struct settling *settling, uint32_t event)
{
	const DtcJoin *join = settling->join;
	const struct dtc_join_event *sent = dtc_join_event_at(join, event);
	struct dtc_join_transport transport;
	uint32_t packet = sent->kind == DTC_JOIN_START_XMIT && sent->tid ? find_sure_packet(join, event) : DTC_NONE;

	if (packet == DTC_NONE || !read_payload(join, event, packet, &transport))
		return;
	if (g_hash_table_contains(settling->threads, GINT_TO_POINTER(sent->tid)))
		g_hash_table_add(settling->sources, make_source(sent->tid, &transport));
	g_autoptr(GBytes) key = make_flow(&transport);
	struct flow *flow = g_hash_table_lookup(settling->flows, key);
	if (!flow)
		return;
	flow->has_others |= flow->count > 0 && flow->tid != sent->tid;
	flow->tid = sent->tid;
	flow->count++;
}

/* Signs that the thread of an event sent the packet. */
static int count_of_sender(const struct settling *settling, uint32_t event, uint32_t packet)
{
	const DtcJoin *join = settling->join;
	uint32_t transmission = find_transmission(join, event);
	struct dtc_join_transport transport;

	if (transmission == DTC_NONE || !read_payload(join, transmission, packet, &transport))
		return 0;
	int32_t tid = dtc_join_event_at(join, transmission)->tid;
	g_autoptr(GBytes) source = make_source(tid, &transport);
	g_autoptr(GBytes) key = make_flow(&transport);
	const struct flow *flow = g_hash_table_lookup(settling->flows, key);
	bool is_sender = flow && flow->tid == tid && !flow->has_others && flow->count >= SENDER_MIN;
	return g_hash_table_contains(settling->sources, source) + is_sender;
}

/* --- what was answered -------------------------------------------------------------------------------------------- */

/* What the CPU of a reception sent next, of itself; or DTC_NONE. */
static uint32_t find_answer(const DtcJoin *join, uint32_t reception, uint32_t next)
{
	const struct dtc_join_event *received = dtc_join_event_at(join, reception);

	if (received->kind != DTC_JOIN_RECEIVE || next == DTC_NONE)
		return DTC_NONE;
	const struct dtc_join_event *sent = dtc_join_event_at(join, next);
	if (sent->kind != DTC_JOIN_QUEUE || sent->tid != received->tid || sent->time_ns - received->time_ns > ANSWER_NS)
		return DTC_NONE;
	return dtc_join_slot_at(join, next)->next; /* its transmission */
}

static bool is_answer(const DtcJoin *join, const struct doubt *doubt, uint32_t packet)
{
	struct dtc_join_transport answer, asked;
	uint32_t answered = doubt->answer == DTC_NONE ? DTC_NONE : find_sure_packet(join, doubt->answer);

	if (answered == DTC_NONE || !dtc_join_read_transport(join, answered, &answer) ||
	    !dtc_join_read_transport(join, packet, &asked) || !answer.is_tcp || !asked.is_tcp)
		return false;
	uint32_t bytes = dtc_join_event_at(join, doubt->event)->length - asked.header_bytes;
	uint32_t end = asked.seq + bytes + !!(asked.flags & DTC_TCP_SYN) + !!(asked.flags & DTC_TCP_FIN);
	uint32_t n = asked.address_bytes;
	return dtc_join_event_at(join, doubt->answer)->length == answer.header_bytes && answer.ack == end &&
	       answer.address_bytes == n && answer.netns == asked.netns &&
	       memcmp(answer.addresses, asked.addresses + n, n) == 0 &&
	       memcmp(answer.addresses + n, asked.addresses, n) == 0 && memcmp(answer.ports, asked.ports + 2, 2) == 0 &&
	       memcmp(answer.ports + 2, asked.ports, 2) == 0;
}

/* --- doubts ------------------------------------------------------------------------------------------------------- */

/* Whether an event may have seen the packet, by when that was stamped. */
static bool may_see(const DtcJoin *join, uint32_t event, uint32_t packet, uint32_t own_packet)
{
	const struct dtc_join_event *seen = dtc_join_event_at(join, event);
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, event);
	int64_t stamp_ns = dtc_join_packet_at(join, packet)->time_ns;
	int64_t tolerance_ns = TOLERANCE_NS + 2 * dtc_join_clock_get_error_ns(join->clock);
	int64_t from_ns = seen->time_ns, to_ns = seen->time_ns;

	if (seen->kind == DTC_JOIN_START_XMIT)
		from_ns -= slot->until_ns;
	else if (dtc_join_packet_at(join, own_packet)->time_ns >= seen->time_ns)
		to_ns += slot->until_ns;
	else if (slot->next != DTC_NONE) /* stamped before the CPU's backlog, as its own was */
		from_ns = dtc_join_event_at(join, slot->next)->time_ns;
	else
		from_ns -= WINDOW_NS;
	return stamp_ns >= from_ns - tolerance_ns && stamp_ns <= to_ns + tolerance_ns;
}

static int count_signs(const struct settling *settling, const struct doubt *doubt, uint32_t packet)
{
	return count_of_sender(settling, doubt->event, packet) + is_answer(settling->join, doubt, packet);
}

static void compare(const struct settling *settling, const struct doubt *a, const struct doubt *b)
{
	const DtcJoin *join = settling->join;
	struct dtc_join_slot *slot_a = dtc_join_slot_at(join, a->event), *slot_b = dtc_join_slot_at(join, b->event);
	uint32_t packet_a = slot_a->packet, packet_b = slot_b->packet;

	if (slot_a->group != slot_b->group || !may_see(join, a->event, packet_b, packet_a) ||
	    !may_see(join, b->event, packet_a, packet_b))
		return;
	int as_is = count_signs(settling, a, packet_a) + count_signs(settling, b, packet_b);
	int exchanged = count_signs(settling, a, packet_b) + count_signs(settling, b, packet_a);
	if (exchanged <= as_is)
		return;
	slot_a->packet = packet_b;
	slot_b->packet = packet_a;
}

static void add_doubt(struct settling *settling, uint32_t event, uint32_t next)
{
	const DtcJoin *join = settling->join;
	const struct doubt doubt = { event, find_answer(join, event, next) };
	uint32_t transmission = find_transmission(join, event);
	struct dtc_join_transport transport;

	g_array_append_val(settling->doubts, doubt);
	if (transmission != DTC_NONE)
		g_hash_table_add(settling->threads, GINT_TO_POINTER(dtc_join_event_at(join, transmission)->tid));
	if (!dtc_join_read_transport(join, dtc_join_slot_at(join, event)->packet, &transport))
		return;
	GBytes *key = make_flow(&transport);
	if (g_hash_table_contains(settling->flows, key))
		g_bytes_unref(key);
	else
		g_hash_table_insert(settling->flows, key, g_new0(struct flow, 1));
}

/* Backward, since what a CPU sent next is told by what comes after. */
static void find_doubts(struct settling *settling)
{
	const DtcJoin *join = settling->join;
	g_autofree uint32_t *next = g_new(uint32_t, (gsize)join->cpu_count + 1);

	memset(next, 0xff, join->cpu_count * sizeof(*next));
	for (uint32_t i = join->events->len; i-- > 0;) {
		uint32_t id = join->event_order[i];
		uint16_t cpu = dtc_join_event_at(join, id)->cpu;
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
		if (slot->is_doubted && slot->packet != DTC_NONE)
			add_doubt(settling, id, next[cpu]);
		next[cpu] = id;
	}
}

static void unref_bytes(gpointer bytes)
{
	g_bytes_unref(bytes);
}

void dtc_join_settle_doubts(DtcJoin *join)
{
	struct settling settling = { join, g_array_new(FALSE, FALSE, sizeof(struct doubt)),
				     g_hash_table_new(g_direct_hash, g_direct_equal),
				     g_hash_table_new_full(g_bytes_hash, g_bytes_equal, unref_bytes, NULL),
				     g_hash_table_new_full(g_bytes_hash, g_bytes_equal, unref_bytes, g_free) };

	find_doubts(&settling);
	for (uint32_t i = 0; settling.doubts->len > 0 && i < join->events->len; i++)
		learn(&settling, i);
	for (guint i = 0; i < settling.doubts->len; i++) {
		const struct doubt *a = &g_array_index(settling.doubts, struct doubt, i);
		int64_t a_ns = dtc_join_event_at(join, a->event)->time_ns;
		for (guint j = i + 1; j < settling.doubts->len && j - i <= NEAR_MAX; j++) {
			const struct doubt *b = &g_array_index(settling.doubts, struct doubt, j);
			if (a_ns - dtc_join_event_at(join, b->event)->time_ns > NEAR_NS)
				break;
			compare(&settling, a, b);
		}
	}
	g_array_unref(settling.doubts);
	g_hash_table_unref(settling.threads);
	g_hash_table_unref(settling.sources);
	g_hash_table_unref(settling.flows);
}
