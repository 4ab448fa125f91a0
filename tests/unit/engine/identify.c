/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a connection and a time are written. */
#include "analyze/engine/identify.h"
#include "dtrace-chain/error.h"

static void test_good(void)
{
	struct dtc_connection_spec spec;
	GError *error = NULL;
	g_assert_true(dtc_connection_spec_parse("10.0.0.1:51700-10.0.0.2:80@+1.5s", &spec, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(spec.ends.source_port, ==, 51700);
	g_assert_cmpuint(spec.ends.destination_port, ==, 80);
	g_assert_cmpuint(spec.ends.source[11], ==, 0xff);
	g_assert_cmpuint(spec.ends.source[12], ==, 10);
	g_assert_cmpuint(spec.ends.destination[15], ==, 2);
	g_assert_true(spec.at.is_relative);
	g_assert_cmpint(spec.at.ns, ==, 1500000000);
	g_assert_true(dtc_connection_spec_parse("[fd00::1]:1-[::1]:65535@1795168587.592869804", &spec, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(spec.ends.source[0], ==, 0xfd);
	g_assert_cmpuint(spec.ends.destination[15], ==, 1);
	g_assert_cmpuint(spec.ends.destination_port, ==, 65535);
	g_assert_false(spec.at.is_relative);
	g_assert_cmpint(spec.at.ns, ==, G_GINT64_CONSTANT(1795168587592869804));
}

static void test_wrong(void)
{
	static const char *const wrong[] = {
		"",
		"@",
		"-@",
		"10.0.0.1:1-10.0.0.2:2",
		"10.0.0.1:1@+1s",
		"10.0.0.1-10.0.0.2:2@+1s",
		"10.0.0.1:1-10.0.0.2@+1s",
		"10.0.0.1:0-10.0.0.2:2@+1s",
		"10.0.0.1:65536-10.0.0.2:2@+1s",
		"10.0.0.256:1-10.0.0.2:2@+1s",
		"fd00::1:1-fd00::2:2@+1s",
		"[fd00::1:1-[fd00::2]:2@+1s",
		"a:1-b:2@+1s",
		"10.0.0.1:1-10.0.0.2:2@soon",
		"10.0.0.1:1-10.0.0.2:2@",
	};
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		struct dtc_connection_spec spec;
		g_autoptr(GError) error = NULL;
		g_assert_false(dtc_connection_spec_parse(wrong[i], &spec, &error));
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/identify/good", test_good);
	g_test_add_func("/identify/wrong", test_wrong);
	return g_test_run();
}
