/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cursor per stream goes over its packets, and over the events in them. An event is decoded when its cursor moves
 * to it, so that what is damaged is known before it is given out: then the rest of its packet is left out, and the next
 * packet goes on.
 */
#include "collect/read/fast/fast.h"

#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/extent.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/ctf/name_check.h"
#include "collect/read/fast/chain.h"
#include "collect/read/fast/program.h"
#include "collect/read/spellings.h"
#include "dtrace-chain/error.h"

#include <stddef.h>

#define NS_PER_S 1000000000
#define MAX_REPORTS 10 /* of damaged packets, per stream */

/* Where an event's id and time lie when they are the low and the high bits of one word, as in LTTng's headers. */
struct header_plan {
	uint32_t id_bits; /* 0: there is no such plan */
	uint32_t time_bits;
	uint32_t align;
	uint64_t id_limit; /* ids from here on have another form */
};

struct fast;

struct cursor {
	struct dtc_stream stream;
	const struct dtc_chain *chain;
	struct dtc_decoder decoder;
	struct header_plan plan;
	int64_t base_ns; /* of the clock */
	uint64_t frequency;
	guint next; /* packet */
	bool is_inside;
	bool has_gap_told; /* of the packet that comes next */
	bool has_previous;
	uint64_t previous_end, previous_discarded, previous_sequence;
	guint64 judged_packet; /* the last of which its end was looked at, from 1 */
	bool is_late;	       /* ... and whether it has events after its end */
	guint report_count;
	struct dtc_event event;
	struct dtc_program_texts texts;
};

struct fast {
	struct dtc_backend backend;
	char *node;
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	DtcInventory *inventory;
	DtcPacketTable *table;
	DtcChains *chains;
	guint count;
	struct cursor *cursors;
	DtcNames *event_names, *call_names; /* borrowed */
};

/* ---- time ---- */

