/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of TSDL: trace, env, clock, stream, event, and what else stands at the outermost level. */
#include "collect/read/fast/tsdl_parser.h"

#include <string.h>

struct reader {
	struct dtc_tsdl_parser parser; /* first */
	struct dtc_trace_declaration *declaration;
	GArray *clocks;	    /* struct dtc_clock_declaration */
	GArray *own_values; /* struct dtc_own_value; NULL: of another text */
	bool has_trace, has_order;
};

static void *take(struct reader *reader, gsize bytes)
{
	void *piece = dtc_arena_take(reader->parser.arena, bytes);
	if (!piece)
		dtc_tsdl_fail(&reader->parser, "it declares more than there is room for");
	return piece;
}

static bool parse_identifier(struct reader *reader, uint64_t *ret_id)
{
	bool is_negative;
	int64_t value;
	if (!dtc_tsdl_parse_number(&reader->parser, &value, &is_negative))
		return false;
	*ret_id = (uint64_t)value;
	return !is_negative || dtc_tsdl_fail(&reader->parser, "an id is not negative");
}

static bool skip_value(struct reader *reader)
{
	struct dtc_tokens *tokens = &reader->parser.tokens;
	while (!dtc_tokens_is(tokens, ";") && !dtc_tokens_is(tokens, "}") && tokens->token != DTC_TOKEN_END &&
	       tokens->token != DTC_TOKEN_BROKEN)
		dtc_tokens_next(tokens);
	return true;
}

/* ---- blocks of "name = value;" and "part := type;" ---- */

typedef bool (*entry_parser)(struct reader *reader, void *to, const char *name, bool is_type);

static void note_own(struct reader *reader, entry_parser parse, const char *name, const char *begin);

static const char *get_begin(const struct dtc_tokens *tokens)
{
	return tokens->token == DTC_TOKEN_TEXT ? tokens->text - 1 : tokens->text;
}

static bool parse_entry(struct reader *reader, void *to, entry_parser parse)
{
	struct dtc_tsdl_parser *parser = &reader->parser;
	if (dtc_tsdl_is_alias(parser))
		return dtc_tsdl_parse_alias(parser);
	if (dtc_tokens_is(&parser->tokens, "struct") || dtc_tokens_is(&parser->tokens, "enum") ||
	    dtc_tokens_is(&parser->tokens, "variant"))
		return dtc_tsdl_parse_type(parser) && dtc_tsdl_expect(parser, ";");
	const char *name = dtc_tsdl_parse_path(parser);
	if (!name)
		return false;
	bool is_type = parser->tokens.token == DTC_TOKEN_ASSIGN;
	if (is_type)
		dtc_tokens_next(&parser->tokens);
	else if (!dtc_tsdl_expect(parser, "="))
		return false;
	const char *begin = get_begin(&parser->tokens);
	if (!parse(reader, to, name, is_type))
		return false;
	if (!is_type)
		note_own(reader, parse, name, begin);
	return dtc_tsdl_expect(parser, ";");
}

static bool parse_block(struct reader *reader, void *to, entry_parser parse)
{
	struct dtc_tsdl_names names;
	struct dtc_tsdl_parser *parser = &reader->parser;
	bool is_sound = dtc_tsdl_expect(parser, "{");
	dtc_tsdl_enter(parser, &names);
	while (is_sound && !dtc_tokens_is(&parser->tokens, "}"))
		is_sound = parse_entry(reader, to, parse);
	dtc_tsdl_leave(parser);
	if (is_sound)
		dtc_tokens_next(&parser->tokens);
	return is_sound;
}

static bool parse_part(struct reader *reader, struct dtc_type **ret_type)
{
	*ret_type = dtc_tsdl_parse_type(&reader->parser);
	if (*ret_type && (*ret_type)->kind != DTC_TYPE_STRUCT)
		return dtc_tsdl_fail(&reader->parser, "expected a structure");
	return *ret_type != NULL;
}

/* ---- trace ---- */

static bool parse_uuid(struct reader *reader, uint8_t ret_uuid[16])
{
	const char *text = dtc_tsdl_parse_text(&reader->parser);
	guint digits = 0;
	for (; text && *text && digits < 32; text++) {
		if (*text == '-')
			continue;
		if (!g_ascii_isxdigit(*text))
			break;
		guint value = (guint)g_ascii_xdigit_value(*text);
		ret_uuid[digits / 2] = (uint8_t)(digits % 2 ? ret_uuid[digits / 2] | value : value << 4);
		digits++;
	}
	return (text && !*text && digits == 32) || dtc_tsdl_fail(&reader->parser, "a uuid has 32 hexadecimal digits");
}

