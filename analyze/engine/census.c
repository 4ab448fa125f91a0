/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/census.h"

#include "analyze/engine/origins.h"
#include "analyze/engine/owners.h"
#include "analyze/engine/recording_image.h"
#include "collect/bundle/access.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"

#include <string.h>

void dtc_census_source_clear(struct dtc_census_source *source)
{
	dtc_reading_clear(&source->reading);
	g_free(source->backend);
	g_free(source->release);
	g_free(source->tracer);
	dtc_trace_origin_clear(&source->origin);
	dtc_clock_class_clear(&source->clock);
	if (source->kinds)
		g_array_unref(source->kinds);
}

static void source_free(void *source)
{
	dtc_census_source_clear(source);
	g_free(source);
}

static void kind_clear(void *data)
{
	struct dtc_census_kind *kind = data;

	g_free(kind->name);
}

static void add_kind(struct dtc_census_source *source, const char *name, guint64 count)
{
	struct dtc_census_kind kind = { g_strdup(name), count };

	if (!source->kinds) {
		source->kinds = g_array_new(FALSE, FALSE, sizeof(struct dtc_census_kind));
		g_array_set_clear_func(source->kinds, kind_clear);
	}
	g_array_append_val(source->kinds, kind);
}

void dtc_census_begin(struct dtc_census_source *source, const DtcReader *reader)
{
	source->backend = g_strdup(dtc_reader_get_backend(reader));
	source->release = g_strdup(dtc_reader_get_environment(reader, "kernel_release"));
	source->tracer = g_strdup(dtc_reader_get_environment(reader, "tracer_name"));
}

void dtc_census_end(struct dtc_census_source *source, const DtcReader *reader)
{
	source->lost_events = dtc_reader_get_lost_count(reader);
	for (guint i = 0; i < dtc_reader_get_event_name_count(reader); i++) {
		guint64 count = dtc_reader_get_event_count(reader, i);
		if (count > 0)
			add_kind(source, dtc_reader_get_event_name(reader, i), count);
	}
}

void dtc_census_describe(struct dtc_census_source *source)
{
	const char *path = source->reading.node->kernel_path;

	if (source->reading.is_capture || !path)
		return;
	if (!dtc_reader_describe_origin(path, &source->origin))
		source->origin = (struct dtc_trace_origin){ 0 };
	if (!dtc_reader_describe_clock(path, &source->clock))
		source->clock = (struct dtc_clock_class){ 0 };
}

