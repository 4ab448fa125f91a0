/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The types of TSDL (Common Trace Format 1.8.3, appendix C). A type is parsed once, where it is declared; its uses
 * share it. Names of fields that tell lengths and options are kept as they stand, and are looked up for each use.
 */
#include "collect/read/fast/tsdl_parser.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_PATH_BYTES 1000

/* ---- errors, names ---- */

bool dtc_tsdl_fail(struct dtc_tsdl_parser *parser, const char *format, ...)
{
	guint line, column;
	va_list arguments;
	if (parser->error)
		return false;
	va_start(arguments, format);
	g_autofree char *what = parser->tokens.token == DTC_TOKEN_BROKEN
					? g_strdup("a number beyond 64 bits, or a text or comment that is broken")
					: g_strdup_vprintf(format, arguments);
	va_end(arguments);
	dtc_tokens_locate(&parser->tokens, &line, &column);
	g_set_error(&parser->error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "line %u, column %u: %s", line, column, what);
	return false;
}

bool dtc_tsdl_expect(struct dtc_tsdl_parser *parser, const char *word)
{
	return dtc_tokens_skip(&parser->tokens, word) || dtc_tsdl_fail(parser, "expected '%s'", word);
}

void dtc_tsdl_begin(struct dtc_tsdl_parser *parser, DtcArena *arena, const char *text, gsize bytes)
{
	*parser = (struct dtc_tsdl_parser){ .arena = arena };
	parser->members = g_array_new(FALSE, FALSE, sizeof(struct dtc_type_member));
	parser->labels = g_array_new(FALSE, FALSE, sizeof(struct dtc_type_label));
	dtc_tokens_init(&parser->tokens, text, bytes);
}

void dtc_tsdl_end(struct dtc_tsdl_parser *parser)
{
	/* the names of blocks that were left in the middle */
	while (parser->names)
		dtc_tsdl_leave(parser);
	g_array_unref(parser->members);
	g_array_unref(parser->labels);
}

void dtc_tsdl_enter(struct dtc_tsdl_parser *parser, struct dtc_tsdl_names *names)
{
	*names = (struct dtc_tsdl_names){ parser->names, NULL };
	parser->names = names;
}

void dtc_tsdl_leave(struct dtc_tsdl_parser *parser)
{
	g_clear_pointer(&parser->names->types, g_hash_table_unref);
	parser->names = parser->names->outer;
}

static struct dtc_type *find_name(const struct dtc_tsdl_parser *parser, const char *name)
{
	for (const struct dtc_tsdl_names *names = parser->names; names; names = names->outer) {
		struct dtc_type *type = names->types ? g_hash_table_lookup(names->types, name) : NULL;
		if (type)
			return type;
	}
	return NULL;
}

static bool add_name(struct dtc_tsdl_parser *parser, const char *name, struct dtc_type *type)
{
	struct dtc_tsdl_names *names = parser->names;
	if (!names->types)
		names->types = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	/* each costs memory that is not the arena's */
	if (g_hash_table_size(names->types) >= 1u << 17)
		return dtc_tsdl_fail(parser, "there are too many names of types");
	if (g_hash_table_contains(names->types, name))
		return dtc_tsdl_fail(parser, "'%s' is declared twice", name);
	g_hash_table_insert(names->types, g_strdup(name), type);
	return true;
}

static void *take(struct dtc_tsdl_parser *parser, gsize count, gsize bytes)
{
	void *piece = dtc_arena_take_array(parser->arena, count, bytes);
	if (!piece)
		dtc_tsdl_fail(parser, "it declares more than there is room for");
	return piece;
}

static struct dtc_type *make_type(struct dtc_tsdl_parser *parser, enum dtc_type_kind kind)
{
	struct dtc_type *type = take(parser, 1, sizeof(*type));
	if (!type)
		return NULL;
	type->kind = (uint8_t)kind;
	type->align = 1;
	return type;
}

/* ---- words ---- */

