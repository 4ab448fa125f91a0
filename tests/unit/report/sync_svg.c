/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The drawing of clocks: well-formed whatever nodes are called, complete, and bounded. */
#include "analyze/report/sync_view.h"
#include "tests/support/cluster.h"

#include <string.h>

#define HOSTILE "<script>alert(1)</script>&\"'\x1b[2J\xff"

static DtcSync *fit(const DtcMatches *matches)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	DtcSync *sync = dtc_fit_clocks(matches, NULL, findings, &error);
	g_assert_no_error(error);
	return sync;
}

struct content {
	GHashTable *classes; /* class -> times */
	GString *text;
};

static void on_start(GMarkupParseContext *context, const char *element, const char **names, const char **values,
		     gpointer data, GError **error)
{
	struct content *content = data;
	(void)context;
	(void)error;
	g_assert_cmpstr(element, !=, "script");
	for (guint i = 0; names[i]; i++) {
		/* no attribute may run code or load anything; numbers must be numbers */
		g_assert_false(g_str_has_prefix(names[i], "on") || strstr(names[i], "href"));
		g_assert_null(strstr(values[i], "nan"));
		g_assert_null(strstr(values[i], "inf"));
		if (strcmp(names[i], "class") == 0) {
			guint times = GPOINTER_TO_UINT(g_hash_table_lookup(content->classes, values[i]));
			g_hash_table_insert(content->classes, g_strdup(values[i]), GUINT_TO_POINTER(times + 1));
		}
	}
}

static void on_text(GMarkupParseContext *context, const char *text, gsize length, gpointer data, GError **error)
{
	(void)context;
	(void)error;
	g_string_append_len(((struct content *)data)->text, text, (gssize)length);
}

static void content_clear(struct content *content)
{
	g_hash_table_unref(content->classes);
	g_string_free(content->text, TRUE);
}

static struct content draw(const DtcMatches *matches, gsize *ret_bytes)
{
	static const GMarkupParser parser = { .start_element = on_start, .text = on_text };
	struct content content = { g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL), g_string_new(NULL) };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcSync) sync = fit(matches);
	g_autofree char *drawing = dtc_sync_to_svg(sync, matches);
	g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &content, NULL);
	g_assert_true(g_markup_parse_context_parse(context, drawing, -1, &error) &&
		      g_markup_parse_context_end_parse(context, &error));
	g_assert_no_error(error);
	*ret_bytes = strlen(drawing);
	return content;
}

static guint count(const struct content *content, const char *class)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(content->classes, class));
}

/* One pair with everything there is: clouds, hulls, band and line in both panels, a step, messages left out. */
static void test_everything(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 3, 2);
	cluster.clocks[1].step_at_s = 20;
	cluster.clocks[1].step_ns = 3000000;
	cluster.wrong_part = 0.002;
	cluster.wrong_ns = 3e9;
	const char *const names[] = { HOSTILE, "b" };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 2);
	cluster_talk(&cluster, matches, 0, 1, 2000);
	gsize bytes;
	struct content content = draw(matches, &bytes);
	/* each once in the legend, and in both panels of the pair; line and band in the node's as well */
	static const char *const both[] = { "ab", "ba", "hab", "hba", "step", "cut" };
	for (guint i = 0; i < G_N_ELEMENTS(both); i++)
		g_assert_cmpuint(count(&content, both[i]), ==, 3);
	g_assert_cmpuint(count(&content, "line"), ==, 5);
	g_assert_cmpuint(count(&content, "band"), ==, 4);
	g_assert_cmpuint(count(&content, "frame"), ==, 4);
	const char *step = strstr(content.text->str, "step +");
	g_assert_nonnull(step);
	g_assert_cmpfloat_with_epsilon(g_ascii_strtod(step + strlen("step +"), NULL), 3, 0.01);
	g_assert_nonnull(strstr(content.text->str, "<script>alert(1)</script>"));
	g_assert_nonnull(strstr(content.text->str, "(ppm)"));
	g_assert_null(strchr(content.text->str, '\x1b'));
	g_assert_cmpuint(bytes, <, 200000);
	content_clear(&content);
}

/* 1,770 pairs with 10,000 messages: as many as a drawing has room for, and it says so. */
static void test_bounded(void)
{
	struct cluster cluster;
	cluster_init(&cluster, 4, 60);
	g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
	for (guint a = 0; a < 60; a++)
		for (guint b = a + 1; b < 60; b++)
			cluster_talk(&cluster, matches, a, b, a == 0 && b == 1 ? 50000 : 4);
	gsize bytes;
	struct content content = draw(matches, &bytes);
	g_assert_cmpuint(count(&content, "ab"), ==, 1 + 2 * 12);
	g_assert_nonnull(strstr(content.text->str, "12 of 1770 aligned pairs are drawn"));
	g_assert_nonnull(strstr(content.text->str, "24 of 59 nodes are drawn"));
	g_assert_cmpuint(bytes, <, 2000000);
	content_clear(&content);
}

/* Nothing to draw is said, and why. */
static void test_nothing(void)
{
	static const char *const names[] = { "a", "b", "c" };
	gsize bytes;
	g_autoptr(DtcMatches) none = dtc_matches_new(names, 0);
	struct content content = draw(none, &bytes);
	g_assert_nonnull(strstr(content.text->str, "nothing to draw"));
	content_clear(&content);
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, 3);
	for (guint i = 0; i < 50; i++) {
		g_assert_true(dtc_matches_add(matches, 0, 1, 1000000 * i, 1000000 * i + 500));
		/* one instant and no span at all: axes need a length all the same */
		g_assert_true(dtc_matches_add(matches, 1, 2, 5000, 5000));
		g_assert_true(dtc_matches_add(matches, 2, 1, 5000, 5000));
	}
	content = draw(matches, &bytes);
	g_assert_nonnull(strstr(content.text->str, "not drawn: a ↔ b is one-way, 50 messages there, 0 back"));
	content_clear(&content);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/sync-svg/everything", test_everything);
	g_test_add_func("/report/sync-svg/bounded", test_bounded);
	g_test_add_func("/report/sync-svg/nothing", test_nothing);
	return g_test_run();
}
