/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/program.h"

#include "collect/read/fields.h"
#include "collect/read/spellings.h"

enum operation {
	OP_NUMBER,
	OP_ELEMENT, /* of an array of integers */
	OP_TEXT,
	OP_ADDRESS,
	OP_HEADER,
	OP_READY,
	OP_DATA,
	OP_LAYERS, /* the variant of a network header, or of a transport header in it */
	OP_FIELD,  /* of a header */
	OP_SOURCE,
	OP_DESTINATION,
	OP_THREAD, /* in whose context it happened */
	OP_SLOT,   /* a number that the decoder itself needs */
	OP_PASS,
};

/* What is done with one field. */
struct rule {
	uint8_t operation;
	uint8_t slot;
	int8_t element;
	uint32_t at; /* bits from the run's begin; not of fields of varying size */
	const struct dtc_layout *layout;
};

/* A run of fields of fixed size, then, unless the payload ends, one of varying size. */
struct step {
	uint32_t align;
	uint32_t run_bits;
	guint rule_first, rule_count; /* in the run */
	const struct dtc_layout *field;
	guint field_rule_first, field_rule_count;
};

/* The members of a structure. */
struct sequence {
	GArray *steps; /* struct step */
	GArray *rules; /* struct rule */
};

/* One option of a header variant. */
struct layer {
	enum dtc_header_layer layer;
	struct sequence members;
	guint option_count; /* of the transport header in it */
	struct layer *options;
};

/* Where the members of a list's element are that tell a descriptor; NULL: not there. */
struct ready {
	const struct dtc_layout *fd;   /* a number */
	const struct dtc_layout *data; /* a structure ... */
	const struct dtc_layout *bits; /* ... and a number in it */
};

struct DtcProgram {
	uint16_t kind;
	uint16_t name;
	bool is_net;
	bool call_by_number;
	bool is_compat;
	int64_t constants[DTC_EVENT_SLOTS]; /* what v holds before */
	const struct dtc_layout *common, *specific;
	const struct dtc_layout *thread_in; /* the context with the member thread, or NULL */
	const struct dtc_layout *thread;
	struct sequence payload;
	guint option_count;
	struct layer *options;
	struct ready ready;
	DtcNames *call_names; /* borrowed */
};

static void sequence_init(struct sequence *sequence)
{
	sequence->steps = g_array_new(FALSE, TRUE, sizeof(struct step));
	sequence->rules = g_array_sized_new(FALSE, TRUE, sizeof(struct rule), 1);
}

static void sequence_clear(struct sequence *sequence)
{
	g_clear_pointer(&sequence->steps, g_array_unref);
	g_clear_pointer(&sequence->rules, g_array_unref);
}

static void layers_free(struct layer *layers, guint count)
{
	for (guint i = 0; i < count; i++) {
		sequence_clear(&layers[i].members);
		layers_free(layers[i].options, layers[i].option_count);
	}
	g_free(layers);
}

void dtc_program_free(DtcProgram *program)
{
	if (!program)
		return;
	layers_free(program->options, program->option_count);
	sequence_clear(&program->payload);
	g_free(program);
}

/* ---- which fields are wanted ---- */

static bool is_number(const struct dtc_layout *layout)
{
	return layout->kind == DTC_TYPE_INTEGER || layout->kind == DTC_TYPE_VARINT;
}

static bool is_unsigned(const struct dtc_layout *layout)
{
	return is_number(layout) && !layout->is_signed;
}

static bool is_list(const struct dtc_layout *layout)
{
	return (layout->kind == DTC_TYPE_ARRAY || layout->kind == DTC_TYPE_SEQUENCE) && !layout->type->is_text;
}

static bool is_string(const struct dtc_layout *layout)
{
	return layout->kind == DTC_TYPE_STRING ||
	       ((layout->kind == DTC_TYPE_ARRAY || layout->kind == DTC_TYPE_SEQUENCE) && layout->type->is_text);
}

