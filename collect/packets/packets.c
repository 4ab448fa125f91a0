/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both directions of a connection are made together, so a generation is a property of the pair.
 *
 * When does a packet begin a new generation? A capture or a trace sees a SYN several times (sent and received on
 * loopback, retransmitted, on veth and bridge), always with the same sequence number: that is no new connection. It
 * may also miss it, or see the SYN-ACK first. The rules, with "pair" for the latest generation:
 *   SYN       isn known: same number keeps the pair, another begins a new one.
 *             isn not known: keeps a pair in which nothing but SYNs was seen (a new pair, a simultaneous open); else
 *             the pair was found in mid-connection and this is the next one.
 *   SYN-ACK   acknowledges the isn of the reverse flow, and tells it if the SYN itself was missed. One that
 *             acknowledges another number belongs to the generation whose isn it acknowledges (late duplicate), else
 *             begins a new one.
 *   others    the pair; but a straggler of the generation before (last ACK, RST) whose sequence number lies near
 *             that one's and far from the pair's goes there.
 */
#include "collect/packets/packets.h"
#include "collect/packets/records.h"
#include "collect/packets/time_order.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Older generations that a late SYN-ACK or straggler is compared with: ports are not reused faster than that. */
#define GENERATIONS_BACK 4
/* Sequence numbers this close (the order of a window) are of the same connection when stragglers are told apart. */
#define STRAGGLER_SPAN (1 << 20)

/* Namespaces that flows are told apart by. */
#define NETNS_MAX 4096
/* Packets between a packet's sightings in two namespaces, of a connection whose SYN was not seen; a power of two. */
#define SIGHTING_SPAN 1024

static struct dtc_flow *get_flow(const DtcPackets *packets, uint32_t flow)
{
	return dtc_flow_list_get(packets->flows, flow);
}

static uint32_t get_flow_count(const DtcPackets *packets)
{
	return packets->flows->flows->len;
}

static uint32_t get_previous(const DtcPackets *packets, uint32_t flow)
{
	return dtc_flow_list_get_previous(packets->flows, flow);
}

/* Until they are sealed. */
static struct dtc_flow_state *get_state(const DtcPackets *packets, uint32_t flow)
{
	return DTC_AT(packets->states, struct dtc_flow_state, flow);
}

/* Sealed. */
static struct dtc_flow_seen *get_seen(const DtcPackets *packets, uint32_t flow)
{
	return DTC_AT(packets->seen, struct dtc_flow_seen, flow);
}

DtcPackets *dtc_packets_new(void)
{
	DtcPackets *packets = g_new0(DtcPackets, 1);
	packets->packed = dtc_packed_new();
	packets->flows = dtc_flow_list_new();
	packets->states = dtc_table_new(sizeof(struct dtc_flow_state));
	packets->seen = dtc_table_new(sizeof(struct dtc_flow_seen));
	packets->interfaces = g_ptr_array_new_with_free_func(g_free);
	packets->interface_ids = g_hash_table_new(g_str_hash, g_str_equal);
	packets->shared = g_hash_table_new_full(dtc_address_hash, dtc_address_equal, g_free, NULL);
	packets->netns = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	g_array_set_size(packets->netns, 1);
	packets->homes = dtc_homes_new();
	packets->are_flows_here = 1;
	return packets;
}

void dtc_packets_free(DtcPackets *packets)
{
	if (!packets)
		return;
	dtc_packed_free(packets->packed);
	g_free(packets->latest);
	dtc_flow_list_free(packets->flows);
	dtc_table_free(packets->states);
	dtc_table_free(packets->seen);
	dtc_flow_index_free(packets->by_flow);
	g_hash_table_unref(packets->shared);
	g_array_unref(packets->netns);
	dtc_homes_free(packets->homes);
	g_hash_table_unref(packets->interface_ids);
	g_ptr_array_unref(packets->interfaces);
	dtc_space_unref(packets->space);
	dtc_space_unref(packets->scratch);
	dtc_image_unref(packets->image);
	g_free(packets);
}

void dtc_packets_set_spaces(DtcPackets *packets, DtcSpace *space, DtcSpace *scratch)
{
	packets->space = dtc_space_ref(space);
	packets->scratch = dtc_space_ref(scratch);
	dtc_packed_set_space(packets->packed, space);
	dtc_flow_list_set_spaces(packets->flows, space, scratch);
	dtc_table_set_space(packets->seen, space);
	dtc_table_set_space(packets->states, scratch);
}

