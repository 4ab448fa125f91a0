/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/cpus.h"

/* LTTng's status of a thread in its state dump: it waits for a CPU, or runs. */
#define STATUS_WAITS_FOR_CPU 2
#define STATUS_RUNS 6

/* CPUs do not start and stop at the same moment; a CPU that is woken records it within microseconds. */
#define SLACK_NS 100000000

struct cpu {
	bool is_present;
	bool is_named;
	int64_t first_named_ns; /* in events of other CPUs */
	int64_t last_named_ns;
	int64_t begin_ns; /* of its streams; DTC_ABSENT: not known */
	int64_t end_ns;
};

struct DtcCpus {
	GArray *list; /* struct cpu */
};

DtcCpus *dtc_cpus_new(void)
{
	DtcCpus *cpus = g_new0(DtcCpus, 1);
	cpus->list = g_array_new(FALSE, TRUE, sizeof(struct cpu));
	return cpus;
}

void dtc_cpus_free(DtcCpus *cpus)
{
	if (!cpus)
		return;
	g_array_unref(cpus->list);
	g_free(cpus);
}

static struct cpu *get(DtcCpus *cpus, int64_t number)
{
	if (number < 0 || number >= DTC_CPU_LIMIT)
		return NULL;
	if ((guint)number >= cpus->list->len)
		g_array_set_size(cpus->list, (guint)number + 1);
	return &g_array_index(cpus->list, struct cpu, number);
}

void dtc_cpus_add(DtcCpus *cpus, uint32_t cpu)
{
	struct cpu *to = get(cpus, cpu);
	if (to)
		to->is_present = true;
}

void dtc_cpus_add_span(DtcCpus *cpus, uint32_t cpu, int64_t begin_ns, int64_t end_ns)
{
	struct cpu *to = get(cpus, cpu);
	if (!to)
		return;
	to->begin_ns = to->end_ns == 0 ? begin_ns : MIN(to->begin_ns, begin_ns); /* DTC_ABSENT is the least */
	to->end_ns = to->end_ns == 0 ? end_ns : MAX(to->end_ns, end_ns);
}

static void name_cpu(DtcCpus *cpus, int64_t number, const struct dtc_event *event)
{
	struct cpu *to = number == event->cpu ? NULL : get(cpus, number);
	if (!to)
		return;
	to->first_named_ns = to->is_named ? MIN(to->first_named_ns, event->time_ns) : event->time_ns;
	to->last_named_ns = to->is_named ? MAX(to->last_named_ns, event->time_ns) : event->time_ns;
	to->is_named = true;
}

void dtc_cpus_name(DtcCpus *cpus, const struct dtc_event *event)
{
	switch (event->kind) {
	case DTC_EVENT_DUMP_PROCESS:
		if (event->v[DTC_DUMP_STATUS] == STATUS_WAITS_FOR_CPU || event->v[DTC_DUMP_STATUS] == STATUS_RUNS)
			name_cpu(cpus, event->v[DTC_DUMP_CPU], event);
		break;
	case DTC_EVENT_SCHED_MIGRATE:
		name_cpu(cpus, event->v[DTC_TASK_FROM_CPU], event);
		name_cpu(cpus, event->v[DTC_TASK_TARGET_CPU], event);
		break;
	default:
		name_cpu(cpus, event->v[DTC_TASK_TARGET_CPU], event);
		break;
	}
}

static bool is_missing(const DtcCpus *cpus, guint number)
{
	if (number >= cpus->list->len)
		return false;
	const struct cpu *cpu = &g_array_index(cpus->list, struct cpu, number);
	return cpu->is_named && !cpu->is_present;
}

char *dtc_cpus_list_missing(const DtcCpus *cpus, guint *ret_count)
{
	GString *list = g_string_new(NULL);

	*ret_count = 0;
	for (guint cpu = 0; cpu < cpus->list->len; cpu++) {
		if (!is_missing(cpus, cpu))
			continue;
		guint first = cpu;
		while (is_missing(cpus, cpu + 1))
			cpu++;
		*ret_count += cpu - first + 1;
		g_string_append_printf(list, "%s%u", list->len ? ", " : "", first);
		if (cpu > first)
			g_string_append_printf(list, "%s%u", cpu > first + 1 ? " to " : ", ", cpu);
	}
	return g_string_free(list, *ret_count == 0);
}

bool dtc_cpus_find_partial(const DtcCpus *cpus, guint *cpu, int64_t *ret_before_ns, int64_t *ret_after_ns)
{
	for (; *cpu < cpus->list->len; ++*cpu) {
		const struct cpu *found = &g_array_index(cpus->list, struct cpu, *cpu);
		if (!found->is_named || !found->is_present || found->end_ns == 0)
			continue;
		int64_t before_ns = found->begin_ns != DTC_ABSENT ? found->begin_ns - found->first_named_ns : 0;
		int64_t after_ns = found->last_named_ns - found->end_ns;
		*ret_before_ns = before_ns > SLACK_NS ? before_ns : 0;
		*ret_after_ns = after_ns > SLACK_NS ? after_ns : 0;
		if (*ret_before_ns || *ret_after_ns)
			return true;
	}
	return false;
}
