/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/create.h"

#include "collect/bundle/pack.h"
#include "collect/bundle/paths.h"
#include "collect/bundle/write.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 8 /* folders in a kernel trace; a link that leads back to its parent ends here too */

static int compare_files(gconstpointer a, gconstpointer b)
{
	const struct dtc_bundle_file *const *x = a, *const *y = b;
	return strcmp((*x)->path, (*y)->path);
}

/* ---- which files ---- */

struct listing {
	GPtrArray *files;      /* struct dtc_bundle_file */
	const char *directory; /* of the bundle; NULL: there is none */
	bool follows_links;
	const char *node;
	DtcFindings *findings;
};

/* What a link leads to outside of the bundle is somebody else's, unless the caller says that it is the bundle's. */
static bool is_left_out(const struct listing *listing, const char *source)
{
	g_autofree char *target = listing->follows_links ? NULL : dtc_path_find_outside(listing->directory, source);
	if (!target)
		return false;
	dtc_findings_add_coded(listing->findings, DTC_FINDING_LINK, DTC_SEVERITY_WARNING, true, listing->node,
			       "'%s' leads out of the bundle, to '%s', and was left out: --dereference takes it along",
			       source, target);
	return true;
}

static bool has_path(const GPtrArray *files, const char *path)
{
	for (guint i = 0; i < files->len; i++)
		if (strcmp(((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->path, path) == 0)
			return true;
	return false;
}

static bool add_file(GPtrArray *files, const char *path, const char *source, GError **error)
{
	struct stat info;

	if (!dtc_bundle_path_check(path)) {
		g_autofree char *shown = g_strescape(source, NULL);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "'%s' has a name that cannot be in a bundle\n"
			    "names are UTF-8 without control characters; rename it",
			    shown);
		return false;
	}
	if (stat(source, &info) != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read '%s': %s\ncheck its permissions", source, g_strerror(errno));
		return false;
	}
	g_ptr_array_add(files, dtc_bundle_file_new(path, source, (guint64)info.st_size));
	return true;
}

/* All files below folder; what is neither a file nor a folder is no part of a trace. */
static bool add_folder(struct listing *listing, const char *path, const char *folder, guint depth, GError **error)
{
	GPtrArray *files = listing->files;
	g_autoptr(GError) reason = NULL;
	g_autoptr(GDir) dir = g_dir_open(folder, 0, &reason);
	const char *name;

	if (!dir || depth > MAX_DEPTH || files->len > DTC_UNPACK_MAX_FILES) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot list '%s': %s\na kernel trace is a folder with some files per CPU", folder,
			    reason ? reason->message : "there are too many files in it");
		return false;
	}
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *source = g_build_filename(folder, name, NULL);
		g_autofree char *target = g_strconcat(path, "/", name, NULL);
		bool added = true;
		if (is_left_out(listing, source))
			continue;
		if (g_file_test(source, G_FILE_TEST_IS_DIR))
			added = add_folder(listing, target, source, depth + 1, error);
		else if (g_file_test(source, G_FILE_TEST_IS_REGULAR))
			added = add_file(files, target, source, error);
		if (!added)
			return false;
	}
	return true;
}

/*
 * A trace that lies in the node's folder itself: only its own files and index/, since kernel/ of another trace, or
 * captures, may lie beside them.
 */
static bool add_kernel(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	GPtrArray *files = listing->files;
	g_autofree char *path = g_strconcat(node->name, "/kernel", NULL);
	guint before = files->len;

	if (!node->kernel_path || is_left_out(listing, node->kernel_path))
		return true;
	if (!add_folder(listing, path, node->kernel_path, 1, error))
		return false;
	for (guint i = files->len; i-- > before;) {
		const struct dtc_bundle_file *file = g_ptr_array_index(files, i);
		if (g_str_has_suffix(file->path, ".pcap") || g_str_has_suffix(file->path, ".pcapng"))
			g_ptr_array_remove_index(files, i); /* added as a capture */
	}
	return true;
}

/* What is in the place of recordings that are not there. */
static bool add_images(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	const char *const sources[] = { node->kernel_image, node->capture_image };

	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
		if (!sources[i] || is_left_out(listing, sources[i]))
			continue;
		g_autofree char *base = g_path_get_basename(sources[i]);
		g_autofree char *path = g_strconcat(node->name, "/", base, NULL);
		if (!add_file(listing->files, path, sources[i], error))
			return false;
	}
	return true;
}

/* NODE.pcap beside the folder where that is its name, or where there is no folder without it. */
static bool add_captures(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	GPtrArray *files = listing->files;
	bool needs_beside = !node->kernel_path;

	for (char **source = node->pcap_paths; *source; source++) {
		if (is_left_out(listing, *source))
			continue;
		g_autofree char *base = g_path_get_basename(*source);
		const char *suffix = g_str_has_suffix(base, ".pcapng") ? ".pcapng" : ".pcap";
		g_autofree char *beside = g_strconcat(node->name, suffix, NULL);
		g_autofree char *path = g_strconcat(node->name, "/", base, NULL);
		if ((needs_beside || strcmp(base, beside) == 0) && !has_path(files, beside)) {
			g_free(path);
			path = g_steal_pointer(&beside);
		}
		needs_beside = false;
		for (guint number = 2; has_path(files, path); number++) {
			g_free(path);
			path = g_strdup_printf("%s/%u-%s", node->name, number, base);
		}
		if (!add_file(files, path, *source, error))
			return false;
	}
	return true;
}

/*
 * What the recorder wrote about the machine, if it did. A recorder writes no links: one would make a bundle of whatever
 * file its maker liked to have.
 */
static bool add_environment(struct listing *listing, const DtcBundle *bundle, const struct dtc_bundle_node *node,
			    GError **error)
{
	const char *directory = dtc_bundle_get_directory(bundle);
	struct stat info;
	if (!directory)
		return true;
	g_autofree char *source = g_build_filename(directory, node->name, "environment", NULL);
	g_autofree char *path = g_strconcat(node->name, "/environment", NULL);
	if (lstat(source, &info) != 0)
		return true;
	g_autofree char *outside = dtc_path_find_outside(listing->directory, source);
	if (S_ISREG(info.st_mode) && !outside)
		return add_file(listing->files, path, source, error);
	dtc_findings_add_coded(listing->findings, DTC_FINDING_LINK, DTC_SEVERITY_WARNING, false, node->name,
			       "'%s' is not a file of the bundle and was left out", source);
	return true;
}

GPtrArray *dtc_bundle_list_files(const DtcBundle *bundle, bool follows_links, DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(dtc_bundle_file_free);
	struct listing listing = { .files = files,
				   .directory = dtc_bundle_get_directory(bundle),
				   .follows_links = follows_links,
				   .findings = findings };

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		listing.node = node->name;
		if (!add_kernel(&listing, node, error) || !add_images(&listing, node, error) ||
		    !add_captures(&listing, node, error) || !add_environment(&listing, bundle, node, error))
			return NULL;
	}
	g_ptr_array_sort(files, compare_files);
	return g_steal_pointer(&files);
}

bool dtc_bundle_create(GPtrArray *files, DtcManifest *manifest, const char *out, DtcCreateProgress progress, void *data,
		       GError **error)
{
	return dtc_bundle_write(files, manifest, out, &dtc_packer_zstd, progress, data, error);
}
