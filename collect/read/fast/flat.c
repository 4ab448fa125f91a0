/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/program_parts.h"

#include <stddef.h>

/* Values of the headers of a packet, as their fields are taken. */
struct values {
	struct dtc_header_values ip, transport;
};

struct maker {
	const DtcProgram *program;
	guint last; /* stretch */
	struct dtc_flat flat;
	struct dtc_flat_headers headers;
	GArray *numbers[4]; /* struct dtc_flat_number: as they follow in the flat */
	GArray *header_numbers;
	const struct dtc_layer *ip, *transport;	    /* NULL: none yet */
	guint met_count, ip_count, transport_count; /* rules whose fields were met */
	guint ip_wires, transport_wires;	    /* of them: as on the wire */
	bool has_source, has_destination;
};

/* ---- what is taken ---- */

static bool make_number(const struct dtc_layout *layout, uint32_t at, gsize to, struct dtc_flat_number *ret_number)
{
	struct dtc_step_number number;
	if (to > UINT16_MAX || !dtc_step_make_number(layout, 8, at, 0, &number))
		return false;
	uint64_t mask = layout->is_signed || layout->bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << layout->bits) - 1;
	*ret_number = (struct dtc_flat_number){ mask, number.at, (uint16_t)to, number.left, number.right };
	return true;
}

static bool add_number(struct maker *maker, const struct dtc_form_field *field, gsize to)
{
	struct dtc_flat_number number;
	bool is_first = field->stretch == 0, is_turned = field->layout->is_big_endian;
	GArray *numbers = maker->numbers[2 * is_turned + !is_first];
	if ((!is_first && field->stretch != maker->last) || numbers->len == UINT8_MAX ||
	    !make_number(field->layout, field->at, to, &number))
		return false;
	g_array_append_val(numbers, number);
	return true;
}

static bool add_text(struct maker *maker, const struct dtc_form_field *field, guint slot)
{
	struct dtc_flat_text *text = &maker->flat.texts[slot];
	const struct dtc_layout *layout = field->layout;
	bool is_first = field->stretch == 0;
	if ((!is_first && field->stretch != maker->last) || field->at % 8 != 0 || text->is_there)
		return false;
	*text = (struct dtc_flat_text){ .at = field->at / 8, .is_last = !is_first, .is_there = true };
	if (layout->kind == DTC_TYPE_STRING)
		return true;
	if (layout->kind != DTC_TYPE_ARRAY || layout->type->length == 0 ||
	    layout->type->length > DTC_PROGRAM_TEXT_BYTES)
		return false;
	text->zero = text->at + (uint32_t)layout->type->length - 1;
	text->mask = 0xff;
	return true;
}

static bool add_header_number(struct maker *maker, const struct dtc_form_field *field, gsize to)
{
	struct dtc_flat_number number;
	if (field->stretch != maker->last || !field->layout->is_big_endian ||
	    !make_number(field->layout, field->at, to, &number))
		return false;
	g_array_append_val(maker->header_numbers, number);
	return true;
}

/* Bytes, or words in the order of the net, one behind the other. */
static bool add_address(struct maker *maker, const struct dtc_form_field *field, uint32_t *ret_at)
{
	const struct dtc_layout *list = field->layout, *element = list->element;
	if (field->stretch != maker->last || list->kind != DTC_TYPE_ARRAY || field->at % 8 != 0 || !element->is_plain ||
	    element->align > element->bits || (element->bits == 16 && !element->is_big_endian))
		return false;
	uint64_t bytes = list->type->length <= 16 ? list->type->length * element->bits / 8 : 0;
	if ((bytes != 4 && bytes != 16) || (maker->headers.address_bytes != 0 && maker->headers.address_bytes != bytes))
		return false;
	maker->headers.address_bytes = (uint32_t)bytes;
	*ret_at = field->at / 8;
	return true;
}

