/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/cluster.h"
#include "collect/bundle/scratch.h"
#include "dtrace-chain/error.h"

#include <string.h>

static DtcCluster *read_text(const DtcScratch *scratch, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "test.conf", NULL);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return dtc_cluster_read(path, error);
}

static void test_nodes(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcCluster) cluster = read_text(
		scratch,
		"# comment\n[node web]\npath=a/web\naddresses=10.0.0.1; fd00::1\nrole=guest\nhost=rack\nguest=vm 1\n"
		"vcpu-threads=12;13\n[node rack]\nrole=host\npath=/rack\n[node db]\n",
		&error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_cluster_get_count(cluster), ==, 3);
	g_assert_cmpstr(dtc_cluster_get_node(cluster, 0)->name, ==, "db");
	g_assert_null(dtc_cluster_get_node(cluster, 0)->path);
	const struct dtc_cluster_node *web = dtc_cluster_find_node(cluster, "web");
	g_autofree char *want = g_build_filename(dtc_scratch_get_path(scratch), "a/web", NULL);
	g_assert_cmpstr(web->path, ==, want);
	g_assert_cmpstr(web->addresses[1], ==, "fd00::1");
	g_assert_cmpstr(web->guest, ==, "vm 1");
	g_assert_cmpuint(web->vcpu_tids->len, ==, 2);
	g_assert_cmpuint(g_array_index(web->vcpu_tids, uint32_t, 1), ==, 13);
	g_assert_cmpstr(dtc_cluster_find_node(cluster, "rack")->path, ==, "/rack");
	g_assert_null(dtc_cluster_get_tier(cluster, "nginx", "web"));
}

static void test_tiers(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autoptr(DtcCluster) cluster = read_text(
		scratch, "[tier front]\nmembers=nginx@web; php*@web?\n[tier rest]\nmembers=*@web;redis@*\n", NULL);
	static const struct {
		const char *process, *node, *tier;
	} cases[] = {
		{ "nginx", "web", "front" },  { "nginx", "web2", NULL }, { "php-fpm", "web1", "front" },
		{ "php-fpm", "web", "rest" }, { "redis", "db", "rest" }, { "postgres", "db", NULL },
		{ "", "web", "rest" },	      { "a@b", "web", "rest" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(dtc_cluster_get_tier(cluster, cases[i].process, cases[i].node), ==, cases[i].tier);
}

static void test_wrong(void)
{
	static const char *const texts[] = {
		"",
		"no group\n",
		"[nodes]\n",
		"[node web]\nadress=1\n",
		"[node a/b]\n",
		"[node web]\nrole=master\n",
		"[node web]\nhost=rack\n",
		"[node web]\nrole=guest\nhost=rack\n",
		"[node web]\nrole=guest\nhost=rack\n[node rack]\n",
		"[node web]\nrole=guest\nvcpu-threads=0x10\n",
		"[node web]\nrole=guest\nvcpu-threads=-1\n",
		"[node web]\n[node  web]\n",
		"[tier a]\n",
		"[tier a]\nmembers=nginx\n",
		"[tier ]\nmembers=nginx@web\n",
		"[tier a]\nmember=nginx@web\n",
		"\xff\xfe\n",
	};
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		g_test_message("%s", texts[i][0] == '\xff' ? "bytes" : texts[i]);
		g_assert_null(read_text(scratch, texts[i], &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_nonnull(strchr(error->message, '\n'));
	}
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_cluster_read("no/such/file", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_null(dtc_cluster_read(dtc_scratch_get_path(scratch), &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bundle/cluster/nodes", test_nodes);
	g_test_add_func("/bundle/cluster/tiers", test_tiers);
	g_test_add_func("/bundle/cluster/wrong", test_wrong);
	return g_test_run();
}
