/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/thread_spec.h"

#include "analyze/path/lineage.h"
#include "dtrace-chain/error.h"
#include "tests/support/story.h"

#include <string.h>

#define BEGIN_NS G_GINT64_CONSTANT(1795168587000000000)
#define SLEEP 1
#define DEAD 0x10

static void assert_parsed(const char *text, const char *node, const char *name, int32_t tid)
{
	struct dtc_thread_spec spec = { 0 };

	g_assert_true(dtc_thread_spec_parse(text, NULL, &spec, NULL));
	g_assert_cmpstr(spec.node, ==, node);
	g_assert_cmpstr(spec.name, ==, name);
	g_assert_cmpint(spec.tid, ==, tid);
	dtc_thread_spec_clear(&spec);
}

static void test_parse(void)
{
	static const char *const wrong[] = { "", "web", "web:", ":12", ":", ":shop" };

	assert_parsed("a:b:12", "a:b", NULL, 12);
	assert_parsed("web:12", "web", NULL, 12);
	assert_parsed("web:shop", "web", "shop", -1);
	assert_parsed("web:kworker/0:1H", "web", "kworker/0:1H", -1);
	assert_parsed("web:-1", "web", "-1", -1); /* no tid is negative: a name */
	assert_parsed("web:12x", "web", "12x", -1);
	assert_parsed("web:99999999999", "web", "99999999999", -1);
	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		struct dtc_thread_spec untouched = { 0 };
		if (dtc_thread_spec_parse(wrong[i], NULL, &untouched, &error))
			g_error("'%s' was taken for a thread", wrong[i]);
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		g_assert_null(untouched.node);
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
	const struct dtc_thread_spec spec = { .node = (char *)"n", .tid = tid };

	return dtc_thread_spec_find(s->history, &spec, from, to, false, s->findings, span, error);
}

static bool find_name(struct story *s, const char *name, const char *from, const char *to, struct dtc_thread_span *span,
		      GError **error)
{
	const struct dtc_thread_spec spec = { .node = (char *)"n", .name = (char *)name, .tid = -1 };

	return dtc_thread_spec_find(s->history, &spec, from, to, false, s->findings, span, error);
}

static void test_names(void)
{
	struct dtc_thread_span span;
	struct story s;
	GError *error = NULL;

	story_begin(&s, "n");
	story_switch(&s, BEGIN_NS, 0, 0, "swapper/0", 0, 10, "one");
	story_switch(&s, BEGIN_NS + 100, 0, 10, "one", SLEEP, 20, "two");
	story_switch(&s, BEGIN_NS + 200, 0, 20, "two", SLEEP, 21, "two");
	story_switch(&s, BEGIN_NS + 300, 0, 21, "two", SLEEP, 0, "swapper/0");
	story_end(&s);

	g_assert_true(find_name(&s, "one", "+50ns", NULL, &span, &error));
	g_assert_no_error(error);
	g_assert_cmpint(dtc_history_get_thread(s.history, span.thread)->tid, ==, 10);
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 50);

	g_assert_false(find_name(&s, "two", NULL, NULL, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, "has 2 threads 'two'"));
	g_assert_nonnull(strstr(error->message, "\ngive the tid of one: 20, 21"));
	g_clear_error(&error);

	g_assert_false(find_name(&s, "three", NULL, NULL, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_clear_error(&error);
	story_clear(&s);
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
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 195); /* it exited: a zombie does nothing */

	g_assert_true(find(&s, 20, "1795168587.000000400", "1795168587000000500", &span, &error));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 400);
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 500);
	g_assert_no_error(error);
	story_clear(&s);
}

static const char *get_last_finding(const struct story *s)
{
	return dtc_findings_get(s->findings, dtc_findings_get_count(s->findings) - 1)->text;
}

static bool find_with_parents(struct story *s, int32_t tid, const char *from, const char *to,
			      struct dtc_thread_span *span)
{
	const struct dtc_thread_spec spec = { .node = (char *)"n", .tid = tid };

	return dtc_thread_spec_find(s->history, &spec, from, to, true, s->findings, span, NULL);
}

/* Before the birth of 20 the time is that of 10, which lived when the trace began. */
static void test_parents(void)
{
	struct dtc_thread_span span;
	struct story s;
	tell(&s);

	g_assert_true(find_with_parents(&s, 20, "+0", "+150ns", &span));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS);
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 150);
	g_autoptr(GArray) lineage = dtc_lineage_new(s.history, span.thread, span.begin, span.end);
	g_assert_cmpuint(lineage->len, ==, 2);
	g_assert_cmpuint(dtc_lineage_get(lineage, 0)->thread, ==, span.thread);
	g_assert_cmpint(dtc_lineage_get(lineage, 0)->begin.ns, ==, BEGIN_NS + 100);
	const struct dtc_lineage_part *parent = dtc_lineage_get(lineage, 1);
	g_assert_cmpint(dtc_history_get_thread(s.history, parent->thread)->tid, ==, 10);
	g_assert_cmpint(parent->begin.ns, ==, BEGIN_NS);
	g_assert_cmpint(parent->end.ns, ==, BEGIN_NS + 100);

	/* without --from its own life is meant, and nothing is cut */
	guint before = dtc_findings_get_count(s.findings);
	g_assert_true(find_with_parents(&s, 20, NULL, "+150ns", &span));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 100);
	g_assert_cmpuint(dtc_findings_get_count(s.findings), ==, before);
	story_clear(&s);
}

/* A span that is shorter than what was asked for says why. */
static void test_cuts(void)
{
	struct dtc_thread_span span;
	struct story s;
	tell(&s);

	g_assert_true(find(&s, 20, "+50ns", "+150ns", &span, NULL));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS + 100);
	g_assert_nonnull(strstr(get_last_finding(&s), "begins at +0.000000100s"));

	g_assert_true(find_with_parents(&s, 20, "+150ns", "+250ns", &span));
	g_assert_cmpint(span.end.ns, ==, BEGIN_NS + 195);
	g_assert_nonnull(strstr(get_last_finding(&s), "there thread 20 exited"));

	g_assert_true(find_with_parents(&s, 20, "1795168586.0", "+150ns", &span));
	g_assert_cmpint(span.begin.ns, ==, BEGIN_NS);
	g_assert_nonnull(strstr(get_last_finding(&s), "there the trace begins"));
	story_clear(&s);
}

static void test_errors(void)
{
	struct dtc_thread_span span;
	struct story s;
	tell(&s);

	GError *error = NULL;
	g_assert_false(find(&s, 21, NULL, NULL, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
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
	g_test_add_func("/engine/thread-spec/parse", test_parse);
	g_test_add_func("/engine/thread-spec/spans", test_spans);
	g_test_add_func("/engine/thread-spec/names", test_names);
	g_test_add_func("/engine/thread-spec/parents", test_parents);
	g_test_add_func("/engine/thread-spec/cuts", test_cuts);
	g_test_add_func("/engine/thread-spec/errors", test_errors);
	return g_test_run();
}
