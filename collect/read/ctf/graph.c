/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/graph.h"

#include "collect/bundle/access.h"
#include "collect/read/ctf/reason.h"

#include <errno.h>
#include <string.h>

/* babeltrace2 keeps lists of plugins and classes without a lock: one graph at a time is set up or torn down. */
static GMutex setup_mutex;

struct DtcCtfGraph {
	char *path; /* owned */
	const bt_plugin *plugin;
	bt_graph *graph;
	guint count;
	struct dtc_ctf_port *ports;
	struct dtc_ctf_port *wanted; /* whose next batch the consume method shall pull */
};

/* The first cause in the calling thread's babeltrace2 error, in our words, or a fallback. */
static char *take_error(const DtcCtfGraph *graph, const char *fallback)
{
	const bt_error *error = bt_current_thread_take_error();
	if (!error)
		return g_strdup(fallback);
	for (uint64_t i = 0; i < bt_error_get_cause_count(error); i++)
		dtc_access_note_text(bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, i)), graph->path);
	const char *message = "";
	if (bt_error_get_cause_count(error) > 0)
		message = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
	char *text = g_strdup(dtc_reason_translate(message));
	bt_error_release(error);
	return text;
}

/* Takes ownership of the text. */
static void fail(struct dtc_ctf_port *port, char *error)
{
	port->ended = true;
	if (port->error)
		g_free(error);
	else
		port->error = error;
}

static void drop_batch(struct dtc_ctf_port *port)
{
	while (port->at < port->count)
		bt_message_put_ref(port->messages[port->at++]);
}

void dtc_ctf_port_end(struct dtc_ctf_port *port)
{
	drop_batch(port);
	port->ended = true;
}

