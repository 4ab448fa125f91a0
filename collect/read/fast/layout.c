/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/layout.h"

#include "collect/read/spellings.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_WORK 20000000 /* well under a second */

/* A structure that is being made: what is placed in it so far can be referred to. */
struct frame {
	struct frame *outer, *inner;
	const struct dtc_layout *structure;
	const char *member; /* that is being made now: what is in the frame inside of this one */
};

struct compiler {
	struct dtc_trace_declaration *declaration;
	DtcArena *arena;
	GError *error;
	struct dtc_layout *roots[DTC_SCOPES]; /* of the event at hand; NULL: not there, or not yet */
	enum dtc_type_scope scope;
	struct frame *frame;
	guint slot_count;
	bool refers_to_headers;
	guint depth;
	guint64 work;	 /* comparisons of names so far: some grow with the square of what is declared */
	bool is_clocked; /* this scope's clock fields move the clock: not those of payloads */
	/* of the stream at hand: which clock its fields tell the time of, and whether some do by nothing but their
	 * names */
	const char *clock_name;
	bool has_unnamed_clock;
};

static G_GNUC_PRINTF(2, 3) void fail(struct compiler *compiler, const char *format, ...)
{
	va_list arguments;
	if (compiler->error)
		return;
	va_start(arguments, format);
	g_autofree char *what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	compiler->error = g_error_new_literal(DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, what);
}

static void *take(struct compiler *compiler, gsize count, gsize bytes)
{
	void *piece = dtc_arena_take_array(compiler->arena, count, bytes);
	if (!piece)
		fail(compiler, "it declares more than there is room for");
	return piece;
}

/* ---- references ---- */

static struct dtc_layout *find_placed(struct compiler *compiler, const struct dtc_layout *structure, const char *name)
{
	compiler->work += structure ? structure->member_count : 0;
	for (guint i = 0; structure && i < structure->member_count; i++)
		if (strcmp(structure->members[i].name, name) == 0)
			return structure->members[i].layout;
	return NULL;
}

/* The rest of a path, from the layout that the name before it has. Of a list the last element counts. */
static struct dtc_layout *follow(struct compiler *compiler, struct dtc_layout *layout,
				 const struct dtc_type_reference *reference, guint at)
{
	for (guint i = at; layout && i < reference->count; i++) {
		while (layout && (layout->kind == DTC_TYPE_ARRAY || layout->kind == DTC_TYPE_SEQUENCE))
			layout = layout->element;
		layout = layout && layout->kind == DTC_TYPE_STRUCT ? find_placed(compiler, layout, reference->names[i])
								   : NULL;
	}
	return layout;
}

/* From the inside outward, then in the earlier scopes, the nearest first. */
static struct dtc_layout *find_relative(struct compiler *compiler, const struct dtc_type_reference *reference)
{
	struct dtc_layout *found = NULL;
	for (const struct frame *frame = compiler->frame; frame && !found; frame = frame->outer)
		found = follow(compiler, find_placed(compiler, frame->structure, reference->names[0]), reference, 1);
	for (guint scope = compiler->scope; scope-- > 0 && !found;)
		found = follow(compiler, find_placed(compiler, compiler->roots[scope], reference->names[0]), reference,
			       1);
	return found;
}

/*
 * From a structure that is being made: a path may lead back into the member at hand, whatever option or element of it
 * that is.
 */
static struct dtc_layout *find_from(struct compiler *compiler, const struct frame *frame,
				    const struct dtc_type_reference *reference)
{
	guint at = 0;
	while (frame && frame->inner && at + 1 < reference->count && strcmp(frame->member, reference->names[at]) == 0) {
		frame = frame->inner;
		at++;
	}
	return frame ? follow(compiler, find_placed(compiler, frame->structure, reference->names[at]), reference,
			      at + 1)
		     : NULL;
}

/* Of the scope at hand the outermost frame is the root. */
static struct dtc_layout *find_absolute(struct compiler *compiler, const struct dtc_type_reference *reference)
{
	const struct frame *frame = compiler->frame;
	if (reference->scope > compiler->scope)
		return NULL;
	if (reference->scope < compiler->scope)
		return follow(compiler, find_placed(compiler, compiler->roots[reference->scope], reference->names[0]),
			      reference, 1);
	while (frame && frame->outer)
		frame = frame->outer;
	return find_from(compiler, frame, reference);
}

