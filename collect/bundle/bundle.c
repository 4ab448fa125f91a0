/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/bundle.h"

#include "collect/bundle/access.h"
#include "collect/bundle/defect.h"
#include "collect/bundle/environment.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/paths.h"
#include "collect/bundle/scratch.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct DtcBundle {
	GPtrArray *nodes;    /* struct dtc_bundle_node, sorted by name */
	char *source;	     /* owned: as it was named, a directory or a packed file; NULL: none was opened */
	char *directory;     /* owned: the tree; NULL: none was opened */
	DtcScratch *scratch; /* owned: where a packed bundle was unpacked; NULL: it was not packed */
	DtcCluster *cluster; /* owned or NULL */
	GPtrArray *defects;  /* struct dtc_defect: what is not as the manifest says */
	struct dtc_reader_options reader;
	void *taken; /* of dtc_bundle_take, or NULL */
	GDestroyNotify destroy_taken;
	GPtrArray *left_out; /* owned names of nodes that were there and not selected */
	const struct dtc_owners *owners;
	guint owners_number;
	DtcFindings *lost; /* of nodes that nobody can read any more; NULL: of none */
};

static void node_free(void *data)
{
	struct dtc_bundle_node *node = data;
	g_free(node->name);
	g_free(node->kernel_path);
	g_strfreev(node->pcap_paths);
	g_free(node->kernel_image);
	g_free(node->capture_image);
	dtc_environment_free(node->environment);
	g_free(node);
}

