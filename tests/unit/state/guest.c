/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual CPUs on their host, event by event. */
#include "collect/image/image.h"
#include "tests/support/story.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define RUN 0
#define SLEEP 1

static const struct dtc_vcpu *vcpu_of(const struct story *s, int tid)
{
	for (uint32_t i = 0; i < dtc_history_get_vcpu_count(s->history); i++) {
		const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(s->history, i);
		if (dtc_history_get_thread(s->history, vcpu->thread)->tid == tid)
			return vcpu;
	}
	g_assert_not_reached();
}

static void assert_span(const struct story *s, int tid, uint32_t index, int64_t entry, int64_t left, int64_t exit,
			int reason)
{
	const struct dtc_vcpu *vcpu = vcpu_of(s, tid);
	g_assert_cmpuint(index, <, vcpu->span_count);
	const struct dtc_guest_span *span = dtc_history_get_guest_span(s->history, vcpu->span_first + index);
	g_assert_cmpint(span->entry_ns, ==, entry);
	g_assert_cmpint(span->left_ns, ==, left);
	g_assert_cmpint(span->exit_ns, ==, exit);
	g_assert_cmpint(span->reason, ==, reason);
}

/* In and out twice; the thread itself stays in the call that runs the guest. */
static void test_entry_and_exit(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_ioctl(&s, 5, 0, STORY_KVM_RUN);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 30, 0, 0x7c);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 35, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 50, 0, 0x400);
	story_leave(&s, 55, 0, "ioctl", 0);
	story_switch(&s, 60, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_vcpu_count(s.history), ==, 1);
	g_assert_cmpint(vcpu_of(&s, 20)->number, ==, 0);
	g_assert_cmpuint(vcpu_of(&s, 20)->span_count, ==, 2);
	assert_span(&s, 20, 0, 10, 30, 30, 0x7c);
	assert_span(&s, 20, 1, 35, 50, 50, 0x400);
	const struct dtc_interval *call = story_interval(&s, 20, 50);
	g_assert_cmpint(call->state, ==, DTC_STATE_SYSCALL);
	g_assert_cmpint(call->begin_ns, ==, 5);
	g_assert_cmpint(call->end_ns, ==, 55);
	story_clear(&s);
}

/* SVM serves the host's interrupts before it logs the exit: the guest was left when the interrupt came. */
static void test_interrupt_before_exit(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_context(&s, DTC_EVENT_VECTOR_ENTRY, 25, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_context(&s, DTC_EVENT_VECTOR_EXIT, 28, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 30, 0, 0x60);
	/* an interrupt of the host while the exit is handled, and a timer callback without its vector */
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 32, 0, 7, "eth0");
	story_context(&s, DTC_EVENT_IRQ_EXIT, 33, 0, 7, NULL);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 35, 0, 0);
	story_context(&s, DTC_EVENT_HRTIMER_ENTRY, 40, 0, 1, NULL);
	story_context(&s, DTC_EVENT_HRTIMER_EXIT, 41, 0, 1, NULL);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 45, 0, 0x60);
	story_switch(&s, 60, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_end(&s);
	assert_span(&s, 20, 0, 10, 25, 30, 0x60);
	assert_span(&s, 20, 1, 35, 40, 45, 0x60);
	story_clear(&s);
}

/* Preempted after the exit was logged, and before: either way the guest was left before the switch. */
static void test_preempted(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 30, 0, 0x60);
	story_switch(&s, 32, 0, 20, "CPU 0/KVM", RUN, 30, "hog");
	story_switch(&s, 70, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 75, 0, 0);
	story_switch(&s, 80, 0, 20, "CPU 0/KVM", RUN, 30, "hog");
	story_switch(&s, 95, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_EXIT, 97, 0, 0x60);
	story_switch(&s, 99, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_end(&s);
	assert_span(&s, 20, 0, 10, 30, 30, 0x60);
	assert_span(&s, 20, 1, 75, 80, 97, 0x60);
	g_assert_cmpint(story_interval(&s, 20, 60)->state, ==, DTC_STATE_PREEMPTED);
	story_clear(&s);
}

