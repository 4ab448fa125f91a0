/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the histories of kernel traces, one after the other, and prints what each cost: CPU time, intervals per event,
 * and anonymous memory at the end (what lies in mapped files does not count). usage: bench-history TRACE-DIR...
 */
#include "analyze/state/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double get_cpu_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* In KiB; 0 if the kernel does not tell. */
static uint64_t get_anonymous_kib(void)
{
	g_autofree char *status = NULL;

	if (!g_file_get_contents("/proc/self/status", &status, NULL, NULL))
		return 0;
	const char *line = strstr(status, "RssAnon:");
	return line ? g_ascii_strtoull(line + strlen("RssAnon:"), NULL, 10) : 0;
}

static DtcHistory *build(const char *path, uint64_t *ret_events, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("node", path, error);
	if (!reader)
		return NULL;
	g_autoptr(DtcMachine) machine = dtc_machine_new("node", reader);
	const struct dtc_event *event;
	uint64_t events = 0;

	for (; (event = dtc_reader_next(reader)); events++)
		dtc_machine_apply(machine, event);
	if (!dtc_reader_finish(reader, findings, error))
		return NULL;
	*ret_events = events;
	return dtc_machine_finish(machine, findings);
}

static bool measure(const char *path, GError **error)
{
	double begin_s = get_cpu_s();
	uint64_t events, intervals = 0;
	g_autoptr(DtcHistory) history = build(path, &events, error);

	if (!history)
		return false;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++)
		intervals += dtc_history_get_thread(history, i)->interval_count;
	printf("%" PRIu64 " events, %.2f intervals each, %.2f s CPU, %.1f MB anonymous\n", events,
	       events ? (double)intervals / (double)events : 0.0, get_cpu_s() - begin_s,
	       (double)get_anonymous_kib() / 1000);
	return true;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-history TRACE-DIR...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		if (!measure(argv[i], &error)) {
			fprintf(stderr, "bench-history: %s\n", error->message);
			return 1;
		}
	}
	return 0;
}