static int compare_nodes(gconstpointer a, gconstpointer b)
{
	const struct dtc_bundle_node *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

static struct dtc_bundle_node *find_node(const DtcBundle *bundle, const char *name)
{
	for (guint i = 0; i < bundle->nodes->len; i++) {
		struct dtc_bundle_node *node = g_ptr_array_index(bundle->nodes, i);
		if (strcmp(node->name, name) == 0)
			return node;
	}
	return NULL;
}

static bool is_capture(const char *path)
{
	return g_str_has_suffix(path, ".pcap") || g_str_has_suffix(path, ".pcapng");
}

static bool has_metadata(const char *directory)
{
	g_autofree char *path = g_build_filename(directory, "metadata", NULL);
	return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

/* A file that begins with the magic number of CTF packets, in either byte order. */
static bool is_stream(const char *path)
{
	static const guint8 big[4] = { 0xc1, 0xfc, 0x1f, 0xc1 }, little[4] = { 0xc1, 0x1f, 0xfc, 0xc1 };
	guint8 magic[4] = { 0 };

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
		return false;
	FILE *file = fopen(path, "rb");
	if (!file) {
		dtc_access_note_text(g_strerror(errno), path);
		return false;
	}
	size_t count = fread(magic, 1, sizeof(magic), file);
	fclose(file);
	return count == sizeof(magic) && (memcmp(magic, big, 4) == 0 || memcmp(magic, little, 4) == 0);
}

static bool has_streams(const char *directory)
{
	g_autoptr(GDir) dir = dtc_access_list(directory);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(directory, name, NULL);
		if (!is_capture(name) && is_stream(path)) /* captures of all nodes lie in a bundle's folder */
			return true;
	}
	return false;
}

/*
 * The directory itself or its kernel/, whichever holds CTF metadata, else whichever holds CTF streams: a trace whose
 * metadata was not copied is a trace that cannot be read, not a node without one. NULL if neither does.
 */
static char *find_kernel(const char *directory)
{
	g_autofree char *kernel = g_build_filename(directory, "kernel", NULL);
	if (has_metadata(kernel))
		return g_steal_pointer(&kernel);
	if (has_metadata(directory))
		return g_strdup(directory);
	if (has_streams(kernel))
		return g_steal_pointer(&kernel);
	return has_streams(directory) ? g_strdup(directory) : NULL;
}

static void add_captures(GPtrArray *captures, const char *directory)
{
	g_autoptr(GDir) dir = dtc_access_list(directory);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(directory, name, NULL);
		if (is_capture(name) && g_file_test(path, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(captures, g_steal_pointer(&path));
	}
}

static int compare_strings(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The capture files of a node directory, and NODE.pcap or NODE.pcapng beside it. */
static char **find_captures(const char *directory)
{
	GPtrArray *captures = g_ptr_array_new();
	static const char *const suffixes[] = { ".pcap", ".pcapng" };
	for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		g_autofree char *beside = g_strconcat(directory, suffixes[i], NULL);
		if (g_file_test(beside, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(captures, g_steal_pointer(&beside));
	}
	add_captures(captures, directory);
	g_ptr_array_sort(captures, compare_strings);
	g_ptr_array_add(captures, NULL);
	return (char **)g_ptr_array_free(captures, FALSE);
}

/* NULL if there is none that we could read: other recorders wrote files of this name in forms of their own. */
static DtcEnvironment *find_environment(const char *directory)
{
	g_autofree char *path = g_build_filename(directory, DTC_ENVIRONMENT_NAME, NULL);
	return g_file_test(path, G_FILE_TEST_IS_REGULAR) ? dtc_environment_read(path, NULL) : NULL;
}

static char *find_image(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	return g_file_test(path, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&path) : NULL;
}

static bool has_images(const char *directory)
{
	g_autofree char *kernel = find_image(directory, DTC_KERNEL_IMAGE_NAME);
	g_autofree char *captures = find_image(directory, DTC_CAPTURE_IMAGE_NAME);
	return kernel || captures;
}

/* In the place of what is not there: what is there is read, and may be more than an image of it. */
static void find_images(struct dtc_bundle_node *node, const char *directory)
{
	g_clear_pointer(&node->kernel_image, g_free);
	g_clear_pointer(&node->capture_image, g_free);
	if (!directory)
		return;
	if (!node->kernel_path)
		node->kernel_image = find_image(directory, DTC_KERNEL_IMAGE_NAME);
	if (!node->pcap_paths[0])
		node->capture_image = find_image(directory, DTC_CAPTURE_IMAGE_NAME);
}

/* Takes over the paths. directory: where the node's environment may be, or NULL. */
static void put_node(DtcBundle *bundle, const char *name, char *kernel_path, char **pcap_paths, const char *directory)
{
	struct dtc_bundle_node *node = find_node(bundle, name);
	if (!node) {
		node = g_new0(struct dtc_bundle_node, 1);
		node->name = g_strdup(name);
		node->reader = bundle->reader;
		g_ptr_array_add(bundle->nodes, node);
	}
	g_free(node->kernel_path);
	g_strfreev(node->pcap_paths);
	dtc_environment_free(node->environment);
	node->kernel_path = kernel_path;
	node->pcap_paths = pcap_paths;
	node->environment = directory ? find_environment(directory) : NULL;
	find_images(node, directory);
	g_ptr_array_sort(bundle->nodes, compare_nodes);
}

bool dtc_bundle_add_node(DtcBundle *bundle, const char *name, const char *path, GError **error)
{
	if (!dtc_node_name_check(name)) {
		g_autofree char *shown = g_strescape(name, NULL);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "'%s' cannot be a node's name\n"
			    "a name has no '/', ',', ':', '=' or control characters and does not begin with '.' or '-'",
			    shown);
		return false;
	}
	if (g_file_test(path, G_FILE_TEST_IS_REGULAR) && is_capture(path)) {
		char **captures = g_new0(char *, 2);
		captures[0] = g_strdup(path);
		put_node(bundle, name, NULL, captures, NULL);
		return true;
	}
	if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "node '%s': '%s' is neither a directory nor a capture\n"
			    "give the directory that holds the CTF metadata, or its parent, or a .pcap or .pcapng file",
			    name, path);
		return false;
	}
	g_autofree char *directory = g_strdup(path);
	while (strlen(directory) > 1 && g_str_has_suffix(directory, "/"))
		directory[strlen(directory) - 1] = 0;
	g_autofree char *kernel = find_kernel(directory);
	g_auto(GStrv) captures = find_captures(directory);
	if (!kernel && !captures[0] && !has_images(directory)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "node '%s': no trace in '%s'\n"
			    "expected a file 'metadata' there or in 'kernel/', or a capture",
			    name, path);
		return false;
	}
	put_node(bundle, name, g_steal_pointer(&kernel), g_steal_pointer(&captures), directory);
	return true;
}

