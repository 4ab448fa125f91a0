/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/edges_view.h"

#include "analyze/edge/cause.h"
#include "analyze/engine/wall_clock.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/units.h"
#include "analyze/report/words.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <inttypes.h>

#define NS_PER_S 1000000000
#define NS_PER_US 1000

/* What is told: an item and where it is from. */
struct view {
	const DtcEngine *engine;
	const DtcClocks *clocks;
	const struct dtc_edge_item *item;
	const DtcHistory *history; /* of the node where it ends */
};

static struct view new_view(const DtcEngine *engine, const struct dtc_edge_item *item)
{
	return (struct view){ engine, dtc_engine_get_clocks(engine), item,
			      dtc_engine_get_history(engine, item->edge.node) };
}

const char *dtc_edge_item_to_string(const struct dtc_edge_item *item)
{
	switch (item->kind) {
	case DTC_ITEM_OPEN:
		return "open";
	case DTC_ITEM_LOCAL_BYTES:
		return "hand-over";
	case DTC_ITEM_VCPU:
		return "vcpu";
	case DTC_ITEM_WAKE:
	case DTC_ITEM_WORK:
	case DTC_ITEM_SERVED:
	case DTC_ITEM_KINDS:
		break;
	}
	return dtc_edge_kind_to_string(item->edge.kind);
}

static const char *get_node_name(const struct view *view, guint node)
{
	return dtc_engine_get_node_names(view->engine)[node];
}

/* The call in which the thread was when the edge came, or DTC_NONE. */
static uint32_t get_call(const struct dtc_edge_item *item)
{
	if (item->kind == DTC_ITEM_LOCAL_BYTES)
		return item->bytes.read;
	return item->has_wait ? item->wait.call : DTC_NONE;
}

static const struct dtc_wake *get_wake(const struct view *view, struct dtc_wake *place)
{
	const struct dtc_edge *edge = &view->item->edge;
	return edge->wake == DTC_NONE ? NULL : dtc_history_get_wake(view->history, edge->wake, place);
}

/* ---- JSON ---- */

static void add_time(GString *out, const struct view *view, const char *key, guint node, int64_t node_ns)
{
	if (node_ns == DTC_TIME_NONE)
		dtc_json_add_null(out, key);
	else
		dtc_json_add_integer(out, key, dtc_clocks_to_cluster_ns(view->clocks, node, node_ns));
}

/* Indexes of records: of the history of the node. */
static void add_index(GString *out, const char *key, uint32_t index)
{
	if (index == DTC_NONE)
		dtc_json_add_null(out, key);
	else
		dtc_json_add_integer(out, key, index);
}

static void add_hex(GString *out, const char *key, uint64_t value)
{
	if (!value) {
		dtc_json_add_null(out, key);
		return;
	}
	dtc_json_append_key(out, key);
	g_string_append_printf(out, "\"0x%" PRIx64 "\"", value);
}

static void open_object(GString *out, const char *key)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '{');
}

static void add_thread(GString *out, const struct view *view, guint node, uint32_t thread, int64_t node_ns)
{
	const DtcHistory *h = dtc_engine_get_history(view->engine, node);
	const struct dtc_thread *record = thread == DTC_NONE ? NULL : dtc_history_get_thread(h, thread);

	dtc_json_add_name(out, "node", get_node_name(view, node));
	dtc_json_add_id(out, "pid", record ? record->pid : -1);
	dtc_json_add_id(out, "tid", record ? record->tid : -1);
	dtc_json_add_name(out, "comm", record ? dtc_history_get_comm(h, thread, node_ns) : NULL);
}

static void add_from(GString *out, const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;

	if (edge->from_thread == DTC_NONE) {
		dtc_json_add_null(out, "from");
		return;
	}
	open_object(out, "from");
	add_thread(out, view, edge->from_node, edge->from_thread, edge->from_ns);
	add_time(out, view, "at_ns", edge->from_node, edge->from_ns);
	g_string_append_c(out, '}');
}

