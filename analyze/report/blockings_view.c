/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/blockings_view.h"

#include "analyze/path/lineage.h"
#include "analyze/report/evidence.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "analyze/report/words.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_S 1000000000

/* What ids are named by. */
struct naming {
	struct dtc_names names;
	const DtcHistory **histories;
	const char **node_names;
	GStringChunk *strings;
};

struct view {
	const struct dtc_blockings_input *input;
	const struct dtc_blockings_text_options *options;
	struct naming naming;
	DtcLayout *layout;
	struct dtc_scale scale;
	guint figure_columns;
};

/* Of rows that share a place in the table. */
struct totals {
	uint64_t ended_count, open_count;
	int64_t ended_ns, open_ns, away_ns;
	guint open_rows;
	int64_t widest_ns; /* of all figures */
};

static void naming_init(struct naming *naming, const DtcLinks *links)
{
	guint count = dtc_links_get_node_count(links);
	naming->histories = g_new0(const DtcHistory *, count);
	naming->node_names = g_new0(const char *, count);
	for (guint i = 0; i < count; i++) {
		naming->histories[i] = dtc_links_get_history(links, i);
		naming->node_names[i] = dtc_links_get_node_name(links, i);
	}
	naming->names = (struct dtc_names){ naming->histories, naming->node_names, count };
	naming->strings = g_string_chunk_new(4096);
}

static void naming_clear(struct naming *naming)
{
	g_free(naming->histories);
	g_free(naming->node_names);
	g_string_chunk_free(naming->strings);
}

/* "read(to 10.77.0.3:9000)"; NULL: outside a system call. */
static char *make_call(const struct naming *naming, const struct dtc_blocked_row *row)
{
	const DtcHistory *h = naming->histories[row->node];
	return row->first.call == DTC_NONE ? NULL : dtc_words_for_labelled_call(h, row->first.call);
}

static enum dtc_style get_style(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_DISK:
	case DTC_CAUSE_PAGE_FAULT:
	case DTC_CAUSE_DEVICE:
		return DTC_STYLE_MAGENTA;
	case DTC_CAUSE_LOCK:
	case DTC_CAUSE_IPC:
		return DTC_STYLE_YELLOW;
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_RECEIVE:
		return DTC_STYLE_BLUE;
	case DTC_CAUSE_UNKNOWN:
		return DTC_STYLE_DIM;
	default:
		return DTC_STYLE_CYAN;
	}
}

static char *make_name(const char *text)
{
	return dtc_printable(text, DTC_PRINTABLE_NAME_MAX);
}

/* The thread's name when it was last seen. */
static char *make_comm(const struct dtc_blockings_input *input, guint node, uint32_t thread)
{
	const DtcHistory *h = dtc_links_get_history(input->links, node);

	return make_name(dtc_history_get_comm(h, thread, dtc_history_get_thread(h, thread)->end_ns));
}

static char *make_process(const struct dtc_blockings_input *input, guint node, uint32_t thread)
{
	const DtcHistory *h = dtc_links_get_history(input->links, node);

	return make_name(dtc_history_get_process(h, thread, dtc_history_get_thread(h, thread)->end_ns));
}

static char *make_node(const struct dtc_blockings_input *input, guint node)
{
	return make_name(dtc_links_get_node_name(input->links, node));
}

static int32_t get_tid(const struct dtc_blockings_input *input, guint node, uint32_t thread)
{
	return dtc_history_get_thread(dtc_links_get_history(input->links, node), thread)->tid;
}

static char *format_duration(const struct view *view, int64_t ns)
{
	return view->options->is_exact ? g_strdup_printf("%" G_GINT64_FORMAT " ns", (gint64)ns)
				       : dtc_duration_format(ns);
}

static void add_figure(const struct view *view, int64_t ns, enum dtc_style style)
{
	g_autofree char *figure = dtc_scale_format(view->scale, ns);

	dtc_layout_add_right(view->layout, figure, view->figure_columns, style);
}

static struct totals sum_rows(const DtcBlocked *blocked)
{
	struct totals totals = { 0 };

