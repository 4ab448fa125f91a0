/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small linear programs: maximise a sum under rows "combination <= limit". The one door to GLPK, which writes to stdout
 * and aborts on bad indexes: here it is silenced, indexes are checked, and a result counts only if the solver says that
 * it is optimal. Callers verify what they need of it themselves, in integers or against the points.
 *
 * Figures should be of order one (microseconds, centred): the solver's tolerances are absolute.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcLp DtcLp;

/* Columns are free (unbounded both ways), with weight 0 until set. */
DtcLp *dtc_lp_new(guint column_count);
void dtc_lp_free(DtcLp *lp);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLp, dtc_lp_free)

void dtc_lp_set_weight(DtcLp *lp, guint column, double weight); /* in the sum to be maximised */
/* sum of factors[i] * column columns[i] <= limit; columns differ, count is at most 8. */
void dtc_lp_add_row(DtcLp *lp, const guint *columns, const double *factors, guint count, double limit);
/* False if there is no optimum or it was not reached in time; ret_values (column_count of them) is then untouched. */
bool dtc_lp_solve(DtcLp *lp, double *ret_values);

/* Gives back what GLPK keeps per thread; call when no program is alive in this thread. */
void dtc_lp_release_thread(void);
