/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clocks of the demo, kept and found again: nothing that can be asked of them tells, and no other clocks are. */
#include "analyze/engine/engine.h"
#include "analyze/engine/kept.h"
#include "sync/fit/sync_image.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	char *folder;
	DtcStore *store;
	DtcBundle *bundle;
};

static DtcBundle *open_bundle(const char *name, const char *const *nodes)
{
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters", name, NULL);
	DtcBundle *bundle = dtc_bundle_open(path, NULL);

	g_assert_nonnull(bundle);
	g_assert_true(!nodes || dtc_bundle_select(bundle, nodes, NULL));
	return bundle;
}

static void set_up(struct fixture *f)
{
	f->folder = g_dir_make_tmp("dtc-clocks-XXXXXX", NULL);
	f->store = dtc_store_new(f->folder, 0);
	f->bundle = open_bundle("demo", NULL);
}

static void tear_down(struct fixture *f)
{
	guint count;
	guint64 bytes;

	g_assert_true(dtc_store_clear(f->store, &count, &bytes, NULL));
	g_assert_cmpint(g_rmdir(f->folder), ==, 0);
	dtc_store_free(f->store);
	dtc_bundle_free(f->bundle);
	g_free(f->folder);
}

static DtcEngine *make_engine(const struct fixture *f, const DtcBundle *bundle, const char *reference,
			      const struct dtc_fit_options *fit, DtcFindings *findings)
{
	const struct dtc_engine_options options = {
		.needs_exchanges = true, .store = f->store, .reference = reference, .fit = fit
	};
	g_autoptr(GError) error = NULL;
	DtcEngine *engine = dtc_engine_new(bundle, &options, NULL, findings, &error);

	g_assert_no_error(error);
	return engine;
}

/* Everything that a fit found, as bytes; caller unrefs. */
static GBytes *write_sync(const DtcSync *sync)
{
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("dtc-sync-XXXXXX", &path, NULL);
	char *data;
	gsize bytes;

	dtc_sync_save(sync, writer);
	g_assert_true(dtc_image_write(writer, file, &key, NULL));
	close(file);
	g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
	g_unlink(path);
	return g_bytes_new_take(data, bytes);
}

static guint count_clocks(const struct fixture *f)
{
	g_autoptr(GPtrArray) kept = dtc_kept_list(f->store);
	guint count = 0;

	for (guint i = 0; i < kept->len; i++)
		count += ((const struct dtc_kept *)kept->pdata[i])->clocks != NULL;
	return count;
}

static void expect_equal_findings(const DtcFindings *a, const DtcFindings *b)
{
	g_assert_cmpuint(dtc_findings_get_count(a), ==, dtc_findings_get_count(b));
	for (guint i = 0; i < dtc_findings_get_count(a); i++) {
		const struct dtc_finding *p = dtc_findings_get(a, i), *q = dtc_findings_get(b, i);
		g_assert_cmpstr(p->text, ==, q->text);
		g_assert_cmpstr(p->node, ==, q->node);
		g_assert_true(p->code == q->code);
		g_assert_cmpint(p->severity, ==, q->severity);
	}
}

static void expect_equal_messages(const DtcMatches *a, const DtcMatches *b)
{
	g_assert_cmpuint(dtc_matches_get_pair_count(a), ==, dtc_matches_get_pair_count(b));
	for (guint i = 0; i < dtc_matches_get_pair_count(a); i++) {
		struct dtc_match_pair p, q;
		dtc_matches_get_pair(a, i, &p);
		dtc_matches_get_pair(b, i, &q);
		g_assert_cmpmem(p.ab, p.ab_count * sizeof(*p.ab), q.ab, q.ab_count * sizeof(*q.ab));
		g_assert_cmpmem(p.ba, p.ba_count * sizeof(*p.ba), q.ba, q.ba_count * sizeof(*q.ba));
		g_assert_cmpuint(p.unmatched_a, ==, q.unmatched_a);
	}
}