bool dtc_tsdl_parse_number(struct dtc_tsdl_parser *parser, int64_t *ret_value, bool *ret_is_negative)
{
	bool is_negative = false;
	while (dtc_tokens_is(&parser->tokens, "-") || dtc_tokens_is(&parser->tokens, "+")) {
		is_negative ^= dtc_tokens_is(&parser->tokens, "-");
		dtc_tokens_next(&parser->tokens);
	}
	if (parser->tokens.token != DTC_TOKEN_NUMBER)
		return dtc_tsdl_fail(parser, "expected a number");
	*ret_value = (int64_t)(is_negative ? 0 - parser->tokens.value : parser->tokens.value);
	*ret_is_negative = is_negative;
	dtc_tokens_next(&parser->tokens);
	return true;
}

/* A digit of an escape in base 8 or 16; -1: it is none. */
static int get_digit(char c, int base)
{
	int digit = g_ascii_xdigit_value(c);
	return digit < base ? digit : -1;
}

/* C's escapes, which the tokens know to be some. Returns where the text goes on. */
static const char *take_escape(const char *at, const char *end, GString *to)
{
	static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
	const char *letter = strchr(letters, *at);
	int base = *at == 'x' ? 16 : 8, value = 0;
	if (*at != 'x' && get_digit(*at, 8) < 0) {
		g_string_append_c(to, letter ? meanings[letter - letters] : *at);
		return at + 1;
	}
	const char *first = *at == 'x' ? at + 1 : at;
	for (at = first; at < end && at < first + 3 && get_digit(*at, base) >= 0; at++)
		value = value * base + get_digit(*at, base);
	g_string_append_c(to, (char)value);
	return at;
}

static const char *take_text(struct dtc_tsdl_parser *parser, const char *text, gsize bytes)
{
	const char *copy = dtc_arena_take_text(parser->arena, text, bytes);
	if (!copy)
		dtc_tsdl_fail(parser, "it declares more than there is room for");
	return copy;
}

const char *dtc_tsdl_parse_text(struct dtc_tsdl_parser *parser)
{
	const struct dtc_tokens *tokens = &parser->tokens;
	const char *text = NULL;
	if (tokens->token == DTC_TOKEN_NAME ||
	    (tokens->token == DTC_TOKEN_TEXT && !memchr(tokens->text, '\\', tokens->bytes))) {
		text = take_text(parser, tokens->text, tokens->bytes);
	} else if (tokens->token == DTC_TOKEN_TEXT) {
		g_autoptr(GString) plain = g_string_new(NULL);
		const char *end = tokens->text + tokens->bytes;
		for (const char *at = tokens->text; at < end;) {
			bool is_escape = *at == '\\' && at + 1 < end;
			if (!is_escape)
				g_string_append_c(plain, *at);
			at = is_escape ? take_escape(at + 1, end, plain) : at + 1;
		}
		text = take_text(parser, plain->str, strlen(plain->str));
	} else {
		dtc_tsdl_fail(parser, "expected a text");
	}
	dtc_tokens_next(&parser->tokens);
	return text;
}

/* What a name of several words becomes. */
struct words {
	char text[MAX_PATH_BYTES + 1];
	gsize bytes;
};

/* False beyond a sensible length. */
static bool add_word(struct words *words, const char *separator, const struct dtc_tokens *tokens)
{
	gsize between = words->bytes ? strlen(separator) : 0;
	if (tokens->bytes + between > MAX_PATH_BYTES - words->bytes)
		return false;
	memcpy(words->text + words->bytes, separator, between);
	memcpy(words->text + words->bytes + between, tokens->text, tokens->bytes);
	words->bytes += between + tokens->bytes;
	words->text[words->bytes] = 0;
	return true;
}

const char *dtc_tsdl_parse_path(struct dtc_tsdl_parser *parser)
{
	struct dtc_tokens *tokens = &parser->tokens;
	struct words path = { .bytes = 0 };
	bool is_sound = true, is_open = true; /* a name must follow */
	while (is_open && is_sound && tokens->token == DTC_TOKEN_NAME) {
		is_sound = add_word(&path, ".", tokens);
		dtc_tokens_next(tokens);
		is_open = tokens->token == DTC_TOKEN_ARROW || dtc_tokens_is(tokens, ".");
		if (is_open)
			dtc_tokens_next(tokens);
	}
	if (is_open || !is_sound) {
		dtc_tsdl_fail(parser, "expected a name");
		return NULL;
	}
	return take_text(parser, path.text, path.bytes);
}

