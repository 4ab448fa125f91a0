/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/formats.h"

#include "collect/seal/raw.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 256u
#define MAX_FORMATS 65536u
#define SYSTEM "system"
#define NAME "name: "

struct DtcFormats {
	GPtrArray *formats; /* struct dtc_raw_format */
	GHashTable *ids;    /* of them */
};

static void clear_field(void *data)
{
	struct dtc_raw_field *field = data;
	g_free(field->name);
	g_free(field->type);
}

static void free_format(void *data)
{
	struct dtc_raw_format *format = data;
	g_free(format->system);
	g_free(format->name);
	g_array_unref(format->fields);
	g_free(format);
}

static const struct {
	const char *type;
	uint8_t bytes; /* 0: as long as a pointer */
} elements[] = {
	{ "char", 1 },
	{ "unsigned char", 1 },
	{ "u8", 1 },
	{ "__u8", 1 },
	{ "s8", 1 },
	{ "bool", 1 },
	{ "short", 2 },
	{ "unsigned short", 2 },
	{ "u16", 2 },
	{ "__u16", 2 },
	{ "__be16", 2 },
	{ "int", 4 },
	{ "unsigned int", 4 },
	{ "unsigned", 4 },
	{ "u32", 4 },
	{ "__u32", 4 },
	{ "s32", 4 },
	{ "__be32", 4 },
	{ "long", 0 },
	{ "unsigned long", 0 },
	{ "cpumask_t", 0 },
	{ "u64", 8 },
	{ "__u64", 8 },
	{ "s64", 8 },
	{ "unsigned long long", 8 },
	{ "long long", 8 },
};

static uint16_t find_element_bytes(const char *type)
{
	for (gsize i = 0; i < G_N_ELEMENTS(elements); i++)
		if (strcmp(elements[i].type, type) == 0)
			return elements[i].bytes ? elements[i].bytes : 8;
	return 1;
}

