/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fragments of CTF 2's metadata (CTF2-SPEC-2.0, section 5). One at a time is in memory as a tree. */
#include "collect/read/fast/ctf2_parser.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_FRAGMENT_MEMORY ((gsize)16 << 20) /* a tree of 250,000 values; LTTng's largest fragments have 1,000 */

struct reader {
	struct dtc_ctf2_parser parser; /* first */
	GPtrArray *clocks;	       /* struct dtc_clock_declaration, the arena's */
	GHashTable *clock_ids;	       /* id -> struct dtc_clock_declaration */
	GArray *own_values;	       /* struct dtc_own_value */
	const char *begin;	       /* of the text */
	bool is_head;		       /* stops at the first event */
	bool has_preamble, has_trace;
};

/* ---- preamble and trace ---- */

/* What tells nodes from each other (types.h). */
enum part { PART_IGNORED, PART_UUID, PART_ENVIRONMENT, PART_CLOCK_UUID, PART_CLOCK_OFFSET };

static void note_own(struct reader *reader, enum part part, const struct dtc_json *value)
{
	struct dtc_own_value own = { .part = part, .clock = reader->clocks->len };
	reader->parser.declaration->is_alone |= reader->own_values->len == DTC_OWN_MAX_VALUES;
	if (!value || reader->parser.declaration->is_alone)
		return;
	own.at = (gsize)(value->begin - reader->begin);
	own.bytes = (gsize)(value->end - value->begin);
	g_array_append_val(reader->own_values, own);
}

static bool read_uuid(const struct dtc_json *uuid, uint8_t ret_uuid[16])
{
	guint count = 0;
	if (!uuid || uuid->count != 16)
		return false;
	for (const struct dtc_json *byte = uuid->first; byte; byte = byte->next)
		ret_uuid[count++] = (uint8_t)byte->value;
	return true;
}

static bool read_preamble(struct reader *reader, const struct dtc_json *fragment)
{
	struct dtc_trace_declaration *declaration = reader->parser.declaration;
	uint64_t version;
	const struct dtc_json *extensions = dtc_json_find_kind(fragment, "extensions", DTC_JSON_OBJECT);
	if (reader->has_preamble)
		return dtc_ctf2_fail(&reader->parser, "it has two preambles");
	if (!dtc_ctf2_read_number(&reader->parser, fragment, "version", 0, &version))
		return false;
	if (version != 2)
		return dtc_ctf2_fail(&reader->parser, "it is of CTF %" G_GUINT64_FORMAT ", of which nothing is known",
				     version);
	if (extensions && extensions->first)
		return dtc_ctf2_fail(&reader->parser, "it uses the extension '%s' of '%s', which is not known",
				     extensions->first->first ? extensions->first->first->name : "",
				     extensions->first->name);
	const struct dtc_json *uuid = dtc_json_find_kind(fragment, "uuid", DTC_JSON_ARRAY);
	declaration->has_uuid = read_uuid(uuid, declaration->uuid);
	note_own(reader, PART_UUID, uuid);
	reader->has_preamble = true;
	return true;
}

static bool read_environment(struct dtc_ctf2_parser *parser, const struct dtc_json *environment)
{
	for (const struct dtc_json *entry = environment ? environment->first : NULL; entry; entry = entry->next) {
		const char *name, *value;
		g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, (int64_t)entry->value);
		const char *text = entry->kind == DTC_JSON_TEXT	     ? entry->text
				   : entry->kind == DTC_JSON_INTEGER ? number
								     : NULL;
		if (!text)
			continue;
		if (!dtc_ctf2_copy_text(parser, entry->name, &name) || !dtc_ctf2_copy_text(parser, text, &value))
			return false;
		g_hash_table_replace(parser->declaration->environment, (char *)name, (char *)value);
	}
	return true;
}

static bool check_structure(struct reader *reader, const struct dtc_type *type)
{
	return !type || type->kind == DTC_TYPE_STRUCT || dtc_ctf2_fail(&reader->parser, "a part is no structure");
}

static bool read_part(struct reader *reader, const struct dtc_json *fragment, const char *name,
		      struct dtc_type **ret_type)
{
	return dtc_ctf2_read_type(&reader->parser, fragment, name, ret_type) && check_structure(reader, *ret_type);
}

