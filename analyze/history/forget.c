/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A history that is filled forgets what events have made so far: for who follows a long trace and wants the end of it.
 * What grows with threads and files alone stays where it is, with its numbers.
 */
#include "analyze/history/records.h"

#define AT(array, type, index) (&g_array_index((array), type, (index)))

/* The last name of each thread, in the order in which they were told. */
static void forget_names(DtcHistory *h)
{
	g_autofree uint32_t *last = g_new0(uint32_t, h->threads->len + 1);
	guint kept = 0;
	for (guint i = 0; i < h->names->len; i++)
		last[DTC_AT(h->names, struct dtc_name_record, i)->thread] = i;
	for (guint i = 0; i < h->names->len; i++) {
		const struct dtc_name_record record = *DTC_AT(h->names, struct dtc_name_record, i);
		if (last[record.thread] == i)
			*DTC_AT(h->names, struct dtc_name_record, kept++) = record;
	}
	dtc_table_set_length(h->names, kept);
}

/* Each CPU's last run stays: it is not among the others yet. */
static void forget_runs(DtcHistory *h)
{
	struct dtc_history_filling *filling = h->filling;
	dtc_grouper_clear(filling->runs);
	g_array_set_size(filling->run_eras, 0);
	h->has_missing = false;
	for (guint i = 0; i < filling->last_runs->len; i++) {
		struct dtc_last_run *last = AT(filling->last_runs, struct dtc_last_run, i);
		last->era = 0;
		h->has_missing |= last->run.is_missing;
	}
}

static void forget_intervals(DtcHistory *h)
{
	struct dtc_history_filling *filling = h->filling;
	dtc_grouper_clear(filling->intervals);
	g_array_set_size(filling->thread_eras, 0);
	g_array_set_size(filling->eras, 0);
	g_array_set_size(filling->odd_refs, 0);
}

void dtc_history_forget(DtcHistory *h)
{
	DtcTable *tables[] = { h->wakes,
			       h->wake_eras,
			       h->faults,
			       h->fault_eras,
			       h->ready,
			       h->blocks,
			       h->works,
			       h->guest_spans,
			       h->contexts,
			       h->guest_irqs,
			       h->odd_contexts,
			       h->filling->calls,
			       h->filling->context_calls };
	g_assert(!h->is_sealed);
	h->has_forgotten = true;
	forget_names(h);
	forget_runs(h);
	forget_intervals(h);
	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
		dtc_table_set_length(tables[i], 0);
	for (guint i = 0; i < h->files->len; i++)
		DTC_AT(h->files, struct dtc_file, i)->accept = DTC_NONE;
	for (guint i = 0; i < h->vcpus->len; i++)
		AT(h->vcpus, struct dtc_vcpu, i)->span_count = 0;
	dtc_packets_forget(h->packets);
}

guint64 dtc_history_measure_filling(const DtcHistory *h)
{
	const DtcTable *tables[] = { h->filling->intervals->words, h->filling->calls, h->wakes, h->contexts,
				     h->filling->runs->words,	   h->faults,	      h->names };
	guint64 bytes = 0;
	g_assert(!h->is_sealed);
	for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
		bytes += (guint64)tables[i]->len * tables[i]->size;
	return bytes + (guint64)dtc_packets_get_count(h->packets) * sizeof(struct dtc_packet);
}
