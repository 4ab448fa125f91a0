/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/evidence.h"

#include "analyze/edge/edges.h"
#include "analyze/edge/occupants.h"
#include "analyze/edge/wake_context.h"
#include "collect/console/json_object.h"

#include <inttypes.h>

struct maker {
	const struct dtc_names *names;
	const char *(*keep)(gpointer data, const char *text);
	gpointer data;
	struct dtc_report_evidence made;
};

static const DtcHistory *get_history(const struct maker *maker, guint node)
{
	return maker->names->histories && node < maker->names->node_count ? maker->names->histories[node] : NULL;
}

static void set_by(struct maker *maker, guint node, uint32_t thread, int64_t at_ns)
{
	const DtcHistory *h = get_history(maker, node);
	if (!h || thread == DTC_NONE)
		return;
	const struct dtc_thread *t = dtc_history_get_thread(h, thread);
	if (maker->made.by.tid != t->tid)
		maker->made.by_call = NULL; /* another's */
	maker->made.by.node = maker->keep(maker->data, maker->names->node_names[node]);
	maker->made.by.comm = maker->keep(maker->data, dtc_history_get_comm(h, thread, at_ns));
	maker->made.by.pid = t->pid;
	maker->made.by.tid = t->tid;
}

/* What the waker was doing: the call that it was in, if it was in one. */
static void set_waker(struct maker *maker, guint node, const struct dtc_wake *wake)
{
	const DtcHistory *h = maker->names->histories[node];

	set_by(maker, node, wake->thread, wake->waking_ns);
	uint32_t index = wake->thread == DTC_NONE ? DTC_NONE : dtc_history_find_call(h, wake->thread, wake->waking_ns);
	struct dtc_call call_place;
	const struct dtc_call *call = index == DTC_NONE ? NULL : dtc_history_get_call(h, index, &call_place);
	if (call && (call->end_ns == DTC_TIME_NONE || call->end_ns >= wake->waking_ns))
		maker->made.by_call = maker->keep(maker->data, dtc_history_get_string(h, call->name));
}

/* What a call works on, or NULL. */
static const char *keep_file(const struct maker *maker, const DtcHistory *h, const struct dtc_call *call)
{
	g_autofree char *file = dtc_words_for_call_file(h, call);
	return file ? maker->keep(maker->data, file) : NULL;
}

/* What had the waking CPU, in whatever way it came to wake. */
static void set_wake_context(struct maker *maker, const DtcHistory *h, const struct dtc_wake *wake)
{
	const struct dtc_wake_context context = dtc_wake_get_context(h, wake);
	struct dtc_report_wake *made = &maker->made.wake;

	made->mode = dtc_wake_mode_to_string(context.mode);
	made->cpu = wake->cpu;
	made->tid = -1;
	if (context.thread != DTC_NONE) {
		made->comm = maker->keep(maker->data, dtc_history_get_comm(h, context.thread, wake->waking_ns));
		made->tid = dtc_history_get_thread(h, context.thread)->tid;
	}
	if (context.call != DTC_NONE) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, context.call, &place);
		made->call = maker->keep(maker->data, dtc_history_get_string(h, call->name));
		made->file = keep_file(maker, h, call);
	}
	const char *interrupt = dtc_wake_context_get_interrupt(h, &context);
	made->interrupt = interrupt ? maker->keep(maker->data, interrupt) : NULL;
}

static void set_call(struct maker *maker, const DtcHistory *h, uint32_t index)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &call_place);
	maker->made.call = maker->keep(maker->data, dtc_history_get_string(h, call->name));
	if (call->kind == DTC_CALL_FUTEX)
		maker->made.lock = call->argument;
	if (call->file == DTC_NONE)
		return;
	g_autofree char *file = dtc_file_to_string(h, call->file);
	maker->made.file = file ? maker->keep(maker->data, file) : NULL;
}

