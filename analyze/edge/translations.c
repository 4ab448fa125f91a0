/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/translations.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Of each direction of a connection that many segments are compared: those with the lowest hash, which are the same on
 * both ends unless many are cut differently there. */
#define SAMPLES 4

/* One end of a connection: the flow that a socket sends. */
struct end {
	guint node;
	uint32_t flow_out;
	uint32_t partner; /* index of the other end; DTC_NONE: not found */
	bool is_disputed; /* more than one would fit */
};

/* What an end says of its connection. */
struct token {
	uint64_t value; /* the same on both ends */
	uint32_t end;
	uint32_t side; /* 0, 1: who of both; an end's partner is on the other one */
};

struct translation {
	struct dtc_flow_place place;
	struct dtc_flow_place other;
};

struct DtcTranslations {
	GArray *list; /* struct translation, both directions from both ends, by place */
};

struct search {
	const DtcHistory *const *histories;
	GArray *ends;	/* struct end */
	GArray *tokens; /* struct token */
};

static const DtcPackets *get_packets(const struct search *search, const struct end *end)
{
	return dtc_history_get_packets(search->histories[end->node]);
}

static const struct dtc_flow *get_out(const struct search *search, const struct end *end)
{
	return dtc_packets_get_flow(get_packets(search, end), end->flow_out);
}

static struct end *get_end(const struct search *search, uint32_t index)
{
	return &g_array_index(search->ends, struct end, index);
}

/* --- ends and what they say --- */

static void find_ends(struct search *search, guint node_count)
{
	for (guint node = 0; node < node_count; node++) {
		const DtcHistory *h = search->histories[node];
		const DtcPackets *packets = h ? dtc_history_get_packets(h) : NULL;
		uint32_t count = packets ? dtc_packets_get_flow_count(packets) : 0;
		for (uint32_t flow = 0; flow < count; flow++) {
			struct end end = { node, flow, DTC_NONE, false };
			if (dtc_packets_get_flow(packets, flow)->protocol == DTC_PROTOCOL_TCP &&
			    dtc_history_find_file_of_flow(h, flow) != DTC_NONE)
				g_array_append_val(search->ends, end);
		}
	}
}

static void add_begin(struct search *search, uint32_t index)
{
	const struct end *end = get_end(search, index);
	const struct dtc_flow *out = get_out(search, end);
	const struct dtc_flow *in = dtc_packets_get_flow(get_packets(search, end), out->reverse);
	if (!out->has_isn || !in->has_isn || out->isn == in->isn)
		return;
	struct token token = { (uint64_t)MIN(out->isn, in->isn) << 32 | MAX(out->isn, in->isn), index,
			       out->isn < in->isn };
	g_array_append_val(search->tokens, token);
}

static uint64_t mix_segment(const struct dtc_packet *p)
{
	uint64_t value = ((uint64_t)p->seq << 32 | p->ack) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	value = (value ^ value >> 32 ^ p->payload_bytes) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	return value ^ value >> 29;
}

static void add_samples(struct search *search, uint32_t index, const DtcPackets *packets, uint32_t flow, uint32_t side)
{
	uint64_t lowest[SAMPLES];
	guint found = 0;
	uint32_t count = dtc_packets_get_flow(packets, flow)->packet_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_packet p = dtc_packets_get(packets, dtc_packets_get_flow_packet(packets, flow, i));
		uint64_t value = p.payload_bytes && !p.is_inferred ? mix_segment(&p) : UINT64_MAX;
		guint at = found;
		while (at > 0 && lowest[at - 1] > value)
			at--;
		if (value == UINT64_MAX || at == SAMPLES || (at > 0 && lowest[at - 1] == value))
			continue;
		found = MIN(found + 1, SAMPLES);
		memmove(lowest + at + 1, lowest + at, (found - 1 - at) * sizeof(*lowest));
		lowest[at] = value;
	}
	for (guint i = 0; i < found; i++) {
		struct token token = { lowest[i], index, side };
		g_array_append_val(search->tokens, token);
	}
}

/* Of what this end sends it is on side 0, of what it gets on side 1: the other end says the opposite. */
static void add_segments(struct search *search, uint32_t index)
{
	const struct end *end = get_end(search, index);
	const DtcPackets *packets = get_packets(search, end);
	add_samples(search, index, packets, end->flow_out, 0);
	add_samples(search, index, packets, get_out(search, end)->reverse, 1);
}

/* --- pairs --- */

static int compare_tokens(const void *a, const void *b)
{
	const struct token *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->side != y->side ? (x->side < y->side ? -1 : 1) : x->end < y->end ? -1 : x->end > y->end;
}

