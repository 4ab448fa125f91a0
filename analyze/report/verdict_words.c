/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/verdict_words.h"

#include "analyze/report/units.h"

#include <inttypes.h>

/* Machines and parts of them that the head names: from so much of the whole on, in percent; so many parts at most. */
#define USUAL_MIN 5 /* requests, before a median of them is called usual */
#define MACHINE_PERCENT 5
#define PART_PERCENT 3
#define PARTS_MAX 4

static char *format_duration(int64_t ns, bool is_exact)
{
	return is_exact && ns != INT64_MAX ? g_strdup_printf("%" PRId64 " ns", ns) : dtc_duration_format(ns);
}

static const char *get_phrase(enum dtc_family family)
{
	static const char *const phrases[DTC_FAMILIES] = {
		[DTC_FAMILY_CPU] = "CPU",
		[DTC_FAMILY_CPU_WAIT] = "waiting for a CPU",
		[DTC_FAMILY_DISK] = "disk",
		[DTC_FAMILY_LOCK] = "lock",
		[DTC_FAMILY_IPC] = "other threads",
		[DTC_FAMILY_NETWORK] = "network",
		[DTC_FAMILY_TIMER] = "timer",
		[DTC_FAMILY_VM] = "virtual CPU away",
		[DTC_FAMILY_UNKNOWN] = "unknown",
		[DTC_FAMILY_STOPPED] = "stopped",
		[DTC_FAMILY_DEVICE] = "a device or the kernel",
	};
	return phrases[family];
}

/* "disk 45.4 ms (fsync(/data))": it is named what most of it was about, if that is half of it. */
static char *format_part(const struct dtc_report_part *part, bool is_exact)
{
	static const char *const by[DTC_FAMILIES] = {
		[DTC_FAMILY_CPU_WAIT] = "for ", [DTC_FAMILY_LOCK] = "held by ", [DTC_FAMILY_VM] = "for "
	};
	g_autofree char *ns = format_duration(part->ns, is_exact);
	if (!part->what || 2 * part->what_ns < part->ns)
		return g_strdup_printf("%s %s", get_phrase(part->family), ns);
	return g_strdup_printf("%s %s (%s%s)", get_phrase(part->family), ns, by[part->family] ? by[part->family] : "",
			       part->what);
}

/*
 * ", fsync(/data)", ", 52 % of it fsync(/data)": what a row was about, if half of it was; alone it would be taken for
 * all of it (two requests behind each other in a pool: a wait of 260 ms was said to be for the second of them).
 */
static char *format_about(const struct dtc_report_row *row)
{
	if (!row->detail || 2 * row->detail_ns < row->ns)
		return g_strdup("");
	if (10 * row->detail_ns >= 9 * row->ns)
		return g_strdup_printf(", %s", row->detail);
	g_autofree char *percent = dtc_percent_format(row->detail_ns, row->ns);
	return g_strdup_printf(", %s %% of it %s", percent, row->detail);
}

char *dtc_words_for_verdict(const DtcReport *report, bool is_exact)
{
	const struct dtc_report_verdict *verdict = &report->verdict;

	if (report->dominant == G_MAXUINT)
		return NULL;
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	g_autofree char *row_ns = format_duration(row->ns, is_exact);
	g_autofree char *row_percent = dtc_percent_format(row->ns, report->duration_ns);
	g_autofree char *about = format_about(row);
	g_autofree char *largest = g_strdup_printf("%s %s %s (%s %%)%s", row->tier, dtc_cause_to_string(row->cause),
						   row_ns, row_percent, about);
	const struct dtc_report_part *part =
		verdict->is_single ? &g_array_index(report->parts, struct dtc_report_part, verdict->single) : NULL;
	if (!part)
		return g_strdup_printf("No single cause; the largest: %s", largest);
	if (part->ns == row->ns && row->node == verdict->machine)
		return g_strdup_printf("Mostly %s", largest);
	g_autofree char *ns = format_duration(part->ns, is_exact);
	g_autofree char *percent = dtc_percent_format(part->ns, report->duration_ns);
	return g_strdup_printf("Mostly %s on %s: %s (%s %%); the largest: %s", get_phrase(part->family),
			       verdict->machine, ns, percent, largest);
}

