/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/extent.h"

#include "collect/read/ctf/stream_file.h"

#include <string.h>
#include <sys/stat.h>

static guint64 get_file_bytes(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (guint64)info.st_size : 0;
}

/* The trace's stream files by name, and the sum of their sizes. */
static guint64 list_files(const char *directory, GPtrArray *names)
{
	g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
	guint64 sum = 0;
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(directory, name, NULL);
		guint64 bytes = get_file_bytes(path);
		if (name[0] == '.' || strcmp(name, "metadata") == 0 || bytes == 0)
			continue;
		sum += bytes;
		g_ptr_array_add(names, g_strdup(name));
	}
	return sum;
}

guint64 dtc_extent_measure(const char *directory)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	return list_files(directory, names);
}

struct dtc_extent dtc_extent_of_trace(const char *directory)
{
	struct dtc_extent extent = { 0 };
	struct dtc_packet_layout layout;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	extent.bytes = list_files(directory, names);
	g_ptr_array_add(names, NULL);
	if (!dtc_packet_layout_find(directory, (const char *const *)names->pdata, &layout))
		return extent;
	for (guint i = 0; i + 1 < names->len; i++) {
		g_autofree char *path = g_build_filename(directory, g_ptr_array_index(names, i), NULL);
		extent.packets += dtc_stream_file_count_packets(path, &layout);
	}
	return extent;
}
