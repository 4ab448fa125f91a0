/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/text.h"

#include "analyze/engine/wall_clock.h"
#include "analyze/report/fold.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "analyze/report/verdict_words.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define BAR_COLUMNS 10
/* As many lines of each kind as fit a screen together; more is folded unless asked for. */
#define BREAKDOWN_LINES 24
#define PATH_LINES 32
#define CAUSALITY_LINES 16
#define CAUSALITY_DIVISOR 100 /* of the duration: shorter blockings are not shown */
#define MIN_DETAIL_COLUMNS 8
#define NARROW_COLUMNS 60
#define NS_PER_S G_GINT64_CONSTANT(1000000000)

struct view {
	const DtcReport *report;
	const struct dtc_text_options *options;
	DtcLayout *layout;
	struct dtc_scale scale;
	guint figure_columns; /* of a duration in scale */
};

static enum dtc_style get_style(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_RUNNING_USER:
	case DTC_CAUSE_RUNNING_KERNEL:
	case DTC_CAUSE_RUNNING_GUEST:
	case DTC_CAUSE_FORK_EXEC:
		return DTC_STYLE_GREEN;
	case DTC_CAUSE_RUNQUEUE:
	case DTC_CAUSE_PREEMPTED:
	case DTC_CAUSE_CPU_LIMIT:
	case DTC_CAUSE_VM_PREEMPTED:
	case DTC_CAUSE_VM_EXIT:
	case DTC_CAUSE_RETRANSMISSION:
		return DTC_STYLE_RED;
	case DTC_CAUSE_TIMER:
	case DTC_CAUSE_IPC:
	case DTC_CAUSE_CHILD:
		return DTC_STYLE_CYAN;
	case DTC_CAUSE_DISK:
	case DTC_CAUSE_PAGE_FAULT:
	case DTC_CAUSE_DEVICE:
		return DTC_STYLE_MAGENTA;
	case DTC_CAUSE_LOCK:
		return DTC_STYLE_YELLOW;
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_WIRE:
	case DTC_CAUSE_NETWORK_RECEIVE:
		return DTC_STYLE_BLUE;
	default:
		return DTC_STYLE_PLAIN;
	}
}

static char *format_duration(const struct view *view, int64_t ns)
{
	if (view->options->is_exact && ns != INT64_MAX)
		return g_strdup_printf("%" PRId64 " ns", ns);
	return dtc_duration_format(ns);
}

/* What get_min_ns begins with. */
static int64_t get_first_min_ns(const struct dtc_text_options *options, int64_t duration_ns, int64_t share_divisor)
{
	if (options->is_verbose)
		return 0;
	return options->min_ns >= 0 ? options->min_ns : duration_ns / share_divisor;
}

int64_t dtc_text_get_blocking_min_ns(const struct dtc_text_options *options, int64_t duration_ns)
{
	return get_first_min_ns(options, duration_ns, CAUSALITY_DIVISOR);
}

/*
 * From which duration on a part is shown. If the user does not say, it is a share of the whole, raised until count,
 * which tells how many lines that would be, is content.
 */
static int64_t get_min_ns(const struct view *view, int64_t share_divisor, guint max_lines,
			  guint (*count)(const struct view *view, int64_t min_ns))
{
	int64_t duration_ns = view->report->duration_ns;
	int64_t min_ns = get_first_min_ns(view->options, duration_ns, share_divisor);

	if (view->options->is_verbose || view->options->min_ns >= 0)
		return min_ns;
	while (count(view, min_ns) > max_lines && min_ns < duration_ns / 10)
		min_ns += min_ns / 4 + 1;
	return min_ns;
}

static void add_figure(const struct view *view, int64_t ns, enum dtc_style style)
{
	g_autofree char *figure = dtc_scale_format(view->scale, ns);
	dtc_layout_add_right(view->layout, figure, view->figure_columns, style);
}

static char *format_thread(const struct dtc_report_thread *who)
{
	if (!who->comm && who->tid < 0)
		return g_strdup("-");
	if (who->tid < 0)
		return g_strdup(who->comm);
	return g_strdup_printf("%s %d", who->comm ? who->comm : "thread", who->tid);
}

