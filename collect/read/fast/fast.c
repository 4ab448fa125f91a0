/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cursor per stream finds its events (cursor.h); one that is asked for is decoded then, in the thread of who asks,
 * and into the one event that there is.
 */
#include "collect/read/fast/fast.h"

#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/extent.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/ctf/name_check.h"
#include "collect/read/fast/ahead.h"
#include "collect/read/fast/chain.h"
#include "collect/read/fast/cursor.h"
#include "collect/read/fast/describe.h"
#include "collect/read/fast/known.h"
#include "collect/read/fast/program_parts.h"
#include "dtrace-chain/error.h"

#include <stdlib.h>
#include <string.h>

#define BATCHES_EVENTS 8192 /* of all streams: what is found is decoded before the caches forget it */
#define BATCH_MAX 512
#define BATCH_MIN 16
#define AHEAD_EVENTS 65536 /* a trace of fewer is read before a thread has begun */

/* What an event of a stream is taken with: a line of the cache, since of many streams each is another's turn. */
struct lane {
	_Alignas(64) struct dtc_decoder packet; /* that the items are in */
	struct dtc_event_layout *events;	/* by class */
};
_Static_assert(sizeof(struct lane) == 64, "the lanes of 512 streams fit into the first cache");

struct fast {
	struct dtc_backend backend;
	char *node;
	struct dtc_known_trace trace;
	struct dtc_trace_layout *layout; /* the trace's */
	int64_t wrap_ns;		 /* of the low bits of its events' times */
	DtcInventory *inventory;
	DtcPacketTable *table;
	DtcChains *chains;
	struct dtc_spans *spans; /* of each stream layout */
	guint count;
	struct dtc_cursor *cursors;
	struct dtc_stream *shown; /* what the reader sees of them, which may be further */
	guint64 *done_bytes;	  /* of what is shown */
	struct lane *lanes;
	gint *spare;			/* atomic, borrowed: threads that could be started; NULL: none */
	DtcAhead *ahead;		/* NULL: the cursors are moved by who takes their events */
	guint64 seen_events;		/* before there is one */
	uint64_t *slots;		/* of who takes them then */
	const struct dtc_item *next;	/* asked for next unless another stream has its turn; NULL: not known */
	const DtcProgram *next_program; /* of it; NULL: no event of its class was met yet */
	struct dtc_event event;
	struct dtc_program_texts texts;
	DtcNames *event_names, *call_names; /* borrowed */
};

/* ---- opening ---- */

static void close_trace(struct dtc_backend *backend)
{
	struct fast *fast = (struct fast *)backend;
	dtc_ahead_free(fast->ahead);
	for (guint i = 0; i < fast->count; i++)
		dtc_cursor_clear(&fast->cursors[i]);
	free(fast->lanes);
	free(fast->shown);
	g_free(fast->done_bytes);
	g_free(fast->slots);
	free(fast->cursors);
	for (guint i = 0; fast->spans && i < fast->layout->stream_count; i++)
		dtc_spans_clear(&fast->spans[i]);
	g_free(fast->spans);
	g_free(fast->backend.streams);
	dtc_chains_free(fast->chains);
	for (guint i = 0; fast->layout && i < fast->layout->stream_count; i++)
		for (guint k = 0; k < fast->layout->streams[i].event_count; k++)
			dtc_program_free(fast->layout->streams[i].events[k].user);
	dtc_known_close(&fast->trace);
	dtc_packet_table_free(fast->table);
	dtc_inventory_free(fast->inventory);
	dtc_findings_free(fast->backend.findings);
	g_free(fast->node);
	g_free(fast);
}

static bool read_metadata(struct fast *fast, DtcKnown *known, const char *path, GError **error)
{
	GString *text = dtc_metadata_read_text(path);
	if (!text) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "its metadata cannot be read");
		return false;
	}
	fast->wrap_ns = dtc_clock_class_find_wrap(text);
	if (!dtc_known_open(known, text, &fast->trace, error))
		return false;
	fast->layout = fast->trace.layout;
	if (fast->layout->stream_count == 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "it declares no stream");
		return false;
	}
	return true;
}

static void declare(struct fast *fast)
{
	GHashTable *odd_names = dtc_known_get_odd_names(&fast->trace);
	memcpy(fast->backend.declares, dtc_known_get_declared(&fast->trace), sizeof(fast->backend.declares));
	if (odd_names)
		dtc_name_check(odd_names, fast->node, fast->backend.findings);
}

static int compare_cursors(const void *a, const void *b)
{
	const struct dtc_cursor *x = a, *y = b;
	if (x->stream.cpu != y->stream.cpu)
		return x->stream.cpu < y->stream.cpu ? -1 : 1;
	return g_strcmp0(x->stream.name, y->stream.name);
}

