/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/cursor.h"

#include <sys/mman.h>
#include <unistd.h>

#define NS_PER_S 1000000000
#define AHEAD_BYTES 1024
#define FETCH_EVENT_BYTES 8192 /* of a packet at once, for each event of a batch */
#define FETCH_MIN_BYTES 65536  /* what a fault fetches */
#define MAX_REPORTS 10	       /* of damaged packets, per stream */

/* ---- how long events are ---- */

void dtc_spans_init(struct dtc_spans *spans, const struct dtc_stream_layout *layout)
{
	g_mutex_init(&spans->lock);
	spans->count = layout->event_count;
	spans->parts = g_new0(struct dtc_class_parts, layout->event_count + 1);
	spans->id_count = layout->dense_count;
	spans->by_id = g_new0(struct dtc_span, layout->dense_count + 1);
}

void dtc_spans_clear(struct dtc_spans *spans)
{
	for (guint i = 0; i < spans->count; i++) {
		dtc_steps_free(spans->parts[i].steps);
		dtc_forms_free(spans->parts[i].forms);
	}
	g_free(spans->parts);
	g_free(spans->by_id);
	g_mutex_clear(&spans->lock);
}

static inline guint find_class(const struct dtc_cursor *cursor, const struct dtc_event_layout *event)
{
	return (guint)(event - cursor->chain->layout->events);
}

static void set_span(struct dtc_spans *spans, const struct dtc_steps *steps, const struct dtc_forms *forms,
		     struct dtc_span *span)
{
	const struct dtc_layout_step *step = &steps->steps[0];
	bool is_fixed = steps->count == 1 && step->kind == DTC_STEP_RUN && step->align <= UINT16_MAX;
	span->align = (uint16_t)step->align;
	span->bits = is_fixed ? step->run_bits : spans->guess_count++ % DTC_GUESSES;
	span->form = is_fixed && forms && forms->count == 1;
	g_atomic_int_set(&span->kind, is_fixed ? DTC_SPAN_FIXED : forms ? DTC_SPAN_FORMS : DTC_SPAN_STEPS);
}

static void make_parts(const struct dtc_cursor *cursor, const struct dtc_event_layout *event,
		       struct dtc_class_parts *made)
{
	const struct dtc_layout *parts[] = { cursor->chain->layout->common_context, event->context, event->payload };
	struct dtc_spans *spans = cursor->spans;
	uint64_t id = event->declaration->id;
	g_mutex_lock(&spans->lock);
	if (!made->steps) {
		struct dtc_steps *steps = dtc_steps_new(parts, G_N_ELEMENTS(parts), NULL);
		made->forms = dtc_forms_new(parts, G_N_ELEMENTS(parts));
		g_atomic_pointer_set(&made->steps, steps);
		if (id < spans->id_count) {
			spans->by_id[id].class = find_class(cursor, event);
			set_span(spans, steps, made->forms, &spans->by_id[id]);
		}
	}
	g_mutex_unlock(&spans->lock);
}

static const struct dtc_steps *get_steps(const struct dtc_cursor *cursor, const struct dtc_event_layout *event)
{
	struct dtc_class_parts *parts = &cursor->spans->parts[find_class(cursor, event)];
	if (G_UNLIKELY(!g_atomic_pointer_get(&parts->steps)))
		make_parts(cursor, event, parts);
	return parts->steps;
}

/* Behind an event's header to its end; false if that is not in the packet. */
static bool pass_body(const struct dtc_cursor *cursor, const struct dtc_event_layout *event,
		      struct dtc_decoder *decoder)
{
	return dtc_steps_pass(get_steps(cursor, event), decoder);
}

/* ---- time ---- */