/* "2026-11-20 09:58:31.598 UTC (+8.117 s)" */
static char *format_begin(const DtcReport *report)
{
	g_autofree char *wall = dtc_wall_clock_format(report->begin_ns);
	GString *out = g_string_new(NULL);

	if (wall)
		g_string_append(out, wall);
	else
		g_string_append_printf(out, "at %.3f s", (double)report->begin_ns / 1e9);
	if (report->origin_ns != INT64_MIN)
		g_string_append_printf(out, " (+%.3f s)", (double)(report->begin_ns - report->origin_ns) / 1e9);
	return g_string_free(out, FALSE);
}

static void add_machine(const struct view *view, const struct dtc_report_machine *machine, guint columns,
			guint ns_columns)
{
	const DtcReport *report = view->report;
	g_autofree char *ns = format_duration(view, machine->ns);
	g_autofree char *percent = dtc_percent_format(machine->ns, report->duration_ns);
	g_autofree char *share = g_strdup_printf("%s %%", percent);
	g_autofree char *parts = dtc_words_for_machine(report, machine, view->options->is_exact);

	dtc_layout_add_space(view->layout, 2);
	dtc_layout_add_left(view->layout, machine->node, columns, DTC_STYLE_BOLD);
	dtc_layout_add_right(view->layout, ns, ns_columns, DTC_STYLE_PLAIN);
	dtc_layout_add_right(view->layout, share, 6, DTC_STYLE_PLAIN);
	dtc_layout_add_space(view->layout, 2);
	dtc_layout_add_paragraph(view->layout, parts, columns + ns_columns + 10);
}

static void add_machines(const struct view *view)
{
	const DtcReport *report = view->report;
	guint columns = 0, ns_columns = 10, shown = dtc_words_count_machines(report);

	for (guint i = 0; i < shown; i++) {
		const struct dtc_report_machine *machine =
			&g_array_index(report->machines, struct dtc_report_machine, i);
		g_autofree char *ns = format_duration(view, machine->ns);
		columns = MAX(columns, dtc_printable_get_columns(machine->node));
		ns_columns = MAX(ns_columns, dtc_printable_get_columns(ns) + 2);
	}
	columns = MIN(columns, view->options->width / 4);
	for (guint i = 0; i < shown; i++)
		add_machine(view, &g_array_index(report->machines, struct dtc_report_machine, i), columns, ns_columns);
}

static void add_verdict(const struct view *view)
{
	g_autofree char *verdict = dtc_words_for_verdict(view->report, view->options->is_exact);
	g_autofree char *waited = dtc_words_for_waited(view->report, view->options->is_exact);
	g_autofree char *usual = dtc_words_for_usual(view->report);

	if (verdict)
		dtc_layout_add_paragraph(view->layout, verdict, 2);
	add_machines(view);
	if (waited)
		dtc_layout_add_paragraph(view->layout, waited, 2);
	if (usual)
		dtc_layout_add_paragraph(view->layout, usual, 2);
}

/* "compare --slow ID --fast '/url*'", if that needs no quoting; else NULL. */
static char *format_compare(const DtcReport *report)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

	if (!report->request || !report->url || strspn(report->request, plain) != strlen(report->request))
		return NULL;
	gsize path = strcspn(report->url, "?");
	if (path == 0 || strspn(report->url, plain) < path)
		return NULL;
	return g_strdup_printf("compare --slow %s --fast '%.*s*'", report->request, (int)path, report->url);
}

/* What to ask next: what the largest cause means, and how this request differs from others with its URL. */
static void add_next(const struct view *view)
{
	const DtcReport *report = view->report;
	g_autofree char *compare = format_compare(report);

	if (report->dominant == G_MAXUINT)
		return;
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "Next: explain %s", dtc_cause_to_string(row->cause));
	if (compare && dtc_layout_get_rest(view->layout) >= dtc_printable_get_columns(compare) + 4)
		dtc_layout_add(view->layout, DTC_STYLE_DIM, " or %s", compare);
	dtc_layout_end_line(view->layout);
}

