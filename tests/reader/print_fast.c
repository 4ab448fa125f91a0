/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/fast/chain.h"
#include "collect/read/spellings.h"
#include "tests/reader/printers.h"

#include <math.h>
#include <stdio.h>

#define NS_PER_S 1000000000
#define MAX_EMPTY_ELEMENTS 100 /* of no size, that are shown */

/* ---- what is shown ---- */

static bool is_shown(const struct dtc_layout *layout, const char *packet_member);

/* Numbers of the packet itself; those of its context are told by their names. */
static bool is_about_packet(const struct dtc_layout *layout, const char *name)
{
	static const char *const names[] = { "timestamp_begin", "timestamp_end",  "packet_size",
					     "content_size",	"packet_seq_num", "events_discarded" };
	bool is_about = layout->role != DTC_ROLE_NONE && layout->role != DTC_ROLE_CPU;
	for (gsize i = 0; name && i < G_N_ELEMENTS(names); i++)
		is_about = is_about || strcmp(get_plain_name(name), names[i]) == 0;
	return is_about;
}

static bool has_shown_member(const struct dtc_layout *layout)
{
	for (guint i = 0; i < layout->member_count; i++)
		if (is_shown(layout->members[i].layout, NULL))
			return true;
	return layout->member_count == 0;
}

/* The integers that babeltrace2 keeps to itself, and what consists of nothing else. */
static bool is_shown(const struct dtc_layout *layout, const char *packet_member)
{
	switch (layout->kind) {
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_VARINT:
		return layout->slot >= 0 || !is_about_packet(layout, packet_member);
	case DTC_TYPE_STRUCT:
	case DTC_TYPE_VARIANT:
		return has_shown_member(layout);
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		return is_shown(layout->element, NULL);
	default:
		return true;
	}
}

/* ---- fields ---- */

/* to is NULL where nothing is shown; the event's id is told when it is passed. */
struct walk {
	struct dtc_decoder *decoder;
	GString *to;
	uint64_t id;
	bool is_context; /* of a packet */
	bool is_version_2;
};

static bool walk_field(struct walk *walk, const struct dtc_layout *layout);

static void append(struct walk *walk, const char *text)
{
	if (walk->to)
		g_string_append(walk->to, text);
}

/* CTF 1.8 puts an underscore before names that could be keywords. */
static const char *get_name(const struct walk *walk, const char *name)
{
	return walk->is_version_2 ? name : get_plain_name(name);
}

static bool is_in_range(uint64_t value, const struct dtc_type_range *range)
{
	return range->is_unsigned ? value >= (uint64_t)range->low && value <= (uint64_t)range->high
				  : (int64_t)value >= range->low && (int64_t)value <= range->high;
}

/* Of a bit map a label tells of bits, and holds if one of them is set. */
static bool is_labelled(const struct dtc_type *type, guint label, uint64_t value)
{
	const struct dtc_type_range *range = &type->labels[label].range;
	if (!type->is_bit_map)
		return is_in_range(value, range);
	for (int64_t bit = range->low; bit <= MIN(range->high, 63); bit++)
		if (bit >= 0 && (value >> bit) & 1)
			return true;
	return false;
}

static bool is_label_told(const struct dtc_type *type, guint label, uint64_t value)
{
	for (guint i = 0; i < label; i++)
		if (is_labelled(type, i, value) && strcmp(type->labels[i].name, type->labels[label].name) == 0)
			return true;
	return false;
}

static void print_labels(GString *to, const struct dtc_type *type, uint64_t value)
{
	bool is_first = true;
	for (guint i = 0; i < type->label_count; i++) {
		if (!is_labelled(type, i, value) || is_label_told(type, i, value))
			continue;
		g_string_append_c(to, is_first ? ':' : ',');
		print_text(to, type->labels[i].name, strlen(type->labels[i].name));
		is_first = false;
	}
}

/* Code units of two or four bytes become UTF-8. */
static void print_encoded(GString *to, const struct dtc_layout *layout, const char *text, gsize bytes)
{
	g_autofree char *name =
		g_strdup_printf("UTF-%u%s", layout->type->unit_bytes * 8, layout->is_big_endian ? "BE" : "LE");
	gsize plain_bytes = 0;
	g_autofree char *plain = layout->type->unit_bytes > 1
					 ? g_convert(text, (gssize)bytes, "UTF-8", name, NULL, &plain_bytes, NULL)
					 : NULL;
	print_text(to, plain ? plain : text, plain ? plain_bytes : bytes);
}

