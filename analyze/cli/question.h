/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was asked, found in the recordings: a span of a thread, or a request and the span that it took. */
#pragma once

#include "analyze/cli/load.h"
#include "analyze/path/busy.h"
#include "analyze/path/walk.h"
#include "analyze/report/model.h"

/* All zeros is a question about nothing; to be cleared after use. */
struct dtc_question {
	struct dtc_path_target target;
	/* of a request; NULL for a thread. Borrowed from the requests and exchanges. */
	const struct dtc_request *request;
	const struct dtc_exchange *exchange; /* the attempt that was answered last */
	struct dtc_place *place;	     /* owned */
	struct dtc_identity span_identity;   /* of a request that marks or spans name; source NULL: none. Borrowed. */
	/* for which requests threads worked, so that waiting for others is named; NULL: not to be named. Borrowed. */
	const DtcServing *serving;
	const DtcRequests *requests;
	guint index; /* of the request in requests */
};

void dtc_question_clear(struct dtc_question *question);

/*
 * For which requests the threads worked: of all requests (index G_MAXUINT), or of those that may have been in flight
 * together with one, and of that one. Caller owns.
 */
DtcServing *dtc_question_new_serving(const DtcLoad *load, const DtcRequests *requests, DtcLocator *locator,
				     guint index);

/*
 * The span of a request, and in findings what the reader should know about how it was placed. False with an error if no
 * kernel trace shows a thread that sent or answered it.
 */
bool dtc_question_set_request(struct dtc_question *question, const DtcLoad *load, const DtcRequests *requests,
			      DtcLocator *locator, guint index, DtcFindings *findings, GError **error);

/* Walks the path and makes the report. Caller owns both; ret_path may be NULL. */
DtcReport *dtc_question_answer(const struct dtc_question *question, const DtcLoad *load,
			       const struct dtc_path_options *options, DtcFindings *findings, DtcPath **ret_path,
			       GError **error);
