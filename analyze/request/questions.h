/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions that a thread has open, by the files on which they came, and which requests have asked somebody who has
 * not answered yet. A proxy has thousands of both: who waits longest and has asked nobody is found without looking at
 * the others.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcQuestions DtcQuestions;

/* stranger: the number of a request that is not known; many may have it. */
DtcQuestions *dtc_questions_new(guint stranger);
void dtc_questions_free(DtcQuestions *questions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcQuestions, dtc_questions_free)

/* A question was read from a file. What is open there already stays so since then, and may turn out another's. */
void dtc_questions_open(DtcQuestions *questions, uint32_t file, guint request, int64_t asked_ns);
void dtc_questions_close(DtcQuestions *questions, uint32_t file);
bool dtc_questions_is_open(const DtcQuestions *questions, uint32_t file);
guint dtc_questions_get_count(const DtcQuestions *questions);
/* On which file a question is open, if there is exactly one. */
bool dtc_questions_get_only(const DtcQuestions *questions, uint32_t *ret_file);

/* A request asked on a file; until the answer comes. */
void dtc_questions_ask(DtcQuestions *questions, uint32_t file, guint request);
void dtc_questions_end_asking(DtcQuestions *questions, uint32_t file);

/*
 * The request whose question is open longest, of those that have asked nobody and that may do so, and the next one; the
 * stranger if there is none, or if a question is open of which nobody knows whose it is.
 */
guint dtc_questions_find_longest(const DtcQuestions *questions, bool (*may)(gconstpointer data, guint request),
				 gconstpointer data, guint *ret_next);
/* A question of the request is open, and it has asked nobody. */
bool dtc_questions_waits(const DtcQuestions *questions, guint request);
