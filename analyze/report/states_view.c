/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/states_view.h"

#include "analyze/engine/wall_clock.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "analyze/report/words.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <string.h>

static int64_t get_mean_ns(int64_t total_ns, uint64_t count)
{
	return count ? total_ns / (int64_t)count : 0;
}

static DtcClusterTime get_begin(const struct dtc_states_input *input, const struct dtc_state_instance *instance)
{
	return dtc_clocks_to_cluster(input->clocks, instance->node, (DtcNodeTime){ instance->spell.begin_ns });
}

/* What ended a wait; NULL for other states. Caller owns. */
static char *get_waker(const DtcHistory *history, const struct dtc_interval *spell)
{
	return dtc_state_is_wait(spell->state) ? dtc_words_for_waker(history, spell) : NULL;
}

static const char *get_name(const struct dtc_state_entry *entry)
{
	if (!entry->is_none)
		return entry->name;
	return entry->level == DTC_LEVEL_CALL ? "(no call)" : "(no file)";
}

/* ---- JSON ---- */

static void add_entry_members(GString *out, const struct dtc_state_entry *entry)
{
	static const char *const levels[DTC_STATE_LEVELS] = { "class", "state", "call", "file" };

	dtc_json_add_text(out, "name", get_name(entry));
	dtc_json_add_text(out, "level", levels[entry->level]);
	dtc_json_add_integer(out, "count", (int64_t)entry->count);
	dtc_json_add_integer(out, "total_ns", entry->total_ns);
	dtc_json_add_integer(out, "min_ns", entry->min_ns);
	dtc_json_add_integer(out, "mean_ns", get_mean_ns(entry->total_ns, entry->count));
	dtc_json_add_integer(out, "max_ns", entry->max_ns);
}

static void add_tree(GString *out, const DtcStateTree *tree)
{
	guint count = dtc_state_tree_get_count(tree);

	dtc_json_append_key(out, "tree");
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++) {
		const struct dtc_state_entry *entry = dtc_state_tree_get(tree, i);
		dtc_json_append_separator(out);
		g_string_append_printf(out, "\n%*s{", 8 + 2 * (int)entry->level, "");
		add_entry_members(out, entry);
		dtc_json_append_key(out, "children");
		g_string_append_c(out, '[');
		enum dtc_state_level next = i + 1 < count ? dtc_state_tree_get(tree, i + 1)->level : DTC_LEVEL_CLASS;
		if (next > entry->level)
			continue; /* the next one goes inside */
		for (guint level = entry->level + 1; level > next; level--)
			g_string_append(out, "]}");
	}
	g_string_append(out, "]");
}

static void add_scope(GString *out, const struct dtc_states_input *input, const struct dtc_states_scope *scope)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n    {");
	dtc_json_add_name(out, "node", input->node_names[scope->node]);
	dtc_json_add_id(out, "pid", scope->pid);
	dtc_json_add_id(out, "tid", scope->tid);
	dtc_json_add_name(out, "comm", scope->comm);
	dtc_json_add_name(out, "process", scope->process);
	dtc_json_add_bool(out, "parent", scope->is_parent);
	dtc_json_add_integer(out, "threads", scope->thread_count);
	dtc_json_add_integer(out, "start_ns", scope->begin.ns);
	dtc_json_add_integer(out, "end_ns", scope->end.ns);
	dtc_json_add_integer(out, "total_ns", dtc_state_tree_get_total_ns(scope->tree));
	add_tree(out, scope->tree);
	g_string_append_c(out, '}');
}

