/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/html.h"

#include "analyze/engine/wall_clock.h"
#include "analyze/report/cause_page.h"
#include "analyze/report/fold.h"
#include "analyze/report/page.h"
#include "analyze/report/text.h"
#include "analyze/report/verdict_words.h"
#include "collect/console/json_object.h"

#include <dtrace-chain/sort.h>

#include <inttypes.h>
#include <string.h>

/* What a page can show without becoming slow or large; the figures are always of the whole. */
#define MAX_STEPS 30000
#define MAX_BLOCKINGS 5000

struct page {
	const DtcReport *report;
	const DtcLanes *lanes;
	const DtcQuality *quality;
	GString *out;
	GHashTable *string_ids; /* text -> index + 1; borrowed from report, lanes and quality */
	GPtrArray *strings;
};

/* Texts repeat (a system call, a file): the data names them by their place in a table. NULL is 0. */
static guint get_string(struct page *p, const char *text)
{
	if (!text)
		return 0;
	guint id = GPOINTER_TO_UINT(g_hash_table_lookup(p->string_ids, text));
	if (!id) {
		g_ptr_array_add(p->strings, (char *)text);
		id = p->strings->len;
		g_hash_table_insert(p->string_ids, (char *)text, GUINT_TO_POINTER(id));
	}
	return id;
}

/* Since 2^53 ns are 104 days after the epoch, only times since the begin of the span are numbers. */
static int64_t get_relative(const struct page *p, int64_t ns)
{
	return ns - p->report->begin_ns;
}

static int64_t get_uncertainty(int64_t uncertainty_ns)
{
	return uncertainty_ns == INT64_MAX ? -1 : uncertainty_ns;
}

static void append_thread(struct page *p, const struct dtc_report_thread *who)
{
	dtc_json_pack_string(p->out, "node", who->node);
	dtc_json_pack_string(p->out, "comm", who->comm);
	dtc_json_pack_string(p->out, "process", who->process);
	dtc_json_pack_string(p->out, "tier", who->tier);
	dtc_json_pack_integer(p->out, "pid", who->pid);
	dtc_json_pack_integer(p->out, "tid", who->tid);
}

static void append_names(struct page *p, const char *key, const char *(*get_name)(guint), guint count)
{
	dtc_json_pack_open(p->out, key, '[');
	for (guint i = 0; i < count; i++) {
		dtc_json_pack_separator(p->out);
		dtc_json_append_string(p->out, get_name(i));
	}
	g_string_append_c(p->out, ']');
}

static const char *get_cause_name(guint cause)
{
	return dtc_cause_to_string((enum dtc_cause)cause);
}

static const char *get_link_name(guint link)
{
	return dtc_link_quality_to_string((enum dtc_link_quality)link);
}

/* What each cause means, by its number: nothing is looked up elsewhere. */
static void append_pages(struct page *p)
{
	dtc_json_pack_open(p->out, "pages", '[');
	for (guint i = 0; i < DTC_CAUSES; i++) {
		g_autofree char *lines = dtc_cause_page_to_lines(i);
		dtc_json_pack_separator(p->out);
		dtc_json_append_string(p->out, lines);
	}
	g_string_append_c(p->out, ']');
}

static void append_verdict(struct page *p)
{
	const DtcReport *report = p->report;
	g_autofree char *verdict = dtc_words_for_verdict(report, false);
	g_autofree char *waited = dtc_words_for_waited(report, false);
	g_autofree char *usual = dtc_words_for_usual(report);

	dtc_json_pack_string(p->out, "verdict", verdict);
	dtc_json_pack_string(p->out, "waited", waited);
	dtc_json_pack_string(p->out, "usual", usual);
	dtc_json_pack_open(p->out, "machines", '['); /* name, ns, in words */
	for (guint i = 0; i < dtc_words_count_machines(report); i++) {
		const struct dtc_report_machine *machine =
			&g_array_index(report->machines, struct dtc_report_machine, i);
		g_autofree char *parts = dtc_words_for_machine(report, machine, false);
		dtc_json_pack_open(p->out, NULL, '{');
		dtc_json_pack_string(p->out, "node", machine->node);
		dtc_json_pack_integer(p->out, "ns", machine->ns);
		dtc_json_pack_string(p->out, "parts", parts);
		g_string_append_c(p->out, '}');
	}
	g_string_append_c(p->out, ']');
}

