/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stream file cut at any byte: every event that lies before the cut is read, none is made up, and it is reported. */
#include "collect/read/reader.h"
#include "tests/support/made_trace.h"

#ifdef __SANITIZE_ADDRESS__
/* babeltrace2 2.0.4 loses the event that it was decoding when a packet ends inside it. */
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

#define PACKETS 2
#define EVENTS 6 /* in each */

/* Ends of the events in the file, after them the ends of the packets. */
static void make_stream(struct made_bytes *stream, guint *ends, guint *packet_ends)
{
	for (guint p = 0; p < PACKETS; p++) {
		struct made_bytes events = made_bytes_new(false);
		guint begin = stream->bytes->len + MADE_HEADER_BYTES;
		for (guint i = 0; i < EVENTS; i++) {
			guint64 time = 100 * (p + 1) + i;
			if (i % 2) {
				made_begin_event(&events, MADE_OPENAT, time);
				made_put(&events, 3, 4);
				made_put_text(&events, "/some/file/or/other");
			} else {
				made_begin_event(&events, MADE_OTHER, time);
				made_put(&events, i, 4);
			}
			ends[p * EVENTS + i] = begin + events.bytes->len;
		}
		guint64 time = 100 * (p + 1);
		made_add_packet(stream, &(struct made_packet){ time, time + 50, p, 0, 1, 8 }, &events);
		packet_ends[p] = stream->bytes->len;
		made_bytes_clear(&events);
	}
}

static guint read_cut(const char *path, bool *ret_complete)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcReader) reader = dtc_reader_open("cut", path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_event *event;
	guint count = 0;
	while ((event = dtc_reader_next(reader))) {
		if (event->kind == DTC_EVENT_LOST || event->cpu != 1)
			continue;
		g_assert_cmpint(event->time_ns, ==, MADE_OFFSET_NS + 100 * (1 + count / EVENTS) + count % EVENTS);
		if (count % 2)
			g_assert_cmpstr(event->text[0], ==, "/some/file/or/other");
		count++;
	}
	g_assert_true(dtc_reader_finish(reader, findings, &error));
	*ret_complete = dtc_findings_get_complete(findings);
	return count;
}

static void test_cuts(void)
{
	struct made_metadata metadata = { 0 };
	g_autofree char *path = made_directory(&metadata);
	struct made_bytes other = made_bytes_new(false), stream = made_bytes_new(false), events = made_bytes_new(false);
	made_begin_event(&events, MADE_OTHER, 50);
	made_put(&events, 1, 4);
	made_add_packet(&other, &(struct made_packet){ 50, 60, 0, 0, 0, 0 }, &events);
	made_write(path, "other", other.bytes->data, other.bytes->len);
	guint ends[PACKETS * EVENTS], packet_ends[PACKETS];
	make_stream(&stream, ends, packet_ends);
	for (guint cut = 1; cut <= stream.bytes->len; cut++) {
		guint expected = 0;
		while (expected < PACKETS * EVENTS && ends[expected] <= cut)
			expected++;
		bool complete;
		made_write(path, "stream", stream.bytes->data, cut);
		guint count = read_cut(path, &complete);
		if (count != expected)
			g_test_message("cut at byte %u of %u", cut, stream.bytes->len);
		g_assert_cmpuint(count, ==, expected);
		g_assert_true(complete == (cut == packet_ends[0] || cut == packet_ends[1]));
	}
	made_bytes_clear(&events);
	made_bytes_clear(&other);
	made_bytes_clear(&stream);
	made_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ctf/cut-anywhere", test_cuts);
	return g_test_run();
}
