/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/classes.h"

#include "collect/seal/names.h"
#include "collect/seal/net_fields.h"
#include "collect/seal/packet_bytes.h"

#include <string.h>

#define MAX_TYPES 65536u

struct DtcClasses {
	struct dtc_event_type *types; /* MAX_TYPES of them, by number */
	GPtrArray *declared;	      /* struct dtc_event_class of them, by id; borrowed */
};

/* A member to be: a field of the format, or something that is made. */
struct member {
	const char *name;
	const struct dtc_raw_field *field;
	enum dtc_encode_kind made; /* COPY: it is the field */
};

/* ---- members ---- */

static bool is_letters(const struct dtc_raw_format *format, const struct dtc_raw_field *field)
{
	return field->shape == DTC_RAW_CHARS && strcmp(field->name, "rwbs") == 0 &&
	       strcmp(format->system, "block") == 0;
}

static void add_member(GArray *members, const char *name, const struct dtc_raw_field *field, enum dtc_encode_kind made)
{
	struct member member = { name, field, made };
	g_array_append_val(members, member);
}

/* Kernels that read a call's strings have them in "__NAME_val", behind the pointer. */
static const char *find_text_name(const struct dtc_raw_format *format, const struct dtc_raw_field *field)
{
	for (guint i = 0; field->shape == DTC_RAW_STRING && i < format->fields->len; i++) {
		const struct dtc_raw_field *pointer = &g_array_index(format->fields, struct dtc_raw_field, i);
		g_autofree char *name = g_strconcat("__", pointer->name, "_val", NULL);
		if (pointer->is_pointer && strcmp(name, field->name) == 0 && !dtc_lttng_name_field(format, pointer))
			return pointer->name;
	}
	return NULL;
}

static bool has_text_of(const struct dtc_raw_format *format, const char *name)
{
	g_autofree char *text = g_strconcat("__", name, "_val", NULL);
	const struct dtc_raw_field *field = dtc_raw_format_find(format, text);
	return field && field->shape == DTC_RAW_STRING;
}

static void add_fields(GArray *members, const struct dtc_raw_format *format)
{
	for (guint i = 0; i < format->fields->len; i++) {
		const struct dtc_raw_field *field = &g_array_index(format->fields, struct dtc_raw_field, i);
		const char *name = dtc_lttng_name_field(format, field);
		const char *text = find_text_name(format, field);
		if (text)
			name = text;
		if (name)
			add_member(members, name, field, is_letters(format, field) ? DTC_ENCODE_RWBS : DTC_ENCODE_COPY);
	}
}

/* What LTTng has of the current thread, and tracefs in every event. */
static void add_tid(GArray *members, const struct dtc_raw_format *format)
{
	if (strcmp(format->system, "block") == 0 && dtc_raw_format_find(format, "comm") &&
	    !dtc_raw_format_find(format, "tid") && format->pid_offset)
		add_member(members, "tid", NULL, DTC_ENCODE_COPY);
}

static void add_facts(GArray *members, enum dtc_class_role role, bool is_informed)
{
	if (role == DTC_CLASS_NET)
		add_member(members, "network_header_type", NULL, DTC_ENCODE_HEADERS);
	if (!is_informed)
		return;
	if (role == DTC_CLASS_FORK) {
		add_member(members, "parent_pid", NULL, DTC_ENCODE_PARENT_PID);
		add_member(members, "child_pid", NULL, DTC_ENCODE_CHILD_PID);
	}
	if (role == DTC_CLASS_OPEN)
		add_member(members, "filename", NULL, DTC_ENCODE_FILE_NAME);
	if (role == DTC_CLASS_SWITCH)
		add_member(members, "repaired", NULL, DTC_ENCODE_ONE);
}

/* Moves those that LTTng has to the front, in its order. */
static void order_members(GArray *members, const char *order)
{
	g_auto(GStrv) names = g_strsplit(order, " ", -1);
	guint placed = 0;
	for (char **name = names; *name; name++)
		for (guint i = placed; i < members->len; i++) {
			struct member member = g_array_index(members, struct member, i);
			if (strcmp(member.name, *name) != 0)
				continue;
			g_array_remove_index(members, i);
			g_array_insert_val(members, placed, member);
			placed++;
			break;
		}
}

/* ---- their declarations and steps ---- */

static void declare_integer(GString *tsdl, const char *name, guint bytes, bool is_signed, bool is_pointer)
{
	g_string_append_printf(tsdl, "integer { size = %u; align = 8; signed = %d; encoding = none; base = %d; } _%s",
			       bytes * 8, is_signed, is_pointer ? 16 : 10, name);
}

