/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/program_parts.h"

#include <stdlib.h>

static void layers_free(struct dtc_layer *layers, guint count)
{
	for (guint i = 0; i < count; i++) {
		dtc_steps_free(layers[i].members);
		g_clear_pointer(&layers[i].wanted, g_array_unref);
		layers_free(layers[i].options, layers[i].option_count);
	}
	g_free(layers);
}

void dtc_program_free(DtcProgram *program)
{
	if (!program)
		return;
	layers_free(program->options, program->option_count);
	dtc_flats_clear(program);
	g_array_unref(program->wanted);
	dtc_steps_free(program->steps);
	free(program);
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
	*ret_operation = spelling->element == DTC_SCALAR ? DTC_OPERATION_NUMBER : DTC_OPERATION_ELEMENT;
	if (spelling->element != DTC_SCALAR) {
		if (!is_list(layout))
			return false;
		layout = layout->element;
	}
	return is_number(layout) && (spelling->type != DTC_FIELD_FD || layout->type->base != 16);
}

/* epoll's data: 64 bits in a structure inside of the structure. */
static bool find_data(const struct dtc_layout *structure, struct dtc_ready_places *ret_ready)
{
	*ret_ready = (struct dtc_ready_places){ NULL, NULL, NULL };
	if (structure->kind != DTC_TYPE_STRUCT)
		return false;
	ret_ready->data = dtc_layout_find_member(structure, "data_union");
	if (ret_ready->data && ret_ready->data->kind == DTC_TYPE_STRUCT)
		ret_ready->bits = dtc_layout_find_member(ret_ready->data, "u64");
	return ret_ready->bits && is_unsigned(ret_ready->bits);
}

static bool find_ready(const struct dtc_layout *list, struct dtc_ready_places *ret_ready)
{
	if (!is_list(list) || list->element->kind != DTC_TYPE_STRUCT)
		return false;
	if (find_data(list->element, ret_ready))
		return true;
	*ret_ready = (struct dtc_ready_places){ dtc_layout_find_member(list->element, "fd"), NULL, NULL };
	return ret_ready->fd && is_number(ret_ready->fd) && ret_ready->fd->is_signed;
}

/* What a poll returned, or epoll_ctl's data: one of them for a class. */
static bool choose_ready(DtcProgram *program, const struct dtc_field_spelling *spelling,
			 const struct dtc_layout *layout, uint8_t *ret_operation)
{
	if (program->ready.fd || program->ready.bits)
		return false;
	*ret_operation = spelling->type == DTC_FIELD_READY ? DTC_OPERATION_READY : DTC_OPERATION_DATA;
	struct dtc_ready_places ready;
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
		*ret_operation = DTC_OPERATION_TEXT;
		return is_string(layout);
	case DTC_FIELD_ADDRESS:
		*ret_operation = DTC_OPERATION_ADDRESS;
		return is_address(layout);
	case DTC_FIELD_HEADER:
		*ret_operation = DTC_OPERATION_HEADER;
		return is_unsigned(layout);
	case DTC_FIELD_READY:
	case DTC_FIELD_DATA:
		return choose_ready(program, spelling, layout, ret_operation);
	default:
		return choose_number(spelling, layout, ret_operation);
	}
}

/* Members that hold text, address and numbers are told apart, so that slot 0 of each does not exclude the others. */
static bool is_slot_taken(const GArray *rules, const struct dtc_rule *rule)
{
	for (guint i = 0; i < rules->len; i++) {
		const struct dtc_rule *other = &g_array_index(rules, struct dtc_rule, i);
		if (other->layout == rule->layout && other->element == rule->element)
			return true;
		bool same_target = other->operation == rule->operation || (other->operation <= DTC_OPERATION_ELEMENT &&
									   rule->operation <= DTC_OPERATION_ELEMENT);
		if (same_target && other->slot == rule->slot && rule->operation != DTC_OPERATION_ADDRESS)
			return true;
	}
	return false;
}

/* In the order of preference; struct dtc_rule without places. Caller owns. */
static GArray *choose_rules(DtcProgram *program, const struct dtc_field_spelling *spelling,
			    const struct dtc_layout *payload)
{
	GArray *rules = g_array_new(FALSE, TRUE, sizeof(struct dtc_rule));
	for (; spelling->name; spelling++) {
		for (guint i = 0; i < payload->member_count; i++) {
			const struct dtc_layout_member *member = &payload->members[i];
			if (strcmp(dtc_spelling_skip_underscores(member->name), spelling->name) != 0)
				continue;
			struct dtc_rule rule = { 0, spelling->slot, spelling->element, 0, member->layout };
			if (choose_operation(program, spelling, member->layout, &rule.operation) &&
			    !is_slot_taken(rules, &rule))
				g_array_append_val(rules, rule);
			break;
		}
	}
	return rules;
}

/* ---- header variants ---- */