/* Of bytes or of 16-bit words. */
static bool is_address(const struct dtc_layout *layout)
{
	return is_list(layout) && is_unsigned(layout->element) &&
	       (layout->element->bits == 8 || layout->element->bits == 16);
}

static bool choose_number(const struct dtc_field_spelling *spelling, const struct dtc_layout *layout,
			  uint8_t *ret_operation)
{
	*ret_operation = spelling->element == DTC_SCALAR ? OP_NUMBER : OP_ELEMENT;
	if (spelling->element != DTC_SCALAR) {
		if (!is_list(layout))
			return false;
		layout = layout->element;
	}
	return is_number(layout) && (spelling->type != DTC_FIELD_FD || layout->type->base != 16);
}

/* epoll's data: 64 bits in a structure inside of the structure. */
static bool find_data(const struct dtc_layout *structure, struct ready *ret_ready)
{
	*ret_ready = (struct ready){ NULL, NULL, NULL };
	if (structure->kind != DTC_TYPE_STRUCT)
		return false;
	ret_ready->data = dtc_layout_find_member(structure, "data_union");
	if (ret_ready->data && ret_ready->data->kind == DTC_TYPE_STRUCT)
		ret_ready->bits = dtc_layout_find_member(ret_ready->data, "u64");
	return ret_ready->bits && is_unsigned(ret_ready->bits);
}

static bool find_ready(const struct dtc_layout *list, struct ready *ret_ready)
{
	if (!is_list(list) || list->element->kind != DTC_TYPE_STRUCT)
		return false;
	if (find_data(list->element, ret_ready))
		return true;
	*ret_ready = (struct ready){ dtc_layout_find_member(list->element, "fd"), NULL, NULL };
	return ret_ready->fd && is_number(ret_ready->fd) && ret_ready->fd->is_signed;
}

/* What a poll returned, or epoll_ctl's data: one of them for a class. */
static bool choose_ready(DtcProgram *program, const struct dtc_field_spelling *spelling,
			 const struct dtc_layout *layout, uint8_t *ret_operation)
{
	if (program->ready.fd || program->ready.bits)
		return false;
	*ret_operation = spelling->type == DTC_FIELD_READY ? OP_READY : OP_DATA;
	struct ready ready;
	bool fits = spelling->type == DTC_FIELD_READY
			    ? program->kind == DTC_EVENT_SYSCALL_EXIT && find_ready(layout, &ready)
			    : find_data(layout, &ready);
	if (fits)
		program->ready = ready;
	return fits;
}

static bool choose_operation(DtcProgram *program, const struct dtc_field_spelling *spelling,
			     const struct dtc_layout *layout, uint8_t *ret_operation)
{
	switch (spelling->type) {
	case DTC_FIELD_TEXT:
		*ret_operation = OP_TEXT;
		return is_string(layout);
	case DTC_FIELD_ADDRESS:
		*ret_operation = OP_ADDRESS;
		return is_address(layout);
	case DTC_FIELD_HEADER:
		*ret_operation = OP_HEADER;
		return is_unsigned(layout);
	case DTC_FIELD_READY:
	case DTC_FIELD_DATA:
		return choose_ready(program, spelling, layout, ret_operation);
	default:
		return choose_number(spelling, layout, ret_operation);
	}
}

/* Members that hold text, address and numbers are told apart, so that slot 0 of each does not exclude the others. */
static bool is_slot_taken(const GArray *rules, const struct rule *rule)
{
	for (guint i = 0; i < rules->len; i++) {
		const struct rule *other = &g_array_index(rules, struct rule, i);
		if (other->layout == rule->layout && other->element == rule->element)
			return true;
		bool same_target = other->operation == rule->operation ||
				   (other->operation <= OP_ELEMENT && rule->operation <= OP_ELEMENT);
		if (same_target && other->slot == rule->slot && rule->operation != OP_ADDRESS)
			return true;
	}
	return false;
}

