/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A class of events is a list of fields, from which both the declaration and the bytes are made:
 *   i signed 32   l signed 64   u unsigned 32   q unsigned 64   h unsigned 16   p unsigned 16, big endian
 *   a IPv4 address in network order (32 bits)   c char[16]   s string   v length (u32) and 4 bytes of address
 *   w length (u32) of an address that is not there
 */
#include "clusters/sim/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_HEAD_BYTES 68u
#define EVENT_BYTES_MAX 512u
#define EXTENDED_ID 65535u
#define NET_HEADERS_OFFSET 14u
#define NET_HEADERS_BYTES 20u
#define CAPTURE_BYTES ((gsize)16 << 10)
#define COMM_BYTES 16
#define NS_PER_S 1000000000

static const struct {
	const char *name;
	const char *types;
	const char *fields;
} classes[SIM_EVENTS] = {
	[SIM_SCHED_SWITCH] = { "sched_switch", "ciilcii",
			       "prev_comm prev_tid prev_prio prev_state next_comm next_tid next_prio" },
	[SIM_SCHED_WAKING] = { "sched_waking", "ciii", "comm tid prio target_cpu" },
	[SIM_IRQ_ENTRY] = { "irq_handler_entry", "is", "irq name" },
	[SIM_IRQ_EXIT] = { "irq_handler_exit", "ii", "irq ret" },
	[SIM_SOFTIRQ_ENTRY] = { "irq_softirq_entry", "u", "vec" },
	[SIM_SOFTIRQ_EXIT] = { "irq_softirq_exit", "u", "vec" },
	[SIM_HRTIMER_ENTRY] = { "timer_hrtimer_expire_entry", "qlq", "hrtimer now function" },
	[SIM_HRTIMER_EXIT] = { "timer_hrtimer_expire_exit", "q", "hrtimer" },
	[SIM_NET_QUEUE] = { "net_dev_queue", "", "" },
	[SIM_NET_RECEIVE] = { "net_if_receive_skb", "", "" },
	[SIM_BLOCK_ISSUE] = { "block_rq_issue", "uquuiuc", "dev sector nr_sector bytes tid rwbs comm" },
	[SIM_BLOCK_COMPLETE] = { "block_rq_complete", "uquiu", "dev sector nr_sector error rwbs" },
	[SIM_DUMP_PROCESS] = { "lttng_statedump_process_state", "iiiciiiiuq",
			       "tid pid ppid name type mode submode status cpu file_table_address" },
	[SIM_DUMP_INTERFACE] = { "lttng_statedump_network_interface", "sa", "name address_ipv4" },
	[SIM_DUMP_END] = { "lttng_statedump_end", "", "" },
	[SIM_ENTRY_ACCEPT4] = { "syscall_entry_accept4", "iqii", "fd upeer_sockaddr upeer_addrlen flags" },
	[SIM_EXIT_ACCEPT4] = { "syscall_exit_accept4", "lihpvw", "ret upeer_addrlen family sport v4addr v6addr" },
	[SIM_ENTRY_SOCKET] = { "syscall_entry_socket", "iii", "family type protocol" },
	[SIM_EXIT_SOCKET] = { "syscall_exit_socket", "l", "ret" },
	[SIM_ENTRY_CONNECT] = { "syscall_entry_connect", "iqihpvw", "fd uservaddr addrlen family dport v4addr v6addr" },
	[SIM_EXIT_CONNECT] = { "syscall_exit_connect", "l", "ret" },
	[SIM_ENTRY_RECVFROM] = { "syscall_entry_recvfrom", "iquq", "fd size flags addr_len" },
	[SIM_EXIT_RECVFROM] = { "syscall_exit_recvfrom", "lqqq", "ret ubuf addr addr_len" },
	[SIM_ENTRY_SENDTO] = { "syscall_entry_sendto", "iqquqi", "fd buff len flags addr addr_len" },
	[SIM_EXIT_SENDTO] = { "syscall_exit_sendto", "l", "ret" },
	[SIM_ENTRY_CLOSE] = { "syscall_entry_close", "u", "fd" },
	[SIM_EXIT_CLOSE] = { "syscall_exit_close", "l", "ret" },
	[SIM_ENTRY_NANOSLEEP] = { "syscall_entry_clock_nanosleep", "iiq", "which_clock flags rqtp" },
	[SIM_EXIT_NANOSLEEP] = { "syscall_exit_clock_nanosleep", "lq", "ret rmtp" },
	[SIM_ENTRY_FSYNC] = { "syscall_entry_fsync", "u", "fd" },
	[SIM_EXIT_FSYNC] = { "syscall_exit_fsync", "l", "ret" },
	[SIM_ENTRY_FUTEX] = { "syscall_entry_futex", "qiuqqu", "uaddr op val utime uaddr2 val3" },
	[SIM_EXIT_FUTEX] = { "syscall_exit_futex", "lqq", "ret uaddr uaddr2" },
};