static void append_head(struct page *p)
{
	const DtcReport *report = p->report;

	dtc_json_pack_string(p->out, "schema", "dtrace-chain/page/1");
	dtc_json_pack_string(p->out, "request", report->request);
	dtc_json_pack_string(p->out, "method", report->method);
	dtc_json_pack_string(p->out, "url", report->url);
	dtc_json_pack_integer(p->out, "status", report->status);
	dtc_json_pack_string(p->out, "outside", report->outside);
	dtc_json_pack_open(p->out, "sources", '[');
	for (guint i = 0; i < report->sources->len; i++) {
		const struct dtc_report_source *source = &g_array_index(report->sources, struct dtc_report_source, i);
		dtc_json_pack_open(p->out, NULL, '{');
		dtc_json_pack_string(p->out, "source", source->source);
		dtc_json_pack_string(p->out, "value", source->value);
		g_string_append_c(p->out, '}');
	}
	g_string_append_c(p->out, ']');
	dtc_json_pack_open(p->out, "target", '{');
	append_thread(p, &report->target);
	g_string_append_c(p->out, '}');
	dtc_json_pack_string(p->out, "reference", report->reference);
	dtc_json_pack_key(p->out, "begin");
	g_string_append_printf(p->out, "\"%" PRId64 "\"", report->begin_ns);
	g_autofree char *wall = dtc_wall_clock_format(report->begin_ns);
	dtc_json_pack_string(p->out, "wall", wall);
	dtc_json_pack_integer(p->out, "duration", report->duration_ns);
	append_verdict(p);
	dtc_json_pack_key(p->out, "complete");
	g_string_append(p->out, report->complete ? "true" : "false");
	append_names(p, "causes", get_cause_name, DTC_CAUSES);
	append_pages(p);
	append_names(p, "links", get_link_name, DTC_LINK_UNKNOWN + 1);
}

static void append_breakdown(struct page *p)
{
	const DtcReport *report = p->report;

	if (report->dominant != G_MAXUINT) {
		const struct dtc_report_row *row =
			&g_array_index(report->rows, struct dtc_report_row, report->dominant);
		dtc_json_pack_open(p->out, "dominant", '{');
		dtc_json_pack_string(p->out, "tier", row->tier);
		dtc_json_pack_integer(p->out, "cause", row->cause);
		dtc_json_pack_string(p->out, "detail", row->detail);
		dtc_json_pack_integer(p->out, "ns", row->ns);
		g_string_append_c(p->out, '}');
	}
	dtc_json_pack_open(p->out, "tiers", '[');
	for (guint i = 0; i < report->tiers->len; i++) {
		const struct dtc_report_tier *tier = &g_array_index(report->tiers, struct dtc_report_tier, i);
		dtc_json_pack_open(p->out, NULL, '{');
		dtc_json_pack_string(p->out, "tier", tier->tier);
		dtc_json_pack_string(p->out, "node", tier->node);
		dtc_json_pack_string(p->out, "process", tier->process);
		dtc_json_pack_integer(p->out, "ns", tier->ns);
		dtc_json_pack_open(p->out, "rows", '['); /* cause, ns, detail, its ns, steps */
		for (guint j = tier->row_first; j < tier->row_first + tier->row_count; j++) {
			const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, j);
			dtc_json_pack_value(p->out, row->cause);
			dtc_json_pack_value(p->out, row->ns);
			dtc_json_pack_value(p->out, get_string(p, row->detail));
			dtc_json_pack_value(p->out, row->detail_ns);
			dtc_json_pack_value(p->out, row->step_count);
		}
		g_string_append_c(p->out, ']');
		g_string_append_c(p->out, '}');
	}
	g_string_append_c(p->out, ']');
}

