/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of two events in doubt, which packet is whose? Order put one before the other, of two CPUs that were at it at the
 * same time; what else the recording says of them may be against that:
 *   source    What a thread sends, and no interrupt in it, it has sent from that address and port at other times, too,
 *             without doubt: one that connects does it from where it sends later.
 *   sender    All that is known to be sent on that connection in that direction, that thread sent (a thread for each
 *             connection; the threads of a pool take turns).
 *   woken     Whom the interrupt woke that received a packet, that is who waits for it, and sends from where it came
 * to. Datagrams have no other sign where a thread opens a socket for each of its questions. answer    What TCP
 * acknowledges at once it acknowledges on the CPU that received it, before that receives anything else
 * (tcp_rcv_established, __tcp_ack_snd_check; net/ipv4/tcp_input.c): a packet without payload, of the opposite
 * direction, whose number is the end of what came. So is a SYN answered, and that answer. passage   What this node
 * passes on leaves the CPU that received it under the same address, with the same numbers. Addresses and ports may be
 * others (NAT). wire      What was transmitted is what comes in at the other end, under the same address. Two packets
 * are exchanged if more is in favour of that than of the order, and each of the events may have seen either; they are
 * in doubt as before. What is sure tells first, then what it has settled: of a handshake whose every packet is in
 * doubt, what the thread sends later tells whose the SYN is, and that whose the answers are. At last what is told by
 * nothing sure follows what is beside it. Without this, of two responses of one length that left two CPUs at the same
 * moment, an HTTP server's and a proxy's of another request, each was the other's: the proxy had made the server's
 * answer, and all of 280 ms were other requests'. And of two threads that connected at the same moment, each was the
 * other; on a router the SYN of one came in and that of the other went on, in one buffer.
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
/* Backward and forward, in turn. */
#define ROUNDS_MAX 6

/* So many times one thread has sent on a connection, and no other one, until that is believed to be the rule. */
#define SENDER_MIN 3

/* Of a source or of a flow. It stands on the stack until it is new: every packet of the node is looked up. */
struct key {
	uint64_t words[5];
};

/* Who sent on a connection, in one direction. */
struct flow {
	int32_t tid; /* of all that were seen */
	uint32_t count;
	bool has_others;
};

/* An event in doubt. */
struct doubt {
	uint32_t event;
	uint32_t after;	   /* of a reception: the transmission of what its CPU sent next; or DTC_NONE */
	uint32_t before;   /* of what was sent: what its CPU had just received; or DTC_NONE */
	int32_t woken;	   /* the thread that a reception woke; or 0 */
	bool is_passed_on; /* after is of the same buffer */
	bool was_passed_on;
	bool is_settled; /* what is sure, or settled itself, has told */
};

struct settling {
	DtcJoin *join;
	GArray *doubts;	     /* struct doubt, by time */
	GHashTable *places;  /* event + 1 -> its place in doubts + 1 */
	GHashTable *threads; /* of them */
	GHashTable *sources; /* what those threads sent from, without doubt: struct key of make_source() */
	GHashTable
		*flows; /* of their packets: struct key of make_flow() to struct flow, of what was sent without doubt */
	bool takes_doubts; /* what is in doubt itself counts, too */
};

/* NULL: it is in none, or has no packet. */
static struct doubt *find_doubt(const struct settling *settling, uint32_t event)
{
	gsize place = (gsize)g_hash_table_lookup(settling->places, GUINT_TO_POINTER(event + 1));

	return place ? &g_array_index(settling->doubts, struct doubt, place - 1) : NULL;
}

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

/*
 * False: it is not what the running thread sends. In interrupts packets are sent for others; where it is not known
 * whether it is one, payload is the thread's, and what begins a connection, since the kernel sends the rest by itself.
 */
static bool read_sent(const DtcJoin *join, uint32_t transmission, uint32_t packet, struct dtc_join_transport *ret)
{
	const struct dtc_join_event *event = dtc_join_event_at(join, transmission);

	if (!dtc_join_read_transport(join, packet, ret))
		return false;
	if (event->context != DTC_JOIN_CONTEXT_UNKNOWN)
		return event->context == DTC_JOIN_CONTEXT_THREAD;
	return event->length > ret->header_bytes || (ret->flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN;
}

static guint hash_key(gconstpointer value)
{
	const struct key *key = value;
	uint64_t hash = 0;

	for (unsigned int i = 0; i < G_N_ELEMENTS(key->words); i++)
		hash = (hash ^ key->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (guint)(hash >> 32);
}

static gboolean is_same_key(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct key)) == 0;
}

