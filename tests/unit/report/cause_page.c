/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every cause has its section in docs/causes.md, and the program prints it within the width. */
#include "analyze/report/cause_page.h"

#include "collect/console/printable.h"

#include <string.h>

static void assert_fits(const char *text, guint width)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++)
		g_assert_cmpuint(dtc_printable_get_columns(*line), <=, width);
}

static void test_sections(void)
{
	static const char *const items[] = { "- Rests on: ", "- Usually: ", "- Look at: ", "- Try: " };
	for (guint i = 0; i < dtc_cause_page_get_count(); i++) {
		const char *name = dtc_cause_page_get_name(i);
		g_autofree char *narrow = dtc_cause_page_to_text(i, 40, false, true);
		g_autofree char *text = dtc_cause_page_to_text(i, 200, false, true);
		g_assert_true(g_str_has_prefix(text, name));
		for (guint k = 0; k < G_N_ELEMENTS(items); k++)
			if (!strstr(text, items[k]))
				g_error("docs/causes.md: %s has no '%s'", name, items[k]);
		g_assert_null(strstr(text, "`"));
		g_assert_null(strstr(text, "##"));
		assert_fits(narrow, 40);
	}
}

static void test_list(void)
{
	g_autofree char *list = dtc_cause_page_list(80, false, true);
	for (guint i = 0; i < dtc_cause_page_get_count(); i++)
		g_assert_nonnull(strstr(list, dtc_cause_page_get_name(i)));
	g_assert_nonnull(strstr(list, "runqueue        The thread was woken, and waited for a CPU.\n"));
	assert_fits(list, 80);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cause-page/sections", test_sections);
	g_test_add_func("/cause-page/list", test_list);
	return g_test_run();
}
