/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/json.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define RECORD_SEPARATOR '\x1e'

struct reader {
	const char *begin, *at, *end;
	DtcArena *arena;
	guint depth;
	const char *problem; /* the first one */
};

static bool fail(struct reader *reader, const char *problem)
{
	if (!reader->problem)
		reader->problem = problem;
	return false;
}

static void *take(struct reader *reader, gsize bytes)
{
	void *piece = dtc_arena_take(reader->arena, bytes);
	if (!piece)
		fail(reader, "it declares more than there is room for");
	return piece;
}

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at && strchr(" \t\r\n", *reader->at))
		reader->at++;
}

static bool skip(struct reader *reader, char sign)
{
	skip_space(reader);
	if (reader->at == reader->end || *reader->at != sign)
		return false;
	reader->at++;
	return true;
}

/* ---- texts ---- */

static bool read_unit(struct reader *reader, guint32 *ret_unit)
{
	*ret_unit = 0;
	for (guint i = 0; i < 4; i++, reader->at++) {
		if (reader->at == reader->end || !g_ascii_isxdigit(*reader->at))
			return fail(reader, "expected four hexadecimal digits");
		*ret_unit = *ret_unit << 4 | (guint32)g_ascii_xdigit_value(*reader->at);
	}
	return true;
}

/* Behind "\u": one unit, or two that are one character. Never longer than what stands there. */
static bool read_character(struct reader *reader, char **to)
{
	guint32 character, low;
	if (!read_unit(reader, &character))
		return false;
	if (character >= 0xd800 && character < 0xdc00) {
		if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
			return fail(reader, "half a character");
		reader->at += 2;
		if (!read_unit(reader, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(reader, "half a character");
		character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
	}
	if (character == 0 || (character >= 0xdc00 && character < 0xe000))
		return fail(reader, "a character that cannot be");
	*to += g_unichar_to_utf8(character, *to);
	return true;
}

static bool read_escape(struct reader *reader, char **to)
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	if (reader->at == reader->end)
		return fail(reader, "a text without an end");
	char c = *reader->at++;
	if (c == 'u')
		return read_character(reader, to);
	const char *found = c ? strchr(from, c) : NULL;
	if (!found)
		return fail(reader, "an escape that is none");
	*(*to)++ = plain[found - from];
	return true;
}

/* At the quote. */
static const char *read_text(struct reader *reader)
{
	const char *c = ++reader->at;
	while (c < reader->end && *c != '"')
		c += *c == '\\' && c + 1 < reader->end ? 2 : 1;
	if (c >= reader->end) {
		fail(reader, "a text without an end");
		return NULL;
	}
	char *text = take(reader, (gsize)(c - reader->at) + 1);
	char *to = text;
	while (text && reader->at < c) {
		if ((guint8)*reader->at < 0x20)
			fail(reader, "a control character in a text");
		else if (*reader->at != '\\')
			*to++ = *reader->at++;
		else
			reader->at++, read_escape(reader, &to);
		if (reader->problem)
			return NULL;
	}
	reader->at = c + 1;
	if (text && !g_utf8_validate(text, to - text, NULL)) {
		fail(reader, "a text that is not UTF-8");
		return NULL;
	}
	return text;
}

/* ---- values ---- */

static bool read_number(struct reader *reader, struct dtc_json *json)
{
	bool is_integer = true, has_digit = false;
	json->is_negative = *reader->at == '-';
	reader->at += json->is_negative;
	for (; reader->at < reader->end && *reader->at && strchr("0123456789+-.eE", *reader->at); reader->at++) {
		if (!g_ascii_isdigit(*reader->at)) {
			is_integer = false;
			continue;
		}
		guint digit = (guint)g_ascii_digit_value(*reader->at);
		has_digit = true;
		is_integer = is_integer && json->value <= (UINT64_MAX - digit) / 10;
		json->value = json->value * 10 + digit;
	}
	if (json->is_negative && json->value > (uint64_t)INT64_MAX + 1)
		is_integer = false;
	if (json->is_negative)
		json->value = 0 - json->value;
	json->kind = is_integer ? DTC_JSON_INTEGER : DTC_JSON_REAL;
	return has_digit || fail(reader, "expected a value");
}

static bool read_word(struct reader *reader, struct dtc_json *json)
{
	static const struct {
		const char *word;
		enum dtc_json_kind kind;
		uint64_t value;
	} words[] = { { "true", DTC_JSON_TRUTH, 1 }, { "false", DTC_JSON_TRUTH, 0 }, { "null", DTC_JSON_NULL, 0 } };
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		gsize bytes = strlen(words[i].word);
		if ((gsize)(reader->end - reader->at) < bytes || memcmp(reader->at, words[i].word, bytes) != 0)
			continue;
		reader->at += bytes;
		json->kind = (uint8_t)words[i].kind;
		json->value = words[i].value;
		return true;
	}
	return fail(reader, "expected a value");
}