static bool choose_layer(struct maker *maker, const struct dtc_form_field *field)
{
	const struct dtc_layer *layer = &maker->program->options[field->option];
	if (maker->ip)
		return false;
	if (layer->layer == DTC_LAYER_IPV4 || layer->layer == DTC_LAYER_IPV6) {
		maker->ip = layer;
		maker->headers.ip = layer->layer;
		maker->headers.ip_at = field->at / 8; /* of a whole byte, or no field will be as on the wire */
		maker->headers.ip_fields = layer->fields;
	}
	return true;
}

static bool choose_transport(struct maker *maker, const struct dtc_form_field *field)
{
	const struct dtc_layer *layer = &maker->ip->options[field->option];
	if (maker->transport)
		return false;
	if (layer->layer == DTC_LAYER_TCP || layer->layer == DTC_LAYER_UDP) {
		maker->transport = layer;
		maker->headers.transport = layer->layer;
		maker->headers.transport_at = field->at / 8;
		maker->headers.transport_fields = layer->fields;
	}
	return true;
}

/* Where fields are in headers on the wire (RFC 791, 8200, 9293, 768): bits from the header's begin. */
static const struct wire {
	enum dtc_header_layer layer;
	enum dtc_header_field field;
	uint32_t at, bits;
} wires[] = {
	{ DTC_LAYER_IPV4, DTC_HEADER_IHL, 4, 4 },
	{ DTC_LAYER_IPV4, DTC_HEADER_TOTAL_LENGTH, 16, 16 },
	{ DTC_LAYER_IPV4, DTC_HEADER_ID, 32, 16 },
	{ DTC_LAYER_IPV4, DTC_HEADER_FRAGMENT, 48, 16 },
	{ DTC_LAYER_IPV4, DTC_HEADER_PROTOCOL, 72, 8 },
	{ DTC_LAYER_IPV4, DTC_HEADER_SOURCE, 96, 32 },
	{ DTC_LAYER_IPV4, DTC_HEADER_DESTINATION, 128, 32 },
	{ DTC_LAYER_IPV6, DTC_HEADER_PAYLOAD_LENGTH, 32, 16 },
	{ DTC_LAYER_IPV6, DTC_HEADER_PROTOCOL, 48, 8 },
	{ DTC_LAYER_IPV6, DTC_HEADER_SOURCE, 64, 128 },
	{ DTC_LAYER_IPV6, DTC_HEADER_DESTINATION, 192, 128 },
	{ DTC_LAYER_TCP, DTC_HEADER_SOURCE_PORT, 0, 16 },
	{ DTC_LAYER_TCP, DTC_HEADER_DESTINATION_PORT, 16, 16 },
	{ DTC_LAYER_TCP, DTC_HEADER_SEQ, 32, 32 },
	{ DTC_LAYER_TCP, DTC_HEADER_ACK, 64, 32 },
	{ DTC_LAYER_TCP, DTC_HEADER_DATA_OFFSET, 96, 4 },
	{ DTC_LAYER_TCP, DTC_HEADER_FLAGS, 103, 9 },
	{ DTC_LAYER_TCP, DTC_HEADER_WINDOW, 112, 16 },
	{ DTC_LAYER_UDP, DTC_HEADER_SOURCE_PORT, 0, 16 },
	{ DTC_LAYER_UDP, DTC_HEADER_DESTINATION_PORT, 16, 16 },
	{ DTC_LAYER_UDP, DTC_HEADER_UDP_LENGTH, 32, 16 },
};

static const struct wire *find_wire(enum dtc_header_layer layer, guint field)
{
	for (gsize i = 0; i < G_N_ELEMENTS(wires); i++)
		if (wires[i].layer == layer && wires[i].field == field)
			return &wires[i];
	return NULL;
}

static guint count_wires(enum dtc_header_layer layer)
{
	guint count = 0;
	for (gsize i = 0; i < G_N_ELEMENTS(wires); i++)
		count += wires[i].layer == layer;
	return count;
}