/* The consume method: pulls one batch for the wanted port. Never ends the graph; a failed stream ends alone. */
static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
	DtcCtfGraph *graph = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	struct dtc_ctf_port *port = graph->wanted;
	if (!port)
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
	port->at = port->count = 0;
	bt_message_array_const messages = NULL;
	uint64_t count = 0;
	const char *fallback = NULL;
	switch (bt_message_iterator_next(port->iterator, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		port->messages = messages;
		port->count = count;
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		port->ended = true;
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN: /* it is asked again */
		break;
	default:
		port->ended = true;
		fallback = "its events cannot be decoded";
		break;
	}
	/* source.ctf.fs may give out what it has and leave an error behind: the next call would abort on it */
	char *error = take_error(graph, fallback);
	if (error)
		fail(port, error);
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

#define REFILL_TRIES 1000

bool dtc_ctf_graph_refill(DtcCtfGraph *graph, struct dtc_ctf_port *port)
{
	for (guint tries = 0; !port->ended && port->at == port->count; tries++) {
		graph->wanted = port;
		if (tries == REFILL_TRIES || bt_graph_run_once(graph->graph) != BT_GRAPH_RUN_ONCE_STATUS_OK)
			fail(port, take_error(graph, "its events cannot be decoded"));
	}
	return port->at < port->count;
}

static bt_component_class_initialize_method_status initialize(bt_self_component_sink *self,
							      bt_self_component_sink_configuration *configuration,
							      const bt_value *params, void *data)
{
	(void)configuration;
	(void)params;
	DtcCtfGraph *graph = data;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), graph);
	for (guint i = 0; i < graph->count; i++) {
		g_autofree char *name = g_strdup_printf("in%u", i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
		    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status configured(bt_self_component_sink *self)
{
	DtcCtfGraph *graph = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	for (guint i = 0; i < graph->count; i++)
		if (bt_message_iterator_create_from_sink_component(
			    self, bt_self_component_sink_borrow_input_port_by_index(self, i),
			    &graph->ports[i].iterator) != BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

/* Adds a source.ctf.fs for the directory (borrowed): babeltrace2 then reads the metadata and indexes the streams. */
static const bt_component_source *add_source(DtcCtfGraph *graph, const char *path)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(graph->plugin, "fs");
	bt_value *params = bt_value_map_create();
	bt_value *inputs = NULL;
	const bt_component_source *source = NULL;
	bool ok = class && params &&
		  bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
			  BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
		  bt_value_array_append_string_element(inputs, path) == BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
		  bt_graph_add_source_component(graph->graph, class, "trace", params, BT_LOGGING_LEVEL_NONE, &source) ==
			  BT_GRAPH_ADD_COMPONENT_STATUS_OK;
	bt_value_put_ref(params);
	return ok ? source : NULL;
}

static bool add_sink(DtcCtfGraph *graph, const bt_component_source *source)
{
	bt_component_class_sink *class = bt_component_class_sink_create("dtrace-chain", consume);
	const bt_component_sink *sink = NULL;
	bool ok = class &&
		  bt_component_class_sink_set_initialize_method(class, initialize) ==
			  BT_COMPONENT_CLASS_SET_METHOD_STATUS_OK &&
		  bt_component_class_sink_set_graph_is_configured_method(class, configured) ==
			  BT_COMPONENT_CLASS_SET_METHOD_STATUS_OK &&
		  bt_graph_add_sink_component_with_initialize_method_data(graph->graph, class, "sink", NULL, graph,
									  BT_LOGGING_LEVEL_NONE,
									  &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
	for (guint i = 0; ok && i < graph->count; i++)
		ok = bt_graph_connect_ports(graph->graph,
					    bt_component_source_borrow_output_port_by_index_const(source, i),
					    bt_component_sink_borrow_input_port_by_index_const(sink, i),
					    NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
	bt_component_class_sink_put_ref(class);
	return ok;
}

static bool build_graph(DtcCtfGraph *graph, const char *path)
{
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	errno = 0;
	if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &graph->plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK) {
		if (errno)
			dtc_access_note_text(g_strerror(errno), path);
		return false;
	}
	graph->graph = bt_graph_create(0);
	const bt_component_source *source = graph->graph ? add_source(graph, path) : NULL;
	if (!source)
		return false;
	uint64_t count = bt_component_source_get_output_port_count(source);
	graph->ports = g_new0(struct dtc_ctf_port, count + 1);
	graph->count = (guint)count;
	/* The first run configures the graph, which makes the iterators. A sink without inputs would not be run. */
	return count == 0 ||
	       (add_sink(graph, source) && bt_graph_run_once(graph->graph) == BT_GRAPH_RUN_ONCE_STATUS_OK);
}

DtcCtfGraph *dtc_ctf_graph_open(const char *path, char **ret_reason)
{
	DtcCtfGraph *graph = g_new0(DtcCtfGraph, 1);
	graph->path = g_strdup(path);
	g_mutex_lock(&setup_mutex);
	bool ok = build_graph(graph, path);
	g_mutex_unlock(&setup_mutex);
	if (ok)
		return graph;
	*ret_reason = take_error(graph, graph->plugin ? "it cannot be decoded"
						      : "babeltrace2's plugin 'ctf' is not installed");
	dtc_ctf_graph_free(graph);
	return NULL;
}

void dtc_ctf_graph_free(DtcCtfGraph *graph)
{
	if (!graph)
		return;
	g_mutex_lock(&setup_mutex);
	for (guint i = 0; i < graph->count; i++) {
		drop_batch(&graph->ports[i]);
		bt_message_iterator_put_ref(graph->ports[i].iterator);
		g_free(graph->ports[i].error);
	}
	bt_graph_put_ref(graph->graph);
	bt_plugin_put_ref(graph->plugin);
	g_mutex_unlock(&setup_mutex);
	g_free(graph->ports);
	g_free(graph->path);
	g_free(graph);
}

guint dtc_ctf_graph_get_port_count(const DtcCtfGraph *graph)
{
	return graph->count;
}

struct dtc_ctf_port *dtc_ctf_graph_get_port(DtcCtfGraph *graph, guint index)
{
	return &graph->ports[index];
}