/* Sub-directories with a kernel trace are nodes; a capture beside is its node's, or a node of its own. */
static void scan(DtcBundle *bundle, const char *path)
{
	g_autoptr(GDir) dir = dtc_access_list(path);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);
		g_autofree char *node = g_strdup(name);
		if (g_file_test(child, G_FILE_TEST_IS_DIR)) {
			g_autofree char *kernel = find_kernel(child);
			if ((kernel || has_images(child)) && dtc_node_name_check(name))
				put_node(bundle, name, g_steal_pointer(&kernel), find_captures(child), child);
			continue;
		}
		if (!is_capture(name) || !g_file_test(child, G_FILE_TEST_IS_REGULAR))
			continue;
		*strrchr(node, '.') = 0;
		g_autofree char *directory = g_build_filename(path, node, NULL);
		g_autofree char *kernel = find_kernel(directory);
		if (!kernel && dtc_node_name_check(node))
			put_node(bundle, node, NULL, find_captures(directory), directory);
	}
}

/*
 * One node's own directory was given, or its kernel/: a bundle with that node, named by the directory. This is asked
 * first, else the kernel/ inside would be taken for a node of that name.
 */
static bool add_own_node(DtcBundle *bundle, const char *path)
{
	g_autofree char *absolute = g_canonicalize_filename(path, NULL);
	g_autofree char *kernel = find_kernel(absolute);
	if (!kernel && !has_images(absolute))
		return false;
	g_autofree char *base = g_path_get_basename(absolute);
	if (strcmp(base, "kernel") == 0) {
		g_autofree char *parent = g_path_get_dirname(absolute);
		g_free(base);
		base = g_path_get_basename(parent);
		if (has_metadata(absolute)) { /* captures lie beside kernel/ */
			g_free(absolute);
			absolute = g_steal_pointer(&parent);
		}
	}
	put_node(bundle, dtc_node_name_check(base) ? base : "node", g_steal_pointer(&kernel), find_captures(absolute),
		 absolute);
	return true;
}

/* `tar --zstd -cf demo.dtcb demo` puts a folder around the nodes. */
static bool scan_inner(DtcBundle *bundle)
{
	g_autoptr(GDir) dir = dtc_access_list(bundle->directory);
	g_autofree char *inner = NULL;
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(bundle->directory, name, NULL);
		if (inner)
			return false;
		inner = g_steal_pointer(&child);
	}
	if (!inner || !g_file_test(inner, G_FILE_TEST_IS_DIR))
		return false;
	scan(bundle, inner);
	if (!bundle->nodes->len)
		return false;
	g_free(bundle->directory);
	bundle->directory = g_steal_pointer(&inner);
	return true;
}

static bool unpack(DtcBundle *bundle, const char *path, guint64 max_unpacked_bytes, GError **error)
{
	const struct dtc_unpack_limits limits = { .max_bytes = max_unpacked_bytes };

	bundle->scratch = dtc_scratch_new(error);
	if (!bundle->scratch ||
	    !dtc_unpack_and_check(path, dtc_scratch_get_path(bundle->scratch), &limits, bundle->defects, error))
		return false;
	bundle->directory = g_strdup(dtc_scratch_get_path(bundle->scratch));
	return true;
}

/* Sizes cost nothing: what else a directory's manifest says is compared by `bundle check`. */
static void compare_with_manifest(DtcBundle *bundle)
{
	g_autoptr(GError) reason = NULL;
	g_autoptr(DtcManifest) manifest = dtc_manifest_read_tree(bundle->directory, &reason);
	if (manifest)
		dtc_defects_compare_sizes(bundle->defects, manifest, bundle->directory);
	else if (!g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND))
		dtc_defects_add(bundle->defects, DTC_DEFECT_CHANGED, DTC_MANIFEST_NAME, "cannot be trusted");
}