static void add_instance(GString *out, const struct dtc_states_input *input, const struct dtc_state_instance *instance)
{
	const struct dtc_interval *spell = &instance->spell;
	const DtcHistory *history = input->histories[instance->node];
	const struct dtc_thread *thread = dtc_history_get_thread(history, spell->thread);
	g_autofree char *detail = dtc_words_for_interval(history, spell), *waker = get_waker(history, spell);

	dtc_json_append_separator(out);
	g_string_append(out, "\n    {");
	dtc_json_add_name(out, "node", input->node_names[instance->node]);
	dtc_json_add_id(out, "pid", thread->pid);
	dtc_json_add_id(out, "tid", thread->tid);
	dtc_json_add_name(out, "comm", dtc_history_get_comm(history, spell->thread, spell->end_ns));
	dtc_json_add_name(out, "process", dtc_history_get_process(history, spell->thread, spell->end_ns));
	dtc_json_add_integer(out, "start_ns", get_begin(input, instance).ns);
	dtc_json_add_integer(out, "duration_ns", spell->end_ns - spell->begin_ns);
	dtc_json_add_text(out, "class", dtc_state_class_to_string(dtc_state_class_get(spell)));
	dtc_json_add_text(out, "state", dtc_state_name_get(history, spell));
	dtc_json_add_text(out, "detail", detail);
	dtc_json_add_text(out, "woken_by", waker);
	g_string_append_c(out, '}');
}

char *dtc_states_to_json(const struct dtc_states_input *input)
{
	GString *out = g_string_new("{\n  ");

	dtc_json_add_text(out, "schema", DTC_STATES_SCHEMA);
	dtc_json_add_name(out, "reference", input->node_names[dtc_clocks_get_reference(input->clocks)]);
	dtc_json_append_key(out, "scopes");
	g_string_append_c(out, '[');
	for (guint i = 0; i < input->scope_count; i++)
		add_scope(out, input, &input->scopes[i]);
	g_string_append(out, "\n  ]");
	if (input->instances) {
		dtc_json_append_key(out, "instances");
		g_string_append_c(out, '[');
		for (guint i = 0; i < input->instances->len; i++)
			add_instance(out, input, &g_array_index(input->instances, struct dtc_state_instance, i));
		g_string_append(out, "\n  ]");
	} else {
		dtc_json_add_null(out, "instances");
	}
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}

/* ---- text ---- */

struct view {
	const struct dtc_states_input *input;
	const struct dtc_states_text_options *options;
	DtcLayout *layout;
	guint figure_columns;
	guint name_columns;
};

#define COUNT_COLUMNS 8
#define SHARE_COLUMNS 6

static char *format_time(const struct view *view, int64_t ns)
{
	return view->options->is_exact ? g_strdup_printf("%" G_GINT64_FORMAT, (gint64)ns) : dtc_duration_format(ns);
}

static void add_time(const struct view *view, int64_t ns, enum dtc_style style)
{
	g_autofree char *text = format_time(view, ns);
	dtc_layout_add_right(view->layout, text, view->figure_columns, style);
}

static enum dtc_style get_class_style(const char *name)
{
	static const enum dtc_style styles[DTC_CLASSES] = { DTC_STYLE_GREEN, DTC_STYLE_YELLOW, DTC_STYLE_BLUE };
	enum dtc_state_class state_class;

	return dtc_state_class_parse(name, &state_class) ? styles[state_class] : DTC_STYLE_PLAIN;
}

static void add_line(const struct view *view, const struct dtc_state_entry *entry, int64_t root_ns)
{
	DtcLayout *layout = view->layout;
	g_autofree char *name = dtc_printable(get_name(entry), DTC_PRINTABLE_MAX);
	g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, entry->count);
	g_autofree char *percent = dtc_percent_format(entry->total_ns, root_ns);
	g_autofree char *share = g_strconcat(percent, " %", NULL);
	bool is_class = entry->level == DTC_LEVEL_CLASS;
	guint indent = 2 * entry->level;

	dtc_layout_add_space(layout, indent);
	dtc_layout_add_left(layout, name, view->name_columns - indent,
			    is_class ? get_class_style(entry->name) : DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, count, COUNT_COLUMNS, DTC_STYLE_PLAIN);
	add_time(view, entry->total_ns, is_class ? DTC_STYLE_BOLD : DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, share, SHARE_COLUMNS, DTC_STYLE_DIM);
	add_time(view, entry->min_ns, DTC_STYLE_DIM);
	add_time(view, get_mean_ns(entry->total_ns, entry->count), DTC_STYLE_DIM);
	add_time(view, entry->max_ns, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
}

