/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guest's time and what its host did meanwhile: small stories of a host and its guests, told event by event. */
#include "analyze/path/walk.h"
#include "tests/support/host_story.h"
#include "tests/support/said.h"

static DtcPath *walk(const struct host_story *p, guint node, int tid, int64_t begin, int64_t end)
{
	const struct dtc_path_target target = {
		.node = node,
		.thread = dtc_history_find_thread(p->histories[node], tid, DTC_TIME_NONE),
		.begin = { begin },
		.end = { end },
		.call = DTC_NONE,
	};
	const struct dtc_path_options options = { 0 };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(p->links);
	DtcPath *path = dtc_path_walk(edges, &target, &options, &error);
	g_assert_no_error(error);
	dtc_path_check(path, &error);
	g_assert_no_error(error);
	return path;
}

/* What the path must be, from its begin: up to when, whose, and why. */
struct want {
	int64_t end;
	guint node;
	int tid;
	enum dtc_cause cause;
	const char *detail; /* NULL: whatever */
};

static void assert_path(const struct host_story *p, const DtcPath *path, const struct want *wants, guint count)
{
	for (guint i = 0; i < count && i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		g_test_message("segment %u: to %d, %s", i, (int)s->end.ns, dtc_cause_to_string(s->cause));
		g_assert_cmpint(s->end.ns, ==, wants[i].end);
		g_assert_cmpuint(s->node, ==, wants[i].node);
		g_assert_cmpint(s->tid, ==, wants[i].tid);
		g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(wants[i].cause));
		if (wants[i].detail)
			g_assert_cmpstr(said_of_segment(p->links, s), ==, wants[i].detail);
	}
	g_assert_cmpuint(dtc_path_get_segment_count(path), ==, count);
}