/* ---- references ---- */

static const struct {
	const char *prefix;
	enum dtc_type_scope scope;
} scopes[] = {
	{ "trace.packet.header.", DTC_SCOPE_PACKET_HEADER }, { "stream.packet.context.", DTC_SCOPE_PACKET_CONTEXT },
	{ "stream.event.header.", DTC_SCOPE_EVENT_HEADER },  { "stream.event.context.", DTC_SCOPE_COMMON_CONTEXT },
	{ "event.context.", DTC_SCOPE_SPECIFIC_CONTEXT },    { "event.fields.", DTC_SCOPE_PAYLOAD },
};

static const struct dtc_type_reference *parse_reference(struct dtc_tsdl_parser *parser)
{
	const char *path = dtc_tsdl_parse_path(parser);
	struct dtc_type_reference *reference = path ? take(parser, 1, sizeof(*reference)) : NULL;
	if (!reference)
		return NULL;
	for (gsize i = 0; i < G_N_ELEMENTS(scopes); i++) {
		if (!g_str_has_prefix(path, scopes[i].prefix))
			continue;
		reference->is_absolute = true;
		reference->scope = scopes[i].scope;
		path += strlen(scopes[i].prefix);
		break;
	}
	g_auto(GStrv) parts = g_strsplit(path, ".", -1);
	reference->count = g_strv_length(parts);
	const char **names = take(parser, reference->count, sizeof(*names));
	for (guint i = 0; names && i < reference->count; i++)
		names[i] = dtc_arena_take_text(parser->arena, parts[i], strlen(parts[i]));
	reference->names = names;
	return names && !dtc_arena_is_full(parser->arena) ? reference : NULL;
}

/* ---- attributes in braces ---- */

static bool parse_order(struct dtc_tsdl_parser *parser, uint8_t *ret_order)
{
	static const struct {
		const char *word;
		enum dtc_type_order order;
	} words[] = { { "native", DTC_ORDER_NATIVE },
		      { "be", DTC_ORDER_BIG },
		      { "network", DTC_ORDER_BIG },
		      { "le", DTC_ORDER_LITTLE },
		      { "none", DTC_ORDER_NATIVE } };
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!dtc_tokens_skip(&parser->tokens, words[i].word))
			continue;
		*ret_order = (uint8_t)words[i].order;
		return true;
	}
	return dtc_tsdl_fail(parser, "expected a byte order: le, be, network or native");
}

static bool parse_truth(struct dtc_tsdl_parser *parser, bool *ret_value)
{
	int64_t number = 0;
	bool is_negative;
	static const char *const yes[] = { "true", "TRUE" }, *const no[] = { "false", "FALSE" };
	for (gsize i = 0; i < G_N_ELEMENTS(yes); i++) {
		if (dtc_tokens_skip(&parser->tokens, yes[i]))
			return *ret_value = true;
		if (dtc_tokens_skip(&parser->tokens, no[i])) {
			*ret_value = false;
			return true;
		}
	}
	if (!dtc_tsdl_parse_number(parser, &number, &is_negative))
		return false;
	*ret_value = number != 0;
	return true;
}

static bool parse_limited(struct dtc_tsdl_parser *parser, uint32_t low, uint32_t high, uint32_t *ret_value)
{
	int64_t number;
	bool is_negative;
	if (!dtc_tsdl_parse_number(parser, &number, &is_negative))
		return false;
	if (is_negative || (uint64_t)number < low || (uint64_t)number > high)
		return dtc_tsdl_fail(parser, "expected a number from %u to %u", low, high);
	*ret_value = (uint32_t)number;
	return true;
}

