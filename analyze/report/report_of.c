/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/report_of.h"

#include "analyze/engine/findings_image.h"
#include "analyze/engine/owners.h"
#include "analyze/report/summary_image.h"
#include "analyze/report/tally.h"

/* So many requests share names and words: all of 13,000 of 200 nodes would keep 120 MiB of them. */
#define BOOK_REQUESTS 256
/* Each lane has a book. With many processors so few would make books instead of rows. */
#define BOOK_REQUESTS_MIN 16
/* Of all requests so many are a part of the work that processes share; or more, if there would be too many parts. */
#define PART_REQUESTS 64
#define PARTS_MAX 4096

/* What --from +5s counts from, and so does what is shown. */
static DtcClusterTime get_origin(const DtcEngine *engine, const struct dtc_question *question)
{
	guint node = question->target.node;
	const DtcHistory *history = dtc_engine_get_history(engine, node);

	if (!question->is_thread)
		return dtc_engine_get_origin(engine);
	return dtc_clocks_to_cluster(dtc_engine_get_clocks(engine), node,
				     (DtcNodeTime){ dtc_history_get_begin_ns(history) });
}

/* Of an answer; strings are borrowed of the engine and the question. */
static struct dtc_report_input get_input(const DtcEngine *engine, const struct dtc_question *question,
					 const DtcPath *path, const DtcFindings *findings)
{
	const struct dtc_path_target *target = &question->target;
	const DtcHistory *history = dtc_engine_get_history(engine, target->node);
	const struct dtc_thread *thread = dtc_history_get_thread(history, target->thread);
	int64_t end_ns = dtc_clocks_to_node(dtc_engine_get_clocks(engine), target->node, target->end).ns;
	struct dtc_report_input input = {
		.node_names = dtc_engine_get_node_names(engine),
		.node_count = dtc_engine_get_node_count(engine),
		.cluster = dtc_engine_get_cluster(engine),
		.path = path,
		.clocks = dtc_engine_get_clocks(engine),
		.findings = findings,
		.target_node = target->node,
		.target_pid = thread->pid,
		.target_tid = thread->tid,
		.target_comm = dtc_history_get_comm(history, target->thread, end_ns),
		.target_process = dtc_history_get_process(history, target->thread, end_ns),
		.lineage = question->lineage,
		.place = question->place,
		.histories = dtc_engine_get_histories(engine),
		.origin_ns = get_origin(engine, question).ns,
		.requests = dtc_engine_get_requests(engine),
		.is_client_hidden = question->is_client_hidden,
	};
	if (question->serving)
		input.followed = dtc_serving_get_hops(question->serving, question->index, &input.followed_count);
	if (question->span_identity.source) {
		input.request = question->span_identity.id;
		input.identities = &question->span_identity;
		input.identity_count = 1;
	}
	if (question->request) {
		input.request = question->request->id;
		input.identities = question->request->identities;
		input.identity_count = question->request->identity_count;
		input.method = question->exchange->method;
		input.url = question->exchange->target;
		input.status = question->exchange->status;
		input.usual = question->usual.count ? &question->usual : NULL;
	}
	return input;
}

DtcReport *dtc_report_of(const DtcEngine *engine, const struct dtc_question *question, const DtcPath *path,
			 const DtcFindings *findings, GError **error)
{
	const struct dtc_report_input input = get_input(engine, question, path, findings);

	return dtc_report_new(&input, error);
}

DtcReport *dtc_report_of_words(const DtcEngine *engine, const struct dtc_question *question, const DtcPath *path,
			       const DtcFindings *findings, GError **error)
{
	struct dtc_report_input input = get_input(engine, question, path, findings);

	input.lacks_evidence = true;
	return dtc_report_new(&input, error);
}

static void add_skipped_findings(const struct dtc_skipped *skipped, guint count, DtcFindings *findings)
{
	if (skipped->began_before)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "%u of %u requests began before the kernel trace of their node and are left out",
				 skipped->began_before, count);
	if (skipped->ended_after)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "%u of %u requests ended after the kernel trace of their node and are left out",
				 skipped->ended_after, count);
	if (skipped->not_traced)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "%u of %u requests are in the captures, but no kernel trace shows their threads",
				 skipped->not_traced, count);
}

/* The same words of every request: once. */
static void add_outside_findings(const DtcFindings *from, DtcFindings *to)
{
	for (guint i = 0; i < dtc_findings_get_count(from); i++) {
		const struct dtc_finding *finding = dtc_findings_get(from, i);
		if (g_strcmp0(finding->code, DTC_FINDING_OUTSIDE) == 0)
			dtc_findings_add_coded(to, finding->code, finding->severity, finding->incomplete, finding->node,
					       "%s", finding->text);
	}
}

/* What makes rows, in several threads. */
struct rows {
	const DtcEngine *engine;
	struct dtc_names of;
	guint lane_count;
	struct lane *lanes;
};

/* What a lane's requests share. */
struct lane {
	DtcTallier *tallier;
	DtcNameBook *names;
	guint done;
};

static gpointer make_row(gpointer data, guint index, const struct dtc_answer *answer)
{
	const struct rows *rows = data;
	struct lane *lane = &rows->lanes[index];

	if (!lane->tallier)
		lane->tallier = dtc_tallier_new(rows->of.node_count);
	if (lane->done++ % MAX(BOOK_REQUESTS / rows->lane_count, BOOK_REQUESTS_MIN) == 0) {
		dtc_name_book_unref(lane->names);
		lane->names = dtc_name_book_new(&rows->of, dtc_engine_get_cluster(rows->engine));
	}
	struct dtc_report_input input = get_input(rows->engine, answer->question, answer->path, answer->findings);
	input.name_book = lane->names;
	return dtc_tallier_add_up(lane->tallier, &input);
}

