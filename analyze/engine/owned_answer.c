/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/owned_answer.h"

#include "analyze/engine/findings_image.h"
#include "analyze/engine/recording_image.h"

#include <string.h>

struct saved_told {
	uint32_t has_content;
	uint32_t is_kept;
	uint32_t has_error;
	int32_t error_code;
	struct dtc_image_key key;
	uint64_t image_bytes;
};
_Static_assert(sizeof(struct saved_told) == 56, "no padding");

static void save_error(DtcImageWriter *writer, const GError *error)
{
	const char *texts[] = { error ? g_quark_to_string(error->domain) : "", error ? error->message : "" };

	dtc_image_add_strings(writer, "told.error", texts, G_N_ELEMENTS(texts));
}

/* NULL: there is none, or it cannot be read. */
static GError *load_error(const struct saved_told *head, const DtcImage *told)
{
	gsize count = 0;
	g_autofree const char **texts =
		head->has_error ? dtc_image_get_strings(told, "told.error", &count, NULL) : NULL;

	return texts && count == 2 ? g_error_new_literal(g_quark_from_string(texts[0]), head->error_code, texts[1])
				   : NULL;
}

static void save_source(DtcImageWriter *writer, const struct dtc_census_source *source, const DtcFindings *made)
{
	g_autoptr(DtcFindings) none = dtc_findings_new();
	const DtcFindings *const lists[] = { source->reading.findings, made ? made : none };

	dtc_findings_save(lists, G_N_ELEMENTS(lists), writer);
	dtc_census_save(source, writer);
}

/* made: or NULL, and what is in it is lost. */
static bool load_source(struct dtc_census_source *source, DtcFindings *made, const DtcImage *told, GError **error)
{
	g_autoptr(DtcFindings) none = dtc_findings_new();
	DtcFindings *const lists[] = { source->reading.findings, made ? made : none };

	return dtc_findings_load(lists, G_N_ELEMENTS(lists), told, error) && dtc_census_load(source, told, error);
}

GBytes *dtc_owned_save_recording(const struct dtc_recording *recording, GError **error)
{
	const struct dtc_reading *reading = &recording->source.reading;
	const struct saved_told head = { .has_content = recording->image != NULL,
					 .is_kept = recording->is_kept,
					 .has_error = reading->error != NULL,
					 .error_code = reading->error ? reading->error->code : 0,
					 .key = recording->key,
					 .image_bytes = recording->image_bytes };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_image_add_copy(writer, "told.head", sizeof(head), &head, 1);
	save_error(writer, reading->error);
	if (!recording->image) /* else it is in there */
		save_source(writer, &recording->source, recording->made_findings);
	return dtc_image_to_bytes(writer, error);
}

bool dtc_owned_load_recording(struct dtc_recording *recording, const DtcImage *told, DtcImage *content)
{
	struct dtc_reading *reading = &recording->source.reading;
	const struct saved_told *head = dtc_image_get_one(told, "told.head", sizeof(*head), &reading->error);

	if (!head)
		return false;
	if (!(content ? dtc_recording_load(recording, content, &reading->error)
		      : load_source(&recording->source, recording->made_findings, told, &reading->error)))
		return false;
	recording->key = head->key;
	recording->is_kept = head->is_kept != 0;
	recording->image_bytes = head->image_bytes;
	reading->error = load_error(head, told);
	return true;
}

GBytes *dtc_owned_save_counts(const struct dtc_census_source *source, GError **error)
{
	const GError *problem = source->reading.error;
	const struct saved_told head = { .has_error = problem != NULL, .error_code = problem ? problem->code : 0 };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_image_add_copy(writer, "told.head", sizeof(head), &head, 1);
	save_error(writer, problem);
	save_source(writer, source, NULL);
	return dtc_image_to_bytes(writer, error);
}