static bool parse_align(struct dtc_tsdl_parser *parser, uint32_t *ret_align)
{
	if (!parse_limited(parser, 1, 1u << 16, ret_align))
		return false;
	return (*ret_align & (*ret_align - 1)) == 0 || dtc_tsdl_fail(parser, "an alignment is a power of two");
}

static bool parse_base(struct dtc_tsdl_parser *parser, uint8_t *ret_base)
{
	static const struct {
		const char *word;
		uint8_t base;
	} words[] = { { "decimal", 10 },     { "dec", 10 }, { "d", 10 }, { "i", 10 },	  { "u", 10 },
		      { "hexadecimal", 16 }, { "hex", 16 }, { "x", 16 }, { "X", 16 },	  { "p", 16 },
		      { "octal", 8 },	     { "oct", 8 },  { "o", 8 },	 { "binary", 2 }, { "b", 2 } };
	uint32_t base = 0;
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (!dtc_tokens_skip(&parser->tokens, words[i].word))
			continue;
		*ret_base = words[i].base;
		return true;
	}
	if (!parse_limited(parser, 2, 36, &base))
		return false;
	*ret_base = (uint8_t)base;
	return true;
}

static bool parse_encoding(struct dtc_tsdl_parser *parser, bool *ret_is_text)
{
	*ret_is_text = !dtc_tokens_is(&parser->tokens, "none");
	if (parser->tokens.token != DTC_TOKEN_NAME && parser->tokens.token != DTC_TOKEN_TEXT)
		return dtc_tsdl_fail(parser, "expected an encoding");
	dtc_tokens_next(&parser->tokens);
	return true;
}

/* The value of an attribute that we do not need, up to its semicolon. */
static bool skip_value(struct dtc_tsdl_parser *parser)
{
	while (parser->tokens.token != DTC_TOKEN_END && parser->tokens.token != DTC_TOKEN_BROKEN &&
	       !dtc_tokens_is(&parser->tokens, ";") && !dtc_tokens_is(&parser->tokens, "}"))
		dtc_tokens_next(&parser->tokens);
	return true;
}

/* "clock.NAME.value" */
static bool parse_map(struct dtc_tsdl_parser *parser, const char **ret_clock)
{
	const char *path = dtc_tsdl_parse_path(parser);
	if (!path)
		return false;
	if (!g_str_has_prefix(path, "clock.") || !g_str_has_suffix(path, ".value") ||
	    strlen(path) <= strlen("clock..value"))
		return dtc_tsdl_fail(parser, "expected 'clock.NAME.value'");
	path += strlen("clock.");
	*ret_clock = dtc_arena_take_text(parser->arena, path, strlen(path) - strlen(".value"));
	return *ret_clock || dtc_tsdl_fail(parser, "it declares more than there is room for");
}

struct attributes {
	struct dtc_type *type;
	uint32_t exponent, mantissa;
	bool has_align;
};

/* "KEY = ": of one that is not followed by a value the error is kept. */
static bool take_key(struct dtc_tsdl_parser *parser, const char *key)
{
	return dtc_tokens_skip(&parser->tokens, key) && (dtc_tsdl_expect(parser, "=") || parser->error);
}

static bool parse_attribute(struct dtc_tsdl_parser *parser, struct attributes *attributes)
{
	struct dtc_type *type = attributes->type;
	if (take_key(parser, "size"))
		return parse_limited(parser, 1, 64, &type->bits);
	if (take_key(parser, "align")) {
		attributes->has_align = true;
		return parse_align(parser, &type->align);
	}
	if (take_key(parser, "signed"))
		return parse_truth(parser, &type->is_signed);
	if (take_key(parser, "byte_order"))
		return parse_order(parser, &type->order);
	if (take_key(parser, "base"))
		return parse_base(parser, &type->base);
	if (take_key(parser, "encoding"))
		return parse_encoding(parser, &type->is_text);
	if (take_key(parser, "exp_dig"))
		return parse_limited(parser, 1, 64, &attributes->exponent);
	if (take_key(parser, "mant_dig"))
		return parse_limited(parser, 1, 64, &attributes->mantissa);
	if (take_key(parser, "map")) {
		type->role = DTC_ROLE_CLOCK;
		return parse_map(parser, &type->clock);
	}
	return dtc_tsdl_parse_path(parser) && dtc_tsdl_expect(parser, "=") && skip_value(parser);
}