static bool parse_byte_order(struct reader *reader)
{
	struct dtc_tokens *tokens = &reader->parser.tokens;
	bool is_big = dtc_tokens_is(tokens, "be") || dtc_tokens_is(tokens, "network");
	if (!is_big && !dtc_tokens_is(tokens, "le"))
		return dtc_tsdl_fail(&reader->parser, "expected a byte order: le or be");
	reader->declaration->is_big_endian = is_big;
	reader->has_order = true;
	dtc_tokens_next(tokens);
	return true;
}

/* There are 1.8 and drafts of it, which differ in what few tracers use; all else is another language. */
static bool parse_major(struct reader *reader)
{
	uint64_t major;
	return parse_identifier(reader, &major) &&
	       (major == 1 ||
		dtc_tsdl_fail(&reader->parser, "of its version, %" G_GUINT64_FORMAT ", nothing is known", major));
}

static bool parse_trace_entry(struct reader *reader, void *to, const char *name, bool is_type)
{
	struct dtc_trace_declaration *declaration = to;
	if (is_type)
		return strcmp(name, "packet.header") == 0 ? parse_part(reader, &declaration->packet_header)
							  : dtc_tsdl_parse_type(&reader->parser) != NULL;
	if (strcmp(name, "byte_order") == 0)
		return parse_byte_order(reader);
	if (strcmp(name, "uuid") == 0)
		return declaration->has_uuid = parse_uuid(reader, declaration->uuid);
	if (strcmp(name, "major") == 0)
		return parse_major(reader);
	return skip_value(reader);
}

static bool parse_trace(struct reader *reader)
{
	if (reader->has_trace)
		return dtc_tsdl_fail(&reader->parser, "it has two traces");
	reader->has_trace = true;
	if (!parse_block(reader, reader->declaration, parse_trace_entry))
		return false;
	return reader->has_order || dtc_tsdl_fail(&reader->parser, "it does not tell the trace's byte order");
}

static bool parse_env_entry(struct reader *reader, void *to, const char *name, bool is_type)
{
	struct dtc_trace_declaration *declaration = to;
	int64_t number;
	bool is_negative;
	if (is_type)
		return dtc_tsdl_fail(&reader->parser, "expected '='");
	if (reader->parser.tokens.token == DTC_TOKEN_TEXT) {
		const char *text = dtc_tsdl_parse_text(&reader->parser);
		if (text)
			g_hash_table_replace(declaration->environment, (char *)name, (char *)text);
		return text != NULL;
	}
	if (!dtc_tsdl_parse_number(&reader->parser, &number, &is_negative))
		return false;
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);
	char *copy = dtc_arena_take_text(reader->parser.arena, text, strlen(text));
	if (copy)
		g_hash_table_replace(declaration->environment, (char *)name, copy);
	return copy != NULL;
}

static bool parse_clock_entry(struct reader *reader, void *to, const char *name, bool is_type)
{
	struct dtc_clock_declaration *clock = to;
	bool is_negative;
	int64_t offset;
	if (is_type)
		return dtc_tsdl_fail(&reader->parser, "expected '='");
	if (strcmp(name, "name") == 0)
		return (clock->name = dtc_tsdl_parse_text(&reader->parser)) != NULL;
	if (strcmp(name, "uuid") == 0)
		return (clock->uuid = dtc_tsdl_parse_text(&reader->parser)) != NULL;
	if (strcmp(name, "freq") == 0)
		return parse_identifier(reader, &clock->frequency);
	if (strcmp(name, "offset_s") == 0)
		return dtc_tsdl_parse_number(&reader->parser, &clock->offset_s, &is_negative);
	if (strcmp(name, "offset") == 0 && dtc_tsdl_parse_number(&reader->parser, &offset, &is_negative)) {
		clock->offset = (uint64_t)offset;
		return true;
	}
	return !reader->parser.error && skip_value(reader);
}

/* ---- what is a node's own ---- */

static const struct {
	entry_parser parse;
	const char *name; /* NULL: all */
} own_parts[] = {
	{ parse_trace_entry, "uuid" },	 { parse_env_entry, NULL },	    { parse_clock_entry, "uuid" },
	{ parse_clock_entry, "offset" }, { parse_clock_entry, "offset_s" },
};