/* A field that is met in a header counts if it lies as on the wire. */
static void note_wire(struct maker *maker, const struct dtc_layer *layer, guint wire_field,
		      const struct dtc_form_field *field, uint32_t bits)
{
	bool is_transport = layer == maker->transport;
	const struct wire *wire = find_wire(layer->layer, wire_field);
	uint64_t begin = (uint64_t)8 * (is_transport ? maker->headers.transport_at : maker->headers.ip_at);
	if (wire && field->at == begin + wire->at && bits == wire->bits)
		++*(is_transport ? &maker->transport_wires : &maker->ip_wires);
}

/* ---- rules ---- */

static bool apply(struct maker *maker, const struct dtc_rule *rule, const struct dtc_form_field *field)
{
	switch (rule->operation) {
	case DTC_OPERATION_NUMBER:
		return add_number(maker, field, offsetof(struct dtc_event, v) + rule->slot * sizeof(int64_t));
	case DTC_OPERATION_THREAD:
		maker->flat.has_tid = true;
		return add_number(maker, field, offsetof(struct dtc_event, tid));
	case DTC_OPERATION_TEXT:
		return add_text(maker, field, rule->slot);
	case DTC_OPERATION_LAYERS:
		return choose_layer(maker, field);
	default:
		return false;
	}
}

static bool apply_in_header(struct maker *maker, const struct dtc_rule *rule, const struct dtc_form_field *field,
			    const struct dtc_layer *layer)
{
	bool is_transport = layer == maker->transport;
	gsize values = is_transport ? offsetof(struct values, transport) : offsetof(struct values, ip);
	uint32_t *address_at;
	switch (rule->operation) {
	case DTC_OPERATION_FIELD:
		note_wire(maker, layer, rule->slot, field, field->layout->bits);
		return add_header_number(maker, field,
					 values + offsetof(struct dtc_header_values, value) +
						 rule->slot * sizeof(uint64_t));
	case DTC_OPERATION_SOURCE:
	case DTC_OPERATION_DESTINATION:
		address_at = rule->operation == DTC_OPERATION_SOURCE ? &maker->headers.source_at
								     : &maker->headers.destination_at;
		*(rule->operation == DTC_OPERATION_SOURCE ? &maker->has_source : &maker->has_destination) = true;
		note_wire(maker, layer, rule->slot, field, (uint32_t)field->layout->fixed_bits);
		return !is_transport && add_address(maker, field, address_at);
	case DTC_OPERATION_LAYERS:
		return !is_transport && choose_transport(maker, field);
	default:
		return false;
	}
}

/* The rules of the event, or of a header. */
static bool apply_all(struct maker *maker, const GArray *rules, const struct dtc_form_field *field,
		      const struct dtc_layer *layer, guint *count)
{
	for (guint i = 0; i < rules->len; i++) {
		const struct dtc_rule *rule = &g_array_index(rules, struct dtc_rule, i);
		if (rule->layout != field->layout)
			continue;
		++*count;
		if (!(layer ? apply_in_header(maker, rule, field, layer) : apply(maker, rule, field)))
			return false;
	}
	return true;
}

/* False if something that is wanted cannot be taken like that. */
static bool apply_fields(struct maker *maker, const struct dtc_forms *forms, const struct dtc_form *form)
{
	for (guint i = 0; i < form->field_count; i++) {
		const struct dtc_form_field *field = &forms->fields[form->field_first + i];
		const struct dtc_layer *ip = maker->ip, *transport = maker->transport;
		if (!apply_all(maker, maker->program->wanted, field, NULL, &maker->met_count) ||
		    (ip && !apply_all(maker, ip->wanted, field, ip, &maker->ip_count)) ||
		    (transport && !apply_all(maker, transport->wanted, field, transport, &maker->transport_count)))
			return false;
	}
	return maker->met_count == maker->program->wanted->len &&
	       (!maker->ip || maker->ip_count == maker->ip->wanted->len) &&
	       (!maker->transport || maker->transport_count == maker->transport->wanted->len);
}

/* ---- making ---- */

static struct dtc_flat_number *join(GArray *const *numbers, guint count)
{
	GArray *all = g_array_sized_new(FALSE, TRUE, sizeof(struct dtc_flat_number), 1);
	for (guint i = 0; i < count; i++)
		g_array_append_vals(all, numbers[i]->data, numbers[i]->len);
	return (struct dtc_flat_number *)(void *)g_array_free(all, FALSE);
}