static bool parse_attributes(struct dtc_tsdl_parser *parser, struct attributes *attributes)
{
	if (!dtc_tsdl_expect(parser, "{"))
		return false;
	while (!dtc_tokens_is(&parser->tokens, "}"))
		if (!parse_attribute(parser, attributes) || parser->error || !dtc_tsdl_expect(parser, ";"))
			return false;
	dtc_tokens_next(&parser->tokens);
	return true;
}

static struct dtc_type *parse_integer(struct dtc_tsdl_parser *parser)
{
	struct attributes attributes = { .type = make_type(parser, DTC_TYPE_INTEGER) };
	struct dtc_type *type = attributes.type;
	if (!type || !parse_attributes(parser, &attributes))
		return NULL;
	if (type->bits == 0) {
		dtc_tsdl_fail(parser, "an integer without a size");
		return NULL;
	}
	if (!attributes.has_align) /* bytes are aligned by themselves */
		type->align = type->bits % 8 == 0 ? 8 : 1;
	return type;
}

static struct dtc_type *parse_float(struct dtc_tsdl_parser *parser)
{
	struct attributes attributes = { .type = make_type(parser, DTC_TYPE_FLOAT) };
	struct dtc_type *type = attributes.type;
	if (!type || !parse_attributes(parser, &attributes))
		return NULL;
	type->bits = attributes.exponent + attributes.mantissa;
	if (type->bits != 32 && type->bits != 64) {
		dtc_tsdl_fail(parser, "a floating point number of %u bits", type->bits);
		return NULL;
	}
	if (!attributes.has_align)
		type->align = 8;
	return type;
}

static struct dtc_type *parse_string(struct dtc_tsdl_parser *parser)
{
	struct attributes attributes = { .type = make_type(parser, DTC_TYPE_STRING) };
	if (!attributes.type || (dtc_tokens_is(&parser->tokens, "{") && !parse_attributes(parser, &attributes)))
		return NULL;
	attributes.type->align = 8;
	return attributes.type;
}

/* ---- enumerations ---- */

static bool parse_label(struct dtc_tsdl_parser *parser, int64_t *next)
{
	struct dtc_type_label label = { .name = dtc_tsdl_parse_text(parser) };
	bool is_negative;
	if (!label.name)
		return false;
	label.range.low = label.range.high = *next;
	if (dtc_tokens_skip(&parser->tokens, "=")) {
		if (!dtc_tsdl_parse_number(parser, &label.range.low, &is_negative))
			return false;
		label.range.high = label.range.low;
		if (parser->tokens.token == DTC_TOKEN_DOTS) {
			dtc_tokens_next(&parser->tokens);
			if (!dtc_tsdl_parse_number(parser, &label.range.high, &is_negative))
				return false;
		}
	}
	*next = (int64_t)((uint64_t)label.range.high + 1);
	g_array_append_val(parser->labels, label);
	return true;
}

static bool parse_labels(struct dtc_tsdl_parser *parser, struct dtc_type *type)
{
	GArray *labels = g_array_set_size(parser->labels, 0); /* enumerations do not nest */
	int64_t next = 0;
	dtc_tokens_next(&parser->tokens); /* the brace */
	while (!dtc_tokens_is(&parser->tokens, "}")) {
		if (!parse_label(parser, &next))
			return false;
		if (!dtc_tokens_skip(&parser->tokens, ",") && !dtc_tokens_is(&parser->tokens, "}"))
			return dtc_tsdl_fail(parser, "expected ',' or '}'");
	}
	dtc_tokens_next(&parser->tokens);
	struct dtc_type_label *copy = take(parser, labels->len, sizeof(*copy));
	if (!copy)
		return false;
	for (guint i = 0; i < labels->len; i++) {
		copy[i] = g_array_index(labels, struct dtc_type_label, i);
		copy[i].range.is_unsigned = !type->is_signed;
	}
	type->labels = copy;
	type->label_count = labels->len;
	return true;
}