static void begin_stream(struct fast *fast, struct dtc_cursor *cursor, const struct dtc_chain *chain)
{
	guint limit =
		fast->layout->refers_to_headers ? 1 : CLAMP(BATCHES_EVENTS / MAX(fast->count, 1), BATCH_MIN, BATCH_MAX);
	struct dtc_spans *spans = chain->layout ? &fast->spans[chain->layout - fast->layout->streams] : NULL;
	dtc_cursor_init(cursor, fast->layout, chain, spans, fast->node, fast->wrap_ns, limit);
	dtc_cursor_advance(cursor);
}

/* Of zeros, each from a line of the cache on. */
static void *take_lines(guint count, gsize bytes)
{
	gsize size = (((gsize)count + 1) * bytes + 63) & ~(gsize)63;
	void *lines = aligned_alloc(64, size);
	if (!lines)
		g_error("no memory for %u streams", count);
	return memset(lines, 0, size);
}

/* A batch of a stream, as the reader sees it: all but what is looked at for events changes at gaps and ends alone. */
static void show(struct fast *fast, guint stream, const struct dtc_stream *from, const struct dtc_decoder *packet)
{
	struct dtc_stream *to = &fast->shown[stream];
	if (from->item_count > 0 && to->has_item)
		memcpy(to, from, offsetof(struct dtc_stream, name));
	else
		*to = *from;
	fast->lanes[stream].packet = *packet;
}

/* Moves every stream to its first items, which tell its CPU, and puts them in order. */
static void begin_streams(struct fast *fast)
{
	fast->spans = g_new0(struct dtc_spans, fast->layout->stream_count + 1);
	for (guint i = 0; i < fast->layout->stream_count; i++)
		dtc_spans_init(&fast->spans[i], &fast->layout->streams[i]);
	fast->count = dtc_chains_get_count(fast->chains);
	fast->cursors = take_lines(fast->count, sizeof(*fast->cursors));
	for (guint i = 0; i < fast->count; i++)
		begin_stream(fast, &fast->cursors[i], dtc_chains_get(fast->chains, i));
	if (fast->count > 1)
		qsort(fast->cursors, fast->count, sizeof(*fast->cursors), compare_cursors);
	fast->backend.stream_count = fast->count;
	fast->backend.streams = g_new0(struct dtc_stream *, fast->count + 1);
	fast->lanes = take_lines(fast->count, sizeof(*fast->lanes));
	fast->shown = take_lines(fast->count, sizeof(*fast->shown));
	fast->done_bytes = g_new0(guint64, fast->count + 1);
	for (guint i = 0; i < fast->count; i++) {
		fast->backend.streams[i] = &fast->shown[i];
		fast->lanes[i].events = fast->cursors[i].events;
		fast->done_bytes[i] = fast->cursors[i].done_bytes;
		fast->backend.consumed_bytes += fast->done_bytes[i];
		show(fast, i, &fast->cursors[i].stream, &fast->cursors[i].decoder);
	}
}

static bool has_clocks(const struct fast *fast)
{
	for (guint i = 0; i < fast->count; i++)
		if (fast->cursors[i].chain->layout && !fast->cursors[i].chain->layout->clock)
			return false;
	return true;
}

static struct dtc_backend *open_trace(const struct dtc_backend_request *request, GError **error)
{
	const char *node = request->node, *path = request->path;
	g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
	if (!dtc_metadata_check(metadata, error)) {
		g_prefix_error(error, "cannot read the trace of node '%s': ", node);
		return NULL;
	}
	struct fast *fast = g_new0(struct fast, 1);
	fast->backend.kind = &dtc_fast_backend;
	fast->backend.findings = dtc_findings_new();
	fast->node = g_strdup(node);
	fast->event_names = request->event_names;
	fast->call_names = request->call_names;
	if (!read_metadata(fast, request->known, path, error)) {
		g_prefix_error(error, "cannot read the trace of node '%s' in '%s': its metadata, ", node, path);
		if (error && *error) {
			char *message = g_strconcat((*error)->message, "\ncopy the trace again from the node", NULL);
			g_free((*error)->message);
			(*error)->message = message;
		}
		close_trace(&fast->backend);
		return NULL;
	}
	fast->inventory = dtc_inventory_new(path);
	if (dtc_chains_can_use_table(fast->layout))
		fast->table = dtc_packet_table_new(path, fast->inventory, node, fast->backend.findings);
	dtc_inventory_report(fast->inventory, node, fast->backend.findings);
	if (fast->table)
		dtc_packet_table_report(fast->table, node, fast->backend.findings);
	fast->chains = dtc_chains_new(path, fast->layout, fast->inventory, fast->table, node, fast->backend.findings);
	begin_streams(fast);
	declare(fast);
	fast->backend.has_no_clock = !has_clocks(fast);
	if (fast->count == 0)
		dtc_inventory_report_empty(path, node, fast->backend.findings);
	return &fast->backend;
}

/* ---- the door ---- */

static bool take_spare(gint *spare)
{
	gint count = g_atomic_int_get(spare);
	while (count > 0 && !g_atomic_int_compare_and_exchange(spare, count, count - 1))
		count = g_atomic_int_get(spare);
	return count > 0;
}

