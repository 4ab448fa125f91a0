/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/stored.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * frame: offset  bytes     (RFC 8878)
 *             0      4  0xFD2FB528, little endian
 *             4      1  0: the size is not told, no checksum, a window is
 *             5      1  0x38: of 128 KiB, which a block may have at most
 * block:      0      3  little endian: bit 0 last of all, bits 1 and 2 how it is compressed (0: not), then its bytes
 */
static const uint8_t frame_head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38 };
#define BLOCK_BYTES ((gsize)128 * 1024)
#define BLOCK_HEAD_BYTES 3
#define BLOCK_LAST 1

/* tar's header, as POSIX has it, and GNU's way to tell a longer name: an entry of type 'L' before it. */
#define RECORD_BYTES 512
#define NAME_BYTES 100
#define MODE_OFFSET 100
#define UID_OFFSET 108
#define GID_OFFSET 116
#define SIZE_OFFSET 124
#define MTIME_OFFSET 136
#define CHECKSUM_OFFSET 148
#define TYPE_OFFSET 156
#define MAGIC_OFFSET 257
#define LONG_NAME "././@LongLink"
#define MAX_OCTAL_BYTES (((guint64)1 << 33) - 1)

struct stored {
	int fd;
	char *name;
	GChecksum *checksum;
	uint8_t *block; /* its head, and what has come of it */
	gsize used;	/* bytes behind the head */
	guint64 left;	/* bytes of the entry that are to come */
	guint64 padding;
};

static bool set_failed(GError **error, const struct stored *stored, const char *reason)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot write '%s': %s\nname another place",
		    stored->name, reason);
	return false;
}

static bool write_out(struct stored *stored, const uint8_t *data, gsize bytes, GError **error)
{
	g_checksum_update(stored->checksum, data, (gssize)bytes);
	while (bytes > 0) {
		ssize_t written = write(stored->fd, data, bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return set_failed(error, stored, g_strerror(errno));
		data += written;
		bytes -= (gsize)written;
	}
	return true;
}

static bool write_block(struct stored *stored, bool is_last, GError **error)
{
	guint32 head = (guint32)stored->used << 3 | (is_last ? BLOCK_LAST : 0);

	for (guint i = 0; i < BLOCK_HEAD_BYTES; i++)
		stored->block[i] = (uint8_t)(head >> (8 * i));
	gsize bytes = BLOCK_HEAD_BYTES + stored->used;
	stored->used = 0;
	return write_out(stored, stored->block, bytes, error);
}

/* NULL: zeros. */
static bool add(struct stored *stored, const uint8_t *data, guint64 bytes, GError **error)
{
	while (bytes > 0) {
		gsize count = (gsize)MIN(bytes, (guint64)(BLOCK_BYTES - stored->used));
		uint8_t *to = stored->block + BLOCK_HEAD_BYTES + stored->used;
		if (data)
			memcpy(to, data, count);
		else
			memset(to, 0, count);
		data = data ? data + count : NULL;
		stored->used += count;
		bytes -= count;
		if (stored->used == BLOCK_BYTES && !write_block(stored, false, error))
			return false;
	}
	return true;
}

static void put_octal(uint8_t *at, guint digits, guint64 value)
{
	char text[32];

	g_snprintf(text, sizeof(text), "%0*" G_GINT64_MODIFIER "o", (int)digits, value);
	memcpy(at, text, digits);
}

/* What octal digits cannot hold is told by GNU's tar in bytes, the first of which is 0x80. */
static void put_size(uint8_t *at, guint64 bytes)
{
	if (bytes <= MAX_OCTAL_BYTES) {
		put_octal(at, 11, bytes);
		return;
	}
	at[0] = 0x80;
	for (guint i = 0; i < 8; i++)
		at[11 - i] = (uint8_t)(bytes >> (8 * i));
}

static bool add_header(struct stored *stored, const char *path, guint64 bytes, char type, GError **error)
{
	uint8_t header[RECORD_BYTES] = { 0 };
	guint sum = 0;

	/* no owner, no date, one mode: the same files give the same bytes */
	memcpy(header, path, MIN(strlen(path), NAME_BYTES));
	put_octal(header + MODE_OFFSET, 7, 0644);
	put_octal(header + UID_OFFSET, 7, 0);
	put_octal(header + GID_OFFSET, 7, 0);
	put_size(header + SIZE_OFFSET, bytes);
	put_octal(header + MTIME_OFFSET, 11, 0);
	memset(header + CHECKSUM_OFFSET, ' ', 8);
	header[TYPE_OFFSET] = (uint8_t)type;
	memcpy(header + MAGIC_OFFSET, "ustar  ", 8);
	for (guint i = 0; i < RECORD_BYTES; i++)
		sum += header[i];
	put_octal(header + CHECKSUM_OFFSET, 6, sum);
	header[CHECKSUM_OFFSET + 6] = 0;
	return add(stored, header, RECORD_BYTES, error);
}

static guint64 get_padding(guint64 bytes)
{
	return (RECORD_BYTES - bytes % RECORD_BYTES) % RECORD_BYTES;
}

static bool add_long_name(struct stored *stored, const char *path, GError **error)
{
	gsize bytes = strlen(path) + 1;

	return add_header(stored, LONG_NAME, bytes, 'L', error) && add(stored, (const uint8_t *)path, bytes, error) &&
	       add(stored, NULL, get_padding(bytes), error);
}

static void *open_stored(int fd, const char *name, GError **error)
{
	struct stored *stored = g_new0(struct stored, 1);

	stored->fd = fd;
	stored->name = g_strdup(name);
	stored->checksum = g_checksum_new(G_CHECKSUM_SHA256);
	stored->block = g_malloc(BLOCK_HEAD_BYTES + BLOCK_BYTES);
	if (write_out(stored, frame_head, sizeof(frame_head), error))
		return stored;
	dtc_packer_stored.free(stored);
	return NULL;
}

static bool end_entry(struct stored *stored, GError **error)
{
	guint64 padding = stored->padding;

	stored->padding = 0;
	if (stored->left > 0)
		return set_failed(error, stored, "a file became shorter meanwhile");
	return add(stored, NULL, padding, error);
}

static bool begin_stored(void *data, const char *path, guint64 bytes, GError **error)
{
	struct stored *stored = data;

	if (!end_entry(stored, error) || (strlen(path) > NAME_BYTES && !add_long_name(stored, path, error)))
		return false;
	stored->left = bytes;
	stored->padding = get_padding(bytes);
	return add_header(stored, path, bytes, '0', error);
}

static bool write_stored(void *data, const void *bytes, gsize count, GError **error)
{
	struct stored *stored = data;

	if (count > stored->left)
		return set_failed(error, stored, "a file became longer meanwhile");
	stored->left -= count;
	return add(stored, bytes, count, error);
}

static bool finish_stored(void *data, GError **error)
{
	struct stored *stored = data;
	uint8_t seal[DTC_PACK_SEAL_BYTES];

	if (!end_entry(stored, error) || !add(stored, NULL, 2 * (guint64)RECORD_BYTES, error) ||
	    !write_block(stored, true, error))
		return false;
	dtc_pack_seal_make(stored->checksum, seal);
	return write_out(stored, seal, DTC_PACK_SEAL_BYTES, error);
}

static void free_stored(void *data)
{
	struct stored *stored = data;

	g_checksum_free(stored->checksum);
	g_free(stored->block);
	g_free(stored->name);
	g_free(stored);
}

const struct dtc_packer_kind dtc_packer_stored = {
	.open = open_stored,
	.begin = begin_stored,
	.write = write_stored,
	.finish = finish_stored,
	.free = free_stored,
};
