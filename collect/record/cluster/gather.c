/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/gather.h"

#include "collect/bundle/roles.h"
#include "collect/bundle/stored.h"
#include "collect/bundle/write.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <string.h>

GPtrArray *dtc_gather_check(const char *node_folder, DtcCreateProgress progress, void *data, GError **error)
{
	GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(node_folder, error);

	if (!manifest) {
		g_ptr_array_unref(texts);
		return NULL;
	}
	if (manifest->nodes->len != 1) {
		g_autofree char *node = g_path_get_basename(node_folder);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "node '%s' sent a manifest of %u nodes\nwho is it that answers there?", node,
			    manifest->nodes->len);
		g_ptr_array_unref(texts);
		return NULL;
	}
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, node_folder, progress, data);
	for (guint i = 0; i < defects->len; i++) {
		const struct dtc_defect *defect = g_ptr_array_index(defects, i);
		if (defect->kind != DTC_DEFECT_EXTRA)
			g_ptr_array_add(texts, g_strdup_printf("'%s' %s", defect->path, defect->text));
	}
	return texts;
}

/* ---- guests ---- */

static const char *find_told(const struct dtc_gather_request *request, const char *node)
{
	const struct dtc_cluster_node *known = request->cluster ? dtc_cluster_find_node(request->cluster, node) : NULL;
	gsize length = strlen(node);

	for (const char *const *at = request->guests; at && *at; at++)
		if (strncmp(*at, node, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return known && *known->guest ? known->guest : NULL;
}

static void tell_roles(const struct dtc_role_source *sources, const GArray *roles, GPtrArray *notes)
{
	for (guint i = 0; notes && i < roles->len; i++) {
		const struct dtc_role *role = &g_array_index(roles, struct dtc_role, i);
		g_ptr_array_add(notes,
				g_strdup_printf("%s is '%s' on %s, by its %s: %u virtual CPUs%s",
						sources[role->guest].node, role->as->name, sources[role->host].node,
						role->known_by, role->as->vcpu_count,
						role->as->vcpu_tids->len ? "" : ", whose threads are not known"));
	}
}

/* Of what their recorders have written. */
static void find_roles(DtcManifest *tree, const struct dtc_gather_request *request)
{
	guint count = tree->nodes->len;
	g_autofree struct dtc_role_source *sources = g_new0(struct dtc_role_source, count + 1);
	g_autoptr(GPtrArray) environments = g_ptr_array_new();

	for (guint i = 0; i < count; i++) {
		const char *node = ((const struct dtc_manifest_node *)g_ptr_array_index(tree->nodes, i))->name;
		g_autofree char *path = g_build_filename(request->folder, node, DTC_ENVIRONMENT_NAME, NULL);
		DtcEnvironment *environment = dtc_environment_read(path, NULL);
		g_ptr_array_add(environments, environment);
		sources[i] = (struct dtc_role_source){ node, environment, find_told(request, node) };
	}
	g_autoptr(GArray) roles = dtc_roles_find(sources, count, request->notes);
	dtc_roles_write(tree, sources, roles);
	tell_roles(sources, roles, request->notes);
	for (guint i = 0; i < count; i++)
		dtc_environment_free(g_ptr_array_index(environments, i));
}

static void set_role(struct dtc_manifest_node *node, const struct dtc_gather_request *request)
{
	const DtcCluster *cluster = request->cluster;
	const struct dtc_cluster_node *known = cluster ? dtc_cluster_find_node(cluster, node->name) : NULL;

	if (known && *known->role && (strcmp(known->role, node->role) != 0 || *known->host)) {
		if (strcmp(known->host, node->host) != 0) /* the threads are those of the other */
			g_array_set_size(node->vcpu_tids, 0);
		g_free(node->role);
		node->role = g_strdup(known->role);
		g_free(node->host);
		node->host = g_strdup(known->host);
	}
	if (!known)
		return;
	if (*known->addresses && !request->has_no_addresses) {
		g_strfreev(node->addresses);
		node->addresses = g_strdupv(known->addresses);
	}
	if (known->vcpu_tids->len)
		g_array_set_size(node->vcpu_tids, 0);
	if (known->vcpu_tids->len)
		g_array_append_vals(node->vcpu_tids, known->vcpu_tids->data, known->vcpu_tids->len);
}

/* Moves the nodes, and lists their files: those that are there, since one node takes the bundle from no other. */
static GPtrArray *take_nodes(DtcManifest *to, DtcManifest *tree, const struct dtc_gather_request *request)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(dtc_bundle_file_free);

	while (tree->nodes->len > 0) {
		struct dtc_manifest_node *node = g_ptr_array_steal_index(tree->nodes, 0);
		set_role(node, request);
		g_ptr_array_add(to->nodes, node);
	}
	for (guint i = 0; i < tree->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(tree->files, i);
		g_autofree char *source = g_build_filename(request->folder, file->path, NULL);
		if (g_file_test(source, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(files, dtc_bundle_file_new(file->path, source, file->bytes));
	}
	return files;
}

bool dtc_gather(const struct dtc_gather_request *request, guint64 *ret_bytes, GError **error)
{
	g_autoptr(DtcManifest) tree = dtc_manifest_read_tree(request->folder, error);
	g_autoptr(DtcManifest) manifest = dtc_manifest_new(request->creator);

	if (!tree)
		return false;
	find_roles(tree, request);
	g_autoptr(GPtrArray) files = take_nodes(manifest, tree, request);
	if (!dtc_bundle_write(files, manifest, request->out, &dtc_packer_stored, request->progress, request->data,
			      error))
		return false;
	*ret_bytes = 0;
	for (guint i = 0; i < files->len; i++)
		*ret_bytes += ((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->bytes;
	return true;
}
