/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets to the events that saw them. Where stamps are taken, in the words of the kernel (net/core/dev.c and
 * net/packet/af_packet.c, 6.1 to 6.18):
 *   out   xmit_one gives the packet to the captures (dev_queue_xmit_nit), then traces net_dev_start_xmit: the stamp is
 *         0.1 to 0.4 us before the event.
 *   in    __netif_receive_skb_core traces netif_receive_skb, then gives the packet to the captures: the stamp is 0.1 to
 *         0.7 us after the event. But as soon as anybody on the machine asks for software stamps (chrony, ping, a DHCP
 *         client), tpacket_rcv prefers the stamp that the packet got before it was put into a CPU's backlog: on lo and
 *         veth right after the transmission that it comes from, elsewhere some time before the reception.
 *         What bears a time already, as what TCP sends does, is not stamped there: on veth both kinds may be mixed.
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
 * driver may stamp what lo leaves to the capture.
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
	PASS_IN,     /* forward; a reception whose stamp was taken early stands at its transmission */
	PASS_QUEUED, /* backward; other receptions whose stamps were taken early, and those of wires that are left */
};

/* Where those of a device are taken. */
enum stamps {
	STAMPS_LATE,  /* at the capture, after the event of the reception */
	STAMPS_EARLY, /* before the CPU's backlog */
	STAMPS_MIXED, /* the kernel does not stamp again what bears a time already, as what TCP sends does */
};

struct group {
	uint32_t first; /* waiting, by time of the pass */
	uint32_t last;
	uint32_t count;
	uint32_t device; /* while stamps are judged */
	int64_t seen_ns; /* the latest event, and the latest packet that had none before it */
	int64_t alone_ns;
	bool has_alone;
	bool is_wire;	  /* its receptions are of what this node transmits */
	bool is_underway; /* the latest was a transmission, and its reception is to come */
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
	struct block *blocks; /* a row of block_count for each device */
	struct block *all;    /* of each device */
	uint32_t block_count;
	int64_t block_ns;
	int64_t first_ns;
	int64_t soon_ns;
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

static struct block *find_block(const struct matching *matching, uint32_t device, int64_t time_ns)
{
	struct block *row = &matching->blocks[(gsize)device * matching->block_count];
	int64_t since_ns;

	if (__builtin_sub_overflow(time_ns, matching->first_ns, &since_ns) || since_ns < 0)
		return row;
	return row + MIN(since_ns / matching->block_ns, (int64_t)matching->block_count - 1);
}

static void make_blocks(struct matching *matching)
{
	const DtcJoin *join = matching->join;
	uint32_t count = join->packets->len;
	int64_t span_ns = 0;

	matching->block_ns = BLOCK_NS;
	if (count > 0) {
		matching->first_ns = dtc_join_packet_at(join, join->packet_order[0])->time_ns;
		int64_t last_ns = dtc_join_packet_at(join, join->packet_order[count - 1])->time_ns;
		if (__builtin_sub_overflow(last_ns, matching->first_ns, &span_ns))
			span_ns = INT64_MAX;
	}
	matching->block_ns = MAX(BLOCK_NS, span_ns / (BLOCKS_MAX / count_devices(join)));
	matching->block_count = (uint32_t)(span_ns / matching->block_ns) + 1;
	matching->blocks = g_new0(struct block, (gsize)count_devices(join) * matching->block_count);
	matching->all = g_new0(struct block, count_devices(join));
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

static void judge_packet(struct matching *matching, const struct dtc_join_packet *packet)
{
	struct group *group = &matching->groups[packet->group];
	int64_t after_ns;

	if (!packet->is_in || packet->group == 0)
		return;
	if (group->is_underway) {
		find_block(matching, group->device, packet->time_ns)->packets++;
		matching->all[group->device].packets++;
		return;
	}
	if (group->count == 0 || __builtin_sub_overflow(packet->time_ns, group->seen_ns, &after_ns) ||
	    after_ns > WINDOW_NS) {
		group->alone_ns = packet->time_ns;
		group->has_alone = true;
		return;
	}
	struct block *block = find_block(matching, group->device, packet->time_ns);
	struct block *all = &matching->all[group->device];
	/* where the transmission is known, a stamp that was taken early is before the reception, however slow all is */
	bool is_soon = group->is_wire || after_ns <= matching->soon_ns;
	block->packets++;
	block->soon += is_soon;
	all->packets++;
	all->soon += is_soon;
}

/* Where packets are few, one that comes before its event is told by that there is none before it. */
static void judge_event(struct matching *matching, const struct dtc_join_event *event, struct group *group)
{
	int64_t after_ns;

	group->seen_ns = event->time_ns;
	group->device = find_device(matching->join, event);
	group->count = 1;
	group->is_underway = false;
	if (!group->has_alone)
		return;
	group->has_alone = false;
	if (__builtin_sub_overflow(event->time_ns, group->alone_ns, &after_ns) || after_ns > WINDOW_NS)
		return;
	find_block(matching, group->device, group->alone_ns)->packets++;
	matching->all[group->device].packets++;
}

/* On lo and veth a transmission says of which group the next reception is. */
static void judge_transmission(struct matching *matching, const struct dtc_join_slot *slot)
{
	if (slot->next == DTC_NONE)
		return;
	struct group *group = &matching->groups[dtc_join_slot_at(matching->join, slot->next)->group];
	group->device = find_device(matching->join, dtc_join_event_at(matching->join, slot->next));
	group->is_wire = group->is_underway = true;
}

/* Were stamps taken at the capture, right behind the event? */
static void judge_stamps(struct matching *matching)
{
	const DtcJoin *join = matching->join;
	uint32_t e = 0;

	make_blocks(matching);
	memset(matching->groups, 0, matching->group_count * sizeof(*matching->groups));
	matching->soon_ns = MAX(SOON_NS, SOON_OUTS * MIN(measure_distance(join), WINDOW_NS));
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
				judge_event(matching, event, &matching->groups[slot->group]);
		}
		judge_packet(matching, packet);
	}
}

