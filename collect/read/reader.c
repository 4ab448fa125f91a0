/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges the streams of a back end into one sequence of events, counts them, and reports what was odd. */
#include "collect/read/reader.h"

#include "collect/read/ctf.h"
#include "collect/read/extent.h"
#include "collect/read/merge.h"
#include "collect/read/metadata.h"
#include "collect/read/salvage.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct DtcReader {
	char *node;
	char *path;
	DtcSalvage *salvage; /* of a damaged trace; NULL: the trace is read where it is */
	DtcCtf *ctf;
	DtcMerge *merge;
	guint current; /* stream that gave the last event, G_MAXUINT: none yet */
	DtcNames *event_names;
	DtcNames *call_names; /* 0: "unknown" */
	GArray *event_counts; /* guint64 by event name */
	guint64 event_count;
	guint64 lost_count;
	guint64 gap_count;
	guint64 uncounted_gap_count; /* gaps whose number of events is not known */
	guint cpu_count;
	struct dtc_extent extent;
	struct dtc_event event;
};

/* Events that the reader makes itself have no name in the trace. */
#define NO_NAME UINT16_MAX

/* At least one event that spellings.c knows. */
static bool declares_kernel_events(const DtcReader *reader)
{
	for (int kind = DTC_EVENT_OTHER + 1; kind < DTC_EVENT_KINDS; kind++)
		if (dtc_ctf_declares(reader->ctf, (enum dtc_event_kind)kind))
			return true;
	return false;
}

static bool check_trace(const DtcReader *reader, GError **error)
{
	const char *domain = dtc_ctf_get_environment(reader->ctf, "domain");
	if (!dtc_ctf_has_clock(reader->ctf)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "the trace of node '%s' in '%s' has no clock\nrecord with a tracer that stamps its events",
			    reader->node, reader->path);
		return false;
	}
	if (dtc_ctf_get_stream_count(reader->ctf) == 0)
		return true;
	bool is_user = g_strcmp0(domain, "ust") == 0;
	if (is_user || !declares_kernel_events(reader)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "the trace of node '%s' in '%s' is %s trace\ngive the directory of the kernel trace",
			    reader->node, reader->path, is_user ? "a user-space" : "not a kernel");
		return false;
	}
	return true;
}

static void build_merge(DtcReader *reader)
{
	guint count = dtc_ctf_get_stream_count(reader->ctf);
	reader->merge = dtc_merge_new(count);
	for (guint i = 0; i < count; i++)
		dtc_merge_set(reader->merge, i, dtc_ctf_get_stream(reader->ctf, i)->last_ns,
			      !dtc_ctf_has_item(reader->ctf, i));
	dtc_merge_build(reader->merge);
}

/* The salvage's question to babeltrace2. */
static bool can_open(const char *path)
{
	DtcNames *names = dtc_names_new();
	g_autofree char *reason = NULL;
	DtcCtf *ctf = dtc_ctf_open(path, names, names, &reason);
	dtc_ctf_free(ctf);
	dtc_names_free(names);
	return ctf != NULL;
}

static bool open_streams(DtcReader *reader, GError **error)
{
	g_autofree char *reason = NULL;
	if (!dtc_salvage_is_needed(reader->path))
		reader->ctf = dtc_ctf_open(reader->path, reader->event_names, reader->call_names, &reason);
	if (reader->ctf)
		return true;
	g_autoptr(GError) salvage_error = NULL;
	g_autofree char *salvage_reason = NULL;
	reader->salvage = dtc_salvage_new(reader->path, can_open, &salvage_error);
	if (reader->salvage)
		reader->ctf = dtc_ctf_open(dtc_salvage_get_path(reader->salvage), reader->event_names,
					   reader->call_names, &salvage_reason);
	if (reader->ctf)
		return true;
	if (salvage_error)
		g_propagate_prefixed_error(error, g_steal_pointer(&salvage_error),
					   "cannot read the trace of node '%s': ", reader->node);
	else
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "cannot read the trace of node '%s' in '%s': %s\ncopy the trace again from the node",
			    reader->node, reader->path, salvage_reason ? salvage_reason : reason);
	return false;
}