	for (guint i = 0; i < dtc_blocked_get_count(blocked); i++) {
		const struct dtc_blocked_row *row = dtc_blocked_get_row(blocked, i);
		totals.widest_ns = MAX(totals.widest_ns, row->request_ns);
		totals.away_ns += row->away_ns;
		if (row->ended.by != DTC_BLOCKED_OPEN) {
			totals.ended_count += row->count;
			totals.ended_ns += row->total_ns;
		} else {
			totals.open_count += row->count;
			totals.open_ns += row->total_ns;
			totals.open_rows++;
		}
	}
	return totals;
}

/* Before its birth the waits are those of who made it. */
static void add_parents(const struct view *view)
{
	const struct dtc_blockings_input *input = view->input;
	const DtcHistory *h = dtc_links_get_history(input->links, input->node);

	for (guint i = 1; input->lineage && i < input->lineage->len; i++) {
		const struct dtc_lineage_part *part = dtc_lineage_get(input->lineage, i);
		g_autofree char *parent = make_name(dtc_history_get_comm(h, part->thread, part->end.ns));
		int64_t at_ns = part->end.ns - dtc_history_get_begin_ns(h);
		g_autofree char *birth = dtc_scale_format(dtc_scale_get(G_MAXINT64, FALSE), at_ns);
		dtc_layout_add(view->layout, DTC_STYLE_PLAIN,
			       "tid %d was born at +%s s by %s (tid %d): before, its waits",
			       get_tid(input, input->node, dtc_lineage_get(input->lineage, i - 1)->thread), birth,
			       parent, get_tid(input, input->node, part->thread));
		dtc_layout_end_line(view->layout);
	}
}

/* A guest does not see it: its CPU came late to what ended the wait. */
static void add_away(const struct view *view, const struct totals *totals)
{
	g_autofree char *away = format_duration(view, totals->away_ns);

	if (!totals->away_ns)
		return;
	dtc_layout_add(view->layout, DTC_STYLE_PLAIN,
		       "for %s of it what they were for was there, and the virtual CPU was away", away);
	dtc_layout_end_line(view->layout);
}

static void add_headline(const struct view *view, const struct totals *totals)
{
	const struct dtc_blockings_input *input = view->input;
	DtcLayout *layout = view->layout;
	g_autofree char *blocked = format_duration(view, totals->ended_ns);

	if (!input->path) {
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%" G_GUINT64_FORMAT " waits that ended, %s together",
			       (guint64)totals->ended_count, blocked);
		dtc_layout_end_line(layout);
		return;
	}
	g_autofree char *comm = make_comm(input, input->node, input->thread);
	g_autofree char *node = make_node(input, input->node);
	g_autofree char *all = format_duration(view, totals->ended_ns + totals->open_ns);
	g_autofree char *span = format_duration(view, input->end.ns - input->begin.ns);
	bool has_parents = input->lineage && input->lineage->len > 1;
	dtc_layout_add(layout, DTC_STYLE_BOLD, "%s (tid %d) on %s%s blocked %s of %s", comm,
		       get_tid(input, input->node, input->thread), node, has_parents ? " and its parents were" : " was",
		       all, span);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, " in %" G_GUINT64_FORMAT " waits",
		       (guint64)(totals->ended_count + totals->open_count));
	dtc_layout_end_line(layout);
	add_away(view, totals);
	g_autofree char *reference = make_node(input, dtc_clocks_get_reference(dtc_links_get_clocks(input->links)));
	dtc_layout_add(layout, DTC_STYLE_DIM, "from %" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT " (clock of %s)",
		       (gint64)(input->begin.ns / NS_PER_S), (gint64)ABS(input->begin.ns % NS_PER_S), reference);
	dtc_layout_add_when(layout, input->begin.ns);
	dtc_layout_end_line(layout);
	add_parents(view);
}

