/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instances a crashed recorder has left, by a /proc that was made up. */
#include "collect/record/instance_name.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static char *make_process(guint pid, const char *stat)
{
	char *proc = g_dir_make_tmp("instance-XXXXXX", NULL);
	g_autofree char *folder = g_strdup_printf("%s/%u", proc, pid);
	g_autofree char *path = g_build_filename(folder, "stat", NULL);

	g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, stat, -1, NULL));
	return proc;
}

static void remove_process(char *proc, guint pid)
{
	g_autofree char *folder = g_strdup_printf("%s/%u", proc, pid);
	g_autofree char *path = g_build_filename(folder, "stat", NULL);

	g_unlink(path);
	g_rmdir(folder);
	g_rmdir(proc);
	g_free(proc);
}

static void test_start(void)
{
	char *proc = make_process(12, "12 (a) b (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n");

	g_assert_cmpuint(dtc_instance_name_get_start(proc, 12), ==, 777);
	g_assert_cmpuint(dtc_instance_name_get_start(proc, 13), ==, 0);
	remove_process(proc, 12);
	proc = make_process(12, "12 (cut) S 1 2\n");
	g_assert_cmpuint(dtc_instance_name_get_start(proc, 12), ==, 0);
	remove_process(proc, 12);
}

static void test_stale(void)
{
	static const struct {
		const char *name;
		bool is_stale;
	} cases[] = {
		{ "dtrace-collect-12-777", false }, /* runs */
		{ "dtrace-collect-12-776", true },  /* somebody else has its number now */
		{ "dtrace-collect-13-777", true },  /* is no more */
		{ "dtrace-collect-12", false },	    /* the rest is not ours */
		{ "dtrace-collect-x-777", false },
		{ "dtrace-collect-13-777b", false },
		{ "dtrace-collect-13-", false },
		{ "dtrace-collect--13-777", false },
		{ "dtrace-collect-99999999999-1", false },
		{ "other", false },
		{ "", false },
	};
	char *proc = make_process(12, "12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n");

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(dtc_instance_name_is_stale(cases[i].name, proc), ==, cases[i].is_stale);
	remove_process(proc, 12);
}

static void test_own(void)
{
	g_autofree char *name = dtc_instance_name_new("/proc");

	g_assert_nonnull(name);
	g_assert_true(g_str_has_prefix(name, "dtrace-collect-"));
	g_assert_false(dtc_instance_name_is_stale(name, "/proc"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/instance-name/start", test_start);
	g_test_add_func("/record/instance-name/stale", test_stale);
	g_test_add_func("/record/instance-name/own", test_own);
	return g_test_run();
}
