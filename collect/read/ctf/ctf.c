/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cursor per stream goes over its messages and makes events and gaps of them. Streams are in the order of their
 * CPUs, then of their files' names.
 */
#include "collect/read/ctf/ctf.h"

#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/event_class.h"
#include "collect/read/ctf/extent.h"
#include "collect/read/ctf/graph.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/ctf/name_check.h"
#include "collect/read/ctf/packet_table.h"
#include "collect/read/ctf/salvage.h"
#include "collect/read/spellings.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct cursor {
	struct dtc_stream stream;
	struct dtc_ctf_port *port; /* borrowed from the graph; an event that is the current item is its messages[at], */
	const bt_message *held;	   /* or this one (owned), when the next batch was needed to judge it */
	guint port_index;
	guint64 judged_packet; /* the last of which its_end was looked at, from 1 */
	bool is_late;	       /* ... and whether it has events after its end */
	bool is_rejected;      /* what is left of the batch is dropped */
	int cpu_member;	       /* in the packet context, or -1 */
	bool gap_times_events; /* discarded events messages carry times */
	bool gap_times_packets;
	bool has_packet_times; /* packet messages carry the time of their begin */
};

struct ctf {
	struct dtc_backend backend;
	char *directory; /* that is read: the trace's, or the salvage's */
	DtcInventory *inventory;
	DtcPacketTable *table;
	DtcSalvage *salvage; /* of a damaged trace; NULL: the trace is read where it is */
	DtcCtfGraph *graph;
	guint count;
	struct cursor *cursors;	 /* sorted once their first items are known */
	GHashTable *classes;	 /* bt_event_class -> owned DtcCtfClass */
	DtcNames *event_names;	 /* borrowed */
	DtcNames *call_names;	 /* borrowed */
	GHashTable *declared;	 /* owned names of events */
	GHashTable *environment; /* owned key -> owned value */
	bool has_clock;
	struct dtc_extent extent;
	guint64 packet_count;		   /* whose events were all given out */
	const bt_stream_class *last_class; /* whose declarations are known; a trace has few, and a stream per CPU */
	int64_t wrap_ns;		   /* as in struct dtc_stream */
	struct dtc_event event;		   /* the last that was asked for */
};

/* ---- messages ---- */

/* Ends the stream here: the rest of the batch is not trusted either. */
static void reject(struct cursor *cursor, char *error)
{
	cursor->is_rejected = true;
	dtc_stream_take_error(&cursor->stream, error);
}

/*
 * Not bt_clock_snapshot_get_ns_from_origin: snapshots are used again for other messages, and in babeltrace2 2.0.4 one
 * that overflowed once says so for ever.
 */
static bool convert_cycles(const bt_clock_class *clock, uint64_t cycles, int64_t *ret_ns)
{
	if (bt_clock_class_cycles_to_ns_from_origin(clock, cycles, ret_ns) ==
	    BT_CLOCK_CLASS_CYCLES_TO_NS_FROM_ORIGIN_STATUS_OK)
		return true;
	bt_current_thread_clear_error();
	return false;
}

static bool get_ns(const bt_clock_snapshot *snapshot, int64_t *ret_ns)
{
	return convert_cycles(bt_clock_snapshot_borrow_clock_class_const(snapshot),
			      bt_clock_snapshot_get_value(snapshot), ret_ns);
}

static void read_environment(struct ctf *ctf, const bt_trace *trace)
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

