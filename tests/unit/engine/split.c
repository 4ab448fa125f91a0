/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The demo's events by CPU and by context: whatever they are divided by, they are the events that were counted. */
#include "analyze/engine/split.h"

#include "analyze/engine/census.h"
#include "tests/support/demo.h"

#include <string.h>

static guint64 count_kind(const struct dtc_split *split, const char *name)
{
	guint64 count = 0;

	for (guint i = 0; i < split->parts->len; i++) {
		const GArray *kinds = g_array_index(split->parts, struct dtc_split_part, i).kinds;
		for (guint k = 0; k < kinds->len; k++)
			if (strcmp(g_array_index(kinds, struct dtc_split_kind, k).name, name) == 0)
				count += g_array_index(kinds, struct dtc_split_kind, k).count;
	}
	return count;
}

static void assert_sums(const struct dtc_split *split, const struct dtc_census_source *source)
{
	guint64 events = 0;

	g_assert_nonnull(split->parts);
	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		guint64 of_part = 0;
		for (guint k = 0; k < part->kinds->len; k++)
			of_part += g_array_index(part->kinds, struct dtc_split_kind, k).count;
		g_assert_cmpuint(of_part, ==, part->events);
		events += part->events;
	}
	g_assert_cmpuint(events, ==, source->events);
	for (guint i = 0; i < source->kinds->len; i++) {
		const struct dtc_census_kind *kind = &g_array_index(source->kinds, struct dtc_census_kind, i);
		g_assert_cmpuint(count_kind(split, kind->name), ==, kind->count);
	}
}

static void test_sums(void)
{
	const guint cpus[] = { 2, 1, 1 }; /* backend, client, web */
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) census = dtc_census_new(bundle, NULL, NULL, findings, &error);
	g_assert_no_error(error);
	g_autoptr(GPtrArray) by_cpu = dtc_splits_new(bundle, DTC_SPLIT_BY_CPU, NULL, findings, &error);
	g_assert_no_error(error);
	g_autoptr(GPtrArray) by_context = dtc_splits_new(bundle, DTC_SPLIT_BY_CONTEXT, NULL, findings, &error);
	g_assert_no_error(error);

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_census_source *source = dtc_census_find(census, i, false);
		assert_sums(dtc_splits_find(by_cpu, i), source);
		g_assert_cmpuint(dtc_splits_find(by_cpu, i)->parts->len, ==, cpus[i]);
		assert_sums(dtc_splits_find(by_context, i), source);
	}
	g_assert_null(dtc_splits_find(by_cpu, dtc_bundle_get_count(bundle)));
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 0);
}

/* What begins and ends a call or an interrupt is of it, so that both are equally many there. */
static void test_ends(void)
{
	g_autoptr(DtcBundle) bundle = demo_open();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) splits = dtc_splits_new(bundle, DTC_SPLIT_BY_CONTEXT, NULL, findings, &error);
	guint64 entries = 0, exits = 0, elsewhere = 0;

	g_assert_no_error(error);
	const struct dtc_split *split = dtc_splits_find(splits, 0);
	for (guint i = 0; i < split->parts->len; i++) {
		const struct dtc_split_part *part = &g_array_index(split->parts, struct dtc_split_part, i);
		for (guint k = 0; k < part->kinds->len; k++) {
			const struct dtc_split_kind *kind = &g_array_index(part->kinds, struct dtc_split_kind, k);
			bool is_entry = strcmp(kind->name, "irq_softirq_entry") == 0;
			if (!is_entry && strcmp(kind->name, "irq_softirq_exit") != 0)
				continue;
			if (part->state != DTC_STATE_SOFTIRQ)
				elsewhere += kind->count;
			else
				*(is_entry ? &entries : &exits) += kind->count;
		}
	}
	g_assert_cmpuint(entries, >, 1000);
	g_assert_cmpuint(entries, ==, exits);
	g_assert_cmpuint(elsewhere, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/split/sums", test_sums);
	g_test_add_func("/split/ends", test_ends);
	return g_test_run();
}
