/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/memory_view.h"

#include "analyze/report/units.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define BYTES_COLUMNS 10
#define NAME_COLUMNS 22
#define SLICES 8 /* figures over time, where so many fit */

static const char *name_row(const struct dtc_memory_row *row)
{
	return row->is_interrupts ? "interrupts" : row->name ? row->name : "not known";
}

/* Names of processes are what `usage` asked for; interrupts and who is not known are nobody's. */
static bool is_wanted(const struct dtc_memory_input *input, guint node, const struct dtc_memory_row *row)
{
	bool has_others = false;

	for (guint i = 0; i < input->usage->processes->len; i++) {
		const struct dtc_usage_process *process =
			&g_array_index(input->usage->processes, struct dtc_usage_process, i);
		has_others |= !process->is_asked;
		if (process->is_asked && process->node == node && row->name && strcmp(process->name, row->name) == 0)
			return true;
	}
	return !has_others;
}

/* ---- JSON ---- */

static void add_steps(GString *out, const char *key, const int64_t *values, guint count)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out, "%s%" PRId64, i ? "," : "", values[i]);
	g_string_append_c(out, ']');
}

/* Before the first event it is not known. */
static void add_resident(GString *out, const int64_t *values, guint count)
{
	dtc_json_append_key(out, "resident");
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++)
		if (values[i] == DTC_MEMORY_UNKNOWN)
			g_string_append(out, i ? ",null" : "null");
		else
			g_string_append_printf(out, "%s%" PRId64, i ? "," : "", values[i]);
	g_string_append_c(out, ']');
}

static void add_pages(GString *out, bool has_pages, uint64_t allocated, uint64_t freed)
{
	if (has_pages) {
		dtc_json_add_integer(out, "allocated_bytes", (int64_t)allocated);
		dtc_json_add_integer(out, "freed_bytes", (int64_t)freed);
	} else {
		dtc_json_add_null(out, "allocated_bytes");
		dtc_json_add_null(out, "freed_bytes");
	}
}

static void add_json_row(GString *out, const struct dtc_memory *memory, const struct dtc_memory_row *row)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n      {");
	dtc_json_add_name(out, "process", row->name);
	dtc_json_add_bool(out, "is_interrupts", row->is_interrupts);
	if (row->has_resident) {
		dtc_json_add_integer(out, "resident_bytes", row->last_bytes);
		dtc_json_add_integer(out, "most_bytes", row->most_bytes);
		add_resident(out, row->resident, memory->axis->interval_count);
	} else {
		dtc_json_add_null(out, "resident_bytes");
		dtc_json_add_null(out, "most_bytes");
		dtc_json_add_null(out, "resident");
	}
	add_pages(out, memory->has_pages, row->allocated_bytes, row->freed_bytes);
	g_string_append_c(out, '}');
}

static void add_json_node(GString *out, const struct dtc_memory_input *input, const struct dtc_memory *memory)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n    {");
	dtc_json_add_name(out, "node", memory->reading.node->name);
	dtc_json_add_bool(out, "has_resident", memory->is_told && memory->has_resident);
	dtc_json_add_bool(out, "has_pages", memory->is_told && memory->has_pages);
	add_pages(out, memory->is_told && memory->has_pages, memory->allocated_bytes, memory->freed_bytes);
	if (memory->is_told && memory->has_pages)
		add_steps(out, "change", memory->change, memory->axis->interval_count);
	else
		dtc_json_add_null(out, "change");
	dtc_json_append_key(out, "processes");
	g_string_append_c(out, '[');
	for (guint i = 0; memory->is_told && i < memory->rows->len; i++) {
		const struct dtc_memory_row *row = &g_array_index(memory->rows, struct dtc_memory_row, i);
		if (is_wanted(input, memory->reading.node_index, row))
			add_json_row(out, memory, row);
	}
	g_string_append(out, "]}");
}

void dtc_memory_add_json(GString *out, const struct dtc_memory_input *input)
{
	if (!input->memories) {
		dtc_json_add_null(out, "memory");
		return;
	}
	dtc_json_append_key(out, "memory");
	g_string_append_c(out, '[');
	for (guint i = 0; i < input->memories->len; i++) {
		const struct dtc_memory *memory = input->memories->pdata[i];
		if (!memory->reading.is_capture)
			add_json_node(out, input, memory);
	}
	g_string_append(out, "\n  ]");
}

/* ---- text ---- */

static void add_bytes(DtcLayout *layout, bool is_known, int64_t bytes)
{
	g_autofree char *size = is_known ? dtc_bytes_format(bytes) : g_strdup("-");

	dtc_layout_add_right(layout, size, BYTES_COLUMNS, is_known && bytes ? DTC_STYLE_PLAIN : DTC_STYLE_DIM);
}

/* The step at which a slice ends: all steps are in slices of about equal length. */
static guint get_slice_end(guint slice, guint slices, guint steps)
{
	return (guint)((guint64)(slice + 1) * steps / slices);
}

static guint count_slices(const DtcLayout *layout, guint used_columns, guint steps)
{
	guint rest = dtc_layout_get_rest(layout);

	return MIN(MIN(steps, SLICES), rest > used_columns ? (rest - used_columns) / BYTES_COLUMNS : 0);
}

