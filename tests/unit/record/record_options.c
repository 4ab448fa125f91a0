/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the options of a recording become, and which are refused. */
#include "collect/record/record_options.h"

#include "dtrace-chain/error.h"

#include <string.h>

static void test_defaults(void)
{
	struct dtc_record_options options = { 0 };
	struct dtc_recorder_request request;
	g_autoptr(GError) error = NULL;

	g_assert_true(dtc_record_options_to_request(&options, &request, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(request.tracer->name, ==, "tracefs");
	g_assert_cmpint(request.set, ==, DTC_EVENTS_DEFAULT);
	g_assert_cmpuint(request.buffer_bytes, ==, 8 << 20);
	g_assert_cmpuint(request.capture.snaplen, ==, 65535);
	g_assert_cmpstr(request.capture.interface, ==, "any");
	g_assert_true(request.has_packets);
	g_assert_true(request.seals);
	g_assert_cmpint(request.duration_ns, ==, 0);
	/* this machine's name, and no way out of the folder */
	g_assert_null(strpbrk(request.node_folder, "./"));
	g_assert_cmpstr(request.node_folder, !=, "");
	g_free(options.output);
}

static void test_refused(void)
{
	static const struct {
		struct dtc_record_options options;
		const char *message;
	} cases[] = {
		{ { .tracer = (char *)"perf" }, "no tracer 'perf'" },
		{ { .duration = (char *)"30" }, "--for '30'" },
		{ { .set = (char *)"most" }, "unknown set of events 'most'" },
		{ { .buffer = (char *)"1" }, "--buffer '1'" },
		{ { .buffer = (char *)"2G" }, "--buffer '2G'" },
		{ { .capture_buffer = (char *)"x" }, "--capture-buffer 'x'" },
		{ { .snaplen = 10 }, "--snaplen" },
		{ { .snaplen = 300000 }, "--snaplen" },
		{ { .filter = (char *)"tcp prot 80" }, "--filter" },
		{ { .headers_only = TRUE, .interface = (char *)"eth0" }, "--headers-only" },
		{ { .redact = (char *)"" }, "--redact" },
		{ { .redact = (char *)"name" }, "'name'" },
		{ { .redact = (char *)"names", .raw_only = TRUE }, "--raw" },
		{ { .redact_key = (char *)"key" }, "--redact-key" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_record_options options = cases[i].options;
		struct dtc_recorder_request request = { 0 };
		g_autoptr(GError) error = NULL;
		g_assert_false(dtc_record_options_to_request(&options, &request, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_nonnull(strstr(error->message, cases[i].message));
		g_assert_nonnull(strchr(error->message, '\n')); /* there is a hint */
		g_assert_null(options.output);
	}
}

static void test_preflight(void)
{
	struct dtc_record_options options = { .duration = (char *)"1500ms", .no_packets = TRUE, .raw_only = TRUE };
	struct dtc_recorder_request request;

	g_assert_true(dtc_record_options_to_request(&options, &request, NULL));
	const struct dtc_preflight_request question = dtc_record_options_to_preflight(&request);
	g_assert_cmpuint(question.capture_bytes, ==, 0);
	g_assert_cmpfloat(question.seconds, ==, 1.5);
	g_assert_false(question.seals);
	g_free(options.output);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/options/defaults", test_defaults);
	g_test_add_func("/record/options/refused", test_refused);
	g_test_add_func("/record/options/preflight", test_preflight);
	return g_test_run();
}
