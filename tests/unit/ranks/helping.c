/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Those ranks help that bring processors which no other brings. */
#include "analyze/ranks/helping.h"

#include <string.h>

#define RANKS 6

/* Ranks that help, as "14"; machines: a letter each, ' ' is not known; processors: bits in the same order. */
static char *choose(const char *machines, const guint64 *processors)
{
	guint count = (guint)strlen(machines);
	struct dtc_bell_name places[RANKS] = { 0 };
	struct dtc_helping_processors sets[RANKS] = { 0 };
	bool helps[RANKS];
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < count; i++) {
		if (machines[i] != ' ') /* of one machine, each in its own network */
			g_snprintf(places[i].machine, sizeof(places[i].machine), "%c %u", machines[i], i);
		sets[i].words[3] = processors[i];
	}
	bool has_any = dtc_helping_choose(places, sets, count, helps);
	for (guint i = 0; i < count; i++)
		if (helps[i])
			g_string_append_printf(names, "%u", i);
	g_assert_cmpint(has_any, ==, names->len > 0);
	return g_string_free(names, FALSE);
}

static void test_choose(void)
{
	static const struct {
		const char *machines;
		guint64 processors[RANKS];
		const char *helps, *all;
	} cases[] = {
		{ "a", { 1 }, "", "" },
		{ "aaaa", { 3, 3, 3, 3 }, "", "123" },		   /* nobody is bound */
		{ "aabb", { 3, 3, 3, 3 }, "2", "123" },		   /* one of the other machine */
		{ "aaaa", { 1, 2, 4, 8 }, "123", "123" },	   /* to a processor each */
		{ "aaaaaa", { 1, 2, 1, 2, 3, 4 }, "15", "12345" }, /* to one of two each, and a third */
		{ "abab", { 1, 1, 2, 3 }, "123", "123" },
		{ "a  ", { 1, 1, 1 }, "12", "12" }, /* it cannot be told where they are */
		{ "ab", { 1, 0 }, "", "1" },	    /* or what they may use */
	};

	g_unsetenv(DTC_HELPING_VARIABLE);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *helps = choose(cases[i].machines, cases[i].processors);
		g_assert_cmpstr(helps, ==, cases[i].helps);
		g_setenv(DTC_HELPING_VARIABLE, "all", TRUE);
		g_autofree char *all = choose(cases[i].machines, cases[i].processors);
		g_assert_cmpstr(all, ==, cases[i].all);
		g_setenv(DTC_HELPING_VARIABLE, "none", TRUE);
		g_autofree char *none = choose(cases[i].machines, cases[i].processors);
		g_assert_cmpstr(none, ==, "");
		g_unsetenv(DTC_HELPING_VARIABLE);
	}
}

static void test_processors(void)
{
	struct dtc_helping_processors own;
	guint count = 0;

	dtc_helping_get_processors(&own);
	for (guint i = 0; i < G_N_ELEMENTS(own.words); i++)
		count += (guint)__builtin_popcountll(own.words[i]);
	g_assert_cmpuint(count, ==, g_get_num_processors());
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/helping/choose", test_choose);
	g_test_add_func("/helping/processors", test_processors);
	return g_test_run();
}