static void set_wake(struct maker *maker, const DtcHistory *h, guint node, const struct dtc_wake *wake)
{
	enum dtc_edge_kind kind = dtc_edge_get_kind(wake);
	maker->made.edge = dtc_edge_kind_to_string(kind);
	set_wake_context(maker, h, wake);
	if (kind == DTC_EDGE_DISK) {
		const struct dtc_block_request *request = dtc_history_get_block_request(h, wake->ref);
		maker->made.has_disk = true;
		const char *name = dtc_history_get_device_name(h, request->device);
		maker->made.device = request->device;
		maker->made.device_name = name ? maker->keep(maker->data, name) : NULL;
		maker->made.sector = request->sector;
		maker->made.sectors = request->sectors;
		set_by(maker, node, request->thread, request->insert_ns);
	} else if (kind == DTC_EDGE_THREAD || kind == DTC_EDGE_FORK) {
		set_waker(maker, node, wake);
	}
}

/* An interrupt has a name and no thread; of an idle CPU there is nobody to name. */
static void set_occupant(struct maker *maker, guint node, const struct dtc_occupant *occupant, int64_t at_ns)
{
	if (occupant->thread != DTC_NONE || occupant->state == DTC_STATE_IDLE) {
		set_by(maker, node, occupant->thread, at_ns);
		return;
	}
	g_autofree char *name = dtc_words_for_interrupt(get_history(maker, node), occupant->state, occupant->ref);
	maker->made.by.node = maker->keep(maker->data, maker->names->node_names[node]);
	maker->made.by.comm = maker->keep(maker->data, name);
}

static void set_interval(struct maker *maker, guint node, const struct dtc_interval *interval, enum dtc_reason reason)
{
	const DtcHistory *h = get_history(maker, node);
	if (!h)
		return;
	if (interval->call != DTC_NONE)
		set_call(maker, h, interval->call);
	struct dtc_wake wake_place;
	if (dtc_state_is_wait(interval->state) && interval->ref != DTC_NONE)
		set_wake(maker, h, node, dtc_history_get_wake(h, interval->ref, &wake_place));
	bool is_ready = interval->state == DTC_STATE_RUNQUEUE || interval->state == DTC_STATE_PREEMPTED;
	if (!is_ready || reason == DTC_REASON_SPENT || reason == DTC_REASON_IDLE_CPU)
		return;
	g_autoptr(GArray) occupants = dtc_occupants_find(h, interval);
	if (occupants->len)
		set_occupant(maker, node, &g_array_index(occupants, struct dtc_occupant, 0), interval->end_ns);
}

static void set_message(struct maker *maker, const struct dtc_evidence *evidence)
{
	const DtcHistory *h = get_history(maker, evidence->sent_node);
	if (evidence->packet != DTC_NONE)
		maker->made.packet = evidence->packet;
	if (!h || evidence->sent_packet == DTC_NONE)
		return;
	maker->made.edge = dtc_edge_kind_to_string(DTC_EDGE_PACKET);
	maker->made.sent_node = maker->keep(maker->data, maker->names->node_names[evidence->sent_node]);
	maker->made.sent_packet = evidence->sent_packet;
	if (evidence->sent_call == DTC_NONE)
		return;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, evidence->sent_call, &call_place);
	maker->made.sent_call = evidence->sent_call;
	set_by(maker, evidence->sent_node, call->thread, call->begin_ns);
}

/* Of a thread's own work there is no more to tell than the cause and the words do. */
static bool is_own_work(const struct dtc_evidence *evidence)
{
	const struct dtc_interval *interval = evidence->has_interval ? &evidence->interval : NULL;
	return evidence->reason == DTC_REASON_OWN && interval && !dtc_state_is_wait(interval->state) &&
	       interval->state != DTC_STATE_RUNQUEUE && interval->state != DTC_STATE_PREEMPTED;
}