/* In what the waking CPU was. */
static void add_wake_context(GString *out, const struct view *view, const struct dtc_wake *wake)
{
	const struct dtc_wake_context context = dtc_wake_get_context(view->history, wake);
	struct dtc_call place;
	const struct dtc_call *call =
		context.call == DTC_NONE ? NULL : dtc_history_get_call(view->history, context.call, &place);
	g_autofree char *file = call ? dtc_words_for_call_file(view->history, call) : NULL;
	const char *interrupt = dtc_wake_context_get_interrupt(view->history, &context);

	dtc_json_add_text(out, "mode", dtc_wake_mode_to_string(context.mode));
	dtc_json_add_id(out, "tid",
			context.thread == DTC_NONE ? -1 : dtc_history_get_thread(view->history, context.thread)->tid);
	dtc_json_add_text(out, "call", call ? dtc_history_get_string(view->history, call->name) : NULL);
	dtc_json_add_text(out, "file", file);
	dtc_json_add_text(out, "interrupt", interrupt);
}

static void add_wake(GString *out, const struct view *view)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = get_wake(view, &wake_place);

	if (!wake) {
		dtc_json_add_null(out, "wake");
		return;
	}
	open_object(out, "wake");
	add_index(out, "id", view->item->edge.wake);
	dtc_json_add_integer(out, "cpu", wake->cpu);
	dtc_json_add_integer(out, "signal", wake->signal);
	add_time(out, view, "queued_ns", view->item->edge.node, wake->wakeup_ns);
	add_wake_context(out, view, wake);
	g_string_append_c(out, '}');
}

static void add_packets(GString *out, const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;

	add_index(out, "packet", edge->has_arrival ? edge->arrival.packet : DTC_NONE);
	add_time(out, view, "arrived_ns", edge->node, edge->has_arrival ? edge->arrival.time_ns : DTC_TIME_NONE);
	if (!edge->has_sender) {
		dtc_json_add_null(out, "sent");
		return;
	}
	open_object(out, "sent");
	dtc_json_add_name(out, "node", get_node_name(view, edge->sender.node));
	add_index(out, "packet", edge->sender.packet);
	add_index(out, "call", edge->sender.call);
	add_time(out, view, "sent_ns", edge->sender.node, edge->sender.sent_ns);
	dtc_json_add_integer(out, "copies", edge->sender.copies);
	add_index(out, "answers", edge->sender.relayed ? edge->sender.cause.packet : DTC_NONE);
	g_string_append_c(out, '}');
}

static void add_disk(GString *out, const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;

	if (edge->block_request == DTC_NONE) {
		dtc_json_add_null(out, "disk");
		return;
	}
	const struct dtc_block_request *request = dtc_history_get_block_request(view->history, edge->block_request);
	g_autofree char *device = g_strdup_printf("%u:%u", request->device >> 20, request->device & 0xfffff);
	open_object(out, "disk");
	add_index(out, "id", edge->block_request);
	dtc_json_add_text(out, "device", device);
	dtc_json_add_text(out, "name", dtc_history_get_device_name(view->history, request->device));
	dtc_json_add_integer(out, "sector", request->sector);
	dtc_json_add_integer(out, "sectors", request->sectors);
	add_time(out, view, "insert_ns", edge->node, request->insert_ns);
	add_time(out, view, "issue_ns", edge->node, request->issue_ns);
	add_time(out, view, "complete_ns", edge->node, request->complete_ns);
	g_string_append_c(out, '}');
}

static void add_host_interrupt(GString *out, const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;

	if (!edge->has_interrupt) {
		dtc_json_add_null(out, "host_interrupt");
		return;
	}
	open_object(out, "host_interrupt");
	add_thread(out, view, edge->interrupt.cpu.host, edge->interrupt.thread, edge->interrupt.entry_ns);
	add_time(out, view, "pending_ns", edge->interrupt.cpu.host, edge->interrupt.pending_ns);
	add_time(out, view, "entry_ns", edge->interrupt.cpu.host, edge->interrupt.entry_ns);
	g_string_append_c(out, '}');
}

