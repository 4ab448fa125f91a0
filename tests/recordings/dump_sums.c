/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints sums over the history of one kernel trace, for independent.py to compare: "running TID CPU NS",
 * "blocked TID NS", "waits TID COUNT" (waits that ended), "occupied CPU TID NS". Threads that had the same tid one
 * after the other are added up; each CPU's idle thread is tid 0. usage: dump_sums TRACE-DIR
 */
#include "analyze/state/machine.h"

#include <inttypes.h>
#include <stdio.h>

static void add(GHashTable *sums, int64_t value, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void add(GHashTable *sums, int64_t value, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *key = g_strdup_vprintf(format, args);
	va_end(args);
	int64_t *sum = g_hash_table_lookup(sums, key);

	if (sum) {
		*sum += value;
		g_free(key);
		return;
	}
	sum = g_new(int64_t, 1);
	*sum = value;
	g_hash_table_insert(sums, key, sum);
}

static void add_thread(GHashTable *sums, const DtcHistory *history, uint32_t index)
{
	const struct dtc_thread *thread = dtc_history_get_thread(history, index);

	struct dtc_interval place;
	const struct dtc_interval *interval = dtc_history_get_interval_after(history, index, INT64_MIN, &place);

	for (; interval; interval = dtc_history_get_next_interval(history, &place)) {
		int64_t ns = interval->end_ns - interval->begin_ns;
		if (dtc_state_is_running(interval->state) || interval->state == DTC_STATE_IDLE) {
			add(sums, ns, "running %d %u", thread->tid, interval->cpu);
		} else if (dtc_state_is_wait(interval->state)) {
			add(sums, ns, "blocked %d", thread->tid);
			if (interval->ref != DTC_NONE)
				add(sums, 1, "waits %d", thread->tid);
		}
	}
}

static void add_cpu(GHashTable *sums, const DtcHistory *history, guint cpu)
{
	uint32_t count = dtc_history_get_run_count(history, cpu);

	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_run run = dtc_history_get_run(history, cpu, i);
		int64_t end_ns = i + 1 < count ? dtc_history_get_run(history, cpu, i + 1).begin_ns
					       : dtc_history_get_end_ns(history);
		if (run.thread != DTC_NONE)
			add(sums, end_ns - run.begin_ns, "occupied %u %d", cpu,
			    dtc_history_get_thread(history, run.thread)->tid);
	}
}

static DtcHistory *read_history(const char *path, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("node", path, error);
	if (!reader)
		return NULL;
	g_autoptr(DtcMachine) machine = dtc_machine_new("node", reader);
	const struct dtc_event *event;

	while ((event = dtc_reader_next(reader)))
		dtc_machine_apply(machine, event);
	if (!dtc_reader_finish(reader, findings, error))
		return NULL;
	return dtc_machine_finish(machine, findings);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc != 2) {
		fprintf(stderr, "usage: dump_sums TRACE-DIR\n");
		return 2;
	}
	g_autoptr(DtcHistory) history = read_history(argv[1], &error);
	if (!history || !dtc_history_check(history, &error)) {
		fprintf(stderr, "dump_sums: %s\n", error->message);
		return 1;
	}
	g_autoptr(GHashTable) sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++)
		add_thread(sums, history, i);
	for (uint32_t i = 0; i < dtc_history_get_wake_count(history); i++)
		add(sums, 1, "wakeups %d",
		    dtc_history_get_thread(history, dtc_history_copy_wake(history, i).target)->tid);
	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(history); cpu++)
		add_cpu(sums, history, cpu);
	GHashTableIter iter;
	gpointer key, value;
	g_hash_table_iter_init(&iter, sums);
	while (g_hash_table_iter_next(&iter, &key, &value))
		printf("%s %" PRId64 "\n", (const char *)key, *(const int64_t *)value);
	return 0;
}