static void begin_stream(struct ctf *ctf, struct cursor *cursor, const bt_stream *stream)
{
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	const char *name = bt_stream_get_name(stream);
	g_free(cursor->stream.name);
	cursor->stream.name =
		name ? g_path_get_basename(name) : g_strdup_printf("%" G_GUINT64_FORMAT, bt_stream_get_id(stream));
	const bt_field_class *context = bt_stream_class_borrow_packet_context_field_class_const(class);
	cursor->cpu_member = dtc_ctf_find_unsigned(context, "cpu_id");
	cursor->stream.wrap_ns = ctf->wrap_ns;
	if (!bt_stream_class_borrow_default_clock_class_const(class)) {
		ctf->has_clock = false;
		reject(cursor, g_strdup("it has no clock"));
	}
	const struct dtc_packet_file *file = dtc_packet_table_find_file(ctf->table, cursor->stream.name);
	cursor->stream.has_no_end = file && file->has_no_end;
	cursor->has_packet_times = bt_stream_class_packets_have_beginning_default_clock_snapshot(class);
	cursor->gap_times_events = bt_stream_class_discarded_events_have_default_clock_snapshots(class);
	cursor->gap_times_packets = bt_stream_class_discarded_packets_have_default_clock_snapshots(class);
	uint64_t class_count = class == ctf->last_class ? 0 : bt_stream_class_get_event_class_count(class);
	for (uint64_t i = 0; i < class_count; i++) {
		name = bt_event_class_get_name(bt_stream_class_borrow_event_class_by_index_const(class, i));
		if (name)
			g_hash_table_add(ctf->declared, g_strdup(name));
		ctf->backend.declares[name ? dtc_spelling_find_event(name).kind : DTC_EVENT_OTHER] = true;
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

/* What the table of packets has of the one that begins at the snapshot. */
static void describe_packet(const struct ctf *ctf, const struct cursor *cursor, const bt_clock_snapshot *begin,
			    struct dtc_packet_claim *claim)
{
	uint64_t ticks = bt_clock_snapshot_get_value(begin);
	const struct dtc_ctf_packet *packet = dtc_packet_table_find(ctf->table, cursor->stream.name, ticks);
	if (!get_ns(begin, &claim->begin_ns))
		claim->begin_ns = DTC_ABSENT;
	if (!packet)
		return;
	claim->at = (int64_t)packet->offset;
	/* a tracer that crashed leaves 0 */
	if (packet->end_ticks < ticks ||
	    !convert_cycles(bt_clock_snapshot_borrow_clock_class_const(begin), packet->end_ticks, &claim->limit_ns))
		claim->limit_ns = INT64_MAX;
}

static void begin_packet(const struct ctf *ctf, struct cursor *cursor, const bt_message *message)
{
	const bt_packet *packet = bt_message_packet_beginning_borrow_packet_const(message);
	uint64_t cpu;
	if (!get_packet_number(packet, cursor->cpu_member, &cpu))
		cpu = 0; /* a tracer without per-CPU streams */
	if (cpu >= DTC_CPU_LIMIT) {
		reject(cursor, g_strdup_printf("a packet claims CPU %" G_GUINT64_FORMAT, cpu));
		return;
	}
	struct dtc_packet_claim claim = { (uint32_t)cpu, DTC_ABSENT, INT64_MAX, -1 };
	if (cursor->has_packet_times)
		describe_packet(ctf, cursor, bt_message_packet_beginning_borrow_default_clock_snapshot_const(message),
				&claim);
	dtc_stream_begin_packet(&cursor->stream, &claim);
}

static void set_gap_times(struct dtc_gap *gap, const bt_clock_snapshot *begin, const bt_clock_snapshot *end)
{
	get_ns(begin, &gap->begin_ns);
	get_ns(end, &gap->end_ns);
}

static struct dtc_gap read_discarded_events(const struct cursor *cursor, const bt_message *message)
{
	struct dtc_gap gap = { cursor->stream.last_ns, cursor->stream.last_ns, DTC_ABSENT, 0, false };
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
	struct dtc_gap gap = { cursor->stream.last_ns, cursor->stream.last_ns, DTC_ABSENT, 0, false };
	uint64_t count;
	if (bt_message_discarded_packets_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE)
		gap.packets = (int64_t)MIN(count, (uint64_t)INT64_MAX);
	if (cursor->gap_times_packets)
		set_gap_times(&gap, bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message),
			      bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message));
	return gap;
}

/* True if the cursor is on a message. */
static bool refill(struct ctf *ctf, struct cursor *cursor)
{
	bool has_message = dtc_ctf_graph_refill(ctf->graph, cursor->port);
	if (cursor->port->error)
		dtc_stream_take_error(&cursor->stream, g_steal_pointer(&cursor->port->error));
	return has_message;
}

