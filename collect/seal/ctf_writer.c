/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet, little endian:
 *   0   u32  magic 0xc1fc1fc1              header
 *   4   u8   uuid[16]
 *   20  u32  stream_id                     0
 *   24  u64  stream_instance_id
 *   32  u64  timestamp_begin               context
 *   40  u64  timestamp_end
 *   48  u64  content_size                  bits
 *   56  u64  packet_size                   bits; there is no padding
 *   64  u64  packet_seq_num
 *   72  u64  events_discarded              so far
 *   80  u32  cpu_id
 *   84       events: u16 id, u32 time (lower bits); or u16 65535, u32 id, u64 time
 */
#include "collect/seal/ctf_writer.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PACKET_BYTES ((size_t)256 * 1024) /* a packet ends behind the event that reaches it */
#define CONTENT_OFFSET 84u
#define EXTENDED_ID 65535u
#define EXTENDED_HEADER_BYTES 14u
#define MAGIC 0xc1fc1fc1u

struct DtcCtfWriter {
	char *path;
	int fd;
	int failure; /* errno of the first write that failed */
	uint8_t *packet;
	size_t capacity;
	size_t used;
	uint64_t instance;
	uint32_t cpu;
	uint8_t uuid[DTC_CTF_UUID_BYTES];
	int64_t begin_ns; /* of the packet */
	int64_t last_ns;
	uint64_t sequence;
	uint64_t lost;
	uint64_t bytes;
};

DtcCtfWriter *dtc_ctf_writer_new(const char *path, const uint8_t uuid[DTC_CTF_UUID_BYTES], uint64_t instance,
				 uint32_t cpu, int64_t begin_ns, GError **error)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot write '%s': %s", path, g_strerror(errno));
		return NULL;
	}
	DtcCtfWriter *writer = g_new0(DtcCtfWriter, 1);
	writer->path = g_strdup(path);
	writer->fd = fd;
	writer->capacity = PACKET_BYTES * 2;
	writer->packet = g_malloc(writer->capacity);
	writer->used = CONTENT_OFFSET;
	writer->instance = instance;
	writer->cpu = cpu;
	memcpy(writer->uuid, uuid, DTC_CTF_UUID_BYTES);
	writer->begin_ns = writer->last_ns = begin_ns;
	return writer;
}

void dtc_ctf_writer_free(DtcCtfWriter *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0)
		close(writer->fd);
	g_free(writer->packet);
	g_free(writer->path);
	g_free(writer);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof value);
}

static void put_u64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof value);
}

static void write_fully(DtcCtfWriter *writer, const uint8_t *bytes, size_t count)
{
	while (count > 0 && !writer->failure) {
		ssize_t done = write(writer->fd, bytes, count);
		if (done < 0 && errno != EINTR)
			writer->failure = errno;
		if (done <= 0)
			continue;
		bytes += done;
		count -= (size_t)done;
		writer->bytes += (uint64_t)done;
	}
}

static void put_packet(DtcCtfWriter *writer, int64_t end_ns)
{
	uint8_t *at = writer->packet;
	put_u32(at, MAGIC);
	memcpy(at + 4, writer->uuid, DTC_CTF_UUID_BYTES);
	put_u32(at + 20, 0);
	put_u64(at + 24, writer->instance);
	put_u64(at + 32, (uint64_t)writer->begin_ns);
	put_u64(at + 40, (uint64_t)end_ns);
	put_u64(at + 48, writer->used * 8);
	put_u64(at + 56, writer->used * 8);
	put_u64(at + 64, writer->sequence++);
	put_u64(at + 72, writer->lost);
	put_u32(at + 80, writer->cpu);
	write_fully(writer, writer->packet, writer->used);
	writer->used = CONTENT_OFFSET;
	writer->begin_ns = writer->last_ns = end_ns;
}

/* The first packet is written even if it is empty: what a counter grew by is only known from the second on. */
void dtc_ctf_writer_end_packet(DtcCtfWriter *writer)
{
	if (writer->used > CONTENT_OFFSET || writer->sequence == 0)
		put_packet(writer, writer->last_ns);
}

void dtc_ctf_writer_lose_within(DtcCtfWriter *writer, uint64_t count, int64_t until_ns)
{
	writer->lost += count;
	put_packet(writer, MAX(writer->last_ns, until_ns));
}

void dtc_ctf_writer_lose(DtcCtfWriter *writer, uint64_t count, int64_t before_ns)
{
	dtc_ctf_writer_end_packet(writer);
	writer->lost += count;
	put_packet(writer, MAX(writer->last_ns, before_ns));
}

