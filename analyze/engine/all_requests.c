/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/all_requests.h"

#include "analyze/engine/owners.h"
#include "analyze/request/serving_image.h"
#include "collect/bundle/threads.h"
#include "dtrace-chain/error.h"

/* Lanes for each processor, so that one with slow requests holds up nobody. */
#define LANES_EACH 2
/* Threads of a helper for each processor: until the records that it looks at have come, it waits for each of them. */
#define WAITING_THREADS 4
/* Rows that a lane makes at a time. Of whole paths, which take more memory, each lane has one. */
#define ROWS_EACH 8

enum outcome { ANSWERED, PART, BEGAN_BEFORE, ENDED_AFTER, NOT_TRACED };

/* A request that was worked out. */
struct slot {
	enum outcome outcome;
	struct dtc_question question;
	DtcPath *path;
	DtcFindings *findings;
	gpointer made;
};

struct DtcAllRequests {
	const DtcEngine *engine;
	const struct dtc_watch *watch;
	const struct dtc_path_options *options;
	struct dtc_rows_maker maker; /* make NULL: whole paths are given out */
	DtcLocator *locator;
	DtcServing *serving;
	gint64 begin_us;
	guint next, limit;
	guint first, end; /* requests that are in slots */
	guint thread_count, lane_count, lane_size;
	struct slot *slots; /* lane_count * lane_size */
	struct dtc_skipped skipped;
	GError *error;		  /* of the watcher */
	struct dtc_answer answer; /* what was given last */
};

/* For whom each thread worked when. A helper is given it by the process that it helps. */
static bool find_serving(DtcAllRequests *all, GError **error)
{
	const struct dtc_owners *helped = dtc_engine_get_helped(all->engine);

	if (helped && helped->help->is_helper) {
		g_autoptr(DtcImage) image = helped->help->wait(helped->data, DTC_OWNERS_SERVING, error);
		all->serving = image ? dtc_serving_load(dtc_engine_get_links(all->engine), image, error) : NULL;
		return all->serving != NULL;
	}
	dtc_locator_keep(all->locator);
	all->serving = dtc_question_new_serving(all->engine, all->locator, G_MAXUINT);
	/* lanes ask it: the places of inner requests, which serve nobody, were not looked for yet */
	dtc_locator_settle(all->locator);
	g_autoptr(GBytes) found = helped ? dtc_serving_to_bytes(all->serving) : NULL;
	if (found)
		helped->help->give(helped->data, DTC_OWNERS_SERVING, found);
	return true;
}

DtcAllRequests *dtc_all_requests_new(const DtcEngine *engine, const struct dtc_path_options *options,
				     const struct dtc_watch *watch, GError **error)
{
	static const struct dtc_path_options path_only = { .path_only = true };

	if (dtc_engine_get_capture_count(engine) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the bundle has no packet capture, and only captures tell its requests\n"
			    "record NODE.pcap beside the traces");
		return NULL;
	}
	const DtcRequests *requests = dtc_engine_get_requests(engine);
	guint count = dtc_requests_get_count(requests);
	if (dtc_exchanges_get_count(dtc_engine_get_exchanges(engine)) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "no readable HTTP in the captures (TLS is not readable)\n"
			    "single requests are found by `dtrace-chain --request-id ID` with --mark-regex or --spans, "
			    "or by --connection");
		return NULL;
	}
	const struct dtc_progress progress = { .phase = DTC_PHASE_PLACE, .all = count };
	if (!dtc_watch_tell(watch, &progress, error))
		return NULL;
	DtcAllRequests *all = g_new0(DtcAllRequests, 1);
	all->engine = engine;
	all->watch = watch;
	all->options = options ? options : &path_only;
	all->locator = dtc_engine_new_locator(engine, requests);
	all->limit = count;
	all->begin_us = g_get_monotonic_time();
	const struct dtc_owners *helped = dtc_engine_get_helped(engine);
	all->thread_count = (helped && helped->help->is_helper ? WAITING_THREADS : 1) * g_get_num_processors();
	all->lane_count = all->thread_count > 1 ? LANES_EACH * all->thread_count : 1;
	all->lane_size = 1;
	all->slots = g_new0(struct slot, all->lane_count);
	if (find_serving(all, error))
		return all;
	dtc_all_requests_free(all);
	return NULL;
}

static void slot_clear(const DtcAllRequests *all, struct slot *slot)
{
	dtc_question_clear(&slot->question);
	g_clear_pointer(&slot->path, dtc_path_free);
	g_clear_pointer(&slot->findings, dtc_findings_free);
	if (slot->made)
		g_clear_pointer(&slot->made, all->maker.free_made);
}

guint dtc_all_requests_get_lane_count(const DtcAllRequests *all)
{
	return all->lane_count;
}

