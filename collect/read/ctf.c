/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference back end: babeltrace2's source.ctf.fs and a private sink in one graph, with one message iterator per
 * stream and no muxer (which gives up on real traces whose packets overlap by a microsecond). bt_graph_run_once calls
 * our consume method, which pulls the next batch of the one stream that ran empty. Batches stay alive until all their
 * events were given out, because events borrow their strings from them.
 *
 * An event class is compiled once into a list of (member, operation, slot); per event nothing is looked up by name and
 * nothing is allocated. babeltrace2's types do not leave this file.
 */
#include "collect/read/ctf.h"
#include "collect/read/fields.h"
#include "collect/read/spellings.h"

#include <babeltrace2/babeltrace.h>
#include <string.h>

/* babeltrace2 keeps lists of plugins and classes without a lock: one graph at a time is set up or torn down. */
static GMutex setup_mutex;

/* More than any kernel is built for (CONFIG_NR_CPUS is 8192 at most): later stages size arrays by it. */
#define CPU_LIMIT 16384

/* ---- event classes ---- */

enum operation {
	OP_UNSIGNED,
	OP_SIGNED,
	OP_ELEMENT_UNSIGNED,
	OP_ELEMENT_SIGNED,
	OP_TEXT,
	OP_ADDRESS_BYTES, /* array of 8-bit integers */
	OP_ADDRESS_WORDS, /* array of 16-bit integers */
	OP_HEADER,
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

struct event_class {
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
};

static void layers_free(struct layer *layers, guint count)
{
	for (guint i = 0; i < count; i++)
		layers_free(layers[i].options, layers[i].option_count);
	g_free(layers);
}

static void event_class_free(void *data)
{
	struct event_class *class = data;
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

static const char *get_member(const bt_field_class *structure, uint64_t index, const bt_field_class **ret_class)
{
	const bt_field_class_structure_member *member =
		bt_field_class_structure_borrow_member_by_index_const(structure, index);
	*ret_class = bt_field_class_structure_member_borrow_field_class_const(member);
	return bt_field_class_structure_member_get_name(member);
}

/* Members that hold text, address and numbers are told apart, so that slot 0 of each does not exclude the others. */
static bool is_slot_taken(const struct event_class *class, const struct rule *rule)
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

static void compile_rules(struct event_class *class, const struct dtc_field_spelling *spelling,
			  const bt_field_class *payload)
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
			if (choose_operation(spelling, member_class, &rule.operation) && !is_slot_taken(class, &rule))
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

static void compile_network(struct event_class *class, const bt_field_class *payload)
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

static struct event_class *event_class_new(const bt_event_class *bt_class, DtcNames *event_names, DtcNames *call_names)
{
	struct event_class *class = g_new0(struct event_class, 1);
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
	for (guint i = 0; i < DTC_HEADER_FIELDS; i++) {
		bool is_address = i == DTC_HEADER_SOURCE || i == DTC_HEADER_DESTINATION;
		values->has[i] = layer->member[i] >= 0 && !is_address;
		if (values->has[i])
			values->value[i] = bt_field_integer_unsigned_get_value(
				bt_field_structure_borrow_member_field_by_index_const(structure,
										      (uint64_t)layer->member[i]));
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

static void read_headers(const struct event_class *class, const bt_field *payload, struct dtc_event *event)
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

static void apply_rule(const struct rule *rule, const bt_field *field, struct dtc_event *event)
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
		event->text[rule->slot] = bt_field_string_get_value(field);
		break;
	case OP_ADDRESS_BYTES:
	case OP_ADDRESS_WORDS:
		if (set_address(event->address, field, rule->operation == OP_ADDRESS_WORDS))
			event->has_address = true; /* the array of the other family is empty */
		break;
	case OP_HEADER:
		dtc_headers_set_field(&event->headers, rule->slot, bt_field_integer_unsigned_get_value(field));
		break;
	default:
		break;
	}
}

static void fill_event(const struct event_class *class, const bt_event *bt_event, struct dtc_event *event)
{
	event->kind = class->kind;
	event->name = class->name;
	memcpy(event->v, class->constants, sizeof(event->v));
	event->text[0] = event->text[1] = NULL;
	event->has_address = false;
	if (class->is_net) {
		memset(&event->headers, 0, sizeof(event->headers));
		if (class->kind == DTC_EVENT_INET_OUT || class->kind == DTC_EVENT_INET_IN)
			event->headers.protocol = 6;
	}
	if (class->rule_count == 0 && class->network < 0)
		return;
	const bt_field *payload = bt_event_borrow_payload_field_const(bt_event);
	for (guint i = 0; i < class->rule_count; i++)
		apply_rule(&class->rules[i],
			   bt_field_structure_borrow_member_field_by_index_const(payload, class->rules[i].member),
			   event);
	if (class->network >= 0)
		read_headers(class, payload, event);
}

/* ---- streams ---- */

struct cursor {
	struct dtc_stream stream;
	bt_message_iterator *iterator;	 /* owned */
	bt_message_array_const messages; /* the batch: owned references from at on */
	uint64_t count;
	uint64_t at;
	bool ended;	       /* the iterator has no more, or failed */
	bool is_rejected;      /* what is left of the batch is dropped */
	bool has_item;	       /* the stream's current item is valid; an event is messages[at] */
	int cpu_member;	       /* in the packet context, or -1 */
	bool gap_times_events; /* discarded events messages carry times */
	bool gap_times_packets;
};

struct DtcCtf {
	const bt_plugin *plugin;
	bt_graph *graph;
	guint count;
	struct cursor *cursors;	 /* sorted once their first items are known */
	struct cursor *wanted;	 /* whose next batch the consume method shall pull */
	GHashTable *classes;	 /* bt_event_class -> owned struct event_class */
	DtcNames *event_names;	 /* borrowed */
	DtcNames *call_names;	 /* borrowed */
	GHashTable *environment; /* owned key -> owned value */
	bool has_clock;
	guint64 packet_count;
	bool declares[DTC_EVENT_KINDS];	   /* by the metadata, whether or not one happened */
	const bt_stream_class *last_class; /* whose declarations are known; a trace has few, and a stream per CPU */
};

/* The first cause in the calling thread's babeltrace2 error (file and reason, without addresses), or a fallback. */
static char *take_error(const char *fallback)
{
	const bt_error *error = bt_current_thread_take_error();
	if (!error)
		return g_strdup(fallback);
	const char *message = "no reason given";
	if (bt_error_get_cause_count(error) > 0)
		message = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
	char *text = g_strconcat("babeltrace2: ", message, NULL);
	bt_error_release(error);
	/* what follows the next colon are details with addresses of the process */
	char *colon = strstr(text + strlen("babeltrace2: "), ": ");
	if (colon)
		*colon = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void end_cursor(struct cursor *cursor, char *error)
{
	cursor->ended = true;
	dtc_stream_take_error(&cursor->stream, error);
}

/* Ends the stream here: the rest of the batch is not trusted either. */
static void reject(struct cursor *cursor, char *error)
{
	end_cursor(cursor, error);
	cursor->is_rejected = true;
}

static void drop_batch(struct cursor *cursor)
{
	while (cursor->at < cursor->count)
		bt_message_put_ref(cursor->messages[cursor->at++]);
}

/* The consume method: pulls one batch for the wanted stream. Never ends the graph; a failed stream ends alone. */
static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
	DtcCtf *ctf = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	struct cursor *cursor = ctf->wanted;
	if (!cursor)
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
	cursor->at = cursor->count = 0;
	bt_message_array_const messages = NULL;
	uint64_t count = 0;
	const char *fallback = NULL;
	switch (bt_message_iterator_next(cursor->iterator, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		cursor->messages = messages;
		cursor->count = count;
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		cursor->ended = true;
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN: /* it is asked again */
		break;
	default:
		cursor->ended = true;
		fallback = "its events cannot be decoded";
		break;
	}
	/* source.ctf.fs may give out what it has and leave an error behind: the next call would abort on it */
	char *error = take_error(fallback);
	if (error)
		end_cursor(cursor, error);
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

#define REFILL_TRIES 1000

/* True if the cursor is on a message. */
static bool refill(DtcCtf *ctf, struct cursor *cursor)
{
	for (guint tries = 0; !cursor->ended && cursor->at == cursor->count; tries++) {
		ctf->wanted = cursor;
		if (tries == REFILL_TRIES || bt_graph_run_once(ctf->graph) != BT_GRAPH_RUN_ONCE_STATUS_OK)
			end_cursor(cursor, take_error("babeltrace2 stopped"));
	}
	return cursor->at < cursor->count;
}

/*
 * Not bt_clock_snapshot_get_ns_from_origin: snapshots are used again for other messages, and in babeltrace2 2.0.4 one
 * that overflowed once says so for ever.
 */
static bool get_ns(const bt_clock_snapshot *snapshot, int64_t *ret_ns)
{
	if (bt_clock_class_cycles_to_ns_from_origin(bt_clock_snapshot_borrow_clock_class_const(snapshot),
						    bt_clock_snapshot_get_value(snapshot),
						    ret_ns) == BT_CLOCK_CLASS_CYCLES_TO_NS_FROM_ORIGIN_STATUS_OK)
		return true;
	bt_current_thread_clear_error();
	return false;
}

static int find_member(const bt_field_class *structure, const char *wanted)
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

static void read_environment(DtcCtf *ctf, const bt_trace *trace)
{
	const char *name;
	const bt_value *value;
	for (uint64_t i = 0; i < bt_trace_get_environment_entry_count(trace); i++) {
		bt_trace_borrow_environment_entry_by_index_const(trace, i, &name, &value);
		char *text = bt_value_is_string(value)
				     ? g_strdup(bt_value_string_get(value))
				     : g_strdup_printf("%" G_GINT64_FORMAT, bt_value_integer_signed_get(value));
		g_hash_table_replace(ctf->environment, g_strdup(name), text);
	}
}

static void begin_stream(DtcCtf *ctf, struct cursor *cursor, const bt_stream *stream)
{
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	const char *name = bt_stream_get_name(stream);
	g_free(cursor->stream.name);
	cursor->stream.name =
		name ? g_path_get_basename(name) : g_strdup_printf("%" G_GUINT64_FORMAT, bt_stream_get_id(stream));
	const bt_field_class *context = bt_stream_class_borrow_packet_context_field_class_const(class);
	cursor->cpu_member = find_member(context, "cpu_id");
	if (!bt_stream_class_borrow_default_clock_class_const(class)) {
		ctf->has_clock = false;
		reject(cursor, g_strdup("it has no clock"));
	}
	cursor->gap_times_events = bt_stream_class_discarded_events_have_default_clock_snapshots(class);
	cursor->gap_times_packets = bt_stream_class_discarded_packets_have_default_clock_snapshots(class);
	uint64_t class_count = class == ctf->last_class ? 0 : bt_stream_class_get_event_class_count(class);
	for (uint64_t i = 0; i < class_count; i++) {
		name = bt_event_class_get_name(bt_stream_class_borrow_event_class_by_index_const(class, i));
		ctf->declares[name ? dtc_spelling_find_event(name).kind : DTC_EVENT_OTHER] = true;
	}
	ctf->last_class = class;
	if (g_hash_table_size(ctf->environment) == 0)
		read_environment(ctf, bt_stream_borrow_trace_const(stream));
}

static bool get_packet_number(const bt_packet *packet, int member, uint64_t *ret_value)
{
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	if (!context || member < 0)
		return false;
	*ret_value = bt_field_integer_unsigned_get_value(
		bt_field_structure_borrow_member_field_by_index_const(context, (uint64_t)member));
	return true;
}

static void begin_packet(struct cursor *cursor, const bt_packet *packet)
{
	uint64_t value;
	if (!get_packet_number(packet, cursor->cpu_member, &value))
		value = 0; /* a tracer without per-CPU streams */
	if (value >= CPU_LIMIT) {
		reject(cursor, g_strdup_printf("a packet claims CPU %" G_GUINT64_FORMAT, value));
		return;
	}
	cursor->stream.cpu = (uint32_t)value;
}

static void set_gap_times(struct dtc_gap *gap, const bt_clock_snapshot *begin, const bt_clock_snapshot *end)
{
	get_ns(begin, &gap->begin_ns);
	get_ns(end, &gap->end_ns);
}

static struct dtc_gap read_discarded_events(const struct cursor *cursor, const bt_message *message)
{
	struct dtc_gap gap = { cursor->stream.last_ns, cursor->stream.last_ns, DTC_ABSENT };
	uint64_t count;
	/* Of a stream's first packet babeltrace2 gives none: the tracer counts from the begin of its session. */
	if (bt_message_discarded_events_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE)
		gap.count = (int64_t)MIN(count, (uint64_t)INT64_MAX);
	if (cursor->gap_times_events)
		set_gap_times(&gap, bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message),
			      bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message));
	return gap;
}

static struct dtc_gap read_discarded_packets(const struct cursor *cursor, const bt_message *message)
{
	struct dtc_gap gap = { cursor->stream.last_ns, cursor->stream.last_ns, DTC_ABSENT };
	if (cursor->gap_times_packets)
		set_gap_times(&gap, bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message),
			      bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message));
	return gap;
}