bool dtc_owned_load_counts(struct dtc_census_source *source, const DtcImage *told)
{
	GError **error = &source->reading.error;
	const struct saved_told *head = dtc_image_get_one(told, "told.head", sizeof(*head), error);

	if (!head || !load_source(source, NULL, told, error))
		return false;
	source->reading.error = load_error(head, told);
	return true;
}

struct saved_begin {
	int64_t ns;
	uint32_t is_trace;
	uint32_t spare;
};

GBytes *dtc_owned_save_begin(const struct dtc_window_begin *begin, GError **error)
{
	const struct saved_begin saved = { begin->ns, begin->is_trace, 0 };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_image_add_copy(writer, "told.begin", sizeof(saved), &saved, 1);
	return dtc_image_to_bytes(writer, error);
}

bool dtc_owned_load_begin(const DtcImage *told, struct dtc_window_begin *ret_begin)
{
	const struct saved_begin *saved = dtc_image_get_one(told, "told.begin", sizeof(*saved), NULL);

	if (saved)
		*ret_begin = (struct dtc_window_begin){ saved->ns, saved->is_trace != 0 };
	return saved != NULL;
}

/* ---- what is told as a value ---- */

static GBytes *save_value(GVariant *value, GError **error)
{
	g_autoptr(GVariant) owned = g_variant_ref_sink(value);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_image_add(writer, "told.value", 1, g_variant_get_data(owned), g_variant_get_size(owned));
	return dtc_image_to_bytes(writer, error);
}

/* NULL with an error. Caller owns; it does not need the image. */
static GVariant *load_value(const DtcImage *told, const char *type, GError **error)
{
	gsize bytes;
	const void *data = dtc_image_get(told, "told.value", 1, &bytes, error);

	if (!data)
		return NULL;
	g_autoptr(GBytes) copy = g_bytes_new(data, bytes);
	g_autoptr(GVariant) value = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), copy, FALSE));
	if (g_variant_is_normal_form(value))
		return g_steal_pointer(&value);
	dtc_image_refuse(told, error, "a value in it is none");
	return NULL;
}

#define SPLIT_TYPE "ma(uumaymayta(ayt))"

GBytes *dtc_owned_save_split(const struct dtc_split *split, GError **error)
{
	GVariantBuilder parts;

	if (!split->parts)
		return save_value(g_variant_new(SPLIT_TYPE, NULL), error);
	g_variant_builder_init(&parts, G_VARIANT_TYPE("a(uumaymayta(ayt))"));
	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		GVariantBuilder kinds;
		g_variant_builder_init(&kinds, G_VARIANT_TYPE("a(ayt)"));
		for (guint k = 0; k < part->kinds->len; k++) {
			const struct dtc_split_kind *kind = &g_array_index(part->kinds, struct dtc_split_kind, k);
			g_variant_builder_add(&kinds, "(^ayt)", kind->name, kind->count);
		}
		g_variant_builder_add(&parts, "(uum^aym^ayta(ayt))", part->cpu, (guint32)part->state, part->name,
				      part->process, part->events, &kinds);
	}
	return save_value(g_variant_new(SPLIT_TYPE, &parts), error);
}

static void add_kinds(struct dtc_split_part *part, GVariantIter *kinds)
{
	struct dtc_split_kind kind;

	while (g_variant_iter_next(kinds, "(^ayt)", &kind.name, &kind.count))
		g_array_append_val(part->kinds, kind);
}

bool dtc_owned_load_split(struct dtc_split *split, const DtcImage *told)
{
	g_autoptr(GVariant) value = load_value(told, SPLIT_TYPE, &split->reading.error);
	g_autoptr(GVariantIter) parts = NULL;
	guint32 cpu, state;
	char *name, *process;
	guint64 events;
	GVariantIter *kinds;

	if (!value)
		return false;
	g_variant_get(value, SPLIT_TYPE, &parts);
	if (!parts)
		return true;
	split->parts = dtc_split_parts_new();
	while (g_variant_iter_next(parts, "(uum^aym^ayta(ayt))", &cpu, &state, &name, &process, &events, &kinds)) {
		struct dtc_split_part *part = dtc_split_parts_add(split->parts);
		part->cpu = cpu;
		part->state = (enum dtc_state)state;
		part->name = name;
		part->process = process;
		part->events = events;
		add_kinds(part, kinds);
		g_variant_iter_free(kinds);
	}
	return true;
}

