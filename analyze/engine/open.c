/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/open.h"

#include "collect/bundle/roles.h"
#include "collect/read/known.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

#include <string.h>

static bool add_node_path(DtcBundle *bundle, const char *assignment, GError **error)
{
	const char *equals = strchr(assignment, '=');

	if (!equals || equals == assignment || !equals[1]) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--node '%s' is not of the form NAME=PATH\nfor example --node web=recordings/web/kernel",
			    assignment);
		return false;
	}
	g_autofree char *name = g_strndup(assignment, (gsize)(equals - assignment));
	return dtc_bundle_add_node(bundle, name, equals + 1, error);
}

static bool has_paths(const DtcCluster *cluster)
{
	for (guint i = 0; i < dtc_cluster_get_count(cluster); i++)
		if (dtc_cluster_get_node(cluster, i)->path)
			return true;
	return false;
}

static bool add_cluster_paths(DtcBundle *bundle, const DtcCluster *cluster, GError **error)
{
	for (guint i = 0; i < dtc_cluster_get_count(cluster); i++) {
		const struct dtc_cluster_node *node = dtc_cluster_get_node(cluster, i);
		if (node->path && !dtc_bundle_add_node(bundle, node->name, node->path, error))
			return false;
	}
	return true;
}

/* What nodes share goes with the bundle. */
static void set_reader(DtcBundle *bundle, const struct dtc_open_options *options)
{
	struct dtc_reader_options reader = options->reader;
	reader.known = dtc_known_new();
	dtc_bundle_take(bundle, reader.known, (GDestroyNotify)dtc_known_free);
	dtc_bundle_set_reader(bundle, &reader);
}

DtcBundle *dtc_open_other(const struct dtc_open_options *options, const char *path, GError **error)
{
	g_autoptr(DtcCluster) cluster = options->cluster ? dtc_cluster_read(options->cluster, error) : NULL;
	if (options->cluster && !cluster)
		return NULL;
	DtcBundle *bundle = dtc_bundle_open_limited(path, options->max_unpacked_bytes, error);
	if (bundle)
		set_reader(bundle, options);
	if (bundle)
		dtc_bundle_take_cluster(bundle, cluster ? g_steal_pointer(&cluster) : dtc_roles_read(bundle));
	return bundle;
}

DtcBundle *dtc_open_bundle(const struct dtc_open_options *options, GError **error)
{
	const char *path = options->path;
	g_autoptr(DtcCluster) cluster = options->cluster ? dtc_cluster_read(options->cluster, error) : NULL;
	if (options->cluster && !cluster)
		return NULL;
	if (!path && !options->node_paths && !(cluster && has_paths(cluster)))
		path = ".";

	g_autoptr(DtcBundle) bundle = dtc_bundle_open_limited(path, options->max_unpacked_bytes, error);
	if (!bundle || (cluster && !add_cluster_paths(bundle, cluster, error)))
		return NULL;
	if (cluster)
		dtc_bundle_take_cluster(bundle, g_steal_pointer(&cluster));
	for (const char *const *assignment = options->node_paths; assignment && *assignment; assignment++)
		if (!add_node_path(bundle, *assignment, error))
			return NULL;
	if (!options->cluster)
		dtc_bundle_take_cluster(bundle, dtc_roles_read(bundle));
	set_reader(bundle, options);
	if (options->nodes && !dtc_bundle_select(bundle, options->nodes, error))
		return NULL;
	return g_steal_pointer(&bundle);
}

bool dtc_open_is_child(int argc, char **argv)
{
	return argc == 4 && strcmp(argv[1], DTC_READER_CHILD_WORD) == 0;
}

int dtc_open_serve(char **argv)
{
	return dtc_reader_serve(argv[2], argv[3]);
}
