/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a virtual CPU did as its host saw it, and what a guest alone lets guess. */
#include "analyze/profile/machines.h"
#include "tests/support/host_story.h"

#define TICK 4000000 /* CONFIG_HZ=250 */

static void test_host(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_host(&p.host);
	host_story_tell_guest(&p.guest);
	host_story_end(&p, "20");
	g_autoptr(GArray) cpus = dtc_machines_list(p.links, HOST, (DtcNodeTime){ 0 }, (DtcNodeTime){ 990 });

	g_assert_cmpuint(cpus->len, ==, 1);
	const struct dtc_vm_cpu *cpu = &g_array_index(cpus, struct dtc_vm_cpu, 0);
	g_assert_cmpuint(cpu->guest, ==, GUEST);
	g_assert_cmpint(cpu->number, ==, 0);
	g_assert_cmpint(cpu->begin_ns, ==, 10); /* its first entry */
	g_assert_cmpint(cpu->running_ns, ==, 90 + 80 + 90 + 40 + 60 + 170);
	g_assert_cmpint(cpu->stolen_ns, ==, 95 + 30 + 10);
	g_assert_cmpint(cpu->halted_ns, ==, 95);
	g_assert_cmpint(cpu->blocked_ns, ==, 95);
	g_assert_cmpint(cpu->unknown_ns, ==, 0);
	g_assert_cmpint(cpu->running_ns + cpu->stolen_ns + cpu->handled_ns + cpu->halted_ns + cpu->blocked_ns, ==, 980);
	g_assert_cmpuint(cpu->wakeups, ==, 1);
	g_assert_cmpint(cpu->woken_ns, ==, 40);
	g_assert_cmpint(cpu->woken_max_ns, ==, 40);

	const struct dtc_vm_thief *thief = &g_array_index(cpu->thieves, struct dtc_vm_thief, 0);
	g_assert_cmpint(dtc_history_get_thread(p.histories[HOST], thief->thread)->tid, ==, 30);
	g_assert_cmpint(thief->ns, ==, 95);
	uint64_t exits = 0;
	int64_t handled_ns = 0;
	for (guint i = 0; i < cpu->exits->len; i++) {
		const struct dtc_vm_exit *exit = &g_array_index(cpu->exits, struct dtc_vm_exit, i);
		exits += exit->count;
		handled_ns += exit->ns;
		if (exit->reason == PORT)
			g_assert_cmpint(exit->ns, ==, 60);
	}
	g_assert_cmpuint(exits, ==, 5); /* the last one lies at the end of the span */
	g_assert_cmpint(handled_ns, ==, cpu->handled_ns);
	host_story_clear(&p);
}

/* The guest was not traced: the host tells the same. */
static void test_host_alone(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_host(&p.host);
	host_story_tell_guest(&p.guest);
	host_story_end(&p, "20");
	const DtcHistory *histories[] = { p.histories[HOST] };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, host_story_names, histories, clocks);
	g_autoptr(GArray) cpus = dtc_machines_list(links, HOST, (DtcNodeTime){ 0 }, (DtcNodeTime){ 990 });
	const struct dtc_vm_cpu *cpu = &g_array_index(cpus, struct dtc_vm_cpu, 0);

	g_assert_cmpuint(cpu->guest, ==, G_MAXUINT);
	g_assert_false(cpu->is_verified);
	g_assert_cmpint(cpu->stolen_ns, ==, 95 + 30 + 10);
	host_story_clear(&p);
}

static void tick(struct story *s, int64_t at_ns)
{
	story_context(s, DTC_EVENT_VECTOR_ENTRY, at_ns, 0, DTC_VECTOR_LOCAL_TIMER, "local_timer");
	story_context(s, DTC_EVENT_VECTOR_EXIT, at_ns + 1000, 0, DTC_VECTOR_LOCAL_TIMER, "local_timer");
}

/* 40 interrupts in time; then one is late by so much, in user code or in a call. */
static GArray *infer_after(struct story *s, int64_t late_ns, bool is_idle, bool in_call)
{
	int64_t at_ns = 0;

	story_begin(s, "guest");
	story_switch(s, 100, 0, 0, "swapper/0", RUN, 7, "job");
	for (guint i = 1; i <= 40; i++) {
		at_ns = TICK * (int64_t)i;
		tick(s, at_ns);
	}
	if (in_call)
		story_enter(s, at_ns + 2000, 0, "getpid", -1);
	if (is_idle)
		story_switch(s, at_ns + 2000, 0, 7, "job", SLEEP, 0, "swapper/0");
	at_ns += TICK + late_ns;
	tick(s, at_ns);
	story_switch(s, at_ns + 3000, 0, is_idle ? 0 : 7, is_idle ? "swapper/0" : "job", RUN, 9, "other");
	DtcHistory *h = story_end(s);
	return dtc_machines_infer(h, (DtcNodeTime){ 0 }, (DtcNodeTime){ INT64_MAX });
}

static void test_silence(void)
{
	static const struct {
		int64_t late_ns;
		bool is_idle, in_call;
		int64_t user_ns, kernel_ns;
	} cases[] = {
		{ 7000000, false, false, 7000000, 0 },
		{ 7000000, false, true, 0, 7000000 },
		{ 7000000, true, false, 0, 0 }, /* an idle CPU needs no timer */
		{ 100000, false, false, 0, 0 }, /* interrupts may be late by that */
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct story s;
		g_autoptr(GArray) cpus = infer_after(&s, cases[i].late_ns, cases[i].is_idle, cases[i].in_call);
		const struct dtc_vm_silent_cpu *cpu = &g_array_index(cpus, struct dtc_vm_silent_cpu, 0);
		g_assert_cmpint(cpu->period_ns, ==, TICK);
		g_assert_cmpint(cpu->user_ns, ==, cases[i].user_ns);
		g_assert_cmpint(cpu->kernel_ns, ==, cases[i].kernel_ns);
		g_assert_cmpuint(cpu->silences->len, ==, cases[i].user_ns + cases[i].kernel_ns > 0);
		if (cpu->silences->len) {
			const struct dtc_vm_silence *silence = &g_array_index(cpu->silences, struct dtc_vm_silence, 0);
			g_assert_cmpint(silence->due_ns, ==, 41 * (int64_t)TICK);
			g_assert_cmpint(cpu->at_most_ns, >=, cases[i].late_ns);
			g_assert_cmpint(cpu->at_most_ns, <=, cases[i].late_ns + TICK);
		}
		story_clear(&s);
	}
}

/* Without interrupts of a timer nothing is told. */
static void test_no_timer(void)
{
	struct story s;
	story_begin(&s, "guest");
	story_switch(&s, 100, 0, 0, "swapper/0", RUN, 7, "job");
	story_switch(&s, 100000000, 0, 7, "job", RUN, 9, "other");
	DtcHistory *h = story_end(&s);
	g_autoptr(GArray) cpus = dtc_machines_infer(h, (DtcNodeTime){ 0 }, (DtcNodeTime){ INT64_MAX });
	const struct dtc_vm_silent_cpu *cpu = &g_array_index(cpus, struct dtc_vm_silent_cpu, 0);

	g_assert_cmpint(cpu->period_ns, ==, 0);
	g_assert_cmpint(cpu->at_most_ns, ==, 0);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vms/host", test_host);
	g_test_add_func("/vms/host-alone", test_host_alone);
	g_test_add_func("/vms/silence", test_silence);
	g_test_add_func("/vms/no-timer", test_no_timer);
	return g_test_run();
}
