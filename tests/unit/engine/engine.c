/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bundles made of parts of the demo: whole, without one thing or another, and with broken parts. */
#include "analyze/engine/engine.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static char *demo_path(const char *name)
{
	const char *source = g_getenv("DTC_SOURCE_DIR");
	return g_build_filename(source ? source : ".", "clusters", "demo", name, NULL);
}

struct fixture {
	DtcBundle *bundle;
	DtcFindings *findings;
	GError *error;
	DtcEngine *engine;
};

static void fixture_open(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->bundle = dtc_bundle_open(NULL, NULL);
	f->findings = dtc_findings_new();
}

/* Adds a node from a file or directory of the demo. */
static void fixture_add(struct fixture *f, const char *name, const char *from)
{
	g_autofree char *path = demo_path(from);
	dtc_bundle_add_node(f->bundle, name, path, &f->error);
	g_assert_no_error(f->error);
}

static void fixture_load(struct fixture *f, const char *reference)
{
	const struct dtc_engine_options options = { .reference = reference, .needs_exchanges = true };
	f->engine = dtc_engine_new(f->bundle, &options, NULL, f->findings, &f->error);
}

static void fixture_close(struct fixture *f)
{
	dtc_engine_free(f->engine);
	dtc_findings_free(f->findings);
	dtc_bundle_free(f->bundle);
	g_clear_error(&f->error);
}

static bool has_finding(const struct fixture *f, const char *node, const char *part)
{
	for (guint i = 0; i < dtc_findings_get_count(f->findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(f->findings, i);
		if (g_strcmp0(finding->node, node) == 0 && strstr(finding->text, part))
			return true;
	}
	return false;
}

static void test_whole(void)
{
	g_autofree char *path = demo_path("");
	g_autoptr(GError) error = NULL;
	struct fixture f;

	fixture_open(&f);
	dtc_bundle_free(f.bundle);
	f.bundle = dtc_bundle_open(path, &error);
	g_assert_no_error(error);
	fixture_load(&f, "web");
	g_assert_no_error(f.error);
	g_assert_cmpuint(dtc_engine_get_node_count(f.engine), ==, 3);
	g_assert_cmpuint(dtc_engine_get_capture_count(f.engine), ==, 3);
	g_assert_cmpstr(dtc_engine_get_node_names(f.engine)[0], ==, "backend");
	g_assert_cmpstr(dtc_engine_get_node_names(f.engine)[2], ==, "web");
	g_assert_cmpuint(dtc_clocks_get_reference(dtc_engine_get_clocks(f.engine)), ==, 2);
	g_assert_cmpuint(dtc_exchanges_get_count(dtc_engine_get_exchanges(f.engine)), >, 400);
	for (guint node = 0; node < 3; node++) {
		g_assert_cmpuint(dtc_clocks_get_group(dtc_engine_get_clocks(f.engine), node), ==, 0);
		dtc_history_check(dtc_engine_get_history(f.engine, node), &error);
		g_assert_no_error(error);
	}
	g_assert_true(dtc_findings_get_complete(f.findings));
	fixture_close(&f);
}

/* One node has only a capture: its clock is aligned through it, and it has no history. */
static void test_capture_only(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_add(&f, "client", "client.pcap");
	fixture_add(&f, "web", "web");
	fixture_load(&f, NULL);
	g_assert_no_error(f.error);
	g_assert_null(dtc_engine_get_history(f.engine, 0));
	g_assert_nonnull(dtc_engine_get_capture(f.engine, 0));
	g_assert_nonnull(dtc_engine_get_history(f.engine, 1));
	g_assert_cmpuint(dtc_clocks_get_group(dtc_engine_get_clocks(f.engine), 0), ==, 0);
	g_assert_cmpuint(dtc_clocks_get_group(dtc_engine_get_clocks(f.engine), 1), ==, 0);
	fixture_close(&f);
}

static void test_single_node(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_add(&f, "web", "web");
	fixture_load(&f, NULL);
	g_assert_no_error(f.error);
	g_assert_true(dtc_findings_get_complete(f.findings));
	const DtcHistory *history = dtc_engine_get_history(f.engine, 0);
	int64_t begin_ns = dtc_history_get_begin_ns(history);
	g_assert_cmpint(dtc_clocks_to_cluster(dtc_engine_get_clocks(f.engine), 0, (DtcNodeTime){ begin_ns }).ns, ==,
			begin_ns);
	fixture_close(&f);
}

/* client and backend never talk to each other: without web between them nothing joins their clocks. */
static void test_not_aligned(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_add(&f, "client", "client");
	fixture_add(&f, "backend", "backend");
	fixture_load(&f, "backend");
	g_assert_no_error(f.error);
	g_assert_cmpuint(dtc_clocks_get_group(dtc_engine_get_clocks(f.engine), 1), !=, 0);
	g_assert_false(dtc_findings_get_complete(f.findings));
	g_assert_true(has_finding(&f, "client", "align"));
	fixture_close(&f);
}

static void test_broken_parts(void)
{
	g_autofree char *root = g_dir_make_tmp("dtc-engine-XXXXXX", NULL);
	g_autofree char *metadata = g_build_filename(root, "metadata", NULL);
	g_autofree char *capture = g_build_filename(root, "noise.pcap", NULL);
	struct fixture f;

	g_assert_true(g_file_set_contents(metadata, "no CTF at all", -1, NULL));
	g_assert_true(g_file_set_contents(capture, "no capture either, but long enough to be one", -1, NULL));

	/* beside a node that can be read they are findings */
	fixture_open(&f);
	fixture_add(&f, "web", "web");
	g_assert_true(dtc_bundle_add_node(f.bundle, "trash", root, NULL));
	g_assert_true(dtc_bundle_add_node(f.bundle, "noise", capture, NULL));
	fixture_load(&f, "web");
	g_assert_no_error(f.error);
	g_assert_false(dtc_findings_get_complete(f.findings));
	g_assert_true(has_finding(&f, "trash", "cannot be read"));
	g_assert_true(has_finding(&f, "noise", "noise.pcap"));
	guint trash;
	g_assert_true(dtc_engine_find_node(f.engine, "trash", &trash, NULL));
	g_assert_null(dtc_engine_get_history(f.engine, trash));
	g_assert_nonnull(strstr(dtc_engine_get_kernel_problem(f.engine, trash), "metadata"));
	fixture_close(&f);

	/* alone they are an error */
	fixture_open(&f);
	g_assert_true(dtc_bundle_add_node(f.bundle, "noise", capture, NULL));
	fixture_load(&f, NULL);
	g_assert_null(f.engine);
	g_assert_nonnull(f.error);
	fixture_close(&f);

	g_unlink(metadata);
	g_unlink(capture);
	g_rmdir(root);
}

static void test_unknown_reference(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_add(&f, "web", "web");
	fixture_load(&f, "mail");
	g_assert_null(f.engine);
	g_assert_error(f.error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(f.error->message, "\nthe nodes are: web"));
	fixture_close(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/engine/whole", test_whole);
	g_test_add_func("/engine/engine/capture-only", test_capture_only);
	g_test_add_func("/engine/engine/single-node", test_single_node);
	g_test_add_func("/engine/engine/not-aligned", test_not_aligned);
	g_test_add_func("/engine/engine/broken-parts", test_broken_parts);
	g_test_add_func("/engine/engine/unknown-reference", test_unknown_reference);
	return g_test_run();
}
