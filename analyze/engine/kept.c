/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/kept.h"

#include "analyze/engine/alignment_image.h"
#include "analyze/engine/origins.h"
#include "analyze/engine/owners.h"
#include "analyze/engine/recording_image.h"
#include "collect/bundle/access.h"
#include "collect/bundle/environment.h"
#include "dtrace-chain/error.h"

#include <errno.h>

static void kept_free(void *data)
{
	struct dtc_kept *kept = data;

	g_free(kept->file);
	g_free(kept->node);
	g_free(kept->path);
	g_free(kept->clocks);
	g_free(kept);
}

GPtrArray *dtc_kept_list(const DtcStore *store)
{
	g_autoptr(GArray) entries = dtc_store_list(store);
	GPtrArray *list = g_ptr_array_new_with_free_func(kept_free);

	for (guint i = 0; i < entries->len; i++) {
		const struct dtc_store_entry *entry = &g_array_index(entries, struct dtc_store_entry, i);
		g_autoptr(DtcImage) image = dtc_store_open_entry(store, entry);
		struct dtc_kept *kept = g_new0(struct dtc_kept, 1);
		kept->file = g_strdup(entry->file);
		kept->bytes = entry->bytes;
		kept->used_us = entry->used_us;
		if (image && !dtc_recording_describe_image(image, &kept->node, &kept->path, &kept->is_capture))
			kept->clocks = dtc_alignment_describe_image(image);
		g_ptr_array_add(list, kept);
	}
	return list;
}

/* ---- index ---- */

struct indexed {
	struct dtc_recording recording; /* first */
	const char *directory;		/* or NULL */
	GError *write_error;
};

static void indexed_free(void *data)
{
	g_clear_error(&((struct indexed *)data)->write_error);
	dtc_recording_free(data);
}

static bool write_environment(const struct dtc_bundle_node *node, const char *folder, GError **error)
{
	if (!node->environment)
		return true;
	g_autofree char *path = g_build_filename(folder, DTC_ENVIRONMENT_NAME, NULL);
	g_autofree char *text = dtc_environment_to_text(node->environment);
	return g_file_set_contents(path, text, -1, error);
}

static bool write_image(struct indexed *indexed, GError **error)
{
	const struct dtc_reading *reading = &indexed->recording.source.reading;
	g_autofree char *folder = g_build_filename(indexed->directory, reading->node->name, NULL);
	g_autofree char *path =
		g_build_filename(folder, reading->is_capture ? DTC_CAPTURE_IMAGE_NAME : DTC_KERNEL_IMAGE_NAME, NULL);

	if (g_mkdir_with_parents(folder, 0755) != 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_UNREADABLE,
			    "folder '%s' cannot be made: %s\nsee that TMPDIR has room, and may be written", folder,
			    g_strerror(errno));
		return false;
	}
	return dtc_recording_write_image(&indexed->recording, path, error) &&
	       write_environment(reading->node, folder, error);
}

/* What was read is freed at once: a bundle may be larger than memory. */
static void index_recording(struct dtc_reading *reading)
{
	struct indexed *indexed = (struct indexed *)reading;

	dtc_recording_read(&indexed->recording);
	if (indexed->directory && dtc_recording_has_result(&indexed->recording))
		(void)write_image(indexed, &indexed->write_error);
	dtc_recording_drop(&indexed->recording);
}

static bool take(struct indexed *indexed, struct dtc_index_summary *summary, DtcFindings *findings, GError **error)
{
	struct dtc_recording *recording = &indexed->recording;
	struct dtc_reading *reading = &recording->source.reading;

	if (reading->error && !reading->is_capture)
		dtc_reading_report_error(reading->node->name, reading->error, reading->findings);
	dtc_findings_move(findings, reading->findings);
	dtc_findings_move(findings, recording->made_findings);
	summary->all_count++;
	summary->image_count += recording->image_bytes > 0;
	summary->bytes += recording->image_bytes;
	if (!indexed->write_error)
		return true;
	g_propagate_error(error, g_steal_pointer(&indexed->write_error));
	return false;
}

bool dtc_index_bundle(const DtcBundle *bundle, DtcStore *store, const char *directory, const struct dtc_watch *watch,
		      DtcFindings *findings, struct dtc_index_summary *ret_summary, GPtrArray **ret_sources,
		      GError **error)
{
	const struct dtc_recordings_options options = { .needs_exchanges = true, .store = store };
	g_autoptr(GPtrArray) list = dtc_readings_new(bundle, sizeof(struct indexed), indexed_free);
	struct dtc_index_summary summary = { 0 };

	for (guint i = 0; i < list->len; i++) {
		struct indexed *indexed = list->pdata[i];
		indexed->recording.options = &options;
		indexed->recording.bundle = bundle;
		indexed->directory = directory;
	}
	if (!dtc_owners_ask_recordings(bundle, &options, error) ||
	    !dtc_readings_run(list, index_recording, watch, error))
		return false;
	dtc_origins_check(bundle, list, findings);
	if (!dtc_access_check_machine(error))
		return false;
	for (guint i = 0; i < list->len; i++)
		if (!take(list->pdata[i], &summary, findings, error))
			return false;
	*ret_summary = summary;
	*ret_sources = g_steal_pointer(&list);
	return true;
}
