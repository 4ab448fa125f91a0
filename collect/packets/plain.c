/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File:    magic 4, version 2.4 (2 and 2), zone 4, digits 4, snapshot length 4, link type 4
 * Record:  seconds 4, micro- or nanoseconds 4, bytes captured 4, bytes on the wire 4, then the captured ones
 */
#include "collect/packets/plain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MAGIC_US 0xa1b2c3d4
#define MAGIC_NS 0xa1b23c4d
#define FILE_HEADER_BYTES 24
#define RECORD_HEADER_BYTES 16
/* Larger ones cost as many page faults as they spare calls; of each node up to 64 captures are open at once. */
#define BLOCK_BYTES ((gsize)64 * 1024)
/* No link layer's frames are longer, says libpcap; those of some devices on USB apart. */
#define RECORD_MAX_BYTES 262144

struct DtcPlain {
	int file;
	uint32_t most_bytes;
	int64_t unit_ns;
	guint64 position; /* in the file, of the buffer's begin */
	gsize at;	  /* in the buffer: the next record */
	gsize filled;
	gsize capacity;
	uint8_t *buffer;
};

/* Reads on until the buffer has so many bytes from the next record on; false if the file does not. */
static bool fill(DtcPlain *plain, gsize bytes)
{
	gsize rest = plain->filled - plain->at;

	if (rest)
		memmove(plain->buffer, plain->buffer + plain->at, rest);
	plain->position += plain->at;
	plain->at = 0;
	plain->filled = rest;
	if (bytes > plain->capacity) {
		plain->capacity = bytes + BLOCK_BYTES;
		plain->buffer = g_realloc(plain->buffer, plain->capacity);
	}
	while (plain->filled < bytes) {
		ssize_t got = pread(plain->file, plain->buffer + plain->filled, plain->capacity - plain->filled,
				    (off_t)(plain->position + plain->filled));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		plain->filled += (gsize)got;
	}
	return true;
}

static bool has(DtcPlain *plain, gsize bytes)
{
	return plain->filled - plain->at >= bytes || fill(plain, bytes);
}

DtcPlain *dtc_plain_new(int file, uint32_t most_bytes)
{
	DtcPlain *plain = g_new0(DtcPlain, 1);
	uint32_t magic = 0;
	uint16_t version[2] = { 0 };

	plain->file = file;
	plain->most_bytes = MIN(most_bytes, RECORD_MAX_BYTES);
	plain->capacity = BLOCK_BYTES;
	plain->buffer = g_malloc(plain->capacity);
	if (has(plain, FILE_HEADER_BYTES)) {
		memcpy(&magic, plain->buffer, sizeof(magic));
		memcpy(version, plain->buffer + sizeof(magic), sizeof(version));
	}
	if ((magic != MAGIC_US && magic != MAGIC_NS) || version[0] != 2 || version[1] != 4) {
		dtc_plain_free(plain);
		return NULL;
	}
	plain->unit_ns = magic == MAGIC_NS ? 1 : 1000;
	plain->at = FILE_HEADER_BYTES;
	return plain;
}

void dtc_plain_free(DtcPlain *plain)
{
	if (!plain)
		return;
	g_free(plain->buffer);
	g_free(plain);
}

bool dtc_plain_next(DtcPlain *plain, struct dtc_plain_record *ret_record)
{
	uint32_t fields[4];

	if (!has(plain, RECORD_HEADER_BYTES))
		return false;
	memcpy(fields, plain->buffer + plain->at, sizeof(fields));
	if (fields[0] > INT32_MAX || fields[1] > INT32_MAX || fields[2] > plain->most_bytes ||
	    !has(plain, RECORD_HEADER_BYTES + fields[2]))
		return false;
	*ret_record = (struct dtc_plain_record){ .second = fields[0],
						 .fraction_ns = fields[1] * plain->unit_ns,
						 .captured_bytes = fields[2],
						 .wire_bytes = fields[3],
						 .bytes = plain->buffer + plain->at + RECORD_HEADER_BYTES };
	plain->at += RECORD_HEADER_BYTES + fields[2];
	return true;
}

guint64 dtc_plain_get_position(const DtcPlain *plain)
{
	return plain->position + plain->at;
}