/* Children that are too short to be read, as one line, so that the lines still sum to their parent. */
struct rest {
	struct dtc_state_entry sum;
	guint entry_count;
};

static void add_to_rest(struct rest *rest, const struct dtc_state_entry *entry)
{
	if (rest->entry_count++ == 0)
		rest->sum = *entry;
	else {
		rest->sum.count += entry->count;
		rest->sum.total_ns += entry->total_ns;
		rest->sum.min_ns = MIN(rest->sum.min_ns, entry->min_ns);
		rest->sum.max_ns = MAX(rest->sum.max_ns, entry->max_ns);
	}
}

static void flush_rest(const struct view *view, struct rest *rest, int64_t root_ns)
{
	if (rest->entry_count == 0)
		return;
	g_autofree char *name = g_strdup_printf("(%u more)", rest->entry_count);
	if (rest->entry_count > 1) {
		rest->sum.name = name;
		rest->sum.is_none = false;
	}
	add_line(view, &rest->sum, root_ns);
	rest->entry_count = 0;
}

static void add_tree_lines(const struct view *view, const DtcStateTree *tree)
{
	int64_t root_ns = dtc_state_tree_get_total_ns(tree);
	int64_t min_ns = 0;
	guint count = dtc_state_tree_get_count(tree);
	struct rest rests[DTC_STATE_LEVELS] = { 0 };

	for (guint i = 0; i < count;) {
		const struct dtc_state_entry *entry = dtc_state_tree_get(tree, i);
		for (guint level = DTC_STATE_LEVELS; level-- > (guint)entry->level + 1;)
			flush_rest(view, &rests[level], root_ns); /* of the branch that ended */
		/* by state: what all threads slept is a thousand times what they worked, and would hide all of that */
		if (entry->level <= DTC_LEVEL_STATE)
			min_ns = view->options->min_ns >= 0 ? view->options->min_ns : entry->total_ns / 50;
		bool is_folded =
			view->options->min_ns >= 0 ? entry->level > DTC_LEVEL_CLASS : entry->level > DTC_LEVEL_STATE;
		if (is_folded && entry->total_ns < min_ns) {
			add_to_rest(&rests[entry->level], entry);
			i = entry->end; /* with all that is in it */
			continue;
		}
		flush_rest(view, &rests[entry->level], root_ns);
		add_line(view, entry, root_ns);
		i++;
	}
	for (guint level = DTC_STATE_LEVELS; level-- > 0;)
		flush_rest(view, &rests[level], root_ns);
}

static void add_headings(const struct view *view)
{
	static const char *const times[] = { "total", NULL, "min", "mean", "max" };
	DtcLayout *layout = view->layout;

	dtc_layout_add_left(layout, "class, state, call, file", view->name_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "count", COUNT_COLUMNS, DTC_STYLE_DIM);
	for (guint i = 0; i < G_N_ELEMENTS(times); i++)
		dtc_layout_add_right(layout, times[i] ? times[i] : "share",
				     times[i] ? view->figure_columns : SHARE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
}

static void add_scope_text(const struct view *view, const struct dtc_states_scope *scope)
{
	const struct dtc_states_input *input = view->input;
	DtcLayout *layout = view->layout;
	g_autofree char *node = dtc_printable(input->node_names[scope->node], DTC_PRINTABLE_NAME_MAX);
	g_autofree char *name = dtc_printable(scope->tid >= 0 ? scope->comm : scope->process, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *total = dtc_duration_format(dtc_state_tree_get_total_ns(scope->tree));
	g_autofree char *from = dtc_duration_format(scope->begin.ns - input->origins_ns[scope->node]);
	g_autofree char *length = dtc_duration_format(scope->end.ns - scope->begin.ns);

	if (scope->pid < 0 && scope->tid < 0)
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%s", node);
	else
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%s (%s %d) on %s", name && *name ? name : "?",
			       scope->tid >= 0 ? "tid" : "pid", scope->tid >= 0 ? scope->tid : scope->pid, node);
	if (scope->tid >= 0)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s from +%s", length, from);
	else
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %u thread%s, %s in %s from +%s", scope->thread_count,
			       scope->thread_count == 1 ? "" : "s", total, length, from);
	dtc_layout_add_when(layout, scope->begin.ns);
	if (scope->is_parent)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  the parent, before that birth");
	dtc_layout_end_line(layout);
	add_headings(view);
	add_tree_lines(view, scope->tree);
}

