/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/graph.h"
#include "tests/reader/printers.h"

#include <stdio.h>

/* ---- fields ---- */

static void print_field(GString *to, const bt_field *field);

static void print_labels(GString *to, const bt_field *field, bool is_signed)
{
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t count = 0;
	if (is_signed)
		bt_field_enumeration_signed_get_mapping_labels(field, &labels, &count);
	else
		bt_field_enumeration_unsigned_get_mapping_labels(field, &labels, &count);
	for (uint64_t i = 0; i < count; i++) {
		g_string_append_c(to, i ? ',' : ':');
		print_text(to, labels[i], strlen(labels[i]));
	}
}

static void print_structure(GString *to, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	uint64_t count = bt_field_class_structure_get_member_count(class);
	g_string_append_c(to, '{');
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(class, i);
		g_string_append_printf(to, "%s%s=", i ? ", " : "", bt_field_class_structure_member_get_name(member));
		print_field(to, bt_field_structure_borrow_member_field_by_index_const(field, i));
	}
	g_string_append_c(to, '}');
}

static void print_array(GString *to, const bt_field *field)
{
	uint64_t length = bt_field_array_get_length(field);
	g_string_append_c(to, '[');
	for (uint64_t i = 0; i < length; i++) {
		g_string_append(to, i ? ", " : "");
		print_field(to, bt_field_array_borrow_element_field_by_index_const(field, i));
	}
	g_string_append_c(to, ']');
}

static void print_variant(GString *to, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	const bt_field_class_variant_option *option = bt_field_class_variant_borrow_option_by_index_const(
		class, bt_field_variant_get_selected_option_index(field));
	g_string_append_printf(to, "<%s>", bt_field_class_variant_option_get_name(option));
	print_field(to, bt_field_variant_borrow_selected_option_field_const(field));
}

static void print_option(GString *to, const bt_field *field)
{
	const bt_field *inner = bt_field_option_borrow_field_const(field);
	g_string_append(to, inner ? "<>" : "none");
	if (inner)
		print_field(to, inner);
}

static void print_integer(GString *to, const bt_field *field, bt_field_class_type type)
{
	bool is_signed = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
	uint64_t value = is_signed ? (uint64_t)bt_field_integer_signed_get_value(field)
				   : bt_field_integer_unsigned_get_value(field);
	print_number(to, value, is_signed);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ENUMERATION))
		print_labels(to, field, is_signed);
}

static void print_field(GString *to, const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER))
		print_integer(to, field, type);
	else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		g_string_append_printf(to, "%.17g", (double)bt_field_real_single_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		g_string_append_printf(to, "%.17g", bt_field_real_double_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_STRING)
		print_text(to, bt_field_string_get_value(field), bt_field_string_get_length(field));
	else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE)
		print_structure(to, field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		print_array(to, field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT))
		print_variant(to, field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION))
		print_option(to, field);
	else
		g_string_append(to, "?");
}

static void print_scope(GString *to, const char *name, const bt_field *field)
{
	if (!field)
		return;
	g_string_append_printf(to, " %s", name);
	print_field(to, field);
}

/* ---- messages ---- */

