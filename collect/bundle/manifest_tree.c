/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifests that a recorder leaves in the folders of its nodes, taken as one. */
#include "collect/bundle/access.h"
#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

static int compare_nodes(gconstpointer a, gconstpointer b)
{
	const struct dtc_manifest_node *const *x = a, *const *y = b;
	return g_strcmp0((*x)->name, (*y)->name);
}

static int compare_files(gconstpointer a, gconstpointer b)
{
	const struct dtc_manifest_file *const *x = a, *const *y = b;
	return g_strcmp0((*x)->path, (*y)->path);
}

/* Moves the node and its files; the node is called as its folder is, whatever the recorder called it. */
static void take_node(DtcManifest *tree, const char *folder, DtcManifest *from)
{
	for (guint i = 0; i < from->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(from->files, i);
		g_autofree char *path = g_strconcat(folder, "/", file->path, NULL);
		dtc_manifest_add_file(tree, path, file->bytes, file->sha256);
	}
	if (from->nodes->len != 1) /* a bundle inside of a bundle is no node's own */
		return;
	struct dtc_manifest_node *node = g_ptr_array_steal_index(from->nodes, 0);
	g_free(node->name);
	node->name = g_strdup(folder);
	g_ptr_array_add(tree->nodes, node);
	g_free(tree->creator);
	tree->creator = g_strdup(from->creator);
}

/* A folder without a manifest adds nothing; one with a broken one is an error. */
static bool add_folder(DtcManifest *tree, const char *directory, const char *name, GError **error)
{
	g_autofree char *folder = g_build_filename(directory, name, NULL);
	g_autoptr(GError) reason = NULL;
	if (!dtc_node_name_check(name) || !g_file_test(folder, G_FILE_TEST_IS_DIR))
		return true;
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(folder, &reason);
	if (manifest)
		take_node(tree, name, manifest);
	else if (!g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND)) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	return true;
}

DtcManifest *dtc_manifest_read_tree(const char *directory, GError **error)
{
	g_autoptr(GError) reason = NULL;
	DtcManifest *whole = dtc_manifest_read(directory, &reason);
	if (whole || !g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND)) {
		if (reason)
			g_propagate_error(error, g_steal_pointer(&reason));
		return whole;
	}
	g_autoptr(DtcManifest) tree = dtc_manifest_new("");
	g_autoptr(GDir) dir = dtc_access_list(directory);
	const char *name;
	while (dir && (name = g_dir_read_name(dir)))
		if (!add_folder(tree, directory, name, error))
			return NULL;
	if (!tree->files->len) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	g_ptr_array_sort(tree->nodes, compare_nodes);
	g_ptr_array_sort(tree->files, compare_files);
	return g_steal_pointer(&tree);
}
