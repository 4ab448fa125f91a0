/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/census.h"

#include "analyze/report/printable.h"
#include "collect/read/capture.h"
#include "collect/read/reader.h"

#include <string.h>

static void source_clear(void *data)
{
	struct dtc_census_source *source = data;
	dtc_findings_free(source->findings);
	g_clear_error(&source->error);
	g_free(source->backend);
	g_free(source->release);
	g_free(source->tracer);
	if (source->kinds)
		g_hash_table_unref(source->kinds);
}

static void add_kind(GHashTable *kinds, const char *name, guint64 count)
{
	if (count == 0)
		return;
	char *key = dtc_printable(name, DTC_PRINTABLE_MAX);
	guint64 *sum = g_hash_table_lookup(kinds, key);
	if (sum) {
		*sum += count; /* names of a hostile trace may become the same when they are made printable */
		g_free(key);
		return;
	}
	sum = g_new(guint64, 1);
	*sum = count;
	g_hash_table_insert(kinds, key, sum);
}

static void read_kernel(struct dtc_census_source *source)
{
	g_autoptr(DtcReader) reader = dtc_reader_open(source->node->name, source->node->kernel_path, &source->error);
	if (!reader)
		return;
	source->backend = g_strdup(dtc_reader_get_backend(reader));
	source->release = g_strdup(dtc_reader_get_environment(reader, "kernel_release"));
	source->tracer = g_strdup(dtc_reader_get_environment(reader, "tracer_name"));
	const struct dtc_event *event;
	while ((event = dtc_reader_next(reader))) {
		if (event->kind == DTC_EVENT_LOST)
			continue;
		if (source->events == 0)
			source->begin_ns = event->time_ns;
		source->end_ns = event->time_ns;
		if (++source->events % DTC_READING_STEP == 0)
			dtc_reading_note(&source->reading, dtc_reader_get_consumed_bytes(reader));
	}
	if (!dtc_reader_finish(reader, source->findings, &source->error))
		return;
	source->lost_events = dtc_reader_get_lost_count(reader);
	for (guint i = 0; i < dtc_reader_get_event_name_count(reader); i++)
		add_kind(source->kinds, dtc_reader_get_event_name(reader, i), dtc_reader_get_event_count(reader, i));
}

static void read_captures(struct dtc_census_source *source)
{
	guint64 done_bytes = 0;

	for (char **path = source->node->pcap_paths; *path; path++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcCapture) capture = dtc_capture_open(source->node->name, *path, &error);
		if (!capture) {
			dtc_findings_add(source->findings, DTC_SEVERITY_ERROR, true, source->node->name, "%.*s",
					 (int)strcspn(error->message, "\n"), error->message);
			if (!source->error)
				source->error = g_steal_pointer(&error);
			continue;
		}
		while (dtc_capture_next(capture))
			if (++source->packets % DTC_READING_STEP == 0)
				dtc_reading_note(&source->reading,
						 done_bytes + dtc_capture_get_consumed_bytes(capture));
		done_bytes += dtc_capture_get_consumed_bytes(capture);
		dtc_capture_finish(capture, source->findings);
	}
}

static void read_source(void *data, void *finished)
{
	struct dtc_census_source *source = data;
	if (source->is_capture)
		read_captures(source);
	else
		read_kernel(source);
	dtc_reading_end(&source->reading);
	g_async_queue_push(finished, source);
}

static void add_source(GArray *sources, const struct dtc_bundle_node *node, guint index, bool is_capture)
{
	struct dtc_census_source source = { .node = node, .node_index = index, .is_capture = is_capture };
	source.reading.all_bytes = dtc_reading_measure(node, is_capture);
	source.findings = dtc_findings_new();
	source.kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_array_append_val(sources, source);
}

GArray *dtc_census_new(const DtcBundle *bundle, bool is_quiet, DtcFindings *findings, GError **error)
{
	GArray *sources = g_array_new(FALSE, FALSE, sizeof(struct dtc_census_source));
	g_array_set_clear_func(sources, source_clear);
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (node->kernel_path)
			add_source(sources, node, i, false);
		if (node->pcap_paths[0])
			add_source(sources, node, i, true);
	}
	g_autoptr(DtcProgress) progress = dtc_progress_new(is_quiet);
	gint64 begin_us = g_get_monotonic_time();
	GAsyncQueue *finished = g_async_queue_new();
	int thread_count = (int)MIN(g_get_num_processors(), sources->len);
	GThreadPool *pool = g_thread_pool_new(read_source, finished, MAX(thread_count, 1), FALSE, error);
	if (!pool) {
		g_async_queue_unref(finished);
		g_array_unref(sources);
		return NULL;
	}
	for (guint i = 0; i < sources->len; i++)
		g_thread_pool_push(pool, &g_array_index(sources, struct dtc_census_source, i), NULL);
	for (guint count = 0; count < sources->len;) {
		if (g_async_queue_timeout_pop(finished, DTC_READING_WAIT_US))
			count++;
		dtc_reading_show(&g_array_index(sources, struct dtc_census_source, 0).reading,
				 sizeof(struct dtc_census_source), sources->len, begin_us, progress);
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	g_async_queue_unref(finished);

	guint failed_count = 0;
	for (guint i = 0; i < sources->len; i++) {
		struct dtc_census_source *source = &g_array_index(sources, struct dtc_census_source, i);
		if (source->error && !source->is_capture)
			dtc_findings_add(source->findings, DTC_SEVERITY_ERROR, true, source->node->name, "%.*s",
					 (int)strcspn(source->error->message, "\n"), source->error->message);
		failed_count += source->error && source->packets == 0;
		dtc_findings_move(findings, source->findings);
	}
	if (sources->len > 0 && failed_count == sources->len) {
		struct dtc_census_source *first = &g_array_index(sources, struct dtc_census_source, 0);
		g_propagate_error(error, g_steal_pointer(&first->error));
		g_array_unref(sources);
		return NULL;
	}
	return sources;
}

const struct dtc_census_source *dtc_census_find(const GArray *sources, guint node_index, bool is_capture)
{
	for (guint i = 0; i < sources->len; i++) {
		const struct dtc_census_source *source = &g_array_index(sources, struct dtc_census_source, i);
		if (source->node_index == node_index && source->is_capture == is_capture)
			return source;
	}
	return NULL;
}
