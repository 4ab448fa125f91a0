/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/redact_bundle.h"

#include "analyze/engine/describe.h"
#include "collect/bundle/environment.h"
#include "collect/bundle/paths.h"
#include "collect/bundle/scratch.h"
#include "collect/redact/names.h"
#include "collect/redact/node.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void dtc_redacted_clear(struct dtc_redacted *redacted)
{
	g_clear_pointer(&redacted->manifest, dtc_manifest_free);
	g_clear_pointer(&redacted->texts, g_strfreev);
}

static bool redact_node(struct dtc_redaction *redaction, const struct dtc_bundle_node *node, const char *folder,
			const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	const struct dtc_node_place place = { path, path };

	if (mkdir(path, 0700) == 0)
		return dtc_node_redact(redaction, node, &place, error);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
		    "cannot make the folder of a node below '%s': %s\nset TMPDIR to another place", folder,
		    g_strerror(errno));
	return false;
}

static bool check_path(const DtcBundle *bundle, const char *path, GError **error)
{
	g_autofree char *target = dtc_path_find_outside(dtc_bundle_get_directory(bundle), path);
	if (!target)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "'%s' leads out of the bundle, to '%s'\n--dereference takes it along", path, target);
	return false;
}

/* Of a recorder: no link in a bundle that is made of the original, and so not among its files. */
static bool check_environment(const DtcBundle *bundle, const struct dtc_bundle_node *node, GError **error)
{
	const char *directory = dtc_bundle_get_directory(bundle);
	g_autofree char *path = directory ? g_build_filename(directory, node->name, DTC_ENVIRONMENT_NAME, NULL) : NULL;
	return !path || check_path(bundle, path, error);
}

/* Whoever made the bundle would have any file of its reader redacted, and passed on: of folders their files, too. */
static bool check_links(const DtcBundle *bundle, DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) files = dtc_bundle_list_files(bundle, true, findings, error);
	bool is_inside = files;

	for (guint i = 0; is_inside && i < files->len; i++)
		is_inside = check_path(bundle, ((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->source,
				       error);
	for (guint i = 0; is_inside && i < dtc_bundle_get_count(bundle); i++)
		is_inside = check_environment(bundle, dtc_bundle_get_node(bundle, i), error);
	return is_inside;
}

static bool redact_nodes(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names, const char *folder,
			 const struct dtc_watch *watch, GError **error)
{
	const struct dtc_progress progress = { .phase = DTC_PHASE_READ };
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (!dtc_watch_tell(watch, &progress, error) || !redact_node(redaction, node, folder, names[i], error))
			return false;
	}
	return true;
}

/*
 * Nodes come in the order of their names, and clocks and lists in the order of nodes: a number keeps it, so that the
 * same questions have the same answers. What follows it is the name's own. Where only addresses go, names have none of
 * them as a rule ("ip-10-0-0-2" has), and stay.
 */
static char **list_names(struct dtc_redaction *redaction, const DtcBundle *bundle)
{
	guint count = dtc_bundle_get_count(bundle);
	char **names = g_new0(char *, count + 1);
	int digits = count < 10 ? 1 : count < 100 ? 2 : count < 1000 ? 3 : 6;
	bool is_numbered = redaction->parts & DTC_REDACT_NAMES;
	for (guint i = 0; i < count; i++) {
		const char *name = dtc_bundle_get_node(bundle, i)->name;
		names[i] = dtc_redaction_name(redaction, name);
		is_numbered = is_numbered || strcmp(names[i], name) != 0;
	}
	for (guint i = 0; is_numbered && i < count; i++) {
		g_autofree char *name = names[i];
		names[i] = g_strdup_printf("n%0*u-%s", digits, i + 1, name);
	}
	return names;
}

/* ---- roles ---- */

static const char *find_name(const DtcBundle *bundle, char **names, const char *name)
{
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		if (strcmp(dtc_bundle_get_node(bundle, i)->name, name) == 0)
			return names[i];
	return "";
}

/* What the cluster file, or else the old manifest, says of who is whose guest. */
static void take_role(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names,
		      const struct dtc_manifest_node *from, DtcManifest *manifest)
{
	struct dtc_manifest_node *node = dtc_manifest_find_node(manifest, find_name(bundle, names, from->name));
	if (!node)
		return;
	g_free(node->role);
	g_free(node->host);
	g_strfreev(node->addresses);
	node->role = g_strdup(from->role);
	node->host = g_strdup(find_name(bundle, names, from->host));
	node->addresses = dtc_redaction_addresses(redaction, from->addresses);
	g_array_set_size(node->vcpu_tids, 0);
	g_array_append_vals(node->vcpu_tids, from->vcpu_tids->data, from->vcpu_tids->len);
}

