/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/model.h"

#include "analyze/report/evidence.h"
#include "analyze/report/rows.h"
#include "analyze/report/verdict.h"
#include "collect/console/printable.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>
#include <string.h>

#define STEPS_HEAP_BYTES ((gsize)256 << 10) /* a request does without a file */
#define DEFECT_HINT "this is a defect of dtrace-chain; please report it with the bundle"

/* What steps add up to, while they are added. */
struct dtc_report_known {
	DtcRowSums *row_sums;
	DtcVerdictSums *verdict_sums;
};

static void end_steps(DtcReport *report)
{
	if (!report->known)
		return;
	dtc_row_sums_free(report->known->row_sums);
	dtc_verdict_sums_free(report->known->verdict_sums);
	g_clear_pointer(&report->known, g_free);
}

void dtc_report_free(DtcReport *report)
{
	if (!report)
		return;
	g_array_unref(report->sources);
	g_array_unref(report->hops);
	g_array_unref(report->parents);
	g_array_unref(report->tiers);
	g_array_unref(report->rows);
	g_array_unref(report->services);
	g_array_unref(report->machines);
	g_array_unref(report->parts);
	dtc_table_free(report->steps);
	dtc_table_free(report->blockings);
	g_array_unref(report->evidences);
	g_array_unref(report->clocks);
	g_array_unref(report->findings);
	g_string_chunk_free(report->strings);
	dtc_name_book_unref(report->names);
	end_steps(report);
	g_free(report);
}

static const char *keep(DtcReport *report, const char *text, guint max)
{
	if (!text)
		return NULL;
	if (dtc_printable_is_plain(text, max))
		return g_string_chunk_insert_const(report->strings, text);
	g_autofree char *printable = dtc_printable(text, max);
	return g_string_chunk_insert_const(report->strings, printable);
}

static const char *keep_text(DtcReport *report, const char *text)
{
	return text && *text ? keep(report, text, DTC_PRINTABLE_MAX) : NULL;
}

static const char *keep_words(gpointer report, const char *text)
{
	return keep_text(report, text);
}

static struct dtc_names get_names(const struct dtc_report_input *input)
{
	return (struct dtc_names){ input->histories, input->node_names, input->node_count };
}

static void begin_steps(DtcReport *report, const struct dtc_report_input *input)
{
	const struct dtc_names names = get_names(input);
	struct dtc_report_known *known = g_new0(struct dtc_report_known, 1);

	report->names =
		input->name_book ? dtc_name_book_ref(input->name_book) : dtc_name_book_new(&names, input->cluster);
	known->row_sums = dtc_row_sums_new();
	known->verdict_sums = dtc_verdict_sums_new();
	report->known = known;
}

static const char *get_node_name(const DtcReport *report, guint node)
{
	return dtc_name_book_get_node(report->names, node);
}

const char *dtc_report_name_process(const char *process, enum dtc_cause cause)
{
	if (process && *process)
		return process;
	switch (cause) {
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_WIRE:
	case DTC_CAUSE_NETWORK_RECEIVE:
	case DTC_CAUSE_RETRANSMISSION:
		return "network";
	default:
		return "unknown";
	}
}

static void add_request(DtcReport *report, const struct dtc_report_input *input)
{
	report->request = keep_text(report, input->request);
	report->method = keep_text(report, input->method);
	report->url = keep_text(report, input->url);
	report->status = input->status;
	for (guint i = 0; i < input->identity_count; i++) {
		struct dtc_report_source source = {
			.source = keep(report, input->identities[i].source, DTC_PRINTABLE_NAME_MAX),
			.id = keep(report, input->identities[i].id, DTC_PRINTABLE_MAX),
			.value = keep(report, input->identities[i].value, DTC_PRINTABLE_MAX),
		};
		g_array_append_val(report->sources, source);
	}
}

static void add_usual(DtcReport *report, const struct dtc_usual *usual)
{
	report->usual = (struct dtc_report_usual){
		.count = usual->count,
		.rank = usual->rank,
		.method = keep_text(report, usual->method),
		.pattern = keep_text(report, usual->pattern),
		.like_count = usual->like_count,
		.like_p50_ns = usual->like_p50_ns,
	};
}