/* The interrupt, softirq or timer in which a thread was woken. */
static void add_interrupts(GString *out, const struct view *view)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = get_wake(view, &wake_place);
	bool is_named = wake && wake->ref != DTC_NONE;

	dtc_json_add_text(out, "interrupt",
			  is_named && wake->waker == DTC_WAKER_IRQ ? dtc_history_get_string(view->history, wake->ref)
								   : NULL);
	add_index(out, "softirq", wake && wake->waker == DTC_WAKER_SOFTIRQ ? wake->ref : DTC_NONE);
	dtc_json_add_text(out, "timer",
			  is_named && wake->waker == DTC_WAKER_TIMER ? dtc_history_get_string(view->history, wake->ref)
								     : NULL);
	add_host_interrupt(out, view);
}

static void add_work(GString *out, const struct view *view)
{
	const struct dtc_work *work = view->item->edge.work;

	if (!work) {
		dtc_json_add_null(out, "work");
		return;
	}
	open_object(out, "work");
	add_hex(out, "function", work->function);
	add_time(out, view, "done_ns", view->item->edge.node, work->end_ns);
	g_string_append_c(out, '}');
}

static void add_entry(GString *out, const struct view *view)
{
	const struct dtc_edge_item *item = view->item;

	if (item->kind != DTC_ITEM_VCPU) {
		dtc_json_add_null(out, "entry");
		return;
	}
	const DtcHistory *host = dtc_engine_get_history(view->engine, item->entry.vcpu.host);
	open_object(out, "entry");
	dtc_json_add_id(out, "vcpu", dtc_history_get_vcpu(host, item->entry.vcpu.vcpu)->number);
	dtc_json_add_integer(out, "cpu", item->entry.cpu);
	add_time(out, view, "left_ns", item->entry.vcpu.host, item->entry.span->left_ns);
	g_string_append_c(out, '}');
}

static void add_evidence(GString *out, const struct view *view)
{
	const struct dtc_edge_item *item = view->item;
	struct dtc_call waited_place;
	const struct dtc_call *waited = item->has_wait && item->wait.call != DTC_NONE
						? dtc_history_get_call(view->history, item->wait.call, &waited_place)
						: NULL;

	open_object(out, "evidence");
	add_wake(out, view);
	add_packets(out, view);
	add_disk(out, view);
	add_interrupts(out, view);
	add_hex(out, "lock", waited && waited->kind == DTC_CALL_FUTEX ? waited->argument : 0);
	add_work(out, view);
	add_index(out, "call_id", get_call(item));
	add_index(out, "write_id", item->kind == DTC_ITEM_LOCAL_BYTES ? item->bytes.write : DTC_NONE);
	add_entry(out, view);
	g_string_append_c(out, '}');
}

static void add_edge(GString *out, const struct view *view)
{
	const struct dtc_edge_item *item = view->item;
	const struct dtc_edge *edge = &item->edge;
	uint32_t index = get_call(item);
	struct dtc_call call_place;
	const struct dtc_call *call =
		index == DTC_NONE ? NULL : dtc_history_get_call(view->history, index, &call_place);
	g_autofree char *file = call ? dtc_words_for_call_file(view->history, call) : NULL;

	dtc_json_add_text(out, "type", "edge");
	dtc_json_add_text(out, "kind", dtc_edge_item_to_string(item));
	dtc_json_add_text(out, "link", dtc_link_quality_to_string(edge->link));
	bool has_origin = edge->from_thread != DTC_NONE || edge->has_sender;
	if (!has_origin || edge->uncertainty_ns == INT64_MAX)
		dtc_json_add_null(out, "uncertainty_ns");
	else
		dtc_json_add_integer(out, "uncertainty_ns", edge->uncertainty_ns);
	open_object(out, "to");
	add_thread(out, view, edge->node, edge->thread, edge->end_ns);
	add_time(out, view, "start_ns", edge->node, edge->begin_ns);
	add_time(out, view, "end_ns", edge->node, edge->end_ns);
	g_string_append_c(out, '}');
	add_from(out, view);
	dtc_json_add_text(out, "wait",
			  item->has_wait ? dtc_cause_to_string(dtc_cause_of_interval(view->history, &item->wait))
					 : NULL);
	dtc_json_add_text(out, "call", call ? dtc_history_get_string(view->history, call->name) : NULL);
	dtc_json_add_text(out, "file", file);
	add_evidence(out, view);
}

