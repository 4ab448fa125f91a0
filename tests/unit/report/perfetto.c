/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the trace back with a decoder of its own, by the field numbers of Perfetto's protos/perfetto/trace (not by
 * ours, which could be wrong in the same way on both sides).
 */
#include "analyze/report/perfetto.h"

#include "tests/support/hostile.h"

#include <string.h>

enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_MACHINE_ID = 98,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT_UUID = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK_UUID = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_TERMINATING_FLOW = 48,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,
};

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
};

struct field {
	uint32_t number;
	uint32_t wire; /* 0 varint, 1 fixed64, 2 length-delimited */
	uint64_t value;
	struct bytes inside;
};

static uint64_t read_varint(struct bytes *in)
{
	uint64_t value = 0;

	for (guint shift = 0; shift < 64; shift += 7) {
		g_assert_true(in->at < in->end);
		uint8_t byte = *in->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	g_error("a varint of more than ten bytes");
}

static bool next_field(struct bytes *in, struct field *field)
{
	if (in->at == in->end)
		return false;
	uint64_t key = read_varint(in);
	*field = (struct field){ .number = (uint32_t)(key >> 3), .wire = key & 7 };
	if (field->wire == 0) {
		field->value = read_varint(in);
	} else if (field->wire == 1) {
		g_assert_cmpint(in->end - in->at, >=, 8);
		for (guint i = 0; i < 8; i++)
			field->value |= (uint64_t)in->at[i] << 8 * i;
		in->at += 8;
	} else {
		g_assert_cmpuint(field->wire, ==, 2);
		uint64_t length = read_varint(in);
		g_assert_cmpuint(length, <=, (uint64_t)(in->end - in->at));
		field->inside = (struct bytes){ in->at, in->at + length };
		in->at += length;
	}
	return true;
}

static bool find_field(struct bytes in, uint32_t number, struct field *ret_field)
{
	struct field field;

	while (next_field(&in, &field))
		if (field.number == number) {
			*ret_field = field;
			return true;
		}
	return false;
}

static uint64_t get_number(struct bytes in, uint32_t number)
{
	struct field field;

	return find_field(in, number, &field) ? field.value : 0;
}

static char *get_text(struct bytes in, uint32_t number)
{
	struct field field;

	return find_field(in, number, &field)
		       ? g_strndup((const char *)field.inside.at, (gsize)(field.inside.end - field.inside.at))
		       : NULL;
}

/* What a trace holds, as a viewer would see it. */
struct seen {
	GHashTable *tracks;    /* uuid -> its name (of the thread, process or track) */
	GHashTable *machines;  /* uuid -> machine */
	GHashTable *open;      /* uuid -> GArray of begin times */
	GHashTable *flows;     /* id -> number of begins minus ends */
	GHashTable *threads;   /* "machine/pid/tid" */
	GHashTable *processes; /* name */
	GString *path_names;   /* of the slices on the track "critical path", each with a line's end */
	int64_t path_ns, path_begin_ns, path_end_ns;
	guint slice_count, flow_begin_count, flow_end_count;
	gint64 flow_begin_ns, flow_end_ns;
};

static void see_track(struct seen *seen, struct bytes packet, struct bytes track)
{
	uint64_t uuid = get_number(track, TRACK_UUID), machine = get_number(packet, PACKET_MACHINE_ID);
	char *name = get_text(track, TRACK_NAME);
	struct field inner;

	g_assert_cmpuint(uuid, !=, 0);
	g_assert_false(g_hash_table_contains(seen->tracks, &uuid));
	if (find_field(track, TRACK_THREAD, &inner)) {
		name = get_text(inner.inside, THREAD_NAME);
		uint64_t parent = get_number(track, TRACK_PARENT_UUID);
		g_assert_true(g_hash_table_contains(seen->tracks, &parent));
		g_hash_table_add(seen->threads,
				 g_strdup_printf("%d/%d/%d", (int)machine, (int)get_number(inner.inside, THREAD_PID),
						 (int)get_number(inner.inside, THREAD_TID)));
	} else if (find_field(track, TRACK_PROCESS, &inner)) {
		name = get_text(inner.inside, PROCESS_NAME);
		g_hash_table_add(seen->processes, g_strdup(name));
	}
	g_assert_nonnull(name);
	g_assert_true(g_utf8_validate(name, -1, NULL));
	g_hash_table_insert(seen->tracks, g_memdup2(&uuid, 8), name);
	g_hash_table_insert(seen->machines, g_memdup2(&uuid, 8), GUINT_TO_POINTER(machine));
	g_hash_table_insert(seen->open, g_memdup2(&uuid, 8), g_array_new(FALSE, FALSE, sizeof(int64_t)));
}

static void see_event(struct seen *seen, struct bytes packet, struct bytes event)
{
	uint64_t uuid = get_number(event, EVENT_TRACK_UUID), type = get_number(event, EVENT_TYPE);
	int64_t at_ns = (int64_t)get_number(packet, PACKET_TIMESTAMP);
	const char *track = g_hash_table_lookup(seen->tracks, &uuid);
	g_autofree char *name = get_text(event, EVENT_NAME);
	struct field flow;

	g_assert_nonnull(track);
	g_assert_cmpuint(GPOINTER_TO_UINT(g_hash_table_lookup(seen->machines, &uuid)), ==,
			 get_number(packet, PACKET_MACHINE_ID));
	GArray *open = g_hash_table_lookup(seen->open, &uuid);
	if (type == 1) {
		g_assert_nonnull(name);
		g_array_append_val(open, at_ns);
		seen->slice_count++;
		if (strcmp(track, "critical path") == 0) {
			g_string_append_printf(seen->path_names, "%s\n", name);
			if (!seen->path_begin_ns)
				seen->path_begin_ns = at_ns;
			/* no instant of the path is missing or there twice */
			g_assert_true(!seen->path_end_ns || seen->path_end_ns == at_ns);
		}
	} else if (type == 2) {
		g_assert_cmpuint(open->len, >, 0);
		int64_t begin_ns = g_array_index(open, int64_t, open->len - 1);
		g_assert_cmpint(at_ns, >=, begin_ns);
		g_array_set_size(open, open->len - 1);
		if (strcmp(track, "critical path") == 0) {
			seen->path_ns += at_ns - begin_ns;
			seen->path_end_ns = at_ns;
		}
	} else {
		g_assert_cmpuint(type, ==, 3);
	}
	if (find_field(event, EVENT_FLOW, &flow)) {
		g_assert_cmpuint(flow.wire, ==, 1);
		g_hash_table_insert(seen->flows, g_memdup2(&flow.value, 8), GINT_TO_POINTER(1));
		seen->flow_begin_count++;
		seen->flow_begin_ns = at_ns;
	}
	if (find_field(event, EVENT_TERMINATING_FLOW, &flow)) {
		g_assert_cmpuint(flow.wire, ==, 1);
		g_assert_true(g_hash_table_remove(seen->flows, &flow.value));
		seen->flow_end_count++;
		seen->flow_end_ns = at_ns;
	}
}

static void seen_init(struct seen *seen)
{
	*seen = (struct seen){
		.tracks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free),
		.machines = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
		.open = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_array_unref),
		.flows = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
		.threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.processes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.path_names = g_string_new(NULL),
	};
}

