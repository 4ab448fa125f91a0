/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/rows.h"
#include "analyze/report/halves.h"
#include "analyze/report/words.h"

#define STEPS_MAX 60

static const char *const tiers[] = { "db@a", "web@b" };
static const char *const details[] = { "futex(0x10)", "read(:80)", "read(:81)", "by b (tid 2)", "write(log)", NULL };

struct story {
	guint count;
	struct dtc_report_step steps[STEPS_MAX];
	guint asked;
	bool has_digests; /* of a detail its first letter, but of a write unknown */
};

static const char *get_detail(gpointer data, guint step)
{
	struct story *story = data;

	g_assert_cmpuint(step, <, story->count);
	story->asked++;
	return story->steps[step].detail;
}

static guint get_digest(gpointer data, guint step)
{
	const struct story *story = data;

	g_assert_cmpuint(step, <, story->count);
	const char *detail = story->steps[step].detail;
	if (!story->has_digests || (detail && *detail == 'w'))
		return DTC_DIGEST_UNKNOWN;
	return detail ? (guint)*detail : DTC_DIGEST_NO_WORDS;
}

static void add_step(struct story *story, const char *tier, enum dtc_cause cause, const char *detail, int64_t ns)
{
	int64_t begin_ns = story->count ? story->steps[story->count - 1].end_ns : 1000;

	story->steps[story->count++] = (struct dtc_report_step){ .who = { .tier = tier, .node = "n", .process = "p" },
								 .detail = detail,
								 .cause = cause,
								 .begin_ns = begin_ns,
								 .end_ns = begin_ns + ns };
}

/* By the steps of each row, without their details. */
static void set_halves(struct story *story, GArray *rows)
{
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(struct dtc_half_step));
	const struct dtc_step_words words = { story, get_digest, get_detail };
	DtcHalves *halves = dtc_halves_new();

	for (guint i = 0; i < rows->len; i++) {
		struct dtc_report_row *row = &g_array_index(rows, struct dtc_report_row, i);
		g_array_set_size(steps, 0);
		for (guint k = 0; k < story->count; k++) {
			const struct dtc_report_step *step = &story->steps[k];
			const struct dtc_half_step of = { .ns = step->end_ns - step->begin_ns, .step = k };
			if (step->who.tier == row->tier && step->cause == row->cause)
				g_array_append_val(steps, of);
		}
		row->detail = dtc_halves_find(halves, steps, row->ns, &words);
	}
	dtc_halves_free(halves);
}

static GArray *list(struct story *story, bool with_details)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_row));
	DtcRowSums *sums = dtc_row_sums_new();

	for (guint i = 0; i < story->count; i++) {
		struct dtc_report_step step = story->steps[i];
		if (!with_details)
			step.detail = NULL;
		dtc_row_sums_add(sums, &step);
	}
	dtc_row_sums_list(sums, rows);
	if (!with_details)
		set_halves(story, rows);
	dtc_row_sums_free(sums);
	return rows;
}

/* The same rows, and the details of those that are half of their row. */
static void check_same(struct story *story)
{
	g_autoptr(GArray) whole = list(story, true);
	g_autoptr(GArray) halves = list(story, false);

	g_assert_cmpuint(halves->len, ==, whole->len);
	for (guint i = 0; i < whole->len; i++) {
		const struct dtc_report_row *a = &g_array_index(whole, struct dtc_report_row, i);
		const struct dtc_report_row *b = &g_array_index(halves, struct dtc_report_row, i);
		bool is_half = a->detail && 2 * a->detail_ns >= a->ns;
		g_assert_true(a->tier == b->tier);
		g_assert_cmpint(a->cause, ==, b->cause);
		g_assert_cmpint(a->ns, ==, b->ns);
		g_assert_cmpuint(a->step_count, ==, b->step_count);
		g_assert_cmpstr(is_half ? a->detail : NULL, ==, b->detail);
	}
}

/* Short ones are as long as others now and then, so that there are halves, and none at all. */
static void test_any(void)
{
	for (guint round = 0; round < 20000; round++) {
		struct story story = { .has_digests = round % 2 };
		gint longest = g_test_rand_int_range(1, 12);
		guint count = (guint)g_test_rand_int_range(0, STEPS_MAX);
		while (story.count < count)
			add_step(&story, tiers[g_test_rand_int_range(0, G_N_ELEMENTS(tiers))],
				 g_test_rand_bit() ? DTC_CAUSE_LOCK : DTC_CAUSE_RUNQUEUE,
				 details[g_test_rand_int_range(0, G_N_ELEMENTS(details))],
				 g_test_rand_int_range(0, longest));
		check_same(&story);
	}
}

static void test_two_halves(void)
{
	struct story story = { 0 };

	add_step(&story, tiers[0], DTC_CAUSE_LOCK, "b", 5);
	add_step(&story, tiers[0], DTC_CAUSE_LOCK, "a", 5);
	check_same(&story);
	g_autoptr(GArray) rows = list(&story, false);
	g_assert_cmpstr(g_array_index(rows, struct dtc_report_row, 0).detail, ==, "a");
}

/* What one long step says is more than all others together could. */
static void test_no_more_than_it_takes(void)
{
	struct story story = { 0 };

	for (guint i = 0; i < STEPS_MAX / 2; i++)
		add_step(&story, tiers[0], DTC_CAUSE_LOCK, details[i % 4], 10);
	add_step(&story, tiers[0], DTC_CAUSE_LOCK, "long", 1000);
	g_autoptr(GArray) rows = list(&story, false);
	g_assert_cmpstr(g_array_index(rows, struct dtc_report_row, 0).detail, ==, "long");
	g_assert_cmpuint(story.asked, ==, 1);
}

/* Steps that differ, none of which is half: the last of them need not be asked. */
static void test_none_can_be(void)
{
	struct story story = { 0 };
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		add_step(&story, tiers[0], DTC_CAUSE_LOCK, names[i], 10);
	g_autoptr(GArray) rows = list(&story, false);
	g_assert_null(g_array_index(rows, struct dtc_report_row, 0).detail);
	g_assert_cmpuint(story.asked, ==, 6);
}

/* By their digests none can be, and nobody is asked; where one can be, only those of the same digest are. */
static void test_told_by_digests(void)
{
	struct story none = { .has_digests = true }, one = { .has_digests = true };

	for (guint i = 0; i < 3; i++)
		add_step(&none, tiers[0], DTC_CAUSE_LOCK, i == 0 ? "a" : i == 1 ? "b" : "c", 10);
	g_autoptr(GArray) rows_of_none = list(&none, false);
	g_assert_null(g_array_index(rows_of_none, struct dtc_report_row, 0).detail);
	g_assert_cmpuint(none.asked, ==, 0);
	for (guint i = 0; i < 5; i++)
		add_step(&one, tiers[0], DTC_CAUSE_LOCK, i % 2 ? "a" : "b", 10 - i);
	g_autoptr(GArray) rows_of_one = list(&one, false);
	g_assert_cmpstr(g_array_index(rows_of_one, struct dtc_report_row, 0).detail, ==, "b");
	g_assert_cmpuint(one.asked, ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rows/any", test_any);
	g_test_add_func("/rows/two-halves", test_two_halves);
	g_test_add_func("/rows/no-more-than-it-takes", test_no_more_than_it_takes);
	g_test_add_func("/rows/none-can-be", test_none_can_be);
	g_test_add_func("/rows/told-by-digests", test_told_by_digests);
	return g_test_run();
}
