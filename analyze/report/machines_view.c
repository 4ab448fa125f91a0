/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/machines_view.h"

#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "analyze/report/words.h"
#include "collect/console/printable.h"

struct view {
	const struct dtc_vms_input *input;
	DtcLayout *layout;
};

static void add_part(const struct view *view, const char *name, int64_t ns, int64_t span_ns)
{
	g_autofree char *text = dtc_duration_format(ns);
	g_autofree char *percent = dtc_percent_format(ns, span_ns);
	g_autofree char *share = g_strdup_printf("%s %%", percent);
	enum dtc_style style = ns ? DTC_STYLE_PLAIN : DTC_STYLE_DIM;

	dtc_layout_add_space(view->layout, 2);
	dtc_layout_add_left(view->layout, name, 10, style);
	dtc_layout_add_right(view->layout, text, 10, style);
	dtc_layout_add_right(view->layout, share, 7, DTC_STYLE_DIM);
}

/* A name, and how long: rows beneath a part. */
static void add_row(const struct view *view, const char *name, int64_t ns, uint64_t count)
{
	g_autofree char *shown = dtc_printable(name, 2 * DTC_PRINTABLE_NAME_MAX);
	g_autofree char *text = dtc_duration_format(ns);
	g_autofree char *times = g_strdup_printf("%" G_GUINT64_FORMAT, (guint64)count);

	dtc_layout_add_space(view->layout, 4);
	dtc_layout_add_left(view->layout, shown, 36, DTC_STYLE_PLAIN);
	dtc_layout_add_right(view->layout, text, 12, DTC_STYLE_PLAIN);
	if (count)
		dtc_layout_add_right(view->layout, times, 12, DTC_STYLE_DIM);
	dtc_layout_end_line(view->layout);
}

static void add_more(const struct view *view, guint count)
{
	if (!view->input->limit || count <= view->input->limit)
		return;
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "    %u more: --limit 0 shows all", count - view->input->limit);
	dtc_layout_end_line(view->layout);
}

static char *name_thief(const DtcHistory *history, const struct dtc_vm_thief *thief, int64_t at_ns)
{
	if (thief->thread != DTC_NONE)
		return dtc_words_for_thread(history, thief->thread, at_ns);
	if (thief->state == DTC_STATE_IDLE)
		return g_strdup("the CPU was still idle");
	return dtc_words_for_interrupt(history, thief->state, thief->ref);
}

static void add_lists(const struct view *view, const struct dtc_vm_cpu *cpu)
{
	const DtcHistory *history = view->input->histories[cpu->host];
	guint limit = view->input->limit ? view->input->limit : G_MAXUINT;

	if (cpu->thieves->len) {
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "  stolen by");
		dtc_layout_end_line(view->layout);
	}
	for (guint i = 0; i < MIN(cpu->thieves->len, limit); i++) {
		const struct dtc_vm_thief *thief = &g_array_index(cpu->thieves, struct dtc_vm_thief, i);
		g_autofree char *name = name_thief(history, thief, cpu->end_ns);
		add_row(view, name, thief->ns, 0);
	}
	add_more(view, cpu->thieves->len);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  exits, what the host worked for them, and how many");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < MIN(cpu->exits->len, limit); i++) {
		const struct dtc_vm_exit *exit = &g_array_index(cpu->exits, struct dtc_vm_exit, i);
		g_autofree char *name = dtc_words_for_exit(exit->isa, exit->reason);
		add_row(view, name, exit->ns, exit->count);
	}
	add_more(view, cpu->exits->len);
}

static void add_wakeups(const struct view *view, const struct dtc_vm_cpu *cpu)
{
	g_autofree char *mean = dtc_duration_format(cpu->wakeups ? cpu->woken_ns / (int64_t)cpu->wakeups : 0);
	g_autofree char *most = dtc_duration_format(cpu->woken_max_ns);
	g_autofree char *later =
		cpu->wakeups ? g_strdup_printf(", each %s before it was in the guest, at most %s", mean, most)
			     : g_strdup("");
	g_autofree char *text =
		g_strdup_printf("  woken %" G_GUINT64_FORMAT " times%s; %" G_GUINT64_FORMAT " interrupts put in",
				(guint64)cpu->wakeups, later, (guint64)cpu->injections);

	dtc_layout_add_paragraph(view->layout, text, 4);
}

