/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of whom and when edges are listed: of a span, a thread, processes; or of all threads that served a request. */
#pragma once

#include "analyze/engine/edge_list.h"
#include "analyze/engine/question.h"

/* All zeros is a question about nothing; to be cleared after use. The engine must outlive it. */
struct dtc_edge_question {
	struct dtc_edge_part *parts; /* by node; owned, with their threads */
	int64_t *origins_ns;	     /* by node: cluster time that relative times count from; owned */
	guint node_count;	     /* of both */
	DtcClusterTime begin;	     /* of the span that was asked for, cut to what was recorded */
	DtcClusterTime end;
	const DtcServing *serving;   /* NULL: the bundle has no requests */
	DtcServing *own_serving;     /* owned: the same, or NULL */
	struct dtc_question request; /* its request is NULL: of a subject */
};

/* Errors as of dtc_selection_find. */
bool dtc_edge_question_set_subject(struct dtc_edge_question *question, const DtcEngine *engine,
				   const struct dtc_subject *subject, DtcFindings *findings, GError **error);
/* The threads that served the request, and the one whose time it is, from its begin to its end. Errors as of
 * dtc_question_set_id. */
bool dtc_edge_question_set_request(struct dtc_edge_question *question, const DtcEngine *engine, const char *id,
				   DtcFindings *findings, GError **error);
void dtc_edge_question_clear(struct dtc_edge_question *question);