static void add_outside(DtcReport *report, const struct dtc_place *place)
{
	report->begins_before = place->outside & DTC_OUTSIDE_BEGIN;
	report->ends_after = place->outside & DTC_OUTSIDE_END || place->is_open;
	if (report->begins_before && report->ends_after)
		report->outside = "began before the recording and runs beyond its end: only the part inside is "
				  "explained";
	else if (report->begins_before)
		report->outside = "began before the recording: only the part inside is explained";
	else if (report->ends_after)
		report->outside = "runs beyond the end of the recording: only the part inside is explained";
}

static struct dtc_report_end make_end(DtcReport *report, const struct dtc_report_input *input,
				      const struct dtc_hop_side *side)
{
	const DtcHistory *history = side->node < input->node_count ? input->histories[side->node] : NULL;

	if (!history || side->file == DTC_NONE || side->thread == DTC_NONE) {
		struct dtc_report_end unknown = { .who = { .pid = -1, .tid = -1 }, .link = DTC_LINK_UNKNOWN };
		if (side->node < input->node_count)
			unknown.who.node = get_node_name(report, side->node);
		return unknown;
	}
	const struct dtc_thread *thread = dtc_history_get_thread(history, side->thread);
	return (struct dtc_report_end){
		.who = dtc_name_book_get_thread(
			report->names, get_node_name(report, side->node),
			dtc_history_get_comm(history, side->thread, side->end.ns),
			dtc_report_name_process(dtc_history_get_process(history, side->thread, side->end.ns),
						DTC_CAUSE_UNKNOWN),
			thread->pid, thread->tid),
		.begin_ns = dtc_clocks_to_cluster(input->clocks, side->node, side->begin).ns,
		.end_ns = dtc_clocks_to_cluster(input->clocks, side->node, side->end).ns,
		.link = side->inferred ? DTC_LINK_INFERRED : DTC_LINK_EXACT,
	};
}

static struct dtc_report_end make_followed_end(DtcReport *report, const struct dtc_report_input *input, guint node,
					       uint32_t thread_id, int64_t begin_ns, int64_t end_ns)
{
	const DtcHistory *history = input->histories[node];
	const struct dtc_thread *thread = dtc_history_get_thread(history, thread_id);

	return (struct dtc_report_end){
		.who = dtc_name_book_get_thread(
			report->names, get_node_name(report, node), dtc_history_get_comm(history, thread_id, end_ns),
			dtc_report_name_process(dtc_history_get_process(history, thread_id, end_ns), DTC_CAUSE_UNKNOWN),
			thread->pid, thread->tid),
		.begin_ns = dtc_clocks_to_cluster_ns(input->clocks, node, begin_ns),
		.end_ns = dtc_clocks_to_cluster_ns(input->clocks, node, end_ns),
		.link = DTC_LINK_INFERRED,
	};
}

/* The hop whose server is that thread at that time: the latest one. */
static guint find_serving_hop(const DtcReport *report, const struct dtc_report_end *client)
{
	guint found = G_MAXUINT;

	for (guint i = 0; i < report->hops->len; i++) {
		const struct dtc_report_end *server = &g_array_index(report->hops, struct dtc_report_hop, i).server;
		if (server->link == DTC_LINK_UNKNOWN || server->who.node != client->who.node ||
		    server->who.tid != client->who.tid || server->begin_ns > client->begin_ns)
			continue;
		if (found == G_MAXUINT ||
		    g_array_index(report->hops, struct dtc_report_hop, found).server.begin_ns < server->begin_ns)
			found = i;
	}
	return found;
}

/* After the hops that captures show: a parent comes before its children, as followed hops are by begin. */
static void add_followed_hops(DtcReport *report, const struct dtc_report_input *input)
{
	for (guint i = 0; i < input->followed_count; i++) {
		const struct dtc_followed_hop *from = &input->followed[i];
		struct dtc_report_hop hop = {
			.client = make_followed_end(report, input, from->client_node, from->client_thread,
						    from->client_begin_ns, from->client_end_ns),
			.server = make_followed_end(report, input, from->server_node, from->server_thread,
						    from->server_begin_ns, from->server_end_ns),
			.attempt = 1,
		};
		if (from->other != DTC_NO_REQUEST && input->requests)
			hop.candidate = keep_text(report, dtc_requests_get(input->requests, from->other)->id);
		hop.parent = find_serving_hop(report, &hop.client);
		hop.link = MAX(hop.client.link, hop.server.link);
		g_array_append_val(report->hops, hop);
	}
}