static void add_step(struct dtc_event_class *class, const struct dtc_encode_step *step)
{
	struct dtc_encode_step *last =
		class->steps->len ? &g_array_index(class->steps, struct dtc_encode_step, class->steps->len - 1) : NULL;
	class->fixed_bytes += step->bytes;
	if (last && last->kind == DTC_ENCODE_COPY && step->kind == DTC_ENCODE_COPY &&
	    last->from + last->bytes == step->from)
		last->bytes += step->bytes;
	else
		g_array_append_val(class->steps, *step);
}

/* Arguments of calls are recorded in 8 bytes, whatever they are. */
static void add_integer(struct dtc_event_class *class, const struct dtc_raw_format *format, const struct member *member)
{
	const struct dtc_raw_field *field = member->field;
	guint bytes = field->size;
	bool is_signed = field->is_signed, is_call = strcmp(format->system, "syscalls") == 0;
	guint narrow = is_call && !field->is_pointer ? dtc_lttng_get_type_bytes(field->type, &is_signed) : 0;
	struct dtc_encode_step step = { .kind = DTC_ENCODE_COPY, .from = field->offset };

	step.bytes = narrow ? MIN(narrow, bytes) : bytes;
	declare_integer(class->tsdl, member->name, step.bytes, is_signed && !field->is_pointer, field->is_pointer);
	g_string_append(class->tsdl, ";\n");
	add_step(class, &step);
}

static void add_array(struct dtc_event_class *class, const struct member *member)
{
	const struct dtc_raw_field *field = member->field;
	struct dtc_encode_step step = { .kind = DTC_ENCODE_COPY, .from = field->offset, .bytes = field->size };

	if (field->shape == DTC_RAW_CHARS)
		g_string_append_printf(class->tsdl,
				       "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _%s",
				       member->name);
	else
		declare_integer(class->tsdl, member->name, field->element_bytes, field->is_signed, false);
	g_string_append_printf(class->tsdl, "[%u];\n", field->size / field->element_bytes);
	add_step(class, &step);
}

static void add_dynamic(struct dtc_event_class *class, const struct member *member)
{
	const struct dtc_raw_field *field = member->field;
	struct dtc_encode_step step = { .kind = field->shape == DTC_RAW_STRING ? DTC_ENCODE_STRING
									       : DTC_ENCODE_SEQUENCE,
					.is_relative = field->is_relative,
					.element_bytes = field->element_bytes,
					.from = field->offset };

	class->dynamic_count++;
	class->fixed_bytes += 2; /* the count, or the end */
	add_step(class, &step);
	if (field->shape == DTC_RAW_STRING) {
		g_string_append_printf(class->tsdl, "string _%s;\n", member->name);
		return;
	}
	g_string_append_printf(
		class->tsdl, "integer { size = 16; align = 8; signed = 0; encoding = none; base = 10; } __%s_length;\n",
		member->name);
	declare_integer(class->tsdl, member->name, field->element_bytes, field->is_signed, field->is_pointer);
	g_string_append_printf(class->tsdl, "[ __%s_length ];\n", member->name);
}

static void add_made(struct dtc_event_class *class, const struct member *member, uint32_t pid_offset)
{
	struct dtc_encode_step step = { .kind = (uint8_t)member->made, .from = pid_offset, .bytes = 4 };

	switch (member->made) {
	case DTC_ENCODE_HEADERS:
		g_string_append(class->tsdl, dtc_net_fields_get_tsdl());
		step.bytes = DTC_NET_FIELDS_MAX_BYTES;
		break;
	case DTC_ENCODE_FILE_NAME:
		g_string_append_printf(class->tsdl, "string _%s;\n", member->name);
		step.bytes = 1;
		break;
	case DTC_ENCODE_ONE:
		declare_integer(class->tsdl, member->name, 1, false, false);
		g_string_append(class->tsdl, ";\n");
		step.bytes = 1;
		break;
	default:
		declare_integer(class->tsdl, member->name, 4, true, false);
		g_string_append(class->tsdl, ";\n");
	}
	add_step(class, &step);
}

static void add_letters(struct dtc_event_class *class, const struct member *member)
{
	struct dtc_encode_step step = { .kind = DTC_ENCODE_RWBS,
					.from = member->field->offset,
					.bytes = member->field->size };
	declare_integer(class->tsdl, member->name, 4, false, false);
	g_string_append(class->tsdl, ";\n");
	add_step(class, &step);
	class->fixed_bytes += 4;
}