static struct dtc_layout *find_exact(struct compiler *compiler, const struct dtc_type_reference *reference)
{
	const struct frame *frame = compiler->frame;
	for (guint i = 0; frame && i < reference->outward; i++)
		frame = frame->outer;
	return find_from(compiler, frame, reference);
}

static struct dtc_layout *resolve(struct compiler *compiler, const struct dtc_type_reference *reference)
{
	struct dtc_layout *source = reference->is_absolute ? find_absolute(compiler, reference)
				    : reference->is_exact  ? find_exact(compiler, reference)
							   : find_relative(compiler, reference);
	if (!source || (source->kind != DTC_TYPE_INTEGER && source->kind != DTC_TYPE_VARINT)) {
		fail(compiler, "the field '%s' tells a length or selects an option, and is no integer before it",
		     reference->names[reference->count - 1]);
		return NULL;
	}
	if (source->slot < 0 && compiler->slot_count >= DTC_LAYOUT_MAX_SLOTS) {
		fail(compiler, "more than %d fields tell lengths and options", DTC_LAYOUT_MAX_SLOTS);
		return NULL;
	}
	if (source->slot < 0)
		source->slot = (int32_t)compiler->slot_count++;
	if (source->scope <= DTC_SCOPE_EVENT_HEADER && compiler->scope > DTC_SCOPE_EVENT_HEADER)
		compiler->refers_to_headers = true;
	return source;
}

/* ---- types ---- */

static struct dtc_layout *compile(struct compiler *compiler, const struct dtc_type *type);

/*
 * The labels for which a variant has an option: those of its name. Tracers put underscores before names that could be
 * keywords, some before the option alone or the label alone: of an option without a label of its name those do not
 * count.
 */
static guint count_labels(const struct dtc_type_member *option, const struct dtc_type *selector, bool is_plain,
			  struct dtc_layout_choice *ret, guint number)
{
	const char *name = is_plain ? dtc_spelling_skip_underscores(option->name) : option->name;
	guint count = 0;
	for (guint i = 0; i < selector->label_count; i++) {
		const char *label = selector->labels[i].name;
		if (strcmp(is_plain ? dtc_spelling_skip_underscores(label) : label, name) != 0)
			continue;
		if (ret)
			ret[count] = (struct dtc_layout_choice){ selector->labels[i].range, number };
		count++;
	}
	return count;
}

static guint count_choices(const struct dtc_type *type, const struct dtc_layout *source, struct dtc_layout_choice *ret)
{
	guint count = 0;
	for (guint option = 0; option < type->member_count; option++) {
		const struct dtc_type_member *member = &type->members[option];
		struct dtc_layout_choice *to = ret ? ret + count : NULL;
		for (guint i = 0; i < member->range_count; i++, count++)
			if (ret)
				ret[count] = (struct dtc_layout_choice){ member->ranges[i], option };
		if (member->range_count > 0)
			continue;
		guint labels = count_labels(member, source->type, false, to, option);
		count += labels ? labels : count_labels(member, source->type, true, to, option);
	}
	return count;
}

static void set_choices(struct compiler *compiler, struct dtc_layout *layout, const struct dtc_layout *source)
{
	compiler->work += (guint64)layout->type->member_count * MAX(source->type->label_count, 1);
	if (compiler->work > MAX_WORK)
		return;
	layout->choice_count = count_choices(layout->type, source, NULL);
	layout->choices = take(compiler, layout->choice_count, sizeof(*layout->choices));
	if (layout->choices)
		count_choices(layout->type, source, layout->choices);
}

/* What of the kind of field that a sequence, variant or option depends on contradicts it; NULL: nothing. */
static const char *find_problem(const struct compiler *compiler, const struct dtc_layout *layout,
				const struct dtc_type *source)
{
	bool is_version_2 = compiler->declaration->is_version_2;
	if (layout->kind == DTC_TYPE_SEQUENCE && source->is_signed)
		return "tells a length, and may be negative";
	if (layout->kind == DTC_TYPE_VARIANT && !is_version_2 && !source->is_enum)
		return "selects an option, and is no enumeration";
	if (layout->kind == DTC_TYPE_VARIANT && source->is_boolean)
		return "selects an option by ranges, and is a boolean";
	if (layout->kind == DTC_TYPE_OPTION && source->is_boolean != (layout->type->range_count == 0))
		return source->is_boolean ? "is a boolean, which has no ranges" : "is no boolean, and has no ranges";
	return NULL;
}

