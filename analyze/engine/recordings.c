/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/recordings.h"

#include "analyze/engine/origins.h"
#include "analyze/engine/reading.h"
#include "analyze/exchange/http.h"
#include "analyze/state/machine.h"
#include "collect/bundle/access.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

#include <string.h>

/* What one thread reads of one recording; taken in order afterwards. */
struct recording {
	struct dtc_reading reading;
	const struct dtc_recordings_options *options;
	/* results */
	DtcHistory *history;
	DtcPackets *packets;
	DtcExchanges *exchanges;
	DtcFrames *frames;
	bool enters_guests; /* a host of virtual machines */
	bool is_foreign;    /* a capture in which no packet starts or ends at this node */
	guint capture_count;
};

static void read_kernel(struct recording *recording)
{
	struct dtc_reading *reading = &recording->reading;
	bool clocks_only = recording->options->clocks_only;
	g_autoptr(DtcReader) reader = dtc_reader_open_node(reading->node, &reading->error);
	if (!reader)
		return;
	g_autoptr(DtcMachine) machine = dtc_machine_new(reading->node->name, reader);
	const struct dtc_event *event;
	guint since = 0;

	dtc_machine_set_environment(machine, reading->node->environment);

	while ((event = dtc_reader_next(reader))) {
		bool serves_clocks = event->kind == DTC_EVENT_NET_SEND || event->kind == DTC_EVENT_NET_RECEIVE ||
				     event->kind == DTC_EVENT_INET_OUT || event->kind == DTC_EVENT_INET_IN;
		if (!clocks_only || serves_clocks)
			dtc_machine_apply(machine, event);
		recording->enters_guests |= event->kind == DTC_EVENT_KVM_ENTRY;
		if (++since == DTC_READING_STEP) {
			if (!dtc_reading_note(reading, dtc_reader_get_consumed_bytes(reader)))
				return;
			since = 0;
		}
	}
	if (!dtc_reader_finish(reader, reading->findings, &reading->error))
		return;
	g_autoptr(DtcFindings) unwanted = dtc_findings_new(); /* what the machine misses it was not given */
	recording->history = dtc_machine_finish(machine, clocks_only ? unwanted : reading->findings);
}

static void read_captures(struct recording *recording)
{
	struct dtc_reading *reading = &recording->reading;
	const struct dtc_http_options http_options = { .id_headers = recording->options->id_headers };
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(DtcHttp) http =
		recording->options->needs_exchanges ? dtc_http_new(reading->node_index, packets, &http_options) : NULL;
	g_autoptr(DtcNodeCaptures) captures =
		dtc_node_captures_new(reading->node->name, (const char *const *)reading->node->pcap_paths,
				      reading->node->environment, packets, reading->findings);
	const struct dtc_captured *captured;
	uint32_t id;
	guint64 packet_count = 0;

	while ((captured = dtc_node_captures_next(captures, &id))) {
		if (http)
			dtc_http_add(http, id, captured);
		if (++packet_count % DTC_READING_STEP == 0 &&
		    !dtc_reading_note(reading, dtc_node_captures_get_consumed_bytes(captures)))
			return;
	}
	(void)dtc_node_captures_finish(captures, &reading->error); /* the files that can be read are used */
	if (http) {
		recording->exchanges = dtc_http_finish(http, reading->node->name, reading->findings);
		recording->frames = dtc_http_steal_frames(http);
	}
	dtc_packets_seal(packets);
	recording->packets = g_steal_pointer(&packets);
	recording->capture_count = dtc_node_captures_get_file_count(captures);
	recording->is_foreign = dtc_node_captures_are_foreign(captures);
}

static void read_recording(struct dtc_reading *reading)
{
	struct recording *recording = (struct recording *)reading;

	if (reading->is_capture)
		read_captures(recording);
	else
		read_kernel(recording);
}

static void recording_free(void *data)
{
	struct recording *recording = data;

	dtc_reading_clear(&recording->reading);
	dtc_history_free(recording->history);
	dtc_packets_free(recording->packets);
	dtc_exchanges_free(recording->exchanges);
	dtc_frames_free(recording->frames);
	g_free(recording);
}

static void take_kernel(struct dtc_recordings *to, struct recording *recording, DtcFindings *findings,
			GError **first_error)
{
	struct dtc_reading *reading = &recording->reading;

	if (reading->error) {
		to->problems[reading->node_index] =
			g_strndup(reading->error->message, strcspn(reading->error->message, "\n"));
		dtc_reading_report_error(reading->node->name, reading->error, findings);
		if (!*first_error)
			*first_error = g_steal_pointer(&reading->error);
		return;
	}
	to->histories[reading->node_index] = g_steal_pointer(&recording->history);
}

