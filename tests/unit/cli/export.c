/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is never written over, and that a file appears whole or not at all. */
#include "analyze/cli/export.h"

#include "dtrace-chain/error.h"
#include "tests/support/made_path.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct folder {
	char *path;
	DtcBundle *bundle; /* one node, "web", with a kernel trace and a capture */
	DtcReport *report;
	DtcPath *critical_path;
};

static void touch(const char *folder, const char *name, const char *content)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, content, -1, NULL));
}

static void folder_init(struct folder *folder)
{
	static const struct made_segment segments[] = { { 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 } };
	g_autoptr(GError) error = NULL;

	folder->path = g_dir_make_tmp("dtc-export-XXXXXX", &error);
	g_assert_no_error(error);
	touch(folder->path, "bundle/web/kernel/metadata", "/* CTF 1.8 */");
	touch(folder->path, "bundle/web/kernel/channel0_0", "x");
	touch(folder->path, "bundle/web.pcap", "pcap");
	g_autofree char *bundle = g_build_filename(folder->path, "bundle", NULL);
	folder->bundle = dtc_bundle_open(bundle, &error);
	g_assert_no_error(error);
	folder->critical_path = made_path_new(0, segments, 1);
	folder->report = made_path_report(folder->critical_path, NULL, "r", &error);
	g_assert_no_error(error);
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);
		remove_tree(child);
	}
	g_remove(path);
}

static void folder_clear(struct folder *folder)
{
	remove_tree(folder->path);
	g_free(folder->path);
	dtc_bundle_free(folder->bundle);
	dtc_report_free(folder->report);
	dtc_path_free(folder->critical_path);
}

/* A path in the folder, owned by the options. */
static char *in(const struct folder *folder, const char *name)
{
	return g_build_filename(folder->path, name, NULL);
}

static void assert_refused(const struct folder *folder, const char *name, const char *part)
{
	struct dtc_export_options options = { .html = in(folder, name) };
	g_autoptr(GError) error = NULL;

	g_assert_false(dtc_export_options_check(&options, folder->bundle, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, part));
	g_assert_nonnull(strstr(error->message, name));
	g_assert_nonnull(strchr(error->message, '\n'));
	dtc_export_options_clear(&options);
}

static void test_refused(void)
{
	struct folder folder;

	folder_init(&folder);
	g_autofree char *link = in(&folder, "innocent.html"), *capture = in(&folder, "bundle/web.pcap");
	g_autofree char *loop = in(&folder, "by-another-way"), *bundle = in(&folder, "bundle");
	g_assert_cmpint(symlink(capture, link), ==, 0);
	g_assert_cmpint(symlink(bundle, loop), ==, 0);
	assert_refused(&folder, "bundle/web.pcap", "belongs to the recording of 'web'");
	assert_refused(&folder, "innocent.html", "belongs to the recording of 'web'");
	assert_refused(&folder, "bundle/web/kernel/metadata", "belongs to the recording of 'web'");
	assert_refused(&folder, "bundle/web/kernel/new.html", "belongs to the recording of 'web'");
	assert_refused(&folder, "by-another-way/web/kernel/new.html", "belongs to the recording of 'web'");
	assert_refused(&folder, "bundle", "it is a folder");
	assert_refused(&folder, "no/such/folder.html", "there is no such folder");
	folder_clear(&folder);
}

static void test_twice(void)
{
	struct folder folder;

	folder_init(&folder);
	struct dtc_export_options options = { .html = in(&folder, "a.out"), .dot = in(&folder, "bundle/../a.out") };
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_export_options_check(&options, folder.bundle, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, "two outputs"));
	dtc_export_options_clear(&options);
	folder_clear(&folder);
}

static guint count_files(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint count = 0;

	while (g_dir_read_name(dir))
		count++;
	return count;
}

static void test_written(void)
{
	struct folder folder;

	folder_init(&folder);
	struct dtc_export_options options = {
		.folded = in(&folder, "bundle/a.folded"), /* beside the recordings is not in them */
		.dot = in(&folder, "link.dot"),
		.otlp = in(&folder, "spans.json"),
	};
	g_autoptr(GError) error = NULL;
	g_autofree char *target = in(&folder, "target.dot"), *text = NULL, *graph = NULL;
	touch(folder.path, "target.dot", "old");
	touch(folder.path, "spans.json", "old");
	g_assert_cmpint(symlink(target, options.dot), ==, 0);
	g_assert_true(dtc_export_options_check(&options, folder.bundle, &error));
	g_assert_true(dtc_export_write(&options, folder.report, folder.critical_path, NULL, &error));
	g_assert_no_error(error);
	g_assert_true(g_file_get_contents(options.folded, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "shop@alpha;shop 11;running-user 100\n");
	/* what the link points to was replaced, and the link is one still */
	g_assert_true(g_file_test(options.dot, G_FILE_TEST_IS_SYMLINK));
	g_assert_true(g_file_get_contents(target, &graph, NULL, NULL));
	g_assert_true(g_str_has_prefix(graph, "digraph"));
	/* nothing half-done is left beside them */
	g_assert_cmpuint(count_files(folder.path), ==, 4);
	dtc_export_options_clear(&options);
	folder_clear(&folder);
}

static void test_device(void)
{
	struct folder folder;

	folder_init(&folder);
	struct dtc_export_options options = { .dot = g_strdup("/dev/null"), .folded = g_strdup("/dev/full") };
	g_autoptr(GError) error = NULL;
	g_assert_true(dtc_export_options_check(&options, folder.bundle, &error));
	g_assert_false(dtc_export_write(&options, folder.report, folder.critical_path, NULL, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
	g_assert_nonnull(strstr(error->message, "'/dev/full'"));
	g_assert_false(g_file_test("/dev/null", G_FILE_TEST_IS_REGULAR));
	dtc_export_options_clear(&options);
	folder_clear(&folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/export/refused", test_refused);
	g_test_add_func("/export/twice", test_twice);
	g_test_add_func("/export/written", test_written);
	g_test_add_func("/export/device", test_device);
	return g_test_run();
}
