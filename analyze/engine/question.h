/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is asked, found in the recordings: a span of a thread, or a request and the span that it took; and the answer:
 * its critical path with the causality beneath, and what is worth saying beside it. Everything is typed; analyze/report
 * makes words of it (dtc_report_of).
 */
#pragma once

#include "analyze/engine/engine.h"
#include "analyze/engine/thread_spec.h"
#include "analyze/engine/usual.h"
#include "analyze/path/walk.h"
#include "analyze/request/serving.h"

/* All zeros is a question about nothing; to be cleared after use. The engine must outlive it. */
struct dtc_question {
	struct dtc_path_target target;
	/* of a request; NULL for a thread. Borrowed from the engine. */
	const struct dtc_request *request;
	const struct dtc_exchange *exchange; /* the attempt that was answered last */
	struct dtc_place *place;	     /* owned */
	struct dtc_identity span_identity;   /* of a request that marks or spans name; source NULL: none. Borrowed. */
	/* for which requests threads worked, so that waiting for others is named; NULL: not to be named. Borrowed. */
	const DtcServing *serving;
	DtcServing *own_serving; /* owned: the same, or NULL */
	bool is_client_hidden;	 /* the span is a server's, and what its client waited besides cannot be told */
	guint index;		 /* of the request in those of the engine */
	struct dtc_usual usual;	 /* of a request asked for by its id; count 0: not known. Owned. */
	GArray *lineage; /* of a thread: struct dtc_lineage_part, it and its parents in the span; or NULL. Owned. */
	bool is_thread;	 /* relative times count from the begin of its node's trace */
};

void dtc_question_clear(struct dtc_question *question);

/*
 * The span of the request with that id (dtc_request_find), of an engine that needs_exchanges; and in findings what the
 * reader should know about how it was placed. IMPOSSIBLE if there are no captures, or no kernel trace shows a thread
 * that sent or answered it.
 */
bool dtc_question_set_id(struct dtc_question *question, const DtcEngine *engine, const char *id, DtcFindings *findings,
			 GError **error);
/* The same by its index; the question borrows serving, which may be NULL. */
bool dtc_question_set_request(struct dtc_question *question, const DtcEngine *engine, DtcLocator *locator,
			      const DtcServing *serving, guint index, DtcFindings *findings, GError **error);
/* An exchange without an id that a server asked others for a request: it is a part of that one. Of a set request. */
bool dtc_question_is_part(const struct dtc_question *question);
/* A thread from one time to another (as of dtc_thread_spec_find). IMPOSSIBLE if its node has no kernel trace. */
bool dtc_question_set_thread(struct dtc_question *question, const DtcEngine *engine, const struct dtc_thread_spec *spec,
			     const char *from, const char *to, DtcFindings *findings, GError **error);

/*
 * For which requests the threads worked: of all requests (index G_MAXUINT), or of those that may have been in flight
 * together with one, and of that one. Caller owns.
 */
DtcServing *dtc_question_new_serving(const DtcEngine *engine, DtcLocator *locator, guint index);

/*
 * Walks the path, which adds up to the span to the nanosecond, and adds to findings. NULL with an error if the thread
 * did not exist in the span. Caller owns.
 */
DtcPath *dtc_question_answer(const struct dtc_question *question, const DtcEngine *engine,
			     const struct dtc_path_options *options, DtcFindings *findings, GError **error);
/* The same for a row of a list, which shows no findings: those that make an answer incomplete, and no causality. */
DtcPath *dtc_question_answer_row(const struct dtc_question *question, const DtcEngine *engine, DtcFindings *findings,
				 GError **error);