static void build_class(struct dtc_event_class *class, const struct dtc_event_type *type, const char *name,
			bool is_informed)
{
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(struct member));
	const char *order = dtc_lttng_get_order(name);

	class->name = g_strdup(name);
	class->tsdl = g_string_new(NULL);
	class->steps = g_array_new(FALSE, FALSE, sizeof(struct dtc_encode_step));
	add_fields(members, type->format);
	add_tid(members, type->format);
	add_facts(members, type->role, is_informed);
	if (order)
		order_members(members, order);
	for (guint i = 0; i < members->len; i++) {
		const struct member *member = &g_array_index(members, struct member, i);
		if (!member->field)
			add_made(class, member, type->format->pid_offset);
		else if (member->made == DTC_ENCODE_RWBS)
			add_letters(class, member);
		else if (member->field->shape == DTC_RAW_INTEGER)
			add_integer(class, type->format, member);
		else if (member->field->shape == DTC_RAW_ARRAY || member->field->shape == DTC_RAW_CHARS)
			add_array(class, member);
		else
			add_dynamic(class, member);
	}
}

static enum dtc_class_role find_role(const struct dtc_raw_format *format, const char *name)
{
	if (strcmp(name, "sched_switch") == 0)
		return DTC_CLASS_SWITCH;
	if (strcmp(name, "sched_process_fork") == 0)
		return DTC_CLASS_FORK;
	if (strcmp(name, "net_dev_queue") == 0 || strcmp(name, "net_if_receive_skb") == 0)
		return DTC_CLASS_NET;
	const struct dtc_raw_field *file = dtc_raw_format_find(format, "filename");
	if (g_str_has_prefix(name, "syscall_entry_open") && file && file->is_pointer &&
	    !has_text_of(format, "filename"))
		return DTC_CLASS_OPEN;
	return DTC_CLASS_PLAIN;
}

static void declare_class(DtcClasses *classes, struct dtc_event_class *class)
{
	class->id = classes->declared->len;
	g_ptr_array_add(classes->declared, class);
}

static void add_type(DtcClasses *classes, const struct dtc_raw_format *format, bool has_calls)
{
	struct dtc_event_type *type = &classes->types[format->id];
	g_autofree char *name = dtc_lttng_name_event(format, has_calls);

	type->format = format;
	type->role = find_role(format, name);
	build_class(&type->plain, type, name, false);
	declare_class(classes, &type->plain);
	if (type->role == DTC_CLASS_PLAIN || type->role == DTC_CLASS_NET)
		return;
	build_class(&type->informed, type, name, true);
	declare_class(classes, &type->informed);
}

DtcClasses *dtc_classes_new(const DtcFormats *formats)
{
	DtcClasses *classes = g_new0(DtcClasses, 1);
	bool has_calls = false;

	classes->types = g_new0(struct dtc_event_type, MAX_TYPES);
	classes->declared = g_ptr_array_new();
	for (guint i = 0; i < dtc_formats_get_count(formats); i++)
		has_calls |= strcmp(dtc_formats_get(formats, i)->system, "syscalls") == 0;
	for (guint i = 0; i < dtc_formats_get_count(formats); i++)
		if (!dtc_raw_format_is_made(dtc_formats_get(formats, i)))
			add_type(classes, dtc_formats_get(formats, i), has_calls);
	return classes;
}

void dtc_classes_free(DtcClasses *classes)
{
	if (!classes)
		return;
	for (guint i = 0; i < classes->declared->len; i++) {
		struct dtc_event_class *class = g_ptr_array_index(classes->declared, i);
		g_free(class->name);
		g_string_free(class->tsdl, TRUE);
		g_array_unref(class->steps);
	}
	g_ptr_array_unref(classes->declared);
	g_free(classes->types);
	g_free(classes);
}

const struct dtc_event_type *dtc_classes_find(const DtcClasses *classes, uint16_t type)
{
	return classes->types[type].format ? &classes->types[type] : NULL;
}

uint32_t dtc_classes_get_next_id(const DtcClasses *classes)
{
	return classes->declared->len;
}

void dtc_classes_declare(const DtcClasses *classes, GString *tsdl)
{
	for (guint i = 0; i < classes->declared->len; i++) {
		const struct dtc_event_class *class = g_ptr_array_index(classes->declared, i);
		g_string_append_printf(
			tsdl, "event {\nname = \"%s\";\nid = %u;\nstream_id = 0;\nfields := struct {\n%s};\n};\n\n",
			class->name, class->id, class->tsdl->str);
	}
}

/* ---- encoding ---- */

/* include/instrumentation/events/block.h of lttng-modules */
enum {
	RWBS_WRITE = 1 << 0,
	RWBS_DISCARD = 1 << 1,
	RWBS_READ = 1 << 2,
	RWBS_READ_AHEAD = 1 << 3,
	RWBS_SYNC = 1 << 5,
	RWBS_META = 1 << 6,
	RWBS_SECURE = 1 << 7,
	RWBS_FLUSH = 1 << 8,
	RWBS_FUA = 1 << 9,
	RWBS_PREFLUSH = 1 << 10,
};