static uint32_t append_flow(DtcPackets *packets, const struct dtc_flow_key *key)
{
	struct dtc_flow_state state = { 0 };

	dtc_table_append(packets->states, &state);
	return dtc_flow_list_append(packets->flows, key);
}

/* --- namespaces ------------------------------------------------------------------------------------------------- */

/* One address for all of loopback's, which every namespace has. */
static const uint8_t *unify(const uint8_t address[16])
{
	static const uint8_t loopback[16] = { [15] = 1 };

	return dtc_address_is_loopback(address) ? loopback : address;
}

void dtc_packets_share_address(DtcPackets *packets, const uint8_t address[16])
{
	g_assert(packets->packed->count == 0);
	g_hash_table_add(packets->shared, g_memdup2(unify(address), 16));
	packets->has_shared = true;
	if (!packets->latest)
		packets->latest = g_new(struct dtc_packet, SIGHTING_SPAN);
}

bool dtc_packets_is_shared(const DtcPackets *packets, const uint8_t address[16])
{
	return g_hash_table_contains(packets->shared, unify(address));
}

bool dtc_packets_need_netns(const DtcPackets *packets, const uint8_t source[16], const uint8_t destination[16])
{
	return packets->has_shared &&
	       (dtc_packets_is_shared(packets, source) || dtc_packets_is_shared(packets, destination));
}

/* The namespace's index; 0: it is not known which one it is. DTC_NONE: it was never met. */
static uint32_t find_netns(const DtcPackets *packets, uint32_t inode)
{
	for (guint i = 0; i < packets->netns->len; i++)
		if (g_array_index(packets->netns, uint32_t, i) == inode)
			return i;
	return DTC_NONE;
}

/* As find_netns, and from now on it is known. More than an index holds are not told apart: nobody has so many. */
static uint16_t intern_netns(DtcPackets *packets, uint32_t inode)
{
	uint32_t netns = find_netns(packets, inode);

	if (netns != DTC_NONE)
		return (uint16_t)netns;
	if (packets->netns->len == NETNS_MAX)
		return 0;
	g_array_append_val(packets->netns, inode);
	return (uint16_t)(packets->netns->len - 1);
}

uint32_t dtc_packets_get_netns(const DtcPackets *packets, uint16_t netns)
{
	g_assert(netns < packets->netns->len);
	return g_array_index(packets->netns, uint32_t, netns);
}

uint16_t dtc_packets_get_netns_count(const DtcPackets *packets)
{
	return (uint16_t)packets->netns->len;
}

static struct dtc_ends get_ends(const struct dtc_flow_key *key)
{
	return dtc_ends_make(key->source, key->source_port, key->destination, key->destination_port, key->protocol);
}

static bool is_tcp(const struct dtc_headers *headers)
{
	return headers->protocol == DTC_PROTOCOL_TCP && headers->has_transport;
}

