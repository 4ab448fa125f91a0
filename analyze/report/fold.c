/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/fold.h"

static const struct dtc_report_step *get_step(const DtcTable *steps, guint index)
{
	return DTC_AT(steps, struct dtc_report_step, index);
}

static int64_t get_ns(const DtcTable *steps, guint index)
{
	return get_step(steps, index)->end_ns - get_step(steps, index)->begin_ns;
}

static int64_t get_span_ns(const DtcTable *steps, guint first, guint end)
{
	return get_step(steps, end - 1)->end_ns - get_step(steps, first)->begin_ns;
}

/* Strings of a report are stored once: equal names have equal addresses. */
static bool is_same_node(const struct dtc_report_step *a, const struct dtc_report_step *b)
{
	return a->who.node == b->who.node;
}

static bool is_same_thread(const struct dtc_report_step *a, const struct dtc_report_step *b)
{
	return is_same_node(a, b) && a->who.tid == b->who.tid && a->who.process == b->who.process;
}

static void append_fold(GArray *folds, const DtcTable *steps, enum dtc_fold_kind kind, guint first, guint end)
{
	struct dtc_fold fold = { kind, first, end - first, first, get_span_ns(steps, first, end), false };
	int64_t by_cause[DTC_CAUSES] = { 0 };
	enum dtc_cause cause = 0;

	if (end - first == 1)
		fold.kind = DTC_FOLD_STEP; /* it takes one line anyway */
	for (guint i = first; i < end; i++)
		by_cause[get_step(steps, i)->cause] += get_ns(steps, i);
	for (guint i = 1; i < DTC_CAUSES; i++)
		if (by_cause[i] > by_cause[cause])
			cause = i;
	bool has_head = false;
	for (guint i = first; i < end; i++) {
		if (get_step(steps, i)->cause != cause) {
			fold.is_mixed = true;
		} else if (!has_head || get_ns(steps, i) > get_ns(steps, fold.head)) {
			fold.head = i;
			has_head = true;
		}
	}
	g_array_append_val(folds, fold);
}

/* Short steps [first, end) that are not one thread's: by node where that is long together. */
static void fold_by_node(GArray *folds, const DtcTable *steps, guint first, guint end, int64_t min_ns)
{
	guint pending = first;

	for (guint i = first, next; i < end; i = next) {
		for (next = i + 1; next < end && is_same_node(get_step(steps, i), get_step(steps, next)); next++)
			;
		if (get_span_ns(steps, i, next) < min_ns)
			continue;
		if (pending < i)
			append_fold(folds, steps, DTC_FOLD_SHORT, pending, i);
		append_fold(folds, steps, DTC_FOLD_NODE, i, next);
		pending = next;
	}
	if (pending < end)
		append_fold(folds, steps, DTC_FOLD_SHORT, pending, end);
}

/* Short steps [first, end): by thread where that is long together. */
static void fold_by_thread(GArray *folds, const DtcTable *steps, guint first, guint end, int64_t min_ns)
{
	guint pending = first;

	for (guint i = first, next; i < end; i = next) {
		for (next = i + 1; next < end && is_same_thread(get_step(steps, i), get_step(steps, next)); next++)
			;
		if (get_span_ns(steps, i, next) < min_ns)
			continue;
		if (pending < i)
			fold_by_node(folds, steps, pending, i, min_ns);
		append_fold(folds, steps, DTC_FOLD_THREAD, i, next);
		pending = next;
	}
	if (pending < end)
		fold_by_node(folds, steps, pending, end, min_ns);
}

/* The end of the line that a long step begins: further long steps of its thread and cause join it. */
static guint find_line_end(const DtcTable *steps, guint first, int64_t min_ns)
{
	const struct dtc_report_step *head = get_step(steps, first);
	guint end = first + 1;

	for (guint i = end; i < steps->len && is_same_thread(head, get_step(steps, i)); i++) {
		if (get_ns(steps, i) < min_ns)
			continue;
		if (get_step(steps, i)->cause != head->cause || get_step(steps, i)->detail != head->detail)
			break;
		end = i + 1;
	}
	return end;
}

/* Lines of one thread and cause that lie side by side, because they were cut for different reasons, become one. */
static GArray *join_neighbours(GArray *folds, const DtcTable *steps)
{
	GArray *joined = g_array_new(FALSE, FALSE, sizeof(struct dtc_fold));

	for (guint i = 0; i < folds->len; i++) {
		const struct dtc_fold *fold = &g_array_index(folds, struct dtc_fold, i);
		struct dtc_fold *last = joined->len ? &g_array_index(joined, struct dtc_fold, joined->len - 1) : NULL;
		bool is_same = last && fold->kind <= DTC_FOLD_THREAD && last->kind <= DTC_FOLD_THREAD &&
			       is_same_thread(get_step(steps, fold->first), get_step(steps, last->first)) &&
			       get_step(steps, fold->head)->cause == get_step(steps, last->head)->cause &&
			       get_step(steps, fold->head)->detail == get_step(steps, last->head)->detail;
		if (!is_same) {
			g_array_append_val(joined, *fold);
			continue;
		}
		guint first = last->first, end = fold->first + fold->count;
		g_array_set_size(joined, joined->len - 1);
		append_fold(joined, steps, DTC_FOLD_THREAD, first, end);
	}
	g_array_unref(folds);
	return joined;
}

GArray *dtc_fold_steps(const DtcTable *steps, int64_t min_ns)
{
	GArray *folds = g_array_new(FALSE, FALSE, sizeof(struct dtc_fold));
	guint pending = 0;

	if (min_ns <= 0) {
		for (guint i = 0; i < steps->len; i++)
			append_fold(folds, steps, DTC_FOLD_STEP, i, i + 1);
		return folds;
	}
	for (guint i = 0; i < steps->len;) {
		if (get_ns(steps, i) < min_ns) {
			i++;
			continue;
		}
		if (pending < i)
			fold_by_thread(folds, steps, pending, i, min_ns);
		guint end = find_line_end(steps, i, min_ns);
		append_fold(folds, steps, DTC_FOLD_STEP, i, end);
		i = pending = end;
	}
	if (pending < steps->len)
		fold_by_thread(folds, steps, pending, steps->len, min_ns);
	return join_neighbours(folds, steps);
}