/*
 * Linux writes [F] OPERATION [F] [A] [S] [M] (kernel/trace/blktrace.c, blk_fill_rwbs), where the operation may be F
 * too: an F in front of another operation is a flush before it, one behind it forces the bytes out.
 */
static uint32_t parse_rwbs(const char *letters, uint32_t count)
{
	uint32_t flags = 0, at = 0;
	if (count > 1 && letters[0] == 'F' && letters[1] && strchr("WDRNFZ", letters[1])) {
		flags |= RWBS_PREFLUSH;
		at = 1;
	}
	for (uint32_t i = at; i < count && letters[i]; i++)
		switch (letters[i]) {
		case 'W':
			flags |= RWBS_WRITE;
			break;
		case 'D':
			flags |= RWBS_DISCARD;
			break;
		case 'E':
			flags |= RWBS_SECURE;
			break;
		case 'R':
			flags |= RWBS_READ;
			break;
		case 'F':
			flags |= i == at ? RWBS_FLUSH : RWBS_FUA;
			break;
		case 'A':
			flags |= RWBS_READ_AHEAD;
			break;
		case 'S':
			flags |= RWBS_SYNC;
			break;
		case 'M':
			flags |= RWBS_META;
			break;
		default:
			break;
		}
	return flags;
}

/* Where a dynamic field's bytes are; none if they are not in the event. */
static const uint8_t *find_dynamic(const struct dtc_encode_step *step, const uint8_t *data, uint32_t bytes,
				   size_t *ret_count)
{
	uint32_t word;
	memcpy(&word, data + step->from, sizeof word);
	size_t at = word & 0xffff, count = word >> 16;
	if (step->is_relative)
		at += step->from + 4;
	*ret_count = at > bytes || count > bytes - at ? 0 : count;
	return data + (*ret_count ? at : 0);
}

static uint8_t *put_string(const uint8_t *text, size_t count, uint8_t *to)
{
	size_t length = strnlen((const char *)text, count);
	memcpy(to, text, length);
	to[length] = '\0';
	return to + length + 1;
}

static uint8_t *put_sequence(const struct dtc_encode_step *step, const uint8_t *from, size_t bytes, uint8_t *to)
{
	uint16_t count = (uint16_t)(bytes / step->element_bytes);
	memcpy(to, &count, sizeof count);
	memcpy(to + 2, from, (size_t)count * step->element_bytes);
	return to + 2 + (size_t)count * step->element_bytes;
}

static uint8_t *put_number(int32_t number, uint8_t *to)
{
	memcpy(to, &number, sizeof number);
	return to + sizeof number;
}

static uint8_t *encode_fact(const struct dtc_encode_step *step, const uint8_t *data,
			    const struct dtc_event_facts *facts, uint8_t *to)
{
	switch ((enum dtc_encode_kind)step->kind) {
	case DTC_ENCODE_RWBS:
		return put_number((int32_t)parse_rwbs((const char *)data + step->from, step->bytes), to);
	case DTC_ENCODE_PARENT_PID:
		return put_number(facts->parent_pid, to);
	case DTC_ENCODE_CHILD_PID:
		return put_number(facts->child_pid, to);
	case DTC_ENCODE_FILE_NAME:
		return put_string((const uint8_t *)facts->file_name, strlen(facts->file_name), to);
	case DTC_ENCODE_HEADERS:
		return to + dtc_net_fields_encode(&facts->headers, facts->source, to);
	default:
		*to = 1;
		return to + 1;
	}
}

size_t dtc_event_class_encode(const struct dtc_event_class *class, const uint8_t *data, uint32_t bytes,
			      const struct dtc_event_facts *facts, uint8_t *to)
{
	const uint8_t *begin = to, *from;
	size_t count;

	for (guint i = 0; i < class->steps->len; i++) {
		const struct dtc_encode_step *step = &g_array_index(class->steps, struct dtc_encode_step, i);
		switch ((enum dtc_encode_kind)step->kind) {
		case DTC_ENCODE_COPY:
			memcpy(to, data + step->from, step->bytes);
			to += step->bytes;
			break;
		case DTC_ENCODE_STRING:
			from = find_dynamic(step, data, bytes, &count);
			to = put_string(from, count, to);
			break;
		case DTC_ENCODE_SEQUENCE:
			from = find_dynamic(step, data, bytes, &count);
			to = put_sequence(step, from, count, to);
			break;
		default:
			to = encode_fact(step, data, facts, to);
		}
	}
	return (size_t)(to - begin);
}

size_t dtc_event_class_get_max_bytes(const struct dtc_event_class *class, uint32_t event_bytes,
				     const struct dtc_event_facts *facts)
{
	return class->fixed_bytes + (size_t) class->dynamic_count * event_bytes +
	       (facts->file_name ? strlen(facts->file_name) : 0);
}
