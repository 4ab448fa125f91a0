/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/recording.h"

#include "analyze/engine/owners.h"
#include "analyze/engine/recording_image.h"
#include "analyze/exchange/http.h"
#include "analyze/state/machine.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

static bool serves_clocks(const struct dtc_event *event)
{
	return event->kind == DTC_EVENT_NET_SEND || event->kind == DTC_EVENT_NET_RECEIVE ||
	       event->kind == DTC_EVENT_INET_OUT || event->kind == DTC_EVENT_INET_IN;
}

/* What a window keeps of a recording that is read from its begin. */
struct passage {
	const struct dtc_window_span *window; /* NULL: everything */
	bool is_before;			      /* nothing so far is kept */
};

static struct passage begin_passage(const struct dtc_recording *recording)
{
	const struct dtc_window_span *windows = recording->options->windows;
	const struct dtc_window_span *window = windows ? &windows[recording->source.reading.node_index] : NULL;

	return (struct passage){ window, window != NULL };
}

/* What comes at that time is the first to be kept. */
static bool enters_window(struct passage *passage, int64_t time_ns)
{
	if (!passage->is_before || time_ns < passage->window->begin_ns)
		return false;
	passage->is_before = false;
	return true;
}

static bool has_left_window(const struct passage *passage, int64_t time_ns)
{
	return passage->window && time_ns > passage->window->end_ns;
}

/* What will be kept grows in the space. */
static void read_kernel(struct dtc_recording *recording, DtcSpace *space)
{
	struct passage passage = begin_passage(recording);
	struct dtc_reading *reading = &recording->source.reading;
	g_autoptr(DtcReader) reader = dtc_reader_open_node(reading->node, &reading->error);
	if (!reader)
		return;
	dtc_reader_share_threads(reader, reading->spare);
	g_autoptr(DtcMachine) machine = dtc_machine_new(reading->node->name, reader);
	const struct dtc_event *event;
	guint since = 0;

	dtc_census_begin(&recording->source, reader);
	dtc_machine_set_spaces(machine, space, reading->scratch);
	dtc_machine_set_environment(machine, reading->node->environment);
	while ((event = dtc_reader_next(reader)) && !has_left_window(&passage, event->time_ns)) {
		if (enters_window(&passage, event->time_ns))
			dtc_machine_forget(machine);
		if (recording->is_whole || serves_clocks(event))
			dtc_machine_apply(machine, event);
		else
			dtc_machine_pass(machine, event->time_ns);
		recording->enters_guests |= event->kind == DTC_EVENT_KVM_ENTRY;
		dtc_census_count(&recording->source, event);
		if (++since == DTC_READING_STEP) {
			if (!dtc_reading_note(reading, dtc_reader_get_consumed_bytes(reader)))
				return;
			if (passage.is_before)
				dtc_machine_follow(machine);
			since = 0;
		}
	}
	if (!dtc_reader_finish(reader, reading->findings, &reading->error))
		return;
	dtc_census_end(&recording->source, reader);
	recording->history = dtc_machine_finish(machine, recording->made_findings);
}

/* Which connections there are is all that a packet before the window leaves. */
static void pass_packet(DtcPackets *packets, DtcHttp *http)
{
	dtc_packets_forget(packets);
	if (http)
		dtc_http_pass(http);
}

static void read_captures(struct dtc_recording *recording, DtcSpace *space)
{
	struct dtc_reading *reading = &recording->source.reading;
	const struct dtc_http_options http_options = { .id_headers = recording->options->id_headers };
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(DtcHttp) http =
		recording->is_whole ? dtc_http_new(reading->node_index, packets, &http_options) : NULL;
	g_autoptr(DtcNodeCaptures) captures =
		dtc_node_captures_new(reading->node->name, (const char *const *)reading->node->pcap_paths,
				      reading->node->environment, packets, reading->findings);
	const struct dtc_captured *captured;
	struct passage passage = begin_passage(recording);
	uint32_t id;

	dtc_packets_set_spaces(packets, space, recording->source.reading.scratch);
	while ((captured = dtc_node_captures_next(captures, &id)) && !has_left_window(&passage, captured->time_ns)) {
		if (passage.is_before && !enters_window(&passage, captured->time_ns))
			pass_packet(packets, http);
		else if (http)
			dtc_http_add(http, id, captured);
		if (++recording->source.packets % DTC_READING_STEP == 0 &&
		    !dtc_reading_note(reading, dtc_node_captures_get_consumed_bytes(captures)))
			return;
	}
	(void)dtc_node_captures_finish(captures, &reading->error); /* the files that can be read are used */
	if (http) {
		recording->exchanges = dtc_http_finish(http, reading->node->name, recording->made_findings);
		recording->frames = dtc_http_steal_frames(http);
		recording->shingles = dtc_http_steal_shingles(http);
	}
	dtc_packets_seal(packets);
	recording->packets = g_steal_pointer(&packets);
	recording->capture_count = dtc_node_captures_get_file_count(captures);
	recording->is_foreign = dtc_node_captures_are_foreign(captures);
}

/* What is to be kept has all that anybody may ask for. */
static bool wants_all(const struct dtc_recording *recording)
{
	const struct dtc_recordings_options *options = recording->options;

	return options->store || options->makes_images ||
	       (recording->source.reading.is_capture ? options->needs_exchanges : !options->clocks_only);
}

void dtc_recording_read(struct dtc_recording *recording)
{
	struct dtc_reading *reading = &recording->source.reading;
	struct dtc_recording_place place;

	recording->made_findings = dtc_findings_new();
	recording->is_whole = reading->node->is_elsewhere || wants_all(recording);
	if (reading->node->is_elsewhere) {
		dtc_owners_take_recording(recording);
		return;
	}
	if (dtc_recording_is_image(reading->node, reading->is_capture)) {
		dtc_recording_open_image(recording);
		return;
	}
	dtc_recording_place_init(&place, recording);
	if (dtc_recording_find(recording, &place))
		return;
	g_autoptr(DtcSpace) space = dtc_recording_open_space(recording, &place);
	DtcSpace *grows_in = space ? space : reading->scratch;
	if (reading->is_capture)
		read_captures(recording, grows_in);
	else
		read_kernel(recording, grows_in);
	dtc_census_describe(&recording->source);
	dtc_recording_keep(recording, &place, space);
	if (recording->options->makes_images && dtc_recording_has_result(recording))
		dtc_recording_make_image(recording, space);
}

bool dtc_recording_has_result(const struct dtc_recording *recording)
{
	return recording->source.reading.is_capture
		       ? recording->packets && recording->exchanges && recording->frames && recording->shingles
		       : recording->history != NULL;
}

void dtc_recording_drop(struct dtc_recording *recording)
{
	g_clear_pointer(&recording->history, dtc_history_free);
	g_clear_pointer(&recording->packets, dtc_packets_free);
	g_clear_pointer(&recording->exchanges, dtc_exchanges_free);
	g_clear_pointer(&recording->frames, dtc_frames_free);
	g_clear_pointer(&recording->shingles, dtc_shingles_free);
}

void dtc_recording_free(void *data)
{
	struct dtc_recording *recording = data;

	dtc_recording_drop(recording);
	dtc_image_unref(recording->image);
	dtc_findings_free(recording->made_findings);
	dtc_census_source_clear(&recording->source);
	g_free(recording);
}
