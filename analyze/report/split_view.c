/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/split_view.h"

#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define NAMES_SHOWN 6	   /* beneath a mode */
#define PROCESSES_SHOWN 10 /* of a node */
#define KINDS_SHOWN 3	   /* of a CPU */
#define COUNT_COLUMNS 10
#define MODE_COLUMNS 8

/* As many as there are modes: those of enum dtc_state in which an event can come. */
static const struct {
	enum dtc_state state;
	const char *name;
} modes[] = {
	{ DTC_STATE_USER, "user" },	  { DTC_STATE_SYSCALL, "syscall" }, { DTC_STATE_KERNEL, "kernel" },
	{ DTC_STATE_IRQ, "irq" },	  { DTC_STATE_SOFTIRQ, "softirq" }, { DTC_STATE_IDLE, "idle" },
	{ DTC_STATE_UNKNOWN, "unknown" },
};
#define MODES G_N_ELEMENTS(modes)

static guint get_mode(const struct dtc_split_part *part)
{
	for (guint i = 0; i < MODES; i++)
		if (modes[i].state == part->state)
			return i;
	g_assert_not_reached();
}

/* ---- JSON ---- */

static void add_kinds(GString *out, const GArray *kinds)
{
	dtc_json_append_key(out, "kinds");
	g_string_append_c(out, '{');
	for (guint i = 0; i < kinds->len; i++) {
		const struct dtc_split_kind *kind = &g_array_index(kinds, struct dtc_split_kind, i);
		g_autofree char *name = dtc_printable(kind->name, DTC_PRINTABLE_MAX);
		dtc_json_append_separator(out);
		dtc_json_append_text(out, name, DTC_PRINTABLE_MAX);
		g_string_append_printf(out, ": %" PRIu64, kind->count);
	}
	g_string_append_c(out, '}');
}

static void add_part(GString *out, const struct dtc_split_part *part, enum dtc_split_by by)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n    {");
	if (by == DTC_SPLIT_BY_CPU) {
		dtc_json_add_integer(out, "cpu", part->cpu);
	} else {
		dtc_json_add_text(out, "mode", modes[get_mode(part)].name);
		dtc_json_add_text(out, "name", part->name);
		dtc_json_add_name(out, "process", part->process);
	}
	dtc_json_add_integer(out, "events", (int64_t)part->events);
	add_kinds(out, part->kinds);
	g_string_append_c(out, '}');
}

static void add_parts(GString *out, const char *key, const struct dtc_split *split, enum dtc_split_by by)
{
	if (!split || !split->parts || split->by != by) {
		dtc_json_add_null(out, key);
		return;
	}
	dtc_json_append_key(out, key);
	g_string_append_c(out, '[');
	for (guint i = 0; i < split->parts->len; i++)
		add_part(out, &g_array_index(split->parts, struct dtc_split_part, i), by);
	g_string_append_c(out, ']');
}

void dtc_split_add_json(GString *out, const struct dtc_split *split)
{
	add_parts(out, "cpus", split, DTC_SPLIT_BY_CPU);
	add_parts(out, "contexts", split, DTC_SPLIT_BY_CONTEXT);
}

/* ---- text ---- */

/* Parts that are one line of a table. */
struct line {
	const char *name; /* NULL: it has none */
	guint64 events;
	guint64 by_mode[MODES]; /* of a process */
	guint mode;		/* of a line that is a mode's */
};

static void add_count(DtcLayout *layout, guint64 count, guint columns)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64, count);

	dtc_layout_add_right(layout, text, columns, count ? DTC_STYLE_PLAIN : DTC_STYLE_DIM);
}

static void add_share(DtcLayout *layout, guint64 part, guint64 whole)
{
	g_autofree char *text = g_strdup_printf("%.1f", whole ? (double)part * 100 / (double)whole : 0.0);

	dtc_layout_add_right(layout, text, 7, DTC_STYLE_PLAIN);
}

static guint64 count_events(const struct dtc_split *split)
{
	guint64 events = 0;

	for (guint i = 0; i < split->parts->len; i++)
		events += g_array_index(split->parts, struct dtc_split_part, i).events;
	return events;
}

/* Most events first; nothing but the data decides. */
static gint compare_lines(gconstpointer a, gconstpointer b)
{
	const struct line *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return g_strcmp0(x->name, y->name);
}

static struct line *find_line(GArray *lines, GHashTable *index, const char *name)
{
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(index, name ? name : ""));

	if (!found) {
		const struct line fresh = { .name = name };
		g_array_append_val(lines, fresh);
		found = lines->len;
		g_hash_table_insert(index, (gpointer)(name ? name : ""), GUINT_TO_POINTER(found));
	}
	return &g_array_index(lines, struct line, found - 1);
}

/* The parts by process, or those of a mode by what they are of. */
static GArray *add_up(const struct dtc_split *split, guint only_mode, bool by_process)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(struct line));
	g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		guint mode = get_mode(part);
		if (only_mode < MODES && mode != only_mode)
			continue;
		struct line *line = find_line(lines, index, by_process ? part->process : part->name);
		line->events += part->events;
		line->by_mode[mode] += part->events;
	}
	g_array_sort(lines, compare_lines);
	return lines;
}

static void add_name(DtcLayout *layout, const char *name, const char *none, guint columns)
{
	g_autofree char *printable = dtc_printable(name ? name : none, DTC_PRINTABLE_NAME_MAX);

	dtc_layout_add_left(layout, printable, columns, name ? DTC_STYLE_PLAIN : DTC_STYLE_DIM);
}