static bool is_opening(const struct dtc_headers *headers)
{
	return is_tcp(headers) && (headers->tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN;
}

/* The packet was seen just now as one of that flow. */
static bool has_sighting(const DtcPackets *packets, uint32_t flow, const struct dtc_headers *headers)
{
	uint32_t count = (uint32_t)MIN(packets->latest_count, SIGHTING_SPAN);

	if (!is_tcp(headers) && !headers->ip_id) /* which many have */
		return false;
	for (uint32_t i = 1; i <= count; i++) {
		const struct dtc_packet *p = &packets->latest[(packets->latest_count - i) % SIGHTING_SPAN];
		if (p->flow != flow)
			continue;
		if (is_tcp(headers) ? p->seq == headers->seq && p->ack == headers->ack
				    : p->ip_id == headers->ip_id && p->payload_bytes == headers->payload_bytes)
			return true;
	}
	return false;
}

static bool is_near(const struct dtc_flow_state *state, uint32_t seq)
{
	int32_t distance = dtc_seq_distance(state->last_seq, seq);
	return state->has_packet && distance > -STRAGGLER_SPAN && distance < STRAGGLER_SPAN;
}

/*
 * The latest connection with these ends in that namespace is the packet's. Where it was seen is not known of some: the
 * numbers that a connection began with tell whose they are, as no two have them alike.
 */
static bool is_seen_in(const DtcPackets *packets, struct dtc_flow_key key, uint16_t home,
		       const struct dtc_headers *headers)
{
	uint16_t seen_in = key.netns;

	key.netns = home;
	uint32_t flow = dtc_flow_list_find(packets->flows, &key);
	if (flow == DTC_NONE)
		return false;
	const struct dtc_flow *known = get_flow(packets, flow);
	if (is_opening(headers))
		return known->has_isn && known->isn == headers->seq;
	return (!seen_in && is_tcp(headers) && is_near(get_state(packets, flow), headers->seq)) ||
	       has_sighting(packets, flow, headers);
}

/*
 * The namespace whose flow the packet is of: where the connection was seen first, if it goes through several. A SYN
 * asks again, since a namespace with the same address may have taken the place of another; and so does a packet of
 * which it is not known where it was seen.
 */
static uint16_t choose_home(DtcPackets *packets, const struct dtc_flow_key *key, const struct dtc_headers *headers)
{
	if (dtc_address_is_loopback(key->source) || dtc_address_is_loopback(key->destination))
		return key->netns;
	struct dtc_ends ends = get_ends(key);
	uint16_t known = dtc_homes_find(packets->homes, &ends, key->netns), home;
	bool asks = is_opening(headers) || !key->netns;
	if (known != DTC_NO_HOME && (!asks || is_seen_in(packets, *key, known, headers)))
		return known;
	for (guint i = 0; (home = dtc_homes_get(packets->homes, &ends, i)) != DTC_NO_HOME; i++)
		if (home != known && is_seen_in(packets, *key, home, headers))
			break;
	if (home == DTC_NO_HOME)
		home = known != DTC_NO_HOME ? known : key->netns;
	dtc_homes_set(packets->homes, &ends, key->netns, home);
	return home;
}

/* --- generations ------------------------------------------------------------------------------------------------ */

/*
 * In the caller's place: a key that is given back is copied in pieces longer than those it was just written in, for
 * which a processor waits until they are in its cache; for each packet that was most of what it took to find its flow.
 */
static void make_key(DtcPackets *packets, const struct dtc_headers *headers, struct dtc_flow_key *ret_key)
{
	ret_key->source = headers->source;
	ret_key->destination = headers->destination;
	ret_key->source_port = headers->has_transport ? headers->source_port : 0;
	ret_key->destination_port = headers->has_transport ? headers->destination_port : 0;
	ret_key->netns = 0;
	ret_key->protocol = headers->protocol;
	if (dtc_packets_need_netns(packets, headers->source, headers->destination)) {
		ret_key->netns = intern_netns(packets, headers->netns);
		ret_key->netns = choose_home(packets, ret_key, headers);
	}
}

/* A new generation of both directions. Gives the flow of the key itself. */
static uint32_t append_pair(DtcPackets *packets, const struct dtc_headers *headers)
{
	struct dtc_flow_key key;
	make_key(packets, headers, &key);
	struct dtc_flow_key reverse_key = { key.destination, key.source, key.destination_port,
					    key.source_port, key.netns,	 key.protocol };
	uint32_t flow = append_flow(packets, &key);
	if (dtc_flow_has_key(get_flow(packets, flow), &reverse_key))
		return flow; /* both ends are the same: it is its own reverse */
	uint32_t reverse = append_flow(packets, &reverse_key);
	get_flow(packets, flow)->reverse = reverse;
	get_flow(packets, reverse)->reverse = flow;
	return flow;
}

static uint32_t choose_for_syn(DtcPackets *packets, uint32_t latest, const struct dtc_headers *headers)
{
	const struct dtc_flow *known = get_flow(packets, latest);
	if (known->has_isn
		    ? known->isn != headers->seq
		    : get_state(packets, latest)->is_beyond_syn || get_state(packets, known->reverse)->is_beyond_syn)
		latest = append_pair(packets, headers);
	struct dtc_flow *flow = get_flow(packets, latest);
	flow->has_isn = true;
	flow->isn = headers->seq;
	return latest;
}

static uint32_t choose_for_syn_ack(DtcPackets *packets, uint32_t latest, const struct dtc_headers *headers)
{
	uint32_t id = latest;
	for (int i = 0; i < GENERATIONS_BACK && id != DTC_NONE; i++) {
		struct dtc_flow *flow = get_flow(packets, id);
		const struct dtc_flow *reverse = get_flow(packets, flow->reverse);
		if (reverse->has_isn && reverse->isn + 1 == headers->ack) {
			flow->has_isn = true;
			flow->isn = headers->seq; /* the last one counts: a server may forget and answer anew */
			return id;
		}
		id = get_previous(packets, id);
	}
	if (get_state(packets, latest)->has_packet ||
	    get_state(packets, get_flow(packets, latest)->reverse)->has_packet)
		latest = append_pair(packets, headers);
	struct dtc_flow *flow = get_flow(packets, latest);
	flow->has_isn = true;
	flow->isn = headers->seq;
	struct dtc_flow *reverse = get_flow(packets, flow->reverse);
	reverse->has_isn = true;
	reverse->isn = headers->ack - 1;
	return latest;
}

static uint32_t choose_for_straggler(const DtcPackets *packets, uint32_t latest, const struct dtc_headers *headers)
{
	const struct dtc_flow *flow = get_flow(packets, latest);
	const struct dtc_flow_state *state = get_state(packets, latest);
	uint32_t older = get_previous(packets, latest);
	if (older == DTC_NONE || !(state->has_packet || flow->has_isn) || is_near(state, headers->seq) ||
	    (flow->has_isn && headers->seq - flow->isn < STRAGGLER_SPAN))
		return latest;
	for (int i = 1; i < GENERATIONS_BACK && older != DTC_NONE; i++) {
		if (is_near(get_state(packets, older), headers->seq))
			return older;
		older = get_previous(packets, older);
	}
	return latest;
}

static uint32_t choose_flow(DtcPackets *packets, const struct dtc_headers *headers)
{
	if (headers->ip_version == 0)
		return DTC_NONE;
	struct dtc_flow_key key;
	make_key(packets, headers, &key);
	uint32_t flow = dtc_flow_list_find_again(packets->flows, &key);
	if (flow == DTC_NONE)
		flow = append_pair(packets, headers);
	if (headers->protocol != DTC_PROTOCOL_TCP || !headers->has_transport)
		return flow;
	bool is_syn = headers->tcp_flags & DTC_TCP_SYN;
	bool is_ack = headers->tcp_flags & DTC_TCP_ACK;
	if (is_syn && is_ack)
		flow = choose_for_syn_ack(packets, flow, headers);
	else if (is_syn)
		flow = choose_for_syn(packets, flow, headers);
	else
		flow = choose_for_straggler(packets, flow, headers);
	struct dtc_flow_state *state = get_state(packets, flow);
	state->has_packet = true;
	state->is_beyond_syn |= !is_syn || is_ack;
	state->last_seq = headers->seq;
	return flow;
}

uint32_t dtc_packets_add(DtcPackets *packets, int64_t time_ns, enum dtc_direction direction, uint16_t cpu,
			 uint16_t interface, const struct dtc_headers *headers)
{
	g_assert(!packets->sealed);
	g_assert(packets->packed->count < DTC_NONE - 1);
	struct dtc_packet packet = {
		.time_ns = time_ns,
		.flow = choose_flow(packets, headers),
		.seq = headers->seq,
		.ack = headers->ack,
		.payload_bytes = MIN(headers->payload_bytes, 0xffffffu) & 0xffffffu,
		.ip_id = headers->ip_id,
		.window = headers->window,
		.cpu = cpu & 0x1fff,
		.interface = interface,
		.direction = direction & 1,
		.tcp_flags = headers->tcp_flags,
		.has_timestamps = headers->has_timestamps,
		.is_inferred = headers->is_inferred,
	};
	uint32_t id = packets->packed->count;
	if (packets->latest)
		packets->latest[packets->latest_count++ % SIGHTING_SPAN] = packet;
	dtc_packed_add(packets->packed, &packet,
		       headers->protocol == DTC_PROTOCOL_TCP ? headers->tsval : headers->payload_hash);
	return id;
}

void dtc_packets_append(DtcPackets *packets, const struct dtc_packet *packet, uint32_t mark)
{
	g_assert(!packets->sealed);
	dtc_packed_add(packets->packed, packet, mark);
}

/*
 * They are unpacked, sorted, and packed again: captures are in order but for what two CPUs saw at once, which is sorted
 * while it is packed, so that this is for what was put together from several.
 */
static void sort_by_time(DtcPackets *packets)
{
	DtcPacked *packed = packets->packed;
	g_autoptr(DtcTable) records = dtc_table_new(sizeof(struct dtc_packet));
	g_autoptr(DtcTable) marks = dtc_table_new(sizeof(uint32_t));
	uint32_t count = packed->count;

	dtc_table_extend(records, count);
	dtc_table_extend(marks, count);
	for (uint32_t i = 0; i < count; i++) {
		*DTC_AT(records, struct dtc_packet, i) = dtc_packed_get(packed, i);
		*DTC_AT(marks, uint32_t, i) = dtc_packed_get_mark(packed, i);
	}
	dtc_packets_order_by_time(records, marks);
	dtc_packed_clear(packed);
	for (uint32_t i = 0; i < count; i++)
		dtc_packed_add(packed, DTC_AT(records, struct dtc_packet, i), *DTC_AT(marks, uint32_t, i));
}

void dtc_packets_forget(DtcPackets *packets)
{
	g_assert(!packets->sealed);
	dtc_packed_clear(packets->packed);
}

/* What all packets of a flow have in common: no packet has to be looked at for that. */
static void note_places(DtcPackets *packets)
{
	dtc_table_set_length(packets->seen, get_flow_count(packets));
	for (uint32_t block = 0; block < packets->packed->blocks->len; block++) {
		guint count;
		const struct dtc_packed_place *places = dtc_packed_get_places(packets->packed, block, &count);
		for (guint i = 0; i < count; i++) {
			if (places[i].flow == DTC_NONE)
				continue;
			struct dtc_flow_seen *seen = get_seen(packets, places[i].flow);
			uint16_t interface = (uint16_t)(places[i].seen >> 16);
			seen->is_on_many |= seen->directions && seen->interface != interface;
			seen->interface = interface;
			seen->directions |= (uint8_t)(1 << (places[i].seen >> 13 & 1));
		}
	}
}

/* Of the flows of a block's places how many of their packets there are so far; NULL: it is none. How many places. */
static guint find_counts(const DtcPackets *packets, uint32_t block, uint32_t *counts[DTC_PACKED_COUNT])
{
	guint count;
	const struct dtc_packed_place *places = dtc_packed_get_places(packets->packed, block, &count);

	for (guint i = 0; i < count; i++)
		counts[i] = places[i].flow == DTC_NONE ? NULL : &get_flow(packets, places[i].flow)->packet_count;
	return count;
}

/* The places of each flow's packets in the index; gives how many there are. */
static uint32_t count_by_flow(DtcPackets *packets)
{
	uint32_t *counts[DTC_PACKED_COUNT], first = 0;

	for (uint32_t i = 0; i < get_flow_count(packets); i++)
		get_flow(packets, i)->packet_count = 0;
	for (uint32_t block = 0; block < packets->packed->blocks->len; block++) {
		struct dtc_packed_row row = dtc_packed_find(packets->packed, block * DTC_PACKED_COUNT);
		uint32_t of_place[DTC_PACKED_COUNT] = { 0 };
		guint place_count = find_counts(packets, block, counts);
		for (guint i = 0; i <= row.head->last; i++, row.at += row.head->row_bytes)
			of_place[dtc_packed_read_place(row.head, row.at)]++;
		for (guint i = 0; i < place_count; i++)
			if (counts[i])
				*counts[i] += of_place[i];
	}
	for (uint32_t i = 0; i < get_flow_count(packets); i++) {
		struct dtc_flow *flow = get_flow(packets, i);
		flow->packet_first = first;
		first += flow->packet_count;
		flow->packet_count = flow->packet_first; /* counted again while filling */
	}
	return first;
}

static void index_by_flow(DtcPackets *packets)
{
	uint32_t *counts[DTC_PACKED_COUNT], indexed_count = count_by_flow(packets);

	packets->by_flow = dtc_flow_index_new(packets->space);
	uint32_t *ids = dtc_flow_index_begin(packets->by_flow, indexed_count, packets->scratch);
	for (uint32_t block = 0; block < packets->packed->blocks->len; block++) {
		struct dtc_packed_row row = dtc_packed_find(packets->packed, block * DTC_PACKED_COUNT);
		find_counts(packets, block, counts);
		for (guint i = 0; i <= row.head->last; i++, row.at += row.head->row_bytes) {
			uint32_t *count = counts[dtc_packed_read_place(row.head, row.at)];
			if (count)
				ids[(*count)++] = block * DTC_PACKED_COUNT + i;
		}
	}
	for (uint32_t i = 0; i < get_flow_count(packets); i++) {
		struct dtc_flow *flow = get_flow(packets, i);
		flow->packet_count -= flow->packet_first;
	}
	dtc_flow_index_pack(packets->by_flow);
}

void dtc_packets_seal(DtcPackets *packets)
{
	if (packets->sealed)
		return;
	packets->sealed = true;
	if (!dtc_packed_sort(packets->packed))
		sort_by_time(packets);
	dtc_packed_seal(packets->packed);
	g_clear_pointer(&packets->states, dtc_table_free);
	index_by_flow(packets);
	dtc_flow_list_settle(packets->flows);
	g_clear_pointer(&packets->space, dtc_space_unref); /* the descriptor of one that is not kept */
	g_clear_pointer(&packets->scratch, dtc_space_unref);
	note_places(packets);
	dtc_table_settle(packets->seen);
}

static bool load_flows(DtcPackets *packets, GError **error)
{
	gsize count;
	const struct dtc_flow *flows =
		dtc_image_get(packets->image, "packets.flows", sizeof(struct dtc_flow), &count, error);

	if (!flows)
		return false;
	for (gsize i = 0; i < count; i++)
		if (flows[i].reverse >= count || flows[flows[i].reverse].reverse != i ||
		    flows[i].netns >= packets->netns->len || *(const uint8_t *)&flows[i].has_isn > 1)
			return dtc_image_refuse(packets->image, error, "a flow is not one of two directions");
	dtc_flow_list_show(packets->flows, flows, (uint32_t)count);
	return true;
}

/* What the image tells of where they were seen, instead of what the blocks do. */
static const struct dtc_flow_seen *load_seen(DtcPackets *packets, GError **error)
{
	gsize count;
	const struct dtc_flow_seen *seen = dtc_image_get(packets->image, "packets.seen", sizeof(*seen), &count, error);

	if (!seen)
		return NULL;
	if (count != get_flow_count(packets)) {
		(void)dtc_image_refuse(packets->image, error, "it does not say of each flow where it was seen");
		return NULL;
	}
	dtc_table_free(packets->seen);
	packets->seen = dtc_table_new_borrowed(sizeof(*seen), seen, (guint)count);
	return seen;
}

/*
 * Flows of an image that is far away come when the first is asked for, in any thread. Its owner has judged them.
 */
static void fetch_flows(DtcPackets *packets)
{
	if (!g_once_init_enter(&packets->are_flows_here))
		return;
	g_assert(load_flows(packets, NULL) && load_seen(packets, NULL));
	g_once_init_leave(&packets->are_flows_here, 1);
}

/* It is no change that anybody sees. */
static void need_flows(const DtcPackets *packets)
{
	if (G_UNLIKELY(!g_atomic_pointer_get(&packets->are_flows_here)))
		fetch_flows((DtcPackets *)packets);
}

uint32_t dtc_packets_get_count(const DtcPackets *packets)
{
	return packets->packed->count;
}

struct dtc_packet dtc_packets_get(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packet < packets->packed->count);
	return dtc_packed_get(packets->packed, packet);
}