static void add_instance_text(const struct view *view, const struct dtc_state_instance *instance)
{
	const struct dtc_states_input *input = view->input;
	const struct dtc_interval *spell = &instance->spell;
	const DtcHistory *history = input->histories[instance->node];
	DtcLayout *layout = view->layout;
	g_autofree char *detail = dtc_words_for_interval(history, spell), *waker = get_waker(history, spell);
	g_autofree char *line = g_strconcat(detail ? detail : "", detail && waker ? " " : "", waker ? "← " : "",
					    waker ? waker : "", NULL);
	g_autofree char *what = dtc_printable(line, DTC_PRINTABLE_MAX);
	g_autofree char *thread = g_strdup_printf("%s:%d", input->node_names[instance->node],
						  dtc_history_get_thread(history, spell->thread)->tid);
	g_autofree char *who = dtc_printable(thread, DTC_PRINTABLE_NAME_MAX + 12);
	g_autofree char *comm =
		dtc_printable(dtc_history_get_comm(history, spell->thread, spell->end_ns), DTC_PRINTABLE_NAME_MAX);
	int64_t begin_ns = get_begin(input, instance).ns - input->origins_ns[instance->node];
	struct dtc_scale scale = dtc_scale_get(G_MAXINT64, view->options->is_exact);
	g_autofree char *begin = dtc_scale_format(scale, begin_ns);

	dtc_layout_add_right(layout, begin, view->options->is_exact ? 15 : 8, DTC_STYLE_DIM);
	add_time(view, spell->end_ns - spell->begin_ns, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, who, 12, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, comm, 10, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, dtc_state_name_get(history, spell), 15,
			    get_class_style(dtc_state_class_to_string(dtc_state_class_get(spell))));
	dtc_layout_add(layout, DTC_STYLE_DIM, " %s", what);
	dtc_layout_end_line(layout);
}

/* What "at" counts from: the traces' begin, or that of the one thread's node. */
static void add_origin(const struct view *view, guint node)
{
	g_autofree char *wall = dtc_wall_clock_format(view->input->origins_ns[node]);

	if (wall)
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "  at: since %s", wall);
}

static void add_instances(const struct view *view)
{
	DtcLayout *layout = view->layout;
	const GArray *instances = view->input->instances;

	dtc_layout_add(layout, DTC_STYLE_BOLD, "%u longest instances", instances->len);
	if (instances->len)
		add_origin(view, g_array_index(instances, struct dtc_state_instance, 0).node);
	dtc_layout_end_line(layout);
	dtc_layout_add_right(layout, view->options->is_exact ? "at ns" : "at s", view->options->is_exact ? 15 : 8,
			     DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "took", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, "node:tid", 13, DTC_STYLE_DIM);
	dtc_layout_add_left(layout, "thread", 11, DTC_STYLE_DIM);
	dtc_layout_add_left(layout, "state", 15, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, " detail");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < instances->len; i++)
		add_instance_text(view, &g_array_index(instances, struct dtc_state_instance, i));
}

char *dtc_states_to_text(const struct dtc_states_input *input, const struct dtc_states_text_options *options)
{
	guint figure_columns = options->is_exact ? 16 : 9;
	guint rest = COUNT_COLUMNS + SHARE_COLUMNS + 4 * figure_columns;
	guint width = options->is_exact ? MAX(options->width, rest + 30) : options->width;
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, options->has_color, options->has_utf8);
	struct view view = { input, options, layout, figure_columns, width > rest + 20 ? width - rest : 20 };

	view.name_columns = MIN(view.name_columns, 60);
	if (input->instances) {
		add_instances(&view);
	} else {
		for (guint i = 0; i < input->scope_count; i++) {
			if (i)
				dtc_layout_end_line(layout);
			add_scope_text(&view, &input->scopes[i]);
		}
	}
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}
