/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets to the events that saw them. Where stamps are taken, in the words of the kernel (net/core/dev.c and
 * net/packet/af_packet.c, 6.1 to 6.18):
 *   out   xmit_one gives the packet to the captures (dev_queue_xmit_nit), then traces net_dev_start_xmit: the stamp is
 *         0.1 to 0.4 us before the event.
 *   in    __netif_receive_skb_core traces netif_receive_skb, then gives the packet to the captures: the stamp is 0.1 to
 *         0.7 us after the event. But as soon as anybody on the machine asks for software stamps (chrony, ping, a DHCP
 *         client, a server of DNS), tpacket_rcv prefers the stamp that the packet got before it was put into a CPU's
 *         backlog: on lo and veth right after the transmission that it comes from, elsewhere some time before the
 *         reception. What bears a time already, as what TCP sends does, is not stamped there: so stamps are judged of
 *         TCP and of the rest apart, and what came through a tunnel may be mixed even so. A packet whose kind is known
 *         is of a transmission, or of a reception, that has just been; one that may be either is of what was last.
 *         (Two SYNs on lo, while a server of DNS asked for stamps, were each the other's: the first was stamped 8 us
 *         after its own transmission, 4 us after the other's, and 1 us after its reception, which did not count.)
 * A CPU does one of these at a time, since bottom halves are off: an event's packet is stamped before the CPU's next
 * event (on the way out, after its last one). So an event waits for its packet from its own time on (on the way out,
 * going backward) until the CPU's next event, and per group and CPU at most one waits. A packet that comes while one
 * event of its group waits is that event's. While several wait, on CPUs that were at it at the same time, or since a
 * packet is missing that was filtered or lost, the first of those within SAME_NS of the latest is taken, and all of
 * them are doubted: order is the rule, but not a law. (Measured on two CPUs with 16 unpinned workers and equal lengths:
 * one in a thousand of order alone is wrong, and all of those are among the doubted.)
 */
#include "collect/packets/join_records.h"
#include "collect/packets/packets.h"

#include <string.h>

#define WINDOW_NS 1000000
#define SAME_NS 2000
/* Between an event and its stamp a virtual CPU may be taken away: 69 us were seen. */
#define DOUBT_NS 100000
/* Where a CPU's packets are stamped before its backlog, several of one CPU wait. */
#define SAME_QUEUED_NS 20000
/* More waiting events than this are not looked at: those that wait longest are given up. */
#define WAITING_MAX 64
/* Readings of the two clocks have a width, and are not repeated for each packet. */
#define TOLERANCE_NS 100

/*
 * Stamps are judged in blocks of this, since a program that asks for them may come and go, and for each device, since a
 * driver may stamp what lo leaves to the capture; of each, TCP and the rest.
 */
#define BLOCK_NS INT64_C(100000000)
#define BLOCKS_MAX (1u << 20)
#define BLOCK_PACKETS_MIN 20
/*
 * A stamp that far after the event is of the capture itself; more on a slow machine, which shows on the way out, where
 * stamps are the capture's always: half of them are so far from their event (an emulated CPU takes 15 us).
 */
#define SOON_NS 3000
#define SOON_OUTS 2
#define SOON_PERCENT 80
/* Below it all are taken before the backlog; between the two some are, and either may be. */
#define EARLY_PERCENT 20

enum pass {
	PASS_OUT,    /* backward in time */
	PASS_IN,     /* forward; at its transmission a reception waits for a stamp that was taken early */
	PASS_QUEUED, /* backward; other receptions whose stamps were taken early, and those of wires that are left */
};

/* Where those of a device are taken: a set. */
enum stamps {
	STAMPS_LATE = 1,  /* at the capture, after the event of the reception */
	STAMPS_EARLY = 2, /* before the CPU's backlog */
	STAMPS_MIXED = STAMPS_LATE | STAMPS_EARLY,
};

/* The kernel does not stamp again what bears a time already, as what TCP sends does. */
enum kind {
	KIND_OTHER,
	KIND_TCP,
	KINDS,
};

struct group {
	uint32_t first; /* waiting, by time of the pass */
	uint32_t last;
	uint32_t count;
	uint32_t device; /* while stamps are judged */
	int64_t seen_ns; /* the latest event, and the latest packet that had none before it */
	int64_t alone_ns;
	uint32_t underway;  /* transmissions whose receptions are to come */
	uint8_t alone_kind; /* enum kind */
	bool has_alone;
};

struct block {
	uint32_t packets;
	uint32_t soon; /* of them, right after an event that they may be of */
};

struct matching {
	DtcJoin *join;
	struct group *groups;
	uint32_t group_count;
	uint32_t *waiting;    /* of each CPU: the event that the next one ends, or DTC_NONE */
	struct block *blocks; /* a row of block_count for each device and kind */
	struct block *all;    /* of each device and kind */
	bool *is_wire;	      /* of each device: its receptions are of what this node transmits */
	uint32_t block_count;
	int64_t block_ns;
	int64_t first_ns;
	int64_t soon_ns;
	int64_t far_ns;
	int64_t tolerance_ns;
	enum pass pass;
};

/* --- where stamps were taken ------------------------------------------------------------------------------------- */

/* Devices are counted, and what has none of their numbers comes after them. */
static uint32_t count_devices(const DtcJoin *join)
{
	return join->devices->len + 1;
}

static uint32_t find_device(const DtcJoin *join, const struct dtc_join_event *event)
{
	return MIN(event->device, join->devices->len);
}

/* What comes from elsewhere bears no time, whatever it is. */
static enum kind get_kind(const struct matching *matching, uint32_t device, const struct dtc_join_packet *packet)
{
	return packet->is_tcp && matching->is_wire[device] ? KIND_TCP : KIND_OTHER;
}

static struct block *find_all(const struct matching *matching, uint32_t device, enum kind kind)
{
	return &matching->all[device * KINDS + kind];
}

static struct block *find_block(const struct matching *matching, uint32_t device, enum kind kind, int64_t time_ns)
{
	struct block *row = &matching->blocks[((gsize)device * KINDS + kind) * matching->block_count];
	int64_t since_ns;

	if (__builtin_sub_overflow(time_ns, matching->first_ns, &since_ns) || since_ns < 0)
		return row;
	return row + MIN(since_ns / matching->block_ns, (int64_t)matching->block_count - 1);
}

static void make_blocks(struct matching *matching)
{
	const DtcJoin *join = matching->join;
	uint32_t count = join->packets->len;
	uint32_t row_count = count_devices(join) * KINDS;
	int64_t span_ns = 0;

	matching->block_ns = BLOCK_NS;
	if (count > 0) {
		matching->first_ns = dtc_join_packet_at(join, join->packet_order[0])->time_ns;
		int64_t last_ns = dtc_join_packet_at(join, join->packet_order[count - 1])->time_ns;
		if (__builtin_sub_overflow(last_ns, matching->first_ns, &span_ns))
			span_ns = INT64_MAX;
	}
	matching->block_ns = MAX(BLOCK_NS, span_ns / (BLOCKS_MAX / row_count));
	matching->block_count = (uint32_t)(span_ns / matching->block_ns) + 1;
	matching->blocks = g_new0(struct block, (gsize)row_count * matching->block_count);
	matching->all = g_new0(struct block, row_count);
}

static void find_wires(struct matching *matching)
{
	const DtcJoin *join = matching->join;

	matching->is_wire = g_new0(bool, count_devices(join));
	for (uint32_t i = 0; i < join->events->len; i++) {
		const struct dtc_join_event *event = dtc_join_event_at(join, i);
		if (event->kind == DTC_JOIN_RECEIVE && dtc_join_slot_at(join, i)->next != DTC_NONE)
			matching->is_wire[find_device(join, event)] = true;
	}
}

static int compare_distances(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* How far stamps are from their events, half of them at most: of what was sent, which has been matched. */
static int64_t measure_distance(const DtcJoin *join)
{
	g_autoptr(GArray) distances = g_array_new(FALSE, FALSE, sizeof(int64_t));

	for (uint32_t i = 0; i < join->events->len; i++) {
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (slot->state != DTC_JOIN_MATCHED)
			continue;
		int64_t distance_ns =
			dtc_join_event_at(join, i)->time_ns - dtc_join_packet_at(join, slot->packet)->time_ns;
		g_array_append_val(distances, distance_ns);
	}
	g_array_sort(distances, compare_distances);
	return distances->len > 0 ? g_array_index(distances, int64_t, distances->len / 2) : 0;
}

static void count_stamp(struct matching *matching, uint32_t device, enum kind kind, int64_t time_ns, bool is_soon)
{
	struct block *block = find_block(matching, device, kind, time_ns);
	struct block *all = find_all(matching, device, kind);

	block->packets++;
	block->soon += is_soon;
	all->packets++;
	all->soon += is_soon;
}

static void judge_packet(struct matching *matching, const struct dtc_join_packet *packet)
{
	struct group *group = &matching->groups[packet->group];
	enum kind kind = get_kind(matching, group->device, packet);
	int64_t after_ns = INT64_MAX;

	if (!packet->is_in || packet->group == 0)
		return;
	if (group->count > 0 && __builtin_sub_overflow(packet->time_ns, group->seen_ns, &after_ns))
		after_ns = INT64_MAX;
	if (group->underway > 0) {
		/* where another has just come, it does not tell */
		if (after_ns > matching->soon_ns)
			count_stamp(matching, group->device, kind, packet->time_ns, false);
		return;
	}
	if (after_ns > WINDOW_NS) {
		group->alone_ns = packet->time_ns;
		group->alone_kind = (uint8_t)kind;
		group->has_alone = true;
		return;
	}
	/* where the transmission is known, a stamp that was taken early is before the reception, however slow all is */
	count_stamp(matching, group->device, kind, packet->time_ns,
		    matching->is_wire[group->device] || after_ns <= matching->soon_ns);
}

/* Where packets are few, one that comes before its event is told by that there is none before it. */
static void judge_event(struct matching *matching, const struct dtc_join_event *event, const struct dtc_join_slot *slot)
{
	struct group *group = &matching->groups[slot->group];
	int64_t after_ns;

	group->seen_ns = event->time_ns;
	group->device = find_device(matching->join, event);
	group->count = 1;
	if (slot->next != DTC_NONE && group->underway > 0)
		group->underway--;
	if (!group->has_alone)
		return;
	group->has_alone = false;
	if (__builtin_sub_overflow(event->time_ns, group->alone_ns, &after_ns) || after_ns > WINDOW_NS)
		return;
	count_stamp(matching, group->device, group->alone_kind, group->alone_ns, false);
}

/* On lo and veth a transmission says of which group the next reception is. */
static void judge_transmission(struct matching *matching, const struct dtc_join_slot *slot)
{
	if (slot->next == DTC_NONE)
		return;
	struct group *group = &matching->groups[dtc_join_slot_at(matching->join, slot->next)->group];
	group->device = find_device(matching->join, dtc_join_event_at(matching->join, slot->next));
	group->underway++;
}

/* Were stamps taken at the capture, right behind the event? */
static void judge_stamps(struct matching *matching)
{
	const DtcJoin *join = matching->join;
	uint32_t e = 0;

	make_blocks(matching);
	find_wires(matching);
	memset(matching->groups, 0, matching->group_count * sizeof(*matching->groups));
	for (uint32_t p = 0; p < join->packets->len; p++) {
		const struct dtc_join_packet *packet = dtc_join_packet_at(join, join->packet_order[p]);
		for (; e < join->events->len; e++) {
			uint32_t id = join->event_order[e];
			const struct dtc_join_event *event = dtc_join_event_at(join, id);
			if (event->time_ns - matching->tolerance_ns > packet->time_ns)
				break;
			const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
			if (event->kind == DTC_JOIN_START_XMIT)
				judge_transmission(matching, slot);
			else
				judge_event(matching, event, slot);
		}
		judge_packet(matching, packet);
	}
}

static enum stamps judge_block(const struct matching *matching, uint32_t device, enum kind kind, int64_t time_ns)
{
	const struct block *block = find_block(matching, device, kind, time_ns);

	if (block->packets < BLOCK_PACKETS_MIN)
		block = find_all(matching, device, kind);
	uint64_t soon = (uint64_t)block->soon * 100;
	if (soon >= (uint64_t)block->packets * SOON_PERCENT)
		return STAMPS_LATE;
	return soon > (uint64_t)block->packets * EARLY_PERCENT ? STAMPS_MIXED : STAMPS_EARLY;
}

/* Of whatever a device receives at that time. */
static enum stamps get_stamps(const struct matching *matching, const struct dtc_join_event *event)
{
	uint32_t device = find_device(matching->join, event);
	enum stamps stamps = 0;

	for (enum kind kind = KIND_OTHER; kind < KINDS; kind++)
		if (find_all(matching, device, kind)->packets > 0)
			stamps |= judge_block(matching, device, kind, event->time_ns);
	return stamps ? stamps : STAMPS_LATE;
}

/* --- events that wait --------------------------------------------------------------------------------------------- */

/* The time as the pass goes: later is larger. */
static int64_t turn(const struct matching *matching, int64_t time_ns)
{
	return matching->pass == PASS_IN ? time_ns : -(time_ns + 1);
}

static bool is_end_of_wire(const DtcJoin *join, uint32_t event)
{
	return dtc_join_slot_at(join, event)->next != DTC_NONE;
}

/* The event that gets the packet for which this one waits: itself, or the reception of what it transmits. */
static uint32_t get_target(const struct matching *matching, uint32_t id)
{
	if (matching->pass == PASS_IN && dtc_join_event_at(matching->join, id)->kind == DTC_JOIN_START_XMIT)
		return dtc_join_slot_at(matching->join, id)->next;
	return id;
}

static bool does_wait(const struct matching *matching, uint32_t id)
{
	const struct dtc_join_event *event = dtc_join_event_at(matching->join, id);
	const struct dtc_join_slot *slot = dtc_join_slot_at(matching->join, id);

	if (matching->pass == PASS_OUT)
		return event->kind == DTC_JOIN_START_XMIT;
	if (event->kind == DTC_JOIN_START_XMIT) {
		/* the stamps are those of the device that receives, which may have another name */
		return matching->pass == PASS_IN && is_end_of_wire(matching->join, id) &&
		       get_stamps(matching, dtc_join_event_at(matching->join, slot->next)) & STAMPS_EARLY;
	}
	if (event->kind != DTC_JOIN_RECEIVE || slot->state != DTC_JOIN_OPEN)
		return false;
	enum stamps stamps = get_stamps(matching, event);
	if (matching->pass == PASS_IN)
		return stamps == STAMPS_LATE || (stamps == STAMPS_MIXED && is_end_of_wire(matching->join, id));
	/* beside many late stamps there may be a few early ones (datagrams beside TCP): such a wait is short */
	return stamps != STAMPS_LATE || is_end_of_wire(matching->join, id);
}

static void remove_first(struct matching *matching, struct group *group)
{
	group->first = dtc_join_slot_at(matching->join, group->first)->open_next;
	if (group->first == DTC_NONE)
		group->last = DTC_NONE;
	group->count--;
}

static int64_t get_distance(int64_t from_ns, int64_t to_ns)
{
	int64_t distance_ns;

	return __builtin_sub_overflow(to_ns, from_ns, &distance_ns) ? INT64_MAX : distance_ns;
}

/* Back from a reception: what came through a wire within the node was not stamped before it was transmitted. */
static uint32_t limit_wait(const struct matching *matching, uint32_t id)
{
	uint32_t sent = dtc_join_slot_at(matching->join, id)->next;

	if (matching->pass != PASS_QUEUED || sent == DTC_NONE)
		return WINDOW_NS;
	int64_t sent_ns = dtc_join_event_at(matching->join, sent)->time_ns;
	return (uint32_t)CLAMP(get_distance(sent_ns, dtc_join_event_at(matching->join, id)->time_ns), 0, WINDOW_NS);
}

static void add_waiting(struct matching *matching, uint32_t id)
{
	DtcJoin *join = matching->join;
	struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
	struct group *group = &matching->groups[dtc_join_slot_at(join, get_target(matching, id))->group];

	slot->open_next = DTC_NONE;
	slot->until_ns = limit_wait(matching, id);
	if (group->count == WAITING_MAX)
		remove_first(matching, group);
	if (group->last == DTC_NONE)
		group->first = id;
	else
		dtc_join_slot_at(join, group->last)->open_next = id;
	group->last = id;
	group->count++;
}

/* The CPU has gone on: the event before has its packet behind it. */
static void end_waiting(struct matching *matching, const struct dtc_join_event *event)
{
	uint32_t *waiting = &matching->waiting[event->cpu];

	if (matching->pass == PASS_QUEUED || *waiting == DTC_NONE)
		return;
	const struct dtc_join_event *before = dtc_join_event_at(matching->join, *waiting);
	int64_t passed_ns = get_distance(turn(matching, before->time_ns), turn(matching, event->time_ns));
	dtc_join_slot_at(matching->join, *waiting)->until_ns = (uint32_t)CLAMP(passed_ns, 0, WINDOW_NS);
	*waiting = DTC_NONE;
}

static void pass_event(struct matching *matching, uint32_t id)
{
	const struct dtc_join_event *event = dtc_join_event_at(matching->join, id);

	end_waiting(matching, event);
	if (!does_wait(matching, id))
		return;
	add_waiting(matching, id);
	matching->waiting[event->cpu] = id;
}

/* --- packets ------------------------------------------------------------------------------------------------------ */

/* False: a reception that waited at both ends of its wire has its packet. */
static bool is_open(const struct matching *matching, uint32_t id)
{
	return dtc_join_slot_at(matching->join, get_target(matching, id))->state == DTC_JOIN_OPEN;
}

/* Takes those out of the group that cannot be meant any more. */
static void give_up(struct matching *matching, struct group *group, int64_t now_ns)
{
	DtcJoin *join = matching->join;
	uint32_t kept = DTC_NONE;

	for (uint32_t id = group->first; id != DTC_NONE;) {
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
		uint32_t next = slot->open_next;
		int64_t waited_ns = get_distance(turn(matching, dtc_join_event_at(join, id)->time_ns), now_ns);
		if (waited_ns <= (int64_t)slot->until_ns + 2 * matching->tolerance_ns && is_open(matching, id)) {
			kept = id;
		} else {
			if (kept == DTC_NONE)
				group->first = next;
			else
				dtc_join_slot_at(join, kept)->open_next = next;
			group->count--;
		}
		id = next;
	}
	group->last = kept;
}

static void take_out(struct matching *matching, struct group *group, uint32_t taken)
{
	DtcJoin *join = matching->join;
	uint32_t before = DTC_NONE;

	for (uint32_t id = group->first; id != taken; id = dtc_join_slot_at(join, id)->open_next)
		before = id;
	if (before == DTC_NONE)
		group->first = dtc_join_slot_at(join, taken)->open_next;
	else
		dtc_join_slot_at(join, before)->open_next = dtc_join_slot_at(join, taken)->open_next;
	if (group->last == taken)
		group->last = before;
	group->count--;
}

/* Where this packet may have been stamped; a group of which none waits has none. */
static enum stamps get_packet_stamps(const struct matching *matching, const struct group *group, uint32_t packet)
{
	uint32_t first = get_target(matching, group->first);
	const struct dtc_join_event *event = dtc_join_event_at(matching->join, first);
	uint32_t device = find_device(matching->join, event);
	const struct dtc_join_packet *of = dtc_join_packet_at(matching->join, packet);

	if (matching->pass != PASS_IN || !is_end_of_wire(matching->join, first))
		return STAMPS_MIXED;
	enum kind kind = get_kind(matching, device, of); /* devices are judged behind the first pass */
	/* what is not known is not ruled out */
	if (find_all(matching, device, kind)->packets < BLOCK_PACKETS_MIN)
		return STAMPS_MIXED;
	return judge_block(matching, device, kind, of->time_ns);
}

/* On the way in a transmission waits for a stamp that was taken early, a reception for one that was taken late. */
static bool does_fit(const struct matching *matching, uint32_t id, enum stamps stamps)
{
	if (matching->pass != PASS_IN)
		return true;
	bool is_sent = dtc_join_event_at(matching->join, id)->kind == DTC_JOIN_START_XMIT;
	return stamps & (is_sent ? STAMPS_EARLY : STAMPS_LATE);
}

/* The next of the group that may have seen a packet with such a stamp, from this one on; or DTC_NONE. */
static uint32_t find_fit(const struct matching *matching, uint32_t id, enum stamps stamps)
{
	while (id != DTC_NONE && !does_fit(matching, id, stamps))
		id = dtc_join_slot_at(matching->join, id)->open_next;
	return id;
}

static uint32_t find_next_fit(const struct matching *matching, uint32_t id, enum stamps stamps)
{
	return find_fit(matching, dtc_join_slot_at(matching->join, id)->open_next, stamps);
}

/* True if which of the two waits for a packet is not told by their order. */
static bool are_confusable(const struct matching *matching, uint32_t one, uint32_t other)
{
	const struct dtc_join_event *a = dtc_join_event_at(matching->join, one);
	const struct dtc_join_event *b = dtc_join_event_at(matching->join, other);

	return get_target(matching, one) != get_target(matching, other) &&
	       ABS(get_distance(a->time_ns, b->time_ns)) <= DOUBT_NS &&
	       (matching->pass != PASS_QUEUED || a->cpu != b->cpu);
}

/* What was found out where it was transmitted: itself, or at the other end of its wire. */
static const struct dtc_join_slot *get_sender(const struct matching *matching, uint32_t id)
{
	const DtcJoin *join = matching->join;
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
	bool is_sent = dtc_join_event_at(join, id)->kind == DTC_JOIN_START_XMIT;

	return is_sent || slot->next == DTC_NONE ? slot : dtc_join_slot_at(join, slot->next);
}

/* The one that transmitted this very packet, as was seen there; DTC_NONE: none, or several did. */
static uint32_t find_sender(const struct matching *matching, uint32_t first, uint32_t packet, enum stamps stamps)
{
	const DtcJoin *join = matching->join;
	uint32_t found = DTC_NONE;

	for (uint32_t id = first; id != DTC_NONE; id = find_next_fit(matching, id, stamps)) {
		uint32_t sent = get_sender(matching, id)->packet;
		if (sent == DTC_NONE || !dtc_join_is_same(join, sent, packet))
			continue;
		if (found != DTC_NONE)
			return DTC_NONE;
		found = id;
	}
	return found;
}

/* The first of those that wait about as long as the latest does. */
static uint32_t choose(const struct matching *matching, uint32_t first, enum stamps stamps)
{
	const DtcJoin *join = matching->join;
	int64_t same_ns = matching->pass == PASS_QUEUED ? SAME_QUEUED_NS : SAME_NS;
	uint32_t latest = first;

	for (uint32_t id = first; id != DTC_NONE; id = find_next_fit(matching, id, stamps))
		latest = id;
	int64_t latest_ns = turn(matching, dtc_join_event_at(join, latest)->time_ns);
	for (uint32_t id = first; id != latest; id = find_next_fit(matching, id, stamps))
		if (get_distance(turn(matching, dtc_join_event_at(join, id)->time_ns), latest_ns) <= same_ns)
			return id;
	return latest;
}

static void doubt_others(struct matching *matching, uint32_t first, uint32_t chosen, enum stamps stamps)
{
	DtcJoin *join = matching->join;
	struct dtc_join_slot *target = dtc_join_slot_at(join, get_target(matching, chosen));

	for (uint32_t id = first; id != DTC_NONE; id = find_next_fit(matching, id, stamps)) {
		if (!are_confusable(matching, chosen, id))
			continue;
		target->is_doubted = true;
		dtc_join_slot_at(join, get_target(matching, id))->is_doubted = true;
	}
}

/*
 * A stamp is right beside what it is of, unless its CPU was taken away in between; else it may be of something that is
 * not there.
 */
static bool is_far(const struct matching *matching, uint32_t event, uint32_t packet)
{
	int64_t event_ns = dtc_join_event_at(matching->join, event)->time_ns;
	int64_t packet_ns = dtc_join_packet_at(matching->join, packet)->time_ns;

	return ABS(get_distance(event_ns, packet_ns)) > matching->far_ns;
}

static void pass_packet(struct matching *matching, uint32_t id)
{
	struct dtc_join_packet *packet = dtc_join_packet_at(matching->join, id);
	struct group *group = &matching->groups[packet->group];
	bool is_in = matching->pass != PASS_OUT;

	if (packet->group == 0 || packet->is_matched || packet->is_in != is_in || group->first == DTC_NONE)
		return;
	give_up(matching, group, turn(matching, packet->time_ns) + matching->tolerance_ns);
	if (group->first == DTC_NONE)
		return;
	enum stamps stamps = get_packet_stamps(matching, group, id);
	uint32_t first = find_fit(matching, group->first, stamps), chosen = DTC_NONE;
	if (first == DTC_NONE) {
		/* answers of TCP that no socket is left for bear no time (ip_send_unicast_reply) */
		stamps = STAMPS_MIXED;
		first = group->first;
	}
	if (matching->pass == PASS_IN && find_next_fit(matching, first, stamps) != DTC_NONE)
		chosen = find_sender(matching, first, id, stamps);
	bool is_told = chosen != DTC_NONE;
	if (!is_told)
		chosen = choose(matching, first, stamps);
	/* what is in doubt of the transmissions is of the receptions, too */
	if (!is_told || get_sender(matching, chosen)->is_doubted)
		doubt_others(matching, first, chosen, stamps);
	struct dtc_join_slot *slot = dtc_join_slot_at(matching->join, get_target(matching, chosen));
	slot->is_doubted |= matching->pass == PASS_IN && is_far(matching, chosen, id);
	take_out(matching, group, chosen);
	slot->packet = id;
	slot->state = DTC_JOIN_MATCHED;
	packet->is_matched = true;
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static void begin_pass(struct matching *matching, enum pass pass)
{
	matching->pass = pass;
	for (uint32_t i = 0; i < matching->group_count; i++)
		matching->groups[i] = (struct group){ .first = DTC_NONE, .last = DTC_NONE };
	memset(matching->waiting, 0xff, matching->join->cpu_count * sizeof(uint32_t));
}

static uint32_t pick(const uint32_t *order, uint32_t count, uint32_t i, enum pass pass)
{
	return pass == PASS_IN ? order[i] : order[count - 1 - i];
}

/* Events and packets in the order of the pass; an event before the packets that its clock's error may put before it. */
static void run_pass(struct matching *matching, enum pass pass)
{
	DtcJoin *join = matching->join;
	uint32_t event_count = join->events->len, packet_count = join->packets->len;

	begin_pass(matching, pass);
	for (uint32_t e = 0, p = 0; p < packet_count; p++) {
		uint32_t packet = pick(join->packet_order, packet_count, p, pass);
		int64_t now_ns = turn(matching, dtc_join_packet_at(join, packet)->time_ns) + matching->tolerance_ns;
		for (; e < event_count; e++) {
			uint32_t event = pick(join->event_order, event_count, e, pass);
			if (turn(matching, dtc_join_event_at(join, event)->time_ns) > now_ns)
				break;
			pass_event(matching, event);
		}
		pass_packet(matching, packet);
	}
}

/* What was sent tells how far stamps are from their events on this machine. */
static void measure(struct matching *matching)
{
	const DtcJoin *join = matching->join;

	matching->soon_ns = MAX(SOON_NS, SOON_OUTS * MIN(measure_distance(join), WINDOW_NS));
	matching->far_ns = MAX(DOUBT_NS, matching->soon_ns);
	for (uint32_t i = 0; i < join->events->len; i++) {
		struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (slot->state == DTC_JOIN_MATCHED)
			slot->is_doubted |= is_far(matching, i, slot->packet);
	}
}

void dtc_join_match_packets(DtcJoin *join)
{
	struct matching matching = { .join = join };

	matching.tolerance_ns = TOLERANCE_NS + dtc_join_clock_get_error_ns(join->clock);
	matching.group_count = g_hash_table_size(join->groups) + 1;
	matching.groups = g_new0(struct group, matching.group_count);
	matching.waiting = g_new(uint32_t, (gsize)join->cpu_count + 1);
	run_pass(&matching, PASS_OUT);
	measure(&matching);
	dtc_join_settle_doubts(join);
	judge_stamps(&matching);
	run_pass(&matching, PASS_IN);
	run_pass(&matching, PASS_QUEUED);
	dtc_join_settle_doubts(join);
	g_free(matching.groups);
	g_free(matching.waiting);
	g_free(matching.blocks);
	g_free(matching.all);
	g_free(matching.is_wire);
}
