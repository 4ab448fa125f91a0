/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door for back ends: what the reader makes of streams that a made one gives it, without a trace. */
#include "collect/read/backend.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

struct item {
	int64_t time_ns;
	const char *name; /* of the event; NULL: a gap from here */
	int64_t count;	  /* of the gap */
	int64_t end_ns;
};

struct script {
	uint32_t cpu;
	guint count;
	struct item items[8];
	const char *damage; /* after the last item */
};

struct made {
	struct dtc_backend backend;
	const struct script *scripts;
	guint at[4]; /* the item after the current one */
	struct dtc_stream streams[4];
	struct dtc_stream *list[4];
	DtcNames *event_names;
	struct dtc_event event;
};

/* What the next one opens. */
static const struct script *next_scripts;
static guint next_count;
static bool next_is_kernel = true;
static guint open_count;

static void advance(struct dtc_backend *backend, guint stream)
{
	struct made *made = (struct made *)backend;
	const struct script *script = &made->scripts[stream];
	struct dtc_stream *to = &made->streams[stream];
	if (made->at[stream] == script->count) {
		if (script->damage)
			dtc_stream_take_error(to, g_strdup(script->damage));
		to->has_item = dtc_stream_end(to);
		return;
	}
	const struct item *item = &script->items[made->at[stream]++];
	to->has_item = true;
	backend->consumed_bytes += 10;
	if (item->name)
		dtc_stream_take_event(to, item->time_ns, DTC_ABSENT);
	else
		dtc_stream_take_gap(
			to,
			(struct dtc_gap){ .begin_ns = item->time_ns, .end_ns = item->end_ns, .count = item->count });
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint stream)
{
	struct made *made = (struct made *)backend;
	struct dtc_event *event = &made->event;
	memset(event->v, 0, sizeof(event->v));
	event->kind = DTC_EVENT_SCHED_SWITCH;
	event->name =
		(uint16_t)dtc_names_add(made->event_names, made->scripts[stream].items[made->at[stream] - 1].name);
	event->text[0] = event->text[1] = NULL;
	return event;
}

static struct dtc_backend *open_made(const struct dtc_backend_request *request, GError **error);

static void close_made(struct dtc_backend *backend)
{
	struct made *made = (struct made *)backend;
	for (guint i = 0; i < backend->stream_count; i++)
		dtc_stream_clear(&made->streams[i]);
	dtc_findings_free(backend->findings);
	g_free(made);
	open_count--;
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	(void)backend;
	return strcmp(key, "release") == 0 ? "6.1" : NULL; /* as perf calls it */
}

static const struct dtc_backend_kind made_kind = {
	.name = "made",
	.open = open_made,
	.close = close_made,
	.advance = advance,
	.get_event = get_event,
	.get_environment = get_environment,
};

static struct dtc_backend *open_made(const struct dtc_backend_request *request, GError **error)
{
	struct made *made = g_new0(struct made, 1);
	(void)error;
	g_assert_cmpstr(request->node, ==, "made");
	g_assert_cmpstr(request->path, ==, "nowhere");
	g_assert_cmpstr(dtc_names_get(request->call_names, 0), ==, "unknown");
	made->backend.kind = &made_kind;
	made->backend.stream_count = next_count;
	made->backend.streams = made->list;
	made->backend.declares[DTC_EVENT_SCHED_SWITCH] = next_is_kernel;
	made->backend.findings = dtc_findings_new();
	dtc_findings_add(made->backend.findings, DTC_SEVERITY_ERROR, true, request->node,
			 "stream file 'x' cannot be read");
	made->scripts = next_scripts;
	made->event_names = request->event_names;
	for (guint i = 0; i < next_count; i++) {
		made->list[i] = &made->streams[i];
		made->streams[i].name = g_strdup_printf("ch%u", i);
		made->streams[i].cpu = next_scripts[i].cpu;
		dtc_stream_init(&made->streams[i]);
		advance(&made->backend, i);
	}
	open_count++;
	return &made->backend;
}