bool dtc_report_evidence_make(const struct dtc_names *names, const struct dtc_evidence *evidence,
			      const char *(*keep)(gpointer data, const char *text), gpointer data,
			      struct dtc_report_evidence *ret_evidence)
{
	struct maker maker = {
		names, keep, data, { .by = { .pid = -1, .tid = -1 }, .packet = -1, .sent_packet = -1, .sent_call = -1 }
	};
	if (is_own_work(evidence) || evidence->reason == DTC_REASON_ON_CPU)
		return false;
	if (evidence->reason != DTC_REASON_OWN)
		maker.made.reason = dtc_reason_to_string(evidence->reason);
	if (evidence->has_interval)
		set_interval(&maker, evidence->node, &evidence->interval, evidence->reason);
	set_message(&maker, evidence);
	if (evidence->by_thread != DTC_NONE)
		set_by(&maker, evidence->by_node, evidence->by_thread, INT64_MAX);
	*ret_evidence = maker.made;
	return maker.made.reason || maker.made.edge || maker.made.call || maker.made.by.comm || maker.made.packet >= 0;
}

/* Most of what a wait could have it has not: only what applies is written, which is a third of a large report. */
static void add_string(GString *out, const char *key, const char *value)
{
	if (value)
		dtc_json_pack_string(out, key, value);
}

static void add_number(GString *out, const char *key, int64_t value)
{
	if (value >= 0)
		dtc_json_pack_integer(out, key, value);
}

static void add_by(GString *out, const struct dtc_report_thread *by, const char *call)
{
	if (!by->comm)
		return;
	dtc_json_pack_open(out, "by", '{');
	dtc_json_pack_string(out, "node", by->node);
	dtc_json_pack_id(out, "pid", by->pid);
	dtc_json_pack_id(out, "tid", by->tid);
	dtc_json_pack_string(out, "comm", by->comm);
	if (call)
		dtc_json_pack_string(out, "call", call);
	g_string_append_c(out, '}');
}

static void add_wake(GString *out, const struct dtc_report_wake *wake)
{
	if (!wake->mode)
		return;
	dtc_json_pack_open(out, "wake", '{');
	dtc_json_pack_string(out, "mode", wake->mode);
	dtc_json_pack_integer(out, "cpu", wake->cpu);
	if (wake->comm) {
		dtc_json_pack_id(out, "tid", wake->tid);
		dtc_json_pack_string(out, "comm", wake->comm);
	}
	add_string(out, "call", wake->call);
	add_string(out, "file", wake->file);
	add_string(out, "interrupt", wake->interrupt);
	g_string_append_c(out, '}');
}

static void add_disk(GString *out, const struct dtc_report_evidence *evidence)
{
	if (!evidence->has_disk)
		return;
	g_autofree char *device = g_strdup_printf("%u:%u", evidence->device >> 20, evidence->device & 0xfffff);
	dtc_json_pack_open(out, "disk", '{');
	dtc_json_pack_string(out, "device", device);
	dtc_json_pack_integer(out, "sector", evidence->sector);
	dtc_json_pack_integer(out, "sectors", evidence->sectors);
	g_string_append_c(out, '}');
}

static void add_sent(GString *out, const struct dtc_report_evidence *evidence)
{
	if (!evidence->sent_node)
		return;
	dtc_json_pack_open(out, "sent", '{');
	dtc_json_pack_string(out, "node", evidence->sent_node);
	add_number(out, "packet", evidence->sent_packet);
	add_number(out, "call", evidence->sent_call);
	g_string_append_c(out, '}');
}

void dtc_report_evidence_add(GString *out, const struct dtc_report_evidence *evidence)
{
	if (!evidence) {
		dtc_json_pack_null(out, "evidence");
		return;
	}
	g_autofree char *lock = evidence->lock ? g_strdup_printf("0x%" PRIx64, evidence->lock) : NULL;
	dtc_json_pack_open(out, "evidence", '{');
	add_string(out, "reason", evidence->reason);
	add_string(out, "edge", evidence->edge);
	add_string(out, "call", evidence->call);
	add_string(out, "file", evidence->file);
	add_string(out, "lock", lock);
	add_by(out, &evidence->by, evidence->by_call);
	add_wake(out, &evidence->wake);
	add_disk(out, evidence);
	add_number(out, "packet", evidence->packet);
	add_sent(out, evidence);
	g_string_append_c(out, '}');
}