/* As babeltrace2 does it, so that both say the same to the nanosecond. */
static uint64_t scale_ticks(uint64_t frequency, uint64_t ticks)
{
	if (frequency == NS_PER_S)
		return ticks;
	double ns = 1e9 * (double)ticks / (double)frequency;
	return ns >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static bool convert_ticks(const struct dtc_cursor *cursor, uint64_t ticks, int64_t *ret_ns)
{
	uint64_t ns = scale_ticks(cursor->frequency, ticks);
	return ns <= (uint64_t)INT64_MAX && !__builtin_add_overflow(cursor->base_ns, (int64_t)ns, ret_ns);
}

static bool set_clock(struct dtc_cursor *cursor, const struct dtc_clock_declaration *clock)
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
static struct dtc_header_plan plan_header(const struct dtc_layout *header)
{
	struct dtc_header_plan none = { 0, 0, 0, 0 };
	if (!header || header->member_count != 2)
		return none;
	const struct dtc_layout *id = header->members[0].layout, *variant = header->members[1].layout;
	if (id->kind != DTC_TYPE_INTEGER || id->is_big_endian || id->is_reversed || id->is_signed || id->bits > 32 ||
	    variant->kind != DTC_TYPE_VARIANT || variant->source != id->slot || variant->choice_count == 0 ||
	    id->role != DTC_ROLE_EVENT_CLASS)
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
	return (struct dtc_header_plan){ id->bits, time->bits, header->align, (uint64_t)choice->range.high + 1 };
}

static bool take_planned(const struct dtc_header_plan *plan, struct dtc_decoder *decoder, uint64_t *ret_id)
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
static bool enter_event(const struct dtc_cursor *cursor, struct dtc_decoder *decoder,
			const struct dtc_event_layout **ret_event)
{
	const struct dtc_stream_layout *layout = cursor->chain->layout;
	uint64_t id = 0;
	if ((cursor->plan.id_bits == 0 || !take_planned(&cursor->plan, decoder, &id)) &&
	    !dtc_decode_header(decoder, layout->event_header, &id))
		return false;
	*ret_event = dtc_layout_find_event(layout, id);
	return *ret_event != NULL;
}

/* The same to its end. */
static bool pass_event(const struct dtc_cursor *cursor, struct dtc_decoder *decoder)
{
	const struct dtc_event_layout *event;
	uint64_t begin = decoder->at;
	return enter_event(cursor, decoder, &event) && pass_body(cursor, event, decoder) && decoder->at > begin;
}

/* ---- packets ---- */

static const struct dtc_chain_packet *get_packet(const struct dtc_cursor *cursor, guint index)
{
	return &g_array_index(cursor->chain->packets, struct dtc_chain_packet, index);
}

/* What the tracer says it lost before the end of the packet comes after its events. */
static void note_discarded(struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
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
static bool tell_missing(struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
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

static void remember(struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
{
	cursor->has_previous = true;
	cursor->previous_end = packet->end_ticks;
	cursor->previous_discarded = packet->discarded;
	cursor->previous_sequence = packet->sequence;
}

static G_GNUC_PRINTF(3, 4) void report_packet(struct dtc_cursor *cursor, const struct dtc_chain_packet *packet,
					      const char *format, ...)
{
	va_list arguments;
	if (cursor->report_count++ >= MAX_REPORTS)
		return;
	va_start(arguments, format);
	g_autofree char *what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	if (!cursor->stream.findings)
		cursor->stream.findings = dtc_findings_new();
	dtc_findings_add_coded(cursor->stream.findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true,
			       cursor->node,
			       "stream '%s' is damaged in the packet that begins at byte %" G_GUINT64_FORMAT ": %s%s",
			       cursor->stream.name, packet->offset, what,
			       cursor->report_count == MAX_REPORTS ? " (and perhaps in more packets)" : "");
}

/* The rest of the packet is left out. */
static void take_damage(struct dtc_cursor *cursor)
{
	const struct dtc_chain_packet *packet = get_packet(cursor, cursor->next - 1);
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_gap gap = { stream->last_ns, stream->last_ns, DTC_ABSENT, 0, true };
	report_packet(cursor, packet,
		      "what follows on byte %" G_GUINT64_FORMAT
		      " of it is no event that the trace declares; the rest of it, %" G_GUINT64_FORMAT
		      " bytes, was left out with an unknown number of events",
		      cursor->decoder.at / 8, cursor->decoder.end / 8 - cursor->decoder.at / 8);
	if (stream->event_count == 0)
		gap.begin_ns = gap.end_ns = stream->begin_ns == DTC_ABSENT ? 0 : stream->begin_ns;
	if (stream->limit_ns != INT64_MAX)
		gap.end_ns = MAX(gap.end_ns, stream->limit_ns);
	dtc_stream_take_gap(stream, gap);
	cursor->decoder.at = cursor->decoder.end;
}

/* "17 events", of a packet that nobody else looks into. Caller frees. */
static char *describe_lost(const struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
{
	g_autofree uint64_t *slots = g_new0(uint64_t, cursor->trace->slot_count + 1);
	struct dtc_decoder decoder = { .slots = slots };
	guint64 count = 0;
	bool is_whole = dtc_chain_enter(cursor->trace, cursor->chain, packet, &decoder);
	while (is_whole && decoder.at < decoder.end) {
		is_whole = pass_event(cursor, &decoder);
		count += is_whole;
	}
	if (count == 0 && !is_whole)
		return g_strdup("an unknown number of events");
	return g_strdup_printf("%" G_GUINT64_FORMAT " event%s%s", count, count == 1 ? "" : "s",
			       is_whole ? "" : " or more");
}

/*
 * What will be looked at next, with one call instead of a fault for every few pages; less of it where streams are many.
 * What goes wrong there is seen later.
 */
static void fetch_packet(const struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
{
	uint64_t bytes = MIN(packet->content_bits / 8, (uint64_t)cursor->batch_limit * FETCH_EVENT_BYTES);
#ifdef MADV_POPULATE_READ /* Linux 5.14 */
	uint8_t *begin = (uint8_t *)packet->data - (uintptr_t)packet->data % (uintptr_t)getpagesize();
	if (bytes >= FETCH_MIN_BYTES)
		(void)madvise(begin, bytes, MADV_POPULATE_READ);
#else
	(void)packet;
	(void)bytes;
#endif
}

static void begin_packet(struct dtc_cursor *cursor, const struct dtc_chain_packet *packet)
{
	struct dtc_packet_claim claim = { (uint32_t)packet->cpu, DTC_ABSENT, INT64_MAX, (int64_t)packet->offset };
	if (packet->cpu >= DTC_CPU_LIMIT) {
		g_autofree char *lost = describe_lost(cursor, packet);
		report_packet(cursor, packet, "it claims CPU %" G_GUINT64_FORMAT " and was left out with %s",
			      packet->cpu, lost);
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
	fetch_packet(cursor, packet);
	if (dtc_chain_enter(cursor->trace, cursor->chain, packet, &cursor->decoder))
		return;
	report_packet(cursor, packet,
		      "it has no room for its own header, and was left out with an unknown number of events");
	cursor->decoder.at = cursor->decoder.end;
}

/* ---- events ---- */

/* The time of the event after the one whose end the decoder is at, in its packet; DTC_ABSENT: there is none. */
static int64_t look_ahead(const struct dtc_cursor *cursor)
{
	struct dtc_decoder ahead = cursor->decoder;
	if (cursor->spare_slots) /* the headers' values are still needed */
		ahead.slots =
			memcpy(cursor->spare_slots, ahead.slots, cursor->trace->slot_count * sizeof(*ahead.slots));
	const struct dtc_event_layout *event;
	int64_t time_ns;
	if (ahead.at >= ahead.end || !enter_event(cursor, &ahead, &event) ||
	    !convert_ticks(cursor, ahead.clock, &time_ns))
		return DTC_ABSENT;
	return time_ns;
}

/* Whether the packet has events after its end, or times that fall, as they do at the next event with a whole time. */
static bool look_for_late_events(const struct dtc_cursor *cursor)
{
	g_autofree uint64_t *slots = g_new0(uint64_t, cursor->trace->slot_count + 1);
	struct dtc_decoder decoder = { .slots = slots };
	int64_t last_ns = INT64_MIN, time_ns;
	if (!dtc_chain_enter(cursor->trace, cursor->chain, get_packet(cursor, cursor->next - 1), &decoder))
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
static bool is_doubt_right(struct dtc_cursor *cursor)
{
	if (cursor->judged_packet != cursor->stream.packet_count)
		cursor->is_late = look_for_late_events(cursor);
	cursor->judged_packet = cursor->stream.packet_count;
	return cursor->is_late;
}

/* The next event of the packet, whatever it is; false if it is damaged, and then nothing has changed. */
static bool find_event(struct dtc_cursor *cursor, struct dtc_item *ret_item)
{
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_decoder *decoder = &cursor->decoder, before = *decoder;
	const struct dtc_event_layout *event;
	int64_t time_ns, next_ns = DTC_ABSENT;
	if (!enter_event(cursor, decoder, &event) || !convert_ticks(cursor, decoder->clock, &time_ns)) {
		*decoder = before;
		return false;
	}
	uint64_t begin = decoder->at;
	if (!pass_body(cursor, event, decoder) || decoder->at <= before.at) {
		*decoder = before;
		return false;
	}
	if (dtc_stream_wants_next(stream, time_ns)) {
		next_ns = look_ahead(cursor);
		if (dtc_stream_doubts(stream, time_ns, next_ns) && is_doubt_right(cursor))
			dtc_stream_turn_back(stream);
	}
	dtc_stream_take_event(stream, time_ns, next_ns);
	*ret_item = (struct dtc_item){ .time_ns = stream->last_ns, .at = begin, .class = find_class(cursor, event) };
	return true;
}

/* What the loop over usual events has at hand. */
struct usual {
	const struct dtc_span *by_id;
	uint64_t id_mask, time_mask;
	uint64_t id_limit;
	uint64_t clock_limit; /* later ones are not in the packet, or beyond what 64 bits hold */
};

/* False if the next event is none: the last one was not where the clock is, or the packet's times are in doubt. */
static bool plan_usual(const struct dtc_cursor *cursor, struct usual *ret)
{
	const struct dtc_header_plan *plan = &cursor->plan;
	const struct dtc_stream *stream = &cursor->stream;
	int64_t since_ns;
	if (plan->id_bits == 0 || cursor->frequency != NS_PER_S || stream->is_astray || stream->shift_ns != 0 ||
	    (uint64_t)cursor->base_ns + cursor->decoder.clock != (uint64_t)stream->last_ns ||
	    __builtin_sub_overflow(stream->limit_ns, cursor->base_ns, &since_ns) || since_ns < 0)
		return false;
	*ret = (struct usual){
		.by_id = cursor->spans->by_id,
		.id_mask = (UINT64_C(1) << plan->id_bits) - 1,
		.time_mask = plan->time_bits < 64 ? (UINT64_C(1) << plan->time_bits) - 1 : ~UINT64_C(0),
		.id_limit = MIN(plan->id_limit, cursor->spans->id_count),
		.clock_limit = (uint64_t)since_ns,
	};
	return true;
}

/* With the first event that has forms: each of many streams need not have one. */
static G_GNUC_NO_INLINE void make_guesses(struct dtc_cursor *cursor)
{
	cursor->guesses = g_new(struct dtc_form_guess, DTC_GUESSES);
	for (guint i = 0; i < DTC_GUESSES; i++)
		cursor->guesses[i].class = G_MAXUINT;
}

/* The same of an event whose length depends on what is in it. */
static inline bool find_far_end(struct dtc_cursor *cursor, const struct dtc_span *span, uint64_t begin,
				struct dtc_formed *ret)
{
	struct dtc_decoder *decoder = &cursor->decoder;
	const struct dtc_class_parts *parts = &cursor->spans->parts[span->class];
	if (span->kind == DTC_SPAN_FORMS) {
		if (G_UNLIKELY(!cursor->guesses))
			make_guesses(cursor);
		struct dtc_form_guess *guess = &cursor->guesses[span->bits];
		if (dtc_form_guess_holds(guess, span->class, decoder->data, begin, decoder->end, ret) ||
		    dtc_forms_pass(parts->forms, span->class, decoder->data, begin, decoder->end, guess, ret))
			return true;
	}
	decoder->at = begin;
	if (!dtc_steps_pass(parts->steps, decoder))
		return false;
	*ret = (struct dtc_formed){ decoder->at, 0, 0 };
	return true;
}

/* To the end of an event whose contexts begin there; false if that is not in the packet. */
static inline bool find_end(struct dtc_cursor *cursor, const struct dtc_span *span, uint64_t begin, uint64_t end,
			    struct dtc_formed *ret)
{
	if (span->kind != DTC_SPAN_FIXED)
		return find_far_end(cursor, span, begin, ret);
	uint64_t to = dtc_align_bits(begin, span->align) + span->bits;
	*ret = (struct dtc_formed){ to, 0, to + DTC_FORM_SLACK_BITS <= end ? span->form : 0 };
	return to <= end;
}

/*
 * The events from here on that are as nearly all are: with a header as planned, of a class that was met, in time and
 * soon after the one before. What find_event would make of them, in a short loop; stops before the first other one.
 */
static guint find_usual(struct dtc_cursor *cursor, guint count)
{
	const struct dtc_header_plan plan = cursor->plan;
	struct dtc_decoder *decoder = &cursor->decoder;
	const uint8_t *data = decoder->data;
	uint64_t at = decoder->at, clock = decoder->clock, end = decoder->end, word;
	uint64_t base_ns = (uint64_t)cursor->base_ns;
	struct dtc_item *item = cursor->items + count, *first = item, *last = cursor->items + cursor->batch_limit;
	struct usual usual;
	if (!plan_usual(cursor, &usual))
		return count;
	for (; item < last; item++) {
		uint64_t begin = dtc_align_bits(at, plan.align);
		if (begin + 64 > end)
			break;
		memcpy(&word, data + begin / 8, sizeof(word));
		__builtin_prefetch(data + begin / 8 + AHEAD_BYTES);
		word = GUINT64_FROM_LE(word);
		uint64_t id = word & usual.id_mask;
		const struct dtc_span *span = &usual.by_id[id];
		if (id >= usual.id_limit || g_atomic_int_get(&span->kind) == DTC_SPAN_UNKNOWN)
			break;
		/* low bits that are less than before have turned */
		uint64_t since = ((word >> plan.id_bits) - clock) & usual.time_mask;
		if (since > DTC_STREAM_JUMP_NS || clock + since > usual.clock_limit)
			break;
		struct dtc_formed formed;
		begin += plan.id_bits + plan.time_bits;
		if (!find_end(cursor, span, begin, end, &formed))
			break;
		clock += since;
		at = formed.end;
		*item = (struct dtc_item){ (int64_t)(base_ns + clock), begin, span->class, formed.last, formed.form };
	}
	decoder->at = at;
	decoder->clock = clock;
	if (item > first) {
		cursor->stream.last_ns = item[-1].time_ns;
		cursor->stream.event_count += (guint64)(item - first);
		cursor->stream.is_gap = false;
	}
	return (guint)(item - cursor->items);
}

/* Between two batches of one of many streams the memory that comes next is forgotten. */
static void fetch_ahead(const struct dtc_cursor *cursor)
{
	const struct dtc_decoder *decoder = &cursor->decoder;
	uint64_t from = decoder->at / 8, to = MIN(from + AHEAD_BYTES, decoder->end / 8);
	for (; from < to; from += 64)
		__builtin_prefetch(decoder->data + from);
}

/* Up to a batch of events; 0: the packet is over, or what follows in it is damaged. */
static guint find_events(struct dtc_cursor *cursor)
{
	guint count = 0;
	while (count < cursor->batch_limit && cursor->decoder.at < cursor->decoder.end) {
		count = find_usual(cursor, count);
		if (count == cursor->batch_limit || cursor->decoder.at >= cursor->decoder.end)
			break;
		if (!find_event(cursor, &cursor->items[count]))
			break;
		count++;
	}
	fetch_ahead(cursor);
	return count;
}

/* To the next items inside of the packet; false if it is over. */
static bool advance_inside(struct dtc_cursor *cursor)
{
	struct dtc_stream *stream = &cursor->stream;
	stream->item_count = find_events(cursor);
	if (stream->item_count > 0)
		return true;
	const struct dtc_chain_packet *packet = get_packet(cursor, cursor->next - 1);
	if (cursor->decoder.at < cursor->decoder.end && !packet->is_cut) { /* what the file's end cuts was said */
		take_damage(cursor);
		return true;
	}
	cursor->is_inside = false;
	cursor->done_bytes += packet->content_bits / 8;
	return dtc_stream_flush_gap(stream);
}

void dtc_cursor_advance(struct dtc_cursor *cursor)
{
	struct dtc_stream *stream = &cursor->stream;
	stream->has_item = true;
	stream->item_count = 0;
	for (;;) {
		if (cursor->is_inside && advance_inside(cursor))
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
		begin_packet(cursor, packet);
	}
	stream->has_item = dtc_stream_end(stream);
}

void dtc_cursor_init(struct dtc_cursor *cursor, const struct dtc_trace_layout *trace, const struct dtc_chain *chain,
		     struct dtc_spans *spans, const char *node, int64_t wrap_ns, guint batch_limit)
{
	struct dtc_stream *stream = &cursor->stream;
	cursor->trace = trace;
	cursor->chain = chain;
	cursor->spans = spans;
	cursor->events = chain->layout ? chain->layout->events : NULL;
	cursor->node = node;
	cursor->decoder.slots = g_new0(uint64_t, trace->slot_count + 1);
	cursor->batch_limit = batch_limit;
	cursor->items = g_new0(struct dtc_item, batch_limit);
	dtc_stream_init(stream);
	stream->items = cursor->items;
	stream->class_count = chain->layout ? chain->layout->event_count : 0;
	stream->name = g_strdup(chain->name);
	stream->wrap_ns = wrap_ns;
	stream->has_no_end = chain->has_no_end;
	if (!chain->layout || !chain->layout->clock)
		dtc_stream_take_error(
			stream, g_strdup(chain->layout ? "it has no clock" : "the trace declares no such stream"));
	else if (!set_clock(cursor, chain->layout->clock))
		dtc_stream_take_error(stream, g_strdup("its clock is beyond what 64 bits hold"));
	else if (trace->refers_to_headers)
		cursor->spare_slots = g_new0(uint64_t, trace->slot_count + 1);
	else
		cursor->plan = plan_header(chain->layout->event_header);
}

void dtc_cursor_clear(struct dtc_cursor *cursor)
{
	g_free(cursor->decoder.slots);
	g_free(cursor->spare_slots);
	g_free(cursor->items);
	g_free(cursor->guesses);
	dtc_stream_clear(&cursor->stream);
}