static struct key make_end(int32_t tid, const uint8_t *port, const uint8_t *address, uint32_t address_bytes)
{
	struct key key = { 0 };
	uint8_t *to = (uint8_t *)key.words;

	memcpy(to, &tid, sizeof(tid));
	memcpy(to + sizeof(tid), port, 2);
	memcpy(to + sizeof(tid) + 2, address, address_bytes);
	return key;
}

/* A thread and where it sends from. */
static struct key make_source(int32_t tid, const struct dtc_join_transport *sent)
{
	return make_end(tid, sent->ports, sent->addresses, sent->address_bytes);
}

/* A thread, and what is sent to it. */
static struct key make_destination(int32_t tid, const struct dtc_join_transport *received)
{
	return make_end(tid, received->ports + 2, received->addresses + received->address_bytes,
			received->address_bytes);
}

/* From where, to where. */
static struct key make_flow(const struct dtc_join_transport *sent)
{
	struct key key = { 0 };
	uint8_t *to = (uint8_t *)key.words;

	memcpy(to, sent->ports, 4);
	memcpy(to + 4, sent->addresses, (gsize)2 * sent->address_bytes);
	return key;
}

static void add_source(struct settling *settling, struct key source)
{
	if (!g_hash_table_contains(settling->sources, &source))
		g_hash_table_add(settling->sources, g_memdup2(&source, sizeof(source)));
}

static void learn(struct settling *settling, uint32_t event)
{
	const DtcJoin *join = settling->join;
	const struct dtc_join_event *sent = dtc_join_event_at(join, event);
	struct dtc_join_transport transport;
	uint32_t packet = sent->kind == DTC_JOIN_START_XMIT && sent->tid ? find_sure_packet(join, event) : DTC_NONE;

	if (packet == DTC_NONE || !read_sent(join, event, packet, &transport))
		return;
	if (g_hash_table_contains(settling->threads, GINT_TO_POINTER(sent->tid)))
		add_source(settling, make_source(sent->tid, &transport));
	const struct key key = make_flow(&transport);
	struct flow *flow = g_hash_table_lookup(settling->flows, &key);
	if (!flow)
		return;
	flow->has_others |= flow->count > 0 && flow->tid != sent->tid;
	flow->tid = sent->tid;
	flow->count++;
}

/* Whom a packet wakes, that is who sends from where it came to. */
static void learn_woken(struct settling *settling, const struct dtc_join_woken *woken)
{
	const DtcJoin *join = settling->join;
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, woken->event);
	struct dtc_join_transport transport;

	if (slot->packet == DTC_NONE || slot->is_doubted || !dtc_join_read_transport(join, slot->packet, &transport) ||
	    !g_hash_table_contains(settling->threads, GINT_TO_POINTER(woken->tid)))
		return;
	add_source(settling, make_destination(woken->tid, &transport));
}

/* A sign that the thread which it woke waits for the packet. */
static int count_of_woken(const struct settling *settling, const struct doubt *doubt, uint32_t packet)
{
	struct dtc_join_transport transport;

	if (doubt->woken == 0 || !dtc_join_read_transport(settling->join, packet, &transport))
		return 0;
	const struct key destination = make_destination(doubt->woken, &transport);
	return g_hash_table_contains(settling->sources, &destination);
}

/* Signs that the thread of an event sent the packet. */
static int count_of_sender(const struct settling *settling, uint32_t event, uint32_t packet)
{
	const DtcJoin *join = settling->join;
	uint32_t transmission = find_transmission(join, event);
	struct dtc_join_transport transport;

	if (transmission == DTC_NONE || !read_sent(join, transmission, packet, &transport))
		return 0;
	int32_t tid = dtc_join_event_at(join, transmission)->tid;
	const struct key source = make_source(tid, &transport), key = make_flow(&transport);
	const struct flow *flow = g_hash_table_lookup(settling->flows, &key);
	bool is_sender = flow && flow->tid == tid && !flow->has_others && flow->count >= SENDER_MIN;
	return g_hash_table_contains(settling->sources, &source) + is_sender;
}