/* Before its birth the target's time is that of who made it. */
static void add_parents(const struct view *view)
{
	const DtcReport *report = view->report;
	int64_t origin_ns = report->origin_ns == INT64_MIN ? report->begin_ns : report->origin_ns;
	g_autofree char *target = format_thread(&report->target);
	g_autoptr(GString) chain = g_string_new(target);

	if (report->parents->len == 0)
		return;
	for (guint i = 0; i < report->parents->len; i++) {
		const struct dtc_report_parent *parent = &g_array_index(report->parents, struct dtc_report_parent, i);
		g_autofree char *who = format_thread(&parent->who);
		g_autofree char *birth = dtc_scale_format(dtc_scale_get(G_MAXINT64, FALSE), parent->end_ns - origin_ns);
		g_string_append_printf(chain, ", born at +%s s by %s", birth, who);
	}
	dtc_layout_add_left(view->layout, "parents", 9, DTC_STYLE_DIM);
	dtc_layout_add_paragraph(view->layout, chain->str, 9);
}

static void add_headline(const struct view *view)
{
	const DtcReport *report = view->report;
	DtcLayout *layout = view->layout;
	g_autofree char *duration = format_duration(view, report->duration_ns);
	g_autofree char *thread = format_thread(&report->target);
	g_autofree char *begin = format_begin(report);

	if (report->request) {
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%s", report->request);
		if (report->method || report->url)
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s%s%s", report->method ? report->method : "",
				       report->method && report->url ? " " : "", report->url ? report->url : "");
		if (report->status)
			dtc_layout_add(layout, report->status >= 400 ? DTC_STYLE_RED : DTC_STYLE_PLAIN, " -> %d",
				       report->status);
		dtc_layout_add(layout, DTC_STYLE_BOLD, "  %s", duration);
	} else {
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%s on %s  %s", thread, report->target.node, duration);
	}
	if (dtc_layout_get_rest(layout) < dtc_printable_get_columns(begin) + 2)
		dtc_layout_end_line(layout);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s", begin);
	dtc_layout_end_line(layout);
	if (report->outside) {
		dtc_layout_add(layout, DTC_STYLE_RED, "%s", report->outside);
		dtc_layout_end_line(layout);
	}
	if (!report->complete) {
		dtc_layout_add(layout, DTC_STYLE_RED, "incomplete: see the findings at the end");
		dtc_layout_end_line(layout);
	}
	add_verdict(view);
	add_next(view);
	add_parents(view);
	dtc_layout_add(layout, DTC_STYLE_DIM, "seen by %s on %s from %" PRId64 ".%09" PRId64 " (clock of %s)", thread,
		       report->target.node, report->begin_ns / NS_PER_S, ABS(report->begin_ns % NS_PER_S),
		       report->reference);
	dtc_layout_end_line(layout);
}

static void add_share(const struct view *view, const char *name, int64_t ns, guint name_columns, enum dtc_style style,
		      bool has_bar)
{
	DtcLayout *layout = view->layout;
	int64_t total_ns = view->report->duration_ns;
	double share = total_ns > 0 ? (double)ns / (double)total_ns : 0;
	g_autofree char *percent = g_strdup_printf("%.1f", share * 100);

	dtc_layout_add_left(layout, name, name_columns, style);
	dtc_layout_add_space(layout, 1);
	add_figure(view, ns, has_bar ? DTC_STYLE_PLAIN : DTC_STYLE_BOLD);
	dtc_layout_add_right(layout, percent, 7, has_bar ? DTC_STYLE_PLAIN : DTC_STYLE_BOLD);
	dtc_layout_add_space(layout, 2);
	if (has_bar)
		dtc_layout_add_bar(layout, share, BAR_COLUMNS, style);
}

/* How many of the n largest-first parts to show: one that would be folded alone is shown, too. */
static guint count_shown(const int64_t *parts_ns, guint count, int64_t min_ns)
{
	guint shown = 0;

	while (shown < count && parts_ns[shown] >= min_ns)
		shown++;
	return count - shown == 1 ? count : shown;
}