static void print_time(GString *to, const bt_clock_snapshot *snapshot)
{
	int64_t ns;
	if (snapshot &&
	    bt_clock_snapshot_get_ns_from_origin(snapshot, &ns) == BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		g_string_append_printf(to, " %" G_GINT64_FORMAT, ns);
	else
		g_string_append(to, " -");
}

static void print_event(GString *line, const char *label, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	bool has_clock = bt_message_event_borrow_stream_class_default_clock_class_const(message) != NULL;
	const char *name = bt_event_class_get_name(class);
	g_string_append_printf(line, "%s event", label);
	print_time(line, has_clock ? bt_message_event_borrow_default_clock_snapshot_const(message) : NULL);
	g_string_append_printf(line, " %s", name ? name : "(no name)");
	print_scope(line, "common", bt_event_borrow_common_context_field_const(event));
	print_scope(line, "context", bt_event_borrow_specific_context_field_const(event));
	print_scope(line, "fields", bt_event_borrow_payload_field_const(event));
	print_line(line);
}

static void print_begin(GString *line, const char *label, const bt_message *message)
{
	const bt_packet *packet = bt_message_packet_beginning_borrow_packet_const(message);
	const bt_stream_class *class = bt_stream_borrow_class_const(bt_packet_borrow_stream_const(packet));
	bool has_clock = bt_stream_class_packets_have_beginning_default_clock_snapshot(class);
	g_string_append_printf(line, "%s packet", label);
	print_time(line, has_clock ? bt_message_packet_beginning_borrow_default_clock_snapshot_const(message) : NULL);
	print_scope(line, "context", bt_packet_borrow_context_field_const(packet));
	print_line(line);
}

static void print_end(GString *line, const char *label, const bt_message *message)
{
	const bt_packet *packet = bt_message_packet_end_borrow_packet_const(message);
	const bt_stream_class *class = bt_stream_borrow_class_const(bt_packet_borrow_stream_const(packet));
	bool has_clock = bt_stream_class_packets_have_end_default_clock_snapshot(class);
	g_string_append_printf(line, "%s end", label);
	print_time(line, has_clock ? bt_message_packet_end_borrow_default_clock_snapshot_const(message) : NULL);
	print_line(line);
}

static void print_count(GString *line, bool has_count, uint64_t count)
{
	if (has_count)
		g_string_append_printf(line, " %" G_GUINT64_FORMAT, count);
	else
		g_string_append(line, " ?");
	print_line(line);
}

static void print_discarded_events(GString *line, const char *label, const bt_message *message)
{
	uint64_t count = 0;
	const bt_stream_class *class =
		bt_stream_borrow_class_const(bt_message_discarded_events_borrow_stream_const(message));
	bool has_clock = bt_stream_class_discarded_events_have_default_clock_snapshots(class);
	bool has_count = bt_message_discarded_events_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
	g_string_append_printf(line, "%s lost-events", label);
	print_time(line, has_clock ? bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message)
				   : NULL);
	print_time(line,
		   has_clock ? bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message) : NULL);
	print_count(line, has_count, count);
}

static void print_discarded_packets(GString *line, const char *label, const bt_message *message)
{
	uint64_t count = 0;
	const bt_stream_class *class =
		bt_stream_borrow_class_const(bt_message_discarded_packets_borrow_stream_const(message));
	bool has_clock = bt_stream_class_discarded_packets_have_default_clock_snapshots(class);
	bool has_count = bt_message_discarded_packets_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
	g_string_append_printf(line, "%s lost-packets", label);
	print_time(line, has_clock ? bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message)
				   : NULL);
	print_time(line,
		   has_clock ? bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message) : NULL);
	print_count(line, has_count, count);
}

static void print_message(GString *line, const char *label, const bt_message *message)
{
	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		print_event(line, label, message);
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		print_begin(line, label, message);
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		print_end(line, label, message);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		print_discarded_events(line, label, message);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		print_discarded_packets(line, label, message);
		break;
	default:
		break;
	}
}

/* ---- streams ---- */

struct port {
	struct dtc_ctf_port *port;
	char *label;
};

/* The first message is the stream's begin. */
static char *get_label(DtcCtfGraph *graph, struct dtc_ctf_port *port)
{
	if (!dtc_ctf_graph_refill(graph, port) ||
	    bt_message_get_type(port->messages[port->at]) != BT_MESSAGE_TYPE_STREAM_BEGINNING)
		return g_strdup("?");
	const char *name =
		bt_stream_get_name(bt_message_stream_beginning_borrow_stream_const(port->messages[port->at]));
	return g_path_get_basename(name ? name : "?");
}

static int compare_ports(const void *a, const void *b)
{
	return strcmp(((const struct port *)a)->label, ((const struct port *)b)->label);
}

static int print_port(DtcCtfGraph *graph, const struct port *port)
{
	g_autoptr(GString) line = g_string_new(NULL);
	while (dtc_ctf_graph_refill(graph, port->port)) {
		const bt_message *message = port->port->messages[port->port->at++];
		print_message(line, port->label, message);
		bt_message_put_ref(message);
	}
	if (!port->port->error)
		return 0;
	g_string_append_printf(line, "%s damage", port->label);
	print_line(line);
	fprintf(stderr, "%s: %s\n", port->label, port->port->error);
	return 1;
}

int print_reference(const char *path)
{
	g_autofree char *reason = NULL;
	DtcCtfGraph *graph = dtc_ctf_graph_open(path, &reason);
	int result = 0;
	if (!graph) {
		fprintf(stderr, "%s\n", reason);
		return 1;
	}
	guint count = dtc_ctf_graph_get_port_count(graph);
	g_autofree struct port *ports = g_new0(struct port, count + 1);
	for (guint i = 0; i < count; i++) {
		ports[i].port = dtc_ctf_graph_get_port(graph, i);
		ports[i].label = get_label(graph, ports[i].port);
	}
	qsort(ports, count, sizeof(*ports), compare_ports);
	for (guint i = 0; i < count; i++) {
		result |= print_port(graph, &ports[i]);
		g_free(ports[i].label);
	}
	dtc_ctf_graph_free(graph);
	return result;
}