struct stream {
	char *path;
	uint8_t *bytes;
	gsize used, capacity;
	int64_t begin_ticks, last_ticks;
	uint64_t sequence;
	bool has_begun;
};

struct SimTrace {
	guint cpu_count;
	struct stream *streams;
	char *capture_path; /* NULL: none */
	GByteArray *capture;
	uint64_t event_count;
	gsize packet_bytes;
};

/* ---- files ---- */

static void fail(const char *path)
{
	fprintf(stderr, "sim: cannot write '%s': %s\n", path, g_strerror(errno));
	exit(1);
}

static void append(const char *path, const void *bytes, gsize count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	const char *at = bytes;
	if (fd < 0)
		fail(path);
	while (count > 0) {
		ssize_t done = write(fd, at, count);
		if (done < 0)
			fail(path);
		at += done;
		count -= (gsize)done;
	}
	if (close(fd) != 0)
		fail(path);
}

/* ---- metadata ---- */

static void declare_integer(GString *text, guint bits, const char *more, const char *name)
{
	g_string_append_printf(text, "\t\tinteger { size = %u; align = 8; %s } _%s;\n", bits, more, name);
}

static void declare_address(GString *text, const char *name, guint bits)
{
	g_autofree char *length = g_strdup_printf("_%s_length", name);
	declare_integer(text, 32, "signed = 0; base = 10;", length);
	g_string_append_printf(text, "\t\tinteger { size = %u; align = 8; signed = 0; byte_order = be; } _%s[ _%s ];\n",
			       bits, name, length);
}

static void declare_field(GString *text, char type, const char *name)
{
	switch (type) {
	case 'i':
		return declare_integer(text, 32, "signed = 1; base = 10;", name);
	case 'l':
		return declare_integer(text, 64, "signed = 1; base = 10;", name);
	case 'u':
		return declare_integer(text, 32, "signed = 0; base = 10;", name);
	case 'q':
		return declare_integer(text, 64, "signed = 0; base = 16;", name);
	case 'h':
		return declare_integer(text, 16, "signed = 0; base = 10;", name);
	case 'p':
		return declare_integer(text, 16, "signed = 0; base = 10; byte_order = be;", name);
	case 'a':
		return declare_integer(text, 32, "signed = 0; base = 16; byte_order = be;", name);
	case 'c':
		g_string_append_printf(
			text, "\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; } _%s[16];\n", name);
		return;
	case 's':
		g_string_append_printf(text, "\t\tstring _%s;\n", name);
		return;
	case 'v':
		return declare_address(text, name, 8);
	default:
		return declare_address(text, name, 16);
	}
}

#define BE(bits, name) "\t\t\t\tinteger { size = " #bits "; align = 8; signed = 0; byte_order = be; } _" #name ";\n"
#define BITS(bits, align, name)                                                                                        \
	"\t\t\t\tinteger { size = " #bits "; align = " #align "; signed = 0; byte_order = be; } _" #name ";\n"

