/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The field classes of CTF 2 (CTF2-SPEC-2.0, section 5.3). Kinds that are the same for a decoder are one: bit arrays,
 * bit maps and booleans are integers, BLOBs and texts whose length is told are arrays of bytes. The names of
 * enumerations and clocks in the drafts of the specification are understood, too: tracers wrote them.
 */
#include "collect/read/fast/ctf2_parser.h"

#include "dtrace-chain/error.h"

#include <string.h>

/* ---- errors, values ---- */

bool dtc_ctf2_fail(struct dtc_ctf2_parser *parser, const char *format, ...)
{
	va_list arguments;
	if (parser->error)
		return false;
	va_start(arguments, format);
	g_autofree char *what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	parser->error = g_error_new_literal(DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, what);
	return false;
}

void *dtc_ctf2_take(struct dtc_ctf2_parser *parser, gsize count, gsize bytes)
{
	void *piece = dtc_arena_take_array(parser->arena, count, bytes);
	if (!piece)
		dtc_ctf2_fail(parser, "it declares more than there is room for");
	return piece;
}

bool dtc_ctf2_copy_text(struct dtc_ctf2_parser *parser, const char *text, const char **ret_copy)
{
	*ret_copy = text ? dtc_arena_take_text(parser->arena, text, strlen(text)) : NULL;
	return !text || *ret_copy || dtc_ctf2_fail(parser, "it declares more than there is room for");
}

bool dtc_ctf2_read_number(struct dtc_ctf2_parser *parser, const struct dtc_json *object, const char *name,
			  uint64_t missing, uint64_t *ret_number)
{
	const struct dtc_json *number = dtc_json_find(object, name);
	*ret_number = missing;
	if (!number)
		return true;
	if (number->kind != DTC_JSON_INTEGER || number->is_negative)
		return dtc_ctf2_fail(parser, "'%s' is no number from 0 to 2^64 - 1", name);
	*ret_number = number->value;
	return true;
}