static const struct dtc_report_tier *get_tier(const struct view *view, guint index)
{
	return &g_array_index(view->report->tiers, struct dtc_report_tier, index);
}

/* A tier is a heading and its rows, so it must be worth twice as much as a row to be shown. */
static guint count_shown_tiers(const struct view *view, int64_t min_ns)
{
	guint count = view->report->tiers->len;
	g_autofree int64_t *parts_ns = g_new(int64_t, count + 1);

	for (guint i = 0; i < count; i++)
		parts_ns[i] = get_tier(view, i)->ns;
	return count_shown(parts_ns, count, 2 * min_ns);
}

static guint count_shown_rows(const struct view *view, const struct dtc_report_tier *tier, int64_t min_ns)
{
	const struct dtc_report_row *rows = &g_array_index(view->report->rows, struct dtc_report_row, tier->row_first);
	g_autofree int64_t *parts_ns = g_new(int64_t, tier->row_count + 1);

	for (guint i = 0; i < tier->row_count; i++)
		parts_ns[i] = rows[i].ns;
	return count_shown(parts_ns, tier->row_count, min_ns);
}

static guint count_breakdown_lines(const struct view *view, int64_t min_ns)
{
	guint tiers = count_shown_tiers(view, min_ns), lines = 0;

	for (guint i = 0; i < tiers; i++) {
		guint rows = count_shown_rows(view, get_tier(view, i), min_ns);
		lines += 1 + rows + (rows > 0 && rows < get_tier(view, i)->row_count);
	}
	return lines + (tiers < view->report->tiers->len);
}

/* What the largest share of a row was about: with that share if it is less than half, nothing if more is unnamed. */
static char *format_largest(const struct dtc_report_row *row)
{
	if (!row->detail || row->unnamed_ns > row->detail_ns)
		return NULL;
	if (2 * row->detail_ns >= row->ns)
		return g_strdup(row->detail);
	g_autofree char *percent = dtc_percent_format(row->detail_ns, row->ns);
	return g_strdup_printf("%s %% %s", percent, row->detail);
}

static void add_tier(const struct view *view, const struct dtc_report_tier *tier, guint name_columns, int64_t min_ns)
{
	DtcLayout *layout = view->layout;
	const struct dtc_report_row *rows = &g_array_index(view->report->rows, struct dtc_report_row, tier->row_first);
	guint shown = count_shown_rows(view, tier, min_ns);
	int64_t rest_ns = tier->ns;

	add_share(view, tier->tier, tier->ns, name_columns, DTC_STYLE_BOLD, false);
	if (tier->service && strcmp(tier->service, tier->tier) != 0)
		dtc_layout_add(layout, DTC_STYLE_DIM, " for %s", tier->service);
	dtc_layout_end_line(layout);
	for (guint i = 0; i < shown; i++) {
		g_autofree char *name = g_strconcat("  ", dtc_cause_to_string(rows[i].cause), NULL);
		rest_ns -= rows[i].ns;
		add_share(view, name, rows[i].ns, name_columns, get_style(rows[i].cause), true);
		g_autofree char *largest = format_largest(&rows[i]);
		if (largest) {
			dtc_layout_add_space(layout, 1);
			dtc_layout_add_left(layout, largest, dtc_layout_get_rest(layout), DTC_STYLE_DIM);
		}
		dtc_layout_end_line(layout);
	}
	if (shown > 0 && shown < tier->row_count) {
		g_autofree char *name = g_strdup_printf("  %u more causes", tier->row_count - shown);
		add_share(view, name, rest_ns, name_columns, DTC_STYLE_DIM, true);
		dtc_layout_end_line(layout);
	}
}