/* LTTng's own, as far as it is IPv4 and TCP. */
static const char packet_fields[] =
	"\t\tinteger { size = 64; align = 8; signed = 0; base = 16; } _skbaddr;\n"
	"\t\tinteger { size = 32; align = 8; signed = 0; base = 10; } _len;\n"
	"\t\tstring _name;\n"
	"\t\tenum : integer { size = 8; align = 8; signed = 0; } { \"_unknown\" = 0, \"_ipv4\" = 1 } "
	"_network_header_type;\n"
	"\t\tvariant <_network_header_type> {\n"
	"\t\t\tstruct {\n"
	"\t\t\t} _unknown;\n"
	"\t\t\tstruct {\n" BITS(4, 4, version) BITS(4, 4, ihl) BE(8, tos) BE(16, tot_len) BE(16, id) BE(16, frag_off)
		BE(8, ttl) "\t\t\t\tenum : integer { size = 8; align = 8; signed = 0; byte_order = be; } { \"_tcp\" = "
			   "6, \"_udp\" = 17 } _protocol;\n" BE(
				   16, checksum) "\t\t\t\tinteger { size = 8; align = 8; signed = 0; byte_order = be; "
						 "} _saddr[4];\n"
						 "\t\t\t\tinteger { size = 8; align = 8; signed = 0; byte_order = be; "
						 "} _daddr[4];\n"
						 "\t\t\t\tenum : integer { size = 8; align = 8; signed = 0; } { "
						 "\"_unknown\" = 0, \"_tcp\" = 1 } _transport_header_type;\n"
						 "\t\t\t\tvariant <_transport_header_type> {\n"
						 "\t\t\t\tstruct {\n"
						 "\t\t\t\t} _unknown;\n"
						 "\t\t\t\tstruct {\n" BE(16, source_port) BE(16, dest_port) BE(32, seq)
							 BE(32, ack_seq) BITS(4, 4, data_offset) BITS(3, 1, reserved)
								 BITS(9, 1, flags) BE(16, window_size) BE(16, checksum)
									 BE(16,
									    urg_ptr) "\t\t\t\t} _tcp;\n"
										     "\t\t\t\t} _transport_header;\n"
										     "\t\t\t} _ipv4;\n"
										     "\t\t} _network_header;\n";

static const char preamble[] =
	"/* CTF 1.8 */\n\ntypealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n\ntrace {\n"
	"\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	"\t\tuint32_t magic;\n\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t};\n};\n\n"
	"env {\n\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n\tkernel_release = \"6.1.0-sim\";\n"
	"\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n\ttracer_minor = 13;\n"
	"\ttracer_patchlevel = 9;\n};\n\nclock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n"
	"\toffset = 1795000000000000000;\n};\n\n"
	"typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := uint32_clock_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;\n"
	"\nstream {\n\tid = 0;\n\tevent.header := struct {\n"
	"\t\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n\t\tvariant <id> {\n"
	"\t\t\tstruct {\n\t\t\t\tuint32_clock_t timestamp;\n\t\t\t} compact;\n\t\t\tstruct {\n"
	"\t\t\t\tuint32_t id;\n\t\t\t\tuint64_clock_t timestamp;\n\t\t\t} extended;\n\t\t} v;\n"
	"\t} align(8);\n\tpacket.context := struct {\n\t\tuint64_clock_t timestamp_begin;\n"
	"\t\tuint64_clock_t timestamp_end;\n\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
	"\t\tuint64_t packet_seq_num;\n\t\tunsigned long events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n"
	"};\n";

void sim_metadata_write(const char *path)
{
	g_autoptr(GString) text = g_string_new(preamble);
	for (guint i = 0; i < SIM_EVENTS; i++) {
		g_auto(GStrv) names = g_strsplit(classes[i].fields, " ", -1);
		g_string_append_printf(
			text, "\nevent {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
			classes[i].name, i);
		for (guint k = 0; classes[i].types[k]; k++)
			declare_field(text, classes[i].types[k], names[k]);
		if (i == SIM_NET_QUEUE || i == SIM_NET_RECEIVE)
			g_string_append(text, packet_fields);
		g_string_append(text, "\t};\n};\n");
	}
	append(path, text->str, text->len);
}

/* ---- streams ---- */

