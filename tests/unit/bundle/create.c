/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bundle that is made, packed or not, is found intact; a byte changed anywhere in it is found and named. */
#include "collect/bundle/create.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"
#include "dtrace-chain/error.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char *put(const char *folder, const char *name, const char *content)
{
	char *path = g_build_filename(folder, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);
	g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, content, -1, NULL));
	return path;
}

/* A tree with all that a bundle may be made of, and some that it is not. */
static char *make_tree(DtcScratch *scratch)
{
	char *tree = g_build_filename(dtc_scratch_get_path(scratch), "tree", NULL);
	static const char *const files[] = {
		"web/kernel/metadata",
		"web/kernel/ch0_0",
		"web/kernel/index/ch0_0.idx",
		"web.pcap",
		"web/second.pcap",
		"web/web.pcap",
		"web/environment",
		"db/metadata",
		"db/ch0_0",
		"db/db.pcapng",
		"edge.pcap",
		"README.md",
	};
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		g_free(put(tree, files[i], files[i]));
	return tree;
}

static DtcManifest *create(const char *tree, const char *out, GError **error)
{
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(tree, error);
	g_assert_nonnull(bundle);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GPtrArray) files = dtc_bundle_list_files(bundle, false, findings, error);
	g_assert_nonnull(files);
	g_autoptr(DtcManifest) manifest = dtc_manifest_new("test");
	struct dtc_manifest_node *node = dtc_manifest_add_node(manifest, "web");
	node->events = 7;
	node->begin_ns = -3;
	node->end_ns = INT64_MAX;
	node->clock.name = g_strdup("monotonic");
	node->clock.uuid = g_strdup("uuid");
	node->clock.offset_cycles = INT64_MIN;
	return dtc_bundle_create(files, manifest, out, NULL, NULL, error) ? g_steal_pointer(&manifest) : NULL;
}

static void test_files(void)
{
	static const char *const want[] = {
		"db.pcapng",	       "db/kernel/ch0_0",  "db/kernel/metadata",
		"edge.pcap",	       "web.pcap",	   "web/web.pcap",
		"web/environment",     "web/kernel/ch0_0", "web/kernel/index/ch0_0.idx",
		"web/kernel/metadata", "web/second.pcap",
	};
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcManifest) manifest = create(tree, out, &error);

	g_assert_no_error(error);
	for (guint i = 0; i < manifest->files->len; i++)
		g_test_message("%s", ((struct dtc_manifest_file *)g_ptr_array_index(manifest->files, i))->path);
	for (gsize i = 0; i < G_N_ELEMENTS(want); i++)
		g_assert_nonnull(dtc_manifest_find_file(manifest, want[i]));
	g_assert_null(dtc_manifest_find_file(manifest, "README.md"));

	/* what was written is the same bundle: nodes, and a capture for each of the sources */
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(out, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	g_assert_cmpstr(dtc_bundle_get_node(bundle, 0)->name, ==, "db");
	g_assert_cmpuint(g_strv_length(dtc_bundle_get_node(bundle, 2)->pcap_paths), ==, 3);
	g_assert_null(dtc_bundle_get_node(bundle, 1)->kernel_path);

	/* and its manifest is what was said */
	g_autoptr(DtcManifest) read = dtc_manifest_read(out, &error);
	g_assert_no_error(error);
	const struct dtc_manifest_node *node = g_ptr_array_index(read->nodes, 0);
	g_assert_cmpuint(node->events, ==, 7);
	g_assert_cmpint(node->begin_ns, ==, -3);
	g_assert_cmpint(node->end_ns, ==, INT64_MAX);
	g_assert_cmpint(node->clock.offset_cycles, ==, INT64_MIN);
	g_assert_cmpuint(read->files->len, ==, manifest->files->len);
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(read, out, NULL, NULL);
	g_assert_cmpuint(defects->len, ==, 0);
}

