/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/cluster.h"

#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_BYTES (1 << 20)
#define MAX_TIER_BYTES 128

struct tier {
	char *name;
	GPtrArray *members; /* GPatternSpec, of process@node */
};

struct DtcCluster {
	GPtrArray *nodes; /* struct dtc_cluster_node */
	GPtrArray *tiers; /* struct tier, in the order of the file */
};

static void node_free(void *data)
{
	struct dtc_cluster_node *node = data;
	g_free(node->name);
	g_free(node->connect);
	g_free(node->path);
	g_free(node->role);
	g_free(node->host);
	g_free(node->guest);
	g_strfreev(node->addresses);
	g_array_unref(node->vcpu_tids);
	g_free(node);
}

static void pattern_free(void *data)
{
	g_pattern_spec_free(data);
}

static void tier_free(void *data)
{
	struct tier *tier = data;
	g_free(tier->name);
	g_ptr_array_unref(tier->members);
	g_free(tier);
}

void dtc_cluster_free(DtcCluster *cluster)
{
	if (!cluster)
		return;
	g_ptr_array_unref(cluster->nodes);
	g_ptr_array_unref(cluster->tiers);
	g_free(cluster);
}

static bool set_wrong(GError **error, const char *path, const char *hint, const char *format, ...) G_GNUC_PRINTF(4, 5);

static bool set_wrong(GError **error, const char *path, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *what = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE, "cluster file '%s': %s\n%s", path, what, hint);
	return false;
}

static bool check_keys(GKeyFile *file, const char *group, const char *const *known, const char *path, GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, NULL);
	g_autofree char *names = g_strjoinv(", ", (char **)known);
	g_autofree char *hint = g_strdup_printf("the keys of such a group are %s", names);

	for (char **key = keys; key && *key; key++)
		if (!g_strv_contains(known, *key))
			return set_wrong(error, path, hint, "[%s] has no key '%s'", group, *key);
	return true;
}

static char *get_text(GKeyFile *file, const char *group, const char *key)
{
	char *text = g_key_file_get_string(file, group, key, NULL);
	return text ? g_strstrip(text) : g_strdup("");
}

static char **get_list(GKeyFile *file, const char *group, const char *key)
{
	char **list = g_key_file_get_string_list(file, group, key, NULL, NULL);

	for (char **item = list; item && *item; item++)
		g_strstrip(*item);
	return list ? list : g_new0(char *, 1);
}

static bool read_vcpus(struct dtc_cluster_node *node, GKeyFile *file, const char *group, const char *path,
		       GError **error)
{
	g_auto(GStrv) list = get_list(file, group, "vcpu-threads");

	for (char **item = list; *item; item++) {
		guint64 tid;
		if (!g_ascii_string_to_unsigned(*item, 10, 1, G_MAXINT32, &tid, NULL))
			return set_wrong(error, path, "give the thread ids on the host, like vcpu-threads=4711;4712",
					 "'%s' of node '%s' is not a thread id", *item, node->name);
		uint32_t value = (uint32_t)tid;
		g_array_append_val(node->vcpu_tids, value);
	}
	return true;
}

static bool read_node(DtcCluster *cluster, GKeyFile *file, const char *group, const char *name, const char *path,
		      GError **error)
{
	static const char *const keys[] = { "path", "connect", "addresses",    "role",
					    "host", "guest",   "vcpu-threads", NULL };
	struct dtc_cluster_node *node = g_new0(struct dtc_cluster_node, 1);

	node->name = g_strdup(name);
	node->vcpu_tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_ptr_array_add(cluster->nodes, node);
	node->connect = get_text(file, group, "connect");
	node->role = get_text(file, group, "role");
	node->host = get_text(file, group, "host");
	node->guest = get_text(file, group, "guest");
	node->addresses = get_list(file, group, "addresses");
	g_autofree char *place = get_text(file, group, "path");
	g_autofree char *folder = g_path_get_dirname(path);
	if (*place)
		node->path = g_canonicalize_filename(place, NULL); /* replaced below; an absolute path stays */
	if (*place && !g_path_is_absolute(place)) {
		g_autofree char *base = g_canonicalize_filename(folder, NULL);
		g_free(node->path);
		node->path = g_canonicalize_filename(place, base);
	}
	if (!dtc_node_name_check(name))
		return set_wrong(error, path, "a name has no '/', ',', ':', '=' or control characters",
				 "'%s' cannot be a node's name", name);
	if (!check_keys(file, group, keys, path, error) || !read_vcpus(node, file, group, path, error))
		return false;
	if (*node->role && strcmp(node->role, "host") != 0 && strcmp(node->role, "guest") != 0)
		return set_wrong(error, path, "a role is host or guest", "'%s' is not a role of node '%s'", node->role,
				 name);
	if ((*node->host || node->vcpu_tids->len) && strcmp(node->role, "guest") != 0)
		return set_wrong(error, path, "say role=guest, or leave them out",
				 "node '%s' has a host or vcpu-threads, but is no guest", name);
	return true;
}

