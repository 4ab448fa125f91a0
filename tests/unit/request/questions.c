/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose questions are open in a thread, and who of them waits longest. */
#include "analyze/request/questions.h"

#define STRANGER (G_MAXUINT - 1)
#define FILE_OF(request) (1000u + (request))

/* What may be: all but one; and how often it was asked. */
struct look {
	guint forbidden;
	guint count;
};

static bool may(gconstpointer data, guint request)
{
	struct look *look = *(struct look *const *)data;
	look->count++;
	return request != look->forbidden;
}

/* How many were looked at: the first, and who comes next. */
static guint find(const DtcQuestions *questions, guint forbidden, guint *ret_count)
{
	struct look look = { forbidden, 0 }, *handle = &look;
	guint next, found = dtc_questions_find_longest(questions, may, &handle, &next);
	if (ret_count)
		*ret_count = look.count;
	return found;
}

static void test_longest(void)
{
	g_autoptr(DtcQuestions) questions = dtc_questions_new(STRANGER);
	uint32_t only = 77;
	g_assert_cmpuint(find(questions, 0, NULL), ==, STRANGER);
	dtc_questions_open(questions, FILE_OF(2), 2, 20);
	g_assert_true(dtc_questions_get_only(questions, &only));
	g_assert_cmpuint(only, ==, FILE_OF(2));
	dtc_questions_open(questions, FILE_OF(1), 1, 10);
	g_assert_false(dtc_questions_get_only(questions, &only));
	dtc_questions_open(questions, FILE_OF(2), 2, 5); /* more of the same question */
	g_assert_cmpuint(find(questions, 0, NULL), ==, 1);
	g_assert_cmpuint(find(questions, 1, NULL), ==, 2);
	g_assert_true(dtc_questions_waits(questions, 1));
	g_assert_false(dtc_questions_waits(questions, 3));

	/* it has asked twice, and both must be answered */
	dtc_questions_ask(questions, 5, 1);
	dtc_questions_ask(questions, 6, 1);
	dtc_questions_ask(questions, 6, 1);
	g_assert_false(dtc_questions_waits(questions, 1));
	g_assert_cmpuint(find(questions, 0, NULL), ==, 2);
	dtc_questions_end_asking(questions, 5);
	g_assert_cmpuint(find(questions, 0, NULL), ==, 2);
	dtc_questions_end_asking(questions, 6);
	dtc_questions_end_asking(questions, 6);
	g_assert_cmpuint(find(questions, 0, NULL), ==, 1);

	/* the connection is given to the other one */
	dtc_questions_ask(questions, 5, 1);
	dtc_questions_ask(questions, 5, 2);
	g_assert_cmpuint(find(questions, 0, NULL), ==, 1);
	dtc_questions_close(questions, FILE_OF(1));
	dtc_questions_close(questions, FILE_OF(1));
	g_assert_cmpuint(find(questions, 0, NULL), ==, STRANGER);
	g_assert_cmpuint(dtc_questions_get_count(questions), ==, 1);
}

static void test_stranger(void)
{
	g_autoptr(DtcQuestions) questions = dtc_questions_new(STRANGER);
	dtc_questions_open(questions, FILE_OF(1), 1, 10);
	dtc_questions_open(questions, FILE_OF(2), STRANGER, 20);
	g_assert_cmpuint(find(questions, 0, NULL), ==, STRANGER);
	dtc_questions_open(questions, FILE_OF(2), 2, 30); /* its next bytes tell */
	g_assert_true(dtc_questions_is_open(questions, FILE_OF(2)));
	g_assert_cmpuint(find(questions, 0, NULL), ==, 1);
	g_assert_cmpuint(find(questions, 1, NULL), ==, 2);
}

/* Of a proxy's thousands nobody is looked at who has asked already. */
static void test_many(void)
{
	enum { COUNT = 20000 };
	g_autoptr(DtcQuestions) questions = dtc_questions_new(STRANGER);
	guint looked = 0;
	for (guint i = 0; i < COUNT; i++) {
		dtc_questions_open(questions, FILE_OF(i), i, i);
		g_assert_cmpuint(find(questions, STRANGER, &looked), ==, i);
		g_assert_cmpuint(looked, ==, 1);
		dtc_questions_ask(questions, FILE_OF(COUNT + i), i);
	}
	for (guint i = 0; i < COUNT; i += 3)
		dtc_questions_end_asking(questions, FILE_OF(COUNT + i));
	for (guint i = 0; i < COUNT; i += 3) {
		g_assert_cmpuint(find(questions, STRANGER, &looked), ==, i);
		g_assert_cmpuint(looked, <=, 2);
		dtc_questions_close(questions, FILE_OF(i));
	}
	g_assert_cmpuint(find(questions, STRANGER, NULL), ==, STRANGER);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/questions/longest", test_longest);
	g_test_add_func("/questions/stranger", test_stranger);
	g_test_add_func("/questions/many", test_many);
	return g_test_run();
}
