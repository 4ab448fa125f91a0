/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel says in words and lists: losses, CPUs, memory, lockdown. */
#include "collect/record/drops.h"
#include "collect/record/cpu_list.h"
#include "collect/record/preflight.h"

static void test_stats(void)
{
	struct dtc_drops drops = { 0 };

	g_assert_true(dtc_drops_parse("entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 480\n"
				      "oldest event ts: 12.000001\nnow ts: 13.5\ndropped events: 2\nread events: 99\n",
				      &drops));
	g_assert_cmpuint(drops.entries, ==, 12);
	g_assert_cmpuint(drops.overrun, ==, 3);
	g_assert_cmpuint(drops.commit_overrun, ==, 1);
	g_assert_cmpuint(drops.bytes, ==, 480);
	g_assert_cmpuint(drops.dropped, ==, 2);
	g_assert_cmpuint(drops.read, ==, 99);
	g_assert_cmpint(drops.span_ns, ==, 1499999000);
	g_assert_cmpuint(dtc_drops_count_lost(&drops, false), ==, 6);
	g_assert_cmpuint(dtc_drops_count_lost(&drops, true), ==, 3);
	g_assert_true(dtc_drops_parse("read events: 5", &drops));
	g_assert_cmpuint(drops.read, ==, 5);
	g_assert_cmpuint(drops.entries, ==, 0);
	g_assert_false(dtc_drops_parse("", &drops));
	g_assert_false(dtc_drops_parse("entries: none\n\n\n", &drops));
	g_assert_cmpuint(drops.read, ==, 5);
}

static void assert_cpus(const char *text, const char *want)
{
	g_autoptr(GArray) cpus = dtc_cpu_list_parse(text);
	g_autoptr(GString) got = g_string_new(NULL);

	for (guint i = 0; i < cpus->len; i++)
		g_string_append_printf(got, "%u ", g_array_index(cpus, guint, i));
	g_assert_cmpstr(got->str, ==, want);
}

static void test_cpus(void)
{
	assert_cpus("0-3,8\n", "0 1 2 3 8 ");
	assert_cpus("5", "5 ");
	assert_cpus("", "");
	assert_cpus("x", "");
	assert_cpus("3-1", "");
	assert_cpus("0,99999999999999", "0 ");
}

static void test_machine(void)
{
	g_assert_true(dtc_preflight_is_locked_down("none integrity [confidentiality]\n"));
	g_assert_false(dtc_preflight_is_locked_down("none [integrity] confidentiality\n"));
	g_assert_false(dtc_preflight_is_locked_down(""));
	g_assert_cmpuint(dtc_preflight_get_available_memory("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), ==, 12288);
	g_assert_cmpuint(dtc_preflight_get_available_memory("MemTotal: 9 kB\n"), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/drops/stats", test_stats);
	g_test_add_func("/record/drops/cpus", test_cpus);
	g_test_add_func("/record/drops/machine", test_machine);
	return g_test_run();
}
