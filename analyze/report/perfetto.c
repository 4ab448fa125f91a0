/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/perfetto.h"

#include "perfetto.pb-c.h"

#include <string.h>

/* Track ids: one number space for the whole trace. */
#define PATH_TRACK 1
#define FIRST_TRACK 16

#define INCREMENTAL_STATE_CLEARED 1 /* the first packet of a sequence says that nothing came before it */
#define PACKET_TAG 0x0a		    /* field 1 of Trace, length-delimited */
#define MAX_VARINT 10

struct writer {
	GByteArray *out;
	const DtcReport *report;
	const DtcLanes *lanes;
	uint64_t *lane_tracks; /* by lane */
	uint32_t *lane_machines;
	GHashTable *sequences; /* that have begun */
};

static void append_packet(struct writer *w, Dtc__Perfetto__TracePacket *packet)
{
	/* a sequence comes from one machine */
	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = packet->machine_id + 1;
	if (g_hash_table_add(w->sequences, GUINT_TO_POINTER(packet->trusted_packet_sequence_id))) {
		packet->has_sequence_flags = true;
		packet->sequence_flags = INCREMENTAL_STATE_CLEARED;
	}
	size_t bytes = dtc__perfetto__trace_packet__get_packed_size(packet);
	uint8_t frame[1 + MAX_VARINT] = { PACKET_TAG };
	guint frame_bytes = 1;
	size_t rest = bytes;
	for (; rest >= 0x80; rest >>= 7)
		frame[frame_bytes++] = (uint8_t)(rest | 0x80);
	frame[frame_bytes++] = (uint8_t)rest;
	g_byte_array_append(w->out, frame, frame_bytes);
	guint at = w->out->len;
	g_byte_array_set_size(w->out, at + (guint)bytes);
	dtc__perfetto__trace_packet__pack(packet, w->out->data + at);
}

static void append_track(struct writer *w, uint32_t machine, Dtc__Perfetto__TrackDescriptor *track, uint64_t uuid)
{
	Dtc__Perfetto__TracePacket packet = DTC__PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	packet.track_descriptor = track;
	packet.has_machine_id = machine > 0;
	packet.machine_id = machine;
	append_packet(w, &packet);
}

static void append_named_track(struct writer *w, uint32_t machine, const char *name, uint64_t uuid)
{
	Dtc__Perfetto__TrackDescriptor track = DTC__PERFETTO__TRACK_DESCRIPTOR__INIT;

	track.name = (char *)name;
	append_track(w, machine, &track, uuid);
}

static void append_process(struct writer *w, uint32_t machine, const struct dtc_lane *lane, uint64_t uuid)
{
	Dtc__Perfetto__TrackDescriptor track = DTC__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Dtc__Perfetto__ProcessDescriptor process = DTC__PERFETTO__PROCESS_DESCRIPTOR__INIT;
	/* Perfetto shows machines by number only: the name tells which node it is */
	g_autofree char *name = g_strdup_printf("%s@%s", lane->process, lane->node);

	process.has_pid = true;
	process.pid = lane->pid;
	process.process_name = name;
	track.process = &process;
	append_track(w, machine, &track, uuid);
}

static void append_thread(struct writer *w, uint32_t machine, const struct dtc_lane *lane, uint64_t uuid,
			  uint64_t process_uuid)
{
	Dtc__Perfetto__TrackDescriptor track = DTC__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Dtc__Perfetto__ThreadDescriptor thread = DTC__PERFETTO__THREAD_DESCRIPTOR__INIT;

	thread.has_pid = thread.has_tid = true;
	thread.pid = lane->pid;
	thread.tid = lane->tid;
	thread.thread_name = (char *)lane->comm;
	track.thread = &thread;
	track.has_parent_uuid = true;
	track.parent_uuid = process_uuid;
	append_track(w, machine, &track, uuid);
}