static void append_lanes(struct page *p)
{
	const DtcLanes *lanes = p->lanes;

	dtc_json_pack_open(p->out, "window", '[');
	dtc_json_pack_value(p->out, get_relative(p, lanes->begin_ns));
	dtc_json_pack_value(p->out, get_relative(p, lanes->end_ns));
	g_string_append_c(p->out, ']');
	dtc_json_pack_integer(p->out, "merged", lanes->merged_ns);
	dtc_json_pack_open(p->out, "lanes", '[');
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const struct dtc_lane *lane = &g_array_index(lanes->lanes, struct dtc_lane, i);
		int64_t at_ns = p->report->begin_ns;
		dtc_json_pack_open(p->out, NULL, '{');
		dtc_json_pack_string(p->out, "node", lane->node);
		dtc_json_pack_string(p->out, "comm", lane->comm);
		dtc_json_pack_string(p->out, "process", lane->process);
		dtc_json_pack_integer(p->out, "pid", lane->pid);
		dtc_json_pack_integer(p->out, "tid", lane->tid);
		dtc_json_pack_integer(p->out, "kernel", lane->is_kernel);
		dtc_json_pack_integer(p->out, "path", lane->on_path);
		/* since the end of the last one, duration, cause, detail, intervals */
		dtc_json_pack_open(p->out, "bars", '[');
		for (guint j = lane->bar_first; j < lane->bar_first + lane->bar_count; j++) {
			const struct dtc_lane_bar *bar = &g_array_index(lanes->bars, struct dtc_lane_bar, j);
			dtc_json_pack_value(p->out, bar->begin_ns - at_ns);
			dtc_json_pack_value(p->out, bar->end_ns - bar->begin_ns);
			dtc_json_pack_value(p->out, bar->cause);
			dtc_json_pack_value(p->out, get_string(p, bar->detail));
			dtc_json_pack_value(p->out, bar->interval_count);
			at_ns = bar->end_ns;
		}
		g_string_append_c(p->out, ']');
		g_string_append_c(p->out, '}');
	}
	g_string_append_c(p->out, ']');
	/* from, sent, to, received, uncertainty, link, detail, on the path */
	dtc_json_pack_open(p->out, "messages", '[');
	for (guint i = 0; i < lanes->messages->len; i++) {
		const struct dtc_lane_message *message = &g_array_index(lanes->messages, struct dtc_lane_message, i);
		dtc_json_pack_value(p->out, message->from_lane);
		dtc_json_pack_value(p->out, get_relative(p, message->sent_ns));
		dtc_json_pack_value(p->out, message->to_lane);
		dtc_json_pack_value(p->out, get_relative(p, message->received_ns));
		dtc_json_pack_value(p->out, get_uncertainty(message->uncertainty_ns));
		dtc_json_pack_value(p->out, message->link);
		dtc_json_pack_value(p->out, get_string(p, message->detail));
		dtc_json_pack_value(p->out, message->step != G_MAXUINT);
	}
	g_string_append_c(p->out, ']');
	dtc_json_pack_integer(p->out, "messagesLeftOut", lanes->messages_left_out);
}

/* As many steps as a page can show: the shortest are folded first. */
static GArray *fold_steps(const DtcReport *report)
{
	int64_t min_ns = 0;
	GArray *folds = dtc_fold_steps(report->steps, min_ns);

	while (folds->len > MAX_STEPS && min_ns <= report->duration_ns) {
		min_ns = min_ns ? min_ns * 2 : report->duration_ns / MAX_STEPS / 16 + 1;
		g_array_unref(folds);
		folds = dtc_fold_steps(report->steps, min_ns);
	}
	return folds;
}

static void append_steps(struct page *p)
{
	const DtcTable *steps = p->report->steps;
	g_autoptr(GArray) folds = fold_steps(p->report);

	/* lane, duration, cause, detail, link, uncertainty, from another node, steps folded; contiguous from 0 */
	dtc_json_pack_open(p->out, "steps", '[');
	for (guint i = 0; i < folds->len; i++) {
		const struct dtc_fold *fold = &g_array_index(folds, struct dtc_fold, i);
		const struct dtc_report_step *head = DTC_AT(steps, struct dtc_report_step, fold->head);
		const struct dtc_report_step *first = DTC_AT(steps, struct dtc_report_step, fold->first);
		dtc_json_pack_value(p->out, p->lanes->step_lanes[fold->head]);
		dtc_json_pack_value(p->out, fold->ns);
		dtc_json_pack_value(p->out, head->cause);
		dtc_json_pack_value(p->out, get_string(p, head->detail));
		dtc_json_pack_value(p->out, first->link);
		dtc_json_pack_value(p->out, get_uncertainty(first->uncertainty_ns));
		dtc_json_pack_value(p->out, first->is_hop);
		dtc_json_pack_value(p->out, fold->count);
	}
	g_string_append_c(p->out, ']');
}

/* Blockings at least so long are shown. */
static int64_t find_min_blocking_ns(const DtcTable *blockings)
{
	if (blockings->len <= MAX_BLOCKINGS)
		return 0;
	g_autofree int64_t *lengths_ns = g_new(int64_t, blockings->len);
	for (guint i = 0; i < blockings->len; i++) {
		const struct dtc_report_blocking *b = DTC_AT(blockings, struct dtc_report_blocking, i);
		lengths_ns[i] = b->end_ns - b->begin_ns;
	}
	return dtc_select_int64(lengths_ns, blockings->len, blockings->len - 1 - MAX_BLOCKINGS) + 1;
}

