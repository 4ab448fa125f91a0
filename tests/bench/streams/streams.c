/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a kernel trace of so many CPUs in which they take turns at random, event by event: the hardest case for who
 * merges them. The same events whatever the number of streams. usage: make-streams STREAMS EVENTS NEW-DIR
 */
#include "collect/seal/ctf_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID "0b9c8d7e-6f50-4142-8324-15061708f9ea"
#define SWITCH_BYTES 56
#define BEGIN_NS 1000000000
#define STEP_NS 200 /* between two events of the trace */

static const uint8_t uuid[DTC_CTF_UUID_BYTES] = { 0x0b, 0x9c, 0x8d, 0x7e, 0x6f, 0x50, 0x41, 0x42,
						  0x83, 0x24, 0x15, 0x06, 0x17, 0x08, 0xf9, 0xea };

static bool write_metadata(const char *folder, GError **error)
{
	g_autoptr(GString) tsdl = g_string_new("/* CTF 1.8 */\n\n");
	g_autofree char *path = g_build_filename(folder, "metadata", NULL);
	dtc_ctf_declare_types(tsdl, UUID);
	g_string_append(tsdl, "env {\n\thostname = \"many\";\n\tdomain = \"kernel\";\n"
			      "\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n};\n\n"
			      "clock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n\toffset = 0;\n};\n\n");
	dtc_ctf_declare_stream(tsdl);
	g_string_append(tsdl, "event {\n\tname = \"sched_switch\";\n\tid = 0;\n\tstream_id = 0;\n\tfields := struct {\n"
			      "\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; } _prev_comm[16];\n"
			      "\t\tinteger { size = 32; align = 8; signed = 1; } _prev_tid;\n"
			      "\t\tinteger { size = 32; align = 8; signed = 1; } _prev_prio;\n"
			      "\t\tinteger { size = 64; align = 8; signed = 1; } _prev_state;\n"
			      "\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; } _next_comm[16];\n"
			      "\t\tinteger { size = 32; align = 8; signed = 1; } _next_tid;\n"
			      "\t\tinteger { size = 32; align = 8; signed = 1; } _next_prio;\n"
			      "\t};\n};\n");
	return g_file_set_contents(path, tsdl->str, (gssize)tsdl->len, error);
}

/* From the idle task to a thread of the CPU or back. */
static void write_switch(DtcCtfWriter *writer, uint32_t cpu, int64_t at_ns, bool is_in)
{
	uint8_t *bytes = dtc_ctf_writer_begin_event(writer, 0, at_ns, SWITCH_BYTES);
	int32_t tids[2] = { is_in ? 0 : (int32_t)(1000 + cpu), is_in ? (int32_t)(1000 + cpu) : 0 };
	memset(bytes, 0, SWITCH_BYTES);
	memcpy(bytes, is_in ? "swapper" : "worker", 7 - !is_in);
	memcpy(bytes + 16, &tids[0], 4);
	bytes[20] = 20;
	bytes[24] = is_in ? 0 : 1;
	memcpy(bytes + 32, is_in ? "worker" : "swapper", 6 + !is_in);
	memcpy(bytes + 48, &tids[1], 4);
	bytes[52] = 20;
	dtc_ctf_writer_end_event(writer, SWITCH_BYTES);
}

static bool write_streams(const char *folder, guint stream_count, guint event_count, GError **error)
{
	g_autoptr(GPtrArray) writers = g_ptr_array_new_with_free_func((GDestroyNotify)dtc_ctf_writer_free);
	g_autofree bool *is_in = g_new0(bool, stream_count);
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	uint64_t bytes;
	for (guint i = 0; i < stream_count; i++) {
		g_autofree char *name = g_strdup_printf("channel0_%u", i);
		g_autofree char *path = g_build_filename(folder, name, NULL);
		DtcCtfWriter *writer = dtc_ctf_writer_new(path, uuid, i, i, BEGIN_NS, error);
		if (!writer)
			return false;
		g_ptr_array_add(writers, writer);
	}
	for (guint i = 0; i < event_count; i++) {
		guint cpu = (guint)g_rand_int_range(rand, 0, (gint32)stream_count);
		is_in[cpu] = !is_in[cpu];
		write_switch(writers->pdata[cpu], cpu, BEGIN_NS + (int64_t)(i + 1) * STEP_NS, is_in[cpu]);
	}
	for (guint i = 0; i < stream_count; i++)
		if (!dtc_ctf_writer_finish(writers->pdata[i], &bytes, error))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	if (argc != 4) {
		fprintf(stderr, "usage: make-streams STREAMS EVENTS NEW-DIR\n");
		return 2;
	}
	guint stream_count = (guint)CLAMP(atoi(argv[1]), 1, 8192), event_count = (guint)MAX(atoi(argv[2]), 0);
	if (g_mkdir_with_parents(argv[3], 0777) != 0 || !write_metadata(argv[3], &error) ||
	    !write_streams(argv[3], stream_count, event_count, &error)) {
		fprintf(stderr, "make-streams: %s\n", error ? error->message : "cannot make the folder");
		return 1;
	}
	return 0;
}