/* Lanes of a node stand together, so its machine's number changes where its name does. */
static void append_tracks(struct writer *w)
{
	g_autoptr(GHashTable) processes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	uint64_t next = FIRST_TRACK;
	uint32_t machine = 0;
	const char *node = NULL;

	append_named_track(w, 0, "critical path", PATH_TRACK);
	for (guint i = 0; i < w->lanes->lanes->len; i++) {
		const struct dtc_lane *lane = &g_array_index(w->lanes->lanes, struct dtc_lane, i);
		if (g_strcmp0(node, lane->node) != 0)
			machine++;
		node = lane->node;
		w->lane_machines[i] = machine;
		if (!lane->comm || lane->tid < 0 || lane->pid < 0) {
			g_autofree char *name = g_strdup_printf("%s@%s", lane->comm ? lane->comm : lane->process, node);
			w->lane_tracks[i] = next++;
			append_named_track(w, machine, name, w->lane_tracks[i]);
			continue;
		}
		g_autofree char *key = g_strdup_printf("%u/%d", machine, lane->pid);
		uint64_t *process = g_hash_table_lookup(processes, key);
		if (!process) {
			process = g_memdup2(&next, sizeof(next));
			g_hash_table_insert(processes, g_steal_pointer(&key), process);
			append_process(w, machine, lane, next++);
		}
		w->lane_tracks[i] = next++;
		append_thread(w, machine, lane, w->lane_tracks[i], *process);
	}
}

struct event {
	int64_t at_ns;
	uint64_t track;
	uint32_t machine;
	const char *name;
	const char *category;
	uint64_t flow; /* 0: none */
	bool is_flow_end;
	Dtc__Perfetto__DebugAnnotation **annotations;
	guint annotation_count;
};

static void append_event(struct writer *w, const struct event *event, Dtc__Perfetto__TrackEvent__Type type)
{
	Dtc__Perfetto__TracePacket packet = DTC__PERFETTO__TRACE_PACKET__INIT;
	Dtc__Perfetto__TrackEvent track_event = DTC__PERFETTO__TRACK_EVENT__INIT;
	char *categories[] = { (char *)event->category };
	uint64_t flows[] = { event->flow };

	track_event.has_type = track_event.has_track_uuid = true;
	track_event.type = type;
	track_event.track_uuid = event->track;
	if (type != DTC__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END) {
		track_event.name = (char *)event->name;
		track_event.categories = categories;
		track_event.n_categories = 1;
		track_event.debug_annotations = event->annotations;
		track_event.n_debug_annotations = event->annotation_count;
	}
	if (event->flow && event->is_flow_end) {
		track_event.terminating_flow_ids = flows;
		track_event.n_terminating_flow_ids = 1;
	} else if (event->flow) {
		track_event.flow_ids = flows;
		track_event.n_flow_ids = 1;
	}
	packet.has_timestamp = true;
	packet.timestamp = (uint64_t)MAX(event->at_ns, 0);
	packet.has_machine_id = event->machine > 0;
	packet.machine_id = event->machine;
	packet.track_event = &track_event;
	append_packet(w, &packet);
}

