/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/questions.h"

struct question {
	guint request;
	uint32_t file;
	int64_t asked_ns;
	GSequenceIter *place;  /* among those that wait; NULL: its request has asked somebody */
	struct question *next; /* of the same request */
};

struct asker {
	guint asked_count;
	struct question *first;
};

struct DtcQuestions {
	guint stranger;
	guint stranger_count; /* open, of requests that are not known */
	GHashTable *open;     /* file -> struct question */
	GHashTable *asked;    /* file -> request */
	GHashTable *askers;   /* request -> struct asker */
	GSequence *waiting;   /* struct question that has asked nobody, by time */
};

DtcQuestions *dtc_questions_new(guint stranger)
{
	DtcQuestions *questions = g_new0(DtcQuestions, 1);

	questions->stranger = stranger;
	questions->open = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	questions->asked = g_hash_table_new(g_direct_hash, g_direct_equal);
	questions->askers = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	questions->waiting = g_sequence_new(NULL);
	return questions;
}

void dtc_questions_free(DtcQuestions *questions)
{
	if (!questions)
		return;
	g_sequence_free(questions->waiting);
	g_hash_table_unref(questions->askers);
	g_hash_table_unref(questions->asked);
	g_hash_table_unref(questions->open);
	g_free(questions);
}

static int compare_questions(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct question *x = a, *y = b;

	(void)data;
	if (x->asked_ns != y->asked_ns)
		return x->asked_ns < y->asked_ns ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static struct asker *get_asker(DtcQuestions *questions, guint request)
{
	struct asker *asker = g_hash_table_lookup(questions->askers, GUINT_TO_POINTER(request));

	if (!asker) {
		asker = g_new0(struct asker, 1);
		g_hash_table_insert(questions->askers, GUINT_TO_POINTER(request), asker);
	}
	return asker;
}

static void forget_asker(DtcQuestions *questions, guint request, const struct asker *asker)
{
	if (!asker->asked_count && !asker->first)
		g_hash_table_remove(questions->askers, GUINT_TO_POINTER(request));
}

static void set_waiting(DtcQuestions *questions, struct question *question, bool is_waiting)
{
	if (is_waiting)
		question->place = g_sequence_insert_sorted(questions->waiting, question, compare_questions, NULL);
	else
		g_sequence_remove(g_steal_pointer(&question->place));
}

static void add_to_asker(DtcQuestions *questions, struct question *question)
{
	if (question->request == questions->stranger) {
		questions->stranger_count++;
		return;
	}
	struct asker *asker = get_asker(questions, question->request);
	question->next = asker->first;
	asker->first = question;
	if (!asker->asked_count)
		set_waiting(questions, question, true);
}

static void remove_from_asker(DtcQuestions *questions, struct question *question)
{
	if (question->request == questions->stranger) {
		questions->stranger_count--;
		return;
	}
	struct asker *asker = get_asker(questions, question->request);
	struct question **at = &asker->first;
	while (*at != question)
		at = &(*at)->next;
	*at = question->next;
	if (question->place)
		set_waiting(questions, question, false);
	forget_asker(questions, question->request, asker);
}

void dtc_questions_open(DtcQuestions *questions, uint32_t file, guint request, int64_t asked_ns)
{
	struct question *question = g_hash_table_lookup(questions->open, GUINT_TO_POINTER(file));

	if (question && question->request == request)
		return;
	if (question) {
		remove_from_asker(questions, question);
	} else {
		question = g_new0(struct question, 1);
		question->file = file;
		question->asked_ns = asked_ns;
		g_hash_table_insert(questions->open, GUINT_TO_POINTER(file), question);
	}
	question->request = request;
	add_to_asker(questions, question);
}

void dtc_questions_close(DtcQuestions *questions, uint32_t file)
{
	struct question *question = g_hash_table_lookup(questions->open, GUINT_TO_POINTER(file));

	if (!question)
		return;
	remove_from_asker(questions, question);
	g_hash_table_remove(questions->open, GUINT_TO_POINTER(file));
}

bool dtc_questions_is_open(const DtcQuestions *questions, uint32_t file)
{
	return g_hash_table_contains(questions->open, GUINT_TO_POINTER(file));
}

guint dtc_questions_get_count(const DtcQuestions *questions)
{
	return g_hash_table_size(questions->open);
}

bool dtc_questions_get_only(const DtcQuestions *questions, uint32_t *ret_file)
{
	GHashTableIter iter;
	gpointer question;

	if (g_hash_table_size(questions->open) != 1)
		return false;
	g_hash_table_iter_init(&iter, questions->open);
	g_hash_table_iter_next(&iter, NULL, &question);
	*ret_file = ((const struct question *)question)->file;
	return true;
}

void dtc_questions_ask(DtcQuestions *questions, uint32_t file, guint request)
{
	gpointer before;

	if (g_hash_table_lookup_extended(questions->asked, GUINT_TO_POINTER(file), NULL, &before)) {
		if (GPOINTER_TO_UINT(before) == request)
			return;
		dtc_questions_end_asking(questions, file);
	}
	g_hash_table_insert(questions->asked, GUINT_TO_POINTER(file), GUINT_TO_POINTER(request));
	struct asker *asker = get_asker(questions, request);
	if (asker->asked_count++)
		return;
	for (struct question *question = asker->first; question; question = question->next)
		set_waiting(questions, question, false);
}

void dtc_questions_end_asking(DtcQuestions *questions, uint32_t file)
{
	gpointer request;

	if (!g_hash_table_steal_extended(questions->asked, GUINT_TO_POINTER(file), NULL, &request))
		return;
	struct asker *asker = get_asker(questions, GPOINTER_TO_UINT(request));
	if (--asker->asked_count)
		return;
	for (struct question *question = asker->first; question; question = question->next)
		set_waiting(questions, question, true);
	forget_asker(questions, GPOINTER_TO_UINT(request), asker);
}

guint dtc_questions_find_longest(const DtcQuestions *questions, bool (*may)(gconstpointer data, guint request),
				 gconstpointer data, guint *ret_next)
{
	guint longest = questions->stranger;

	*ret_next = questions->stranger;
	if (questions->stranger_count)
		return longest;
	for (GSequenceIter *i = g_sequence_get_begin_iter(questions->waiting); !g_sequence_iter_is_end(i);
	     i = g_sequence_iter_next(i)) {
		const struct question *question = g_sequence_get(i);
		if (question->request == longest || !may(data, question->request))
			continue;
		if (longest != questions->stranger) {
			*ret_next = question->request;
			break;
		}
		longest = question->request;
	}
	return longest;
}

bool dtc_questions_waits(const DtcQuestions *questions, guint request)
{
	const struct asker *asker = g_hash_table_lookup(questions->askers, GUINT_TO_POINTER(request));

	return asker && asker->first && !asker->asked_count;
}