/* In the order of preference; struct rule without places. Caller owns. */
static GArray *choose_rules(DtcProgram *program, const struct dtc_field_spelling *spelling,
			    const struct dtc_layout *payload)
{
	GArray *rules = g_array_new(FALSE, TRUE, sizeof(struct rule));
	for (; spelling->name; spelling++) {
		for (guint i = 0; i < payload->member_count; i++) {
			const struct dtc_layout_member *member = &payload->members[i];
			if (strcmp(dtc_spelling_skip_underscores(member->name), spelling->name) != 0)
				continue;
			struct rule rule = { 0, spelling->slot, spelling->element, 0, member->layout };
			if (choose_operation(program, spelling, member->layout, &rule.operation) &&
			    !is_slot_taken(rules, &rule))
				g_array_append_val(rules, rule);
			break;
		}
	}
	return rules;
}

/* ---- steps ---- */

/* A field that a run can hold: a number, or what has fixed bits all through. */
static bool is_fixed(const struct dtc_layout *layout, uint32_t *ret_bits)
{
	if (layout->kind == DTC_TYPE_INTEGER && !layout->is_clock) {
		*ret_bits = layout->bits;
		return true;
	}
	*ret_bits = (uint32_t)layout->fixed_bits;
	return layout->fixed_bits >= 0;
}

/* Appends what is wanted of a field; the count. */
static guint place_rules(struct sequence *sequence, const struct dtc_layout *layout, const GArray *wanted, uint32_t at)
{
	guint count = 0;
	if (layout->slot >= 0 && layout->kind == DTC_TYPE_INTEGER) {
		struct rule rule = { OP_SLOT, 0, DTC_SCALAR, at, layout };
		g_array_append_val(sequence->rules, rule);
		count++;
	}
	for (guint i = 0; i < wanted->len; i++) {
		struct rule rule = g_array_index(wanted, struct rule, i);
		if (rule.layout != layout)
			continue;
		rule.at = at;
		g_array_append_val(sequence->rules, rule);
		count++;
	}
	return count;
}

static struct step begin_step(const struct sequence *sequence, uint32_t align)
{
	return (struct step){ .align = align, .rule_first = sequence->rules->len };
}

static void add_member(struct sequence *sequence, struct step *step, const struct dtc_layout *layout,
		       const GArray *wanted)
{
	uint32_t bits;
	bool fits = is_fixed(layout, &bits) && bits < G_MAXINT32 - step->run_bits - layout->align;
	if (fits && step->run_bits == 0 && step->rule_count == 0)
		step->align = MAX(step->align, layout->align);
	if (fits && layout->align > step->align) { /* where it lies depends on where the run begins */
		g_array_append_val(sequence->steps, *step);
		*step = begin_step(sequence, layout->align);
	}
	if (fits) {
		step->run_bits = (uint32_t)dtc_align_bits(step->run_bits, layout->align);
		step->rule_count += place_rules(sequence, layout, wanted, step->run_bits);
		step->run_bits += bits;
		return;
	}
	step->field = layout;
	step->field_rule_first = sequence->rules->len;
	step->field_rule_count = place_rules(sequence, layout, wanted, 0);
	g_array_append_val(sequence->steps, *step);
	*step = begin_step(sequence, 1);
}

static void make_steps(struct sequence *sequence, const struct dtc_layout *structure, const GArray *wanted)
{
	sequence_init(sequence);
	struct step step = begin_step(sequence, structure->align);
	for (guint i = 0; i < structure->member_count; i++)
		add_member(sequence, &step, structure->members[i].layout, wanted);
	if (step.run_bits > 0 || sequence->steps->len == 0)
		g_array_append_val(sequence->steps, step);
}

/* ---- header variants ---- */

static struct layer *make_layers(const struct dtc_layout *variant, bool is_network);