static void seen_clear(struct seen *seen)
{
	g_hash_table_unref(seen->tracks);
	g_hash_table_unref(seen->machines);
	g_hash_table_unref(seen->open);
	g_hash_table_unref(seen->flows);
	g_hash_table_unref(seen->threads);
	g_hash_table_unref(seen->processes);
	g_string_free(seen->path_names, TRUE);
}

static void see(struct seen *seen, GBytes *trace)
{
	gsize count;
	const uint8_t *data = g_bytes_get_data(trace, &count);
	struct bytes in = { data, data + count };
	struct field packet, inner;
	g_autoptr(GHashTable) sequences = g_hash_table_new(NULL, NULL);
	GHashTableIter iter;
	gpointer open;

	while (next_field(&in, &packet)) {
		g_assert_cmpuint(packet.number, ==, TRACE_PACKET);
		g_assert_cmpuint(packet.wire, ==, 2);
		uint64_t sequence = get_number(packet.inside, PACKET_SEQUENCE);
		g_assert_cmpuint(sequence, !=, 0);
		if (g_hash_table_add(sequences, GUINT_TO_POINTER(sequence)))
			g_assert_cmpuint(get_number(packet.inside, PACKET_SEQUENCE_FLAGS) & 1, ==, 1);
		if (find_field(packet.inside, PACKET_TRACK_DESCRIPTOR, &inner))
			see_track(seen, packet.inside, inner.inside);
		else if (find_field(packet.inside, PACKET_TRACK_EVENT, &inner))
			see_event(seen, packet.inside, inner.inside);
		else
			g_error("a packet that is neither a track nor an event");
	}
	/* every slice that began has ended, and every flow leads somewhere */
	g_hash_table_iter_init(&iter, seen->open);
	while (g_hash_table_iter_next(&iter, NULL, &open))
		g_assert_cmpuint(((GArray *)open)->len, ==, 0);
	g_assert_cmpuint(g_hash_table_size(seen->flows), ==, 0);
}

