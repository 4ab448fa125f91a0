/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every length field of every event class of a trace's metadata, set to what no packet has room for: one packet for
 * each of them, of an event, the one with the wrong length, and an event. The first of them is read, the rest is damage
 * of that packet alone, and no memory is asked for: there is 1 GiB of address space beyond what the undamaged trace
 * needs.
 *
 * usage: lengths TRACE SCRATCH [--keep]: the metadata of TRACE, streams in SCRATCH
 */
#include "collect/read/ctf/clock_class.h"
#include "collect/read/fast/decode.h"
#include "collect/read/reader.h"
#include "collect/read/spellings.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/resource.h>

#define BUFFER_BYTES (1u << 18)
#define SPARE_BYTES ((rlim_t)1 << 30)
#define MAGIC 0xc1fc1fc1u

struct writer {
	const struct dtc_trace_layout *trace;
	const struct dtc_stream_layout *stream;
	const struct dtc_event_layout *event;
	const struct dtc_layout *target; /* the length at hand; NULL: none */
	uint64_t length;
	struct dtc_decoder decoder;
	uint8_t *data;
	uint64_t time, content_bits, packet_bits, sequence;
	bool is_header; /* of an event */
	guint64 events; /* that can be read: all up to the damage of a packet */
	guint fields, damages;
};

/* ---- fields ---- */

static void put_bits(uint8_t *data, uint64_t at, const struct dtc_layout *layout, uint64_t value)
{
	for (uint32_t i = 0; i < layout->bits; i++) {
		uint64_t place = layout->is_big_endian ? at + layout->bits - 1 - i : at + i;
		uint8_t bit = (uint8_t)(1u << (layout->is_big_endian ? 7 - place % 8 : place % 8));
		data[place / 8] = (uint8_t)((data[place / 8] & ~bit) | ((value >> i) & 1 ? bit : 0));
	}
}

static uint64_t choose_packet_value(const struct writer *writer, const char *name)
{
	const struct {
		const char *name;
		uint64_t value;
	} values[] = { { "magic", MAGIC },
		       { "stream_id", writer->stream->declaration->id },
		       { "timestamp_begin", writer->time },
		       { "timestamp_end", writer->time + 10 },
		       { "content_size", writer->content_bits },
		       { "packet_size", writer->packet_bits },
		       { "packet_seq_num", writer->sequence } };
	for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
		if (strcmp(dtc_spelling_skip_underscores(name), values[i].name) == 0)
			return values[i].value;
	return 0;
}

static uint64_t choose_value(const struct writer *writer, const struct dtc_layout *layout, const char *name)
{
	bool is_selector = layout->type->is_enum && layout->slot >= 0 && layout->type->label_count > 0;
	if (layout == writer->target) /* of a narrow field the highest: its packet may have room for that */
		return layout->bits < 64 ? MIN(writer->length, (UINT64_C(1) << layout->bits) - 1) : writer->length;
	if (!writer->event)
		return choose_packet_value(writer, name);
	if (writer->is_header && is_selector) /* the long form */
		return (UINT64_C(1) << layout->bits) - 1;
	if (writer->is_header && layout->is_clock)
		return writer->time;
	if (writer->is_header && layout->role == DTC_ROLE_EVENT_CLASS)
		return writer->event->declaration->id;
	return is_selector ? (uint64_t)layout->type->labels[0].range.low : 0;
}

static bool put_field(struct writer *writer, const struct dtc_layout *layout, const char *name);

static bool put_structure(struct writer *writer, const struct dtc_layout *layout)
{
	writer->decoder.at = dtc_align_bits(writer->decoder.at, layout->align);
	for (guint i = 0; i < layout->member_count; i++)
		if (!put_field(writer, layout->members[i].layout, layout->members[i].name))
			return false;
	return true;
}

static bool put_integer(struct writer *writer, const struct dtc_layout *layout, const char *name)
{
	uint64_t value, at = dtc_align_bits(writer->decoder.at, layout->align);
	if (at + layout->bits > writer->decoder.end)
		return false;
	put_bits(writer->data, at, layout, choose_value(writer, layout, name));
	return dtc_decode_integer(&writer->decoder, layout, &value);
}