int64_t dtc_packets_get_time_ns(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packet < packets->packed->count);
	return dtc_packed_get_time_ns(packets->packed, packet);
}

uint32_t dtc_packets_get_flow_of(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packet < packets->packed->count);
	return dtc_packed_get(packets->packed, packet).flow;
}

enum dtc_direction dtc_packets_get_direction(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packet < packets->packed->count);
	return dtc_packed_get(packets->packed, packet).direction;
}

uint32_t dtc_packets_find_behind(const DtcPackets *packets, uint32_t packet)
{
	const DtcPacked *packed = packets->packed;
	g_assert(packets->sealed && packet < packed->count);
	int64_t time_ns = dtc_packed_get_time_ns(packed, packet);
	/* the next one, mostly; of a coarse clock many have the same time */
	return DTC_BISECT_NEAR(i, packet + 1, packed->count, packet + 1, dtc_packed_get_time_ns(packed, i) == time_ns);
}

uint32_t dtc_packets_find_without_flow(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packets->sealed);
	while (packet < packets->packed->count) {
		struct dtc_packed_row row = dtc_packed_find(packets->packed, packet);
		const struct dtc_packed_place *places = (const void *)(row.head + 1);
		uint32_t place = 0, last = packet - packet % DTC_PACKED_COUNT + row.head->last;
		while (place <= row.head->last_place && places[place].flow != DTC_NONE)
			place++;
		for (; place <= row.head->last_place && packet <= last; packet++, row.at += row.head->row_bytes)
			if (places[dtc_packed_read_place(row.head, row.at)].flow == DTC_NONE)
				return packet;
		packet = last + 1;
	}
	return DTC_NONE;
}