static void append_blockings(struct page *p)
{
	const DtcTable *blockings = p->report->blockings;
	g_autofree guint *shown = g_new(guint, blockings->len + 1); /* as the nearest ancestor shown; G_MAXUINT: none */
	int64_t min_ns = find_min_blocking_ns(blockings);
	guint count = 0;

	/* lane, begin, duration, cause, detail, woken by, link, parent in this list or -1 */
	dtc_json_pack_open(p->out, "blockings", '[');
	for (guint i = 0; i < blockings->len; i++) {
		const struct dtc_report_blocking *b = DTC_AT(blockings, struct dtc_report_blocking, i);
		guint parent = b->parent == G_MAXUINT ? G_MAXUINT : shown[b->parent];
		if (b->end_ns - b->begin_ns < min_ns) {
			shown[i] = parent;
			continue;
		}
		shown[i] = count++;
		dtc_json_pack_value(p->out, p->lanes->blocking_lanes[i]);
		dtc_json_pack_value(p->out, get_relative(p, b->begin_ns));
		dtc_json_pack_value(p->out, b->end_ns - b->begin_ns);
		dtc_json_pack_value(p->out, b->cause);
		dtc_json_pack_value(p->out, get_string(p, b->detail));
		dtc_json_pack_value(p->out, get_string(p, b->woken_by));
		dtc_json_pack_value(p->out, b->link);
		dtc_json_pack_value(p->out, parent == G_MAXUINT ? -1 : (int64_t)parent);
	}
	g_string_append_c(p->out, ']');
	dtc_json_pack_integer(p->out, "blockingsLeftOut", blockings->len - count);
}

static void append_findings(struct page *p)
{
	dtc_json_pack_open(p->out, "findings", '[');
	for (guint i = 0; i < p->report->findings->len; i++) {
		const struct dtc_report_finding *f = &g_array_index(p->report->findings, struct dtc_report_finding, i);
		dtc_json_pack_open(p->out, NULL, '{');
		dtc_json_pack_string(p->out, "severity", dtc_severity_to_string(f->severity));
		dtc_json_pack_string(p->out, "node", f->node);
		dtc_json_pack_string(p->out, "text", f->text);
		g_string_append_c(p->out, '}');
	}
	g_string_append_c(p->out, ']');
}

static void append_data(struct page *p)
{
	g_string_append_c(p->out, '{');
	append_head(p);
	append_breakdown(p);
	append_lanes(p);
	append_steps(p);
	append_blockings(p);
	dtc_quality_append_json(p->out, p->quality, p->report->begin_ns);
	append_findings(p);
	dtc_json_pack_open(p->out, "strings", '[');
	g_string_append(p->out, "null");
	for (guint i = 0; i < p->strings->len; i++) {
		dtc_json_pack_separator(p->out);
		dtc_json_append_string(p->out, g_ptr_array_index(p->strings, i));
	}
	g_string_append_c(p->out, ']');
	g_string_append_c(p->out, '}');
}

/* For readers without scripts: the answer as a terminal shows it. */
static char *make_plain(const DtcReport *report)
{
	const struct dtc_text_options options = { .width = 100, .has_utf8 = true, .min_ns = -1 };

	return dtc_report_to_text(report, &options);
}

char *dtc_report_to_html(const DtcReport *report, const DtcLanes *lanes, const DtcQuality *quality)
{
	struct page p = {
		.report = report,
		.lanes = lanes,
		.quality = quality,
		.out = g_string_new(NULL),
		.string_ids = g_hash_table_new(g_str_hash, g_str_equal),
		.strings = g_ptr_array_new(),
	};
	g_autofree char *plain = make_plain(report);

	append_data(&p);
	const struct dtc_page page = {
		.body = dtc_page_html,
		.scripts = { dtc_timeline_js, dtc_clocks_js, dtc_page_js },
		.title = report->request ? report->request : report->target.tier,
		.plain = plain,
		.data = p.out->str,
	};
	char *html = dtc_page_make(&page);
	g_string_free(p.out, TRUE);
	g_hash_table_unref(p.string_ids);
	g_ptr_array_unref(p.strings);
	return html;
}