/* What is written can be read again, up to a sequence that is too long. */
static bool put_field(struct writer *writer, const struct dtc_layout *layout, const char *name)
{
	const struct dtc_layout *inner;
	uint32_t option;
	uint64_t at = writer->decoder.at;
	switch (layout->kind) {
	case DTC_TYPE_STRUCT:
		return put_structure(writer, layout);
	case DTC_TYPE_INTEGER:
		return put_integer(writer, layout, name);
	case DTC_TYPE_VARIANT:
	case DTC_TYPE_OPTION:
		return dtc_decode_select(&writer->decoder, layout, &option, &inner) &&
		       (!inner || put_field(writer, inner, name));
	default:
		if (!dtc_decode_pass(&writer->decoder, layout))
			return false;
		if (strcmp(dtc_spelling_skip_underscores(name), "uuid") == 0 && !writer->event)
			memcpy(writer->data + at / 8, writer->trace->declaration->uuid, 16);
		return true;
	}
}

static bool put_part(struct writer *writer, const struct dtc_layout *layout)
{
	return !layout || put_field(writer, layout, "");
}

/* ---- packets ---- */

static bool put_event(struct writer *writer, const struct dtc_event_layout *event, const struct dtc_layout *target)
{
	writer->event = event;
	writer->target = target;
	writer->is_header = true;
	bool is_whole = put_part(writer, writer->stream->event_header);
	writer->is_header = false;
	is_whole = is_whole && put_part(writer, writer->stream->common_context) && put_part(writer, event->context) &&
		   put_part(writer, event->payload);
	writer->event = NULL;
	writer->target = NULL;
	writer->time++;
	return is_whole;
}

static void put_header(struct writer *writer)
{
	writer->decoder.at = 0;
	writer->event = NULL;
	g_assert_true(put_part(writer, writer->trace->packet_header) &&
		      put_part(writer, writer->stream->packet_context));
}

/* An event, the one with the wrong length (NULL: none), an event. */
static void write_packet(struct writer *writer, const struct dtc_event_layout *event, const struct dtc_layout *target,
			 FILE *to)
{
	uint64_t time = writer->time;
	memset(writer->data, 0, BUFFER_BYTES);
	put_header(writer);
	g_assert_true(put_event(writer, event, NULL));
	bool is_whole = target && put_event(writer, event, target);
	g_assert_true(put_event(writer, event, NULL));
	writer->events += !target || is_whole ? 2 + is_whole : 1;
	writer->damages += target && !is_whole;
	writer->fields += target != NULL;
	writer->content_bits = writer->decoder.at;
	writer->packet_bits = (writer->content_bits + 4096 * 8 - 1) / (4096 * 8) * (4096 * 8);
	writer->time = time;
	put_header(writer);
	writer->time = time + 100;
	writer->sequence++;
	g_assert_cmpuint(fwrite(writer->data, 1, writer->packet_bits / 8, to), ==, writer->packet_bits / 8);
}

/* ---- lengths ---- */

/* The sequences of a field, which tell their slots. */
static void add_sources(const struct dtc_layout *layout, GHashTable *sources)
{
	if (!layout)
		return;
	if (layout->kind == DTC_TYPE_SEQUENCE)
		g_hash_table_add(sources, GINT_TO_POINTER(layout->source));
	for (guint i = 0; i < layout->member_count; i++)
		add_sources(layout->members[i].layout, sources);
	add_sources(layout->element, sources);
}

/* The fields with those slots, where they are not in a list. */
static void add_targets(const struct dtc_layout *layout, GHashTable *sources, GPtrArray *targets)
{
	if (!layout)
		return;
	if (layout->kind == DTC_TYPE_INTEGER && g_hash_table_contains(sources, GINT_TO_POINTER(layout->slot)))
		g_ptr_array_add(targets, (void *)layout);
	if (layout->kind == DTC_TYPE_VARIANT) /* the first option is the one that is written */
		return;
	for (guint i = 0; i < layout->member_count; i++)
		add_targets(layout->members[i].layout, sources, targets);
}

static void write_event(struct writer *writer, const struct dtc_event_layout *event, FILE *to)
{
	g_autoptr(GHashTable) sources = g_hash_table_new(NULL, NULL);
	g_autoptr(GPtrArray) targets = g_ptr_array_new();
	const struct dtc_layout *parts[] = { writer->stream->common_context, event->context, event->payload };
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
		add_sources(parts[i], sources);
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
		add_targets(parts[i], sources, targets);
	for (guint i = 0; i < targets->len; i++)
		write_packet(writer, event, g_ptr_array_index(targets, i), to);
}