static void take_captures(struct dtc_recordings *to, struct recording *recording, DtcFindings *findings,
			  GError **first_error)
{
	struct dtc_reading *reading = &recording->reading;

	to->capture_count += recording->capture_count;
	if (reading->error && !*first_error)
		*first_error = g_steal_pointer(&reading->error);
	if (recording->exchanges)
		dtc_exchanges_move(to->exchanges, recording->exchanges);
	/* Exchanges name flows of these packets, so they stay even where their directions and times are of no use. */
	if (recording->capture_count) {
		to->captures[reading->node_index] = g_steal_pointer(&recording->packets);
		to->frames[reading->node_index] = g_steal_pointer(&recording->frames);
	}
	if (recording->is_foreign)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, reading->node->name,
				 "the capture shows traffic of other hosts (a bridge or mirror port), so it tells "
				 "nothing about this node's clock");
}

/* Reads everything; false if nothing at all could be read. */
static bool read_nodes(struct dtc_recordings *to, const DtcBundle *bundle, const struct dtc_recordings_options *options,
		       const struct dtc_watch *watch, DtcFindings *findings, bool *ret_enters_guests, GError **error)
{
	g_autoptr(GPtrArray) recordings = dtc_readings_new(bundle, sizeof(struct recording), recording_free);

	for (guint i = 0; i < recordings->len; i++)
		((struct recording *)recordings->pdata[i])->options = options;
	if (!dtc_readings_run(recordings, read_recording, watch, error))
		return false;
	dtc_origins_check(bundle, findings);
	if (!dtc_access_check_machine(error))
		return false;

	GError *first_error = NULL;
	bool has_any = false;
	for (guint i = 0; i < recordings->len; i++) {
		struct recording *recording = recordings->pdata[i];
		guint node = recording->reading.node_index;
		dtc_findings_move(findings, recording->reading.findings);
		if (recording->reading.is_capture) {
			to->is_foreign[node] = recording->is_foreign;
			take_captures(to, recording, findings, &first_error);
		} else {
			take_kernel(to, recording, findings, &first_error);
			*ret_enters_guests |= recording->enters_guests;
		}
		has_any |= to->histories[node] || to->captures[node];
	}
	if (has_any) {
		g_clear_error(&first_error);
		return true;
	}
	if (first_error)
		g_propagate_error(error, first_error);
	else
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "the bundle has neither kernel traces nor captures\n"
			    "a node is a sub-directory with a CTF trace in it or in its kernel/, or a capture "
			    "NODE.pcap");
	return false;
}

static void init(struct dtc_recordings *recordings, guint node_count, bool needs_exchanges)
{
	*recordings = (struct dtc_recordings){ .node_count = node_count };
	recordings->histories = g_new0(DtcHistory *, node_count + 1);
	recordings->problems = g_new0(char *, node_count + 1);
	recordings->captures = g_new0(DtcPackets *, node_count + 1);
	recordings->frames = g_new0(DtcFrames *, node_count + 1);
	recordings->is_foreign = g_new0(bool, node_count + 1);
	if (needs_exchanges)
		recordings->exchanges = dtc_exchanges_new(0);
}

bool dtc_recordings_read(struct dtc_recordings *recordings, const DtcBundle *bundle,
			 const struct dtc_recordings_options *options, const struct dtc_watch *watch,
			 DtcFindings *findings, GError **error)
{
	guint node_count = dtc_bundle_get_count(bundle);
	g_autoptr(DtcFindings) first_findings = dtc_findings_new();
	struct dtc_recordings_options whole = *options;
	bool enters_guests = false;

	init(recordings, node_count, options->needs_exchanges);
	if (!read_nodes(recordings, bundle, options, watch, first_findings, &enters_guests, error))
		return false;
	if (!options->clocks_only || !enters_guests || node_count == 1) {
		dtc_findings_move(findings, first_findings);
		return true;
	}
	dtc_recordings_clear(recordings);
	init(recordings, node_count, options->needs_exchanges);
	whole.clocks_only = false;
	return read_nodes(recordings, bundle, &whole, watch, findings, &enters_guests, error);
}

void dtc_recordings_clear(struct dtc_recordings *recordings)
{
	for (guint node = 0; node < recordings->node_count; node++) {
		dtc_history_free(recordings->histories[node]);
		g_free(recordings->problems[node]);
		dtc_packets_free(recordings->captures[node]);
		dtc_frames_free(recordings->frames[node]);
	}
	dtc_exchanges_free(recordings->exchanges);
	g_free(recordings->histories);
	g_free(recordings->problems);
	g_free(recordings->captures);
	g_free(recordings->frames);
	g_free(recordings->is_foreign);
	*recordings = (struct dtc_recordings){ 0 };
}