static void add_hops(DtcReport *report, const struct dtc_report_input *input)
{
	for (guint i = 0; i < input->place->hops->len; i++) {
		const struct dtc_hop *from = &g_array_index(input->place->hops, struct dtc_hop, i);
		struct dtc_report_hop hop = {
			.method = keep_text(report, from->exchange->method),
			.url = keep_text(report, from->exchange->target),
			.status = from->exchange->status,
			.client = make_end(report, input, &from->client),
			.server = make_end(report, input, &from->server),
			.parent = from->parent,
			.attempt = from->attempt,
		};
		hop.link = MAX(hop.client.link, hop.server.link);
		g_array_append_val(report->hops, hop);
	}
}

static const char *keep_end(DtcReport *report, const struct dtc_report_input *input,
			    const struct dtc_blocking *blocking)
{
	const struct dtc_names names = get_names(input);
	g_autofree char *words = dtc_words_for_end(&names, blocking);
	return keep_text(report, words);
}

static guint add_evidence(DtcReport *report, const struct dtc_report_input *input, const struct dtc_evidence *evidence)
{
	const struct dtc_names names = get_names(input);
	struct dtc_report_evidence made;
	if (input->lacks_evidence || !dtc_report_evidence_make(&names, evidence, keep_words, report, &made))
		return G_MAXUINT;
	g_array_append_val(report->evidences, made);
	return report->evidences->len - 1;
}

/* A step's evidence is looked at for the verdict, and kept only for who shows it. */
static void add_up(DtcReport *report, const struct dtc_report_input *input, const struct dtc_segment *segment,
		   struct dtc_report_step *step)
{
	const struct dtc_names names = get_names(input);
	bool is_wanted = !input->lacks_evidence || dtc_verdict_looks_at(step->cause);
	struct dtc_report_evidence made;
	bool has_any = is_wanted && dtc_report_evidence_make(&names, &segment->evidence, keep_words, report, &made);

	dtc_row_sums_add(report->known->row_sums, step);
	dtc_verdict_sums_add(report->known->verdict_sums, step, has_any ? &made : NULL);
	step->evidence = G_MAXUINT;
	if (!has_any || input->lacks_evidence)
		return;
	step->evidence = report->evidences->len;
	g_array_append_val(report->evidences, made);
}

const struct dtc_waiter *dtc_report_find_waiter(const struct dtc_report_input *input, const struct dtc_segment *segment)
{
	bool has_worker = segment->is_kernel && segment->thread != DTC_NONE && !segment->by_kernel && input->histories;
	const struct dtc_waiter *waiter = has_worker ? dtc_path_get_waiter(input->path, segment->waiter) : NULL;

	for (; waiter; waiter = dtc_path_get_waiter(input->path, waiter->outer)) {
		if (waiter->node != segment->node)
			return NULL;
		if (!dtc_history_get_thread(input->histories[waiter->node], waiter->thread)->is_kernel)
			return waiter;
	}
	return NULL;
}

/* All zeros where nobody waited. */
static struct dtc_report_thread make_waiter(DtcReport *report, const struct dtc_report_input *input,
					    const struct dtc_segment *segment)
{
	const struct dtc_waiter *waiter = dtc_report_find_waiter(input, segment);

	if (!waiter)
		return (struct dtc_report_thread){ 0 };
	const DtcHistory *history = input->histories[waiter->node];
	const struct dtc_thread *thread = dtc_history_get_thread(history, waiter->thread);
	int64_t at_ns = dtc_clocks_to_node(input->clocks, waiter->node, segment->end).ns;
	return dtc_name_book_get_thread(
		report->names, get_node_name(report, waiter->node),
		dtc_history_get_comm(history, waiter->thread, at_ns),
		dtc_report_name_process(dtc_history_get_process(history, waiter->thread, at_ns), segment->cause),
		thread->pid, thread->tid);
}