static enum stamps get_stamps(const struct matching *matching, const struct dtc_join_event *event)
{
	uint32_t device = find_device(matching->join, event);
	const struct block *block = find_block(matching, device, event->time_ns);

	if (block->packets < BLOCK_PACKETS_MIN)
		block = &matching->all[device];
	uint64_t soon = (uint64_t)block->soon * 100;
	if (soon >= (uint64_t)block->packets * SOON_PERCENT)
		return STAMPS_LATE;
	return soon > (uint64_t)block->packets * EARLY_PERCENT ? STAMPS_MIXED : STAMPS_EARLY;
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
		       get_stamps(matching, dtc_join_event_at(matching->join, slot->next)) != STAMPS_LATE;
	}
	if (event->kind != DTC_JOIN_RECEIVE)
		return false;
	bool is_late = get_stamps(matching, event) == STAMPS_LATE;
	if (matching->pass == PASS_IN)
		return is_late;
	/* beside many late stamps there may be a few early ones (datagrams beside TCP): such a wait is short */
	return slot->state == DTC_JOIN_OPEN && (!is_late || is_end_of_wire(matching->join, id));
}

/* A reception for which its transmission waits, until its packet cannot come any more. */
static bool does_prolong(const struct matching *matching, uint32_t id)
{
	const struct dtc_join_event *event = dtc_join_event_at(matching->join, id);

	return matching->pass == PASS_IN && event->kind == DTC_JOIN_RECEIVE && is_end_of_wire(matching->join, id) &&
	       get_stamps(matching, event) == STAMPS_MIXED;
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
	if (does_prolong(matching, id)) {
		matching->waiting[event->cpu] = dtc_join_slot_at(matching->join, id)->next;
		return;
	}
	if (!does_wait(matching, id))
		return;
	add_waiting(matching, id);
	/* where its reception may be meant as well, that one is what the CPU goes on from */
	if (matching->pass != PASS_IN || !is_end_of_wire(matching->join, id) || event->kind != DTC_JOIN_START_XMIT ||
	    !does_prolong(matching, get_target(matching, id)))
		matching->waiting[event->cpu] = id;
}

/* --- packets ------------------------------------------------------------------------------------------------------ */