/* "in write(pipe)", "in softirq net-rx, 9 of 10 times"; NULL: nothing to say. Caller owns. */
static char *make_context(const struct view *view, const struct dtc_blocked_row *row)
{
	bool is_said = row->ended.by != DTC_BLOCKED_BY_WAKE && row->ended.by != DTC_BLOCKED_BY_DISK; /* a packet is */

	if (!row->contexts->len || is_said)
		return NULL;
	const struct dtc_blocked_context *most = &g_array_index(row->contexts, struct dtc_blocked_context, 0);
	const DtcHistory *h = view->naming.histories[row->node];
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, row->first.ref, &wake_place);
	if (wake->waker == DTC_WAKER_IRQ || wake->waker == DTC_WAKER_SOFTIRQ) /* which is the waker's name */
		return NULL;
	g_autofree char *words = dtc_words_for_wake_context(h, &most->first);
	g_autofree char *text = words ? dtc_printable(words, DTC_PRINTABLE_MAX) : NULL;

	if (!text || row->contexts->len == 1)
		return g_steal_pointer(&text);
	return g_strdup_printf("%s, %" PRIu64 " of %" PRIu64 " times", text, most->count, row->count);
}

/* Beside the waker if there is room. */
static void add_context(const struct view *view, const struct dtc_blocked_row *row)
{
	g_autofree char *context = make_context(view, row);

	if (context && dtc_printable_get_columns(context) + 2 <= dtc_layout_get_rest(view->layout)) {
		dtc_layout_add(view->layout, DTC_STYLE_DIM, ", %s", context);
	} else if (context) {
		dtc_layout_end_line(view->layout);
		dtc_layout_add_space(view->layout, 10);
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "woken %s", context);
	}
	dtc_layout_end_line(view->layout);
}

static void add_row(const struct view *view, const struct dtc_blocked_row *row)
{
	DtcLayout *layout = view->layout;
	g_autofree char *comm = make_comm(view->input, row->node, row->thread);
	g_autofree char *node = make_node(view->input, row->node);
	g_autofree char *call_words = make_call(&view->naming, row);
	g_autofree char *call = dtc_printable(call_words, DTC_PRINTABLE_MAX);
	g_autofree char *waker_words = dtc_words_for_blocked_end(&view->naming.names, row);
	g_autofree char *waker = dtc_printable(waker_words, DTC_PRINTABLE_MAX);
	g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, (guint64)row->count);

	if (view->input->request_count)
		add_figure(view, row->request_ns, DTC_STYLE_BOLD);
	add_figure(view, row->total_ns, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, count, 8, DTC_STYLE_PLAIN);
	add_figure(view, row->max_ns, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add(layout, get_style(row->cause), "%s", dtc_cause_to_string(row->cause));
	if (!view->input->path || row->thread != view->input->thread)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s (tid %d)@%s", comm,
			       get_tid(view->input, row->node, row->thread), node);
	dtc_layout_end_line(layout);
	dtc_layout_add_space(layout, 10);
	dtc_layout_add(layout, DTC_STYLE_DIM, "%s%s← %s", call ? call : "", call ? " " : "", waker);
	add_context(view, row);
}

static void add_table_head(const struct view *view)
{
	DtcLayout *layout = view->layout;
	guint requests = view->input->request_count;
	g_autofree char *weighed =
		g_strdup_printf("by cause, call and waker; first what %u requests waited for longest", requests);

	dtc_layout_add_heading(layout, "Blocked on", requests ? weighed : "by cause, call and waker, longest first");
	if (requests)
		dtc_layout_add_right(layout, "requests", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "total", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "count", 8, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "longest", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  in %s", view->scale.unit);
	dtc_layout_end_line(layout);
}

/* Rows that are not shown. */
static void add_rest(const struct view *view, guint count, int64_t rest_ns, const char *what)
{
	g_autofree char *ns = format_duration(view, rest_ns);

	if (!count)
		return;
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "… %u more rows%s, %s together (--limit 0 shows all)", count, what,
		       ns);
	dtc_layout_end_line(view->layout);
}