static void compile_source(struct compiler *compiler, struct dtc_layout *layout)
{
	const struct dtc_type_reference *reference = layout->type->reference;
	if (!reference) {
		fail(compiler, "a variant or sequence does not tell which field it depends on");
		return;
	}
	const struct dtc_layout *source = resolve(compiler, reference);
	if (!source)
		return;
	const char *problem = find_problem(compiler, layout, source->type);
	if (problem) {
		fail(compiler, "the field '%s' %s", reference->names[reference->count - 1], problem);
		return;
	}
	layout->source = source->slot;
	if (layout->kind == DTC_TYPE_VARIANT)
		set_choices(compiler, layout, source);
	if (compiler->work > MAX_WORK)
		fail(compiler, "too many fields depend on others");
}

/*
 * In CTF 1.8 names tell what fields of headers are for. It does not ask that time stamps are mapped to a clock: then
 * the clock is the only one that there is.
 */
static void find_role(struct compiler *compiler, const char *name, struct dtc_layout *layout)
{
	bool is_event = compiler->scope == DTC_SCOPE_EVENT_HEADER && strcmp(name, "timestamp") == 0;
	bool is_packet = compiler->scope == DTC_SCOPE_PACKET_CONTEXT &&
			 (strcmp(name, "timestamp_begin") == 0 || strcmp(name, "timestamp_end") == 0);
	if (compiler->declaration->is_version_2 || layout->kind != DTC_TYPE_INTEGER || layout->role != DTC_ROLE_NONE)
		return;
	if (compiler->scope == DTC_SCOPE_EVENT_HEADER && strcmp(dtc_spelling_skip_underscores(name), "id") == 0)
		layout->role = DTC_ROLE_EVENT_CLASS;
	if (!is_event && !is_packet)
		return;
	compiler->has_unnamed_clock = true;
	layout->is_clock = is_event;
}

static void compile_members(struct compiler *compiler, struct dtc_layout *layout)
{
	const struct dtc_type *type = layout->type;
	struct frame frame = { .outer = compiler->frame, .structure = layout };
	layout->members = take(compiler, type->member_count, sizeof(*layout->members));
	if (!layout->members)
		return;
	/* options of a variant do not see each other */
	if (layout->kind == DTC_TYPE_STRUCT)
		compiler->frame = &frame;
	if (layout->kind == DTC_TYPE_STRUCT && frame.outer)
		frame.outer->inner = &frame;
	for (guint i = 0; i < type->member_count && !compiler->error; i++) {
		frame.member = type->members[i].name;
		layout->members[i].name = type->members[i].name;
		layout->members[i].layout = compile(compiler, type->members[i].type);
		layout->member_count = i + 1;
		if (!compiler->error)
			find_role(compiler, type->members[i].name, layout->members[i].layout);
	}
	compiler->frame = frame.outer;
	if (frame.outer)
		frame.outer->inner = NULL;
}

static uint32_t get_align(const struct dtc_layout *layout)
{
	uint32_t align = layout->type->align;
	switch (layout->kind) {
	case DTC_TYPE_STRUCT:
		for (guint i = 0; i < layout->member_count; i++)
			align = MAX(align, layout->members[i].layout->align);
		return align;
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		return MAX(align, layout->element->align);
	case DTC_TYPE_VARINT:
	case DTC_TYPE_STRING:
		return MAX(align, 8);
	case DTC_TYPE_VARIANT:
	case DTC_TYPE_OPTION:
		return 1; /* of what is selected */
	default:
		return align;
	}
}

