/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the histories of kernel traces, one after the other, and prints what each cost: CPU time, intervals per event,
 * anonymous memory at the end (what lies in mapped files does not count), and bytes per event by kind of record.
 * usage: bench-history TRACE-DIR...
 */
#include "analyze/history/records.h"
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

static DtcHistory *build(const char *path, DtcSpace *space, uint64_t *ret_events, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("node", path, error);
	if (!reader)
		return NULL;
	g_autoptr(DtcMachine) machine = dtc_machine_new("node", reader);
	const struct dtc_event *event;
	uint64_t events = 0;

	dtc_machine_set_spaces(machine, space, space);
	for (; (event = dtc_reader_next(reader)); events++)
		dtc_machine_apply(machine, event);
	if (!dtc_reader_finish(reader, findings, error))
		return NULL;
	*ret_events = events;
	return dtc_machine_finish(machine, findings);
}

/* What the records of one kind take. */
static void tell(const char *kind, uint64_t count, uint64_t size, uint64_t events)
{
	if (count)
		printf("%-16s %9" PRIu64 " of %3" PRIu64 " bytes, %6.2f bytes per event\n", kind, count, size,
		       (double)(count * size) / (double)MAX(events, 1));
}

static void tell_records(const DtcHistory *h, uint64_t events)
{
	const struct {
		const char *kind;
		const DtcTable *table;
	} tables[] = {
		{ "intervals", h->intervals },
		{ "odd references", h->odd_refs },
		{ "calls", h->calls },
		{ "odd calls", h->odd_calls },
		{ "calls by file", h->file_calls },
		{ "wakes", h->wakes },
		{ "runs", h->runs },
		{ "contexts", h->contexts },
		{ "faults", h->faults },
		{ "ready", h->ready },
		{ "blocks", h->blocks },
		{ "works", h->works },
		{ "names", h->names },
		{ "guest spans", h->guest_spans },
		{ "guest interrupts", h->guest_irqs },
		{ "strings", h->string_bytes },
		{ "packets", h->packets->packed->units },
		{ "packets' blocks", h->packets->packed->blocks },
		{ "packets by flow", h->packets->by_flow->words },
		{ "parts of these", h->packets->by_flow->parts },
	};
	uint64_t packets = dtc_packets_get_count(h->packets), packet_bytes = 0;

	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
		tell(tables[i].kind, tables[i].table->len, tables[i].table->size, events);
	for (gsize i = G_N_ELEMENTS(tables) - 4; i < G_N_ELEMENTS(tables); i++)
		packet_bytes += (uint64_t)tables[i].table->len * tables[i].table->size;
	if (packets)
		printf("%.2f bytes for each of %" PRIu64 " packets\n", (double)packet_bytes / (double)packets, packets);
	tell("flows", dtc_packets_get_flow_count(h->packets), sizeof(struct dtc_flow), events);
	tell("files", h->files->len, sizeof(struct dtc_file), events);
	tell("threads", h->threads->len, sizeof(struct dtc_thread), events);
}

static bool measure(const char *path, DtcSpace *space, GError **error)
{
	double begin_s = get_cpu_s();
	uint64_t events = 0, intervals = 0;
	g_autoptr(DtcHistory) history = build(path, space, &events, error);

	if (!history)
		return false;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++)
		intervals += dtc_history_get_thread(history, i)->interval_count;
	printf("%" PRIu64 " events, %.2f intervals each, %.2f s CPU, %.1f MB anonymous\n", events,
	       events ? (double)intervals / (double)events : 0.0, get_cpu_s() - begin_s,
	       (double)get_anonymous_kib() / 1000);
	tell_records(history, events);
	return true;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-history TRACE-DIR...\n");
		return 2;
	}
	g_autoptr(DtcSpace) space = dtc_space_new_scratch();
	for (int i = 1; i < argc; i++) {
		if (!measure(argv[i], space, &error)) {
			fprintf(stderr, "bench-history: %s\n", error->message);
			return 1;
		}
	}
	return 0;
}