static const struct dtc_lanes_options no_limits = { .max_lanes = 100, .max_bars = 1000, .max_messages = 100 };

static void test_trace(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 30, 1, 21, "db", DTC_CAUSE_NETWORK_WIRE, "53 bytes", 5 },
		{ 140, 1, 21, "db", DTC_CAUSE_DISK, "vda read", 0 },
		{ 1, 1, -1, "", DTC_CAUSE_UNKNOWN, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1795168587000000001, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &no_limits);
	struct dtc_lane_bar bar = { 1795168587000000001, 1795168587000000050, "write", DTC_CAUSE_RUNNING_KERNEL, 1 };
	g_array_append_val(lanes->bars, bar);
	g_array_index(lanes->lanes, struct dtc_lane, 0).bar_count = 1;
	g_autoptr(GBytes) trace = dtc_report_to_perfetto(report, lanes);
	g_autoptr(GBytes) again = dtc_report_to_perfetto(report, lanes);
	struct seen seen;

	g_assert_true(g_bytes_equal(trace, again));
	seen_init(&seen);
	see(&seen, trace);
	g_assert_cmpint(seen.path_begin_ns, ==, 1795168587000000001);
	g_assert_cmpint(seen.path_ns, ==, 271);
	g_assert_cmpstr(seen.path_names->str, ==,
			"shop@alpha: running-user\ndb@beta: network-wire\ndb@beta: disk\n"
			"unknown@beta: unknown\n");
	g_assert_cmpuint(seen.slice_count, ==, 5);
	/* two machines, so that equal pids on two nodes stay apart */
	g_assert_true(g_hash_table_contains(seen.threads, "1/11/11"));
	g_assert_true(g_hash_table_contains(seen.threads, "2/21/21"));
	g_assert_true(g_hash_table_contains(seen.processes, "shop@alpha"));
	g_assert_cmpuint(seen.flow_begin_count, ==, 1);
	g_assert_cmpuint(seen.flow_end_count, ==, 1);
	g_assert_cmpint(seen.flow_begin_ns, ==, 1795168587000000101);
	g_assert_cmpint(seen.flow_end_ns, ==, 1795168587000000131);
	seen_clear(&seen);
}

static void test_hostile(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &no_limits);
	g_autoptr(GBytes) trace = dtc_report_to_perfetto(report, lanes);
	struct seen seen;

	seen_init(&seen);
	see(&seen, trace); /* which checks that every name is UTF-8 */
	g_assert_cmpint(seen.path_ns, ==, 5000000);
	g_assert_null(strchr(seen.path_names->str, '\x1b'));
	seen_clear(&seen);
}

/* A path without a segment is no path: nothing but the track. */
static void test_empty(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, NULL, 0);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &no_limits);
	g_autoptr(GBytes) trace = dtc_report_to_perfetto(report, lanes);
	struct seen seen;

	seen_init(&seen);
	see(&seen, trace);
	g_assert_cmpuint(seen.slice_count, ==, 0);
	g_assert_cmpuint(g_hash_table_size(seen.tracks), ==, 1);
	seen_clear(&seen);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/perfetto/trace", test_trace);
	g_test_add_func("/perfetto/hostile", test_hostile);
	g_test_add_func("/perfetto/empty", test_empty);
	return g_test_run();
}
