/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/clock_class.h"

#include "collect/bundle/access.h"

#include <string.h>

#define MAX_METADATA_BYTES ((gsize)16 << 20) /* as much as the decoder takes */
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
	GString *text = g_string_sized_new(bytes + 1);
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

GString *dtc_metadata_read_text(const char *kernel_path)
{
	g_autofree char *path = g_build_filename(kernel_path, "metadata", NULL);
	g_autoptr(GMappedFile) file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? dtc_access_map(path) : NULL;

	if (!file || g_mapped_file_get_length(file) > MAX_METADATA_BYTES)
		return NULL;
	return join_packets((const guint8 *)g_mapped_file_get_contents(file), g_mapped_file_get_length(file));
}

bool dtc_clock_class_read(const char *kernel_path, struct dtc_clock_class *ret_clock)
{
	GString *text = dtc_metadata_read_text(kernel_path);
	if (!text)
		return false;
	bool is_found = dtc_clock_class_parse(text->str, text->len, ret_clock);
	g_string_free(text, TRUE);
	return is_found;
}

/* "event.header := struct NAME": the name if all streams have the same, else NULL. */
static char *find_event_header(const char *text)
{
	static const char declaration[] = "event.header := struct ";
	g_autofree char *name = NULL;

	for (const char *at = text; (at = strstr(at, declaration));) {
		at += strlen(declaration);
		gsize bytes = strcspn(at, "; \t\r\n{");
		bool is_other = name && (strlen(name) != bytes || strncmp(at, name, bytes) != 0);
		if (bytes == 0 || bytes > MAX_VALUE_BYTES || is_other)
			return NULL;
		g_free(name);
		name = g_strndup(at, bytes);
	}
	return g_steal_pointer(&name);
}

/* The bits of the first "uint27_clock_monotonic_t timestamp" in the structure. */
static guint find_time_bits(const char *text, const char *structure)
{
	g_autofree char *open = g_strdup_printf("struct %s {", structure);
	const char *block = strstr(text, open);
	const char *member = block ? strstr(block, "_t timestamp;") : NULL;

	while (member && member > block && !g_ascii_isspace(*member))
		member--;
	return member && g_str_has_prefix(member + 1, "uint") ? (guint)g_ascii_strtoull(member + 5, NULL, 10) : 0;
}

int64_t dtc_clock_class_find_wrap(const GString *text)
{
	struct dtc_clock_class clock;
	int64_t wrap_ns = 0;

	g_autofree char *header = find_event_header(text->str);
	guint bits = header ? find_time_bits(text->str, header) : 0;
	if (bits > 0 && bits < 48 && dtc_clock_class_parse(text->str, text->len, &clock)) {
		if (clock.frequency_hz == 1000000000) /* else the range is no whole number of ns */
			wrap_ns = INT64_C(1) << bits;
		dtc_clock_class_clear(&clock);
	}
	return wrap_ns;
}

int64_t dtc_clock_class_get_wrap(const char *kernel_path)
{
	GString *text = dtc_metadata_read_text(kernel_path);
	if (!text)
		return 0;
	int64_t wrap_ns = dtc_clock_class_find_wrap(text);
	g_string_free(text, TRUE);
	return wrap_ns;
}

bool dtc_clock_class_is_text_of(const GString *text, const char *what)
{
	g_autofree char *domain = find_value(text->str, "domain");
	return g_strcmp0(domain, what) == 0;
}

bool dtc_clock_class_is_of(const char *kernel_path, const char *what)
{
	GString *text = dtc_metadata_read_text(kernel_path);
	if (!text)
		return false;
	bool is_of = dtc_clock_class_is_text_of(text, what);
	g_string_free(text, TRUE);
	return is_of;
}

/* The first value of that name, "" if there is none. Caller frees. */
static char *find_text(const GString *text, const char *key)
{
	char *value = find_value(text->str, key);
	return value ? value : g_strdup("");
}

bool dtc_clock_class_describe_origin(const char *kernel_path, struct dtc_trace_origin *ret_origin)
{
	GString *text = dtc_metadata_read_text(kernel_path);
	struct dtc_clock_class clock = { 0 };
	if (!text)
		return false;
	g_autofree char *tracer = find_text(text, "tracer_name");
	/* of other tracers the clock's uuid is that of a kind of clock */
	bool has_boot = strcmp(tracer, "lttng-modules") == 0 && dtc_clock_class_parse(text->str, text->len, &clock);
	*ret_origin = (struct dtc_trace_origin){
		.uuid = find_text(text, "uuid"), /* the trace's block comes before the clock's */
		.host = find_text(text, "hostname"),
		.boot = g_strdup(has_boot ? clock.uuid : ""),
	};
	dtc_clock_class_clear(&clock);
	g_string_free(text, TRUE);
	return true;
}