static void test_exits_and_preemption(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_host(&p.host);
	host_story_tell_guest(&p.guest);
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 20, 480);
	static const struct want wants[] = {
		{ 100, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 120, GUEST, 7, DTC_CAUSE_VM_EXIT, "msr, handled by the kernel of host" },
		{ 200, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 205, GUEST, 7, DTC_CAUSE_VM_EXIT, "interrupt, handled by the kernel of host" },
		{ 300, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, "by hog (tid 30) on host" },
		{ 310, GUEST, 7, DTC_CAUSE_VM_EXIT, "interrupt, handled by the kernel of host" },
		{ 320, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 330, GUEST, 7, DTC_CAUSE_PREEMPTED, "by other (tid 9)" },
		{ 400, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 410, GUEST, 7, DTC_CAUSE_VM_EXIT, "port I/O, handled by the kernel of host" },
		{ 420, GUEST, 7, DTC_CAUSE_VM_EXIT, "port I/O, handled by CPU 0/KVM on host" },
		{ 440, GUEST, 7, DTC_CAUSE_VM_EXIT, "port I/O, handled by CPU 0/KVM on host: write" },
		{ 450, GUEST, 7, DTC_CAUSE_VM_EXIT, "port I/O, handled by CPU 0/KVM on host" },
		{ 460, GUEST, 7, DTC_CAUSE_VM_EXIT, "port I/O, handled by the kernel of host" },
		{ 480, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	const struct dtc_segment *preempted = dtc_path_get_segment(path, 4);
	g_assert_cmpint(preempted->link, ==, DTC_LINK_INFERRED); /* told, and too few events to verify it */
	g_assert_cmpint(preempted->uncertainty_ns, >=, 3);	 /* rounded up */
	g_assert_cmpint(preempted->uncertainty_ns, <=, 4);
	g_assert_cmpint(dtc_path_get_segment(path, 5)->uncertainty_ns, ==, preempted->uncertainty_ns);
	g_assert_cmpint(dtc_path_get_segment(path, 6)->uncertainty_ns, ==, 0);
	host_story_clear(&p);
}

/* A thread that waits for the guest's CPU waits for the host as long as that CPU does not run. */
static void test_runqueue(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_host(&p.host);
	host_story_tell_guest(&p.guest);
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 9, 190, 330);
	static const struct want wants[] = {
		{ 200, GUEST, 9, DTC_CAUSE_RUNQUEUE, "by job (tid 7)" },
		{ 205, GUEST, 9, DTC_CAUSE_VM_EXIT, NULL },
		{ 300, GUEST, 9, DTC_CAUSE_VM_PREEMPTED, "by hog (tid 30) on host" },
		{ 310, GUEST, 9, DTC_CAUSE_VM_EXIT, NULL },
		{ 320, GUEST, 9, DTC_CAUSE_RUNQUEUE, "by job (tid 7)" },
		{ 330, GUEST, 9, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	host_story_clear(&p);
}

/* The guest's memory comes from the host's disk: the path goes through the vCPU's thread to that request and back. */
static void test_blocked_in_host(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_host(&p.host);
	host_story_tell_guest(&p.guest);
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 660, 960);
	static const struct want wants[] = {
		{ 700, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 705, GUEST, 7, DTC_CAUSE_VM_EXIT, "nested page fault, handled by the kernel of host" },
		{ 800, HOST, 20, DTC_CAUSE_DISK, NULL },
		{ 810, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, "the CPU was still idle on host" },
		{ 820, GUEST, 7, DTC_CAUSE_VM_EXIT, "nested page fault, handled by the kernel of host" },
		{ 960, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	host_story_clear(&p);
}

/* No cluster file and too few events: the guest's time stays what the guest says, and so without any kvm events. */
static void test_not_known(void)
{
	for (int with_kvm = 0; with_kvm < 2; with_kvm++) {
		struct host_story p;
		host_story_begin(&p);
		if (with_kvm)
			host_story_tell_host(&p.host);
		else
			story_switch(&p.host, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
		host_story_tell_guest(&p.guest);
		host_story_end(&p, with_kvm ? NULL : "20");
		g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 20, 480);
		static const struct want wants[] = {
			{ 320, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
			{ 330, GUEST, 7, DTC_CAUSE_PREEMPTED, NULL },
			{ 480, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		};
		assert_path(&p, path, wants, G_N_ELEMENTS(wants));
		host_story_clear(&p);
	}
}

/* Two vCPUs: what happens to one does not touch the other's threads. The last stay has no exit. */
static void test_two_vcpus(void)
{
	struct host_story p;
	host_story_begin(&p);
	struct story *s = &p.host;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, 21, "CPU 1/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 11, 1, 1);
	story_vm(s, DTC_EVENT_KVM_EXIT, 100, 1, INTR);
	story_switch(s, 110, 1, 21, "CPU 1/KVM", RUN, 30, "hog");
	story_switch(s, 200, 1, 30, "hog", RUN, 21, "CPU 1/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 210, 1, 1);
	story_switch(s, 400, 2, 0, "swapper/2", RUN, 31, "other");
	s = &p.guest;
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "a");
	story_switch(s, SHIFT + 21, 1, 0, "swapper/1", RUN, 8, "b");
	story_switch(s, SHIFT + 300, 1, 8, "b", SLEEP, 0, "swapper/1");
	story_switch(s, SHIFT + 301, 0, 7, "a", SLEEP, 0, "swapper/0");
	host_story_end(&p, "20;21");
	g_autoptr(DtcPath) a = walk(&p, GUEST, 7, 30, 290);
	static const struct want wants_a[] = { { 290, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL } };
	assert_path(&p, a, wants_a, G_N_ELEMENTS(wants_a));
	g_autoptr(DtcPath) b = walk(&p, GUEST, 8, 30, 290);
	static const struct want wants_b[] = {
		{ 100, GUEST, 8, DTC_CAUSE_RUNNING_USER, NULL },
		{ 110, GUEST, 8, DTC_CAUSE_VM_EXIT, "interrupt, handled by host" },
		{ 200, GUEST, 8, DTC_CAUSE_VM_PREEMPTED, "by hog (tid 30) on host" },
		{ 210, GUEST, 8, DTC_CAUSE_VM_EXIT, "interrupt, handled by host" },
		{ 290, GUEST, 8, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, b, wants_b, G_N_ELEMENTS(wants_b));
	host_story_clear(&p);
}

/* Lost events of the host: what it did in the gap is not known, so the guest's time stays the guest's there. */
static void test_lost_events(void)
{
	struct host_story p;
	host_story_begin(&p);
	struct story *s = &p.host;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 100, 0, MSR);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 110, 0, 0);
	story_lost(s, 150, 250, 0);
	story_switch(s, 260, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 270, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 390, 0, MSR);
	s = &p.guest;
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "a");
	story_switch(s, SHIFT + 300, 0, 7, "a", SLEEP, 0, "swapper/0");
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 30, 300);
	static const struct want wants[] = {
		{ 100, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL }, { 110, GUEST, 7, DTC_CAUSE_VM_EXIT, NULL },
		{ 150, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL }, { 260, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 270, GUEST, 7, DTC_CAUSE_VM_EXIT, NULL },	 { 300, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	host_story_clear(&p);
}

/* The part of the sleep in which its timer was due and the vCPU away is the host's. */
static void test_timer_late(void)
{
	struct host_story p;
	host_story_begin(&p);
	host_story_tell_late_timer(&p);
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 80, 700);
	static const struct want wants[] = {
		{ 90, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 400, GUEST, 7, DTC_CAUSE_TIMER, "nanosleep" },
		{ 600, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, "by hog (tid 30) on host" },
		{ 610, GUEST, 7, DTC_CAUSE_VM_EXIT, "halt, handled by the kernel of host" },
		{ 630, GUEST, 7, DTC_CAUSE_TIMER, "nanosleep" },
		{ 640, GUEST, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ 650, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 700, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	host_story_clear(&p);
}

/*
 * A disk of the guest: its request is written by a thread of the hypervisor, which waits for the host's disk and then
 * raises the interrupt; the vCPU is preempted meanwhile.
 */
static void test_guest_disk(void)
{
	struct host_story p;
	host_story_begin(&p);
	struct story *s = &p.host;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, 40, "iothread");
	story_switch(s, 2, 1, 40, "iothread", SLEEP, 0, "swapper/1");
	story_ioctl(s, 5, 0, STORY_KVM_RUN);
	story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 8, 0, 0, 236);
	story_guest_irq(s, DTC_EVENT_KVM_INJECT, 9, 0, 0, 236);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 100, 0, FAULT); /* the kick of the queue */
	story_task(s, DTC_EVENT_SCHED_WAKING, 105, 0, 40, "iothread", 1);
	story_switch(s, 110, 1, 0, "swapper/1", RUN, 40, "iothread");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 115, 0, 0);
	story_enter(s, 120, 1, "pwritev", -1);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, 125, 1, 8, 8);
	story_switch(s, 130, 1, 40, "iothread", DISK, 0, "swapper/1");
	story_vm(s, DTC_EVENT_KVM_EXIT, 150, 0, HALT);
	story_switch(s, 155, 0, 20, "CPU 0/KVM", SLEEP, 30, "hog");
	story_context(s, DTC_EVENT_IRQ_ENTRY, 298, 1, 9, "nvme0");
	story_block(s, DTC_EVENT_BLOCK_COMPLETE, 299, 1, 8, 8);
	story_task(s, DTC_EVENT_SCHED_WAKING, 300, 1, 40, "iothread", 1);
	story_context(s, DTC_EVENT_IRQ_EXIT, 301, 1, 9, NULL);
	story_switch(s, 310, 1, 0, "swapper/1", RUN, 40, "iothread");
	story_leave(s, 320, 1, "pwritev", 512);
	story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 340, 1, 0, 41);
	story_task(s, DTC_EVENT_SCHED_WAKING, 341, 1, 20, "CPU 0/KVM", 0);
	story_switch(s, 500, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_guest_irq(s, DTC_EVENT_KVM_INJECT, 505, 0, 0, 41);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 510, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 800, 0, INTR);
	s = &p.guest;
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "job");
	story_enter(s, SHIFT + 80, 0, "fsync", -1);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, SHIFT + 95, 0, 64, 8);
	story_switch(s, SHIFT + 120, 0, 7, "job", DISK, 0, "swapper/0");
	story_context(s, DTC_EVENT_IRQ_ENTRY, SHIFT + 520, 0, 31, "virtio1-req.0");
	story_block(s, DTC_EVENT_BLOCK_COMPLETE, SHIFT + 525, 0, 64, 8);
	story_task(s, DTC_EVENT_SCHED_WAKING, SHIFT + 530, 0, 7, "job", 0);
	story_context(s, DTC_EVENT_IRQ_EXIT, SHIFT + 531, 0, 31, NULL);
	story_switch(s, SHIFT + 540, 0, 0, "swapper/0", RUN, 7, "job");
	story_leave(s, SHIFT + 550, 0, "fsync", 0);
	story_switch(s, SHIFT + 790, 0, 7, "job", SLEEP, 0, "swapper/0");
	host_story_end(&p, "20");
	g_autoptr(DtcPath) path = walk(&p, GUEST, 7, 80, 700);
	static const struct want wants[] = {
		{ 100, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 115, GUEST, 7, DTC_CAUSE_VM_EXIT, "nested page fault, handled by the kernel of host" },
		{ 120, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 130, HOST, 40, DTC_CAUSE_RUNNING_KERNEL, "pwritev" },
		{ 300, HOST, 40, DTC_CAUSE_DISK, NULL },
		{ 310, HOST, 40, DTC_CAUSE_RUNQUEUE, NULL },
		{ 320, HOST, 40, DTC_CAUSE_RUNNING_KERNEL, "pwritev" },
		{ 340, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 341, GUEST, 7, DTC_CAUSE_DISK, NULL },
		{ 500, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, "by hog (tid 30) on host" },
		{ 510, GUEST, 7, DTC_CAUSE_VM_EXIT, NULL },
		{ 530, GUEST, 7, DTC_CAUSE_DISK, NULL },
		{ 540, GUEST, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ 550, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 700, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
	};
	assert_path(&p, path, wants, G_N_ELEMENTS(wants));
	host_story_clear(&p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host/exits-and-preemption", test_exits_and_preemption);
	g_test_add_func("/host/runqueue", test_runqueue);
	g_test_add_func("/host/blocked-in-host", test_blocked_in_host);
	g_test_add_func("/host/timer-late", test_timer_late);
	g_test_add_func("/host/guest-disk", test_guest_disk);
	g_test_add_func("/host/not-known", test_not_known);
	g_test_add_func("/host/two-vcpus", test_two_vcpus);
	g_test_add_func("/host/lost-events", test_lost_events);
	return g_test_run();
}
