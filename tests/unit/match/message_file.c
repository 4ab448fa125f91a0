/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/error.h"
#include "sync/match/match.h"

#include <glib/gstdio.h>
#include <string.h>

static DtcMatches *read_text(const char *text, gssize length, GError **error)
{
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("messages-XXXXXX", &path, NULL);
	g_assert_cmpint(file, >=, 0);
	g_close(file, NULL);
	g_assert_true(g_file_set_contents(path, text, length, NULL));
	DtcMatches *matches = dtc_matches_read_file(path, error);
	g_unlink(path);
	return matches;
}

/* Nanoseconds survive at the size of an epoch, where a double has steps of 256 ns. */
static void test_exact(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcMatches) matches = read_text("# made by hand\n\n3\n0 2 1795168667.655937461 0.000000001\r\n2 0 7 "
						  "1795168667.6559374619\n0 1 1.5 2",
						  -1, &error);
	struct dtc_match_pair pair;
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_matches_get_node_count(matches), ==, 3);
	g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 2);
	g_assert_cmpstr(dtc_matches_get_node_name(matches, 2), ==, "2");
	dtc_matches_get_pair(matches, 0, &pair);
	g_assert_cmpuint(pair.b, ==, 1);
	g_assert_cmpint(pair.ab[0].sent_ns, ==, 1500000000);
	dtc_matches_get_pair(matches, 1, &pair);
	g_assert_cmpint(pair.ab[0].sent_ns, ==, G_GINT64_CONSTANT(1795168667655937461));
	g_assert_cmpint(pair.ab[0].received_ns, ==, 1);
	/* the tenth digit is cut */
	g_assert_cmpint(pair.ba[0].received_ns, ==, G_GINT64_CONSTANT(1795168667655937461));
}

static void test_damaged(void)
{
	static const struct {
		const char *text;
		const char *line;
	} cases[] = {
		{ "", "no messages" },
		{ "# nothing\n", "no messages" },
		{ "two\n", "line 1 " },
		{ "0\n", "line 1 " },
		{ "99999999999\n", "line 1 " },
		{ "2\n0 1 1.0\n", "line 2 " },
		{ "2\n0 2 1.0 2.0\n", "line 2 " },
		{ "2\n0 0 1.0 2.0\n", "line 2 " },
		{ "2\n0 1 1.0 2.0 3\n", "line 2 " },
		{ "2\n#\n0 1 1.0 1e9\n", "line 3 " },
		{ "2\n0 1 99999999999999999999 1\n", "line 2 " },
		{ "2 3\n", "line 1 " },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_assert_null(read_text(cases[i].text, -1, &error));
		g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED);
		g_assert_nonnull(strstr(error->message, cases[i].line));
		g_assert_nonnull(strchr(error->message, '\n'));
	}
	g_autoptr(GError) error = NULL;
	g_assert_null(read_text("2\n0 1 1\0 2\n", 12, &error));
	g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED);
	g_clear_error(&error);
	g_assert_null(dtc_matches_read_file("/nonexistent/messages", &error));
	g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_UNREADABLE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/match/message-file/exact", test_exact);
	g_test_add_func("/match/message-file/damaged", test_damaged);
	return g_test_run();
}
