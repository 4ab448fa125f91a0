/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes small CTF traces by hand, in either byte order: metadata as text, packets as bytes. The layout is LTTng's (so
 * that salvage knows it), with the simplest event header: id and full timestamp.
 */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>

#define MADE_UUID "2a1bda29-ffc3-e248-8053-81ccaf830d2f"

struct made_bytes {
	GByteArray *bytes;
	bool is_big_endian;
};

static inline void made_put(struct made_bytes *to, guint64 value, guint size)
{
	for (guint i = 0; i < size; i++) {
		guint8 byte = (guint8)(value >> 8 * (to->is_big_endian ? size - 1 - i : i));
		g_byte_array_append(to->bytes, &byte, 1);
	}
}

static inline void made_put_text(struct made_bytes *to, const char *text)
{
	g_byte_array_append(to->bytes, (const guint8 *)text, (guint)strlen(text) + 1);
}

/* A field of exactly so many bytes, as the kernel's comm arrays. */
static inline void made_put_comm(struct made_bytes *to, const char *text)
{
	guint8 comm[16] = { 0 };
	memcpy(comm, text, MIN(strlen(text), sizeof(comm) - 1));
	g_byte_array_append(to->bytes, comm, sizeof(comm));
}

static inline void made_begin_event(struct made_bytes *to, guint id, guint64 timestamp)
{
	made_put(to, id, 2);
	made_put(to, timestamp, 8);
}

struct made_packet {
	guint64 begin;
	guint64 end;
	guint64 sequence;
	guint64 discarded; /* the tracer's counter at the packet's end */
	guint32 cpu;
	guint padding_bytes;
};

#define MADE_HEADER_BYTES (4 + 16 + 4 + 8 * 6 + 4)

/* Appends a packet with these events to a stream file's bytes. */
static inline void made_add_packet(struct made_bytes *stream, const struct made_packet *packet,
				   const struct made_bytes *events)
{
	static const guint8 uuid[16] = { 0x2a, 0x1b, 0xda, 0x29, 0xff, 0xc3, 0xe2, 0x48,
					 0x80, 0x53, 0x81, 0xcc, 0xaf, 0x83, 0x0d, 0x2f };
	guint content = MADE_HEADER_BYTES + (events ? events->bytes->len : 0);
	made_put(stream, 0xc1fc1fc1u, 4);
	g_byte_array_append(stream->bytes, uuid, sizeof(uuid));
	made_put(stream, 0, 4);
	made_put(stream, packet->begin, 8);
	made_put(stream, packet->end, 8);
	made_put(stream, content * 8, 8);
	made_put(stream, (content + packet->padding_bytes) * 8, 8);
	made_put(stream, packet->sequence, 8);
	made_put(stream, packet->discarded, 8);
	made_put(stream, packet->cpu, 4);
	if (events)
		g_byte_array_append(stream->bytes, events->bytes->data, events->bytes->len);
	for (guint i = 0; i < packet->padding_bytes; i++)
		made_put(stream, 0, 1);
}

/* Ids of the event classes below. */
enum {
	MADE_SWITCH,	     /* LTTng: prev_comm[16], prev_tid, prev_state s64, next_comm[16], next_tid */
	MADE_SWITCH_PERF,    /* perf: prev_comm string, prev_pid, next_pid, perf_tid */
	MADE_SYS_READ,	     /* LTTng 2.1: fd u32, buf u64, count u64 */
	MADE_EXIT_SYSCALL,   /* LTTng 2.1: ret s64 */
	MADE_OPENAT,	     /* LTTng 2.13: dfd s32, filename */
	MADE_UNKNOWN_CALL,   /* id u32 */
	MADE_OTHER,	     /* not known to anybody: value u32 */
	MADE_RECEIVE,	     /* net_if_receive_skb with header variants */
	MADE_ACCEPT_EXIT,    /* ret s64, family u16, sport u16, v4addr, v6addr */
	MADE_LOGGER,	     /* msg: length u32, characters */
	MADE_PIPE_EXIT,	     /* ret s64, fildes[2] s32 */
	MADE_PIPE_ENTRY_OLD, /* LTTng 2.1 sys_pipe: fildes is a pointer */
	MADE_EPOLL_CTL,	     /* epfd s32, op s32, fd s32, event: data_union: u64, fd s32 */
	MADE_EPOLL_EXIT,     /* ret s64, fds_length u32, of each: data_union, raw_events u32 */
	MADE_POLL_EXIT,	     /* ret s64, fds_length u32, of each: fd s32, raw_events u16 */
};

