/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In what events come: entries and exits are of what they begin and end, a switch of the thread that leaves. */
#include "analyze/state/event_context.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1

static void assert_context(const struct story *s, const struct dtc_event_context *context, enum dtc_state state,
			   const char *name, const char *process)
{
	g_assert_cmpstr(dtc_state_to_string(context->state), ==, dtc_state_to_string(state));
	g_assert_cmpstr(dtc_machine_get_string(s->machine, context->name), ==, name);
	g_assert_cmpstr(dtc_machine_get_string(s->machine, context->process), ==, process);
}

static struct dtc_event_context apply(struct story *s, enum dtc_event_kind kind, int64_t t, int64_t value,
				      const char *text)
{
	struct dtc_event e = story_event(kind, t, 0);
	e.v[0] = value;
	e.text[0] = text;
	return dtc_machine_apply_in_context(s->machine, &e);
}

static struct dtc_event_context apply_call(struct story *s, enum dtc_event_kind kind, int64_t t, const char *name)
{
	return apply(s, kind, t, dtc_machine_add_call_name(s->machine, name), NULL);
}

static void test_contexts(void)
{
	struct story s;
	struct dtc_event_context c;

	story_begin(&s, "n");
	/* before its first switch it is not known who has the CPU, but an interrupt is one */
	c = apply(&s, DTC_EVENT_CPU_IDLE, 1, 0, NULL);
	assert_context(&s, &c, DTC_STATE_UNKNOWN, "", "");
	c = apply(&s, DTC_EVENT_IRQ_ENTRY, 2, 7, "eth0");
	assert_context(&s, &c, DTC_STATE_IRQ, "eth0", "");
	c = apply(&s, DTC_EVENT_IRQ_EXIT, 3, 7, NULL);
	assert_context(&s, &c, DTC_STATE_IRQ, "eth0", "");

	story_switch(&s, 10, 0, 0, "swapper/0", RUN, 10, "worker");
	c = apply_call(&s, DTC_EVENT_SYSCALL_ENTRY, 20, "write");
	assert_context(&s, &c, DTC_STATE_SYSCALL, "write", "worker");
	c = apply(&s, DTC_EVENT_SOFTIRQ_ENTRY, 30, 3, NULL);
	assert_context(&s, &c, DTC_STATE_SOFTIRQ, "", "worker");
	g_assert_cmpuint(c.vector, ==, 3);
	c = apply(&s, DTC_EVENT_OTHER, 35, 0, NULL);
	assert_context(&s, &c, DTC_STATE_SOFTIRQ, "", "worker");
	c = apply(&s, DTC_EVENT_SOFTIRQ_EXIT, 40, 3, NULL);
	assert_context(&s, &c, DTC_STATE_SOFTIRQ, "", "worker");
	c = apply(&s, DTC_EVENT_OTHER, 45, 0, NULL);
	assert_context(&s, &c, DTC_STATE_SYSCALL, "write", "worker");
	c = apply_call(&s, DTC_EVENT_SYSCALL_EXIT, 50, "write");
	assert_context(&s, &c, DTC_STATE_SYSCALL, "write", "worker");
	c = apply(&s, DTC_EVENT_FAULT_USER, 60, 0x1000, NULL);
	assert_context(&s, &c, DTC_STATE_USER, "", "worker");

	story_switch(&s, 70, 0, 10, "worker", SLEEP, 0, "swapper/0");
	c = apply(&s, DTC_EVENT_CPU_IDLE, 75, 1, NULL);
	assert_context(&s, &c, DTC_STATE_IDLE, "", "idle");
	c = apply(&s, DTC_EVENT_IRQ_ENTRY, 80, 7, "eth0");
	assert_context(&s, &c, DTC_STATE_IRQ, "eth0", "idle");
	/* a CPU of which there is nothing yet */
	c = dtc_machine_get_context(s.machine, 5);
	assert_context(&s, &c, DTC_STATE_UNKNOWN, "", "");
	(void)story_end(&s);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/event-context/contexts", test_contexts);
	return g_test_run();
}
