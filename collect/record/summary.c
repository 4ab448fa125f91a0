/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/summary.h"

#include <string.h>

#define COUNT "%" G_GUINT64_FORMAT

/* "1234", "123 k", "1.2 M" */
static char *format_count(guint64 count)
{
	if (count < 10000)
		return g_strdup_printf(COUNT, count);
	if (count < 1000000)
		return g_strdup_printf(COUNT " k", (count + 500) / 1000);
	return g_strdup_printf("%.1f M", (double)count / 1e6);
}

static char *format_bytes(guint64 bytes)
{
	if (bytes < 10000000)
		return g_strdup_printf("%.1f MB", (double)bytes / 1e6);
	return g_strdup_printf(COUNT " MB", (bytes + 500000) / 1000000);
}

static double get_seconds(const struct dtc_recorder_totals *totals)
{
	return (double)(totals->end_ns - totals->begin_ns) / 1e9;
}

char *dtc_summary_get_line(const struct dtc_recorder_totals *totals)
{
	g_autofree char *events = format_count(totals->events.events);
	g_autofree char *lost = format_count(totals->events.lost);
	g_autofree char *bytes = format_bytes(totals->events.bytes + totals->packets.bytes);
	g_autofree char *packets = format_count(totals->packets.packets);
	g_autofree char *dropped = format_count(totals->packets.dropped);

	return g_strdup_printf("%.0f s: %s events (%s lost), %s packets (%s dropped), %s written", get_seconds(totals),
			       events, lost, packets, dropped, bytes);
}

static void append_end(GString *out, const struct dtc_recorder_totals *totals)
{
	static const char *const ends[] = {
		[DTC_END_SIGNAL] = "",
		[DTC_END_DURATION] = "",
		[DTC_END_COMMAND] = "",
		[DTC_END_TRIGGER] = "",
		[DTC_END_DISK] = "stopped early: the disk is nearly full, or refused to be written\n",
	};

	g_string_append(out, ends[totals->end]);
	if (totals->cleaned > 0)
		g_string_append_printf(out, "removed what %u crashed recorder%s had left in the kernel\n",
				       totals->cleaned, totals->cleaned == 1 ? "" : "s");
}

/* LTTng does not count events while it writes them. */
static char *tell_events(const struct dtc_recorder_totals *totals)
{
	g_autofree char *events = format_count(totals->events.events);
	double seconds = get_seconds(totals);

	if (totals->events.events == 0 && totals->events.bytes > 0)
		return g_strdup("events not counted");
	if (totals->is_flight)
		return g_strdup_printf("of %s events in the buffers", events);
	return g_strdup_printf("%s events (%.0f k/s)", events,
			       seconds > 0 ? (double)totals->events.events / seconds / 1e3 : 0);
}

static void append_recorded(GString *out, const char *node_folder, const struct dtc_recorder_totals *totals)
{
	g_autofree char *events = tell_events(totals);
	g_autofree char *bytes = format_bytes(totals->events.bytes + totals->packets.bytes);
	g_autofree char *packets = format_count(totals->packets.packets);

	g_string_append_printf(out, "recorded '%s': %.1f s, %s, %s\n", node_folder, get_seconds(totals), events, bytes);
	if (totals->packets.namespaces > 0)
		g_string_append_printf(out, "packets:  %s, in %u of %u network namespace%s\n", packets,
				       totals->packets.files, totals->packets.namespaces,
				       totals->packets.namespaces == 1 ? "" : "s");
	g_string_append_printf(out, "seen:     %u processes, %u threads, %u open files\n", totals->walk.processes,
			       totals->walk.threads, totals->walk.files);
}

static void append_lost(GString *out, const struct dtc_recorder_totals *totals)
{
	guint64 events = totals->events.events, lost = totals->events.lost;

	if (lost == 0 && totals->packets.dropped == 0) {
		g_string_append(out, "lost:     nothing\n");
		return;
	}
	g_string_append_printf(out, "lost:     " COUNT " events (%.2f %%), " COUNT " packets", lost,
			       events > 0 ? 100.0 * (double)lost / (double)events : 0, totals->packets.dropped);
	g_string_append(out, lost > 0 ? "; larger buffers (--buffer) or fewer events (--events-set minimal) help\n"
				      : "; a larger --capture-buffer, --snaplen 256 or a --filter help\n");
}

static void append_cost(GString *out, const struct dtc_recorder_totals *totals)
{
	double seconds = get_seconds(totals), cpu = (double)totals->cpu_ns / 1e9;
	guint64 written = totals->events.events - MIN(totals->events.lost, totals->events.events);

	g_string_append_printf(out, "cost:     %.2f s of CPU, %.1f %% of one", cpu,
			       seconds > 0 ? 100 * cpu / seconds : 0);
	if (written > 0)
		g_string_append_printf(out, "; of it %.0f ns an event, %.2f s for packets",
				       (double)totals->events.cpu_ns / (double)written,
				       (double)totals->packets.cpu_ns / 1e9);
	g_string_append_c(out, '\n');
}

char *dtc_summary_get_end(const char *node_folder, const struct dtc_recorder_totals *totals, const GPtrArray *lacks)
{
	GString *out = g_string_new(NULL);

	append_end(out, totals);
	append_recorded(out, node_folder, totals);
	append_lost(out, totals);
	append_cost(out, totals);
	for (guint i = 0; i < lacks->len; i++) {
		const char *lack = g_ptr_array_index(lacks, i);
		const char *reason = strchr(lack, '=');
		g_string_append_printf(out, "lacking:  %.*s: %s\n", (int)(reason ? reason - lack : 0), lack,
				       reason ? reason + 1 : lack);
	}
	return g_string_free(out, FALSE);
}

char *dtc_summary_get_sealed(const struct dtc_seal_summary *summary, const DtcFindings *findings)
{
	GString *out = g_string_new(NULL);
	g_autofree char *events = format_count(summary->events);
	g_autofree char *bytes = format_bytes(summary->bytes);

	if (summary->events > 0 || summary->bytes > 0)
		g_string_append_printf(out, "sealed:   %s events, %s", events, bytes);
	else
		g_string_append(out, "sealed:   as LTTng wrote it");
	if (summary->net_events > 0)
		g_string_append_printf(
			out, "; of " COUNT " packet events " COUNT " have their packet, " COUNT " of them inferred",
			summary->net_events, summary->joined_exactly + summary->joined_inferred,
			summary->joined_inferred);
	if (summary->repaired_switches > 0)
		g_string_append_printf(out, "; " COUNT " broken switches repaired", summary->repaired_switches);
	g_string_append_c(out, '\n');
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		g_string_append_printf(out, "%-9s %s\n", dtc_severity_to_string(finding->severity), finding->text);
	}
	return g_string_free(out, FALSE);
}

char *dtc_summary_get_next(const char *node_folder)
{
	g_autofree char *path = g_canonicalize_filename(node_folder, NULL);
	g_autofree char *parent = g_path_get_dirname(path);
	g_autofree char *here = g_get_current_dir();
	g_autofree char *quoted = strcmp(parent, here) == 0 ? g_strdup(".") : g_shell_quote(parent);

	return g_strdup_printf("next:     dtrace-chain requests %s   (with the folders of the other nodes beside it)\n",
			       quoted);
}

bool dtc_summary_is_incomplete(const struct dtc_recorder_totals *totals)
{
	return totals->end == DTC_END_DISK || totals->events.lost > 0 || totals->packets.dropped > 0 ||
	       totals->packets.is_failed;
}
