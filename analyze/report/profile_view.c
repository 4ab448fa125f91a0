/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/profile_view.h"

#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <string.h>

#define NAME_COLUMNS 15 /* TASK_COMM_LEN without the end */
#define ID_COLUMNS 8
#define EXACT_COLUMNS 16 /* 10^15 ns: eleven days */

static const char *get_name(const struct dtc_top_node *node, const struct dtc_profile_row *row, bool is_thread)
{
	const char *name = is_thread ? dtc_history_get_comm(node->history, row->thread, node->end.ns)
				     : dtc_history_get_process(node->history, row->thread, node->end.ns);
	return *name ? name : NULL;
}

static guint get_shown(const struct dtc_top_input *input, const GArray *rows)
{
	return input->limit ? MIN(input->limit, rows->len) : rows->len;
}

/* ---- JSON ---- */

/* "page-fault" is the key page_fault_ns; counts have no unit. */
static void add_column(GString *out, const struct dtc_profile_row *row, enum dtc_profile_column column)
{
	g_autofree char *key = g_strconcat(dtc_profile_column_to_string(column),
					   dtc_profile_column_is_count(column) ? "" : "_ns", NULL);

	dtc_json_add_integer(out, g_strdelimit(key, "-", '_'), row->value[column]);
}

static void add_cpu_times(GString *out, const struct dtc_profile_cpu *cpu)
{
	dtc_json_add_integer(out, "user_ns", cpu->user_ns);
	dtc_json_add_integer(out, "system_ns", cpu->system_ns);
	dtc_json_add_integer(out, "irq_ns", cpu->irq_ns);
	dtc_json_add_integer(out, "softirq_ns", cpu->softirq_ns);
	dtc_json_add_integer(out, "guest_ns", cpu->guest_ns);
	dtc_json_add_integer(out, "vm_preempted_ns", cpu->vm_preempted_ns);
	dtc_json_add_integer(out, "vm_exit_ns", cpu->vm_exit_ns);
	dtc_json_add_integer(out, "idle_ns", cpu->idle_ns);
	dtc_json_add_integer(out, "unknown_ns", cpu->unknown_ns);
	dtc_json_add_integer(out, "span_ns", cpu->span_ns);
}