static int find_header_field(const struct layer *layer, const struct dtc_layout_member *member)
{
	int field = dtc_spelling_find_header_field(layer->layer, member->name);
	bool is_end = field == DTC_HEADER_SOURCE || field == DTC_HEADER_DESTINATION;
	bool is_fit = is_end ? is_address(member->layout)
			     : is_unsigned(member->layout) && member->layout->kind == DTC_TYPE_INTEGER;
	return is_fit ? field : -1;
}

static void make_layer(struct layer *layer, const struct dtc_layout_member *option, bool is_network)
{
	const struct dtc_layout *layout = option->layout;
	g_autoptr(GArray) wanted = g_array_new(FALSE, TRUE, sizeof(struct rule));
	layer->layer = dtc_spelling_find_layer(option->name);
	if (layer->layer == DTC_LAYER_OTHER || layout->kind != DTC_TYPE_STRUCT) {
		layer->layer = DTC_LAYER_OTHER;
		return;
	}
	for (guint i = 0; i < layout->member_count; i++) {
		const struct dtc_layout_member *member = &layout->members[i];
		int field = find_header_field(layer, member);
		bool is_inner = is_network && !layer->options && member->layout->kind == DTC_TYPE_VARIANT &&
				strcmp(dtc_spelling_skip_underscores(member->name), dtc_spelling_transport_header) == 0;
		if (is_inner) {
			layer->options = make_layers(member->layout, false);
			layer->option_count = member->layout->member_count;
		}
		struct rule rule = { is_inner			       ? OP_LAYERS
				     : field == DTC_HEADER_SOURCE      ? OP_SOURCE
				     : field == DTC_HEADER_DESTINATION ? OP_DESTINATION
								       : OP_FIELD,
				     (uint8_t)field, DTC_SCALAR, 0, member->layout };
		if (is_inner || field >= 0)
			g_array_append_val(wanted, rule);
	}
	make_steps(&layer->members, layout, wanted);
}

static struct layer *make_layers(const struct dtc_layout *variant, bool is_network)
{
	struct layer *layers = g_new0(struct layer, variant->member_count + 1);
	for (guint i = 0; i < variant->member_count; i++)
		make_layer(&layers[i], &variant->members[i], is_network);
	return layers;
}

static void add_network(DtcProgram *program, const struct dtc_layout *payload, GArray *wanted)
{
	for (guint i = 0; i < payload->member_count; i++) {
		const struct dtc_layout_member *member = &payload->members[i];
		if (member->layout->kind != DTC_TYPE_VARIANT ||
		    strcmp(dtc_spelling_skip_underscores(member->name), dtc_spelling_network_header) != 0)
			continue;
		program->options = make_layers(member->layout, true);
		program->option_count = member->layout->member_count;
		struct rule rule = { OP_LAYERS, 0, DTC_SCALAR, 0, member->layout };
		g_array_append_val(wanted, rule);
		return;
	}
}

/* ---- in whose context ---- */

static const struct dtc_layout *find_thread(const struct dtc_layout *structure, const char *name)
{
	const struct dtc_layout *member = dtc_layout_find_member(structure, name);
	return member && is_number(member) ? member : NULL;
}

static void choose_thread(DtcProgram *program, const struct dtc_layout *payload)
{
	program->thread_in = program->common;
	program->thread = find_thread(program->common, "tid");
	if (!program->thread) {
		program->thread_in = program->specific;
		program->thread = find_thread(program->specific, "tid");
	}
	if (!program->thread) {
		program->thread_in = NULL;
		program->thread = find_thread(payload, "perf_tid");
	}
}

/* ---- making ---- */

