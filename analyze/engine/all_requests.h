/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All requests of a bundle, each placed and walked: given out one after the other, and worked out some ahead, by as
 * many threads as there are processors. What is given out does not depend on how many these are.
 */
#pragma once

#include "analyze/engine/question.h"

/* Requests in the captures that have no answer, by why. */
struct dtc_skipped {
	guint began_before; /* the kernel trace of the node whose time it is; they may have ended after it, too */
	guint ended_after;
	guint not_traced; /* no kernel trace shows a thread of theirs */
	guint parts;	  /* exchanges without an id that a server asked for one of the requests: not requests at all */
};

struct dtc_answer {
	const struct dtc_question *question;
	const DtcPath *path; /* with as much causality as was asked for */
	const DtcFindings *findings;
	gpointer made; /* by make of struct dtc_rows_maker, which had question and path: they are NULL then */
};

/*
 * What becomes of each answer in the thread that found it. A lane has one thread at a time: what belongs to a lane is
 * shared by its answers.
 */
struct dtc_rows_maker {
	/* Caller owns what it gives. */
	gpointer (*make)(gpointer data, guint lane, const struct dtc_answer *answer);
	GDestroyNotify free_made;
	gpointer data;
};

typedef struct DtcAllRequests DtcAllRequests;

/*
 * Of an engine that needs_exchanges. Nothing was read again; the work is done in dtc_all_requests_next. NULL with an
 * error if the bundle has no captures or no requests, or the watcher (or NULL) stops it. options: how each is
 * walked; NULL: the path alone. engine, watch and options must outlive it. Caller owns.
 */
DtcAllRequests *dtc_all_requests_new(const DtcEngine *engine, const struct dtc_path_options *options,
				     const struct dtc_watch *watch, GError **error);
/* How many lanes there are: it depends on the machine. */
guint dtc_all_requests_get_lane_count(const DtcAllRequests *all);
/*
 * Before the first: of each only what a row of a list shows is looked for (dtc_question_answer_row). Copies maker.
 */
void dtc_all_requests_set_rows(DtcAllRequests *all, const struct dtc_rows_maker *maker);
/* Only those from first up to end are given out, and counted as skipped, from now on. */
void dtc_all_requests_set_range(DtcAllRequests *all, guint first, guint end);
void dtc_all_requests_free(DtcAllRequests *all);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcAllRequests, dtc_all_requests_free)

/*
 * The next request, in the order of their first packets; those that are not wholly inside of the trace of their node
 * are left out, since their durations are not known. Borrowed until the next call. NULL after the last, or if the
 * watcher stops it.
 */
const struct dtc_answer *dtc_all_requests_next(DtcAllRequests *all);
/* After NULL; false with DTC_ERROR_CANCELLED if the watcher stopped it. */
bool dtc_all_requests_finish(const DtcAllRequests *all, struct dtc_skipped *ret_skipped, GError **error);