static void add_steps(DtcReport *report, const struct dtc_report_input *input)
{
	guint count = dtc_path_get_segment_count(input->path);

	dtc_table_reserve(report->steps, count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(input->path, i);
		bool has_thread = segment->thread != DTC_NONE;
		struct dtc_report_step step = {
			.who = dtc_name_book_get_thread(report->names, get_node_name(report, segment->node),
							segment->comm,
							dtc_report_name_process(segment->process, segment->cause),
							has_thread ? segment->pid : -1, has_thread ? segment->tid : -1),
			.begin_ns = segment->begin.ns,
			.end_ns = segment->end.ns,
			.cause = segment->cause,
			.detail = dtc_name_book_get_detail_of(report->names, segment),
			.busy_with = keep_text(report, segment->busy_with),
			.candidate = keep_text(report, segment->candidate),
			.link = segment->link,
			.uncertainty_ns = segment->uncertainty_ns,
			.is_hop = i > 0 && dtc_path_get_segment(input->path, i - 1)->node != segment->node,
			.is_kernel = segment->is_kernel,
			.service = make_waiter(report, input, segment),
		};
		add_up(report, input, segment, &step);
		dtc_table_append(report->steps, &step);
	}
}

/* A step of the kernel that nobody waited for. */
static bool lacks_service(const DtcReport *report)
{
	bool lacks = false;

	for (guint i = 0; i < report->steps->len && !lacks; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		lacks = step->is_kernel && !step->service.tier;
	}
	return lacks;
}

/* Where nobody waited for it: the kernel worked for who went on after it on its machine, else for who was before. */
static void set_kernel_services(DtcReport *report)
{
	g_autoptr(GHashTable) nearest = g_hash_table_new(g_direct_hash, g_direct_equal); /* node -> its step */
	guint count = report->steps->len;

	for (guint i = 0; i < 2 * count; i++) {
		guint at = i < count ? count - 1 - i : i - count;
		struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, at);
		if (i == count)
			g_hash_table_remove_all(nearest);
		const struct dtc_report_step *known = g_hash_table_lookup(nearest, step->who.node);
		if (!step->is_kernel)
			g_hash_table_insert(nearest, (gpointer)step->who.node, step);
		else if (!step->service.tier && known)
			step->service = known->who;
	}
}

/* All others, and those of the kernel on a machine where nothing else was done, worked for themselves. */
static void set_services(DtcReport *report)
{
	if (lacks_service(report))
		set_kernel_services(report);
	for (guint i = 0; i < report->steps->len; i++) {
		struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		if (!step->service.tier)
			step->service = step->who;
	}
}

static int compare_ns_descending(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

static int compare_tiers(const void *a, const void *b)
{
	const struct dtc_report_tier *x = a, *y = b;
	int order = compare_ns_descending(x->ns, y->ns);
	return order ? order : strcmp(x->tier, y->tier);
}

static int compare_rows(const void *a, const void *b)
{
	const struct dtc_report_row *x = a, *y = b;
	int order = compare_ns_descending(x->ns, y->ns);
	return order ? order : (x->cause > y->cause) - (x->cause < y->cause);
}

/* What a tier did for a service. */
struct share {
	const char *tier;
	guint service; /* index in report->services */
	int64_t ns;
};

static guint find_service(DtcReport *report, const struct dtc_report_thread *of)
{
	for (guint i = 0; i < report->services->len; i++)
		if (g_array_index(report->services, struct dtc_report_service, i).tier == of->tier)
			return i;
	const struct dtc_report_service fresh = { of->tier, of->node, of->process, 0 };
	g_array_append_val(report->services, fresh);
	return report->services->len - 1;
}

static struct share *find_share(GArray *shares, const char *tier, guint service)
{
	for (guint i = 0; i < shares->len; i++) {
		struct share *share = &g_array_index(shares, struct share, i);
		if (share->tier == tier && share->service == service)
			return share;
	}
	const struct share fresh = { tier, service, 0 };
	g_array_append_val(shares, fresh);
	return &g_array_index(shares, struct share, shares->len - 1);
}

static int compare_services(const void *a, const void *b)
{
	const struct dtc_report_service *x = a, *y = b;
	int order = compare_ns_descending(x->ns, y->ns);
	return order ? order : strcmp(x->tier, y->tier);
}

/* A handful of tiers, whose names are kept once, so that pointers compare. A tier's service has most of its time. */
static void add_services(DtcReport *report)
{
	g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(struct share));

	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		guint service = find_service(report, &step->service);
		int64_t ns = step->end_ns - step->begin_ns;
		g_array_index(report->services, struct dtc_report_service, service).ns += ns;
		find_share(shares, step->who.tier, service)->ns += ns;
	}
	for (guint i = 0; i < report->tiers->len; i++) {
		struct dtc_report_tier *tier = &g_array_index(report->tiers, struct dtc_report_tier, i);
		int64_t most_ns = -1;
		for (guint k = 0; k < shares->len; k++) {
			const struct share *share = &g_array_index(shares, struct share, k);
			if (share->tier != tier->tier || share->ns <= most_ns)
				continue;
			most_ns = share->ns;
			tier->service = g_array_index(report->services, struct dtc_report_service, share->service).tier;
		}
	}
	g_array_sort(report->services, compare_services);
}

