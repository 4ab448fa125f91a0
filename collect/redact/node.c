/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/node.h"

#include "collect/bundle/environment.h"
#include "collect/bundle/file_copy.h"
#include "collect/redact/capture_file.h"
#include "collect/redact/environment_file.h"
#include "collect/redact/trace.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool set_image(const struct dtc_bundle_node *node, const char *image, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot redact node '%s': '%s' is what was read of its recording\n"
		    "redact the recording, and make the index of that",
		    node->name, image);
	return false;
}

static bool redact_kernel(struct dtc_redaction *redaction, const struct dtc_bundle_node *node, const char *folder,
			  GError **error)
{
	g_autofree char *kernel = g_build_filename(folder, "kernel", NULL);
	if (!node->kernel_path)
		return true;
	if (mkdir(kernel, 0700) != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot make '%s': %s\nname another place", kernel,
			    g_strerror(errno));
		return false;
	}
	return dtc_trace_redact(redaction, node->name, node->kernel_path, kernel, error);
}

/* ---- captures ---- */

/* The recorder's names have an inode. */
static bool is_plain(const char *base)
{
	const char *at = g_str_has_prefix(base, "packets-") ? base + strlen("packets-") : NULL;
	at = at ? at + strspn(at, "0123456789") : NULL;
	return at && (strcmp(at, ".pcap") == 0 || strcmp(at, ".pcapng") == 0);
}

/* A name that comes in the same order as the old one among those of its node. */
static char *rename_capture(struct dtc_redaction *redaction, const char *base, guint number)
{
	const char *suffix = g_str_has_suffix(base, ".pcapng") ? "pcapng" : "pcap";
	g_autofree char *redacted = dtc_redaction_name(redaction, base);
	return strcmp(redacted, base) == 0 || is_plain(base) ? g_strdup(base)
							     : g_strdup_printf("capture-%05u.%s", number, suffix);
}

static bool is_beside(const struct dtc_bundle_node *node, const char *base)
{
	gsize bytes = strlen(node->name);
	return g_str_has_prefix(base, node->name) &&
	       (strcmp(base + bytes, ".pcap") == 0 || strcmp(base + bytes, ".pcapng") == 0);
}

static bool redact_capture(struct dtc_redaction *redaction, const char *from, const char *to, GError **error)
{
	const struct dtc_capture_redaction how = {
		.words = redaction->words,
		.addresses = redaction->parts & DTC_REDACT_ADDRESSES ? redaction->addresses : NULL,
		.has_payload = redaction->parts & DTC_REDACT_PAYLOAD,
		.id_headers = redaction->id_headers,
	};
	return dtc_capture_file_redact(&how, from, to, error);
}

static bool redact_captures(struct dtc_redaction *redaction, const struct dtc_bundle_node *node,
			    const struct dtc_node_place *place, GHashTable *renamed, GError **error)
{
	bool needs_beside = !node->kernel_path && place->beside;
	for (guint i = 0; node->pcap_paths[i]; i++) {
		g_autofree char *base = g_path_get_basename(node->pcap_paths[i]);
		g_autofree char *name = rename_capture(redaction, base, i);
		g_autofree char *path = NULL;
		if (place->beside && (needs_beside || is_beside(node, base)))
			path = g_strconcat(place->beside, g_str_has_suffix(base, ".pcapng") ? ".pcapng" : ".pcap",
					   NULL);
		if (!path || g_file_test(path, G_FILE_TEST_EXISTS)) {
			g_free(path);
			path = g_build_filename(place->folder, name, NULL);
		}
		needs_beside = false;
		if (!redact_capture(redaction, node->pcap_paths[i], path, error))
			return false;
		g_hash_table_insert(renamed, g_steal_pointer(&base), g_path_get_basename(path));
	}
	return true;
}

/* ---- the node ---- */

static bool write_environment(struct dtc_redaction *redaction, const struct dtc_bundle_node *node, const char *folder,
			      GHashTable *renamed, GError **error)
{
	g_autofree char *path = g_build_filename(folder, DTC_ENVIRONMENT_NAME, NULL);
	if (!node->environment)
		return true;
	g_autoptr(DtcEnvironment) environment = dtc_environment_redact(redaction, node->environment, renamed);
	g_autofree char *text = dtc_environment_to_text(environment);
	gsize bytes = strlen(text);
	g_autoptr(DtcFileCopy) copy = dtc_file_copy_new_empty(path, bytes, error);
	if (!copy)
		return false;
	memcpy(dtc_file_copy_get_bytes(copy), text, bytes);
	return dtc_file_copy_finish(copy, true, error);
}

bool dtc_node_redact(struct dtc_redaction *redaction, const struct dtc_bundle_node *node,
		     const struct dtc_node_place *place, GError **error)
{
	g_autoptr(GHashTable) renamed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (node->kernel_image)
		return set_image(node, node->kernel_image, error);
	if (node->capture_image)
		return set_image(node, node->capture_image, error);
	return redact_kernel(redaction, node, place->folder, error) &&
	       redact_captures(redaction, node, place, renamed, error) &&
	       write_environment(redaction, node, place->folder, renamed, error);
}