static bool read_trace(struct reader *reader, const struct dtc_json *fragment)
{
	if (reader->has_trace)
		return dtc_ctf2_fail(&reader->parser, "it has two traces");
	const struct dtc_json *environment = dtc_json_find_kind(fragment, "environment", DTC_JSON_OBJECT);
	reader->has_trace = true;
	note_own(reader, PART_IGNORED, dtc_json_find(fragment, "uid"));
	note_own(reader, PART_IGNORED, dtc_json_find(fragment, "uuid"));
	note_own(reader, PART_ENVIRONMENT, environment);
	return read_part(reader, fragment, "packet-header-field-class", &reader->parser.declaration->packet_header) &&
	       read_environment(&reader->parser, environment);
}

static bool read_alias(struct reader *reader, const struct dtc_json *fragment)
{
	struct dtc_type *type;
	const char *name;
	if (!dtc_ctf2_copy_text(&reader->parser, dtc_json_find_text(fragment, "name"), &name) ||
	    !dtc_ctf2_read_type(&reader->parser, fragment, "field-class", &type))
		return false;
	if (!name || !type)
		return dtc_ctf2_fail(&reader->parser, "an alias without a name or a field class");
	if (g_hash_table_contains(reader->parser.aliases, name))
		return dtc_ctf2_fail(&reader->parser, "the alias '%s' is declared twice", name);
	g_hash_table_insert(reader->parser.aliases, (char *)name, type);
	return true;
}

/* ---- clocks ---- */

static bool read_clock_offset(struct dtc_ctf2_parser *parser, const struct dtc_json *offset,
			      struct dtc_clock_declaration *clock)
{
	const struct dtc_json *seconds = dtc_json_find_kind(offset, "seconds", DTC_JSON_INTEGER);
	if (seconds && !seconds->is_negative && seconds->value > (uint64_t)INT64_MAX)
		return dtc_ctf2_fail(parser, "a clock whose time is beyond what 64 bits hold");
	clock->offset_s = seconds ? (int64_t)seconds->value : 0;
	return dtc_ctf2_read_number(parser, offset, "cycles", 0, &clock->offset);
}

static bool read_clock(struct reader *reader, const struct dtc_json *fragment)
{
	struct dtc_clock_declaration *clock = dtc_ctf2_take(&reader->parser, 1, sizeof(*clock));
	const char *id = dtc_json_find_text(fragment, "id"), *name = dtc_json_find_text(fragment, "name"), *copy;
	const struct dtc_json *uid = dtc_json_find_kind(fragment, "uid", DTC_JSON_TEXT);
	const struct dtc_json *offset = dtc_json_find_kind(fragment, "offset-from-origin", DTC_JSON_OBJECT);
	note_own(reader, PART_IGNORED, dtc_json_find(fragment, "uuid"));
	note_own(reader, PART_IGNORED, dtc_json_find(fragment, "origin"));
	note_own(reader, PART_CLOCK_UUID, uid);
	note_own(reader, PART_CLOCK_OFFSET, offset);
	if (!clock || !dtc_ctf2_read_number(&reader->parser, fragment, "frequency", 1000000000, &clock->frequency) ||
	    !read_clock_offset(&reader->parser, offset, clock) ||
	    !dtc_ctf2_copy_text(&reader->parser, name, &clock->name) ||
	    !dtc_ctf2_copy_text(&reader->parser, uid ? uid->text : NULL, &clock->uuid) ||
	    !dtc_ctf2_copy_text(&reader->parser, id ? id : name, &copy))
		return false;
	if (clock->frequency == 0 || clock->frequency == UINT64_MAX)
		return dtc_ctf2_fail(&reader->parser, "a clock without a frequency");
	if (copy && g_hash_table_contains(reader->clock_ids, copy))
		return dtc_ctf2_fail(&reader->parser, "two clocks have the id '%s'", copy);
	g_ptr_array_add(reader->clocks, clock);
	if (copy)
		g_hash_table_insert(reader->clock_ids, (char *)copy, clock);
	return true;
}

/* ---- what is a node's own ---- */

static bool set_own(struct dtc_ctf2_parser *parser, const struct dtc_own_value *own, const struct dtc_json *value)
{
	static const enum dtc_json_kind kinds[] = { [PART_UUID] = DTC_JSON_ARRAY,
						    [PART_ENVIRONMENT] = DTC_JSON_OBJECT,
						    [PART_CLOCK_UUID] = DTC_JSON_TEXT,
						    [PART_CLOCK_OFFSET] = DTC_JSON_OBJECT };
	struct dtc_trace_declaration *declaration = parser->declaration;
	if (own->part != PART_IGNORED && value->kind != kinds[own->part])
		return false;
	switch ((enum part)own->part) {
	case PART_UUID:
		declaration->has_uuid = read_uuid(value, declaration->uuid);
		return true;
	case PART_ENVIRONMENT:
		return read_environment(parser, value);
	case PART_CLOCK_UUID:
		return dtc_ctf2_copy_text(parser, value->text, &declaration->clocks[own->clock].uuid);
	case PART_CLOCK_OFFSET:
		return read_clock_offset(parser, value, &declaration->clocks[own->clock]);
	case PART_IGNORED:
		break;
	}
	return true;
}