static void free_tally(gpointer tally)
{
	dtc_tally_free(tally);
}

static void free_lanes(struct rows *rows)
{
	for (guint i = 0; i < rows->lane_count; i++) {
		dtc_tallier_free(rows->lanes[i].tallier);
		dtc_name_book_unref(rows->lanes[i].names);
	}
	g_free(rows->lanes);
}

/* All requests, which become rows. */
struct listing {
	const DtcEngine *engine;
	DtcAllRequests *all;
	DtcSummary *summary;
	DtcFindings *findings;
	struct dtc_skipped skipped;
	guint part_requests; /* in each part */
};

static void add_skipped(struct dtc_skipped *to, const struct dtc_skipped *from)
{
	to->began_before += from->began_before;
	to->ended_after += from->ended_after;
	to->not_traced += from->not_traced;
	to->parts += from->parts;
}

/* Those that the requests are set to (dtc_all_requests_set_range). */
static bool add_some(struct listing *listing, GError **error)
{
	const struct dtc_answer *answer;
	struct dtc_skipped skipped;

	while ((answer = dtc_all_requests_next(listing->all))) {
		const struct dtc_tally *tally = answer->made;
		add_outside_findings(answer->findings, listing->findings);
		dtc_summary_add(listing->summary, &tally->row, tally->shares, tally->tiers);
	}
	if (!dtc_all_requests_finish(listing->all, &skipped, error))
		return false;
	add_skipped(&listing->skipped, &skipped);
	return true;
}

struct saved_skipped {
	uint32_t began_before, ended_after, not_traced, parts;
};

static GBytes *make_part(void *data, guint part, GError **error)
{
	const struct listing *listing = data;
	guint count = dtc_requests_get_count(dtc_engine_get_requests(listing->engine));
	guint first = MIN(count, part * listing->part_requests), end = MIN(count, first + listing->part_requests);
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	struct listing some = {
		.engine = listing->engine, .all = listing->all, .summary = summary, .findings = findings
	};

	dtc_all_requests_set_range(listing->all, first, end);
	if (!add_some(&some, error))
		return NULL;
	const struct saved_skipped saved = { some.skipped.began_before, some.skipped.ended_after,
					     some.skipped.not_traced, some.skipped.parts };
	const DtcFindings *const lists[] = { findings };
	dtc_summary_save(summary, writer);
	dtc_findings_save(lists, G_N_ELEMENTS(lists), writer);
	dtc_image_add_copy(writer, "summary.skipped", sizeof(saved), &saved, 1);
	return dtc_image_to_bytes(writer, error);
}

static bool take_part(void *data, GBytes *made, GError **error)
{
	struct listing *listing = data;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	gsize bytes;
	const void *content = g_bytes_get_data(made, &bytes);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(content, bytes, "a part of the answer", error);
	const struct saved_skipped *saved =
		image ? dtc_image_get_one(image, "summary.skipped", sizeof(*saved), error) : NULL;

	if (!saved || !dtc_findings_load(&findings, 1, image, error) ||
	    !dtc_summary_load(listing->summary, image, error))
		return false;
	const struct dtc_skipped skipped = { .began_before = saved->began_before,
					     .ended_after = saved->ended_after,
					     .not_traced = saved->not_traced,
					     .parts = saved->parts };
	add_skipped(&listing->skipped, &skipped);
	dtc_findings_move(listing->findings, findings);
	return true;
}

/* With others, if there are any who help. */
static bool list_all(struct listing *listing, GError **error)
{
	const struct dtc_owners *helped = dtc_engine_get_helped(listing->engine);
	guint count = dtc_requests_get_count(dtc_engine_get_requests(listing->engine));

	if (!helped)
		return add_some(listing, error);
	listing->part_requests = MAX(PART_REQUESTS, count / PARTS_MAX + 1);
	const struct dtc_owners_work work = { (count + listing->part_requests - 1) / listing->part_requests, make_part,
					      take_part, listing };
	return helped->help->share(helped->data, &work, error);
}

bool dtc_summary_add_all(DtcSummary *summary, const DtcEngine *engine, const struct dtc_watch *watch,
			 struct dtc_skipped *ret_skipped, DtcFindings *findings, GError **error)
{
	g_autoptr(DtcAllRequests) all = dtc_all_requests_new(engine, NULL, watch, error);

	if (!all)
		return false;
	struct listing listing = { .engine = engine, .all = all, .summary = summary, .findings = findings };
	struct rows rows = {
		.engine = engine,
		.of = { dtc_engine_get_histories(engine), dtc_engine_get_node_names(engine),
			dtc_engine_get_node_count(engine) },
		.lane_count = dtc_all_requests_get_lane_count(all),
	};
	rows.lanes = g_new0(struct lane, rows.lane_count);
	dtc_all_requests_set_rows(all, &(struct dtc_rows_maker){ make_row, free_tally, &rows });
	bool is_listed = list_all(&listing, error);
	free_lanes(&rows);
	if (!is_listed)
		return false;
	guint count = dtc_requests_get_count(dtc_engine_get_requests(engine)) - listing.skipped.parts;
	add_skipped_findings(&listing.skipped, count, findings);
	*ret_skipped = listing.skipped;
	return true;
}

DtcQuality *dtc_quality_of(const DtcEngine *engine, DtcClusterTime at)
{
	return dtc_quality_new(at, dtc_engine_get_node_names(engine), dtc_engine_get_clocks(engine),
			       dtc_engine_get_sync(engine), dtc_engine_get_matches(engine));
}