/* --- what was answered or passed on ------------------------------------------------------------------------------- */

/* Is the one of opposite ends, and of the same namespace? */
static bool are_opposite(const struct dtc_join_transport *a, const struct dtc_join_transport *b)
{
	uint32_t n = a->address_bytes;

	return b->address_bytes == n && a->netns == b->netns && memcmp(a->addresses, b->addresses + n, n) == 0 &&
	       memcmp(a->addresses + n, b->addresses, n) == 0 && memcmp(a->ports, b->ports + 2, 2) == 0 &&
	       memcmp(a->ports + 2, b->ports, 2) == 0;
}

/* What an event saw, and how long it is. */
struct sight {
	uint32_t event;
	uint32_t packet;
};

static bool is_answer(const DtcJoin *join, struct sight received, struct sight sent)
{
	struct dtc_join_transport answer, asked;

	if (!dtc_join_read_transport(join, sent.packet, &answer) ||
	    !dtc_join_read_transport(join, received.packet, &asked) || !answer.is_tcp || !asked.is_tcp)
		return false;
	uint32_t bytes = dtc_join_event_at(join, received.event)->length - asked.header_bytes;
	uint32_t end = asked.seq + bytes + !!(asked.flags & DTC_TCP_SYN) + !!(asked.flags & DTC_TCP_FIN);
	return dtc_join_event_at(join, sent.event)->length == answer.header_bytes && answer.ack == end &&
	       are_opposite(&answer, &asked);
}

static bool is_passage(const DtcJoin *join, struct sight received, struct sight sent)
{
	struct dtc_join_transport in, out;

	if (!dtc_join_read_transport(join, received.packet, &in) || !dtc_join_read_transport(join, sent.packet, &out) ||
	    in.is_tcp != out.is_tcp)
		return false;
	if (in.is_tcp)
		return in.seq == out.seq && in.ack == out.ack && in.flags == out.flags;
	return memcmp(in.ports, out.ports, 2) == 0 || memcmp(in.ports + 2, out.ports + 2, 2) == 0;
}

/* How much it counts what an event saw: twice if it is sure or settled. */
static int get_weight(const struct settling *settling, uint32_t event)
{
	if (!dtc_join_slot_at(settling->join, event)->is_doubted)
		return 2;
	const struct doubt *doubt = find_doubt(settling, event);
	return doubt && doubt->is_settled ? 2 : settling->takes_doubts;
}

/* Signs that the packet of a doubt belongs to what its CPU did before or after. */
static int count_beside(const struct settling *settling, uint32_t other, bool is_after, bool is_passed,
			struct sight seen)
{
	const DtcJoin *join = settling->join;

	if (other == DTC_NONE)
		return 0;
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, other);
	if (slot->packet == DTC_NONE && slot->next != DTC_NONE)
		other = slot->next; /* seen at the other end of its wire */
	struct sight beside = { other, dtc_join_slot_at(join, other)->packet };
	int weight = beside.packet == DTC_NONE ? 0 : get_weight(settling, other);
	if (weight == 0)
		return 0;
	struct sight received = is_after ? seen : beside, sent = is_after ? beside : seen;
	bool is_sign = is_passed ? is_passage(join, received, sent) : is_answer(join, received, sent);
	return is_sign ? weight : 0;
}

/* Signs that it is what the other end of the wire saw. */
static int count_of_wire(const struct settling *settling, struct sight seen)
{
	const DtcJoin *join = settling->join;
	uint32_t other = dtc_join_slot_at(join, seen.event)->next;
	uint32_t packet = other == DTC_NONE ? DTC_NONE : dtc_join_slot_at(join, other)->packet;
	int weight = packet == DTC_NONE ? 0 : get_weight(settling, other);

	return weight > 0 && dtc_join_is_same(join, packet, seen.packet) ? weight : 0;
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

	int64_t after_ns = dtc_join_packet_at(join, own_packet)->time_ns - seen->time_ns;
	if (seen->kind == DTC_JOIN_START_XMIT)
		from_ns -= slot->until_ns;
	else if (after_ns >= -tolerance_ns)
		to_ns += slot->until_ns;
	else if (slot->next == DTC_NONE) /* stamped before the CPU's backlog, as its own was */
		from_ns -= WINDOW_NS;
	if (seen->kind == DTC_JOIN_RECEIVE && after_ns <= tolerance_ns && slot->next != DTC_NONE)
		from_ns = dtc_join_event_at(join, slot->next)->time_ns; /* the same, on a wire */
	return stamp_ns >= from_ns - tolerance_ns && stamp_ns <= to_ns + tolerance_ns;
}

