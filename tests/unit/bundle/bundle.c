/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* Makes files below a new temporary directory; a name that ends in '/' is a directory. */
static char *make_tree(const char *const *names)
{
	char *root = g_dir_make_tmp("dtc-bundle-XXXXXX", NULL);
	g_assert_nonnull(root);
	for (; *names; names++) {
		g_autofree char *path = g_build_filename(root, *names, NULL);
		g_autofree char *parent = g_path_get_dirname(path);
		g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
		if (g_str_has_suffix(*names, "/"))
			g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
		else
			g_assert_true(g_file_set_contents(path, "x", 1, NULL));
	}
	return root;
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);
		if (g_file_test(child, G_FILE_TEST_IS_DIR) && !g_file_test(child, G_FILE_TEST_IS_SYMLINK))
			remove_tree(child);
		else
			g_unlink(child);
	}
	g_rmdir(path);
}

static void check_node(const DtcBundle *bundle, guint index, const char *name, const char *kernel_end,
		       guint capture_count)
{
	g_assert_cmpuint(index, <, dtc_bundle_get_count(bundle));
	const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, index);
	g_assert_cmpstr(node->name, ==, name);
	if (kernel_end)
		g_assert_true(node->kernel_path && g_str_has_suffix(node->kernel_path, kernel_end));
	else
		g_assert_null(node->kernel_path);
	g_assert_cmpuint(g_strv_length(node->pcap_paths), ==, capture_count);
	for (guint i = 1; i < capture_count; i++)
		g_assert_cmpstr(node->pcap_paths[i - 1], <, node->pcap_paths[i]);
}

static void check_open_fails(const char *path, int code)
{
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_bundle_open(path, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, code);
	g_assert_nonnull(strchr(error->message, '\n'));
}

static void test_tree(void)
{
	static const char *const names[] = {
		"web/kernel/metadata",
		"web.pcap",
		"web/eth1.pcapng",
		"web/a.pcap",
		"db/metadata",
		"db.pcapng",
		"bridge.pcap",
		"notes/readme.txt",
		"report.pdf",
		"empty/",
		".hidden/kernel/metadata",
		"-x/metadata",
		"bad\nname/metadata",
		NULL,
	};
	g_autofree char *root = make_tree(names);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(root, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	check_node(bundle, 0, "bridge", NULL, 1);
	check_node(bundle, 1, "db", "/db", 1);
	check_node(bundle, 2, "web", "/web/kernel", 3);
	remove_tree(root);
}

/* One node's trace is a bundle too, named by its directory, whichever level is given. */
static void test_single_node(void)
{
	static const char *const names[] = { "db7/kernel/metadata", "db7/lo.pcap", "flat/metadata", NULL };
	static const char *const given[] = { "db7", "db7/", "db7/kernel", "db7/kernel/../kernel" };
	g_autofree char *root = make_tree(names);
	for (guint i = 0; i < G_N_ELEMENTS(given); i++) {
		g_autofree char *path = g_build_filename(root, given[i], NULL);
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcBundle) bundle = dtc_bundle_open(path, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 1);
		check_node(bundle, 0, "db7", "/db7/kernel", 1);
	}
	g_autofree char *flat = g_build_filename(root, "flat", NULL);
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(flat, NULL);
	check_node(bundle, 0, "flat", "/flat", 0);
	remove_tree(root);
}

