/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which CPUs must have a stream, and until when. */
#include "collect/read/cpus.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

static struct dtc_event make(uint16_t kind, uint32_t cpu, int64_t time_ns)
{
	struct dtc_event event = { .kind = kind, .cpu = cpu, .time_ns = time_ns };
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		event.v[i] = DTC_ABSENT;
	return event;
}

static void wake(DtcCpus *cpus, uint32_t cpu, int64_t target, int64_t time_ns)
{
	struct dtc_event event = make(DTC_EVENT_SCHED_WAKEUP, cpu, time_ns);
	event.v[DTC_TASK_TARGET_CPU] = target;
	g_assert_true(dtc_cpus_are_named_by(event.kind));
	dtc_cpus_name(cpus, &event);
}

static void migrate(DtcCpus *cpus, int64_t from, int64_t to)
{
	struct dtc_event event = make(DTC_EVENT_SCHED_MIGRATE, 0, SECOND);
	event.v[DTC_TASK_FROM_CPU] = from;
	event.v[DTC_TASK_TARGET_CPU] = to;
	dtc_cpus_name(cpus, &event);
}

static void dump(DtcCpus *cpus, int64_t cpu, int64_t status)
{
	struct dtc_event event = make(DTC_EVENT_DUMP_PROCESS, 0, SECOND);
	event.v[DTC_DUMP_CPU] = cpu;
	event.v[DTC_DUMP_STATUS] = status;
	dtc_cpus_name(cpus, &event);
}

static void assert_missing(const DtcCpus *cpus, const char *expected, guint expected_count)
{
	guint count;
	g_autofree char *missing = dtc_cpus_list_missing(cpus, &count);
	g_assert_cmpstr(missing, ==, expected);
	g_assert_cmpuint(count, ==, expected_count);
}

static void test_missing(void)
{
	DtcCpus *cpus = dtc_cpus_new();
	dtc_cpus_add(cpus, 0);
	dtc_cpus_add(cpus, 4);
	wake(cpus, 0, 4, SECOND);
	wake(cpus, 4, 0, SECOND);
	wake(cpus, 0, DTC_ABSENT, SECOND);
	wake(cpus, 0, 1 << 20, SECOND); /* no CPU has such a number */
	dump(cpus, 9, 5);		/* sleeps since its CPU went offline */
	assert_missing(cpus, NULL, 0);
	migrate(cpus, 1, 4);
	assert_missing(cpus, "1", 1);
	dump(cpus, 9, 6); /* runs */
	dump(cpus, 7, 2); /* waits for its CPU */
	migrate(cpus, 2, 3);
	assert_missing(cpus, "1 to 3, 7, 9", 5);
	wake(cpus, 0, 8, SECOND);
	wake(cpus, 0, 6, SECOND);
	dtc_cpus_add(cpus, 7);
	assert_missing(cpus, "1 to 3, 6, 8, 9", 6);
	dtc_cpus_free(cpus);
}

static void test_partial(void)
{
	DtcCpus *cpus = dtc_cpus_new();
	guint cpu = 0;
	int64_t before_ns, after_ns;
	for (uint32_t i = 0; i < 4; i++)
		dtc_cpus_add(cpus, i);
	wake(cpus, 0, 1, 10 * SECOND);
	wake(cpus, 0, 2, 10 * SECOND);
	wake(cpus, 0, 1, 20 * SECOND);
	wake(cpus, 1, 0, 20 * SECOND);
	dtc_cpus_add_span(cpus, 0, 5 * SECOND, 20 * SECOND);
	dtc_cpus_add_span(cpus, 1, 10 * SECOND + 50000000,
			  19 * SECOND + 950000000); /* CPUs start one after the other */
	dtc_cpus_add_span(cpus, 2, DTC_ABSENT, 30 * SECOND);
	dtc_cpus_add_span(cpus, 3, 18 * SECOND, 19 * SECOND); /* nobody named it */
	g_assert_false(dtc_cpus_find_partial(cpus, &cpu, &before_ns, &after_ns));
	wake(cpus, 0, 2, 32 * SECOND);
	wake(cpus, 0, 2, 33 * SECOND);
	cpu = 0;
	g_assert_true(dtc_cpus_find_partial(cpus, &cpu, &before_ns, &after_ns));
	g_assert_cmpuint(cpu, ==, 2);
	g_assert_cmpint(before_ns, ==, 0);
	g_assert_cmpint(after_ns, ==, 3 * SECOND);
	cpu++;
	g_assert_false(dtc_cpus_find_partial(cpus, &cpu, &before_ns, &after_ns));
	dtc_cpus_free(cpus);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cpus/missing", test_missing);
	g_test_add_func("/cpus/partial", test_partial);
	return g_test_run();
}