/* After "enum": NAME, : TYPE, { LABELS }, each of which may be missing. */
static struct dtc_type *parse_enum(struct dtc_tsdl_parser *parser)
{
	g_autofree char *key = NULL;
	if (parser->tokens.token == DTC_TOKEN_NAME) {
		key = g_strdup_printf("enum %.*s", (int)MIN(parser->tokens.bytes, MAX_PATH_BYTES), parser->tokens.text);
		dtc_tokens_next(&parser->tokens);
	}
	if (key && !dtc_tokens_is(&parser->tokens, ":") && !dtc_tokens_is(&parser->tokens, "{")) {
		struct dtc_type *known = find_name(parser, key);
		if (!known)
			dtc_tsdl_fail(parser, "'%s' is not declared", key);
		return known;
	}
	struct dtc_type *base =
		dtc_tokens_skip(&parser->tokens, ":") ? dtc_tsdl_parse_type(parser) : find_name(parser, "int");
	if (!base || base->kind != DTC_TYPE_INTEGER) {
		dtc_tsdl_fail(parser, "an enumeration is of an integer type");
		return NULL;
	}
	struct dtc_type *type = make_type(parser, DTC_TYPE_INTEGER);
	if (!type || !dtc_tokens_is(&parser->tokens, "{")) {
		dtc_tsdl_fail(parser, "expected '{'");
		return NULL;
	}
	*type = *base;
	type->is_enum = true;
	if (!parse_labels(parser, type) || (key && !add_name(parser, key, type)))
		return NULL;
	return type;
}

/* ---- structures and variants ---- */

/* "[5]" or "[name]" behind the name of a member: the innermost is the last. */
static struct dtc_type *parse_lengths(struct dtc_tsdl_parser *parser, struct dtc_type *element)
{
	int64_t length = 0;
	bool is_negative;
	if (!dtc_tokens_skip(&parser->tokens, "["))
		return element;
	if (++parser->depth > DTC_METADATA_MAX_DEPTH) {
		dtc_tsdl_fail(parser, "types are nested too deep");
		return NULL;
	}
	bool is_fixed = parser->tokens.token == DTC_TOKEN_NUMBER;
	struct dtc_type *type = make_type(parser, is_fixed ? DTC_TYPE_ARRAY : DTC_TYPE_SEQUENCE);
	if (!type)
		return NULL;
	if (is_fixed && dtc_tsdl_parse_number(parser, &length, &is_negative))
		type->length = (uint64_t)length;
	else if (!is_fixed)
		type->reference = parse_reference(parser);
	if (parser->error || (!is_fixed && !type->reference) || !dtc_tsdl_expect(parser, "]"))
		return NULL;
	type->element = parse_lengths(parser, element);
	parser->depth--;
	if (!type->element)
		return NULL;
	type->is_text = type->element->kind == DTC_TYPE_INTEGER && type->element->is_text && type->element->bits == 8 &&
			type->element->align == 8;
	return type;
}

/* "a, b[5];" */
static bool parse_declarators(struct dtc_tsdl_parser *parser, struct dtc_type *type)
{
	do {
		if (parser->tokens.token != DTC_TOKEN_NAME)
			return dtc_tsdl_fail(parser, "expected the name of a member");
		struct dtc_type_member member = { .name = dtc_tsdl_parse_text(parser) };
		member.type = member.name ? parse_lengths(parser, type) : NULL;
		if (!member.type)
			return false;
		g_array_append_val(parser->members, member);
	} while (dtc_tokens_skip(&parser->tokens, ","));
	return dtc_tsdl_expect(parser, ";");
}

static bool parse_member(struct dtc_tsdl_parser *parser)
{
	if (dtc_tsdl_is_alias(parser))
		return dtc_tsdl_parse_alias(parser);
	struct dtc_type *type = dtc_tsdl_parse_type(parser);
	if (!type)
		return false;
	return dtc_tokens_skip(&parser->tokens, ";") || /* "struct x {...};" declares a type alone */
	       parse_declarators(parser, type);
}