static void add_served(GString *out, const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;
	const struct dtc_served *served = view->item->served;

	dtc_json_add_text(out, "type", "work");
	add_thread(out, view, edge->node, edge->thread, edge->end_ns);
	add_time(out, view, "start_ns", edge->node, edge->begin_ns);
	add_time(out, view, "end_ns", edge->node, edge->end_ns);
	dtc_json_add_text(out, "request", dtc_requests_get(dtc_engine_get_requests(view->engine), served->request)->id);
	dtc_json_add_text(out, "link", dtc_link_quality_to_string(edge->link));
	dtc_json_add_bool(out, "leads", served->leads);
}

void dtc_edge_item_add_json(GString *out, const DtcEngine *engine, const struct dtc_edge_item *item)
{
	struct view view = new_view(engine, item);

	g_string_append_c(out, '{');
	if (item->kind == DTC_ITEM_SERVED)
		add_served(out, &view);
	else
		add_edge(out, &view);
	g_string_append(out, "}\n");
}

void dtc_edges_add_head_json(GString *out, const DtcEngine *engine, const struct dtc_edge_question *question)
{
	g_string_append_c(out, '{');
	dtc_json_add_text(out, "schema", DTC_EDGES_SCHEMA);
	dtc_json_add_name(out, "reference", dtc_engine_get_reference(engine));
	dtc_json_add_integer(out, "start_ns", question->begin.ns);
	dtc_json_add_integer(out, "end_ns", question->end.ns);
	dtc_json_add_text(out, "request", question->request.request ? question->request.request->id : NULL);
	g_string_append(out, "}\n");
}

void dtc_edges_add_tail_json(GString *out, guint64 edge_count, guint64 span_count, const DtcFindings *findings)
{
	g_autoptr(GString) tail = g_string_new("{");

	dtc_json_add_integer(tail, "edges", (int64_t)edge_count);
	dtc_json_add_integer(tail, "work", (int64_t)span_count);
	dtc_finding_list_add_json(tail, findings);
	g_strdelimit(tail->str, "\n", ' '); /* strings have none: dtc_printable */
	g_string_append_printf(out, "%s}\n", tail->str);
}

/* ---- text ---- */

#define TIME_COLUMNS 11
#define SPAN_COLUMNS 7
#define WHO_COLUMNS 22
#define KIND_COLUMNS 10

/* "worker:138@backend". Caller owns. */
static char *make_who(const struct view *view, guint node, uint32_t thread, int64_t node_ns)
{
	const DtcHistory *h = dtc_engine_get_history(view->engine, node);
	g_autofree char *name = dtc_printable(get_node_name(view, node), DTC_PRINTABLE_NAME_MAX);

	if (thread == DTC_NONE)
		return g_strdup_printf("?@%s", name);
	g_autofree char *comm = dtc_printable(dtc_history_get_comm(h, thread, node_ns), DTC_PRINTABLE_NAME_MAX);
	return g_strdup_printf("%s:%" PRId32 "@%s", comm, dtc_history_get_thread(h, thread)->tid, name);
}

/* Who it came from, or NULL. Caller owns. */
static char *make_from(const struct view *view)
{
	const struct dtc_edge *edge = &view->item->edge;

	if (edge->from_thread != DTC_NONE)
		return make_who(view, edge->from_node, edge->from_thread, edge->from_ns);
	if (!edge->has_sender || !edge->sender.relayed)
		return NULL;
	g_autofree char *name = dtc_printable(get_node_name(view, edge->from_node), DTC_PRINTABLE_NAME_MAX);
	return g_strdup_printf("kernel@%s", name);
}

