/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/program_parts.h"

/* The headers of one packet. */
struct layers {
	struct dtc_header_values ip, transport;
	struct dtc_header_values *at;  /* that one is being filled */
	const struct dtc_layer *outer; /* whose members are being taken; NULL: the payload's */
	bool has_ip, has_source, has_destination, has_transport;
};

struct run {
	const DtcProgram *program;
	struct dtc_decoder *decoder;
	struct dtc_program_texts *texts;
	struct dtc_event *event;
	struct layers *layers; /* NULL: not in a header */
};

/* The elements of a list of integers from a place on, which are all in the packet. */
static bool set_address(uint8_t address[16], const struct dtc_decoder *decoder, uint64_t at,
			const struct dtc_layout *element, uint64_t length)
{
	uint8_t bytes[16];
	uint64_t used = 0;
	bool is_words = element->bits == 16;
	if (length > (is_words ? 8 : 16))
		return false;
	if (element->is_plain && at % 8 == 0 && element->align <= element->bits &&
	    (!is_words || element->is_big_endian))
		return dtc_address_set(address, decoder->data + at / 8, length * element->bits / 8);
	for (uint64_t i = 0; i < length; i++) {
		at = dtc_align_bits(at, element->align);
		uint64_t value = dtc_decode_load(decoder->data, at, element);
		at += element->bits;
		if (is_words)
			bytes[used++] = (uint8_t)(value >> 8);
		bytes[used++] = (uint8_t)value;
	}
	return dtc_address_set(address, bytes, used);
}

static uint64_t get_element_place(uint64_t at, const struct dtc_layout *element, uint64_t index)
{
	return at + index * dtc_align_bits(element->bits, element->align);
}

/* An array of characters, up to its first zero. As a rule it ends with one and need not be copied. */
static inline const char *take_text(const struct run *run, uint64_t at, uint64_t length, guint slot)
{
	char *text = run->texts->text[slot];
	const uint8_t *first = run->decoder->data + at / 8;
	if (G_LIKELY(at % 8 == 0 && length > 0 && length <= DTC_PROGRAM_TEXT_BYTES && first[length - 1] == 0))
		return (const char *)first;
	gsize bytes = (gsize)MIN(length, DTC_PROGRAM_TEXT_BYTES - 1);
	if (at % 8 == 0)
		memcpy(text, first, bytes);
	for (gsize i = 0; at % 8 != 0 && i < bytes; i++)
		text[i] = (char)dtc_decode_bits(run->decoder->data, at + i * 8, 8, false);
	text[bytes] = 0;
	return text;
}

/* A list whose place and length are known to be in the packet; elements have fixed size. */
static void apply_to_list(const struct run *run, const struct dtc_rule *rule, uint64_t at, uint64_t length)
{
	const struct dtc_layout *element = rule->layout->element;
	struct dtc_event *event = run->event;
	switch (rule->operation) {
	case DTC_OPERATION_TEXT:
		event->text[rule->slot] = take_text(run, at, length, rule->slot);
		break;
	case DTC_OPERATION_ADDRESS:
		if (set_address(event->address, run->decoder, at, element, length))
			event->has_address = true; /* the array of the other family is empty */
		break;
	case DTC_OPERATION_SOURCE:
		if (run->layers)
			run->layers->has_source = set_address(event->headers.source, run->decoder, at, element, length);
		break;
	case DTC_OPERATION_DESTINATION:
		if (run->layers)
			run->layers->has_destination =
				set_address(event->headers.destination, run->decoder, at, element, length);
		break;
	case DTC_OPERATION_ELEMENT:
		if (length > (uint64_t)rule->element)
			event->v[rule->slot] = (int64_t)dtc_decode_load(
				run->decoder->data, get_element_place(at, element, (uint64_t)rule->element), element);
		break;
	default:
		break;
	}
}