/* As babeltrace2 does it, so that both say the same to the nanosecond. */
static uint64_t scale_ticks(uint64_t frequency, uint64_t ticks)
{
	if (frequency == NS_PER_S)
		return ticks;
	double ns = 1e9 * (double)ticks / (double)frequency;
	return ns >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static bool convert_ticks(const struct cursor *cursor, uint64_t ticks, int64_t *ret_ns)
{
	uint64_t ns = scale_ticks(cursor->frequency, ticks);
	return ns <= (uint64_t)INT64_MAX && !__builtin_add_overflow(cursor->base_ns, (int64_t)ns, ret_ns);
}

static bool set_clock(struct cursor *cursor, const struct dtc_clock_declaration *clock)
{
	int64_t seconds_ns;
	uint64_t whole = clock->offset / clock->frequency;
	uint64_t rest_ns = scale_ticks(clock->frequency, clock->offset % clock->frequency);
	int64_t offset_s;
	cursor->frequency = clock->frequency;
	return whole <= (uint64_t)INT64_MAX && !__builtin_add_overflow(clock->offset_s, (int64_t)whole, &offset_s) &&
	       !__builtin_mul_overflow(offset_s, (int64_t)NS_PER_S, &seconds_ns) &&
	       !__builtin_add_overflow(seconds_ns, (int64_t)rest_ns, &cursor->base_ns);
}

/* ---- event headers ---- */

/* { enum of n bits: id } and, for its low values, { m bits: time } right behind it, little endian. */
static struct header_plan plan_header(const struct dtc_layout *header)
{
	struct header_plan none = { 0, 0, 0, 0 };
	if (!header || header->member_count != 2)
		return none;
	const struct dtc_layout *id = header->members[0].layout, *variant = header->members[1].layout;
	if (id->kind != DTC_TYPE_INTEGER || id->is_big_endian || id->is_reversed || id->is_signed || id->bits > 32 ||
	    variant->kind != DTC_TYPE_VARIANT || variant->source != id->slot || variant->choice_count == 0 ||
	    strcmp(dtc_spelling_skip_underscores(header->members[0].name), "id") != 0)
		return none;
	const struct dtc_layout_choice *choice = &variant->choices[0];
	const struct dtc_layout *compact = variant->members[choice->option].layout;
	if (choice->range.low != 0 || choice->range.high < 0 || compact->kind != DTC_TYPE_STRUCT ||
	    compact->member_count != 1)
		return none;
	const struct dtc_layout *time = compact->members[0].layout;
	if (!time->is_clock || time->is_big_endian || time->is_reversed || time->is_signed || time->slot >= 0 ||
	    time->kind != DTC_TYPE_INTEGER || id->bits % compact->align != 0 || id->bits + time->bits > 64 ||
	    header->align % 8 != 0)
		return none;
	return (struct header_plan){ id->bits, time->bits, header->align, (uint64_t)choice->range.high + 1 };
}

/* Any header: the last field called id is the event's, and every field with a clock moves the stream's. */
static bool read_header(struct dtc_decoder *decoder, const struct dtc_layout *layout, const char *name, uint64_t *id)
{
	const struct dtc_layout *inner;
	uint32_t option;
	uint64_t value;
	switch (layout->kind) {
	case DTC_TYPE_STRUCT:
		decoder->at = dtc_align_bits(decoder->at, layout->align);
		for (guint i = 0; i < layout->member_count; i++)
			if (!read_header(decoder, layout->members[i].layout, layout->members[i].name, id))
				return false;
		return decoder->at <= decoder->end;
	case DTC_TYPE_VARIANT:
	case DTC_TYPE_OPTION:
		return dtc_decode_select(decoder, layout, &option, &inner) &&
		       (!inner || read_header(decoder, inner, name, id));
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_VARINT:
		if (!(layout->kind == DTC_TYPE_INTEGER ? dtc_decode_integer(decoder, layout, &value)
						       : dtc_decode_varint(decoder, layout, &value)))
			return false;
		if (layout->role == DTC_ROLE_EVENT_CLASS ||
		    (layout->role == DTC_ROLE_NONE && strcmp(dtc_spelling_skip_underscores(name), "id") == 0))
			*id = value;
		return true;
	default:
		return dtc_decode_pass(decoder, layout);
	}
}

static bool take_planned(const struct header_plan *plan, struct dtc_decoder *decoder, uint64_t *ret_id)
{
	uint64_t at = dtc_align_bits(decoder->at, plan->align), word;
	if (at > decoder->end || decoder->end - at < 64)
		return false;
	memcpy(&word, decoder->data + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word);
	uint64_t id = word & ((UINT64_C(1) << plan->id_bits) - 1);
	if (id >= plan->id_limit)
		return false;
	uint64_t time = word >> plan->id_bits;
	if (plan->time_bits < 64)
		time &= (UINT64_C(1) << plan->time_bits) - 1;
	dtc_decode_tick(decoder, time, plan->time_bits);
	decoder->at = at + plan->id_bits + plan->time_bits;
	*ret_id = id;
	return true;
}

/* Goes behind the event's header. False if it is cut, or of an event that is not declared. */
static bool enter_event(const struct cursor *cursor, struct dtc_decoder *decoder,
			const struct dtc_event_layout **ret_event)
{
	const struct dtc_stream_layout *layout = cursor->chain->layout;
	uint64_t id = 0;
	if ((cursor->plan.id_bits == 0 || !take_planned(&cursor->plan, decoder, &id)) && layout->event_header &&
	    !read_header(decoder, layout->event_header, "", &id))
		return false;
	*ret_event = dtc_layout_find_event(layout, id);
	return *ret_event != NULL;
}

/* The same to its end. */
static bool pass_event(const struct cursor *cursor, struct dtc_decoder *decoder)
{
	const struct dtc_event_layout *event;
	uint64_t begin = decoder->at;
	return enter_event(cursor, decoder, &event) &&
	       dtc_decode_pass(decoder, cursor->chain->layout->common_context) &&
	       dtc_decode_pass(decoder, event->context) && dtc_decode_pass(decoder, event->payload) &&
	       decoder->at > begin;
}

/* ---- packets ---- */

static const struct dtc_chain_packet *get_packet(const struct cursor *cursor, guint index)
{
	return &g_array_index(cursor->chain->packets, struct dtc_chain_packet, index);
}

/* What the tracer says it lost before the end of the packet comes after its events. */
static void note_discarded(struct cursor *cursor, const struct dtc_chain_packet *packet)
{
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_gap gap = { stream->last_ns, stream->last_ns, DTC_ABSENT, 0, false };
	uint64_t before = cursor->has_previous ? cursor->previous_discarded : 0;
	if (!packet->has_discarded || packet->discarded == before)
		return;
	/* a stream's first packet counts from the begin of its session: how many of them are its own is not known */
	if (cursor->has_previous)
		gap.count = (int64_t)MIN(packet->discarded - before, (uint64_t)INT64_MAX);
	if (packet->has_begin && packet->has_end) {
		convert_ticks(cursor, cursor->has_previous ? cursor->previous_end : packet->begin_ticks, &gap.begin_ns);
		convert_ticks(cursor, packet->end_ticks, &gap.end_ns);
	}
	stream->pending_gap = gap;
	stream->has_pending_gap = true;
}

/* Packets whose numbers are missing; true if there are any, and the gap is the current item. */
static bool tell_missing(struct cursor *cursor, const struct dtc_chain_packet *packet)
{
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_gap gap = { stream->last_ns, stream->last_ns, DTC_ABSENT, 0, false };
	if (!packet->has_sequence || !cursor->has_previous || packet->sequence <= cursor->previous_sequence + 1)
		return false;
	gap.packets = (int64_t)MIN(packet->sequence - cursor->previous_sequence - 1, (uint64_t)INT64_MAX);
	if (packet->has_begin && packet->has_end) {
		convert_ticks(cursor, cursor->previous_end, &gap.begin_ns);
		convert_ticks(cursor, packet->begin_ticks, &gap.end_ns);
	}
	dtc_stream_take_gap(stream, gap);
	return true;
}

static void remember(struct cursor *cursor, const struct dtc_chain_packet *packet)
{
	cursor->has_previous = true;
	cursor->previous_end = packet->end_ticks;
	cursor->previous_discarded = packet->discarded;
	cursor->previous_sequence = packet->sequence;
}

static G_GNUC_PRINTF(4, 5) void report_packet(const struct fast *fast, struct cursor *cursor,
					      const struct dtc_chain_packet *packet, const char *format, ...)
{
	va_list arguments;
	if (cursor->report_count++ >= MAX_REPORTS)
		return;
	va_start(arguments, format);
	g_autofree char *what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	dtc_findings_add_coded(fast->backend.findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, fast->node,
			       "stream '%s' is damaged in the packet that begins at byte %" G_GUINT64_FORMAT ": %s%s",
			       cursor->stream.name, packet->offset, what,
			       cursor->report_count == MAX_REPORTS ? " (and perhaps in more packets)" : "");
}

/* The rest of the packet is left out. */
static void take_damage(const struct fast *fast, struct cursor *cursor)
{
	const struct dtc_chain_packet *packet = get_packet(cursor, cursor->next - 1);
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_gap gap = { stream->last_ns, stream->last_ns, DTC_ABSENT, 0, true };
	report_packet(fast, cursor, packet,
		      "what follows on byte %" G_GUINT64_FORMAT
		      " of it is no event that the trace declares; the rest of it was left out",
		      cursor->decoder.at / 8);
	if (stream->event_count == 0)
		gap.begin_ns = gap.end_ns = stream->begin_ns == DTC_ABSENT ? 0 : stream->begin_ns;
	if (stream->limit_ns != INT64_MAX)
		gap.end_ns = MAX(gap.end_ns, stream->limit_ns);
	dtc_stream_take_gap(stream, gap);
	cursor->decoder.at = cursor->decoder.end;
}

static void begin_packet(struct fast *fast, struct cursor *cursor, const struct dtc_chain_packet *packet)
{
	struct dtc_packet_claim claim = { (uint32_t)packet->cpu, DTC_ABSENT, INT64_MAX, (int64_t)packet->offset };
	if (packet->cpu >= DTC_CPU_LIMIT) {
		report_packet(fast, cursor, packet, "a packet claims CPU %" G_GUINT64_FORMAT " and was left out",
			      packet->cpu);
		return;
	}
	cursor->is_inside = true;
	if (packet->has_begin && !convert_ticks(cursor, packet->begin_ticks, &claim.begin_ns))
		claim.begin_ns = DTC_ABSENT;
	/* a tracer that crashed leaves 0 */
	if (!packet->has_begin || !packet->has_end || packet->end_ticks < packet->begin_ticks ||
	    !convert_ticks(cursor, packet->end_ticks, &claim.limit_ns))
		claim.limit_ns = INT64_MAX;
	dtc_stream_begin_packet(&cursor->stream, &claim);
	if (dtc_chain_enter(fast->layout, cursor->chain, packet, &cursor->decoder))
		return;
	report_packet(fast, cursor, packet, "it has no room for its own header");
	cursor->decoder.at = cursor->decoder.end;
}

/* ---- events ---- */

/* The time of the event after the one whose end the decoder is at, in its packet; DTC_ABSENT: there is none. */
static int64_t look_ahead(const struct cursor *cursor)
{
	struct dtc_decoder ahead = cursor->decoder;
	const struct dtc_event_layout *event;
	int64_t time_ns;
	if (ahead.at >= ahead.end || !enter_event(cursor, &ahead, &event) ||
	    !convert_ticks(cursor, ahead.clock, &time_ns))
		return DTC_ABSENT;
	return time_ns;
}

/* Whether the packet has events after its end, or times that fall, as they do at the next event with a whole time. */
static bool look_for_late_events(const struct fast *fast, const struct cursor *cursor)
{
	g_autofree uint64_t *slots = g_new0(uint64_t, fast->layout->slot_count + 1);
	struct dtc_decoder decoder = { .slots = slots };
	int64_t last_ns = INT64_MIN, time_ns;
	if (!dtc_chain_enter(fast->layout, cursor->chain, get_packet(cursor, cursor->next - 1), &decoder))
		return false;
	while (decoder.at < decoder.end && pass_event(cursor, &decoder)) {
		if (!convert_ticks(cursor, decoder.clock, &time_ns))
			continue;
		if (time_ns > cursor->stream.limit_ns || time_ns < last_ns)
			return true;
		last_ns = time_ns;
	}
	return false;
}

/* Of a packet that is looked at for one event the others need no look. */
static bool is_doubt_right(const struct fast *fast, struct cursor *cursor)
{
	if (cursor->judged_packet != cursor->stream.packet_count)
		cursor->is_late = look_for_late_events(fast, cursor);
	cursor->judged_packet = cursor->stream.packet_count;
	return cursor->is_late;
}

/* Decodes the next event of the packet; false if it is damaged. */
static bool take_event(struct fast *fast, struct cursor *cursor)
{
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_decoder *decoder = &cursor->decoder, before = *decoder;
	const struct dtc_event_layout *event;
	int64_t time_ns, next_ns = DTC_ABSENT;
	if (!enter_event(cursor, decoder, &event) || !convert_ticks(cursor, decoder->clock, &time_ns)) {
		*decoder = before;
		return false;
	}
	if (G_UNLIKELY(!event->user))
		((struct dtc_event_layout *)event)->user =
			dtc_program_new(cursor->chain->layout, event, fast->event_names, fast->call_names);
	if (G_UNLIKELY(!dtc_program_run(event->user, decoder, &cursor->texts, &cursor->event) ||
		       decoder->at <= before.at)) {
		*decoder = before;
		return false;
	}
	if (G_UNLIKELY(dtc_stream_wants_next(stream, time_ns))) {
		next_ns = look_ahead(cursor);
		if (dtc_stream_doubts(stream, time_ns, next_ns) && is_doubt_right(fast, cursor))
			dtc_stream_turn_back(stream);
	}
	dtc_stream_take_event(stream, time_ns, next_ns);
	return true;
}

/* To the next item inside of the packet; false if it is over. */
static bool advance_inside(struct fast *fast, struct cursor *cursor)
{
	const struct dtc_chain_packet *packet = get_packet(cursor, cursor->next - 1);
	if (G_LIKELY(cursor->decoder.at < cursor->decoder.end)) {
		if (G_LIKELY(take_event(fast, cursor)))
			return true;
		if (!packet->is_cut) { /* of an event that the file's end cuts that was said */
			take_damage(fast, cursor);
			return true;
		}
	}
	cursor->is_inside = false;
	fast->backend.consumed_bytes += packet->content_bits / 8;
	return dtc_stream_flush_gap(&cursor->stream);
}

static void advance(struct fast *fast, struct cursor *cursor)
{
	struct dtc_stream *stream = &cursor->stream;
	stream->has_item = true;
	for (;;) {
		if (cursor->is_inside && advance_inside(fast, cursor))
			return;
		if (stream->error || cursor->next == cursor->chain->packets->len)
			break;
		const struct dtc_chain_packet *packet = get_packet(cursor, cursor->next);
		if (!cursor->has_gap_told) {
			note_discarded(cursor, packet);
			cursor->has_gap_told = true;
			if (tell_missing(cursor, packet))
				return;
		}
		cursor->has_gap_told = false;
		cursor->next++;
		remember(cursor, packet);
		begin_packet(fast, cursor, packet);
	}
	stream->has_item = dtc_stream_end(stream);
}

/* ---- opening ---- */

static void close_trace(struct dtc_backend *backend)
{
	struct fast *fast = (struct fast *)backend;
	for (guint i = 0; i < fast->count; i++) {
		g_free(fast->cursors[i].decoder.slots);
		dtc_stream_clear(&fast->cursors[i].stream);
	}
	g_free(fast->cursors);
	g_free(fast->backend.streams);
	dtc_chains_free(fast->chains);
	for (guint i = 0; fast->layout && i < fast->layout->stream_count; i++)
		for (guint k = 0; k < fast->layout->streams[i].event_count; k++)
			dtc_program_free(fast->layout->streams[i].events[k].user);
	dtc_trace_layout_free(fast->layout);
	dtc_trace_declaration_free(fast->declaration);
	dtc_packet_table_free(fast->table);
	dtc_inventory_free(fast->inventory);
	dtc_findings_free(fast->backend.findings);
	g_free(fast->node);
	g_free(fast);
}

static bool read_metadata(struct fast *fast, const char *path, GError **error)
{
	GString *text = dtc_metadata_read_text(path);
	if (!text) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "its metadata cannot be read");
		return false;
	}
	fast->declaration = dtc_declaration_parse(text->str, text->len, error);
	g_string_free(text, TRUE);
	if (fast->declaration)
		fast->layout = dtc_layout_compile(fast->declaration, error);
	if (fast->layout && fast->layout->stream_count == 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "it declares no stream");
		return false;
	}
	return fast->layout != NULL;
}