static void take_roles(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names, DtcManifest *manifest)
{
	const DtcCluster *cluster = dtc_bundle_get_cluster(bundle);
	const char *directory = dtc_bundle_get_directory(bundle);
	g_autoptr(DtcManifest) old = directory ? dtc_manifest_read_tree(directory, NULL) : NULL;

	for (guint i = 0; !cluster && old && i < old->nodes->len; i++)
		take_role(redaction, bundle, names, g_ptr_array_index(old->nodes, i), manifest);
	for (guint i = 0; cluster && i < dtc_cluster_get_count(cluster); i++) {
		const struct dtc_cluster_node *node = dtc_cluster_get_node(cluster, i);
		const struct dtc_manifest_node from = { .name = node->name,
							.role = node->role,
							.host = node->host,
							.addresses = node->addresses,
							.vcpu_tids = node->vcpu_tids };
		take_role(redaction, bundle, names, &from, manifest);
	}
}

/* ---- the new bundle ---- */

static bool write_bundle(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names, const char *folder,
			 const struct dtc_redact_request *request, const struct dtc_watch *watch, DtcFindings *findings,
			 struct dtc_redacted *ret, GError **error)
{
	g_autoptr(DtcBundle) redacted = dtc_bundle_open(folder, error);
	g_autoptr(GPtrArray) files = redacted ? dtc_bundle_list_files(redacted, false, findings, error) : NULL;
	g_autoptr(GPtrArray) census = files ? dtc_census_new(redacted, NULL, watch, findings, error) : NULL;

	if (!census)
		return false;
	g_autoptr(DtcManifest) manifest = dtc_describe_bundle(redacted, census, findings, request->made_by);
	take_roles(redaction, bundle, names, manifest);
	if (!dtc_bundle_create(files, manifest, request->out, NULL, NULL, error))
		return false;
	ret->manifest = g_steal_pointer(&manifest);
	return true;
}

/* A node has a name of its own, an address one of its kind; anything else may be an id, or the kernel's name. */
static char *replace_text(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names, const char *text)
{
	const char *node = find_name(bundle, names, text);
	g_autofree char *address = dtc_addresses_replace_string(redaction->addresses, text);
	g_autofree char *mac = dtc_addresses_replace_mac_string(redaction->addresses, text);

	if (*node)
		return g_strdup(node);
	if (!*address && !*mac)
		return dtc_names_replace_string(redaction->words, text);
	return g_strdup(!(redaction->parts & DTC_REDACT_ADDRESSES) ? text : *address ? address : mac);
}

static char **replace_texts(struct dtc_redaction *redaction, const DtcBundle *bundle, char **names,
			    const char *const *texts)
{
	guint count = texts ? g_strv_length((char **)texts) : 0;
	char **copy = g_new0(char *, count + 1);
	for (guint i = 0; i < count; i++)
		copy[i] = replace_text(redaction, bundle, names, texts[i]);
	return copy;
}

static bool redact(struct dtc_redaction *redaction, const DtcBundle *bundle, const struct dtc_redact_request *request,
		   const struct dtc_watch *watch, DtcFindings *findings, struct dtc_redacted *ret, GError **error)
{
	g_autoptr(DtcFindings) unused = dtc_findings_new(); /* of the original: the new bundle has its own */
	bool is_inside = request->follows_links || check_links(bundle, unused, error);
	g_autoptr(DtcScratch) scratch = is_inside ? dtc_scratch_new(error) : NULL;
	g_auto(GStrv) names = list_names(redaction, bundle);
	const char *folder = scratch ? dtc_scratch_get_path(scratch) : NULL;

	redaction->id_headers = request->id_headers;
	if (!scratch || !redact_nodes(redaction, bundle, names, folder, watch, error) ||
	    !write_bundle(redaction, bundle, names, folder, request, watch, findings, ret, error))
		return false;
	ret->texts = replace_texts(redaction, bundle, names, request->texts);
	return true;
}

bool dtc_bundle_redact(const DtcBundle *bundle, const struct dtc_redact_request *request, const struct dtc_watch *watch,
		       DtcFindings *findings, struct dtc_redacted *ret, GError **error)
{
	struct dtc_redaction redaction;
	guint parts;

	*ret = (struct dtc_redacted){ NULL, NULL };
	if (!dtc_redaction_parse_parts(request->parts, &parts, error) ||
	    !dtc_redaction_init(&redaction, parts, request->key_file, error))
		return false;
	bool is_done = redact(&redaction, bundle, request, watch, findings, ret, error);
	dtc_redaction_clear(&redaction);
	return is_done;
}
