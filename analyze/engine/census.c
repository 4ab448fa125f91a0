/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/census.h"

#include "analyze/engine/origins.h"
#include "collect/bundle/access.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"

#include <string.h>

static void source_free(void *data)
{
	struct dtc_census_source *source = data;

	dtc_reading_clear(&source->reading);
	g_free(source->backend);
	g_free(source->release);
	g_free(source->tracer);
	if (source->kinds)
		g_array_unref(source->kinds);
	g_free(source);
}

static void kind_clear(void *data)
{
	struct dtc_census_kind *kind = data;

	g_free(kind->name);
}

static void list_kinds(struct dtc_census_source *source, const DtcReader *reader)
{
	source->kinds = g_array_new(FALSE, FALSE, sizeof(struct dtc_census_kind));
	g_array_set_clear_func(source->kinds, kind_clear);
	for (guint i = 0; i < dtc_reader_get_event_name_count(reader); i++) {
		guint64 count = dtc_reader_get_event_count(reader, i);
		if (count == 0)
			continue;
		struct dtc_census_kind kind = { g_strdup(dtc_reader_get_event_name(reader, i)), count };
		g_array_append_val(source->kinds, kind);
	}
}

static void read_kernel(struct dtc_census_source *source)
{
	struct dtc_reading *reading = &source->reading;
	g_autoptr(DtcReader) reader = dtc_reader_open_node(reading->node, &reading->error);
	if (!reader)
		return;
	source->backend = g_strdup(dtc_reader_get_backend(reader));
	source->release = g_strdup(dtc_reader_get_environment(reader, "kernel_release"));
	source->tracer = g_strdup(dtc_reader_get_environment(reader, "tracer_name"));
	guint64 count, noted = 0;
	while ((count = dtc_reader_count(reader)) > 0) {
		source->events += count;
		for (; source->events - noted >= DTC_READING_STEP; noted += DTC_READING_STEP)
			if (!dtc_reading_note(reading, dtc_reader_get_consumed_bytes(reader)))
				return;
	}
	if (source->events > 0)
		dtc_reader_get_counted_span(reader, &source->begin_ns, &source->end_ns);
	if (!dtc_reader_finish(reader, reading->findings, &reading->error))
		return;
	source->lost_events = dtc_reader_get_lost_count(reader);
	list_kinds(source, reader);
}

static void read_captures(struct dtc_census_source *source)
{
	struct dtc_reading *reading = &source->reading;
	g_autoptr(DtcNodeCaptures) captures =
		dtc_node_captures_new(reading->node->name, (const char *const *)reading->node->pcap_paths,
				      reading->node->environment, NULL, reading->findings);
	uint32_t id;

	while (dtc_node_captures_next(captures, &id))
		if (++source->packets % DTC_READING_STEP == 0 &&
		    !dtc_reading_note(reading, dtc_node_captures_get_consumed_bytes(captures)))
			return;
	(void)dtc_node_captures_finish(captures, &reading->error);
}

static void read_source(struct dtc_reading *reading)
{
	struct dtc_census_source *source = (struct dtc_census_source *)reading;

	if (reading->is_capture)
		read_captures(source);
	else
		read_kernel(source);
}

GPtrArray *dtc_census_new(const DtcBundle *bundle, const struct dtc_watch *watch, DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) sources = dtc_readings_new(bundle, sizeof(struct dtc_census_source), source_free);
	guint failed_count = 0;

	if (!dtc_readings_run(sources, read_source, watch, error))
		return NULL;
	dtc_origins_check(bundle, findings);
	if (!dtc_access_check_machine(error))
		return NULL;
	for (guint i = 0; i < sources->len; i++) {
		struct dtc_census_source *source = sources->pdata[i];
		struct dtc_reading *reading = &source->reading;
		if (reading->error && !reading->is_capture)
			dtc_reading_report_error(reading->node->name, reading->error, reading->findings);
		failed_count += reading->error && source->packets == 0;
		dtc_findings_move(findings, reading->findings);
	}
	if (sources->len > 0 && failed_count == sources->len) {
		struct dtc_reading *first = sources->pdata[0];
		g_propagate_error(error, g_steal_pointer(&first->error));
		return NULL;
	}
	return g_steal_pointer(&sources);
}

const struct dtc_census_source *dtc_census_find(const GPtrArray *sources, guint node_index, bool is_capture)
{
	for (guint i = 0; i < sources->len; i++) {
		const struct dtc_census_source *source = sources->pdata[i];
		if (source->reading.node_index == node_index && source->reading.is_capture == is_capture)
			return source;
	}
	return NULL;
}