static void put16(uint8_t **at, uint16_t value)
{
	memcpy(*at, &value, sizeof(value));
	*at += sizeof(value);
}

static void put32(uint8_t **at, uint32_t value)
{
	memcpy(*at, &value, sizeof(value));
	*at += sizeof(value);
}

static void put64(uint8_t **at, uint64_t value)
{
	memcpy(*at, &value, sizeof(value));
	*at += sizeof(value);
}

static void put_text(uint8_t **at, const char *text)
{
	gsize bytes = strlen(text) + 1;
	memcpy(*at, text, bytes);
	*at += bytes;
}

static void put_comm(uint8_t **at, const char *comm)
{
	memset(*at, 0, COMM_BYTES);
	memcpy(*at, comm, MIN(strlen(comm), COMM_BYTES - 1));
	*at += COMM_BYTES;
}

static void flush_packet(struct stream *stream, guint cpu)
{
	uint8_t *at = stream->bytes;
	put32(&at, CTF_MAGIC);
	put32(&at, 0);
	put64(&at, cpu);
	put64(&at, (uint64_t)stream->begin_ticks);
	put64(&at, (uint64_t)stream->last_ticks);
	put64(&at, stream->used * 8);
	put64(&at, stream->used * 8);
	put64(&at, stream->sequence++);
	put64(&at, 0);
	put32(&at, cpu);
	append(stream->path, stream->bytes, stream->used);
	stream->used = CTF_HEAD_BYTES;
	stream->begin_ticks = stream->last_ticks;
}

/* Room for an event, behind its header. */
static uint8_t *begin_event(SimTrace *trace, guint cpu, int64_t ticks, enum sim_event event)
{
	struct stream *stream = &trace->streams[cpu];
	if (stream->used + EVENT_BYTES_MAX > trace->packet_bytes)
		flush_packet(stream, cpu);
	if (!stream->has_begun) {
		stream->begin_ticks = stream->last_ticks = ticks;
		stream->has_begun = true;
	}
	if (stream->used + EVENT_BYTES_MAX > stream->capacity) {
		stream->capacity = MIN(stream->capacity * 2 + 2 * EVENT_BYTES_MAX, trace->packet_bytes);
		stream->bytes = g_realloc(stream->bytes, stream->capacity);
	}
	uint8_t *at = stream->bytes + stream->used;
	if (ticks - stream->last_ticks > (int64_t)G_MAXUINT32) {
		put16(&at, EXTENDED_ID);
		put32(&at, event);
		put64(&at, (uint64_t)ticks);
	} else {
		put16(&at, (uint16_t)event);
		put32(&at, (uint32_t)ticks);
	}
	stream->last_ticks = ticks;
	trace->event_count++;
	return at;
}

static void end_event(SimTrace *trace, guint cpu, const uint8_t *at)
{
	struct stream *stream = &trace->streams[cpu];
	stream->used = (gsize)(at - stream->bytes);
}

void sim_trace_add(SimTrace *trace, guint cpu, int64_t ticks, enum sim_event event, const int64_t *values,
		   const char *const *texts)
{
	uint8_t *at = begin_event(trace, cpu, ticks, event);
	uint32_t address;
	uint16_t port;
	for (const char *type = classes[event].types; *type; type++) {
		switch (*type) {
		case 'i':
		case 'u':
			put32(&at, (uint32_t)*values++);
			break;
		case 'l':
		case 'q':
			put64(&at, (uint64_t)*values++);
			break;
		case 'h':
			put16(&at, (uint16_t)*values++);
			break;
		case 'p':
			port = (uint16_t)*values++;
			put16(&at, GUINT16_TO_BE(port));
			break;
		case 'v':
			put32(&at, 4);
			/* fall through */
		case 'a':
			address = (uint32_t)*values++;
			put32(&at, GUINT32_TO_BE(address));
			break;
		case 'c':
			put_comm(&at, *texts++);
			break;
		case 's':
			put_text(&at, *texts++);
			break;
		default:
			put32(&at, 0);
		}
	}
	end_event(trace, cpu, at);
}

