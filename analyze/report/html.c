/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/html.h"

#include "analyze/report/fold.h"
#include "analyze/report/json_text.h"
#include "analyze/report/page.h"
#include "analyze/report/text.h"

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

static void append_text(struct page *p, const char *key, const char *text)
{
	dtc_json_text_append_key(p->out, key);
	dtc_json_text_append_string(p->out, text);
}

static void append_number(struct page *p, const char *key, int64_t number)
{
	dtc_json_text_append_key(p->out, key);
	g_string_append_printf(p->out, "%" PRId64, number);
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

/* An element of a flat list of numbers. */
static void append_value(struct page *p, int64_t value)
{
	dtc_json_text_append_comma(p->out);
	g_string_append_printf(p->out, "%" PRId64, value);
}

static void begin_list(struct page *p, const char *key)
{
	dtc_json_text_append_key(p->out, key);
	g_string_append_c(p->out, '[');
}

static void end_list(struct page *p)
{
	g_string_append_c(p->out, ']');
}

static void begin_object(struct page *p)
{
	dtc_json_text_append_comma(p->out);
	g_string_append_c(p->out, '{');
}

static void end_object(struct page *p)
{
	g_string_append_c(p->out, '}');
}

static void append_thread(struct page *p, const struct dtc_report_thread *who)
{
	append_text(p, "node", who->node);
	append_text(p, "comm", who->comm);
	append_text(p, "process", who->process);
	append_text(p, "tier", who->tier);
	append_number(p, "pid", who->pid);
	append_number(p, "tid", who->tid);
}

static void append_names(struct page *p, const char *key, const char *(*get_name)(guint), guint count)
{
	begin_list(p, key);
	for (guint i = 0; i < count; i++) {
		dtc_json_text_append_comma(p->out);
		dtc_json_text_append_string(p->out, get_name(i));
	}
	end_list(p);
}

static const char *get_cause_name(guint cause)
{
	return dtc_cause_to_string((enum dtc_cause)cause);
}

static const char *get_link_name(guint link)
{
	return dtc_link_quality_to_string((enum dtc_link_quality)link);
}

static void append_head(struct page *p)
{
	const DtcReport *report = p->report;

	append_text(p, "schema", "dtrace-chain/page/1");
	append_text(p, "request", report->request);
	append_text(p, "method", report->method);
	append_text(p, "url", report->url);
	append_number(p, "status", report->status);
	begin_list(p, "sources");
	for (guint i = 0; i < report->sources->len; i++) {
		const struct dtc_report_source *source = &g_array_index(report->sources, struct dtc_report_source, i);
		begin_object(p);
		append_text(p, "source", source->source);
		append_text(p, "value", source->value);
		end_object(p);
	}
	end_list(p);
	dtc_json_text_append_key(p->out, "target");
	g_string_append_c(p->out, '{');
	append_thread(p, &report->target);
	end_object(p);
	append_text(p, "reference", report->reference);
	dtc_json_text_append_key(p->out, "begin");
	g_string_append_printf(p->out, "\"%" PRId64 "\"", report->begin_ns);
	append_number(p, "duration", report->duration_ns);
	dtc_json_text_append_key(p->out, "complete");
	g_string_append(p->out, report->complete ? "true" : "false");
	append_names(p, "causes", get_cause_name, DTC_CAUSES);
	append_names(p, "links", get_link_name, DTC_LINK_UNKNOWN + 1);
}

static void append_breakdown(struct page *p)
{
	const DtcReport *report = p->report;

	if (report->dominant != G_MAXUINT) {
		const struct dtc_report_row *row =
			&g_array_index(report->rows, struct dtc_report_row, report->dominant);
		dtc_json_text_append_key(p->out, "dominant");
		g_string_append_c(p->out, '{');
		append_text(p, "tier", row->tier);
		append_number(p, "cause", row->cause);
		append_text(p, "detail", row->detail);
		append_number(p, "ns", row->ns);
		end_object(p);
	}
	begin_list(p, "tiers");
	for (guint i = 0; i < report->tiers->len; i++) {
		const struct dtc_report_tier *tier = &g_array_index(report->tiers, struct dtc_report_tier, i);
		begin_object(p);
		append_text(p, "tier", tier->tier);
		append_text(p, "node", tier->node);
		append_text(p, "process", tier->process);
		append_number(p, "ns", tier->ns);
		begin_list(p, "rows"); /* cause, ns, detail, its ns, steps */
		for (guint j = tier->row_first; j < tier->row_first + tier->row_count; j++) {
			const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, j);
			append_value(p, row->cause);
			append_value(p, row->ns);
			append_value(p, get_string(p, row->detail));
			append_value(p, row->detail_ns);
			append_value(p, row->step_count);
		}
		end_list(p);
		end_object(p);
	}
	end_list(p);
}