static void declare(struct fast *fast)
{
	g_autoptr(GHashTable) declared = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < fast->layout->stream_count; i++) {
		const struct dtc_stream_layout *stream = &fast->layout->streams[i];
		for (guint k = 0; k < stream->event_count; k++) {
			const char *name = stream->events[k].declaration->name;
			if (name)
				g_hash_table_add(declared, (char *)name);
			fast->backend.declares[name ? dtc_spelling_find_event(name).kind : DTC_EVENT_OTHER] = true;
		}
	}
	dtc_name_check(declared, fast->node, fast->backend.findings);
}

static int compare_cursors(const void *a, const void *b)
{
	const struct cursor *x = a, *y = b;
	if (x->stream.cpu != y->stream.cpu)
		return x->stream.cpu < y->stream.cpu ? -1 : 1;
	return g_strcmp0(x->stream.name, y->stream.name);
}

static void begin_stream(struct fast *fast, struct cursor *cursor, const struct dtc_chain *chain, int64_t wrap_ns)
{
	cursor->chain = chain;
	cursor->decoder.slots = g_new0(uint64_t, fast->layout->slot_count + 1);
	dtc_stream_init(&cursor->stream);
	cursor->stream.name = g_strdup(chain->name);
	cursor->stream.wrap_ns = wrap_ns;
	cursor->stream.has_no_end = chain->has_no_end;
	if (!chain->layout || !chain->layout->clock)
		dtc_stream_take_error(&cursor->stream, g_strdup(chain->layout ? "it has no clock"
									      : "the trace declares no such stream"));
	else if (!set_clock(cursor, chain->layout->clock))
		dtc_stream_take_error(&cursor->stream, g_strdup("its clock is beyond what 64 bits hold"));
	else
		cursor->plan = plan_header(chain->layout->event_header);
	advance(fast, cursor);
}

