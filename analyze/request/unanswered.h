/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions that a process has read on a connection and not answered yet, whichever of its threads did either: a
 * runtime that schedules by itself (Go, Erlang) reads with one thread and answers with another, and a connection may
 * carry the questions of many.
 */
#pragma once

#include "analyze/edge/links.h"

typedef struct DtcUnanswered DtcUnanswered;

/* links is borrowed and must outlive it. Caller owns. */
DtcUnanswered *dtc_unanswered_new(const DtcLinks *links);
void dtc_unanswered_free(DtcUnanswered *unanswered);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcUnanswered, dtc_unanswered_free)

/* A call read a request's question, or the begin of it. */
void dtc_unanswered_add(DtcUnanswered *unanswered, guint node, uint32_t read, guint request);
/* It did not: that was a mistake. */
void dtc_unanswered_remove(DtcUnanswered *unanswered, guint node, uint32_t read, guint request);
/* A write answered a request; what was said of that write before counts no more. */
void dtc_unanswered_answer(DtcUnanswered *unanswered, guint node, uint32_t write, guint request);
/* How many writes are known to answer somebody. */
guint dtc_unanswered_count_answers(const DtcUnanswered *unanswered);
/*
 * Whether a request's question was read on the connection of a write before that, and all that was written there in
 * between is known to have been for others: what nobody knows may have been its answer.
 */
bool dtc_unanswered_has(const DtcUnanswered *unanswered, guint node, const struct dtc_call *write, guint request);
/* Whether nobody else is known to have asked on a connection who may still wait, of those that did so last. */
bool dtc_unanswered_is_only(const DtcUnanswered *unanswered, guint node, uint32_t file, guint request,
			    bool (*may_wait)(gconstpointer data, guint other), gconstpointer data);