static void test_same_clocks(void)
{
	struct fixture f;
	g_autoptr(DtcFindings) cold_findings = dtc_findings_new();
	g_autoptr(DtcFindings) warm_findings = dtc_findings_new();
	int64_t cold_ns, warm_ns;

	set_up(&f);
	g_autoptr(DtcEngine) cold = make_engine(&f, f.bundle, NULL, NULL, cold_findings);
	g_assert_cmpuint(count_clocks(&f), ==, 1);
	g_autoptr(DtcEngine) warm = make_engine(&f, f.bundle, NULL, NULL, warm_findings);
	g_assert_cmpuint(count_clocks(&f), ==, 1);
	g_autoptr(GBytes) made = write_sync(dtc_engine_get_sync(cold));
	g_autoptr(GBytes) found = write_sync(dtc_engine_get_sync(warm));
	g_assert_true(g_bytes_equal(made, found));
	expect_equal_findings(cold_findings, warm_findings);
	for (guint node = 0; node < dtc_engine_get_node_count(cold); node++) {
		int64_t at_ns = dtc_packets_get_time_ns(dtc_engine_get_capture(cold, node), 5);
		g_assert_true(dtc_engine_capture_to_node(cold, node, at_ns, &cold_ns));
		g_assert_true(dtc_engine_capture_to_node(warm, node, at_ns, &warm_ns));
		g_assert_cmpint(cold_ns, ==, warm_ns);
	}
	/* messages are not kept, and are there for who asks */
	expect_equal_messages(dtc_engine_get_matches(cold), dtc_engine_get_matches(warm));
	tear_down(&f);
}

/* Other nodes, another reference, another rate: other clocks, which are made and kept beside the first. */
static void test_other_clocks(void)
{
	static const char *const two[] = { "backend", "web", NULL };
	struct fixture f;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct dtc_fit_options fit = dtc_fit_options_default();

	set_up(&f);
	dtc_engine_free(make_engine(&f, f.bundle, NULL, NULL, findings));
	g_autoptr(DtcEngine) of_client = make_engine(&f, f.bundle, "client", NULL, findings);
	g_assert_cmpstr(dtc_engine_get_reference(of_client), ==, "client");
	g_assert_cmpuint(count_clocks(&f), ==, 2);
	fit.max_wander_ppm = 20;
	g_autoptr(DtcEngine) wander = make_engine(&f, f.bundle, NULL, &fit, findings);
	g_assert_cmpfloat(dtc_sync_get_options(dtc_engine_get_sync(wander))->max_wander_ppm, ==, 20);
	g_assert_cmpuint(count_clocks(&f), ==, 3);
	fit.max_drift_ppm /= 2;
	dtc_engine_free(make_engine(&f, f.bundle, NULL, &fit, findings));
	g_assert_cmpuint(count_clocks(&f), ==, 4);
	fit.min_delay_ns = 1;
	dtc_engine_free(make_engine(&f, f.bundle, NULL, &fit, findings));
	g_assert_cmpuint(count_clocks(&f), ==, 5);
	g_autoptr(DtcBundle) fewer = open_bundle("demo", two);
	g_autoptr(DtcEngine) of_two = make_engine(&f, fewer, NULL, NULL, findings);
	g_assert_cmpuint(dtc_sync_get_pair_count(dtc_engine_get_sync(of_two)), ==, 1);
	g_assert_cmpuint(count_clocks(&f), ==, 6);
	tear_down(&f);
}

/* The bounds of a guest stand among the messages; they are found by the rounds of the fit alone. */
static void test_guests(void)
{
	struct fixture f;
	g_autoptr(DtcFindings) findings = dtc_findings_new();

	set_up(&f);
	g_autoptr(DtcBundle) vm = open_bundle("vm.dtcb", NULL);
	g_autoptr(DtcEngine) cold = make_engine(&f, vm, NULL, NULL, findings);
	g_autoptr(DtcEngine) warm = make_engine(&f, vm, NULL, NULL, findings);
	g_assert_cmpuint(count_clocks(&f), ==, 1);
	g_assert_cmpuint(dtc_sync_get_pair(dtc_engine_get_sync(warm), 0)->bounds_ab, >, 0);
	expect_equal_messages(dtc_engine_get_matches(cold), dtc_engine_get_matches(warm));
	tear_down(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/alignment-image/same-clocks", test_same_clocks);
	g_test_add_func("/engine/alignment-image/other-clocks", test_other_clocks);
	g_test_add_func("/engine/alignment-image/guests", test_guests);
	return g_test_run();
}
