/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files of a trace can be read as they are: those whose packets form a chain (stream_file.c) and that the back
 * end accepts, which is tried with halves of the list until the culprits stand alone. The rest is copied as far as it
 * can be told apart, and the back end has the last word on the copy.
 */
#include "collect/read/ctf/salvage.h"

#include "collect/read/ctf/stream_file.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct DtcSalvage {
	char *source;	 /* owned, absolute */
	char *directory; /* owned: private, holds trial/ and trace/ */
	char *trace;	 /* owned */
	char *trial;	 /* owned */
	bool (*accepts)(const char *directory);
	char **files;	    /* owned names of all stream files, sorted */
	GPtrArray *whole;   /* borrowed names: chains of packets */
	GPtrArray *good;    /* of these: accepted by the back end */
	GPtrArray *damaged; /* borrowed names: all others */
	GPtrArray *losses;  /* owned sentences */
	bool has_layout;
	struct dtc_packet_layout layout;
};

/* ---- files ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The stream files of a trace, sorted. What is neither a file nor a folder goes to specials. */
static char **list_files(const char *path, GPtrArray *specials)
{
	GPtrArray *files = g_ptr_array_new();
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		struct stat info;
		if (name[0] == '.' || strcmp(name, "metadata") == 0 || stat(file, &info) != 0 || S_ISDIR(info.st_mode))
			continue;
		if (!S_ISREG(info.st_mode))
			g_ptr_array_add(specials, g_strdup(name));
		else if (info.st_size > 0)
			g_ptr_array_add(files, g_strdup(name));
	}
	g_ptr_array_sort(files, compare_names);
	g_ptr_array_sort(specials, compare_names);
	g_ptr_array_add(files, NULL);
	return (char **)g_ptr_array_free(files, FALSE);
}

bool dtc_salvage_is_needed(const char *path)
{
	g_autoptr(GPtrArray) specials = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) files = list_files(path, specials);
	struct dtc_packet_layout layout;
	if (specials->len > 0)
		return true;
	if (!dtc_packet_layout_find(path, (const char *const *)files, &layout))
		return false;
	for (char **name = files; *name; name++) {
		g_autofree char *file = g_build_filename(path, *name, NULL);
		if (!dtc_stream_file_is_whole(file, &layout))
			return true;
	}
	return false;
}

static bool link_file(const DtcSalvage *salvage, const char *directory, const char *name)
{
	g_autofree char *from = g_build_filename(salvage->source, name, NULL);
	g_autofree char *to = g_build_filename(directory, name, NULL);
	return symlink(from, to) == 0;
}

static void empty_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		g_unlink(file);
	}
}

static bool make_directories(DtcSalvage *salvage, GError **error)
{
	salvage->directory = g_dir_make_tmp("dtrace-chain-XXXXXX", error);
	if (!salvage->directory)
		return false;
	salvage->trace = g_build_filename(salvage->directory, "trace", NULL);
	salvage->trial = g_build_filename(salvage->directory, "trial", NULL);
	if (g_mkdir(salvage->trace, 0700) == 0 && g_mkdir(salvage->trial, 0700) == 0)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot write to '%s': %s\nset TMPDIR to a directory with space", salvage->directory,
		    g_strerror(errno));
	return false;
}

/* ---- which files are damaged ---- */

static void find_whole_files(DtcSalvage *salvage)
{
	salvage->has_layout =
		dtc_packet_layout_find(salvage->source, (const char *const *)salvage->files, &salvage->layout);
	for (char **name = salvage->files; *name; name++) {
		g_autofree char *path = g_build_filename(salvage->source, *name, NULL);
		bool is_whole = !salvage->has_layout || dtc_stream_file_is_whole(path, &salvage->layout);
		g_ptr_array_add(is_whole ? salvage->whole : salvage->damaged, *name);
	}
}

static bool are_accepted(DtcSalvage *salvage, guint from, guint to)
{
	empty_directory(salvage->trial);
	bool ok = link_file(salvage, salvage->trial, "metadata");
	for (guint i = from; i < to && ok; i++)
		ok = link_file(salvage, salvage->trial, g_ptr_array_index(salvage->whole, i));
	return ok && salvage->accepts(salvage->trial);
}

/* Halves the list until the culprits stand alone: few trials when few are damaged. Depth is log2 of the files. */
static void sort_out(DtcSalvage *salvage, guint from, guint to)
{
	if (from >= to)
		return;
	if (are_accepted(salvage, from, to)) {
		for (guint i = from; i < to; i++)
			g_ptr_array_add(salvage->good, g_ptr_array_index(salvage->whole, i));
	} else if (to - from == 1) {
		g_ptr_array_add(salvage->damaged, g_ptr_array_index(salvage->whole, from));
	} else {
		guint middle = from + (to - from) / 2;
		sort_out(salvage, from, middle);
		sort_out(salvage, middle, to);
	}
}

