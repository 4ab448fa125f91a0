/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are named otherwise than by a captured header: by marks, by spans of tracing, by connection. */
#pragma once

#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/question.h"
#include "analyze/request/id_spans.h"
#include "analyze/request/turn.h"

struct dtc_connection_spec {
	struct dtc_turn_ends ends;
	struct dtc_moment at;
};

/*
 * SRC:PORT-DST:PORT@TIME, IPv6 addresses in brackets, TIME as for --from: "10.0.0.1:51700-10.0.0.2:80@+1.5s". USAGE
 * with the form if it is not that.
 */
bool dtc_connection_spec_parse(const char *text, struct dtc_connection_spec *ret_spec, GError **error);
bool dtc_question_set_connection(struct dtc_question *question, const DtcLoad *load,
				 const struct dtc_connection_spec *spec, DtcFindings *findings, GError **error);

/* The spans of both sources, either of which may be NULL. Caller owns. */
DtcIdSpans *dtc_id_spans_load(const DtcLoad *load, const char *mark_regex, const char *path, DtcFindings *findings,
			      GError **error);
/* The span with that id is the question. */
void dtc_question_set_span(struct dtc_question *question, const DtcLoad *load, const struct dtc_id_span *span,
			   DtcFindings *findings);