uint32_t dtc_packets_get_mark(const DtcPackets *packets, uint32_t packet)
{
	g_assert(packet < packets->packed->count);
	return dtc_packed_get_mark(packets->packed, packet);
}

uint32_t dtc_packets_get_flow_count(const DtcPackets *packets)
{
	gsize count = get_flow_count(packets);

	if (!g_atomic_pointer_get(&packets->are_flows_here)) /* the table of sections tells it */
		(void)dtc_image_get(packets->image, "packets.flows", sizeof(struct dtc_flow), &count, NULL);
	return (uint32_t)count;
}

const struct dtc_flow *dtc_packets_get_flow(const DtcPackets *packets, uint32_t flow)
{
	need_flows(packets);
	g_assert(flow < get_flow_count(packets));
	return get_flow(packets, flow);
}

uint32_t dtc_packets_get_flow_packet(const DtcPackets *packets, uint32_t flow, uint32_t index)
{
	const struct dtc_flow *of = dtc_packets_get_flow(packets, flow);
	g_assert(packets->sealed && index < of->packet_count);
	return dtc_flow_index_get(packets->by_flow, of->packet_first + index);
}

uint32_t dtc_packets_find_flow(const DtcPackets *packets, const uint8_t source[16], uint16_t source_port,
			       const uint8_t destination[16], uint16_t destination_port, uint8_t protocol,
			       uint32_t netns)
{
	need_flows(packets);
	uint32_t index = dtc_packets_need_netns(packets, source, destination) ? find_netns(packets, netns) : 0;
	if (index == DTC_NONE)
		return DTC_NONE;
	struct dtc_flow_key key = { source, destination, source_port, destination_port, (uint16_t)index, protocol };
	struct dtc_ends ends = get_ends(&key);
	uint16_t home = dtc_homes_find(packets->homes, &ends, key.netns);
	if (home != DTC_NO_HOME)
		key.netns = home;
	return dtc_flow_list_find(packets->flows, &key);
}