/* Takes those out of the group that cannot be meant any more. */
static void give_up(struct matching *matching, struct group *group, int64_t now_ns)
{
	DtcJoin *join = matching->join;
	uint32_t kept = DTC_NONE;

	for (uint32_t id = group->first; id != DTC_NONE;) {
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
		uint32_t next = slot->open_next;
		int64_t waited_ns = get_distance(turn(matching, dtc_join_event_at(join, id)->time_ns), now_ns);
		if (waited_ns <= (int64_t)slot->until_ns + 2 * matching->tolerance_ns) {
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

/* True if which of the two waits for a packet is not told by their order. */
static bool are_confusable(const struct matching *matching, const struct dtc_join_event *a,
			   const struct dtc_join_event *b)
{
	return ABS(get_distance(a->time_ns, b->time_ns)) <= DOUBT_NS &&
	       (matching->pass != PASS_QUEUED || a->cpu != b->cpu);
}

/* The one that transmitted this very packet, as was seen there; DTC_NONE: none, or several did. */
static uint32_t find_sender(const struct matching *matching, const struct group *group, uint32_t packet)
{
	const DtcJoin *join = matching->join;
	uint32_t found = DTC_NONE;

	for (uint32_t id = group->first; id != DTC_NONE; id = dtc_join_slot_at(join, id)->open_next) {
		uint32_t sent = dtc_join_slot_at(join, id)->packet;
		if (sent == DTC_NONE || !dtc_join_is_same(join, sent, packet))
			continue;
		if (found != DTC_NONE)
			return DTC_NONE;
		found = id;
	}
	return found;
}

/* The first of those that wait about as long as the latest does. */
static uint32_t choose(const struct matching *matching, const struct group *group)
{
	const DtcJoin *join = matching->join;
	int64_t same_ns = matching->pass == PASS_QUEUED ? SAME_QUEUED_NS : SAME_NS;
	int64_t latest_ns = turn(matching, dtc_join_event_at(join, group->last)->time_ns);

	for (uint32_t id = group->first; id != group->last; id = dtc_join_slot_at(join, id)->open_next)
		if (get_distance(turn(matching, dtc_join_event_at(join, id)->time_ns), latest_ns) <= same_ns)
			return id;
	return group->last;
}

static void doubt_others(struct matching *matching, const struct group *group, uint32_t chosen)
{
	DtcJoin *join = matching->join;
	const struct dtc_join_event *event = dtc_join_event_at(join, chosen);
	struct dtc_join_slot *target = dtc_join_slot_at(join, get_target(matching, chosen));

	for (uint32_t id = group->first; id != DTC_NONE; id = dtc_join_slot_at(join, id)->open_next) {
		if (id == chosen || !are_confusable(matching, event, dtc_join_event_at(join, id)))
			continue;
		target->is_doubted = true;
		dtc_join_slot_at(join, get_target(matching, id))->is_doubted = true;
	}
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
	uint32_t chosen = DTC_NONE;
	if (group->first != group->last && matching->pass == PASS_IN)
		chosen = find_sender(matching, group, id);
	bool is_told = chosen != DTC_NONE;
	if (!is_told)
		chosen = choose(matching, group);
	/* what is in doubt of the transmissions is of the receptions, too */
	if (!is_told || dtc_join_slot_at(matching->join, chosen)->is_doubted)
		doubt_others(matching, group, chosen);
	take_out(matching, group, chosen);
	struct dtc_join_slot *slot = dtc_join_slot_at(matching->join, get_target(matching, chosen));
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

void dtc_join_match_packets(DtcJoin *join)
{
	struct matching matching = { .join = join };

	matching.tolerance_ns = TOLERANCE_NS + dtc_join_clock_get_error_ns(join->clock);
	matching.group_count = g_hash_table_size(join->groups) + 1;
	matching.groups = g_new0(struct group, matching.group_count);
	matching.waiting = g_new(uint32_t, (gsize)join->cpu_count + 1);
	run_pass(&matching, PASS_OUT);
	dtc_join_settle_doubts(join);
	judge_stamps(&matching);
	run_pass(&matching, PASS_IN);
	run_pass(&matching, PASS_QUEUED);
	dtc_join_settle_doubts(join);
	g_free(matching.groups);
	g_free(matching.waiting);
	g_free(matching.blocks);
	g_free(matching.all);
}
