/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log that grows, is rotated, is truncated, or is not there yet; and lines that a reader may see in parts. */
#include "collect/record/line_watch.h"

#include "collect/bundle/scratch.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

struct fixture {
	DtcScratch *scratch;
	char *path;
	char *old;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	(void)data;
	f->scratch = dtc_scratch_new(NULL);
	f->path = g_build_filename(dtc_scratch_get_path(f->scratch), "log", NULL);
	f->old = g_strconcat(f->path, ".1", NULL);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	(void)data;
	g_free(f->path);
	g_free(f->old);
	dtc_scratch_free(f->scratch);
}

static void append(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "a");

	g_assert_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static DtcLineWatch *watch(const struct fixture *f)
{
	g_autoptr(GError) error = NULL;
	DtcLineWatch *watch = dtc_line_watch_new(f->path, "took [0-9]{3,} ms", &error);

	g_assert_no_error(error);
	return watch;
}

static void expect(DtcLineWatch *watch, const char *want)
{
	g_autofree char *line = dtc_line_watch_poll(watch);

	g_assert_cmpstr(line, ==, want);
}

/* What stood there before does not count; a line counts when it is whole. */
static void test_grows(struct fixture *f, gconstpointer data)
{
	(void)data;
	append(f, "a took 500 ms\n");
	g_autoptr(DtcLineWatch) log = watch(f);
	expect(log, NULL);
	append(f, "b took 12 ms\nc took 7");
	expect(log, NULL);
	append(f, "00 ms\nd took 900 ms\n");
	expect(log, "c took 700 ms");
	expect(log, "d took 900 ms");
	expect(log, NULL);
}

/* The rest of the old file comes first. */
static void test_rotates(struct fixture *f, gconstpointer data)
{
	(void)data;
	g_autoptr(DtcLineWatch) log = watch(f);
	expect(log, NULL);
	append(f, "a took 100 ms\n");
	g_assert_cmpint(g_rename(f->path, f->old), ==, 0);
	append(f, "b took 200 ms\n");
	expect(log, "b took 200 ms"); /* the first was there and gone before anybody looked */
	append(f, "c took 300 ms\n");
	g_assert_cmpint(g_rename(f->path, f->old), ==, 0);
	append(f, "d took 400 ms\n");
	expect(log, "c took 300 ms");
	expect(log, "d took 400 ms");
	g_assert_true(g_file_set_contents(f->old, "", 0, NULL));
}

static void test_truncated(struct fixture *f, gconstpointer data)
{
	(void)data;
	append(f, "many lines that are of no interest\n");
	g_autoptr(DtcLineWatch) log = watch(f);
	FILE *file = fopen(f->path, "w");
	g_assert_nonnull(file);
	fclose(file);
	append(f, "took 800 ms\n");
	expect(log, "took 800 ms");
}

/* Of a line without end the begin is looked at, and memory stays bounded. */
static void test_long(struct fixture *f, gconstpointer data)
{
	(void)data;
	g_autoptr(DtcLineWatch) log = watch(f);
	g_autofree char *junk = g_strnfill(300000, 'x');
	append(f, "first took 100 ms ");
	append(f, junk);
	g_autofree char *line = dtc_line_watch_poll(log);
	g_assert_true(g_str_has_prefix(line, "first took 100 ms x"));
	g_assert_cmpuint(strlen(line), <, 200000);
	append(f, " took 200 ms\nlast took 300 ms\n");
	expect(log, "last took 300 ms");
}

/* What follows a truncation is no rest of a long line. */
static void test_truncated_long(struct fixture *f, gconstpointer data)
{
	(void)data;
	g_autoptr(DtcLineWatch) log = watch(f);
	g_autofree char *junk = g_strnfill(300000, 'x');
	append(f, junk);
	expect(log, NULL);
	FILE *file = fopen(f->path, "w");
	g_assert_nonnull(file);
	fclose(file);
	append(f, "took 800 ms\n");
	expect(log, "took 800 ms");
}

/* Each call looks at so much, and nothing is left out. */
static void test_fast(struct fixture *f, gconstpointer data)
{
	(void)data;
	g_autoptr(DtcLineWatch) log = watch(f);
	g_autofree char *junk = g_strnfill((gsize)16 << 20, 'x');
	for (gsize i = 99; i < (gsize)16 << 20; i += 100)
		junk[i] = '\n';
	append(f, junk);
	append(f, "\ntook 400 ms\n");
	expect(log, NULL);
	char *line = NULL;
	for (int i = 0; !line && i < 10; i++)
		line = dtc_line_watch_poll(log);
	g_assert_cmpstr(line, ==, "took 400 ms");
	g_free(line);
}

static void test_refused(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(dtc_line_watch_new("/nowhere", "took (", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/record/line-watch/grows", struct fixture, NULL, set_up, test_grows, tear_down);
	g_test_add("/record/line-watch/rotates", struct fixture, NULL, set_up, test_rotates, tear_down);
	g_test_add("/record/line-watch/truncated", struct fixture, NULL, set_up, test_truncated, tear_down);
	g_test_add("/record/line-watch/long", struct fixture, NULL, set_up, test_long, tear_down);
	g_test_add("/record/line-watch/truncated-long", struct fixture, NULL, set_up, test_truncated_long, tear_down);
	g_test_add("/record/line-watch/fast", struct fixture, NULL, set_up, test_fast, tear_down);
	g_test_add_func("/record/line-watch/refused", test_refused);
	return g_test_run();
}