static void add_cpus(GString *out, const struct dtc_top_node *node)
{
	guint count = node->history ? dtc_history_get_cpu_count(node->history) : 0;

	dtc_json_append_key(out, "cpus");
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++) {
		const struct dtc_profile_cpu *cpu = &node->cpus[i];
		g_string_append(out, i ? ",\n      {" : "\n      {");
		dtc_json_add_integer(out, "cpu", i);
		add_cpu_times(out, cpu);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void add_row(GString *out, const struct dtc_top_input *input, const struct dtc_top_node *node,
		    const struct dtc_profile_row *row)
{
	const struct dtc_thread *thread = dtc_history_get_thread(node->history, row->thread);

	dtc_json_append_separator(out);
	g_string_append(out, "\n    {");
	dtc_json_add_name(out, "node", node->name);
	dtc_json_add_id(out, "pid", thread->pid);
	dtc_json_add_id(out, "tid", input->has_threads ? thread->tid : -1);
	dtc_json_add_name(out, "comm", input->has_threads ? get_name(node, row, true) : NULL);
	dtc_json_add_name(out, "process", get_name(node, row, false));
	dtc_json_add_bool(out, "is_kernel", thread->is_kernel);
	dtc_json_add_integer(out, "threads", row->thread_count);
	for (guint i = DTC_PROFILE_BASIC_COLUMNS; i < DTC_PROFILE_CALLS; i++)
		add_column(out, row, (enum dtc_profile_column)i);
	for (guint i = 0; i < DTC_PROFILE_BASIC_COLUMNS; i++)
		add_column(out, row, (enum dtc_profile_column)i);
	for (guint i = DTC_PROFILE_CALLS; i < DTC_PROFILE_COLUMNS; i++)
		add_column(out, row, (enum dtc_profile_column)i);
	g_string_append_c(out, '}');
}

char *dtc_top_to_json(const struct dtc_top_input *input)
{
	GString *out = g_string_new("{\n  ");

	dtc_json_add_text(out, "schema", DTC_TOP_SCHEMA);
	dtc_json_add_name(out, "reference", input->reference);
	dtc_json_add_text(out, "sort", dtc_profile_column_to_string(input->sort));
	dtc_json_append_key(out, "nodes");
	g_string_append_c(out, '[');
	for (guint i = 0; i < input->node_count; i++) {
		const struct dtc_top_node *node = &input->nodes[i];
		g_string_append(out, i ? ",\n    {" : "\n    {");
		dtc_json_add_name(out, "node", node->name);
		dtc_json_add_integer(out, "start_ns", node->cluster_begin.ns);
		dtc_json_add_integer(out, "end_ns", node->cluster_end.ns);
		dtc_json_add_integer(out, "row_count", node->rows->len);
		dtc_json_append_key(out, "total");
		g_string_append_c(out, '{');
		add_cpu_times(out, &node->total);
		g_string_append_c(out, '}');
		add_cpus(out, node);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "\n  ]");
	dtc_json_append_key(out, "rows");
	g_string_append_c(out, '[');
	for (guint i = 0; i < input->node_count; i++) {
		const struct dtc_top_node *node = &input->nodes[i];
		for (guint k = 0; k < get_shown(input, node->rows); k++)
			add_row(out, input, node, &g_array_index(node->rows, struct dtc_profile_row, k));
	}
	g_string_append(out, "\n  ]");
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}

/* ---- text ---- */

struct view {
	const struct dtc_top_input *input;
	DtcLayout *layout;
	bool is_exact;
	guint columns; /* of a figure */
};

/* A table shows sums over basic columns, so that what does not fit beside each other is still there. */
struct figure {
	const char *heading;
	enum dtc_profile_column columns[4];
	guint count;
};

static const struct figure times[] = {
	{ "user", { DTC_PROFILE_USER }, 1 },
	{ "system", { DTC_PROFILE_SYSTEM }, 1 },
	{ "irq", { DTC_PROFILE_IRQ, DTC_PROFILE_SOFTIRQ }, 2 },
	{ "runq", { DTC_PROFILE_RUNQUEUE }, 1 },
	{ "preemp", { DTC_PROFILE_PREEMPTED }, 1 },
	{ "i/o", { DTC_PROFILE_IO }, 1 },
	{ "wait", { DTC_PROFILE_BLOCKED, DTC_PROFILE_EXITED }, 2 },
	{ "unkn.", { DTC_PROFILE_UNKNOWN }, 1 },
};
static const struct figure machines[] = {
	{ "guest", { DTC_PROFILE_GUEST }, 1 },
	{ "stolen", { DTC_PROFILE_VM_PREEMPTED }, 1 },
	{ "exits", { DTC_PROFILE_VM_EXIT }, 1 },
};
static const struct figure causes[] = {
	{ "net", { DTC_PROFILE_NETWORK }, 1 },
	{ "timer", { DTC_PROFILE_TIMER }, 1 },
	{ "lock", { DTC_PROFILE_LOCK }, 1 },
	{ "ipc", { DTC_PROFILE_IPC }, 1 },
	{ "child", { DTC_PROFILE_CHILD }, 1 },
	{ "device", { DTC_PROFILE_DEVICE }, 1 },
	{ "exited", { DTC_PROFILE_EXITED }, 1 },
	{ "other", { DTC_PROFILE_FORK_EXEC, DTC_PROFILE_STOPPED, DTC_PROFILE_WAIT }, 3 },
};
static const struct figure counts[] = {
	{ "calls", { DTC_PROFILE_CALLS }, 1 },	   { "faults", { DTC_PROFILE_FAULTS }, 1 },
	{ "woken", { DTC_PROFILE_WOKEN }, 1 },	   { "wakes", { DTC_PROFILE_WAKES }, 1 },
	{ "switch", { DTC_PROFILE_SWITCHES }, 1 },
};
#define FIGURES (G_N_ELEMENTS(times)) /* in the widest table */

/* At most 6 columns, three digits: "812ns", "50.1ms", "1234s"; nothing is "-". */
static char *format_short(int64_t ns)
{
	static const struct {
		int64_t below_ns; /* half a step below the next form, so that nothing rounds up to four digits */
		int64_t step_ns;
		int decimals;
		const char *unit;
	} forms[] = {
		{ 1000, 1, 0, "ns" },
		{ 9995, 10, 2, "µs" },
		{ 99950, 100, 1, "µs" },
		{ 999500, 1000, 0, "µs" },
		{ 9995000, 10000, 2, "ms" },
		{ 99950000, 100000, 1, "ms" },
		{ 999500000, 1000000, 0, "ms" },
		{ 9995000000, 10000000, 2, "s" },
		{ 99950000000, 100000000, 1, "s" },
		{ INT64_MAX, 1000000000, 0, "s" },
	};
	gsize i = 0;

	if (ns == 0)
		return g_strdup("-");
	while (ns >= forms[i].below_ns && i + 1 < G_N_ELEMENTS(forms))
		i++;
	int64_t steps = ns / forms[i].step_ns + (ns % forms[i].step_ns * 2 >= forms[i].step_ns && forms[i].step_ns > 1);
	int64_t power = forms[i].decimals == 2 ? 100 : forms[i].decimals == 1 ? 10 : 1;

	if (power == 1)
		return g_strdup_printf("%" G_GINT64_FORMAT "%s", (gint64)steps, forms[i].unit);
	return g_strdup_printf("%" G_GINT64_FORMAT ".%0*" G_GINT64_FORMAT "%s", (gint64)(steps / power),
			       forms[i].decimals, (gint64)(steps % power), forms[i].unit);
}

static void add_figure(const struct view *view, const struct figure *figure, const struct dtc_profile_row *row)
{
	bool is_count = dtc_profile_column_is_count(figure->columns[0]);
	int64_t sum = 0;

	for (guint i = 0; i < figure->count; i++)
		sum += row->value[figure->columns[i]];
	g_autofree char *text =
		is_count || view->is_exact ? g_strdup_printf("%" G_GINT64_FORMAT, (gint64)sum) : format_short(sum);
	dtc_layout_add_right(view->layout, text, view->columns, sum ? DTC_STYLE_PLAIN : DTC_STYLE_DIM);
}

static void add_table(const struct view *view, const struct dtc_top_node *node, const char *heading, const char *note,
		      const struct figure *figures, guint figure_count)
{
	const struct dtc_top_input *input = view->input;
	DtcLayout *layout = view->layout;

	dtc_layout_add_heading(layout, heading, note);
	dtc_layout_add_left(layout, input->has_threads ? "thread" : "process", NAME_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, input->has_threads ? "tid" : "pid", ID_COLUMNS, DTC_STYLE_DIM);
	for (guint i = 0; i < figure_count; i++)
		dtc_layout_add_right(layout, figures[i].heading, view->columns, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
	for (guint k = 0; k < get_shown(input, node->rows); k++) {
		const struct dtc_profile_row *row = &g_array_index(node->rows, struct dtc_profile_row, k);
		const struct dtc_thread *thread = dtc_history_get_thread(node->history, row->thread);
		g_autofree char *name = dtc_printable(get_name(node, row, input->has_threads), DTC_PRINTABLE_NAME_MAX);
		g_autofree char *id = g_strdup_printf("%d", thread->tid);
		dtc_layout_add_left(layout, name ? name : "?", NAME_COLUMNS, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, id, ID_COLUMNS, DTC_STYLE_DIM);
		for (guint i = 0; i < figure_count; i++)
			add_figure(view, &figures[i], row);
		dtc_layout_end_line(layout);
	}
}

static void add_share(DtcLayout *layout, const char *name, int64_t part_ns, int64_t total_ns, bool is_exact)
{
	g_autofree char *percent = dtc_percent_format(part_ns, total_ns);
	g_autofree char *exact = g_strdup_printf("  %s %" G_GINT64_FORMAT " ns", name, (gint64)part_ns);
	g_autofree char *text = is_exact ? g_steal_pointer(&exact) : g_strdup_printf("  %s %s %%", name, percent);

	dtc_layout_add(layout, part_ns ? DTC_STYLE_PLAIN : DTC_STYLE_DIM, "%s", text);
}

static void add_cpu_line(const struct view *view, const char *label, const struct dtc_profile_cpu *cpu)
{
	dtc_layout_add_left(view->layout, label, 6, DTC_STYLE_DIM);
	add_share(view->layout, "user", cpu->user_ns, cpu->span_ns, view->is_exact);
	add_share(view->layout, "system", cpu->system_ns, cpu->span_ns, view->is_exact);
	add_share(view->layout, "irq", cpu->irq_ns, cpu->span_ns, view->is_exact);
	add_share(view->layout, "softirq", cpu->softirq_ns, cpu->span_ns, view->is_exact);
	if (cpu->guest_ns)
		add_share(view->layout, "guest", cpu->guest_ns, cpu->span_ns, view->is_exact);
	if (cpu->vm_preempted_ns + cpu->vm_exit_ns) {
		add_share(view->layout, "stolen", cpu->vm_preempted_ns, cpu->span_ns, view->is_exact);
		add_share(view->layout, "exits", cpu->vm_exit_ns, cpu->span_ns, view->is_exact);
	}
	add_share(view->layout, "idle", cpu->idle_ns, cpu->span_ns, view->is_exact);
	add_share(view->layout, "unknown", cpu->unknown_ns, cpu->span_ns, view->is_exact);
	dtc_layout_end_line(view->layout);
}

/* A line per CPU, and one of the node. */
static void add_cpu_lines(const struct view *view, const struct dtc_top_node *node)
{
	for (guint i = 0; i < dtc_history_get_cpu_count(node->history); i++) {
		g_autofree char *label = g_strdup_printf("cpu %u", i);
		add_cpu_line(view, label, &node->cpus[i]);
	}
	add_cpu_line(view, "total", &node->total);
}

static void add_node(const struct view *view, const struct dtc_top_node *node)
{
	const struct dtc_top_input *input = view->input;
	DtcLayout *layout = view->layout;
	g_autofree char *name = dtc_printable(node->name, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *from = dtc_duration_format(node->cluster_begin.ns - node->origin.ns);
	g_autofree char *length = dtc_duration_format(node->cluster_end.ns - node->cluster_begin.ns);
	guint shown = get_shown(input, node->rows);

	dtc_layout_add(layout, DTC_STYLE_BOLD, "%s", name);
	if (!node->history) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "  no kernel trace");
		dtc_layout_end_line(layout);
		return;
	}
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %u %s%s in %s from +%s", node->rows->len,
		       input->has_threads ? "thread" : "process",
		       node->rows->len == 1 ? ""
		       : input->has_threads ? "s"
					    : "es",
		       length, from);
	dtc_layout_add_when(layout, node->cluster_begin.ns);
	dtc_layout_end_line(layout);
	add_cpu_lines(view, node);
	add_table(view, node, "Time", "irq: interrupts and softirqs on top of it; i/o: disk and page faults", times,
		  G_N_ELEMENTS(times));
	if (node->total.guest_ns + node->total.vm_preempted_ns + node->total.vm_exit_ns)
		add_table(view, node, "Virtual CPUs",
			  "stolen, and exits to the host, of a guest; in the guest, of a host", machines,
			  G_N_ELEMENTS(machines));
	add_table(view, node, "Wait", "by cause, without i/o", causes, G_N_ELEMENTS(causes));
	add_table(view, node, "Counts", "system calls, page faults, wakeups received and given, switches in", counts,
		  G_N_ELEMENTS(counts));
	if (shown < node->rows->len) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "%u more: --limit 0 shows all", node->rows->len - shown);
		dtc_layout_end_line(layout);
	}
}

char *dtc_top_to_text(const struct dtc_top_input *input, guint width, bool has_color, bool has_utf8, bool is_exact)
{
	guint columns = is_exact ? EXACT_COLUMNS : 7;
	guint needed = NAME_COLUMNS + ID_COLUMNS + FIGURES * columns;
	g_autoptr(DtcLayout) layout = dtc_layout_new(is_exact ? MAX(width, needed) : width, has_color, has_utf8);
	const struct view view = { input, layout, is_exact, columns };

	for (guint i = 0; i < input->node_count; i++) {
		if (i)
			dtc_layout_end_line(layout);
		add_node(&view, &input->nodes[i]);
	}
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}
