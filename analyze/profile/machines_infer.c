/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A guest whose host was not traced. The timer interrupts a CPU that runs a thread at a steady pace (CONFIG_HZ); user
 * code cannot keep interrupts off, the kernel does so for microseconds. So where a CPU logs nothing from before its
 * timer was due until long after, it did not run from then on: its host had given it to somebody else (or firmware had
 * it). Since when it did not run is not seen, only that it was after the last event.
 */
#include "analyze/profile/machines.h"

#include <stdlib.h>
#include <string.h>

/* What is shorter may be a long stretch with interrupts off, or a slow exit. */
#define LATE_NS 500000
/* So many intervals between interrupts must be of one length before it is believed to be the timer's. */
#define TELLING_TICKS 16

static void silent_cpu_clear(void *data)
{
	g_array_unref(((struct dtc_vm_silent_cpu *)data)->silences);
}

static bool is_timer(const DtcHistory *h, const struct dtc_interval *v)
{
	if (v->state != DTC_STATE_IRQ || v->ref == DTC_NONE)
		return false;
	const char *name = dtc_history_get_string(h, v->ref);
	return strcmp(name, "local_timer") == 0 || strcmp(name, "arch_timer") == 0; /* x86, ARM */
}

/* What ran on one CPU, in time order; idle too. */
static gint compare_begin(gconstpointer a, gconstpointer b)
{
	const struct dtc_interval *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Array of GArray of struct dtc_interval by CPU. */
static GPtrArray *list_running(const DtcHistory *h)
{
	guint cpu_count = dtc_history_get_cpu_count(h);
	GPtrArray *running = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (guint cpu = 0; cpu < cpu_count; cpu++)
		g_ptr_array_add(running, g_array_new(FALSE, FALSE, sizeof(struct dtc_interval)));
	for (uint32_t t = 0; t < dtc_history_get_thread_count(h); t++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_get_interval_after(h, t, INT64_MIN, &place);
		for (; v; v = dtc_history_get_next_interval(h, &place)) {
			if ((dtc_state_is_running(v->state) || v->state == DTC_STATE_IDLE) && v->cpu < cpu_count)
				g_array_append_vals(g_ptr_array_index(running, v->cpu), v, 1);
		}
	}
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		g_array_sort(g_ptr_array_index(running, cpu), compare_begin);
	return running;
}

/* The pace of the timer: what most of the times between interrupts of a busy CPU are. 0: none is. */
static int64_t find_period(const DtcHistory *h, const GArray *running)
{
	static const int64_t periods[] = { 1000000, 3333333, 4000000, 10000000 }; /* CONFIG_HZ 1000, 300, 250, 100 */
	guint counts[G_N_ELEMENTS(periods)] = { 0 }, best = 0;
	int64_t last_ns = DTC_TIME_NONE;

	for (guint i = 0; i < running->len; i++) {
		const struct dtc_interval *v = &g_array_index(running, struct dtc_interval, i);
		if (v->state == DTC_STATE_IDLE)
			last_ns = DTC_TIME_NONE;
		if (!is_timer(h, v))
			continue;
		for (guint k = 0; last_ns != DTC_TIME_NONE && k < G_N_ELEMENTS(periods); k++)
			counts[k] += llabs(v->begin_ns - last_ns - periods[k]) < periods[k] / 20;
		last_ns = v->begin_ns;
	}
	for (guint k = 1; k < G_N_ELEMENTS(periods); k++)
		if (counts[k] > counts[best])
			best = k;
	return counts[best] >= TELLING_TICKS ? periods[best] : 0;
}

static void add_silence(struct dtc_vm_silent_cpu *cpu, const struct dtc_vm_silence *silence)
{
	int64_t late_ns = silence->end_ns - silence->due_ns;

	if (silence->is_kernel)
		cpu->kernel_ns += late_ns;
	else
		cpu->user_ns += late_ns;
	cpu->at_most_ns += silence->end_ns - silence->begin_ns;
	g_array_append_vals(cpu->silences, silence, 1);
}

/* An interval in which nothing happened, and in which the timer was due, since the interrupt before was so long ago. */
static void judge(struct dtc_vm_silent_cpu *cpu, const struct dtc_interval *v, int64_t tick_ns)
{
	bool is_user = v->state == DTC_STATE_USER;
	bool is_kernel = v->state == DTC_STATE_SYSCALL || v->state == DTC_STATE_KERNEL;
	int64_t due_ns = tick_ns + cpu->period_ns;
	const struct dtc_vm_silence silence = { v->begin_ns, due_ns, v->end_ns, v->thread, is_kernel };

	/* due before: the kernel had stopped it, or kept interrupts off */
	if ((is_user || is_kernel) && due_ns > v->begin_ns && v->end_ns - due_ns >= LATE_NS)
		add_silence(cpu, &silence);
}

static void infer_cpu(struct dtc_vm_silent_cpu *cpu, const DtcHistory *h, const GArray *running, DtcNodeTime begin,
		      DtcNodeTime end)
{
	int64_t tick_ns = DTC_TIME_NONE,
		until_ns = DTC_TIME_NONE; /* the last interrupt, and how far the CPU is known */

	for (guint i = 0; i < running->len; i++) {
		const struct dtc_interval *v = &g_array_index(running, struct dtc_interval, i);
		if (v->state == DTC_STATE_IDLE || v->begin_ns != until_ns)
			tick_ns = DTC_TIME_NONE; /* an idle CPU stops its timer */
		until_ns = v->end_ns;
		if (is_timer(h, v))
			tick_ns = v->begin_ns;
		if (v->begin_ns < begin.ns || v->end_ns > end.ns)
			continue;
		cpu->busy_ns += v->state == DTC_STATE_IDLE ? 0 : v->end_ns - v->begin_ns;
		if (tick_ns != DTC_TIME_NONE)
			judge(cpu, v, tick_ns);
	}
}

GArray *dtc_machines_infer(const DtcHistory *history, DtcNodeTime begin, DtcNodeTime end)
{
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(struct dtc_vm_silent_cpu));
	g_autoptr(GPtrArray) running = list_running(history);

	g_array_set_clear_func(cpus, silent_cpu_clear);
	for (guint i = 0; i < running->len; i++) {
		const GArray *own = g_ptr_array_index(running, i);
		struct dtc_vm_silent_cpu cpu = { .cpu = i,
						 .period_ns = find_period(history, own),
						 .silences = g_array_new(FALSE, FALSE, sizeof(struct dtc_vm_silence)) };
		if (cpu.period_ns)
			infer_cpu(&cpu, history, own, begin, end);
		g_array_append_val(cpus, cpu);
	}
	return cpus;
}