static void note_own(struct reader *reader, entry_parser parse, const char *name, const char *begin)
{
	const struct dtc_tokens *tokens = &reader->parser.tokens;
	for (guint i = 0; i < G_N_ELEMENTS(own_parts); i++) {
		if (own_parts[i].parse != parse || (own_parts[i].name && strcmp(own_parts[i].name, name) != 0))
			continue;
		reader->declaration->is_alone |= reader->own_values->len == DTC_OWN_MAX_VALUES;
		if (reader->declaration->is_alone)
			return;
		struct dtc_own_value value = { i, name, reader->clocks->len, (gsize)(begin - tokens->begin),
					       (gsize)(tokens->done - begin) };
		g_array_append_val(reader->own_values, value);
	}
}

bool dtc_tsdl_read_own(struct dtc_trace_declaration *declaration, const struct dtc_own_value *value,
		       struct dtc_own_place *place)
{
	struct reader reader = { .declaration = declaration };
	entry_parser parse = own_parts[value->part].parse;
	void *to = parse == parse_clock_entry ? (void *)&declaration->clocks[value->clock] : declaration;
	dtc_tsdl_begin(&reader.parser, declaration->arena, place->text + place->at, place->bytes - place->at);
	bool is_sound = get_begin(&reader.parser.tokens) == place->text + place->at &&
			parse(&reader, to, value->name, false) && !reader.parser.error;
	place->end = (gsize)(reader.parser.tokens.done - place->text);
	g_clear_error(&reader.parser.error);
	dtc_tsdl_end(&reader.parser);
	return is_sound;
}

/* ---- streams and events ---- */

static struct dtc_stream_declaration *get_stream(struct reader *reader, uint64_t id)
{
	GHashTable *streams = reader->declaration->streams;
	struct dtc_stream_declaration *stream = g_hash_table_lookup(streams, &id);
	if (stream || !(stream = take(reader, sizeof(*stream))))
		return stream;
	stream->id = id;
	stream->events = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_hash_table_insert(streams, &stream->id, stream);
	return stream;
}

static bool parse_stream_entry(struct reader *reader, void *to, const char *name, bool is_type)
{
	struct dtc_stream_declaration *stream = to;
	if (!is_type)
		return strcmp(name, "id") == 0 ? parse_identifier(reader, &stream->id) : skip_value(reader);
	if (strcmp(name, "event.header") == 0)
		return parse_part(reader, &stream->event_header);
	if (strcmp(name, "packet.context") == 0)
		return parse_part(reader, &stream->packet_context);
	if (strcmp(name, "event.context") == 0)
		return parse_part(reader, &stream->common_context);
	return dtc_tsdl_parse_type(&reader->parser) != NULL;
}

/* Events may come before their stream. */
static bool parse_stream(struct reader *reader)
{
	struct dtc_stream_declaration parsed = { .id = 0 };
	if (!parse_block(reader, &parsed, parse_stream_entry))
		return false;
	struct dtc_stream_declaration *stream = get_stream(reader, parsed.id);
	if (!stream)
		return false;
	if (stream->is_declared)
		return dtc_tsdl_fail(&reader->parser, "two streams have the id %" G_GUINT64_FORMAT, parsed.id);
	stream->is_declared = true;
	stream->packet_context = parsed.packet_context;
	stream->event_header = parsed.event_header;
	stream->common_context = parsed.common_context;
	return true;
}

struct parsed_event {
	struct dtc_event_declaration event;
	uint64_t stream_id;
};

static bool parse_event_entry(struct reader *reader, void *to, const char *name, bool is_type)
{
	struct parsed_event *parsed = to;
	if (is_type && strcmp(name, "fields") == 0)
		return parse_part(reader, &parsed->event.payload);
	if (is_type && strcmp(name, "context") == 0)
		return parse_part(reader, &parsed->event.context);
	if (is_type)
		return dtc_tsdl_parse_type(&reader->parser) != NULL;
	if (strcmp(name, "id") == 0)
		return parse_identifier(reader, &parsed->event.id);
	if (strcmp(name, "stream_id") == 0)
		return parse_identifier(reader, &parsed->stream_id);
	if (strcmp(name, "name") == 0)
		return (parsed->event.name = dtc_tsdl_parse_text(&reader->parser)) != NULL;
	return skip_value(reader);
}

static bool parse_event(struct reader *reader)
{
	struct parsed_event parsed = { .stream_id = 0 };
	if (!parse_block(reader, &parsed, parse_event_entry))
		return false;
	struct dtc_stream_declaration *stream = get_stream(reader, parsed.stream_id);
	struct dtc_event_declaration *event = stream ? take(reader, sizeof(*event)) : NULL;
	if (!event)
		return false;
	*event = parsed.event;
	if (g_hash_table_contains(stream->events, &event->id))
		return dtc_tsdl_fail(&reader->parser, "two events of a stream have the id %" G_GUINT64_FORMAT,
				     event->id);
	g_hash_table_insert(stream->events, &event->id, event);
	return true;
}

