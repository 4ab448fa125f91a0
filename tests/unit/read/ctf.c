/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader on traces made by hand: order, gaps, damage, spellings old and new, both byte orders. */
#include "collect/read/ctf/extent.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_trace.h"

#include <sys/stat.h>

#ifdef __SANITIZE_ADDRESS__
/* babeltrace2 2.0.4 loses the event that it was decoding when a packet ends inside it, and parts of a syntax error. */
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void)
{
	return "fast_unwind_on_malloc=0"; /* frames of libraries, to tell whose leak it is */
}
const char *__lsan_default_suppressions(void)
{
	return "leak:libbabeltrace2.so\n";
}
#endif

static bool is_fast; /* the back end that the story is told to */

static DtcReader *open_reader(const char *path, GError **error)
{
	const struct dtc_bundle_node node = {
		.name = (char *)"made",
		.kernel_path = (char *)path,
		.reader = { .choice = is_fast ? DTC_READER_FAST : DTC_READER_REFERENCE },
	};
	return dtc_reader_open_node(&node, error);
}

struct trace {
	char *path;
	DtcReader *reader;
	DtcFindings *findings;
	GArray *events; /* struct dtc_event; texts are copied */
	GPtrArray *texts;
};

static void read_all(struct trace *trace)
{
	const struct dtc_event *event;
	while ((event = dtc_reader_next(trace->reader))) {
		struct dtc_event copy = *event;
		for (int i = 0; i < 2; i++) {
			if (!copy.text[i])
				continue;
			copy.text[i] = g_strdup(copy.text[i]);
			g_ptr_array_add(trace->texts, (void *)copy.text[i]);
		}
		g_array_append_val(trace->events, copy);
	}
}

static char *list_findings(const DtcFindings *findings)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		g_string_append_printf(text, "%s\n", dtc_findings_get(findings, i)->text);
	return g_string_free(text, FALSE);
}

static guint64 get_count_of(const DtcReader *reader, const char *name)
{
	for (guint i = 0; i < dtc_reader_get_event_name_count(reader); i++)
		if (strcmp(dtc_reader_get_event_name(reader, i), name) == 0)
			return dtc_reader_get_event_count(reader, i);
	return 0;
}