/* Two vCPUs of one guest and one of another, interleaved; numbers that change are garbage. */
static void test_several(void)
{
	struct story s;
	story_begin(&s, "host");
	for (int cpu = 0; cpu < 3; cpu++)
		story_switch(&s, cpu, (uint32_t)cpu, 0, "swapper", RUN, 20 + cpu, "CPU/KVM");
	for (int turn = 0; turn < 3; turn++) {
		for (int cpu = 0; cpu < 3; cpu++) {
			struct dtc_event e = story_event(DTC_EVENT_KVM_ENTRY, 100 * turn + 10 + cpu, (uint32_t)cpu);
			e.v[DTC_KVM_VCPU] = cpu < 2 ? cpu : 40148048 + turn;
			dtc_machine_apply(s.machine, &e);
		}
		for (int cpu = 0; cpu < 3; cpu++)
			story_vm(&s, DTC_EVENT_KVM_EXIT, 100 * turn + 50 + cpu, (uint32_t)cpu, 0x78);
	}
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_vcpu_count(s.history), ==, 3);
	for (int cpu = 0; cpu < 3; cpu++) {
		g_assert_cmpint(vcpu_of(&s, 20 + cpu)->number, ==, cpu < 2 ? cpu : -1);
		g_assert_cmpuint(vcpu_of(&s, 20 + cpu)->span_count, ==, 3);
		for (int turn = 0; turn < 3; turn++)
			assert_span(&s, 20 + cpu, (uint32_t)turn, 100 * turn + 10 + cpu, 100 * turn + 50 + cpu,
				    100 * turn + 50 + cpu, 0x78);
	}
	story_clear(&s);
}

/* An exit without an entry says nothing; an entry after an entry ends the first; the last one ends with the trace. */
static void test_missing(void)
{
	struct story s;
	story_begin(&s, "host");
	story_vm(&s, DTC_EVENT_KVM_EXIT, 0, 0, 0x60); /* whose, is not known before the first switch */
	story_switch(&s, 5, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_EXIT, 8, 0, 0x60);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 20, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 30, 0, 0x60);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 40, 0, 0);
	story_switch(&s, 90, 1, 0, "swapper/1", RUN, 30, "other");
	story_end(&s);
	g_assert_cmpuint(vcpu_of(&s, 20)->span_count, ==, 3);
	assert_span(&s, 20, 0, 10, 20, DTC_TIME_NONE, DTC_EXIT_UNKNOWN);
	assert_span(&s, 20, 1, 20, 30, 30, 0x60);
	assert_span(&s, 20, 2, 40, 90, DTC_TIME_NONE, DTC_EXIT_UNKNOWN);
	story_clear(&s);
}

/* A stay ends where events were lost, and what comes after does not belong to it. */
static void test_lost(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_lost(&s, 30, 60, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 65, 0, 0x60);
	story_switch(&s, 70, 0, 20, "CPU 0/KVM", RUN, 30, "hog");
	story_switch(&s, 80, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_EXIT, 85, 0, 0x60);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 90, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 95, 0, 0x60);
	story_end(&s);
	g_assert_cmpuint(vcpu_of(&s, 20)->span_count, ==, 2);
	assert_span(&s, 20, 0, 10, 30, DTC_TIME_NONE, DTC_EXIT_UNKNOWN);
	assert_span(&s, 20, 1, 90, 95, 95, 0x60);
	g_assert_cmpint(story_interval(&s, 20, 50)->state, ==, DTC_STATE_UNKNOWN);
	story_clear(&s);
}

