/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/open.h"

#include "analyze/engine/owned.h"
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

/* What was unpacked here is here alone. */
static bool add_owners(DtcBundle *bundle, const struct dtc_open_options *options, bool is_other, GError **error)
{
	if (!options->owners || dtc_bundle_is_packed(bundle))
		return true;
	g_autoptr(GVariant) packed = g_variant_ref_sink(dtc_owned_pack_options(options, is_other));
	return options->owners->open(options->owners->data, packed, bundle, error);
}

static bool assign_owners(DtcBundle *bundle, GError **error)
{
	guint number;
	const struct dtc_owners *owners = dtc_bundle_get_owners(bundle, &number);

	return !owners || owners->assign(owners->data, bundle, error);
}

/* What is not here may be where its owners are: then it begins empty, with the reason why. */
static DtcBundle *open_here(const struct dtc_open_options *options, const char *path, GError **ret_reason,
			    GError **error)
{
	g_autoptr(GError) reason = NULL;
	DtcBundle *bundle = dtc_bundle_open_limited(path, options->max_unpacked_bytes, &reason);

	if (bundle)
		return bundle;
	if (!options->owners || !g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND)) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	*ret_reason = g_steal_pointer(&reason);
	return dtc_bundle_open_limited(NULL, options->max_unpacked_bytes, error);
}

/* False with the reason for which it was empty, if there is one and it still is. */
static bool was_found(const DtcBundle *bundle, GError **reason, GError **error)
{
	if (!*reason || dtc_bundle_get_count(bundle) > 0)
		return true;
	g_propagate_error(error, g_steal_pointer(reason));
	return false;
}

DtcBundle *dtc_open_other(const struct dtc_open_options *options, const char *path, GError **error)
{
	g_autoptr(DtcCluster) cluster = options->cluster ? dtc_cluster_read(options->cluster, error) : NULL;
	if (options->cluster && !cluster)
		return NULL;
	struct dtc_open_options other = *options;
	other.path = path;
	g_autoptr(GError) reason = NULL;
	g_autoptr(DtcBundle) bundle = open_here(options, path, &reason, error);
	if (!bundle || !add_owners(bundle, &other, true, error) || !was_found(bundle, &reason, error))
		return NULL;
	set_reader(bundle, options);
	dtc_bundle_take_cluster(bundle, cluster ? g_steal_pointer(&cluster) : dtc_roles_read(bundle));
	return assign_owners(bundle, error) ? g_steal_pointer(&bundle) : NULL;
}

DtcBundle *dtc_open_bundle(const struct dtc_open_options *options, GError **error)
{
	const char *path = options->path;
	g_autoptr(DtcCluster) cluster = options->cluster ? dtc_cluster_read(options->cluster, error) : NULL;
	if (options->cluster && !cluster)
		return NULL;
	if (!path && !options->node_paths && !(cluster && has_paths(cluster)))
		path = ".";

	g_autoptr(GError) reason = NULL;
	g_autoptr(DtcBundle) bundle = open_here(options, path, &reason, error);
	if (!bundle || (cluster && !add_cluster_paths(bundle, cluster, error)))
		return NULL;
	if (cluster)
		dtc_bundle_take_cluster(bundle, g_steal_pointer(&cluster));
	for (const char *const *assignment = options->node_paths; assignment && *assignment; assignment++)
		if (!add_node_path(bundle, *assignment, error))
			return NULL;
	if (!add_owners(bundle, options, false, error) || !was_found(bundle, &reason, error))
		return NULL;
	if (!options->cluster)
		dtc_bundle_take_cluster(bundle, dtc_roles_read(bundle));
	set_reader(bundle, options);
	if (options->nodes && !dtc_bundle_select(bundle, options->nodes, error))
		return NULL;
	if (!assign_owners(bundle, error))
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