static bool parse_members(struct dtc_tsdl_parser *parser, struct dtc_type *type)
{
	struct dtc_tsdl_names names;
	guint before = parser->members->len;
	bool is_sound = dtc_tsdl_expect(parser, "{");
	dtc_tsdl_enter(parser, &names);
	while (is_sound && !dtc_tokens_is(&parser->tokens, "}"))
		is_sound = parse_member(parser);
	dtc_tsdl_leave(parser);
	dtc_tokens_next(&parser->tokens);
	guint count = parser->members->len - before;
	type->members = is_sound ? take(parser, count, sizeof(*type->members)) : NULL;
	if (!type->members)
		return false;
	if (count)
		memcpy(type->members, &g_array_index(parser->members, struct dtc_type_member, before),
		       count * sizeof(*type->members));
	type->member_count = count;
	g_array_set_size(parser->members, before);
	const char *twice = dtc_type_find_twice(type);
	return !twice || dtc_tsdl_fail(parser, "two members are called '%s'", twice);
}

static bool parse_struct_align(struct dtc_tsdl_parser *parser, struct dtc_type *type)
{
	if (!dtc_tokens_skip(&parser->tokens, "align"))
		return true;
	return dtc_tsdl_expect(parser, "(") && parse_align(parser, &type->align) && dtc_tsdl_expect(parser, ")");
}

/* After "struct": NAME, { MEMBERS } align(N); one of the two first may be missing. */
static struct dtc_type *parse_struct(struct dtc_tsdl_parser *parser)
{
	g_autofree char *key = NULL;
	if (parser->tokens.token == DTC_TOKEN_NAME) {
		key = g_strdup_printf("struct %.*s", (int)MIN(parser->tokens.bytes, MAX_PATH_BYTES),
				      parser->tokens.text);
		dtc_tokens_next(&parser->tokens);
	}
	if (key && !dtc_tokens_is(&parser->tokens, "{")) {
		struct dtc_type *known = find_name(parser, key);
		if (!known)
			dtc_tsdl_fail(parser, "'%s' is not declared", key);
		return known;
	}
	struct dtc_type *type = make_type(parser, DTC_TYPE_STRUCT);
	if (!type || !parse_members(parser, type) || !parse_struct_align(parser, type) ||
	    (key && !add_name(parser, key, type)))
		return NULL;
	return type;
}

/* After "variant": NAME, <TAG>, { OPTIONS }. A variant that is declared may get its tag where it is used. */
static struct dtc_type *parse_variant(struct dtc_tsdl_parser *parser)
{
	g_autofree char *key = NULL;
	const struct dtc_type_reference *tag = NULL;
	if (parser->tokens.token == DTC_TOKEN_NAME) {
		key = g_strdup_printf("variant %.*s", (int)MIN(parser->tokens.bytes, MAX_PATH_BYTES),
				      parser->tokens.text);
		dtc_tokens_next(&parser->tokens);
	}
	if (dtc_tokens_skip(&parser->tokens, "<") &&
	    (!(tag = parse_reference(parser)) || !dtc_tsdl_expect(parser, ">")))
		return NULL;
	struct dtc_type *type = make_type(parser, DTC_TYPE_VARIANT);
	if (!type)
		return NULL;
	if (dtc_tokens_is(&parser->tokens, "{")) {
		type->reference = tag;
		return parse_members(parser, type) && (!key || add_name(parser, key, type)) ? type : NULL;
	}
	const struct dtc_type *known = key ? find_name(parser, key) : NULL;
	if (!known) {
		dtc_tsdl_fail(parser, "'%s' is not declared", key ? key : "variant");
		return NULL;
	}
	*type = *known;
	if (tag)
		type->reference = tag;
	return type;
}

/* ---- names of types ---- */