/* Streams whose metadata was not copied are a trace that cannot be read: not "no trace", and no reason to be silent. */
static void test_streams_without_metadata(void)
{
	static const char *const names[] = { "a/kernel/ch0_0", "a.pcap", "b/ch0_0", "c/kernel/notes", "c.pcap", NULL };
	static const char little[] = { (char)0xc1, 0x1f, (char)0xfc, (char)0xc1, 0 };
	static const char big[] = { (char)0xc1, (char)0xfc, 0x1f, (char)0xc1, 0 };
	g_autofree char *root = make_tree(names);
	g_autofree char *first = g_build_filename(root, names[0], NULL);
	g_autofree char *second = g_build_filename(root, names[2], NULL);
	g_assert_true(g_file_set_contents(first, little, sizeof(little), NULL));
	g_assert_true(g_file_set_contents(second, big, sizeof(big), NULL));
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(root, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	check_node(bundle, 0, "a", "/a/kernel", 1);
	check_node(bundle, 1, "b", "/b", 0);
	check_node(bundle, 2, "c", NULL, 1);
	remove_tree(root);
}

static void test_open_fails(void)
{
	static const char *const names[] = { "sub/notes.txt", "file", NULL };
	g_autofree char *root = make_tree(names);
	g_autofree char *file = g_build_filename(root, "file", NULL);
	g_autofree char *missing = g_build_filename(root, "missing", NULL);
	check_open_fails(root, DTC_ERROR_NOT_FOUND);
	check_open_fails(missing, DTC_ERROR_NOT_FOUND);
	check_open_fails(file, DTC_ERROR_DAMAGED); /* taken for a packed bundle */
	remove_tree(root);
}

static void test_add_node(void)
{
	static const char *const names[] = { "a/kernel/metadata", "b/metadata", "c.pcap", "d/readme", NULL };
	g_autofree char *root = make_tree(names);
	g_autofree char *a = g_build_filename(root, "a/", NULL), *b = g_build_filename(root, "b", NULL);
	g_autofree char *c = g_build_filename(root, "c.pcap", NULL), *d = g_build_filename(root, "d", NULL);
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(NULL, NULL);
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 0);
	g_autoptr(GError) error = NULL;
	g_assert_true(dtc_bundle_add_node(bundle, "zeta", a, &error));
	g_assert_true(dtc_bundle_add_node(bundle, "alpha", b, &error));
	g_assert_true(dtc_bundle_add_node(bundle, "mirror", c, &error));
	g_assert_no_error(error);
	check_node(bundle, 0, "alpha", "/b", 0);
	check_node(bundle, 1, "mirror", NULL, 1);
	check_node(bundle, 2, "zeta", "/a/kernel", 0);
	g_assert_true(dtc_bundle_add_node(bundle, "alpha", a, NULL)); /* replaces the paths */
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	check_node(bundle, 0, "alpha", "/a/kernel", 0);
	g_assert_false(dtc_bundle_add_node(bundle, "beta", d, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
	g_clear_error(&error);
	static const char *const bad[] = { "", ".", "..", "a/b", "a\nb", "\x1b[2J", "-n", "a=b", "a,b", "a:b", "\xff" };
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_assert_false(dtc_bundle_add_node(bundle, bad[i], a, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_null(strchr(error->message, '\x1b'));
		g_clear_error(&error);
	}
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	remove_tree(root);
}

static void test_select(void)
{
	static const char *const names[] = { "a/metadata", "b/metadata", "c/metadata", NULL };
	g_autofree char *root = make_tree(names);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(root, &error);
	g_assert_no_error(error);
	g_assert_false(dtc_bundle_select(bundle, (const char *const[]){ "a", "z", NULL }, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, "'z'"));
	g_assert_nonnull(strstr(error->message, "a, b, c"));
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	g_clear_error(&error);
	g_assert_true(dtc_bundle_select(bundle, (const char *const[]){ "c", "a", "c", NULL }, &error));
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 2);
	check_node(bundle, 0, "a", "/a", 0);
	check_node(bundle, 1, "c", "/c", 0);
	remove_tree(root);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bundle/tree", test_tree);
	g_test_add_func("/bundle/single-node", test_single_node);
	g_test_add_func("/bundle/open-fails", test_open_fails);
	g_test_add_func("/bundle/streams-without-metadata", test_streams_without_metadata);
	g_test_add_func("/bundle/add-node", test_add_node);
	g_test_add_func("/bundle/select", test_select);
	return g_test_run();
}