/* The rows arrive together by tier; they leave with the largest tier first, and in it the largest row first. */
static void add_tiers(DtcReport *report)
{
	for (guint i = 0; i < report->rows->len; i++) {
		const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, i);
		struct dtc_report_tier *last =
			report->tiers->len
				? &g_array_index(report->tiers, struct dtc_report_tier, report->tiers->len - 1)
				: NULL;
		if (last && last->tier == row->tier) {
			last->ns += row->ns;
			last->row_count++;
			continue;
		}
		struct dtc_report_tier tier = {
			.tier = row->tier,
			.node = row->node,
			.process = row->process,
			.ns = row->ns,
			.row_first = i,
			.row_count = 1,
		};
		g_array_append_val(report->tiers, tier);
	}
	g_array_sort(report->tiers, compare_tiers);

	GArray *ordered = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_report_row), report->rows->len);
	for (guint i = 0; i < report->tiers->len; i++) {
		struct dtc_report_tier *tier = &g_array_index(report->tiers, struct dtc_report_tier, i);
		struct dtc_report_row *rows = &g_array_index(report->rows, struct dtc_report_row, tier->row_first);
		qsort(rows, tier->row_count, sizeof(*rows), compare_rows);
		tier->node = rows[0].node;
		tier->process = rows[0].process;
		tier->row_first = ordered->len;
		g_array_append_vals(ordered, rows, tier->row_count);
	}
	g_array_unref(report->rows);
	report->rows = ordered;

	for (guint i = 0; i < report->rows->len; i++)
		if (report->dominant == G_MAXUINT ||
		    g_array_index(report->rows, struct dtc_report_row, i).ns >
			    g_array_index(report->rows, struct dtc_report_row, report->dominant).ns)
			report->dominant = i;
}

static void add_blockings(DtcReport *report, const struct dtc_report_input *input)
{
	guint count = dtc_path_get_blocking_count(input->path), left_out;
	g_autoptr(DtcTable) table = dtc_table_new(sizeof(guint)); /* there are as many as the span is long */

	report->untold = dtc_path_get_untold_count(input->path, &left_out);
	dtc_table_extend(table, count);
	guint *renamed = DTC_AT(table, guint, 0);
	for (guint i = 0; i < count; i++) {
		const struct dtc_blocking *from = dtc_path_get_blocking(input->path, i);
		if (from->depth >= DTC_REPORT_MAX_DEPTH) {
			left_out++;
			continue;
		}
		struct dtc_report_blocking blocking = {
			.who = dtc_name_book_get_thread(report->names, get_node_name(report, from->node), from->comm,
							dtc_report_name_process(from->process, from->cause), from->pid,
							from->tid),
			.begin_ns = from->begin.ns,
			.end_ns = from->end.ns,
			.cause = from->cause,
			.detail =
				dtc_name_book_get_detail(report->names, &from->evidence, from->end.ns - from->begin.ns),
			.woken_by = keep_end(report, input, from),
			.evidence = add_evidence(report, input, &from->evidence),
			.link = from->link,
			.depth = from->depth,
			.parent = from->parent < i ? renamed[from->parent] : G_MAXUINT,
		};
		renamed[i] = report->blockings->len;
		dtc_table_append(report->blockings, &blocking);
	}
	if (left_out) {
		g_autofree char *text = g_strdup_printf("%u blockings nested deeper than %d levels are left out of the"
							" causality",
							left_out, DTC_REPORT_MAX_DEPTH);
		struct dtc_report_finding finding = { DTC_SEVERITY_INFO, NULL, NULL, keep(report, text, 1000) };
		g_array_append_val(report->findings, finding);
	}
}

