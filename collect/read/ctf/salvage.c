/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files of a trace can be read as they are: those whose packets form a chain (stream_file.c) and that the back
 * end accepts, which is tried with halves of the list until the culprits stand alone. The rest is copied as far as it
 * can be told apart, and the back end has the last word on the copy.
 */
#include "collect/read/ctf/salvage.h"

#include "collect/bundle/scratch.h"
#include "collect/read/ctf/stream_file.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct DtcSalvage {
	char *source;	     /* owned, absolute */
	DtcScratch *scratch; /* private, holds trial/ and trace/ */
	char *trace;	     /* owned */
	char *trial;	     /* owned */
	bool (*accepts)(const char *directory);
	const char *const *files;    /* borrowed names of all stream files, sorted */
	GPtrArray *whole;	     /* borrowed names: chains of packets */
	GPtrArray *good;	     /* of these: accepted by the back end */
	GPtrArray *damaged;	     /* borrowed names: all others */
	GPtrArray *losses;	     /* owned sentences */
	const DtcPacketTable *table; /* borrowed until the trace is made */
};

/* ---- files ---- */

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
	salvage->scratch = dtc_scratch_new(error);
	if (!salvage->scratch)
		return false;
	const char *directory = dtc_scratch_get_path(salvage->scratch);
	salvage->trace = g_build_filename(directory, "trace", NULL);
	salvage->trial = g_build_filename(directory, "trial", NULL);
	if (g_mkdir(salvage->trace, 0700) == 0 && g_mkdir(salvage->trial, 0700) == 0)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot write to '%s': %s\nset TMPDIR to a directory with space", directory, g_strerror(errno));
	return false;
}

/* ---- which files are damaged ---- */

static void find_whole_files(DtcSalvage *salvage)
{
	for (const char *const *name = salvage->files; *name; name++) {
		const struct dtc_packet_file *file = dtc_packet_table_find_file(salvage->table, *name);
		if (file && file->is_double)
			continue;
		bool is_good = !file || (file->is_whole && file->is_sound);
		g_ptr_array_add(is_good ? salvage->whole : salvage->damaged, (void *)*name);
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

static G_GNUC_PRINTF(2, 3) void add_loss(DtcSalvage *salvage, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_ptr_array_add(salvage->losses, g_strdup_vprintf(format, args));
	va_end(args);
}

/* Makes trace/NAME of a damaged stream file. False if nothing of it can be used. */
static bool rescue_file(DtcSalvage *salvage, const char *name)
{
	g_autofree char *copy = g_build_filename(salvage->trace, name, NULL);
	const struct dtc_packet_file *file = dtc_packet_table_find_file(salvage->table, name);
	if (!file) {
		add_loss(salvage, "stream file '%s' cannot be read", name);
		return false;
	}
	if (file->packets->len == 0) /* which the packet table reports, as it does holes */
		return false;
	/* the cut may go through the packet's context, whose end we do not know */
	for (guint with_cut = 2; with_cut-- > 0;) {
		g_autoptr(GError) error = NULL;
		if (!dtc_packet_table_write(salvage->table, file, with_cut, copy, &error))
			add_loss(salvage, "%.*s", (int)strcspn(error->message, "\n"), error->message);
		else if (salvage->accepts(salvage->trace))
			return true;
	}
	add_loss(salvage, "stream file '%s' cannot be used even so", name);
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

DtcSalvage *dtc_salvage_new(const char *path, const DtcInventory *inventory, const DtcPacketTable *table,
			    bool (*accepts)(const char *directory), GError **error)
{
	g_autoptr(DtcSalvage) salvage = g_new0(DtcSalvage, 1);
	salvage->source = g_canonicalize_filename(path, NULL);
	salvage->accepts = accepts;
	salvage->table = table;
	salvage->whole = g_ptr_array_new();
	salvage->good = g_ptr_array_new();
	salvage->damaged = g_ptr_array_new();
	salvage->losses = g_ptr_array_new_with_free_func(g_free);
	salvage->files = dtc_inventory_get_streams(inventory);
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
	dtc_scratch_free(salvage->scratch);
	g_free(salvage->trace);
	g_free(salvage->trial);
	g_ptr_array_unref(salvage->whole);
	g_ptr_array_unref(salvage->good);
	g_ptr_array_unref(salvage->damaged);
	g_ptr_array_unref(salvage->losses);
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