/* Interrupts for a guest: who made them pending, and when they went in. */
static void test_interrupts(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_switch(&s, 1, 1, 0, "swapper/1", RUN, 40, "vhost-19");
	story_guest_irq(&s, DTC_EVENT_KVM_ACCEPT, 10, 1, 0, 44);
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 12, 1, 7, "eth0");
	story_guest_irq(&s, DTC_EVENT_KVM_ACCEPT, 13, 1, 1, 45);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 14, 1, 7, NULL);
	story_guest_irq(&s, DTC_EVENT_KVM_INJECT, 20, 0, 0, 44);
	story_guest_irq(&s, DTC_EVENT_KVM_INJECT, 21, 0, 0, 999); /* no vector */
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_guest_irq_count(s.history), ==, 3);
	const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(s.history, 0);
	g_assert_cmpint(dtc_history_get_thread(s.history, irq->thread)->tid, ==, 40);
	g_assert_cmpint(irq->vector, ==, 44);
	g_assert_false(irq->is_injection);
	irq = dtc_history_get_guest_irq(s.history, 1);
	g_assert_cmpuint(irq->thread, ==, DTC_NONE);
	g_assert_cmpint(irq->apic, ==, 1);
	irq = dtc_history_get_guest_irq(s.history, 2);
	g_assert_true(irq->is_injection);
	g_assert_cmpint(dtc_history_get_thread(s.history, irq->thread)->tid, ==, 20);
	story_clear(&s);
}

/* The dump calls a thread of vhost a user's, for the memory that it works on; it runs in the kernel. */
static void test_vhost(void)
{
	static const int parents[] = { 2, 19 }; /* kthreadd; since Linux 6.4 the hypervisor */
	for (guint i = 0; i < G_N_ELEMENTS(parents); i++) {
		struct story s;
		story_begin(&s, "host");
		struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 0, 0);
		dump.v[DTC_DUMP_TID] = dump.v[DTC_DUMP_PID] = 40;
		dump.v[DTC_DUMP_PPID] = parents[i];
		dump.v[DTC_DUMP_TYPE] = 0;
		dump.text[0] = "vhost-19";
		dtc_machine_apply(s.machine, &dump);
		story_switch(&s, 10, 0, 0, "swapper/0", RUN, 40, "vhost-19");
		story_enter(&s, 15, 1, "read", 3); /* calls are traced */
		story_switch(&s, 20, 0, 40, "vhost-19", SLEEP, 0, "swapper/0");
		story_end(&s);
		uint32_t thread = dtc_history_find_thread(s.history, 40, DTC_TIME_NONE);
		g_assert_cmpint(dtc_history_get_thread(s.history, thread)->is_kernel, ==, i == 0);
		g_assert_cmpint(story_interval(&s, 40, 15)->state, ==, i == 0 ? DTC_STATE_KERNEL : DTC_STATE_USER);
		story_clear(&s);
	}
}

/*
 * Three vCPUs, of which one does not enter again after what happened was forgotten, and the others do so the other way
 * round: it is not known of that one any more. What ran it is unknown, but for a stay whose exit is yet to come.
 */
static void test_forgotten(void)
{
	struct story s;
	story_begin(&s, "host");
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		story_switch(&s, cpu, cpu, 0, "swapper", RUN, 20 + (int)cpu, "CPU/KVM");
		story_ioctl(&s, 5 + cpu, cpu, STORY_KVM_RUN);
		story_vm(&s, DTC_EVENT_KVM_ENTRY, 10 + cpu, cpu, cpu);
	}
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		story_vm(&s, DTC_EVENT_KVM_EXIT, 20 + cpu, cpu, 0x78);
	story_switch(&s, 30, 2, 22, "CPU/KVM", RUN, 30, "hog"); /* before its exit is logged */
	story_switch(&s, 40, 0, 20, "CPU/KVM", SLEEP, 0, "swapper");
	dtc_machine_forget(s.machine);
	story_switch(&s, 50, 2, 30, "hog", RUN, 22, "CPU/KVM");
	story_vm(&s, DTC_EVENT_KVM_EXIT, 52, 2, 0x60);
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 60, 1, 1);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 70, 1, 0x78);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_vcpu_count(s.history), ==, 2);
	g_assert_true(dtc_history_get_vcpu(s.history, 0) == vcpu_of(&s, 22));
	g_assert_cmpint(vcpu_of(&s, 21)->number, ==, 1);
	assert_span(&s, 22, 0, 12, 30, 52, 0x60);
	assert_span(&s, 21, 0, 60, 70, 70, 0x78);
	g_assert_cmpint(story_interval(&s, 22, 20)->state, ==, DTC_STATE_UNKNOWN);
	story_clear(&s);
}