static int64_t get_fixed_bits(const struct dtc_layout *layout)
{
	int64_t bits = 0;
	switch (layout->kind) {
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_FLOAT:
		return layout->slot >= 0 || layout->is_clock ? -1 : (int64_t)layout->bits;
	case DTC_TYPE_STRUCT:
		for (guint i = 0; i < layout->member_count; i++) {
			const struct dtc_layout *member = layout->members[i].layout;
			if (member->fixed_bits < 0)
				return -1;
			bits = (bits + member->align - 1) & -(int64_t)member->align;
			bits += member->fixed_bits;
			if (bits > INT32_MAX)
				return -1;
		}
		return bits;
	case DTC_TYPE_ARRAY:
		if (layout->element->fixed_bits < 0 || layout->type->length > INT32_MAX ||
		    layout->element->fixed_bits % layout->element->align != 0)
			return -1;
		bits = layout->element->fixed_bits * (int64_t)layout->type->length;
		return bits > INT32_MAX ? -1 : bits;
	default:
		return -1;
	}
}

static void compile_kind(struct compiler *compiler, struct dtc_layout *layout)
{
	const struct dtc_type *type = layout->type;
	if (layout->kind == DTC_TYPE_SEQUENCE || layout->kind == DTC_TYPE_VARIANT || layout->kind == DTC_TYPE_OPTION)
		compile_source(compiler, layout);
	if (compiler->error)
		return;
	if (layout->kind == DTC_TYPE_STRUCT || layout->kind == DTC_TYPE_VARIANT)
		compile_members(compiler, layout);
	if (type->element)
		layout->element = compile(compiler, type->element);
}

static struct dtc_layout *compile(struct compiler *compiler, const struct dtc_type *type)
{
	if (++compiler->depth > 2 * DTC_METADATA_MAX_DEPTH) {
		fail(compiler, "types are nested too deep");
		return NULL;
	}
	struct dtc_layout *layout = take(compiler, 1, sizeof(*layout));
	if (!layout)
		return NULL;
	layout->type = type;
	layout->kind = type->kind;
	layout->role = type->role;
	layout->scope = (uint8_t)compiler->scope;
	layout->is_signed = type->is_signed;
	layout->is_big_endian = type->order == DTC_ORDER_BIG ||
				(type->order == DTC_ORDER_NATIVE && compiler->declaration->is_big_endian);
	layout->is_clock = type->role == DTC_ROLE_CLOCK && compiler->is_clocked && !type->is_signed;
	layout->bits = type->bits;
	layout->slot = layout->source = -1;
	if (!compiler->clock_name)
		compiler->clock_name = type->clock;
	if (compiler->declaration->is_version_2 && layout->role == DTC_ROLE_CLOCK &&
	    compiler->scope <= DTC_SCOPE_EVENT_HEADER)
		compiler->has_unnamed_clock = true;
	compile_kind(compiler, layout);
	compiler->depth--;
	if (compiler->error)
		return NULL;
	layout->align = get_align(layout);
	layout->is_reversed = type->is_reversed;
	layout->is_plain = (layout->kind == DTC_TYPE_INTEGER || layout->kind == DTC_TYPE_FLOAT) &&
			   layout->align % 8 == 0 && !type->is_reversed &&
			   (layout->bits == 8 || layout->bits == 16 || layout->bits == 32 || layout->bits == 64);
	layout->fixed_bits = get_fixed_bits(layout);
	return layout;
}

static struct dtc_layout *compile_scope(struct compiler *compiler, enum dtc_type_scope scope,
					const struct dtc_type *type)
{
	compiler->scope = scope;
	compiler->is_clocked = scope == DTC_SCOPE_EVENT_HEADER;
	compiler->roots[scope] = NULL;
	if (type && !compiler->error)
		compiler->roots[scope] = compile(compiler, type);
	return compiler->roots[scope];
}

/*
 * A value in a structure may be asked for after the structure was made: once all is compiled, what is fixed is what has
 * no slot anywhere.
 */
static int64_t fix_again(struct dtc_layout *layout)
{
	if (!layout)
		return 0;
	for (guint i = 0; i < layout->member_count; i++)
		fix_again(layout->members[i].layout);
	fix_again(layout->element);
	return layout->fixed_bits = get_fixed_bits(layout);
}

/* ---- streams ---- */

static int compare_events(const void *a, const void *b)
{
	const struct dtc_event_layout *x = a, *y = b;
	return (x->declaration->id > y->declaration->id) - (x->declaration->id < y->declaration->id);
}

