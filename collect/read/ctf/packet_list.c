/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In this order: numbers that all packets of a stream share (stream, instance, CPU) are put to the vote. Copies go. The
 * order is that of the file unless that of the packets' own numbers contradicts the times less. Of the times the
 * longest chain is believed in which each packet begins after the one before ended; one packet outside of it has a
 * wrong begin or end, several in a row that are smooth on one side are a clock that was set back: what follows is on
 * another clock than what comes before, and is left out.
 */
#include "collect/read/ctf/packet_list.h"

#include "dtrace-chain/bisect.h"

#include <string.h>

struct judge {
	GArray *packets; /* struct dtc_ctf_packet */
	const struct dtc_packet_rules *rules;
	const struct dtc_packet_names *names;
	DtcFindings *findings;
	bool is_sound;
};

static struct dtc_ctf_packet *get(const struct judge *judge, guint index)
{
	return &g_array_index(judge->packets, struct dtc_ctf_packet, index);
}

/* text says what is wrong and what became of it. */
static void report(struct judge *judge, const char *code, const struct dtc_ctf_packet *packet, guint count,
		   const char *text)
{
	g_autofree char *others = count > 1 ? g_strdup_printf(" (and so %u more)", count - 1) : g_strdup("");
	judge->is_sound = false;
	dtc_findings_add_coded(judge->findings, code, DTC_SEVERITY_ERROR, true, judge->names->node,
			       "a packet of stream '%s' (byte %" G_GSIZE_FORMAT ") is damaged: %s%s",
			       judge->names->stream, packet->offset, text, others);
}

/* Damage of one kind: where it was seen first, what is said of that, and how often. Somebody's trace may be full of it.
 */
struct tally {
	const char *code;
	const struct dtc_ctf_packet *first;
	char *text; /* owned */
	guint count;
};

/* Takes the text. */
static void note(struct tally *tally, const struct dtc_ctf_packet *packet, guint count, char *text)
{
	tally->count += count;
	if (tally->first) {
		g_free(text);
		return;
	}
	tally->first = packet;
	tally->text = text;
}

/* While the packets are where they were. */
static void report_tally(struct judge *judge, struct tally *tally)
{
	if (tally->first)
		report(judge, tally->code, tally->first, tally->count, tally->text);
	g_free(tally->text);
}

/* ---- what all packets share ---- */

struct shared {
	const char *code;
	const char *text;
	gsize offset; /* of a uint32_t in struct dtc_ctf_packet, or */
	bool is_wide; /* of a uint64_t */
};

static uint64_t get_shared(const struct dtc_ctf_packet *packet, const struct shared *shared)
{
	const char *at = (const char *)packet + shared->offset;
	return shared->is_wide ? *(const uint64_t *)(const void *)at : *(const uint32_t *)(const void *)at;
}

static void set_shared(struct dtc_ctf_packet *packet, const struct shared *shared, uint64_t value)
{
	char *at = (char *)packet + shared->offset;
	if (shared->is_wide)
		*(uint64_t *)(void *)at = value;
	else
		*(uint32_t *)(void *)at = (uint32_t)value;
	packet->is_changed = true;
}

/* The value of more than half of the packets (Boyer and Moore, 1981); false if there is none. */
static bool vote(const struct judge *judge, const struct shared *shared, uint64_t *ret_value)
{
	guint lead = 0, count = 0;
	for (guint i = 0; i < judge->packets->len; i++) {
		uint64_t value = get_shared(get(judge, i), shared);
		if (lead == 0)
			*ret_value = value;
		lead = value == *ret_value ? lead + 1 : lead - 1;
	}
	for (guint i = 0; i < judge->packets->len; i++)
		count += get_shared(get(judge, i), shared) == *ret_value;
	return count > judge->packets->len / 2;
}