static void ensure_room(DtcCtfWriter *writer, size_t bytes)
{
	if (writer->used >= PACKET_BYTES)
		dtc_ctf_writer_end_packet(writer);
	if (writer->used + bytes <= writer->capacity)
		return;
	writer->capacity = writer->used + bytes;
	writer->packet = g_realloc(writer->packet, writer->capacity);
}

uint8_t *dtc_ctf_writer_begin_event(DtcCtfWriter *writer, uint32_t id, int64_t time_ns, size_t max_bytes)
{
	ensure_room(writer, EXTENDED_HEADER_BYTES + max_bytes);
	uint8_t *at = writer->packet + writer->used;
	uint64_t since_ns = (uint64_t)(time_ns - writer->last_ns);
	/* the first event counts from the packet's begin, which is the event before */
	bool is_extended = id >= EXTENDED_ID || since_ns > G_MAXUINT32;
	uint16_t short_id = (uint16_t)(is_extended ? EXTENDED_ID : id);

	memcpy(at, &short_id, sizeof short_id);
	if (is_extended) {
		put_u32(at + 2, id);
		put_u64(at + 6, (uint64_t)time_ns);
	} else {
		put_u32(at + 2, (uint32_t)time_ns);
	}
	writer->last_ns = time_ns;
	writer->used += is_extended ? EXTENDED_HEADER_BYTES : 6;
	return writer->packet + writer->used;
}

void dtc_ctf_writer_end_event(DtcCtfWriter *writer, size_t bytes)
{
	writer->used += bytes;
}

bool dtc_ctf_writer_finish(DtcCtfWriter *writer, uint64_t *ret_bytes, GError **error)
{
	dtc_ctf_writer_end_packet(writer); /* a CPU that did nothing has an empty one: it was watched */
	if (!writer->failure && fsync(writer->fd) != 0)
		writer->failure = errno;
	if (close(writer->fd) != 0 && !writer->failure)
		writer->failure = errno;
	writer->fd = -1;
	if (writer->failure) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
			    "cannot write '%s': %s\nmake room and seal again: nothing of the recording is lost",
			    writer->path, g_strerror(writer->failure));
		return false;
	}
	*ret_bytes = writer->bytes;
	return true;
}

void dtc_ctf_declare_types(GString *tsdl, const char *uuid)
{
	g_string_append_printf(tsdl,
			       "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
			       "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
			       "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
			       "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
			       "typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n"
			       "\n"
			       "trace {\n"
			       "\tmajor = 1;\n"
			       "\tminor = 8;\n"
			       "\tuuid = \"%s\";\n"
			       "\tbyte_order = le;\n"
			       "\tpacket.header := struct {\n"
			       "\t\tuint32_t magic;\n"
			       "\t\tuint8_t  uuid[16];\n"
			       "\t\tuint32_t stream_id;\n"
			       "\t\tuint64_t stream_instance_id;\n"
			       "\t};\n"
			       "};\n\n",
			       uuid);
}

void dtc_ctf_declare_stream(GString *tsdl)
{
	g_string_append(tsdl, "typealias integer {\n"
			      "\tsize = 32; align = 8; signed = false;\n"
			      "\tmap = clock.monotonic.value;\n"
			      "} := uint32_clock_monotonic_t;\n\n"
			      "typealias integer {\n"
			      "\tsize = 64; align = 8; signed = false;\n"
			      "\tmap = clock.monotonic.value;\n"
			      "} := uint64_clock_monotonic_t;\n\n"
			      "struct packet_context {\n"
			      "\tuint64_clock_monotonic_t timestamp_begin;\n"
			      "\tuint64_clock_monotonic_t timestamp_end;\n"
			      "\tuint64_t content_size;\n"
			      "\tuint64_t packet_size;\n"
			      "\tuint64_t packet_seq_num;\n"
			      "\tunsigned long events_discarded;\n"
			      "\tuint32_t cpu_id;\n"
			      "};\n\n"
			      "struct event_header_large {\n"
			      "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
			      "\tvariant <id> {\n"
			      "\t\tstruct {\n"
			      "\t\t\tuint32_clock_monotonic_t timestamp;\n"
			      "\t\t} compact;\n"
			      "\t\tstruct {\n"
			      "\t\t\tuint32_t id;\n"
			      "\t\t\tuint64_clock_monotonic_t timestamp;\n"
			      "\t\t} extended;\n"
			      "\t} v;\n"
			      "} align(8);\n\n"
			      "stream {\n"
			      "\tid = 0;\n"
			      "\tevent.header := struct event_header_large;\n"
			      "\tpacket.context := struct packet_context;\n"
			      "};\n\n");
}