static bool read_limited(struct dtc_ctf2_parser *parser, const struct dtc_json *object, const char *name, uint64_t low,
			 uint64_t high, uint64_t *ret_number)
{
	if (!dtc_json_find(object, name))
		return dtc_ctf2_fail(parser, "a field class has no '%s'", name);
	return dtc_ctf2_read_number(parser, object, name, 0, ret_number) &&
	       ((*ret_number >= low && *ret_number <= high) ||
		dtc_ctf2_fail(parser, "'%s' is not from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, name, low, high));
}

static bool read_align(struct dtc_ctf2_parser *parser, const struct dtc_json *class, const char *name,
		       struct dtc_type *type)
{
	uint64_t align;
	if (!dtc_ctf2_read_number(parser, class, name, type->align, &align))
		return false;
	if (align == 0 || align > 1u << 16 || (align & (align - 1)) != 0)
		return dtc_ctf2_fail(parser, "'%s' is no power of two from 1 to 65536", name);
	type->align = (uint32_t)align;
	return true;
}

/* ---- roles, ranges, locations ---- */

static void read_roles(const struct dtc_json *class, struct dtc_type *type)
{
	static const struct {
		const char *name;
		enum dtc_type_role role;
	} names[] = {
		{ "packet-magic-number", DTC_ROLE_MAGIC },
		{ "metadata-stream-uuid", DTC_ROLE_UUID },
		{ "data-stream-class-id", DTC_ROLE_STREAM_CLASS },
		{ "data-stream-id", DTC_ROLE_STREAM },
		{ "event-record-class-id", DTC_ROLE_EVENT_CLASS },
		{ "default-clock-timestamp", DTC_ROLE_CLOCK },
		{ "packet-end-default-clock-timestamp", DTC_ROLE_PACKET_END },
		{ "packet-total-length", DTC_ROLE_PACKET_BITS },
		{ "packet-content-length", DTC_ROLE_CONTENT_BITS },
		{ "packet-sequence-number", DTC_ROLE_SEQUENCE },
		{ "discarded-event-record-counter-snapshot", DTC_ROLE_DISCARDED },
	};
	const struct dtc_json *roles = dtc_json_find_kind(class, "roles", DTC_JSON_ARRAY);
	for (const struct dtc_json *role = roles ? roles->first : NULL; role; role = role->next)
		for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
			if (role->kind == DTC_JSON_TEXT && strcmp(role->text, names[i].name) == 0)
				type->role = (uint8_t)names[i].role;
}

/* [low, high] */
static bool read_range(struct dtc_ctf2_parser *parser, const struct dtc_json *from, struct dtc_type_range *ret_range)
{
	if (from->kind != DTC_JSON_ARRAY || from->count != 2 || from->first->kind != DTC_JSON_INTEGER ||
	    from->first->next->kind != DTC_JSON_INTEGER)
		return dtc_ctf2_fail(parser, "a range is two numbers");
	ret_range->low = (int64_t)from->first->value;
	ret_range->high = (int64_t)from->first->next->value;
	ret_range->is_unsigned = !from->first->is_negative;
	bool is_turned = from->first->is_negative
				 ? !from->first->next->is_negative ? from->first->next->value > (uint64_t)INT64_MAX
								   : ret_range->low > ret_range->high
				 : from->first->next->is_negative || from->first->value > from->first->next->value;
	return !is_turned || dtc_ctf2_fail(parser, "a range ends before it begins");
}

static bool read_ranges(struct dtc_ctf2_parser *parser, const struct dtc_json *list,
			const struct dtc_type_range **ret_ranges, guint *ret_count)
{
	struct dtc_type_range *ranges = dtc_ctf2_take(parser, list->count, sizeof(*ranges));
	guint count = 0;
	for (const struct dtc_json *range = list->first; ranges && range; range = range->next)
		if (!read_range(parser, range, &ranges[count++]))
			return false;
	*ret_ranges = ranges;
	*ret_count = count;
	return ranges != NULL;
}

/* {"name": [[low, high], ...], ...} */
static bool read_labels(struct dtc_ctf2_parser *parser, const struct dtc_json *mappings, struct dtc_type *type)
{
	guint count = 0;
	for (const struct dtc_json *label = mappings->first; label; label = label->next)
		count += label->count;
	struct dtc_type_label *labels = dtc_ctf2_take(parser, count, sizeof(*labels));
	for (const struct dtc_json *label = mappings->first; labels && label; label = label->next) {
		const char *name;
		if (label->kind != DTC_JSON_ARRAY)
			return dtc_ctf2_fail(parser, "the name '%s' has no ranges", label->name);
		if (!dtc_ctf2_copy_text(parser, label->name, &name))
			return false;
		for (const struct dtc_json *range = label->first; range; range = range->next) {
			struct dtc_type_label *to = &labels[type->label_count++];
			to->name = name;
			if (!read_range(parser, range, &to->range))
				return false;
			to->range.is_unsigned = !type->is_signed;
		}
	}
	type->labels = labels;
	return labels != NULL;
}

static bool read_origin(struct dtc_ctf2_parser *parser, const char *origin, struct dtc_type_reference *reference)
{
	static const char *const origins[DTC_SCOPES] = { "packet-header",
							 "packet-context",
							 "event-record-header",
							 "event-record-common-context",
							 "event-record-specific-context",
							 "event-record-payload" };
	for (guint i = 0; i < DTC_SCOPES; i++) {
		if (strcmp(origin, origins[i]) != 0)
			continue;
		reference->is_absolute = true;
		reference->scope = (enum dtc_type_scope)i;
		return true;
	}
	return dtc_ctf2_fail(parser, "a field location begins in '%s', which is not known", origin);
}

/* A null leads out of the structure that the path is in. */
static bool read_path(struct dtc_ctf2_parser *parser, const struct dtc_json *path, struct dtc_type_reference *reference)
{
	guint left = path->count;
	const char **names = dtc_ctf2_take(parser, left, sizeof(*names));
	reference->names = names;
	for (const struct dtc_json *part = path->first; names && part; part = part->next) {
		if (part->kind == DTC_JSON_TEXT) {
			if (!dtc_ctf2_copy_text(parser, part->text, &names[reference->count++]))
				return false;
		} else if (part->kind != DTC_JSON_NULL || (reference->is_absolute && reference->count == 0)) {
			return dtc_ctf2_fail(parser, "a field location has a part that is no name");
		} else if (reference->count > 0) {
			reference->count--;
		} else {
			reference->outward++;
		}
	}
	return names && (reference->count > 0 || dtc_ctf2_fail(parser, "a field location without a path"));
}

/* An object with "path" and perhaps "origin"; in drafts an array that begins with the origin. */
static bool read_location(struct dtc_ctf2_parser *parser, const struct dtc_json *class, const char *name,
			  struct dtc_type *type)
{
	const struct dtc_json *location = dtc_json_find(class, name);
	struct dtc_type_reference *reference = dtc_ctf2_take(parser, 1, sizeof(*reference));
	const struct dtc_json *path = dtc_json_find_kind(location, "path", DTC_JSON_ARRAY);
	const char *origin = dtc_json_find_text(location, "origin");
	struct dtc_json rest;
	if (!reference)
		return false;
	if (location && location->kind == DTC_JSON_ARRAY && location->first && location->first->kind == DTC_JSON_TEXT) {
		rest = *location;
		rest.first = location->first->next;
		rest.count = location->count - 1;
		path = &rest;
		origin = location->first->text;
	}
	if (!path)
		return dtc_ctf2_fail(parser, "a field class has no '%s'", name);
	reference->is_exact = true;
	type->reference = reference;
	return (!origin || read_origin(parser, origin, reference)) && read_path(parser, path, reference);
}

/* ---- numbers ---- */

static bool read_orders(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	const char *bytes = dtc_json_find_text(class, "byte-order"), *bits = dtc_json_find_text(class, "bit-order");
	bool is_big = g_strcmp0(bytes, "big-endian") == 0;
	if (!is_big && g_strcmp0(bytes, "little-endian") != 0)
		return dtc_ctf2_fail(parser, "a field class has no byte order that is known");
	type->order = is_big ? DTC_ORDER_BIG : DTC_ORDER_LITTLE;
	if (!bits)
		return true;
	bool is_last_first = strcmp(bits, "last-to-first") == 0;
	if (!is_last_first && strcmp(bits, "first-to-last") != 0)
		return dtc_ctf2_fail(parser, "the bit order '%s' is not known", bits);
	type->is_reversed = is_last_first != is_big;
	return true;
}

static bool read_fixed(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	uint64_t bits = 0;
	if (!read_limited(parser, class, "length", 1, 64, &bits) || !read_orders(parser, class, type) ||
	    !read_align(parser, class, "alignment", type))
		return false;
	type->bits = (uint32_t)bits;
	return true;
}

static bool read_integer(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	uint64_t base;
	const struct dtc_json *mappings = dtc_json_find_kind(class, "mappings", DTC_JSON_OBJECT);
	if (!dtc_ctf2_read_number(parser, class, "preferred-display-base", 0, &base))
		return false;
	type->base = (uint8_t)MIN(base, 36);
	type->is_enum = mappings && mappings->count > 0;
	read_roles(class, type);
	return !mappings || read_labels(parser, mappings, type);
}

static bool read_fixed_integer(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_fixed(parser, class, type) && read_integer(parser, class, type);
}

static bool read_signed(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_signed = true;
	return read_fixed_integer(parser, class, type);
}

static bool read_boolean(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_boolean = true;
	return read_fixed(parser, class, type);
}

static bool read_bit_map(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	const struct dtc_json *flags = dtc_json_find_kind(class, "flags", DTC_JSON_OBJECT);
	type->is_bit_map = true;
	return read_fixed(parser, class, type) &&
	       (flags ? read_labels(parser, flags, type) : dtc_ctf2_fail(parser, "a bit map has no 'flags'"));
}

static bool read_float(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_fixed(parser, class, type) &&
	       (type->bits == 16 || type->bits == 32 || type->bits == 64 ||
		dtc_ctf2_fail(parser, "floating point numbers of %u bits are not known", type->bits));
}

static bool read_varint(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->align = 8;
	return read_integer(parser, class, type);
}

static bool read_signed_varint(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_signed = true;
	return read_varint(parser, class, type);
}

/* ---- texts and BLOBs ---- */

static bool read_encoding(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	static const struct {
		const char *name;
		uint8_t bytes;
		enum dtc_type_order order;
	} encodings[] = { { "utf-8", 1, DTC_ORDER_LITTLE },
			  { "utf-16le", 2, DTC_ORDER_LITTLE },
			  { "utf-16be", 2, DTC_ORDER_BIG },
			  { "utf-32le", 4, DTC_ORDER_LITTLE },
			  { "utf-32be", 4, DTC_ORDER_BIG } };
	const char *encoding = dtc_json_find_text(class, "encoding");
	type->unit_bytes = 1;
	for (gsize i = 0; encoding && i < G_N_ELEMENTS(encodings); i++) {
		if (strcmp(encoding, encodings[i].name) != 0)
			continue;
		type->unit_bytes = encodings[i].bytes;
		type->order = (uint8_t)encodings[i].order;
		return true;
	}
	return !encoding || dtc_ctf2_fail(parser, "the encoding '%s' is not known", encoding);
}

static bool read_string(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->align = 8;
	return read_encoding(parser, class, type);
}

static bool set_bytes(struct dtc_ctf2_parser *parser, struct dtc_type *type)
{
	if (!parser->byte && (parser->byte = dtc_ctf2_take(parser, 1, sizeof(*parser->byte))))
		*parser->byte = (struct dtc_type){ .kind = DTC_TYPE_INTEGER, .bits = 8, .align = 8 };
	type->align = 8;
	type->element = parser->byte;
	return parser->byte != NULL;
}

static bool read_static_length(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_limited(parser, class, "length", 0, UINT64_MAX, &type->length);
}

static bool read_static_string(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_text = true;
	return set_bytes(parser, type) && read_static_length(parser, class, type) && read_encoding(parser, class, type);
}

static bool read_dynamic_string(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_text = true;
	return set_bytes(parser, type) && read_location(parser, class, "length-field-location", type) &&
	       read_encoding(parser, class, type);
}

static bool read_static_blob(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_blob = true;
	read_roles(class, type);
	return set_bytes(parser, type) && read_static_length(parser, class, type);
}

static bool read_dynamic_blob(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	type->is_blob = true;
	return set_bytes(parser, type) && read_location(parser, class, "length-field-location", type);
}

/* ---- what holds others ---- */

static bool read_element(struct dtc_ctf2_parser *parser, const struct dtc_json *class, const char *name,
			 struct dtc_type *type)
{
	return dtc_ctf2_read_type(parser, class, name, &type->element) &&
	       (type->element || dtc_ctf2_fail(parser, "a field class has no '%s'", name));
}

static bool read_static_array(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_element(parser, class, "element-field-class", type) && read_static_length(parser, class, type) &&
	       read_align(parser, class, "minimum-alignment", type);
}

static bool read_dynamic_array(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_element(parser, class, "element-field-class", type) &&
	       read_location(parser, class, "length-field-location", type) &&
	       read_align(parser, class, "minimum-alignment", type);
}

static bool read_member(struct dtc_ctf2_parser *parser, const struct dtc_json *from, struct dtc_type_member *member)
{
	const char *name = dtc_json_find_text(from, "name");
	if (!dtc_ctf2_copy_text(parser, name ? name : "", &member->name) ||
	    !dtc_ctf2_read_type(parser, from, "field-class", &member->type))
		return false;
	return member->type || dtc_ctf2_fail(parser, "'%s' has no 'field-class'", member->name);
}

static bool read_members(struct dtc_ctf2_parser *parser, const struct dtc_json *list, struct dtc_type *type)
{
	type->members = dtc_ctf2_take(parser, list ? list->count : 0, sizeof(*type->members));
	for (const struct dtc_json *from = list ? list->first : NULL; type->members && from; from = from->next) {
		struct dtc_type_member *member = &type->members[type->member_count];
		const struct dtc_json *ranges = dtc_json_find_kind(from, "selector-field-ranges", DTC_JSON_ARRAY);
		if (!read_member(parser, from, member))
			return false;
		if (type->kind == DTC_TYPE_VARIANT && !ranges)
			return dtc_ctf2_fail(parser, "an option of a variant has no 'selector-field-ranges'");
		if (type->kind == DTC_TYPE_VARIANT &&
		    !read_ranges(parser, ranges, &member->ranges, &member->range_count))
			return false;
		type->member_count++;
	}
	const char *twice = type->members ? dtc_type_find_twice(type) : NULL;
	if (twice)
		return dtc_ctf2_fail(parser, "two members are called '%s'", twice);
	return type->members != NULL;
}

static bool read_structure(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_members(parser, dtc_json_find_kind(class, "member-classes", DTC_JSON_ARRAY), type) &&
	       read_align(parser, class, "minimum-alignment", type);
}

/* In the order of their values: those below 0 are signed, the others unsigned. */
static int compare_values(int64_t a, bool is_a_negative, int64_t b, bool is_b_negative)
{
	if (is_a_negative != is_b_negative)
		return is_a_negative ? -1 : 1;
	if (is_a_negative)
		return (a > b) - (a < b);
	return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct dtc_type_range *x = a, *y = b;
	return compare_values(x->low, !x->is_unsigned, y->low, !y->is_unsigned);
}

/* A value selects one option, or none. */
static bool check_options(struct dtc_ctf2_parser *parser, const struct dtc_type *type)
{
	g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(struct dtc_type_range));
	for (guint i = 0; i < type->member_count; i++)
		g_array_append_vals(ranges, type->members[i].ranges, type->members[i].range_count);
	g_array_sort(ranges, compare_ranges);
	for (guint i = 1; i < ranges->len; i++) {
		const struct dtc_type_range *range = &g_array_index(ranges, struct dtc_type_range, i),
					    *before = range - 1;
		bool is_before_negative = !before->is_unsigned && before->high < 0;
		if (compare_values(before->high, is_before_negative, range->low, !range->is_unsigned) >= 0)
			return dtc_ctf2_fail(parser, "two options of a variant have the same values");
	}
	return true;
}

static bool read_variant(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	return read_members(parser, dtc_json_find_kind(class, "options", DTC_JSON_ARRAY), type) &&
	       check_options(parser, type) && read_location(parser, class, "selector-field-location", type);
}

static bool read_option(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	const struct dtc_json *ranges = dtc_json_find_kind(class, "selector-field-ranges", DTC_JSON_ARRAY);
	return read_element(parser, class, "field-class", type) &&
	       read_location(parser, class, "selector-field-location", type) &&
	       (!ranges || read_ranges(parser, ranges, &type->ranges, &type->range_count));
}

/* ---- field classes ---- */

static const struct {
	const char *name;
	enum dtc_type_kind kind;
	bool (*read)(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type);
} kinds[] = {
	{ "fixed-length-bit-array", DTC_TYPE_INTEGER, read_fixed },
	{ "fixed-length-bit-map", DTC_TYPE_INTEGER, read_bit_map },
	{ "fixed-length-boolean", DTC_TYPE_INTEGER, read_boolean },
	{ "fixed-length-unsigned-integer", DTC_TYPE_INTEGER, read_fixed_integer },
	{ "fixed-length-signed-integer", DTC_TYPE_INTEGER, read_signed },
	{ "fixed-length-unsigned-enumeration", DTC_TYPE_INTEGER, read_fixed_integer },
	{ "fixed-length-signed-enumeration", DTC_TYPE_INTEGER, read_signed },
	{ "fixed-length-floating-point-number", DTC_TYPE_FLOAT, read_float },
	{ "variable-length-unsigned-integer", DTC_TYPE_VARINT, read_varint },
	{ "variable-length-signed-integer", DTC_TYPE_VARINT, read_signed_varint },
	{ "variable-length-unsigned-enumeration", DTC_TYPE_VARINT, read_varint },
	{ "variable-length-signed-enumeration", DTC_TYPE_VARINT, read_signed_varint },
	{ "null-terminated-string", DTC_TYPE_STRING, read_string },
	{ "static-length-string", DTC_TYPE_ARRAY, read_static_string },
	{ "dynamic-length-string", DTC_TYPE_SEQUENCE, read_dynamic_string },
	{ "static-length-blob", DTC_TYPE_ARRAY, read_static_blob },
	{ "dynamic-length-blob", DTC_TYPE_SEQUENCE, read_dynamic_blob },
	{ "structure", DTC_TYPE_STRUCT, read_structure },
	{ "static-length-array", DTC_TYPE_ARRAY, read_static_array },
	{ "dynamic-length-array", DTC_TYPE_SEQUENCE, read_dynamic_array },
	{ "optional", DTC_TYPE_OPTION, read_option },
	{ "variant", DTC_TYPE_VARIANT, read_variant },
};

static bool read_class(struct dtc_ctf2_parser *parser, const struct dtc_json *class, struct dtc_type *type)
{
	const char *name = dtc_json_find_text(class, "type");
	for (gsize i = 0; name && i < G_N_ELEMENTS(kinds); i++) {
		if (strcmp(name, kinds[i].name) != 0)
			continue;
		type->kind = (uint8_t)kinds[i].kind;
		type->align = 1;
		return kinds[i].read(parser, class, type);
	}
	return name ? dtc_ctf2_fail(parser, "the field class '%s' is not known", name)
		    : dtc_ctf2_fail(parser, "a field class has no 'type'");
}

bool dtc_ctf2_read_type(struct dtc_ctf2_parser *parser, const struct dtc_json *object, const char *name,
			struct dtc_type **ret_type)
{
	const struct dtc_json *class = dtc_json_find(object, name);
	*ret_type = NULL;
	if (!class)
		return true;
	if (class->kind == DTC_JSON_TEXT) {
		*ret_type = g_hash_table_lookup(parser->aliases, class->text);
		return *ret_type || dtc_ctf2_fail(parser, "the field class '%s' is not declared", class->text);
	}
	if (++parser->depth > DTC_METADATA_MAX_DEPTH)
		return dtc_ctf2_fail(parser, "types are nested too deep");
	*ret_type = dtc_ctf2_take(parser, 1, sizeof(**ret_type));
	bool is_sound = *ret_type && read_class(parser, class, *ret_type);
	parser->depth--;
	return is_sound;
}