static void append_lanes(struct page *p)
{
	const DtcLanes *lanes = p->lanes;

	begin_list(p, "window");
	append_value(p, get_relative(p, lanes->begin_ns));
	append_value(p, get_relative(p, lanes->end_ns));
	end_list(p);
	append_number(p, "merged", lanes->merged_ns);
	begin_list(p, "lanes");
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const struct dtc_lane *lane = &g_array_index(lanes->lanes, struct dtc_lane, i);
		int64_t at_ns = p->report->begin_ns;
		begin_object(p);
		append_text(p, "node", lane->node);
		append_text(p, "comm", lane->comm);
		append_text(p, "process", lane->process);
		append_number(p, "pid", lane->pid);
		append_number(p, "tid", lane->tid);
		append_number(p, "kernel", lane->is_kernel);
		append_number(p, "path", lane->on_path);
		begin_list(p, "bars"); /* since the end of the last one, duration, cause, detail, intervals */
		for (guint j = lane->bar_first; j < lane->bar_first + lane->bar_count; j++) {
			const struct dtc_lane_bar *bar = &g_array_index(lanes->bars, struct dtc_lane_bar, j);
			append_value(p, bar->begin_ns - at_ns);
			append_value(p, bar->end_ns - bar->begin_ns);
			append_value(p, bar->cause);
			append_value(p, get_string(p, bar->detail));
			append_value(p, bar->interval_count);
			at_ns = bar->end_ns;
		}
		end_list(p);
		end_object(p);
	}
	end_list(p);
	begin_list(p, "messages"); /* from, sent, to, received, uncertainty, link, detail, on the path */
	for (guint i = 0; i < lanes->messages->len; i++) {
		const struct dtc_lane_message *message = &g_array_index(lanes->messages, struct dtc_lane_message, i);
		append_value(p, message->from_lane);
		append_value(p, get_relative(p, message->sent_ns));
		append_value(p, message->to_lane);
		append_value(p, get_relative(p, message->received_ns));
		append_value(p, get_uncertainty(message->uncertainty_ns));
		append_value(p, message->link);
		append_value(p, get_string(p, message->detail));
		append_value(p, message->step != G_MAXUINT);
	}
	end_list(p);
	append_number(p, "messagesLeftOut", lanes->messages_left_out);
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
	const GArray *steps = p->report->steps;
	g_autoptr(GArray) folds = fold_steps(p->report);

	/* lane, duration, cause, detail, link, uncertainty, from another node, steps folded; contiguous from 0 */
	begin_list(p, "steps");
	for (guint i = 0; i < folds->len; i++) {
		const struct dtc_fold *fold = &g_array_index(folds, struct dtc_fold, i);
		const struct dtc_report_step *head = &g_array_index(steps, struct dtc_report_step, fold->head);
		const struct dtc_report_step *first = &g_array_index(steps, struct dtc_report_step, fold->first);
		append_value(p, p->lanes->step_lanes[fold->head]);
		append_value(p, fold->ns);
		append_value(p, head->cause);
		append_value(p, get_string(p, head->detail));
		append_value(p, first->link);
		append_value(p, get_uncertainty(first->uncertainty_ns));
		append_value(p, first->is_hop);
		append_value(p, fold->count);
	}
	end_list(p);
}

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x < y) - (x > y);
}

/* Blockings at least so long are shown. */
static int64_t find_min_blocking_ns(const GArray *blockings)
{
	if (blockings->len <= MAX_BLOCKINGS)
		return 0;
	g_autofree int64_t *lengths_ns = g_new(int64_t, blockings->len);
	for (guint i = 0; i < blockings->len; i++) {
		const struct dtc_report_blocking *b = &g_array_index(blockings, struct dtc_report_blocking, i);
		lengths_ns[i] = b->end_ns - b->begin_ns;
	}
	qsort(lengths_ns, blockings->len, sizeof(*lengths_ns), compare_ns);
	return lengths_ns[MAX_BLOCKINGS] + 1;
}

static void append_blockings(struct page *p)
{
	const GArray *blockings = p->report->blockings;
	g_autofree guint *shown = g_new(guint, blockings->len + 1); /* as the nearest ancestor shown; G_MAXUINT: none */
	int64_t min_ns = find_min_blocking_ns(blockings);
	guint count = 0;

	/* lane, begin, duration, cause, detail, woken by, link, parent in this list or -1 */
	begin_list(p, "blockings");
	for (guint i = 0; i < blockings->len; i++) {
		const struct dtc_report_blocking *b = &g_array_index(blockings, struct dtc_report_blocking, i);
		guint parent = b->parent == G_MAXUINT ? G_MAXUINT : shown[b->parent];
		if (b->end_ns - b->begin_ns < min_ns) {
			shown[i] = parent;
			continue;
		}
		shown[i] = count++;
		append_value(p, p->lanes->blocking_lanes[i]);
		append_value(p, get_relative(p, b->begin_ns));
		append_value(p, b->end_ns - b->begin_ns);
		append_value(p, b->cause);
		append_value(p, get_string(p, b->detail));
		append_value(p, get_string(p, b->woken_by));
		append_value(p, b->link);
		append_value(p, parent == G_MAXUINT ? -1 : (int64_t)parent);
	}
	end_list(p);
	append_number(p, "blockingsLeftOut", blockings->len - count);
}

static void append_findings(struct page *p)
{
	begin_list(p, "findings");
	for (guint i = 0; i < p->report->findings->len; i++) {
		const struct dtc_report_finding *f = &g_array_index(p->report->findings, struct dtc_report_finding, i);
		begin_object(p);
		append_text(p, "severity", dtc_severity_to_string(f->severity));
		append_text(p, "node", f->node);
		append_text(p, "text", f->text);
		end_object(p);
	}
	end_list(p);
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
	begin_list(p, "strings");
	g_string_append(p->out, "null");
	for (guint i = 0; i < p->strings->len; i++) {
		dtc_json_text_append_comma(p->out);
		dtc_json_text_append_string(p->out, g_ptr_array_index(p->strings, i));
	}
	end_list(p);
	end_object(p);
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