/* IEEE 754's binary16. */
static double widen_half(uint64_t bits)
{
	int exponent = (int)(bits >> 10 & 31);
	double fraction = (double)(bits & 1023) / 1024, sign = bits >> 15 ? -1 : 1;
	if (exponent == 31)
		return fraction > 0 ? NAN : sign * INFINITY;
	return exponent == 0 ? sign * ldexp(fraction, -14) : sign * ldexp(1 + fraction, exponent - 15);
}

static void print_float(GString *to, uint64_t bits, const struct dtc_layout *layout)
{
	uint32_t half = (uint32_t)bits;
	double value;
	float single;
	memcpy(&single, &half, sizeof(single));
	memcpy(&value, &bits, sizeof(value));
	if (layout->bits == 32)
		g_string_append_printf(to, "%.17g", (double)single);
	else if (layout->bits == 64)
		g_string_append_printf(to, "%.17g", value);
	else
		g_string_append_printf(to, "%.17g", widen_half(bits));
}

static void print_value(struct walk *walk, const struct dtc_layout *layout, uint64_t value)
{
	const struct dtc_type *type = layout->type;
	if (!walk->to)
		return;
	if (layout->kind == DTC_TYPE_FLOAT) {
		print_float(walk->to, value, layout);
	} else if (type->is_boolean) {
		g_string_append(walk->to, value ? "true" : "false");
	} else {
		print_number(walk->to, value, layout->is_signed);
		print_labels(walk->to, type, value);
	}
}

static bool walk_number(struct walk *walk, const struct dtc_layout *layout)
{
	uint64_t value;
	bool is_sound = layout->kind == DTC_TYPE_VARINT ? dtc_decode_varint(walk->decoder, layout, &value)
							: dtc_decode_integer(walk->decoder, layout, &value);
	if (!is_sound)
		return false;
	if (layout->role == DTC_ROLE_EVENT_CLASS)
		walk->id = value;
	print_value(walk, layout, value);
	return true;
}

static bool walk_string(struct walk *walk, const struct dtc_layout *layout)
{
	gsize bytes;
	const char *text = dtc_decode_string(walk->decoder, layout, &bytes);
	if (text && walk->to)
		print_encoded(walk->to, layout, text, bytes);
	return text != NULL;
}

static bool walk_structure(struct walk *walk, const struct dtc_layout *layout)
{
	GString *to = walk->to;
	bool is_first = true, is_context = walk->is_context, is_sound = true;
	walk->is_context = false;
	walk->decoder->at = dtc_align_bits(walk->decoder->at, layout->align);
	append(walk, "{");
	for (guint i = 0; i < layout->member_count && is_sound; i++) {
		const struct dtc_layout_member *member = &layout->members[i];
		walk->to =
			is_shown(member->layout, is_context && !walk->is_version_2 ? member->name : NULL) ? to : NULL;
		if (walk->to)
			g_string_append_printf(to, "%s%s=", is_first ? "" : ", ", get_name(walk, member->name));
		is_first = is_first && !walk->to;
		is_sound = walk_field(walk, member->layout);
	}
	walk->to = to;
	append(walk, "}");
	return is_sound && walk->decoder->at <= walk->decoder->end;
}

static void print_blob(GString *to, const char *bytes, gsize count)
{
	g_string_append(to, "0x");
	for (gsize i = 0; i < count; i++)
		g_string_append_printf(to, "%02x", (guint8)bytes[i]);
}

/* An array of bytes that is a text ends with its first zero, one of larger units with the first that is zero. */
static bool walk_bytes(struct walk *walk, const struct dtc_layout *layout, uint64_t length)
{
	uint64_t at = dtc_align_bits(walk->decoder->at, layout->align), unit = MAX(layout->type->unit_bytes, 1);
	static const char zero[4] = { 0 };
	if (!dtc_decode_pass(walk->decoder, layout))
		return false;
	g_autoptr(GString) text = g_string_new(NULL);
	for (uint64_t i = 0; i < length; i++) {
		at = dtc_align_bits(at, layout->element->align);
		g_string_append_c(text, (char)dtc_decode_load(walk->decoder->data, at, layout->element));
		at += layout->element->bits;
		if (layout->type->is_text && text->len % unit == 0 &&
		    memcmp(text->str + text->len - unit, zero, unit) == 0) {
			g_string_truncate(text, text->len - unit);
			break;
		}
	}
	if (walk->to && layout->type->is_blob)
		print_blob(walk->to, text->str, text->len);
	else if (walk->to)
		print_encoded(walk->to, layout, text->str, text->len);
	return true;
}