void dtc_all_requests_set_rows(DtcAllRequests *all, const struct dtc_rows_maker *maker)
{
	all->maker = *maker;
	all->lane_size = ROWS_EACH;
	g_free(all->slots);
	all->slots = g_new0(struct slot, all->lane_count * all->lane_size);
}

void dtc_all_requests_set_range(DtcAllRequests *all, guint first, guint end)
{
	all->next = all->first = all->end = first;
	all->limit = end;
	all->skipped = (struct dtc_skipped){ 0 };
}

void dtc_all_requests_free(DtcAllRequests *all)
{
	if (!all)
		return;
	for (guint i = 0; i < all->lane_count * all->lane_size; i++)
		slot_clear(all, &all->slots[i]);
	g_free(all->slots);
	dtc_serving_free(all->serving);
	dtc_locator_free(all->locator);
	g_clear_error(&all->error);
	g_free(all);
}

static enum outcome answer(const DtcAllRequests *all, struct slot *slot, guint index)
{
	slot->findings = dtc_findings_new();
	bool is_placed = dtc_question_set_request(&slot->question, all->engine, all->locator, all->serving, index,
						  slot->findings, NULL);
	guint outside = slot->question.place->outside;
	/* what lies outside cannot be followed: by its packets it is a part */
	if (outside ? slot->question.request->is_inner : is_placed && dtc_question_is_part(&slot->question))
		return PART;
	if (is_placed && !outside)
		slot->path =
			all->maker.make
				? dtc_question_answer_row(&slot->question, all->engine, slot->findings, NULL)
				: dtc_question_answer(&slot->question, all->engine, all->options, slot->findings, NULL);
	if (slot->path)
		return ANSWERED;
	if (outside & DTC_OUTSIDE_BEGIN)
		return BEGAN_BEFORE;
	return outside ? ENDED_AFTER : NOT_TRACED;
}

static void make_row(const DtcAllRequests *all, struct slot *slot, guint lane)
{
	const struct dtc_answer answer = { &slot->question, slot->path, slot->findings, NULL };

	slot->made = all->maker.make(all->maker.data, lane, &answer);
	dtc_question_clear(&slot->question);
	g_clear_pointer(&slot->path, dtc_path_free);
}

static void answer_lane(gpointer data, guint lane)
{
	const DtcAllRequests *all = data;

	for (guint i = lane * all->lane_size; i < MIN((lane + 1) * all->lane_size, all->end - all->first); i++) {
		struct slot *slot = &all->slots[i];
		slot_clear(all, slot);
		slot->outcome = answer(all, slot, all->first + i);
		if (slot->outcome == ANSWERED && all->maker.make)
			make_row(all, slot, lane);
	}
}

/* The slot of the next request; works out some more if it is not yet. */
static const struct slot *take_slot(DtcAllRequests *all)
{
	if (all->next == all->end) {
		all->first = all->end;
		all->end = all->first + MIN(all->limit - all->first, all->lane_count * all->lane_size);
		guint lanes = (all->end - all->first + all->lane_size - 1) / all->lane_size;
		dtc_threads_run_on(all->thread_count, lanes, answer_lane, all);
	}
	return &all->slots[all->next++ - all->first];
}

/* False if the request has no answer; then it is counted. */
static bool note_outcome(DtcAllRequests *all, enum outcome outcome)
{
	switch (outcome) {
	case ANSWERED:
		return true;
	case PART:
		all->skipped.parts++;
		break;
	case BEGAN_BEFORE:
		all->skipped.began_before++;
		break;
	case ENDED_AFTER:
		all->skipped.ended_after++;
		break;
	case NOT_TRACED:
		all->skipped.not_traced++;
		break;
	}
	return false;
}

const struct dtc_answer *dtc_all_requests_next(DtcAllRequests *all)
{
	guint count = dtc_requests_get_count(dtc_engine_get_requests(all->engine));

	while (!all->error && all->next < all->limit) {
		const struct dtc_progress progress = {
			.phase = DTC_PHASE_EXPLAIN,
			.done = all->next,
			.all = count,
			.seconds = (double)(g_get_monotonic_time() - all->begin_us) / 1e6,
		};
		if (!dtc_watch_tell(all->watch, &progress, &all->error))
			break;
		const struct slot *slot = take_slot(all);
		if (!note_outcome(all, slot->outcome))
			continue;
		bool is_made = all->maker.make != NULL;
		all->answer =
			(struct dtc_answer){ is_made ? NULL : &slot->question, slot->path, slot->findings, slot->made };
		return &all->answer;
	}
	return NULL;
}

bool dtc_all_requests_finish(const DtcAllRequests *all, struct dtc_skipped *ret_skipped, GError **error)
{
	if (all->error) {
		g_propagate_error(error, g_error_copy(all->error));
		return false;
	}
	*ret_skipped = all->skipped;
	return true;
}