static void add_breakdown(const struct view *view)
{
	const DtcReport *report = view->report;
	guint count = report->tiers->len, name_columns = 24;
	int64_t min_ns = get_min_ns(view, 200, BREAKDOWN_LINES, count_breakdown_lines), rest_ns = report->duration_ns;
	guint shown = count_shown_tiers(view, min_ns);

	for (guint i = 0; i < shown; i++)
		name_columns = MAX(name_columns, dtc_printable_get_columns(get_tier(view, i)->tier));
	name_columns = MIN(name_columns, view->options->width * 2 / 5);

	dtc_layout_add_heading(view->layout, "Where the time went", NULL);
	dtc_layout_add_left(view->layout, "tier, cause", name_columns + 1, DTC_STYLE_DIM);
	dtc_layout_add_right(view->layout, view->scale.unit, view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(view->layout, "%", 7, DTC_STYLE_DIM);
	dtc_layout_add_space(view->layout, 2 + BAR_COLUMNS + 1);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "largest part");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < shown; i++) {
		rest_ns -= get_tier(view, i)->ns;
		add_tier(view, get_tier(view, i), name_columns, min_ns);
	}
	if (shown < count) {
		g_autofree char *name = g_strdup_printf("%u more tiers", count - shown);
		add_share(view, name, rest_ns, name_columns, DTC_STYLE_DIM, false);
		dtc_layout_end_line(view->layout);
	}
	add_share(view, "total", report->duration_ns, name_columns, DTC_STYLE_BOLD, false);
	dtc_layout_end_line(view->layout);
}

static const struct dtc_report_step *get_step(const struct view *view, guint index)
{
	return DTC_AT(view->report->steps, struct dtc_report_step, index);
}

/* How a step was reached, the least certain last. */
enum arrival { ARRIVAL_NONE, ARRIVAL_MATCHED, ARRIVAL_INFERRED, ARRIVAL_UNKNOWN };

/* Between nodes: an arrow if the message was matched byte by byte, else how sure the step is. */
static enum arrival get_arrival(const struct dtc_report_step *step)
{
	switch (step->link) {
	case DTC_LINK_EXACT:
		return step->is_hop ? ARRIVAL_MATCHED : ARRIVAL_NONE;
	case DTC_LINK_INFERRED:
		return ARRIVAL_INFERRED;
	default:
		return step->is_hop || step->uncertainty_ns > 0 ? ARRIVAL_UNKNOWN : ARRIVAL_NONE;
	}
}

/* A line is as sure as the least certain step that is folded into it. */
static const char *get_link_glyph(const struct view *view, const struct dtc_fold *fold)
{
	static const char *const glyphs[] = { " ", "→", "≈", "?" };
	enum arrival worst = ARRIVAL_NONE;

	for (guint i = fold->first; i < fold->first + fold->count; i++)
		worst = MAX(worst, get_arrival(get_step(view, i)));
	return glyphs[worst];
}

/* Which nodes a folded run touches, in the order of its first visits: "client, web". */
static char *format_nodes(const struct view *view, const struct dtc_fold *fold)
{
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GPtrArray) seen = g_ptr_array_new();

	for (guint i = fold->first; i < fold->first + fold->count && seen->len < 4; i++) {
		const char *node = get_step(view, i)->who.node;
		if (g_ptr_array_find(seen, node, NULL))
			continue;
		g_string_append_printf(names, "%s%s", seen->len ? ", " : "", seen->len == 3 ? "…" : node);
		g_ptr_array_add(seen, (void *)node);
	}
	return g_string_free(g_steal_pointer(&names), FALSE);
}

#define CAUSES_SHOWN 3

