/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event class is compiled once into a list of (member, operation, slot); per event nothing is looked up by name. */
#include "collect/read/ctf/event_class.h"

#include "collect/read/ctf/event_thread.h"
#include "collect/read/ctf/ready.h"
#include "collect/read/fields.h"
#include "collect/read/spellings.h"

#include <string.h>

enum operation {
	OP_UNSIGNED,
	OP_SIGNED,
	OP_ELEMENT_UNSIGNED,
	OP_ELEMENT_SIGNED,
	OP_TEXT,
	OP_ADDRESS_BYTES, /* array of 8-bit integers */
	OP_ADDRESS_WORDS, /* array of 16-bit integers */
	OP_HEADER,
	OP_READY,
	OP_DATA,
};

struct rule {
	uint32_t member;
	uint8_t operation;
	uint8_t slot;
	int8_t element;
};

/* One option of a header variant: where its fields are, and the options of the variant inside it. */
struct layer {
	enum dtc_header_layer layer;
	int member[DTC_HEADER_FIELDS]; /* -1: not there */
	bool address_words;	       /* addresses are arrays of 16-bit integers, not of bytes */
	int inner;		       /* member that is the transport header variant, or -1 */
	guint option_count;
	struct layer *options;
};

struct DtcCtfClass {
	uint16_t kind;
	uint16_t name;
	guint rule_count;
	struct rule *rules;
	int64_t constants[DTC_EVENT_SLOTS]; /* what v holds before the rules are applied */
	bool call_by_number;
	bool is_compat;
	bool is_net;
	int network; /* member that is the network header variant, or -1 */
	guint option_count;
	struct layer *options;
	struct dtc_ctf_event_thread thread;
	struct dtc_ctf_ready ready; /* of OP_READY or OP_DATA: a class has one of them at most */
	DtcNames *call_names;	    /* borrowed */
};

static void layers_free(struct layer *layers, guint count)
{
	for (guint i = 0; i < count; i++)
		layers_free(layers[i].options, layers[i].option_count);
	g_free(layers);
}

void dtc_ctf_class_free(DtcCtfClass *class)
{
	if (!class)
		return;
	layers_free(class->options, class->option_count);
	g_free(class->rules);
	g_free(class);
}

static bool is_type(const bt_field_class *class, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_class_get_type(class), type);
}

static bool is_unsigned(const bt_field_class *class)
{
	return is_type(class, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);
}

/* Bits of the elements of an array of unsigned integers, else 0. */
static guint get_element_bits(const bt_field_class *class)
{
	if (!is_type(class, BT_FIELD_CLASS_TYPE_ARRAY))
		return 0;
	const bt_field_class *element = bt_field_class_array_borrow_element_field_class_const(class);
	return is_unsigned(element) ? (guint)bt_field_class_integer_get_field_value_range(element) : 0;
}