/* Makes trace/NAME of a damaged stream file. False if nothing of it can be used. */
static bool rescue_file(DtcSalvage *salvage, const char *name)
{
	g_autofree char *path = g_build_filename(salvage->source, name, NULL);
	g_autofree char *copy = g_build_filename(salvage->trace, name, NULL);
	if (!salvage->has_layout) {
		g_ptr_array_add(salvage->losses, g_strdup_printf("stream file '%s' cannot be read", name));
		return false;
	}
	guint loss_count = salvage->losses->len;
	if (dtc_stream_file_rescue(path, name, &salvage->layout, true, copy, salvage->losses)) {
		if (dtc_stream_file_is_whole(copy, &salvage->layout) && salvage->accepts(salvage->trace))
			return true;
		/* the cut may go through the packet's context, whose end we do not know */
		g_ptr_array_set_size(salvage->losses, (gint)loss_count);
		if (dtc_stream_file_rescue(path, name, &salvage->layout, false, copy, salvage->losses) &&
		    salvage->accepts(salvage->trace))
			return true;
		g_ptr_array_add(salvage->losses, g_strdup_printf("stream file '%s' cannot be used even so", name));
	}
	g_unlink(copy);
	return false;
}

/* Fills trace/. False with an error if it would hold no stream. */
static bool make_trace(DtcSalvage *salvage, GError **error)
{
	bool ok = link_file(salvage, salvage->trace, "metadata");
	guint used = salvage->good->len;
	for (guint i = 0; i < salvage->good->len && ok; i++)
		ok = link_file(salvage, salvage->trace, g_ptr_array_index(salvage->good, i));
	for (guint i = 0; i < salvage->damaged->len && ok; i++)
		used += rescue_file(salvage, g_ptr_array_index(salvage->damaged, i));
	empty_directory(salvage->trial);
	if (ok && used > 0)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "no stream file in '%s' can be read%s%s\n"
		    "copy the trace again from the node",
		    salvage->source, salvage->losses->len > 0 ? ": " : "",
		    salvage->losses->len > 0 ? (const char *)g_ptr_array_index(salvage->losses, 0) : "");
	return false;
}

DtcSalvage *dtc_salvage_new(const char *path, bool (*accepts)(const char *directory), GError **error)
{
	g_autoptr(DtcSalvage) salvage = g_new0(DtcSalvage, 1);
	g_autoptr(GPtrArray) specials = g_ptr_array_new_with_free_func(g_free);
	salvage->source = g_canonicalize_filename(path, NULL);
	salvage->accepts = accepts;
	salvage->whole = g_ptr_array_new();
	salvage->good = g_ptr_array_new();
	salvage->damaged = g_ptr_array_new();
	salvage->losses = g_ptr_array_new_with_free_func(g_free);
	salvage->files = list_files(salvage->source, specials);
	for (guint i = 0; i < specials->len; i++)
		g_ptr_array_add(salvage->losses, g_strdup_printf("'%s' is not a file and is left out",
								 (const char *)g_ptr_array_index(specials, i)));
	if (!make_directories(salvage, error))
		return NULL;
	if (!are_accepted(salvage, 0, 0)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "the file 'metadata' in '%s' cannot be read\n"
			    "copy it again from the node: without it no stream can be decoded",
			    path);
		return NULL;
	}
	find_whole_files(salvage);
	sort_out(salvage, 0, salvage->whole->len);
	return make_trace(salvage, error) ? g_steal_pointer(&salvage) : NULL;
}

void dtc_salvage_free(DtcSalvage *salvage)
{
	if (!salvage)
		return;
	char *directories[] = { salvage->trial, salvage->trace, salvage->directory };
	for (gsize i = 0; i < G_N_ELEMENTS(directories); i++) {
		if (!directories[i])
			continue;
		if (directories[i] != salvage->directory)
			empty_directory(directories[i]);
		g_rmdir(directories[i]);
		g_free(directories[i]);
	}
	g_ptr_array_unref(salvage->whole);
	g_ptr_array_unref(salvage->good);
	g_ptr_array_unref(salvage->damaged);
	g_ptr_array_unref(salvage->losses);
	g_strfreev(salvage->files);
	g_free(salvage->source);
	g_free(salvage);
}

const char *dtc_salvage_get_path(const DtcSalvage *salvage)
{
	return salvage->trace;
}

const GPtrArray *dtc_salvage_get_losses(const DtcSalvage *salvage)
{
	return salvage->losses;
}