static void add_cpu(const struct view *view, const struct dtc_vm_cpu *cpu)
{
	const struct dtc_vms_input *input = view->input;
	const DtcHistory *history = input->histories[cpu->host];
	const int64_t span_ns = cpu->end_ns - cpu->begin_ns;
	const struct {
		const char *name;
		int64_t ns;
	} parts[] = {
		{ "running", cpu->running_ns }, { "stolen", cpu->stolen_ns }, { "exits", cpu->handled_ns },
		{ "blocked", cpu->blocked_ns }, { "halted", cpu->halted_ns }, { "unknown", cpu->unknown_ns },
	};
	g_autofree char *guest =
		dtc_printable(cpu->guest == G_MAXUINT ? dtc_history_get_process(history, cpu->thread, cpu->end_ns)
						      : input->node_names[cpu->guest],
			      DTC_PRINTABLE_NAME_MAX);
	g_autofree char *thread = dtc_words_for_thread(history, cpu->thread, cpu->end_ns);
	g_autofree char *host = dtc_printable(input->node_names[cpu->host], DTC_PRINTABLE_NAME_MAX);
	g_autofree char *span = dtc_duration_format(span_ns);
	g_autofree char *number = cpu->number < 0 ? g_strdup("?") : g_strdup_printf("%d", cpu->number);

	dtc_layout_add(view->layout, DTC_STYLE_BOLD, "%s CPU %s", guest, number);
	dtc_layout_add(view->layout, DTC_STYLE_PLAIN, "  %s on %s, %s%s", thread, host, span,
		       cpu->guest == G_MAXUINT ? ", the guest is not traced"
		       : cpu->is_verified      ? ""
					       : ", not verified");
	dtc_layout_end_line(view->layout);
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
		add_part(view, parts[i].name, parts[i].ns, span_ns);
		if (i % 2)
			dtc_layout_end_line(view->layout);
	}
	add_lists(view, cpu);
	add_wakeups(view, cpu);
}

static void add_silent_cpu(const struct view *view, guint node, const struct dtc_vm_silent_cpu *cpu)
{
	g_autofree char *name = dtc_printable(view->input->node_names[node], DTC_PRINTABLE_NAME_MAX);
	g_autofree char *least = dtc_duration_format(cpu->user_ns + cpu->kernel_ns);
	g_autofree char *user = dtc_duration_format(cpu->user_ns);
	g_autofree char *kernel = dtc_duration_format(cpu->kernel_ns);
	g_autofree char *most = dtc_duration_format(cpu->at_most_ns);
	g_autofree char *busy = dtc_duration_format(cpu->busy_ns);
	g_autofree char *period = dtc_duration_format(cpu->period_ns);
	g_autofree char *text = g_strdup_printf(
		"%s CPU %u  inferred, its host was not traced: of %s with something to run it was away for at least "
		"%s, at most %s, in %u silences past a timer's interrupt (every %s): %s in user code, which is likely, "
		"%s in the kernel, which is possible",
		name, cpu->cpu, busy, least, most, cpu->silences->len, period, user, kernel);

	dtc_layout_add_paragraph(view->layout, text, 2);
}

char *dtc_vms_to_text(const struct dtc_vms_input *input, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	const struct view view = { input, layout };
	guint shown = 0;

	for (guint i = 0; i < input->nodes->len; i++) {
		const struct dtc_vms_node *node = &g_array_index(input->nodes, struct dtc_vms_node, i);
		for (guint k = 0; k < node->cpus->len; k++) {
			if (shown++)
				dtc_layout_end_line(layout);
			add_cpu(&view, &g_array_index(node->cpus, struct dtc_vm_cpu, k));
		}
	}
	for (guint i = 0; i < input->nodes->len; i++) {
		const struct dtc_vms_node *node = &g_array_index(input->nodes, struct dtc_vms_node, i);
		for (guint k = 0; node->silent && k < node->silent->len; k++) {
			const struct dtc_vm_silent_cpu *cpu = &g_array_index(node->silent, struct dtc_vm_silent_cpu, k);
			if (!cpu->silences->len)
				continue;
			if (shown++)
				dtc_layout_end_line(layout);
			add_silent_cpu(&view, node->node, cpu);
		}
	}
	if (!shown) {
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "No thread entered a guest, and no CPU was silent.");
		dtc_layout_end_line(layout);
	}
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}
