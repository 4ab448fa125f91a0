/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/environment.h"
#include "collect/bundle/output.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static DtcEnvironment *make_environment(void)
{
	DtcEnvironment *environment = dtc_environment_new();
	dtc_environment_add(environment->machine, "hostname", "web=1; \xff");
	dtc_environment_add(environment->recorder, "tracer", "tracefs");
	dtc_environment_add(environment->lacks, "paths of open[at]", "this kernel does not read them");
	dtc_environment_add_number(environment->losses, "events", 7);
	struct dtc_environment_capture *capture = dtc_environment_add_capture(environment, "packets-4026531840.pcap");
	capture->netns = 4026531840;
	capture->packets = 100;
	capture->dropped = 3;
	dtc_environment_add_interface(capture, 1, "lo", g_strsplit("127.0.0.1/8,::1/128", ",", -1));
	dtc_environment_add_interface(capture, 2, "eth0", NULL);
	return environment;
}

static void write_text(const char *folder, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	g_assert_true(dtc_output_write(path, text, strlen(text), NULL));
}

static void test_round_trip(void)
{
	g_autofree char *folder = g_dir_make_tmp("dtc-environment-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, DTC_ENVIRONMENT_NAME, NULL);
	g_autoptr(DtcEnvironment) made = make_environment();
	g_autofree char *text = dtc_environment_to_text(made);
	write_text(folder, DTC_ENVIRONMENT_NAME, text);
	g_autoptr(DtcEnvironment) read = dtc_environment_read(path, NULL);
	g_autofree char *again = dtc_environment_to_text(read);
	g_assert_cmpstr(again, ==, text);
	g_assert_cmpstr(dtc_environment_find(read->machine, "hostname"), ==, "web=1; \xef\xbf\xbd");
	g_assert_cmpstr(dtc_environment_find(read->lacks, "paths-of-open-at-"), ==, "this kernel does not read them");
	g_assert_cmpuint(dtc_environment_find_number(read->losses, "events"), ==, 7);
	const struct dtc_environment_capture *capture = dtc_environment_find_capture(read, "packets-4026531840.pcap");
	g_assert_cmpuint(capture->netns, ==, 4026531840);
	g_assert_cmpuint(capture->interfaces->len, ==, 2);
	g_assert_cmpuint(dtc_environment_find_address(capture, "::1")->index, ==, 1);
	g_assert_null(dtc_environment_find_address(capture, "127.0.0"));
	g_unlink(path);
	g_rmdir(folder);
}

/* Each of these is nobody's environment, or has nothing of what it should; none may be believed or end the program. */
static void test_damage(void)
{
	static const char *const texts[] = { "", "hostname=web\n", "[machine]\nhostname=web\n",
					     "\x7f"
					     "ELF",
					     "[recorder" };
	g_autofree char *folder = g_dir_make_tmp("dtc-environment-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, DTC_ENVIRONMENT_NAME, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		write_text(folder, DTC_ENVIRONMENT_NAME, texts[i]);
		g_assert_null(dtc_environment_read(path, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
	write_text(folder, DTC_ENVIRONMENT_NAME,
		   "[recorder]\ntracer=\\n\\t\n[capture "
		   "x]\nnetns=-1\ninterfaces=::;1:;9999999999:lo:;2:eth0:\npackets=x\n");
	g_autoptr(DtcEnvironment) read = dtc_environment_read(path, NULL);
	g_assert_null(dtc_environment_find(read->recorder, "tracer"));
	g_assert_cmpuint(dtc_environment_find_capture(read, "x")->interfaces->len, ==, 1);
	g_unlink(path);
	g_rmdir(folder);
}

static void test_report(void)
{
	g_autofree char *tree = g_dir_make_tmp("dtc-environment-XXXXXX", NULL);
	g_autofree char *node = g_build_filename(tree, "web", NULL);
	g_autoptr(DtcEnvironment) made = make_environment();
	g_autofree char *text = dtc_environment_to_text(made);
	g_mkdir(node, 0700);
	write_text(node, "metadata", "/* CTF 1.8 */");
	write_text(node, DTC_ENVIRONMENT_NAME, text);
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(tree, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_bundle_report(bundle, findings);
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 2);
	g_assert_cmpstr(dtc_findings_get(findings, 0)->code, ==, DTC_FINDING_PACKETS_LOST);
	g_assert_cmpstr(dtc_findings_get(findings, 1)->code, ==, DTC_FINDING_NOT_RECORDED);
	g_assert_cmpstr(dtc_findings_get(findings, 1)->node, ==, "web");
	g_assert_false(dtc_findings_get_complete(findings));
}

/* What a recorder left in the nodes' folders is the bundle's manifest, under the names that the folders have now. */
static void test_manifests(void)
{
	static const char sha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	g_autofree char *tree = g_dir_make_tmp("dtc-environment-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_manifest_read_tree(tree, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
	static const char *const names[] = { "web", "db" };
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *node = g_build_filename(tree, names[i], NULL);
		g_autofree char *path = g_build_filename(node, DTC_MANIFEST_NAME, NULL);
		g_autoptr(DtcManifest) manifest = dtc_manifest_new("recorder");
		dtc_manifest_add_node(manifest, "as-it-was-recorded");
		dtc_manifest_add_file(manifest, "metadata", 13, sha256);
		g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
		g_mkdir(node, 0700);
		write_text(node, "metadata", i ? "/* CTF 1.8 */" : "/* cut");
		g_assert_true(dtc_output_write(path, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), NULL));
	}
	g_autoptr(DtcManifest) read = dtc_manifest_read_tree(tree, NULL);
	g_assert_cmpuint(read->nodes->len, ==, 2);
	g_assert_cmpstr(((struct dtc_manifest_node *)g_ptr_array_index(read->nodes, 0))->name, ==, "db");
	g_assert_nonnull(dtc_manifest_find_file(read, "web/metadata"));
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(tree, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_bundle_report(bundle, findings);
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	g_assert_cmpstr(dtc_findings_get(findings, 0)->code, ==, DTC_FINDING_BUNDLE_CHANGED);
	g_assert_cmpstr(dtc_findings_get(findings, 0)->node, ==, "web");
	write_text(tree, "web/" DTC_MANIFEST_NAME, "noise");
	g_assert_null(dtc_manifest_read_tree(tree, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/environment/round-trip", test_round_trip);
	g_test_add_func("/environment/damage", test_damage);
	g_test_add_func("/environment/report", test_report);
	g_test_add_func("/environment/manifests", test_manifests);
	return g_test_run();
}