static int count_signs(const struct settling *settling, const struct doubt *doubt, uint32_t packet)
{
	const struct sight seen = { doubt->event, packet };

	return 2 * count_of_sender(settling, doubt->event, packet) + 2 * count_of_woken(settling, doubt, packet) +
	       count_of_wire(settling, seen) + count_beside(settling, doubt->after, true, doubt->is_passed_on, seen) +
	       count_beside(settling, doubt->before, false, doubt->was_passed_on, seen);
}

/* True: they have been exchanged, or settled. */
static bool compare(const struct settling *settling, struct doubt *a, struct doubt *b)
{
	const DtcJoin *join = settling->join;
	struct dtc_join_slot *slot_a = dtc_join_slot_at(join, a->event), *slot_b = dtc_join_slot_at(join, b->event);
	uint32_t packet_a = slot_a->packet, packet_b = slot_b->packet;

	if (slot_a->group != slot_b->group || !may_see(join, a->event, packet_b, packet_a) ||
	    !may_see(join, b->event, packet_a, packet_b))
		return false;
	int as_is = count_signs(settling, a, packet_a) + count_signs(settling, b, packet_b);
	int exchanged = count_signs(settling, a, packet_b) + count_signs(settling, b, packet_a);
	bool is_settled = a->is_settled && b->is_settled;
	if (exchanged != as_is && !settling->takes_doubts)
		a->is_settled = b->is_settled = true;
	if (exchanged <= as_is)
		return a->is_settled && b->is_settled && !is_settled;
	slot_a->packet = packet_b;
	slot_b->packet = packet_a;
	return true;
}

static void add_doubt(struct settling *settling, uint32_t event)
{
	const DtcJoin *join = settling->join;
	const struct doubt doubt = { .event = event, .after = DTC_NONE, .before = DTC_NONE };
	uint32_t transmission = find_transmission(join, event);
	struct dtc_join_transport transport;

	g_array_append_val(settling->doubts, doubt);
	g_hash_table_insert(settling->places, GUINT_TO_POINTER(event + 1), GUINT_TO_POINTER(settling->doubts->len));
	if (transmission != DTC_NONE)
		g_hash_table_add(settling->threads, GINT_TO_POINTER(dtc_join_event_at(join, transmission)->tid));
	if (!dtc_join_read_transport(join, dtc_join_slot_at(join, event)->packet, &transport))
		return;
	const struct key key = make_flow(&transport);
	if (!g_hash_table_contains(settling->flows, &key))
		g_hash_table_insert(settling->flows, g_memdup2(&key, sizeof(key)), g_new0(struct flow, 1));
}

/* Did the CPU send this, next, of itself, since it received that? */
static bool is_at_once(const DtcJoin *join, uint32_t reception, uint32_t queued)
{
	const struct dtc_join_event *received = dtc_join_event_at(join, reception);
	const struct dtc_join_event *sent = dtc_join_event_at(join, queued);

	return sent->kind == DTC_JOIN_QUEUE && sent->tid == received->tid &&
	       sent->time_ns - received->time_ns <= ANSWER_NS;
}

/* The doubts of a transmission, and of the reception that it leads to. */
static void set_before(struct settling *settling, uint32_t transmission, uint32_t reception, bool is_passed)
{
	const uint32_t ends[2] = { transmission, dtc_join_slot_at(settling->join, transmission)->next };

	for (unsigned int i = 0; i < G_N_ELEMENTS(ends); i++) {
		struct doubt *doubt = ends[i] == DTC_NONE ? NULL : find_doubt(settling, ends[i]);
		if (!doubt)
			continue;
		doubt->before = reception;
		doubt->was_passed_on = is_passed;
	}
}