static void set_constants(DtcProgram *program, const struct dtc_event_spelling *spelling)
{
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		program->constants[i] = DTC_ABSENT;
	if (spelling->kind == DTC_EVENT_SYSCALL_ENTRY || spelling->kind == DTC_EVENT_SYSCALL_EXIT)
		program->constants[DTC_CALL_NAME] =
			spelling->call ? dtc_names_add(program->call_names, spelling->call) : 0;
	if (spelling->kind == DTC_EVENT_VECTOR_ENTRY || spelling->kind == DTC_EVENT_VECTOR_EXIT)
		program->constants[DTC_VECTOR_TYPE] = spelling->vector;
}

DtcProgram *dtc_program_new(const struct dtc_stream_layout *stream, const struct dtc_event_layout *event,
			    DtcNames *event_names, DtcNames *call_names)
{
	DtcProgram *program = g_new0(DtcProgram, 1);
	const char *name = event->declaration->name ? event->declaration->name : "(no name)";
	struct dtc_event_spelling spelling = dtc_spelling_find_event(name);
	const struct dtc_layout *payload = event->payload;
	program->call_names = call_names;
	program->kind = (uint16_t)spelling.kind;
	program->name = (uint16_t)dtc_names_add(event_names, name);
	program->call_by_number = spelling.call_by_number;
	program->is_compat = spelling.is_compat;
	program->is_net = spelling.kind >= DTC_EVENT_NET_SEND && spelling.kind <= DTC_EVENT_INET_IN;
	program->common = stream->common_context;
	program->specific = event->context;
	set_constants(program, &spelling);
	choose_thread(program, payload);
	if (!payload)
		return program;
	g_autoptr(GArray) wanted = spelling.kind != DTC_EVENT_OTHER ? choose_rules(program, spelling.fields, payload)
								    : g_array_new(FALSE, TRUE, sizeof(struct rule));
	if (program->thread && !program->thread_in) {
		struct rule rule = { OP_THREAD, 0, DTC_SCALAR, 0, program->thread };
		g_array_append_val(wanted, rule);
	}
	if (program->is_net)
		add_network(program, payload, wanted);
	make_steps(&program->payload, payload, wanted);
	return program;
}

/* ---- one event ---- */