/* The first of the numbers that every event's could be are looked for in no list. */
static void place_numbers(struct maker *maker)
{
	struct dtc_flat *flat = &maker->flat;
	GArray *usual = maker->numbers[0];
	guint few = MIN(usual->len, DTC_FLAT_FEW);
	if (few) {
		memcpy(flat->few, usual->data, few * sizeof(struct dtc_flat_number));
		g_array_remove_range(usual, 0, few);
	}
	flat->number_count = (uint8_t)usual->len;
	flat->last_count = (uint8_t)maker->numbers[1]->len;
	flat->turned_count = (uint8_t)maker->numbers[2]->len;
	flat->turned_last_count = (uint8_t)maker->numbers[3]->len;
	flat->has_more = flat->last_count + flat->turned_count + flat->turned_last_count > 0 || flat->has_tid;
	flat->numbers = join(maker->numbers, G_N_ELEMENTS(maker->numbers));
}

static void end_flat(struct maker *maker, struct dtc_flat *ret)
{
	struct dtc_flat *flat = &maker->flat;
	flat->bits = DTC_FORM_SLACK_BITS;
	place_numbers(maker);
	if (maker->has_source && maker->has_destination) {
		maker->headers.is_wire = maker->ip_wires == count_wires(maker->headers.ip) &&
					 maker->transport_wires == count_wires(maker->headers.transport);
		maker->headers.number_count = maker->header_numbers->len;
		maker->headers.numbers = join(&maker->header_numbers, 1);
		flat->headers = g_memdup2(&maker->headers, sizeof(maker->headers));
	}
	*ret = *flat;
}

/* With nothing that is taken: a number that is none is written where no thread is told, before one could be. */
static void maker_init(struct maker *maker, const DtcProgram *program, const struct dtc_flat *begin)
{
	*maker = (struct maker){ .program = program, .flat = *begin };
	for (guint i = 0; i < DTC_FLAT_FEW; i++)
		maker->flat.few[i].to = (uint16_t)offsetof(struct dtc_event, tid);
	for (guint i = 0; i < G_N_ELEMENTS(maker->numbers); i++)
		maker->numbers[i] = g_array_new(FALSE, TRUE, sizeof(struct dtc_flat_number));
	maker->header_numbers = g_array_new(FALSE, TRUE, sizeof(struct dtc_flat_number));
}

static void maker_clear(struct maker *maker)
{
	for (guint i = 0; i < G_N_ELEMENTS(maker->numbers); i++)
		g_array_unref(maker->numbers[i]);
	g_array_unref(maker->header_numbers);
}

static void make_flat(const DtcProgram *program, const struct dtc_forms *forms, guint number, struct dtc_flat *flat)
{
	const struct dtc_form *form = &forms->list[number];
	struct maker maker;
	maker_init(&maker, program, flat);
	maker.last = form->stretch_count - 1;
	maker.headers.ip = maker.headers.transport = DTC_LAYER_OTHER;
	maker.flat.align = forms->ways[0].align;
	if (apply_fields(&maker, forms, form))
		end_flat(&maker, flat);
	maker_clear(&maker);
}

/* ---- events without a form ---- */

static bool flatten_numbers(const struct dtc_steps *steps, struct maker *maker)
{
	const struct dtc_layout_step *step = &steps->steps[0];
	if (step->number_count > UINT8_MAX)
		return false;
	for (guint i = 0; i < step->number_count; i++) {
		const struct dtc_step_number *from = &steps->numbers[step->number_first + i];
		if (from->is_big_endian)
			return false;
		const struct dtc_flat_number number = {
			.mask = from->is_signed ? ~UINT64_C(0) : ~UINT64_C(0) >> from->right,
			.at = from->at,
			.to = (uint16_t)(offsetof(struct dtc_event, v) + from->slot * sizeof(int64_t)),
			.left = from->left,
			.right = from->right,
		};
		g_array_append_val(maker->numbers[0], number);
	}
	return true;
}

