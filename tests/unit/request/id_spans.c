/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that name themselves: marks in the trace, and the spans of an OTLP file. */
#include "analyze/request/id_spans.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/request.h"
#include "tests/support/story.h"

#include <glib/gstdio.h>
#include <string.h>

#define US ((int64_t)1000)
#define REAL_AHEAD_NS G_GINT64_CONSTANT(1700000000000000000)

struct world {
	struct story story;
	const DtcHistory *histories[2];
	DtcIdSpans *spans;
	DtcFindings *findings;
};

static void mark(struct story *s, int64_t us, const char *text)
{
	struct dtc_event e = story_event(DTC_EVENT_LOGGER, us * US, 0);
	e.text[0] = text;
	dtc_machine_apply(s->machine, &e);
}

static bool real_to_node(gconstpointer data, guint node, int64_t real_ns, int64_t *ret_node_ns)
{
	(void)data;
	*ret_node_ns = real_ns - REAL_AHEAD_NS;
	return node == 1;
}

/* Node 0 has no trace; on node 1 thread 20 runs from 10 us, thread 21 from 60 us on. */
static void world_begin_named(struct world *w, const char *const names[2])
{
	*w = (struct world){ .findings = dtc_findings_new() };
	story_begin(&w->story, "web1");
	story_switch(&w->story, 10 * US, 0, 0, "swapper/0", 0, 20, "worker");
	mark(&w->story, 20, "begin id=one kind=a");
	mark(&w->story, 30, "begin id=two");
	mark(&w->story, 40, "end id=two");
	mark(&w->story, 45, "nothing to see");
	mark(&w->story, 50, "end id=one");
	mark(&w->story, 55, "begin id=\x1b[31mred\xff");
	story_switch(&w->story, 60 * US, 0, 20, "worker", 0, 21, "other");
	mark(&w->story, 61, "begin id=two");
	mark(&w->story, 99, "end id=two");
	story_switch(&w->story, 100 * US, 0, 21, "other", 0, 20, "worker");
	w->histories[1] = story_end(&w->story);
	const struct dtc_id_spans_input input = {
		.node_count = 2,
		.names = names,
		.histories = w->histories,
		.real_to_node = real_to_node,
	};
	w->spans = dtc_id_spans_new(&input);
}

static void world_begin(struct world *w)
{
	static const char *const names[] = { "dark", "web1" };
	world_begin_named(w, names);
}

static void world_clear(struct world *w)
{
	dtc_id_spans_free(w->spans);
	dtc_findings_free(w->findings);
	story_clear(&w->story);
}

static void check_span(const struct world *w, const char *id, int tid, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_id_span span;
	GError *error = NULL;
	g_assert_true(dtc_id_spans_find(w->spans, id, &span, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(span.node, ==, 1);
	g_assert_cmpint(dtc_history_get_thread(w->histories[1], span.thread)->tid, ==, tid);
	g_assert_cmpint(span.begin.ns, ==, begin_ns);
	g_assert_cmpint(span.end.ns, ==, end_ns);
}

static void check_error(const struct world *w, const char *id, int code, const char *part)
{
	struct dtc_id_span span;
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_id_spans_find(w->spans, id, &span, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, code);
	g_assert_nonnull(strstr(error->message, part));
}

static void test_marks(void)
{
	struct world w;
	g_autoptr(GError) error = NULL;
	world_begin(&w);
	g_assert_true(dtc_id_spans_add_marks(w.spans, "(begin|end) id=(?<id>[^ ]+)", &error));
	check_span(&w, "one", 20, 20 * US, 50 * US);
	check_span(&w, "on", 20, 20 * US, 50 * US);
	check_span(&w, "two", 21, 61 * US, 99 * US); /* the longer of two threads */
	check_error(&w, "three", DTC_ERROR_NOT_FOUND, "'three'");
	check_error(&w, "", DTC_ERROR_NOT_FOUND, "''");
	/* a single mark; and what a stranger put into it is escaped */
	check_error(&w, "\x1b[31mred\xff", DTC_ERROR_IMPOSSIBLE, "\\x1b[31mred\\xff");
	for (guint i = 0; i < dtc_id_spans_get_count(w.spans); i++)
		g_assert_null(strchr(dtc_id_spans_get(w.spans, i)->id, '\x1b'));
	world_clear(&w);
}

static void test_expressions(void)
{
	struct world w;
	world_begin(&w);
	static const char *const wrong[] = { "(", "id=", "(?<id>" };
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		g_assert_false(dtc_id_spans_add_marks(w.spans, wrong[i], &error));
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	}
	GError *error = NULL;
	g_assert_true(dtc_id_spans_add_marks(w.spans, "id=([a-z]+)", &error)); /* without a name: the first group */
	check_span(&w, "one", 20, 20 * US, 50 * US);
	guint before = dtc_id_spans_get_count(w.spans);
	g_assert_true(dtc_id_spans_add_marks(w.spans, "(x)?nothing", &error)); /* a group that took no part */
	g_assert_true(dtc_id_spans_add_marks(w.spans, "(x*)nothing", &error)); /* an empty id */
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_id_spans_get_count(w.spans), ==, before);
	world_clear(&w);
}

/* Reads text as a file. */
static bool add_text(const struct world *w, const char *text, gssize count, GError **error)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "dtc-spans-XXXXXX", NULL);
	int fd = g_mkstemp(path);
	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, text, count, NULL));
	bool good = dtc_id_spans_add_file(w->spans, path, w->findings, error);
	g_unlink(path);
	return good;
}

#define RESOURCE(HOST)                                                                                                 \
	"{\"resource\":{\"attributes\":[{\"key\":\"host.name\",\"value\":{\"stringValue\":\"" HOST                     \
	"\"}},{\"key\":\"process.pid\",\"value\":{\"intValue\":\"20\"}}]},\"scopeSpans\":[{\"spans\":["