struct dtc_flow_seen dtc_packets_get_flow_seen(const DtcPackets *packets, uint32_t flow)
{
	need_flows(packets);
	return *get_seen(packets, flow);
}

uint32_t dtc_packets_find_previous_generation(const DtcPackets *packets, uint32_t flow)
{
	need_flows(packets);
	g_assert(flow < get_flow_count(packets));
	return get_previous(packets, flow);
}

/* --- images ----------------------------------------------------------------------------------------------------- */

static gint compare_addresses(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, 16);
}

void dtc_packets_save(const DtcPackets *packets, DtcImageWriter *writer)
{
	need_flows(packets);
	g_autoptr(GArray) homes = dtc_homes_list(packets->homes);
	g_autoptr(GByteArray) shared = g_byte_array_new();
	g_autoptr(GList) addresses = g_list_sort(g_hash_table_get_keys(packets->shared), compare_addresses);

	g_assert(packets->sealed);
	for (GList *address = addresses; address; address = address->next)
		g_byte_array_append(shared, address->data, 16);
	dtc_packed_save(packets->packed, writer);
	dtc_table_save(packets->flows->flows, writer, "packets.flows");
	dtc_table_save(packets->seen, writer, "packets.seen");
	dtc_flow_index_save(packets->by_flow, writer);
	dtc_image_add_strings(writer, "packets.interfaces", (const char *const *)packets->interfaces->pdata,
			      packets->interfaces->len);
	dtc_image_add_copy(writer, "packets.shared", 16, shared->data, shared->len / 16);
	dtc_image_add(writer, "packets.netns", sizeof(uint32_t), packets->netns->data, packets->netns->len);
	dtc_image_add_copy(writer, "packets.homes", sizeof(struct dtc_home), homes->data, homes->len);
}