/* "void *", if that is declared; the tokens stand behind "void". NULL: it is not. */
static struct dtc_type *parse_pointer(struct dtc_tsdl_parser *parser, struct words *name)
{
	struct dtc_type *found = NULL;
	while (dtc_tokens_is(&parser->tokens, "*") && add_word(name, " ", &parser->tokens)) {
		dtc_tokens_next(&parser->tokens);
		found = find_name(parser, name->text);
	}
	return found;
}

/*
 * "unsigned long events_discarded": all but the last word are the type, unless what follows is no name of a member, as
 * behind ":=" and ":".
 */
static struct dtc_type *parse_named(struct dtc_tsdl_parser *parser)
{
	struct dtc_tokens *tokens = &parser->tokens;
	struct words name = { .bytes = 0 };
	struct dtc_type *found = NULL;
	while (tokens->token == DTC_TOKEN_NAME) {
		struct dtc_tokens before = *tokens;
		gsize bytes = name.bytes;
		if (!add_word(&name, " ", tokens))
			break;
		dtc_tokens_next(tokens);
		if (tokens->token != DTC_TOKEN_NAME && bytes && found) { /* the member's name */
			*tokens = before;
			name.text[name.bytes = bytes] = 0;
			break;
		}
		found = find_name(parser, name.text);
	}
	if (dtc_tokens_is(tokens, "*"))
		found = parse_pointer(parser, &name);
	if (!found)
		dtc_tsdl_fail(parser, "the type '%s' is not declared", name.text);
	return found;
}

static struct dtc_type *parse_specifier(struct dtc_tsdl_parser *parser)
{
	struct dtc_tokens *tokens = &parser->tokens;
	while (dtc_tokens_skip(tokens, "const"))
		;
	if (dtc_tokens_skip(tokens, "integer"))
		return parse_integer(parser);
	if (dtc_tokens_skip(tokens, "floating_point"))
		return parse_float(parser);
	if (dtc_tokens_skip(tokens, "string"))
		return parse_string(parser);
	if (dtc_tokens_skip(tokens, "enum"))
		return parse_enum(parser);
	if (dtc_tokens_skip(tokens, "struct"))
		return parse_struct(parser);
	if (dtc_tokens_skip(tokens, "variant"))
		return parse_variant(parser);
	return parse_named(parser);
}

struct dtc_type *dtc_tsdl_parse_type(struct dtc_tsdl_parser *parser)
{
	if (++parser->depth > DTC_METADATA_MAX_DEPTH) {
		dtc_tsdl_fail(parser, "types are nested too deep");
		return NULL;
	}
	struct dtc_type *type = parse_specifier(parser);
	parser->depth--;
	return parser->error ? NULL : type;
}

bool dtc_tsdl_is_alias(const struct dtc_tsdl_parser *parser)
{
	return dtc_tokens_is(&parser->tokens, "typealias") || dtc_tokens_is(&parser->tokens, "typedef");
}

/* "unsigned long" or "foo *" up to the semicolon, words apart by a space. */
static bool parse_alias_name(struct dtc_tsdl_parser *parser, struct dtc_type *type)
{
	struct words name = { .bytes = 0 };
	struct dtc_tokens *tokens = &parser->tokens;
	while ((tokens->token == DTC_TOKEN_NAME || dtc_tokens_is(tokens, "*")) && add_word(&name, " ", tokens))
		dtc_tokens_next(tokens);
	if (name.bytes == 0)
		return dtc_tsdl_fail(parser, "expected the name of a type");
	type = parse_lengths(parser, type);
	return type && add_name(parser, name.text, type);
}

bool dtc_tsdl_parse_alias(struct dtc_tsdl_parser *parser)
{
	bool is_alias = dtc_tokens_is(&parser->tokens, "typealias");
	dtc_tokens_next(&parser->tokens);
	struct dtc_type *type = dtc_tsdl_parse_type(parser);
	if (!type)
		return false;
	if (is_alias && parser->tokens.token != DTC_TOKEN_ASSIGN)
		return dtc_tsdl_fail(parser, "expected ':='");
	if (is_alias)
		dtc_tokens_next(&parser->tokens);
	return parse_alias_name(parser, type) && dtc_tsdl_expect(parser, ";");
}
