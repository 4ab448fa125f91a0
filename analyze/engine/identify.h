/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are named otherwise than by a captured header: by marks, by spans of tracing, by connection. */
#pragma once

#include "analyze/engine/engine.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/question.h"
#include "analyze/request/id_spans.h"
#include "analyze/request/turn.h"

struct dtc_connection_spec {
	struct dtc_turn_ends ends;
	struct dtc_moment at;
	const char *at_text; /* borrowed from what was parsed */
};

/*
 * SRC:PORT-DST:PORT@TIME, IPv6 addresses in brackets, TIME as for --from: "10.0.0.1:51700-10.0.0.2:80@+1.5s". USAGE
 * with the form if it is not that.
 */
bool dtc_connection_spec_parse(const char *text, struct dtc_connection_spec *ret_spec, GError **error);
bool dtc_question_set_connection(struct dtc_question *question, const DtcEngine *engine,
				 const struct dtc_connection_spec *spec, DtcFindings *findings, GError **error);

/* The spans of both sources, either of which may be NULL. engine must outlive them. Caller owns. */
DtcIdSpans *dtc_id_spans_load(const DtcEngine *engine, const char *mark_regex, const char *path, DtcFindings *findings,
			      GError **error);
/*
 * The span with that id is the question, which borrows from spans; or, if none has it, the request that has it in a
 * captured header: what somebody pointed to comes first.
 */
bool dtc_question_set_span(struct dtc_question *question, const DtcEngine *engine, const DtcIdSpans *spans,
			   const char *id, DtcFindings *findings, GError **error);
