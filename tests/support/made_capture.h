/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes captures by hand: frames from layers, files in the classic format with nanoseconds. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static inline void made_net(GByteArray *to, guint64 value, guint size)
{
	for (guint i = 0; i < size; i++) {
		guint8 byte = (guint8)(value >> 8 * (size - 1 - i));
		g_byte_array_append(to, &byte, 1);
	}
}

static inline void made_zero(GByteArray *to, guint count)
{
	for (guint i = 0; i < count; i++)
		made_net(to, 0, 1);
}

/* Locally administered addresses 02:00:00:00:00:x. */
static inline void made_ethernet(GByteArray *to, guint8 destination, guint8 source, guint type)
{
	made_net(to, 0x020000000000 | destination, 6);
	made_net(to, 0x020000000000 | source, 6);
	made_net(to, type, 2);
}

/* 10.0.0.source -> 10.0.0.destination. option_bytes: multiple of 4. */
static inline void made_ipv4(GByteArray *to, guint8 source, guint8 destination, guint protocol, guint total_bytes,
			     guint fragment, guint option_bytes, guint ttl)
{
	made_net(to, 0x40 | (5 + option_bytes / 4), 1);
	made_net(to, 0, 1);
	made_net(to, total_bytes, 2);
	made_net(to, 0xbeef, 2);
	made_net(to, fragment, 2);
	made_net(to, ttl, 1);
	made_net(to, protocol, 1);
	made_net(to, 0, 2);
	made_net(to, 0x0a000000u | source, 4);
	made_net(to, 0x0a000000u | destination, 4);
	for (guint i = 0; i < option_bytes; i++)
		made_net(to, 1, 1);
}

static inline void made_ipv6(GByteArray *to, guint next, guint payload_bytes)
{
	made_net(to, 0x60000000u, 4);
	made_net(to, payload_bytes, 2);
	made_net(to, next, 1);
	made_net(to, 64, 1);
	made_net(to, 0xfe80, 2);
	made_zero(to, 13);
	made_net(to, 1, 1);
	made_net(to, 0xfe80, 2);
	made_zero(to, 13);
	made_net(to, 2, 1);
}

/* With the timestamp option: 32 bytes. */
static inline void made_tcp(GByteArray *to, guint source, guint destination, guint32 seq, guint32 ack, guint flags,
			    guint32 tsval)
{
	made_net(to, source, 2);
	made_net(to, destination, 2);
	made_net(to, seq, 4);
	made_net(to, ack, 4);
	made_net(to, 0x80, 1);
	made_net(to, flags, 1);
	made_net(to, 501, 2);
	made_net(to, 0, 4);
	made_net(to, 0x0101080a, 4);
	made_net(to, tsval, 4);
	made_net(to, 0, 4);
}

static inline void made_udp(GByteArray *to, guint source, guint destination, guint length)
{
	made_net(to, source, 2);
	made_net(to, destination, 2);
	made_net(to, length, 2);
	made_net(to, 0, 2);
}

#define MADE_ETHERNET 1
#define MADE_LOOPBACK 0
#define MADE_RAW 101
#define MADE_COOKED 113
#define MADE_COOKED2 276

/* The header of a file with nanoseconds, in network order as a big-endian machine writes it. */
static inline GByteArray *made_capture_new(guint link)
{
	GByteArray *file = g_byte_array_new();
	made_net(file, 0xa1b23c4d, 4);
	made_net(file, 2, 2);
	made_net(file, 4, 2);
	made_net(file, 0, 8);
	made_net(file, 65535, 4);
	made_net(file, link, 4);
	return file;
}

/* Appends a frame, of which captured_bytes were kept (0: all). Frees it. */
static inline void made_capture_add(GByteArray *file, gint64 time_ns, GByteArray *frame, guint captured_bytes,
				    guint wire_bytes)
{
	guint captured = captured_bytes ? MIN(captured_bytes, frame->len) : frame->len;
	made_net(file, (guint64)(time_ns / 1000000000), 4);
	made_net(file, (guint64)(time_ns % 1000000000), 4);
	made_net(file, captured, 4);
	made_net(file, MAX(wire_bytes, frame->len), 4);
	g_byte_array_append(file, frame->data, captured);
	g_byte_array_unref(frame);
}

/* Writes the file to a new temporary path. Caller owns the path and unlinks it. */
static inline char *made_capture_write(const GByteArray *file, gsize bytes)
{
	char *path = NULL;
	int fd = g_file_open_tmp("dtc-made-XXXXXX.pcap", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, (const char *)file->data, (gssize)bytes, NULL));
	return path;
}
