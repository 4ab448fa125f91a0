/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any path: rows sum to the duration, lines of the folded path cover it, two runs give the same bytes. */
#include "analyze/report/fold.h"
#include "analyze/report/json.h"
#include "analyze/report/text.h"
#include "tests/support/made_path.h"

#define ROUNDS 300

static int64_t random_ns(GRand *rand)
{
	static const int32_t magnitudes[] = { 2, 100, 10000, 1000000, 100000000 };
	return g_rand_int_range(rand, 1, magnitudes[g_rand_int_range(rand, 0, G_N_ELEMENTS(magnitudes))]);
}

static DtcReport *make_report(guint32 seed)
{
	static const char *const names[] = { "a", "b", "c\n", NULL };
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	g_autoptr(GError) error = NULL;
	struct made_segment segments[200];
	guint count = (guint)g_rand_int_range(rand, 1, G_N_ELEMENTS(segments));

	for (guint i = 0; i < count; i++)
		segments[i] = (struct made_segment){
			.ns = random_ns(rand),
			.node = (guint)g_rand_int_range(rand, 0, 3),
			.tid = g_rand_int_range(rand, -1, 4),
			.process = names[g_rand_int_range(rand, 0, G_N_ELEMENTS(names))],
			.cause = (enum dtc_cause)g_rand_int_range(rand, 0, DTC_CAUSES),
			.detail = names[g_rand_int_range(rand, 0, G_N_ELEMENTS(names))],
		};
	g_autoptr(DtcPath) path = made_path_new(g_rand_int(rand), segments, count);
	int64_t begin_ns = dtc_path_get_begin(path).ns, end_ns = dtc_path_get_end(path).ns;
	guint parent = G_MAXUINT, depth = 0;
	for (guint i = (guint)g_rand_int_range(rand, 0, 20); i > 0; i--) {
		parent = made_path_add_blocking(path, parent, depth, begin_ns, end_ns, "a", names[i % 4]);
		depth++;
		if (g_rand_boolean(rand)) {
			parent = G_MAXUINT;
			depth = 0;
		}
	}
	DtcReport *report = made_path_report(path, NULL, "id", &error);
	g_assert_no_error(error);
	return report;
}

static void test_sums(void)
{
	for (guint32 seed = 0; seed < ROUNDS; seed++) {
		g_autoptr(DtcReport) report = make_report(seed);
		int64_t rows_ns = 0;
		for (guint i = 0; i < report->rows->len; i++) {
			const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, i);
			int64_t ns = 0;
			for (guint k = 0; k < report->steps->len; k++) {
				const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, k);
				if (g_strcmp0(step->who.tier, row->tier) == 0 && step->cause == row->cause)
					ns += step->end_ns - step->begin_ns;
			}
			g_assert_cmpint(row->ns, ==, ns);
			g_assert_cmpint(row->detail_ns, <=, row->ns);
			rows_ns += row->ns;
		}
		g_assert_cmpint(rows_ns, ==, report->duration_ns);
	}
}

static void test_folds_cover_the_path(void)
{
	for (guint32 seed = 0; seed < ROUNDS; seed++) {
		g_autoptr(DtcReport) report = make_report(seed);
		for (int64_t min_ns = 0; min_ns <= report->duration_ns; min_ns = min_ns * 7 + 50) {
			g_autoptr(GArray) folds = dtc_fold_steps(report->steps, min_ns);
			guint next = 0;
			int64_t sum_ns = 0;
			for (guint i = 0; i < folds->len; i++) {
				const struct dtc_fold *fold = &g_array_index(folds, struct dtc_fold, i);
				g_assert_cmpuint(fold->first, ==, next);
				g_assert_cmpuint(fold->count, >, 0);
				g_assert_cmpuint(fold->head, >=, fold->first);
				g_assert_cmpuint(fold->head, <, fold->first + fold->count);
				if (fold->kind != DTC_FOLD_SHORT && fold->count > 1)
					g_assert_cmpint(fold->ns, >=, min_ns);
				next += fold->count;
				sum_ns += fold->ns;
			}
			g_assert_cmpuint(next, ==, report->steps->len);
			g_assert_cmpint(sum_ns, ==, report->duration_ns);
		}
	}
}

static void test_same_bytes(void)
{
	static const struct dtc_text_options options = { .width = 80, .has_utf8 = true, .min_ns = -1 };

	for (guint32 seed = 0; seed < 30; seed++) {
		g_autoptr(DtcReport) one = make_report(seed);
		g_autoptr(DtcReport) two = make_report(seed);
		g_autofree char *json_one = dtc_report_to_json(one), *json_two = dtc_report_to_json(two);
		g_autofree char *text_one = dtc_report_to_text(one, &options);
		g_autofree char *text_two = dtc_report_to_text(two, &options);
		g_assert_cmpstr(json_one, ==, json_two);
		g_assert_cmpstr(text_one, ==, text_two);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/random-paths/sums", test_sums);
	g_test_add_func("/report/random-paths/folds-cover-the-path", test_folds_cover_the_path);
	g_test_add_func("/report/random-paths/same-bytes", test_same_bytes);
	return g_test_run();
}
