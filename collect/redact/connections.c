/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/connections.h"

#include <string.h>

#define RECENT 64	    /* segments of a direction whose bytes may come again */
#define WAITING_MAX 512	    /* segments behind a hole, of one direction */
#define FAR_BYTES (1 << 26) /* no window is as large: another connection */

struct segment {
	uint32_t seq;
	uint32_t bytes;
	uint32_t captured_bytes;
	uint8_t *data;
};

struct direction {
	struct dtc_connection_key key;
	struct direction *reverse; /* or NULL */
	struct dtc_messages messages;
	bool is_begun; /* next_seq is known */
	uint32_t next_seq;
	GArray *waiting;    /* struct segment, by seq; NULL: none */
	GArray *recent;	    /* struct segment; NULL: none, as of the many that were never answered */
	guint recent_count; /* ever */
};

/* What came again is copied from its first time when that is as it will be. */
struct copy {
	uint8_t *to;
	const uint8_t *from;
	uint32_t bytes;
};

struct DtcConnections {
	DtcPseudonyms *words;
	const char *const *headers;
	GHashTable *directions; /* struct direction, its own key */
	GArray *copies;
};

static guint hash_key(gconstpointer key)
{
	const uint8_t *bytes = key;
	guint hash = 2166136261u;
	for (gsize i = 0; i < sizeof(struct dtc_connection_key); i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static gboolean equal_key(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct dtc_connection_key)) == 0;
}

static int32_t get_distance(uint32_t from, uint32_t to)
{
	return (int32_t)(to - from);
}

static void take(struct direction *direction, const struct segment *segment)
{
	struct dtc_messages *other = direction->reverse ? &direction->reverse->messages : NULL;
	dtc_messages_take(&direction->messages, other, segment->data, segment->captured_bytes);
	dtc_messages_skip(&direction->messages, segment->bytes - segment->captured_bytes);
	direction->next_seq = segment->seq + segment->bytes;
	if (!direction->recent)
		direction->recent = g_array_new(FALSE, FALSE, sizeof(struct segment));
	if (direction->recent->len < RECENT)
		g_array_append_val(direction->recent, *segment);
	else
		g_array_index(direction->recent, struct segment, direction->recent_count % RECENT) = *segment;
	direction->recent_count++;
}

/* Bytes before next_seq: they were seen, or are lost to us. */
static void take_again(DtcConnections *connections, const struct direction *direction, const struct segment *segment)
{
	dtc_redacted_fill(segment->data, segment->captured_bytes);
	for (guint i = 0; direction->recent && i < direction->recent->len; i++) {
		const struct segment *recent = &g_array_index(direction->recent, struct segment, i);
		int32_t at = get_distance(recent->seq, segment->seq);
		int32_t begin = MAX(at, 0), skipped = MAX(-at, 0);
		int64_t bytes =
			MIN((int64_t)recent->captured_bytes - begin, (int64_t)segment->captured_bytes - skipped);
		struct copy copy = { segment->data + skipped, recent->data + begin, (uint32_t)MAX(bytes, 0) };
		if (bytes > 0 && copy.to != copy.from)
			g_array_append_val(connections->copies, copy);
	}
}

static void drop_front(struct segment *segment, uint32_t count)
{
	uint32_t captured = MIN(count, segment->captured_bytes);
	segment->seq += count;
	segment->bytes -= count;
	segment->captured_bytes -= captured;
	segment->data += captured;
}

/* A segment that begins at next_seq or before it. */
static void take_due(DtcConnections *connections, struct direction *direction, struct segment segment)
{
	int32_t seen = get_distance(segment.seq, direction->next_seq);
	if (seen > 0) {
		struct segment again = segment;
		again.bytes = MIN(segment.bytes, (uint32_t)seen);
		again.captured_bytes = MIN(segment.captured_bytes, again.bytes);
		take_again(connections, direction, &again);
		drop_front(&segment, again.bytes);
	}
	if (segment.bytes > 0)
		take(direction, &segment);
}

static void take_waiting(DtcConnections *connections, struct direction *direction, bool over_holes)
{
	while (direction->waiting && direction->waiting->len > 0) {
		struct segment first = g_array_index(direction->waiting, struct segment, 0);
		int32_t hole = get_distance(direction->next_seq, first.seq);
		if (hole > 0 && !over_holes)
			return;
		if (hole > 0) {
			dtc_messages_skip(&direction->messages, (uint64_t)hole);
			direction->next_seq = first.seq;
		}
		g_array_remove_index(direction->waiting, 0);
		take_due(connections, direction, first);
	}
}

