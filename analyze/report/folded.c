/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/folded.h"

#include <inttypes.h>
#include <string.h>

struct stack {
	char *frames; /* owned */
	int64_t ns;
};

static void stack_clear(void *data)
{
	struct stack *stack = data;
	g_free(stack->frames);
}

/* A frame ends at ';', a stack at the last blank of its line, a line at its end: nothing else needs care. */
static void append_frame(GString *out, const char *text)
{
	if (out->len)
		g_string_append_c(out, ';');
	for (const char *c = text; *c; c++)
		g_string_append_c(out, *c == ';' ? ':' : g_ascii_iscntrl(*c) ? ' ' : *c);
}

static char *format_stack(const struct dtc_report_step *step)
{
	GString *frames = g_string_new(NULL);

	append_frame(frames, step->who.tier);
	if (step->who.tid >= 0) {
		g_autofree char *thread =
			g_strdup_printf("%s %d", step->who.comm ? step->who.comm : "thread", step->who.tid);
		append_frame(frames, thread);
	} else {
		append_frame(frames, "(no thread)");
	}
	append_frame(frames, dtc_cause_to_string(step->cause));
	if (step->detail)
		append_frame(frames, step->detail);
	return g_string_free(frames, FALSE);
}

static int compare_stacks(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->frames, ((const struct stack *)b)->frames);
}

char *dtc_report_to_folded(const DtcReport *report)
{
	g_autoptr(GArray) stacks = g_array_sized_new(FALSE, FALSE, sizeof(struct stack), report->steps->len);
	GString *out = g_string_new(NULL);

	g_array_set_clear_func(stacks, stack_clear);
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		struct stack stack = { format_stack(step), step->end_ns - step->begin_ns };
		g_array_append_val(stacks, stack);
	}
	g_array_sort(stacks, compare_stacks);
	for (guint i = 0, next; i < stacks->len; i = next) {
		const struct stack *stack = &g_array_index(stacks, struct stack, i);
		int64_t ns = stack->ns;
		for (next = i + 1; next < stacks->len; next++) {
			const struct stack *other = &g_array_index(stacks, struct stack, next);
			if (strcmp(other->frames, stack->frames) != 0)
				break;
			ns += other->ns;
		}
		g_string_append_printf(out, "%s %" PRId64 "\n", stack->frames, ns);
	}
	return g_string_free(out, FALSE);
}
