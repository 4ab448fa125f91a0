/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/thread_spec.h"

#include "dtrace-chain/error.h"
#include "tests/support/story.h"

#include <string.h>

#define BEGIN_NS G_GINT64_CONSTANT(1795168587000000000)
#define SLEEP 1
#define DEAD 0x10

static void test_parse(void)
{
	static const char *const wrong[] = { "", "web", "web:", ":12", "web:x", "web:-1", "web:12x", "web: 12",
					     "web:99999999999", "web:12:" };
	g_autofree char *node = NULL;
	int32_t tid;

	g_assert_true(dtc_thread_spec_parse("a:b:12", &node, &tid, NULL));
	g_assert_cmpstr(node, ==, "a:b");
	g_assert_cmpint(tid, ==, 12);
	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		char *untouched = NULL;
		if (dtc_thread_spec_parse(wrong[i], &untouched, &tid, &error))
			g_error("'%s' was taken for a thread", wrong[i]);
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		g_assert_null(untouched);
	}
}

/* Thread 20 lives twice: in [+100, +200] as "first", and from +300 as "second". */
static void tell(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, BEGIN_NS, 0, 0, "swapper/0", 0, 10, "parent");
	story_fork(s, BEGIN_NS + 100, 0, 10, 10, 20, 20, "parent");
	story_task(s, DTC_EVENT_SCHED_WAKEUP_NEW, BEGIN_NS + 110, 0, 20, "parent", 0);
	story_switch(s, BEGIN_NS + 120, 0, 10, "parent", SLEEP, 20, "first");
	story_task(s, DTC_EVENT_SCHED_EXIT, BEGIN_NS + 190, 0, 20, "first", 0);
	story_switch(s, BEGIN_NS + 195, 0, 20, "first", DEAD, 10, "parent");
	story_task(s, DTC_EVENT_SCHED_FREE, BEGIN_NS + 200, 0, 20, "first", 0);
	story_fork(s, BEGIN_NS + 300, 0, 10, 10, 20, 20, "parent");
	story_task(s, DTC_EVENT_SCHED_WAKEUP_NEW, BEGIN_NS + 310, 0, 20, "parent", 0);
	story_switch(s, BEGIN_NS + 320, 0, 10, "parent", SLEEP, 20, "second");
	story_switch(s, BEGIN_NS + 1000, 0, 20, "second", SLEEP, 0, "swapper/0");
	story_end(s);
}

static bool find(struct story *s, int32_t tid, const char *from, const char *to, struct dtc_thread_span *span,
		 GError **error)
{
	return dtc_thread_spec_find(s->history, "n", tid, from, to, s->findings, span, error);
}

static void test_spans(void)
{
	g_autoptr(GError) error = NULL;
	struct dtc_thread_span span;
	struct story s;
	tell(&s);

	guint before = dtc_findings_get_count(s.findings);
	g_assert_true(find(&s, 20, NULL, NULL, &span, &error));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 300);
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 1000);
	g_assert_cmpuint(dtc_findings_get_count(s.findings), ==, before + 1); /* the tid had two owners */

	/* the span picks the owner */
	g_assert_true(find(&s, 20, "+0", "+250ns", &span, &error));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 100);
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 200);

	g_assert_true(find(&s, 20, "1795168587.000000400", "1795168587000000500", &span, &error));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 400);
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 500);
	g_assert_no_error(error);
	story_clear(&s);
}

static void test_errors(void)
{
	struct dtc_thread_span span;
	struct story s;
	tell(&s);

	GError *error = NULL;
	g_assert_false(find(&s, 21, NULL, NULL, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND);
	g_assert_nonnull(strstr(error->message, "\nthe nearest are 20 (second), 10 (parent)"));
	g_clear_error(&error);

	g_assert_false(find(&s, 20, "+210ns", "+220ns", &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND);
	g_assert_nonnull(strstr(error->message, "+0.000000300s"));
	g_clear_error(&error);

	g_assert_false(find(&s, 20, "+5s", "+4s", &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_clear_error(&error);

	g_assert_false(find(&s, 20, "+9223372036s", NULL, &span, &error)); /* begin + that overflows */
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_clear_error(&error);

	g_assert_false(find(&s, 20, "yesterday", NULL, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_clear_error(&error);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/thread-spec/parse", test_parse);
	g_test_add_func("/cli/thread-spec/spans", test_spans);
	g_test_add_func("/cli/thread-spec/errors", test_errors);
	return g_test_run();
}