static void write_stream(struct writer *writer, const struct dtc_stream_layout *stream, const char *path)
{
	FILE *to = fopen(path, "wb");
	g_assert_nonnull(to);
	writer->stream = stream;
	for (guint i = 0; i < stream->event_count; i++)
		write_event(writer, &stream->events[i], to);
	if (stream->event_count > 0)
		write_packet(writer, &stream->events[0], NULL, to);
	fclose(to);
}

/* ---- reading ---- */

struct outcome {
	guint64 events, losses;
	guint findings;
	bool is_named; /* each damage by node, file and byte */
};

static struct outcome read_trace(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("web", path, &error);
	const struct dtc_event *event;
	struct outcome outcome = { .is_named = true };
	g_assert_no_error(error);
	while ((event = dtc_reader_next(reader))) {
		outcome.events += event->kind != DTC_EVENT_LOST;
		outcome.losses += event->kind == DTC_EVENT_LOST;
	}
	g_assert_true(dtc_reader_finish(reader, findings, &error));
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		if (finding->severity != DTC_SEVERITY_ERROR)
			continue;
		outcome.findings++;
		outcome.is_named = outcome.is_named && g_strcmp0(finding->node, "web") == 0 && finding->incomplete &&
				   strstr(finding->text, "'s") && strstr(finding->text, " byte ");
	}
	return outcome;
}

static bool try_length(const struct dtc_trace_layout *layout, const char *scratch, uint64_t length)
{
	g_autofree uint64_t *slots = g_new0(uint64_t, layout->slot_count + 1);
	g_autofree uint8_t *data = g_malloc0(BUFFER_BYTES);
	struct writer writer = { .trace = layout, .length = length, .data = data, .time = 1000 };
	writer.decoder = (struct dtc_decoder){ .data = data, .end = BUFFER_BYTES * 8, .slots = slots };
	for (guint i = 0; i < layout->stream_count; i++) {
		g_autofree char *name = g_strdup_printf("s%u", i);
		g_autofree char *path = g_build_filename(scratch, name, NULL);
		write_stream(&writer, &layout->streams[i], path);
	}
	struct outcome outcome = read_trace(scratch);
	bool is_good = writer.damages > 0 && outcome.events == writer.events && outcome.losses == writer.damages &&
		       outcome.findings > 0 && outcome.is_named;
	printf("%slength %" G_GUINT64_FORMAT ": %u fields, %u of them damage; %" G_GUINT64_FORMAT
	       " events, %" G_GUINT64_FORMAT " places of damage, %u findings\n",
	       is_good ? "" : "BAD ", length, writer.fields, writer.damages, outcome.events, outcome.losses,
	       outcome.findings);
	return is_good;
}

/* So much more than what is there now; the address sanitizer needs space without end. */
static void limit_space(void)
{
#ifndef __SANITIZE_ADDRESS__
	unsigned long pages = 0;
	FILE *from = fopen("/proc/self/statm", "r");
	if (!from || fscanf(from, "%lu", &pages) != 1)
		pages = 0;
	if (from)
		fclose(from);
	struct rlimit limit = { 0 };
	limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + SPARE_BYTES;
	if (pages > 0)
		setrlimit(RLIMIT_AS, &limit);
#endif
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	if (argc < 3) {
		fprintf(stderr, "usage: lengths TRACE SCRATCH [SEED]\n");
		return 2;
	}
	GString *text = dtc_metadata_read_text(argv[1]);
	g_assert_nonnull(text);
	struct dtc_trace_declaration *declaration = dtc_declaration_parse(text->str, text->len, &error);
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, &error) : NULL;
	g_assert_no_error(error);
	g_autofree char *metadata = g_build_filename(argv[2], "metadata", NULL);
	g_mkdir_with_parents(argv[2], 0755);
	/* babeltrace2 asks for it where the text is not in packets */
	g_autofree char *plain = g_strconcat("/* CTF 1.8 */\n", text->str, NULL);
	g_assert_true(g_file_set_contents(metadata, plain, -1, NULL));
	g_autoptr(GRand) dice = g_rand_new_with_seed(argc > 3 ? (guint32)g_ascii_strtoull(argv[3], NULL, 10) : 1);
	/* anything that is no number of bytes of an ordinary event */
	guint32 random = g_rand_int(dice) | 1u << 22;
	const uint64_t lengths[] = { 1u << 20, 1u << 24, UINT64_C(1) << 31, UINT32_MAX, random };
	guint bad = 0;
	limit_space();
	for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++)
		bad += !try_length(layout, argv[2], lengths[i]);
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	g_string_free(text, TRUE);
	return bad ? 1 : 0;
}