void sim_trace_add_packet(SimTrace *trace, guint cpu, int64_t ticks, enum sim_event event,
			  const struct sim_frame *frame)
{
	const uint8_t *headers = frame->bytes + NET_HEADERS_OFFSET;
	uint8_t *at = begin_event(trace, cpu, ticks, event);
	put64(&at, G_GUINT64_CONSTANT(0xffff888000000000) + (uint64_t)(trace->event_count % 65536) * 256);
	put32(&at, event == SIM_NET_QUEUE ? frame->size : frame->size - NET_HEADERS_OFFSET);
	put_text(&at, "eth0");
	*at++ = 1; /* IPv4 */
	memcpy(at, headers, NET_HEADERS_BYTES);
	at += NET_HEADERS_BYTES;
	*at++ = 1; /* TCP */
	memcpy(at, headers + NET_HEADERS_BYTES, NET_HEADERS_BYTES);
	end_event(trace, cpu, at + NET_HEADERS_BYTES);
}

/* ---- captures ---- */

static void flush_capture(SimTrace *trace)
{
	append(trace->capture_path, trace->capture->data, trace->capture->len);
	g_byte_array_set_size(trace->capture, 0);
}

void sim_trace_capture(SimTrace *trace, int64_t ticks, const struct sim_frame *frame)
{
	int64_t ns = SIM_EPOCH_NS + ticks;
	uint8_t head[16], *at = head;
	if (!trace->capture_path)
		return;
	put32(&at, (uint32_t)(ns / NS_PER_S));
	put32(&at, (uint32_t)(ns % NS_PER_S));
	put32(&at, frame->size);
	put32(&at, frame->size);
	if (trace->capture->len > CAPTURE_BYTES)
		flush_capture(trace);
	g_byte_array_append(trace->capture, head, sizeof(head));
	g_byte_array_append(trace->capture, frame->bytes, frame->size);
}

static void begin_capture(SimTrace *trace, const char *folder)
{
	uint8_t head[24], *at = head;
	trace->capture_path = g_strconcat(folder, ".pcap", NULL);
	trace->capture = g_byte_array_new();
	put32(&at, 0xa1b23c4d);
	put16(&at, 2);
	put16(&at, 4);
	put64(&at, 0);
	put32(&at, 65535);
	put32(&at, 1); /* Ethernet */
	g_byte_array_append(trace->capture, head, sizeof(head));
}

/* ---- a node ---- */

SimTrace *sim_trace_new(const char *folder, const char *metadata, guint cpu_count, bool has_capture, gsize packet_bytes)
{
	SimTrace *trace = g_new0(SimTrace, 1);
	g_autofree char *kernel = g_build_filename(folder, "kernel", NULL);
	g_autofree char *shared = g_build_filename(kernel, "metadata", NULL);
	if (g_mkdir_with_parents(kernel, 0777) != 0 || link(metadata, shared) != 0)
		fail(shared);
	trace->cpu_count = cpu_count;
	trace->packet_bytes = MAX(packet_bytes, 2 * EVENT_BYTES_MAX);
	trace->streams = g_new0(struct stream, cpu_count);
	for (guint i = 0; i < cpu_count; i++) {
		trace->streams[i].path = g_strdup_printf("%s/channel0_%u", kernel, i);
		trace->streams[i].used = CTF_HEAD_BYTES;
	}
	if (has_capture)
		begin_capture(trace, folder);
	return trace;
}

void sim_trace_free(SimTrace *trace)
{
	for (guint i = 0; i < trace->cpu_count; i++) {
		if (trace->streams[i].used > CTF_HEAD_BYTES)
			flush_packet(&trace->streams[i], i);
		g_free(trace->streams[i].path);
		g_free(trace->streams[i].bytes);
	}
	if (trace->capture_path) {
		flush_capture(trace);
		g_byte_array_unref(trace->capture);
	}
	g_free(trace->capture_path);
	g_free(trace->streams);
	g_free(trace);
}

uint64_t sim_trace_get_event_count(const SimTrace *trace)
{
	return trace->event_count;
}