static bool flatten_texts(const struct dtc_steps *steps, struct maker *maker)
{
	const struct dtc_layout_step *step = &steps->steps[0];
	for (guint i = 0; i < step->rule_count; i++) {
		const struct dtc_rule *rule = &steps->rules[step->rule_first + i];
		const struct dtc_form_field field = { rule->layout, rule->at, 0, 0 };
		if (rule->operation != DTC_OPERATION_TEXT || !apply(maker, rule, &field))
			return false;
	}
	return true;
}

/* All that is wanted lies in the run that events of a class begin with; or nothing is. */
static void flatten(const DtcProgram *program, struct dtc_flat *flat)
{
	const struct dtc_steps *steps = program->steps;
	const struct dtc_layout_step *step = &steps->steps[0];
	struct maker maker;
	if (steps->wanted_count > 1)
		return;
	maker_init(&maker, program, flat);
	maker.flat.align = 8;
	maker.flat.bits = DTC_FORM_SLACK_BITS;
	bool is_flat = true;
	if (steps->wanted_count == 1) {
		maker.flat.align = step->align;
		maker.flat.bits += step->run_bits;
		is_flat = step->field_rule_count == 0 && step->align % 8 == 0 && flatten_texts(steps, &maker) &&
			  flatten_numbers(steps, &maker);
	}
	if (is_flat) {
		place_numbers(&maker);
		*flat = maker.flat;
	}
	maker_clear(&maker);
}

/* What is not taken like that is so by its steps. */
static struct dtc_flat begin_flat(const DtcProgram *program, const struct dtc_event_spelling *spelling)
{
	struct dtc_flat flat = {
		.kind = program->kind,
		.name = program->name,
		.is_call = spelling->kind == DTC_EVENT_SYSCALL_ENTRY || spelling->kind == DTC_EVENT_SYSCALL_EXIT,
		.is_net = spelling->kind >= DTC_EVENT_NET_SEND && spelling->kind <= DTC_EVENT_INET_IN,
		.protocol = program->protocol,
		.align = 1,
		.bits = G_MAXINT64,
		.value = DTC_ABSENT,
	};
	if (flat.is_call) {
		flat.slot = DTC_CALL_NAME;
		flat.value = spelling->call ? dtc_names_add(program->call_names, spelling->call) : 0;
	}
	if (spelling->kind == DTC_EVENT_VECTOR_ENTRY || spelling->kind == DTC_EVENT_VECTOR_EXIT) {
		flat.slot = DTC_VECTOR_TYPE;
		flat.value = spelling->vector;
	}
	return flat;
}

void dtc_flats_init(DtcProgram *program, const struct dtc_forms *forms, const struct dtc_event_spelling *spelling)
{
	const struct dtc_flat begin = begin_flat(program, spelling);
	bool is_any = program->call_by_number || program->protocol != 0;
	for (guint i = 0; i <= program->form_count; i++)
		program->flats[i] = begin;
	if (!is_any)
		flatten(program, &program->flats[0]);
	for (guint i = 0; i < program->form_count && !is_any; i++)
		make_flat(program, forms, i, &program->flats[i + 1]);
}

void dtc_flats_clear(DtcProgram *program)
{
	for (guint i = 0; i <= program->form_count; i++) {
		struct dtc_flat *flat = &program->flats[i];
		g_free(flat->numbers);
		if (flat->headers)
			g_free(flat->headers->numbers);
		g_free(flat->headers);
	}
}

/* ---- headers ---- */

static inline uint16_t load_16(const uint8_t *from)
{
	uint16_t value;
	memcpy(&value, from, sizeof(value));
	return GUINT16_FROM_BE(value);
}

static inline uint32_t load_32(const uint8_t *from)
{
	uint32_t value;
	memcpy(&value, from, sizeof(value));
	return GUINT32_FROM_BE(value);
}