/* What steps of several causes are made of, largest first: "preempted 15.2ms, irq 0.3ms, 23 segments". */
static char *format_composition(const struct view *view, const struct dtc_fold *fold)
{
	GString *text = g_string_new(NULL);
	int64_t by_cause[DTC_CAUSES] = { 0 }, rest_ns = fold->ns;

	for (guint i = fold->first; i < fold->first + fold->count; i++)
		by_cause[get_step(view, i)->cause] += get_step(view, i)->end_ns - get_step(view, i)->begin_ns;
	for (guint shown = 0; shown < CAUSES_SHOWN && rest_ns > 0; shown++) {
		enum dtc_cause cause = 0;
		for (guint i = 1; i < DTC_CAUSES; i++)
			if (by_cause[i] > by_cause[cause])
				cause = (enum dtc_cause)i;
		g_autofree char *figure = dtc_duration_format_short(by_cause[cause]);
		g_string_append_printf(text, "%s %s, ", dtc_cause_to_string(cause), figure);
		rest_ns -= by_cause[cause];
		by_cause[cause] = 0;
	}
	if (rest_ns > 0) {
		g_autofree char *figure = dtc_duration_format_short(rest_ns);
		g_string_append_printf(text, "others %s, ", figure);
	}
	g_string_append_printf(text, "%u segments", fold->count);
	return g_string_free(text, FALSE);
}

/* What stands in the last column: how uncertain the clocks are, what the segment was about, how much is folded. */
static char *format_step_detail(const struct view *view, const struct dtc_fold *fold)
{
	const struct dtc_report_step *head = get_step(view, fold->head);
	g_autoptr(GString) text = g_string_new(NULL);

	if (head->uncertainty_ns > 0) {
		g_autofree char *uncertainty = view->options->is_exact
						       ? format_duration(view, head->uncertainty_ns)
						       : dtc_duration_format_short(head->uncertainty_ns);
		g_string_append_printf(text, "±%s ", uncertainty);
	}
	if (head->detail && (fold->kind == DTC_FOLD_STEP || 2 * (head->end_ns - head->begin_ns) >= fold->ns))
		g_string_append(text, head->detail);
	if (fold->count > 1)
		g_string_append_printf(text, "%s%u segments", text->len ? ", " : "", fold->count);
	return g_strchomp(g_string_free(g_steal_pointer(&text), FALSE));
}

struct path_columns {
	guint node, thread, cause;
};

static struct path_columns measure_path(const struct view *view, const GArray *folds)
{
	struct path_columns columns = { 4, 6, 5 };

	for (guint i = 0; i < folds->len; i++) {
		const struct dtc_fold *fold = &g_array_index(folds, struct dtc_fold, i);
		const struct dtc_report_step *head = get_step(view, fold->head);
		if (fold->kind == DTC_FOLD_SHORT)
			continue;
		columns.node = MAX(columns.node, dtc_printable_get_columns(head->who.node));
		columns.cause = MAX(columns.cause, strlen(dtc_cause_to_string(head->cause)));
		if (fold->kind == DTC_FOLD_NODE)
			continue;
		g_autofree char *thread = format_thread(&head->who);
		columns.thread = MAX(columns.thread, dtc_printable_get_columns(thread));
	}
	columns.node = MIN(columns.node, view->options->width / 8);
	columns.thread = MIN(columns.thread, view->options->width / 4);
	return columns;
}