#define MEMORY_TYPE "(bbbttaxma(maybbxxmaxtt))"

static GVariant *pack_integers(const int64_t *integers, guint count)
{
	return g_variant_new_fixed_array(G_VARIANT_TYPE_INT64, integers, integers ? count : 0, sizeof(int64_t));
}

static GVariant *pack_rows(const struct dtc_memory *memory)
{
	GVariantBuilder rows;

	g_variant_builder_init(&rows, G_VARIANT_TYPE("a(maybbxxmaxtt)"));
	for (guint i = 0; i < memory->rows->len; i++) {
		const struct dtc_memory_row *row = &g_array_index(memory->rows, struct dtc_memory_row, i);
		GVariant *resident =
			row->resident ? pack_integers(row->resident, memory->axis->interval_count + 1) : NULL;
		g_variant_builder_add(&rows, "(m^aybbxxm@axtt)", row->name, row->is_interrupts, row->has_resident,
				      row->most_bytes, row->last_bytes, resident, row->allocated_bytes,
				      row->freed_bytes);
	}
	return g_variant_builder_end(&rows);
}

GBytes *dtc_owned_save_memory(const struct dtc_memory *memory, GError **error)
{
	return save_value(g_variant_new("(bbbtt@axm@a(maybbxxmaxtt))", memory->is_told, memory->has_resident,
					memory->has_pages, memory->allocated_bytes, memory->freed_bytes,
					pack_integers(memory->change, memory->axis->interval_count + 1),
					memory->rows ? pack_rows(memory) : NULL),
			  error);
}

/* So many of them, which the caller frees; NULL: there are none. */
static int64_t *unpack_integers(GVariant *packed, guint count)
{
	gsize packed_count = 0;
	const int64_t *integers = packed ? g_variant_get_fixed_array(packed, &packed_count, sizeof(int64_t)) : NULL;

	return packed_count == count ? g_memdup2(integers, count * sizeof(int64_t)) : NULL;
}

static void add_rows(struct dtc_memory *memory, GVariant *rows)
{
	GVariantIter iter;
	gboolean is_interrupts, has_resident;
	struct dtc_memory_row row;
	GVariant *resident;

	g_variant_iter_init(&iter, rows);
	while (g_variant_iter_next(&iter, "(m^aybbxxm@axtt)", &row.name, &is_interrupts, &has_resident, &row.most_bytes,
				   &row.last_bytes, &resident, &row.allocated_bytes, &row.freed_bytes)) {
		row.is_interrupts = is_interrupts;
		row.has_resident = has_resident;
		row.resident = unpack_integers(resident, memory->axis->interval_count + 1);
		g_clear_pointer(&resident, g_variant_unref);
		g_array_append_val(memory->rows, row);
	}
}

bool dtc_owned_load_memory(struct dtc_memory *memory, const DtcImage *told)
{
	g_autoptr(GVariant) value = load_value(told, MEMORY_TYPE, &memory->reading.error);
	g_autoptr(GVariant) change = NULL;
	g_autoptr(GVariant) rows = NULL;
	gboolean is_told, has_resident, has_pages;

	if (!value)
		return false;
	g_variant_get(value, "(bbbtt@axm@a(maybbxxmaxtt))", &is_told, &has_resident, &has_pages,
		      &memory->allocated_bytes, &memory->freed_bytes, &change, &rows);
	memory->is_told = is_told;
	memory->has_resident = has_resident;
	memory->has_pages = has_pages;
	memory->change = unpack_integers(change, memory->axis->interval_count + 1);
	if (rows) {
		memory->rows = dtc_memory_rows_new();
		add_rows(memory, rows);
	}
	return true;
}