/* Where requests are known, waits that none of them waited for (idle loops, housekeeping) are one line. */
static void add_table(const struct view *view, const struct totals *totals)
{
	const DtcBlocked *blocked = view->input->blocked;
	DtcLayout *layout = view->layout;
	guint shown = 0, left_out = 0, idle = 0;
	int64_t left_out_ns = 0, idle_ns = 0;

	add_table_head(view);
	for (guint i = 0; i < dtc_blocked_get_count(blocked); i++) {
		const struct dtc_blocked_row *row = dtc_blocked_get_row(blocked, i);
		if (row->ended.by == DTC_BLOCKED_OPEN)
			continue;
		if (view->options->limit && view->input->request_count && !row->request_ns) {
			idle++;
			idle_ns += row->total_ns;
		} else if (view->options->limit && shown == view->options->limit) {
			left_out++;
			left_out_ns += row->total_ns;
		} else {
			add_row(view, row);
			shown++;
		}
	}
	add_rest(view, left_out, left_out_ns, "");
	add_rest(view, idle, idle_ns, " that no request waited for");
	if (totals->open_rows) {
		g_autofree char *ns = format_duration(view, totals->open_ns);
		dtc_layout_add(layout, DTC_STYLE_DIM, "… %" PRIu64 " waits did not end in the recording, %s",
			       totals->open_count, ns);
		dtc_layout_end_line(layout);
	}
}

/* In what a thread was when it woke this one; NULL: no thread did, or there is nothing to say. Caller owns. */
static char *make_thread_context(const struct view *view, const struct dtc_blocking *blocking)
{
	const struct dtc_interval *wait = &blocking->evidence.interval;
	const DtcHistory *h = view->naming.histories[blocking->node];

	if (!h || !blocking->evidence.has_interval || !dtc_state_is_wait(wait->state) || wait->ref == DTC_NONE ||
	    (blocking->ended.by != DTC_ENDED_BY_WAKE && blocking->ended.by != DTC_ENDED_BY_THREAD))
		return NULL;
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, wait->ref, &wake_place);
	if (wake->waker != DTC_WAKER_THREAD && wake->waker != DTC_WAKER_NEW)
		return NULL;
	const struct dtc_wake_context context = dtc_wake_get_context(h, wake);
	return dtc_words_for_wake_context(h, &context);
}

/* Who ended a blocking; "" for nobody. Caller owns. */
static char *make_waker(const struct view *view, const struct dtc_blocking *blocking)
{
	g_autofree char *end = dtc_words_for_end(&view->naming.names, blocking);
	g_autofree char *woken_by = dtc_printable(end, DTC_PRINTABLE_MAX);

	return woken_by ? g_strdup_printf(" %s %s", blocking->link == DTC_LINK_EXACT ? "←" : "≈", woken_by)
			: g_strdup("");
}

/*
 * Who ended it, and in what: on the blocking's line if there is room, else beneath it. What stands beneath a blocking
 * on the page names its waker, so the waker need not be said twice; that a timer ends a timer's wait is plain.
 */
static void add_waker(const struct view *view, const struct dtc_blocking *blocking, guint indent, bool has_child)
{
	DtcLayout *layout = view->layout;
	g_autofree char *waker = make_waker(view, blocking);
	g_autofree char *context = make_thread_context(view, blocking);
	g_autofree char *printable = dtc_printable(context, DTC_PRINTABLE_MAX);
	bool fits = dtc_printable_get_columns(waker) <= dtc_layout_get_rest(layout);
	bool is_told = fits || (!has_child && blocking->cause != DTC_CAUSE_TIMER);

	if (!fits) {
		dtc_layout_end_line(layout);
		if (is_told || printable)
			dtc_layout_add_space(layout, 2 * view->figure_columns + 3 + indent);
	}
	if (is_told)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s", waker);
	if (printable && is_told && dtc_printable_get_columns(printable) + 2 > dtc_layout_get_rest(layout)) {
		dtc_layout_end_line(layout);
		dtc_layout_add_space(layout, 2 * view->figure_columns + 3 + indent);
		is_told = false;
	}
	if (printable)
		dtc_layout_add(layout, DTC_STYLE_DIM, is_told ? ", %s" : " woken %s", printable);
	if (fits || is_told || printable)
		dtc_layout_end_line(layout);
}

