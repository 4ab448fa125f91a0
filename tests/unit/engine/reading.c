/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one pool of threads: every recording is read, in any order; who watches is told how far, and can stop it. */
#include "analyze/engine/reading.h"

#include "dtrace-chain/error.h"
#include "tests/support/leavings.h"

#include <glib/gstdio.h>
#include <string.h>

#define NODES 12

/* A bundle of nodes with a capture of so many bytes each, whatever is in them: nobody here looks. */
struct fixture {
	char *root;
	DtcBundle *bundle;
};

static void fixture_open(struct fixture *f)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = g_malloc0(100 << 10);

	f->root = g_dir_make_tmp("dtc-reading-XXXXXX", NULL);
	for (guint i = 0; i < NODES; i++) {
		g_autofree char *name = g_strdup_printf("node%02u.pcap", i);
		g_autofree char *path = g_build_filename(f->root, name, NULL);
		g_assert_true(g_file_set_contents(path, bytes, 100 << 10, NULL));
	}
	f->bundle = dtc_bundle_open(f->root, &error);
	g_assert_no_error(error);
}

static void fixture_close(struct fixture *f)
{
	for (guint i = 0; i < NODES; i++) {
		g_autofree char *name = g_strdup_printf("node%02u.pcap", i);
		g_autofree char *path = g_build_filename(f->root, name, NULL);
		g_unlink(path);
	}
	g_rmdir(f->root);
	dtc_bundle_free(f->bundle);
	g_free(f->root);
}

struct record {
	struct dtc_reading reading;
	guint read_count;
	bool was_stopped;
};

static void record_free(void *data)
{
	struct record *record = data;

	dtc_reading_clear(&record->reading);
	g_free(record);
}

static void read_three_steps(struct dtc_reading *reading)
{
	struct record *record = (struct record *)reading;

	g_assert_true(reading->is_capture);
	g_assert_cmpuint(reading->all_bytes, ==, 100 << 10);
	record->read_count++;
	for (guint i = 0; i < 3; i++)
		g_assert_true(dtc_reading_note(reading, (i + 1) * 10000));
	if (reading->node_index == 3)
		dtc_findings_add(reading->findings, DTC_SEVERITY_INFO, false, reading->node->name, "odd");
}

static bool keep(const struct dtc_progress *progress, void *data)
{
	struct dtc_progress *last = data;

	g_assert_cmpint(progress->phase, ==, DTC_PHASE_READ);
	g_assert_cmpuint(progress->done, >=, last->done);
	g_assert_cmpuint(progress->events, >=, last->events);
	*last = *progress;
	return true;
}

static void test_all(void)
{
	g_autoptr(GError) error = NULL;
	struct dtc_progress last = { 0 };
	const struct dtc_watch watch = { keep, &last };
	struct fixture f;

	fixture_open(&f);
	g_autoptr(GPtrArray) records = dtc_readings_new(f.bundle, sizeof(struct record), record_free);
	g_assert_cmpuint(records->len, ==, NODES);
	guint before = dtc_leavings_count("task");
	g_assert_true(dtc_readings_run(records, read_three_steps, &watch, &error));
	g_assert_no_error(error);
	dtc_leavings_assert("task", before);
	for (guint i = 0; i < NODES; i++) {
		const struct record *record = records->pdata[i];
		g_assert_cmpuint(record->reading.node_index, ==, i);
		g_assert_cmpuint(record->read_count, ==, 1);
		g_assert_cmpuint(dtc_findings_get_count(record->reading.findings), ==, i == 3);
	}
	/* what is read to its end counts whole, whatever was noted of it */
	g_assert_cmpuint(last.done, ==, last.all);
	g_assert_cmpuint(last.all, ==, NODES * (100 << 10));
	g_assert_cmpuint(last.events, ==, NODES * 3 * DTC_READING_STEP);
	g_autoptr(GPtrArray) unwatched = dtc_readings_new(f.bundle, sizeof(struct record), record_free);
	g_assert_true(dtc_readings_run(unwatched, read_three_steps, NULL, &error));
	fixture_close(&f);
}

static void read_until_stopped(struct dtc_reading *reading)
{
	struct record *record = (struct record *)reading;
	guint64 bytes = 0;

	record->read_count++;
	while (dtc_reading_note(reading, ++bytes))
		g_usleep(1000);
	record->was_stopped = true;
}

static bool stop_after_three(const struct dtc_progress *progress, void *data)
{
	guint *count = data;

	(void)progress;
	return ++*count < 3;
}

static bool stop_at_once(const struct dtc_progress *progress, void *data)
{
	(void)data;
	g_assert_cmpuint(progress->done, ==, 0);
	return false;
}

static void test_stopped(void)
{
	g_autoptr(GError) error = NULL;
	guint count = 0;
	const struct dtc_watch watch = { stop_after_three, &count }, impatient = { stop_at_once, NULL };
	struct fixture f;

	fixture_open(&f);
	g_autoptr(GPtrArray) records = dtc_readings_new(f.bundle, sizeof(struct record), record_free);
	guint before = dtc_leavings_count("task");
	g_assert_false(dtc_readings_run(records, read_until_stopped, &watch, &error));
	dtc_leavings_assert("task", before);
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED);
	g_clear_error(&error);
	guint begun = 0;
	for (guint i = 0; i < NODES; i++) { /* all threads have ended: who began was stopped, the others never begin */
		const struct record *record = records->pdata[i];
		g_assert_cmpuint(record->read_count, ==, record->was_stopped);
		begun += record->read_count;
	}
	g_assert_cmpuint(begun, >, 0);
	g_assert_cmpuint(begun, <=, g_get_num_processors());

	g_autoptr(GPtrArray) untouched = dtc_readings_new(f.bundle, sizeof(struct record), record_free);
	g_assert_false(dtc_readings_run(untouched, read_until_stopped, &impatient, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED);
	g_assert_cmpuint(((struct record *)untouched->pdata[0])->read_count, ==, 0);
	fixture_close(&f);
}

static void test_notes(void)
{
	struct dtc_reading reading = { 0 };

	g_assert_true(dtc_reading_note(&reading, 5000));
	g_assert_true(dtc_reading_note(&reading, 90 << 10));
	g_assert_cmpint(reading.steps, ==, 2);
	g_assert_cmpint(reading.kib, ==, 90);
	g_assert_true(dtc_reading_note(&reading, G_MAXUINT64));
	g_assert_cmpint(reading.kib, ==, G_MAXINT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/reading/all", test_all);
	g_test_add_func("/engine/reading/stopped", test_stopped);
	g_test_add_func("/engine/reading/notes", test_notes);
	return g_test_run();
}