static void append_slice(struct writer *w, struct event *event, int64_t begin_ns, int64_t end_ns)
{
	event->at_ns = begin_ns;
	append_event(w, event, DTC__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
	event->at_ns = end_ns;
	append_event(w, event, DTC__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END);
}

static Dtc__Perfetto__DebugAnnotation annotate_text(const char *name, const char *text)
{
	Dtc__Perfetto__DebugAnnotation annotation = DTC__PERFETTO__DEBUG_ANNOTATION__INIT;

	annotation.name = (char *)name;
	annotation.string_value = (char *)text;
	return annotation;
}

static Dtc__Perfetto__DebugAnnotation annotate_number(const char *name, int64_t number)
{
	Dtc__Perfetto__DebugAnnotation annotation = DTC__PERFETTO__DEBUG_ANNOTATION__INIT;

	annotation.name = (char *)name;
	annotation.has_int_value = true;
	annotation.int_value = number;
	return annotation;
}

static void append_bars(struct writer *w)
{
	for (guint i = 0; i < w->lanes->lanes->len; i++) {
		const struct dtc_lane *lane = &g_array_index(w->lanes->lanes, struct dtc_lane, i);
		for (guint j = lane->bar_first; j < lane->bar_first + lane->bar_count; j++) {
			const struct dtc_lane_bar *bar = &g_array_index(w->lanes->bars, struct dtc_lane_bar, j);
			Dtc__Perfetto__DebugAnnotation detail = annotate_text("detail", bar->detail);
			Dtc__Perfetto__DebugAnnotation count = annotate_number("intervals", bar->interval_count);
			Dtc__Perfetto__DebugAnnotation *annotations[2];
			struct event event = {
				.track = w->lane_tracks[i],
				.machine = w->lane_machines[i],
				.name = dtc_cause_to_string(bar->cause),
				.category = "state",
				.annotations = annotations,
			};
			if (bar->detail)
				annotations[event.annotation_count++] = &detail;
			if (bar->interval_count > 1)
				annotations[event.annotation_count++] = &count;
			append_slice(w, &event, bar->begin_ns, bar->end_ns);
		}
	}
}

static void append_path(struct writer *w)
{
	for (guint i = 0; i < w->report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(w->report->steps, struct dtc_report_step, i);
		g_autofree char *name = g_strdup_printf("%s: %s", step->who.tier, dtc_cause_to_string(step->cause));
		Dtc__Perfetto__DebugAnnotation thread = annotate_text("thread", step->who.comm);
		Dtc__Perfetto__DebugAnnotation tid = annotate_number("tid", step->who.tid);
		Dtc__Perfetto__DebugAnnotation detail = annotate_text("detail", step->detail);
		Dtc__Perfetto__DebugAnnotation link = annotate_text("link", dtc_link_quality_to_string(step->link));
		Dtc__Perfetto__DebugAnnotation uncertainty = annotate_number("uncertainty_ns", step->uncertainty_ns);
		Dtc__Perfetto__DebugAnnotation *annotations[5];
		struct event event = {
			.track = PATH_TRACK, .name = name, .category = "critical-path", .annotations = annotations
		};
		if (step->who.comm)
			annotations[event.annotation_count++] = &thread;
		if (step->who.tid >= 0)
			annotations[event.annotation_count++] = &tid;
		if (step->detail)
			annotations[event.annotation_count++] = &detail;
		annotations[event.annotation_count++] = &link;
		if (step->uncertainty_ns && step->uncertainty_ns != INT64_MAX)
			annotations[event.annotation_count++] = &uncertainty;
		append_slice(w, &event, step->begin_ns, step->end_ns);
	}
}

static void append_messages(struct writer *w)
{
	for (guint i = 0; i < w->lanes->messages->len; i++) {
		const struct dtc_lane_message *message = &g_array_index(w->lanes->messages, struct dtc_lane_message, i);
		Dtc__Perfetto__DebugAnnotation detail = annotate_text("detail", message->detail);
		Dtc__Perfetto__DebugAnnotation link = annotate_text("link", dtc_link_quality_to_string(message->link));
		Dtc__Perfetto__DebugAnnotation uncertainty = annotate_number("uncertainty_ns", message->uncertainty_ns);
		Dtc__Perfetto__DebugAnnotation *annotations[3] = { &link };
		struct event event = {
			.at_ns = message->sent_ns,
			.track = w->lane_tracks[message->from_lane],
			.machine = w->lane_machines[message->from_lane],
			.name = "send",
			.category = "message",
			.flow = (uint64_t)i + 1,
			.annotations = annotations,
			.annotation_count = 1,
		};
		if (message->detail)
			annotations[event.annotation_count++] = &detail;
		if (message->uncertainty_ns != INT64_MAX)
			annotations[event.annotation_count++] = &uncertainty;
		append_event(w, &event, DTC__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT);
		event.at_ns = message->received_ns;
		event.track = w->lane_tracks[message->to_lane];
		event.machine = w->lane_machines[message->to_lane];
		event.name = "receive";
		event.is_flow_end = true;
		append_event(w, &event, DTC__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT);
	}
}

GBytes *dtc_report_to_perfetto(const DtcReport *report, const DtcLanes *lanes)
{
	struct writer w = {
		.out = g_byte_array_new(),
		.report = report,
		.lanes = lanes,
		.lane_tracks = g_new0(uint64_t, lanes->lanes->len),
		.lane_machines = g_new0(uint32_t, lanes->lanes->len),
		.sequences = g_hash_table_new(NULL, NULL),
	};

	append_tracks(&w);
	append_path(&w);
	append_bars(&w);
	append_messages(&w);
	g_free(w.lane_tracks);
	g_free(w.lane_machines);
	g_hash_table_unref(w.sequences);
	return g_byte_array_free_to_bytes(w.out);
}