static bool choose_operation(const struct dtc_field_spelling *spelling, const bt_field_class *class,
			     uint8_t *ret_operation)
{
	bool is_element = spelling->element != DTC_SCALAR;
	switch (spelling->type) {
	case DTC_FIELD_TEXT:
		*ret_operation = OP_TEXT;
		return is_type(class, BT_FIELD_CLASS_TYPE_STRING);
	case DTC_FIELD_ADDRESS:
		*ret_operation = get_element_bits(class) == 16 ? OP_ADDRESS_WORDS : OP_ADDRESS_BYTES;
		return get_element_bits(class) == 8 || get_element_bits(class) == 16;
	case DTC_FIELD_HEADER:
		*ret_operation = OP_HEADER;
		return is_unsigned(class);
	default:
		break;
	}
	if (is_element) {
		if (!is_type(class, BT_FIELD_CLASS_TYPE_ARRAY))
			return false;
		class = bt_field_class_array_borrow_element_field_class_const(class);
	}
	if (is_unsigned(class))
		*ret_operation = is_element ? OP_ELEMENT_UNSIGNED : OP_UNSIGNED;
	else if (is_type(class, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*ret_operation = is_element ? OP_ELEMENT_SIGNED : OP_SIGNED;
	else
		return false;
	return spelling->type != DTC_FIELD_FD || bt_field_class_integer_get_preferred_display_base(class) !=
							 BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL;
}

/* What a poll returned, or epoll_ctl's data: one of them for a class, whose members are the same ones for all. */
static bool choose_ready(DtcCtfClass *class, const struct dtc_field_spelling *spelling,
			 const bt_field_class *member_class, uint8_t *ret_operation)
{
	bool is_list = spelling->type == DTC_FIELD_READY;
	for (guint i = 0; i < class->rule_count; i++)
		if (class->rules[i].operation == OP_READY || class->rules[i].operation == OP_DATA)
			return false;
	*ret_operation = is_list ? OP_READY : OP_DATA;
	if (is_list) /* an entry lists what is waited for */
		return class->kind == DTC_EVENT_SYSCALL_EXIT && dtc_ctf_ready_compile(member_class, &class->ready);
	return dtc_ctf_ready_compile_data(member_class, &class->ready);
}

static const char *get_member(const bt_field_class *structure, uint64_t index, const bt_field_class **ret_class)
{
	const bt_field_class_structure_member *member =
		bt_field_class_structure_borrow_member_by_index_const(structure, index);
	*ret_class = bt_field_class_structure_member_borrow_field_class_const(member);
	return bt_field_class_structure_member_get_name(member);
}

int dtc_ctf_find_unsigned(const bt_field_class *structure, const char *wanted)
{
	uint64_t count = structure ? MIN(bt_field_class_structure_get_member_count(structure), G_MAXINT) : 0;
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class *class;
		const char *name = get_member(structure, i, &class);
		if (is_unsigned(class) && strcmp(dtc_spelling_skip_underscores(name), wanted) == 0)
			return (int)i;
	}
	return -1;
}

/* Members that hold text, address and numbers are told apart, so that slot 0 of each does not exclude the others. */
static bool is_slot_taken(const DtcCtfClass *class, const struct rule *rule)
{
	for (guint i = 0; i < class->rule_count; i++) {
		const struct rule *other = &class->rules[i];
		if (other->member == rule->member && other->element == rule->element)
			return true;
		bool same_target = other->operation == rule->operation ||
				   (other->operation <= OP_ELEMENT_SIGNED && rule->operation <= OP_ELEMENT_SIGNED);
		bool is_address = rule->operation == OP_ADDRESS_BYTES || rule->operation == OP_ADDRESS_WORDS;
		if (same_target && other->slot == rule->slot && !is_address)
			return true;
	}
	return false;
}

static void compile_rules(DtcCtfClass *class, const struct dtc_field_spelling *spelling, const bt_field_class *payload)
{
	guint limit = 0;
	while (spelling[limit].name)
		limit++;
	class->rules = g_new0(struct rule, limit + 1);
	uint64_t member_count = bt_field_class_structure_get_member_count(payload);
	for (; spelling->name; spelling++) {
		for (uint64_t i = 0; i < member_count && i <= UINT32_MAX; i++) {
			const bt_field_class *member_class;
			const char *name = get_member(payload, i, &member_class);
			if (strcmp(dtc_spelling_skip_underscores(name), spelling->name) != 0)
				continue;
			struct rule rule = { (uint32_t)i, 0, spelling->slot, spelling->element };
			bool is_ready = spelling->type == DTC_FIELD_READY || spelling->type == DTC_FIELD_DATA;
			if ((is_ready ? choose_ready(class, spelling, member_class, &rule.operation)
				      : choose_operation(spelling, member_class, &rule.operation)) &&
			    !is_slot_taken(class, &rule))
				class->rules[class->rule_count++] = rule;
			break;
		}
	}
}

static void compile_layer(struct layer *layer, const char *option_name, const bt_field_class *structure);

static struct layer *compile_variant(const bt_field_class *variant, guint *ret_count)
{
	uint64_t count = MIN(bt_field_class_variant_get_option_count(variant), G_MAXUINT16);
	struct layer *layers = g_new0(struct layer, count + 1);
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_variant_option *option =
			bt_field_class_variant_borrow_option_by_index_const(variant, i);
		const char *name = bt_field_class_variant_option_get_name(option);
		compile_layer(&layers[i], name ? name : "",
			      bt_field_class_variant_option_borrow_field_class_const(option));
	}
	*ret_count = (guint)count;
	return layers;
}

static void compile_layer(struct layer *layer, const char *option_name, const bt_field_class *structure)
{
	layer->layer = dtc_spelling_find_layer(option_name);
	layer->inner = -1;
	memset(layer->member, -1, sizeof(layer->member));
	if (layer->layer == DTC_LAYER_OTHER || bt_field_class_get_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE) {
		layer->layer = DTC_LAYER_OTHER;
		return;
	}
	uint64_t count = MIN(bt_field_class_structure_get_member_count(structure), G_MAXINT);
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class *class;
		const char *name = get_member(structure, i, &class);
		bool is_network = layer->layer == DTC_LAYER_IPV4 || layer->layer == DTC_LAYER_IPV6;
		if (is_network && is_type(class, BT_FIELD_CLASS_TYPE_VARIANT) && layer->inner < 0 &&
		    strcmp(dtc_spelling_skip_underscores(name), dtc_spelling_transport_header) == 0) {
			layer->inner = (int)i; /* one level: options of a transport layer have no variant looked at */
			layer->options = compile_variant(class, &layer->option_count);
			continue;
		}
		int field = dtc_spelling_find_header_field(layer->layer, name);
		if (field < 0)
			continue;
		guint bits = get_element_bits(class);
		bool is_address = field == DTC_HEADER_SOURCE || field == DTC_HEADER_DESTINATION;
		if (is_address ? bits == 8 || bits == 16 : is_unsigned(class))
			layer->member[field] = (int)i;
		if (is_address && bits == 16)
			layer->address_words = true;
	}
}