static void list_events(struct compiler *compiler, struct dtc_stream_layout *stream)
{
	GHashTableIter iter;
	void *value;
	guint at = 0;
	stream->event_count = g_hash_table_size(stream->declaration->events);
	stream->events = take(compiler, stream->event_count, sizeof(*stream->events));
	if (!stream->events)
		return;
	g_hash_table_iter_init(&iter, stream->declaration->events);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		stream->events[at++].declaration = value;
	if (stream->event_count > 1)
		qsort(stream->events, stream->event_count, sizeof(*stream->events), compare_events);
}

/* Ids are small numbers as a rule; a few that are not do not make the table large. */
static bool index_events(struct dtc_stream_layout *stream, DtcArena *arena)
{
	guint64 limit = (guint64)stream->event_count * 4 + 64;
	stream->dense_count = 0;
	stream->sparse = NULL;
	for (guint i = 0; i < stream->event_count; i++)
		if (stream->events[i].declaration->id < limit)
			stream->dense_count = (guint)stream->events[i].declaration->id + 1;
	stream->dense = dtc_arena_take_array(arena, stream->dense_count, sizeof(struct dtc_event_layout *));
	for (guint i = 0; stream->dense && i < stream->event_count; i++) {
		struct dtc_event_layout *event = &stream->events[i];
		if (event->declaration->id < stream->dense_count) {
			stream->dense[event->declaration->id] = event;
			continue;
		}
		if (!stream->sparse)
			stream->sparse = g_hash_table_new(g_int64_hash, g_int64_equal);
		g_hash_table_insert(stream->sparse, (void *)&event->declaration->id, event);
	}
	return stream->dense != NULL;
}

/* What ticks where no clock is declared. */
static const struct dtc_clock_declaration default_clock = { .name = "default", .frequency = 1000000000 };

static const struct dtc_clock_declaration *choose_clock(struct compiler *compiler,
							const struct dtc_stream_declaration *stream)
{
	const struct dtc_trace_declaration *declaration = compiler->declaration;
	if (declaration->is_version_2 && compiler->has_unnamed_clock && !stream->clock)
		fail(compiler, "a stream without a clock has time stamps");
	if (declaration->is_version_2)
		return stream->clock;
	for (guint i = 0; compiler->clock_name && i < declaration->clock_count; i++)
		if (g_strcmp0(declaration->clocks[i].name, compiler->clock_name) == 0)
			return &declaration->clocks[i];
	if (compiler->clock_name)
		fail(compiler, "the clock '%s' is not declared", compiler->clock_name);
	if (!compiler->has_unnamed_clock || declaration->clock_count > 1)
		return NULL;
	return declaration->clock_count == 1 ? &declaration->clocks[0] : &default_clock;
}

static void compile_stream(struct compiler *compiler, struct dtc_stream_layout *stream)
{
	const struct dtc_stream_declaration *from = stream->declaration;
	compiler->clock_name = NULL;
	compiler->has_unnamed_clock = false;
	stream->packet_context = compile_scope(compiler, DTC_SCOPE_PACKET_CONTEXT, from->packet_context);
	stream->event_header = compile_scope(compiler, DTC_SCOPE_EVENT_HEADER, from->event_header);
	stream->common_context = compile_scope(compiler, DTC_SCOPE_COMMON_CONTEXT, from->common_context);
	list_events(compiler, stream);
	for (guint i = 0; i < stream->event_count && !compiler->error; i++) {
		struct dtc_event_layout *event = &stream->events[i];
		event->context = compile_scope(compiler, DTC_SCOPE_SPECIFIC_CONTEXT, event->declaration->context);
		event->payload = compile_scope(compiler, DTC_SCOPE_PAYLOAD, event->declaration->payload);
	}
	stream->clock = choose_clock(compiler, from);
	if (compiler->error)
		return;
	if (!index_events(stream, compiler->arena))
		fail(compiler, "it declares more than there is room for");
	fix_again(stream->packet_context);
	fix_again(stream->event_header);
	fix_again(stream->common_context);
	for (guint i = 0; i < stream->event_count; i++) {
		fix_again(stream->events[i].context);
		fix_again(stream->events[i].payload);
	}
}

static int compare_streams(const void *a, const void *b)
{
	const struct dtc_stream_layout *x = a, *y = b;
	return (x->declaration->id > y->declaration->id) - (x->declaration->id < y->declaration->id);
}