static void pass_reception(struct settling *settling, uint32_t id, uint32_t next, bool is_doubt)
{
	const DtcJoin *join = settling->join;

	if (next == DTC_NONE || !is_at_once(join, id, next))
		return;
	uint32_t transmission = dtc_join_slot_at(join, next)->next;
	bool is_passed = dtc_join_event_at(join, id)->skb == dtc_join_event_at(join, next)->skb;
	if (transmission == DTC_NONE)
		return;
	if (is_doubt) {
		struct doubt *doubt = &g_array_index(settling->doubts, struct doubt, settling->doubts->len - 1);
		doubt->after = transmission;
		doubt->is_passed_on = is_passed;
	}
	set_before(settling, transmission, id, is_passed);
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
		bool is_doubt = slot->is_doubted && slot->packet != DTC_NONE;
		if (is_doubt)
			add_doubt(settling, id);
		if (dtc_join_event_at(join, id)->kind == DTC_JOIN_RECEIVE)
			pass_reception(settling, id, next[cpu], is_doubt);
		next[cpu] = id;
	}
}

/* Of receptions in doubt. */
static void find_woken(struct settling *settling)
{
	for (uint32_t i = 0; settling->doubts->len > 0 && i < settling->join->woken->len; i++) {
		const struct dtc_join_woken *woken = DTC_AT(settling->join->woken, struct dtc_join_woken, i);
		struct doubt *doubt = find_doubt(settling, woken->event);
		if (!doubt)
			continue;
		doubt->woken = woken->tid;
		g_hash_table_add(settling->threads, GINT_TO_POINTER(woken->tid));
	}
}

/* Of all that is sure. */
static void learn_all(struct settling *settling)
{
	const DtcJoin *join = settling->join;

	if (settling->doubts->len == 0)
		return;
	for (uint32_t i = 0; i < join->events->len; i++)
		learn(settling, i);
	for (uint32_t i = 0; i < join->woken->len; i++)
		learn_woken(settling, DTC_AT(join->woken, struct dtc_join_woken, i));
}

/* With those shortly before it. */
static bool compare_with_others(const struct settling *settling, guint index)
{
	const DtcJoin *join = settling->join;
	struct doubt *a = &g_array_index(settling->doubts, struct doubt, index);
	int64_t a_ns = dtc_join_event_at(join, a->event)->time_ns;
	bool has_changed = false;

	for (guint i = index + 1; i < settling->doubts->len && i - index <= NEAR_MAX; i++) {
		struct doubt *b = &g_array_index(settling->doubts, struct doubt, i);
		if (a_ns - dtc_join_event_at(join, b->event)->time_ns > NEAR_NS)
			break;
		has_changed |= compare(settling, a, b);
	}
	return has_changed;
}

/* What is told goes on to what comes before and after, until nothing changes. */
static void compare_all(const struct settling *settling)
{
	guint count = settling->doubts->len;
	bool has_changed = true;

	for (unsigned int round = 0; round < ROUNDS_MAX && has_changed; round++) {
		has_changed = false;
		for (guint i = 0; i < count; i++)
			has_changed |= compare_with_others(settling, round % 2 ? count - 1 - i : i);
	}
}

void dtc_join_settle_doubts(DtcJoin *join)
{
	struct settling settling = { .join = join };

	settling.doubts = g_array_new(FALSE, FALSE, sizeof(struct doubt));
	settling.places = g_hash_table_new(g_direct_hash, g_direct_equal);
	settling.threads = g_hash_table_new(g_direct_hash, g_direct_equal);
	settling.sources = g_hash_table_new_full(hash_key, is_same_key, g_free, NULL);
	settling.flows = g_hash_table_new_full(hash_key, is_same_key, g_free, g_free);
	find_doubts(&settling);
	find_woken(&settling);
	learn_all(&settling);
	compare_all(&settling);
	settling.takes_doubts = true;
	compare_all(&settling);
	g_array_unref(settling.doubts);
	g_hash_table_unref(settling.places);
	g_hash_table_unref(settling.threads);
	g_hash_table_unref(settling.sources);
	g_hash_table_unref(settling.flows);
}