static bool read_value(struct reader *reader, struct dtc_json *json);

static bool read_item(struct reader *reader, struct dtc_json *json, bool is_object)
{
	skip_space(reader);
	if (is_object) {
		if (reader->at == reader->end || *reader->at != '"')
			return fail(reader, "expected the name of a member");
		json->name = read_text(reader);
		if (!json->name)
			return false;
		if (!skip(reader, ':'))
			return fail(reader, "expected ':'");
	}
	return read_value(reader, json);
}

/* At the bracket. */
static bool read_items(struct reader *reader, struct dtc_json *json, bool is_object)
{
	struct dtc_json **link = &json->first;
	char close = is_object ? '}' : ']';
	json->kind = is_object ? DTC_JSON_OBJECT : DTC_JSON_ARRAY;
	reader->at++;
	if (skip(reader, close))
		return true;
	if (++reader->depth > DTC_JSON_MAX_DEPTH)
		return fail(reader, "it is nested too deep");
	do {
		*link = take(reader, sizeof(**link));
		if (!*link || !read_item(reader, *link, is_object))
			return false;
		link = &(*link)->next;
		json->count++;
	} while (skip(reader, ','));
	reader->depth--;
	return skip(reader, close) || fail(reader, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static bool read_kind(struct reader *reader, struct dtc_json *json)
{
	switch (*reader->at) {
	case '{':
		return read_items(reader, json, true);
	case '[':
		return read_items(reader, json, false);
	case '"':
		json->kind = DTC_JSON_TEXT;
		return (json->text = read_text(reader)) != NULL;
	case 't':
	case 'f':
	case 'n':
		return read_word(reader, json);
	default:
		return read_number(reader, json);
	}
}

static bool read_value(struct reader *reader, struct dtc_json *json)
{
	skip_space(reader);
	if (reader->at == reader->end)
		return fail(reader, "expected a value");
	json->begin = reader->at;
	if (!read_kind(reader, json))
		return false;
	json->end = reader->at;
	return true;
}

static void set_error(const struct reader *reader, GError **error)
{
	guint line = 1;
	const char *begin = reader->begin;
	for (const char *c = reader->begin; c < reader->at; c++) {
		if (*c != '\n')
			continue;
		line++;
		begin = c + 1;
	}
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "line %u, column %u: %s", line,
		    (guint)(reader->at - begin) + 1, reader->problem);
}

bool dtc_json_next(struct dtc_json_sequence *sequence, DtcArena *arena, struct dtc_json **ret_json, GError **error)
{
	struct reader reader = { .begin = sequence->begin, .at = sequence->at, .end = sequence->end, .arena = arena };
	skip_space(&reader);
	while (skip(&reader, RECORD_SEPARATOR))
		skip_space(&reader);
	if (reader.at == reader.end)
		return false;
	struct dtc_json *json = take(&reader, sizeof(*json));
	if (!json || !read_value(&reader, json)) {
		set_error(&reader, error);
		return false;
	}
	sequence->at = reader.at;
	*ret_json = json;
	return true;
}

const struct dtc_json *dtc_json_read_value(const char *at, const char *end, DtcArena *arena)
{
	struct reader reader = { .begin = at, .at = at, .end = end, .arena = arena, .depth = 1 };
	struct dtc_json *json = take(&reader, sizeof(*json));
	return json && read_value(&reader, json) && json->begin == at ? json : NULL;
}

/* ---- members ---- */

const struct dtc_json *dtc_json_find(const struct dtc_json *object, const char *name)
{
	if (!object || object->kind != DTC_JSON_OBJECT)
		return NULL;
	for (const struct dtc_json *member = object->first; member; member = member->next)
		if (strcmp(member->name, name) == 0)
			return member;
	return NULL;
}

const struct dtc_json *dtc_json_find_kind(const struct dtc_json *object, const char *name, enum dtc_json_kind kind)
{
	const struct dtc_json *member = dtc_json_find(object, name);
	return member && member->kind == kind ? member : NULL;
}

const char *dtc_json_find_text(const struct dtc_json *object, const char *name)
{
	const struct dtc_json *member = dtc_json_find_kind(object, name, DTC_JSON_TEXT);
	return member ? member->text : NULL;
}