DtcReader *dtc_reader_open(const char *node, const char *path, GError **error)
{
	g_autoptr(DtcReader) reader = g_new0(DtcReader, 1);
	reader->node = g_strdup(node);
	reader->path = g_strdup(path);
	reader->current = G_MAXUINT;
	reader->event_names = dtc_names_new();
	reader->call_names = dtc_names_new();
	dtc_names_add(reader->call_names, "unknown");
	reader->event_counts = g_array_new(FALSE, TRUE, sizeof(guint64));
	g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
	if (!g_file_test(metadata, G_FILE_TEST_IS_REGULAR)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "'%s' holds no trace of node '%s': no file 'metadata'\n"
			    "a trace is a directory with the CTF metadata beside its streams",
			    path, node);
		return NULL;
	}
	if (!dtc_metadata_check(metadata, error)) {
		g_prefix_error(error, "cannot read the trace of node '%s': ", node);
		return NULL;
	}
	if (!open_streams(reader, error) || !check_trace(reader, error))
		return NULL;
	build_merge(reader);
	reader->extent = dtc_extent_of_trace(reader->salvage ? dtc_salvage_get_path(reader->salvage) : path);
	return g_steal_pointer(&reader);
}

void dtc_reader_free(DtcReader *reader)
{
	if (!reader)
		return;
	dtc_merge_free(reader->merge);
	dtc_ctf_free(reader->ctf);
	dtc_salvage_free(reader->salvage);
	dtc_names_free(reader->event_names);
	dtc_names_free(reader->call_names);
	g_array_unref(reader->event_counts);
	g_free(reader->node);
	g_free(reader->path);
	g_free(reader);
}

static void fill_lost(DtcReader *reader, const struct dtc_gap *gap, bool is_cut)
{
	struct dtc_event *event = &reader->event;
	event->kind = DTC_EVENT_LOST;
	event->name = NO_NAME;
	event->text[0] = event->text[1] = NULL;
	event->has_address = false;
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		event->v[i] = DTC_ABSENT;
	event->v[DTC_LOST_COUNT] = gap->count;
	event->v[DTC_LOST_BEGIN] = MIN(gap->begin_ns, event->time_ns);
	if (is_cut)
		return; /* reported as damage */
	reader->gap_count++;
	if (gap->count == DTC_ABSENT)
		reader->uncounted_gap_count++;
	else
		reader->lost_count += (guint64)gap->count;
}

const struct dtc_event *dtc_reader_next(DtcReader *reader)
{
	if (G_LIKELY(reader->current != G_MAXUINT)) {
		dtc_ctf_advance(reader->ctf, reader->current);
		dtc_merge_replace_top(reader->merge, dtc_ctf_get_stream(reader->ctf, reader->current)->last_ns,
				      !dtc_ctf_has_item(reader->ctf, reader->current));
	}
	reader->current = dtc_merge_get_top(reader->merge);
	if (reader->current == G_MAXUINT)
		return NULL;
	const struct dtc_stream *stream = dtc_ctf_get_stream(reader->ctf, reader->current);
	struct dtc_event *event = &reader->event;
	event->time_ns = stream->last_ns;
	event->cpu = stream->cpu;
	reader->cpu_count = MAX(reader->cpu_count, stream->cpu + 1);
	if (stream->is_gap) {
		fill_lost(reader, &stream->gap, stream->is_cut);
		return event;
	}
	dtc_ctf_fill(reader->ctf, reader->current, event);
	if (G_UNLIKELY(event->name >= reader->event_counts->len))
		g_array_set_size(reader->event_counts, event->name + 1u);
	g_array_index(reader->event_counts, guint64, event->name)++;
	reader->event_count++;
	return event;
}

