/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instances a crashed recorder has left, by a /proc that was made up. */
#include "collect/record/instance_name.h"
#include "collect/bundle/scratch.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define SINCE " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n"

static void make_process(const char *proc, guint pid, const char *stat, const char *space)
{
	g_autofree char *number = g_strdup_printf("%u", pid);
	g_autofree char *folder = g_build_filename(proc, number, "ns", NULL);
	g_autofree char *path = g_build_filename(proc, number, "stat", NULL);
	g_autofree char *link = g_build_filename(folder, "pid", NULL);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, stat, -1, NULL));
	if (space)
		g_assert_cmpint(symlink(space, link), ==, 0);
}

/* With this process, and the one with number 12. */
static DtcScratch *make_proc(const char *stat, const char *space)
{
	DtcScratch *scratch = dtc_scratch_new(NULL);
	const char *proc = dtc_scratch_get_path(scratch);
	g_autofree char *self = g_build_filename(proc, "self", NULL);
	g_autofree char *own = g_strdup_printf("%d", (int)getpid());

	make_process(proc, (guint)getpid(), stat, space);
	make_process(proc, 12, stat, space);
	g_assert_cmpint(symlink(own, self), ==, 0);
	return scratch;
}

static void test_start(void)
{
	g_autoptr(DtcScratch) whole = make_proc("12 (a) b (x)" SINCE, NULL);
	g_autoptr(DtcScratch) cut = make_proc("12 (cut) S 1 2\n", NULL);

	g_assert_cmpuint(dtc_instance_name_get_start(dtc_scratch_get_path(whole), 12), ==, 777);
	g_assert_cmpuint(dtc_instance_name_get_start(dtc_scratch_get_path(whole), 13), ==, 0);
	g_assert_cmpuint(dtc_instance_name_get_start(dtc_scratch_get_path(cut), 12), ==, 0);
}

struct name_case {
	const char *name;
	bool is_stale;
};

static void check_names(const DtcScratch *proc, const struct name_case *cases, gsize count)
{
	for (gsize i = 0; i < count; i++)
		g_assert_cmpint(dtc_instance_name_is_stale(cases[i].name, dtc_scratch_get_path(proc)), ==,
				cases[i].is_stale);
}

static void test_stale(void)
{
	static const struct name_case cases[] = {
		{ "dtrace-collect-5-12-777", false }, /* runs */
		{ "dtrace-collect-5-12-776", true },  /* somebody else has its number now */
		{ "dtrace-collect-5-13-777", true },  /* is no more */
		{ "dtrace-collect-6-13-777", false }, /* another container's */
		{ "dtrace-collect-13-777", false },   /* the rest is not ours */
		{ "dtrace-collect-5-12", false },
		{ "dtrace-collect-5-x-777", false },
		{ "dtrace-collect-5-13-777b", false },
		{ "dtrace-collect-5-13-", false },
		{ "dtrace-collect--5-13-777", false },
		{ "dtrace-collect-5-99999999999-1", false },
		{ "dtrace-collect-0-13-777", false },
		{ "dtrace-collect-unknown-0123456701234567", false },
		{ "dtrace", false },
		{ "other", false },
		{ "", false },
	};
	g_autoptr(DtcScratch) proc = make_proc("12 (a)" SINCE, "pid:[5]");

	check_names(proc, cases, G_N_ELEMENTS(cases));
}

/* Without containers all processes can be seen, and so that a container is no more. */
static void test_containers(void)
{
	static const struct name_case cases[] = {
		{ "dtrace-collect-4026531836-12-777", false },
		{ "dtrace-collect-4026531836-13-777", true },
		{ "dtrace-collect-5-1-777", false }, /* somebody lives there */
		{ "dtrace-collect-6-1-777", true },
	};
	static const struct name_case hidden[] = { { "dtrace-collect-6-1-777", false } };
	g_autoptr(DtcScratch) proc = make_proc("12 (a)" SINCE, "pid:[4026531836]");
	const char *path = dtc_scratch_get_path(proc);

	make_process(path, 14, "14 (b)" SINCE, "pid:[5]");
	make_process(path, 15, "15 (ended meanwhile)" SINCE, NULL);
	check_names(proc, cases, G_N_ELEMENTS(cases));
	make_process(path, 16, "16 (of somebody else)" SINCE, NULL);
	g_autofree char *space = g_build_filename(path, "16", "ns", "pid", NULL);
	g_assert_true(g_file_set_contents(space, "no link", -1, NULL));
	check_names(proc, hidden, G_N_ELEMENTS(hidden));
}

/* A /proc that is not of this process' namespace tells nothing of it. */
static void test_strange(void)
{
	static const struct name_case cases[] = { { "dtrace-collect-5-13-777", false } };
	g_autoptr(DtcScratch) proc = make_proc("12 (a)" SINCE, "pid:[5]");
	g_autofree char *self = g_build_filename(dtc_scratch_get_path(proc), "self", NULL);

	g_assert_cmpint(g_unlink(self), ==, 0);
	g_assert_cmpint(symlink("12", self), ==, 0);
	check_names(proc, cases, G_N_ELEMENTS(cases));
	g_autofree char *name = dtc_instance_name_new(dtc_scratch_get_path(proc));
	g_assert_true(g_str_has_prefix(name, "dtrace-collect-unknown-"));
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
	g_test_add_func("/record/instance-name/containers", test_containers);
	g_test_add_func("/record/instance-name/strange", test_strange);
	g_test_add_func("/record/instance-name/own", test_own);
	return g_test_run();
}