static bool open_tree(DtcBundle *bundle, const char *path, guint64 max_unpacked_bytes, GError **error)
{
	if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
		bundle->directory = g_strdup(path);
		compare_with_manifest(bundle);
		if (!add_own_node(bundle, path))
			scan(bundle, path);
		return true;
	}
	if (g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
		if (!unpack(bundle, path, max_unpacked_bytes, error))
			return false;
		scan(bundle, bundle->directory);
		if (!bundle->nodes->len)
			scan_inner(bundle);
		return true;
	}
	bool exists = g_file_test(path, G_FILE_TEST_EXISTS);
	g_set_error(error, DTC_COLLECT_ERROR, exists ? DTC_ERROR_UNREADABLE : DTC_ERROR_NOT_FOUND,
		    "bundle '%s' %s\na bundle is a directory with one sub-directory per node, or packed, a .dtcb file",
		    path, exists ? "is neither a directory nor a file" : "does not exist");
	return false;
}

/* A folder that we may not look into may be anything, if there are nodes; one that the machine refuses may be a node.
 */
static bool was_all_seen(const DtcBundle *bundle, GError **error)
{
	return bundle->nodes->len > 0 ? dtc_access_check_machine(error) : dtc_access_check(error);
}

DtcBundle *dtc_bundle_open_limited(const char *path, guint64 max_unpacked_bytes, GError **error)
{
	g_autoptr(DtcBundle) bundle = g_new0(DtcBundle, 1);
	bundle->nodes = g_ptr_array_new_with_free_func(node_free);
	bundle->defects = dtc_defects_new();
	bundle->left_out = g_ptr_array_new_with_free_func(g_free);
	if (!path)
		return g_steal_pointer(&bundle);
	bundle->source = g_strdup(path);
	if (!open_tree(bundle, path, max_unpacked_bytes, error) || !was_all_seen(bundle, error))
		return NULL;
	if (!bundle->nodes->len) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "no node in '%s'\n"
			    "a node is a sub-directory that holds a CTF trace (a file 'metadata', there or in "
			    "'kernel/'), or a capture NODE.pcap; or name one with --node NAME=PATH",
			    path);
		return NULL;
	}
	return g_steal_pointer(&bundle);
}

DtcBundle *dtc_bundle_open(const char *path, GError **error)
{
	return dtc_bundle_open_limited(path, 0, error);
}

void dtc_bundle_free(DtcBundle *bundle)
{
	if (!bundle)
		return;
	if (bundle->nodes)
		g_ptr_array_unref(bundle->nodes);
	if (bundle->defects)
		g_ptr_array_unref(bundle->defects);
	if (bundle->left_out)
		g_ptr_array_unref(bundle->left_out);
	dtc_findings_free(bundle->lost);
	g_free(bundle->source);
	g_free(bundle->directory);
	dtc_scratch_free(bundle->scratch);
	dtc_cluster_free(bundle->cluster);
	if (bundle->taken)
		bundle->destroy_taken(bundle->taken);
	g_free(bundle);
}

const char *dtc_bundle_get_source(const DtcBundle *bundle)
{
	return bundle->source;
}

const char *dtc_bundle_get_directory(const DtcBundle *bundle)
{
	return bundle->directory;
}

bool dtc_bundle_is_packed(const DtcBundle *bundle)
{
	return bundle->scratch != NULL;
}

void dtc_bundle_take_cluster(DtcBundle *bundle, DtcCluster *cluster)
{
	dtc_cluster_free(bundle->cluster);
	bundle->cluster = cluster;
}

const DtcCluster *dtc_bundle_get_cluster(const DtcBundle *bundle)
{
	return bundle->cluster;
}

bool dtc_bundle_select(DtcBundle *bundle, const char *const *names, GError **error)
{
	for (guint i = 0; names[i]; i++) {
		if (find_node(bundle, names[i]))
			continue;
		g_autofree const char **known = g_new0(const char *, bundle->nodes->len + 1);
		for (guint k = 0; k < bundle->nodes->len; k++)
			known[k] = ((const struct dtc_bundle_node *)g_ptr_array_index(bundle->nodes, k))->name;
		g_autofree char *list = g_strjoinv(", ", (char **)known);
		g_autofree char *shown = g_strescape(names[i], NULL);
		const char *nearest = dtc_suggest(names[i], known);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "no node '%s' in the bundle\n%s%s%sthe bundle has %s", shown,
			    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "",
			    *list ? list : "no nodes");
		return false;
	}
	if (!names[0]) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--nodes names no node\nfor example --nodes web,db");
		return false;
	}
	for (guint k = bundle->nodes->len; k-- > 0;) {
		const struct dtc_bundle_node *node = g_ptr_array_index(bundle->nodes, k);
		if (g_strv_contains(names, node->name))
			continue;
		g_ptr_array_add(bundle->left_out, g_strdup(node->name));
		g_ptr_array_remove_index(bundle->nodes, k);
	}
	return true;
}

