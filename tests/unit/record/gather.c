/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that came become a bundle, whatever one of them says of itself. */
#include "collect/record/cluster/gather.h"
#include "collect/bundle/scratch.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <glib/gstdio.h>

static const char sha256[] = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"; /* of "a" */

/* "there" is; "gone" is only in the manifest. */
static void put_node(const char *place, const char *name, guint node_count, bool has_gone)
{
	g_autofree char *folder = g_build_filename(place, name, NULL);
	g_autofree char *path = g_build_filename(folder, DTC_MANIFEST_NAME, NULL);
	g_autofree char *there = g_build_filename(folder, "there", NULL);
	g_autoptr(DtcManifest) manifest = dtc_manifest_new("the test");

	for (guint i = 0; i < node_count; i++) {
		g_autofree char *number = g_strdup_printf("%u", i);
		dtc_manifest_add_node(manifest, number);
	}
	if (has_gone)
		dtc_manifest_add_file(manifest, "gone", 1, sha256);
	dtc_manifest_add_file(manifest, "there", 1, sha256);
	g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(there, "a", -1, NULL));
	g_assert_true(g_file_set_contents(path, g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes), NULL));
}

static void test_missing(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *place = g_build_filename(dtc_scratch_get_path(scratch), "nodes", NULL);
	g_autofree char *node = g_build_filename(place, "b", NULL);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	const struct dtc_gather_request request = { .folder = place, .out = out, .creator = "the test" };
	g_autoptr(GError) error = NULL;
	guint64 bytes = 0;

	put_node(place, "a", 1, false);
	put_node(place, "b", 1, true);
	g_autoptr(GPtrArray) defects = dtc_gather_check(node, NULL, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(defects->len, ==, 1);
	g_assert_cmpstr(g_ptr_array_index(defects, 0), ==, "'gone' is missing");
	g_assert_true(dtc_gather(&request, &bytes, &error));
	g_assert_no_error(error);
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(out, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(manifest->nodes->len, ==, 2);
	g_assert_cmpuint(manifest->files->len, ==, 2);
	g_assert_nonnull(dtc_manifest_find_file(manifest, "b/there"));
}

static void test_many(void)
{
	for (guint count = 0; count <= 2; count += 2) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_autofree char *node = g_build_filename(dtc_scratch_get_path(scratch), "a", NULL);
		g_autoptr(GError) error = NULL;

		put_node(dtc_scratch_get_path(scratch), "a", count, false);
		g_assert_null(dtc_gather_check(node, NULL, NULL, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

static bool want_no_more(guint64 done_bytes, guint64 all_bytes, void *data)
{
	(void)done_bytes;
	(void)all_bytes;
	(void)data;
	return false;
}

/* Nothing is left of a bundle that nobody waits for. */
static void test_cancelled(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *place = g_build_filename(dtc_scratch_get_path(scratch), "nodes", NULL);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out.dtcb", NULL);
	const struct dtc_gather_request request = {
		.folder = place, .out = out, .creator = "the test", .progress = want_no_more
	};
	g_autoptr(GDir) dir = NULL;
	g_autoptr(GError) error = NULL;
	guint64 bytes;

	put_node(place, "a", 1, false);
	g_assert_false(dtc_gather(&request, &bytes, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_CANCELLED);
	dir = g_dir_open(dtc_scratch_get_path(scratch), 0, NULL);
	g_assert_cmpstr(g_dir_read_name(dir), ==, "nodes");
	g_assert_null(g_dir_read_name(dir));
}

/* What a cluster file says of a guest's host, threads of another host do not belong to. */
static void test_other_host(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *place = g_build_filename(dtc_scratch_get_path(scratch), "nodes", NULL);
	g_autofree char *path = g_build_filename(place, "web", DTC_MANIFEST_NAME, NULL);
	g_autofree char *file = g_build_filename(dtc_scratch_get_path(scratch), "shop.conf", NULL);
	g_autofree char *out = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autoptr(DtcManifest) said = dtc_manifest_new("the test");
	struct dtc_manifest_node *node = dtc_manifest_add_node(said, "web");
	const guint32 tid = 70;
	g_autoptr(GError) error = NULL;
	guint64 bytes;

	put_node(place, "web", 1, false);
	g_free(node->role);
	g_free(node->host);
	node->role = g_strdup("guest");
	node->host = g_strdup("here");
	g_array_append_val(node->vcpu_tids, tid);
	dtc_manifest_add_file(said, "there", 1, sha256);
	g_autoptr(GBytes) text = dtc_manifest_to_bytes(said);
	g_assert_true(g_file_set_contents(path, g_bytes_get_data(text, NULL), (gssize)g_bytes_get_size(text), NULL));
	for (guint i = 0; i < 2; i++) {
		g_autofree char *roles = g_strdup_printf("[node web]\nrole=guest\nhost=%s\n[node %s]\nrole=host\n",
							 i ? "there" : "here", i ? "there" : "here");
		g_assert_true(g_file_set_contents(file, roles, -1, NULL));
		g_autoptr(DtcCluster) cluster = dtc_cluster_read(file, &error);
		g_assert_no_error(error);
		g_autofree char *one = g_strdup_printf("%s%u", out, i);
		const struct dtc_gather_request request = {
			.folder = place, .out = one, .creator = "the test", .cluster = cluster
		};
		g_assert_true(dtc_gather(&request, &bytes, &error));
		g_assert_no_error(error);
		g_autoptr(DtcManifest) manifest = dtc_manifest_read(one, &error);
		g_assert_no_error(error);
		const struct dtc_manifest_node *web = g_ptr_array_index(manifest->nodes, 0);
		g_assert_cmpstr(web->host, ==, i ? "there" : "here");
		g_assert_cmpuint(web->vcpu_tids->len, ==, i ? 0 : 1);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gather/missing", test_missing);
	g_test_add_func("/gather/many", test_many);
	g_test_add_func("/gather/cancelled", test_cancelled);
	g_test_add_func("/gather/other-host", test_other_host);
	return g_test_run();
}