static bool walk_list(struct walk *walk, const struct dtc_layout *layout)
{
	uint64_t length;
	if (!dtc_decode_get_length(walk->decoder, layout, &length))
		return false;
	if (layout->type->is_text || layout->type->is_blob)
		return walk_bytes(walk, layout, length);
	if (!walk->to)
		return dtc_decode_pass(walk->decoder, layout);
	append(walk, "[");
	walk->decoder->at = dtc_align_bits(walk->decoder->at, layout->align);
	for (uint64_t i = 0; i < length; i++) {
		uint64_t before = walk->decoder->at;
		append(walk, i ? ", " : "");
		if (!walk_field(walk, layout->element))
			return false;
		if (i >= MAX_EMPTY_ELEMENTS && walk->decoder->at == before) {
			append(walk, ", ...");
			break;
		}
	}
	append(walk, "]");
	return true;
}

static bool walk_choice(struct walk *walk, const struct dtc_layout *layout)
{
	const struct dtc_layout *inner;
	uint32_t option;
	if (!dtc_decode_select(walk->decoder, layout, &option, &inner))
		return false;
	if (walk->to && !inner)
		g_string_append(walk->to, "none");
	else if (walk->to)
		g_string_append_printf(walk->to, "<%s>",
				       layout->kind == DTC_TYPE_VARIANT ? get_name(walk, layout->members[option].name)
									: "");
	return !inner || walk_field(walk, inner);
}

static bool walk_field(struct walk *walk, const struct dtc_layout *layout)
{
	switch (layout->kind) {
	case DTC_TYPE_INTEGER:
	case DTC_TYPE_FLOAT:
	case DTC_TYPE_VARINT:
		return walk_number(walk, layout);
	case DTC_TYPE_STRING:
		return walk_string(walk, layout);
	case DTC_TYPE_STRUCT:
		return walk_structure(walk, layout);
	case DTC_TYPE_ARRAY:
	case DTC_TYPE_SEQUENCE:
		return walk_list(walk, layout);
	default:
		return walk_choice(walk, layout);
	}
}

/* title NULL: it is passed. */
static bool walk_scope(struct walk *walk, const struct dtc_layout *layout, const char *title, GString *line)
{
	if (!layout)
		return true;
	walk->to = title && is_shown(layout, NULL) ? line : NULL;
	if (walk->to)
		g_string_append_printf(walk->to, " %s", title);
	return walk_field(walk, layout);
}

/* ---- streams ---- */

struct printer {
	const struct dtc_trace_layout *layout;
	const struct dtc_chain *chain;
	const struct dtc_clock_declaration *clock; /* or NULL */
	struct dtc_decoder decoder;
	GString *line;
	guint damages;
};

static uint64_t scale_ticks(uint64_t frequency, uint64_t ticks)
{
	return frequency == NS_PER_S ? ticks : (uint64_t)(1e9 * (double)ticks / (double)frequency);
}

static void print_time(const struct printer *printer, bool is_known, uint64_t ticks)
{
	const struct dtc_clock_declaration *clock = printer->clock;
	if (!clock || !is_known) {
		g_string_append(printer->line, " -");
		return;
	}
	int64_t base_s = clock->offset_s + (int64_t)(clock->offset / clock->frequency);
	uint64_t rest_ns = scale_ticks(clock->frequency, clock->offset % clock->frequency);
	uint64_t ns = (uint64_t)base_s * NS_PER_S + rest_ns + scale_ticks(clock->frequency, ticks);
	g_string_append_printf(printer->line, " %" G_GINT64_FORMAT, (int64_t)ns);
}