/* Passes a structure and takes the number that is one of its members, or a member of the structure that is. */
static bool take_inside(struct dtc_decoder *decoder, const struct dtc_layout *structure,
			const struct dtc_layout *holder, const struct dtc_layout *wanted, int64_t *ret_value)
{
	decoder->at = dtc_align_bits(decoder->at, structure->align);
	for (guint i = 0; i < structure->member_count; i++) {
		const struct dtc_layout *member = structure->members[i].layout;
		uint64_t value;
		bool is_sound;
		if (holder && member == holder) {
			is_sound = take_inside(decoder, member, NULL, wanted, ret_value);
		} else if (member == wanted && wanted->kind == DTC_TYPE_INTEGER) {
			is_sound = dtc_decode_integer(decoder, member, &value);
			if (is_sound)
				*ret_value = (int64_t)value;
		} else {
			is_sound = dtc_decode_pass(decoder, member);
		}
		if (!is_sound)
			return false;
	}
	return true;
}

/* A field in a run that is no plain number: all of it is in the packet. */
static void apply_in_run(const struct run *run, const struct dtc_rule *rule, uint64_t begin)
{
	uint64_t at = begin + rule->at;
	struct dtc_event *event = run->event;
	switch (rule->operation) {
	case DTC_OPERATION_NUMBER:
		event->v[rule->slot] = (int64_t)dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case DTC_OPERATION_THREAD:
		event->has_tid = true;
		event->tid = (int64_t)dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case DTC_OPERATION_FIELD:
		if (run->layers) /* only headers have such rules */
			run->layers->at->value[rule->slot] = dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case DTC_OPERATION_HEADER:
		dtc_headers_set_field(&event->headers, rule->slot,
				      dtc_decode_load(run->decoder->data, at, rule->layout));
		break;
	case DTC_OPERATION_DATA: {
		struct dtc_decoder inner = *run->decoder;
		inner.at = at;
		take_inside(&inner, rule->layout, run->program->ready.data, run->program->ready.bits,
			    &event->v[rule->slot]);
		break;
	}
	default:
		apply_to_list(run, rule, at, rule->layout->type->length);
		break;
	}
}

static bool take_ready(const struct run *run, const struct dtc_rule *rule)
{
	const struct dtc_ready_places *ready = &run->program->ready;
	struct dtc_event *event = run->event;
	uint64_t length;
	if (!dtc_decode_get_length(run->decoder, rule->layout, &length))
		return false;
	uint64_t kept = MIN(length, (uint64_t)DTC_EVENT_READY);
	event->is_ready_data = !ready->fd;
	run->decoder->at = dtc_align_bits(run->decoder->at, rule->layout->align);
	for (uint64_t i = 0; i < length; i++) {
		uint64_t before = run->decoder->at;
		int64_t value = 0;
		if (!take_inside(run->decoder, rule->layout->element, ready->data, ready->fd ? ready->fd : ready->bits,
				 &value))
			return false;
		if (run->decoder->at == before)
			break;
		if (i < kept) {
			event->ready[i] = value;
			event->ready_count = (uint16_t)(i + 1);
		}
	}
	return true;
}

/* ---- packet headers ---- */

static bool take_steps(const struct run *run, const struct dtc_steps *steps, guint count, uint64_t *values);

/* The variant of the network header, or, inside of one, that of the transport header. */
static bool take_layer(const struct run *run, const struct dtc_layout_step *step)
{
	struct layers *layers = run->layers;
	const struct dtc_layer *outer = layers->outer;
	const struct dtc_layout *inner;
	uint32_t option;
	if (!dtc_steps_select(step, run->decoder, &option, &inner))
		return false;
	const struct dtc_layer *layer = &(outer ? outer->options : run->program->options)[option];
	bool is_ip = layer->layer == DTC_LAYER_IPV4 || layer->layer == DTC_LAYER_IPV6;
	bool is_known = outer ? layer->layer == DTC_LAYER_TCP || layer->layer == DTC_LAYER_UDP : is_ip;
	if (!is_known)
		return dtc_decode_pass(run->decoder, inner);
	struct dtc_header_values *before = layers->at;
	layers->at = outer ? &layers->transport : &layers->ip;
	layers->at->layer = layer->layer;
	layers->at->has = layer->fields;
	*(outer ? &layers->has_transport : &layers->has_ip) = true;
	layers->outer = layer;
	bool is_sound = take_steps(run, layer->members, layer->members->count, layers->at->value);
	layers->outer = outer;
	layers->at = before;
	return is_sound;
}

