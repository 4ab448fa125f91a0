/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/redacting.h"

#include "collect/bundle/digest.h"
#include "collect/bundle/environment.h"
#include "collect/redact/node.h"
#include "collect/seal/places.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

bool dtc_redacting_of_raw(const char *node_folder, const char *key_file, struct dtc_redacting *ret, GError **error)
{
	g_autofree char *path = g_build_filename(node_folder, DTC_RAW_FOLDER, DTC_RAW_RECORDING, NULL);
	g_autoptr(GKeyFile) file = g_key_file_new();
	guint parts = 0;

	*ret = (struct dtc_redacting){ .redaction = { 0 } };
	/* whether it can be read at all, sealing says */
	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return true;
	g_autofree char *text = g_key_file_get_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_REDACT, NULL);
	if (!text)
		return true;
	if (!dtc_redaction_parse_parts(text, &parts, error) ||
	    !dtc_redaction_init(&ret->redaction, parts, key_file, error))
		return false;
	ret->id_headers = g_key_file_get_string_list(file, DTC_RAW_GROUP, DTC_RAW_KEY_ID_HEADERS, NULL, NULL);
	ret->redaction.id_headers = (const char *const *)ret->id_headers;
	return true;
}

void dtc_redacting_clear(struct dtc_redacting *redacting)
{
	dtc_redaction_clear(&redacting->redaction);
	g_clear_pointer(&redacting->id_headers, g_strfreev);
}

/* ---- the node ---- */

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * All captures in the folder, which was empty when the recorder took it: one that crashed has perhaps not written down
 * which there are. Caller frees.
 */
static char **list_captures(const char *node_folder)
{
	GPtrArray *paths = g_ptr_array_new();
	g_autoptr(GDir) dir = g_dir_open(node_folder, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir)))
		if (g_str_has_suffix(name, ".pcap") || g_str_has_suffix(name, ".pcapng"))
			g_ptr_array_add(paths, g_build_filename(node_folder, name, NULL));
	g_ptr_array_sort(paths, compare_names);
	g_ptr_array_add(paths, NULL);
	return (char **)g_ptr_array_free(paths, FALSE);
}

static bool redact_node(const char *node_folder, const char *part, struct dtc_redaction *redaction, char **captures,
			DtcEnvironment *environment, GError **error)
{
	g_autofree char *path = g_canonicalize_filename(node_folder, NULL);
	g_autofree char *name = g_path_get_basename(path);
	g_autofree char *kernel = g_build_filename(node_folder, DTC_SEALED_KERNEL, NULL);
	g_autofree char *made = g_build_filename(part, DTC_SEALED_KERNEL, NULL);
	const struct dtc_bundle_node node = {
		.name = name, .kernel_path = kernel, .pcap_paths = captures, .environment = environment
	};
	const struct dtc_node_place place = { part, NULL };

	(void)g_rmdir(made); /* that a sealing begins with */
	return dtc_node_redact(redaction, &node, &place, error);
}

/* ---- the manifest ---- */

static void list_below(const char *part, const char *below, GPtrArray *names)
{
	g_autofree char *folder = g_build_filename(part, below, NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(names, *below ? g_build_filename(below, name, NULL) : g_strdup(name));
	}
}

static void redact_manifest_node(struct dtc_redaction *redaction, struct dtc_manifest_node *node)
{
	g_auto(GStrv) addresses = g_steal_pointer(&node->addresses);

	node->addresses = dtc_redaction_addresses(redaction, addresses);
	if (node->clock.uuid) {
		char *other = dtc_redaction_uuid(redaction, node->clock.uuid);
		g_free(node->clock.uuid);
		node->clock.uuid = other;
	}
}

static bool write_manifest(struct dtc_redaction *redaction, const char *node_folder, const char *part, GError **error)
{
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(node_folder, error);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	if (!manifest)
		return false;
	for (guint i = 0; i < manifest->nodes->len; i++)
		redact_manifest_node(redaction, g_ptr_array_index(manifest->nodes, i));
	g_ptr_array_set_size(manifest->files, 0);
	list_below(part, "", names);
	list_below(part, DTC_SEALED_KERNEL, names);
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len; i++)
		if (!dtc_digest_add_file(manifest, part, g_ptr_array_index(names, i), error))
			return false;
	g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
	return dtc_places_write(part, DTC_MANIFEST_NAME, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), error);
}

/* ---- in its place ---- */

static bool set_unmoved(const char *path, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
		    "cannot replace '%s': %s\nit is not redacted: remove it, or seal it again", path,
		    g_strerror(errno));
	return false;
}

static bool move(const char *from_folder, const char *to_folder, const char *name, GError **error)
{
	g_autofree char *from = g_build_filename(from_folder, name, NULL);
	g_autofree char *to = g_build_filename(to_folder, name, NULL);

	return g_rename(from, to) == 0 || set_unmoved(to, error);
}

static char *get_originals(const char *node_folder)
{
	return g_build_filename(node_folder, DTC_RAW_FOLDER, DTC_RAW_ORIGINALS, NULL);
}

/*
 * What is replaced goes to raw/ first. Of what was half done when a crash came everything could be made again but the
 * captures, and of LTTng the trace: redacted twice they would fit nothing.
 */
static bool move_files(const char *node_folder, const char *part, char **captures, GError **error)
{
	g_autofree char *originals = get_originals(node_folder);
	g_autofree char *kernel = g_build_filename(node_folder, DTC_SEALED_KERNEL, NULL);

	if (g_mkdir(originals, 0700) != 0)
		return set_unmoved(originals, error);
	for (char **path = captures; *path; path++) {
		g_autofree char *name = g_path_get_basename(*path);
		if (!move(node_folder, originals, name, error) || !move(part, node_folder, name, error))
			return false;
	}
	return !g_file_test(kernel, G_FILE_TEST_EXISTS) || move(node_folder, originals, DTC_SEALED_KERNEL, error);
}

static bool move_back(const char *node_folder, const char *originals, const char *name, GError **error)
{
	g_autofree char *replaced = g_build_filename(node_folder, name, NULL);

	dtc_places_remove(replaced);
	return move(originals, node_folder, name, error);
}

bool dtc_redacting_restore(const char *node_folder, GError **error)
{
	g_autofree char *originals = get_originals(node_folder);
	g_autoptr(GDir) dir = g_dir_open(originals, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		if (!move_back(node_folder, originals, name, error))
			return false;
	(void)g_rmdir(originals);
	return true;
}

static bool replace(const char *node_folder, const char *part, struct dtc_redaction *redaction, GError **error)
{
	g_autofree char *path = g_build_filename(node_folder, DTC_SEALED_ENVIRONMENT, NULL);
	g_autoptr(DtcEnvironment) environment = dtc_environment_read(path, error);
	g_auto(GStrv) captures = list_captures(node_folder);

	return environment && redact_node(node_folder, part, redaction, captures, environment, error) &&
	       write_manifest(redaction, node_folder, part, error) && move_files(node_folder, part, captures, error) &&
	       dtc_places_publish(node_folder, part, error);
}

bool dtc_redacting_replace(const char *node_folder, struct dtc_redaction *redaction, GError **error)
{
	g_autofree char *part = dtc_places_begin(node_folder, error);

	if (part && replace(node_folder, part, redaction, error)) {
		dtc_places_remove_raw(node_folder);
		return true;
	}
	g_autofree char *manifest = g_build_filename(node_folder, DTC_MANIFEST_NAME, NULL);
	g_unlink(manifest); /* so that nobody takes it for a node */
	(void)dtc_redacting_restore(node_folder, NULL);
	if (part)
		dtc_places_remove(part);
	return false;
}