static DtcReader *open_reader(const struct script *scripts, guint count, GError **error)
{
	next_scripts = scripts;
	next_count = count;
	return dtc_reader_open_with(&made_kind, "made", "nowhere", error);
}

/* Findings as one text, a line each. */
static char *finish(DtcReader *reader, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	if (!dtc_reader_finish(reader, findings, error))
		return NULL;
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		g_string_append_printf(text, "%s\n", dtc_findings_get(findings, i)->text);
	return g_string_free(text, FALSE);
}

static void test_order(void)
{
	static const struct script scripts[] = {
		{ .cpu = 5, .count = 3, .items = { { 10, "a", 0, 0 }, { 30, "b", 0, 0 }, { 30, "a", 0, 0 } } },
		{ .cpu = 0, .count = 2, .items = { { 20, "b", 0, 0 }, { 30, "c", 0, 0 } } },
		{ .cpu = 2, .count = 0 },
	};
	static const struct {
		int64_t time_ns;
		uint32_t cpu;
		const char *name;
	} expected[] = { { 10, 5, "a" }, { 20, 0, "b" }, { 30, 5, "b" }, { 30, 5, "a" }, { 30, 0, "c" } };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcReader) reader = open_reader(scripts, G_N_ELEMENTS(scripts), &error);
	const struct dtc_event *event;
	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		event = dtc_reader_next(reader);
		g_assert_nonnull(event);
		g_assert_cmpint(event->time_ns, ==, expected[i].time_ns);
		g_assert_cmpuint(event->cpu, ==, expected[i].cpu);
		g_assert_cmpstr(dtc_reader_get_event_name(reader, event->name), ==, expected[i].name);
	}
	g_assert_null(dtc_reader_next(reader));
	g_assert_cmpstr(dtc_reader_get_backend(reader), ==, "made");
	g_assert_cmpuint(dtc_reader_get_event_name_count(reader), ==, 3);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpuint(dtc_reader_get_event_count(reader, i), ==, i < 2 ? 2 : 1);
	g_assert_cmpuint(dtc_reader_get_cpu_count(reader), ==, 6);
	g_assert_cmpuint(dtc_reader_get_consumed_bytes(reader), ==, 50);
	g_assert_true(dtc_reader_declares(reader, DTC_EVENT_SCHED_SWITCH));
	g_assert_false(dtc_reader_declares(reader, DTC_EVENT_SCHED_WAKING));
	g_assert_cmpstr(dtc_reader_get_environment(reader, "kernel_release"), ==, "6.1");
	g_assert_cmpstr(dtc_reader_get_environment(reader, "hostname"), ==, "");
	g_autofree char *findings = finish(reader, NULL);
	g_assert_cmpstr(findings, ==, "stream file 'x' cannot be read\n");
}