static bool take_headers(const struct run *run, const struct dtc_layout_step *step)
{
	struct layers layers;
	struct run inner = *run;
	if (run->layers)
		return take_layer(run, step);
	layers.ip.has = layers.transport.has = 0;
	layers.has_ip = layers.has_source = layers.has_destination = layers.has_transport = false;
	layers.at = NULL;
	layers.outer = NULL;
	inner.layers = &layers;
	if (!take_layer(&inner, step))
		return false;
	if (layers.has_ip && layers.has_source && layers.has_destination)
		dtc_headers_set(run->event, &layers.ip, layers.has_transport ? &layers.transport : NULL);
	else
		memset(&run->event->headers, 0, sizeof(run->event->headers));
	return true;
}

/* ---- a field of varying size ---- */

static bool take_string(const struct run *run, const struct dtc_rule *rule)
{
	gsize bytes;
	const char *text = dtc_decode_string(run->decoder, rule->layout, &bytes);
	/* names and paths that the tables ask for are UTF-8; another encoding is as good as none */
	run->event->text[rule->slot] = rule->layout->type->unit_bytes > 1 ? NULL : text;
	return text != NULL;
}

static bool take_varint(const struct run *run, const struct dtc_rule *rule)
{
	uint64_t value;
	if (!dtc_decode_varint(run->decoder, rule->layout, &value))
		return false;
	if (rule->operation == DTC_OPERATION_NUMBER)
		run->event->v[rule->slot] = (int64_t)value;
	if (rule->operation == DTC_OPERATION_THREAD) {
		run->event->has_tid = true;
		run->event->tid = (int64_t)value;
	}
	return true;
}

static bool take_list(const struct run *run, const struct dtc_layout_step *step, const struct dtc_rule *rules)
{
	uint64_t at = dtc_align_bits(run->decoder->at, step->field->align), length;
	if (!dtc_decode_get_length(run->decoder, step->field, &length) || !dtc_steps_pass_field(step, run->decoder))
		return false;
	for (guint i = 0; i < step->field_rule_count; i++)
		apply_to_list(run, &rules[i], at, length);
	return true;
}

static bool take_field(const struct run *run, const struct dtc_steps *steps, const struct dtc_layout_step *step)
{
	const struct dtc_rule *rules = &steps->rules[step->field_rule_first];
	if (step->field_rule_count == 0)
		return dtc_steps_pass_field(step, run->decoder);
	if (rules->operation == DTC_OPERATION_READY)
		return take_ready(run, rules);
	if (rules->operation == DTC_OPERATION_LAYERS)
		return take_headers(run, step);
	switch (step->field->kind) {
	case DTC_TYPE_STRING:
		return take_string(run, rules);
	case DTC_TYPE_VARINT:
		return take_varint(run, rules);
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		return take_list(run, step, rules);
	default:
		return dtc_steps_pass_field(step, run->decoder);
	}
}

/* ---- runs ---- */

/* Eight bytes, of which those behind the packet's end are 0. */
static uint64_t load_at_end(const struct dtc_decoder *decoder, uint64_t byte)
{
	uint64_t word = 0, end = (decoder->end + 7) / 8;
	memcpy(&word, decoder->data + byte, MIN(sizeof(word), end - byte));
	return word;
}

static G_GNUC_NO_INLINE void take_numbers_at_end(const struct dtc_decoder *decoder,
						 const struct dtc_step_number *number, guint count, uint64_t begin,
						 uint64_t *values)
{
	for (; count > 0; count--, number++)
		values[number->slot] = dtc_step_extract(load_at_end(decoder, begin / 8 + number->at), number);
}