/* The time of the event after the current one in its packet, DTC_ABSENT if there is none. */
static int64_t look_ahead(struct ctf *ctf, struct cursor *cursor)
{
	struct dtc_ctf_port *port = cursor->port;
	uint64_t next = port->at + 1;
	int64_t time_ns;
	if (next == port->count) {
		cursor->held = port->messages[port->at++];
		if (!refill(ctf, cursor))
			return DTC_ABSENT;
		next = port->at;
	}
	const bt_message *message = port->messages[next];
	if (bt_message_get_type(message) != BT_MESSAGE_TYPE_EVENT ||
	    !get_ns(bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns))
		return DTC_ABSENT;
	return time_ns;
}

/*
 * Reads the stream once more, from its begin, up to the end of its current packet: does that have events after its end,
 * or times that fall, as they do at the next event that has its whole time?
 */
static bool look_for_late_events(const struct ctf *ctf, const struct cursor *cursor)
{
	g_autofree char *reason = NULL;
	DtcCtfGraph *graph = dtc_ctf_graph_open(ctf->directory, &reason);
	if (!graph)
		return false;
	struct dtc_ctf_port *port = dtc_ctf_graph_get_port(graph, cursor->port_index);
	const struct dtc_stream *stream = &cursor->stream;
	guint64 packet = 0;
	int64_t last_ns = INT64_MIN, time_ns;
	bool is_late = false;
	while (!is_late && packet <= stream->packet_count &&
	       (port->at < port->count || dtc_ctf_graph_refill(graph, port))) {
		const bt_message *message = port->messages[port->at++];
		bt_message_type type = bt_message_get_type(message);
		packet += type == BT_MESSAGE_TYPE_PACKET_BEGINNING;
		if (type == BT_MESSAGE_TYPE_EVENT && packet == stream->packet_count &&
		    get_ns(bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns)) {
			is_late = time_ns > stream->limit_ns || time_ns < last_ns;
			last_ns = time_ns;
		}
		bt_message_put_ref(message);
	}
	dtc_ctf_graph_free(graph);
	return is_late;
}

/* Of a packet that is looked at for one event the others need no look. */
static bool is_doubt_right(const struct ctf *ctf, struct cursor *cursor)
{
	if (cursor->judged_packet != cursor->stream.packet_count)
		cursor->is_late = look_for_late_events(ctf, cursor);
	cursor->judged_packet = cursor->stream.packet_count;
	return cursor->is_late;
}

static bool take_event(struct ctf *ctf, struct cursor *cursor, const bt_message *message)
{
	struct dtc_stream *stream = &cursor->stream;
	int64_t time_ns;
	if (!get_ns(bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns)) {
		reject(cursor, g_strdup("an event's time is beyond what 64 bits hold"));
		return false;
	}
	int64_t next_ns = DTC_ABSENT;
	if (G_UNLIKELY(dtc_stream_wants_next(stream, time_ns))) {
		next_ns = look_ahead(ctf, cursor);
		if (dtc_stream_doubts(stream, time_ns, next_ns) && is_doubt_right(ctf, cursor))
			dtc_stream_turn_back(stream);
	}
	dtc_stream_take_event(stream, time_ns, next_ns);
	return true;
}

/* How far the files are read is told by whole packets, as if all had one size. */
static void end_packet(struct ctf *ctf)
{
	guint64 all = ctf->extent.packets;
	ctf->packet_count++;
	if (all > 0)
		ctf->backend.consumed_bytes = ctf->extent.bytes / all * MIN(ctf->packet_count, all);
}

/* Handles the message the cursor is on; true if it makes an item. */
static bool take_message(struct ctf *ctf, struct cursor *cursor, const bt_message *message)
{
	struct dtc_stream *stream = &cursor->stream;
	bool is_item = false;
	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		begin_stream(ctf, cursor, bt_message_stream_beginning_borrow_stream_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		begin_packet(ctf, cursor, message);
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		end_packet(ctf);
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
		is_item = take_event(ctf, cursor, message);
		break;
	default:
		break;
	}
	return is_item;
}