static int compare_clocks(const void *a, const void *b)
{
	const struct dtc_report_clock *x = a, *y = b;
	int order = strcmp(x->a, y->a);
	return order ? order : strcmp(x->b, y->b);
}

/* Node pairs that follow each other on the path, with the largest uncertainty at any of the places where they do. */
static void add_clocks(DtcReport *report, const struct dtc_report_input *input)
{
	guint count = dtc_path_get_segment_count(input->path);

	for (guint i = 1; i < count; i++) {
		const struct dtc_segment *before = dtc_path_get_segment(input->path, i - 1);
		const struct dtc_segment *after = dtc_path_get_segment(input->path, i);
		if (before->node == after->node || MAX(before->node, after->node) >= input->node_count)
			continue;
		int64_t uncertainty_ns =
			dtc_clocks_get_uncertainty_ns(input->clocks, before->node, after->node, after->begin);
		struct dtc_report_clock clock = {
			.a = get_node_name(report, MIN(before->node, after->node)),
			.b = get_node_name(report, MAX(before->node, after->node)),
			.uncertainty_ns = uncertainty_ns,
		};
		guint at = 0;
		for (; at < report->clocks->len; at++) {
			struct dtc_report_clock *known = &g_array_index(report->clocks, struct dtc_report_clock, at);
			if (known->a != clock.a || known->b != clock.b)
				continue;
			known->uncertainty_ns = MAX(known->uncertainty_ns, uncertainty_ns);
			break;
		}
		if (at == report->clocks->len)
			g_array_append_val(report->clocks, clock);
	}
	g_array_sort(report->clocks, compare_clocks);
}

static void add_findings(DtcReport *report, const struct dtc_report_input *input)
{
	guint count = dtc_findings_get_count(input->findings);

	for (guint i = 0; i < count; i++) {
		const struct dtc_finding *from = dtc_findings_get(input->findings, i);
		struct dtc_report_finding finding = {
			.severity = from->severity,
			.code = from->code,
			.node = from->node ? keep(report, from->node, DTC_PRINTABLE_NAME_MAX) : NULL,
			.text = keep(report, from->text, 1000),
		};
		g_array_append_val(report->findings, finding);
	}
}

static bool check_sums(const DtcReport *report, GError **error)
{
	int64_t tiers_ns = 0, rows_ns = 0;

	for (guint i = 0; i < report->tiers->len; i++)
		tiers_ns += g_array_index(report->tiers, struct dtc_report_tier, i).ns;
	for (guint i = 0; i < report->rows->len; i++)
		rows_ns += g_array_index(report->rows, struct dtc_report_row, i).ns;
	if (rows_ns == report->duration_ns && tiers_ns == report->duration_ns)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "the breakdown sums to %" PRId64 " ns (tiers %" PRId64 " ns), the span is %" PRId64
		    " ns\n" DEFECT_HINT,
		    rows_ns, tiers_ns, report->duration_ns);
	return false;
}

static bool check_blockings(const DtcReport *report, GError **error)
{
	for (guint i = 0; i < report->blockings->len; i++) {
		const struct dtc_report_blocking *b = DTC_AT(report->blockings, struct dtc_report_blocking, i);
		bool is_nested = b->depth == 0 ? b->parent == G_MAXUINT
					       : b->parent < i && g_array_index(report->blockings,
										struct dtc_report_blocking, b->parent)
											  .depth +
										  1 ==
									  b->depth;
		if (is_nested && b->end_ns >= b->begin_ns)
			continue;
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
			    "the causality is not a tree of spans: blocking %u of '%s' is [%" PRId64 ", %" PRId64
			    "] at depth %u\n" DEFECT_HINT,
			    i, b->who.tier, b->begin_ns, b->end_ns, b->depth);
		return false;
	}
	return true;
}