static void add_time_column(DtcLayout *layout, int64_t ns)
{
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	g_autofree char *text = g_strdup_printf("%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "+", magnitude / NS_PER_S,
						magnitude % NS_PER_S / NS_PER_US);
	dtc_layout_add_right(layout, text, TIME_COLUMNS, DTC_STYLE_DIM);
}

/* In what a thread was when it woke this one: "in write(pipe)". */
static void add_waker_text(DtcLayout *layout, const struct view *view)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = get_wake(view, &wake_place);

	if (!wake || view->item->edge.from_thread != wake->thread)
		return;
	const struct dtc_wake_context context = dtc_wake_get_context(view->history, wake);
	g_autofree char *words = dtc_words_for_wake_context(view->history, &context);
	g_autofree char *printable = words ? dtc_printable(words, DTC_PRINTABLE_MAX) : NULL;
	if (printable)
		dtc_layout_add(layout, DTC_STYLE_DIM, " %s", printable);
}

/* What it waited for, and in which call on what: "disk fsync(/lab/f)". */
static void add_wait_text(DtcLayout *layout, const struct view *view)
{
	const struct dtc_edge_item *item = view->item;
	uint32_t call = get_call(item);

	if (item->kind == DTC_ITEM_SERVED) {
		const DtcRequests *requests = dtc_engine_get_requests(view->engine);
		g_autofree char *id =
			dtc_printable(dtc_requests_get(requests, item->served->request)->id, DTC_PRINTABLE_MAX);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, " %s", id);
	}
	if (item->has_wait)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, " %s",
			       dtc_cause_to_string(dtc_cause_of_interval(view->history, &item->wait)));
	if (call == DTC_NONE)
		return;
	g_autofree char *words = dtc_words_for_call(view->history, call);
	g_autofree char *printable = dtc_printable(words, DTC_PRINTABLE_MAX);
	dtc_layout_add(layout, DTC_STYLE_DIM, " %s", printable);
}

void dtc_edge_item_add_text(DtcLayout *layout, const DtcEngine *engine, const struct dtc_edge_question *question,
			    const struct dtc_edge_item *item)
{
	struct view view = new_view(engine, item);
	const struct dtc_edge *edge = &item->edge;
	g_autofree char *to = make_who(&view, edge->node, edge->thread, edge->end_ns);
	g_autofree char *took =
		edge->begin_ns == DTC_TIME_NONE ? NULL : dtc_duration_format_short(edge->end_ns - edge->begin_ns);

	add_time_column(layout, dtc_clocks_to_cluster_ns(view.clocks, edge->node, edge->end_ns) -
					question->origins_ns[edge->node]);
	dtc_layout_add_right(layout, took ? took : "", SPAN_COLUMNS, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add_left(layout, to, WHO_COLUMNS, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, item->kind == DTC_ITEM_SERVED ? "serves" : dtc_edge_item_to_string(item),
			    KIND_COLUMNS, DTC_STYLE_CYAN);
	g_autofree char *from = make_from(&view);
	if (from)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s %s", edge->link == DTC_LINK_EXACT ? "←" : "≈", from);
	add_waker_text(layout, &view);
	add_wait_text(layout, &view);
	dtc_layout_end_line(layout);
}

void dtc_edges_add_head_text(DtcLayout *layout, const DtcEngine *engine, const struct dtc_edge_question *question)
{
	const char *name = dtc_engine_get_reference(engine);
	guint reference = dtc_clocks_get_reference(dtc_engine_get_clocks(engine));
	g_autofree char *wall = dtc_wall_clock_format(question->origins_ns[reference]);

	if (wall) {
		g_autofree char *printable = dtc_printable(name, DTC_PRINTABLE_NAME_MAX);
		dtc_layout_add(layout, DTC_STYLE_DIM, "times since %s (clock of %s)", wall, printable);
		dtc_layout_end_line(layout);
	}
	dtc_layout_add_right(layout, "ends at", TIME_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "took", SPAN_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add_left(layout, "thread", WHO_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, "by", KIND_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "whom, and what for");
	dtc_layout_end_line(layout);
}