static void add_blocking(const struct view *view, const struct dtc_blocking *blocking, bool has_child)
{
	DtcLayout *layout = view->layout;
	g_autofree char *comm = make_name(blocking->comm);
	g_autofree char *node = make_node(view->input, blocking->node);
	const struct dtc_names *names = &view->naming.names;
	g_autofree char *words =
		dtc_words_for_evidence(names, &blocking->evidence, blocking->end.ns - blocking->begin.ns);
	g_autofree char *detail = dtc_printable(words, DTC_PRINTABLE_MAX);
	guint indent = 2 * MIN(blocking->depth, 8); /* a deep chain must not push its own text off the line */

	add_figure(view, blocking->begin.ns - view->input->begin.ns, DTC_STYLE_DIM);
	add_figure(view, blocking->end.ns - blocking->begin.ns, DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 2);
	if (blocking->depth > 0) {
		dtc_layout_add_space(layout, indent - 2);
		dtc_layout_add(layout, DTC_STYLE_DIM, "└ ");
	}
	if (blocking->depth > 0 || blocking->thread != view->input->thread) {
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s (tid %d)@%s ", comm, blocking->tid, node);
	}
	dtc_layout_add(layout, get_style(blocking->cause), "%s", dtc_cause_to_string(blocking->cause));
	if (detail)
		dtc_layout_add(layout, DTC_STYLE_DIM, " %s", detail);
	add_waker(view, blocking, indent, has_child);
}

static void add_tree(const struct view *view)
{
	const DtcPath *path = view->input->path;
	int64_t span_ns = view->input->end.ns - view->input->begin.ns;
	int64_t min_ns = view->options->min_ns >= 0 ? view->options->min_ns : span_ns / 100;
	guint folded = 0, hidden_depth = G_MAXUINT;

	if (dtc_path_get_blocking_count(path) == 0)
		return;
	dtc_layout_add_heading(view->layout, "Each blocking", "and beneath it what the waker was blocked on meanwhile");
	dtc_layout_add_right(view->layout, "at", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(view->layout, "took", view->figure_columns, DTC_STYLE_DIM);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  in %s", view->scale.unit);
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < dtc_path_get_blocking_count(path); i++) {
		const struct dtc_blocking *blocking = dtc_path_get_blocking(path, i);
		if (blocking->depth > hidden_depth) {
			folded++; /* beneath one that is folded */
			continue;
		}
		hidden_depth = G_MAXUINT;
		if (blocking->end.ns - blocking->begin.ns < min_ns) {
			hidden_depth = blocking->depth;
			folded++;
			continue;
		}
		const struct dtc_blocking *next =
			i + 1 < dtc_path_get_blocking_count(path) ? dtc_path_get_blocking(path, i + 1) : NULL;
		add_blocking(view, blocking,
			     next && next->depth > blocking->depth && next->end.ns - next->begin.ns >= min_ns);
	}
	if (folded) {
		g_autofree char *at_least = format_duration(view, min_ns);
		dtc_layout_add(view->layout, DTC_STYLE_DIM,
			       "… %u more, each under %s or beneath one that is "
			       "(--min-duration 0ns shows all)",
			       folded, at_least);
		dtc_layout_end_line(view->layout);
	}
}

char *dtc_blockings_to_text(const struct dtc_blockings_input *input, const struct dtc_blockings_text_options *options)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);
	struct totals totals = sum_rows(input->blocked);
	int64_t widest_ns = MAX(totals.ended_ns, totals.widest_ns);
	struct view view = {
		.input = input,
		.options = options,
		.layout = layout,
		/* milliseconds however long the trace is: most waits are short */
		.scale = dtc_scale_get(MIN(MAX(totals.ended_ns, totals.open_ns), NS_PER_S), options->is_exact),
	};

	naming_init(&view.naming, input->links);
	if (input->path)
		widest_ns = MAX(widest_ns, input->end.ns - input->begin.ns);
	g_autofree char *widest = dtc_scale_format(view.scale, widest_ns);
	view.figure_columns = MAX(8, strlen(widest) + 1);
	add_headline(&view, &totals);
	if (dtc_blocked_get_count(input->blocked))
		add_table(&view, &totals);
	if (input->path)
		add_tree(&view);
	dtc_finding_list_add_text(view.layout, input->findings);
	naming_clear(&view.naming);
	return dtc_layout_steal(layout);
}

/* ---- JSON ---- */