#define MADE_INT(bits, name) "    integer { size = " #bits "; align = 8; signed = 0; } _" name ";\n"
#define MADE_SIGNED(bits, name) "    integer { size = " #bits "; align = 8; signed = 1; } _" name ";\n"
/* a text in the end: its lines are broken by what they say */
/* clang-format off */
#define MADE_BE(bits, name) "integer { size = " #bits "; align = 8; signed = 0; byte_order = be; } _" name "; "
#define MADE_COMM(name) \
	"    integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _" name "[16];\n"
#define MADE_DATA "struct { " MADE_INT(64, "u64") MADE_SIGNED(32, "fd") "    } _data_union;\n"
#define MADE_EVENT(id, name, fields) \
	"event { name = \"" name "\"; id = " #id "; stream_id = 0; fields := struct {\n" fields "}; };\n"

static const char made_events[] =
	MADE_EVENT(0, "sched_switch", MADE_COMM("prev_comm") MADE_SIGNED(32, "prev_tid") MADE_SIGNED(64, "prev_state")
		   MADE_COMM("next_comm") MADE_SIGNED(32, "next_tid"))
	MADE_EVENT(1, "sched:sched_switch", "    string _prev_comm;\n" MADE_SIGNED(32, "prev_pid")
		   MADE_SIGNED(32, "next_pid") MADE_INT(32, "perf_tid"))
	MADE_EVENT(2, "sys_read", MADE_INT(32, "fd") MADE_INT(64, "buf") MADE_INT(64, "count"))
	MADE_EVENT(3, "exit_syscall", MADE_SIGNED(64, "ret"))
	MADE_EVENT(4, "syscall_entry_openat", MADE_SIGNED(32, "dfd") "    string _filename;\n")
	MADE_EVENT(5, "syscall_entry_unknown", MADE_INT(32, "id"))
	MADE_EVENT(6, "somebody_else", MADE_INT(32, "value"))
	MADE_EVENT(7, "net_if_receive_skb",
		   MADE_INT(64, "skbaddr") MADE_INT(32, "len") "    string _name;\n"
		   "    enum : integer { size = 8; align = 8; } { \"_unknown\" = 0, \"_ipv4\" = 1, \"_ipv6\" = 2 }"
		   " _network_header_type;\n"
		   "    variant <_network_header_type> { struct { } _unknown; struct { "
		   MADE_BE(8, "ihl") MADE_BE(16, "tot_len") MADE_BE(16, "id") MADE_BE(16, "frag_off")
		   MADE_BE(8, "protocol")
		   "integer { size = 8; align = 8; } _saddr[4]; integer { size = 8; align = 8; } _daddr[4];\n"
		   "      enum : integer { size = 8; align = 8; } { \"_unknown\" = 0, \"_tcp\" = 1, \"_udp\" = 2 }"
		   " _transport_header_type;\n"
		   "      variant <_transport_header_type> { struct { } _unknown; struct { "
		   MADE_BE(16, "source_port") MADE_BE(16, "dest_port") MADE_BE(32, "seq") MADE_BE(32, "ack_seq")
		   MADE_BE(8, "data_offset") MADE_BE(8, "flags") MADE_BE(16, "window_size")
		   "} _tcp; struct { " MADE_BE(16, "source_port") MADE_BE(16, "dest_port") MADE_BE(16, "len")
		   "} _udp; } _transport_header; } _ipv4; struct { " MADE_BE(16, "payload_len") MADE_BE(8, "nexthdr")
		   "integer { size = 16; align = 8; byte_order = be; } _saddr[8];"
		   " integer { size = 16; align = 8; byte_order = be; } _daddr[8]; } _ipv6; } _network_header;\n")
	/* Lengths of 8 bits: babeltrace2 2.0.4 dies of garbage in longer ones, and fuzzing would find nothing else. */
	MADE_EVENT(8, "syscall_exit_accept4", MADE_SIGNED(64, "ret") MADE_INT(16, "family") MADE_INT(16, "sport")
		   MADE_INT(8, "_v4addr_length") "    integer { size = 8; align = 8; } _v4addr[ __v4addr_length ];\n"
		   MADE_INT(8, "_v6addr_length") "    integer { size = 16; align = 8; byte_order = be; }"
		   " _v6addr[ __v6addr_length ];\n")
	MADE_EVENT(9, "lttng_logger", MADE_INT(32, "_msg_length")
		   "    integer { size = 8; align = 8; encoding = UTF8; } _msg[ __msg_length ];\n")
	MADE_EVENT(10, "syscall_exit_pipe2", MADE_SIGNED(64, "ret")
		   "    integer { size = 32; align = 8; signed = 1; } _fildes[2];\n")
	MADE_EVENT(11, "sys_pipe", "    integer { size = 64; align = 8; signed = 0; base = 16; } _fildes;\n")
	MADE_EVENT(12, "syscall_entry_epoll_ctl", MADE_SIGNED(32, "epfd") MADE_SIGNED(32, "op") MADE_SIGNED(32, "fd")
		   "    struct { " MADE_DATA "} _event;\n")
	MADE_EVENT(13, "syscall_exit_epoll_wait", MADE_SIGNED(64, "ret") MADE_INT(32, "fds_length")
		   "    struct { " MADE_DATA MADE_INT(32, "raw_events") "    } _fds[ _fds_length ];\n")
	MADE_EVENT(14, "syscall_exit_ppoll", MADE_SIGNED(64, "ret") MADE_INT(32, "fds_length")
		   "    struct { " MADE_SIGNED(32, "fd") MADE_INT(16, "raw_events") "    } _fds[ _fds_length ];\n");