static void wait(DtcConnections *connections, struct direction *direction, const struct segment *segment)
{
	if (!direction->waiting)
		direction->waiting = g_array_new(FALSE, FALSE, sizeof(struct segment));
	guint at = direction->waiting->len;
	while (at > 0 && get_distance(g_array_index(direction->waiting, struct segment, at - 1).seq, segment->seq) < 0)
		at--;
	g_array_insert_val(direction->waiting, at, *segment);
	if (direction->waiting->len > WAITING_MAX)
		take_waiting(connections, direction, true);
}

static void restart(DtcConnections *connections, struct direction *direction, uint32_t seq, bool is_first)
{
	take_waiting(connections, direction, true);
	dtc_messages_clear(&direction->messages);
	memset(&direction->messages, 0, sizeof(direction->messages));
	dtc_messages_init(&direction->messages, connections->words, connections->headers, is_first);
	if (direction->recent)
		g_array_set_size(direction->recent, 0);
	direction->recent_count = 0;
	direction->next_seq = seq;
	direction->is_begun = true;
}

static struct direction *find_direction(DtcConnections *connections, const struct dtc_connection_key *key)
{
	struct direction *direction = g_hash_table_lookup(connections->directions, key);
	if (direction)
		return direction;
	struct dtc_connection_key back = { .source_port = key->destination_port, .destination_port = key->source_port };
	memcpy(back.source, key->destination, sizeof(back.source));
	memcpy(back.destination, key->source, sizeof(back.destination));
	direction = g_new0(struct direction, 1);
	direction->key = *key;
	direction->reverse = g_hash_table_lookup(connections->directions, &back);
	if (direction->reverse)
		direction->reverse->reverse = direction;
	g_hash_table_add(connections->directions, direction);
	return direction;
}

void dtc_connections_add(DtcConnections *connections, const struct dtc_connection_key *key,
			 const struct dtc_connection_segment *segment)
{
	struct direction *direction = find_direction(connections, key);
	struct segment taken = { segment->seq, segment->bytes, MIN(segment->captured_bytes, segment->bytes),
				 segment->data };
	int32_t ahead = get_distance(direction->next_seq, segment->seq);

	/* what is behind the segment's own bytes is nobody's */
	if (segment->captured_bytes > taken.captured_bytes)
		dtc_redacted_fill(segment->data + taken.captured_bytes, segment->captured_bytes - taken.captured_bytes);
	if (segment->is_begin && (!direction->is_begun || segment->seq != direction->next_seq) &&
	    !(direction->is_begun && ahead < 0 && ahead > -FAR_BYTES))
		restart(connections, direction, segment->seq, true);
	else if (taken.bytes && (!direction->is_begun || ahead > FAR_BYTES || ahead < -FAR_BYTES))
		restart(connections, direction, segment->seq, false);
	if (!taken.bytes)
		return;
	if (get_distance(direction->next_seq, taken.seq) > 0) {
		wait(connections, direction, &taken);
		return;
	}
	take_due(connections, direction, taken);
	take_waiting(connections, direction, false);
}

static void direction_free(void *data)
{
	struct direction *direction = data;
	dtc_messages_clear(&direction->messages);
	if (direction->waiting)
		g_array_unref(direction->waiting);
	if (direction->recent)
		g_array_unref(direction->recent);
	g_free(direction);
}

DtcConnections *dtc_connections_new(DtcPseudonyms *words, const char *const *headers)
{
	DtcConnections *connections = g_new0(DtcConnections, 1);
	connections->words = words;
	connections->headers = headers;
	connections->directions = g_hash_table_new_full(hash_key, equal_key, direction_free, NULL);
	connections->copies = g_array_new(FALSE, FALSE, sizeof(struct copy));
	return connections;
}

void dtc_connections_free(DtcConnections *connections)
{
	GHashTableIter iterator;
	gpointer direction;

	if (!connections)
		return;
	g_hash_table_iter_init(&iterator, connections->directions);
	while (g_hash_table_iter_next(&iterator, &direction, NULL))
		take_waiting(connections, direction, true);
	g_hash_table_unref(connections->directions); /* lines that never ended are overwritten */
	for (guint i = 0; i < connections->copies->len; i++) {
		const struct copy *copy = &g_array_index(connections->copies, struct copy, i);
		memcpy(copy->to, copy->from, copy->bytes);
	}
	g_array_unref(connections->copies);
	g_free(connections);
}