static bool read_tier(DtcCluster *cluster, GKeyFile *file, const char *group, const char *name, const char *path,
		      GError **error)
{
	static const char *const keys[] = { "members", NULL };
	struct tier *tier = g_new0(struct tier, 1);

	tier->name = g_strdup(name);
	tier->members = g_ptr_array_new_with_free_func(pattern_free);
	g_ptr_array_add(cluster->tiers, tier);
	if (!*name || strlen(name) > MAX_TIER_BYTES)
		return set_wrong(error, path, "for example [tier frontend]", "a tier's name is empty or too long");
	if (!check_keys(file, group, keys, path, error))
		return false;
	g_auto(GStrv) members = get_list(file, group, "members");
	for (char **member = members; *member; member++) {
		if (!strchr(*member, '@'))
			return set_wrong(error, path, "write process@node; * and ? stand for any characters",
					 "member '%s' of tier '%s' names no node", *member, name);
		g_ptr_array_add(tier->members, g_pattern_spec_new(*member));
	}
	return tier->members->len > 0 ||
	       set_wrong(error, path, "for example members=nginx@web;haproxy@*", "tier '%s' has no members", name);
}

static bool read_group(DtcCluster *cluster, GKeyFile *file, const char *group, const char *path, GError **error)
{
	if (g_str_has_prefix(group, "node ")) {
		g_autofree char *name = g_strstrip(g_strdup(group + strlen("node ")));
		return read_node(cluster, file, group, name, path, error);
	}
	if (g_str_has_prefix(group, "tier ")) {
		g_autofree char *name = g_strstrip(g_strdup(group + strlen("tier ")));
		return read_tier(cluster, file, group, name, path, error);
	}
	return set_wrong(error, path, "the groups are [node NAME] and [tier NAME]", "there is no group [%s]", group);
}

static int compare_nodes(gconstpointer a, gconstpointer b)
{
	const struct dtc_cluster_node *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

static bool check_hosts(const DtcCluster *cluster, const char *path, GError **error)
{
	for (guint i = 0; i < cluster->nodes->len; i++) {
		const struct dtc_cluster_node *node = g_ptr_array_index(cluster->nodes, i);
		if (i > 0 && strcmp(dtc_cluster_get_node(cluster, i - 1)->name, node->name) == 0)
			return set_wrong(error, path, "give each a name of its own", "node '%s' is there twice",
					 node->name);
		const struct dtc_cluster_node *host = *node->host ? dtc_cluster_find_node(cluster, node->host) : NULL;
		if (*node->host && (!host || strcmp(host->role, "host") != 0))
			return set_wrong(error, path, "add a group for it with role=host",
					 "'%s', the host of '%s', is no node with role=host", node->host, node->name);
	}
	return true;
}

/* A pipe would be waited for, and a huge file is no cluster file. */
static bool load(GKeyFile *file, const char *path, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autoptr(GMappedFile) mapped = NULL;

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		bool exists = g_file_test(path, G_FILE_TEST_EXISTS);
		g_set_error(error, DTC_COLLECT_ERROR, exists ? DTC_ERROR_UNREADABLE : DTC_ERROR_NOT_FOUND,
			    "cluster file '%s' %s\nsee clusters/demo.conf for one", path,
			    exists ? "is not a file" : "does not exist");
		return false;
	}
	mapped = g_mapped_file_new(path, FALSE, &reason);
	if (!mapped || g_mapped_file_get_length(mapped) > MAX_BYTES) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read cluster file '%s': %s\nsee clusters/demo.conf for one", path,
			    reason ? reason->message : "it is larger than 1 MiB");
		return false;
	}
	const char *text = g_mapped_file_get_contents(mapped);
	if (!g_key_file_load_from_data(file, text ? text : "", g_mapped_file_get_length(mapped), G_KEY_FILE_NONE,
				       &reason)) {
		g_autofree char *message = g_strdelimit(g_strdup(reason->message), "\n", ' ');
		return set_wrong(error, path, "it has groups [node NAME] and [tier NAME] with lines KEY=VALUE", "%s",
				 message);
	}
	return true;
}