/* clang-format on */

struct made_metadata {
	bool is_big_endian;
	bool has_no_clock;
	const char *domain; /* NULL: "kernel" */
	const char *events; /* NULL: made_events */
	const char *env;    /* more of the environment, "key = \"value\";", or NULL */
};

static inline char *made_metadata_text(const struct made_metadata *options)
{
	const char *order = options->is_big_endian ? "be" : "le";
	/* fields called timestamp would get a clock of babeltrace2's own */
	const char *stamp = options->has_no_clock ? "number" : "timestamp";
	const char *map = options->has_no_clock ? "" : " map = clock.monotonic.value;";
	return g_strdup_printf(
		"/* CTF 1.8 */\n"
		"trace { major = 1; minor = 8; uuid = \"" MADE_UUID "\"; byte_order = %s;\n"
		" packet.header := struct {\n"
		"  integer { size = 32; align = 8; base = 16; } magic; integer { size = 8; align = 8; } uuid[16];\n"
		"  integer { size = 32; align = 8; } stream_id; }; };\n"
		"env { hostname = \"made\"; domain = \"%s\"; kernel_release = \"6.1.0-test\"; %s };\n"
		"%s"
		"stream { id = 0; event.header := struct { integer { size = 16; align = 8; } id;\n"
		"  integer { size = 64; align = 8;%s } %s; };\n"
		" packet.context := struct { integer { size = 64; align = 8;%s } %s_begin;\n"
		"  integer { size = 64; align = 8;%s } %s_end;\n"
		"  integer { size = 64; align = 8; } content_size; integer { size = 64; align = 8; } packet_size;\n"
		"  integer { size = 64; align = 8; } packet_seq_num;\n"
		"  integer { size = 64; align = 8; } events_discarded;\n"
		"  integer { size = 32; align = 8; } cpu_id; }; };\n"
		"%s",
		order, options->domain ? options->domain : "kernel", options->env ? options->env : "",
		options->has_no_clock ? ""
				      : "clock { name = monotonic; freq = 1000000000; offset = 1000000000000; };\n",
		map, stamp, map, stamp, map, stamp, options->events ? options->events : made_events);
}

/* What clock.offset above adds. */
#define MADE_OFFSET_NS G_GINT64_CONSTANT(1000000000000)

/* A new temporary directory with metadata. Caller owns the path; made_remove removes it. */
static inline char *made_directory(const struct made_metadata *options)
{
	char *path = g_dir_make_tmp("dtc-made-XXXXXX", NULL);
	g_assert_nonnull(path);
	g_autofree char *file = g_build_filename(path, "metadata", NULL);
	g_autofree char *text = made_metadata_text(options);
	g_assert_true(g_file_set_contents(file, text, -1, NULL));
	return path;
}

static inline void made_write(const char *directory, const char *name, const void *data, gsize size)
{
	g_autofree char *file = g_build_filename(directory, name, NULL);
	g_assert_true(g_file_set_contents(file, data, (gssize)size, NULL));
}

/* Removes a directory and what is in it, two levels deep. */
static inline void made_remove(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		if (g_file_test(file, G_FILE_TEST_IS_DIR) && !g_file_test(file, G_FILE_TEST_IS_SYMLINK))
			made_remove(file);
		else
			g_unlink(file);
	}
	g_rmdir(path);
}

static inline struct made_bytes made_bytes_new(bool is_big_endian)
{
	return (struct made_bytes){ g_byte_array_new(), is_big_endian };
}

static inline void made_bytes_clear(struct made_bytes *bytes)
{
	g_byte_array_unref(bytes->bytes);
	bytes->bytes = NULL;
}