/* Every guest has ended when what happened is forgotten. */
static void test_all_forgotten(void)
{
	struct story s;
	story_begin(&s, "host");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(&s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(&s, DTC_EVENT_KVM_EXIT, 30, 0, 0x7c);
	dtc_machine_forget(s.machine);
	story_switch(&s, 40, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_vcpu_count(s.history), ==, 0);
	story_clear(&s);
}

static void test_none(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_vcpu_count(s.history), ==, 0);
	g_assert_cmpuint(dtc_history_get_guest_irq_count(s.history), ==, 0);
	story_clear(&s);
}

#define SPAN_COUNT 4000 /* of each vCPU: more than stay on the heap */

/* Spans of two vCPUs in turns, which grew where the image is made: they lie there once, by vCPU. */
static void test_spans_in_image(void)
{
	const struct dtc_image_key key = { { 1 } };
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	int file = g_file_open_tmp("dtc-spans-XXXXXX", &path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcSpace) space = dtc_space_new(file, DTC_SPACE_HEAD);
	struct story s;
	story_begin(&s, "host");
	g_autoptr(DtcSpace) scratch = dtc_space_new_scratch();
	dtc_machine_set_spaces(s.machine, space, scratch);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		story_switch(&s, cpu, cpu, 0, "swapper", RUN, 20 + (int)cpu, "CPU/KVM");
		story_ioctl(&s, 5 + cpu, cpu, STORY_KVM_RUN);
	}
	for (guint i = 0; i < 2 * SPAN_COUNT; i++) {
		story_vm(&s, DTC_EVENT_KVM_ENTRY, 10 + 10 * (int64_t)i, i % 2, i % 2);
		story_vm(&s, DTC_EVENT_KVM_EXIT, 15 + 10 * (int64_t)i, i % 2, 1);
	}
	story_end(&s);
	for (guint i = 0; i < 2 * SPAN_COUNT; i++) {
		int64_t entry_ns = 10 + 10 * (int64_t)i;
		assert_span(&s, 20 + (int)(i % 2), i / 2, entry_ns, entry_ns + 5, entry_ns + 5, 1);
	}
	guint64 grown = dtc_space_get_end(space);
	dtc_history_save(s.history, writer);
	g_assert_true(dtc_image_complete(writer, space, &key, &error));
	g_assert_cmpint(lseek(file, 0, SEEK_END), <, grown + 2 * SPAN_COUNT * sizeof(struct dtc_guest_span));
	story_clear(&s);
	g_unlink(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/guest/entry-and-exit", test_entry_and_exit);
	g_test_add_func("/guest/interrupt-before-exit", test_interrupt_before_exit);
	g_test_add_func("/guest/preempted", test_preempted);
	g_test_add_func("/guest/several", test_several);
	g_test_add_func("/guest/missing", test_missing);
	g_test_add_func("/guest/lost", test_lost);
	g_test_add_func("/guest/interrupts", test_interrupts);
	g_test_add_func("/guest/vhost", test_vhost);
	g_test_add_func("/guest/forgotten", test_forgotten);
	g_test_add_func("/guest/all-forgotten", test_all_forgotten);
	g_test_add_func("/guest/none", test_none);
	g_test_add_func("/guest/spans-in-image", test_spans_in_image);
	return g_test_run();
}
