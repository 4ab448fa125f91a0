/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Made-up hosts and guests: vCPU threads that enter their guest and leave it at random times, and guests whose CPUs log
 * events only while their vCPU is in. True time is the host's clock; a guest's clock is ahead by its shift.
 */
#pragma once

#include "analyze/guest/guests.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define MADE_TURNS 200
#define MADE_END (MADE_TURNS * 2000)

struct made_guest {
	guint64 state; /* of the generator of random numbers */
	int64_t shift;
	guint cpu_count;
	struct story story;
	GArray *times[4]; /* int64_t by CPU, true time */
	GArray *packets;  /* struct made_event, true time, which its CPU 0 logs; or NULL */
};

static inline int64_t made_random(struct made_guest *guest, int64_t below)
{
	guest->state = guest->state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
	return (int64_t)((guest->state >> 33) % (guint64)below);
}

static inline void made_process(struct story *story, int tid, int pid, const char *comm)
{
	struct dtc_event e = story_event(DTC_EVENT_DUMP_PROCESS, 0, 0);
	e.v[DTC_DUMP_TID] = tid;
	e.v[DTC_DUMP_PID] = pid;
	e.v[DTC_DUMP_TYPE] = 0;
	e.text[0] = comm;
	dtc_machine_apply(story->machine, &e);
}

/* One event on a CPU, to be told in the order of time. */
struct made_event {
	int64_t time_ns;
	uint32_t cpu;
	enum dtc_event_kind kind;
	bool has_headers; /* a packet's: NET_SEND, NET_RECEIVE */
	struct dtc_headers headers;
};

static inline int made_compare(const void *left, const void *right)
{
	const struct made_event *a = left, *b = right;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns ? 1 : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

/*
 * The stays of one vCPU on the host's CPU of that number, which it has for itself: about in_ns of every 2 us in the
 * guest. The guest's events on its CPU go to times.
 */
static inline void made_stays(struct made_guest *guest, guint guest_cpu, uint32_t host_cpu, int64_t in_ns,
			      GArray *events)
{
	guest->times[guest_cpu] = g_array_new(FALSE, FALSE, sizeof(int64_t));
	for (int turn = 0; turn < MADE_TURNS; turn++) {
		int64_t begin = 2000 * turn + 20 + made_random(guest, 1900 - in_ns), end = begin + in_ns;
		struct made_event in = { .time_ns = begin, .cpu = host_cpu, .kind = DTC_EVENT_KVM_ENTRY };
		struct made_event out = { .time_ns = end, .cpu = host_cpu, .kind = DTC_EVENT_KVM_EXIT };
		g_array_append_val(events, in);
		g_array_append_val(events, out);
		int64_t at = begin + 1 + made_random(guest, in_ns / 4);
		while (at < end) {
			g_array_append_val(guest->times[guest_cpu], at);
			at += 1 + made_random(guest, in_ns / 4);
		}
	}
}

/* The guest's own trace: two threads that take turns on each CPU. */
static inline const DtcHistory *made_tell_guest(struct made_guest *guest, const char *name)
{
	GArray *events = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	for (guint cpu = 0; cpu < guest->cpu_count; cpu++) {
		for (guint i = 0; i < guest->times[cpu]->len; i++) {
			int64_t at_ns = g_array_index(guest->times[cpu], int64_t, i);
			struct made_event e = { .time_ns = at_ns, .cpu = cpu, .kind = DTC_EVENT_SCHED_SWITCH };
			g_array_append_val(events, e);
		}
	}
	if (guest->packets)
		g_array_append_vals(events, guest->packets->data, guest->packets->len);
	g_array_sort(events, made_compare);
	story_begin(&guest->story, name);
	int running[4] = { 0 };
	for (guint i = 0; i < events->len; i++) {
		const struct made_event *e = &g_array_index(events, struct made_event, i);
		if (e->has_headers) {
			story_packet(&guest->story, e->kind, e->time_ns + guest->shift, e->cpu, &e->headers);
			continue;
		}
		int previous = running[e->cpu], next = 100 + 10 * (int)e->cpu + (int)(i % 2);
		if (next == previous)
			next = previous ^ 1;
		story_switch(&guest->story, e->time_ns + guest->shift, e->cpu, previous, "a", 0, next, "a");
		running[e->cpu] = next;
	}
	g_array_unref(events);
	return story_end(&guest->story);
}

static inline void made_guest_clear(struct made_guest *guest)
{
	story_clear(&guest->story);
	for (guint cpu = 0; cpu < guest->cpu_count; cpu++)
		g_array_unref(guest->times[cpu]);
	if (guest->packets)
		g_array_unref(guest->packets);
}

/* Tells the host: one thread for each of its CPUs, with that tid, pid, name and number (of every entry). */
struct made_vcpu {
	int tid;
	int pid;
	const char *comm;
	int64_t number;
};

static inline const DtcHistory *made_tell_host(struct story *host, const struct made_vcpu *vcpus, guint count,
					       GArray *events)
{
	g_array_sort(events, made_compare);
	story_begin(host, "host");
	for (guint i = 0; i < count; i++)
		made_process(host, vcpus[i].tid, vcpus[i].pid, vcpus[i].comm);
	for (guint i = 0; i < count; i++)
		story_switch(host, 1, i, 0, "swapper", 0, vcpus[i].tid, vcpus[i].comm);
	for (guint i = 0; i < events->len; i++) {
		const struct made_event *e = &g_array_index(events, struct made_event, i);
		if (e->has_headers) {
			story_packet(host, e->kind, e->time_ns, e->cpu, &e->headers);
			continue;
		}
		story_vm(host, e->kind, e->time_ns, e->cpu,
			 e->kind == DTC_EVENT_KVM_ENTRY ? vcpus[e->cpu].number : 0x60);
	}
	return story_end(host);
}

/* The first node's clock is the reference; the others are ahead by their shifts, known to half a width. */
static inline DtcClocks *made_guest_clocks(const int64_t *shifts, guint count, int64_t half_width)
{
	DtcClocks *clocks = dtc_clocks_new(count, 0);
	for (guint i = 0; i < count; i++) {
		int64_t half = i ? half_width : 0;
		const struct dtc_clock_knot knots[] = {
			{ shifts[i], 0, -half, half },
			{ shifts[i] + MADE_END, MADE_END, MADE_END - half, MADE_END + half },
		};
		dtc_clocks_set_node(clocks, i, 0, knots, 2, 0);
	}
	return clocks;
}