/* Moves every stream to its first item, which tells its CPU, and puts them in order. */
static void begin_streams(struct fast *fast, const char *path)
{
	int64_t wrap_ns = dtc_clock_class_get_wrap(path);
	fast->count = dtc_chains_get_count(fast->chains);
	fast->cursors = g_new0(struct cursor, fast->count + 1);
	for (guint i = 0; i < fast->count; i++)
		begin_stream(fast, &fast->cursors[i], dtc_chains_get(fast->chains, i), wrap_ns);
	if (fast->count > 1)
		qsort(fast->cursors, fast->count, sizeof(*fast->cursors), compare_cursors);
	fast->backend.stream_count = fast->count;
	fast->backend.streams = g_new0(struct dtc_stream *, fast->count + 1);
	for (guint i = 0; i < fast->count; i++)
		fast->backend.streams[i] = &fast->cursors[i].stream;
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
	if (!read_metadata(fast, path, error)) {
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
	begin_streams(fast, path);
	declare(fast);
	if (!has_clocks(fast)) {
		dtc_metadata_set_no_clock(node, path, error);
		close_trace(&fast->backend);
		return NULL;
	}
	if (fast->count == 0)
		dtc_inventory_report_empty(path, node, fast->backend.findings);
	return &fast->backend;
}

/* ---- the door ---- */

static void advance_stream(struct dtc_backend *backend, guint stream)
{
	struct fast *fast = (struct fast *)backend;
	advance(fast, &fast->cursors[stream]);
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint stream)
{
	return &((struct fast *)backend)->cursors[stream].event;
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	return g_hash_table_lookup(((const struct fast *)backend)->declaration->environment, key);
}

const struct dtc_backend_kind dtc_fast_backend = {
	.name = "fast",
	.recognizes = dtc_metadata_is_there,
	.missing = "no file 'metadata'",
	.layout = "a directory with the CTF metadata beside its streams",
	.measure = dtc_extent_measure,
	.describe_clock = dtc_clock_class_read,
	.describe_origin = dtc_clock_class_describe_origin,
	.open = open_trace,
	.close = close_trace,
	.advance = advance_stream,
	.get_event = get_event,
	.get_environment = get_environment,
};
