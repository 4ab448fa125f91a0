/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/inventory.h"

#include "collect/read/ctf/clock_class.h"

#include "collect/bundle/access.h"
#include "collect/read/ctf/stream_file.h"

#include <string.h>
#include <sys/stat.h>

struct DtcInventory {
	char *path;
	GPtrArray *streams; /* owned names, NULL-terminated once all is known */
	GPtrArray *strays;  /* owned names, as the following: no part of the trace */
	GPtrArray *foreign; /* packets of another trace */
	GPtrArray *copies;  /* equal to the stream file in originals of the same index, byte by byte */
	GPtrArray *originals;
	GPtrArray *missing;  /* there should be a stream, and is none, or an empty one */
	GPtrArray *indexes;  /* of these streams do not fit */
	bool is_all_foreign; /* no file has the uuid that the metadata tells */
	bool has_layout;
	struct dtc_packet_layout layout;
	GHashTable *marks; /* guint64, by streams' borrowed names: of those that were looked into */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_name(const GPtrArray *names, const char *name)
{
	for (guint i = 0; i < names->len; i++)
		if (names->pdata[i] && strcmp(names->pdata[i], name) == 0)
			return true;
	return false;
}

/* ---- names ---- */

/* "channel0_3" is of the same channel as "channel0_12"; the length of what they share, 0 without a number. */
static gsize get_channel_bytes(const char *name)
{
	gsize length = strlen(name), end = length;
	while (end > 0 && g_ascii_isdigit(name[end - 1]))
		end--;
	return end < length ? end : 0;
}

/* The packets that LTTng's index of a stream tells of, -1 without an index. */
static int64_t get_index_packets(const DtcInventory *inventory, const char *name)
{
	g_autofree char *file = g_strconcat(name, ".idx", NULL);
	g_autofree char *path = g_build_filename(inventory->path, "index", file, NULL);
	return dtc_stream_index_count_packets(path);
}

static bool is_called_like_stream(const DtcInventory *inventory, const char *name)
{
	gsize bytes = get_channel_bytes(name);
	if (get_index_packets(inventory, name) >= 0)
		return true;
	for (guint i = 0; bytes > 0 && i < inventory->streams->len; i++) {
		const char *other = inventory->streams->pdata[i];
		if (get_channel_bytes(other) == bytes && strncmp(other, name, bytes) == 0)
			return true;
	}
	return false;
}

/* ---- files ---- */

struct entries {
	GPtrArray *files;  /* owned names: not empty */
	GPtrArray *others; /* neither a folder nor such a file */
	GPtrArray *folders;
};

static void list_entries(const char *path, struct entries *entries)
{
	g_autoptr(GDir) dir = dtc_access_list(path);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		struct stat info;
		if (name[0] == '.' || strcmp(name, "metadata") == 0 || strcmp(name, "index") == 0)
			continue;
		bool is_there = stat(file, &info) == 0;
		GPtrArray *to = is_there && S_ISDIR(info.st_mode)			? entries->folders
				: is_there && S_ISREG(info.st_mode) && info.st_size > 0 ? entries->files
											: entries->others;
		g_ptr_array_add(to, g_strdup(name));
	}
	g_ptr_array_sort(entries->files, compare_names);
	g_ptr_array_sort(entries->others, compare_names);
	g_ptr_array_sort(entries->folders, compare_names);
}

/* The streams first, so that the others can be compared with their names. */
static void sort_files(DtcInventory *inventory, const GPtrArray *files)
{
	for (guint i = 0; i < files->len; i++) {
		g_autofree char *path = g_build_filename(inventory->path, files->pdata[i], NULL);
		guint64 mark = 0;
		if (inventory->has_layout && !dtc_stream_file_has_packet(path, &inventory->layout, &mark))
			continue;
		char *name = g_strdup(files->pdata[i]);
		g_ptr_array_add(inventory->streams, name);
		g_hash_table_insert(inventory->marks, name, g_memdup2(&mark, sizeof(mark)));
	}
	guint stream_count = inventory->streams->len;
	for (guint i = 0; i < files->len; i++) {
		const char *name = files->pdata[i];
		g_autofree char *path = g_build_filename(inventory->path, name, NULL);
		if (has_name(inventory->streams, name))
			continue;
		if (dtc_stream_file_is_foreign(path, &inventory->layout))
			g_ptr_array_add(inventory->foreign, g_strdup(name));
		else
			g_ptr_array_add(is_called_like_stream(inventory, name) ? inventory->streams : inventory->strays,
					g_strdup(name));
	}
	if (inventory->streams->len > stream_count)
		g_ptr_array_sort(inventory->streams, compare_names);
}

