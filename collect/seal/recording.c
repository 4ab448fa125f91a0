/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/recording.h"

#include "collect/bundle/access.h"
#include "collect/bundle/paths.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 8192u
#define MIN_PAGE_BYTES 512u
#define MAX_PAGE_BYTES (64u << 20)
#define MAX_TEXT_BYTES ((gsize)64 << 20)
#define SLACK_NS ((int64_t)60 * 1000000000)
#define MAX_TIME_NS ((int64_t)1 << 60) /* 36 years after the boot */

/* Empty if it is not there or too large. */
static char *read_text(const DtcRecording *recording, const char *name, gsize *ret_bytes)
{
	g_autofree char *path = g_build_filename(recording->folder, name, NULL);
	g_autoptr(GMappedFile) file = dtc_access_map(path);
	gsize bytes = file ? g_mapped_file_get_length(file) : 0;
	if (bytes == 0 || bytes > MAX_TEXT_BYTES) {
		*ret_bytes = 0;
		return g_strdup("");
	}
	*ret_bytes = bytes;
	return g_strndup(g_mapped_file_get_contents(file), bytes);
}

/* The numbers of a line; how many there are, up to max. */
static guint parse_numbers(const char *line, int64_t *numbers, guint max)
{
	guint count = 0;
	for (char *end; count < max; line = end) {
		numbers[count] = g_ascii_strtoll(line, &end, 10);
		if (end == line)
			break;
		count++;
	}
	return count;
}

static void read_clocks(DtcRecording *recording)
{
	gsize bytes;
	g_autofree char *text = read_text(recording, DTC_RAW_CLOCKS, &bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		int64_t n[6];
		struct dtc_raw_clock clock;
		if (parse_numbers(*line, n, 6) != 6 || n[0] < 0 || n[0] > MAX_TIME_NS)
			continue;
		clock = (struct dtc_raw_clock){ n[0], n[1], n[5] };
		g_array_append_val(recording->clocks, clock);
	}
}

static void read_drops(DtcRecording *recording)
{
	gsize bytes;
	g_autofree char *text = read_text(recording, DTC_RAW_DROPS, &bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		int64_t n[8];
		if (parse_numbers(*line, n, 8) != 8 || n[1] < 0 || n[1] >= MAX_CPUS || n[3] < 0 || n[4] < 0 || n[6] < 0)
			continue;
		struct dtc_raw_drop drop = { .mono_ns = n[0],
					     .cpu = (uint32_t)n[1],
					     .overrun = (uint64_t)n[3],
					     .dropped = (uint64_t)n[4] + (uint64_t)n[6] };
		g_array_append_val(recording->drops, drop);
	}
}

static void clear_capture(void *data)
{
	struct dtc_raw_capture *capture = data;
	g_free(capture->file);
}

/* Names of files of the node's folder only. */
static void read_captures(DtcRecording *recording)
{
	gsize bytes;
	g_autofree char *text = read_text(recording, DTC_RAW_CAPTURES, &bytes);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		g_auto(GStrv) words = g_strsplit_set(*line, " \t", 4);
		guint count = g_strv_length(words);
		if (count < 2 || !dtc_bundle_path_check(words[0]) || strchr(words[0], '/'))
			continue;
		struct dtc_raw_capture capture = { .file = g_strdup(words[0]),
						   .netns = (uint32_t)g_ascii_strtoull(words[1], NULL, 10) };
		capture.packets = count > 2 ? g_ascii_strtoull(words[2], NULL, 10) : 0;
		capture.dropped = count > 3 ? g_ascii_strtoull(words[3], NULL, 10) : 0;
		g_array_append_val(recording->captures, capture);
	}
}

char *dtc_recording_get_text(const DtcRecording *recording, const char *key)
{
	char *text = g_key_file_get_string(recording->keys, DTC_RAW_GROUP, key, NULL);
	return text ? text : g_strdup("");
}

static int64_t get_time(const DtcRecording *recording, const char *key)
{
	int64_t time_ns = g_key_file_get_int64(recording->keys, DTC_RAW_GROUP, key, NULL);
	return CLAMP(time_ns, 0, MAX_TIME_NS);
}

static int compare_cpus(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void take_cpus(DtcRecording *recording)
{
	gsize count;
	g_autofree gint *numbers =
		g_key_file_get_integer_list(recording->keys, DTC_RAW_GROUP, DTC_RAW_KEY_CPUS, &count, NULL);
	recording->cpus = g_new0(uint32_t, MAX_CPUS);
	for (gsize i = 0; numbers && i < count && recording->cpu_count < MAX_CPUS; i++)
		if (numbers[i] >= 0 && (guint)numbers[i] < MAX_CPUS)
			recording->cpus[recording->cpu_count++] = (uint32_t)numbers[i];
	qsort(recording->cpus, recording->cpu_count, sizeof *recording->cpus, compare_cpus);
	guint kept = 0;
	for (guint i = 0; i < recording->cpu_count; i++)
		if (kept == 0 || recording->cpus[kept - 1] != recording->cpus[i])
			recording->cpus[kept++] = recording->cpus[i];
	recording->cpu_count = kept;
}

static bool set_damaged(const DtcRecording *recording, const char *reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "'%s/%s' cannot be sealed: %s", recording->folder,
		    DTC_RAW_RECORDING, reason);
	return false;
}