bool dtc_ctf2_read_own(struct dtc_trace_declaration *declaration, const struct dtc_own_value *value,
		       struct dtc_own_place *place)
{
	struct dtc_ctf2_parser parser = { .declaration = declaration, .arena = declaration->arena };
	g_autoptr(DtcArena) arena = dtc_arena_new(MAX_FRAGMENT_MEMORY);
	const char *text = place->text;
	const struct dtc_json *json = dtc_json_read_value(text + place->at, text + place->bytes, arena);
	bool is_sound = json && set_own(&parser, value, json);
	if (json)
		place->end = (gsize)(json->end - text);
	g_clear_error(&parser.error);
	return is_sound;
}

/* ---- streams and events ---- */

static bool find_clock(struct reader *reader, const char *id, const struct dtc_clock_declaration **ret_clock)
{
	*ret_clock = id ? g_hash_table_lookup(reader->clock_ids, id) : NULL;
	return !id || *ret_clock || dtc_ctf2_fail(&reader->parser, "the clock '%s' is not declared", id);
}

static bool read_stream(struct reader *reader, const struct dtc_json *fragment)
{
	GHashTable *streams = reader->parser.declaration->streams;
	struct dtc_stream_declaration *stream = dtc_ctf2_take(&reader->parser, 1, sizeof(*stream));
	const char *clock = dtc_json_find_text(fragment, "default-clock-class-id");
	if (!clock)
		clock = dtc_json_find_text(fragment, "default-clock-class-name");
	if (!stream || !dtc_ctf2_read_number(&reader->parser, fragment, "id", 0, &stream->id) ||
	    !find_clock(reader, clock, &stream->clock) ||
	    !read_part(reader, fragment, "packet-context-field-class", &stream->packet_context) ||
	    !read_part(reader, fragment, "event-record-header-field-class", &stream->event_header) ||
	    !read_part(reader, fragment, "event-record-common-context-field-class", &stream->common_context))
		return false;
	if (g_hash_table_contains(streams, &stream->id))
		return dtc_ctf2_fail(&reader->parser, "two streams have the id %" G_GUINT64_FORMAT, stream->id);
	stream->events = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_hash_table_insert(streams, &stream->id, stream);
	return true;
}

static bool read_event(struct reader *reader, const struct dtc_json *fragment)
{
	struct dtc_event_declaration *event = dtc_ctf2_take(&reader->parser, 1, sizeof(*event));
	uint64_t stream_id;
	if (!event || !dtc_ctf2_read_number(&reader->parser, fragment, "id", 0, &event->id) ||
	    !dtc_ctf2_read_number(&reader->parser, fragment, "data-stream-class-id", 0, &stream_id) ||
	    !dtc_ctf2_copy_text(&reader->parser, dtc_json_find_text(fragment, "name"), &event->name) ||
	    !read_part(reader, fragment, "specific-context-field-class", &event->context) ||
	    !read_part(reader, fragment, "payload-field-class", &event->payload))
		return false;
	struct dtc_stream_declaration *stream = g_hash_table_lookup(reader->parser.declaration->streams, &stream_id);
	if (!stream)
		return dtc_ctf2_fail(&reader->parser,
				     "an event is of the stream %" G_GUINT64_FORMAT ", which is not declared",
				     stream_id);
	if (g_hash_table_contains(stream->events, &event->id))
		return dtc_ctf2_fail(&reader->parser, "two events of a stream have the id %" G_GUINT64_FORMAT,
				     event->id);
	g_hash_table_insert(stream->events, &event->id, event);
	return true;
}

/* ---- fragments ---- */

static bool read_fragment(struct reader *reader, const struct dtc_json *fragment)
{
	static const struct {
		const char *type;
		bool (*read)(struct reader *reader, const struct dtc_json *fragment);
	} kinds[] = { { "preamble", read_preamble },	    { "trace-class", read_trace },
		      { "field-class-alias", read_alias },  { "clock-class", read_clock },
		      { "data-stream-class", read_stream }, { "event-record-class", read_event } };
	const char *type = dtc_json_find_text(fragment, "type");
	if (!type)
		return dtc_ctf2_fail(&reader->parser, "a fragment has no 'type'");
	if (!reader->has_preamble && strcmp(type, "preamble") != 0)
		return dtc_ctf2_fail(&reader->parser, "it does not begin with a preamble");
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(type, kinds[i].type) == 0)
			return kinds[i].read(reader, fragment);
	return dtc_ctf2_fail(&reader->parser, "the fragment '%s' is not known", type);
}

