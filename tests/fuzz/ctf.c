/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream file of any bytes beside one that is whole, in a directory with good metadata: what is whole must be read,
 * times never go back, and two readings are the same.
 */
#include "collect/read/reader.h"
#include "tests/support/made_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static guint64 read_trace(const char *path, guint *ret_of_whole)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcReader) reader = dtc_reader_open("fuzz", path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	guint64 sum = 0;
	int64_t last_ns = INT64_MIN;
	const struct dtc_event *event;
	*ret_of_whole = 0;
	while ((event = dtc_reader_next(reader))) {
		g_assert_cmpint(event->time_ns, >=, last_ns);
		last_ns = event->time_ns;
		sum = sum * 31 + (guint64)event->time_ns + event->kind + event->cpu;
		for (guint i = 0; i < dtc_event_get_slot_count(event->kind); i++)
			sum = sum * 31 + (guint64)event->v[i];
		for (guint i = 0; i < 2; i++)
			sum = sum * 31 + (event->text[i] ? g_str_hash(event->text[i]) : 0);
		*ret_of_whole += event->kind == DTC_EVENT_OTHER && event->cpu == 77;
	}
	g_assert_true(dtc_reader_finish(reader, findings, &error));
	return sum * 31 + dtc_findings_get_count(findings);
}

/* Events and gaps that are counted are those that are read. */
static void check_count(const char *path)
{
	g_autoptr(DtcReader) read = dtc_reader_open("fuzz", path, NULL), counted = dtc_reader_open("fuzz", path, NULL);
	const struct dtc_event *event;
	guint64 all = 0, count;
	while ((event = dtc_reader_next(read)))
		all += event->kind != DTC_EVENT_LOST;
	while ((count = dtc_reader_count(counted)) > 0)
		all -= count;
	g_assert_cmpuint(all, ==, 0);
	g_assert_cmpuint(dtc_reader_get_lost_count(read), ==, dtc_reader_get_lost_count(counted));
}

static void write_whole(const char *path)
{
	struct made_bytes stream = made_bytes_new(false), events = made_bytes_new(false);
	for (guint i = 0; i < 3; i++) {
		made_begin_event(&events, MADE_OTHER, 100 + i);
		made_put(&events, i, 4);
	}
	made_add_packet(&stream, &(struct made_packet){ 100, 200, 0, 0, 77, 0 }, &events);
	made_write(path, "whole", stream.bytes->data, stream.bytes->len);
	made_bytes_clear(&events);
	made_bytes_clear(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made_metadata metadata = { 0 };
	g_autofree char *path = made_directory(&metadata);
	guint first, second;
	write_whole(path);
	made_write(path, "any", data, size);
	g_assert_cmpuint(read_trace(path, &first), ==, read_trace(path, &second));
	check_count(path);
	g_assert_cmpuint(first, >=, 3);
	g_assert_cmpuint(first, ==, second);
	made_remove(path);
	return 0;
}
