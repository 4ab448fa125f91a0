/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/shingles.h"

#include "dtrace-chain/bisect.h"

#include <string.h>

#define DEFAULT_MAX_COUNT ((gsize)1 << 18)
#define SHINGLE_BYTES 8
/* Of a segment: what tells one message from others stands at its begin, if anywhere. */
#define SEGMENT_BYTES 1024
/* How often a hash was seen is counted in so many places, which others share. */
#define PLACE_BITS 20

struct DtcShingles {
	GArray *list;	  /* struct dtc_shingle; finished: by flow, and of each in the order of its bytes */
	GArray *order;	  /* finished: indexes of these by hash */
	GHashTable *ends; /* flow -> where what was looked at of it ends; while they are added */
	uint8_t *times;	  /* by place; NULL: nothing was added */
	uint32_t mask;	  /* bits that no hash that is kept has */
	gsize max_count;
};

DtcShingles *dtc_shingles_new(gsize max_count)
{
	DtcShingles *shingles = g_new0(DtcShingles, 1);

	shingles->list = g_array_new(FALSE, FALSE, sizeof(struct dtc_shingle));
	shingles->order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	shingles->ends = g_hash_table_new(g_direct_hash, g_direct_equal);
	shingles->mask = 1;
	shingles->max_count = max_count ? max_count : DEFAULT_MAX_COUNT;
	return shingles;
}

void dtc_shingles_free(DtcShingles *shingles)
{
	if (!shingles)
		return;
	g_array_unref(shingles->list);
	g_array_unref(shingles->order);
	g_hash_table_unref(shingles->ends);
	g_free(shingles->times);
	g_free(shingles);
}

static const struct dtc_shingle *get(const DtcShingles *shingles, guint index)
{
	return &g_array_index(shingles->list, struct dtc_shingle, index);
}

static const struct dtc_shingle *get_by_hash(const DtcShingles *shingles, guint index)
{
	return get(shingles, g_array_index(shingles->order, uint32_t, index));
}

static uint32_t hash_at(const uint8_t *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	word *= UINT64_C(0x9e3779b97f4a7c15);
	word ^= word >> 29;
	word *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(word >> 32);
}

/* False: the segment, or its begin, was looked at before. */
static bool take(DtcShingles *shingles, uint32_t flow, uint32_t seq, uint32_t bytes)
{
	gpointer end;
	bool is_known = g_hash_table_lookup_extended(shingles->ends, GUINT_TO_POINTER(flow), NULL, &end);

	if (is_known && dtc_seq_distance(GPOINTER_TO_UINT(end), seq) < 0)
		return false;
	g_hash_table_insert(shingles->ends, GUINT_TO_POINTER(flow), GUINT_TO_POINTER(seq + bytes));
	return true;
}

/* Of more than may be kept every other hash counts no more, of what comes and of what is there. */
static void thin(DtcShingles *shingles)
{
	guint kept = 0;

	shingles->mask = shingles->mask << 1 | 1;
	for (guint i = 0; i < shingles->list->len; i++)
		if (!(get(shingles, i)->hash & shingles->mask))
			g_array_index(shingles->list, struct dtc_shingle, kept++) = *get(shingles, i);
	g_array_set_size(shingles->list, kept);
}

void dtc_shingles_add(DtcShingles *shingles, uint32_t flow, uint32_t seq, const uint8_t *data, uint32_t bytes)
{
	if (bytes < SHINGLE_BYTES || !take(shingles, flow, seq, bytes))
		return;
	if (!shingles->times)
		shingles->times = g_malloc0((gsize)1 << PLACE_BITS);
	bytes = MIN(bytes, SEGMENT_BYTES);
	for (uint32_t at = 0; at + SHINGLE_BYTES <= bytes; at++) {
		const struct dtc_shingle shingle = { hash_at(data + at), flow, seq + at };
		uint8_t *times = &shingles->times[shingle.hash >> (32 - PLACE_BITS)];
		if ((shingle.hash & shingles->mask) || *times > DTC_SHINGLE_TIMES)
			continue;
		++*times;
		g_array_append_val(shingles->list, shingle);
		while (shingles->list->len > shingles->max_count && shingles->mask != UINT32_MAX)
			thin(shingles);
	}
}