static void add_more(DtcLayout *layout, guint count, guint64 events)
{
	dtc_layout_add(layout, DTC_STYLE_DIM, "… %u more, %" PRIu64 " events; --format json has them all", count,
		       events);
	dtc_layout_end_line(layout);
}

static guint64 add_line(DtcLayout *layout, const struct line *line, guint64 all, guint indent, const char *name)
{
	add_count(layout, line->events, COUNT_COLUMNS);
	add_share(layout, line->events, all);
	dtc_layout_add_space(layout, indent);
	add_name(layout, line->name, name, dtc_layout_get_rest(layout));
	dtc_layout_end_line(layout);
	return line->events;
}

/* What the calls, interrupts or softirqs of a mode were; user code has no names. */
static void add_names(DtcLayout *layout, const struct dtc_split *split, guint mode, guint64 all)
{
	g_autoptr(GArray) lines = add_up(split, mode, false);
	guint64 left = 0;

	if (lines->len == 1 && !g_array_index(lines, struct line, 0).name)
		return;
	for (guint i = 0; i < lines->len; i++) {
		const struct line *line = &g_array_index(lines, struct line, i);
		if (i < NAMES_SHOWN)
			add_line(layout, line, all, 4, "not known");
		else
			left += line->events;
	}
	if (lines->len > NAMES_SHOWN) {
		dtc_layout_add_space(layout, COUNT_COLUMNS + 7 + 4);
		add_more(layout, lines->len - NAMES_SHOWN, left);
	}
}

static void add_modes(DtcLayout *layout, const struct dtc_split *split, guint64 all)
{
	struct line lines[MODES] = { 0 };

	for (guint mode = 0; mode < MODES; mode++) {
		lines[mode].name = modes[mode].name;
		lines[mode].mode = mode;
	}
	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		lines[get_mode(part)].events += part->events;
	}
	qsort(lines, MODES, sizeof(struct line), compare_lines);
	for (guint i = 0; i < MODES && lines[i].events; i++) {
		add_line(layout, &lines[i], all, 2, "");
		add_names(layout, split, lines[i].mode, all);
	}
}

static void add_processes(DtcLayout *layout, const struct dtc_split *split, guint64 all)
{
	g_autoptr(GArray) lines = add_up(split, MODES, true);
	guint64 left = 0;

	dtc_layout_add_right(layout, "EVENTS", COUNT_COLUMNS, DTC_STYLE_DIM);
	for (guint mode = 0; mode < MODES - 1; mode++)
		dtc_layout_add_right(layout, modes[mode].name, MODE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add(layout, DTC_STYLE_DIM, "PROCESS");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < lines->len; i++) {
		const struct line *line = &g_array_index(lines, struct line, i);
		if (i >= PROCESSES_SHOWN) {
			left += line->events;
			continue;
		}
		add_count(layout, line->events, COUNT_COLUMNS);
		for (guint mode = 0; mode < MODES - 1; mode++)
			add_count(layout, line->by_mode[mode], MODE_COLUMNS);
		dtc_layout_add_space(layout, 2);
		add_name(layout, line->name, "not known", dtc_layout_get_rest(layout));
		dtc_layout_end_line(layout);
	}
	if (lines->len > PROCESSES_SHOWN)
		add_more(layout, lines->len - PROCESSES_SHOWN, left);
	add_count(layout, all, COUNT_COLUMNS);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  all");
	dtc_layout_end_line(layout);
}

static void add_cpus(DtcLayout *layout, const struct dtc_split *split, guint64 all)
{
	dtc_layout_add_right(layout, "CPU", 6, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "EVENTS", COUNT_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "%", 7, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  most frequent");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		add_count(layout, part->cpu, 6);
		add_count(layout, part->events, COUNT_COLUMNS);
		add_share(layout, part->events, all);
		dtc_layout_add_space(layout, 2);
		for (guint k = 0; k < MIN(part->kinds->len, KINDS_SHOWN); k++) {
			const struct dtc_split_kind *kind = &g_array_index(part->kinds, struct dtc_split_kind, k);
			g_autofree char *name = dtc_printable(kind->name, DTC_PRINTABLE_NAME_MAX);
			if (k && dtc_printable_get_columns(name) + 2 > dtc_layout_get_rest(layout))
				break;
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s%s", k ? ", " : "", name);
		}
		dtc_layout_end_line(layout);
	}
	dtc_layout_add_right(layout, "all", 6, DTC_STYLE_DIM);
	add_count(layout, all, COUNT_COLUMNS);
	dtc_layout_end_line(layout);
}

void dtc_split_add_text(DtcLayout *layout, const struct dtc_split *split)
{
	if (!split || !split->parts)
		return;
	guint64 all = count_events(split);
	bool by_cpu = split->by == DTC_SPLIT_BY_CPU;
	g_autofree char *node = dtc_printable(split->reading.node->name, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *heading = g_strdup_printf("Events by %s on %s", by_cpu ? "CPU" : "context", node);

	dtc_layout_add_heading(layout, heading, by_cpu ? NULL : "what the CPU did, entries and exits included");
	if (by_cpu) {
		add_cpus(layout, split, all);
		return;
	}
	dtc_layout_add_right(layout, "EVENTS", COUNT_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "%", 7, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  IN");
	dtc_layout_end_line(layout);
	add_modes(layout, split, all);
	dtc_layout_end_line(layout);
	add_processes(layout, split, all);
}