/* Now and then whether there is a thread to spare: others may have ended. */
static void try_ahead(struct fast *fast)
{
	fast->seen_events = 0;
	/* where events are told by headers before them, both are looked at in turn */
	if (!fast->spare || fast->layout->refers_to_headers || !take_spare(fast->spare))
		return;
	fast->slots = g_new0(uint64_t, fast->layout->slot_count + 1);
	fast->ahead = dtc_ahead_new(fast->cursors, fast->count, fast->slots, fast->spare);
	if (!fast->ahead) {
		g_clear_pointer(&fast->slots, g_free);
		g_atomic_int_inc(fast->spare);
	}
}

static void advance_ahead(struct fast *fast, guint stream)
{
	const struct dtc_ahead_batch *batch = dtc_ahead_take(fast->ahead, stream);
	fast->backend.consumed_bytes += batch->done_bytes - fast->done_bytes[stream];
	fast->done_bytes[stream] = batch->done_bytes;
	show(fast, stream, &batch->stream, &batch->packet);
}

static void advance_stream(struct dtc_backend *backend, guint stream)
{
	struct fast *fast = (struct fast *)backend;
	fast->seen_events += fast->shown[stream].item_count;
	fast->next = NULL;
	if (!fast->ahead && G_UNLIKELY(fast->seen_events >= AHEAD_EVENTS))
		try_ahead(fast);
	if (fast->ahead) {
		advance_ahead(fast, stream);
		return;
	}
	struct dtc_cursor *cursor = &fast->cursors[stream];
	dtc_cursor_advance(cursor);
	backend->consumed_bytes += cursor->done_bytes - fast->done_bytes[stream];
	fast->done_bytes[stream] = cursor->done_bytes;
	show(fast, stream, &cursor->stream, &cursor->decoder);
}

static void share_threads(struct dtc_backend *backend, gint *spare)
{
	((struct fast *)backend)->spare = spare;
}

static G_GNUC_NO_INLINE DtcProgram *make_program(struct fast *fast, guint stream, guint class)
{
	struct dtc_event_layout *event = &fast->lanes[stream].events[class];
	event->user = dtc_program_new(fast->cursors[stream].chain->layout, event, fast->event_names, fast->call_names);
	return event->user;
}

static inline DtcProgram *get_program(struct fast *fast, guint stream, guint class)
{
	DtcProgram *program = fast->lanes[stream].events[class].user;
	return G_LIKELY(program) ? program : make_program(fast, stream, class);
}

static struct dtc_item_class get_class(struct dtc_backend *backend, guint stream, guint class)
{
	return dtc_program_get_class(get_program((struct fast *)backend, stream, class));
}

/* Of the item behind the one that is taken: three loads that wait for each other are over when it is asked for. */
static inline void expect_program(struct fast *fast, const struct lane *lane, const struct dtc_item *item)
{
	const DtcProgram *program = lane->events[item->class].user;
	fast->next = item;
	fast->next_program = program;
	if (G_UNLIKELY(!program))
		return;
	__builtin_prefetch(&program->flats[item->form]);
	__builtin_prefetch(&program->flats[item->form].texts);
	__builtin_prefetch(lane->packet.data + item->at / 8);
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint stream)
{
	struct fast *fast = (struct fast *)backend;
	const struct dtc_stream *shown = backend->streams[stream];
	const struct dtc_item *item = shown->item;
	const DtcProgram *program = fast->next_program;
	if (G_UNLIKELY(item != fast->next || !program))
		program = get_program(fast, stream, item->class);
	fast->next = NULL;
	if (G_LIKELY(item + 1 < shown->items + shown->item_count))
		expect_program(fast, &fast->lanes[stream], item + 1);
	/* its end was found, so that it is in the packet */
	(void)dtc_program_take(program, &fast->lanes[stream].packet, item, &fast->texts, &fast->event);
	return &fast->event;
}

/* What get_event looks at first, and what nobody has looked at for long where there are many streams. */
static void expect_event(struct dtc_backend *backend, guint stream, const struct dtc_item *item)
{
	const struct fast *fast = (const struct fast *)backend;
	if (!item) {
		if (!fast->ahead)
			dtc_cursor_expect(&fast->cursors[stream]);
		return;
	}
	const uint8_t *data = fast->lanes[stream].packet.data + item->at / 8;
	__builtin_prefetch(data);
	__builtin_prefetch(data + 64);
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	return g_hash_table_lookup(((const struct fast *)backend)->trace.declaration->environment, key);
}

const struct dtc_backend_kind dtc_fast_backend = {
	.name = "fast",
	.recognizes = dtc_metadata_is_there,
	.missing = "no file 'metadata'",
	.layout = "a directory with the CTF metadata beside its streams",
	.measure = dtc_extent_measure,
	.describe_clock = dtc_declaration_describe_clock,
	.describe_origin = dtc_declaration_describe_origin,
	.open = open_trace,
	.close = close_trace,
	.advance = advance_stream,
	.share_threads = share_threads,
	.get_event = get_event,
	.expect = expect_event,
	.get_class = get_class,
	.get_environment = get_environment,
};