static void append_who(GString *out, const char *node, int32_t pid, int32_t tid, const char *comm, const char *process)
{
	dtc_json_add_name(out, "node", node);
	dtc_json_add_id(out, "pid", pid);
	dtc_json_add_id(out, "tid", tid);
	dtc_json_add_name(out, "comm", comm);
	dtc_json_add_name(out, "process", process);
}

static void append_thread(GString *out, const struct dtc_blockings_input *input, guint node, uint32_t index)
{
	const struct dtc_thread *thread = dtc_history_get_thread(dtc_links_get_history(input->links, node), index);
	g_autofree char *comm = make_comm(input, node, index);
	g_autofree char *process = make_process(input, node, index);

	append_who(out, dtc_links_get_node_name(input->links, node), thread->pid, thread->tid, comm, process);
}

static void append_parents(GString *out, const struct dtc_blockings_input *input)
{
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);

	dtc_json_append_key(out, "parents");
	g_string_append_c(out, '[');
	for (guint i = 1; input->lineage && i < input->lineage->len; i++) {
		const struct dtc_lineage_part *part = dtc_lineage_get(input->lineage, i);
		dtc_json_append_separator(out);
		g_string_append_c(out, '{');
		append_thread(out, input, input->node, part->thread);
		dtc_json_add_integer(out, "start_ns", dtc_clocks_to_cluster(clocks, input->node, part->begin).ns);
		dtc_json_add_integer(out, "end_ns", dtc_clocks_to_cluster(clocks, input->node, part->end).ns);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "],\n  ");
}