void dtc_bundle_set_reader(DtcBundle *bundle, const struct dtc_reader_options *options)
{
	bundle->reader = *options;
	for (guint i = 0; i < bundle->nodes->len; i++)
		((struct dtc_bundle_node *)g_ptr_array_index(bundle->nodes, i))->reader = *options;
}

void dtc_bundle_take(DtcBundle *bundle, void *data, GDestroyNotify destroy)
{
	if (bundle->taken)
		bundle->destroy_taken(bundle->taken);
	bundle->taken = data;
	bundle->destroy_taken = destroy;
}

const struct dtc_bundle_node *dtc_bundle_find_node(const DtcBundle *bundle, const char *name)
{
	return find_node(bundle, name);
}

guint dtc_bundle_get_count(const DtcBundle *bundle)
{
	return bundle->nodes->len;
}

const struct dtc_bundle_node *dtc_bundle_get_node(const DtcBundle *bundle, guint index)
{
	return g_ptr_array_index(bundle->nodes, index);
}

/* ---- elsewhere ---- */

void dtc_bundle_set_owners(DtcBundle *bundle, const struct dtc_owners *owners, guint number)
{
	bundle->owners = owners;
	bundle->owners_number = number;
}

const struct dtc_owners *dtc_bundle_get_owners(const DtcBundle *bundle, guint *ret_number)
{
	*ret_number = bundle->owners_number;
	return bundle->owners;
}

void dtc_bundle_add_seen(DtcBundle *bundle, const struct dtc_bundle_node *seen)
{
	if (find_node(bundle, seen->name))
		return;
	put_node(bundle, seen->name, g_strdup(seen->kernel_path), g_strdupv(seen->pcap_paths), NULL);
	struct dtc_bundle_node *node = find_node(bundle, seen->name);
	node->kernel_image = g_strdup(seen->kernel_image);
	node->capture_image = g_strdup(seen->capture_image);
	if (seen->environment) {
		g_autofree char *text = dtc_environment_to_text(seen->environment);
		node->environment = dtc_environment_from_text(text);
	}
}

void dtc_bundle_give_node(DtcBundle *bundle, guint index)
{
	((struct dtc_bundle_node *)g_ptr_array_index(bundle->nodes, index))->is_elsewhere = true;
}

void dtc_bundle_lose_node(DtcBundle *bundle, const char *name, const char *why)
{
	struct dtc_bundle_node *node = find_node(bundle, name);

	if (!node)
		return;
	if (!bundle->lost)
		bundle->lost = dtc_findings_new();
	dtc_findings_add_coded(bundle->lost, DTC_FINDING_NODE_LOST, DTC_SEVERITY_ERROR, true, name, "%s", why);
	g_ptr_array_add(bundle->left_out, g_strdup(name));
	g_ptr_array_remove(bundle->nodes, node);
}

static void report_lost(const DtcBundle *bundle, DtcFindings *findings)
{
	for (guint i = 0; bundle->lost && i < dtc_findings_get_count(bundle->lost); i++) {
		const struct dtc_finding *lost = dtc_findings_get(bundle->lost, i);
		dtc_findings_add_coded(findings, lost->code, lost->severity, lost->incomplete, lost->node, "%s",
				       lost->text);
	}
}

/* ---- what was wrong ---- */

/* The node to which a file of the bundle belongs by its name; caller frees. */
static char *get_node_name(const char *path)
{
	const char *slash = strchr(path, '/');
	if (slash)
		return g_strndup(path, (gsize)(slash - path));
	const char *dot = is_capture(path) ? strrchr(path, '.') : NULL;
	return dot ? g_strndup(path, (gsize)(dot - path)) : NULL;
}