static void compile_trace(struct compiler *compiler, struct dtc_trace_layout *layout)
{
	GHashTableIter iter;
	void *value;
	layout->packet_header = compile_scope(compiler, DTC_SCOPE_PACKET_HEADER, compiler->declaration->packet_header);
	layout->streams = take(compiler, g_hash_table_size(compiler->declaration->streams), sizeof(*layout->streams));
	g_hash_table_iter_init(&iter, compiler->declaration->streams);
	while (layout->streams && g_hash_table_iter_next(&iter, NULL, &value))
		layout->streams[layout->stream_count++].declaration = value;
	if (layout->stream_count > 1)
		qsort(layout->streams, layout->stream_count, sizeof(*layout->streams), compare_streams);
	for (guint i = 0; i < layout->stream_count && !compiler->error; i++)
		compile_stream(compiler, &layout->streams[i]);
	fix_again(layout->packet_header);
	layout->slot_count = compiler->slot_count;
	layout->refers_to_headers = compiler->refers_to_headers;
}

struct dtc_trace_layout *dtc_layout_compile(struct dtc_trace_declaration *declaration, GError **error)
{
	struct compiler compiler = { .declaration = declaration, .arena = declaration->arena };
	struct dtc_trace_layout *layout = take(&compiler, 1, sizeof(*layout));
	if (layout) {
		layout->declaration = declaration;
		compile_trace(&compiler, layout);
	}
	if (!compiler.error)
		return layout;
	dtc_trace_layout_free(layout);
	g_propagate_error(error, compiler.error);
	return NULL;
}

static bool derive_stream(struct dtc_stream_layout *stream, const struct dtc_trace_declaration *from,
			  const struct dtc_trace_declaration *declaration)
{
	const struct dtc_event_layout *events = stream->events;
	gsize bytes = stream->event_count * sizeof(*events);
	stream->sparse = NULL; /* which is another's */
	stream->events = dtc_arena_take(declaration->arena, bytes);
	if (!stream->events)
		return false;
	if (bytes > 0)
		memcpy(stream->events, events, bytes);
	for (guint i = 0; i < stream->event_count; i++)
		stream->events[i].user = NULL;
	if (stream->clock && stream->clock != &default_clock)
		stream->clock = &declaration->clocks[stream->clock - from->clocks];
	return index_events(stream, declaration->arena);
}

struct dtc_trace_layout *dtc_layout_derive(const struct dtc_trace_layout *from,
					   const struct dtc_trace_declaration *declaration)
{
	DtcArena *arena = declaration->arena;
	struct dtc_trace_layout *layout = dtc_arena_take(arena, sizeof(*layout));
	struct dtc_stream_layout *streams = dtc_arena_take_array(arena, from->stream_count, sizeof(*streams));
	if (!layout || !streams)
		return NULL;
	*layout = *from;
	layout->declaration = declaration;
	layout->streams = streams;
	layout->stream_count = 0;
	for (guint i = 0; i < from->stream_count; i++) {
		streams[layout->stream_count++] = from->streams[i];
		if (derive_stream(&streams[i], from->declaration, declaration))
			continue;
		dtc_trace_layout_free(layout);
		return NULL;
	}
	return layout;
}

void dtc_trace_layout_free(struct dtc_trace_layout *layout)
{
	for (guint i = 0; layout && i < layout->stream_count; i++)
		if (layout->streams[i].sparse)
			g_hash_table_unref(layout->streams[i].sparse);
}

const struct dtc_stream_layout *dtc_layout_find_stream(const struct dtc_trace_layout *layout, uint64_t id)
{
	guint low = 0, high = layout->stream_count;
	while (low < high) {
		guint middle = low + (high - low) / 2;
		if (layout->streams[middle].declaration->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layout->stream_count && layout->streams[low].declaration->id == id ? &layout->streams[low] : NULL;
}

const struct dtc_layout *dtc_layout_find_member(const struct dtc_layout *structure, const char *name)
{
	for (guint i = 0; structure && i < structure->member_count; i++)
		if (strcmp(dtc_spelling_skip_underscores(structure->members[i].name), name) == 0)
			return structure->members[i].layout;
	return NULL;
}