/* Errors name the line on which the fragment begins. */
static void place_error(struct reader *reader, const struct dtc_json_sequence *before)
{
	guint line = 1;
	const char *at = before->at;
	while (at < before->end && (g_ascii_isspace(*at) || *at == '\x1e'))
		at++;
	for (const char *c = before->begin; c < at; c++)
		line += *c == '\n';
	g_prefix_error(&reader->parser.error, "in the fragment that begins on line %u: ", line);
}

static bool read_fragments(struct reader *reader, const char *text, gsize bytes)
{
	struct dtc_json_sequence sequence = { text, text, text + bytes };
	g_autoptr(DtcArena) arena = dtc_arena_new(MAX_FRAGMENT_MEMORY);
	for (;; dtc_arena_clear(arena)) {
		struct dtc_json_sequence before = sequence;
		struct dtc_json *fragment;
		if (!dtc_json_next(&sequence, arena, &fragment, &reader->parser.error))
			break;
		if (reader->is_head && g_strcmp0(dtc_json_find_text(fragment, "type"), "event-record-class") == 0)
			break;
		if (read_fragment(reader, fragment))
			continue;
		place_error(reader, &before);
		return false;
	}
	return !reader->parser.error &&
	       (reader->has_preamble || dtc_ctf2_fail(&reader->parser, "it does not begin with a preamble"));
}

/* Streams have a clock where it was read, until all are in one array. */
static bool take_clocks(struct reader *reader)
{
	struct dtc_trace_declaration *declaration = reader->parser.declaration;
	g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL);
	GHashTableIter iter;
	void *value;
	declaration->clocks = dtc_ctf2_take(&reader->parser, reader->clocks->len, sizeof(*declaration->clocks));
	if (!declaration->clocks)
		return false;
	declaration->clock_count = reader->clocks->len;
	for (guint i = 0; i < reader->clocks->len; i++) {
		declaration->clocks[i] = *(const struct dtc_clock_declaration *)reader->clocks->pdata[i];
		g_hash_table_insert(places, reader->clocks->pdata[i], &declaration->clocks[i]);
	}
	g_hash_table_iter_init(&iter, declaration->streams);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct dtc_stream_declaration *stream = value;
		stream->clock = g_hash_table_lookup(places, stream->clock);
	}
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct dtc_own_value *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* The members of an object have any order. */
static bool take_own_values(struct reader *reader)
{
	struct dtc_trace_declaration *declaration = reader->parser.declaration;
	const GArray *values = reader->own_values;
	declaration->own_values = dtc_ctf2_take(&reader->parser, values->len, sizeof(struct dtc_own_value));
	if (!declaration->own_values)
		return false;
	declaration->own_count = values->len;
	if (values->len == 0)
		return true;
	memcpy(declaration->own_values, values->data, values->len * sizeof(struct dtc_own_value));
	qsort(declaration->own_values, values->len, sizeof(struct dtc_own_value), compare_places);
	return true;
}

static struct dtc_trace_declaration *parse(const char *text, gsize bytes, bool is_head, GError **error)
{
	struct dtc_trace_declaration *declaration = dtc_trace_declaration_new();
	struct reader reader = { .parser = { .declaration = declaration, .arena = declaration->arena } };
	reader.begin = text;
	reader.is_head = is_head;
	reader.own_values = g_array_new(FALSE, TRUE, sizeof(struct dtc_own_value));
	declaration->is_version_2 = true;
	reader.parser.aliases = g_hash_table_new(g_str_hash, g_str_equal);
	reader.clocks = g_ptr_array_new();
	reader.clock_ids = g_hash_table_new(g_str_hash, g_str_equal);
	bool is_sound = read_fragments(&reader, text, bytes) && take_clocks(&reader) && take_own_values(&reader);
	g_hash_table_unref(reader.parser.aliases);
	g_ptr_array_unref(reader.clocks);
	g_array_unref(reader.own_values);
	g_hash_table_unref(reader.clock_ids);
	if (is_sound)
		return declaration;
	g_propagate_error(error, reader.parser.error);
	dtc_trace_declaration_free(declaration);
	return NULL;
}

struct dtc_trace_declaration *dtc_ctf2_parse(const char *text, gsize bytes, GError **error)
{
	return parse(text, bytes, false, error);
}

struct dtc_trace_declaration *dtc_ctf2_parse_head(const char *text, gsize bytes)
{
	return parse(text, bytes, true, NULL);
}