/* Who counts is told the same of every trace. */
static void check_count(const struct trace *trace)
{
	g_autoptr(DtcReader) reader = open_reader(trace->path, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	int64_t begin_ns = DTC_ABSENT, end_ns = DTC_ABSENT, counted_begin_ns, counted_end_ns;
	guint64 count, all = 0, read = 0;
	while ((count = dtc_reader_count(reader)) > 0)
		all += count;
	for (guint i = 0; i < trace->events->len; i++) {
		const struct dtc_event *event = &g_array_index(trace->events, struct dtc_event, i);
		if (event->kind == DTC_EVENT_LOST)
			continue;
		begin_ns = read++ == 0 ? event->time_ns : begin_ns;
		end_ns = event->time_ns;
		const char *name = dtc_reader_get_event_name(trace->reader, event->name);
		g_assert_cmpuint(get_count_of(reader, name), ==, get_count_of(trace->reader, name));
	}
	dtc_reader_get_counted_span(reader, &counted_begin_ns, &counted_end_ns);
	g_assert_cmpuint(all, ==, read);
	g_assert_cmpint(counted_begin_ns, ==, begin_ns);
	g_assert_cmpint(counted_end_ns, ==, end_ns);
	g_assert_cmpuint(dtc_reader_get_lost_count(reader), ==, dtc_reader_get_lost_count(trace->reader));
	g_assert_cmpuint(dtc_reader_get_cpu_count(reader), ==, dtc_reader_get_cpu_count(trace->reader));
	g_assert_cmpuint(dtc_reader_get_consumed_bytes(reader), ==, dtc_reader_get_consumed_bytes(trace->reader));
	g_assert_true(dtc_reader_finish(reader, findings, NULL));
	g_autofree char *said = list_findings(findings), *expected = list_findings(trace->findings);
	g_assert_cmpstr(said, ==, expected);
}

static void open_and_read(struct trace *trace)
{
	g_autoptr(GError) error = NULL;
	trace->reader = open_reader(trace->path, &error);
	g_assert_no_error(error);
	trace->findings = dtc_findings_new();
	trace->events = g_array_new(FALSE, FALSE, sizeof(struct dtc_event));
	trace->texts = g_ptr_array_new_with_free_func(g_free);
	read_all(trace);
	g_assert_true(dtc_reader_finish(trace->reader, trace->findings, &error));
	g_assert_no_error(error);
	check_count(trace);
}

static void trace_close(struct trace *trace)
{
	dtc_reader_free(trace->reader);
	if (trace->findings)
		dtc_findings_free(trace->findings);
	if (trace->events)
		g_array_unref(trace->events);
	if (trace->texts)
		g_ptr_array_unref(trace->texts);
}

static void trace_clear(struct trace *trace)
{
	trace_close(trace);
	made_remove(trace->path);
	g_free(trace->path);
}

static const struct dtc_event *get(const struct trace *trace, guint index)
{
	g_assert_cmpuint(index, <, trace->events->len);
	return &g_array_index(trace->events, struct dtc_event, index);
}

static bool has_finding(const struct trace *trace, const char *part)
{
	for (guint i = 0; i < dtc_findings_get_count(trace->findings); i++)
		if (strstr(dtc_findings_get(trace->findings, i)->text, part))
			return true;
	return false;
}

static void add_other(struct made_bytes *events, guint64 timestamp, guint32 value)
{
	made_begin_event(events, MADE_OTHER, timestamp);
	made_put(events, value, 4);
}

static void add_switch(struct made_bytes *events, guint64 timestamp, gint32 prev, gint32 next)
{
	made_begin_event(events, MADE_SWITCH, timestamp);
	made_put_comm(events, "before");
	made_put(events, (guint32)prev, 4);
	made_put(events, 0x100, 8);
	made_put_comm(events, "after");
	made_put(events, (guint32)next, 4);
}

/* One packet with switches at the given times, next_tid 1, 2, ... */
static void add_switches(struct made_bytes *stream, const struct made_packet *packet, const guint64 *times, guint count)
{
	struct made_bytes events = made_bytes_new(stream->is_big_endian);
	for (guint i = 0; i < count; i++)
		add_switch(&events, times[i], 0, (gint32)i + 1);
	made_add_packet(stream, packet, &events);
	made_bytes_clear(&events);
}

static void write_stream(struct trace *trace, const char *name, const struct made_bytes *stream)
{
	made_write(trace->path, name, stream->bytes->data, stream->bytes->len);
}

static void test_ties(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	/* the file names sort the other way round than the CPUs */
	for (guint cpu = 0; cpu < 3; cpu++) {
		struct made_bytes stream = made_bytes_new(false);
		const guint64 times[] = { 100, 200, 200, 300 };
		struct made_packet packet = { .begin = 100, .end = 300, .cpu = cpu };
		add_switches(&stream, &packet, times, G_N_ELEMENTS(times));
		g_autofree char *name = g_strdup_printf("stream_%u", 9 - cpu);
		write_stream(&trace, name, &stream);
		made_bytes_clear(&stream);
	}
	open_and_read(&trace);
	static const guint cpus[] = { 0, 1, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2 };
	static const gint64 tids[] = { 1, 1, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4 };
	g_assert_cmpuint(trace.events->len, ==, G_N_ELEMENTS(cpus));
	for (guint i = 0; i < G_N_ELEMENTS(cpus); i++) {
		g_assert_cmpuint(get(&trace, i)->cpu, ==, cpus[i]);
		g_assert_cmpint(get(&trace, i)->v[DTC_SWITCH_NEXT_TID], ==, tids[i]);
	}
	g_assert_cmpint(get(&trace, 0)->time_ns, ==, MADE_OFFSET_NS + 100);
	g_assert_cmpuint(dtc_reader_get_cpu_count(trace.reader), ==, 3);
	g_assert_cmpuint(dtc_findings_get_count(trace.findings), ==, 0);
	g_assert_cmpstr(dtc_reader_get_environment(trace.reader, "kernel_release"), ==, "6.1.0-test");
	g_assert_cmpstr(dtc_reader_get_environment(trace.reader, "hostname"), ==, "made");
	g_assert_cmpstr(dtc_reader_get_environment(trace.reader, "nonsense"), ==, "");
	trace_clear(&trace);
}

static void test_gaps(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	add_switches(&stream, &(struct made_packet){ 100, 190, 0, 0, 0, 0 }, (const guint64[]){ 100, 180 }, 2);
	/* five events lost up to the end of this packet */
	add_switches(&stream, &(struct made_packet){ 200, 290, 1, 5, 0, 0 }, (const guint64[]){ 210, 280 }, 2);
	/* the packet with number 2 was lost as a whole */
	add_switches(&stream, &(struct made_packet){ 400, 490, 3, 5, 0, 0 }, (const guint64[]){ 410 }, 1);
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 7);
	const struct dtc_event *lost = get(&trace, 4);
	g_assert_cmpuint(get(&trace, 3)->kind, ==, DTC_EVENT_SCHED_SWITCH);
	g_assert_cmpuint(lost->kind, ==, DTC_EVENT_LOST);
	g_assert_cmpint(lost->v[DTC_LOST_COUNT], ==, 5);
	g_assert_cmpint(lost->v[DTC_LOST_BEGIN], ==, MADE_OFFSET_NS + 190);
	g_assert_cmpint(lost->time_ns, ==, MADE_OFFSET_NS + 290);
	lost = get(&trace, 5);
	g_assert_cmpuint(lost->kind, ==, DTC_EVENT_LOST);
	g_assert_cmpint(lost->v[DTC_LOST_COUNT], ==, DTC_ABSENT);
	g_assert_cmpint(lost->v[DTC_LOST_BEGIN], ==, MADE_OFFSET_NS + 290);
	g_assert_cmpint(lost->time_ns, ==, MADE_OFFSET_NS + 400);
	g_assert_cmpuint(dtc_reader_get_lost_count(trace.reader), ==, 5);
	g_assert_false(dtc_findings_get_complete(trace.findings));
	g_assert_true(has_finding(&trace, "5 or more in 2 gaps"));
	/* the made-up events are in no count */
	g_assert_cmpuint(dtc_reader_get_event_name_count(trace.reader), ==, 1);
	g_assert_cmpuint(dtc_reader_get_event_count(trace.reader, 0), ==, 5);
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

/* How far the reader is, by packets: nothing at first, everything at the end. */
static void test_consumed(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	g_autoptr(GError) error = NULL;
	for (guint64 i = 1; i <= 4; i++)
		add_switches(&stream, &(struct made_packet){ 100 * i, 100 * i + 90, i, 0, 0, 0 },
			     (const guint64[]){ 100 * i, 100 * i + 50 }, 2);
	write_stream(&trace, "stream_0", &stream);
	struct dtc_extent extent = dtc_extent_of_trace(trace.path);
	g_assert_cmpuint(extent.packets, ==, 4);
	g_assert_cmpuint(extent.bytes, ==, stream.bytes->len);
	DtcReader *reader = open_reader(trace.path, &error);
	g_assert_no_error(error);
	for (guint events = 0; dtc_reader_next(reader); events++)
		g_assert_cmpuint(dtc_reader_get_consumed_bytes(reader), ==, extent.bytes / 4 * (events / 2));
	g_assert_cmpuint(dtc_reader_get_consumed_bytes(reader), ==, extent.bytes);
	dtc_reader_free(reader);
	g_assert_cmpuint(dtc_extent_of_trace("/nonexistent").bytes, ==, 0);
	made_bytes_clear(&stream);
	made_remove(trace.path);
	g_free(trace.path);
}

/*
 * The first packet of a recording tells of losses: before it or in it, nobody knows how many (a snapshot begins in the
 * middle of a session). The next count is the difference to it.
 */
static void test_first_packet(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	add_switches(&stream, &(struct made_packet){ 100, 190, 70, 1000, 0, 0 }, (const guint64[]){ 110 }, 1);
	add_switches(&stream, &(struct made_packet){ 200, 290, 71, 1003, 0, 0 }, (const guint64[]){ 210 }, 1);
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 4);
	g_assert_cmpuint(get(&trace, 1)->kind, ==, DTC_EVENT_LOST);
	g_assert_cmpint(get(&trace, 1)->v[DTC_LOST_COUNT], ==, DTC_ABSENT);
	g_assert_cmpint(get(&trace, 1)->v[DTC_LOST_BEGIN], ==, MADE_OFFSET_NS + 100);
	g_assert_cmpint(get(&trace, 3)->v[DTC_LOST_COUNT], ==, 3);
	g_assert_cmpuint(dtc_reader_get_lost_count(trace.reader), ==, 3);
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

/* A stream that the disk or a copy cut: all its whole packets and the beginning of the last one are read. */
static void test_cut_stream(bool is_big_endian)
{
	struct made_metadata metadata = { .is_big_endian = is_big_endian };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes whole = made_bytes_new(is_big_endian), cut = made_bytes_new(is_big_endian);
	const guint64 times[] = { 100, 110, 120, 130 }, later[] = { 200, 210, 220, 230 };
	add_switches(&whole, &(struct made_packet){ 100, 190, 0, 0, 0, 16 }, times, 4);
	add_switches(&cut, &(struct made_packet){ 100, 190, 0, 0, 1, 16 }, times, 4);
	add_switches(&cut, &(struct made_packet){ 200, 290, 1, 0, 1, 16 }, later, 4);
	write_stream(&trace, "stream_0", &whole);
	/* inside the third event of the second packet */
	guint event_bytes = 2 + 8 + 16 + 4 + 8 + 16 + 4;
	guint packet_bytes = MADE_HEADER_BYTES + 4 * event_bytes + 16;
	made_write(trace.path, "stream_1", cut.bytes->data, packet_bytes + MADE_HEADER_BYTES + 2 * event_bytes + 20);
	open_and_read(&trace);
	guint of_cpu[2] = { 0, 0 };
	for (guint i = 0; i < trace.events->len; i++)
		if (get(&trace, i)->kind == DTC_EVENT_SCHED_SWITCH)
			of_cpu[get(&trace, i)->cpu]++;
	g_assert_cmpuint(of_cpu[0], ==, 4);
	g_assert_cmpuint(of_cpu[1], ==, 6);
	/* nobody shall think that the last thread ran on */
	const struct dtc_event *last = get(&trace, trace.events->len - 1);
	g_assert_cmpuint(last->kind, ==, DTC_EVENT_LOST);
	g_assert_cmpuint(last->cpu, ==, 1);
	g_assert_cmpuint(dtc_reader_get_lost_count(trace.reader), ==, 0);
	g_assert_false(dtc_findings_get_complete(trace.findings));
	g_autofree char *position =
		g_strdup_printf("'stream_1' ends at byte %u", packet_bytes + MADE_HEADER_BYTES + 2 * event_bytes + 20);
	g_assert_true(has_finding(&trace, position));
	made_bytes_clear(&whole);
	made_bytes_clear(&cut);
	trace_clear(&trace);
}

static void test_cut_stream_little(void)
{
	test_cut_stream(false);
}

static void test_cut_stream_big(void)
{
	test_cut_stream(true);
}

/* A packet in the middle of a file is overwritten: the ones before and behind it are read. */
static void test_hole_in_stream(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	const guint64 times[] = { 100, 200, 300 };
	guint ends[3];
	for (guint i = 0; i < 3; i++) {
		add_switches(&stream, &(struct made_packet){ times[i], times[i] + 50, i, 0, 0, 0 }, &times[i], 1);
		ends[i] = stream.bytes->len;
	}
	memset(stream.bytes->data + ends[0], 0x5a, 60);
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	guint switches = 0, gaps = 0;
	for (guint i = 0; i < trace.events->len; i++) {
		switches += get(&trace, i)->kind == DTC_EVENT_SCHED_SWITCH;
		gaps += get(&trace, i)->kind == DTC_EVENT_LOST;
	}
	g_assert_cmpuint(switches, ==, 2);
	g_assert_cmpuint(gaps, ==, 1);
	g_autofree char *lost = g_strdup_printf("damaged at byte %u: %u of its %u bytes are no packets", ends[0],
						ends[1] - ends[0], ends[2]);
	g_assert_true(has_finding(&trace, lost));
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

/* An event that no class is declared for ends its own stream only. */
static void test_bad_event(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes good = made_bytes_new(false), bad = made_bytes_new(false), events = made_bytes_new(false);
	const guint64 times[] = { 100, 110, 120 };
	add_switches(&good, &(struct made_packet){ 100, 190, 0, 0, 0, 0 }, times, 3);
	add_switch(&events, 105, 0, 9);
	made_begin_event(&events, 999, 106);
	made_add_packet(&bad, &(struct made_packet){ 100, 190, 0, 0, 1, 0 }, &events);
	write_stream(&trace, "stream_0", &good);
	write_stream(&trace, "stream_1", &bad);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 5); /* and the gap at the end of stream_1 */
	g_assert_true(has_finding(&trace, is_fast ? "'stream_1' is damaged in the packet that begins at byte 0"
						  : "'stream_1' is damaged after 1 events"));
	g_assert_true(!is_fast || has_finding(&trace, "left out with an unknown number of events"));
	g_assert_false(dtc_findings_get_complete(trace.findings));
	made_bytes_clear(&events);
	made_bytes_clear(&good);
	made_bytes_clear(&bad);
	trace_clear(&trace);
}

/* The clock of a CPU that goes back by 30 ns: counted, and held. */
static void test_reversal(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	const guint64 times[] = { 100, 200, 170, 210 };
	add_switches(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, times, G_N_ELEMENTS(times));
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 4);
	g_assert_cmpint(get(&trace, 2)->time_ns, ==, MADE_OFFSET_NS + 200);
	g_assert_cmpint(get(&trace, 3)->time_ns, ==, MADE_OFFSET_NS + 210);
	g_assert_true(has_finding(&trace, "ran backward 1 times, by up to 30 ns"));
	g_assert_true(dtc_findings_get_complete(trace.findings));
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

static void add_spelled_events(struct made_bytes *events)
{
	guint64 now = 100;
	add_switch(events, now++, 5, 6);
	made_begin_event(events, MADE_SWITCH_PERF, now++);
	made_put_text(events, "perf");
	made_put(events, 7, 4);
	made_put(events, 8, 4);
	made_put(events, 7, 4);
	made_begin_event(events, MADE_SYS_READ, now++);
	made_put(events, 3, 4);
	made_put(events, 0xdeadbeef, 8);
	made_put(events, 512, 8);
	made_begin_event(events, MADE_EXIT_SYSCALL, now++);
	made_put(events, (guint64)-11, 8);
	made_begin_event(events, MADE_OPENAT, now++);
	made_put(events, (guint32)-100, 4);
	made_put_text(events, "/etc/hosts");
	made_begin_event(events, MADE_UNKNOWN_CALL, now++);
	made_put(events, 435, 4);
	made_begin_event(events, MADE_UNKNOWN_CALL, now++);
	made_put(events, 99999, 4);
	add_other(events, now++, 42);
	made_begin_event(events, MADE_LOGGER, now++);
	made_put(events, 5, 4);
	g_byte_array_append(events->bytes, (const guint8 *)"hello", 5);
	made_begin_event(events, MADE_ACCEPT_EXIT, now++);
	made_put(events, 12, 8);
	made_put(events, 2, 2);
	made_put(events, 51710, 2);
	made_put(events, 4, 1);
	g_byte_array_append(events->bytes, (const guint8 *)"\x0a\x4d\x00\x01", 4);
	made_put(events, 0, 1);
	made_begin_event(events, MADE_ACCEPT_EXIT, now++);
	made_put(events, 13, 8);
	made_put(events, 10, 2);
	made_put(events, 51711, 2);
	made_put(events, 0, 1);
	made_put(events, 8, 1);
	g_byte_array_append(events->bytes, (const guint8 *)"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\x12\x34", 16);
	made_begin_event(events, MADE_PIPE_EXIT, now++);
	made_put(events, 0, 8);
	made_put(events, 21, 4);
	made_put(events, 22, 4);
	made_begin_event(events, MADE_PIPE_ENTRY_OLD, now++);
	made_put(events, 0x7ffe12345678, 8);
	made_begin_event(events, MADE_EPOLL_CTL, now++);
	made_put(events, 8, 4);
	made_put(events, 1, 4);
	made_put(events, 10, 4);
	made_put(events, 0x7ffe12345678, 8);
	made_put(events, 0x12345678, 4);
	made_begin_event(events, MADE_EPOLL_EXIT, now++);
	made_put(events, 2, 8);
	made_put(events, 2, 4);
	for (guint64 i = 0; i < 2; i++) {
		made_put(events, 0x7ffe12345678 + 8 * i, 8);
		made_put(events, 0x12345678 + 8 * i, 4);
		made_put(events, 1, 4);
	}
	made_begin_event(events, MADE_POLL_EXIT, now++);
	made_put(events, 70, 8);
	made_put(events, 70, 4);
	for (guint i = 0; i < 70; i++) {
		made_put(events, 100 + i, 4);
		made_put(events, 1, 2);
	}
	made_begin_event(events, MADE_EXIT_SYSCALL, now++);
	made_put(events, 0, 8);
}

static void check_call(const struct trace *trace, guint index, guint kind, const char *name)
{
	const struct dtc_event *event = get(trace, index);
	g_assert_cmpuint(event->kind, ==, kind);
	g_assert_cmpstr(dtc_reader_get_syscall_name(trace->reader, (guint)event->v[DTC_CALL_NAME]), ==, name);
}

static void check_spelled_events(const struct trace *trace)
{
	const struct dtc_event *event = get(trace, 0);
	g_assert_cmpstr(event->text[0], ==, "before");
	g_assert_cmpstr(event->text[1], ==, "after");
	g_assert_cmpint(event->v[DTC_SWITCH_PREV_TID], ==, 5);
	g_assert_cmpint(event->v[DTC_SWITCH_PREV_STATE], ==, 0x100);
	g_assert_cmpint(event->v[DTC_SWITCH_PREV_PRIO], ==, DTC_ABSENT);
	g_assert_false(event->has_tid);
	event = get(trace, 1);
	g_assert_cmpuint(event->kind, ==, DTC_EVENT_SCHED_SWITCH);
	g_assert_cmpint(event->v[DTC_SWITCH_PREV_TID], ==, 7);
	g_assert_cmpint(event->v[DTC_SWITCH_NEXT_TID], ==, 8);
	g_assert_cmpstr(event->text[0], ==, "perf");
	g_assert_true(event->has_tid);
	g_assert_cmpint(event->tid, ==, 7);
	g_assert_null(event->text[1]);
	check_call(trace, 2, DTC_EVENT_SYSCALL_ENTRY, "read");
	g_assert_cmpint(get(trace, 2)->v[DTC_CALL_FD], ==, 3);
	g_assert_cmpint(get(trace, 2)->v[DTC_CALL_LENGTH], ==, 512);
	check_call(trace, 3, DTC_EVENT_SYSCALL_EXIT, "unknown");
	g_assert_cmpint(get(trace, 3)->v[DTC_CALL_RET], ==, -11);
	check_call(trace, 4, DTC_EVENT_SYSCALL_ENTRY, "openat");
	g_assert_cmpstr(get(trace, 4)->text[0], ==, "/etc/hosts");
	g_assert_cmpint(get(trace, 4)->v[DTC_CALL_FD], ==, DTC_ABSENT);
	check_call(trace, 5, DTC_EVENT_SYSCALL_ENTRY, "clone3");
	g_assert_cmpint(get(trace, 5)->v[DTC_CALL_NUMBER], ==, 435);
	check_call(trace, 6, DTC_EVENT_SYSCALL_ENTRY, "syscall_99999");
	event = get(trace, 7);
	g_assert_cmpuint(event->kind, ==, DTC_EVENT_OTHER);
	g_assert_cmpstr(dtc_reader_get_event_name(trace->reader, event->name), ==, "somebody_else");
	g_assert_cmpuint(dtc_reader_get_event_count(trace->reader, event->name), ==, 1);
	g_assert_cmpuint(get(trace, 8)->kind, ==, DTC_EVENT_LOGGER);
	g_assert_cmpstr(get(trace, 8)->text[0], ==, "hello");
	event = get(trace, 9);
	check_call(trace, 9, DTC_EVENT_SYSCALL_EXIT, "accept4");
	g_assert_true(event->has_address);
	g_assert_cmpmem(event->address, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x4d\x00\x01", 16);
	g_assert_cmpint(event->v[DTC_CALL_PORT], ==, 51710);
	g_assert_cmpint(event->v[DTC_CALL_RET], ==, 12);
	event = get(trace, 10);
	g_assert_true(event->has_address);
	g_assert_cmpmem(event->address, 16, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\x12\x34", 16);
	event = get(trace, 11);
	g_assert_false(event->has_address);
	g_assert_cmpint(event->v[DTC_CALL_FD], ==, 21);
	g_assert_cmpint(event->v[DTC_CALL_FD2], ==, 22);
	check_call(trace, 12, DTC_EVENT_SYSCALL_ENTRY, "pipe");
	g_assert_cmpint(get(trace, 12)->v[DTC_CALL_FD], ==, DTC_ABSENT); /* it is a pointer */
	event = get(trace, 13);
	g_assert_cmpint(event->v[DTC_CALL_FD], ==, 8);
	g_assert_cmpint(event->v[DTC_CALL_FD2], ==, 10);
	g_assert_cmpint(event->v[DTC_CALL_OP], ==, 1);
	g_assert_cmpint(event->v[DTC_CALL_VALUE], ==, 0x7ffe12345678);
	event = get(trace, 14);
	g_assert_true(event->is_ready_data);
	g_assert_cmpuint(event->ready_count, ==, 2);
	g_assert_cmpint(event->ready[1], ==, 0x7ffe12345680);
	event = get(trace, 15);
	g_assert_false(event->is_ready_data);
	g_assert_cmpuint(event->ready_count, ==, DTC_EVENT_READY);
	g_assert_cmpint(event->ready[DTC_EVENT_READY - 1], ==, 100 + DTC_EVENT_READY - 1);
	g_assert_cmpuint(get(trace, 16)->ready_count, ==, 0);
}

static void test_spellings(const void *data)
{
	struct made_metadata metadata = { .is_big_endian = GPOINTER_TO_INT(data) };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(metadata.is_big_endian);
	struct made_bytes events = made_bytes_new(metadata.is_big_endian);
	add_spelled_events(&events);
	made_add_packet(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, &events);
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 17);
	check_spelled_events(&trace);
	made_bytes_clear(&events);
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

/* type 0: no headers, 1: IPv4, 2: IPv6. Everything inside the headers is in network order. */
static void add_receive(struct made_bytes *events, guint64 timestamp, guint type, guint transport, guint total_bytes,
			guint fragment)
{
	made_begin_event(events, MADE_RECEIVE, timestamp);
	made_put(events, 0xffff888000001000, 8);
	made_put(events, 1000, 4);
	made_put_text(events, "eth0");
	made_put(events, type, 1);
	struct made_bytes net = { events->bytes, true };
	if (type == 1) {
		made_put(&net, 5, 1);
		made_put(&net, total_bytes, 2);
		made_put(&net, 0xbeef, 2);
		made_put(&net, fragment, 2);
		made_put(&net, transport == 1 ? 6 : 17, 1);
		g_byte_array_append(net.bytes, (const guint8 *)"\x0a\0\0\1\x0a\0\0\2", 8);
		made_put(&net, transport, 1);
	} else if (type == 2) {
		made_put(&net, total_bytes, 2);
		made_put(&net, 6, 1);
		g_byte_array_append(net.bytes, (const guint8 *)"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
		g_byte_array_append(net.bytes, (const guint8 *)"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
	}
	if (type == 1 && transport == 1) {
		made_put(&net, 80, 2);
		made_put(&net, 4000, 2);
		made_put(&net, 0x80000001, 4);
		made_put(&net, 0xfffffffe, 4);
		made_put(&net, 8, 1);
		made_put(&net, 0x18, 1);
		made_put(&net, 501, 2);
	} else if (type == 1 && transport == 2) {
		made_put(&net, 53, 2);
		made_put(&net, 4001, 2);
		made_put(&net, 108, 2);
	}
}

static void test_headers(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false), events = made_bytes_new(false);
	add_receive(&events, 100, 1, 1, 552, 0x4000);
	add_receive(&events, 101, 1, 2, 128, 0);
	add_receive(&events, 102, 0, 0, 0, 0);
	add_receive(&events, 103, 1, 2, 128, 0x2001); /* not the first fragment: no ports */
	add_receive(&events, 104, 1, 1, 0, 0);	      /* longer than the field: the length of the event counts */
	add_receive(&events, 105, 2, 0, 60, 0);
	made_add_packet(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, &events);
	write_stream(&trace, "stream_0", &stream);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 6);
	const struct dtc_headers *headers = &get(&trace, 0)->headers;
	g_assert_cmpuint(get(&trace, 0)->kind, ==, DTC_EVENT_NET_RECEIVE);
	g_assert_cmpstr(get(&trace, 0)->text[0], ==, "eth0");
	g_assert_cmpuint(headers->ip_version, ==, 4);
	g_assert_true(headers->has_transport);
	g_assert_cmpuint(headers->source_port, ==, 80);
	g_assert_cmpuint(headers->seq, ==, 0x80000001);
	g_assert_cmpuint(headers->ack, ==, 0xfffffffe);
	g_assert_cmpuint(headers->tcp_flags, ==, 0x18);
	g_assert_cmpuint(headers->window, ==, 501);
	g_assert_cmpuint(headers->ip_id, ==, 0xbeef);
	g_assert_cmpuint(headers->payload_bytes, ==, 552 - 20 - 32);
	g_assert_cmpmem(headers->destination, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\2", 16);
	headers = &get(&trace, 1)->headers;
	g_assert_cmpuint(headers->protocol, ==, DTC_PROTOCOL_UDP);
	g_assert_cmpuint(headers->destination_port, ==, 4001);
	g_assert_cmpuint(headers->payload_bytes, ==, 100);
	g_assert_cmpuint(get(&trace, 2)->headers.ip_version, ==, 0);
	g_assert_cmpuint(get(&trace, 3)->headers.ip_version, ==, 4);
	g_assert_false(get(&trace, 3)->headers.has_transport);
	g_assert_cmpuint(get(&trace, 4)->headers.payload_bytes, ==, 1000 - 20 - 32);
	headers = &get(&trace, 5)->headers;
	g_assert_cmpuint(headers->ip_version, ==, 6);
	g_assert_cmpuint(headers->protocol, ==, DTC_PROTOCOL_TCP);
	g_assert_false(headers->has_transport);
	g_assert_cmpuint(headers->payload_bytes, ==, 60);
	made_bytes_clear(&events);
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

static void check_refused(const struct made_metadata *metadata, int code, const char *message)
{
	struct trace trace = { .path = made_directory(metadata) };
	struct made_bytes stream = made_bytes_new(false), events = made_bytes_new(false);
	if (!metadata->events)
		add_other(&events, 100, 1);
	made_add_packet(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, &events);
	write_stream(&trace, "stream_0", &stream);
	g_autoptr(GError) error = NULL;
	g_assert_null(open_reader(trace.path, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, code);
	g_assert_nonnull(strstr(error->message, message));
	g_assert_nonnull(strstr(error->message, "'made'"));
	g_assert_nonnull(strchr(error->message, '\n'));
	made_bytes_clear(&events);
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

static void test_refused(void)
{
	check_refused(&(struct made_metadata){ .domain = "ust" }, DTC_ERROR_UNREADABLE, "user-space");
	check_refused(&(struct made_metadata){ .has_no_clock = true }, DTC_ERROR_UNREADABLE, "no clock");
	check_refused(&(struct made_metadata){ .events = MADE_EVENT(0, "printer_jam", MADE_INT(32, "tray")) },
		      DTC_ERROR_UNREADABLE, "not a kernel");
	check_refused(&(struct made_metadata){ .events = "event { name = " }, DTC_ERROR_DAMAGED, "metadata");
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_reader_open("made", "/nonexistent", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
}

/* Packets of metadata that end in the middle: babeltrace2 would read for ever. */
static void test_cut_metadata(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	guint8 bytes[64] = { 0x57, 0x1d, 0xd1, 0x75 };
	bytes[25] = 0x10; /* content and packet size: 4096 bits, of which 512 are there */
	bytes[29] = 0x10;
	made_write(trace.path, "metadata", bytes, sizeof(bytes));
	g_autoptr(GError) error = NULL;
	g_assert_null(open_reader(trace.path, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	trace_clear(&trace);
}

/* Nothing in the directory may block or be taken for a stream. */
static void test_foreign_files(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	add_switches(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, (const guint64[]){ 100 }, 1);
	write_stream(&trace, "stream_0", &stream);
	made_write(trace.path, ".hidden", "x", 1);
	static const char readme[] = "this is no stream, but it is longer than a packet's header: read the manual";
	made_write(trace.path, "readme", readme, sizeof(readme));
	made_write(trace.path, "empty", "", 0);
	g_autofree char *fifo = g_build_filename(trace.path, "fifo", NULL);
	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 1);
	g_assert_true(has_finding(&trace, "'fifo'"));
	g_assert_true(has_finding(&trace, "'readme'"));
	made_bytes_clear(&stream);
	trace_clear(&trace);
}

static void test_empty(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 0);
	g_assert_true(has_finding(&trace, "no events"));
	g_assert_true(has_finding(&trace, "no stream files"));
	g_assert_false(dtc_findings_get_complete(trace.findings));
	trace_clear(&trace);
}

static void *read_in_thread(void *data)
{
	struct trace trace = { .path = data };
	for (int i = 0; i < 5; i++) {
		open_and_read(&trace);
		g_assert_cmpuint(trace.events->len, ==, 3);
		trace_close(&trace);
	}
	return NULL;
}

/* Several readers in several threads: babeltrace2's own set-up is not made for that. */
static void test_threads(void)
{
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	struct made_bytes stream = made_bytes_new(false);
	add_switches(&stream, &(struct made_packet){ 100, 290, 0, 0, 0, 0 }, (const guint64[]){ 100, 101, 102 }, 3);
	write_stream(&trace, "stream_0", &stream);
	GThread *threads[4];
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("reader", read_in_thread, trace.path);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	made_bytes_clear(&stream);
	made_remove(trace.path);
	g_free(trace.path);
}

/* The first number that no kernel can have, and one far beyond; the last one that it can have is taken. */
static void test_absurd_cpu(void)
{
	static const guint32 cpus[] = { DTC_CPU_LIMIT - 1, DTC_CPU_LIMIT, 0x7fffffff };
	struct made_metadata metadata = { 0 };
	struct trace trace = { .path = made_directory(&metadata) };
	for (guint i = 0; i < G_N_ELEMENTS(cpus); i++) {
		struct made_bytes stream = made_bytes_new(false);
		add_switches(&stream, &(struct made_packet){ 100, 290, 0, 0, cpus[i], 0 }, (const guint64[]){ 100 }, 1);
		write_stream(&trace, (const char *[]){ "stream_0", "stream_1", "stream_2" }[i], &stream);
		made_bytes_clear(&stream);
	}
	open_and_read(&trace);
	g_assert_cmpuint(trace.events->len, ==, 1);
	g_assert_cmpuint(get(&trace, 0)->cpu, ==, DTC_CPU_LIMIT - 1);
	g_assert_cmpuint(dtc_reader_get_cpu_count(trace.reader), ==, DTC_CPU_LIMIT);
	g_assert_true(
		has_finding(&trace, is_fast ? "claims CPU 8192 and was left out with 1 event" : "claims CPU 8192"));
	g_assert_true(has_finding(&trace, "claims CPU 2147483647"));
	trace_clear(&trace);
}

static void test_spellings_little(void)
{
	test_spellings(GINT_TO_POINTER(0));
}

static void test_spellings_big(void)
{
	test_spellings(GINT_TO_POINTER(1));
}

struct story_of_both {
	const char *name;
	GTestFunc function;
};

static const struct story_of_both stories[] = {
	{ "ties", test_ties },
	{ "gaps", test_gaps },
	{ "consumed", test_consumed },
	{ "first-packet", test_first_packet },
	{ "cut-stream/little", test_cut_stream_little },
	{ "cut-stream/big", test_cut_stream_big },
	{ "hole-in-stream", test_hole_in_stream },
	{ "bad-event", test_bad_event },
	{ "reversal", test_reversal },
	{ "spellings/little", test_spellings_little },
	{ "spellings/big", test_spellings_big },
	{ "headers", test_headers },
	{ "refused", test_refused },
	{ "cut-metadata", test_cut_metadata },
	{ "foreign-files", test_foreign_files },
	{ "empty", test_empty },
	{ "threads", test_threads },
	{ "absurd-cpu", test_absurd_cpu },
};

static void run_fast(gconstpointer data)
{
	is_fast = true;
	((const struct story_of_both *)data)->function();
}

static void run_reference(gconstpointer data)
{
	is_fast = false;
	((const struct story_of_both *)data)->function();
}

/* Every story is told to both back ends. */
int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(stories); i++) {
		g_autofree char *fast = g_strconcat("/ctf/fast/", stories[i].name, NULL);
		g_autofree char *reference = g_strconcat("/ctf/reference/", stories[i].name, NULL);
		g_test_add_data_func(fast, &stories[i], run_fast);
		g_test_add_data_func(reference, &stories[i], run_reference);
	}
	return g_test_run();
}