/* Where a stream should be is something else: pipes, folders, files of 0 bytes, which a CPU without events has, too. */
static void sort_others(DtcInventory *inventory, const struct entries *entries)
{
	for (guint i = 0; i < entries->others->len; i++) {
		const char *name = entries->others->pdata[i];
		g_autofree char *path = g_build_filename(inventory->path, name, NULL);
		bool is_empty = g_file_test(path, G_FILE_TEST_IS_REGULAR);
		if (is_empty ? get_index_packets(inventory, name) > 0 : is_called_like_stream(inventory, name))
			g_ptr_array_add(inventory->missing, g_strdup(name));
		else if (!is_empty)
			g_ptr_array_add(inventory->strays, g_strdup(name));
	}
	for (guint i = 0; i < entries->folders->len; i++)
		if (is_called_like_stream(inventory, entries->folders->pdata[i]))
			g_ptr_array_add(inventory->missing, g_strdup(entries->folders->pdata[i]));
}

static bool is_known(const DtcInventory *inventory, const char *name)
{
	return has_name(inventory->streams, name) || has_name(inventory->missing, name) ||
	       has_name(inventory->foreign, name);
}

/* Streams that have an index and nothing else. */
static void find_missing(DtcInventory *inventory)
{
	g_autofree char *path = g_build_filename(inventory->path, "index", NULL);
	g_autoptr(GDir) dir = dtc_access_list(path);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		if (name[0] == '.' || !g_str_has_suffix(name, ".idx"))
			continue;
		g_autofree char *stream = g_strndup(name, strlen(name) - strlen(".idx"));
		if (!is_known(inventory, stream) && get_index_packets(inventory, stream) > 0)
			g_ptr_array_add(inventory->missing, g_steal_pointer(&stream));
	}
	g_ptr_array_sort(inventory->missing, compare_names);
}

static bool are_equal(const DtcInventory *inventory, const char *name, const char *other)
{
	g_autofree char *path = g_build_filename(inventory->path, name, NULL);
	g_autofree char *other_path = g_build_filename(inventory->path, other, NULL);
	return dtc_stream_file_is_equal(path, other_path);
}

static guint64 get_mark(const DtcInventory *inventory, const char *name)
{
	const guint64 *mark = g_hash_table_lookup(inventory->marks, name);
	if (mark)
		return *mark;
	g_autofree char *path = g_build_filename(inventory->path, name, NULL);
	return dtc_stream_file_get_mark(path);
}

/* Hundreds of streams are compared by their marks, which are made once; only what looks equal is read. */
static void find_copies(DtcInventory *inventory)
{
	GPtrArray *streams = inventory->streams;
	g_autoptr(GArray) marks = g_array_new(FALSE, FALSE, sizeof(guint64));
	for (guint i = 0; i < streams->len; i++) {
		guint64 mark = get_mark(inventory, streams->pdata[i]);
		g_array_append_val(marks, mark);
	}
	for (guint i = 0; i < streams->len; i++) {
		for (guint k = i + 1; k < streams->len;) {
			if (g_array_index(marks, guint64, i) != g_array_index(marks, guint64, k) ||
			    !are_equal(inventory, streams->pdata[i], streams->pdata[k])) {
				k++;
				continue;
			}
			g_ptr_array_add(inventory->originals, g_strdup(streams->pdata[i]));
			g_ptr_array_add(inventory->copies, g_ptr_array_steal_index(streams, k));
			g_array_remove_index(marks, k);
		}
	}
}

static void check_indexes(DtcInventory *inventory)
{
	for (guint i = 0; i < inventory->streams->len; i++) {
		const char *name = inventory->streams->pdata[i];
		g_autofree char *file = g_strconcat(name, ".idx", NULL);
		g_autofree char *index = g_build_filename(inventory->path, "index", file, NULL);
		g_autofree char *path = g_build_filename(inventory->path, name, NULL);
		if (!dtc_stream_index_fits(index, path, &inventory->layout))
			g_ptr_array_add(inventory->indexes, g_strdup(name));
	}
}

static bool find_layout(DtcInventory *inventory, const GPtrArray *files)
{
	g_autofree const char **names = g_new0(const char *, files->len + 1);
	for (guint i = 0; i < files->len; i++)
		names[i] = files->pdata[i];
	inventory->is_all_foreign = dtc_packets_are_foreign(inventory->path, names);
	return dtc_packet_layout_find(inventory->path, names, &inventory->layout);
}

