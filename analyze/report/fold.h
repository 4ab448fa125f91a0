/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A path of a slow request has hundreds of segments of which a dozen matter. Folding cuts it into lines that cover it
 * without gap: a long segment (with what interrupted it: fifty milliseconds of computing stay one line although the
 * tick came twelve times), the work of one thread in many short segments, or a run of what is too short to be read.
 */
#pragma once

#include "dtrace-chain/report.h"

enum dtc_fold_kind {
	DTC_FOLD_STEP,	 /* one segment, or several of one thread and cause with short ones between */
	DTC_FOLD_THREAD, /* short segments of one thread that are long together */
	DTC_FOLD_NODE,	 /* short segments on one node that are long together */
	DTC_FOLD_SHORT,	 /* the rest: short altogether or over several nodes */
};

struct dtc_fold {
	enum dtc_fold_kind kind;
	guint first; /* index of its first step */
	guint count;
	guint head; /* the step that stands for it: the longest with the cause that takes most of the time */
	int64_t ns;
	bool is_mixed; /* it has steps of other causes than its head's */
};

/* Lines for the path, in time order; steps shorter than min_ns are folded, with 0 none. Of struct dtc_fold; caller
 * owns. */
GArray *dtc_fold_steps(const DtcTable *steps, int64_t min_ns);