static void add_parents(DtcReport *report, const struct dtc_report_input *input)
{
	const DtcHistory *history = input->histories[input->target_node];
	const char *node = get_node_name(report, input->target_node);

	for (guint i = 1; i < input->lineage->len; i++) {
		const struct dtc_lineage_part *part = dtc_lineage_get(input->lineage, i);
		const struct dtc_thread *thread = dtc_history_get_thread(history, part->thread);
		const char *process = dtc_history_get_process(history, part->thread, part->end.ns);
		const struct dtc_report_parent parent = {
			.who = dtc_name_book_get_thread(
				report->names, node, dtc_history_get_comm(history, part->thread, part->end.ns),
				dtc_report_name_process(process, DTC_CAUSE_UNKNOWN), thread->pid, thread->tid),
			.begin_ns = dtc_clocks_to_cluster(input->clocks, input->target_node, part->begin).ns,
			.end_ns = dtc_clocks_to_cluster(input->clocks, input->target_node, part->end).ns,
		};
		g_array_append_val(report->parents, parent);
	}
}

DtcReport *dtc_report_new(const struct dtc_report_input *input, GError **error)
{
	if (!dtc_path_check(input->path, error))
		return NULL;
	int64_t begin_ns = dtc_path_get_begin(input->path).ns, end_ns = dtc_path_get_end(input->path).ns, duration_ns;
	if (__builtin_sub_overflow(end_ns, begin_ns, &duration_ns) || duration_ns < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
			    "the path spans [%" PRId64 ", %" PRId64 "], which is no duration\n" DEFECT_HINT, begin_ns,
			    end_ns);
		return NULL;
	}

	g_autoptr(DtcReport) report = g_new0(DtcReport, 1);
	report->strings = g_string_chunk_new(4096);
	report->sources = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_source));
	report->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_hop));
	report->parents = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_parent));
	report->tiers = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_tier));
	report->rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_row));
	report->services = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_service));
	report->machines = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_machine));
	report->parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_part));
	report->steps = dtc_table_new_on_heap(sizeof(struct dtc_report_step), STEPS_HEAP_BYTES);
	report->blockings = dtc_table_new(sizeof(struct dtc_report_blocking));
	report->evidences = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_evidence));
	report->clocks = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_clock));
	report->findings = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_finding));
	report->dominant = G_MAXUINT;
	begin_steps(report, input);
	report->origin_ns = input->origin_ns;
	report->begin_ns = begin_ns;
	report->end_ns = end_ns;
	report->duration_ns = duration_ns;
	report->reference = get_node_name(report, dtc_clocks_get_reference(input->clocks));
	report->target =
		dtc_name_book_get_thread(report->names, get_node_name(report, input->target_node), input->target_comm,
					 dtc_report_name_process(input->target_process, DTC_CAUSE_UNKNOWN),
					 input->target_pid, input->target_tid);
	if (input->lineage)
		add_parents(report, input);
	if (input->request)
		add_request(report, input);
	if (input->usual)
		add_usual(report, input->usual);
	if (input->is_client_hidden)
		report->outside = "the client's part is not visible: only this server's part is explained";
	if (input->place) {
		add_outside(report, input->place);
		add_hops(report, input);
	}
	if (input->followed)
		add_followed_hops(report, input);
	add_steps(report, input);
	set_services(report);
	dtc_row_sums_list(report->known->row_sums, report->rows);
	add_tiers(report);
	add_services(report);
	dtc_verdict_add(report, report->known->verdict_sums);
	report->complete = dtc_findings_get_complete(input->findings);
	add_clocks(report, input);
	add_findings(report, input);
	add_blockings(report, input);
	end_steps(report);
	if (!check_sums(report, error) || !check_blockings(report, error))
		return NULL;
	return g_steal_pointer(&report);
}