static bool print_event(struct printer *printer)
{
	struct walk walk = { .decoder = &printer->decoder, .is_version_2 = printer->layout->declaration->is_version_2 };
	const struct dtc_stream_layout *stream = printer->chain->layout;
	GString *line = printer->line;
	uint64_t begin = printer->decoder.at;
	if (stream->event_header && !walk_field(&walk, stream->event_header))
		return false;
	const struct dtc_event_layout *event = dtc_layout_find_event(stream, walk.id);
	if (!event)
		return false;
	g_string_append_printf(line, "%s event", printer->chain->name);
	print_time(printer, true, printer->decoder.clock);
	g_string_append_printf(line, " %s", event->declaration->name ? event->declaration->name : "(no name)");
	if (!walk_scope(&walk, stream->common_context, "common", line) ||
	    !walk_scope(&walk, event->context, "context", line) || !walk_scope(&walk, event->payload, "fields", line) ||
	    printer->decoder.at <= begin)
		return false;
	print_line(line);
	return true;
}

static void print_gaps(struct printer *printer, const struct dtc_chain_packet *packet,
		       const struct dtc_chain_packet *previous)
{
	GString *line = printer->line;
	if (packet->has_discarded && packet->discarded != (previous ? previous->discarded : 0)) {
		g_string_append_printf(line, "%s lost-events", printer->chain->name);
		print_time(printer, packet->has_begin && packet->has_end,
			   previous ? previous->end_ticks : packet->begin_ticks);
		print_time(printer, packet->has_begin && packet->has_end, packet->end_ticks);
		if (previous)
			g_string_append_printf(line, " %" G_GUINT64_FORMAT, packet->discarded - previous->discarded);
		else
			g_string_append(line, " ?");
		print_line(line);
	}
	if (previous && packet->has_sequence && packet->sequence > previous->sequence + 1) {
		g_string_append_printf(line, "%s lost-packets", printer->chain->name);
		print_time(printer, packet->has_begin && packet->has_end, previous->end_ticks);
		print_time(printer, packet->has_begin && packet->has_end, packet->begin_ticks);
		g_string_append_printf(line, " %" G_GUINT64_FORMAT, packet->sequence - previous->sequence - 1);
		print_line(line);
	}
}

static void print_damage(struct printer *printer, const struct dtc_chain_packet *packet)
{
	g_string_truncate(printer->line, 0);
	fprintf(stderr, "%s: damaged in the packet at byte %" G_GUINT64_FORMAT ", on its byte %" G_GUINT64_FORMAT "\n",
		printer->chain->name, packet->offset, printer->decoder.at / 8);
	g_string_append_printf(printer->line, "%s damage", printer->chain->name);
	print_line(printer->line);
	printer->damages++;
}

/*
 * Of tracers that are known to stamp a packet's begin after its first event (barectf), or its end before the last one
 * (LTTng), babeltrace2 takes a packet to be as long as its events.
 */
static bool is_tracer(const struct printer *printer, const char *name)
{
	const char *tracer = g_hash_table_lookup(printer->layout->declaration->environment, "tracer_name");
	return tracer && g_str_has_prefix(tracer, name);
}

static uint64_t find_begin(const struct printer *printer, const struct dtc_chain_packet *packet)
{
	struct dtc_decoder ahead = printer->decoder;
	struct walk walk = { .decoder = &ahead, .is_version_2 = printer->layout->declaration->is_version_2 };
	const struct dtc_layout *header = printer->chain->layout->event_header;
	ahead.end = packet->content_bits;
	if (!is_tracer(printer, "barectf") || !dtc_chain_enter(printer->layout, printer->chain, packet, &ahead) ||
	    ahead.at >= ahead.end || !header || !walk_field(&walk, header))
		return packet->begin_ticks;
	return MIN(packet->begin_ticks, ahead.clock);
}

/* The packet's context is shown where its header was passed. */
static bool print_begin(struct printer *printer, const struct dtc_chain_packet *packet)
{
	struct dtc_decoder *decoder = &printer->decoder;
	struct walk walk = { .decoder = decoder, .is_version_2 = printer->layout->declaration->is_version_2 };
	decoder->data = packet->data;
	decoder->at = 0;
	decoder->end = packet->content_bits;
	g_string_append_printf(printer->line, "%s packet", printer->chain->name);
	print_time(printer, packet->has_begin, find_begin(printer, packet));
	if (!walk_scope(&walk, printer->layout->packet_header, NULL, NULL))
		return false;
	walk.is_context = true;
	const struct dtc_layout *context = printer->chain->layout->packet_context;
	bool is_empty = true;
	for (guint i = 0; context && i < context->member_count; i++)
		is_empty = is_empty &&
			   !is_shown(context->members[i].layout, walk.is_version_2 ? NULL : context->members[i].name);
	if (!walk_scope(&walk, context, is_empty && context && context->member_count ? NULL : "context", printer->line))
		return false;
	if (packet->has_begin)
		decoder->clock = packet->begin_ticks;
	print_line(printer->line);
	return true;
}