#define SPAN(ID, BEGIN, END, MORE)                                                                                     \
	"{\"traceId\":\"trace1\",\"spanId\":\"" ID "\",\"startTimeUnixNano\":\"17000000000000" BEGIN "\","             \
	"\"endTimeUnixNano\":\"17000000000000" END "\",\"attributes\":[" MORE "]}"
#define THREAD(TID) "{\"key\":\"thread.id\",\"value\":{\"intValue\":" TID "}}"
#define HEADER                                                                                                         \
	"{\"key\":\"http.request.header.x-request-id\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":"       \
	"\"req-7\"}]}}}"

static void test_otlp(void)
{
	struct world w;
	GError *error = NULL;
	world_begin(&w);
	g_assert_true(add_text(
		&w,
		"{\"resourceSpans\":[" RESOURCE("WEB1.example.net")
			SPAN("s1", "20000", "50000", HEADER) "," SPAN("s2", "65000", "90000", THREAD("21")) "," SPAN(
				"s3", "65000", "90000", THREAD("\"77\"")) "]}]}," RESOURCE("dark")
				SPAN("s4", "20000", "50000", "") "]}]}]}",
		-1, &error));
	g_assert_no_error(error);
	check_span(&w, "s1", 20, 20 * US, 50 * US); /* without thread.id: the process's only thread */
	check_span(&w, "req-7", 20, 20 * US, 50 * US);
	check_span(&w, "s2", 21, 65 * US, 90 * US);
	check_span(&w, "trace1", 20, 20 * US, 50 * US); /* the longest span of the trace */
	check_error(&w, "s3", DTC_ERROR_NOT_FOUND, "s3");
	check_error(&w, "s4", DTC_ERROR_NOT_FOUND, "s4");
	check_error(&w, "s", DTC_ERROR_USAGE, "'s1', 's2'");
	g_assert_cmpuint(dtc_findings_get_count(w.findings), ==, 2);
	world_clear(&w);
}

/* A node of the host's whole name comes before one of the name's first part. */
static void test_otlp_hosts(void)
{
	static const char *const names[] = { "web1", "web1.example.net" };
	struct world w;
	GError *error = NULL;
	world_begin_named(&w, names);
	g_assert_true(add_text(&w,
			       "{\"resourceSpans\":[" RESOURCE("Web1.Example.net")
				       SPAN("s1", "20000", "50000", "") "]}]}," RESOURCE("web1.example.org")
					       SPAN("s2", "20000", "50000", "") "]}]}]}",
			       -1, &error));
	g_assert_no_error(error);
	check_span(&w, "s1", 20, 20 * US, 50 * US);
	check_error(&w, "s2", DTC_ERROR_NOT_FOUND, "s2");
	world_clear(&w);
}

/* Collectors write a document per line. */
static void test_otlp_lines(void)
{
	struct world w;
	GError *error = NULL;
	world_begin(&w);
	g_assert_true(add_text(&w,
			       "{\"resourceSpans\":[" RESOURCE("web1")
				       SPAN("s1", "20000", "50000", "") "]}]}]}\n\n"
									"{\"resourceSpans\":[" RESOURCE("web1") SPAN(
										"s2", "21000", "40000", "") "]}]}]}\n",
			       -1, &error));
	g_assert_no_error(error);
	check_span(&w, "s1", 20, 20 * US, 50 * US);
	check_span(&w, "s2", 20, 21 * US, 40 * US);
	world_clear(&w);
}

static void test_otlp_hostile(void)
{
	struct world w;
	world_begin(&w);
	g_autofree char *deep = g_strnfill(3000000, '[');
	const struct {
		const char *text;
		gssize count;
	} wrong[] = {
		{ "", 0 },	     { "{", 1 },   { "[]", 2 },	    { "{\"resourceSpans\":{}}", -1 },
		{ "\xff\xfe{}", 4 }, { deep, -1 }, { "{}\0{}", 5 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		g_assert_false(add_text(&w, wrong[i].text, wrong[i].count, &error));
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED);
	}
	/* of other types than expected: nothing is found, and nothing breaks */
	static const char *const odd[] = {
		"{\"resourceSpans\":[]}",
		"{\"resourceSpans\":[1,null,[],{}]}",
		"{\"resourceSpans\":[{\"resource\":7,\"scopeSpans\":[3,{\"spans\":[4,null,{}]}]}]}",
		"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":5,\"value\":6}]},\"scopeSpans\":{}}]}",
		"{\"resourceSpans\":[" RESOURCE(
			"web1") "{\"traceId\":9,\"startTimeUnixNano\":-1,\"endTimeUnixNano\":\"x\"}]}]}]}",
		"{\"resourceSpans\":[" RESOURCE("web1") SPAN("s9", "50000", "20000", "") "]}]}]}",
	};
	for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
		GError *error = NULL;
		g_assert_true(add_text(&w, odd[i], -1, &error));
		g_assert_no_error(error);
	}
	g_assert_cmpuint(dtc_id_spans_get_count(w.spans), ==, 0);
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_id_spans_add_file(w.spans, "/nonexistent/spans.json", w.findings, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND);
	world_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/id-spans/marks", test_marks);
	g_test_add_func("/id-spans/expressions", test_expressions);
	g_test_add_func("/id-spans/otlp", test_otlp);
	g_test_add_func("/id-spans/otlp-hosts", test_otlp_hosts);
	g_test_add_func("/id-spans/otlp-lines", test_otlp_lines);
	g_test_add_func("/id-spans/otlp-hostile", test_otlp_hostile);
	return g_test_run();
}