/* Where the packets are found, flow by flow. */
static bool count_indexed(const DtcPackets *packets, uint32_t *ret_count, GError **error)
{
	uint32_t expected = 0;

	for (uint32_t i = 0; i < get_flow_count(packets); i++) {
		const struct dtc_flow *flow = get_flow(packets, i);
		if (flow->packet_first != expected || flow->packet_count > packets->packed->count - expected)
			return dtc_image_refuse(packets->image, error, "a flow's packets are not there");
		expected += flow->packet_count;
	}
	*ret_count = expected;
	return true;
}

/* What it tells of flows to who does not look at the blocks. */
static bool check_seen(DtcPackets *packets, GError **error)
{
	g_autoptr(DtcTable) noted = NULL;

	note_places(packets);
	noted = g_steal_pointer(&packets->seen);
	const struct dtc_flow_seen *seen = load_seen(packets, error);
	if (!seen)
		return false;
	return noted->len == 0 || memcmp(noted->data, seen, noted->len * sizeof(*seen)) == 0 ||
	       dtc_image_refuse(packets->image, error, "a flow was not seen where it says");
}

static bool load_records(DtcPackets *packets, bool is_far, GError **error)
{
	uint32_t indexed_count = 0;
	DtcPacked *packed = dtc_packed_load_image(packets->image, get_flow_count(packets), error);

	if (!packed)
		return false;
	dtc_packed_free(packets->packed);
	packets->packed = packed;
	if (!is_far && (!count_indexed(packets, &indexed_count, error) || !check_seen(packets, error)))
		return false;
	packets->by_flow = dtc_flow_index_load(packets->image, indexed_count, packed->count, error);
	return packets->by_flow != NULL;
}