DtcCluster *dtc_cluster_read(const char *path, GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(DtcCluster) cluster = g_new0(DtcCluster, 1);

	cluster->nodes = g_ptr_array_new_with_free_func(node_free);
	cluster->tiers = g_ptr_array_new_with_free_func(tier_free);
	if (!load(file, path, error))
		return NULL;
	g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
	for (char **group = groups; *group; group++)
		if (!read_group(cluster, file, *group, path, error))
			return NULL;
	if (!cluster->nodes->len && !cluster->tiers->len) {
		set_wrong(error, path, "it has groups [node NAME] and [tier NAME]", "it says nothing");
		return NULL;
	}
	g_ptr_array_sort(cluster->nodes, compare_nodes);
	return check_hosts(cluster, path, error) ? g_steal_pointer(&cluster) : NULL;
}

static void add_described(DtcCluster *cluster, const struct dtc_manifest_node *from)
{
	struct dtc_cluster_node *node = g_new0(struct dtc_cluster_node, 1);

	node->name = g_strdup(from->name);
	node->connect = g_strdup("");
	node->role = g_strdup(from->role);
	node->host = g_strdup(from->host);
	node->guest = g_strdup("");
	node->addresses = g_strdupv(from->addresses);
	node->vcpu_tids = g_array_copy(from->vcpu_tids);
	g_ptr_array_add(cluster->nodes, node);
}

DtcCluster *dtc_cluster_new_of(const DtcManifest *manifest)
{
	DtcCluster *cluster = g_new0(DtcCluster, 1);

	cluster->nodes = g_ptr_array_new_with_free_func(node_free);
	cluster->tiers = g_ptr_array_new_with_free_func(tier_free);
	for (guint i = 0; i < manifest->nodes->len; i++) {
		const struct dtc_manifest_node *node = g_ptr_array_index(manifest->nodes, i);
		if (*node->role)
			add_described(cluster, node);
	}
	g_ptr_array_sort(cluster->nodes, compare_nodes);
	return cluster;
}

guint dtc_cluster_get_count(const DtcCluster *cluster)
{
	return cluster->nodes->len;
}

const struct dtc_cluster_node *dtc_cluster_get_node(const DtcCluster *cluster, guint index)
{
	return g_ptr_array_index(cluster->nodes, index);
}

const struct dtc_cluster_node *dtc_cluster_find_node(const DtcCluster *cluster, const char *name)
{
	for (guint i = 0; i < cluster->nodes->len; i++)
		if (strcmp(dtc_cluster_get_node(cluster, i)->name, name) == 0)
			return dtc_cluster_get_node(cluster, i);
	return NULL;
}

const char *dtc_cluster_get_tier(const DtcCluster *cluster, const char *process, const char *node)
{
	if (!cluster->tiers->len)
		return NULL;
	g_autofree char *whole = g_strconcat(process, "@", node, NULL);
	for (guint i = 0; i < cluster->tiers->len; i++) {
		const struct tier *tier = g_ptr_array_index(cluster->tiers, i);
		for (guint k = 0; k < tier->members->len; k++)
			if (g_pattern_spec_match_string(g_ptr_array_index(tier->members, k), whole))
				return tier->name;
	}
	return NULL;
}