static void add_heads(DtcLayout *layout, const char *const *heads, guint count)
{
	for (guint i = 0; i < count; i++)
		dtc_layout_add_right(layout, heads[i], BYTES_COLUMNS, DTC_STYLE_DIM);
}

static void add_name(DtcLayout *layout, const char *name, enum dtc_style style)
{
	g_autofree char *printable = dtc_printable(name, DTC_PRINTABLE_NAME_MAX);

	dtc_layout_add_left(layout, printable, NAME_COLUMNS, style);
}

static void add_resident_row(DtcLayout *layout, const struct dtc_memory *memory, const struct dtc_memory_row *row,
			     guint slices)
{
	add_name(layout, name_row(row), DTC_STYLE_PLAIN);
	add_bytes(layout, row->has_resident, row->most_bytes);
	add_bytes(layout, memory->has_pages, (int64_t)row->allocated_bytes);
	add_bytes(layout, memory->has_pages, (int64_t)row->freed_bytes);
	for (guint i = 0; i < slices; i++) {
		guint end = get_slice_end(i, slices, memory->axis->interval_count);
		int64_t bytes = row->has_resident ? row->resident[end - 1] : DTC_MEMORY_UNKNOWN;
		add_bytes(layout, bytes != DTC_MEMORY_UNKNOWN, bytes);
	}
	dtc_layout_end_line(layout);
}

/* Of the whole node: pages that are in use more than at the begin. */
static void add_change_row(DtcLayout *layout, const struct dtc_memory *memory, guint slices)
{
	int64_t change = 0;
	guint step = 0;

	add_name(layout, "all, since the begin", DTC_STYLE_BOLD);
	add_bytes(layout, false, 0);
	add_bytes(layout, true, (int64_t)memory->allocated_bytes);
	add_bytes(layout, true, (int64_t)memory->freed_bytes);
	for (guint i = 0; i < slices; i++) {
		for (; step < get_slice_end(i, slices, memory->axis->interval_count); step++)
			change += memory->change[step];
		add_bytes(layout, true, change);
	}
	dtc_layout_end_line(layout);
}

static void add_more(DtcLayout *layout, guint count)
{
	if (count)
		dtc_layout_add(layout, DTC_STYLE_DIM, "… %u more (--limit 0 shows all)", count);
	if (count)
		dtc_layout_end_line(layout);
}

static void add_node(DtcLayout *layout, const struct dtc_memory_input *input, const struct dtc_memory *memory,
		     guint limit)
{
	static const char *const heads[] = { "most", "allocated", "freed" };
	guint slices =
		count_slices(layout, NAME_COLUMNS + BYTES_COLUMNS * G_N_ELEMENTS(heads), memory->axis->interval_count);
	guint shown = 0, left = 0;

	add_name(layout, memory->reading.node->name, DTC_STYLE_BOLD);
	add_heads(layout, heads, G_N_ELEMENTS(heads));
	for (guint i = 0; i < slices; i++) {
		guint end = get_slice_end(i, slices, memory->axis->interval_count);
		g_autofree char *at = dtc_duration_format_short((int64_t)end * memory->interval_ns);
		g_autofree char *until = g_strdup_printf("+%s", at);
		dtc_layout_add_right(layout, until, BYTES_COLUMNS, DTC_STYLE_DIM);
	}
	dtc_layout_end_line(layout);
	for (guint i = 0; i < memory->rows->len; i++) {
		const struct dtc_memory_row *row = &g_array_index(memory->rows, struct dtc_memory_row, i);
		if (!is_wanted(input, memory->reading.node_index, row))
			continue;
		if (limit && shown == limit) {
			left++;
			continue;
		}
		add_resident_row(layout, memory, row, slices);
		shown++;
	}
	add_more(layout, left);
	if (memory->has_pages)
		add_change_row(layout, memory, slices);
}

void dtc_memory_add_text(DtcLayout *layout, const struct dtc_memory_input *input, guint limit)
{
	bool is_missing = false;

	if (!input->memories)
		return;
	dtc_layout_add_heading(layout, "Memory", "resident bytes by process, over time");
	for (guint i = 0; i < input->memories->len; i++) {
		const struct dtc_memory *memory = input->memories->pdata[i];
		if (memory->reading.is_capture)
			continue;
		if (memory->is_told) {
			add_node(layout, input, memory, limit);
			continue;
		}
		g_autofree char *node = dtc_printable(memory->reading.node->name, DTC_PRINTABLE_NAME_MAX);
		bool is_index = memory->reading.node->kernel_image != NULL;
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s: %s has no events of memory", node,
			       is_index ? "its index" : "its trace");
		dtc_layout_end_line(layout);
		is_missing |= !is_index;
	}
	dtc_layout_add_paragraph(
		layout,
		is_missing
			? "To have them: dtrace-collect record --events '+kmem:rss_stat,+kmem:mm_page_alloc,"
			  "+kmem:mm_page_free', or with LTTng the events kmem_mm_page_alloc and kmem_mm_page_free "
			  "(then there is no resident memory)."
			: "Resident: of the kinds of pages (of files, anonymous, shared) of which the trace has an "
			  "event since the process began. Allocated and freed: while it ran; who allocates a page need "
			  "not be who frees it.",
		0);
}