/* The event that was current lent its strings until now. */
static void drop_event(struct cursor *cursor)
{
	struct dtc_ctf_port *port = cursor->port;
	if (cursor->held)
		bt_message_put_ref(g_steal_pointer(&cursor->held));
	else if (cursor->stream.has_item && !cursor->stream.is_gap)
		bt_message_put_ref(port->messages[port->at++]);
}

static void advance(struct ctf *ctf, struct cursor *cursor)
{
	struct dtc_stream *stream = &cursor->stream;
	struct dtc_ctf_port *port = cursor->port;
	drop_event(cursor);
	while (port->at < port->count || refill(ctf, cursor)) {
		const bt_message *message = port->messages[port->at];
		stream->has_item = take_message(ctf, cursor, message);
		if (stream->has_item && !stream->is_gap)
			return;
		port->at++;
		bt_message_put_ref(message);
		if (stream->has_item)
			return;
		if (cursor->is_rejected)
			dtc_ctf_port_end(port);
	}
	stream->has_item = dtc_stream_end(stream);
}

/* ---- opening ---- */

static void close_trace(struct dtc_backend *backend)
{
	struct ctf *ctf = (struct ctf *)backend;
	for (guint i = 0; i < ctf->count; i++)
		bt_message_put_ref(ctf->cursors[i].held);
	dtc_ctf_graph_free(ctf->graph);
	dtc_salvage_free(ctf->salvage);
	dtc_packet_table_free(ctf->table);
	g_free(ctf->directory);
	dtc_inventory_free(ctf->inventory);
	dtc_findings_free(ctf->backend.findings);
	for (guint i = 0; i < ctf->count; i++)
		dtc_stream_clear(&ctf->cursors[i].stream);
	g_free(ctf->cursors);
	g_free(ctf->backend.streams);
	g_hash_table_unref(ctf->classes);
	g_hash_table_unref(ctf->environment);
	g_hash_table_unref(ctf->declared);
	g_free(ctf);
}

/* The salvage's question to babeltrace2. */
static bool can_open(const char *path)
{
	g_autofree char *reason = NULL;
	DtcCtfGraph *graph = dtc_ctf_graph_open(path, &reason);
	dtc_ctf_graph_free(graph);
	return graph != NULL;
}

static bool open_graph(struct ctf *ctf, const char *node, const char *path, GError **error)
{
	g_autofree char *reason = NULL;
	if (!dtc_inventory_has_others(ctf->inventory) && !dtc_packet_table_has_damage(ctf->table))
		ctf->graph = dtc_ctf_graph_open(path, &reason);
	if (ctf->graph)
		return true;
	g_autoptr(GError) salvage_error = NULL;
	g_autofree char *salvage_reason = NULL;
	ctf->salvage = dtc_salvage_new(path, ctf->inventory, ctf->table, can_open, &salvage_error);
	if (ctf->salvage)
		ctf->graph = dtc_ctf_graph_open(dtc_salvage_get_path(ctf->salvage), &salvage_reason);
	if (ctf->graph)
		return true;
	if (salvage_error)
		g_propagate_prefixed_error(error, g_steal_pointer(&salvage_error),
					   "cannot read the trace of node '%s': ", node);
	else
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "cannot read the trace of node '%s' in '%s': %s\ncopy the trace again from the node", node,
			    path, salvage_reason ? salvage_reason : reason);
	return false;
}

static void report_files(const struct ctf *ctf, const char *node)
{
	const GPtrArray *losses = ctf->salvage ? dtc_salvage_get_losses(ctf->salvage) : NULL;
	dtc_inventory_report(ctf->inventory, node, ctf->backend.findings);
	dtc_packet_table_report(ctf->table, node, ctf->backend.findings);
	for (guint i = 0; losses && i < losses->len; i++)
		dtc_findings_add_coded(ctf->backend.findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true,
				       node, "%s", (const char *)losses->pdata[i]);
}

static int compare_cursors(const void *a, const void *b)
{
	const struct cursor *x = a, *y = b;
	if (x->stream.cpu != y->stream.cpu)
		return x->stream.cpu < y->stream.cpu ? -1 : 1;
	return g_strcmp0(x->stream.name, y->stream.name);
}