static void report_stream(const DtcReader *reader, const struct dtc_stream *stream, DtcFindings *findings)
{
	const char *name = stream->name ? stream->name : "(unnamed)";
	if (stream->error)
		dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, reader->node,
				 "stream '%s' is damaged after %" G_GUINT64_FORMAT " events: %s", name,
				 stream->event_count, stream->error);
	if (stream->reversal_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, reader->node,
				 "the clock of stream '%s' ran backward %" G_GUINT64_FORMAT
				 " times, by up to %" G_GINT64_FORMAT " ns; those events were held in order",
				 name, stream->reversal_count, stream->reversal_max_ns);
}

bool dtc_reader_finish(DtcReader *reader, DtcFindings *findings, GError **error)
{
	const struct dtc_stream *damaged = NULL;
	const GPtrArray *losses = reader->salvage ? dtc_salvage_get_losses(reader->salvage) : NULL;
	for (guint i = 0; losses && i < losses->len; i++)
		dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, reader->node, "%s",
				 (const char *)g_ptr_array_index(losses, i));
	guint count = dtc_ctf_get_stream_count(reader->ctf);
	for (guint i = 0; i < count; i++) {
		const struct dtc_stream *stream = dtc_ctf_get_stream(reader->ctf, i);
		if (stream->error && !damaged)
			damaged = stream;
		report_stream(reader, stream, findings);
	}
	if (reader->event_count == 0 && damaged) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "no event of node '%s' in '%s' can be read: %s\ncheck the copy against the original",
			    reader->node, reader->path, damaged->error);
		return false;
	}
	if (reader->event_count == 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, reader->node, "the trace holds no events");
	if (reader->uncounted_gap_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, reader->node,
				 "events were lost: %" G_GUINT64_FORMAT " or more in %" G_GUINT64_FORMAT
				 " gaps; how many in %" G_GUINT64_FORMAT " of them is not known",
				 reader->lost_count, reader->gap_count, reader->uncounted_gap_count);
	else if (reader->gap_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, reader->node,
				 "%" G_GUINT64_FORMAT " events were lost in %" G_GUINT64_FORMAT " gaps",
				 reader->lost_count, reader->gap_count);
	return true;
}

const char *dtc_reader_get_backend(const DtcReader *reader)
{
	(void)reader;
	return "reference";
}

guint dtc_reader_get_event_name_count(const DtcReader *reader)
{
	return dtc_names_get_count(reader->event_names);
}

const char *dtc_reader_get_event_name(const DtcReader *reader, guint index)
{
	return index == NO_NAME ? "(lost events)" : dtc_names_get(reader->event_names, index);
}

guint64 dtc_reader_get_event_count(const DtcReader *reader, guint index)
{
	return index < reader->event_counts->len ? g_array_index(reader->event_counts, guint64, index) : 0;
}

guint dtc_reader_get_syscall_name_count(const DtcReader *reader)
{
	return dtc_names_get_count(reader->call_names);
}

const char *dtc_reader_get_syscall_name(const DtcReader *reader, guint index)
{
	return dtc_names_get(reader->call_names, index);
}

guint64 dtc_reader_get_consumed_bytes(const DtcReader *reader)
{
	guint64 all = reader->extent.packets;

	if (all == 0)
		return 0;
	return reader->extent.bytes / all * MIN(dtc_ctf_get_packet_count(reader->ctf), all);
}

guint64 dtc_reader_get_lost_count(const DtcReader *reader)
{
	return reader->lost_count;
}

guint dtc_reader_get_cpu_count(const DtcReader *reader)
{
	return reader->cpu_count;
}

bool dtc_reader_declares(const DtcReader *reader, enum dtc_event_kind kind)
{
	return dtc_ctf_declares(reader->ctf, kind);
}

const char *dtc_reader_get_environment(const DtcReader *reader, const char *key)
{
	static const struct {
		const char *lttng;
		const char *perf;
	} spellings[] = { { "kernel_release", "release" }, { "hostname", "host" } };
	const char *value = dtc_ctf_get_environment(reader->ctf, key);
	for (gsize i = 0; !value && i < G_N_ELEMENTS(spellings); i++)
		if (strcmp(key, spellings[i].lttng) == 0)
			value = dtc_ctf_get_environment(reader->ctf, spellings[i].perf);
	return value ? value : "";
}
