/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A host and its guest, told event by event, aligned and mapped: exits to the kernel and to QEMU, preemption, a halt, a
 * page that the host's disk has. Cluster time is the host's.
 */
#pragma once

#include "analyze/edge/host.h"
#include "collect/bundle/scratch.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2
#define SHIFT 1000000 /* the guest's clock is this far ahead of the host's */
#define HOST 0
#define GUEST 1
#define REMOTE 2 /* another machine, if the story has one; its clock is the host's */

#define MSR 0x7c
#define INTR 0x60
#define PORT 0x7b
#define HALT 0x78
#define FAULT 0x400

struct host_story {
	struct story host, guest, remote;
	guint node_count;
	const DtcHistory *histories[3];
	DtcClocks *clocks;
	DtcFindings *findings;
	DtcGuests *guests;
	DtcLinks *links;
};

static const char *const host_story_names[] = { "host", "guest", "remote" };

static inline void host_story_begin(struct host_story *p)
{
	*p = (struct host_story){ .node_count = 2 };
	story_begin(&p->host, "host");
	story_begin(&p->guest, "guest");
}

static inline void host_story_add_remote(struct host_story *p)
{
	p->node_count = 3;
	story_begin(&p->remote, "remote");
}

/* vcpus: as in a cluster file; NULL: there is none. */
static inline void host_story_end(struct host_story *p, const char *vcpus)
{
	p->histories[HOST] = story_end(&p->host);
	p->histories[GUEST] = story_end(&p->guest);
	if (p->node_count > REMOTE)
		p->histories[REMOTE] = story_end(&p->remote);
	p->clocks = dtc_clocks_new(p->node_count, 0);
	for (guint i = 0; i < p->node_count; i++) {
		int64_t by = i == GUEST ? SHIFT : 0, half = i == GUEST ? 3 : 0;
		const struct dtc_clock_knot knots[] = { { by, 0, -half, half },
							{ 100000 + by, 100000, 100000 - half, 100000 + half } };
		dtc_clocks_set_node(p->clocks, i, 0, knots, 2, 0);
	}
	p->findings = dtc_findings_new();
	g_autoptr(DtcCluster) cluster = NULL;
	if (vcpus) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "test.conf", NULL);
		g_autofree char *text = g_strdup_printf(
			"[node host]\nrole=host\n[node guest]\nrole=guest\nhost=host\nvcpu-threads=%s\n", vcpus);
		g_assert_true(g_file_set_contents(path, text, -1, NULL));
		cluster = dtc_cluster_read(path, NULL);
		g_assert_nonnull(cluster);
	}
	const struct dtc_guests_input input = { p->node_count, host_story_names, p->histories, p->clocks, cluster };
	p->guests = dtc_guests_find(&input, p->findings);
	p->links = dtc_links_new(p->node_count, host_story_names, p->histories, p->clocks);
	dtc_links_set_guests(p->links, p->guests);
}

static inline void host_story_clear(struct host_story *p)
{
	dtc_links_free(p->links);
	dtc_guests_free(p->guests);
	dtc_clocks_free(p->clocks);
	dtc_findings_free(p->findings);
	story_clear(&p->host);
	story_clear(&p->guest);
	if (p->node_count > REMOTE)
		story_clear(&p->remote);
}

/* The host's side: exits to the kernel and to QEMU, preemption, a halt, a page that the host's disk has. */
static inline void host_story_tell_host(struct story *s)
{
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_ioctl(s, 5, 0, STORY_KVM_RUN);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 100, 0, MSR);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 120, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 200, 0, INTR);
	story_switch(s, 205, 0, 20, "CPU 0/KVM", RUN, 30, "hog");
	story_switch(s, 300, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 310, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 400, 0, PORT);
	story_leave(s, 410, 0, "ioctl", 0);
	story_enter(s, 420, 0, "write", -1);
	story_leave(s, 440, 0, "write", 1);
	story_ioctl(s, 450, 0, STORY_KVM_RUN);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 460, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 500, 0, HALT);
	story_switch(s, 505, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, 598, 600, 0, 20, "CPU 0/KVM");
	story_switch(s, 630, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 640, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 700, 0, FAULT);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, 702, 0, 8, 8);
	story_switch(s, 705, 0, 20, "CPU 0/KVM", DISK, 0, "swapper/0");
	story_context(s, DTC_EVENT_IRQ_ENTRY, 798, 0, 9, "nvme0");
	story_block(s, DTC_EVENT_BLOCK_COMPLETE, 799, 0, 8, 8);
	story_task(s, DTC_EVENT_SCHED_WAKING, 800, 0, 20, "CPU 0/KVM", 0);
	story_context(s, DTC_EVENT_IRQ_EXIT, 801, 0, 9, NULL);
	story_switch(s, 810, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 820, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 990, 0, INTR);
	story_switch(s, 1000, 0, 20, "CPU 0/KVM", RUN, 30, "hog");
}

static inline void host_story_tell_guest(struct story *s)
{
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "job");
	story_task(s, DTC_EVENT_SCHED_WAKING, SHIFT + 190, 0, 9, "other", 0);
	story_task(s, DTC_EVENT_SCHED_WAKEUP, SHIFT + 191, 0, 9, "other", 0);
	story_switch(s, SHIFT + 320, 0, 7, "job", RUN, 9, "other");
	story_switch(s, SHIFT + 330, 0, 9, "other", SLEEP, 7, "job");
	story_enter(s, SHIFT + 480, 0, "nanosleep", -1);
	story_switch(s, SHIFT + 490, 0, 7, "job", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, SHIFT + 645, SHIFT + 647, 0, 7, "job");
	story_switch(s, SHIFT + 650, 0, 0, "swapper/0", RUN, 7, "job");
	story_leave(s, SHIFT + 660, 0, "nanosleep", 0);
	story_switch(s, SHIFT + 970, 0, 7, "job", SLEEP, 9, "other");
}

/*
 * Both sides: a sleep of the guest ends with its timer. The vCPU had halted, was woken for it, and then waited for a
 * CPU of the host.
 */
static inline void host_story_tell_late_timer(struct host_story *p)
{
	struct story *s = &p->host;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_ioctl(s, 5, 0, STORY_KVM_RUN);
	story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 8, 0, 0, 236);
	story_guest_irq(s, DTC_EVENT_KVM_INJECT, 9, 0, 0, 236);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 100, 0, HALT);
	story_switch(s, 105, 0, 20, "CPU 0/KVM", SLEEP, 30, "hog");
	story_timer_wakes(s, 398, 400, 0, 20, "CPU 0/KVM");
	story_switch(s, 600, 0, 30, "hog", RUN, 20, "CPU 0/KVM");
	story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 604, 0, 0, 236);
	story_guest_irq(s, DTC_EVENT_KVM_INJECT, 605, 0, 0, 236);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 610, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 800, 0, INTR);
	s = &p->guest;
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "job");
	story_enter(s, SHIFT + 80, 0, "nanosleep", -1);
	story_switch(s, SHIFT + 90, 0, 7, "job", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, SHIFT + 620, SHIFT + 630, 0, 7, "job");
	story_switch(s, SHIFT + 640, 0, 0, "swapper/0", RUN, 7, "job");
	story_leave(s, SHIFT + 650, 0, "nanosleep", 0);
	story_switch(s, SHIFT + 790, 0, 7, "job", SLEEP, 0, "swapper/0");
}