static void compile_network(DtcCtfClass *class, const bt_field_class *payload)
{
	uint64_t count = MIN(bt_field_class_structure_get_member_count(payload), G_MAXINT);
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class *member_class;
		const char *name = get_member(payload, i, &member_class);
		if (!is_type(member_class, BT_FIELD_CLASS_TYPE_VARIANT) ||
		    strcmp(dtc_spelling_skip_underscores(name), dtc_spelling_network_header) != 0)
			continue;
		class->network = (int)i;
		class->options = compile_variant(member_class, &class->option_count);
		return;
	}
}

DtcCtfClass *dtc_ctf_class_new(const bt_event_class *bt_class, DtcNames *event_names, DtcNames *call_names)
{
	DtcCtfClass *class = g_new0(DtcCtfClass, 1);
	class->call_names = call_names;
	const char *name = bt_event_class_get_name(bt_class);
	if (!name)
		name = "(no name)";
	struct dtc_event_spelling spelling = dtc_spelling_find_event(name);
	class->kind = (uint16_t)spelling.kind;
	class->name = (uint16_t)dtc_names_add(event_names, name);
	class->call_by_number = spelling.call_by_number;
	class->is_compat = spelling.is_compat;
	class->network = -1;
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		class->constants[i] = DTC_ABSENT;
	if (spelling.kind == DTC_EVENT_SYSCALL_ENTRY || spelling.kind == DTC_EVENT_SYSCALL_EXIT)
		class->constants[DTC_CALL_NAME] = spelling.call ? dtc_names_add(call_names, spelling.call) : 0;
	if (spelling.kind == DTC_EVENT_VECTOR_ENTRY || spelling.kind == DTC_EVENT_VECTOR_EXIT)
		class->constants[DTC_VECTOR_TYPE] = spelling.vector;
	class->is_net = spelling.kind >= DTC_EVENT_NET_SEND && spelling.kind <= DTC_EVENT_INET_IN;
	class->thread = dtc_ctf_event_thread_find(bt_class);
	const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(bt_class);
	if (payload && spelling.kind != DTC_EVENT_OTHER) {
		compile_rules(class, spelling.fields, payload);
		if (class->is_net)
			compile_network(class, payload);
	}
	return class;
}

/* ---- one event ---- */

static bool set_address(uint8_t address[16], const bt_field *array, bool words)
{
	uint8_t bytes[16];
	uint64_t length = bt_field_array_get_length(array), used = 0;
	if (length > (words ? 8 : 16))
		return false;
	for (uint64_t i = 0; i < length; i++) {
		uint64_t value = bt_field_integer_unsigned_get_value(
			bt_field_array_borrow_element_field_by_index_const(array, i));
		if (words)
			bytes[used++] = (uint8_t)(value >> 8);
		bytes[used++] = (uint8_t)value;
	}
	return dtc_address_set(address, bytes, used);
}

/* The integers of a header layer. */
static void read_layer(const struct layer *layer, const bt_field *structure, struct dtc_header_values *values)
{
	values->layer = layer->layer;
	values->has = 0;
	for (guint i = 0; i < DTC_HEADER_FIELDS; i++) {
		if (layer->member[i] < 0 || i == DTC_HEADER_SOURCE || i == DTC_HEADER_DESTINATION)
			continue;
		values->has |= UINT32_C(1) << i;
		values->value[i] = bt_field_integer_unsigned_get_value(
			bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)layer->member[i]));
	}
}

static bool read_address(const struct layer *layer, const bt_field *structure, enum dtc_header_field field,
			 uint8_t address[16])
{
	int member = layer->member[field];
	return member >= 0 &&
	       set_address(address, bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)member),
			   layer->address_words);
}

static const bt_field *select_layer(const bt_field *variant, const struct layer *options, guint option_count,
				    const struct layer **ret_layer)
{
	uint64_t selected = bt_field_variant_get_selected_option_index(variant);
	if (selected >= option_count || options[selected].layer == DTC_LAYER_OTHER)
		return NULL;
	*ret_layer = &options[selected];
	return bt_field_variant_borrow_selected_option_field_const(variant);
}