/* Into values, by their slots. */
static inline void take_numbers(const struct dtc_decoder *decoder, const struct dtc_steps *steps,
				const struct dtc_layout_step *step, uint64_t begin, uint64_t *values)
{
	const struct dtc_step_number *number = &steps->numbers[step->number_first], *end = number + step->number_count;
	const uint8_t *data = decoder->data + begin / 8;
	if (G_UNLIKELY(begin + step->run_bits + 64 > decoder->room)) {
		take_numbers_at_end(decoder, number, step->number_count, begin, values);
		return;
	}
	for (; number < end; number++) {
		uint64_t word;
		memcpy(&word, data + number->at, sizeof(word));
		values[number->slot] = dtc_step_extract(word, number);
	}
}

/* As a rule it is a thread's name. */
static inline void apply_rule(const struct run *run, const struct dtc_rule *rule, uint64_t begin)
{
	if (G_LIKELY(rule->operation == DTC_OPERATION_TEXT))
		run->event->text[rule->slot] = take_text(run, begin + rule->at, rule->layout->type->length, rule->slot);
	else
		apply_in_run(run, rule, begin);
}

static inline bool take_run(const struct run *run, const struct dtc_steps *steps, const struct dtc_layout_step *step,
			    uint64_t *values)
{
	struct dtc_decoder *decoder = run->decoder;
	uint64_t begin;
	if (G_UNLIKELY(!dtc_step_begin(step, decoder, &begin)))
		return false;
	take_numbers(decoder, steps, step, begin, values);
	if (step->length_count > 0)
		dtc_step_take_lengths(steps, step, decoder, begin);
	for (guint i = 0; i < step->rule_count; i++)
		apply_rule(run, &steps->rules[step->rule_first + i], begin);
	decoder->at = begin + step->run_bits;
	return true;
}

static bool take_steps(const struct run *run, const struct dtc_steps *steps, guint count, uint64_t *values)
{
	const struct dtc_layout_step *step = steps->steps, *end = step + count;
	for (; step < end; step++) {
		if (!take_run(run, steps, step, values))
			return false;
		if (step->kind != DTC_STEP_RUN && !take_field(run, steps, step))
			return false;
	}
	return true;
}

/* ---- one event ---- */

/* What is wanted of an event that is in its packet to its end, which need not be looked for again. */
static bool take_wanted(const struct run *run, const struct dtc_steps *steps)
{
	uint64_t *values = (uint64_t *)run->event->v;
	guint count = steps->wanted_count;
	if (!steps->is_last_wanted_string)
		return take_steps(run, steps, count, values);
	const struct dtc_layout_step *last = &steps->steps[count - 1];
	if (!take_steps(run, steps, count - 1, values) || !take_run(run, steps, last, values))
		return false;
	uint64_t at = dtc_align_bits(run->decoder->at, last->field->align);
	run->event->text[steps->rules[last->field_rule_first].slot] = (const char *)run->decoder->data + at / 8;
	return true;
}

bool dtc_program_take_any(const DtcProgram *program, const struct dtc_decoder *packet, uint64_t at,
			  struct dtc_program_texts *texts, struct dtc_event *event)
{
	struct dtc_decoder decoder = *packet;
	struct run run = { program, &decoder, texts, event, NULL };
	decoder.at = at;
	if (!take_wanted(&run, program->steps))
		return false;
	if (program->call_by_number && event->v[DTC_CALL_NUMBER] != DTC_ABSENT) { /* rare: a look-up is fine */
		char name[DTC_CALL_NAME_BYTES];
		dtc_spelling_name_call(event->v[DTC_CALL_NUMBER], program->is_compat, name);
		event->v[DTC_CALL_NAME] = dtc_names_add(program->call_names, name);
	}
	return true;
}

bool dtc_program_run(const DtcProgram *program, const struct dtc_decoder *packet, const struct dtc_item *item,
		     struct dtc_program_texts *texts, struct dtc_event *event)
{
	return dtc_program_take(program, packet, item, texts, event);
}