static bool take_event(struct cursor *cursor, const bt_message *message)
{
	int64_t time_ns;
	if (!get_ns(bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns)) {
		reject(cursor, g_strdup("an event's time is beyond what 64 bits hold"));
		return false;
	}
	dtc_stream_take_event(&cursor->stream, time_ns);
	return true;
}

/* Handles the message the cursor is on; true if it makes an item. */
static bool take_message(DtcCtf *ctf, struct cursor *cursor, const bt_message *message)
{
	struct dtc_stream *stream = &cursor->stream;
	bool is_item = false;
	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		begin_stream(ctf, cursor, bt_message_stream_beginning_borrow_stream_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		begin_packet(cursor, bt_message_packet_beginning_borrow_packet_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		ctf->packet_count++;
		is_item = dtc_stream_flush_gap(stream);
		break;
	case BT_MESSAGE_TYPE_STREAM_END:
		is_item = dtc_stream_flush_gap(stream);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		is_item = dtc_stream_flush_gap(stream);
		stream->pending_gap = read_discarded_events(cursor, message);
		stream->has_pending_gap = true;
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		dtc_stream_take_gap(stream, read_discarded_packets(cursor, message));
		is_item = true;
		break;
	case BT_MESSAGE_TYPE_EVENT:
		is_item = take_event(cursor, message);
		break;
	default:
		break;
	}
	return is_item;
}

static void advance(DtcCtf *ctf, struct cursor *cursor)
{
	/* The event that was current lent its strings until now. */
	if (cursor->has_item && !cursor->stream.is_gap)
		bt_message_put_ref(cursor->messages[cursor->at++]);
	while (refill(ctf, cursor)) {
		const bt_message *message = cursor->messages[cursor->at];
		cursor->has_item = take_message(ctf, cursor, message);
		if (cursor->has_item && !cursor->stream.is_gap)
			return;
		cursor->at++;
		bt_message_put_ref(message);
		if (cursor->has_item)
			return;
		if (cursor->is_rejected)
			drop_batch(cursor);
	}
	cursor->has_item = dtc_stream_end(&cursor->stream);
}

/* ---- graph ---- */

static bt_component_class_initialize_method_status initialize(bt_self_component_sink *self,
							      bt_self_component_sink_configuration *configuration,
							      const bt_value *params, void *data)
{
	(void)configuration;
	(void)params;
	DtcCtf *ctf = data;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), ctf);
	for (guint i = 0; i < ctf->count; i++) {
		g_autofree char *name = g_strdup_printf("in%u", i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
		    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status configured(bt_self_component_sink *self)
{
	DtcCtf *ctf = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	for (guint i = 0; i < ctf->count; i++)
		if (bt_message_iterator_create_from_sink_component(
			    self, bt_self_component_sink_borrow_input_port_by_index(self, i),
			    &ctf->cursors[i].iterator) != BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

/* Adds a source.ctf.fs for the directory (borrowed): babeltrace2 then reads the metadata and indexes the streams. */
static const bt_component_source *add_source(DtcCtf *ctf, const char *path)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf->plugin, "fs");
	bt_value *params = bt_value_map_create();
	bt_value *inputs = NULL;
	const bt_component_source *source = NULL;
	bool ok = class && params &&
		  bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
			  BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
		  bt_value_array_append_string_element(inputs, path) == BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
		  bt_graph_add_source_component(ctf->graph, class, "trace", params, BT_LOGGING_LEVEL_NONE, &source) ==
			  BT_GRAPH_ADD_COMPONENT_STATUS_OK;
	bt_value_put_ref(params);
	return ok ? source : NULL;
}

static bool add_sink(DtcCtf *ctf, const bt_component_source *source)
{
	bt_component_class_sink *class = bt_component_class_sink_create("dtrace-chain", consume);
	const bt_component_sink *sink = NULL;
	bool ok = class &&
		  bt_component_class_sink_set_initialize_method(class, initialize) ==
			  BT_COMPONENT_CLASS_SET_METHOD_STATUS_OK &&
		  bt_component_class_sink_set_graph_is_configured_method(class, configured) ==
			  BT_COMPONENT_CLASS_SET_METHOD_STATUS_OK &&
		  bt_graph_add_sink_component_with_initialize_method_data(ctf->graph, class, "sink", NULL, ctf,
									  BT_LOGGING_LEVEL_NONE,
									  &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
	for (guint i = 0; ok && i < ctf->count; i++)
		ok = bt_graph_connect_ports(ctf->graph,
					    bt_component_source_borrow_output_port_by_index_const(source, i),
					    bt_component_sink_borrow_input_port_by_index_const(sink, i),
					    NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
	bt_component_class_sink_put_ref(class);
	return ok;
}

static bool build_graph(DtcCtf *ctf, const char *path)
{
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf->plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return false;
	ctf->graph = bt_graph_create(0);
	const bt_component_source *source = ctf->graph ? add_source(ctf, path) : NULL;
	if (!source)
		return false;
	uint64_t count = bt_component_source_get_output_port_count(source);
	ctf->cursors = g_new0(struct cursor, count + 1);
	ctf->count = (guint)count;
	for (guint i = 0; i < ctf->count; i++)
		ctf->cursors[i].stream.last_ns = INT64_MIN;
	/* The first run configures the graph, which makes the iterators. A sink without inputs would not be run. */
	return count == 0 || (add_sink(ctf, source) && bt_graph_run_once(ctf->graph) == BT_GRAPH_RUN_ONCE_STATUS_OK);
}

static int compare_cursors(const void *a, const void *b)
{
	const struct cursor *x = a, *y = b;
	if (x->stream.cpu != y->stream.cpu)
		return x->stream.cpu < y->stream.cpu ? -1 : 1;
	return g_strcmp0(x->stream.name, y->stream.name);
}

DtcCtf *dtc_ctf_open(const char *path, DtcNames *event_names, DtcNames *call_names, char **ret_reason)
{
	DtcCtf *ctf = g_new0(DtcCtf, 1);
	ctf->event_names = event_names;
	ctf->call_names = call_names;
	ctf->classes = g_hash_table_new_full(NULL, NULL, NULL, event_class_free);
	ctf->environment = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	ctf->has_clock = true;
	g_mutex_lock(&setup_mutex);
	bool ok = build_graph(ctf, path);
	g_mutex_unlock(&setup_mutex);
	if (!ok) {
		*ret_reason = take_error(ctf->plugin ? "babeltrace2 gives no reason"
						     : "babeltrace2's plugin 'ctf' is not installed");
		dtc_ctf_free(ctf);
		return NULL;
	}
	for (guint i = 0; i < ctf->count; i++)
		advance(ctf, &ctf->cursors[i]);
	if (ctf->count > 1)
		qsort(ctf->cursors, ctf->count, sizeof(*ctf->cursors), compare_cursors);
	return ctf;
}

void dtc_ctf_free(DtcCtf *ctf)
{
	if (!ctf)
		return;
	g_mutex_lock(&setup_mutex);
	for (guint i = 0; i < ctf->count; i++) {
		drop_batch(&ctf->cursors[i]);
		bt_message_iterator_put_ref(ctf->cursors[i].iterator);
		dtc_stream_clear(&ctf->cursors[i].stream);
	}
	bt_graph_put_ref(ctf->graph);
	bt_plugin_put_ref(ctf->plugin);
	g_mutex_unlock(&setup_mutex);
	g_free(ctf->cursors);
	g_hash_table_unref(ctf->classes);
	g_hash_table_unref(ctf->environment);
	g_free(ctf);
}

guint dtc_ctf_get_stream_count(const DtcCtf *ctf)
{
	return ctf->count;
}

struct dtc_stream *dtc_ctf_get_stream(DtcCtf *ctf, guint index)
{
	return &ctf->cursors[index].stream;
}

bool dtc_ctf_has_item(const DtcCtf *ctf, guint index)
{
	return ctf->cursors[index].has_item;
}

guint64 dtc_ctf_get_packet_count(const DtcCtf *ctf)
{
	return ctf->packet_count;
}

void dtc_ctf_advance(DtcCtf *ctf, guint index)
{
	advance(ctf, &ctf->cursors[index]);
}

void dtc_ctf_fill(DtcCtf *ctf, guint index, struct dtc_event *event)
{
	const struct cursor *cursor = &ctf->cursors[index];
	const bt_event *bt_event = bt_message_event_borrow_event_const(cursor->messages[cursor->at]);
	const bt_event_class *bt_class = bt_event_borrow_class_const(bt_event);
	struct event_class *class = g_hash_table_lookup(ctf->classes, bt_class);
	if (G_UNLIKELY(!class)) {
		class = event_class_new(bt_class, ctf->event_names, ctf->call_names);
		g_hash_table_insert(ctf->classes, (void *)bt_class, class);
	}
	fill_event(class, bt_event, event);
	if (class->call_by_number && event->v[DTC_CALL_NUMBER] != DTC_ABSENT) { /* rare: a look-up is fine */
		char name[DTC_CALL_NAME_BYTES];
		dtc_spelling_name_call(event->v[DTC_CALL_NUMBER], class->is_compat, name);
		event->v[DTC_CALL_NAME] = dtc_names_add(ctf->call_names, name);
	}
}

const char *dtc_ctf_get_environment(const DtcCtf *ctf, const char *key)
{
	return g_hash_table_lookup(ctf->environment, key);
}

bool dtc_ctf_has_clock(const DtcCtf *ctf)
{
	return ctf->has_clock;
}

bool dtc_ctf_declares(const DtcCtf *ctf, enum dtc_event_kind kind)
{
	return ctf->declares[kind];
}