static void read_headers(const DtcCtfClass *class, const bt_field *payload, struct dtc_event *event)
{
	const struct layer *ip, *transport;
	const bt_field *variant =
		bt_field_structure_borrow_member_field_by_index_const(payload, (uint64_t) class->network);
	const bt_field *structure = select_layer(variant, class->options, class->option_count, &ip);
	if (!structure || (ip->layer != DTC_LAYER_IPV4 && ip->layer != DTC_LAYER_IPV6) ||
	    !read_address(ip, structure, DTC_HEADER_SOURCE, event->headers.source) ||
	    !read_address(ip, structure, DTC_HEADER_DESTINATION, event->headers.destination))
		return;
	struct dtc_header_values ip_values, transport_values;
	read_layer(ip, structure, &ip_values);
	const bt_field *inner = NULL;
	if (ip->inner >= 0) {
		variant = bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)ip->inner);
		inner = select_layer(variant, ip->options, ip->option_count, &transport);
	}
	if (inner && transport->layer != DTC_LAYER_TCP && transport->layer != DTC_LAYER_UDP)
		inner = NULL;
	if (inner)
		read_layer(transport, inner, &transport_values);
	dtc_headers_set(event, &ip_values, inner ? &transport_values : NULL);
}

static void apply_rule(const struct rule *rule, const struct dtc_ctf_ready *ready, const bt_field *field,
		       struct dtc_event *event)
{
	switch (rule->operation) {
	case OP_UNSIGNED:
		event->v[rule->slot] = (int64_t)bt_field_integer_unsigned_get_value(field);
		break;
	case OP_SIGNED:
		event->v[rule->slot] = bt_field_integer_signed_get_value(field);
		break;
	case OP_ELEMENT_UNSIGNED:
	case OP_ELEMENT_SIGNED:
		if (bt_field_array_get_length(field) <= (uint64_t)rule->element)
			break;
		field = bt_field_array_borrow_element_field_by_index_const(field, (uint64_t)rule->element);
		event->v[rule->slot] = rule->operation == OP_ELEMENT_SIGNED
					       ? bt_field_integer_signed_get_value(field)
					       : (int64_t)bt_field_integer_unsigned_get_value(field);
		break;
	case OP_TEXT:
		/* of an empty one babeltrace2 up to 2.0.4 has the value of an earlier event (its review 4528) */
		event->text[rule->slot] = bt_field_string_get_length(field) ? bt_field_string_get_value(field) : "";
		break;
	case OP_ADDRESS_BYTES:
	case OP_ADDRESS_WORDS:
		if (set_address(event->address, field, rule->operation == OP_ADDRESS_WORDS))
			event->has_address = true; /* the array of the other family is empty */
		break;
	case OP_HEADER:
		dtc_headers_set_field(&event->headers, rule->slot, bt_field_integer_unsigned_get_value(field));
		break;
	case OP_READY:
		dtc_ctf_ready_read(ready, field, event);
		break;
	case OP_DATA:
		event->v[rule->slot] = dtc_ctf_ready_read_data(ready, field);
		break;
	default:
		break;
	}
}

static void read_payload(const DtcCtfClass *class, const bt_event *bt_event, struct dtc_event *event)
{
	const bt_field *payload = bt_event_borrow_payload_field_const(bt_event);
	for (guint i = 0; i < class->rule_count; i++)
		apply_rule(&class->rules[i], &class->ready,
			   bt_field_structure_borrow_member_field_by_index_const(payload, class->rules[i].member),
			   event);
	if (class->network >= 0)
		read_headers(class, payload, event);
}

void dtc_ctf_class_fill(const DtcCtfClass *class, const bt_event *bt_event, struct dtc_event *event)
{
	event->kind = class->kind;
	event->name = class->name;
	memcpy(event->v, class->constants, sizeof(event->v));
	event->text[0] = event->text[1] = NULL;
	event->has_address = false;
	event->ready_count = 0;
	dtc_ctf_event_thread_read(&class->thread, bt_event, event);
	if (class->is_net) {
		memset(&event->headers, 0, sizeof(event->headers));
		if (class->kind == DTC_EVENT_INET_OUT || class->kind == DTC_EVENT_INET_IN)
			event->headers.protocol = DTC_PROTOCOL_TCP;
	}
	if (class->rule_count > 0 || class->network >= 0)
		read_payload(class, bt_event, event);
	if (class->call_by_number && event->v[DTC_CALL_NUMBER] != DTC_ABSENT) { /* rare: a look-up is fine */
		char name[DTC_CALL_NAME_BYTES];
		dtc_spelling_name_call(event->v[DTC_CALL_NUMBER], class->is_compat, name);
		event->v[DTC_CALL_NAME] = dtc_names_add(class->call_names, name);
	}
}