static void assert_defect(const char *out, const DtcManifest *manifest, const char *path, enum dtc_defect_kind kind)
{
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, out, NULL, NULL);
	g_assert_cmpuint(defects->len, ==, 1);
	const struct dtc_defect *defect = g_ptr_array_index(defects, 0);
	g_assert_cmpstr(defect->path, ==, path);
	g_assert_cmpint(defect->kind, ==, kind);
}

static void test_every_byte(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autoptr(DtcManifest) manifest = create(tree, out, NULL);

	for (guint i = 0; i < manifest->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(manifest->files, i);
		g_autofree char *path = g_build_filename(out, file->path, NULL);
		g_autofree char *data = NULL;
		gsize bytes;
		g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
		for (gsize k = 0; k < bytes; k++) {
			data[k] ^= 4;
			g_assert_true(g_file_set_contents(path, data, (gssize)bytes, NULL));
			assert_defect(out, manifest, file->path, DTC_DEFECT_CHANGED);
			data[k] ^= 4;
		}
		g_assert_true(g_file_set_contents(path, data, (gssize)bytes - 1, NULL));
		assert_defect(out, manifest, file->path, DTC_DEFECT_CHANGED);
		g_unlink(path);
		assert_defect(out, manifest, file->path, DTC_DEFECT_MISSING);
		g_mkdir(path, 0700);
		assert_defect(out, manifest, file->path, DTC_DEFECT_UNREADABLE);
		g_rmdir(path);
		g_assert_true(g_file_set_contents(path, data, (gssize)bytes, NULL));
	}
	g_free(put(out, "web/kernel/ch9_9", "x"));
	assert_defect(out, manifest, "web/kernel/ch9_9", DTC_DEFECT_EXTRA);
}

