/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/recordings.h"

#include "analyze/engine/origins.h"
#include "analyze/engine/owners.h"
#include "analyze/engine/reading.h"
#include "analyze/engine/recording.h"
#include "collect/bundle/access.h"
#include "collect/read/known.h"
#include "dtrace-chain/error.h"

#include <string.h>

static void take_kernel(struct dtc_recordings *to, struct dtc_recording *recording, DtcFindings *findings,
			GError **first_error)
{
	struct dtc_reading *reading = &recording->source.reading;

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

static void take_captures(struct dtc_recordings *to, struct dtc_recording *recording, DtcFindings *findings,
			  GError **first_error)
{
	struct dtc_reading *reading = &recording->source.reading;
	bool has_exchanges = recording->options->needs_exchanges && recording->exchanges;

	to->capture_count += recording->capture_count;
	if (reading->error && !*first_error)
		*first_error = g_steal_pointer(&reading->error);
	if (has_exchanges)
		dtc_exchanges_move(to->exchanges, recording->exchanges);
	/* Exchanges name flows of these packets, so they stay even where their directions and times are of no use. */
	if (recording->capture_count) {
		to->captures[reading->node_index] = g_steal_pointer(&recording->packets);
		if (has_exchanges) {
			to->frames[reading->node_index] = g_steal_pointer(&recording->frames);
			to->shingles[reading->node_index] = g_steal_pointer(&recording->shingles);
		}
	}
	if (recording->is_foreign)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, reading->node->name,
				 "the capture shows traffic of other hosts (a bridge or mirror port), so it tells "
				 "nothing about this node's clock");
}

static void read_recording(struct dtc_reading *reading)
{
	dtc_recording_read((struct dtc_recording *)reading);
}

/* NULL if the watcher stopped it, or no thread could be had. */
static GPtrArray *read_all(const DtcBundle *bundle, const struct dtc_recordings_options *options,
			   const struct dtc_watch *watch, GError **error)
{
	g_autoptr(GPtrArray) list = dtc_readings_new(bundle, sizeof(struct dtc_recording), dtc_recording_free);

	for (guint i = 0; i < list->len; i++) {
		struct dtc_recording *recording = list->pdata[i];
		recording->options = options;
		recording->bundle = bundle;
	}
	return dtc_owners_ask_recordings(bundle, options, error) && dtc_readings_run(list, read_recording, watch, error)
		       ? g_steal_pointer(&list)
		       : NULL;
}

static bool enter_guests(const GPtrArray *list)
{
	for (guint i = 0; i < list->len; i++)
		if (((const struct dtc_recording *)list->pdata[i])->enters_guests)
			return true;
	return false;
}

static bool are_whole(const GPtrArray *list)
{
	for (guint i = 0; i < list->len; i++) {
		const struct dtc_recording *recording = list->pdata[i];
		if (!recording->source.reading.is_capture && !recording->is_whole)
			return false;
	}
	return true;
}

/* What the machine or the scanner misses is told to those who asked for their work. */
static void take_findings(struct dtc_recording *recording, bool needs_states, DtcFindings *findings)
{
	bool is_wanted = recording->source.reading.is_capture ? recording->options->needs_exchanges : needs_states;

	if (is_wanted)
		dtc_findings_move(recording->source.reading.findings, recording->made_findings);
	dtc_findings_move(findings, recording->source.reading.findings);
}

static void take_key(struct dtc_recordings *to, const struct dtc_recording *recording)
{
	const struct dtc_reading *reading = &recording->source.reading;
	struct dtc_recording_keys *keys = &to->keys[reading->node_index];

	*(reading->is_capture ? &keys->captures : &keys->kernel) = recording->key;
	to->are_kept &= recording->is_kept;
}

/* False if nothing at all could be read. */
static bool take_all(struct dtc_recordings *to, const GPtrArray *list, bool needs_states, DtcFindings *findings,
		     GError **error)
{
	GError *first_error = NULL;
	bool has_any = false;

	for (guint i = 0; i < list->len; i++) {
		struct dtc_recording *recording = list->pdata[i];
		guint node = recording->source.reading.node_index;
		take_findings(recording, needs_states, findings);
		take_key(to, recording);
		if (recording->source.reading.is_capture) {
			to->is_foreign[node] = recording->is_foreign;
			take_captures(to, recording, findings, &first_error);
		} else {
			take_kernel(to, recording, findings, &first_error);
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

static void init(struct dtc_recordings *recordings, guint node_count, const struct dtc_recordings_options *options)
{
	*recordings = (struct dtc_recordings){ .node_count = node_count, .are_kept = true, .store = options->store };
	recordings->keys = g_new0(struct dtc_recording_keys, node_count + 1);
	recordings->histories = g_new0(DtcHistory *, node_count + 1);
	recordings->problems = g_new0(char *, node_count + 1);
	recordings->captures = g_new0(DtcPackets *, node_count + 1);
	recordings->frames = g_new0(DtcFrames *, node_count + 1);
	recordings->shingles = g_new0(DtcShingles *, node_count + 1);
	recordings->is_foreign = g_new0(bool, node_count + 1);
	if (options->needs_exchanges)
		recordings->exchanges = dtc_exchanges_new(0);
}

bool dtc_recordings_read(struct dtc_recordings *recordings, const DtcBundle *bundle,
			 const struct dtc_recordings_options *options, const struct dtc_watch *watch,
			 DtcFindings *findings, GError **error)
{
	struct dtc_recordings_options whole = *options;
	g_autoptr(GPtrArray) list = NULL;

	init(recordings, dtc_bundle_get_count(bundle), options);
	list = read_all(bundle, options, watch, error);
	if (!list)
		return false;
	bool needs_states = !options->clocks_only || (enter_guests(list) && recordings->node_count > 1);
	if (needs_states && !are_whole(list)) {
		whole.clocks_only = false;
		g_clear_pointer(&list, g_ptr_array_unref);
		list = read_all(bundle, &whole, watch, error);
		if (!list)
			return false;
	}
	if (list->len)
		recordings->scratch = dtc_space_ref(((const struct dtc_reading *)list->pdata[0])->scratch);
	if (recordings->node_count) /* 2 MB that whoever answers has no use for */
		dtc_known_forget(dtc_bundle_get_node(bundle, 0)->reader.known);
	dtc_origins_check(bundle, list, findings);
	return dtc_access_check_machine(error) && take_all(recordings, list, needs_states, findings, error);
}

void dtc_recordings_clear(struct dtc_recordings *recordings)
{
	for (guint node = 0; node < recordings->node_count; node++) {
		dtc_history_free(recordings->histories[node]);
		g_free(recordings->problems[node]);
		dtc_packets_free(recordings->captures[node]);
		dtc_frames_free(recordings->frames[node]);
		dtc_shingles_free(recordings->shingles[node]);
	}
	dtc_exchanges_free(recordings->exchanges);
	g_free(recordings->histories);
	g_free(recordings->problems);
	g_free(recordings->captures);
	g_free(recordings->frames);
	g_free(recordings->shingles);
	g_free(recordings->is_foreign);
	g_free(recordings->keys);
	dtc_space_unref(recordings->scratch);
	*recordings = (struct dtc_recordings){ 0 };
}