static inline void take_ip(const uint8_t *from, enum dtc_header_layer layer, struct dtc_header_values *values,
			   struct dtc_headers *headers)
{
	values->layer = layer;
	values->has = ~UINT32_C(0);
	if (layer == DTC_LAYER_IPV4) {
		values->value[DTC_HEADER_IHL] = from[0] & 0xf;
		values->value[DTC_HEADER_TOTAL_LENGTH] = load_16(from + 2);
		values->value[DTC_HEADER_ID] = load_16(from + 4);
		values->value[DTC_HEADER_FRAGMENT] = load_16(from + 6);
		values->value[DTC_HEADER_PROTOCOL] = from[9];
		dtc_address_set(headers->source, from + 12, 4);
		dtc_address_set(headers->destination, from + 16, 4);
	} else {
		values->value[DTC_HEADER_IHL] = DTC_IPV6_BYTES / 4;
		values->value[DTC_HEADER_PAYLOAD_LENGTH] = load_16(from + 4);
		values->value[DTC_HEADER_PROTOCOL] = from[6];
		dtc_address_set(headers->source, from + 8, 16);
		dtc_address_set(headers->destination, from + 24, 16);
	}
}

static inline void take_transport(const uint8_t *from, enum dtc_header_layer layer, struct dtc_header_values *values)
{
	values->layer = layer;
	values->has = ~UINT32_C(0);
	values->value[DTC_HEADER_SOURCE_PORT] = load_16(from);
	values->value[DTC_HEADER_DESTINATION_PORT] = load_16(from + 2);
	if (layer == DTC_LAYER_TCP) {
		values->value[DTC_HEADER_SEQ] = load_32(from + 4);
		values->value[DTC_HEADER_ACK] = load_32(from + 8);
		values->value[DTC_HEADER_DATA_OFFSET] = from[12] >> 4;
		values->value[DTC_HEADER_FLAGS] = load_16(from + 12) & 0x1ff;
		values->value[DTC_HEADER_WINDOW] = load_16(from + 14);
	} else {
		values->value[DTC_HEADER_UDP_LENGTH] = load_16(from + 4);
	}
}

/* The compiler makes straight code of each pair. */
static inline void take_wire(const struct dtc_flat_headers *headers, const uint8_t *last, enum dtc_header_layer ip,
			     struct dtc_event *event)
{
	struct values values;
	const uint8_t *transport = last + headers->transport_at;
	take_ip(last + headers->ip_at, ip, &values.ip, &event->headers);
	if (headers->transport == DTC_LAYER_TCP) {
		take_transport(transport, DTC_LAYER_TCP, &values.transport);
		dtc_headers_fill(event, &values.ip, &values.transport);
	} else if (headers->transport == DTC_LAYER_UDP) {
		take_transport(transport, DTC_LAYER_UDP, &values.transport);
		dtc_headers_fill(event, &values.ip, &values.transport);
	} else {
		dtc_headers_fill(event, &values.ip, NULL);
	}
}

static void take_other(const struct dtc_flat_headers *headers, const uint8_t *last, struct dtc_event *event)
{
	struct values values; /* of which those are looked at that the form has */
	values.ip.layer = headers->ip;
	values.ip.has = headers->ip_fields;
	values.transport.layer = headers->transport;
	values.transport.has = headers->transport_fields;
	dtc_flat_take_numbers(headers->numbers, headers->number_count, last, &values, true);
	dtc_address_set(event->headers.source, last + headers->source_at, headers->address_bytes);
	dtc_address_set(event->headers.destination, last + headers->destination_at, headers->address_bytes);
	dtc_headers_set(event, &values.ip, headers->transport != DTC_LAYER_OTHER ? &values.transport : NULL);
}

void dtc_flat_take_headers(const struct dtc_flat_headers *headers, const uint8_t *last, struct dtc_event *event)
{
	if (G_UNLIKELY(!headers->is_wire))
		take_other(headers, last, event);
	else if (headers->ip == DTC_LAYER_IPV4)
		take_wire(headers, last, DTC_LAYER_IPV4, event);
	else
		take_wire(headers, last, DTC_LAYER_IPV6, event);
}