static void read_kernel(struct dtc_census_source *source)
{
	struct dtc_reading *reading = &source->reading;
	const char *refused_by = NULL;
	g_autoptr(DtcReader) reader = dtc_reader_try_node(reading->node, &refused_by, &reading->error);
	if (!reader) {
		source->backend = g_strdup(refused_by);
		return;
	}
	dtc_reader_share_threads(reader, reading->spare);
	dtc_census_begin(source, reader);
	guint64 count, noted = 0;
	while ((count = dtc_reader_count(reader)) > 0) {
		source->events += count;
		for (; source->events - noted >= DTC_READING_STEP; noted += DTC_READING_STEP)
			if (!dtc_reading_note(reading, dtc_reader_get_consumed_bytes(reader)))
				return;
	}
	if (source->events > 0)
		dtc_reader_get_counted_span(reader, &source->begin_ns, &source->end_ns);
	if (dtc_reader_finish(reader, reading->findings, &reading->error))
		dtc_census_end(source, reader);
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

/* A source that may have been counted before. */
struct counted {
	struct dtc_census_source source; /* first */
	const DtcBundle *bundle;
	DtcStore *store;
};

void dtc_census_read(struct dtc_census_source *source, const DtcBundle *bundle, DtcStore *store)
{
	if (source->reading.node->is_elsewhere) {
		dtc_owners_take_counts(source, bundle);
		return;
	}
	if (dtc_recording_find_counts(source, bundle, store))
		return;
	if (source->reading.is_capture)
		read_captures(source);
	else
		read_kernel(source);
	dtc_census_describe(source);
}

static void read_source(struct dtc_reading *reading)
{
	struct counted *counted = (struct counted *)reading;

	dtc_census_read(&counted->source, counted->bundle, counted->store);
}

GPtrArray *dtc_census_new(const DtcBundle *bundle, DtcStore *store, const struct dtc_watch *watch,
			  DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) sources = dtc_readings_new(bundle, sizeof(struct counted), source_free);
	guint failed_count = 0;

	for (guint i = 0; i < sources->len; i++) {
		((struct counted *)sources->pdata[i])->bundle = bundle;
		((struct counted *)sources->pdata[i])->store = store;
	}
	if (!dtc_owners_ask_counts(bundle, store, error) || !dtc_readings_run(sources, read_source, watch, error))
		return NULL;
	dtc_origins_check(bundle, sources, findings);
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

/* ---- images ---- */

struct saved_counts {
	uint64_t events;
	uint64_t lost_events;
	int64_t begin_ns;
	int64_t end_ns;
	uint64_t packets;
	uint64_t frequency_hz; /* of the clock, as the next two */
	int64_t offset_s;
	int64_t offset_cycles;
};

enum text {
	TEXT_BACKEND,
	TEXT_RELEASE,
	TEXT_TRACER,
	TEXT_ORIGIN_UUID,
	TEXT_ORIGIN_HOST,
	TEXT_ORIGIN_BOOT,
	TEXT_CLOCK_NAME,
	TEXT_CLOCK_UUID,
	TEXTS
};

static void list_texts(struct dtc_census_source *source, char **ret_texts[TEXTS])
{
	char **const texts[TEXTS] = { &source->backend,	    &source->release,	  &source->tracer,
				      &source->origin.uuid, &source->origin.host, &source->origin.boot,
				      &source->clock.name,  &source->clock.uuid };

	memcpy(ret_texts, texts, sizeof(texts));
}

/* A text that is not there is one of a byte that no text has. */
#define NO_TEXT "\1"

void dtc_census_save(const struct dtc_census_source *source, DtcImageWriter *writer)
{
	struct dtc_census_source shown = *source;
	char **members[TEXTS];
	const char *texts[TEXTS];
	const struct saved_counts counts = { source->events,	     source->lost_events,
					     source->begin_ns,	     source->end_ns,
					     source->packets,	     source->clock.frequency_hz,
					     source->clock.offset_s, source->clock.offset_cycles };
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(guint64));

	list_texts(&shown, members);
	for (guint i = 0; i < TEXTS; i++)
		texts[i] = *members[i] ? *members[i] : NO_TEXT;
	for (guint i = 0; source->kinds && i < source->kinds->len; i++) {
		const struct dtc_census_kind *kind = &g_array_index(source->kinds, struct dtc_census_kind, i);
		g_ptr_array_add(names, kind->name);
		g_array_append_val(kinds, kind->count);
	}
	dtc_image_add_copy(writer, "counts.head", sizeof(counts), &counts, 1);
	dtc_image_add_strings(writer, "counts.texts", texts, TEXTS);
	dtc_image_add_copy(writer, "counts.kinds", sizeof(guint64), kinds->data, kinds->len);
	dtc_image_add_strings(writer, "counts.names", (const char *const *)names->pdata, names->len);
}

static bool load_kinds(struct dtc_census_source *source, const DtcImage *image, GError **error)
{
	gsize count, name_count;
	const guint64 *kinds = dtc_image_get(image, "counts.kinds", sizeof(guint64), &count, error);
	g_autofree const char **names = kinds ? dtc_image_get_strings(image, "counts.names", &name_count, error) : NULL;

	if (!names)
		return false;
	if (count != name_count)
		return dtc_image_refuse(image, error, "kinds of events and their names are not equally many");
	for (gsize i = 0; i < count; i++)
		add_kind(source, names[i], kinds[i]);
	return true;
}

bool dtc_census_load(struct dtc_census_source *source, const DtcImage *image, GError **error)
{
	gsize text_count;
	char **members[TEXTS];
	const struct saved_counts *counts = dtc_image_get_one(image, "counts.head", sizeof(*counts), error);
	g_autofree const char **texts =
		counts ? dtc_image_get_strings(image, "counts.texts", &text_count, error) : NULL;

	if (!texts)
		return false;
	if (text_count != TEXTS)
		return dtc_image_refuse(image, error, "it has not all texts");
	source->events = counts->events;
	source->lost_events = counts->lost_events;
	source->begin_ns = counts->begin_ns;
	source->end_ns = counts->end_ns;
	source->packets = counts->packets;
	source->clock.frequency_hz = counts->frequency_hz;
	source->clock.offset_s = counts->offset_s;
	source->clock.offset_cycles = counts->offset_cycles;
	list_texts(source, members);
	for (guint i = 0; i < TEXTS; i++) {
		g_free(*members[i]);
		*members[i] = strcmp(texts[i], NO_TEXT) == 0 ? NULL : g_strdup(texts[i]);
	}
	return load_kinds(source, image, error);
}