static bool parse_clock(struct reader *reader)
{
	struct dtc_clock_declaration clock = { .frequency = 1000000000 };
	if (!parse_block(reader, &clock, parse_clock_entry))
		return false;
	if (clock.frequency == 0 || clock.frequency == UINT64_MAX)
		return dtc_tsdl_fail(&reader->parser, "a clock without a frequency");
	g_array_append_val(reader->clocks, clock);
	return true;
}

/* Callsites tell nothing that we use. */
static bool skip_block(struct reader *reader)
{
	struct dtc_tokens *tokens = &reader->parser.tokens;
	guint depth = 0;
	do {
		depth += dtc_tokens_is(tokens, "{");
		if (dtc_tokens_is(tokens, "}") && depth > 0 && --depth == 0) {
			dtc_tokens_next(tokens);
			return true;
		}
		dtc_tokens_next(tokens);
	} while (tokens->token != DTC_TOKEN_END && tokens->token != DTC_TOKEN_BROKEN);
	return dtc_tsdl_fail(&reader->parser, "a block without an end");
}

static bool parse_top(struct reader *reader)
{
	struct dtc_tsdl_parser *parser = &reader->parser;
	if (dtc_tsdl_is_alias(parser))
		return dtc_tsdl_parse_alias(parser);
	bool is_sound;
	if (dtc_tokens_skip(&parser->tokens, "trace"))
		is_sound = parse_trace(reader);
	else if (dtc_tokens_skip(&parser->tokens, "env"))
		is_sound = parse_block(reader, reader->declaration, parse_env_entry);
	else if (dtc_tokens_skip(&parser->tokens, "clock"))
		is_sound = parse_clock(reader);
	else if (dtc_tokens_skip(&parser->tokens, "stream"))
		is_sound = parse_stream(reader);
	else if (dtc_tokens_skip(&parser->tokens, "event"))
		is_sound = parse_event(reader);
	else if (dtc_tokens_skip(&parser->tokens, "callsite"))
		is_sound = skip_block(reader);
	else
		is_sound = dtc_tsdl_parse_type(parser) != NULL;
	return is_sound && dtc_tsdl_expect(parser, ";");
}

static bool take_own_values(struct reader *reader)
{
	struct dtc_trace_declaration *declaration = reader->declaration;
	gsize bytes = reader->own_values->len * sizeof(struct dtc_own_value);
	declaration->own_count = reader->own_values->len;
	declaration->own_values = take(reader, bytes);
	if (declaration->own_values && bytes > 0)
		memcpy(declaration->own_values, reader->own_values->data, bytes);
	return declaration->own_values != NULL;
}

static bool parse_all(struct reader *reader)
{
	struct dtc_tsdl_names names;
	bool is_sound = true;
	dtc_tsdl_enter(&reader->parser, &names);
	while (is_sound && reader->parser.tokens.token != DTC_TOKEN_END)
		is_sound = dtc_tokens_skip(&reader->parser.tokens, ";") || parse_top(reader);
	dtc_tsdl_leave(&reader->parser);
	if (!is_sound)
		return false;
	struct dtc_trace_declaration *declaration = reader->declaration;
	declaration->clock_count = reader->clocks->len;
	declaration->clocks = take(reader, reader->clocks->len * sizeof(struct dtc_clock_declaration));
	if (!declaration->clocks)
		return false;
	if (reader->clocks->len)
		memcpy(declaration->clocks, reader->clocks->data,
		       reader->clocks->len * sizeof(struct dtc_clock_declaration));
	return take_own_values(reader);
}

struct dtc_trace_declaration *dtc_tsdl_parse(const char *text, gsize bytes, GError **error)
{
	struct dtc_trace_declaration *declaration = dtc_trace_declaration_new();
	struct reader reader = { .declaration = declaration };
	dtc_tsdl_begin(&reader.parser, declaration->arena, text, bytes);
	reader.clocks = g_array_new(FALSE, TRUE, sizeof(struct dtc_clock_declaration));
	reader.own_values = g_array_new(FALSE, TRUE, sizeof(struct dtc_own_value));
	bool is_sound = parse_all(&reader);
	if (!is_sound && !reader.parser.error)
		dtc_tsdl_fail(&reader.parser, "it declares more than there is room for");
	g_array_unref(reader.clocks);
	g_array_unref(reader.own_values);
	dtc_tsdl_end(&reader.parser);
	if (is_sound)
		return declaration;
	g_propagate_error(error, reader.parser.error);
	dtc_trace_declaration_free(declaration);
	return NULL;
}
