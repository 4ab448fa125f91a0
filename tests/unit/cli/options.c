/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/options.h"
#include "analyze/cli/manual.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>

/* Parses a command line given as one string; argv without the options is left in ret_rest. */
static bool parse(struct dtc_common_options *options, const char *text, char ***ret_rest, GError **error)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_chain_program, "stats");
	g_auto(GStrv) words = NULL;
	g_autofree char *command = g_strconcat("dtrace-chain ", text, NULL);

	g_assert_true(g_shell_parse_argv(command, NULL, &words, NULL));
	memset(options, 0, sizeof(*options));
	dtc_common_options_add(options, line);
	int argc = (int)g_strv_length(words);
	g_autofree char **argv = g_memdup2(words, sizeof(*words) * ((gsize)argc + 1)); /* GOption takes words out */
	bool parsed = dtc_command_line_parse(line, &argc, &argv, error);
	if (ret_rest)
		*ret_rest = g_strdupv(argv);
	return parsed;
}

static void test_nodes(void)
{
	struct dtc_common_options options;

	g_assert_true(parse(&options, "--nodes 'web, db,,client' --nodes edge", NULL, NULL));
	g_assert_cmpuint(g_strv_length(options.nodes), ==, 4);
	g_assert_cmpstr(options.nodes[1], ==, "db");
	g_assert_cmpstr(options.nodes[3], ==, "edge");
	dtc_common_options_clear(&options);
	g_assert_null(options.nodes);

	g_autoptr(GError) error = NULL;
	g_assert_false(parse(&options, "--nodes ,", NULL, &error));
	g_assert_nonnull(error);
	dtc_common_options_clear(&options);
}

static void test_format(void)
{
	static const struct {
		const char *line;
		bool is_valid, is_json;
	} cases[] = { { "", true, false },
		      { "--format text", true, false },
		      { "--format=json", true, true },
		      { "--format yaml", false, false },
		      { "--format ''", false, false } };
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_common_options options;
		g_autoptr(GError) error = NULL;
		bool is_json = false;
		g_assert_true(parse(&options, cases[i].line, NULL, NULL));
		g_assert_cmpint(dtc_common_options_get_json(&options, &is_json, &error), ==, cases[i].is_valid);
		if (cases[i].is_valid)
			g_assert_cmpint(is_json, ==, cases[i].is_json);
		else
			g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		dtc_common_options_clear(&options);
	}
}

static DtcBundle *open_bundle(const char *line, GError **error)
{
	struct dtc_common_options options;
	g_auto(GStrv) rest = NULL;

	g_assert_true(parse(&options, line, &rest, NULL));
	DtcBundle *bundle = dtc_common_options_open_bundle(&options, (int)g_strv_length(rest), rest, error);
	dtc_common_options_clear(&options);
	return bundle;
}

static void assert_usage(const char *line)
{
	g_autoptr(GError) error = NULL;
	g_assert_null(open_bundle(line, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strchr(error->message, '\n')); /* a hint */
}

static void test_bundle(void)
{
	g_autofree char *root = g_dir_make_tmp("dtc-options-XXXXXX", NULL);
	g_autofree char *web = g_build_filename(root, "web.pcap", NULL);
	g_autofree char *db = g_build_filename(root, "db.pcap", NULL);
	g_assert_true(g_file_set_contents(web, "", 0, NULL));
	g_assert_true(g_file_set_contents(db, "", 0, NULL));

	const char *const forms[] = { "'%s'", "--bundle '%s'", "-- '%s'", "-q '%s' --nodes web,db" };
	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
		g_auto(GStrv) pieces = g_strsplit(forms[i], "%s", 2);
		g_autofree char *line = g_strconcat(pieces[0], root, pieces[1], NULL);
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcBundle) bundle = open_bundle(line, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(dtc_bundle_get_count(bundle), ==, 2);
		g_assert_cmpstr(dtc_bundle_get_node(bundle, 0)->name, ==, "db");
	}

	g_autoptr(GError) error = NULL;
	g_autofree char *line = g_strdup_printf("--node shop='%s'", web);
	g_autoptr(DtcBundle) lone = open_bundle(line, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_bundle_get_count(lone), ==, 1);
	g_assert_cmpstr(dtc_bundle_get_node(lone, 0)->name, ==, "shop");

	g_autofree char *unknown = g_strdup_printf("'%s' --nodes web,mail", root);
	g_assert_null(open_bundle(unknown, &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, "mail"));

	assert_usage("one two");
	assert_usage("--bundle one two");
	assert_usage("--node web");
	assert_usage("--node =path");
	assert_usage("--node web=");
	g_unlink(web);
	g_unlink(db);
	g_rmdir(root);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/options/nodes", test_nodes);
	g_test_add_func("/cli/options/format", test_format);
	g_test_add_func("/cli/options/bundle", test_bundle);
	return g_test_run();
}