/* In what the waits were ended, by how often. */
static void append_contexts(GString *out, const struct naming *naming, const struct dtc_blocked_row *row)
{
	const DtcHistory *h = naming->histories[row->node];

	dtc_json_append_key(out, "woken_in");
	g_string_append_c(out, '[');
	for (guint i = 0; i < row->contexts->len; i++) {
		const struct dtc_blocked_context *context =
			&g_array_index(row->contexts, struct dtc_blocked_context, i);
		bool is_call = context->first.mode == DTC_WAKE_IN_CALL || context->first.mode == DTC_WAKE_IN_RETURN;
		g_autofree char *call = is_call ? dtc_words_for_labelled_call(h, context->first.call) : NULL;
		const char *interrupt = dtc_wake_context_get_interrupt(h, &context->first);
		dtc_json_append_separator(out);
		g_string_append_c(out, '{');
		dtc_json_add_text(out, "mode", dtc_wake_mode_to_string(context->first.mode));
		dtc_json_add_text(out, "call", call);
		dtc_json_add_text(out, "interrupt", interrupt);
		dtc_json_add_integer(out, "count", (int64_t)context->count);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void append_row(GString *out, const struct dtc_blockings_input *input, const struct naming *naming,
		       const struct dtc_blocked_row *row)
{
	g_autofree char *call = make_call(naming, row);
	g_autofree char *waker = dtc_words_for_blocked_end(&naming->names, row);
	g_string_append_c(out, '{');
	append_thread(out, input, row->node, row->thread);
	dtc_json_add_text(out, "cause", dtc_cause_to_string(row->cause));
	dtc_json_add_text(out, "call", call);
	dtc_json_add_text(out, "waker", waker);
	append_contexts(out, naming, row);
	dtc_json_add_integer(out, "count", (int64_t)row->count);
	dtc_json_add_integer(out, "total_ns", row->total_ns);
	dtc_json_add_integer(out, "away_ns", row->away_ns);
	if (input->request_count)
		dtc_json_add_integer(out, "request_ns", row->request_ns);
	else
		dtc_json_add_null(out, "request_ns");
	dtc_json_add_integer(out, "max_ns", row->max_ns);
	dtc_json_add_integer(out, "max_start_ns", row->max_begin.ns);
	g_string_append_c(out, '}');
}

static const char *keep(gpointer data, const char *text)
{
	g_autofree char *printable = dtc_printable(text, DTC_PRINTABLE_MAX);
	return g_string_chunk_insert_const(data, printable);
}

/* Everything of a blocking but its children and the closing brace. */
static void append_blocking(GString *out, const struct dtc_blockings_input *input, const struct naming *naming,
			    const struct dtc_blocking *blocking)
{
	const struct dtc_names *names = &naming->names;
	struct dtc_report_evidence evidence;
	bool has_evidence = dtc_report_evidence_make(names, &blocking->evidence, keep, naming->strings, &evidence);
	g_autofree char *detail =
		dtc_words_for_evidence(names, &blocking->evidence, blocking->end.ns - blocking->begin.ns);
	g_autofree char *woken_by = dtc_words_for_end(names, blocking);
	g_string_append_c(out, '{');
	append_who(out, dtc_links_get_node_name(input->links, blocking->node), blocking->pid, blocking->tid,
		   blocking->comm, blocking->process);
	dtc_json_add_integer(out, "start_ns", blocking->begin.ns);
	dtc_json_add_integer(out, "end_ns", blocking->end.ns);
	dtc_json_add_text(out, "cause", dtc_cause_to_string(blocking->cause));
	dtc_json_add_text(out, "detail", detail);
	dtc_json_add_text(out, "woken_by", woken_by);
	dtc_report_evidence_add(out, has_evidence ? &evidence : NULL);
	dtc_json_add_text(out, "link", dtc_link_quality_to_string(blocking->link));
	dtc_json_append_key(out, "children");
	g_string_append_c(out, '[');
}

/* The list is depth first: the depth of the next one tells what to open and to close. */
static void append_tree(GString *out, const struct dtc_blockings_input *input, const struct naming *naming)
{
	guint count = input->path ? dtc_path_get_blocking_count(input->path) : 0, open = 0;

	g_string_append(out, "  \"blockings\": [");
	for (guint i = 0; i < count; i++) {
		const struct dtc_blocking *blocking = dtc_path_get_blocking(input->path, i);
		if (blocking->depth >= DTC_REPORT_MAX_DEPTH)
			continue;
		bool is_child = i > 0 && blocking->depth >= open;
		for (; open > blocking->depth; open--)
			g_string_append(out, "]}");
		if (blocking->depth == 0)
			g_string_append(out, i ? ",\n    " : "\n    ");
		else if (!is_child)
			g_string_append_c(out, ',');
		append_blocking(out, input, naming, blocking);
		open++;
	}
	for (; open > 0; open--)
		g_string_append(out, "]}");
	g_string_append(out, count ? "\n  ],\n" : "],\n");
}

char *dtc_blockings_to_json(const struct dtc_blockings_input *input)
{
	GString *out = g_string_new("{\n  \"schema\": \"" DTC_BLOCKINGS_SCHEMA "\",\n  ");
	guint reference = dtc_clocks_get_reference(dtc_links_get_clocks(input->links));
	guint count = dtc_blocked_get_count(input->blocked);
	struct naming naming;

	naming_init(&naming, input->links);
	dtc_json_add_name(out, "reference", dtc_links_get_node_name(input->links, reference));
	g_string_append(out, ",\n  \"target\": ");
	if (input->path) {
		g_string_append_c(out, '{');
		append_thread(out, input, input->node, input->thread);
		g_string_append(out, "},\n  ");
		append_parents(out, input);
		dtc_json_add_integer(out, "start_ns", input->begin.ns);
		g_string_append(out, ",\n  ");
		dtc_json_add_integer(out, "end_ns", input->end.ns);
		g_string_append(out, ",\n");
	} else {
		g_string_append(out, "null,\n  \"parents\": [],\n  \"start_ns\": null,\n  \"end_ns\": null,\n");
	}
	g_string_append(out, "  \"rows\": [");
	for (guint i = 0; i < count; i++) {
		g_string_append(out, i ? ",\n    " : "\n    ");
		append_row(out, input, &naming, dtc_blocked_get_row(input->blocked, i));
	}
	g_string_append(out, count ? "\n  ],\n" : "],\n");
	append_tree(out, input, &naming);
	naming_clear(&naming);
	g_string_append(out, "  \"findings\": ");
	dtc_finding_list_append_json(out, input->findings);
	g_string_append(out, ",\n  ");
	dtc_json_add_bool(out, "complete", dtc_findings_get_complete(input->findings));
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}