/* "", " or req-2", or " (or req-2, for 3 ms of these)": for whom it may have waited instead. Caller frees. */
static char *format_candidate(const DtcReport *report, bool is_exact)
{
	const struct dtc_report_verdict *verdict = &report->verdict;
	const char *name = verdict->waited_candidate;

	if (!name)
		return g_strdup("");
	if (g_strcmp0(name, report->request) == 0)
		name = "this one";
	if (verdict->waited_candidate_ns == verdict->waited_ns)
		return g_strdup_printf(" or %s", name);
	g_autofree char *ns = format_duration(verdict->waited_candidate_ns, is_exact);
	return g_strdup_printf(" (or %s, for %s of these)", name, ns);
}

char *dtc_words_for_waited(const DtcReport *report, bool is_exact)
{
	const struct dtc_report_verdict *verdict = &report->verdict;

	if (!verdict->waited_for || 100 * verdict->waited_ns < PART_PERCENT * report->duration_ns)
		return NULL;
	g_autofree char *ns = format_duration(verdict->waited_ns, is_exact);
	g_autofree char *percent = dtc_percent_format(verdict->waited_ns, report->duration_ns);
	g_autofree char *tier_ns = format_duration(verdict->waited_tier_ns, is_exact);
	g_autofree char *candidate = format_candidate(report, is_exact);
	g_autofree char *text = g_strdup_printf("Waited %s (%s %%) for request %s%s, with which %s was busy", ns,
						percent, verdict->waited_for, candidate, verdict->waited_tier);
	return verdict->waited_tier_ns < verdict->waited_ns ? g_strdup_printf("%s for %s of these", text, tier_ns)
							    : g_steal_pointer(&text);
}

guint dtc_words_count_machines(const DtcReport *report)
{
	guint count = 0;

	while (count < report->machines->len &&
	       100 * g_array_index(report->machines, struct dtc_report_machine, count).ns >=
		       MACHINE_PERCENT * report->duration_ns)
		count++;
	return count;
}

char *dtc_words_for_machine(const DtcReport *report, const struct dtc_report_machine *machine, bool is_exact)
{
	GString *parts = g_string_new(NULL);

	for (guint i = 0; i < machine->part_count && i < PARTS_MAX; i++) {
		const struct dtc_report_part *part =
			&g_array_index(report->parts, struct dtc_report_part, machine->part_first + i);
		if (100 * part->ns < PART_PERCENT * report->duration_ns)
			break;
		g_autofree char *text = format_part(part, is_exact);
		g_string_append_printf(parts, "%s%s", i ? ", " : "", text);
	}
	return g_string_free(parts, FALSE);
}

/* "3rd": of ranks */
static const char *get_ordinal(guint rank)
{
	guint tens = rank % 100;
	if (tens >= 11 && tens <= 13)
		return "th";
	return rank % 10 == 1 ? "st" : rank % 10 == 2 ? "nd" : rank % 10 == 3 ? "rd" : "th";
}

char *dtc_words_for_usual(const DtcReport *report)
{
	const struct dtc_report_usual *usual = &report->usual;
	GString *text = g_string_new(NULL);

	if (usual->count > 1 && usual->rank == 1)
		g_string_append_printf(text, "Slowest of %u in the captures", usual->count);
	else if (usual->count > 1)
		g_string_append_printf(text, "%u%s slowest of %u in the captures", usual->rank,
				       get_ordinal(usual->rank), usual->count);
	if (usual->count > 1 && usual->pattern && usual->like_count >= USUAL_MIN) {
		g_autofree char *p50 = dtc_duration_format_short(usual->like_p50_ns);
		g_string_append_printf(text, ", where %s%s%s usually takes %s (p50 of %u)",
				       usual->method ? usual->method : "", usual->method ? " " : "", usual->pattern,
				       p50, usual->like_count);
	}
	return g_string_free(text, text->len == 0);
}
