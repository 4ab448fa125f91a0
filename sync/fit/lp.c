/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/lp.h"

#include <glpk.h>
#include <math.h>

#define ROW_COLUMNS_MAX 8
/*
 * A solver that cycles must not hang the analysis; programs of 33 columns and 230 rows take 60 steps. Not a limit of
 * time: what two runs find, and keep, must not hang on how busy the machine is.
 */
#define STEP_LIMIT 100000

struct DtcLp {
	guint column_count;
	double *weight;
	GArray *rows;	 /* int; row of each entry, 1-based as GLPK wants them */
	GArray *columns; /* int */
	GArray *factors; /* double */
	GArray *limits;	 /* double */
};

DtcLp *dtc_lp_new(guint column_count)
{
	DtcLp *lp = g_new0(DtcLp, 1);
	lp->column_count = column_count;
	lp->weight = g_new0(double, column_count + 1);
	lp->rows = g_array_new(FALSE, TRUE, sizeof(int));
	lp->columns = g_array_new(FALSE, TRUE, sizeof(int));
	lp->factors = g_array_new(FALSE, TRUE, sizeof(double));
	lp->limits = g_array_new(FALSE, FALSE, sizeof(double));
	/* GLPK's arrays begin at 1 */
	g_array_set_size(lp->rows, 1);
	g_array_set_size(lp->columns, 1);
	g_array_set_size(lp->factors, 1);
	return lp;
}

void dtc_lp_free(DtcLp *lp)
{
	if (!lp)
		return;
	g_free(lp->weight);
	g_array_unref(lp->rows);
	g_array_unref(lp->columns);
	g_array_unref(lp->factors);
	g_array_unref(lp->limits);
	g_free(lp);
}

void dtc_lp_set_weight(DtcLp *lp, guint column, double weight)
{
	g_assert(column < lp->column_count);
	lp->weight[column] = weight;
}

void dtc_lp_add_row(DtcLp *lp, const guint *columns, const double *factors, guint count, double limit)
{
	g_assert(count > 0 && count <= ROW_COLUMNS_MAX);
	g_array_append_val(lp->limits, limit);
	int row = (int)lp->limits->len;
	for (guint i = 0; i < count; i++) {
		g_assert(columns[i] < lp->column_count);
		int column = (int)columns[i] + 1;
		if (factors[i] == 0)
			continue;
		g_array_append_val(lp->rows, row);
		g_array_append_val(lp->columns, column);
		g_array_append_val(lp->factors, factors[i]);
	}
}

static glp_prob *make_problem(const DtcLp *lp)
{
	glp_prob *problem = glp_create_prob();
	glp_set_obj_dir(problem, GLP_MAX);
	glp_add_cols(problem, (int)lp->column_count);
	for (guint i = 0; i < lp->column_count; i++) {
		int column = (int)i + 1;
		glp_set_col_bnds(problem, column, GLP_FR, 0, 0);
		glp_set_obj_coef(problem, column, lp->weight[i]);
	}
	glp_add_rows(problem, (int)lp->limits->len);
	for (guint i = 0; i < lp->limits->len; i++)
		glp_set_row_bnds(problem, (int)i + 1, GLP_UP, 0, g_array_index(lp->limits, double, i));
	glp_load_matrix(problem, (int)lp->rows->len - 1, (const int *)(const void *)lp->rows->data,
			(const int *)(const void *)lp->columns->data, (const double *)(const void *)lp->factors->data);
	return problem;
}

bool dtc_lp_solve(DtcLp *lp, double *ret_values)
{
	if (!lp->limits->len || !lp->column_count)
		return false;
	int was_on = glp_term_out(GLP_OFF); /* per thread, like the rest of its environment */
	glp_prob *problem = make_problem(lp);
	glp_smcp control;
	glp_init_smcp(&control);
	control.msg_lev = GLP_MSG_OFF;
	control.it_lim = STEP_LIMIT;
	glp_adv_basis(problem, 0);
	bool ok = glp_simplex(problem, &control) == 0 && glp_get_status(problem) == GLP_OPT;
	for (guint i = 0; ok && i < lp->column_count; i++)
		ok = isfinite(glp_get_col_prim(problem, (int)i + 1));
	for (guint i = 0; ok && i < lp->column_count; i++)
		ret_values[i] = glp_get_col_prim(problem, (int)i + 1);
	glp_delete_prob(problem);
	glp_term_out(was_on);
	return ok;
}

void dtc_lp_release_thread(void)
{
	glp_free_env();
}