static struct dtc_layer *make_layers(const struct dtc_layout *variant, bool is_network);

static int find_header_field(const struct dtc_layer *layer, const struct dtc_layout_member *member)
{
	int field = dtc_spelling_find_header_field(layer->layer, member->name);
	bool is_end = field == DTC_HEADER_SOURCE || field == DTC_HEADER_DESTINATION;
	bool is_fit = is_end ? is_address(member->layout)
			     : is_unsigned(member->layout) && member->layout->kind == DTC_TYPE_INTEGER;
	return is_fit ? field : -1;
}

static void make_layer(struct dtc_layer *layer, const struct dtc_layout_member *option, bool is_network)
{
	const struct dtc_layout *layout = option->layout;
	g_autoptr(GArray) wanted = g_array_new(FALSE, TRUE, sizeof(struct dtc_rule));
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
		struct dtc_rule rule = { is_inner			   ? DTC_OPERATION_LAYERS
					 : field == DTC_HEADER_SOURCE	   ? DTC_OPERATION_SOURCE
					 : field == DTC_HEADER_DESTINATION ? DTC_OPERATION_DESTINATION
									   : DTC_OPERATION_FIELD,
					 (uint8_t)field, DTC_SCALAR, 0, member->layout };
		if (is_inner || field >= 0)
			g_array_append_val(wanted, rule);
		if (rule.operation == DTC_OPERATION_FIELD && field >= 0)
			layer->fields |= UINT32_C(1) << field;
	}
	layer->members = dtc_steps_new(&layout, 1, wanted);
	layer->wanted = g_steal_pointer(&wanted);
}

static struct dtc_layer *make_layers(const struct dtc_layout *variant, bool is_network)
{
	struct dtc_layer *layers = g_new0(struct dtc_layer, variant->member_count + 1);
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
		struct dtc_rule rule = { DTC_OPERATION_LAYERS, 0, DTC_SCALAR, 0, member->layout };
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

/* By the context of all events of the stream, by the event's own, or, as perf has it, by its payload. */
static void add_thread(const struct dtc_layout *common, const struct dtc_layout *specific,
		       const struct dtc_layout *payload, GArray *wanted)
{
	const struct dtc_layout *thread = find_thread(common, "tid");
	if (!thread)
		thread = find_thread(specific, "tid");
	if (!thread)
		thread = find_thread(payload, "perf_tid");
	struct dtc_rule rule = { DTC_OPERATION_THREAD, 0, DTC_SCALAR, 0, thread };
	if (thread)
		g_array_append_val(wanted, rule);
}

/* ---- making ---- */

static DtcProgram *program_alloc(guint form_count)
{
	gsize size = sizeof(DtcProgram) + (form_count + 1) * sizeof(struct dtc_flat);
	DtcProgram *program = aligned_alloc(_Alignof(DtcProgram), size);
	if (!program)
		g_error("no memory for the forms of an event");
	memset(program, 0, size);
	program->form_count = form_count;
	return program;
}

DtcProgram *dtc_program_new(const struct dtc_stream_layout *stream, const struct dtc_event_layout *event,
			    DtcNames *event_names, DtcNames *call_names)
{
	const struct dtc_layout *parts[] = { stream->common_context, event->context, event->payload };
	struct dtc_forms *forms = dtc_forms_new(parts, G_N_ELEMENTS(parts));
	DtcProgram *program = program_alloc(forms ? forms->count : 0);
	const char *name = event->declaration->name ? event->declaration->name : "(no name)";
	struct dtc_event_spelling spelling = dtc_spelling_find_event(name);
	const struct dtc_layout *payload = event->payload;
	program->call_names = call_names;
	program->kind = (uint16_t)spelling.kind;
	program->name = (uint16_t)dtc_names_add(event_names, name);
	program->call_by_number = spelling.call_by_number;
	program->is_compat = spelling.is_compat;
	if (spelling.kind == DTC_EVENT_INET_OUT || spelling.kind == DTC_EVENT_INET_IN)
		program->protocol = DTC_PROTOCOL_TCP;
	program->wanted = payload && spelling.kind != DTC_EVENT_OTHER
				  ? choose_rules(program, spelling.fields, payload)
				  : g_array_new(FALSE, TRUE, sizeof(struct dtc_rule));
	add_thread(stream->common_context, event->context, payload, program->wanted);
	if (payload && spelling.kind >= DTC_EVENT_NET_SEND && spelling.kind <= DTC_EVENT_INET_IN)
		add_network(program, payload, program->wanted);
	program->steps = dtc_steps_new(parts, G_N_ELEMENTS(parts), program->wanted);
	dtc_flats_init(program, forms, &spelling);
	dtc_forms_free(forms);
	return program;
}

struct dtc_item_class dtc_program_get_class(const DtcProgram *program)
{
	return (struct dtc_item_class){ program->kind, program->name };
}