static void test_manifest_bytes(void)
{
	g_autoptr(DtcManifest) manifest = dtc_manifest_new("test");
	struct dtc_manifest_node *node = dtc_manifest_add_node(manifest, "web");
	node->clock.name = g_strdup("monotonic");
	node->clock.uuid = g_strdup("");
	dtc_manifest_add_file(manifest, "web.pcap", 4,
			      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	g_autoptr(GBytes) sealed = dtc_manifest_to_bytes(manifest);
	gsize bytes;
	const guint8 *data = g_bytes_get_data(sealed, &bytes);
	g_autofree guint8 *copy = g_memdup2(data, bytes);

	for (gsize i = 0; i < bytes; i++) {
		for (guint bit = 0; bit < 8; bit++) {
			g_autoptr(GError) error = NULL;
			copy[i] ^= (guint8)(1u << bit);
			g_assert_null(dtc_manifest_from_bytes("m", copy, bytes, &error));
			g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
			copy[i] = data[i];
		}
		g_assert_null(dtc_manifest_from_bytes("m", copy, i, NULL));
	}
	g_autoptr(DtcManifest) again = dtc_manifest_from_bytes("m", data, bytes, NULL);
	g_assert_nonnull(again);
	g_assert_cmpstr(((struct dtc_manifest_file *)g_ptr_array_index(again->files, 0))->sha256, ==,
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}

/* A seal does not make a path good. */
static void test_manifest_paths(void)
{
	static const char *const bad[] = { "../x", "/x", "a/../../x", "", "a//b", "a\nb", "./x", "a/." };
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(DtcManifest) manifest = dtc_manifest_new("test");
		g_autoptr(GError) error = NULL;
		g_autofree char *zeros = g_strnfill(DTC_SHA256_HEX, '0');
		dtc_manifest_add_file(manifest, bad[i], 4, zeros);
		g_autoptr(GBytes) sealed = dtc_manifest_to_bytes(manifest);
		gsize bytes;
		const void *data = g_bytes_get_data(sealed, &bytes);
		g_assert_null(dtc_manifest_from_bytes("m", data, bytes, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

static void test_packed(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out.dtcb", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcManifest) manifest = create(tree, out, &error);
	g_assert_no_error(error);
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(out, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 3);
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, dtc_bundle_get_directory(bundle), NULL, NULL);
	g_assert_cmpuint(defects->len, ==, 0);
	g_autofree char *directory = g_strdup(dtc_bundle_get_directory(bundle));
	g_clear_pointer(&bundle, dtc_bundle_free);
	g_assert_false(g_file_test(directory, G_FILE_TEST_EXISTS));
	g_assert_null(dtc_bundle_open_limited(out, 10, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE);
}

static guint count_names(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	guint count = 0;
	while (g_dir_read_name(dir))
		count++;
	return count;
}

/* Neither a file nor a folder, even an empty one, is overwritten, and a failure leaves nothing behind. */
static void test_never_overwrites(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	static const char *const names[] = { "a.dtcb", "b", "c.dtcb/", "d" };
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), names[i], NULL);
		g_autoptr(GError) error = NULL;
		if (i < 2)
			g_assert_true(g_file_set_contents(out, "mine", -1, NULL));
		else
			g_mkdir(out, 0700);
		guint before = count_names(dtc_scratch_get_path(scratch));
		g_assert_null(create(tree, out, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_cmpuint(count_names(dtc_scratch_get_path(scratch)), ==, before);
	}
	g_autofree char *nowhere = g_build_filename(dtc_scratch_get_path(scratch), "no/such/place.dtcb", NULL);
	g_assert_null(create(tree, nowhere, NULL));
}

/* The code of the one finding about the bundle at path, "" for none, "refused" if it cannot be opened. */
static char *open_and_report(const char *path, bool *ret_complete)
{
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(path, NULL);
	if (!bundle)
		return g_strdup("refused");
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_bundle_report(bundle, findings);
	*ret_complete = dtc_findings_get_complete(findings);
	g_assert_cmpuint(dtc_findings_get_count(findings), <=, 1);
	return dtc_findings_get_count(findings) ? g_strdup(dtc_findings_get(findings, 0)->code) : g_strdup("");
}

/* Every bit of a packed bundle: it is refused, or it is found while it is unpacked, or it is in what nobody reads. */
static void test_packed_bits(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out.dtcb", NULL);
	g_autofree char *changed = g_build_filename(dtc_scratch_get_path(scratch), "changed.dtcb", NULL);
	g_autofree char *data = NULL;
	g_autoptr(DtcManifest) manifest = create(tree, out, NULL);
	guint found_count = 0;
	gsize bytes;
	bool is_complete = false;

	g_assert_nonnull(manifest);
	g_autofree char *whole = open_and_report(out, &is_complete);
	g_assert_cmpstr(whole, ==, "");
	g_assert_true(is_complete);
	g_assert_true(g_file_get_contents(out, &data, &bytes, NULL));
	for (gsize i = 0; i + 48 < bytes; i += 3) { /* the seal is another test's */
		data[i] = (char)(data[i] ^ 1 << i % 8);
		g_assert_true(g_file_set_contents(changed, data, (gssize)bytes, NULL));
		data[i] = (char)(data[i] ^ 1 << i % 8);
		g_autofree char *code = open_and_report(changed, &is_complete);
		if (strcmp(code, "refused") == 0)
			continue;
		g_autoptr(DtcScratch) folder = dtc_scratch_new(NULL);
		g_assert_true(dtc_unpack(changed, dtc_scratch_get_path(folder), NULL, NULL, NULL));
		g_autoptr(GPtrArray) defects =
			dtc_manifest_check_files(manifest, dtc_scratch_get_path(folder), NULL, NULL);
		g_assert_true(defects->len == 0 || (strcmp(code, "bundle-changed") == 0 && !is_complete));
		found_count += defects->len > 0;
	}
	g_test_message("%u bits found by their checksum", found_count);
	g_assert_cmpuint(found_count, >, 0);
}

static void test_directory_sizes(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autoptr(DtcManifest) manifest = create(tree, out, NULL);
	g_autofree char *stream = g_build_filename(out, "web", "kernel", "ch0_0", NULL);
	bool is_complete = false;

	g_autofree char *whole = open_and_report(out, &is_complete);
	g_assert_cmpstr(whole, ==, "");
	g_assert_true(g_file_set_contents(stream, "longer than it was", -1, NULL));
	g_autofree char *longer = open_and_report(out, &is_complete);
	g_assert_cmpstr(longer, ==, "bundle-changed");
	g_assert_false(is_complete);
	/* of nodes that nobody asks about nothing is said */
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(out, NULL);
	const char *const others[] = { "db", NULL };
	g_assert_true(dtc_bundle_select(bundle, others, NULL));
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_bundle_report(bundle, findings);
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 0);
}

/* Links that lead out: read with a word, packed only on request; never what a recorder writes, nor the manifest. */
static void test_links(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *secret = put(dtc_scratch_get_path(scratch), "secret", "secret");
	static const char *const names[] = { "web/environment", "web/kernel/ch0_0", "manifest.pb" };
	bool is_complete = false;
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(tree, names[i], NULL);
		g_unlink(path);
		g_assert_cmpint(symlink(secret, path), ==, 0);
	}
	g_autofree char *manifest = g_build_filename(tree, "manifest.pb", NULL);
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_manifest_read(tree, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
	g_unlink(manifest);
	g_autofree char *code = open_and_report(tree, &is_complete);
	g_assert_cmpstr(code, ==, "link-outside");
	g_assert_true(is_complete);

	for (guint follows = 0; follows < 2; follows++) {
		g_autoptr(DtcBundle) bundle = dtc_bundle_open(tree, NULL);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(GPtrArray) files = dtc_bundle_list_files(bundle, follows, findings, NULL);
		guint stream_count = 0;
		for (guint i = 0; i < files->len; i++) {
			const char *path = ((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->path;
			g_assert_cmpstr(path, !=, "web/environment");
			stream_count += strcmp(path, "web/kernel/ch0_0") == 0;
		}
		g_assert_cmpuint(stream_count, ==, follows);
		g_assert_cmpuint(dtc_findings_get_count(findings), ==, 2 - follows);
		g_assert_true(dtc_findings_get_complete(findings) == (follows == 1));
	}
}

/* What a run that was killed left; not what another one is writing just now, nor a file that is only called alike. */
static void test_leftovers(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const char *folder = dtc_scratch_get_path(scratch);
	g_autofree char *tree = make_tree(scratch);
	g_autofree char *out = g_build_filename(folder, "out.dtcb", NULL);
	g_autofree char *dead = put(folder, "out.dtcb.part-abcdef", "dead");
	g_autofree char *dead_folder = put(folder, "out.dtcb.part-ghijkl/web/kernel/ch0_0", "dead");
	g_autofree char *alive = put(folder, "out.dtcb.part-mnopqr", "alive");
	g_autofree char *mine = put(folder, "out.dtcb.part-2", "mine");
	int fd = open(alive, O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(flock(fd, LOCK_EX), ==, 0);
	g_autoptr(DtcManifest) manifest = create(tree, out, NULL);
	g_assert_nonnull(manifest);
	g_assert_false(g_file_test(dead, G_FILE_TEST_EXISTS));
	g_assert_false(g_file_test(dead_folder, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(alive, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(mine, G_FILE_TEST_EXISTS));
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bundle/create/files", test_files);
	g_test_add_func("/bundle/create/every-byte", test_every_byte);
	g_test_add_func("/bundle/create/manifest-bytes", test_manifest_bytes);
	g_test_add_func("/bundle/create/manifest-paths", test_manifest_paths);
	g_test_add_func("/bundle/create/packed", test_packed);
	g_test_add_func("/bundle/create/never-overwrites", test_never_overwrites);
	g_test_add_func("/create/packed-bits", test_packed_bits);
	g_test_add_func("/create/directory-sizes", test_directory_sizes);
	g_test_add_func("/create/links", test_links);
	g_test_add_func("/create/leftovers", test_leftovers);
	return g_test_run();
}
