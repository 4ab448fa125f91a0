/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was read of the demo, kept and found again: the same records, and nothing that was damaged or has changed. */
#include "analyze/engine/engine.h"
#include "collect/image/store.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	char *folder;
	DtcStore *store;
	DtcBundle *bundle;
};

static bool set_up(struct fixture *f)
{
	g_autofree char *demo = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters/demo", NULL);
	static const char *const names[] = { "web", NULL };

	f->folder = g_dir_make_tmp("dtc-images-XXXXXX", NULL);
	f->store = dtc_store_new(f->folder, 0);
	f->bundle = dtc_bundle_open(demo, NULL);
	g_assert_nonnull(f->bundle);
	return dtc_bundle_select(f->bundle, names, NULL);
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

static DtcEngine *make_engine(const struct fixture *f)
{
	const struct dtc_engine_options options = { .needs_exchanges = true, .store = f->store };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	DtcEngine *engine = dtc_engine_new(f->bundle, &options, NULL, findings, &error);

	g_assert_no_error(error);
	return engine;
}

/* A history as the bytes of an image of its own; caller unrefs. */
static GBytes *write_history(const DtcHistory *history)
{
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	int file = g_file_open_tmp("dtc-image-XXXXXX", &path, NULL);
	char *data;
	gsize bytes;

	dtc_history_save(history, writer);
	g_assert_true(dtc_image_write(writer, file, &key, &error));
	close(file);
	g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
	g_unlink(path);
	return g_bytes_new_take(data, bytes);
}

static void test_same_history(void)
{
	struct fixture f;

	g_assert_true(set_up(&f));
	g_autoptr(DtcEngine) cold = make_engine(&f);
	g_autoptr(GArray) entries = dtc_store_list(f.store);
	g_assert_cmpuint(entries->len, ==, 3); /* of the kernel trace, of the captures, of the clocks */
	g_autoptr(DtcEngine) warm = make_engine(&f);
	g_autoptr(GBytes) read = write_history(dtc_engine_get_history(cold, 0));
	g_autoptr(GBytes) found = write_history(dtc_engine_get_history(warm, 0));
	g_assert_true(g_bytes_equal(read, found));
	g_autoptr(GError) error = NULL;
	g_assert_true(dtc_history_check(dtc_engine_get_history(warm, 0), &error));
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_exchanges_get_count(dtc_engine_get_exchanges(cold)), ==,
			 dtc_exchanges_get_count(dtc_engine_get_exchanges(warm)));
	tear_down(&f);
}

/* It goes on with what it has mapped. */
static void test_removed_meanwhile(void)
{
	struct fixture f;

	g_assert_true(set_up(&f));
	dtc_engine_free(make_engine(&f));
	g_autoptr(DtcEngine) warm = make_engine(&f);
	tear_down(&f);
	g_assert_true(dtc_history_check(dtc_engine_get_history(warm, 0), NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/recording-image/same-history", test_same_history);
	g_test_add_func("/engine/recording-image/removed-meanwhile", test_removed_meanwhile);
	return g_test_run();
}