static void judge_shared(struct judge *judge, const struct shared *shared)
{
	const struct dtc_ctf_packet *first = NULL;
	uint64_t value = 0, claimed = 0;
	guint count = 0;
	if (!vote(judge, shared, &value))
		return;
	for (guint i = 0; i < judge->packets->len; i++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		if (get_shared(packet, shared) == value)
			continue;
		if (!first) {
			first = packet;
			claimed = get_shared(packet, shared);
		}
		set_shared(packet, shared, value);
		count++;
	}
	if (!first)
		return;
	g_autofree char *text = g_strdup_printf("it claims %s %" G_GUINT64_FORMAT " in a stream of %" G_GUINT64_FORMAT,
						shared->text, claimed, value);
	report(judge, shared->code, first, count, text);
}

/* ---- copies and order ---- */

static guint hash_packet(gconstpointer data)
{
	const struct dtc_ctf_packet *packet = data;
	return (guint)(packet->begin_ticks ^ packet->begin_ticks >> 32 ^ packet->sequence * 31);
}

static gboolean is_copy(gconstpointer a, gconstpointer b)
{
	const struct dtc_ctf_packet *x = a, *y = b;
	return x->begin_ticks == y->begin_ticks && x->end_ticks == y->end_ticks && x->sequence == y->sequence &&
	       x->content_bits == y->content_bits && x->bytes == y->bytes;
}

static void drop_left_out(struct judge *judge)
{
	guint kept = 0;
	for (guint i = 0; i < judge->packets->len; i++)
		if (!get(judge, i)->is_left_out)
			*get(judge, kept++) = *get(judge, i);
	g_array_set_size(judge->packets, kept);
}

/* Packets without a moment of their own (empty ones) may look alike. */
static void drop_copies(struct judge *judge)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(hash_packet, is_copy);
	struct tally copies = { .code = DTC_FINDING_PACKET_ORDER };
	for (guint i = 0; i < judge->packets->len; i++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		bool is_moment = packet->begin_ticks == packet->end_ticks && !judge->rules->has_sequence;
		if (!is_moment && !g_hash_table_add(seen, packet)) {
			note(&copies, packet, 1, g_strdup("it was there before, and was left out: no event is lost"));
			packet->is_left_out = true;
		}
	}
	report_tally(judge, &copies);
	g_hash_table_remove_all(seen);
	drop_left_out(judge);
}

/* Whether b cannot follow on a in time. */
static bool contradicts(const struct judge *judge, const struct dtc_ctf_packet *a, const struct dtc_ctf_packet *b)
{
	return a->end_ticks > b->begin_ticks && a->end_ticks - b->begin_ticks > judge->rules->tolerance_ticks;
}

static guint count_contradictions(const struct judge *judge)
{
	guint count = 0;
	for (guint i = 0; i < judge->packets->len; i++) {
		const struct dtc_ctf_packet *packet = get(judge, i);
		count += packet->begin_ticks > packet->end_ticks;
		count += i > 0 && contradicts(judge, get(judge, i - 1), packet);
	}
	return count;
}