static void join(struct search *search, uint32_t a, uint32_t b)
{
	for (guint i = 0; i < 2; i++) {
		struct end *end = get_end(search, i ? b : a);
		uint32_t partner = i ? a : b;
		end->is_disputed |= end->partner != DTC_NONE && end->partner != partner;
		end->partner = partner;
	}
}

/* Two ends, one on each side, are a connection; with more of them nothing is told. */
static void pair_ends(struct search *search)
{
	if (search->tokens->len)
		qsort(search->tokens->data, search->tokens->len, sizeof(struct token), compare_tokens);
	for (guint first = 0, end; first < search->tokens->len; first = end) {
		const struct token *one = &g_array_index(search->tokens, struct token, first);
		for (end = first + 1; end < search->tokens->len; end++)
			if (g_array_index(search->tokens, struct token, end).value != one->value)
				break;
		if (end - first == 2 && one[0].side != one[1].side && one[0].end != one[1].end) {
			join(search, one[0].end, one[1].end);
			continue;
		}
		for (guint i = first; end - first > 2 && i < end; i++)
			get_end(search, g_array_index(search->tokens, struct token, i).end)->is_disputed = true;
	}
	g_array_set_size(search->tokens, 0);
}

static void find_pairs(struct search *search)
{
	guint open_count = 0;
	for (uint32_t i = 0; i < search->ends->len; i++) {
		guint before = search->tokens->len;
		add_begin(search, i);
		open_count += search->tokens->len == before;
	}
	pair_ends(search);
	/* one whose begin both ends know has been found; that only one of them does takes one that does not */
	for (uint32_t i = 0; open_count && i < search->ends->len; i++)
		if (get_end(search, i)->partner == DTC_NONE && !get_end(search, i)->is_disputed)
			add_segments(search, i);
	pair_ends(search);
}

/* --- what is kept --- */

static bool has_mirrored_ends(const struct dtc_flow *a, const struct dtc_flow *b)
{
	return a->source_port == b->destination_port && a->destination_port == b->source_port &&
	       memcmp(a->source, b->destination, 16) == 0 && memcmp(a->destination, b->source, 16) == 0;
}

static int compare_places(gconstpointer a, gconstpointer b)
{
	const struct dtc_flow_place *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->flow < y->flow ? -1 : x->flow > y->flow;
}

/* Everyone finds a connection that has the same ends everywhere: it is none of these. */
static void keep_pair(DtcTranslations *translations, const struct search *search, const struct end *a,
		      const struct end *b)
{
	const struct dtc_flow *a_out = get_out(search, a), *b_out = get_out(search, b);
	if (has_mirrored_ends(a_out, b_out))
		return;
	const struct translation both[] = {
		{ { a->node, a->flow_out }, { b->node, b_out->reverse } },
		{ { a->node, a_out->reverse }, { b->node, b->flow_out } },
	};
	g_array_append_vals(translations->list, both, G_N_ELEMENTS(both));
}

DtcTranslations *dtc_translations_new(const DtcHistory *const *histories, guint node_count)
{
	DtcTranslations *translations = g_new0(DtcTranslations, 1);
	translations->list = g_array_new(FALSE, FALSE, sizeof(struct translation));
	struct search search = {
		.histories = histories,
		.ends = g_array_new(FALSE, FALSE, sizeof(struct end)),
		.tokens = g_array_new(FALSE, FALSE, sizeof(struct token)),
	};
	find_ends(&search, node_count);
	find_pairs(&search);
	for (uint32_t i = 0; i < search.ends->len; i++) {
		const struct end *end = get_end(&search, i);
		const struct end *partner = end->partner == DTC_NONE ? NULL : get_end(&search, end->partner);
		if (partner && partner->partner == i && !end->is_disputed && !partner->is_disputed)
			keep_pair(translations, &search, end, partner);
	}
	g_array_unref(search.ends);
	g_array_unref(search.tokens);
	g_array_sort(translations->list, compare_places);
	return translations;
}

void dtc_translations_free(DtcTranslations *translations)
{
	if (translations)
		g_array_unref(translations->list);
	g_free(translations);
}

guint dtc_translations_get_count(const DtcTranslations *translations)
{
	return translations->list->len / 4;
}

bool dtc_translations_find(const DtcTranslations *translations, guint node, uint32_t flow,
			   struct dtc_flow_place *ret_other)
{
	const struct dtc_flow_place wanted = { node, flow };
	const struct translation *list = (const void *)translations->list->data;
	guint count = translations->list->len;
	guint i = DTC_BISECT(k, 0, count, compare_places(&list[k].place, &wanted) < 0);
	if (i == count || compare_places(&list[i].place, &wanted) != 0)
		return false;
	*ret_other = list[i].other;
	return true;
}