DtcInventory *dtc_inventory_new(const char *path)
{
	DtcInventory *inventory = g_new0(DtcInventory, 1);
	GPtrArray **lists[] = { &inventory->streams,   &inventory->strays,  &inventory->foreign, &inventory->copies,
				&inventory->originals, &inventory->missing, &inventory->indexes };
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) others = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
	struct entries entries = { files, others, folders };

	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
		*lists[i] = g_ptr_array_new_with_free_func(g_free);
	inventory->path = g_strdup(path);
	inventory->marks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	list_entries(path, &entries);
	inventory->has_layout = find_layout(inventory, files);
	sort_files(inventory, files);
	sort_others(inventory, &entries);
	find_missing(inventory);
	if (inventory->has_layout) {
		find_copies(inventory);
		check_indexes(inventory);
	}
	g_ptr_array_add(inventory->streams, NULL);
	return inventory;
}

void dtc_inventory_free(DtcInventory *inventory)
{
	if (!inventory)
		return;
	g_hash_table_unref(inventory->marks);
	g_ptr_array_unref(inventory->streams);
	g_ptr_array_unref(inventory->strays);
	g_ptr_array_unref(inventory->foreign);
	g_ptr_array_unref(inventory->copies);
	g_ptr_array_unref(inventory->originals);
	g_ptr_array_unref(inventory->missing);
	g_ptr_array_unref(inventory->indexes);
	g_free(inventory->path);
	g_free(inventory);
}

const char *const *dtc_inventory_get_streams(const DtcInventory *inventory)
{
	return (const char *const *)inventory->streams->pdata;
}

bool dtc_inventory_has_others(const DtcInventory *inventory)
{
	return inventory->strays->len > 0 || inventory->foreign->len > 0 || inventory->copies->len > 0 ||
	       inventory->missing->len > 0 || inventory->indexes->len > 0;
}

void dtc_inventory_report(const DtcInventory *inventory, const char *node, DtcFindings *findings)
{
	for (guint i = 0; i < inventory->missing->len; i++)
		dtc_findings_add_coded(findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_ERROR, true, node,
				       "stream file '%s' is missing, or nothing is left in it",
				       (const char *)inventory->missing->pdata[i]);
	for (guint i = 0; i < inventory->foreign->len; i++)
		dtc_findings_add_coded(findings, DTC_FINDING_STREAM_FOREIGN, DTC_SEVERITY_ERROR, true, node,
				       "stream file '%s' is of another trace (its packets have another uuid) and was "
				       "left out",
				       (const char *)inventory->foreign->pdata[i]);
	if (inventory->is_all_foreign)
		dtc_findings_add_coded(
			findings, DTC_FINDING_STREAM_FOREIGN, DTC_SEVERITY_ERROR, true, node,
			"the file 'metadata' is of another trace than the streams: no packet has its uuid");
	for (guint i = 0; i < inventory->copies->len; i++)
		dtc_findings_add_coded(findings, DTC_FINDING_STREAM_COPY, DTC_SEVERITY_WARNING, false, node,
				       "stream file '%s' is a copy of '%s' and was left out",
				       (const char *)inventory->copies->pdata[i],
				       (const char *)inventory->originals->pdata[i]);
	for (guint i = 0; i < inventory->strays->len; i++)
		dtc_findings_add_coded(findings, DTC_FINDING_STRAY_FILE, DTC_SEVERITY_WARNING, false, node,
				       "'%s' lies in the trace's folder, is no part of the trace and was left out",
				       (const char *)inventory->strays->pdata[i]);
	for (guint i = 0; i < inventory->indexes->len; i++)
		dtc_findings_add_coded(findings, DTC_FINDING_INDEX, DTC_SEVERITY_WARNING, false, node,
				       "the index of stream file '%s' does not fit its packets and was not used",
				       (const char *)inventory->indexes->pdata[i]);
}

bool dtc_inventory_is_all_foreign(const DtcInventory *inventory)
{
	return inventory->is_all_foreign;
}

void dtc_inventory_report_empty(const char *path, const char *node, DtcFindings *findings)
{
	if (dtc_clock_class_is_of(path, "kernel"))
		dtc_findings_add_coded(findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_ERROR, true, node,
				       "the trace has no stream files: what happened on this node is missing");
}
