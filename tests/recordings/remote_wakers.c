/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well the senders of remote wakeups are found in a trace without sched_waking: the trace is read once, with that
 * event for one machine and without it for another, and the wakers of the second are compared with those of the first.
 * Prints "KIND TOTAL RIGHT WRONG OPEN" for the wakeups that the waker's CPU logged (local) and for those that only the
 * target's CPU did (remote); open: the waker is said to be another CPU or unknown. Fails if a local one is wrong, or
 * more than one of twenty that were found; exits with 77 if there is no such folder, as the recordings lie beside the
 * repository. usage: remote_wakers TRACE-DIR [--list]
 */
#include "analyze/state/machine.h"

#include <inttypes.h>
#include <stdio.h>

#define SKIPPED 77

struct score {
	guint total, right, wrong, open;
};

static int32_t get_tid(const DtcHistory *history, uint32_t thread)
{
	return thread == DTC_NONE ? -1 : dtc_history_get_thread(history, thread)->tid;
}

static bool is_same_waker(const DtcHistory *full, const struct dtc_wake *truth, const DtcHistory *bare,
			  const struct dtc_wake *found)
{
	if (truth->waker != found->waker)
		return false;
	switch ((enum dtc_waker)truth->waker) {
	case DTC_WAKER_THREAD:
	case DTC_WAKER_NEW:
		return get_tid(full, truth->thread) == get_tid(bare, found->thread);
	case DTC_WAKER_BLOCK:
	case DTC_WAKER_PACKET:
	case DTC_WAKER_SOFTIRQ:
		return truth->ref == found->ref;
	default:
		return true;
	}
}

/* The truth by (target, time of the wakeup). */
static GHashTable *index_truth(const DtcHistory *full)
{
	GHashTable *index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (uint32_t i = 0; i < dtc_history_get_wake_count(full); i++) {
		const struct dtc_wake copy = dtc_history_copy_wake(full, i), *wake = &copy;
		if (wake->wakeup_ns != DTC_TIME_NONE)
			g_hash_table_replace(
				index, g_strdup_printf("%d %" PRId64, get_tid(full, wake->target), wake->wakeup_ns),
				GUINT_TO_POINTER(i + 1));
	}
	return index;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	if (argc < 2) {
		fprintf(stderr, "usage: remote_wakers TRACE-DIR [--list]\n");
		return 2;
	}
	if (!g_file_test(argv[1], G_FILE_TEST_IS_DIR)) {
		printf("SKIPPED: no recording at %s\n", argv[1]);
		return SKIPPED;
	}
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("node", argv[1], &error);
	if (!reader) {
		fprintf(stderr, "remote_wakers: %s\n", error->message);
		return 1;
	}
	g_autoptr(DtcMachine) with = dtc_machine_new("node", reader), without = dtc_machine_new("node", reader);
	const struct dtc_event *event;
	while ((event = dtc_reader_next(reader))) {
		dtc_machine_apply(with, event);
		if (event->kind != DTC_EVENT_SCHED_WAKING)
			dtc_machine_apply(without, event);
	}
	if (!dtc_reader_finish(reader, findings, &error)) {
		fprintf(stderr, "remote_wakers: %s\n", error->message);
		return 1;
	}
	g_autoptr(DtcHistory) full = dtc_machine_finish(with, findings);
	g_autoptr(DtcHistory) bare = dtc_machine_finish(without, findings);
	g_autoptr(GHashTable) truths = index_truth(full);
	struct score scores[2] = { 0 };
	for (uint32_t i = 0; i < dtc_history_get_wake_count(bare); i++) {
		const struct dtc_wake found_copy = dtc_history_copy_wake(bare, i), *found = &found_copy;
		g_autofree char *key = g_strdup_printf("%d %" PRId64, get_tid(bare, found->target), found->waking_ns);
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(truths, key));
		if (!at)
			continue;
		const struct dtc_wake truth_copy = dtc_history_copy_wake(full, at - 1), *truth = &truth_copy;
		bool open = found->waker == DTC_WAKER_IPI || found->waker == DTC_WAKER_UNKNOWN;
		bool is_right = is_same_waker(full, truth, bare, found);
		struct score *score = &scores[found->is_inferred || open];
		score->total++;
		*(open ? &score->open : is_right ? &score->right : &score->wrong) += 1;
		if (argc > 2 && (open || !is_right))
			printf("%" PRId64 " +%" PRId64 " target %d: truth %u by %d, found %u by %d%s\n",
			       found->waking_ns, found->waking_ns - truth->waking_ns, get_tid(bare, found->target),
			       truth->waker, get_tid(full, truth->thread), found->waker, get_tid(bare, found->thread),
			       found->is_inferred ? ", inferred" : "");
	}
	static const char *const names[] = { "local", "remote" };
	for (guint i = 0; i < 2; i++)
		printf("%s %u %u %u %u\n", names[i], scores[i].total, scores[i].right, scores[i].wrong, scores[i].open);
	/* what the waker's own CPU logged does not need the event; what is inferred may be wrong in one of twenty */
	bool is_good = scores[0].wrong == 0 && scores[1].wrong * 20 <= scores[1].right + scores[1].wrong;
	return is_good ? 0 : 1;
}
