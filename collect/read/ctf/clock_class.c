/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/clock_class.h"

#include <string.h>

#define MAX_METADATA_BYTES ((gsize)64 << 20)
#define MAX_BLOCK_BYTES 8192
#define MAX_VALUE_BYTES 256

/*
 * A packet of metadata (CTF 1.8.3, section 7.1): magic, uuid[16], checksum (4 bytes), content size in bits, packet size
 * in bits, five bytes of schemes and version; then text.
 */
#define PACKET_MAGIC 0x75d11d57u
#define PACKET_HEADER_BYTES 37
#define CONTENT_SIZE_AT 24
#define PACKET_SIZE_AT 28

static guint32 get_u32(const guint8 *at, bool is_swapped)
{
	guint32 value;
	memcpy(&value, at, sizeof(value));
	return is_swapped ? GUINT32_SWAP_LE_BE(value) : value;
}

/* The text of all packets; of plain text the text. */
static GString *join_packets(const guint8 *data, gsize bytes)
{
	GString *text = g_string_new(NULL);
	guint32 magic = bytes >= PACKET_HEADER_BYTES ? get_u32(data, false) : 0;
	bool is_swapped = magic == GUINT32_SWAP_LE_BE(PACKET_MAGIC);

	if (magic != PACKET_MAGIC && !is_swapped)
		return g_string_append_len(text, (const char *)data, (gssize)bytes);
	while (bytes >= PACKET_HEADER_BYTES) {
		gsize content = get_u32(data + CONTENT_SIZE_AT, is_swapped) / 8;
		gsize packet = get_u32(data + PACKET_SIZE_AT, is_swapped) / 8;
		if (content < PACKET_HEADER_BYTES || packet < content || packet > bytes)
			break;
		g_string_append_len(text, (const char *)data + PACKET_HEADER_BYTES,
				    (gssize)(content - PACKET_HEADER_BYTES));
		data += packet;
		bytes -= packet;
	}
	return text;
}

/* "KEY = VALUE;" in the block, as a word of its own; the value without quotes, or NULL. */
static char *find_value(const char *block, const char *key)
{
	gsize length = strlen(key);

	for (const char *at = block; (at = strstr(at, key)); at += length) {
		if (at > block && (g_ascii_isalnum(at[-1]) || at[-1] == '_'))
			continue;
		const char *value = at + length;
		value += strspn(value, " \t\r\n");
		if (*value != '=')
			continue;
		value++;
		value += strspn(value, " \t\r\n");
		bool is_quoted = *value == '"';
		gsize bytes = is_quoted ? strcspn(value + 1, "\"") : strcspn(value, "; \t\r\n");
		if (bytes > MAX_VALUE_BYTES)
			return NULL;
		char *text = g_strndup(value + (is_quoted ? 1 : 0), bytes);
		if (g_utf8_validate(text, -1, NULL))
			return text;
		g_free(text);
		return NULL;
	}
	return NULL;
}

static int64_t find_integer(const char *block, const char *key, int64_t otherwise)
{
	g_autofree char *text = find_value(block, key);
	gint64 value;
	return text && g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &value, NULL) ? value : otherwise;
}

bool dtc_clock_class_parse(const char *text, gsize bytes, struct dtc_clock_class *ret_clock)
{
	const char *end = text + bytes;

	for (const char *at = text; (at = g_strstr_len(at, end - at, "clock")); at += strlen("clock")) {
		const char *open = at + strlen("clock");
		if (at > text && (g_ascii_isalnum(at[-1]) || at[-1] == '_' || at[-1] == '.'))
			continue;
		while (open < end && g_ascii_isspace(*open))
			open++;
		if (open == end || *open != '{')
			continue;
		const char *close = memchr(open, '}', (gsize)MIN(end - open, MAX_BLOCK_BYTES));
		if (!close)
			continue;
		g_autofree char *block = g_strndup(open + 1, (gsize)(close - open - 1));
		char *name = find_value(block, "name");
		char *uuid = find_value(block, "uuid");
		*ret_clock = (struct dtc_clock_class){
			.name = name ? name : g_strdup(""),
			.uuid = uuid ? uuid : g_strdup(""),
			/* CTF 1.8.3, section 8: without a frequency it is 1 GHz */
			.frequency_hz = (guint64)find_integer(block, "freq", 1000000000),
			.offset_s = find_integer(block, "offset_s", 0),
			.offset_cycles = find_integer(block, "offset", 0),
		};
		return true;
	}
	return false;
}

bool dtc_clock_class_read(const char *kernel_path, struct dtc_clock_class *ret_clock)
{
	g_autofree char *path = g_build_filename(kernel_path, "metadata", NULL);
	g_autoptr(GMappedFile) file =
		g_file_test(path, G_FILE_TEST_IS_REGULAR) ? g_mapped_file_new(path, FALSE, NULL) : NULL;

	if (!file || g_mapped_file_get_length(file) > MAX_METADATA_BYTES)
		return false;
	GString *text = join_packets((const guint8 *)g_mapped_file_get_contents(file), g_mapped_file_get_length(file));
	bool is_found = dtc_clock_class_parse(text->str, text->len, ret_clock);
	g_string_free(text, TRUE);
	return is_found;
}