static void add_fold(const struct view *view, const struct dtc_fold *fold, struct path_columns columns)
{
	DtcLayout *layout = view->layout;
	const struct dtc_report_step *first = get_step(view, fold->first), *head = get_step(view, fold->head);
	bool is_short = fold->kind == DTC_FOLD_SHORT;

	add_figure(view, first->begin_ns - view->report->begin_ns, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 1);
	add_figure(view, fold->ns, is_short ? DTC_STYLE_DIM : DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	if (is_short) {
		g_autofree char *nodes = format_nodes(view, fold);
		dtc_layout_add_left(layout, get_link_glyph(view, fold), 2, DTC_STYLE_BOLD);
		dtc_layout_add(layout, DTC_STYLE_DIM, "… %u short segments (%s)", fold->count, nodes);
		dtc_layout_end_line(layout);
		return;
	}
	g_autofree char *thread = fold->kind == DTC_FOLD_NODE ? g_strdup("…") : format_thread(&head->who);
	dtc_layout_add_left(layout, get_link_glyph(view, fold), 2, DTC_STYLE_BOLD);
	dtc_layout_add_left(layout, head->who.node, columns.node + 1, DTC_STYLE_PLAIN);
	dtc_layout_add_left(layout, thread, columns.thread, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 1);
	if (fold->is_mixed) {
		g_autofree char *composition = format_composition(view, fold);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s", composition);
		dtc_layout_end_line(layout);
		return;
	}
	g_autofree char *detail = format_step_detail(view, fold);
	dtc_layout_add_left(layout, dtc_cause_to_string(head->cause), columns.cause, get_style(head->cause));
	dtc_layout_add_space(layout, 1);
	dtc_layout_add(layout, DTC_STYLE_DIM, "%s", detail);
	dtc_layout_end_line(layout);
}

static guint count_path_lines(const struct view *view, int64_t min_ns)
{
	g_autoptr(GArray) folds = dtc_fold_steps(view->report->steps, min_ns);
	return folds->len;
}

static void add_path(const struct view *view)
{
	int64_t min_ns = get_min_ns(view, 200, PATH_LINES, count_path_lines);
	g_autoptr(GArray) folds = dtc_fold_steps(view->report->steps, min_ns);
	struct path_columns columns = measure_path(view, folds);
	g_autofree char *note =
		g_strdup_printf("%u segments; → matched message, ≈ inferred, ± clocks", view->report->steps->len);

	dtc_layout_add_heading(view->layout, "Critical path", note);
	g_autofree char *start = g_strdup_printf("at %s", view->scale.unit);
	dtc_layout_add_right(view->layout, start, view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(view->layout, "took", view->figure_columns + 1, DTC_STYLE_DIM);
	dtc_layout_add_space(view->layout, 3);
	dtc_layout_add_left(view->layout, "node", columns.node + 1, DTC_STYLE_DIM);
	dtc_layout_add_left(view->layout, "thread", columns.thread + 1, DTC_STYLE_DIM);
	dtc_layout_add_left(view->layout, "cause", columns.cause + 1, DTC_STYLE_DIM);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "detail");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < folds->len; i++)
		add_fold(view, &g_array_index(folds, struct dtc_fold, i), columns);
}

static const struct dtc_report_blocking *get_blocking(const struct view *view, guint index)
{
	return DTC_AT(view->report->blockings, struct dtc_report_blocking, index);
}

static void add_blocking(const struct view *view, const struct dtc_report_blocking *blocking)
{
	DtcLayout *layout = view->layout;
	g_autofree char *thread = format_thread(&blocking->who);

	add_figure(view, blocking->begin_ns - view->report->begin_ns, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 1);
	add_figure(view, blocking->end_ns - blocking->begin_ns, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 2);
	/* A deep chain must not push its own text off the line. */
	guint indent = MIN(blocking->depth, 8);
	if (blocking->depth > 0) {
		dtc_layout_add_space(layout, 2 * (indent - 1));
		dtc_layout_add(layout, DTC_STYLE_DIM, "└ ");
	}
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s@%s ", thread, blocking->who.node);
	dtc_layout_add(layout, get_style(blocking->cause), "%s", dtc_cause_to_string(blocking->cause));
	if (blocking->detail) {
		/* On a narrow line what it waited on gives way to who ended it; a stump of it says nothing. */
		guint rest = dtc_layout_get_rest(layout);
		guint wanted = blocking->woken_by ? dtc_printable_get_columns(blocking->woken_by) + 4 : 0;
		if (view->options->width < NARROW_COLUMNS) { /* it goes on in the next line */
			dtc_layout_add(layout, DTC_STYLE_DIM, " %s", blocking->detail);
		} else if (rest >= wanted + MIN_DETAIL_COLUMNS) {
			g_autofree char *detail = dtc_printable_fit(blocking->detail, rest - wanted);
			dtc_layout_add(layout, DTC_STYLE_DIM, " %s", detail);
		}
	}
	if (blocking->woken_by)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, " %s %s", blocking->link == DTC_LINK_EXACT ? "←" : "≈",
			       blocking->woken_by);
	dtc_layout_end_line(layout);
}