static gint compare_hashes(gconstpointer a, gconstpointer b, gpointer data)
{
	const DtcShingles *shingles = data;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint32_t x = get(shingles, i)->hash, y = get(shingles, k)->hash;

	return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

/* Adding goes on in a flow from where it was, so that its own order stays. */
static gint compare_flows(gconstpointer a, gconstpointer b)
{
	const struct dtc_shingle *x = a, *y = b;

	return (x->flow > y->flow) - (x->flow < y->flow);
}

static void sort_by_hash(DtcShingles *shingles)
{
	g_array_set_size(shingles->order, shingles->list->len);
	for (guint i = 0; i < shingles->list->len; i++)
		g_array_index(shingles->order, uint32_t, i) = i;
	g_array_sort_with_data(shingles->order, compare_hashes, shingles);
}

/* Those from first to end have one hash: whether they tell that two messages are alike. */
static bool tell(const DtcShingles *shingles, guint first, guint end)
{
	bool is_elsewhere = false;

	for (guint i = first; i < end; i++)
		is_elsewhere |= get_by_hash(shingles, i)->flow != get_by_hash(shingles, first)->flow;
	return is_elsewhere && end - first <= DTC_SHINGLE_TIMES;
}

static guint find_end(const DtcShingles *shingles, guint first)
{
	guint end = first + 1;

	while (end < shingles->order->len && get_by_hash(shingles, end)->hash == get_by_hash(shingles, first)->hash)
		end++;
	return end;
}

/* Of a flow of more than 2 GiB the rest has no place: it is left out. */
static bool is_behind(const GArray *kept, guint first, const struct dtc_shingle *shingle)
{
	const struct dtc_shingle *list = (const struct dtc_shingle *)(const void *)kept->data;
	uint32_t begin = list[first].seq;

	return dtc_seq_distance(begin, list[kept->len - 1].seq) < dtc_seq_distance(begin, shingle->seq);
}

void dtc_shingles_finish(DtcShingles *shingles)
{
	g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(struct dtc_shingle));
	g_autofree bool *tells = g_new0(bool, shingles->list->len + 1);

	g_array_sort(shingles->list, compare_flows);
	sort_by_hash(shingles);
	for (guint first = 0, end; first < shingles->order->len; first = end) {
		end = find_end(shingles, first);
		for (guint i = first; tell(shingles, first, end) && i < end; i++)
			tells[g_array_index(shingles->order, uint32_t, i)] = true;
	}
	for (guint i = 0, first = 0; i < shingles->list->len; i++) {
		const struct dtc_shingle *shingle = get(shingles, i);
		bool is_first =
			!kept->len || g_array_index(kept, struct dtc_shingle, kept->len - 1).flow != shingle->flow;
		if (!tells[i] || (!is_first && !is_behind(kept, first, shingle)))
			continue;
		if (is_first)
			first = kept->len;
		g_array_append_vals(kept, shingle, 1);
	}
	g_array_unref(shingles->list);
	shingles->list = g_steal_pointer(&kept);
	sort_by_hash(shingles);
	g_hash_table_remove_all(shingles->ends);
	g_clear_pointer(&shingles->times, g_free);
}

bool dtc_shingles_are_none(const DtcShingles *shingles)
{
	return !shingles->list->len;
}

const struct dtc_shingle *dtc_shingles_find(const DtcShingles *shingles, uint32_t flow, uint32_t seq, uint32_t bytes,
					    guint *ret_count)
{
	guint count = shingles->list->len;
	guint first = DTC_BISECT(i, 0, count, get(shingles, i)->flow < flow);
	guint end = DTC_BISECT(i, first, count, get(shingles, i)->flow <= flow);

	*ret_count = 0;
	if (first == end)
		return NULL;
#define DISTANCE(of) dtc_seq_distance(get(shingles, first)->seq, of)
	int64_t begin_at = DISTANCE(seq), end_at = begin_at + bytes;
	guint from = DTC_BISECT(i, first, end, DISTANCE(get(shingles, i)->seq) < begin_at);
	guint to = DTC_BISECT(i, from, end, DISTANCE(get(shingles, i)->seq) < end_at);
#undef DISTANCE
	*ret_count = to - from;
	return to > from ? get(shingles, from) : NULL;
}

guint dtc_shingles_count_alike(const DtcShingles *shingles, uint32_t hash)
{
	guint count = shingles->order->len;
	guint first = DTC_BISECT(i, 0, count, get_by_hash(shingles, i)->hash < hash);

	return DTC_BISECT(i, first, count, get_by_hash(shingles, i)->hash <= hash) - first;
}

const struct dtc_shingle *dtc_shingles_get_alike(const DtcShingles *shingles, uint32_t hash, guint index)
{
	guint first = DTC_BISECT(i, 0, shingles->order->len, get_by_hash(shingles, i)->hash < hash);

	return get_by_hash(shingles, first + index);
}

/* ---- images ---- */

void dtc_shingles_save(const DtcShingles *shingles, DtcImageWriter *writer)
{
	dtc_image_add_copy(writer, "shingles", sizeof(struct dtc_shingle), shingles->list->data, shingles->list->len);
}

/* Each flow's first one is where the places of the others are counted from. */
static bool is_in_order(const struct dtc_shingle *list, gsize index, gsize first)
{
	const struct dtc_shingle *before = &list[index - 1], *at = &list[index];

	return before->flow == at->flow
		       ? dtc_seq_distance(list[first].seq, before->seq) < dtc_seq_distance(list[first].seq, at->seq)
		       : before->flow < at->flow;
}

DtcShingles *dtc_shingles_load(const DtcImage *image, const DtcPackets *packets, GError **error)
{
	gsize count;
	const struct dtc_shingle *list = dtc_image_get(image, "shingles", sizeof(*list), &count, error);

	if (!list)
		return NULL;
	g_autoptr(DtcShingles) shingles = dtc_shingles_new(0);
	bool is_good = count <= DEFAULT_MAX_COUNT;
	for (gsize i = 0, first = 0; is_good && i < count; i++) {
		is_good = list[i].flow < dtc_packets_get_flow_count(packets) && (!i || is_in_order(list, i, first));
		if (i && list[i].flow != list[i - 1].flow)
			first = i;
	}
	if (!is_good) {
		dtc_image_refuse(image, error, "shingles in it are not in order");
		return NULL;
	}
	g_array_append_vals(shingles->list, list, (guint)count);
	sort_by_hash(shingles);
	return g_steal_pointer(&shingles);
}
