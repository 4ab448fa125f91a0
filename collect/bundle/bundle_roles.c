/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apart from what finds roles: that is linked by who records, too, and opening bundles is not. */
#include "collect/bundle/roles.h"

#include <string.h>

#define GUEST "guest"

static bool has_guests(const DtcManifest *manifest)
{
	for (guint i = 0; i < manifest->nodes->len; i++)
		if (strcmp(((const struct dtc_manifest_node *)g_ptr_array_index(manifest->nodes, i))->role, GUEST) == 0)
			return true;
	return false;
}

/* A manifest of what recorders wrote, with nothing but roles in it. */
static DtcManifest *describe(const DtcBundle *bundle)
{
	guint count = dtc_bundle_get_count(bundle);
	DtcManifest *manifest = dtc_manifest_new("");
	g_autofree struct dtc_role_source *sources = g_new0(struct dtc_role_source, count + 1);

	for (guint i = 0; i < count; i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		sources[i] = (struct dtc_role_source){ .node = node->name, .environment = node->environment };
		dtc_manifest_add_node(manifest, node->name);
	}
	g_autoptr(GArray) roles = dtc_roles_find(sources, count, NULL);
	dtc_roles_write(manifest, sources, roles);
	return manifest;
}

DtcCluster *dtc_roles_read(const DtcBundle *bundle)
{
	const char *directory = dtc_bundle_get_directory(bundle);
	g_autoptr(DtcManifest) told = directory ? dtc_manifest_read_tree(directory, NULL) : NULL;

	if (told && has_guests(told))
		return dtc_cluster_new_of(told);
	g_autoptr(DtcManifest) found = describe(bundle);
	return has_guests(found) ? dtc_cluster_new_of(found) : NULL;
}