static void print_packet(struct printer *printer, const struct dtc_chain_packet *packet)
{
	bool is_sound = print_begin(printer, packet);
	while (is_sound && printer->decoder.at < printer->decoder.end)
		is_sound = print_event(printer);
	if (!is_sound || packet->is_cut) {
		print_damage(printer, packet);
		return;
	}
	g_string_append_printf(printer->line, "%s end", printer->chain->name);
	/* as babeltrace2 does it: a packet without an end ends with its last event */
	uint64_t end = packet->is_open ? printer->decoder.clock : packet->end_ticks;
	if (is_tracer(printer, "lttng-"))
		end = MAX(end, printer->decoder.clock);
	print_time(printer, packet->has_end || packet->is_open, end);
	print_line(printer->line);
}

static guint print_chain(const struct dtc_trace_layout *layout, const struct dtc_chain *chain)
{
	g_autofree uint64_t *slots = g_new0(uint64_t, layout->slot_count + 1);
	struct printer printer = { .layout = layout, .chain = chain, .decoder = { .slots = slots } };
	if (!chain->layout)
		return 1;
	printer.clock = chain->layout->clock;
	printer.line = g_string_new(NULL);
	for (guint i = 0; i < chain->packets->len; i++) {
		const struct dtc_chain_packet *packet = &g_array_index(chain->packets, struct dtc_chain_packet, i);
		print_gaps(&printer, packet, i ? packet - 1 : NULL);
		print_packet(&printer, packet);
	}
	g_string_free(printer.line, TRUE);
	return printer.damages;
}

static int compare_chains(const void *a, const void *b)
{
	return strcmp((*(const struct dtc_chain *const *)a)->name, (*(const struct dtc_chain *const *)b)->name);
}

static guint print_chains(const DtcChains *chains, const struct dtc_trace_layout *layout)
{
	guint count = dtc_chains_get_count(chains), damages = 0;
	g_autofree const struct dtc_chain **sorted = g_new0(const struct dtc_chain *, count + 1);
	for (guint i = 0; i < count; i++)
		sorted[i] = dtc_chains_get(chains, i);
	qsort(sorted, count, sizeof(void *), compare_chains);
	for (guint i = 0; i < count; i++)
		damages += print_chain(layout, sorted[i]);
	return damages;
}

static guint print_trace(const char *path, const struct dtc_trace_layout *layout)
{
	g_autoptr(DtcInventory) inventory = dtc_inventory_new(path);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPacketTable) table = NULL;
	if (dtc_chains_can_use_table(layout))
		table = dtc_packet_table_new(path, inventory, "trace", findings);
	DtcChains *chains = dtc_chains_new(path, layout, inventory, table, "trace", findings);
	guint damages = print_chains(chains, layout);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		fprintf(stderr, "%s\n", finding->text);
		damages += finding->severity == DTC_SEVERITY_ERROR;
	}
	g_autoptr(DtcFindings) files = dtc_findings_new();
	dtc_inventory_report(inventory, "trace", files);
	for (guint i = 0; i < dtc_findings_get_count(files); i++)
		fprintf(stderr, "%s\n", dtc_findings_get(files, i)->text);
	dtc_chains_free(chains);
	return damages;
}

int print_fast(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
	GString *text = dtc_metadata_check(metadata, &error) ? dtc_metadata_read_text(path) : NULL;
	struct dtc_trace_declaration *declaration = text ? dtc_declaration_parse(text->str, text->len, &error) : NULL;
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, &error) : NULL;
	guint damages = layout ? print_trace(path, layout) : 1;
	if (!layout)
		fprintf(stderr, "%s\n", error ? error->message : "its metadata cannot be read");
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	if (text)
		g_string_free(text, TRUE);
	return damages ? 1 : 0;
}