static bool load_places(DtcPackets *packets, GError **error)
{
	gsize interface_count, shared_count, netns_count, home_count;
	g_autofree const char **interfaces =
		dtc_image_get_strings(packets->image, "packets.interfaces", &interface_count, error);
	const uint8_t *shared =
		interfaces ? dtc_image_get(packets->image, "packets.shared", 16, &shared_count, error) : NULL;
	const uint32_t *netns =
		shared ? dtc_image_get(packets->image, "packets.netns", sizeof(uint32_t), &netns_count, error) : NULL;
	const struct dtc_home *homes =
		netns ? dtc_image_get(packets->image, "packets.homes", sizeof(struct dtc_home), &home_count, error)
		      : NULL;

	if (!homes)
		return false;
	if (netns_count == 0 || netns_count > NETNS_MAX || interface_count > UINT16_MAX)
		return dtc_image_refuse(packets->image, error,
					"it has more namespaces or interfaces than there can be");
	for (gsize i = 0; i < interface_count; i++)
		g_ptr_array_add(packets->interfaces, g_strdup(interfaces[i]));
	for (gsize i = 0; i < shared_count; i++)
		g_hash_table_add(packets->shared, g_memdup2(shared + 16 * i, 16));
	packets->has_shared = shared_count > 0;
	g_array_set_size(packets->netns, 0);
	g_array_append_vals(packets->netns, netns, (guint)netns_count);
	for (gsize i = 0; i < home_count; i++)
		dtc_homes_set(packets->homes, &homes[i].ends, homes[i].netns, homes[i].home);
	return true;
}

DtcPackets *dtc_packets_load(DtcImage *image, GError **error)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	bool is_far = dtc_image_is_far(image);

	packets->image = dtc_image_ref(image);
	packets->sealed = true;
	packets->are_flows_here = !is_far;
	if (!load_places(packets, error) || (!is_far && !load_flows(packets, error)) ||
	    !load_records(packets, is_far, error))
		return NULL;
	return g_steal_pointer(&packets);
}