/* Gaps of known and unknown size, a clock that runs backward, and a stream that ends in damage. */
static void test_odd(void)
{
	static const struct script scripts[] = {
		{ .cpu = 0,
		  .count = 4,
		  .items = { { 10, "a", 0, 0 }, { 12, NULL, 7, 20 }, { 30, "a", 0, 0 }, { 26, "a", 0, 0 } } },
		{ .cpu = 1,
		  .count = 2,
		  .items = { { 11, "a", 0, 0 }, { 15, NULL, DTC_ABSENT, 25 } },
		  .damage = "torn" },
	};
	static const struct {
		int64_t time_ns;
		int64_t lost; /* 0: an event */
	} expected[] = {
		{ 10, 0 }, { 11, 0 }, { 20, 7 }, { 25, DTC_ABSENT }, { 25, DTC_ABSENT }, { 30, 0 }, { 30, 0 }
	};
	g_autoptr(DtcReader) reader = open_reader(scripts, G_N_ELEMENTS(scripts), NULL);
	const struct dtc_event *event;
	g_assert_nonnull(reader);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		event = dtc_reader_next(reader);
		g_assert_nonnull(event);
		g_assert_cmpint(event->time_ns, ==, expected[i].time_ns);
		g_assert_cmpint(event->kind == DTC_EVENT_LOST, ==, expected[i].lost != 0);
		if (event->kind == DTC_EVENT_LOST)
			g_assert_cmpint(event->v[DTC_LOST_COUNT], ==, expected[i].lost);
	}
	g_assert_null(dtc_reader_next(reader));
	g_assert_cmpuint(dtc_reader_get_lost_count(reader), ==, 7);
	g_autofree char *findings = finish(reader, NULL);
	g_assert_cmpstr(
		findings, ==,
		"stream file 'x' cannot be read\n"
		"stream 'ch1' is damaged after 1 events: torn\n"
		"the clock of stream 'ch0' ran backward 1 times, by up to 4 ns; those events were held in order\n"
		"events were lost: 7 or more in 2 gaps; how many in 1 of them is not known\n");
}

/* Of streams that give one event after the other. */
static void test_count(void)
{
	static const struct script scripts[] = {
		{ .cpu = 1, .count = 3, .items = { { 10, "a", 0, 0 }, { 12, NULL, 7, 20 }, { 30, "b", 0, 0 } } },
		{ .cpu = 0, .count = 1, .items = { { 5, NULL, 1, 6 } } },
		{ .cpu = 2, .count = 1, .items = { { 40, "a", 0, 0 } } },
	};
	g_autoptr(DtcReader) reader = open_reader(scripts, G_N_ELEMENTS(scripts), NULL);
	int64_t begin_ns, end_ns;
	guint64 all = 0, count;
	g_assert_nonnull(reader);
	dtc_reader_get_counted_span(reader, &begin_ns, &end_ns);
	g_assert_true(begin_ns == DTC_ABSENT && end_ns == DTC_ABSENT);
	while ((count = dtc_reader_count(reader)) > 0)
		all += count;
	dtc_reader_get_counted_span(reader, &begin_ns, &end_ns);
	g_assert_cmpuint(all, ==, 3);
	g_assert_cmpint(begin_ns, ==, 10);
	g_assert_cmpint(end_ns, ==, 40);
	g_assert_cmpuint(dtc_reader_get_event_count(reader, 0), ==, 2);
	g_assert_cmpuint(dtc_reader_get_lost_count(reader), ==, 8);
	g_assert_cmpuint(dtc_reader_get_cpu_count(reader), ==, 3);
	g_autofree char *findings = finish(reader, NULL);
	g_assert_nonnull(findings);
}

static void test_errors(void)
{
	static const struct script damaged = { .damage = "torn" }, empty = { .count = 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcReader) reader = open_reader(&damaged, 1, &error);
	g_assert_no_error(error);
	g_assert_null(dtc_reader_next(reader));
	g_assert_null(finish(reader, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	g_assert_nonnull(strstr(error->message, "torn"));
	g_clear_error(&error);

	next_is_kernel = false;
	g_assert_null(open_reader(&empty, 1, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
	g_assert_nonnull(strstr(error->message, "not a kernel trace"));
	g_clear_error(&error);
	next_is_kernel = true;

	g_assert_null(dtc_reader_open("made", "/nonexistent", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
	g_assert_cmpuint(dtc_reader_measure("/nonexistent"), ==, 0);
	struct dtc_clock_class clock;
	g_assert_false(dtc_reader_describe_clock("/nonexistent", &clock));
	g_clear_pointer(&reader, dtc_reader_free);
	g_assert_cmpuint(open_count, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/backend/order", test_order);
	g_test_add_func("/read/backend/odd", test_odd);
	g_test_add_func("/read/backend/count", test_count);
	g_test_add_func("/read/backend/errors", test_errors);
	return g_test_run();
}