static bool read_keys(DtcRecording *recording, GError **error)
{
	g_autofree char *path = g_build_filename(recording->folder, DTC_RAW_RECORDING, NULL);
	g_autoptr(GError) reason = NULL;

	if (!g_key_file_load_from_file(recording->keys, path, G_KEY_FILE_NONE, &reason)) {
		bool is_absent = g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOENT);
		g_set_error(error, DTC_COLLECT_ERROR, is_absent ? DTC_ERROR_NOT_FOUND : DTC_ERROR_DAMAGED,
			    is_absent ? "there is no raw recording '%s'\nname the folder of a node that dtrace-collect "
					"has recorded"
				      : "'%s' cannot be understood: %s",
			    path, reason->message);
		return false;
	}
	if (g_key_file_get_integer(recording->keys, DTC_RAW_GROUP, DTC_RAW_KEY_VERSION, NULL) != DTC_RAW_VERSION)
		return set_damaged(recording, "it is of another version\nseal with the dtrace-collect that recorded it",
				   error);
	g_autofree char *tracer = dtc_recording_get_text(recording, DTC_RAW_KEY_TRACER);
	g_autofree char *state = dtc_recording_get_text(recording, DTC_RAW_KEY_STATE);
	int64_t page_bytes = g_key_file_get_int64(recording->keys, DTC_RAW_GROUP, DTC_RAW_KEY_PAGE_SIZE, NULL);
	recording->is_lttng = strcmp(tracer, "lttng") == 0;
	if (!recording->is_lttng && strcmp(tracer, "tracefs") != 0)
		return set_damaged(recording, "it is of a tracer that is not known", error);
	if (!recording->is_lttng && (page_bytes < MIN_PAGE_BYTES || page_bytes > MAX_PAGE_BYTES || page_bytes % 8 != 0))
		return set_damaged(recording, "its page-size is none", error);
	recording->page_bytes = (uint32_t)page_bytes;
	recording->was_stopped = strcmp(state, "stopped") == 0;
	recording->begin_ns = MAX(get_time(recording, DTC_RAW_KEY_BEGIN) - SLACK_NS, 0);
	recording->end_ns = recording->was_stopped ? get_time(recording, DTC_RAW_KEY_END) + SLACK_NS : MAX_TIME_NS;
	recording->from_ns = get_time(recording, DTC_RAW_KEY_FROM);
	if (recording->from_ns > 0) /* on a CPU where little happens, what was not overwritten is as old as it likes */
		recording->begin_ns = 0;
	if (recording->end_ns <= recording->begin_ns)
		recording->end_ns = MAX_TIME_NS;
	if (recording->is_lttng)
		return true;
	take_cpus(recording);
	return recording->cpu_count > 0 || set_damaged(recording, "it names no CPUs", error);
}

static bool read_formats(DtcRecording *recording, DtcFindings *findings, GError **error)
{
	gsize bytes;
	guint skipped;
	g_autofree char *layout = read_text(recording, DTC_RAW_HEADER_PAGE, &bytes);
	if (!dtc_page_layout_parse(layout, &recording->layout))
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, recording->node,
				 "'%s' is missing or not understood: pages are read as 64-bit kernels write them",
				 DTC_RAW_HEADER_PAGE);
	if (recording->page_bytes <= recording->layout.data_offset)
		return set_damaged(recording, "its page-size is none", error);
	g_autofree char *text = read_text(recording, DTC_RAW_FORMATS, &bytes);
	recording->formats = dtc_formats_parse(text, bytes, &skipped);
	if (dtc_formats_get_count(recording->formats) == 0)
		return set_damaged(recording, "its formats are missing, so that its events cannot be read", error);
	if (skipped)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, recording->node,
				 "%u event formats could not be understood; their events are left out", skipped);
	return true;
}

DtcRecording *dtc_recording_read(const char *node_folder, DtcFindings *findings, GError **error)
{
	g_autoptr(DtcRecording) recording = g_new0(DtcRecording, 1);

	recording->folder = g_build_filename(node_folder, DTC_RAW_FOLDER, NULL);
	recording->keys = g_key_file_new();
	recording->clocks = g_array_new(FALSE, FALSE, sizeof(struct dtc_raw_clock));
	recording->drops = g_array_new(FALSE, FALSE, sizeof(struct dtc_raw_drop));
	recording->captures = g_array_new(FALSE, FALSE, sizeof(struct dtc_raw_capture));
	g_array_set_clear_func(recording->captures, clear_capture);
	if (!read_keys(recording, error))
		return NULL;
	recording->node = dtc_recording_get_text(recording, DTC_RAW_KEY_NODE);
	if (!dtc_node_name_check(recording->node)) {
		g_free(recording->node);
		recording->node = g_path_get_basename(node_folder);
	}
	if (recording->is_lttng)
		recording->formats = dtc_formats_parse("", 0, &(guint){ 0 });
	else if (!read_formats(recording, findings, error))
		return NULL;
	read_clocks(recording);
	read_drops(recording);
	read_captures(recording);
	return g_steal_pointer(&recording);
}

void dtc_recording_free(DtcRecording *recording)
{
	if (!recording)
		return;
	g_free(recording->folder);
	g_free(recording->node);
	g_key_file_unref(recording->keys);
	g_free(recording->cpus);
	dtc_formats_free(recording->formats);
	g_array_unref(recording->clocks);
	g_array_unref(recording->drops);
	g_array_unref(recording->captures);
	g_free(recording);
}