/* Whether a file of that node (NULL: of none) is to be told of with wanted (NULL: with the bundle as a whole). */
static bool is_about(const DtcBundle *bundle, const char *node, const char *wanted)
{
	if (node && find_node(bundle, node))
		return g_strcmp0(node, wanted) == 0;
	/* a node that is wholly missing is the bundle's affair, one that was not selected is nobody's */
	return !wanted && !(node && g_ptr_array_find_with_equal_func(bundle->left_out, node, g_str_equal, NULL));
}

static void report_defects(const DtcBundle *bundle, const char *wanted, DtcFindings *findings)
{
	const struct dtc_defect *first = NULL;
	guint count = 0;
	for (guint i = 0; i < bundle->defects->len; i++) {
		const struct dtc_defect *defect = g_ptr_array_index(bundle->defects, i);
		g_autofree char *node = get_node_name(defect->path);
		if (!is_about(bundle, node, wanted))
			continue;
		if (!first)
			first = defect;
		count++;
	}
	if (!first)
		return;
	g_autofree char *more = count > 1 ? g_strdup_printf(" (and %u more files)", count - 1) : g_strdup("");
	dtc_findings_add_coded(findings, DTC_FINDING_BUNDLE_CHANGED, DTC_SEVERITY_ERROR, true, wanted,
			       "the bundle is not as it was made: '%s' %s%s", first->path, first->text, more);
}

static void report_link(const DtcBundle *bundle, const char *node, const char *path, DtcFindings *findings)
{
	g_autofree char *target = dtc_path_find_outside(bundle->directory, path);
	if (target)
		dtc_findings_add_coded(findings, DTC_FINDING_LINK, DTC_SEVERITY_INFO, false, node,
				       "'%s' leads out of the bundle, to '%s'", path, target);
}

/* A folder that leads out of the bundle is one link, not one for each file. */
static void report_links(const DtcBundle *bundle, const struct dtc_bundle_node *node, DtcFindings *findings)
{
	for (char **capture = node->pcap_paths; *capture; capture++)
		report_link(bundle, node->name, *capture, findings);
	if (!node->kernel_path)
		return;
	g_autofree char *outside = dtc_path_find_outside(bundle->directory, node->kernel_path);
	if (outside) {
		report_link(bundle, node->name, node->kernel_path, findings);
		return;
	}
	g_autoptr(GDir) dir = dtc_access_list(node->kernel_path);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(node->kernel_path, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			report_link(bundle, node->name, path, findings);
	}
}

/* What the recorder says is not there. */
static void report_environment(const struct dtc_bundle_node *node, DtcFindings *findings)
{
	const DtcEnvironment *environment = node->environment;
	for (guint i = 0; i < environment->lacks->len; i++) {
		const struct dtc_environment_entry *lack = g_ptr_array_index(environment->lacks, i);
		dtc_findings_add_coded(findings, DTC_FINDING_NOT_RECORDED, DTC_SEVERITY_INFO, false, node->name,
				       "not recorded: %s (%s)", lack->name, lack->value);
	}
	for (guint i = 0; i < environment->captures->len; i++) {
		const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, i);
		if (capture->dropped)
			dtc_findings_add_coded(findings, DTC_FINDING_PACKETS_LOST, DTC_SEVERITY_WARNING, true,
					       node->name,
					       "%" G_GUINT64_FORMAT
					       " packets were lost while '%s' was captured, of %" G_GUINT64_FORMAT,
					       capture->dropped, capture->file, capture->dropped + capture->packets);
	}
}

void dtc_bundle_report(const DtcBundle *bundle, DtcFindings *findings)
{
	report_lost(bundle, findings);
	report_defects(bundle, NULL, findings);
	for (guint i = 0; i < bundle->nodes->len; i++) {
		const struct dtc_bundle_node *node = g_ptr_array_index(bundle->nodes, i);
		report_defects(bundle, node->name, findings);
		report_links(bundle, node, findings);
		if (node->environment)
			report_environment(node, findings);
	}
}