static bool is_name(const char *text)
{
	if (!g_ascii_isalpha(*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!g_ascii_isalnum(*text) && *text != '_')
			return false;
	return true;
}

/* "const char * filename", "char comm[16]", "__data_loc char[] name": the last word is the name. */
static bool parse_declaration(char *text, struct dtc_raw_field *field, bool *ret_is_array)
{
	bool is_dynamic = g_str_has_prefix(text, "__data_loc ") || g_str_has_prefix(text, "__rel_loc ");
	field->is_relative = is_dynamic && text[2] == 'r';
	if (is_dynamic)
		text = strchr(text, ' ') + 1;
	g_strstrip(text);
	bool is_array = g_str_has_suffix(text, "]");
	if (is_array)
		*strrchr(text, '[') = '\0';
	char *space = strrchr(g_strchomp(text), ' ');
	if (!space)
		return false;
	*space = '\0';
	if (is_dynamic && g_str_has_suffix(g_strchomp(text), "[]"))
		text[strlen(text) - 2] = '\0';
	const char *name = space + 1;
	while (*name == '*')
		name++;
	if (g_str_has_prefix(text, "const "))
		text += strlen("const ");
	field->is_pointer = name != space + 1 || strchr(text, '*');
	if (!is_name(name))
		return false;
	field->name = g_strdup(name);
	field->type = g_strdup(g_strstrip(text));
	field->shape = is_dynamic ? DTC_RAW_SEQUENCE : DTC_RAW_INTEGER;
	*ret_is_array = is_array;
	return true;
}

/* What a size that no integer has is: bytes. */
static void decide_shape(struct dtc_raw_field *field, bool is_array)
{
	bool is_char = strcmp(field->type, "char") == 0;
	field->element_bytes = find_element_bytes(field->type);
	if (field->shape == DTC_RAW_SEQUENCE) {
		field->shape = is_char ? DTC_RAW_STRING : DTC_RAW_SEQUENCE;
		return;
	}
	bool is_integer = field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8;
	if (!is_array && is_integer) {
		field->element_bytes = (uint16_t)field->size;
		return;
	}
	field->shape = is_char && is_array ? DTC_RAW_CHARS : DTC_RAW_ARRAY;
	if (field->size % field->element_bytes != 0)
		field->element_bytes = 1;
}

/* A number behind "KEY:" in the rest of a field's line. */
static bool parse_number(const char *line, const char *key, uint32_t *ret_number)
{
	const char *at = strstr(line, key);
	char *end;
	if (!at)
		return false;
	guint64 number = g_ascii_strtoull(at + strlen(key), &end, 10);
	if (end == at + strlen(key) || number > DTC_RAW_EVENT_MAX_BYTES)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* field:int common_pid;	offset:4;	size:4;	signed:1; */
static bool parse_field(const char *line, struct dtc_raw_field *field)
{
	const char *begin = line + strlen("field:"), *end = strchr(begin, ';');
	uint32_t is_signed = 0;
	bool is_array;
	if (!end || !parse_number(end, "offset:", &field->offset) || !parse_number(end, "size:", &field->size))
		return false;
	parse_number(end, "signed:", &is_signed);
	field->is_signed = is_signed;
	if (field->size == 0 || field->offset + field->size > DTC_RAW_EVENT_MAX_BYTES)
		return false;
	g_autofree char *text = g_strndup(begin, (gsize)(end - begin));
	if (!parse_declaration(text, field, &is_array))
		return false;
	if (field->shape == DTC_RAW_SEQUENCE && field->size != 4)
		return false;
	decide_shape(field, is_array);
	return true;
}

static void add_field(struct dtc_raw_format *format, const char *line)
{
	struct dtc_raw_field field = { 0 };
	if (format->fields->len >= MAX_FIELDS || !parse_field(line, &field) ||
	    dtc_raw_format_find(format, field.name)) {
		clear_field(&field);
		return;
	}
	format->fixed_bytes = MAX(format->fixed_bytes, field.offset + field.size);
	if (!g_str_has_prefix(field.name, "common_")) {
		g_array_append_val(format->fields, field);
		return;
	}
	if (strcmp(field.name, "common_pid") == 0 && field.size == 4)
		format->pid_offset = field.offset;
	if (strcmp(field.name, "common_flags") == 0 && field.size == 1)
		format->flags_offset = field.offset;
	clear_field(&field);
}

/* Takes the format over. */
/* A call that was recorded by an event made of it, with the name of its file, is that call. */
static void rename_call(struct dtc_raw_format *format)
{
	if (!format->name || !g_str_has_prefix(format->system, DTC_RAW_MADE_SYSTEM) ||
	    !g_str_has_prefix(format->name, "sys_enter_") || !g_str_has_suffix(format->name, DTC_RAW_MADE_SUFFIX))
		return;
	format->name[strlen(format->name) - strlen(DTC_RAW_MADE_SUFFIX)] = '\0';
	g_free(format->system);
	format->system = g_strdup("syscalls");
}

static bool keep(DtcFormats *formats, struct dtc_raw_format *format, bool has_id)
{
	rename_call(format);
	gpointer key = GUINT_TO_POINTER((guint)format->id);
	if (!has_id || !format->name || formats->formats->len >= MAX_FORMATS ||
	    g_hash_table_contains(formats->ids, key)) {
		free_format(format);
		return false;
	}
	g_hash_table_add(formats->ids, key);
	g_ptr_array_add(formats->formats, format);
	return true;
}

/* "system NET" or "NET EVENT", as recorders write it before each format, which has the event's own name. */
static struct dtc_raw_format *begin_format(const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", 3);
	if (g_strv_length(words) != 2 || !is_name(words[1]) || !words[0][0] || strpbrk(words[0], ":\t"))
		return NULL;
	struct dtc_raw_format *format = g_new0(struct dtc_raw_format, 1);
	format->system = g_strdup(words[strcmp(words[0], SYSTEM) == 0 ? 1 : 0]);
	format->fields = g_array_new(FALSE, FALSE, sizeof(struct dtc_raw_field));
	g_array_set_clear_func(format->fields, clear_field);
	return format;
}

static void take_name(struct dtc_raw_format *format, const char *line)
{
	const char *name = line + strlen(NAME);
	if (!format->name && is_name(name))
		format->name = g_strdup(name);
}

static bool parse_id(const char *line, uint16_t *ret_id)
{
	guint64 id;
	if (!g_ascii_string_to_unsigned(line + strlen("ID: "), 10, 0, G_MAXUINT16, &id, NULL))
		return false;
	*ret_id = (uint16_t)id;
	return true;
}

DtcFormats *dtc_formats_parse(const char *text, gsize bytes, guint *ret_skipped_count)
{
	DtcFormats *formats = g_new0(DtcFormats, 1);
	struct dtc_raw_format *format = NULL;
	guint skipped = 0;
	bool has_id = false;
	const char *end = text + bytes;

	formats->formats = g_ptr_array_new_with_free_func(free_format);
	formats->ids = g_hash_table_new(NULL, NULL);
	while (text < end) {
		const char *stop = memchr(text, '\n', (gsize)(end - text));
		g_autofree char *line = g_strndup(text, (gsize)((stop ? stop : end) - text));
		char *trimmed = g_strstrip(line);
		text = stop ? stop + 1 : end;
		struct dtc_raw_format *next = begin_format(line);
		if (next) {
			skipped += format && !keep(formats, format, has_id);
			format = next;
			has_id = false;
		} else if (format && g_str_has_prefix(trimmed, "field:")) {
			add_field(format, trimmed);
		} else if (format && g_str_has_prefix(trimmed, NAME)) {
			take_name(format, trimmed);
		} else if (format && g_str_has_prefix(trimmed, "ID: ")) {
			has_id = parse_id(trimmed, &format->id);
		}
	}
	skipped += format && !keep(formats, format, has_id);
	*ret_skipped_count = skipped;
	return formats;
}

void dtc_formats_free(DtcFormats *formats)
{
	if (!formats)
		return;
	g_ptr_array_unref(formats->formats);
	g_hash_table_unref(formats->ids);
	g_free(formats);
}

guint dtc_formats_get_count(const DtcFormats *formats)
{
	return formats->formats->len;
}

const struct dtc_raw_format *dtc_formats_get(const DtcFormats *formats, guint index)
{
	return g_ptr_array_index(formats->formats, index);
}

const struct dtc_raw_field *dtc_raw_format_find(const struct dtc_raw_format *format, const char *name)
{
	for (guint i = 0; i < format->fields->len; i++) {
		const struct dtc_raw_field *field = &g_array_index(format->fields, struct dtc_raw_field, i);
		if (strcmp(field->name, name) == 0)
			return field;
	}
	return NULL;
}

bool dtc_page_layout_parse(const char *text, struct dtc_page_layout *ret_layout)
{
	struct dtc_page_layout layout = { 0 };
	const char *commit = strstr(text, "local_t commit;"), *data = strstr(text, "char data;");

	*ret_layout = (struct dtc_page_layout){ .commit_offset = 8, .commit_bytes = 8, .data_offset = 16 };
	if (!commit || !data || !parse_number(commit, "offset:", &layout.commit_offset) ||
	    !parse_number(commit, "size:", &layout.commit_bytes) || !parse_number(data, "offset:", &layout.data_offset))
		return false;
	if ((layout.commit_bytes != 4 && layout.commit_bytes != 8) || layout.commit_offset < 8 ||
	    layout.commit_offset + layout.commit_bytes > layout.data_offset || layout.data_offset > 64)
		return false;
	*ret_layout = layout;
	return true;
}