/* Whether to show a blocking, visited in order; what lies beneath one that is folded is folded too. */
static bool is_shown(const struct dtc_report_blocking *blocking, int64_t min_ns, guint *hidden_depth)
{
	if (blocking->depth > *hidden_depth)
		return false;
	bool shown = blocking->end_ns - blocking->begin_ns >= min_ns;
	*hidden_depth = shown ? G_MAXUINT : blocking->depth;
	return shown;
}

static guint count_causality_lines(const struct view *view, int64_t min_ns)
{
	guint hidden_depth = G_MAXUINT, lines = 0;

	for (guint i = 0; i < view->report->blockings->len; i++)
		lines += is_shown(get_blocking(view, i), min_ns, &hidden_depth);
	return lines;
}

static void add_causality(const struct view *view)
{
	guint count = view->report->blockings->len, folded = view->report->untold, hidden_depth = G_MAXUINT;

	if (count + folded == 0)
		return;
	int64_t min_ns = get_min_ns(view, CAUSALITY_DIVISOR, CAUSALITY_LINES, count_causality_lines);
	dtc_layout_add_heading(view->layout, "Blocked on", "and beneath it what the waker was blocked on meanwhile");
	for (guint i = 0; i < count; i++) {
		const struct dtc_report_blocking *blocking = get_blocking(view, i);
		if (is_shown(blocking, min_ns, &hidden_depth))
			add_blocking(view, blocking);
		else
			folded++;
	}
	if (folded) {
		g_autofree char *at_least = format_duration(view, min_ns);
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "… %u more, each under %s or beneath one that is", folded,
			       at_least);
		dtc_layout_end_line(view->layout);
	}
}

static void add_finding(const struct view *view, const struct dtc_report_finding *finding)
{
	static const enum dtc_style styles[] = { DTC_STYLE_DIM, DTC_STYLE_YELLOW, DTC_STYLE_RED };
	g_autofree char *text =
		finding->node ? g_strconcat(finding->node, ": ", finding->text, NULL) : g_strdup(finding->text);

	dtc_layout_add_left(view->layout, dtc_severity_to_string(finding->severity), 9, styles[finding->severity]);
	dtc_layout_add_paragraph(view->layout, text, 9);
}

/* What is wrong first, then how well the clocks are known, then what is only worth knowing. */
static void add_findings(const struct view *view)
{
	const DtcReport *report = view->report;
	DtcLayout *layout = view->layout;
	guint shown = 0;

	if (report->findings->len == 0 && report->clocks->len == 0)
		return;
	dtc_layout_add_heading(layout, "Findings", NULL);
	for (; shown < report->findings->len; shown++) {
		const struct dtc_report_finding *f = &g_array_index(report->findings, struct dtc_report_finding, shown);
		if (f->severity == DTC_SEVERITY_INFO)
			break;
		add_finding(view, f);
	}
	for (guint i = 0; i < report->clocks->len; i++) {
		const struct dtc_report_clock *clock = &g_array_index(report->clocks, struct dtc_report_clock, i);
		g_autofree char *uncertainty = format_duration(view, clock->uncertainty_ns);
		dtc_layout_add_left(layout, "clocks", 9, DTC_STYLE_DIM);
		if (clock->uncertainty_ns == INT64_MAX)
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s – %s are not aligned", clock->a, clock->b);
		else
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s – %s agree within ±%s", clock->a, clock->b,
				       uncertainty);
		dtc_layout_end_line(layout);
	}
	for (; shown < report->findings->len; shown++)
		add_finding(view, &g_array_index(report->findings, struct dtc_report_finding, shown));
}

char *dtc_report_to_text(const DtcReport *report, const struct dtc_text_options *options)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);
	struct view view = {
		.report = report,
		.options = options,
		.layout = layout,
		.scale = dtc_scale_get(report->duration_ns, options->is_exact),
	};
	g_autofree char *widest = dtc_scale_format(view.scale, report->duration_ns);

	view.figure_columns = MAX(7, strlen(widest));
	add_headline(&view);
	add_breakdown(&view);
	add_path(&view);
	add_causality(&view);
	add_findings(&view);
	return dtc_layout_steal(layout);
}