/* The headers of one packet. */
struct layers {
	struct dtc_header_values ip, transport;
	struct dtc_header_values *at; /* that one is being filled */
	const struct layer *outer;    /* whose members are being taken; NULL: the payload's */
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
	if (element->is_plain && !is_words && at % 8 == 0)
		return dtc_address_set(address, decoder->data + at / 8, length);
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

/* An array of characters, up to its first zero. */
static const char *copy_text(const struct run *run, uint64_t at, uint64_t length, guint slot)
{
	char *text = run->texts->text[slot];
	gsize bytes = (gsize)MIN(length, DTC_PROGRAM_TEXT_BYTES - 1);
	if (at % 8 == 0)
		memcpy(text, (const char *)run->decoder->data + at / 8, bytes);
	for (gsize i = 0; at % 8 != 0 && i < bytes; i++)
		text[i] = (char)dtc_decode_bits(run->decoder->data, at + i * 8, 8, false);
	text[bytes] = 0;
	return text;
}

/* A list whose place and length are known to be in the packet; elements have fixed size. */
static void apply_to_list(const struct run *run, const struct rule *rule, uint64_t at, uint64_t length)
{
	const struct dtc_layout *element = rule->layout->element;
	struct dtc_event *event = run->event;
	switch (rule->operation) {
	case OP_TEXT:
		event->text[rule->slot] = copy_text(run, at, length, rule->slot);
		break;
	case OP_ADDRESS:
		if (set_address(event->address, run->decoder, at, element, length))
			event->has_address = true; /* the array of the other family is empty */
		break;
	case OP_SOURCE:
		if (run->layers)
			run->layers->has_source = set_address(event->headers.source, run->decoder, at, element, length);
		break;
	case OP_DESTINATION:
		if (run->layers)
			run->layers->has_destination =
				set_address(event->headers.destination, run->decoder, at, element, length);
		break;
	case OP_ELEMENT:
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

/* A field in a run: all of it is in the packet. */
static void apply_in_run(const struct run *run, const struct rule *rule, uint64_t begin)
{
	uint64_t at = begin + rule->at;
	struct dtc_event *event = run->event;
	switch (rule->operation) {
	case OP_NUMBER:
		event->v[rule->slot] = (int64_t)dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case OP_THREAD:
		event->has_tid = true;
		event->tid = (int64_t)dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case OP_FIELD:
		if (run->layers) { /* only headers have such rules */
			run->layers->at->has[rule->slot] = true;
			run->layers->at->value[rule->slot] = dtc_decode_load(run->decoder->data, at, rule->layout);
		}
		break;
	case OP_SLOT:
		run->decoder->slots[rule->layout->slot] = dtc_decode_load(run->decoder->data, at, rule->layout);
		break;
	case OP_HEADER:
		dtc_headers_set_field(&event->headers, rule->slot,
				      dtc_decode_load(run->decoder->data, at, rule->layout));
		break;
	case OP_DATA: {
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

static bool take_ready(const struct run *run, const struct rule *rule)
{
	const struct ready *ready = &run->program->ready;
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

static bool take_members(const struct run *run, const struct sequence *sequence);

/* The variant of the network header, or, inside of one, that of the transport header. */
static bool take_layer(const struct run *run, const struct dtc_layout *variant)
{
	struct layers *layers = run->layers;
	const struct layer *outer = layers->outer;
	const struct dtc_layout *inner;
	uint32_t option;
	if (!dtc_decode_select(run->decoder, variant, &option, &inner))
		return false;
	const struct layer *layer = &(outer ? outer->options : run->program->options)[option];
	bool is_ip = layer->layer == DTC_LAYER_IPV4 || layer->layer == DTC_LAYER_IPV6;
	bool is_known = outer ? layer->layer == DTC_LAYER_TCP || layer->layer == DTC_LAYER_UDP : is_ip;
	if (!is_known)
		return dtc_decode_pass(run->decoder, inner);
	struct dtc_header_values *before = layers->at;
	layers->at = outer ? &layers->transport : &layers->ip;
	layers->at->layer = layer->layer;
	*(outer ? &layers->has_transport : &layers->has_ip) = true;
	layers->outer = layer;
	bool is_sound = take_members(run, &layer->members);
	layers->outer = outer;
	layers->at = before;
	return is_sound;
}

static bool take_headers(const struct run *run, const struct rule *rule)
{
	struct layers layers;
	struct run inner = *run;
	if (run->layers)
		return take_layer(run, rule->layout);
	memset(layers.ip.has, 0, sizeof(layers.ip.has));
	memset(layers.transport.has, 0, sizeof(layers.transport.has));
	layers.has_ip = layers.has_source = layers.has_destination = layers.has_transport = false;
	layers.at = NULL;
	layers.outer = NULL;
	inner.layers = &layers;
	if (!take_layer(&inner, rule->layout))
		return false;
	if (layers.has_ip && layers.has_source && layers.has_destination)
		dtc_headers_set(run->event, &layers.ip, layers.has_transport ? &layers.transport : NULL);
	else
		memset(&run->event->headers, 0, sizeof(run->event->headers));
	return true;
}

/* ---- a field of varying size ---- */

static bool take_string(const struct run *run, const struct rule *rule)
{
	gsize bytes;
	const char *text = dtc_decode_string(run->decoder, rule->layout, &bytes);
	/* names and paths that the tables ask for are UTF-8; another encoding is as good as none */
	run->event->text[rule->slot] = rule->layout->type->unit_bytes > 1 ? NULL : text;
	return text != NULL;
}

static bool take_field(const struct run *run, const struct sequence *sequence, const struct step *step)
{
	const struct rule *rules = &g_array_index(sequence->rules, struct rule, step->field_rule_first);
	const struct dtc_layout *field = step->field;
	struct dtc_decoder *decoder = run->decoder;
	uint64_t length = 0, value;
	if (step->field_rule_count == 0)
		return dtc_decode_pass(decoder, field);
	if (rules->operation == OP_READY)
		return take_ready(run, rules);
	if (rules->operation == OP_LAYERS)
		return take_headers(run, rules);
	if (field->kind == DTC_TYPE_STRING)
		return take_string(run, rules);
	if (field->kind == DTC_TYPE_VARINT) {
		bool is_sound = dtc_decode_varint(decoder, field, &value);
		if (is_sound && rules->operation == OP_NUMBER)
			run->event->v[rules->slot] = (int64_t)value;
		return is_sound;
	}
	if (field->kind == DTC_TYPE_ARRAY || field->kind == DTC_TYPE_SEQUENCE) {
		uint64_t at = dtc_align_bits(decoder->at, field->align);
		if (!dtc_decode_get_length(decoder, field, &length) || !dtc_decode_pass(decoder, field))
			return false;
		for (guint i = 0; i < step->field_rule_count; i++)
			apply_to_list(run, &rules[i], at, length);
		return true;
	}
	return dtc_decode_pass(decoder, field);
}

static bool take_step(const struct run *run, const struct sequence *sequence, const struct step *step)
{
	struct dtc_decoder *decoder = run->decoder;
	uint64_t begin = dtc_align_bits(decoder->at, step->align);
	if (G_UNLIKELY(begin > decoder->end || step->run_bits > decoder->end - begin))
		return false;
	const struct rule *rule = &g_array_index(sequence->rules, struct rule, step->rule_first);
	for (guint i = 0; i < step->rule_count; i++, rule++)
		apply_in_run(run, rule, begin);
	decoder->at = begin + step->run_bits;
	return !step->field || take_field(run, sequence, step);
}

static bool take_members(const struct run *run, const struct sequence *sequence)
{
	const struct step *step = &g_array_index(sequence->steps, struct step, 0);
	for (guint i = 0; i < sequence->steps->len; i++)
		if (!take_step(run, sequence, &step[i]))
			return false;
	return true;
}

static bool take_context(const struct run *run, const struct dtc_layout *context)
{
	const DtcProgram *program = run->program;
	if (!context || program->thread_in != context || !program->thread)
		return dtc_decode_pass(run->decoder, context);
	run->event->has_tid = true;
	return take_inside(run->decoder, context, NULL, program->thread, &run->event->tid);
}

static void begin_event(const DtcProgram *program, struct dtc_event *event)
{
	event->kind = program->kind;
	event->name = program->name;
	memcpy(event->v, program->constants, sizeof(event->v));
	event->text[0] = event->text[1] = NULL;
	event->has_address = false;
	event->has_tid = false;
	event->ready_count = 0;
	if (!program->is_net)
		return;
	memset(&event->headers, 0, sizeof(event->headers));
	if (program->kind == DTC_EVENT_INET_OUT || program->kind == DTC_EVENT_INET_IN)
		event->headers.protocol = DTC_PROTOCOL_TCP;
}

bool dtc_program_run(const DtcProgram *program, struct dtc_decoder *decoder, struct dtc_program_texts *texts,
		     struct dtc_event *event)
{
	struct run run = { program, decoder, texts, event, NULL };
	begin_event(program, event);
	if ((program->common && !take_context(&run, program->common)) ||
	    (program->specific && !take_context(&run, program->specific)))
		return false;
	if (program->payload.steps && !take_members(&run, &program->payload))
		return false;
	if (program->call_by_number && event->v[DTC_CALL_NUMBER] != DTC_ABSENT) { /* rare: a look-up is fine */
		char name[DTC_CALL_NAME_BYTES];
		dtc_spelling_name_call(event->v[DTC_CALL_NUMBER], program->is_compat, name);
		event->v[DTC_CALL_NAME] = dtc_names_add(program->call_names, name);
	}
	return true;
}