static int compare_sequences(gconstpointer a, gconstpointer b)
{
	const struct dtc_ctf_packet *x = a, *y = b;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_begins(gconstpointer a, gconstpointer b)
{
	const struct dtc_ctf_packet *x = a, *y = b;
	if (x->begin_ticks != y->begin_ticks)
		return x->begin_ticks < y->begin_ticks ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void put_in_order(struct judge *judge)
{
	guint before = count_contradictions(judge);
	if (before == 0)
		return;
	GArray *file_order = judge->packets;
	g_autoptr(GArray) sorted = g_array_copy(file_order);
	g_array_sort(sorted, judge->rules->has_sequence ? compare_sequences : compare_begins);
	judge->packets = sorted;
	guint after = count_contradictions(judge);
	judge->packets = file_order;
	/* times alone would always agree with an order by time */
	if (judge->rules->has_sequence ? after >= before : after > 0)
		return;
	const struct dtc_ctf_packet *first = NULL;
	guint count = 0;
	for (guint i = 1; i < sorted->len; i++) {
		const struct dtc_ctf_packet *packet = &g_array_index(sorted, struct dtc_ctf_packet, i);
		if (packet->offset > g_array_index(sorted, struct dtc_ctf_packet, i - 1).offset)
			continue;
		if (!first)
			first = packet;
		count++;
	}
	if (first)
		report(judge, DTC_FINDING_PACKET_ORDER, first, count,
		       "it is out of its place, to which it was put back");
	g_array_set_size(file_order, 0);
	g_array_append_vals(file_order, sorted->data, sorted->len);
}

/* One packet's number that does not fit those around it, which fit each other. */
static void judge_sequences(struct judge *judge)
{
	struct tally wrong = { .code = DTC_FINDING_PACKET_ORDER };
	for (guint i = 1; i + 1 < judge->packets->len; i++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		uint64_t before = get(judge, i - 1)->sequence;
		if (packet->sequence == before + 1 || get(judge, i + 1)->sequence != before + 2)
			continue;
		note(&wrong, packet, 1,
		     g_strdup_printf("its number is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, packet->sequence,
				     before + 1));
		packet->sequence = before + 1;
		packet->is_changed = true;
	}
	report_tally(judge, &wrong);
}

/* The tracer's counter never falls, and what one packet alone says of it is wrong. */
static void judge_discarded(struct judge *judge)
{
	struct tally wrong = { .code = DTC_FINDING_STREAM_DAMAGED };
	for (guint i = 0; i + 1 < judge->packets->len; i++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		uint64_t before = i > 0 ? get(judge, i - 1)->discarded : 0, after = get(judge, i + 1)->discarded;
		if (before > after || (packet->discarded >= before && packet->discarded <= after))
			continue;
		note(&wrong, packet, 1,
		     g_strdup_printf("its count of lost events is %" G_GUINT64_FORMAT ", between %" G_GUINT64_FORMAT
				     " and %" G_GUINT64_FORMAT " in its neighbours",
				     packet->discarded, before, after));
		packet->discarded = before;
		packet->is_changed = true;
	}
	report_tally(judge, &wrong);
}

/* ---- time ---- */

/* Marks the longest chain of packets that follow on each other: patience sorting by end. Caller frees. */
static bool *find_chain(const struct judge *judge)
{
	guint count = judge->packets->len, length = 0;
	bool *is_believed = g_new0(bool, count + 1);
	g_autofree guint *tails = g_new(guint, count + 1);   /* by length - 1: the packet that ends earliest */
	g_autofree guint *befores = g_new(guint, count + 1); /* the packet before in the chain */
	for (guint i = 0; i < count; i++) {
		const struct dtc_ctf_packet *packet = get(judge, i);
		if (packet->begin_ticks > packet->end_ticks)
			continue;
		guint at = DTC_BISECT(k, 0, length, !contradicts(judge, get(judge, tails[k]), packet));
		befores[i] = at > 0 ? tails[at - 1] : G_MAXUINT;
		if (at == length)
			tails[length++] = i;
		else if (packet->end_ticks < get(judge, tails[at])->end_ticks)
			tails[at] = i;
	}
	for (guint i = length > 0 ? tails[length - 1] : G_MAXUINT; i != G_MAXUINT; i = befores[i])
		is_believed[i] = true;
	return is_believed;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Packets from..to are not believed, those around them are. A clock that was set back falls once, and is smooth before
 * and after; packets that are wrong by themselves stand apart on both sides. *ret_at: the first after the fall.
 */
static bool is_clock_set_back(const struct judge *judge, guint from, guint to, guint *ret_at)
{
	guint last = MIN(to + 1, judge->packets->len - 1), fall_count = 0;
	uint64_t fall = 0, gap = 0;
	if (to == from)
		return false;
	for (guint i = MAX(from, 1); i <= last; i++) {
		const struct dtc_ctf_packet *before = get(judge, i - 1), *packet = get(judge, i);
		if (packet->begin_ticks > packet->end_ticks)
			return false;
		gap = MAX(gap, subtract(packet->begin_ticks, before->end_ticks));
		if (!contradicts(judge, before, packet))
			continue;
		fall_count++;
		fall = before->end_ticks - packet->begin_ticks;
		*ret_at = i;
	}
	return fall_count == 1 && gap < fall / 2;
}

static void cut(struct judge *judge, guint at)
{
	const struct dtc_ctf_packet *packet = get(judge, at);
	uint64_t back = subtract(get(judge, at - 1)->end_ticks, packet->begin_ticks);
	double seconds = (double)back / (double)judge->rules->second_ticks;
	g_autofree char *text = g_strdup_printf("the clock goes back by %.3f s and stays there; from here on the "
						"stream was left out with an unknown number of events",
						seconds);
	report(judge, DTC_FINDING_CLOCK_JUMP, packet, 1, text);
	g_array_set_size(judge->packets, at);
}

/* What nothing comes before, and behind, may begin and end at these. */
struct outside {
	uint64_t low, high;
	const char *who; /* tell that */
};

/* One packet with a wrong begin or end: the neighbours, which are believed, bound it. */
static void bound(struct judge *judge, guint index, const struct outside *outside, struct tally *bounded)
{
	struct dtc_ctf_packet *packet = get(judge, index);
	uint64_t tolerance = judge->rules->tolerance_ticks, wrap = judge->rules->wrap_ticks;
	uint64_t low = index > 0 ? get(judge, index - 1)->end_ticks : outside->low;
	uint64_t high = index + 1 < judge->packets->len ? get(judge, index + 1)->begin_ticks : outside->high;
	bool is_end_wrong =
		subtract(packet->end_ticks, high) > tolerance || subtract(low, packet->end_ticks) > tolerance;
	/* nothing comes before the first one: its begin is wrong only if the second one says so */
	is_end_wrong |= index == 0 && packet->begin_ticks > packet->end_ticks && packet->begin_ticks <= high;
	uint64_t end = is_end_wrong ? high : packet->end_ticks;
	bool is_begin_wrong = subtract(low, packet->begin_ticks) > tolerance || packet->begin_ticks > end;

	note(bounded, packet, 1,
	     g_strdup_printf("its %s is not between those of %s; it was taken from them",
			     is_end_wrong && is_begin_wrong ? "time"
			     : is_end_wrong		    ? "end"
							    : "begin",
			     outside->who));
	packet->end_ticks = end;
	if (is_begin_wrong) /* the first event is less than a turn of its bits after it */
		packet->begin_ticks = wrap > 0 && end - MIN(low, end) >= wrap ? end - wrap + 1 : MIN(low, end);
	packet->is_changed = true;
}

/* Several packets in a row that are wrong by themselves. */
static void leave_out(const struct judge *judge, guint from, guint to, struct tally *left_out)
{
	note(left_out, get(judge, from), to - from + 1,
	     g_strdup("its time is not between those of its neighbours, and it was left out with an unknown number of "
		      "events"));
	for (guint i = from; i <= to; i++)
		get(judge, i)->is_left_out = true;
}

/*
 * One look at all packets. If the clock was set back, the rest is gone, and what was left of the run of packets around
 * the fall is smooth. Else no contradiction is left: a bounded packet fits its neighbours, and of those that stay when
 * the others are left out each was found to follow on the one before.
 */
static void judge_times_once(struct judge *judge)
{
	static const struct outside anything = { 0, UINT64_MAX - 1, "its neighbours" };
	g_autofree bool *is_believed = find_chain(judge);
	struct tally bounded = { .code = DTC_FINDING_PACKET_TIME }, left_out = bounded;
	for (guint from = 0, to; from < judge->packets->len; from = to + 1) {
		guint at;
		to = from;
		if (is_believed[from])
			continue;
		while (to + 1 < judge->packets->len && !is_believed[to + 1])
			to++;
		if (is_clock_set_back(judge, from, to, &at))
			cut(judge, at);
		else if (from == to)
			bound(judge, from, &anything, &bounded);
		else
			leave_out(judge, from, to, &left_out);
	}
	report_tally(judge, &bounded);
	report_tally(judge, &left_out);
	drop_left_out(judge);
}

/* ---- by the other streams ---- */

/* Packets are that much longer than all others together, at least, and longer than that many seconds. */
#define FAR_TIMES 16
#define FAR_S 3600

/* Whether one side of a packet lies among the other streams, and the other one far from that. */
static bool is_far(const struct judge *judge, const struct dtc_ctf_packet *packet, uint64_t low, uint64_t high)
{
	uint64_t span = high - low, second = judge->rules->second_ticks;
	uint64_t far = MAX(span > UINT64_MAX / FAR_TIMES ? UINT64_MAX : span * FAR_TIMES,
			   second > UINT64_MAX / FAR_S ? UINT64_MAX : second * FAR_S);
	bool is_begin_far = subtract(low, packet->begin_ticks) > far || subtract(packet->begin_ticks, high) > far;
	bool is_end_far = subtract(low, packet->end_ticks) > far || subtract(packet->end_ticks, high) > far;
	return !packet->is_open && is_begin_far != is_end_far;
}

bool dtc_packets_judge_ends(GArray *packets, uint64_t low_ticks, uint64_t high_ticks,
			    const struct dtc_packet_rules *rules, const struct dtc_packet_names *names,
			    DtcFindings *findings)
{
	struct judge judge = { packets, rules, names, findings, true };
	const struct outside outside = { low_ticks, high_ticks, "the other streams" };
	struct tally bounded = { .code = DTC_FINDING_PACKET_TIME };

	/* nothing else told which side of one that is alone is wrong */
	bool is_against = packets->len == 1 && get(&judge, 0)->begin_ticks > get(&judge, 0)->end_ticks &&
			  !get(&judge, 0)->is_open;
	if (is_against || (packets->len > 0 && is_far(&judge, get(&judge, 0), low_ticks, high_ticks)))
		bound(&judge, 0, &outside, &bounded);
	if (packets->len > 1 && is_far(&judge, get(&judge, packets->len - 1), low_ticks, high_ticks))
		bound(&judge, packets->len - 1, &outside, &bounded);
	report_tally(&judge, &bounded);
	return judge.is_sound;
}

/* ---- the last packets of a tracer that died ---- */

/* Nobody wrote the ends of a stream's last packets. While the others are judged they end where they begin. */
static guint open_last(const struct judge *judge)
{
	guint count = 0;
	for (guint i = judge->packets->len; i-- > 0; count++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		if (packet->end_ticks != 0 || packet->begin_ticks == 0)
			break;
		packet->is_open = true;
		packet->end_ticks = packet->begin_ticks;
	}
	return count;
}

static void end_open(const struct judge *judge, guint count)
{
	const struct dtc_ctf_packet *first = NULL;
	for (guint i = 0; i < judge->packets->len; i++) {
		struct dtc_ctf_packet *packet = get(judge, i);
		if (!packet->is_open)
			continue;
		packet->end_ticks = i + 1 < judge->packets->len ? get(judge, i + 1)->begin_ticks : 0;
		if (!first)
			first = packet;
	}
	if (first)
		dtc_findings_add_coded(
			judge->findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_WARNING, true, judge->names->node,
			"the last packet%s of stream '%s' (from byte %" G_GSIZE_FORMAT
			" on) %s no end: the tracer died, and what it had not written is missing",
			count > 1 ? "s" : "", judge->names->stream, first->offset, count > 1 ? "have" : "has");
}

bool dtc_packets_judge(GArray *packets, const struct dtc_packet_rules *rules, const struct dtc_packet_names *names,
		       DtcFindings *findings)
{
	static const struct shared stream = { DTC_FINDING_STREAM_DAMAGED, "stream",
					      G_STRUCT_OFFSET(struct dtc_ctf_packet, stream_id), false };
	static const struct shared instance = { DTC_FINDING_STREAM_DAMAGED, "stream instance",
						G_STRUCT_OFFSET(struct dtc_ctf_packet, instance), true };
	static const struct shared cpu = { DTC_FINDING_PACKET_CPU, "CPU", G_STRUCT_OFFSET(struct dtc_ctf_packet, cpu),
					   false };
	struct judge judge = { packets, rules, names, findings, true };

	guint open_count = open_last(&judge);
	judge_shared(&judge, &stream);
	judge_shared(&judge, &instance);
	if (rules->has_cpu)
		judge_shared(&judge, &cpu);
	drop_copies(&judge);
	put_in_order(&judge);
	if (rules->has_sequence)
		judge_sequences(&judge);
	if (rules->has_discarded)
		judge_discarded(&judge);
	/* ends: every look but one that shortens the list is the last */
	while (packets->len > 1 && count_contradictions(&judge) > 0)
		judge_times_once(&judge);
	if (open_count > 0)
		end_open(&judge, open_count);
	return judge.is_sound;
}