/* Moves every stream to its first item, which tells its CPU, and puts them in order. */
static void begin_streams(struct ctf *ctf)
{
	ctf->count = dtc_ctf_graph_get_port_count(ctf->graph);
	ctf->cursors = g_new0(struct cursor, ctf->count + 1);
	for (guint i = 0; i < ctf->count; i++) {
		ctf->cursors[i].port = dtc_ctf_graph_get_port(ctf->graph, i);
		ctf->cursors[i].port_index = i;
		dtc_stream_init(&ctf->cursors[i].stream);
		advance(ctf, &ctf->cursors[i]);
	}
	if (ctf->count > 1)
		qsort(ctf->cursors, ctf->count, sizeof(*ctf->cursors), compare_cursors);
	ctf->backend.stream_count = ctf->count;
	ctf->backend.streams = g_new0(struct dtc_stream *, ctf->count + 1);
	for (guint i = 0; i < ctf->count; i++)
		ctf->backend.streams[i] = &ctf->cursors[i].stream;
}

static struct dtc_backend *open_trace(const struct dtc_backend_request *request, GError **error)
{
	const char *node = request->node, *path = request->path;
	g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
	if (!dtc_metadata_check(metadata, error)) {
		g_prefix_error(error, "cannot read the trace of node '%s': ", node);
		return NULL;
	}
	struct ctf *ctf = g_new0(struct ctf, 1);
	ctf->backend.kind = &dtc_ctf_backend;
	ctf->event_names = request->event_names;
	ctf->call_names = request->call_names;
	ctf->classes = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)dtc_ctf_class_free);
	ctf->declared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	ctf->environment = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	ctf->has_clock = true;
	ctf->inventory = dtc_inventory_new(path);
	ctf->backend.findings = dtc_findings_new();
	ctf->table = dtc_packet_table_new(path, ctf->inventory, node, ctf->backend.findings);
	if (!open_graph(ctf, node, path, error)) {
		close_trace(&ctf->backend);
		return NULL;
	}
	ctf->extent = dtc_extent_of_trace(ctf->salvage ? dtc_salvage_get_path(ctf->salvage) : path);
	ctf->directory = g_strdup(ctf->salvage ? dtc_salvage_get_path(ctf->salvage) : path);
	report_files(ctf, node);
	ctf->wrap_ns = dtc_clock_class_get_wrap(path);
	begin_streams(ctf);
	dtc_name_check(ctf->declared, node, ctf->backend.findings);
	if (ctf->count == 0)
		dtc_inventory_report_empty(path, node, ctf->backend.findings);
	if (!ctf->has_clock) {
		dtc_metadata_set_no_clock(node, path, error);
		close_trace(&ctf->backend);
		return NULL;
	}
	return &ctf->backend;
}

/* ---- the door ---- */

static void advance_stream(struct dtc_backend *backend, guint stream)
{
	struct ctf *ctf = (struct ctf *)backend;
	advance(ctf, &ctf->cursors[stream]);
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint stream)
{
	struct ctf *ctf = (struct ctf *)backend;
	const struct cursor *cursor = &ctf->cursors[stream];
	const bt_message *message = cursor->held ? cursor->held : cursor->port->messages[cursor->port->at];
	const bt_event *bt_event = bt_message_event_borrow_event_const(message);
	const bt_event_class *bt_class = bt_event_borrow_class_const(bt_event);
	DtcCtfClass *class = g_hash_table_lookup(ctf->classes, bt_class);
	if (G_UNLIKELY(!class)) {
		class = dtc_ctf_class_new(bt_class, ctf->event_names, ctf->call_names);
		g_hash_table_insert(ctf->classes, (void *)bt_class, class);
	}
	dtc_ctf_class_fill(class, bt_event, &ctf->event);
	return &ctf->event;
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	return g_hash_table_lookup(((const struct ctf *)backend)->environment, key);
}

const struct dtc_backend_kind dtc_ctf_backend = {
	.name = "reference",
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
